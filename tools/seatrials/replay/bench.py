"""The same plan by BenchFlow: on a sandbox it knows, here or as commands for elsewhere.

Oracles are run as they are; a no-op is a copy of the task whose oracle does
nothing. What comes of it is read back as any finished job folder is.
"""

import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from seatrials import proc
from seatrials.errors import CannotJudgeError, UsageError
from seatrials.replay import archive
from seatrials.replay.jobs import NOOP_SCRIPT, Target, collect, target_of
from seatrials.replay.model import Failure, Kind, ReplayReport, TaskReplay, Trial
from seatrials.replay.reading import spec_of
from seatrials.replay.spec import Files, SourceFile, TrialSpec
from seatrials.replay.store import Store
from seatrials.replay.verdict import judge
from seatrials.task.files import git_blob_id
from seatrials.task.package import TaskPackage

PINNED: Final = "0.7.11"
"""The BenchFlow whose options and results this module knows."""

_PROBE_TIMEOUT: Final = 60.0
_RUN_TIMEOUT: Final = 24 * 3600.0
_CONTROLS: Final[tuple[Kind, ...]] = ("oracle", "noop")


@dataclass(frozen=True, kw_only=True)
class NoopScript:
    """The script of an oracle that does nothing."""

    kind: Literal["file"] = "file"
    mode: int = 0o755
    blob_id: str = git_blob_id(NOOP_SCRIPT)

    def read(self) -> bytes:
        """Return the script."""
        return NOOP_SCRIPT


@dataclass(frozen=True, kw_only=True)
class BenchPlan:
    """What is to be run: task folders by kind, and one command for each kind and rerun."""

    folder: Path
    commands: tuple[tuple[str, ...], ...]

    @property
    def jobs(self) -> Path:
        """Where the results will be."""
        return self.folder / "jobs"


def noop_files(task: TaskPackage) -> dict[str, SourceFile]:
    """Return a task's files with an oracle that does nothing in the oracle's place."""
    folder = task.native.oracle_dir or ("solution" if task.format == "harbor" else "oracle")
    kept: dict[str, SourceFile] = {
        path: file for path, file in task.files.items() if not path.startswith(folder + "/")
    }
    return {**kept, f"{folder}/solve.sh": NoopScript()}


def targets_of(tasks: Sequence[TaskPackage]) -> list[Target]:
    """Return what trials of these tasks are matched by."""
    return [
        target_of(task.name, task.content_hash, task.files, noop_files(task), spec_of(task).reward)
        for task in tasks
    ]


def argv(tasks_dir: Path, jobs_dir: Path, *, sandbox: str, concurrency: int) -> tuple[str, ...]:
    """Return BenchFlow's command for one round over a folder of tasks."""
    return (
        "bench", "eval", "run", "--tasks-dir", str(tasks_dir), "--agent", "oracle",
        "--sandbox", sandbox, "--concurrency", str(concurrency), "--jobs-dir", str(jobs_dir),
    )  # fmt: skip


def lay_out(
    tasks: Sequence[TaskPackage],
    folder: Path,
    *,
    kinds: Sequence[Kind],
    reruns: int,
    sandbox: str,
    concurrency: int,
) -> BenchPlan:
    """Write the plan into a new folder: the tasks by kind, and `run.sh` with every command.

    Raises `UsageError` for a folder that is there already.
    """
    if folder.exists():
        raise UsageError(f"`{folder}` is there already; name a folder that is not")
    commands: list[tuple[str, ...]] = []
    for kind in kinds:
        any_of = False
        for task in tasks:
            if kind == "oracle" and not spec_of(task).has_oracle:
                continue
            any_of = True
            files: Files = noop_files(task) if kind == "noop" else task.files
            archive.write_out(files, folder / kind / task.name)
        if any_of:
            commands += [
                argv(Path(kind), Path("jobs") / f"{kind}-{rerun}", sandbox=sandbox, concurrency=concurrency)
                for rerun in range(1, reruns + 1)
            ]
    folder.mkdir(parents=True, exist_ok=True)
    lines = [shlex.join(command) for command in commands]
    script = ["#!/bin/sh", f"# BenchFlow {PINNED}; results: seatrials replay --collect jobs TASK...", *lines]
    (folder / "run.sh").write_text("\n".join(script) + "\n", encoding="utf-8")
    (folder / "run.sh").chmod(0o755)
    return BenchPlan(folder=folder, commands=tuple(commands))


