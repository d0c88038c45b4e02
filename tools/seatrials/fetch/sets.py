"""The collections in a data set, told by the paths of its files: ours, PostTrain's and Harbor's layouts.

A task is a folder with a ``task.md`` or a ``task.toml``. Those below one
``envs/`` or ``tasks/`` are a collection, and so are tasks that lie side by
side in another folder. Where a ``registry.json`` (as Harbor 0.26.0 reads it)
lies above them, its sets are the collections.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from seatrials.errors import RefusedError, UsageError
from seatrials.task.collection import MANIFEST, TASK_FOLDERS
from seatrials.task.files import is_junk
from seatrials.task.package import CONFIG, DOCUMENT

REGISTRY: Final = "registry.json"
MAX_REGISTRY: Final = 32 * 1024 * 1024

_SHOWN: Final = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A collection in a data set: its name, its folder, the folder of its tasks, and theirs, sorted.

    `missing` are tasks that a registry names and the data set does not hold.
    """

    name: str
    root: str
    folder: str
    tasks: tuple[str, ...]
    missing: tuple[str, ...] = ()

    def called(self, name: str) -> bool:
        """Say whether a name stands for this collection: its own, its folder's, or the last part of that."""
        name = name.strip("/")
        return name in {self.name, self.root, self.folder, self.root.rpartition("/")[2]} - {""}

    def beside(self, name: str) -> str:
        """Return the path of a file beside the tasks' folder."""
        return f"{self.root}/{name}" if self.root else name

    def pick(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the tasks of these names, all without any; UsageError for one that is not there."""
        if not names:
            return self.tasks
        picked: dict[str, None] = {}
        for name in names:
            wanted = name.strip("/")
            hits = [task for task in self.tasks if task == wanted or task.endswith(f"/{wanted}")]
            if not hits:
                raise UsageError(f"the collection `{self.name}` has no task `{name}`; it has"
                                 f" {_listed([task.rpartition('/')[2] for task in self.tasks])}")  # fmt: skip
            picked.update(dict.fromkeys(hits))
        return tuple(picked)


def collections_in(paths: Iterable[str]) -> list[Found]:
    """Return the collections that a list of files shows, sorted by folder."""
    folders: dict[tuple[str, str], list[str]] = {}
    for task in _tasks(paths):
        folders.setdefault(_home(task), []).append(task)
    found = [
        Found(name=root or folder or ".", root=root, folder=folder, tasks=tuple(tasks))
        for (root, folder), tasks in sorted(folders.items())
    ]
    # An `envs/` and a `tasks/` side by side are two collections.
    roots = [one.root for one in found]
    return [replace(one, name=one.folder) if roots.count(one.root) > 1 and one.folder else one
            for one in found]  # fmt: skip


def with_registry(found: Found, raw: bytes) -> list[Found]:
    """Return the sets that a registry makes of a collection; itself where the registry names none of it."""
    sets: list[Found] = []
    for name, paths in _registered(raw):
        wanted = [found.beside(path.strip("/")) for path in paths]
        # Harbor takes paths from the repository's root; a set that was moved into a folder counts from there.
        resolved = [path if path in found.tasks else bare.strip("/")
                    for path, bare in zip(wanted, paths, strict=True)]  # fmt: skip
        here = tuple(sorted(set(resolved) & set(found.tasks)))
        if here:
            missing = tuple(path for path in resolved if path not in found.tasks)
            sets.append(replace(found, name=name, tasks=here, missing=missing))
    if len(sets) == 1 and found.root:
        return [replace(sets[0], name=found.name)]
    return sets or [found]


def choose(found: Sequence[Found], *, name: str | None, default: str | None, repo: str) -> Found:
    """Return the collection to use: the named one, the only one, else the card's default.

    Raises RefusedError where there is none, UsageError where it can't be told.
    """
    if not found:
        raise RefusedError(f"`{repo}` holds no task: no folder in it has a `{DOCUMENT}` or a `{CONFIG}`")
    wanted = name if name is not None else default if len(found) > 1 else found[0].name
    if wanted is not None:
        hits = [one for one in found if one.name == wanted] or [one for one in found if one.called(wanted)]
        if len(hits) == 1:
            return hits[0]
        if name is not None:
            said = "no" if not hits else "more than one"
            raise UsageError(f"`{repo}` has {said} collection `{name}`; it has {_listed(_names(found))}")
    raise UsageError(
        f"`{repo}` has {len(found)} collections; choose one with `--name`: {_listed(_names(found))}"
    )


def extras(found: Found, paths: Mapping[str, object]) -> list[str]:
    """Return the files beside the tasks that are read with them."""
    return [path for path in (found.beside(MANIFEST),) if path in paths]


def _names(found: Sequence[Found]) -> list[str]:
    return [one.name for one in found]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    # The names are others' words: none may reach a terminal as it is.
    shown = (name if name.isprintable() else ascii(name) for name in names[:_SHOWN])
    return ", ".join(f"`{name}`" for name in shown) + more


def _tasks(paths: Iterable[str]) -> list[str]:
    marked = sorted(
        {path.rpartition("/")[0] for path in paths if path.rpartition("/")[2] in {DOCUMENT, CONFIG}}
    )
    tasks: list[str] = []
    taken: set[str] = set()
    # By depth: what lies inside a task is part of it.
    for folder in sorted(marked, key=lambda path: (path.count("/"), path)):
        parts = folder.split("/")
        hidden = any(part.startswith(".") or is_junk(part, directory=True) for part in parts)
        inside = any("/".join(parts[:end]) in taken for end in range(1, len(parts)))
        if folder and not hidden and not inside:
            taken.add(folder)
            tasks.append(folder)
    return sorted(tasks)


def _home(task: str) -> tuple[str, str]:
    """Return the folder of a task's collection, and that of the collection's tasks."""
    parts = task.split("/")
    for index, part in enumerate(parts[:-1]):
        if part in TASK_FOLDERS:
            return "/".join(parts[:index]), "/".join(parts[: index + 1])
    above = "/".join(parts[:-1])
    return above, above


def _registered(raw: bytes) -> list[tuple[str, list[str]]]:
    """Return a registry's sets by name, with the paths of their tasks that are in the same repository."""
    if len(raw) > MAX_REGISTRY:
        return []
    try:
        data: Any = json.loads(raw)
    except (ValueError, RecursionError):
        return []
    sets: list[tuple[str, str, list[str]]] = []
    for item in data if isinstance(data, list) else []:
        match item:
            case {"name": str(name), "tasks": [*tasks]}:
                version = item.get("version")
                sets.append((name, str(version), [path for task in tasks if (path := _local(task))]))
    names = [name for name, _, _ in sets]
    return [(f"{name}@{version}" if names.count(name) > 1 else name, paths) for name, version, paths in sets]


def _local(task: Any) -> str | None:
    match task:
        case {"git_url": str(url)} if url:
            return None
        case {"path": str(path)}:
            return path.removeprefix("./")
        case _:
            return None
