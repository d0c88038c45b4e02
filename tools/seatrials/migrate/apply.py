"""Write a planned task: built beside its place, then renamed into it.

At any moment a task's folder is the old one, the new one, or (between the two
renames of a replacement) absent while both lie beside it under names that
`recover` knows.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from seatrials.migrate.model import Plan, Unreadable
from seatrials.migrate.plan import FOLDERS
from seatrials.task.files import TaskFile, list_files
from seatrials.task.package import TaskPackage

NEW: Final = ".seatrials-new"
OLD: Final = ".seatrials-old"
_DEPTH: Final = 4


def beside(folder: Path, suffix: str) -> Path:
    """Return the name that a task's new or old folder has while it is replaced."""
    return folder.with_name(f".{folder.name}{suffix}")


def write(
    task: TaskPackage, plan: Plan, files: Mapping[str, TaskFile], target: Path, *, replace: bool
) -> None:
    """Write the `files` that a plan makes (see `proof.result`) as the folder `target`.

    Raises `Unreadable` where `target` exists and is not to be replaced, or
    where what was written is not what was planned; then nothing has changed.
    """
    if target.exists() and not replace:
        raise Unreadable(f"`{target}` is there already; nothing is overwritten without `--force`")
    new, old = beside(target, NEW), beside(target, OLD)
    target.parent.mkdir(parents=True, exist_ok=True)
    _clear(new)
    try:
        _build(task, plan, new)
        _compare(files, new)
        if not target.exists():
            new.rename(target)
            return
        if target.samefile(task.root):
            _keep_junk(task, new)
        target.rename(old)
        new.rename(target)
    except BaseException:
        if not target.exists() and old.exists():
            old.rename(target)
        _clear(new)
        raise
    _clear(old)


def recover(place: Path) -> list[Path]:
    """Finish or undo what an interrupted replacement left at or below `place`; return the tasks concerned."""
    found: list[Path] = []
    if place.parent.is_dir() and place.name:
        found += _recover_in(place.parent, only=place.name)
    pending = [(place, _DEPTH)] if place.is_dir() else []
    while pending:
        folder, depth = pending.pop()
        found += _recover_in(folder)
        if depth:
            pending += [
                (child, depth - 1)
                for child in folder.iterdir()
                if child.is_dir() and not child.is_symlink() and not child.name.startswith(".")
            ]
    return found


def _recover_in(folder: Path, only: str = "") -> list[Path]:
    found: list[Path] = []
    for suffix in (OLD, NEW):
        for left in folder.glob(f".{only or '*'}{suffix}"):
            task = left.with_name(left.name.removesuffix(suffix)[1:])
            if suffix == OLD and not task.exists():
                left.rename(task)
            _clear(left)
            found.append(task)
    return found


def _clear(folder: Path) -> None:
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)


def _build(task: TaskPackage, plan: Plan, folder: Path) -> None:
    made: set[Path] = set()
    folder.mkdir()
    for action in plan.actions:
        if not action.target:
            continue
        place = folder / action.target
        if place.parent not in made:
            place.parent.mkdir(parents=True, exist_ok=True)
            made.add(place.parent)
        if action.link:
            place.symlink_to((action.content or b"").decode("utf-8", "surrogateescape"))
            continue
        if action.content is not None:
            place.write_bytes(action.content)
        else:
            source = task.resolve(action.source)
            if source is None:
                raise Unreadable(f"`{action.source}` went away while it was copied")
            shutil.copyfile(source.location, place, follow_symlinks=False)
        if action.executable:
            place.chmod(0o755)


def _compare(files: Mapping[str, TaskFile], folder: Path) -> None:
    written = list_files(folder).files
    for path in sorted(files.keys() ^ written.keys()):
        raise Unreadable(f"`{path}` is not what was to be written; did something change the source?")
    for path, file in files.items():
        if file.blob_id != written[path].blob_id:
            raise Unreadable(f"`{path}` changed while it was copied; try again")


def _keep_junk(task: TaskPackage, folder: Path) -> None:
    """Take along what is no part of a task (caches, editors' folders) but lies in it."""
    for path in task.listing.junk:
        top, slash, rest = path.rstrip("/").partition("/")
        source, target = task.root / path, folder / (FOLDERS.get(top, top) + slash + rest)
        if not target.parent.is_dir():
            continue
        if source.is_dir() and not source.is_symlink():
            shutil.copytree(source, target, symlinks=True)
        else:
            shutil.copy2(source, target, follow_symlinks=False)
