"""Which part of a selection a change touches."""

import os
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from seatrials.task.collection import MANIFEST, Selection
from seatrials.task.package import TaskPackage

_OF_THE_COLLECTION = (MANIFEST, "pyproject.toml")
"""Files that tell something of every task: defaults and waivers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Touched:
    """The tasks with changed files, in the selection's order, and whether the collection is concerned.

    A changed manifest concerns every task; a task that came, changed or went
    concerns the collection: names must stay unique, and their number counts.
    """

    tasks: tuple[TaskPackage, ...]
    collection: bool


def touched(selection: Selection, changed: AbstractSet[Path]) -> Touched:
    """Return what the changed files, given by absolute paths, concern."""
    collection = selection.collection
    if collection is not None:
        root = Path(os.path.realpath(collection.root))
        if any(root / name in changed for name in _OF_THE_COLLECTION):
            return Touched(tasks=selection.tasks, collection=True)
    # A file may be known by the way through a link, or by where it is.
    above = {folder for path in changed for folder in (path, *path.parents)}
    tasks = tuple(
        task
        for task in selection.tasks
        if Path(os.path.realpath(task.root)) in above or _absolute(task.root) in above
    )
    whole = collection is not None and Path(os.path.realpath(collection.tasks_dir)) in above
    return Touched(tasks=tasks, collection=whole)


def _absolute(path: Path) -> Path:
    return Path(os.path.realpath(path.parent)) / path.name
