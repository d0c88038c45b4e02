"""From trials to a verdict with its reasons. Pure.

Rules, from the arena's guide as far as it is public: every oracle scores 1
with every check passing, every no-op scores 0, eight runs each. A failure of
this machine is never blamed on the task.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from seatrials.replay.model import (
    ACCEPTED_RERUNS,
    NEAR_LIMIT,
    CheckCount,
    Failure,
    Kind,
    TaskReplay,
    Trial,
    Verdict,
)
from seatrials.replay.spec import Step, TrialSpec

_TOLERANCE: Final = 1e-9
_SHOWN_CHECKS: Final = 5
BAND: Final = (1, 3)
BAND_ATTEMPTS: Final = 4
"""The difficulty band of the arena's guide: solved in 1 to 3 of 4 attempts of a model."""

_CONTROLS: Final[tuple[Kind, ...]] = ("oracle", "noop")
_NAMES: Final[Mapping[Kind, str]] = {"oracle": "oracle", "noop": "no-op", "agent": "agent"}


def judge(
    spec: TrialSpec,
    trials: Sequence[Trial],
    *,
    wanted: Sequence[Kind] = ("oracle", "noop"),
    build: Failure | None = None,
) -> TaskReplay:
    """Return the verdict on one task.

    `wanted` are the kinds that were to run; `build` is why no image came to be.
    """
    oracle = [trial for trial in trials if trial.kind == "oracle"]
    noop = [trial for trial in trials if trial.kind == "noop"]
    checks = count_checks(oracle)
    rejected = [*spec.faults]
    unknown = [*spec.blockers]
    for failure in [build] if build is not None else []:
        (rejected if failure.blame == "task" else unknown).append(failure.message)
    _judge_kind("oracle", oracle, 1.0, rejected, unknown)
    _judge_kind("noop", noop, 0.0, rejected, unknown)
    rejected += _check_reasons(oracle, checks)
    band = band_of(trials)
    if not rejected:
        unknown += _without_oracle(spec, band)
    if not rejected and not unknown:
        ran = {trial.kind for trial in trials}
        due = [kind for kind in _CONTROLS if kind in wanted and (kind != "oracle" or spec.has_oracle)]
        unknown += [f"the {_NAMES[kind]} did not run" for kind in due if kind not in ran]
    verdict: Verdict
    if rejected:
        verdict = "rejected"
    elif unknown:
        verdict = "inconclusive"
    elif min(len(oracle), len(noop)) >= ACCEPTED_RERUNS:
        verdict = "accepted"
    else:
        verdict = "passing"
    return TaskReplay(
        name=spec.name,
        content_hash=spec.content_hash,
        verdict=verdict,
        reasons=_unique(rejected + unknown),
        path=spec.path,
        source=spec.source,
        time_limits={phase: limit for step in spec.steps for phase, limit, _ in _time_limits(step)},
        memory_limit=spec.memory,
        notes=_notes(spec, oracle, trials, checks, wanted),
        trials=tuple(trials),
        checks=checks,
        build=build,
        band=band,
    )


def band_of(trials: Iterable[Trial]) -> tuple[int, int] | None:
    """Return (solved, attempts) of a model's attempts that came to a reward, or None without any."""
    attempts = [trial for trial in trials if trial.kind == "agent" and trial.reward is not None]
    if not attempts:
        return None
    return sum(scored(trial, 1.0) for trial in attempts), len(attempts)


def in_band(band: tuple[int, int]) -> bool:
    """Say whether a model's attempts lie in the difficulty band: 1 to 3 solved of 4."""
    solved, attempts = band
    if attempts < BAND_ATTEMPTS:
        return False
    low, high = (bound / BAND_ATTEMPTS for bound in BAND)
    return low <= solved / attempts <= high


def scored(trial: Trial, expected: float) -> bool:
    """Say whether a trial's reward is the one expected."""
    return trial.reward is not None and abs(trial.reward - expected) <= _TOLERANCE


def count_checks(oracle: Iterable[Trial]) -> dict[str, CheckCount]:
    """Count, over the oracle's runs that came to a reward, how often each check ran and passed.

    A check that one run has and another lacks counts as not passed in the other.
    """
    runs = [trial for trial in oracle if trial.checks and trial.failure is None]
    passed: Counter[str] = Counter()
    seen: dict[str, None] = {}
    for trial in runs:
        states: dict[str, bool] = {}
        for check in trial.checks:
            good = check.status in ("passed", "skipped")
            states[check.name] = states.get(check.name, True) and good
        seen.update(dict.fromkeys(states))
        passed.update(name for name, good in states.items() if good)
    return {name: CheckCount(runs=len(runs), passed=passed[name]) for name in seen}


