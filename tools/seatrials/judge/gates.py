"""The arena's static gates over a whole report: which findings are theirs, and its summary of the tasks."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from seatrials.findings import Finding
from seatrials.rules.model import TaskReport

VERSION: Final = "gates-v4"
"""The version of the arena's gates that its guide describes."""

NOT_CHECKED: Final = "not checked"

_PREFIXES: Final = ("LEK", "CTL", "OVL")
_OTHERS: Final = frozenset({"ORA101", "VER108"})


def is_gate(code: str) -> bool:
    """Say whether a code stands for one of the arena's static gates."""
    return code.startswith(_PREFIXES) or code in _OTHERS


@dataclass(frozen=True, kw_only=True, slots=True)
class GateSummary:
    """The numbers of tasks as the arena counts them: `blocked` + `rejected` + `eligible` = `tasks`.

    Of the eligible, `needs_controls` have no working reference solution,
    `review` a review finding (a task can be in both), `clean` no finding of a
    gate. `by_code` counts findings. `overlap` names the suites that were
    compared with, or says that none was.
    """

    tasks: int
    blocked: int
    rejected: int
    needs_controls: int
    review: int
    clean: int
    by_code: Mapping[str, int]
    overlap: str = NOT_CHECKED

    @property
    def eligible(self) -> int:
        """The tasks that are neither blocked nor rejected."""
        return self.tasks - self.blocked - self.rejected


def summarize(reports: Iterable[TaskReport], suites: Iterable[str] = ()) -> GateSummary:
    """Count tasks as the arena does.

    What validation refuses for its structure (an `error`) counts as blocked.
    A waiver is the author's and the arena knows none, so what is waived counts.
    """
    counts: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    for report in reports:
        counts["tasks"] += 1
        findings = [*report.findings, *(waived.finding for waived in report.waived)]
        gates = [finding for finding in findings if is_gate(finding.code)]
        codes.update(finding.code for finding in gates)
        counts.update(_kinds(findings, gates))
    return GateSummary(
        tasks=counts["tasks"],
        blocked=counts["blocked"],
        rejected=counts["rejected"],
        needs_controls=counts["needs_controls"],
        review=counts["review"],
        clean=counts["clean"],
        by_code=dict(sorted(codes.items())),
        overlap=", ".join(suites) or NOT_CHECKED,
    )


def _kinds(findings: list[Finding], gates: list[Finding]) -> set[str]:
    severities = {finding.severity for finding in findings}
    if severities & {"block", "error"}:
        return {"blocked"}
    if "reject" in severities:
        return {"rejected"}
    own = {finding.severity for finding in gates}
    kinds = {
        kind for severity, kind in (("controls", "needs_controls"), ("review", "review")) if severity in own
    }
    return kinds or {"clean"}
