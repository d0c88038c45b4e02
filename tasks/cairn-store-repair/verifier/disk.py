"""Files of a store, written and read as docs/SPEC.md says, without a line of the code under test."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

PUT, DELETE, MORE = 1, 2, 0x80
SEGMENT, OLD_SEGMENT, HINT = b"CAIRNSG\x02", b"CAIRNSG\x01", b"CAIRNIX\x02"


class Row(NamedTuple):
    """One record. `expires` in ms, 0 for none."""

    kind: int
    seq: int
    expires: int
    key: str
    value: bytes
    more: bool = False


class BrokenError(Exception):
    """A file is not as the specification says."""


def u(size: int, number: int) -> bytes:
    return number.to_bytes(size, "big")


def put(seq: int, key: str, value: bytes = b"", expires: int = 0, more: bool = False) -> Row:
    return Row(PUT, seq, expires, key, value, more)


def delete(seq: int, key: str, more: bool = False) -> Row:
    return Row(DELETE, seq, 0, key, b"", more)


def record(row: Row) -> bytes:
    key = row.key.encode()
    body = (
        u(1, row.kind + MORE * row.more) + u(8, row.seq) + u(8, row.expires) + u(2, len(key))
        + u(4, len(row.value)) + key + row.value
    )  # fmt: skip
    return u(4, zlib.crc32(body)) + body


def segment(rows: list[Row]) -> bytes:
    return SEGMENT + b"".join(map(record, rows))


def old_segment(rows: list[tuple[int, str, bytes, int]]) -> bytes:
    """A segment of 1.x from (kind, key, value, expiry in s)."""
    data = OLD_SEGMENT
    for kind, text, value, seconds in rows:
        key = text.encode("latin-1")
        data += u(4, zlib.crc32(key + value)) + u(1, kind) + u(4, seconds) + u(2, len(key)) + u(4, len(value))
        data += key + value
    return data


def hint(rows: list[Row]) -> bytes:
    body, offset = b"", len(SEGMENT)
    for row in rows:
        key = row.key.encode()
        body += u(1, row.kind) + u(8, row.seq) + u(8, row.expires) + u(8, offset) + u(2, len(key))
        body += u(4, len(row.value)) + key
        offset += len(record(row))
    return HINT + u(8, offset) + u(4, len(rows)) + u(4, zlib.crc32(body)) + body


def seg(number: int) -> str:
    return f"{number:08d}.seg"


def idx(number: int) -> str:
    return f"{number:08d}.idx"


def store(segments: dict[int, list[Row]], active: int, *, hints: bool = True) -> dict[str, bytes]:
    """The files of a whole store."""
    newest = max((row.seq for rows in segments.values() for row in rows), default=0)
    files = {seg(n): segment(rows) for n, rows in segments.items()}
    if hints:
        files |= {idx(n): hint(rows) for n, rows in segments.items() if n != active}
    return files | {
        "MANIFEST": json.dumps(
            {
                "format": 2,
                "segments": sorted(segments),
                "active": active,
                "next_id": max(segments) + 1,
                "next_seq": newest + 1,
            }
        ).encode()
    }


def read_segment(path: Path) -> list[Row]:
    """All records of a segment that must be whole from end to end. Raises BrokenError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BrokenError(f"`{path.name}` cannot be read: {error.strerror}") from None
    if data[:8] != SEGMENT:
        raise BrokenError(f"`{path.name}` does not begin as a segment of format 2")
    rows, at = [], 8
    while at < len(data):
        head = data[at : at + 27]
        if len(head) < 27:
            raise BrokenError(f"`{path.name}` ends within a record that begins at byte {at}")
        key_size, value_size = int.from_bytes(head[21:23], "big"), int.from_bytes(head[23:27], "big")
        end = at + 27 + key_size + value_size
        if end > len(data):
            raise BrokenError(f"`{path.name}` ends within a record that begins at byte {at}")
        if zlib.crc32(data[at + 4 : end]) != int.from_bytes(head[:4], "big"):
            raise BrokenError(f"`{path.name}`: the checksum of the record at byte {at} is wrong")
        kind = head[4] & ~MORE
        if kind not in (PUT, DELETE):
            raise BrokenError(f"`{path.name}`: the record at byte {at} has kind {head[4]}")
        try:
            key = data[at + 27 : at + 27 + key_size].decode()
        except UnicodeDecodeError:
            raise BrokenError(f"`{path.name}`: the key at byte {at} is not UTF-8") from None
        seq, expires = int.from_bytes(head[5:13], "big"), int.from_bytes(head[13:21], "big")
        rows.append(Row(kind, seq, expires, key, data[at + 27 + key_size : end], bool(head[4] & MORE)))
        at = end
    return rows


