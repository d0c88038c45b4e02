"""Turn tasks into native packages or Harbor tasks, and replay both sides where that is asked for."""

import dataclasses
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import yaml

from seatrials.errors import UsageError
from seatrials.migrate.apply import recover
from seatrials.migrate.credit import (
    LICENSE_FILES,
    Proposal,
    address_of,
    hub_account,
    license_named,
    license_of,
)
from seatrials.migrate.run import MigrationReport, Options, Outcome, Replayed, choose, turn
from seatrials.proc import ProgramMissing, ProgramTimedOut, run
from seatrials.task.collection import MANIFEST, select
from seatrials.task.document import parse_document
from seatrials.task.package import TaskPackage
from seatrials.task.registry import RegistryTask, is_registry, read_registry
from seatrials.vcs import remote_of, top_level

if TYPE_CHECKING:
    from seatrials.replay.model import TaskReplay
    from seatrials.replay.runner import Observer, ReplayOptions

_GIT_SECONDS: Final = 60.0
_MANY_PLACES: Final = 50
_OPTIONS: Final = (
    ("license", "license", "--license"),
    ("origin_url", "origin", "--origin-url"),
    ("author_hub", "author_hub", "--author-hub"),
)
"""What is proposed, the field that tasks lack then, and the option that fills it in."""
_LICENSE_BYTES: Final = 256 * 1024


@dataclass(frozen=True, kw_only=True)
class Sources:
    """The tasks that a person named, and those that a registry names and that are not here."""

    tasks: tuple[TaskPackage, ...]
    absent: tuple[Outcome, ...] = ()


def sources(
    targets: Sequence[str],
    *,
    limit: int | None,
    seed: int,
    on_recovered: Callable[[Path], None] = lambda _: None,
) -> Sources:
    """Return the tasks that `targets` name: folders, or registries of Harbor (``registry.json``).

    What an interrupted run left behind is put right first; `on_recovered` is
    called with each task's folder that this concerned.
    """
    places: dict[str, None] = {}
    absent: list[Outcome] = []
    for target in targets:
        if not is_registry(Path(target)):
            places[target] = None
            continue
        for task in read_registry(Path(target)):
            if task.folder is not None:
                places[str(task.folder)] = None
            else:
                absent.append(_absent(task, target))
    for place in places:
        for folder in recover(Path(place)):
            on_recovered(folder)
    tasks = list(select(list(places)).tasks) if places else []
    if not tasks and not absent:
        raise UsageError("no task here: a task has a `task.md` or a `task.toml`")
    if limit is not None:
        tasks = choose(tasks, limit, seed)
    return Sources(tasks=tuple(tasks), absent=tuple(absent))


def _absent(task: RegistryTask, registry: str) -> Outcome:
    said = f"`{registry}` has it at `{task.path}`"
    if task.git_url:
        said += f" of {task.git_url}; clone that, and name its folder"
    else:
        said += ", where there is no such folder"
    return Outcome(name=task.name, source=task.name, status="unsupported", problem=said)


def migrate(
    source: Sources,
    options: Options,
    *,
    jobs: int,
    team_name: str = "",
    on_progress: Callable[[int, int], None] = lambda _, __: None,
    on_recovered: Callable[[Path], None] = lambda _: None,
) -> MigrationReport:
    """Turn tasks; raises UsageError where that would overwrite what nobody could get back.

    `on_progress` is told how many tasks are done, of how many. What an interrupted run left in the
    folder written to is put right first, as in `sources`.
    """
    tasks = source.tasks
    if options.in_place and not options.force:
        _refuse_unclean(tasks)
    if options.out is not None:
        _refuse_same(tasks, options.out)
    manifest = options.out / MANIFEST if options.out is not None and team_name else None
    if manifest is not None and manifest.exists() and not options.force:
        raise UsageError(f"`{manifest}` is there already; leave `--team-name` out, or add `--force`")
    if options.out is not None:
        for folder in recover(options.out / "tasks"):
            if folder.exists():
                on_recovered(folder)
    done = 0

    def count(_: Outcome) -> None:
        nonlocal done
        done += 1
        on_progress(done, len(tasks))

    report = turn(tasks, options, jobs=jobs, on_task=count)
    report = dataclasses.replace(report, tasks=(*report.tasks, *source.absent))
    if options.direction == "native":
        report = dataclasses.replace(report, proposed=tuple(_proposals(tasks, report)))
    if manifest is not None and any(not task.problem for task in report.tasks):
        manifest.parent.mkdir(parents=True, exist_ok=True)
        part = manifest.with_name(f".{manifest.name}.part")
        text = yaml.safe_dump({"team_name": team_name, "track": "environments"}, sort_keys=False)
        part.write_text(text, encoding="utf-8")
        part.replace(manifest)
    return report


def _proposals(tasks: Sequence[TaskPackage], report: MigrationReport) -> Iterator[Proposal]:
    """Yield the credit that all tasks lacking it could share, by what lies around them."""
    lacking = Counter(key for outcome in report.tasks for key in outcome.uncredited)
    if not lacking:
        return
    places = sorted({task.root.absolute().parent for task in tasks})
    if len(places) > _MANY_PLACES:
        return
    found = [_surroundings(place) for place in places]
    for key, field, option in _OPTIONS:
        first = found[0].get(key)
        if lacking[field] and first is not None and all(one.get(key) == first for one in found):
            value, reason = first
            yield Proposal(key=key, value=value, option=option, reason=reason, tasks=lacking[field])


