"""Repairs Cairn in place: `python3 repair.py FOLDER`, where FOLDER holds the package `cairn`.

One `Repair` for each defect, so that each can be left out on its own. The edits of different
repairs never touch the same lines.
"""

import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Repair:
    name: str
    why: str
    # (file in the package, text that occurs once, what takes its place)
    edits: tuple[tuple[str, str, str], ...]


REPAIRS = (
    Repair(
        "torn-tail-cut",
        "Records written behind a torn tail are never found again: cut the file where reading stopped (7.3).",
        (
            (
                "segment.py",
                """\
        self._file = path.open("ab")
        self.size = max(size, self._file.tell())
""",
                """\
        self._file = path.open("r+b")
        self._file.truncate(size)
        self._file.seek(size)
        self.size = size
""",
            ),
        ),
    ),
    Repair(
        "unfinished-batch-dropped",
        "A batch cut off by a crash was applied in part; it goes, and the file is cut where it began (7.3).",
        (
            (
                "segment.py",
                """\
        offset = end
    return found, offset
""",
                """\
        offset = end
    while active and found and found[-1].record.more:
        offset = found.pop().offset
    return found, offset
""",
            ),
        ),
    ),
    Repair(
        "damage-told-from-torn-tail",
        "Any bad record ended the log, and with it every good record behind: only a torn tail may (7.2).",
        (
            (
                "segment.py",
                """\
            if active:
                break
""",
                """\
            if active and is_torn(data, offset, bad.end):
                break
""",
            ),
        ),
    ),
    Repair(
        "newest-record-wins",
        "The output of a compaction is read after newer segments: the sequence number decides (7.4).",
        (
            (
                "index.py",
                """\
        self._entries[entry.key] = entry

    def move""",
                """\
        known = self._entries.get(entry.key)
        if known is None or entry.seq > known.seq:
            self._entries[entry.key] = entry

    def move""",
            ),
        ),
    ),
    Repair(
        "hints-name-deletions",
        "A hint without its segment's deletions brings deleted keys back at the next start (5.1).",
        (
            (
                "hint.py",
                """\
        if entry.kind == DELETE:
            continue
""",
                "",
            ),
            ("hint.py", "from .record import DELETE, HEAD\n", "from .record import HEAD\n"),
        ),
    ),
    Repair(
        "short-hints-refused",
        "Hints that 2.3 wrote without deletions are on disk: their count gives them away (5.2).",
        (
            (
                "hint.py",
                """\
        return None
    return entries
""",
                """\
        return None
    if len(entries) != count:
        return None
    return entries
""",
            ),
            ("hint.py", "    size, _, crc = TOP", "    size, count, crc = TOP"),
        ),
    ),
    Repair(
        "sequence-numbers-not-reused",
        "Numbers of deleted and expired keys were given out again, and the new record lost to the old (7.5).",
        (
            (
                "store.py",
                """\
            for entry in entries:
                self._index.add(entry)
        now = self._now()
        newest = max((e.seq for e in self._index.entries() if e.live(now)), default=0)
""",
                """\
            for entry in entries:
                self._index.add(entry)
                newest = max(newest, entry.seq)
""",
            ),
            (
                "store.py",
                """\
        missing_hints = []
        for number""",
                """\
        missing_hints = []
        newest = 0
        for number""",
            ),
        ),
    ),
    Repair(
        "tombstones-kept-while-needed",
        "A deletion, or an expiry, was dropped while a segment outside the merge held an older record (8.3).",
        (
            (
                "compaction.py",
                """
    return sorted(kept""",
                """
            elif record.key in elsewhere:
                kept.append(Record(DELETE, record.seq, 0, record.key, b""))
    return sorted(kept""",
            ),
            (
                "compaction.py",
                """\
def merge(victims, index, now):
    \"\"\"The records that take the place of the merged segments, by sequence number.

    `victims` is a list of lists of Located, one for each segment merged.
    \"\"\"
""",
                """\
def merge(victims, others, index, now):
    \"\"\"The records that take the place of the merged segments, by sequence number.

    `victims` and `others` are lists of lists of Located: the segments merged, and all the rest.
    \"\"\"
    elsewhere = {located.record.key for found in others for located in found}
""",
            ),
            ("compaction.py", "from .record import HEADER\n", "from .record import DELETE, HEADER, Record\n"),
            (
                "store.py",
                """\
            found = {number: read_segment(self._path(number), active=False)[0] for number in victims}
            kept = merge(list(found.values()), self._index, now)
""",
                """\
            found = {
                number: read_segment(self._path(number), active=number == active)[0]
                for number in self._manifest.segments
            }
            kept = merge(
                [found[number] for number in victims],
                [found[number] for number in found if number not in victims],
                self._index,
                now,
            )
""",
            ),
        ),
    ),
    Repair(
        "batch-marks-cleared",
        "Merged records still said that their batch goes on, with whatever came next (8.2).",
        (
            ("compaction.py", "kept.append(record)\n", "kept.append(replace(record, more=False))\n"),
            (
                "compaction.py",
                "\n\nfrom .record",
                "\n\nfrom dataclasses import replace\n\nfrom .record",
            ),
        ),
    ),
    Repair(
        "inputs-removed-last",
        "A kill after the merged segments were gone and before the MANIFEST was there lost the store (8.4).",
        (
            (
                "store.py",
                """\
            self._remove_segments(victims)
            self._save_manifest(merged)
""",
                """\
            self._save_manifest(merged)
            self._remove_segments(victims)
""",
            ),
        ),
    ),
    Repair(
        "strays-not-adopted",
        "Segments that the MANIFEST does not name are leftovers, not part of the store (7.1).",
        (
            (
                "store.py",
                """\
        self._adopt_rolled_segments()
""",
                "",
            ),
            (
                "store.py",
                """\
    def _adopt_rolled_segments(self):
        \"\"\"Segments begun since the MANIFEST was last written are not in it yet.\"\"\"
        known = self._manifest.segments
        names = [path.stem for path in self._folder.glob("*.seg")]
        rolled = sorted({int(name) for name in names if len(name) == 8} - set(known))
        if rolled:
            self._manifest = replace(
                self._manifest, segments=(*known, *rolled), active=rolled[-1], next_id=rolled[-1] + 1
            )

""",
                "",
            ),
        ),
    ),
    Repair(
        "manifest-before-records",
        "A new segment took records that would be lost with it: name it in the MANIFEST first (6.5).",
        (
            (
                "store.py",
                """\
        self._manifest = replace(
            self._manifest,
            segments=(*self._manifest.segments, number),
            active=number,
            next_id=number + 1,
        )
        self._writer.close()
""",
                """\
        self._save_manifest(
            replace(
                self._manifest,
                segments=(*self._manifest.segments, number),
                active=number,
                next_id=number + 1,
            )
        )
        self._writer.close()
""",
            ),
        ),
    ),
    Repair(
        "cache-asked-last",
        "The cache knows nothing of expiry: ask the index first (10).",
        (
            (
                "store.py",
                """\
            value = self._cache.get(key)
            if value is not None:
                return value
            entry = self._live(key, self._now())
            if entry is None:
                return None
""",
                """\
            entry = self._live(key, self._now())
            if entry is None:
                return None
""",
            ),
        ),
    ),
    Repair(
        "batches-clear-the-cache",
        "What a batch overwrote was still read from the cache (10).",
        (
            (
                "store.py",
                """\
            self._index.add(entry)
            offset += len(chunk)
""",
                """\
            self._index.add(entry)
            self._cache.drop(record.key)
            offset += len(chunk)
""",
            ),
        ),
    ),
    Repair(
        "time-never-goes-back",
        "A clock that is set back made expired keys come back (1.1).",
        (
            (
                "store.py",
                """\
        return self._clock()
""",
                """\
        self._latest = max(self._latest, self._clock())
        return self._latest
""",
            ),
            (
                "store.py",
                """\
        self._clock = clock
""",
                """\
        self._clock = clock
        self._latest = 0
""",
            ),
        ),
    ),
    Repair(
        "increments-are-one-step",
        "Two threads read the same number and one increment was lost: hold the lock throughout (3.5).",
        (
            (
                "store.py",
                """\
                number, expires = parse_integer(self._value(entry)), entry.expires
        number += amount
        with self._lock:
            self._commit_one""",
                """\
                number, expires = parse_integer(self._value(entry)), entry.expires
            number += amount
            self._commit_one""",
            ),
        ),
    ),
    Repair(
        "scans-show-one-moment",
        "A scan read each value when the caller got there, after later writes (3.6).",
        (
            (
                "store.py",
                """\
            keys = self._select(start, end, prefix, reverse)
        return self._rows(keys, limit)

    def _rows(self, keys, limit):
        \"\"\"Values are read as the caller comes to them: all of them may be larger than memory.\"\"\"
        given = 0
        for key in keys:
            if limit is not None and given >= limit:
                return
            value = self.get(key)
            if value is not None:
                given += 1
                yield key, value
""",
                """\
            now = self._now()
            keys = self._select(start, end, prefix, reverse)
            live = [entry for key in keys if (entry := self._live(key, now))]
            return iter([(entry.key, self._value(entry)) for entry in live[:limit]])
""",
            ),
        ),
    ),
    Repair(
        "prefix-is-a-prefix",
        "Keys whose next character lies beyond U+FFFF were left out (3.6).",
        (
            (
                "store.py",
                """\
        if prefix is not None:
            bounds = prefix, prefix + "\\uffff"
            start = bounds[0] if start is None else max(start, bounds[0])
            end = bounds[1] if end is None else min(end, bounds[1])
        keys = [""",
                """\
        keys = [""",
            ),
            (
                "store.py",
                """\
            if (start is None or key >= start) and (end is None or key < end)
""",
                """\
            if (start is None or key >= start)
            and (end is None or key < end)
            and (prefix is None or key.startswith(prefix))
""",
            ),
        ),
    ),
    Repair(
        "batches-are-synced",
        'With sync="always" a batch was acknowledged before it was on the disk (6.2).',
        (
            (
                "store.py",
                """\
                self._commit(rows)
""",
                """\
                self._commit(rows, sync=self._always)
""",
            ),
        ),
    ),
    Repair(
        "sealed-segments-are-synced",
        'With sync="close" a power cut could tear a segment that was sealed already (6.3).',
        (
            (
                "store.py",
                """\
        \"\"\"Seal the active segment and begin another.\"\"\"
""",
                """\
        \"\"\"Seal the active segment and begin another.\"\"\"
        self._writer.sync()
""",
            ),
        ),
    ),
    Repair(
        "compaction-syncs-first",
        'With sync="close" older values went while the newer ones were not on the disk yet (6.3).',
        (
            (
                "store.py",
                """\
            entries = list(self._index.entries())
            active =""",
                """\
            self._writer.sync()
            entries = list(self._index.entries())
            active =""",
            ),
        ),
    ),
    Repair(
        "failed-writes-leave-nothing",
        "What a full disk cut short stayed in the buffer and in the file, and was written later (6.4).",
        (
            (
                "segment.py",
                """\
        self._file.write(data)
        self._file.flush()
        if sync:
            os.fsync(self._file.fileno())
        self.size += len(data)
        return start
""",
                """\
        try:
            self._write(data)
            if sync:
                os.fsync(self._file.fileno())
        except OSError:
            # Half a record must not stay in the way of what is written next.
            os.ftruncate(self._file.fileno(), start)
            os.lseek(self._file.fileno(), start, os.SEEK_SET)
            raise
        self.size += len(data)
        return start

    def _write(self, data):
        # Past the buffer of the file: it would keep what failed and write it later.
        view = memoryview(data)
        while view:
            view = view[os.write(self._file.fileno(), view) :]
""",
            ),
        ),
    ),
    Repair(
        "old-segments-in-numeric-order",
        "In the order of their names 10.seg came before 2.seg (9.1).",
        (
            (
                "legacy.py",
                """\
    return sorted(found)
""",
                """\
    return sorted(found, key=lambda path: int(path.stem))
""",
            ),
        ),
    ),
    Repair(
        "old-keys-are-latin-1",
        "Format 1 wrote keys in Latin-1 (9.2).",
        (("legacy.py", '.decode("utf-8", "replace")', '.decode("latin-1")'),),
    ),
)


def apply(package, repairs=REPAIRS):
    """Edit the files of `package`; every text to replace must occur exactly once."""
    for repair in repairs:
        for name, old, new in repair.edits:
            path = package / name
            text = path.read_text(encoding="utf-8")
            if text.count(old) != 1:
                raise SystemExit(f"{repair.name}: a text to replace occurs {text.count(old)} times in {path}")
            path.write_text(text.replace(old, new), encoding="utf-8")


if __name__ == "__main__":
    apply(Path(sys.argv[1]) / "cairn")
