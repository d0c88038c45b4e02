"""From the reports on single tasks to that of a check: credit judged and counted, waivers applied."""

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from seatrials.findings import Finding
from seatrials.rules import COLLECTION_RULES, CREDIT_RULES, RULES_BY_CODE, TASK_RULES
from seatrials.rules.model import Hit, Profile, Rule, TaskReport, Waived
from seatrials.rules.waivers import Ledger
from seatrials.task.collection import MANIFEST, Collection
from seatrials.task.credit import Credit
from seatrials.task.waivers import waivers_at

_NAMED: Final = 3
_DEFAULTED: Final = ("license", "origin")


@dataclass(kw_only=True)
class Settlement:
    """One settling of task reports; `collection` is that which was asked for, None for single tasks.

    A single task still has its collection's defaults and waivers. Without
    `counting` every finding on credit stays with its task, file and line.
    """

    collection: Collection | None
    profile: Profile
    counting: bool = True
    _homes: dict[Path | str, "_Home"] = field(default_factory=dict)
    _counted: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    def settle(self, reports: Sequence[TaskReport]) -> tuple[TaskReport, ...]:
        """Return the reports with the findings on credit, without those waived.

        Of several tasks, or of a collection, the findings on credit are
        counted instead (where `counting` is wanted): `counted` gives them.
        """
        counting = self.counting and (self.collection is not None or len(reports) > 1)
        return tuple(self._settled(report, counting=counting) for report in reports)

    def counted(self, total: int) -> tuple[Finding, ...]:
        """Return one finding per field of the credit, with the number of tasks and the first few names."""
        return tuple(
            rule.finding(Hit(message=_count(self._counted[rule.code], total)))
            for rule in CREDIT_RULES
            if rule.code in self._counted
        )

    def of_collection(self, findings: Sequence[Finding]) -> tuple[tuple[Finding, ...], tuple[Waived, ...]]:
        """Part the collection's own findings by its waivers, and add what there is to say of those."""
        if self.collection is None:
            return tuple(findings), ()
        ledger = self._home(self.collection.root).ledger
        kept, waived = ledger.part(findings, None)
        return (*kept, *ledger.complaints(_codes(self.profile))), tuple(waived)

    def _settled(self, report: TaskReport, *, counting: bool) -> TaskReport:
        above = self.collection.root if self.collection else posixpath.dirname(posixpath.dirname(report.path))
        home = self._home(above)
        own = Ledger(waivers=report.waivers, codes=RULES_BY_CODE.keys())
        waived = list(report.waived)

        def stay(findings: Iterable[Finding]) -> list[Finding]:
            for ledger in (own, home.ledger):
                findings, let_pass = ledger.part(findings, report.name)
                waived.extend(let_pass)
            return list(findings)

        kept = stay(report.findings)
        on_credit = stay(self._on_credit(report.credit, home.defaults, report))
        if counting:
            for finding in on_credit:
                by_message = self._counted.setdefault(finding.code, {})
                by_message.setdefault(finding.message, []).append(report.name)
        else:
            kept += on_credit
        if report.waivers:
            kept += own.complaints(_codes(self.profile) - {skip.code for skip in report.skipped})
        return replace(report, findings=tuple(kept), waived=tuple(waived))

    def _on_credit(
        self, credit: Credit | None, defaults: Mapping[str, str], report: TaskReport
    ) -> Iterator[Finding]:
        for rule in CREDIT_RULES if credit is not None else ():
            if credit is not None and self.profile in rule.profiles:
                for says in rule.check(credit, defaults, report.format):
                    line = credit.lines.get(rule.field, credit.line)
                    name = f"`metadata.{rule.field}` " if rule.field else ""
                    yield rule.finding(Hit(path=credit.file, line=line, message=f"{name}{says}"))

    def _home(self, root: Path | str) -> "_Home":
        if root not in self._homes:
            self._homes[root] = _Home(root=Path(root))
        return self._homes[root]


@dataclass(frozen=True, kw_only=True)
class _Home:
    """The folder of a collection, or where that of a single task would be."""

    root: Path

    @cached_property
    def defaults(self) -> Mapping[str, str]:
        if not (self.root / MANIFEST).is_file():
            return {}
        found = {key: Collection(root=self.root).default(key) for key in _DEFAULTED}
        return {key: value for key, value in found.items() if value is not None}

    @cached_property
    def ledger(self) -> Ledger:
        return Ledger(waivers=waivers_at(self.root), codes=RULES_BY_CODE.keys())


@cache
def _codes(profile: Profile) -> frozenset[str]:
    """Return the codes that a profile checks."""
    rules: tuple[Rule, ...] = (*TASK_RULES, *CREDIT_RULES, *COLLECTION_RULES)
    return frozenset(rule.code for rule in rules if profile in rule.profiles)


def _count(by_message: Mapping[str, Sequence[str]], total: int) -> str:
    """Word what a rule found in several tasks, the commonest first; rare values are only counted."""
    ranked = sorted(by_message.items(), key=lambda item: (-len(item[1]), item[0]))
    parts = []
    for message, names in ranked[:_NAMED]:
        listed = ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
        parts.append(f"{message} ({len(names)} of {total} tasks: {listed})")
    if rest := sum(len(names) for _, names in ranked[_NAMED:]):
        parts.append(f"and {rest} more")
    return "; ".join(parts)
