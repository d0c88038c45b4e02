"""Findings with their place in a repository, for the formats that annotate its files."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from seatrials.findings import SEVERITIES, Finding, Severity, at_least
from seatrials.judge.run import CheckReport

Level = Literal["error", "warning"]

_FAILS: Final[Severity] = "reject"


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A finding, the task it is about (empty for the collection), and its file as the repository knows it.

    `path` is relative to the repository's root, with forward slashes, and
    absolute for what lies outside of it. `waived` is the author's reason
    where the finding was waived.
    """

    finding: Finding
    task: str
    path: str
    waived: str | None = None

    @property
    def level(self) -> Level:
        """What fails a check by default is an error, the rest a warning."""
        return level(self.finding.severity)

    @property
    def rank(self) -> int:
        """0 for the worst severity."""
        return SEVERITIES.index(self.finding.severity)


def level(severity: Severity) -> Level:
    """Return the level of a severity, where a format knows two."""
    return "error" if at_least(severity, _FAILS) else "warning"


def places(report: CheckReport, *, root: Path) -> Iterator[Place]:
    """Yield the findings with their places, and those that were waived; `root` is the repository's."""
    groups = [(task.name, task.path, task.findings, task.waived) for task in report.tasks]
    whole = report.collection_path or ""
    for name, folder, findings, waived in (
        *groups,
        ("", whole, report.collection_findings, report.collection_waived),
    ):
        found = [(finding, None) for finding in findings] + [(item.finding, item.reason) for item in waived]
        for finding, reason in found:
            path = _relative(folder, finding.path, root)
            yield Place(finding=finding, task=name, path=path, waived=reason)


def _relative(folder: str, path: str, root: Path) -> str:
    # Lexically: a link on the way is a part of the repository too.
    whole = Path(os.path.normpath(Path.cwd() / folder / path))
    for base in (root, root.resolve()):
        if whole.is_relative_to(base):
            return whole.relative_to(base).as_posix()
    return whole.as_posix()
