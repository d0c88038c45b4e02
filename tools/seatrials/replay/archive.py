"""Tar archives: the build context and what goes into a container, and what comes out of one. Pure.

The same files give the same bytes: sorted, owned by root, without times. A
link goes in as a link; it is never followed on this machine.
"""

import io
import tarfile
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Final

from seatrials.replay.spec import Files, Folder

HEAD_BYTES: Final = 64 * 1024
TAIL_BYTES: Final = 192 * 1024
"""What is kept of one log: its beginning and its end, 256 KiB together."""

FILE_BYTES: Final = 4 * 1024 * 1024
"""The largest reward or report file that is read."""

TOTAL_BYTES: Final = 4 * 1024**3
"""Where reading what a container left stops, so that no task can hold a replay up."""

_CHUNK: Final = 1024 * 1024
_WHOLE: Final = frozenset({"reward.txt", "reward.json", "ctrf.json"})


def write_folders(
    folders: Iterable[Folder], *, empty: Iterable[str] = (), into: IO[bytes] | None = None
) -> IO[bytes]:
    """Write folders into one tar for the root of a container.

    `empty` are folders to make that anyone may write to. Scripts get the run
    bit, as both runtimes give it with `chmod +x`. Returns `into`, or a buffer,
    rewound.
    """
    stream = into if into is not None else io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        made: set[str] = set()
        for path in empty:
            _add_parents(tar, PurePosixPath(path), made)
            _add_dir(tar, path.strip("/"), 0o777)
            made.add(path.strip("/"))
        for folder in folders:
            root = folder.target.strip("/")
            if root and root not in made:
                _add_parents(tar, PurePosixPath("/" + root), made)
                _add_dir(tar, root, 0o755)
                made.add(root)
            _add_files(tar, folder.files, root, made)
    stream.seek(0)
    return stream


def write_context(files: Files, into: IO[bytes]) -> IO[bytes]:
    """Write a build context: modes as they are on disk."""
    with tarfile.open(fileobj=into, mode="w", format=tarfile.PAX_FORMAT) as tar:
        _add_files(tar, files, "", set(), run_bit=False)
    into.seek(0)
    return into


def _add_files(
    tar: tarfile.TarFile, files: Files, root: str, made: set[str], *, run_bit: bool = True
) -> None:
    for path in sorted(files):
        file = files[path]
        name = f"{root}/{path}" if root else path
        _add_parents(tar, PurePosixPath("/" + name), made)
        info = tarfile.TarInfo(name)
        if file.kind == "link":
            info.type = tarfile.SYMTYPE
            info.linkname = file.read().decode("utf-8", "surrogateescape")
            tar.addfile(info)
        elif file.kind == "file":
            data = file.read()
            info.size = len(data)
            info.mode = file.mode | (0o111 if run_bit and path.endswith(".sh") else 0)
            tar.addfile(info, io.BytesIO(data))


def _add_parents(tar: tarfile.TarFile, path: PurePosixPath, made: set[str]) -> None:
    for parent in reversed(path.parents):
        name = str(parent).strip("/")
        if name and name not in made:
            made.add(name)
            _add_dir(tar, name, 0o755)


def _add_dir(tar: tarfile.TarFile, name: str, mode: int) -> None:
    info = tarfile.TarInfo(name)
    info.type = tarfile.DIRTYPE
    info.mode = mode
    tar.addfile(info)


def write_out(files: Files, folder: Path) -> None:
    """Write files into a folder on this machine: modes kept, links as links."""
    for path, file in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if file.kind == "link":
            place.symlink_to(file.read().decode("utf-8", "surrogateescape"))
        elif file.kind == "file":
            place.write_bytes(file.read())
            place.chmod(file.mode)


@dataclass(frozen=True, kw_only=True)
class Harvest:
    """What came out of a container: file contents by path below the folder asked for.

    A long log has its beginning and its end, with a line between that says
    how much is missing. `truncated` says that reading stopped at a limit.
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    truncated: bool = False


def read_logs(chunks: Iterable[bytes], *, total: int = TOTAL_BYTES) -> Harvest:
    """Read the tar of a container's log folder, bounded whatever is in it.

    Only regular files in the first two levels are kept. Raises
    `tarfile.TarError` for an archive that is broken, as one taken while a
    file was being written can be.
    """
    files: dict[str, bytes] = {}
    stream = _Chunks(chunks, total)
    try:
        with tarfile.open(fileobj=stream, mode="r|", bufsize=_CHUNK) as tar:  # type: ignore[call-overload]
            for member in tar:
                parts = PurePosixPath(member.name).parts[1:]
                if not member.isreg() or not 1 <= len(parts) <= 2:  # noqa: PLR2004 - FOLDER/FILE
                    continue
                source = tar.extractfile(member)
                if source is None:
                    continue
                name = parts[-1]
                files["/".join(parts)] = (
                    source.read(FILE_BYTES) if name in _WHOLE else _ends(source, member.size)
                )
    except _TooMuch:
        return Harvest(files=files, truncated=True)
    return Harvest(files=files)


class _TooMuch(Exception):  # noqa: N818 - internal, says what happened
    pass


class _Chunks:
    """A readable stream over chunks, up to a limit."""

    def __init__(self, chunks: Iterable[bytes], limit: int) -> None:
        self._chunks = iter(chunks)
        self._rest = b""
        self._left = limit

    def read(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size > 0:
            if not self._rest:
                self._rest = next(self._chunks, b"")
                self._left -= len(self._rest)
                if self._left < 0:
                    raise _TooMuch
                if not self._rest:
                    break
            part, self._rest = self._rest[:size], self._rest[size:]
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def _ends(source: IO[bytes], size: int) -> bytes:
    if size <= HEAD_BYTES + TAIL_BYTES:
        return source.read()
    head = source.read(HEAD_BYTES)
    tail: deque[bytes] = deque()
    kept = 0
    while chunk := source.read(_CHUNK):
        tail.append(chunk)
        kept += len(chunk)
        while kept - len(tail[0]) >= TAIL_BYTES:
            kept -= len(tail.popleft())
    end = b"".join(tail)[-TAIL_BYTES:]
    return head + b"\n[... %d bytes left out ...]\n" % (size - len(head) - len(end)) + end


def last_lines(raw: bytes, count: int) -> tuple[str, ...]:
    """Return the last lines of a log that are not empty, without control characters."""
    lines = (
        "".join(char if char.isprintable() or char == "\t" else "" for char in line).rstrip()
        for line in raw[-TAIL_BYTES:].decode("utf-8", "replace").splitlines()
    )
    return tuple(deque((line for line in lines if line), maxlen=count))
