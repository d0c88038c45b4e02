"""Records of format 2, one after another in a segment. See section 4.3 of docs/SPEC.md."""

import struct
import zlib
from dataclasses import dataclass

PUT = 1
DELETE = 2
MORE = 0x80

MAGIC = b"CAIRNSG"
FORMAT = 2
HEADER = MAGIC + bytes([FORMAT])

# crc, kind, sequence number, expiry, key length, value length
HEAD = struct.Struct(">IBQQHI")


@dataclass(frozen=True, slots=True)
class Record:
    kind: int
    seq: int
    expires: int
    key: str
    value: bytes
    # Whether the batch goes on with the next record.
    more: bool = False


@dataclass(frozen=True, slots=True)
class Located:
    """A record and where it lies in its segment."""

    offset: int
    size: int
    record: Record


class BadRecord(Exception):  # noqa: N818
    """What `decode` found is no record. `end` is where it would end, None if past the data."""

    def __init__(self, reason, end=None):
        super().__init__(reason)
        self.reason = reason
        self.end = end


def encode(record):
    key = record.key.encode("utf-8")
    kind = record.kind | (MORE if record.more else 0)
    head = HEAD.pack(0, kind, record.seq, record.expires, len(key), len(record.value))
    body = head[4:] + key + record.value
    return zlib.crc32(body).to_bytes(4, "big") + body


def decode(data, offset):
    """The record at `offset` and the offset after it. Raises BadRecord."""
    if len(data) - offset < HEAD.size:
        raise BadRecord("the head of a record is cut off")
    crc, kind, seq, expires, key_size, value_size = HEAD.unpack_from(data, offset)
    start = offset + HEAD.size
    end = start + key_size + value_size
    if end > len(data):
        raise BadRecord("a record is cut off")
    if zlib.crc32(data[offset + 4 : end]) != crc:
        raise BadRecord("the checksum of a record is wrong", end)
    plain = kind & ~MORE
    if plain not in (PUT, DELETE):
        raise BadRecord(f"a record has the unknown kind {plain}", end)
    try:
        key = data[start : start + key_size].decode("utf-8")
    except UnicodeDecodeError:
        raise BadRecord("a key is not UTF-8", end) from None
    value = bytes(data[start + key_size : end])
    return Record(plain, seq, expires, key, value, bool(kind & MORE)), end
