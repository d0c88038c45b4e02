"""The arena's findings beside ours: where the two differ, by task and severity. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from seatrials.arena.results import StaticFinding

GATES: Final = ("block", "reject", "controls", "review")
"""The severities of the arena's static gates, worst first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """A task of which one side has findings of a severity, and the other has none."""

    task: str
    severity: str
    by_arena: bool
    findings: tuple[StaticFinding, ...]

    def __str__(self) -> str:
        who = "the arena" if self.by_arena else "seatrials check"
        said = "; ".join(
            " ".join(part for part in (found.code, found.path, found.message) if part)
            for found in self.findings
        )
        return f"{self.task or 'the collection'}: {self.severity} by {who} only: {said}"


def task_of(finding: StaticFinding) -> str:
    """Return the name of the task that a finding is about; the arena may name it by its path."""
    return finding.task.strip("/").rpartition("/")[2]


def differences(theirs: Iterable[StaticFinding], ours: Iterable[StaticFinding]) -> tuple[Difference, ...]:
    """Return where two lists of findings differ, worst first.

    Compared is whether a task has findings of a severity, not how many: the
    two sides need not cut what they see into the same pieces.
    """
    by_arena, by_us = _grouped(theirs), _grouped(ours)
    found = [
        Difference(task=task, severity=severity, by_arena=first, findings=tuple(groups[task, severity]))
        for groups, others, first in ((by_arena, by_us, True), (by_us, by_arena, False))
        for task, severity in groups
        if (task, severity) not in others
    ]
    return tuple(sorted(found, key=lambda one: (_rank(one.severity), one.task, not one.by_arena)))


def _grouped(findings: Iterable[StaticFinding]) -> dict[tuple[str, str], list[StaticFinding]]:
    groups: dict[tuple[str, str], list[StaticFinding]] = {}
    for found in findings:
        groups.setdefault((task_of(found), found.severity), []).append(found)
    return groups


def _rank(severity: str) -> int:
    return GATES.index(severity) if severity in GATES else -1


def counts(findings: Sequence[StaticFinding]) -> str:
    """Return how many findings there are of each severity, in words."""
    severities = sorted({found.severity for found in findings}, key=_rank)
    said = (f"{sum(found.severity == one for found in findings)} {one or 'other'}" for one in severities)
    return ", ".join(said) or "no findings"
