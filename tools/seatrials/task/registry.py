"""``registry.json`` of Harbor: the data sets that a repository offers, and where their tasks lie.

Read as ``harbor.models.registry`` of Harbor 0.26.0 does: a list of data sets,
each with tasks that have a `name`, a `path`, and a `git_url` where they are in a
repository.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from seatrials.errors import UsageError

_MAX_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class RegistryTask:
    """A task that a registry names. `folder` is where it is here, None where it is not."""

    name: str
    path: str
    git_url: str
    folder: Path | None


def is_registry(path: Path) -> bool:
    """Say whether a target is to be read as a registry."""
    return path.suffix == ".json" and path.is_file()


def read_registry(path: Path) -> list[RegistryTask]:
    """Return the tasks of all data sets of a registry, each once; raises UsageError for what is none.

    Paths count from the registry's folder, as in the repository that it describes.
    """
    said = "it must be Harbor's list of data sets, each with `tasks`"
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise UsageError(f"`{path}` has over {_MAX_BYTES // 1024 // 1024} MiB; {said}")
        data: Any = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"`{path}` can't be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"`{path}` is no JSON; {said}") from error
    found: dict[tuple[str, str], RegistryTask] = {}
    for task in _tasks(data, f"`{path}` is no registry; {said}"):
        match task:
            case {"name": str() as name, "path": str() as place} if name and place.strip("/"):
                url = task.get("git_url")
                url = url if isinstance(url, str) else ""
                found.setdefault((url, place), _task(path.parent, name, place, url))
            case _:
                raise UsageError(f"`{path}` has a task that lacks `name` or `path`; each must have both")
    if not found:
        raise UsageError(f"`{path}` names no task")
    return list(found.values())


def _tasks(data: Any, said: str) -> Iterator[Any]:
    if not isinstance(data, list):
        raise UsageError(said)
    for dataset in data:
        match dataset:
            case {"tasks": list() as tasks}:
                yield from tasks
            case _:
                raise UsageError(said)


def _task(root: Path, name: str, path: str, url: str) -> RegistryTask:
    pure = PurePosixPath(path)
    # A registry comes from others: it names nothing outside its folder.
    inside = not pure.is_absolute() and ".." not in pure.parts
    folder = root / pure if inside else None
    here = folder is not None and folder.is_dir() and folder.resolve().is_relative_to(root.resolve())
    return RegistryTask(name=name, path=path, git_url=url, folder=folder if here else None)