def _surroundings(place: Path) -> dict[str, tuple[str, str]]:
    """Return what the set at `place` and its repository tell of credit: the value and where it was found."""
    out: dict[str, tuple[str, str]] = {}
    top = top_level(place)
    # Outside git nobody says where a set ends: its own folder, and the one that holds `tasks/`.
    last = top if top is not None else place.parent
    for folder in (place, *place.parents):
        if "license" not in out and (told := _license(folder)) is not None:
            out["license"] = told
        if folder == last:
            break
    address = address_of(remote_of(place) or "") if top is not None else None
    if address is not None:
        out["origin_url"] = (address, "git's remote `origin`")
        if (account := hub_account(address)) is not None:
            out["author_hub"] = (account, f"whose data set is at {address}")
    return out


def _license(folder: Path) -> tuple[str, str] | None:
    for name in (*LICENSE_FILES, "README.md"):
        path = folder / name
        if not path.is_file() or path.stat().st_size > _LICENSE_BYTES:
            continue
        try:
            raw = path.read_bytes()
        except OSError:
            continue
        if name == "README.md":
            header = parse_document(raw).frontmatter if raw.startswith(b"---") else {}
            told = license_named(header.get("license"))
        else:
            told = license_of(raw.decode("utf-8", "replace"))
        if told is not None:
            return told, f"`{path}`"
    return None


def _refuse_unclean(tasks: Sequence[TaskPackage]) -> None:
    """Ask git once per folder that holds tasks; what is not committed could not be got back."""
    for folder in sorted({task.root.resolve().parent for task in tasks}):
        names = [task.root.resolve().name for task in tasks if task.root.resolve().parent == folder]
        # Many names go by the folder, which may be stricter than need be.
        paths = names if len(names) <= _MANY else ["."]
        asked = _git("status", "--porcelain", "--ignored", "--", *paths, folder=folder)
        if asked is None:
            said = "is not under git, so nothing could be got back; use `--out`, or `--force`"
            raise UsageError(f"`{folder}` {said}")
        if asked.strip():
            # Two letters of state, either of which may be a space, and one space.
            first = asked.splitlines()[0][3:]
            raise UsageError(f"`{first}` is not committed; commit it first, or use `--force`")


_MANY: Final = 500


def _git(*words: str, folder: Path) -> str | None:
    argv = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-pager", *words)
    try:
        done = run(argv, cwd=folder, timeout=_GIT_SECONDS)
    except (ProgramMissing, ProgramTimedOut):
        return None
    return done.output if done.ok else None


def _refuse_same(tasks: Sequence[TaskPackage], out: Path) -> None:
    place = os.path.realpath(out / "tasks")
    for task in tasks:
        root = os.path.realpath(task.root)
        if root == os.path.join(place, task.name) or (place + os.sep).startswith(root + os.sep):  # noqa: PTH118
            said = f"would write onto `{task.label}` itself; use another folder"
            raise UsageError(f"`{out}` {said}")


def replayed(
    tasks: Sequence[TaskPackage],
    turn_them: Callable[[], MigrationReport],
    options: "ReplayOptions",
    observer: "Observer",
) -> MigrationReport:
    """Replay tasks, turn them, replay what came of it, and compare rewards and checks."""
    from seatrials.replay.runner import replay

    before = dict(zip((task.label for task in tasks), replay(tasks, options, observer).tasks, strict=True))
    report = turn_them()
    done = [outcome for outcome in report.tasks if outcome.target]
    after = replay([TaskPackage(Path(one.target)) for one in done], options, observer).tasks
    found = (_compared(one.name, before[one.source], new) for one, new in zip(done, after, strict=True))
    return dataclasses.replace(report, replays=tuple(found))


def _compared(name: str, before: "TaskReplay", after: "TaskReplay") -> Replayed:
    sides = _trials(before), _trials(after)
    # A source without a reward proves nothing, nor does a failed machine; a new task without one is broken.
    failures = [after.build, *(trial.failure for trial in after.trials)]
    judged = bool(before.trials) and all(trial.reward is not None for trial in before.trials)
    return Replayed(
        name=name,
        before=sides[0],
        after=sides[1],
        judged=judged and not any(failure is not None and failure.blame == "machine" for failure in failures),
        equal=sides[0] == sides[1] and _checks(before) == _checks(after),
    )


def _trials(task: "TaskReplay") -> tuple[str, ...]:
    if task.build is not None:
        return (f"build: {task.build.message}",)
    return tuple(
        f"{trial.kind} {trial.rerun}: "
        + (f"reward {trial.reward:g}" if trial.reward is not None else _why(trial.failure))
        for trial in sorted(task.trials, key=lambda trial: (trial.kind, trial.rerun))
    )


def _why(failure: object) -> str:
    return str(getattr(failure, "message", "no reward"))


def _checks(task: "TaskReplay") -> dict[str, tuple[int, int]]:
    return {name: (count.runs, count.passed) for name, count in task.checks.items()}
