"""FIL: the files of a task, whatever is in them.

Sources: the Hub's storage limits (folders of at most 10,000 entries, files of
at most 50 GB), GitHub's limit of 100 MiB a file, the names that Windows and
macOS can't tell apart or can't hold, and git's and Docker's rules for names.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from seatrials.rules.model import Hit, TaskRule
from seatrials.task.files import MAX_FILES, TaskFile
from seatrials.task.package import CONFIG, DOCUMENT, INSTRUCTION, TaskPackage

_LFS: Final = b"version https://git-lfs.github.com/spec/v1\n"
_LFS_SIZE: Final = 1024
_GITHUB_FILE: Final = 100 * 1024 * 1024
_HUB_FILE: Final = 50_000_000_000
_HUB_ENTRIES: Final = 10_000
_NAME_BYTES: Final = 255
_PATH_CHARACTERS: Final = 200
"""Windows allows 260 characters for a whole path; a clone's own folder takes some of them."""

_FORBIDDEN: Final = re.compile(r'[<>:"|?*\\\x00-\x1f\x7f]')
_DEVICES: Final = re.compile(r"(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\..*)?", re.IGNORECASE)
_FOLDER_NAME: Final = re.compile(r"[A-Za-z0-9]+(?:[._-]+[A-Za-z0-9]+)*")


def lfs_pointer(task: TaskPackage) -> Iterator[Hit]:
    """Every file holds its data, not a Git LFS pointer to it.

    Why: a checkout without LFS has three lines of text instead, and the image
    is built with those.

    Fix: run `git lfs pull`.
    """
    for path, file in task.files.items():
        if file.kind == "file" and file.size <= _LFS_SIZE and file.read().startswith(_LFS):
            yield Hit(path=path, line=1, message="a Git LFS pointer stands in for the data")


def _links(task: TaskPackage) -> Iterator[tuple[TaskFile, str | None]]:
    """Yield each link with where it ends: a path in the task, empty for the task itself, None for outside."""
    for file in task.files.values():
        if file.kind == "link":
            yield file, task.link_end(file)


def link_out(task: TaskPackage) -> Iterator[Hit]:
    """No link leads out of the task's folder.

    Why: a published task holds the link without its end, or whatever lies
    there on the machine that runs it. This kit never follows one.

    Fix: replace the link by what it points to.
    """
    for file, end in _links(task):
        target = file.read().decode("utf-8", "replace")
        if end is None or target.startswith("/"):
            yield Hit(path=file.path, message=f"the link leads out of the task, to `{target[:80]}`")


def link_nowhere(task: TaskPackage) -> Iterator[Hit]:
    """Every link ends at a file, or at a folder that doesn't hold it.

    Why: a loop, or a link to what is not there, fails when it is read or
    copied, or never ends.

    Fix: correct the link or delete it.
    """
    for file, end in _links(task):
        target = file.read().decode("utf-8", "replace")
        if end is None or target.startswith("/"):
            continue
        if not file.location.exists():
            yield Hit(path=file.path, message=f"the link to `{target[:80]}` ends nowhere")
        elif not end or file.path.startswith(f"{end}/"):
            yield Hit(path=file.path, message=f"the link to `{target[:80]}` leads to a folder that holds it")


def names_alike(task: TaskPackage) -> Iterator[Hit]:
    """Names in one folder differ by more than case.

    Why: on macOS and Windows a clone keeps one of the two.

    Fix: rename one of them.
    """
    seen: dict[str, str] = {}
    for path in sorted({*task.files, *task.listing.folders}):
        other = seen.setdefault(path.casefold(), path)
        # Where a folder differs from another, so does all below; one finding is enough.
        if other != path and PurePosixPath(other).parent == PurePosixPath(path).parent:
            yield Hit(path=path, message=f"`{path}` and `{other}` differ only by case")


def impossible_name(task: TaskPackage) -> Iterator[Hit]:
    """Names can be stored by the Hub, by git and by every common file system.

    Why: a name with `:` or `*`, one that ends with a dot or a space, a device
    of Windows (`nul`, `con`), or a very long one can't be cloned everywhere,
    and one that is not UTF-8 can't be published at all.

    Fix: rename the file with letters, digits, `.`, `_` and `-`.
    """
    for path in sorted({*task.files, *filter(None, task.listing.folders)}):
        name = path.rpartition("/")[2]
        if reason := _name_fault(name):
            yield Hit(path=path, message=f"the name `{_printable(name)}` {reason}")
        elif len(path) > _PATH_CHARACTERS:
            message = f"the path has {len(path)} characters; Windows allows about {_PATH_CHARACTERS}"
            yield Hit(path=path, message=message)


