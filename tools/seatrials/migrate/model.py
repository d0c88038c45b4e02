"""What a migration is made of: actions on files, notes for people, a plan, and its outcome."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from seatrials.task.document import KeyPath
from seatrials.task.files import TaskFile

Status = Literal["migrated", "migrated with notes", "unsupported", "failed"]
STATUSES: Final[tuple[Status, ...]] = get_args(Status)

Verb = Literal["write", "rewrite", "move", "keep", "leave out"]

NoteKind = Literal[
    "added",
    "modern",
    "compat",
    "kept",
    "credit",
    "verifier",
    "person",
    "path",
    "left-out",
    "runtime",
    "files",
    "loss",
]
NOTE_KINDS: Final[Mapping[NoteKind, str]] = {
    "added": "keys that a native task needs and the source did not declare",
    "modern": "deprecated keys replaced by their modern ones, where the meaning is equal",
    "compat": "keys that the target does not model, set aside unchanged",
    "kept": "deprecated keys left as they are, because the modern one would mean something else",
    "credit": "credit fields filled in, or missing",
    "verifier": "what was written for the verifier",
    "person": "what only a person can write",
    "path": "paths in scripts and compose files",
    "left-out": "files left out, with the reason",
    "runtime": "what the target reads but does not run",
    "files": "what else happened to files",
    "loss": "what Harbor can't express",
}
"""Kinds of note, in the order in which reports show them."""

MARK: Final = "TODO(author):"
"""Stands where only a person can go on. BenchFlow's own marker would make it refuse the task."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """One thing to tell about a task. `look` says that somebody should look at it.

    `group` is the message without what is particular to this task, so that a
    report over thousands can count equal ones.
    """

    kind: NoteKind
    message: str
    look: bool = False
    group: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Action:
    """What happens to one file.

    `source` is its path in the old task (empty for a file that is made),
    `target` in the new one (empty for one that is left out). `content` is the
    new text where it changes; for a link, `content` is its new target.
    """

    verb: Verb
    source: str
    target: str
    content: bytes | None = None
    link: bool = False
    executable: bool = False
    reason: str = ""


def copied(data: Any) -> Any:
    """Return plain data with its mappings and lists copied; several times as fast as ``deepcopy``."""
    if isinstance(data, dict):
        return {
            key: copied(value) if isinstance(value, dict | list) else value for key, value in data.items()
        }
    return [copied(value) for value in data] if isinstance(data, list) else data


def carried(source: str, target: str, file: TaskFile) -> Action:
    """Return the action that takes a file over as it is."""
    link = file.kind == "link"
    return Action(
        verb="keep" if source == target else "move",
        source=source,
        target=target,
        content=file.read() if link else None,
        link=link,
        executable=file.executable and not link,
    )


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How one task is turned. Nothing is written where `problem` says why not.

    `config` is what the new configuration must read as, `prompt` what the new
    prompt must; `added` are the paths of keys that the source did not declare,
    `moved` those that changed their name with the meaning kept (new by old).
    """

    name: str
    problem: str = ""
    supported: bool = True
    actions: tuple[Action, ...] = ()
    notes: tuple[Note, ...] = ()
    config: Mapping[str, object] = field(default_factory=dict)
    prompt: str = ""
    added: frozenset[KeyPath] = frozenset()
    moved: Mapping[KeyPath, KeyPath] = field(default_factory=dict)

    @property
    def status(self) -> Status:
        """What came of planning."""
        if self.problem:
            return "failed" if self.supported else "unsupported"
        return "migrated with notes" if any(note.look for note in self.notes) else "migrated"

    @property
    def written(self) -> dict[str, Action]:
        """Return the actions that put something into the new task, by its path there."""
        return {action.target: action for action in self.actions if action.target}


@dataclass(frozen=True, kw_only=True)
class Fill:
    """What to fill in where tasks leave it out; an empty string fills nothing. `org` is for `task.name`."""

    author_hub: str = ""
    license: str = ""
    origin: str = ""
    origin_url: str = ""
    org: str = ""


class Unsupported(Exception):  # noqa: N818 - reads as what happened
    """The task has no equivalent in the target format; the message says why."""


class Unreadable(Exception):  # noqa: N818 - reads as what happened
    """The task is broken; the message is one line that names the place and what is required."""
