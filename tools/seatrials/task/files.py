"""The files of one folder: listed once, read lazily, no link followed out of it."""

import hashlib
import os
import re
import stat
from collections import deque
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cached_property
from pathlib import Path
from typing import Final, Literal

FileKind = Literal["file", "link", "other"]

MAX_FILES: Final = 100_000
"""Files listed in one task. The Hub advises at most about 100,000 in a whole repository."""

MAX_TEXT: Final = 8 * 1024 * 1024
"""Bytes of a file that are looked at as text. Larger ones are hashed and copied, not parsed."""

_KEEP: Final = 512 * 1024
_CHUNK: Final = 1024 * 1024
_SAMPLES: Final = 64
_SAMPLE: Final = 4096

JUNK_DIRS: Final = frozenset(
    {
        ".git", ".hg", ".svn", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache",
        ".ipynb_checkpoints", ".idea", ".vscode", ".seatrials", "__MACOSX",
    }
)  # fmt: skip
JUNK_FILES: Final = (
    ".DS_Store",
    "Thumbs.db",
    "desktop.ini",
    "*.pyc",
    "*.pyo",
    "*~",
    ".*.sw[op]",
    "*.swp",
)
"""What editors, caches and version control leave behind: neither hashed, run nor published."""


_JUNK_FILE: Final = re.compile("|".join(map(translate, (".git", *JUNK_FILES))))


def is_junk(name: str, *, directory: bool) -> bool:
    """Say whether a file or folder of this name is left out of the hash and of what is published."""
    return name in JUNK_DIRS if directory else _JUNK_FILE.match(name) is not None


