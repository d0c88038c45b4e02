"""Findings with their place in a repository, for the formats that annotate its files."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from seatrials.findings import SEVERITIES, Finding, Severity, at_least
from seatrials.rules.run import CheckReport

Level = Literal["error", "warning"]

_FAILS: Final[Severity] = "reject"


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A finding, the task it is about (empty for the collection), and its file as the repository knows it.

    `path` is relative to the repository's root, with forward slashes, and
    absolute for what lies outside of it.
    """

    finding: Finding
    task: str
    path: str

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
    """Yield the findings with their places; `root` is the repository's."""
    for task in report.tasks:
        for finding in task.findings:
            yield Place(finding=finding, task=task.name, path=_relative(task.path, finding.path, root))
    for finding in report.collection_findings:
        path = _relative(report.collection_path or "", finding.path, root)
        yield Place(finding=finding, task="", path=path)


def _relative(folder: str, path: str, root: Path) -> str:
    # Lexically: a link on the way is a part of the repository too.
    whole = Path(os.path.normpath(Path.cwd() / folder / path))
    for base in (root, root.resolve()):
        if whole.is_relative_to(base):
            return whole.relative_to(base).as_posix()
    return whole.as_posix()
