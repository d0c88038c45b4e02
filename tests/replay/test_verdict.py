"""From trials to verdicts."""

from typing import Any

import pytest
from replay_helpers import spec

from seatrials.replay.model import CheckCount, Failure, ReplayReport, Trial
from seatrials.replay.reward import Check
from seatrials.replay.verdict import band_of, in_band, judge


def trial(kind: Any, reward: float | None, rerun: int = 1, **changes: Any) -> Trial:
    """Return one trial."""
    return Trial(task="sums", content_hash="sha256:a", kind=kind, rerun=rerun, reward=reward, **changes)


def runs(kind: str, *rewards: float | None, **changes: Any) -> list[Trial]:
    """Return one trial for each reward."""
    return [trial(kind, reward, n, **changes) for n, reward in enumerate(rewards, 1)]


def checks(**status: Any) -> tuple[Check, ...]:
    """Return checks by name and status."""
    return tuple(Check(name=name, status=value) for name, value in status.items())


def test_eight_of_each_are_accepted() -> None:
    """Eight oracles at 1 and eight no-ops at 0 are accepted, seven are passing."""
    full = [*runs("oracle", *[1.0] * 8), *runs("noop", *[0.0] * 8)]
    assert judge(spec(), full).verdict == "accepted"
    assert judge(spec(), full[1:]).verdict == "passing"
    assert judge(spec(), full).reasons == ()


def test_oracle_below_one_is_rejected_with_counts() -> None:
    """Each reward that is not the expected one is a reason with its count."""
    found = judge(spec(), [*runs("oracle", 1.0, 0.5, 0.5), *runs("noop", 0.0, 1.0, 0.0)])
    assert found.verdict == "rejected"
    assert found.reasons == (
        "oracle scored 0.5, not 1, on 2 of 3",
        "no-op scored 1, not 0, on 1 of 3",
    )


def test_reward_of_100_is_no_pass() -> None:
    """Only a reward of 1 passes; what merely starts with it does not."""
    assert judge(spec(), [*runs("oracle", 100.0), *runs("noop", 0.0)]).verdict == "rejected"


def test_flaky_check_is_named_with_counts() -> None:
    """A check that fails sometimes is named, whatever the reward says."""
    trials = [
        trial("oracle", 1.0, 1, checks=checks(total="passed", header="passed")),
        trial("oracle", 1.0, 2, checks=checks(total="passed", header="failed")),
        *runs("noop", 0.0, 0.0),
    ]
    found = judge(spec(), trials)
    assert found.verdict == "rejected"
    assert found.reasons == ("check `header` is flaky: it failed in 1 of 2 oracle runs",)
    assert found.checks == {"total": CheckCount(runs=2, passed=2), "header": CheckCount(runs=2, passed=1)}


def test_check_that_vanishes_is_not_passed() -> None:
    """A check that one run lists and another does not has not passed in the other."""
    trials = [
        trial("oracle", 1.0, 1, checks=checks(total="passed", header="passed")),
        trial("oracle", 1.0, 2, checks=checks(total="passed")),
        *runs("noop", 0.0),
    ]
    assert judge(spec(), trials).checks["header"].flaky


def test_all_skipped_is_no_pass() -> None:
    """An oracle of which every check was skipped is rejected."""
    found = judge(spec(), [trial("oracle", 1.0, checks=checks(total="skipped")), *runs("noop", 0.0)])
    assert found.verdict == "rejected"
    assert "every check was skipped" in found.reasons[0]


def test_missing_reward_is_the_tasks_fault() -> None:
    """A verifier that leaves no reward rejects the task, with the count."""
    failure = Failure(blame="task", phase="reward", message="no reward file")
    found = judge(spec(), [*runs("oracle", None, None, failure=failure), *runs("noop", 0.0)])
    assert (found.verdict, found.reasons) == ("rejected", ("oracle: no reward file (2 of 2)",))