def run(plan: BenchPlan) -> None:
    """Run a plan here. Raises `CannotJudgeError` without the pinned BenchFlow."""
    check_version()
    said: list[str] = []
    for command in plan.commands:
        try:
            # An exit code says that a task failed, which its result tells better.
            said += proc.run(command, timeout=_RUN_TIMEOUT, cwd=plan.folder).output.splitlines()
        except (proc.ProgramMissing, proc.ProgramTimedOut) as error:
            raise CannotJudgeError(str(error)) from error
    if not plan.jobs.is_dir():
        last = next((line.strip() for line in reversed(said) if line.strip()), "it printed nothing")
        raise CannotJudgeError(f"BenchFlow left no results: {last}")


def check_version() -> None:
    """Raise `CannotJudgeError` unless the pinned BenchFlow is installed."""
    try:
        said = proc.run(("bench", "--version"), timeout=_PROBE_TIMEOUT).output
    except (proc.ProgramMissing, proc.ProgramTimedOut) as error:
        raise CannotJudgeError(f"{error}; `--engine bench` needs benchflow {PINNED}") from error
    words = said.replace(",", " ").split()
    if PINNED not in [word.removeprefix("v") for word in words]:
        raise CannotJudgeError(f"`bench` is not benchflow {PINNED}, which `--engine bench` needs")


def report_jobs(
    tasks: Sequence[TaskPackage], jobs: Path, *, root: Path, kinds: Sequence[Kind] = _CONTROLS
) -> ReplayReport:
    """Read finished jobs into the store and judge the tasks on them. Raises `UsageError`."""
    if not jobs.is_dir():
        raise UsageError(f"`{jobs}` is not a folder of finished jobs")
    store = Store(root)
    earlier = store.load()
    known = {(trial.source, trial.log) for trial in earlier}
    found = list(collect(jobs.resolve(), targets_of(tasks)))
    for trial in found:
        if (trial.source, trial.log) not in known:
            store.append(trial)
    judged = [_judged(spec_of(task), found, earlier, kinds) for task in tasks]
    sources = sorted({trial.source for trial in found})
    return ReplayReport(tasks=tuple(judged), engine=" and ".join(sources) or "no results", reused=len(found))


def _judged(
    spec: TrialSpec, found: Sequence[Trial], earlier: Sequence[Trial], kinds: Sequence[Kind]
) -> TaskReplay:
    mine = [trial for trial in found if trial.content_hash == spec.content_hash]
    logs = {trial.log for trial in mine}
    attempts = [
        trial
        for trial in earlier
        if trial.kind == "agent" and trial.content_hash == spec.content_hash and trial.log not in logs
    ]
    if not mine:
        nothing = Failure(
            blame="machine", phase="collect", message="no finished trial of this task as it is now"
        )
        return judge(replace(spec, blockers=()), [], wanted=(), build=nothing)
    # What can't be run on this machine may well have been run elsewhere.
    wanted = [kind for kind in kinds if any(trial.kind == kind for trial in mine)]
    return judge(replace(spec, blockers=()), [*mine, *attempts], wanted=wanted)


def clear(plan: BenchPlan) -> None:
    """Remove the copies of tasks that a plan made; its jobs stay."""
    for kind in _CONTROLS:
        shutil.rmtree(plan.folder / kind, ignore_errors=True)
