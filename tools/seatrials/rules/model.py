"""What a rule is: a code, a severity, and a function whose docstring explains it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import cleandoc
from typing import Final, Literal

from seatrials.findings import Finding, Severity
from seatrials.task.collection import Collection
from seatrials.task.native import Format
from seatrials.task.package import TaskPackage

Profile = Literal["arena", "benchflow"]

PROFILES: Final[tuple[Profile, ...]] = ("arena", "benchflow")
"""What the arena's validation asks for (the default), and what BenchFlow alone needs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """One place where a rule found something; `path` is relative to the task or collection."""

    message: str
    path: str = ""
    line: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Skip:
    """A rule that did not run on a task, and why."""

    code: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskReport:
    """What the rules say of one task.

    `name` is the folder's, `full_name` the declared ``org/name``; `path` is
    the folder as the user named it.
    """

    name: str
    full_name: str
    path: str
    format: Format
    content_hash: str
    findings: tuple[Finding, ...]
    skipped: tuple[Skip, ...] = ()


@dataclass(frozen=True, slots=True)
class _Rule:
    code: str
    severity: Severity

    def finding(self, hit: Hit) -> Finding:
        """Return a hit as a finding of this rule."""
        return Finding(
            code=self.code,
            severity=self.severity,
            path=hit.path,
            line=hit.line,
            message=hit.message,
        )


@dataclass(frozen=True, slots=True)
class TaskRule(_Rule):
    """A rule about one task.

    `requires` names rules that must have found nothing: where they did, this
    one is skipped, so that one missing file gives one finding, not ten.
    """

    check: Callable[[TaskPackage], Iterator[Hit]]
    requires: tuple[str, ...] = ()
    profiles: tuple[Profile, ...] = PROFILES


@dataclass(frozen=True, slots=True)
class CollectionRule(_Rule):
    """A rule about a collection as a whole."""

    check: Callable[[Collection, tuple[TaskReport, ...]], Iterator[Hit]]
    profiles: tuple[Profile, ...] = PROFILES


@dataclass(frozen=True, slots=True)
class KitRule(_Rule):
    """What the check says of itself; `check` words the hit from the facts."""

    check: Callable[..., Hit]
    profiles: tuple[Profile, ...] = PROFILES


Rule = TaskRule | CollectionRule | KitRule


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """A rule's docstring in its three parts."""

    title: str
    why: str
    fix: str


def explain(rule: Rule) -> Explanation:
    """Return what a rule's docstring says: the title, then paragraphs `Why:` and `Fix:`."""
    title, _, rest = cleandoc(rule.check.__doc__ or "").partition("\n")
    parts = {"why": "", "fix": ""}
    for paragraph in rest.strip().split("\n\n"):
        label, _, text = paragraph.partition(":")
        if label.lower() in parts:
            parts[label.lower()] = " ".join(text.split())
    return Explanation(title=title.rstrip("."), why=parts["why"], fix=parts["fix"])
