"""WVR: waivers, the findings that an author lets stand with a reason.

What the arena refuses, blocks or rejects stays so whatever is waived here.
"""

from collections.abc import Collection as Codes
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from seatrials.findings import Finding, Severity
from seatrials.rules.model import Hit, KitRule, Waived
from seatrials.task.waivers import Waiver

WAIVABLE: Final[tuple[Severity, ...]] = ("controls", "review", "warning")


def faulty_waiver(waiver: Waiver) -> Hit:
    """A waiver has a code of this kit's and a reason.

    Why: a waiver without them does not hold; its finding stays.

    Fix: write both, as in `{code: FIL106, reason: the task is about a repository}`.
    """
    said = waiver.fault or f"`{waiver.code[:20]}` is no code of this kit's; `seatrials rules` lists them"
    return Hit(path=waiver.file, line=waiver.line, message=said)


def idle_waiver(waiver: Waiver) -> Hit:
    """A waiver matches a finding.

    Why: one that matches nothing is left over, and would hide a later finding.

    Fix: delete it.
    """
    return Hit(
        path=waiver.file, line=waiver.line, message=f"the waiver of `{waiver.code}` matches no finding"
    )


def forbidden_waiver(waiver: Waiver, severity: Severity) -> Hit:
    """A waiver is for what the arena and BenchFlow let pass.

    Why: they refuse, block or exclude a task for the finding all the same, so
    waiving it here would only hide that.

    Fix: mend the finding and delete the waiver.
    """
    message = f"`{waiver.code}` can't be waived: its severity is `{severity}`; its finding stays"
    return Hit(path=waiver.file, line=waiver.line, message=message)


FAULTY: Final = KitRule("WVR101", "warning", faulty_waiver)
IDLE: Final = KitRule("WVR102", "warning", idle_waiver)
FORBIDDEN: Final = KitRule("WVR103", "warning", forbidden_waiver)

RULES: Final = (FAULTY, IDLE, FORBIDDEN)


@dataclass(kw_only=True)
class Ledger:
    """Waivers applied to findings, and what was used of them."""

    waivers: tuple[Waiver, ...]
    codes: Codes[str]
    used: set[int] = field(default_factory=set)
    refused: dict[int, Severity] = field(default_factory=dict)

    def part(self, findings: Iterable[Finding], name: str | None) -> tuple[list[Finding], list[Waived]]:
        """Return the findings that stay, and those waived.

        `name` is the task's; None for the collection's own findings.
        """
        if not self.waivers:
            return list(findings), []
        kept: list[Finding] = []
        waived: list[Waived] = []
        for finding in findings:
            reason = self._reason(finding, name)
            if reason is None:
                kept.append(finding)
            else:
                waived.append(Waived(finding=finding, reason=reason))
        return kept, waived

    def _reason(self, finding: Finding, name: str | None) -> str | None:
        for index, waiver in enumerate(self.waivers):
            if waiver.fault or waiver.code != finding.code:
                continue
            if (name is None and waiver.tasks) or (name is not None and not waiver.covers(name)):
                continue
            if finding.severity in WAIVABLE:
                self.used.add(index)
                return waiver.reason
            self.refused[index] = finding.severity
        return None

    def complaints(self, ran: Codes[str]) -> Iterator[Finding]:
        """Yield what is to be said of the waivers. One of a rule that is not among `ran` is left alone."""
        for index, waiver in enumerate(self.waivers):
            if waiver.fault or waiver.code not in self.codes:
                yield FAULTY.finding(FAULTY.check(waiver))
            elif index in self.refused:
                yield FORBIDDEN.finding(FORBIDDEN.check(waiver, self.refused[index]))
            elif index not in self.used and waiver.code in ran:
                yield IDLE.finding(IDLE.check(waiver))
