"""Many tasks: choose, plan, prove and write each, and gather what came of them."""

import contextlib
import difflib
import multiprocessing
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from seatrials.errors import EXIT_FINDINGS, EXIT_OK, CannotJudgeError
from seatrials.migrate.apply import write
from seatrials.migrate.config import uncredited
from seatrials.migrate.credit import Proposal
from seatrials.migrate.export import export_plan
from seatrials.migrate.model import STATUSES, Fill, Note, Plan, Status, Unreadable, Verb
from seatrials.migrate.plan import plan
from seatrials.migrate.proof import disagreement, result
from seatrials.proc import start_method
from seatrials.task.files import TaskFile
from seatrials.task.package import TaskPackage

Direction = Literal["native", "harbor"]

_CHUNK: Final = 16
_PDEATHSIG: Final = 1
"""PR_SET_PDEATHSIG of Linux."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is done with each task.

    Without `out` and `in_place` nothing is written. `force` replaces a task
    that is in the way. `diffs` asks for the changes as text.
    """

    direction: Direction = "native"
    out: Path | None = None
    in_place: bool = False
    force: bool = False
    fill: Fill = field(default_factory=Fill)
    diffs: bool = False


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of one task.

    `target` is empty where nothing was written; `actions` counts files by
    verb; `uncredited` names the credit fields that the new task leaves out.
    """

    name: str
    source: str
    status: Status
    target: str = ""
    full_name: str = ""
    problem: str = ""
    notes: tuple[Note, ...] = ()
    actions: Mapping[Verb, int] = field(default_factory=dict)
    uncredited: tuple[str, ...] = ()
    diff: str = ""


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """What a task's oracle and no-op gave before and after, a line for each trial.

    `judged` says that the source came to rewards and that no machine failed,
    `equal` that rewards and checks are the same.
    """

    name: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    judged: bool
    equal: bool


@dataclass(frozen=True, kw_only=True)
class MigrationReport:
    """A whole run.

    `replays` are there where they were asked for; `proposed` is credit for a
    person to take up.
    """

    direction: Direction
    tasks: tuple[Outcome, ...]
    wrote: bool
    replays: tuple[Replayed, ...] = ()
    proposed: tuple[Proposal, ...] = ()

    def counts(self) -> dict[Status, int]:
        """Return the number of tasks by status."""
        found = Counter(task.status for task in self.tasks)
        return {status: found[status] for status in STATUSES}

    @property
    def exit_code(self) -> int:
        """0 all is well; 1 a task was not turned or replays differently; 5 a replay came to no reward."""
        counts = self.counts()
        if (
            counts["failed"]
            or counts["unsupported"]
            or any(one.judged and not one.equal for one in self.replays)
        ):
            return EXIT_FINDINGS
        return EXIT_OK if all(one.judged for one in self.replays) else CannotJudgeError.exit_code


def choose(tasks: Sequence[TaskPackage], limit: int, seed: int) -> list[TaskPackage]:
    """Return at most `limit` tasks, as even as can be over category, then difficulty; one choice a seed.

    Tasks whose own files can't be read are taken only where the others are too few: without a category,
    they would be one.
    """
    groups: dict[tuple[str, str], list[TaskPackage]] = {}
    sound = [task for task in tasks if not task.problems]
    for task in sound if len(sound) >= limit else tasks:
        metadata = task.native.table("metadata")
        key = (str(metadata.get("category", "")), str(metadata.get("difficulty", "")))
        groups.setdefault(key, []).append(task)
    shuffler = random.Random(seed)  # noqa: S311 - a choice to repeat, no secret
    order = sorted(groups)
    shuffler.shuffle(order)
    for key in order:
        shuffler.shuffle(groups[key])
    taken: Counter[tuple[str, str] | str] = Counter()
    chosen: list[TaskPackage] = []
    while order and len(chosen) < limit:
        key = min(order, key=lambda key: (taken[f"c {key[0]}"], taken[f"d {key[1]}"], taken[key]))
        chosen.append(groups[key].pop())
        taken.update((key, f"c {key[0]}", f"d {key[1]}"))
        if not groups[key]:
            order.remove(key)
    places = {id(task): place for place, task in enumerate(tasks)}
    return sorted(chosen, key=lambda task: places[id(task)])


def turn(
    tasks: Sequence[TaskPackage],
    options: Options,
    *,
    jobs: int = 1,
    on_task: Callable[[Outcome], None] = lambda _: None,
) -> MigrationReport:
    """Turn each task, with at most `jobs` processes; one that fails does not stop the others."""
    outcomes: dict[int, Outcome] = {}
    for index, outcome in _collisions(tasks, options.out) if not options.in_place else ():
        outcomes[index] = outcome
        on_task(outcome)
    rest = [index for index in range(len(tasks)) if index not in outcomes]
    for index, outcome in _outcomes(tasks, rest, options, jobs):
        outcomes[index] = outcome
        on_task(outcome)
    found = _same_names([outcomes[index] for index in range(len(tasks))])
    wrote = options.out is not None or options.in_place
    return MigrationReport(direction=options.direction, tasks=tuple(found), wrote=wrote)


def turn_one(task: TaskPackage, options: Options) -> Outcome:
    """Plan, prove and (where asked) write one task."""
    try:
        return _turn(task, options)
    except Unreadable as error:
        return _failed(task, str(error))
    except OSError as error:
        return _failed(task, f"`{error.filename or task.label}`: {error.strerror or error}")
    except Exception as error:
        if os.environ.get("SEATRIALS_DEBUG"):
            raise
        return _failed(task, f"a fault of seatrials: {type(error).__name__}: {error}")


def _turn(task: TaskPackage, options: Options) -> Outcome:
    native = options.direction == "native"
    made = plan(task, options.fill) if native else export_plan(task)
    outcome = Outcome(
        name=task.name,
        source=task.label,
        status=made.status,
        problem=made.problem,
        notes=made.notes,
        full_name=_full_name(made),
        actions=dict(Counter(action.verb for action in made.actions)),
        uncredited=uncredited(made.config) if native else (),
    )
    if made.problem:
        return outcome
    files = result(task, made)
    if native and (wrong := disagreement(task, made, files)):
        return _failed(task, f"the new task would not mean the same: {wrong}")
    if options.diffs:
        outcome = replace(outcome, diff=diff(task, made, files))
    target = _target(task, options)
    if target is None:
        return outcome
    if options.in_place and all(action.verb == "keep" for action in made.actions):
        return replace(outcome, target=target.as_posix())
    write(task, files, target, over=options.force or options.in_place)
    return replace(outcome, target=target.as_posix())


def _full_name(made: Plan) -> str:
    match made.config.get("task"):
        case {"name": str() as name}:
            return name
        case _:
            return ""


def _target(task: TaskPackage, options: Options) -> Path | None:
    if options.in_place:
        if task.root.is_symlink():
            raise Unreadable("it is a link; name the folder that it leads to")
        if ".git/" in task.listing.junk or ".git" in task.listing.junk:
            raise Unreadable("it is the top of a git repository; migrate it with `--out`")
        return task.root
    return options.out / "tasks" / task.name if options.out is not None else None


def _failed(task: TaskPackage, problem: str) -> Outcome:
    return Outcome(name=task.name, source=task.label, status="failed", problem=problem)


def _collisions(tasks: Sequence[TaskPackage], out: Path | None) -> Iterator[tuple[int, Outcome]]:
    """Yield the tasks whose folder would be another's, at least where names have no case."""
    first: dict[str, TaskPackage] = {}
    place = out / "tasks" if out is not None else None
    there = {path.name.casefold(): path for path in place.iterdir()} if place and place.is_dir() else {}
    for index, task in enumerate(tasks):
        present = there.get(task.name.casefold())
        if present is not None and present.name != task.name:
            yield (
                index,
                _failed(task, f"`{present}` is there already, with its name but for case; rename one"),
            )
            continue
        other = first.setdefault(task.name.casefold(), task)
        if other is not task:
            but = "" if other.name == task.name else " but for case"
            yield index, _failed(task, f"its folder has the name of `{other.label}`{but}; rename one")


