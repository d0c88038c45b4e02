"""A migration as JSON; the schema is ``docs/migrate.schema.json``."""

import json
from collections import Counter
from typing import Any

from seatrials.migrate.model import NOTE_KINDS
from seatrials.migrate.run import MigrationReport, Outcome
from seatrials.report.plain import plain


def as_data(report: MigrationReport) -> dict[str, Any]:
    """Return the report as plain data."""
    kinds = Counter(note.kind for task in report.tasks for note in task.notes)
    return {
        "direction": report.direction,
        "written": report.wrote,
        "tasks": [_task(task) for task in report.tasks],
        "replays": [
            {
                "name": plain(one.name),
                "before": [plain(line) for line in one.before],
                "after": [plain(line) for line in one.after],
                "judged": one.judged,
                "equal": one.equal,
            }
            for one in report.replays
        ],
        "proposed": [
            {
                "key": f"metadata.{one.key}",
                "value": plain(one.value),
                "option": one.option,
                "reason": plain(one.reason),
                "tasks": one.tasks,
            }
            for one in report.proposed
        ],
        "summary": {
            "tasks": len(report.tasks),
            "by_status": report.counts(),
            "notes_by_kind": {kind: kinds[kind] for kind in NOTE_KINDS if kinds[kind]},
        },
    }


def render(report: MigrationReport) -> str:
    """Return the report as JSON text."""
    return json.dumps(as_data(report), indent=2) + "\n"


def _task(task: Outcome) -> dict[str, Any]:
    data: dict[str, Any] = {
        "name": plain(task.name),
        "source": plain(task.source),
        "status": task.status,
        "target": plain(task.target) or None,
        "problem": plain(task.problem) or None,
        "notes": [
            {"kind": note.kind, "message": plain(note.message), "look": note.look} for note in task.notes
        ],
        "files": dict(task.actions),
    }
    if task.diff:
        data["diff"] = task.diff
    return data
