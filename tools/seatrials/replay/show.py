"""A replay as lines of text: while it runs, and the verdicts after it."""

import sys
from collections.abc import Sequence
from typing import Final, TextIO

from seatrials.replay.images import Built
from seatrials.replay.model import ACCEPTED_RERUNS, Kind, ReplayReport, TaskReplay, Trial
from seatrials.replay.verdict import scored

HEADLINE: Final = "A local replay on this machine, not the arena's gate."
_NAMES: Final = {"oracle": "oracle", "noop": "no-op", "agent": "agent"}
_EXPECTED: Final = {"oracle": 1.0, "noop": 0.0}


class Lines:
    """An observer that prints one line per event; for logs, pipes and CI."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr

    def _say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def planned(self, tasks: Sequence[str], trials: int, reused: int) -> None:
        """Say how much there is to do."""
        earlier = f", {reused} from earlier runs" if reused else ""
        self._say(f"{_count(len(tasks), 'task')}, {_count(trials, 'trial')} to run{earlier}")

    def building(self, task: str) -> None:
        """Say that an image is being built."""
        self._say(f"{task}: building")

    def built(self, task: str, built: Built) -> None:
        """Say that an image is there, or why it is not."""
        if built.failure is not None:
            self._say(f"{task}: {built.failure.message}")
        else:
            self._say(f"{task}: built in {built.seconds:.1f} s")

    def started(self, task: str, kind: Kind, rerun: int) -> None:
        """Say nothing: the end of a trial is told."""

    def ended(self, trial: Trial) -> None:
        """Say what came of a trial."""
        self._say(
            f"{trial.task}: {_NAMES[trial.kind]} {trial.rerun}: {outcome(trial)} in {trial.seconds:.1f} s"
        )

    def judged(self, task: TaskReplay) -> None:
        """Say nothing: verdicts come together at the end."""


def outcome(trial: Trial) -> str:
    """Return in few words what came of a trial."""
    if trial.failure is not None:
        return trial.failure.message
    return f"reward {trial.reward:g}"


def write_report(report: ReplayReport, stream: TextIO) -> None:
    """Write verdicts, reasons and, for what failed, the last lines of its log."""

    def say(text: str = "") -> None:
        print(text, file=stream)

    say(HEADLINE)
    for task in report.tasks:
        say(f"{task.verdict:<12} {task.name}  {_tally(task)}")
        for reason in task.reasons:
            say(f"  - {reason}")
        for note in task.notes:
            say(f"  note: {note}")
        _write_failures(task, stream)
    say(_summary(report))


def _tally(task: TaskReplay) -> str:
    parts: list[str] = []
    for kind in ("oracle", "noop"):
        group = [trial for trial in task.trials if trial.kind == kind]
        if group:
            good = sum(scored(trial, _EXPECTED[kind]) for trial in group)
            parts.append(f"{_NAMES[kind]} {good} of {len(group)}")
    if task.checks:
        parts.append(f"{len(task.checks)} checks")
    oracle = [trial for trial in task.trials if trial.kind == "oracle"]
    if oracle:
        slowest = max(trial.seconds for trial in oracle)
        peak = max((trial.peak_memory or 0 for trial in oracle), default=0)
        parts.append(f"{slowest:.1f} s" + (f", {peak / 2**20:.0f} MB" if peak else ""))
    return ", ".join(parts)


def _write_failures(task: TaskReplay, stream: TextIO) -> None:
    if task.build is not None and task.build_log:
        _write_tail("build", task.build_tail, task.build_log, stream)
    shown: set[str] = set()
    for trial in task.trials:
        expected = _EXPECTED.get(trial.kind)
        good = trial.failure is None and (expected is None or scored(trial, expected)) and not trial.limits
        if not good and trial.kind not in shown:
            shown.add(trial.kind)
            phase = trial.failure.phase if trial.failure is not None else "verifier"
            _write_tail(f"{_NAMES[trial.kind]} {trial.rerun}, {phase}", trial.tail, trial.log, stream)
        if trial.container:
            enter = f"docker exec -it {trial.container[:12]} sh"
            print(f"  kept: {enter}; remove with: docker rm -f {trial.container[:12]}", file=stream)


def _write_tail(title: str, tail: Sequence[str], log: str, stream: TextIO) -> None:
    print(f"  {title}: log in `{log}`", file=stream)
    for line in tail:
        print(f"  | {line}", file=stream)


def _summary(report: ReplayReport) -> str:
    counts = {
        verdict: sum(task.verdict == verdict for task in report.tasks)
        for verdict in ("accepted", "passing", "rejected", "inconclusive")
    }
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count) or "no tasks"
    more = f"; accepted needs {ACCEPTED_RERUNS} reruns" if counts["passing"] else ""
    return f"{told} in {report.seconds:.1f} s, engine {report.engine} {report.architecture}{more}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
