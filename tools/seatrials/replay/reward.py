"""Reading what a verifier left: the reward files and the list of its checks. Pure.

Two readings, because the runtimes differ. BenchFlow 0.7.11
(``benchflow.rewards.validation``) wants an object of numbers in range with a
`reward` key, beside which a `reward.txt` must agree. Harbor 0.26.0
(``harbor.verifier.verifier``) takes any finite numbers and never looks at
`reward.txt` where there is a `reward.json`. Two files that disagree are a
reason to reject in either reading.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from seatrials.replay.spec import RewardRules, as_number

CheckStatus = Literal["passed", "failed", "skipped", "pending", "other"]

MAX_CHECKS: Final = 5000
"""Checks read out of one CTRF file."""

_TOLERANCE: Final = 1e-9
_NAME_LENGTH: Final = 300

_STRUCTURED: Final = frozenset(
    {
        "aggregate", "artifacts", "debug", "details", "details_path", "errors", "evidence", "items",
        "metadata", "participants", "raw", "reason", "reasons", "regressions", "winner",
    }
)  # fmt: skip
"""Keys that BenchFlow lets stand beside the numbers of a `reward.json`, whatever they hold."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One check of a verifier, from its CTRF report."""

    name: str
    status: CheckStatus
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class Reward:
    """A reward that counts, with the single numbers beside it."""

    value: float
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class NoReward:
    """Why there is no reward: a verifier error, never a reward of 0."""

    reason: str


class _Refused(Exception):  # noqa: N818 - reads as what happened
    pass


def read_reward(json_file: bytes | None, text_file: bytes | None, rules: RewardRules) -> Reward | NoReward:
    """Read `reward.json` and `reward.txt` (None for a file that is not there)."""
    if json_file is None and text_file is None:
        return NoReward(reason="no reward file: neither `reward.json` nor `reward.txt` was written")
    try:
        if json_file is None:
            return Reward(value=_text(text_file or b"", rules))
        metrics = _numbers(json_file, rules)
        text = _text(text_file, rules) if text_file is not None else None
    except _Refused as error:
        return NoReward(reason=str(error))
    value = metrics.pop("reward", None)
    if value is None:
        value = text if text is not None else next(iter(metrics.values())) if len(metrics) == 1 else None
    if value is None:
        return NoReward(reason="`reward.json` has several numbers and no `reward` key; it must have one")
    if text is not None and not math.isclose(value, text, abs_tol=_TOLERANCE):
        return NoReward(
            reason=f"`reward.json` says {value:g} and `reward.txt` says {text:g}; they must agree"
        )
    return Reward(value=value, metrics=metrics)


def _text(raw: bytes, rules: RewardRules) -> float:
    text = raw.decode("utf-8", "replace").strip()
    if not text:
        raise _Refused("`reward.txt` is empty; it must hold one number")
    try:
        value = float(text)
    except ValueError:
        raise _Refused(f"`reward.txt` holds `{text[:40]}`; it must hold one number") from None
    return _in_range(value, "`reward.txt`", rules)


def _in_range(value: float, where: str, rules: RewardRules) -> float:
    if not math.isfinite(value):
        raise _Refused(f"{where} holds `{value}`; a reward must be a finite number")
    if rules.style == "benchflow" and not rules.low <= value <= rules.high:
        raise _Refused(f"{where} holds {value:g}; it must lie between {rules.low:g} and {rules.high:g}")
    return value


def _numbers(raw: bytes, rules: RewardRules) -> dict[str, float]:
    if not raw.strip():
        raise _Refused("`reward.json` is empty; it must hold an object of numbers")
    try:
        data: Any = json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise _Refused("`reward.json` is not valid JSON") from None
    if not isinstance(data, dict):
        raise _Refused('`reward.json` must hold an object of numbers, such as `{"reward": 1.0}`')
    return _harbor(data, rules) if rules.style == "harbor" else _benchflow(data, rules)


def _harbor(data: dict[str, Any], rules: RewardRules) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for key, value in data.items():
        if not isinstance(value, int | float):
            raise _Refused(f"`{key}` of `reward.json` is not a number; Harbor takes numbers only")
        numbers[key] = _in_range(float(value), f"`{key}` of `reward.json`", rules)
    if not numbers:
        raise _Refused("`reward.json` holds no number")
    return numbers


