"""Run the rules over tasks and a collection."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from seatrials.findings import Finding, Severity, at_least
from seatrials.rules import COLLECTION_RULES, TASK_RULES
from seatrials.rules.limits import FAILED, SECONDS, TOO_LONG, OutOfTime, allowance, time_limit
from seatrials.rules.model import Profile, Skip, TaskReport, TaskRule
from seatrials.task.collection import Collection, Selection
from seatrials.task.package import DOCUMENT, TaskPackage

if TYPE_CHECKING:
    from seatrials.task.native import Format


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckReport:
    """What the rules say of everything they were given."""

    tasks: tuple[TaskReport, ...]
    collection_path: str | None
    collection_findings: tuple[Finding, ...]

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
        """Return the report with those findings only whose code is wanted."""
        return replace(
            self,
            tasks=tuple(
                replace(task, findings=tuple(item for item in task.findings if wanted(item.code)))
                for task in self.tasks
            ),
            collection_findings=tuple(item for item in self.collection_findings if wanted(item.code)),
        )

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
    format_: Format = "native" if (task.root / DOCUMENT).exists() else "harbor"
    try:
        with time_limit(SECONDS if limited else None):
            size = sum(file.size for file in task.files.values())
        with time_limit(allowance(size) if limited else None):
            if known is not None and (report := known(task)) is not None:
                return report
            content_hash, format_, full_name = task.content_hash, task.format, task.full_name
            _apply(rules, task, profile, findings, skipped)
    except OutOfTime:
        findings.append(TOO_LONG.finding(TOO_LONG.check()))
    except Exception as error:  # noqa: BLE001 - a fault of the reading must not end the run either
        findings.append(FAILED.finding(FAILED.check("reading the task", error)))
    return TaskReport(
        name=task.name,
        full_name=full_name,
        path=task.label,
        format=format_,
        content_hash=content_hash,
        findings=tuple(findings),
        skipped=tuple(skipped),
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
    collection: Collection | None, reports: Sequence[TaskReport], *, profile: Profile
) -> CheckReport:
    """Return the whole report: the tasks', and what there is to say of the collection."""
    done = tuple(reports)
    if collection is None:
        return CheckReport(tasks=done, collection_path=None, collection_findings=())
    return CheckReport(
        tasks=done,
        collection_path=collection.root.as_posix(),
        collection_findings=check_collection(collection, done, profile=profile),
    )


def _apply(
    rules: Sequence[TaskRule],
    task: TaskPackage,
    profile: Profile,
    findings: list[Finding],
    skipped: list[Skip],
) -> None:
    fired: set[str] = set()
    for rule in rules:
        if profile not in rule.profiles:
            continue
        if blocking := fired.intersection(rule.requires):
            skipped.append(Skip(code=rule.code, reason=f"after {', '.join(sorted(blocking))}"))
            continue
        try:
            for hit in rule.check(task):
                fired.add(rule.code)
                findings.append(rule.finding(hit))
        except Exception as error:  # noqa: BLE001 - one rule's fault must not hide what the others find
            findings.append(FAILED.finding(FAILED.check(f"the rule {rule.code}", error)))
