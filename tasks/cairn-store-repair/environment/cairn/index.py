"""Where the current record of each key lies."""

from dataclasses import dataclass

from .record import PUT


@dataclass(frozen=True, slots=True)
class Entry:
    """The place of a record, without its value."""

    kind: int
    seq: int
    expires: int
    key: str
    segment: int
    offset: int
    size: int

    def live(self, now):
        return self.kind == PUT and not expired(self.expires, now)


def expired(expires, now):
    return expires != 0 and now >= expires


def entry_of(located, segment):
    record = located.record
    return Entry(record.kind, record.seq, record.expires, record.key, segment, located.offset, located.size)


class Index:
    """Current entries by key, those of deleted keys included."""

    def __init__(self):
        self._entries = {}

    def add(self, entry):
        """Take in one entry of a segment that is being read or written."""
        self._entries[entry.key] = entry

    def move(self, entry):
        """The current record of a key now lies elsewhere."""
        self._entries[entry.key] = entry

    def forget(self, key):
        del self._entries[key]

    def get(self, key):
        return self._entries.get(key)

    def every_key(self):
        return self._entries.keys()

    def entries(self):
        return self._entries.values()
