"""Check a collection, ask what its replays say, stage it, and publish it."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final, Literal

from seatrials.errors import RefusedError, UsageError
from seatrials.flows.check import Request as CheckRequest
from seatrials.flows.check import check
from seatrials.hub_client import connect
from seatrials.judge.run import CheckReport
from seatrials.release.card import MARK, CardOptions
from seatrials.release.hub import Published, Target, publish
from seatrials.release.layout import Layout
from seatrials.release.replays import NOT_REPLAYED, Replayed, ReplayRow
from seatrials.release.stage import Plan, Staged, Tell, silent, stage, staging
from seatrials.replay.model import TaskReplay, Trial
from seatrials.replay.recorded import recorded
from seatrials.replay.store import Store
from seatrials.rules.image import no_run_bit
from seatrials.task.collection import Collection, select
from seatrials.task.package import TaskPackage

if TYPE_CHECKING:
    from seatrials.rules.model import Profile

Runs = Literal["latest", "all"]

_MAX_NOTE: Final = 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What to release and how.

    `runs` says which trials go into the replays' table: those that the verdict
    rests on, or all that were recorded of the tasks; None leaves replays out.
    `note` is the file of the card's own section, `repo` the data set's address
    for the card, where it is known.
    """

    source: str | None = None
    title: str | None = None
    layout: Layout = field(default_factory=Layout)
    runs: Runs | None = "latest"
    split: str = "train"
    license: str | None = None
    note: Path | None = None
    requires: Sequence[str] = ()
    setup: Sequence[str] = ()
    repo: str | None = None


def stage_at(
    request: Request, out: Path, *, force: bool = False, tell: Tell = silent
) -> tuple[Staged, dict[str, Replayed]]:
    """Stage a collection into `out`; return that, and what the replays say of each task.

    Raises RefusedError where check finds an error, where a replay's verdict is
    no, and where the scan finds a secret.
    """
    plan = planned(request, tell)
    return stage(plan, out, force=force, tell=tell), dict(plan.replays or {})


def publish_to(
    request: Request, target: Target, tell: Tell = silent
) -> tuple[Published, dict[str, Replayed]]:
    """Publish a collection on the Hub; return what was done, and what the replays say of each task.

    Raises as `stage_at` does, and RefusedError where a task has no good verdict
    as it is now, unless replays are left out.
    """
    plan = _replayed_well(planned(request, tell))
    api = connect()

    def stager(card: str) -> AbstractContextManager[Staged]:
        return staging(replace(plan, card=replace(plan.card, repo=target.repo, existing=card)), tell=tell)

    return publish(api, target, plan.layout, stager, tell), dict(plan.replays or {})


def gated(request: Request, tell: Tell = silent) -> int:
    """Pass all that may keep a collection from being published, the scan too; return the number of tasks."""
    with staging(_replayed_well(planned(request, tell)), tell=tell) as staged:
        return len(staged.rows)


def _replayed_well(plan: Plan) -> Plan:
    lacking = [name for name, found in (plan.replays or {}).items() if not found.good]
    if lacking:
        raise RefusedError(
            f"{len(lacking)} of {len(plan.tasks)} tasks have no good replay as they are now, first"
            f" `{lacking[0]}`; run `seatrials replay`, or publish `--without-replays`"
        )
    return plan


def planned(request: Request, tell: Tell = silent) -> Plan:
    """Pass the gate and return what to stage."""
    targets = [request.source] if request.source is not None else []
    selection = select(targets)
    collection = selection.collection
    if collection is None:
        raise UsageError(
            f"`{request.source}` is not a collection: it has neither `tasks/` nor `submission.yaml`"
        )
    if not selection.tasks:
        raise RefusedError(f"no task in `{collection.tasks_dir}`; there is nothing to release")
    # Harbor's own sets are measured by what runs them, not by what the arena asks for.
    profile: Profile = "benchflow" if request.layout.harbor else "arena"
    report = check(
        CheckRequest(targets=targets, profile=profile),
        lambda done, total: tell("Checking the tasks", done, total),
    )
    _refuse_errors(report, collection)
    if report.gates is not None and not report.gates.eligible:
        raise RefusedError("the arena's gates leave no task to train on; `seatrials check` says why")
    replays = None if request.runs is None else replayed(selection.tasks, collection, request.runs)
    for name, found in (replays or {}).items():
        if found.verdict == "rejected":
            raise RefusedError(
                f"replay rejects `{name}`: {found.reasons[0]}; mend it, or run all again with"
                f" `seatrials replay --force {name}`"
            )
    return Plan(
        tasks=selection.tasks,
        collection=collection,
        card=CardOptions(
            title=request.title or collection.team or collection.root.resolve().name,
            split=request.split,
            license=request.license,
            note=_note(request.note),
            requires=tuple(request.requires),
            setup=tuple(request.setup),
            **({"repo": request.repo} if request.repo is not None else {}),
        ),
        layout=request.layout,
        findings={task.name: [finding.code for finding in task.findings] for task in report.tasks},
        replays=replays,
    )


