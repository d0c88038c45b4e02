"""A check's report as JSON, written task by task; the schema is ``docs/check.schema.json``."""

import json
from collections.abc import Iterator
from typing import Any

from seatrials.findings import SEVERITIES, Finding
from seatrials.judge.gates import VERSION, GateSummary
from seatrials.judge.run import CheckReport
from seatrials.report.plain import plain
from seatrials.rules.model import TaskReport, Waived


def render(report: CheckReport, *, arena: dict[str, Any] | None = None) -> Iterator[str]:
    """Yield the report as JSON text, piece by piece: memory does not grow with the number of tasks.

    `arena` is its second opinion, where it was asked.
    """
    yield '{\n  "tasks": ['
    for number, task in enumerate(report.tasks):
        yield ",\n    " if number else "\n    "
        yield _text(_task(task), 4)
    yield "\n  ]" if report.tasks else "]"
    yield f',\n  "collection": {_text(_collection(report), 2)}'
    if arena is not None:
        yield f',\n  "arena": {_text(arena, 2)}'
    yield f',\n  "summary": {_text(_summary(report), 2)}\n}}\n'


def _text(data: Any, indent: int) -> str:
    # Indented by hand: a line end inside a string is written as \n, so none is hit by mistake.
    return json.dumps(data, indent=2).replace("\n", "\n" + " " * indent)


def _collection(report: CheckReport) -> dict[str, Any]:
    path = report.collection_path
    return {
        "path": plain(path) if path is not None else None,
        "findings": [_finding(finding) for finding in report.collection_findings],
        "waived": [_waived(waived) for waived in report.collection_waived],
    }


def _summary(report: CheckReport) -> dict[str, Any]:
    counts = report.counts()
    return {
        "tasks": len(report.tasks),
        "tasks_with_findings": sum(bool(task.findings) for task in report.tasks),
        "findings": sum(counts.values()),
        "waived": sum(1 for _ in report.waived()),
        "by_severity": {severity: counts[severity] for severity in SEVERITIES},
        "gates": _gates(report.gates) if report.gates is not None else None,
    }


def _gates(gates: GateSummary) -> dict[str, Any]:
    return {
        "version": VERSION,
        "tasks": gates.tasks,
        "blocked": gates.blocked,
        "rejected": gates.rejected,
        "eligible": gates.eligible,
        "needs_controls": gates.needs_controls,
        "review": gates.review,
        "clean": gates.clean,
        "by_code": dict(gates.by_code),
        "held_out_overlap": plain(gates.overlap),
    }


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
