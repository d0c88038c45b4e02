# ruff: noqa: PT009, PT027 - the gateways have no pytest
"""The operations of a store, as a caller sees them."""

import tempfile
import unittest
from pathlib import Path

from cairn import Batch, InvalidKey, InvalidValue, StoreClosed, StoreLocked, open_store


class Clock:
    def __init__(self):
        self.now = 1_700_000_000_000

    def __call__(self):
        return self.now


class StoreCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.clock = Clock()

    def open(self, **options):
        store = open_store(self.folder, clock=self.clock, **options)
        self.addCleanup(store.close)
        return store


class Basics(StoreCase):
    def test_put_get_delete(self):
        store = self.open()
        store.put("a", b"1")
        self.assertEqual(store.get("a"), b"1")
        self.assertTrue(store.delete("a"))
        self.assertIsNone(store.get("a"))
        self.assertFalse(store.delete("a"))

    def test_empty_value_is_a_value(self):
        store = self.open()
        store.put("a", b"")
        self.assertEqual(store.get("a"), b"")

    def test_overwrite(self):
        store = self.open()
        store.put("a", b"1")
        store.put("a", b"2")
        self.assertEqual(store.get("a"), b"2")

    def test_keys_are_checked(self):
        store = self.open()
        for key in ("", "x" * 1025, "ü" * 513, "\ud800", b"bytes"):
            with self.assertRaises(InvalidKey):
                store.put(key, b"1")
        store.put("ü" * 512, b"1")

    def test_values_are_checked(self):
        with self.assertRaises(InvalidValue):
            self.open().put("a", "text")

    def test_closed_store(self):
        store = self.open()
        store.close()
        store.close()
        with self.assertRaises(StoreClosed):
            store.get("a")

    def test_one_at_a_time(self):
        self.open()
        with self.assertRaises(StoreLocked):
            open_store(self.folder)


class Expiry(StoreCase):
    def test_expires_at_its_time(self):
        store = self.open()
        store.put("a", b"1", ttl_ms=100)
        self.clock.now += 99
        self.assertEqual(store.ttl("a"), 1)
        self.clock.now += 1
        self.assertIsNone(store.ttl("a"))
        self.assertIsNone(store.get("a"))

    def test_touch(self):
        store = self.open()
        store.put("a", b"1", ttl_ms=100)
        self.assertTrue(store.touch("a", None))
        self.clock.now += 1000
        self.assertEqual(store.get("a"), b"1")
        self.assertFalse(store.touch("b", 5))

    def test_ttl_is_positive(self):
        for ttl in (0, -1, 1.5, True):
            with self.assertRaises(ValueError):
                self.open_and_put(ttl)

    def open_and_put(self, ttl):
        with open_store(self.folder, clock=self.clock) as store:
            store.put("a", b"1", ttl_ms=ttl)


class Increment(StoreCase):
    def test_counts(self):
        store = self.open()
        self.assertEqual(store.increment("n"), 1)
        self.assertEqual(store.increment("n", 2**70), 2**70 + 1)
        self.assertEqual(store.increment("n", -(2**71)), 1 - 2**70)

    def test_keeps_the_expiry(self):
        store = self.open()
        store.put("n", b"5", ttl_ms=50)
        store.increment("n")
        self.assertEqual(store.ttl("n"), 50)

    def test_refuses_text(self):
        store = self.open()
        store.put("n", b"1_0")
        with self.assertRaises(InvalidValue):
            store.increment("n")


class Scan(StoreCase):
    def setUp(self):
        super().setUp()
        self.store = self.open()
        for key in ("b", "a", "ab", "c", "é"):
            self.store.put(key, key.encode())

    def keys(self, *args, **options):
        return [key for key, _ in self.store.scan(*args, **options)]

    def test_order(self):
        self.assertEqual(self.keys(), ["a", "ab", "b", "c", "é"])
        self.assertEqual(self.keys(reverse=True), ["é", "c", "b", "ab", "a"])

    def test_bounds(self):
        self.assertEqual(self.keys("ab", "c"), ["ab", "b"])
        self.assertEqual(self.keys(prefix="a"), ["a", "ab"])

    def test_limit(self):
        self.assertEqual(self.keys(limit=2), ["a", "ab"])
        self.assertEqual(self.keys(limit=2, reverse=True), ["é", "c"])
        self.assertEqual(self.keys(limit=0), [])


class Batches(StoreCase):
    def test_in_order(self):
        store = self.open()
        store.write(Batch().put("a", b"1").put("b", b"2", 10).delete("a"))
        self.assertEqual(list(store.scan()), [("b", b"2")])
        self.assertEqual(store.ttl("b"), 10)

    def test_empty(self):
        store = self.open()
        store.write(Batch())
        self.assertEqual(store.stats()["next_seq"], 1)


if __name__ == "__main__":
    unittest.main()