def git_blob_id(data: bytes) -> str:
    """Return the id that git gives a blob with this content: 40 hex digits."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


@dataclass(kw_only=True, eq=False)
class TaskFile:
    """One entry of a folder. `path` is relative to it, with forward slashes.

    `size` is in bytes (for a link, of its target's name); `mode` holds the
    permission bits. A `link` is never followed by `read`; `other` is a
    socket, a pipe or a device.
    """

    path: str
    kind: FileKind
    size: int
    mode: int
    place: str
    """Where it lies, in the spelling of the folder that was walked."""
    _data: bytes | None = field(default=None, repr=False)
    _blob: str | None = field(default=None, repr=False)
    _text: str | None = field(default=None, repr=False)

    @cached_property
    def location(self) -> Path:
        """Where it lies."""
        return Path(self.place)

    def at(self, path: str) -> "TaskFile":
        """Return the same entry under another path."""
        return TaskFile(
            path=path, kind=self.kind, size=self.size, mode=self.mode, place=self.place,
            _data=self._data, _blob=self._blob, _text=self._text,
        )  # fmt: skip

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def executable(self) -> bool:
        """Whether the owner's run bit is set."""
        return bool(self.mode & stat.S_IXUSR)

    def read(self) -> bytes:
        """Return the content (for a link, its target's name, as git stores it).

        What can't be read any more gives no bytes: the file went away, or its
        permissions forbid it, and `unreadable` tells.
        """
        if self._data is not None:
            return self._data
        data = b""
        try:
            if self.kind == "link":
                data = os.fsencode(os.readlink(self.place))  # noqa: PTH115 - as fast as can be
            elif self.kind == "file":
                data = self._all()
        except OSError:
            return b""
        if len(data) <= _KEEP:
            self._data = data
        return data

    def head(self) -> bytes:
        """Return what is looked at of a document or a script: all of it, or the first `MAX_TEXT` bytes."""
        if self.kind != "file" or self.size <= MAX_TEXT:
            return self.read()
        try:
            fd = os.open(self.place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(fd, "rb") as stream:
                data = stream.read(MAX_TEXT)
        except OSError:
            return b""
        # Whole lines, so that no character is cut in two.
        return data[: data.rfind(b"\n") + 1] or data

    @property
    def unreadable(self) -> bool:
        """Whether this is a file whose content can't be had."""
        if self._data or self.kind != "file" or self.size == 0:
            return False
        return not os.access(self.place, os.R_OK)

    @property
    def text(self) -> str | None:
        """The content as text; None for what is not UTF-8, not a file, or over `MAX_TEXT` bytes."""
        if self._text is None:
            if self.kind != "file" or self.size > MAX_TEXT:
                return None
            try:
                text = self.read().decode("utf-8")
            except UnicodeDecodeError:
                return None
            if self.size > _KEEP:
                return text
            self._text = text
        return self._text

    def holds(self, mark: bytes) -> bool:
        """Say whether the bytes of a file hold `mark`; reads large files in pieces."""
        if self.size <= _KEEP:
            return mark in self.read()
        tail = b""
        for chunk in self._chunks():
            if mark in tail + chunk:
                return True
            tail = chunk[-len(mark) :]
        return False

    @property
    def blob_id(self) -> str:
        """The git blob id: 40 hex digits."""
        if self._blob is None:
            if self.kind == "file" and self.size > _KEEP and self._data is None:
                self._blob = self._hash_in_chunks()
            else:
                self._blob = git_blob_id(self.read())
        return self._blob

    def samples(self) -> bytes:
        """Return a small file's content, of a larger one pieces from its start to its end."""
        if self.size <= _KEEP:
            return self.read()
        step = self.size // _SAMPLES
        try:
            fd = os.open(self.location, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(fd, "rb") as stream:
                return b"".join(os.pread(stream.fileno(), _SAMPLE, at) for at in range(0, self.size, step))
        except OSError:
            return b""

    def _hash_in_chunks(self) -> str:
        digest = hashlib.sha1(b"blob %d\0" % self.size, usedforsecurity=False)
        read = 0
        for chunk in self._chunks():
            digest.update(chunk)
            read += len(chunk)
        return digest.hexdigest() if read else git_blob_id(b"")

    def _chunks(self) -> Iterator[bytes]:
        """Yield a file's content in pieces; what can't be read gives none."""
        try:
            yield from self._pieces(_CHUNK)
        except OSError:
            return

    def _all(self) -> bytes:
        """Return a file's content; raises OSError. One call of the system is enough for most."""
        pieces = self._pieces(self.size + 1)
        first = next(pieces, b"")
        if len(first) == self.size:
            pieces.close()
            return first
        return b"".join((first, *pieces))

    def _pieces(self, size: int) -> Generator[bytes]:
        """Yield a file's content in pieces of at most `size` bytes; raises OSError."""
        # Not `open`: most files are small, and its layers take longer than the reading.
        fd = os.open(self.place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            while piece := os.read(fd, size):
                yield piece
        finally:
            os.close(fd)


@dataclass(frozen=True, kw_only=True)
class Listing:
    """What one walk of a folder found, sorted by path.

    `junk` names folders and files left out (see `is_junk`), folders with a
    slash at the end. `folders` maps each other folder (the empty name is the
    task's own) to the number of its entries, or to None where it can't be
    read. `truncated` says that there were more than `MAX_FILES` files and the
    rest is not listed.
    """

    files: Mapping[str, TaskFile]
    junk: tuple[str, ...]
    truncated: bool
    folders: Mapping[str, int | None]


def list_files(root: Path) -> Listing:
    """Walk a folder once. Linked folders are listed as links, never entered."""
    found: list[TaskFile] = []
    junk: list[str] = []
    folders: dict[str, int | None] = {}
    truncated = False
    for entry, path in _walk(root, junk, folders):
        if len(found) >= MAX_FILES:
            truncated = True
            break
        try:
            info = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        kind: FileKind = "other"
        if stat.S_ISLNK(info.st_mode):
            kind = "link"
        elif stat.S_ISREG(info.st_mode):
            kind = "file"
        found.append(
            TaskFile(
                path=path,
                kind=kind,
                size=info.st_size,
                mode=stat.S_IMODE(info.st_mode),
                place=entry.path,
            )
        )
    found.sort(key=lambda file: file.path)
    return Listing(
        files={file.path: file for file in found},
        junk=tuple(sorted(junk)),
        truncated=truncated,
        folders=folders,
    )


def _walk(
    root: Path, junk: list[str], folders: dict[str, int | None]
) -> Iterator[tuple["os.DirEntry[str]", str]]:
    # Level by level: where there are too many files, the task's own are among those that are listed.
    pending = deque([("", str(root))])
    while pending:
        prefix, folder = pending.popleft()
        try:
            with os.scandir(folder) as entries:
                batch = list(entries)
        except OSError:
            folders[prefix.removesuffix("/")] = None
            continue
        folders[prefix.removesuffix("/")] = len(batch)
        for entry in batch:
            path = prefix + entry.name
            directory = entry.is_dir(follow_symlinks=False)
            if is_junk(entry.name, directory=directory):
                junk.append(path + "/" if directory else path)
            elif directory:
                pending.append((path + "/", entry.path))
            else:
                yield entry, path


def content_hash(files: Mapping[str, TaskFile]) -> str:
    """Return a task's content hash: ``sha256:`` and 64 hex digits (see `hash_of_blobs`)."""
    return hash_of_blobs({path: file.blob_id for path, file in files.items() if file.kind != "other"})


def hash_of_blobs(blobs: Mapping[str, str]) -> str:
    """Return the content hash of files whose git blob ids are given by path.

    The arena's guide defines it as taken "over its sorted file paths and git
    blob IDs" and leaves open how they are joined; ours is one line per file,
    ``PATH NUL BLOB-ID LF``, sorted by the path's bytes.
    """
    digest = hashlib.sha256()
    for path, blob in sorted((os.fsencode(path), blob) for path, blob in blobs.items()):
        digest.update(path + b"\0" + blob.encode("ascii") + b"\n")
    return f"sha256:{digest.hexdigest()}"