def lost_run_bits(request: Request) -> tuple[str, ...]:
    """Return which builds need a run bit, which the Hub does not keep, in a line each."""
    found: list[str] = []
    for task in select([request.source] if request.source is not None else []).tasks:
        for file in task.files.values():
            file.mode &= ~0o111
        found += [f"`{task.name}`: {hit.path}:{hit.line}: {hit.message}" for hit in no_run_bit(task)]
        task.forget()
    return tuple(found)


def _refuse_errors(report: CheckReport, collection: Collection) -> None:
    if not report.fails("error"):
        return
    bad = [task.path for task in report.tasks if any(f.severity in {"block", "error"} for f in task.findings)]
    where = f"{len(bad)} of {len(report.tasks)} tasks, first `{bad[0]}`" if bad else f"`{collection.root}`"
    raise RefusedError(f"check finds errors in {where}; `seatrials check` lists them")


def _note(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        if path.stat().st_size > _MAX_NOTE:
            raise UsageError(f"`{path}` must be at most {_MAX_NOTE} bytes of Markdown")
        note = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"`{path}` can't be read as text: {type(error).__name__}") from error
    if MARK in note:
        raise UsageError(f"`{path}` must not have `{MARK}` in it: that marks the card's own sections")
    return note


def replayed(tasks: Sequence[TaskPackage], collection: Collection, runs: Runs) -> dict[str, Replayed]:
    """Return what the collection's store says of each task, by folder name."""
    trials = Store(collection.root).load()
    return {task.name: _replayed(task, trials, runs) for task in tasks}


def _replayed(task: TaskPackage, trials: Sequence[Trial], runs: Runs) -> Replayed:
    found = recorded(task, trials)
    now = task.content_hash
    if runs == "all":
        told = [trial for trial in trials if trial.task == task.name or trial.content_hash == now]
    else:
        told = list(found.trials) if found is not None else []
    rows = tuple(_row(trial, task.name, current=trial.content_hash == now) for trial in told)
    if found is None:
        return Replayed(rows=rows) if rows else NOT_REPLAYED
    oracle = [trial for trial in found.of("oracle") if trial.failure is None]
    solved, attempts = found.band or (0, 0)
    return Replayed(
        verdict=found.verdict,
        oracle_runs=len(found.of("oracle")),
        noop_runs=len(found.of("noop")),
        attempts=attempts,
        solved=solved,
        agent_sec=_median(oracle, "agent"),
        verifier_sec=_median(oracle, "verifier"),
        reasons=_reasons(found),
        rows=rows,
    )


def _reasons(found: TaskReplay) -> tuple[str, ...]:
    return found.reasons or ("no reason given",)


def _median(trials: Sequence[Trial], phase: str) -> float | None:
    times = [seconds for trial in trials if (seconds := _seconds(trial, phase)) is not None]
    return round(median(times), 3) if times else None


def _seconds(trial: Trial, phase: str) -> float | None:
    """Return a phase's seconds, the steps of a multi-step task (`agent:NAME`) together."""
    parts = [seconds for name, seconds in trial.timings.items() if name.partition(":")[0] == phase]
    return sum(parts) if parts else None


def _row(trial: Trial, task: str, *, current: bool) -> ReplayRow:
    failure = trial.failure
    return ReplayRow(
        task=task,
        content_hash=trial.content_hash,
        current=current,
        kind=trial.kind,
        rerun=trial.rerun,
        reward=trial.reward,
        failed_phase=failure.phase if failure is not None else None,
        failed_by=failure.blame if failure is not None else None,
        agent_sec=_seconds(trial, "agent"),
        verifier_sec=_seconds(trial, "verifier"),
        total_sec=trial.seconds,
        peak_memory=trial.peak_memory,
        oom_kills=trial.oom_kills,
        limits_passed=len(trial.limits),
        oracle_exit=trial.oracle_exit,
        verifier_exit=trial.verifier_exit,
        checks=tuple({"name": check.name, "status": check.status} for check in trial.checks),
        steps=tuple({"name": name, "reward": reward} for name, reward in trial.steps.items()),
        user=trial.as_user or "root",
        engine=trial.source,
        architecture=trial.image.architecture or None,
        kit=trial.kit or None,
        started=_minute(trial.started),
    )


def _minute(text: str) -> str | None:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%MZ")
