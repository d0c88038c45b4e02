"""The arena's findings beside ours."""

from seatrials.arena.beside import counts, differences
from seatrials.arena.results import StaticFinding


def finding(task: str, severity: str, code: str = "C") -> StaticFinding:
    """Return a finding."""
    return StaticFinding(severity=severity, code=code, task=task, path="p", message="m")


def test_differences_are_by_task_and_severity() -> None:
    """Equal severities of a task are no difference, whatever their number and codes; worst comes first."""
    theirs = [finding("envs/a", "review"), finding("envs/a", "review"), finding("b", "block", "X")]
    ours = [finding("a", "review", "OURS"), finding("b", "controls"), finding("c", "reject")]
    told = [(one.task, one.severity, one.by_arena) for one in differences(theirs, ours)]
    assert told == [("b", "block", True), ("c", "reject", False), ("b", "controls", False)]
    assert str(differences(theirs, ours)[0]) == "b: block by the arena only: X p m"
    assert differences(ours, ours) == ()


def test_unknown_severities_and_no_task_are_shown() -> None:
    """A severity of the arena's that we don't know is a difference; so is a finding on the whole."""
    (odd, whole) = differences([finding("a", "new"), finding("", "review")], [])
    assert str(odd).startswith("a: new by the arena only")
    assert str(whole).startswith("the collection: review by the arena only")
    assert counts([finding("a", "new"), finding("a", "review"), finding("b", "review")]) == "1 new, 2 review"
    assert counts([]) == "no findings"
