"""Reading stores of release 1.x. See section 9 of docs/SPEC.md."""

import re
import struct
import zlib

from .errors import CorruptionError
from .index import expired
from .record import DELETE, MAGIC, PUT
from .segment import is_torn

HEADER = MAGIC + b"\x01"
# crc of key and value, kind, expiry in seconds, key length, value length
HEAD = struct.Struct(">IBIHI")
NAME = re.compile(r"[1-9][0-9]{0,6}\.seg")


def segment_paths(folder):
    """The segments of a 1.x store, oldest first."""
    found = [path for path in folder.iterdir() if NAME.fullmatch(path.name)]
    return sorted(found)


def read_records(path, *, last):
    """(kind, key, expiry in ms, value) of each record in one segment."""
    data = path.read_bytes()
    if data[: len(HEADER)] != HEADER:
        raise CorruptionError(path, 0, "this is no segment of format 1")
    offset = len(HEADER)
    while offset < len(data):
        end = None
        reason = "a record is cut off"
        if len(data) - offset >= HEAD.size:
            crc, kind, seconds, key_size, value_size = HEAD.unpack_from(data, offset)
            start = offset + HEAD.size
            end = start + key_size + value_size
            if end > len(data):
                end = None
            elif zlib.crc32(data[start:end]) != crc or kind not in (PUT, DELETE):
                reason = "the checksum or the kind of a record is wrong"
            else:
                key = data[start : start + key_size].decode("utf-8", "replace")
                yield kind, key, seconds * 1000, data[start + key_size : end]
                offset = end
                continue
        if last and is_torn(data, offset, end):
            return
        raise CorruptionError(path, offset, reason)


def read_store(folder, now):
    """What a 1.x store holds at `now`: a list of (key, value, expiry in ms), oldest write first."""
    paths = segment_paths(folder)
    held = {}
    for path in paths:
        for kind, key, expires, value in read_records(path, last=path == paths[-1]):
            held.pop(key, None)
            if kind == PUT:
                held[key] = (value, expires)
    return [(key, value, expires) for key, (value, expires) in held.items() if not expired(expires, now)]
