"""A collection: ``tasks/`` or ``envs/`` beside an optional ``submission.yaml``; and how targets are found."""

import os
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from seatrials.errors import UsageError
from seatrials.task.document import Problem, YamlData, decode, parse_yaml
from seatrials.task.files import MAX_TEXT, is_junk
from seatrials.task.package import CONFIG, DOCUMENT, INSTRUCTION, TaskPackage

MANIFEST: Final = "submission.yaml"
TASK_FOLDERS: Final = ("tasks", "envs")
MAX_TASKS: Final = 200
"""Tasks in a collection, from the arena's guide: 1 to 200."""

_MARKERS: Final = (DOCUMENT, CONFIG)
_PARTS: Final = (INSTRUCTION, "environment", "verifier", "tests", "oracle", "solution")
_SEARCH_DEPTH: Final = 4


@dataclass(frozen=True, kw_only=True)
class Collection:
    """A folder with ``tasks/`` or ``envs/``, and perhaps a manifest."""

    root: Path

    @property
    def manifest_path(self) -> Path:
        """Where ``submission.yaml`` is or would be."""
        return self.root / MANIFEST

    @cached_property
    def manifest(self) -> YamlData | None:
        """The parsed ``submission.yaml``; None where there is none."""
        path = self.manifest_path
        if not os.path.lexists(path):
            return None
        if not path.is_file():  # a pipe would never end
            return _no_manifest("must be a file" if path.exists() else "is a link that leads nowhere")
        try:
            with path.open("rb") as stream:
                raw = stream.read(MAX_TEXT + 1)
        except OSError as error:
            return _no_manifest(f"can't be read: {error.strerror}")
        if len(raw) > MAX_TEXT:
            return _no_manifest(f"has more than {MAX_TEXT:,} bytes")
        problems: list[Problem] = []
        text = decode(raw, MANIFEST, problems)
        parsed = parse_yaml(text, path=MANIFEST)
        return YamlData(data=parsed.data, lines=parsed.lines, problems=(*problems, *parsed.problems))

    def default(self, key: str) -> str | None:
        """Return a text of the manifest, such as the `license` of tasks that leave it out."""
        value: Any = self.manifest.data.get(key) if self.manifest is not None else None
        return value if isinstance(value, str) and value else None

    @property
    def team(self) -> str | None:
        """The manifest's `team_name`."""
        return self.default("team_name")

    @cached_property
    def tasks_dir(self) -> Path:
        """The folder that holds the tasks; the first of ``tasks/`` and ``envs/`` that exists."""
        candidates = [self.root / name for name in TASK_FOLDERS]
        return next((path for path in candidates if path.is_dir()), candidates[0])


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The tasks that a command was asked for, and the collection they belong to, if one."""

    tasks: tuple[TaskPackage, ...]
    collection: Collection | None


def _no_manifest(why: str) -> YamlData:
    problem = Problem(kind="yaml", path=MANIFEST, line=None, message=f"`{MANIFEST}` {why}")
    return YamlData(data={}, lines={}, problems=(problem,))


def collection_at(folder: Path) -> Collection | None:
    """Return the collection whose root `folder` is, or None."""
    if (folder / MANIFEST).is_file() or any((folder / name).is_dir() for name in TASK_FOLDERS):
        return Collection(root=folder)
    return None


def enclosing_task(path: Path) -> Path | None:
    """Return the nearest folder above a path that is a task for certain, with its own file and a sandbox."""
    for folder in path.absolute().parents:
        if (folder / "environment").is_dir() and any((folder / own).is_file() for own in (DOCUMENT, CONFIG)):
            return folder
    return None


def looks_like_task(folder: Path) -> bool:
    """Say whether a folder is a task, whole or broken: it has a task's own file, or two of its parts."""
    try:
        names = {entry.name for entry in os.scandir(folder)}
    except OSError:
        return False
    return is_task(names)


def is_task(names: Container[str]) -> bool:
    """Say whether a folder that holds these names is a task (see `looks_like_task`)."""
    return any(name in names for name in _MARKERS) or sum(name in names for name in _PARTS) > 1


def find_tasks(folder: Path) -> Iterator[Path]:
    """Yield the task folders in a tree, sorted; a task's inside is not searched.

    Serves every layout seen in public: a task itself, ``tasks/NAME``,
    ``envs/NAME``, ``tasks/FIELD/NAME``, and a repository that holds such a set
    a few folders down.
    """
    yield from _find(folder, _SEARCH_DEPTH)


def _find(folder: Path, depth: int) -> Iterator[Path]:
    if looks_like_task(folder):
        yield folder
        return
    if depth == 0:
        return
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir() and not _leads_back(entry))
    except OSError:
        return
    for name in names:
        if not name.startswith(".") and not is_junk(name, directory=True):
            yield from _find(folder / name, depth - 1)


def _leads_back(entry: "os.DirEntry[str]") -> bool:
    """Say whether an entry is a link to a folder that it lies in, as `/proc/self/root` is."""
    if not entry.is_symlink():
        return False
    end = os.path.realpath(entry.path)
    here = os.path.realpath(os.path.dirname(entry.path))  # noqa: PTH120 - as the line above
    return os.path.commonpath([end, here]) == end


def select(targets: Sequence[str], *, cwd: Path | None = None) -> Selection:
    """Return the tasks that `targets` name.

    A target is a path to a task, to a collection or to any folder with tasks
    in it, or the name of a task in the collection at `cwd`. Without targets,
    all tasks of that collection. Raises UsageError for what is not there.
    """
    here = cwd or Path()
    home = collection_at(here)
    if not targets:
        if home is None:
            raise UsageError(
                f"no collection here: `{here}` has neither `tasks/` nor `{MANIFEST}`; name a task or a folder"
            )
        return Selection(tasks=tuple(_packages(find_tasks(home.tasks_dir))), collection=home)
    found: dict[Path, None] = {}
    collections: dict[Path, Collection] = {}
    for target in targets:
        folder, collection = _locate(target, here, home)
        if collection is not None:
            collections.setdefault(collection.root, collection)
        before = len(found)
        found.update(dict.fromkeys(find_tasks(folder)))
        empty = len(found) == before and not any(path.is_relative_to(folder) for path in found)
        if empty and collection is None:
            raise UsageError(f"no task in `{target}`: a task has a `{DOCUMENT}` or a `{CONFIG}`")
    whole = next(iter(collections.values())) if len(collections) == 1 else None
    return Selection(tasks=tuple(_packages(found)), collection=whole)


def select_tasks(targets: Sequence[str], cwd: Path | None = None) -> list[TaskPackage]:
    """Return only the tasks of `select`."""
    return list(select(targets, cwd=cwd).tasks)


def _locate(target: str, here: Path, home: Collection | None) -> tuple[Path, Collection | None]:
    if not target:
        raise UsageError("a name is empty; name a task or a folder, `.` for this one")
    path = here / target if not Path(target).is_absolute() else Path(target)
    if path.is_dir():
        collection = None if looks_like_task(path) else collection_at(path)
        return (collection.tasks_dir if collection and collection.tasks_dir.is_dir() else path), collection
    if home is not None and "/" not in target and (home.tasks_dir / target).is_dir():
        return home.tasks_dir / target, None
    if path.exists():
        raise UsageError(f"`{target}` is a file; name a task's folder")
    where = f", nor a task of that name in `{home.tasks_dir}`" if home is not None else ""
    raise UsageError(f"`{target}` is not there{where}")


def _packages(folders: Iterable[Path]) -> Iterator[TaskPackage]:
    for folder in folders:
        yield TaskPackage(folder)
