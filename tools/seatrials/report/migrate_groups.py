"""The notes of a migration, equal ones together: what the text and the Markdown page both show."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from seatrials.migrate.model import NOTE_KINDS, Note, NoteKind
from seatrials.migrate.run import Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Equal notes of one kind: how many tasks have them, and the first task's name and message."""

    kind: NoteKind
    said: str
    tasks: int
    example: str
    look: bool


def groups(tasks: Sequence[Outcome]) -> list[Group]:
    """Return the notes by kind, in the order of `NOTE_KINDS`, the most common first."""
    found: dict[tuple[NoteKind, str], list[tuple[Outcome, Note]]] = defaultdict(list)
    for task in tasks:
        for note in task.notes:
            found[note.kind, note.group or note.message].append((task, note))
    order = {kind: place for place, kind in enumerate(NOTE_KINDS)}
    out = []
    for (kind, said), places in found.items():
        names = {task.source for task, _ in places}
        one = len(names) == 1
        out.append(
            Group(
                kind=kind,
                said=places[0][1].message if one and len(places) == 1 else said,
                tasks=len(names),
                example=places[0][0].name,
                look=any(note.look for _, note in places),
            )
        )
    return sorted(out, key=lambda group: (order[group.kind], -group.tasks, group.said))
