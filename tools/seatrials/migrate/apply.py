"""Write a planned task: built beside its place, then moved into it.

At any moment a task's folder is the old one or the new one. Only where two
folders can't change places in one step, as they can on Linux, is there a moment
between two renames: then both lie beside it under names that `recover` knows.
"""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from seatrials.migrate.model import Unreadable
from seatrials.migrate.plan import FOLDERS
from seatrials.task.collection import is_task
from seatrials.task.files import TaskFile
from seatrials.task.package import TaskPackage

NEW: Final = ".seatrials-new"
OLD: Final = ".seatrials-old"
_DEPTH: Final = 4
_HERE: Final = -100
_SWAP: Final = 2
"""AT_FDCWD and RENAME_EXCHANGE of Linux."""
_IN_MEMORY: Final = 512 * 1024
"""Bytes up to which `TaskFile` keeps what it read."""


def beside(folder: Path, suffix: str) -> Path:
    """Return the name that a task's new or old folder has while it is replaced."""
    return folder.with_name(f".{folder.name}{suffix}")


def write(task: TaskPackage, files: Mapping[str, TaskFile], target: Path, *, over: bool) -> None:
    """Write the `files` that a plan makes of a task (see `proof.result`) as the folder `target`.

    Raises `Unreadable` where `target` exists and is not to be replaced, or
    where what was written is not what was planned; then nothing has changed.
    """
    there = os.path.lexists(target)
    if there and not over:
        raise Unreadable(f"`{target}` is there already; nothing is overwritten without `--force`")
    new, old = beside(target, NEW), beside(target, OLD)
    if not target.parent.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
    _clear(new)
    try:
        _build(files, new)
        if not there:
            new.rename(target)
            return
        if target.exists() and target.samefile(task.root):
            _keep_junk(task, new)
        if _exchange(new, target):
            old = new
        else:
            target.rename(old)
            new.rename(target)
    except BaseException:
        if not os.path.lexists(target) and os.path.lexists(old):
            old.rename(target)
        _clear(new)
        raise
    try:
        _clear(old)
    except (KeyboardInterrupt, SystemExit):
        _clear(old)
        raise


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; False where the system can't."""
    if sys.platform != "linux":
        return False
    import ctypes

    # Python has no call for it. A C library or a file system without it says so.
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    paths = os.fsencode(one), os.fsencode(other)
    return renameat2 is not None and renameat2(_HERE, paths[0], _HERE, paths[1], _SWAP) == 0


def recover(place: Path) -> list[Path]:
    """Finish or undo what an interrupted replacement left at or below `place`; return the tasks concerned."""
    found: list[Path] = []
    if place.parent.is_dir() and place.name:
        found += _recover_in(place.parent, [f".{place.name}{suffix}" for suffix in (OLD, NEW)])
    pending = [(str(place), _DEPTH)] if place.is_dir() else []
    while pending:
        folder, depth = pending.pop()
        try:
            with os.scandir(folder) as entries:
                inside = list(entries)
        except OSError:
            continue  # what can't be looked into holds nothing of ours
        found += _recover_in(Path(folder), [entry.name for entry in inside if entry.name.startswith(".")])
        if depth and not is_task({entry.name for entry in inside}):
            pending += [
                (entry.path, depth - 1)
                for entry in inside
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
            ]
    return found


def _recover_in(folder: Path, names: Sequence[str]) -> list[Path]:
    """Put right what lies in a folder under some of these names."""
    found: list[Path] = []
    for suffix in (OLD, NEW):
        for name in names:
            left = folder / name
            if not name.endswith(suffix) or len(name) <= len(suffix) + 1 or not os.path.lexists(left):
                continue
            task = folder / name[1 : -len(suffix)]
            if suffix == OLD and not os.path.lexists(task):
                left.rename(task)
            _clear(left)
            found.append(task)
    return found


def _clear(folder: Path) -> None:
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)


def _build(files: Mapping[str, TaskFile], folder: Path) -> None:
    # Text in place of `Path`, and no `open`: this makes most of the files of a run.
    top = str(folder)
    os.mkdir(top)  # noqa: PTH102
    folders = {path[:end] for path in files for end, char in enumerate(path) if char == "/"}
    for above in sorted(folders):
        os.mkdir(f"{top}/{above}")  # noqa: PTH102
    for path, file in files.items():
        place = f"{top}/{path}"
        if file.kind == "link":
            os.symlink(os.fsdecode(file.read()), place)  # noqa: PTH211
        elif file.size <= _IN_MEMORY:
            # These are the very bytes that the proof looked at.
            _put(place, file.read(), file)
        else:
            _copy(place, file)


def _put(place: str, data: bytes, file: TaskFile) -> None:
    if len(data) != file.size:
        raise Unreadable(f"`{file.path}` changed while it was copied; try again")
    fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755 if file.executable else 0o644)
    try:
        # The system may take less than all at once, as when it is told to stop.
        while data := data[os.write(fd, data) :]:
            pass
    finally:
        os.close(fd)


def _copy(place: str, file: TaskFile) -> None:
    shutil.copyfile(file.place, place, follow_symlinks=False)
    target = Path(place)
    target.chmod(0o755 if file.executable else 0o644)
    copy = replace(file, place=place, size=target.stat().st_size, _data=None, _blob=None)
    if copy.blob_id != file.blob_id:
        raise Unreadable(f"`{file.path}` changed while it was copied; try again")


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
