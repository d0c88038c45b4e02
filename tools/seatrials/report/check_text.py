"""A check's report as text for people: findings by task, counts last."""

from collections.abc import Iterator

from seatrials.findings import SEVERITIES, Finding
from seatrials.rules.run import CheckReport

SCREEN = 30
"""Lines of findings in the first look; `-v` shows all."""


def render(report: CheckReport, *, verbose: bool = False) -> str:
    """Return the report as text."""
    lines: list[str] = []
    shown = hidden = 0
    groups = [(task.path, task.findings) for task in report.tasks]
    if report.collection_path is not None:
        groups.append((report.collection_path, report.collection_findings))
    for path, findings in groups:
        if not findings:
            continue
        if not verbose and shown >= SCREEN:
            hidden += len(findings)
            continue
        lines.append(path)
        lines += [f"  {line}" for line in _lines(findings)]
        shown += len(findings) + 1
    if hidden:
        lines.append(f"... and {hidden} more findings; `-v` shows all")
    return "\n".join([*lines, summary_line(report)]) + "\n"


def summary_line(report: CheckReport) -> str:
    """Return the line of counts that ends the report."""
    counts = report.counts()
    clean = sum(not task.findings for task in report.tasks)
    said = ", ".join(_count(counts[severity], severity) for severity in SEVERITIES if counts[severity])
    tasks = f"{len(report.tasks)} task" + ("s" if len(report.tasks) != 1 else "")
    return f"{tasks} checked, {clean} clean: {said or 'no findings'}"


def _count(number: int, severity: str) -> str:
    if severity in {"error", "warning"}:
        return f"{number} {severity}{'s' if number != 1 else ''}"
    return f"{number} {severity}"


def _lines(findings: tuple[Finding, ...]) -> Iterator[str]:
    order = {severity: rank for rank, severity in enumerate(SEVERITIES)}
    for finding in sorted(findings, key=lambda item: (order[item.severity], item.path, item.line or 0)):
        place = finding.path + (f":{finding.line}" if finding.line else "")
        yield f"{finding.severity:<8} {finding.code}  {place}{': ' if place else ''}{finding.message}"
