# ruff: noqa: PT009, PT027 - the gateways have no pytest
"""What a store leaves on the disk, and finds there."""

import json
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib
from pathlib import Path

from cairn import Batch, CorruptionError, open_store

START = 1_700_000_000_000


class FileCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "store"
        self.now = START

    def open(self, **options):
        store = open_store(self.folder, clock=lambda: self.now, **options)
        self.addCleanup(store.close)
        return store


class Reopening(FileCase):
    def test_everything_is_there(self):
        with self.open() as store:
            store.put("a", b"1")
            store.put("b", b"2", ttl_ms=100)
            store.put("c", b"3")
            store.delete("c")
        self.now += 60
        store = self.open()
        self.assertEqual(list(store.scan()), [("a", b"1"), ("b", b"2")])
        self.assertEqual(store.ttl("b"), 40)

    def test_several_segments(self):
        with self.open(segment_bytes=200) as store:
            for i in range(50):
                store.put(f"k{i:02d}", b"x" * 20)
            self.assertGreater(store.stats()["segments"], 5)
        self.assertEqual(len(list(self.open().scan())), 50)

    def test_segments_keep_their_size(self):
        with self.open(segment_bytes=200) as store:
            for i in range(20):
                store.put(f"k{i}", b"x" * i)
        sizes = [path.stat().st_size for path in self.folder.glob("*.seg")]
        self.assertLessEqual(max(sizes), 200)

    def test_a_cut_record_is_ignored(self):
        with self.open() as store:
            store.put("a", b"1")
            store.put("b", b"2")
        path = self.folder / "00000001.seg"
        path.write_bytes(path.read_bytes()[:-1])
        self.assertEqual(list(self.open().scan()), [("a", b"1")])

    def test_damage_in_a_sealed_segment(self):
        with self.open(segment_bytes=100) as store:
            for i in range(10):
                store.put(f"k{i}", b"x" * 20)
        (self.folder / "00000001.idx").unlink()
        path = self.folder / "00000001.seg"
        data = bytearray(path.read_bytes())
        data[40] ^= 1
        path.write_bytes(data)
        with self.assertRaises(CorruptionError):
            self.open()


class Compaction(FileCase):
    def test_dead_records_go(self):
        store = self.open(segment_bytes=300)
        for i in range(60):
            store.put(f"k{i % 3}", b"v%d" % i)
        before = store.stats()["bytes"]
        report = store.compact()
        self.assertGreater(len(report["merged"]), 1)
        self.assertLess(store.stats()["bytes"], before)
        self.assertEqual(list(store.scan()), [("k0", b"v57"), ("k1", b"v58"), ("k2", b"v59")])

    def test_nothing_to_do(self):
        store = self.open()
        store.put("a", b"1")
        self.assertEqual(store.compact(), {"merged": [], "output": None, "records": 0})

    def test_live_records_move(self):
        with self.open(segment_bytes=150) as store:
            store.put("keep", b"1")
            for i in range(20):
                store.put("a", b"%d" % i)
            store.compact()
            self.assertEqual(store.get("keep"), b"1")
        self.assertEqual(self.open().get("keep"), b"1")


class OldRelease(FileCase):
    def test_upgrade(self):
        self.folder.mkdir()
        data = b"CAIRNSG\x01"
        for key, value, seconds in (
            (b"a", b"1", 0),
            (b"b", b"2", 1_700_000_100),
            (b"c", b"3", 1_600_000_000),
        ):
            head = struct.pack(">IBIHI", zlib.crc32(key + value), 1, seconds, len(key), len(value))
            data += head + key + value
        (self.folder / "1.seg").write_bytes(data)
        store = self.open()
        self.assertEqual(list(store.scan()), [("a", b"1"), ("b", b"2")])
        self.assertEqual(store.ttl("b"), 100_000)
        self.assertFalse((self.folder / "1.seg").exists())


class CommandLine(FileCase):
    def test_dump(self):
        with self.open() as store:
            store.write(Batch().put("a/1", b"x").put("b", b"y"))
        root = Path(__file__).resolve().parents[1]
        command = [sys.executable, "-m", "cairn", "dump", str(self.folder), "--prefix", "a/"]
        done = subprocess.run(command, cwd=root, capture_output=True, check=True)
        self.assertEqual(json.loads(done.stdout), {"key": "a/1", "value": "78", "ttl_ms": None})

    def test_a_damaged_store_is_one_line(self):
        with self.open() as store:
            store.put("a", b"1")
        shutil.copy(__file__, self.folder / "MANIFEST")
        root = Path(__file__).resolve().parents[1]
        command = [sys.executable, "-m", "cairn", "stats", str(self.folder)]
        done = subprocess.run(command, cwd=root, capture_output=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count(b"\n"), 1)


if __name__ == "__main__":
    unittest.main()
