"""The summary counts tasks as the arena does."""

import pytest

from seatrials.findings import Finding, Severity
from seatrials.judge.gates import is_gate, summarize
from seatrials.report.check_text import gates_line
from seatrials.rules.model import TaskReport, Waived


def report(*found: tuple[str, Severity], waived: tuple[tuple[str, Severity], ...] = ()) -> TaskReport:
    """Return a task's report with findings of these codes and severities."""

    def finding(code: str, severity: Severity) -> Finding:
        return Finding(code=code, severity=severity, path="", line=None, message="said")

    return TaskReport(
        name="t", full_name="o/t", path="t", format="native", content_hash="",
        findings=tuple(finding(*pair) for pair in found),
        waived=tuple(Waived(finding=finding(*pair), reason="so") for pair in waived),
    )  # fmt: skip


REPORTS = (
    report(),
    report(("DOC112", "warning"), ("VER105", "review")),
    report(("OVL101", "block"), ("LEK101", "reject")),
    report(("DOC101", "error")),
    report(("LEK102", "reject"), ("ORA101", "controls")),
    report(("KIT101", "reject")),
    report(("ORA101", "controls"), ("LEK104", "review")),
    report(("CTL101", "controls")),
    report(waived=(("LEK107", "review"),)),
)


def test_tasks_are_counted_as_the_arena_does() -> None:
    """Blocked, rejected and eligible add up; a task can need controls and a review; waivers don't count."""
    gates = summarize(REPORTS)
    assert gates.blocked + gates.rejected + gates.eligible == gates.tasks == 9
    assert (gates.blocked, gates.rejected, gates.eligible) == (2, 2, 5)
    assert (gates.needs_controls, gates.review, gates.clean) == (2, 2, 2)
    assert gates.by_code == {
        "CTL101": 1, "LEK101": 1, "LEK102": 1, "LEK104": 1, "LEK107": 1, "ORA101": 2, "OVL101": 1,
    }  # fmt: skip


def test_the_line_says_whether_held_out_suites_were_compared() -> None:
    """Without a fingerprint it says so; with one it names the suite."""
    assert gates_line(summarize(REPORTS)).startswith(
        "gates-v4: 2 blocked + 2 rejected + 5 eligible = 9 tasks;"
    )
    assert gates_line(summarize(REPORTS)).endswith("held-out overlap: not checked")
    assert gates_line(summarize(REPORTS, ["a", "b"])).endswith("held-out overlap: a, b")


@pytest.mark.parametrize(("code", "expected"), [("LEK101", True), ("ORA101", True), ("VER101", False)])
def test_codes_of_gates(code: str, *, expected: bool) -> None:
    """The arena's gates are told from what the kit says beyond them."""
    assert is_gate(code) is expected
