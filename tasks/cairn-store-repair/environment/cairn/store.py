"""The store. docs/SPEC.md says what each operation promises."""

import fcntl
import re
import threading
import time
from dataclasses import replace
from pathlib import Path

from . import legacy, manifest
from .cache import Cache
from .compaction import dead_share, merge
from .errors import StoreClosed, StoreLocked
from .hint import hint_name, read_hint, write_hint
from .index import Index, entry_of
from .keys import check_key, check_ttl, check_value, parse_integer
from .manifest import Manifest
from .record import DELETE, HEADER, PUT, Located, Record, encode
from .segment import SegmentReader, SegmentWriter, read_segment, segment_name, write_segment

OWN_FILE = re.compile(r"[0-9]+\.(seg|idx)|.*\.tmp")


def system_clock():
    return time.time_ns() // 1_000_000


def open_store(path, *, sync="always", segment_bytes=65536, cache_entries=1024, clock=system_clock):
    """Open the store in the folder `path`, which is made where it is missing."""
    return Store(path, sync=sync, segment_bytes=segment_bytes, cache_entries=cache_entries, clock=clock)


class Store:
    """One open store. All methods may be called from several threads."""

    def __init__(self, path, *, sync, segment_bytes, cache_entries, clock):
        if sync not in ("always", "close"):
            raise ValueError('`sync` is "always" or "close"')
        self._folder = Path(path)
        self._always = sync == "always"
        self._segment_bytes = segment_bytes
        self._clock = clock
        self._lock = threading.RLock()
        self._cache = Cache(cache_entries)
        self._index = Index()
        self._readers = {}
        self._open = False
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock_file = (self._folder / "LOCK").open("a")
        try:
            fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock_file.close()
            raise StoreLocked(f"{self._folder} is open elsewhere") from None
        try:
            self._manifest = manifest.load(self._folder)
            if self._manifest is None:
                self._create()
            else:
                self._recover()
        except BaseException:
            self._lock_file.close()
            raise
        self._open = True

    # --- opening ---

    def _create(self):
        """A new store, or one of release 1.x brought to format 2."""
        held = legacy.read_store(self._folder, self._now())
        old = legacy.segment_paths(self._folder)
        self._remove_strays({path.name for path in old})
        number = int(old[-1].stem) + 1 if old else 1
        path = self._path(number)
        records = [
            Record(PUT, seq, expires, key, value) for seq, (key, value, expires) in enumerate(held, start=1)
        ]
        write_segment(path, map(encode, records))
        self._next_seq = len(records) + 1
        self._save_manifest(Manifest((number,), number, number + 1, self._next_seq))
        self._remove_strays({path.name})
        found, end = read_segment(path, active=True)
        self._active_entries = [entry_of(located, number) for located in found]
        for entry in self._active_entries:
            self._index.add(entry)
        self._writer = SegmentWriter(path, end)

    def _recover(self):
        """Rebuild the index. Files are changed only when all of them have proved good."""
        self._adopt_rolled_segments()
        missing_hints = []
        for number in self._manifest.segments:
            path = self._path(number)
            if number == self._manifest.active:
                found, end = read_segment(path, active=True)
                entries = self._active_entries = [entry_of(located, number) for located in found]
            else:
                size = path.stat().st_size
                entries = read_hint(self._folder / hint_name(number), size, number)
                if entries is None:
                    found, _ = read_segment(path, active=False)
                    entries = [entry_of(located, number) for located in found]
                    missing_hints.append((number, size, entries))
            for entry in entries:
                self._index.add(entry)
        now = self._now()
        newest = max((e.seq for e in self._index.entries() if e.live(now)), default=0)
        self._next_seq = max(self._manifest.next_seq, newest + 1)
        self._remove_strays(self._listed_names())
        for number, size, entries in missing_hints:
            write_hint(self._folder / hint_name(number), size, entries)
        self._writer = SegmentWriter(self._path(self._manifest.active), end)

    def _adopt_rolled_segments(self):
        """Segments begun since the MANIFEST was last written are not in it yet."""
        known = self._manifest.segments
        names = [path.stem for path in self._folder.glob("*.seg")]
        rolled = sorted({int(name) for name in names if len(name) == 8} - set(known))
        if rolled:
            self._manifest = replace(
                self._manifest, segments=(*known, *rolled), active=rolled[-1], next_id=rolled[-1] + 1
            )

    def _listed_names(self):
        numbers = self._manifest.segments
        return {segment_name(n) for n in numbers} | {hint_name(n) for n in numbers}

    def _remove_strays(self, keep):
        """Remove what an interrupted run left behind."""
        for path in sorted(self._folder.iterdir()):
            if path.name not in keep and OWN_FILE.fullmatch(path.name):
                path.unlink()

    # --- reading ---

    def get(self, key):
        """The value of `key`, None where there is none."""
        check_key(key)
        with self._lock:
            self._check_open()
            value = self._cache.get(key)
            if value is not None:
                return value
            entry = self._live(key, self._now())
            if entry is None:
                return None
            return self._value(entry)

    def ttl(self, key):
        """Milliseconds that `key` has left; None for a key without expiry or without value."""
        check_key(key)
        with self._lock:
            self._check_open()
            now = self._now()
            entry = self._live(key, now)
            if entry is None or entry.expires == 0:
                return None
            return entry.expires - now

    def scan(self, start=None, end=None, *, prefix=None, reverse=False, limit=None):
        """(key, value) pairs in the order of keys; see section 3.6 for what the arguments mean."""
        if limit is not None and limit < 0:
            raise ValueError("`limit` is not negative")
        with self._lock:
            self._check_open()
            keys = self._select(start, end, prefix, reverse)
        return self._rows(keys, limit)

    def _rows(self, keys, limit):
        """Values are read as the caller comes to them: all of them may be larger than memory."""
        given = 0
        for key in keys:
            if limit is not None and given >= limit:
                return
            value = self.get(key)
            if value is not None:
                given += 1
                yield key, value

    def _select(self, start, end, prefix, reverse):
        """The known keys, dead ones too, that the bounds of a scan leave."""
        if prefix is not None:
            bounds = prefix, prefix + "\uffff"
            start = bounds[0] if start is None else max(start, bounds[0])
            end = bounds[1] if end is None else min(end, bounds[1])
        keys = [
            key
            for key in self._index.every_key()
            if (start is None or key >= start) and (end is None or key < end)
        ]
        return sorted(keys, reverse=reverse)

    def _live(self, key, now):
        entry = self._index.get(key)
        return entry if entry is not None and entry.live(now) else None

    def _value(self, entry):
        """The value of an entry, from the cache or the disk."""
        value = self._cache.get(entry.key)
        if value is None:
            value = self._reader(entry.segment).record(entry.offset, entry.size).value
            self._cache.put(entry.key, value)
        return value

    def _reader(self, number):
        if number not in self._readers:
            self._readers[number] = SegmentReader(self._path(number))
        return self._readers[number]

    # --- writing ---

    def put(self, key, value, ttl_ms=None):
        """Store `value` under `key`, for `ttl_ms` milliseconds or for good."""
        check_key(key)
        check_value(value)
        check_ttl(ttl_ms)
        with self._lock:
            self._check_open()
            self._commit_one(PUT, key, bytes(value), self._expiry(ttl_ms))

    def delete(self, key):
        """Remove `key`; whether there was a value."""
        check_key(key)
        with self._lock:
            self._check_open()
            if self._live(key, self._now()) is None:
                return False
            self._commit_one(DELETE, key, b"", 0)
            return True

    def touch(self, key, ttl_ms):
        """Give `key` a new time to live, None for good; whether there was a value."""
        check_key(key)
        check_ttl(ttl_ms)
        with self._lock:
            self._check_open()
            entry = self._live(key, self._now())
            if entry is None:
                return False
            self._commit_one(PUT, key, self._value(entry), self._expiry(ttl_ms))
            return True

    def increment(self, key, amount=1):
        """Add to the whole number under `key`, 0 where there is none, and return the sum."""
        check_key(key)
        with self._lock:
            self._check_open()
            entry = self._live(key, self._now())
            number, expires = 0, 0
            if entry is not None:
                number, expires = parse_integer(self._value(entry)), entry.expires
        number += amount
        with self._lock:
            self._commit_one(PUT, key, b"%d" % number, expires)
        return number

    def write(self, batch):
        """Apply all operations of a batch, in their order, or none."""
        with self._lock:
            self._check_open()
            rows = [
                (PUT, key, value, self._expiry(ttl_ms)) if what == "put" else (DELETE, key, b"", 0)
                for what, key, value, ttl_ms in batch.operations
            ]
            if rows:
                self._commit(rows)

    def _expiry(self, ttl_ms):
        return 0 if ttl_ms is None else self._now() + ttl_ms

    def _commit_one(self, kind, key, value, expires):
        self._commit([(kind, key, value, expires)], sync=self._always)
        self._cache.drop(key)

    def _commit(self, rows, *, sync=False):
        """Append rows of (kind, key, value, expiry) as one write, then make them visible."""
        records = [
            Record(kind, self._next_seq + i, expires, key, value, more=i < len(rows) - 1)
            for i, (kind, key, value, expires) in enumerate(rows)
        ]
        chunks = [encode(record) for record in records]
        size = sum(map(len, chunks))
        if self._active_entries and self._writer.size + size > self._segment_bytes:
            self._roll()
        offset = self._writer.append(b"".join(chunks), sync=sync)
        self._next_seq += len(records)
        for record, chunk in zip(records, chunks, strict=True):
            entry = entry_of(Located(offset, len(chunk), record), self._manifest.active)
            self._active_entries.append(entry)
            self._index.add(entry)
            offset += len(chunk)

    def _roll(self):
        """Seal the active segment and begin another."""
        sealed, number = self._manifest.active, self._manifest.next_id
        write_hint(self._folder / hint_name(sealed), self._writer.size, self._active_entries)
        writer = SegmentWriter.create(self._path(number))
        self._manifest = replace(
            self._manifest,
            segments=(*self._manifest.segments, number),
            active=number,
            next_id=number + 1,
        )
        self._writer.close()
        self._writer = writer
        self._active_entries = []

    # --- housekeeping ---

    def compact(self, min_dead=0.5):
        """Merge the sealed segments of which at least `min_dead` is dead; what was done, as a dict."""
        with self._lock:
            self._check_open()
            now = self._now()
            entries = list(self._index.entries())
            active = self._manifest.active
            victims = [
                number
                for number in self._manifest.segments
                if number != active
                and dead_share(self._path(number).stat().st_size, number, entries, now) >= min_dead
            ]
            if not victims:
                return {"merged": [], "output": None, "records": 0}
            found = {number: read_segment(self._path(number), active=False)[0] for number in victims}
            kept = merge(list(found.values()), self._index, now)
            output = self._manifest.next_id if kept else None
            moved = self._write_output(output, kept)
            rest = [number for number in self._manifest.segments if number not in victims]
            merged = replace(
                self._manifest,
                segments=tuple(sorted([*rest, output] if kept else rest)),
                next_id=self._manifest.next_id + bool(kept),
            )
            self._remove_segments(victims)
            self._save_manifest(merged)
            for entry in entries:
                if entry.segment in victims:
                    self._index.forget(entry.key)
            for entry in moved:
                self._index.move(entry)
            return {"merged": victims, "output": output, "records": len(kept)}

    def _write_output(self, number, records):
        """Write the segment and the hint of a compaction; the new entries."""
        entries = []
        chunks = []
        offset = len(HEADER)
        for record in records:
            chunk = encode(record)
            entries.append(entry_of(Located(offset, len(chunk), record), number))
            chunks.append(chunk)
            offset += len(chunk)
        if records:
            write_segment(self._path(number), chunks)
            write_hint(self._folder / hint_name(number), offset, entries)
        return entries

    def _remove_segments(self, numbers):
        for number in numbers:
            if number in self._readers:
                self._readers.pop(number).close()
            self._path(number).unlink()
            (self._folder / hint_name(number)).unlink(missing_ok=True)

    def stats(self):
        """Figures for a status page."""
        with self._lock:
            self._check_open()
            now = self._now()
            return {
                "keys": sum(entry.live(now) for entry in self._index.entries()),
                "segments": len(self._manifest.segments),
                "bytes": sum(self._path(n).stat().st_size for n in self._manifest.segments),
                "next_seq": self._next_seq,
            }

    def close(self):
        """Sync and let go of the store. Closing twice is allowed."""
        with self._lock:
            if not self._open:
                return
            self._writer.sync()
            self._save_manifest(self._manifest)
            self._writer.close()
            for reader in self._readers.values():
                reader.close()
            self._open = False
            self._lock_file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _save_manifest(self, changed):
        changed = replace(changed, next_seq=self._next_seq)
        manifest.save(self._folder, changed)
        self._manifest = changed

    def _path(self, number):
        return self._folder / segment_name(number)

    def _check_open(self):
        if not self._open:
            raise StoreClosed(f"{self._folder} has been closed")

    def _now(self):
        return self._clock()
