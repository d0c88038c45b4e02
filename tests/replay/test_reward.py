"""What counts as a reward, and why something does not."""

import json

import pytest

from seatrials.replay.reward import Check, NoReward, Reward, read_checks, read_reward
from seatrials.replay.spec import RewardRules

BENCHFLOW = RewardRules()
HARBOR = RewardRules(style="harbor")


@pytest.mark.parametrize(
    ("json_file", "text_file", "rules", "value"),
    [
        (None, b"1\n", BENCHFLOW, 1.0),
        (None, b" 0.25 ", BENCHFLOW, 0.25),
        (b'{"reward": 1.0}', None, BENCHFLOW, 1.0),
        (b'{"reward": 1}', b"1.0", BENCHFLOW, 1.0),
        (b'{"reward": 1, "details": {"a": [1]}}', None, BENCHFLOW, 1.0),
        (b'{"reward": 0.5, "speed": 0.1}', None, BENCHFLOW, 0.5),
        (b'{"reward": 0.5, "metrics": {"speed": 0.1}}', None, BENCHFLOW, 0.5),
        (b'{"speed": 0.1}', b"0.5", BENCHFLOW, None),
        (b'{"a": 1, "b": 0, "aggregate": {"method": "mean"}}', None, BENCHFLOW, 0.5),
        (b'{"a": 1, "b": 0.6}', None, RewardRules(aggregate={"method": "all_pass"}), 1.0),
        (b'{"a": 1, "b": 0.4}', None, RewardRules(aggregate={"method": "any-pass"}), 1.0),
        (
            b'{"a": 1, "b": 0}',
            None,
            RewardRules(aggregate={"method": "weighted_mean", "weights": {"a": 3, "b": 1}}),
            0.75,
        ),
        (b'{"a": 1, "b": 0.5}', None, RewardRules(aggregate={"method": "threshold"}), 1.0),
        (None, b"-1", RewardRules(low=-1.0, high=1.0), -1.0),
        (None, b"100", HARBOR, 100.0),
        (b'{"reward": 1, "speed": 7}', None, HARBOR, 1.0),
        (b'{"accuracy": 0.5}', None, HARBOR, 0.5),
        (b'{"reward": true}', None, HARBOR, 1.0),
    ],
)
def test_reward_is_read(
    json_file: bytes | None, text_file: bytes | None, rules: RewardRules, value: float | None
) -> None:
    """Each runtime's reading gives the reward that the runtime would."""
    found = read_reward(json_file, text_file, rules)
    if value is None:
        assert isinstance(found, NoReward)
    else:
        assert isinstance(found, Reward)
        assert found.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("json_file", "text_file", "rules", "words"),
    [
        (None, None, BENCHFLOW, "no reward file"),
        (None, b"", BENCHFLOW, "empty"),
        (None, b"passed", BENCHFLOW, "`passed`"),
        (None, b"nan", BENCHFLOW, "finite"),
        (None, b"inf", HARBOR, "finite"),
        (None, b"100", BENCHFLOW, "between 0 and 1"),
        (None, b"-0.1", BENCHFLOW, "between 0 and 1"),
        (b"", None, BENCHFLOW, "empty"),
        (b"{", None, BENCHFLOW, "not valid JSON"),
        (b"1.0", None, HARBOR, "object"),
        (b'{"reward": NaN}', None, HARBOR, "finite"),
        (b'{"reward": 1e309}', None, BENCHFLOW, "finite"),
        (b'{"reward": "1"}', None, BENCHFLOW, "not a number"),
        (b'{"reward": true}', None, BENCHFLOW, "not a number"),
        (b'{"reward": 1, "done": "yes"}', None, BENCHFLOW, "`done`"),
        (b'{"reward": 1, "note": "x"}', None, HARBOR, "`note`"),
        (b'{"score": 1}', None, BENCHFLOW, "no `reward` key"),
        (b'{"a": 1, "b": 1}', None, HARBOR, "no `reward` key"),
        (b'{"reward": 1}', b"0", BENCHFLOW, "must agree"),
        (b'{"reward": 1}', b"0", HARBOR, "must agree"),
        (b'{"reward": 1, "metrics": [1]}', None, BENCHFLOW, "`metrics`"),
        (b'{"reward": 1, "rubric": [{"score": 2}]}', None, BENCHFLOW, "`rubric`"),
        (b'{"a": 1}', None, RewardRules(aggregate={"method": "median"}), "`median`"),
        (
            b'{"a": 1}',
            None,
            RewardRules(aggregate={"method": "mean", "criteria": ["a", "b"]}),
            "aggregate policy names",
        ),
        (b'{"a": 1}', None, RewardRules(aggregate={"method": "weighted_sum"}), "needs `weights`"),
    ],
)
def test_no_reward_says_why(
    json_file: bytes | None, text_file: bytes | None, rules: RewardRules, words: str
) -> None:
    """What is no reward is never a 0: it is a reason, which names what is wrong."""
    found = read_reward(json_file, text_file, rules)
    assert isinstance(found, NoReward)
    assert words in found.reason


def test_checks_are_read_from_ctrf() -> None:
    """Each test of a CTRF report becomes a check; an unknown status is kept apart."""
    report = {
        "results": {
            "tests": [
                {"name": "total", "status": "passed"},
                {"name": "header", "status": "failed", "message": "no header"},
                {"name": "later", "status": "quarantined"},
                {"name": 7, "status": "passed"},
                "nonsense",
            ]
        }
    }
    assert read_checks(json.dumps(report).encode()) == (
        Check(name="total", status="passed"),
        Check(name="header", status="failed", message="no header"),
        Check(name="later", status="other"),
    )


@pytest.mark.parametrize("raw", [None, b"", b"{", b"[]", b'{"results": {"tests": 3}}', b"[" * 100_000])
def test_broken_ctrf_has_no_checks(raw: bytes | None) -> None:
    """A report that is missing, broken or crafted gives no checks and raises nothing."""
    assert read_checks(raw) == ()
