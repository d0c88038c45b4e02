"""Hint files: the entries of a sealed segment without its values. See section 5 of docs/SPEC.md."""

import os
import struct
import zlib

from .index import Entry
from .record import DELETE, HEAD

MAGIC = b"CAIRNIX\x02"
# length of the segment, records in the segment, crc of the rows
TOP = struct.Struct(">QII")
# kind, sequence number, expiry, offset, key length, value length
ROW = struct.Struct(">BQQQHI")


def hint_name(number):
    return f"{number:08d}.idx"


def write_hint(path, segment_size, entries):
    rows = bytearray()
    for entry in entries:
        if entry.kind == DELETE:
            continue
        key = entry.key.encode("utf-8")
        value_size = entry.size - HEAD.size - len(key)
        rows += ROW.pack(entry.kind, entry.seq, entry.expires, entry.offset, len(key), value_size) + key
    top = TOP.pack(segment_size, len(entries), zlib.crc32(rows))
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as file:
        file.write(MAGIC + top + rows)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def read_hint(path, segment_size, segment):
    """The entries of a segment, or None where the hint cannot be relied on."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    start = len(MAGIC) + TOP.size
    if data[: len(MAGIC)] != MAGIC or len(data) < start:
        return None
    size, _, crc = TOP.unpack_from(data, len(MAGIC))
    if size != segment_size or zlib.crc32(data[start:]) != crc:
        return None
    entries = []
    offset = start
    try:
        while offset < len(data):
            kind, seq, expires, place, key_size, value_size = ROW.unpack_from(data, offset)
            offset += ROW.size
            key = data[offset : offset + key_size].decode("utf-8")
            offset += key_size
            size = HEAD.size + key_size + value_size
            entries.append(Entry(kind, seq, expires, key, segment, place, size))
    except (struct.error, UnicodeDecodeError):
        return None
    return entries