def _benchflow(data: dict[str, Any], rules: RewardRules) -> dict[str, float]:
    numbers: dict[str, float] = {}
    nested: dict[str, float] = {}
    for key, value in data.items():
        match key:
            case "metrics":
                if not isinstance(value, dict):
                    raise _Refused("`metrics` of `reward.json` must be an object of numbers")
                nested = {str(name): _number(item, f"metrics.{name}", rules) for name, item in value.items()}
            case "rubric":
                _rubric(value)
            case "space" | "granularity":
                pass
            case _ if key in _STRUCTURED:
                pass
            case _:
                numbers[key] = _number(value, key, rules)
    if "reward" not in numbers:
        declared = data.get("aggregate")
        policy = {**(declared if isinstance(declared, dict) else {}), **rules.aggregate}
        metrics = nested if "metrics" in data else numbers
        if not policy or not metrics:
            raise _Refused("`reward.json` has no `reward` key; it must have one, or an aggregate policy")
        numbers["reward"] = _in_range(aggregate(metrics, policy), "the aggregate of `reward.json`", rules)
    return {**nested, **numbers}


def _number(value: object, key: str, rules: RewardRules) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Refused(f"`{key}` of `reward.json` is not a number; BenchFlow takes numbers only")
    return _in_range(float(value), f"`{key}` of `reward.json`", rules)


def _rubric(value: object) -> None:
    scores = (
        [item.get("score") if isinstance(item, dict) else None for item in value]
        if isinstance(value, list)
        else [None]
    )
    for score in scores:
        if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
            raise _Refused(
                "`rubric` of `reward.json` must be a list of objects with a `score` between 0 and 1"
            )


def aggregate(metrics: Mapping[str, float], policy: Mapping[str, Any]) -> float:
    """Return the reward that an aggregate policy makes of several numbers, as BenchFlow does."""
    method = str(policy.get("method") or policy.get("fallback") or "").replace("-", "_")
    wanted = policy.get("criteria")
    if isinstance(wanted, list) and set(map(str, wanted)) != set(metrics):
        raise _Refused("the numbers of `reward.json` are not those that the aggregate policy names")
    match method:
        case "mean":
            return sum(metrics.values()) / len(metrics)
        case "all_pass":
            return float(all(value >= 0.5 for value in metrics.values()))  # noqa: PLR2004 - BenchFlow's bar
        case "any_pass":
            return float(any(value >= 0.5 for value in metrics.values()))  # noqa: PLR2004 - BenchFlow's bar
        case "weighted_mean" | "weighted_sum" | "threshold":
            return _weighted(metrics, policy, method)
        case _:
            raise _Refused(f"the aggregate policy names the method `{method}`, which BenchFlow does not have")


def _weighted(metrics: Mapping[str, float], policy: Mapping[str, Any], method: str) -> float:
    raw = policy.get("weights")
    if raw is None and method == "weighted_sum":
        raise _Refused("the aggregate policy `weighted_sum` needs `weights`")
    weights = dict.fromkeys(metrics, 1.0) if raw is None else _weights(metrics, raw)
    total = sum(value * weights[key] for key, value in metrics.items())
    if method == "weighted_sum":
        return total
    if not sum(weights.values()) > 0:
        raise _Refused("the weights of the aggregate policy must sum to more than 0")
    mean = total / sum(weights.values())
    if method == "weighted_mean":
        return mean
    threshold = as_number(policy.get("threshold", 0.7))
    if threshold is None or not 0 <= threshold <= 1:
        raise _Refused("the threshold of the aggregate policy must lie between 0 and 1")
    return float(mean >= threshold)


def _weights(metrics: Mapping[str, float], raw: object) -> dict[str, float]:
    if not isinstance(raw, dict) or set(map(str, raw)) != set(metrics):
        raise _Refused(
            "the weights of the aggregate policy must name the numbers of `reward.json`, each once"
        )
    weights = {str(key): as_number(value) for key, value in raw.items()}
    good = {key: value for key, value in weights.items() if value is not None and value >= 0}
    if len(good) != len(weights):
        raise _Refused("the weights of the aggregate policy must be numbers of 0 or more")
    return good


def read_checks(raw: bytes | None) -> tuple[Check, ...]:
    """Read the checks out of a CTRF report; nothing for a missing or broken one."""
    if not raw:
        return ()
    try:
        data = json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return ()
    match data:
        case {"results": {"tests": list() as tests}}:
            pass
        case _:
            return ()
    checks: list[Check] = []
    for test in tests[:MAX_CHECKS]:
        match test:
            case {"name": str() as name, "status": str() as status}:
                message = test.get("message")
                checks.append(
                    Check(
                        name=name[:_NAME_LENGTH],
                        status=_status(status),
                        message=message[:_NAME_LENGTH] if isinstance(message, str) else "",
                    )
                )
            case _:
                pass
    return tuple(checks)


def _status(word: str) -> CheckStatus:
    match word:
        case "passed" | "failed" | "skipped" | "pending":
            return word
        case _:
            return "other"
