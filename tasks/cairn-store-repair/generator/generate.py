"""Writes the old stores that the verifier opens: `python3 generate.py`, from anywhere.

`verifier/stores/release-1.9`: 14 segments of format 1 (keys in Latin-1, expiries in seconds, a torn tail),
with `release-1.9.json`: what they hold, as the generator meant it.
`verifier/stores/release-2.3`: written by the package as the agent gets it, 2.3's code, with a compaction: its
hints lack the deletions, and batch marks are left in what was merged.
"""

from __future__ import annotations

import importlib
import json
import random
import shutil
import sys
import tempfile
import zlib
from pathlib import Path

TASK = Path(__file__).resolve().parents[1]
STORES = TASK / "verifier" / "stores"
NOW = 1_760_000_000_000
ROOMS = ("Küche", "Büro", "Flur", "Salle à manger", "Stube", "Kjøkken", "Café", "Öde")


def release_1_9() -> tuple[dict[str, bytes], list[list[object]]]:
    """Files of a 1.9 store, and [key, value as hex, expiry in ms] of what it holds, oldest write first."""
    r = random.Random("release 1.9")
    files: dict[str, bytes] = {}
    held: dict[str, tuple[bytes, int]] = {}
    for number in range(1, 15):
        data = bytearray(b"CAIRNSG\x01")
        for n in range(r.randrange(12, 30)):
            key = f"{r.choice(ROOMS)}/{r.choice(('temperatur', 'feuchte', 'état'))}"
            deleted = r.random() < 0.12
            seconds = 0 if deleted else r.choice((0, 0, 0, 1_750_000_000, 1_760_000_000, 1_790_000_000))
            value = b"" if deleted else f"{number}.{n}:{r.randrange(400) / 10}".encode()
            raw = key.encode("latin-1")
            data += zlib.crc32(raw + value).to_bytes(4, "big") + bytes([2 if deleted else 1])
            data += seconds.to_bytes(4, "big") + len(raw).to_bytes(2, "big") + len(value).to_bytes(4, "big")
            data += raw + value
            held.pop(key, None)
            if not deleted:
                held[key] = (value, seconds * 1000)
        files[f"{number}.seg"] = bytes(data)
    last = bytes(data[8:60])
    files["14.seg"] += last[:-20]
    live = [[k, v.hex(), e] for k, (v, e) in held.items() if not e or e > NOW]
    return files, live


def release_2_3() -> dict[str, bytes]:
    """Files of a store that the unrepaired package has written."""
    r = random.Random("release 2.3")
    before = sys.dont_write_bytecode, list(sys.path), {n for n in sys.modules if n.split(".")[0] == "cairn"}
    if before[2]:
        raise SystemExit("another `cairn` has been imported already")
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(TASK / "environment"))
    try:
        cairn = importlib.import_module("cairn")
        with tempfile.TemporaryDirectory() as folder:
            clock = [NOW - 10_000]
            with cairn.open_store(folder, segment_bytes=900, clock=lambda: clock[0]) as store:
                for n in range(160):
                    key = f"device/{r.randrange(40):02d}"
                    if r.random() < 0.3:
                        store.delete(key)
                    elif r.random() < 0.2:
                        store.write(
                            cairn.Batch().put(key, b"paired", r.choice((None, 9_000))).delete("device/00")
                        )
                    else:
                        store.put(key, f"seen {n}".encode(), r.choice((None, None, 8_000, 90_000)))
                    clock[0] += 40
                    if n == 90:
                        store.compact(0.7)
            return {p.name: p.read_bytes() for p in Path(folder).iterdir() if p.name != "LOCK"}
    finally:
        sys.dont_write_bytecode, sys.path[:] = before[0], before[1]
        for name in [n for n in sys.modules if n.split(".")[0] == "cairn"]:
            del sys.modules[name]


def main() -> None:
    shutil.rmtree(STORES, ignore_errors=True)
    old, held = release_1_9()
    for folder, files in (("release-1.9", old), ("release-2.3", release_2_3())):
        (STORES / folder).mkdir(parents=True)
        for name, data in files.items():
            (STORES / folder / name).write_bytes(data)
    text = json.dumps({"now": NOW, "held": held}, ensure_ascii=False, indent=1)
    (STORES / "release-1.9.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
