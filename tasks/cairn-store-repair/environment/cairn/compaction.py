"""What a compaction merges and what it keeps. See section 8 of docs/SPEC.md."""

from .record import HEADER


def dead_share(size, number, entries, now):
    """The share of a segment's record bytes that nothing needs any more."""
    total = size - len(HEADER)
    live = sum(entry.size for entry in entries if entry.segment == number and entry.live(now))
    return (total - live) / total if total else 1.0


def merge(victims, index, now):
    """The records that take the place of the merged segments, by sequence number.

    `victims` is a list of lists of Located, one for each segment merged.
    """
    kept = []
    for found in victims:
        for located in found:
            record = located.record
            entry = index.get(record.key)
            if entry is None or entry.seq != record.seq:
                continue
            if entry.live(now):
                kept.append(record)
    return sorted(kept, key=lambda record: record.seq)
