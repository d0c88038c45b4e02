"""A check's report as JSON; the schema is ``docs/check.schema.json``."""

import json
from typing import Any

from seatrials.findings import SEVERITIES, Finding
from seatrials.report.plain import plain
from seatrials.rules.model import TaskReport, Waived
from seatrials.rules.run import CheckReport


def as_data(report: CheckReport) -> dict[str, Any]:
    """Return the report as plain data."""
    counts = report.counts()
    path = report.collection_path
    return {
        "tasks": [_task(task) for task in report.tasks],
        "collection": {
            "path": plain(path) if path is not None else None,
            "findings": [_finding(finding) for finding in report.collection_findings],
            "waived": [_waived(waived) for waived in report.collection_waived],
        },
        "summary": {
            "tasks": len(report.tasks),
            "tasks_with_findings": sum(bool(task.findings) for task in report.tasks),
            "findings": sum(counts.values()),
            "waived": sum(1 for _ in report.waived()),
            "by_severity": {severity: counts[severity] for severity in SEVERITIES},
        },
    }


def render(report: CheckReport) -> str:
    """Return the report as JSON text."""
    return json.dumps(as_data(report), indent=2) + "\n"


def _task(task: TaskReport) -> dict[str, Any]:
    return {
        "name": plain(task.name),
        "path": plain(task.path),
        "format": task.format,
        "content_hash": task.content_hash,
        "findings": [_finding(finding) for finding in task.findings],
        "waived": [_waived(waived) for waived in task.waived],
        "skipped": [{"code": skip.code, "reason": skip.reason} for skip in task.skipped],
    }


def _waived(waived: Waived) -> dict[str, Any]:
    return _finding(waived.finding) | {"reason": plain(waived.reason)}


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "path": plain(finding.path),
        "line": finding.line,
        "message": plain(finding.message),
    }
