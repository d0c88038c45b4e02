"""Run the rules over tasks and a collection."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from seatrials.findings import Finding, Severity, at_least
from seatrials.rules import COLLECTION_RULES, TASK_RULES
from seatrials.rules.model import Profile, Skip, TaskReport
from seatrials.task.collection import Collection, Selection
from seatrials.task.package import TaskPackage


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


def check_task(task: TaskPackage, *, profile: Profile = "arena") -> TaskReport:
    """Run every rule of a profile on one task."""
    findings: list[Finding] = []
    skipped: list[Skip] = []
    fired: set[str] = set()
    for rule in TASK_RULES:
        if profile not in rule.profiles:
            continue
        if blocking := fired.intersection(rule.requires):
            skipped.append(Skip(code=rule.code, reason=f"after {', '.join(sorted(blocking))}"))
            continue
        found = [rule.finding(hit) for hit in rule.check(task)]
        if found:
            fired.add(rule.code)
            findings.extend(found)
    return TaskReport(
        name=task.name,
        full_name=task.full_name,
        path=task.label,
        format=task.format,
        content_hash=task.content_hash,
        findings=tuple(findings),
        skipped=tuple(skipped),
    )


def check_collection(
    collection: Collection, reports: tuple[TaskReport, ...], *, profile: Profile = "arena"
) -> tuple[Finding, ...]:
    """Run the rules about a collection as a whole."""
    return tuple(
        rule.finding(hit)
        for rule in COLLECTION_RULES
        if profile in rule.profiles
        for hit in rule.check(collection, reports)
    )


def check(
    selection: Selection,
    *,
    profile: Profile = "arena",
    on_task: Callable[[TaskReport], None] | None = None,
) -> CheckReport:
    """Run the rules on a selection, task by task in its order; memory does not grow with their files.

    `on_task` is called with each task's report as soon as it is there.
    """
    reports: list[TaskReport] = []
    for task in selection.tasks:
        report = check_task(task, profile=profile)
        task.forget()
        reports.append(report)
        if on_task is not None:
            on_task(report)
    collection = selection.collection
    done = tuple(reports)
    return CheckReport(
        tasks=done,
        collection_path=collection.root.as_posix() if collection is not None else None,
        collection_findings=check_collection(collection, done, profile=profile)
        if collection is not None
        else (),
    )