def read_manifest(folder: Path) -> dict[str, Any]:
    """The MANIFEST, its form checked. Raises BrokenError."""
    try:
        data = json.loads((folder / "MANIFEST").read_bytes())
    except (OSError, ValueError) as error:
        raise BrokenError(f"`MANIFEST` cannot be read: {error}") from None
    numbers = data.get("segments") if isinstance(data, dict) else None
    whole = isinstance(numbers, list) and all(
        type(n) is int
        for n in [*numbers, *(data.get(k) for k in ("format", "active", "next_id", "next_seq"))]
    )
    if not whole or data["format"] != 2 or numbers != sorted(set(numbers)) or data["active"] not in numbers:
        raise BrokenError(f"`MANIFEST` is not as section 4.2 says: {str(data)[:200]}")
    if data["next_id"] <= max(numbers):
        raise BrokenError(f"`MANIFEST`: `next_id` is {data['next_id']}, segment {max(numbers)} is in use")
    return data


def read_store(folder: Path) -> dict[int, list[Row]]:
    """The records of each segment. Raises BrokenError where the files are not as they must be."""
    manifest = read_manifest(folder)
    segments = {number: read_segment(folder / seg(number)) for number in manifest["segments"]}
    last = segments[manifest["active"]][-1:]
    if last and last[0].more:
        raise BrokenError(f"`{seg(manifest['active'])}` ends within a batch")
    allowed = {"MANIFEST", "LOCK", *map(seg, segments), *map(idx, segments)}
    extra = sorted(p.name for p in folder.iterdir() if p.suffix in (".seg", ".idx", ".tmp"))
    if extra := [name for name in extra if name not in allowed]:
        raise BrokenError(f"`{extra[0]}` is in the folder, but MANIFEST does not name it")
    for number, rows in segments.items():
        if number != manifest["active"]:
            path = folder / idx(number)
            if not path.is_file() or path.read_bytes() != hint(rows):
                raise BrokenError(f"`{path.name}` is not the right hint of its segment (section 5)")
    seqs = [row.seq for rows in segments.values() for row in rows]
    if len(seqs) != len(set(seqs)):
        raise BrokenError("a sequence number was given out twice")
    if seqs and manifest["next_seq"] < 1:
        raise BrokenError("`MANIFEST`: `next_seq` is below 1")
    return segments


def current(segments: dict[int, list[Row]]) -> dict[str, Row]:
    """The record with the highest sequence number of each key."""
    found: dict[str, Row] = {}
    for rows in segments.values():
        for row in rows:
            if row.key not in found or row.seq > found[row.key].seq:
                found[row.key] = row
    return found


def live(row: Row, now: int) -> bool:
    return row.kind == PUT and not (row.expires and now >= row.expires)


def held(segments: dict[int, list[Row]], now: int) -> dict[str, tuple[bytes, int]]:
    """key -> (value, expiry) of the live keys."""
    rows = current(segments)
    return {key: (row.value, row.expires) for key, row in sorted(rows.items()) if live(row, now)}


def compacted(
    segments: dict[int, list[Row]], active: int, least: float, now: int
) -> tuple[list[int], list[Row]]:
    """Which segments a compaction merges, and the records of its output (section 8)."""
    newest = current(segments)
    merged = []
    for number, rows in segments.items():
        total = sum(len(record(row)) for row in rows)
        alive = sum(len(record(row)) for row in rows if newest[row.key] == row and live(row, now))
        if number != active and (total - alive) / total >= least:
            merged.append(number)
    outside = {row.key for number, rows in segments.items() if number not in merged for row in rows}
    output = []
    for number in merged:
        for row in segments[number]:
            if newest[row.key] == row and live(row, now):
                output.append(row._replace(more=False))
            elif newest[row.key] == row and row.key in outside:
                output.append(delete(row.seq, row.key))
    return sorted(merged), sorted(output, key=lambda row: row.seq)
