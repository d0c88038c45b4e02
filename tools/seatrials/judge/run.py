"""Run the rules over tasks and a collection."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from seatrials.findings import Finding, Severity, at_least
from seatrials.judge.gates import GateSummary
from seatrials.judge.settle import Settlement
from seatrials.rules import COLLECTION_RULES, TASK_RULES
from seatrials.rules.limits import DIED, FAILED, SECONDS, TOO_LONG, OutOfTime, allowance, time_limit
from seatrials.rules.model import Hit, Profile, Skip, TaskReport, TaskRule, Waived
from seatrials.task.collection import Collection, Selection
from seatrials.task.credit import Credit, credit_of
from seatrials.task.package import DOCUMENT, TaskPackage
from seatrials.task.waivers import Waiver, waivers_of

if TYPE_CHECKING:
    from seatrials.task.native import Format

_MOST: Final = 100
"""Findings of one rule in one task: a file made to have a million must not fill the report or the memory."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckReport:
    """What the rules say of everything they were given; `gates` is the arena's summary, where wanted."""

    tasks: tuple[TaskReport, ...]
    collection_path: str | None
    collection_findings: tuple[Finding, ...]
    collection_waived: tuple[Waived, ...] = ()
    gates: GateSummary | None = None

    def findings(self) -> Iterator[Finding]:
        """Yield every finding, the collection's last."""
        for task in self.tasks:
            yield from task.findings
        yield from self.collection_findings

    def counts(self) -> Counter[Severity]:
        """Return the number of findings of each severity."""
        return Counter(finding.severity for finding in self.findings())

    def fails(self, threshold: Severity) -> bool:
        """Say whether any finding is as bad as `threshold` or worse."""
        return any(at_least(finding.severity, threshold) for finding in self.findings())

    def keeping(self, wanted: Callable[[str], bool]) -> "CheckReport":
        """Return the report with those findings only, waived ones too, whose code is wanted."""

        def found(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
            return tuple(item for item in findings if wanted(item.code))

        def let_stand(waived: tuple[Waived, ...]) -> tuple[Waived, ...]:
            return tuple(item for item in waived if wanted(item.finding.code))

        return replace(
            self,
            tasks=tuple(
                replace(task, findings=found(task.findings), waived=let_stand(task.waived))
                for task in self.tasks
            ),
            collection_findings=found(self.collection_findings),
            collection_waived=let_stand(self.collection_waived),
        )

    def waived(self) -> Iterator[Waived]:
        """Yield every finding that was waived, the collection's last."""
        for task in self.tasks:
            yield from task.waived
        yield from self.collection_waived

    @property
    def faulty(self) -> bool:
        """Whether a rule was at fault: the report is then not complete."""
        return any(finding.code == FAILED.code for finding in self.findings())


def check_task(
    task: TaskPackage,
    *,
    profile: Profile = "arena",
    rules: Sequence[TaskRule] = TASK_RULES,
    limited: bool = False,
    known: Callable[[TaskPackage], TaskReport | None] | None = None,
) -> TaskReport:
    """Run every rule of a profile on one task; what a rule raises becomes a finding.

    `limited` ends the check once its time is over (see `limits.allowance`),
    with a finding that says so. `known` may give the report without the rules
    having to run; it is called within that time.
    """
    findings: list[Finding] = []
    skipped: list[Skip] = []
    content_hash, full_name = "", task.name
    credit: Credit | None = None
    waivers: tuple[Waiver, ...] = ()
    format_: Format | None = None
    try:
        with time_limit(SECONDS if limited else None):
            size = sum(file.size for file in task.files.values())
        with time_limit(allowance(size) if limited else None):
            if known is not None and (report := known(task)) is not None:
                return report
            content_hash, format_, full_name = task.content_hash, task.format, task.full_name
            credit, waivers = credit_of(task), waivers_of(task)
            _apply(rules, task, profile, findings, skipped)
    except OutOfTime:
        findings.append(TOO_LONG.finding(TOO_LONG.check()))
    except MemoryError:
        findings.append(DIED.finding(DIED.check("ran out of memory")))
    except Exception as error:  # noqa: BLE001 - a fault of the reading must not end the run either
        findings.append(FAILED.finding(FAILED.check("reading the task", error)))
    return TaskReport(
        name=task.name,
        full_name=full_name,
        path=task.label,
        format=format_ or ("native" if (task.root / DOCUMENT).exists() else "harbor"),
        content_hash=content_hash,
        findings=tuple(findings),
        skipped=tuple(skipped),
        credit=credit,
        waivers=waivers,
    )


def check_collection(
    collection: Collection, reports: tuple[TaskReport, ...], *, profile: Profile = "arena"
) -> tuple[Finding, ...]:
    """Run the rules about a collection as a whole; what a rule raises becomes a finding."""
    findings: list[Finding] = []
    for rule in COLLECTION_RULES:
        if profile in rule.profiles:
            try:
                findings += map(rule.finding, rule.check(collection, reports))
            except Exception as error:  # noqa: BLE001 - as for tasks
                findings.append(FAILED.finding(FAILED.check(f"the rule {rule.code}", error)))
    return tuple(findings)


def check(selection: Selection, *, profile: Profile = "arena") -> CheckReport:
    """Run the rules on a selection in this process, task by task; memory does not grow with their files."""
    reports: list[TaskReport] = []
    for task in selection.tasks:
        reports.append(check_task(task, profile=profile))
        task.forget()
    return report_on(selection.collection, reports, profile=profile)


def report_on(
    collection: Collection | None,
    reports: Sequence[TaskReport],
    *,
    profile: Profile,
    counting: bool = True,
) -> CheckReport:
    """Return the whole report: the tasks', and what there is to say of the collection.

    Findings on credit are counted over the tasks, unless `counting` is off.
    """
    settlement = Settlement(collection=collection, profile=profile, counting=counting)
    done = settlement.settle(reports)
    counted = settlement.counted(len(done))
    if collection is None:
        above = _common_folder(done) if counted else None
        return CheckReport(tasks=done, collection_path=above, collection_findings=counted)
    found = check_collection(collection, done, profile=profile)
    findings, waived = settlement.of_collection((*found, *counted))
    return CheckReport(
        tasks=done,
        collection_path=collection.root.as_posix(),
        collection_findings=findings,
        collection_waived=waived,
    )


def _common_folder(reports: Sequence[TaskReport]) -> str:
    """Return the folder above all tasks, for the findings that are about them together."""
    try:
        return Path(os.path.commonpath([report.path for report in reports])).as_posix()
    except ValueError:  # absolute and relative paths
        return "."


@lru_cache(maxsize=4)
def _of_profile(rules: tuple[TaskRule, ...], profile: Profile) -> tuple[TaskRule, ...]:
    return tuple(rule for rule in rules if profile in rule.profiles)


def _apply(
    rules: Sequence[TaskRule],
    task: TaskPackage,
    profile: Profile,
    findings: list[Finding],
    skipped: list[Skip],
) -> None:
    fired: set[str] = set()
    for rule in _of_profile(tuple(rules), profile):
        if fired and (blocking := fired.intersection(rule.requires)):
            skipped.append(Skip(code=rule.code, reason=f"after {', '.join(sorted(blocking))}"))
            continue
        try:
            for number, hit in enumerate(rule.check(task)):
                fired.add(rule.code)
                if number == _MOST:
                    findings.append(rule.finding(Hit(message=f"and more of this; {_MOST} are told")))
                    break
                findings.append(rule.finding(hit))
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - one rule's fault must not hide what the others find
            findings.append(FAILED.finding(FAILED.check(f"the rule {rule.code}", error)))
