"""The insides of a file, piece by piece: as it is, and what archives and tables in it hold.

A piece has a name that says where it is in its file, and bytes. What can't be
opened is said, never passed over.
"""

import bz2
import gzip
import io
import lzma
import mmap
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

Data: TypeAlias = bytes | mmap.mmap

MAX_UNPACKED: Final = 512 * 1024 * 1024
"""Bytes unpacked of one file, all that is in it together: more is a bomb, or too much to wait for."""

_MAX_DEPTH: Final = 4
_ROWS: Final = 64
_SMALL: Final = 1024 * 1024


class _ByArrow:
    """A compressed stream that Arrow opens, read in pieces: it makes room for all that it is asked for."""

    def __init__(self, codec: str) -> None:
        self._codec = codec
        self._stream: Any = None

    def __call__(self, data: io.BytesIO, _mode: str) -> "_ByArrow":
        import pyarrow as pa

        opened = _ByArrow(self._codec)
        opened._stream = pa.CompressedInputStream(pa.PythonFile(data, mode="r"), self._codec)
        return opened

    def __enter__(self) -> "_ByArrow":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes."""
        pieces: list[bytes] = []
        while size > 0 and (piece := self._stream.read(min(size, _SMALL))):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)


_OPENERS: Final[tuple[tuple[bytes, Callable[..., Any]], ...]] = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
    (b"\x28\xb5\x2f\xfd", _ByArrow("zstd")),
    (b"\x04\x22\x4d\x18", _ByArrow("lz4")),
)
_SEALED: Final = ((b"7z\xbc\xaf\x27\x1c", "7z"), (b"Rar!", "RAR"))
_TAR_MAGIC: Final = slice(257, 262)


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """Bytes to look at. `inside` is empty for the file itself, else as ``a.zip: b.txt``'s second part.

    `lines` says whether its line numbers mean anything. `unopened` says why there is nothing to look at.
    """

    inside: str
    data: Data
    lines: bool = True
    unopened: str = ""


@dataclass(kw_only=True, slots=True)
class _Budget:
    left: int


class _Spent(Exception):  # noqa: N818 - reads as what happened
    pass


def pieces(path: Path) -> Iterator[Piece]:
    """Yield the pieces of a file, the file itself first."""
    size = path.stat().st_size
    if size <= _SMALL:
        yield from _pieces(path.read_bytes(), "", _Budget(left=MAX_UNPACKED), 0)
        return
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        yield from _pieces(data, "", _Budget(left=MAX_UNPACKED), 0)


def _pieces(data: Data, inside: str, budget: _Budget, depth: int) -> Iterator[Piece]:
    yield Piece(inside=inside, data=_as_utf8(data))
    why = ""
    try:
        if _nested(data) and depth == _MAX_DEPTH:
            why = f"archives in archives, more than {_MAX_DEPTH} deep"
        elif data[:4] == b"PAR1" == data[-4:]:
            yield from _parquet(data, inside)
        elif data[:6] == b"ARROW1":
            yield from _arrow(data, inside)
        elif data[:4] in {b"PK\x03\x04", b"PK\x05\x06"}:
            yield from _zip(data, inside, budget, depth)
        elif data[_TAR_MAGIC] == b"ustar":
            yield from _tar(data, inside, budget, depth)
        elif opener := next((opener for magic, opener in _OPENERS if data[: len(magic)] == magic), None):
            with opener(io.BytesIO(data[:]), "rb") as stream:
                unpacked = _read(stream, budget)
            yield from _pieces(unpacked, _below(inside, "unpacked"), budget, depth + 1)
        else:
            kind = next((name for magic, name in _SEALED if data[: len(magic)] == magic), "")
            why = f"the kit can't open {kind} archives" if kind else ""
    except _Spent:
        why = f"over {MAX_UNPACKED // 2**20} MiB unpacked"
    except Exception as error:  # noqa: BLE001 - archives break in every way, and none may end the scan
        why = f"not readable as what it begins like ({type(error).__name__})"
    if why:
        yield Piece(inside=inside, data=b"", unopened=why)


def _nested(data: Data) -> bool:
    magics = (b"PK\x03\x04", *(magic for magic, _ in _OPENERS))
    return any(data[: len(magic)] == magic for magic in magics) or data[_TAR_MAGIC] == b"ustar"


def _as_utf8(data: Data) -> Data:
    """Turn UTF-16 text, which hides ASCII from a search of bytes, into UTF-8."""
    head = data[:1024]
    marked = head[:2] in {b"\xff\xfe", b"\xfe\xff"}
    if marked or (len(head) > 1 and (not any(head[1::2]) or not any(head[::2])) and any(head)):
        order = "utf-16" if marked else "utf-16-le" if not any(head[1::2]) else "utf-16-be"
        return data[:].decode(order, "replace").encode("utf-8", "replace")
    return data


def _zip(data: Data, inside: str, budget: _Budget, depth: int) -> Iterator[Piece]:
    with zipfile.ZipFile(io.BytesIO(data[:])) as archive:
        for entry in archive.infolist():
            name = _below(inside, entry.filename)
            if entry.comment:
                yield Piece(inside=f"{name} (comment)", data=entry.comment)
            if entry.is_dir():
                continue
            try:
                with archive.open(entry) as stream:
                    content = _read(stream, budget)
            except (RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
                why = "it has a password" if entry.flag_bits & 1 else f"damaged ({type(error).__name__})"
                yield Piece(inside=name, data=b"", unopened=why)
                continue
            yield from _pieces(content, name, budget, depth + 1)


def _tar(data: Data, inside: str, budget: _Budget, depth: int) -> Iterator[Piece]:
    with tarfile.open(fileobj=io.BytesIO(data[:]), mode="r:") as archive:
        for entry in archive:
            stream = archive.extractfile(entry) if entry.isfile() else None
            if stream is not None:
                content = _read(stream, budget)
                yield from _pieces(content, _below(inside, entry.name), budget, depth + 1)


def _parquet(data: Data, inside: str) -> Iterator[Piece]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table: Any = pq.ParquetFile(pa.BufferReader(data[:]))
    yield from _columns(table.iter_batches(batch_size=_ROWS), inside)


def _arrow(data: Data, inside: str) -> Iterator[Piece]:
    """Open Arrow's own file format, also called Feather, whose columns may be compressed."""
    import pyarrow as pa

    table: Any = pa.ipc.open_file(pa.BufferReader(data[:]))
    batches = (table.get_batch(number) for number in range(table.num_record_batches))
    small = (batch.slice(first, _ROWS) for batch in batches for first in range(0, batch.num_rows, _ROWS))
    yield from _columns(small, inside)


def _columns(batches: Iterable[Any], inside: str) -> Iterator[Piece]:
    first = 1
    for batch in batches:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if not _has_text(column.type):
                continue
            where = _below(inside, f"column {name}, rows {first} to {first + len(column) - 1}")
            yield Piece(inside=where, data=b"\n".join(_leaves(column.to_pylist())), lines=False)
        first += batch.num_rows


def _has_text(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return _has_text(kind.value_type)
    return bool(
        types.is_nested(kind)
        or types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_binary_view(kind)
        or types.is_fixed_size_binary(kind)
        or isinstance(kind, pa.BaseExtensionType)
    )


def _leaves(value: Any) -> Iterator[bytes]:
    match value:
        case str():
            yield value.encode("utf-8", "replace")
        case bytes():
            yield value
        case dict():
            for key, item in value.items():
                yield from _leaves(key)
                yield from _leaves(item)
        case list() | tuple():
            for item in value:
                yield from _leaves(item)


def _read(stream: Any, budget: _Budget) -> bytes:
    content: bytes = stream.read(budget.left + 1)
    if len(content) > budget.left:
        raise _Spent
    budget.left -= len(content)
    return content


def _below(inside: str, name: str) -> str:
    return f"{inside}: {name}" if inside else name