def _same_names(outcomes: Sequence[Outcome]) -> Iterator[Outcome]:
    first: dict[str, str] = {}
    for outcome in outcomes:
        name = outcome.full_name.casefold()
        other = first.setdefault(name, outcome.name) if name else outcome.name
        if other == outcome.name:
            yield outcome
            continue
        said = f"`task.name` is that of `{other}`, but for case at most; it must be its own"
        note = Note(kind="person", message=said, look=True, group="`task.name` is another task's")
        status: Status = "migrated with notes" if outcome.status == "migrated" else outcome.status
        yield replace(outcome, status=status, notes=(*outcome.notes, note))


def _outcomes(
    tasks: Sequence[TaskPackage], indexes: Sequence[int], options: Options, jobs: int
) -> Iterator[tuple[int, Outcome]]:
    if min(jobs, len(indexes) // _CHUNK) < 2:  # noqa: PLR2004 - one process is no crew
        for index in indexes:
            yield index, turn_one(tasks[index], options)
            tasks[index].forget()
        return
    context = multiprocessing.get_context(start_method())
    names = [(tasks[index].root, tasks[index].label) for index in indexes]
    crew = ProcessPoolExecutor(jobs, context, _start, (names, options))
    try:
        with _without_ctrl_c():
            found = crew.map(_work, range(len(names)), chunksize=_CHUNK)
        yield from zip(indexes, found, strict=True)
    except BrokenProcessPool:
        raise CannotJudgeError(
            "a process of this run was ended from outside, or for want of memory; what was written is whole:"
            " run it again with `--jobs 1` and `--force`"
        ) from None
    finally:
        # After Ctrl-C each worker still finishes the few tasks that it has, so that none is left half built.
        crew.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Put Ctrl-C off, so that no worker meets it before it knows whose it is."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_GIVEN: tuple[Sequence[tuple[Path, str]], Options] = ((), Options())


def _start(names: Sequence[tuple[Path, str]], options: Options) -> None:
    """Take over what all tasks of a run share; Ctrl-C is the parent's to handle, which ends its workers.

    A signal's handler in Python may not run while a worker waits for work, so there is none.
    """
    global _GIVEN  # noqa: PLW0603 - a worker's only state, set once
    _GIVEN = (names, options)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        import ctypes

        # Where the parent is killed, nobody else would tell the workers.
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)


def _work(place: int) -> Outcome:
    names, options = _GIVEN
    root, label = names[place]
    return turn_one(TaskPackage(root, label=label), options)


def diff(task: TaskPackage, made: Plan, files: Mapping[str, TaskFile]) -> str:
    """Return a plan as text: each file's fate, and the changes of those whose text changes."""
    out: list[str] = []
    for action in made.actions:
        if action.verb == "leave out":
            out.append(f"leave out  {action.source}  ({action.reason})")
        elif action.verb == "move" or (action.source and action.source != action.target):
            out.append(f"{action.verb:<10} {action.source} -> {action.target}")
        else:
            out.append(f"{action.verb:<10} {action.target}")
        if action.verb in {"write", "rewrite"} and not action.link:
            old = task.files.get(action.source) if action.source else None
            out += difflib.unified_diff(
                ((old.text or "") if old is not None else "").splitlines(),
                (files[action.target].text or "").splitlines(),
                f"a/{action.source}" if old is not None else "/dev/null",
                f"b/{action.target}",
                lineterm="",
            )
    return "\n".join(out) + "\n"
