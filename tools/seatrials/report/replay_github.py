"""A replay's verdicts as GitHub's workflow commands: an error for a rejection, a warning for an open verdict.

Source: GitHub's documentation, "Workflow commands for GitHub Actions".
"""

import os
from pathlib import Path

from seatrials.replay.model import ReplayReport, TaskReplay
from seatrials.report.plain import plain
from seatrials.report.replay_text import HEADLINE, summary_line


def render(report: ReplayReport, *, root: Path) -> str:
    """Return one command a reason, and the counts. `root` is the repository's."""
    lines = [line for task in report.tasks for line in _commands(task, root)]
    return "\n".join([*lines, HEADLINE, summary_line(report)]) + "\n"


def _commands(task: TaskReplay, root: Path) -> list[str]:
    if task.verdict not in {"rejected", "inconclusive"}:
        return []
    level = "error" if task.verdict == "rejected" else "warning"
    place = os.path.relpath(Path(task.path) / task.source, root)
    file = "" if place.startswith("..") else f"file={_property(plain(place))},"
    title = _property(plain(f"local replay: {task.name} {task.verdict}"))
    return [f"::{level} {file}title={title}::{_data(plain(reason))}" for reason in task.reasons]


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