def _name_fault(name: str) -> str:
    if any("\udc80" <= character <= "\udcff" for character in name):
        return "is not UTF-8"
    if found := _FORBIDDEN.search(name):
        return f"holds {found.group()!r}, which Windows can't store"
    if name.endswith((".", " ")):
        return "ends with a dot or a space, which Windows drops"
    if _DEVICES.fullmatch(name):
        return "is that of a device on Windows"
    if len(name.encode("utf-8", "surrogateescape")) > _NAME_BYTES:
        return f"is longer than {_NAME_BYTES} bytes"
    return ""


def _printable(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")[:80]


def junk(task: TaskPackage) -> Iterator[Hit]:
    """The folder holds nothing that editors, caches and version control leave behind.

    Why: the kit neither hashes nor publishes it, but another tool may copy it
    into the image, and `.git` then gives away the task's history.

    Fix: delete it, and name it in `.gitignore`.
    """
    for path in task.listing.junk:
        yield Hit(path=path, message=f"`{path}` is no part of the task; delete it")


def too_large(task: TaskPackage) -> Iterator[Hit]:
    """Files and folders are within what GitHub and the Hub take.

    Why: GitHub refuses a file over 100 MiB, the Hub one over 50 GB and a
    folder of more than 10,000 entries.

    Fix: compress or split the data, or fetch a pinned copy when the image is built.
    """
    for path, file in task.files.items():
        if file.kind == "file" and file.size > _GITHUB_FILE:
            size = f"{file.size / 1024 / 1024:,.0f} MiB"
            limit = "50 GB, the Hub's limit" if file.size > _HUB_FILE else "100 MiB, GitHub's limit"
            yield Hit(path=path, message=f"the file has {size}; at most {limit}")
    for folder, entries in task.listing.folders.items():
        if entries is not None and entries > _HUB_ENTRIES:
            yield Hit(path=folder, message=f"{entries:,} entries; the Hub takes {_HUB_ENTRIES:,} in a folder")
    if task.listing.truncated:
        yield Hit(message=f"more than {MAX_FILES:,} files; what comes after was not looked at")


def unreadable(task: TaskPackage) -> Iterator[Hit]:
    """Every entry is a file, a folder or a link, and can be read.

    Why: a pipe, socket or device can't be published, and what can't be read
    here can't be checked.

    Fix: delete it, or correct its permissions (`chmod u+r`, for a folder `u+rx`).
    """
    for path, file in task.files.items():
        if file.kind == "other":
            yield Hit(path=path, message=f"`{path}` is a pipe, a socket or a device")
        elif file.unreadable:
            yield Hit(path=path, message=f"`{path}` can't be read")
    for folder, entries in task.listing.folders.items():
        if entries is None:
            yield Hit(path=folder, message=f"the folder `{folder or '.'}` can't be read")


def nested_task(task: TaskPackage) -> Iterator[Hit]:
    """A task's folder holds no second task.

    Why: the tools take the outer folder for the task and never see the inner.

    Fix: move the inner task beside the outer one.
    """
    for path in task.files:
        folder, _, name = path.rpartition("/")
        if not folder or name not in {DOCUMENT, CONFIG}:
            continue
        beside = {INSTRUCTION, "environment/Dockerfile"} if name == CONFIG else {"environment/Dockerfile"}
        if any(f"{folder}/{other}" in task.files for other in beside):
            yield Hit(path=path, message=f"`{folder}` is a task inside this task")


def folder_name(task: TaskPackage) -> Iterator[Hit]:
    """The task's folder can be part of an image name.

    Why: the runtimes name images and containers after it; Docker takes
    letters, digits, and `.`, `_` and `-` between them.

    Fix: rename the folder, as in `sum-of-a-column`.
    """
    if not _FOLDER_NAME.fullmatch(task.name):
        message = f"the folder's name `{_printable(task.name)}` can't be part of an image name"
        yield Hit(message=message)


RULES: Final = (
    TaskRule("FIL101", "warning", lfs_pointer),
    TaskRule("FIL102", "warning", link_out),
    TaskRule("FIL103", "warning", link_nowhere),
    TaskRule("FIL104", "warning", names_alike),
    TaskRule("FIL105", "warning", impossible_name),
    TaskRule("FIL106", "warning", junk),
    TaskRule("FIL107", "warning", too_large),
    TaskRule("FIL108", "warning", unreadable),
    TaskRule("FIL109", "warning", nested_task),
    TaskRule("FIL110", "warning", folder_name),
)
