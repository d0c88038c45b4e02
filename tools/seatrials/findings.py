"""Findings: what a rule has to say about one place in a task or collection."""

from dataclasses import dataclass
from typing import Final, Literal, get_args

Severity = Literal["block", "error", "reject", "controls", "review", "warning"]

SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
"""From worst to mildest, as the arena's guide and this kit rank them."""


def at_least(severity: Severity, threshold: Severity) -> bool:
    """Say whether `severity` is as bad as `threshold` or worse."""
    return SEVERITIES.index(severity) <= SEVERITIES.index(threshold)


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One finding, ready to show.

    `path` is relative to the task's folder (or the collection's root, for a
    finding about the collection) with forward slashes; an empty path is the
    folder itself. `line` counts from 1.
    """

    code: str
    severity: Severity
    path: str
    line: int | None
    message: str
