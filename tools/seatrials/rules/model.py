"""What a rule is: a code, a severity, and a function whose docstring explains it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from inspect import cleandoc
from typing import Final, Literal

from seatrials.findings import Finding, Severity
from seatrials.task.collection import Collection
from seatrials.task.credit import Credit
from seatrials.task.native import Format
from seatrials.task.package import TaskPackage
from seatrials.task.waivers import Waiver

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
class Waived:
    """A finding that its author lets stand, and why."""

    finding: Finding
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskReport:
    """What the rules say of one task.

    `name` is the folder's, `full_name` the declared ``org/name``; `path` is
    the folder as the user named it. `credit` is what the rules about credit
    judge (None where the task could not be read), `waivers` those that the
    task itself declares; `waived` the findings that waivers took out.
    """

    name: str
    full_name: str
    path: str
    format: Format
    content_hash: str
    findings: tuple[Finding, ...]
    skipped: tuple[Skip, ...] = ()
    credit: Credit | None = None
    waivers: tuple[Waiver, ...] = ()
    waived: tuple[Waived, ...] = ()


def printable(text: str) -> str:
    r"""Return a text with what is not UTF-8 in a file's name as ``\xNN``, so that it can be shown."""
    if text.isascii():
        return text
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a half of a surrogate pair, written as an escape in a YAML string
        raw = text.encode("utf-8", "surrogatepass")
    return raw.decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class _Rule:
    code: str
    severity: Severity

    def finding(self, hit: Hit) -> Finding:
        """Return a hit as a finding of this rule."""
        return Finding(
            code=self.code,
            severity=self.severity,
            path=printable(hit.path),
            line=hit.line,
            message=printable(hit.message),
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
class CreditRule(_Rule):
    """A rule about one field of the credit, which the arena counts over all tasks.

    `check` gets a task's credit, the collection's defaults and the task's
    format, and yields what is wrong as a phrase that follows the field's name.
    """

    check: Callable[[Credit, Mapping[str, str], Format], Iterator[str]]
    field: str
    profiles: tuple[Profile, ...] = ("arena",)


@dataclass(frozen=True, slots=True)
class KitRule(_Rule):
    """What the check says of itself; `check` words the hit from the facts."""

    check: Callable[..., Hit]
    profiles: tuple[Profile, ...] = PROFILES


Rule = TaskRule | CollectionRule | CreditRule | KitRule


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