def test_machine_failure_is_inconclusive() -> None:
    """What this machine did wrong is never blamed on the task."""
    failure = Failure(blame="machine", phase="engine", message="the engine stopped answering")
    found = judge(spec(), [*runs("oracle", None, failure=failure), *runs("noop", 0.0)])
    assert (found.verdict, found.reasons) == ("inconclusive", ("oracle: the engine stopped answering",))


def test_a_rejection_outweighs_what_is_unknown() -> None:
    """One sure reason rejects, whatever else could not be told; both are listed."""
    failure = Failure(blame="machine", phase="engine", message="the engine stopped answering")
    found = judge(spec(), [*runs("oracle", None, failure=failure), *runs("noop", 1.0)])
    assert found.verdict == "rejected"
    assert len(found.reasons) == 2


def test_limit_passed_rejects_even_with_a_reward() -> None:
    """An oracle past its time limit is rejected, even if what it did by then scores 1."""
    found = judge(spec(), [*runs("oracle", 1.0, limits=("the oracle ran past it",)), *runs("noop", 0.0)])
    assert found.reasons == ("oracle: the oracle ran past it",)
    assert found.verdict == "rejected"


@pytest.mark.parametrize(("blame", "verdict"), [("task", "rejected"), ("machine", "inconclusive")])
def test_failed_build(blame: Any, verdict: str) -> None:
    """A failed build rejects or leaves open, by whose doing it was, and says nothing of trials."""
    found = judge(spec(), [], build=Failure(blame=blame, phase="build", message="the build failed"))
    assert found.verdict == verdict
    assert "the build failed" in found.reasons


def test_no_oracle_waits_for_a_difficulty_band() -> None:
    """Without an oracle the no-op alone never passes; a model's attempts in the band do."""
    task = spec(steps=(spec().steps[0].__class__(verifier=spec().steps[0].verifier, oracle=None),))
    noop = runs("noop", 0.0)
    assert judge(task, noop).verdict == "inconclusive"
    assert judge(task, [*noop, *runs("agent", 1.0, 0.0, 0.0, 0.0)]).verdict == "passing"
    assert judge(task, [*noop, *runs("agent", 1.0, 1.0, 1.0, 1.0)]).verdict == "inconclusive"
    assert judge(task, runs("noop", 1.0)).verdict == "rejected"


@pytest.mark.parametrize(
    ("solved", "attempts", "inside"),
    [(0, 4, False), (1, 4, True), (3, 4, True), (4, 4, False), (1, 2, False)],
)
def test_band(solved: int, attempts: int, inside: bool) -> None:
    """The band is 1 to 3 solved of at least 4 attempts."""
    band = band_of(runs("agent", *[1.0] * solved, *[0.0] * (attempts - solved)))
    assert band == (solved, attempts)
    assert in_band(band) is inside


def test_only_one_kind_is_noted() -> None:
    """With one kind left out on purpose the task can pass, and the note says what was not run."""
    found = judge(spec(), runs("oracle", 1.0), wanted=("oracle",))
    assert found.verdict == "passing"
    assert "the no-op was not run" in found.notes


def test_use_near_the_limits_is_a_warning() -> None:
    """An oracle that took over 80% of a declared limit is warned of, in time and in memory."""
    near = {"timings": {"agent": 3000.0, "verifier": 1.0}, "peak_memory": 500 * 1024**2}
    found = judge(spec(), [*runs("oracle", 1.0, **near), *runs("noop", 0.0)])
    assert any("agent phase took 3000.0 s of the 3600 s" in note for note in found.notes)
    assert any("500 MB of the 512 MB" in note for note in found.notes)
    assert found.verdict == "passing"


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        (["accepted", "passing"], 0),
        (["passing", "rejected", "inconclusive"], 1),
        (["passing", "inconclusive"], 5),
        ([], 0),
    ],
)
def test_exit_code(verdicts: list[Any], code: int) -> None:
    """1 when one is rejected, 5 when none is but one is inconclusive, else 0."""
    base = judge(spec(), [])
    tasks = tuple(type(base)(name="a", content_hash="", verdict=one, reasons=()) for one in verdicts)
    assert ReplayReport(tasks=tasks).exit_code == code
