"""A replay's verdicts for people."""

from collections.abc import Iterator, Sequence
from typing import Final

from seatrials.replay.model import ACCEPTED_RERUNS, Kind, ReplayReport, TaskReplay, Trial
from seatrials.replay.verdict import scored
from seatrials.report.plain import plain
from seatrials.report.terminal import Style, Terminal

HEADLINE: Final = "A local replay on this machine, not the arena's gate."
NAMES: Final[dict[Kind, str]] = {"oracle": "oracle", "noop": "no-op", "agent": "agent"}
EXPECTED: Final[dict[Kind, float]] = {"oracle": 1.0, "noop": 0.0}

_STYLES: Final[dict[str, Style]] = {
    "accepted": "heading",
    "passing": "heading",
    "rejected": "error",
    "inconclusive": "warning",
}


def render(report: ReplayReport, *, terminal: Terminal | None = None) -> str:
    """Return verdicts, reasons and, for what failed, the last lines of its log."""
    paint = (terminal or Terminal()).paint
    lines = [HEADLINE]
    for task in report.tasks:
        verdict = paint(_STYLES[task.verdict], f"{task.verdict:<12}")
        lines.append(f"{verdict} {plain(task.name)}  {tally(task)}".rstrip())
        lines += [f"  - {plain(reason)}" for reason in task.reasons]
        lines += [paint("faint", f"  note: {plain(note)}") for note in task.notes]
        lines += _failures(task)
    lines.append(summary_line(report))
    return "\n".join(lines) + "\n"


def render_attempt(trial: Trial) -> str:
    """Return what the verifier says of a person's own attempt."""
    lines = [f"{plain(trial.task)}: {outcome(trial)}"]
    lines += [f"  {check.status:<7} {plain(check.name)}" for check in trial.checks]
    if trial.reward != 1:
        lines += _tail("verifier", trial.tail, trial.log)
    return "\n".join(lines) + "\n"


def tally(task: TaskReplay) -> str:
    """Return in one line what ran, what passed, and what the oracle took of what it may."""
    parts: list[str] = []
    for kind, expected in EXPECTED.items():
        group = task.of(kind)
        if group:
            good = sum(scored(trial, expected) for trial in group)
            parts.append(f"{NAMES[kind]} {good} of {len(group)}")
    if task.band is not None:
        parts.append(f"agent solved {task.band[0]} of {task.band[1]}")
    if task.checks:
        parts.append(f"{len(task.checks)} checks")
    oracle = task.of("oracle")
    for phase, limit in task.time_limits.items():
        used = max((trial.timings.get(phase, 0.0) for trial in oracle), default=0.0)
        if used:
            parts.append(f"{phase} {used:.1f} s of {limit:g}")
    peak = max((trial.peak_memory or 0 for trial in oracle), default=0)
    if peak:
        declared = f" of {task.memory_limit / 2**20:.0f}" if task.memory_limit else ""
        parts.append(f"{peak / 2**20:.0f} MB{declared}")
    return ", ".join(parts)


def outcome(trial: Trial) -> str:
    """Return in few words what came of a trial."""
    if trial.failure is not None:
        return plain(trial.failure.message)
    return f"reward {trial.reward:g}"


def good(trial: Trial) -> bool:
    """Say whether a trial came out as its kind should."""
    expected = EXPECTED.get(trial.kind)
    return trial.failure is None and not trial.limits and (expected is None or scored(trial, expected))


def summary_line(report: ReplayReport) -> str:
    """Return the counts, on what they were found, and what accepted would take."""
    counts = {verdict: sum(task.verdict == verdict for task in report.tasks) for verdict in _STYLES}
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count) or "no tasks"
    earlier = f", {report.reused} trials from earlier runs" if report.reused else ""
    where = f"{report.engine} {report.architecture}".strip()
    more = f"; accepted needs {ACCEPTED_RERUNS} reruns" if counts["passing"] else ""
    return f"{told} in {report.seconds:.1f} s{earlier}, engine {where}{more}"


def _failures(task: TaskReplay) -> Iterator[str]:
    if task.build is not None and task.build_log:
        yield from _tail("build", task.build_tail, task.build_log)
    shown: set[Kind] = set()
    for trial in task.trials:
        if not good(trial) and trial.kind not in shown and trial.kind != "agent":
            shown.add(trial.kind)
            phase = trial.failure.phase if trial.failure is not None else "verifier"
            yield from _tail(f"{NAMES[trial.kind]} {trial.rerun}, {phase} phase", trial.tail, trial.log)
        if trial.container:
            box = trial.container[:12]
            yield f"  kept: docker exec -it {box} sh; remove it with: docker rm -f {box}"


def _tail(title: str, tail: Sequence[str], log: str) -> Iterator[str]:
    yield f"  {title}: whole log in `{plain(log)}`"
    for line in tail:
        yield f"  | {plain(line)}"