def _judge_kind(
    kind: Kind, group: Sequence[Trial], expected: float, rejected: list[str], unknown: list[str]
) -> None:
    name = _NAMES[kind]
    total = len(group)
    failures: Counter[tuple[bool, str]] = Counter()
    rewards: Counter[float] = Counter()
    limits: Counter[str] = Counter()
    for trial in group:
        limits.update(trial.limits)
        if trial.failure is not None:
            failures[trial.failure.blame == "task", trial.failure.message] += 1
        elif trial.reward is not None and not scored(trial, expected):
            rewards[trial.reward] += 1
    for (blamed, message), count in failures.items():
        (rejected if blamed else unknown).append(f"{name}: {message}{_times(count, total)}")
    for reward, count in sorted(rewards.items()):
        rejected.append(f"{name} scored {reward:g}, not {expected:g}, on {count} of {total}")
    for limit, count in limits.items():
        text = f"{name}: {limit}{_times(count, total)}"
        if not any(limit in reason for reason in (*rejected, *unknown)):
            rejected.append(text)


def _times(count: int, total: int) -> str:
    return f" ({count} of {total})" if total > 1 else ""


def _check_reasons(oracle: Sequence[Trial], checks: Mapping[str, CheckCount]) -> list[str]:
    reasons = [
        f"check `{name}` {'is flaky: it ' if count.flaky else ''}failed in {count.runs - count.passed}"
        f" of {count.runs} oracle runs"
        for name, count in checks.items()
        if count.passed < count.runs
    ]
    if len(reasons) > _SHOWN_CHECKS:
        reasons[_SHOWN_CHECKS:] = [f"and {len(reasons) - _SHOWN_CHECKS} more checks failed"]
    empty = sum(
        bool(trial.checks) and all(check.status == "skipped" for check in trial.checks) for trial in oracle
    )
    if empty:
        reasons.append(f"every check was skipped in {empty} of {len(oracle)} oracle runs; some must run")
    return reasons


def _without_oracle(spec: TrialSpec, band: tuple[int, int] | None) -> list[str]:
    if spec.has_oracle or spec.blockers or (band is not None and in_band(band)):
        return []
    found = "" if band is None else f" (now {band[0]} of {band[1]})"
    reason = (
        "no oracle: judged on the no-op alone, and not before a model's attempts show a difficulty"
        f" band of 1 to 3 solved of 4{found}"
    )
    return [reason]


def _notes(
    spec: TrialSpec,
    oracle: Sequence[Trial],
    trials: Sequence[Trial],
    checks: Mapping[str, CheckCount],
    wanted: Sequence[Kind],
) -> tuple[str, ...]:
    ran = {trial.kind for trial in trials}
    notes = [f"the {_NAMES[kind]} was not run" for kind in _CONTROLS if kind not in {*wanted, *ran}]
    failed = Counter(trial.oracle_exit for trial in oracle if trial.oracle_exit)
    notes += [f"`solve.sh` exited with {code} on {count} of {len(oracle)}" for code, count in failed.items()]
    if oracle and not checks and not any(trial.failure for trial in oracle):
        notes.append("the verifier lists no single checks (`/logs/verifier/ctrf.json`)")
    notes += near_limits(spec, oracle)
    for trial in trials:
        notes += trial.notes
    return _unique(notes)


def near_limits(spec: TrialSpec, oracle: Sequence[Trial]) -> list[str]:
    """Return a warning for each declared limit of which the oracle used over 80%."""
    warnings: list[str] = []
    for step in spec.steps:
        for phase, limit, key in _time_limits(step):
            used = max((trial.timings.get(phase, 0.0) for trial in oracle), default=0.0)
            if limit and used > NEAR_LIMIT * limit:
                warnings.append(f"the oracle's {phase} phase took {used:.1f} s of the {limit:g} s in `{key}`")
    peak = max((trial.peak_memory or 0 for trial in oracle), default=0)
    if spec.memory and peak > NEAR_LIMIT * spec.memory:
        share = f"{peak / 2**20:.0f} MB of the {spec.memory / 2**20:.0f} MB"
        warnings.append(f"the oracle's run took up to {share} declared, file cache included")
    return warnings


def _time_limits(step: Step) -> tuple[tuple[str, float, str], ...]:
    suffix = f":{step.name}" if step.name else ""
    return (
        ("agent" + suffix, step.agent_timeout, "agent.timeout_sec"),
        ("verifier" + suffix, step.verifier.timeout, "verifier.timeout_sec"),
    )


def _unique(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))
