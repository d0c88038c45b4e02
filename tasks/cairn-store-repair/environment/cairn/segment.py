"""Reading a segment, and appending to one."""

import os

from .errors import CorruptionError
from .record import HEADER, BadRecord, Located, decode


def segment_name(number):
    return f"{number:08d}.seg"


def read_segment(path, *, active):
    """All records of a segment and where the next one goes, as sections 7.2 and 7.3 of docs/SPEC.md say.

    Only the active segment may end in the middle of a write. Raises CorruptionError.
    """
    data = path.read_bytes()
    if data[: len(HEADER)] != HEADER:
        raise CorruptionError(path, 0, "this is no segment of format 2")
    found = []
    offset = len(HEADER)
    while offset < len(data):
        try:
            record, end = decode(data, offset)
        except BadRecord as bad:
            if active:
                break
            raise CorruptionError(path, offset, bad.reason) from None
        found.append(Located(offset, end - offset, record))
        offset = end
    return found, offset


def is_torn(data, offset, end):
    """Whether the bad bytes at `offset` are what an interrupted append can leave."""
    return end is None or end == len(data) or not any(data[offset:])


def write_segment(path, chunks):
    """A whole segment at once, synced."""
    with path.open("wb") as file:
        file.write(HEADER)
        for chunk in chunks:
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())


class SegmentWriter:
    """Appends to the active segment."""

    def __init__(self, path, size):
        self.path = path
        self._file = path.open("ab")
        self.size = max(size, self._file.tell())

    @classmethod
    def create(cls, path):
        write_segment(path, ())
        return cls(path, len(HEADER))

    def append(self, data, *, sync):
        """Write `data` at the end and return its offset."""
        start = self.size
        self._file.write(data)
        self._file.flush()
        if sync:
            os.fsync(self._file.fileno())
        self.size += len(data)
        return start

    def sync(self):
        os.fsync(self._file.fileno())

    def close(self):
        self._file.close()


class SegmentReader:
    """Reads single records of a segment by their place."""

    def __init__(self, path):
        self.path = path
        self._file = path.open("rb", buffering=0)

    def record(self, offset, size):
        data = os.pread(self._file.fileno(), size, offset)
        try:
            return decode(data, 0)[0]
        except BadRecord as bad:
            raise CorruptionError(self.path, offset, bad.reason) from None

    def close(self):
        self._file.close()
