"""Checks of the repaired package in `/app/cairn` against `docs/SPEC.md`; see rubrics/verifier.md.

No code of `/app` is imported here: `lab.py` has it run elsewhere and brings back what each operation gave.
What is right comes from `model.py` (operations) and `disk.py` (files), or stands in the check.
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
APP = Path("/app")
START = 1_760_000_000_000
SMALL = {"sync": "always", "segment_bytes": 400, "cache_entries": 8}
NOT_OURS = {"LOCK", "MANIFEST.tmp"}


def load(name: str) -> Any:
    # By path: test.sh leaves this folder off sys.path.
    spec = importlib.util.spec_from_file_location(f"cairn_verifier_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


disk, model, laboratory = load("disk"), load("model"), load("lab")
put, delete, seg, idx = disk.put, disk.delete, disk.seg, disk.idx


@pytest.fixture
def lab() -> Iterator[Any]:
    root = os.geteuid() == 0
    if root:
        # The code under test runs as another user, who need not read what is right here.
        HERE.chmod(0o700)
    lab = laboratory.Lab(APP, drop_root=root)
    yield lab
    lab.close()


def fail(message: str) -> Any:
    pytest.fail(message, pytrace=False)


def plain(value: Any) -> Any:
    match value:
        case bytes():
            return {"hex": value.hex()}
        case tuple() | list():
            return [plain(item) for item in value]
        case dict():
            return {key: plain(item) for key, item in value.items()}
    return value


def shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else text[:300] + "..."


def same(got: Any, want: Any, what: str) -> None:
    """Equal as JSON, where `true` is not 1."""
    left, right = json.dumps(got, sort_keys=True), json.dumps(plain(want), sort_keys=True)
    if left != right:
        fail(f"{what}: got {shown(got)}, expected {shown(plain(want))}")


def fine(results: list[Any], what: str) -> list[Any]:
    for position, result in enumerate(results):
        if isinstance(result, dict) and "error" in result:
            fail(f"{what}: operation {position} raised {result['error'][0]}")
    return results


def raised(result: Any, error: str, what: str) -> None:
    names = result.get("error") if isinstance(result, dict) else None
    if not isinstance(names, list) or error not in names:
        fail(f"{what}: got {shown(result)}, expected {error}")


def opened(folder: Path, clock: int = START, **options: Any) -> list[list[Any]]:
    return [["clock", clock], ["open", str(folder), options]]


def stored(folder: Path, what: str) -> dict[int, list[Any]]:
    """The records on disk of a store whose files must all be as the specification says."""
    try:
        return disk.read_store(folder)
    except disk.BrokenError as broken:
        return fail(f"{what}: {broken}")


def contents(folder: Path, now: int, what: str) -> dict[str, bytes]:
    return {key: value for key, (value, _) in disk.held(stored(folder, what), now).items()}


def pairs(held: dict[str, bytes]) -> list[Any]:
    return sorted(held.items())


# --- the package itself ---


def test_what_must_stay_is_untouched(lab):
    """Tests, specification and the public interface are as they were."""
    for given in sorted((HERE / "pristine").rglob("*")):
        name = given.relative_to(HERE / "pristine")
        if given.is_dir() or given.name == "api.json":
            continue
        there = lab.app / name
        if there.is_symlink() or not there.is_file():
            fail(f"`{there}` is missing or no regular file")
        if there.stat().st_size != given.stat().st_size or there.read_bytes() != given.read_bytes():
            fail(f"`{there}` has been changed; it must stay as it was")
    want = json.loads((HERE / "pristine" / "api.json").read_text())
    got = lab.run([["api"]])[0]
    # What has been added, a method say, is nobody's loss.
    got = {name: got[name] for name in want if name in got} if isinstance(got, dict) else got
    same(got, want, "the public names and signatures of `cairn`")


def test_visible_tests_pass(lab):
    """The tests that came with the package pass."""
    count = sum(p.read_text().count("    def test_") for p in (HERE / "pristine" / "tests").glob("*.py"))
    (result,) = lab.run([["unittest", str(lab.code / "tests")]], seconds=120)
    same(result, {"run": count, "bad": [], "skipped": 0}, "the tests in `/app/tests`")


# --- operations ---

KEYS = (
    "a",
    "a/",
    "a/b",
    "b",
    "é",
    "saal",
    "saal\U0001f3bb",
    "saal\uffff",
    "saal\U0010ffff!",
    "z",
    "n1",
    "n2",
)


def random_operation(r: random.Random, m: Any) -> tuple[list[Any], Any]:
    """An operation for the driver, and what the model says it gives."""
    key = r.choice(KEYS)
    number = r.choice(("n1", "n2"))
    ttl = r.choice((None, None, 1, 40, 400, 4000))
    value = r.randbytes(r.choice((0, 1, 8, 30, 90)))
    match r.randrange(15):
        case 0 | 1 | 2:
            if key in ("n1", "n2"):
                value = str(r.randrange(-9, 10**20)).encode()
            return ["put", key, value.hex(), ttl], m.put(key, value, ttl)
        case 3:
            return ["delete", key], m.delete(key)
        case 4:
            return ["touch", key, ttl], m.touch(key, ttl)
        case 5:
            amount = r.choice((1, -7, 10**19))
            return ["increment", number, amount], m.increment(number, amount)
        case 6 | 7:
            rows = [
                ["put", k, r.randbytes(r.randrange(20)), r.choice((None, 40, 900))]
                if r.random() < 0.7
                else ["delete", k, b"", None]
                for k in r.choices([k for k in KEYS if k[0] != "n"], k=r.randrange(6))
            ]
            return ["write", [[w, k, v.hex(), t] for w, k, v, t in rows]], m.write(rows)
        case 8:
            step = r.choice((-5000, 1, 39, 40, 400, 3000))
            m.reading += step
            m.clock(m.reading)
            return ["clock", m.reading], None
        case 9 | 10:
            return ["get", key], m.get(key)
        case 11:
            return ["ttl", key], m.ttl(key)
        case 12 | 13:
            bound = lambda: r.choice((None, None, r.choice(KEYS)))  # noqa: E731
            options = {
                "start": bound(),
                "end": bound(),
                "prefix": r.choice((None, "", "a", "saal", "saal\U0010ffff")),
                "reverse": r.random() < 0.3,
                "limit": r.choice((None, None, 0, 1, 3, 100)),
            }
            return ["scan", options], m.scan(**options)
    # What a compaction gives depends on the files; `test_compaction_merges_what_it_should` looks at that.
    return ["compact", r.choice((0.0, 0.3, 0.5, 0.9))], Ellipsis


@pytest.mark.parametrize("seed", range(4))
def test_random_histories(lab, seed):
    """Random operations give what a model gives, through restarts and kills, and the files hold it."""
    r, m = random.Random(f"cairn-{seed}"), model.Model()
    folder, m.reading = lab.folder(), START
    for session in range(5):
        # A clock that an earlier process saw ahead of now is no matter of the specification.
        m.reading = m.now = max(m.now, m.reading)
        operations = opened(folder, m.reading, **SMALL | {"cache_entries": r.choice((0, 2, 100))})
        wanted: list[Any] = [None, None]
        for _ in range(60):
            operation, want = random_operation(r, m)
            operations.append(operation)
            wanted.append(want)
            if operation[0] == "clock":
                # An expiry needs the time, so from here on the store must know it as well.
                operations.append(["put", "tick", "", 5])
                wanted.append(m.put("tick", b"", 5))
        if r.random() < 0.5:
            operations.append(["close"])
            wanted.append(None)
        results = lab.run(operations)
        for n, (got, want) in enumerate(zip(results, wanted, strict=True)):
            label = f"seed {seed}, session {session}, operation {n} {shown(operations[n])}"
            if want is not Ellipsis:
                same(got, want, label)
            fine([got], label)
    # Opening once more brings the hints of a killed session up to date.
    fine(lab.run([*opened(folder, m.now, **SMALL), ["close"]]), f"seed {seed}: opening")
    same(
        plain(contents(folder, m.now, f"seed {seed}")),
        {k: v for k, (v, _) in m.live().items()},
        f"seed {seed}: what the files hold in the end",
    )


def test_limits_of_keys_and_times(lab):
    """Sizes of keys, times to live and the moment of expiry hold to the last unit (sections 1 and 2)."""
    folder = lab.folder()
    results = lab.run(
        [
            *opened(folder), ["put", "é" * 512, "01"], ["get", "é" * 512], ["put", "é" * 512 + "x", "01"],
            ["put", "", "01"], ["put", "\ud800", "01"], ["put", "t", "01", 0], ["put", "t", "01", -1],
            ["write", [["put", "u", "01", None], ["put", "x" * 1025, "01", None]]], ["scan", {"start": "t"}],
            ["put", "t", "02", 10], ["clock", START + 9], ["get", "t"], ["ttl", "t"], ["touch", "t", 5],
            ["clock", START + 13], ["get", "t"], ["clock", START + 14], ["get", "t"], ["ttl", "t"],
            ["delete", "t"], ["touch", "t", 5], ["increment", "t", 3], ["ttl", "t"],
            ["increment", "t", 2**80],
        ]
    )  # fmt: skip
    fine(results[:4], "a key of 1024 bytes")
    for position, error in ((4, "InvalidKey"), (5, "InvalidKey"), (6, "InvalidKey"), (7, "ValueError"),
                            (8, "ValueError"), (9, "InvalidKey")):  # fmt: skip
        raised(results[position], error, f"operation {position - 2}")
    same(
        results[10:],
        [[("é" * 512, b"\1")], None, None, b"\2", 1, True, None, b"\2", None, None, None, False, False, 3,
         None, 3 + 2**80],
        "operations around the moment of expiry",
    )  # fmt: skip


def test_cache_never_shows(lab):
    """A value read before is not given once it has expired or a batch has replaced it (section 10)."""
    for entries in (0, 1, 100):
        results = lab.run(
            [
                *opened(lab.folder(), cache_entries=entries),
                ["put", "a", "01", 50], ["put", "b", "02"], ["put", "c", "03"],
                ["get", "a"], ["get", "b"], ["get", "c"],
                ["clock", START + 50], ["get", "a"],
                ["write", [["put", "b", "04", None], ["delete", "c", "", None]]], ["get", "b"], ["get", "c"],
                ["scan", {}], ["write", [["put", "c", "05", 9]]], ["get", "c"], ["touch", "b", 7],
                ["get", "b"],
                ["clock", START + 57], ["get", "b"], ["get", "c"], ["increment", "b", 4], ["get", "b"],
            ]
        )  # fmt: skip
        what = f"reading again with `cache_entries` {entries}"
        same(results[8:10], [None, None], f"{what}: an expired key")
        same(results[10:14], [None, b"\4", None, [("b", b"\4")]], f"{what}: after a batch")
        same(results[14:], [None, b"\5", True, b"\4", None, None, b"\5", 4, b"4"], f"{what}: after that")


def test_time_never_goes_back(lab):
    """A clock that is set back brings no expired key back (1.1)."""
    results = lab.run(
        [
            *opened(lab.folder()), ["put", "a", "01", 50], ["put", "b", "02", 500], ["clock", START + 50],
            ["get", "a"], ["clock", START - 40_000], ["get", "a"], ["scan", {}], ["ttl", "b"],
            ["put", "c", "03", 10], ["ttl", "c"], ["clock", START + 59], ["get", "c"], ["clock", START + 60],
            ["get", "c"],
        ]
    )  # fmt: skip
    same(
        results[5:],
        [None, None, None, [("b", b"\2")], 450, None, 10, None, b"\3", None, None],
        "operations after the clock was set back by 40 s",
    )


def test_increments_from_threads(lab):
    """No increment is lost between threads (section 3)."""
    results = lab.run(
        [
            *opened(lab.folder(), sync="close", segment_bytes=5000),
            ["threads", 8, 250, "n"],
            ["increment", "n", 0],
        ],
        seconds=120,
    )
    same(results[2:], [[], 2000], "8 threads with 250 increments each: errors, and the number")


def test_scan_shows_one_moment(lab):
    """A scan gives the pairs of the moment at which it was called, whatever follows (3.6)."""
    changes: list[list[Any]] = [
        ["put", "b", "99"], ["delete", "c"],
        ["write", [["put", "a0", "98", None], ["delete", "d", "", None]]],
        ["clock", START + 100], ["compact", 0.0],
    ]  # fmt: skip
    want = [(k, k.encode() * 30) for k in "abcde"]
    for taken in (0, 2):
        fill = [["put", k, (k.encode() * 30).hex(), 100 if k == "e" else None] for k in "abcde"]
        begun = [
            *opened(lab.folder(), segment_bytes=100),
            *fill,
            ["scan begins", {}],
            ["scan goes on", taken],
        ]
        results = fine(lab.run([*begun, *changes, ["scan goes on", 99]]), "a scan during writes")
        got = results[len(begun) - 1] + results[-1]
        same(got, want, f"a scan of which {taken} pairs were taken before the store changed")


def test_scan_by_prefix(lab):
    """A prefix finds each key that begins with it, beyond U+FFFF too, together with bounds (3.6)."""
    keys = ["s", "sa", "sa\uffff", "sa\uffff\uffff", "sa\U00010000", "sa\U0001f3bb", "sa\U0010ffff",
            "sa\U0010ffffz", "sb", "\U0010ffff", "\U0010ffff\U0010ffff"]  # fmt: skip
    asked = [
        {"prefix": p, "start": s, "end": e}
        for p in ("sa", "sa\uffff", "sa\U0010ffff", "\U0010ffff", "")
        for s in (None, "sa\uffff", "sb")
        for e in (None, "sa\U0010ffff", "sb")
    ]
    m = model.Model()
    for key in keys:
        m.put(key, b"x")
    fill = [*opened(lab.folder()), *(["put", key, "78"] for key in keys)]
    results = fine(lab.run([*fill, *(["scan", a] for a in asked)]), "scans by prefix")
    for options, got in zip(asked, results[len(fill) :], strict=True):
        same(got, m.scan(**options), f"scan({shown(options)})")


# --- recovery ---


def after_each_cut(lab, rows, whole, what):
    """Open a store whose active segment is cut anywhere; write one record; open it again.

    `whole` holds the number of rows that a complete write ends with.
    """
    sealed = [put(1, "sealed", b"s")]
    full = disk.segment(rows)
    ends = [len(disk.segment(rows[:n])) for n in whole]
    operations: list[list[Any]] = []
    cases = []
    for cut in range(8, len(full) + 1):
        files = disk.store({1: sealed, 2: rows}, active=2)
        files[seg(2)] = full[:cut]
        folder = lab.folder(files)
        n = max(n for n, end in zip(whole, ends, strict=True) if end <= cut)
        cases.append((cut, folder, rows[:n]))
        operations += [*opened(folder), ["scan", {}], ["put", "after", "ff"], ["get", "after"], ["close"]]
        operations += [*opened(folder), ["scan", {}], ["close"]]
    results = lab.run(operations, seconds=120)
    size = len(operations) // len(cases)
    for i, (cut, folder, kept) in enumerate(cases):
        label = f"{what}, cut at byte {cut} of {len(full)}"
        got = fine(results[i * size : (i + 1) * size], label)
        held = {k: v for k, (v, _) in disk.held({1: sealed, 2: kept}, START).items()}
        same(got[2], pairs(held), f"{label}: what is there")
        same(got[4], b"\xff", f"{label}: a key written then")
        same(
            got[8],
            pairs(held | {"after": b"\xff"}),
            f"{label}: what is there after writing and opening again",
        )
        found = stored(folder, label)[2]
        if found[:-1] != kept or found[-1].key != "after":
            fail(f"{label}: the segment does not go on where the last whole write ends (7.3)")


def test_torn_tail(lab):
    """After a cut anywhere all earlier records are there, and what is written next is found again."""
    rows = [
        put(2, "a", b"1" * 9),
        put(3, "b", b"\0" * 40),
        delete(4, "a"),
        put(5, "é", b"2" * 30),
        put(6, "c"),
    ]
    after_each_cut(lab, rows, range(len(rows) + 1), "a torn record")


def test_unfinished_batch(lab):
    """A batch cut off anywhere leaves nothing, and what is written next does not become part of it."""
    rows = [
        put(2, "a", b"old"), put(3, "a", b"new", more=True), delete(4, "sealed", more=True),
        put(5, "b", b"x" * 9), put(6, "c", b"1"), put(7, "d", b"2", more=True),
        put(8, "a", b"3", more=True), delete(9, "c"),
    ]  # fmt: skip
    after_each_cut(lab, rows, (0, 1, 4, 5, 8), "an unfinished batch")


def test_torn_tail_of_other_shapes(lab):
    """A wrong checksum at the very end and a tail of zeros are torn tails too (7.2)."""
    rows = [put(1, "a", b"1"), put(2, "b", b"2" * 20)]
    whole = disk.segment(rows)
    last = bytearray(disk.record(put(3, "c", b"3" * 20)))
    last[-4] ^= 8
    odd = bytearray(disk.record(put(3, "c", b"3")))
    odd[4] = 9
    odd[:4] = disk.u(4, disk.zlib.crc32(odd[4:]))
    tails = {"a wrong checksum at the end": bytes(last), "an unknown kind at the end": bytes(odd)}
    tails |= {f"{n} zero bytes at the end": bytes(n) for n in (1, 26, 27, 28, 60, 4096)}
    begun = disk.record(put(3, "c", b"3", more=True))
    tails["a begun batch and zeros"] = begun + bytes(50)
    for what, tail in tails.items():
        folder = lab.folder(disk.store({1: rows}, active=1) | {seg(1): whole + tail})
        results = fine(lab.run([*opened(folder), ["scan", {}], ["put", "z", "07"], ["close"]]), what)
        same(results[2], [("a", b"1"), ("b", b"2" * 20)], f"{what}: what is there")
        same(plain(contents(folder, START, what)), {"a": b"1", "b": b"2" * 20, "z": b"\7"}, f"{what}: then")


def test_damage_is_reported(lab):
    """A bad record that is no torn tail raises CorruptionError, and no file is changed (7.2)."""
    first = [put(1, "a", b"1" * 30), put(2, "b", b"2" * 30), put(3, "c", b"3" * 30)]
    second = [put(4, "d", b"4" * 30), put(5, "e", b"5" * 30), put(6, "f", b"6" * 30)]
    good = disk.store({1: first, 2: [put(7, "g", b"7")], 3: second}, active=3)
    size = len(disk.record(second[0]))

    def changed(name: str, at: int, old: bytes | None = None) -> dict[str, bytes]:
        data = bytearray(good[name] if old is None else old)
        data[at] ^= 0x10
        return good | {name: bytes(data)}

    odd = disk.record(second[1])
    odd = bytearray(odd[:4] + bytes([7]) + odd[5:])
    odd[:4] = disk.u(4, disk.zlib.crc32(odd[4:]))
    middle = good | {seg(3): good[seg(3)][: 8 + size] + bytes(odd) + good[seg(3)][8 + 2 * size :]}
    cases = {
        "a changed value in the middle of the active segment": changed(seg(3), 8 + size + 40),
        "a changed checksum at the start of the active segment": changed(seg(3), 9),
        "an unknown kind in the middle of the active segment": middle,
        "other bytes than zeros behind a bad record": good | {seg(3): good[seg(3)] + bytes(60) + b"\1" * 60},
        "the active segment without its first bytes": changed(seg(3), 3),
        "a changed value in a sealed segment": changed(seg(1), 50),
        "a sealed segment that ends within a record": good | {seg(1): good[seg(1)][:-1]},
        "zeros at the end of a sealed segment": good | {seg(1): good[seg(1)] + bytes(40)},
    }
    for what, files in cases.items():
        files.pop(idx(1), None)
        files |= {seg(9): b"left over", "00000004.tmp": b"left over", idx(2): b"bad hint"}
        folder = lab.folder(files)
        raised(lab.run(opened(folder))[-1], "CorruptionError", what)
        found = {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in NOT_OURS}
        if found != files:
            fail(f"{what}: `open_store` raised CorruptionError and had changed files")
    folder = lab.folder(changed(seg(1), 50))
    got = lab.run([*opened(folder), ["get", "b"], ["get", "a"]])
    raised(got[-1], "CorruptionError", "reading a damaged record that only a hint has named so far")


def test_newest_record_wins(lab):
    """The record with the highest sequence number is the current one, in whichever segment (7.4)."""
    segments = {
        2: [put(9, "a", b"new"), delete(8, "b"), put(1, "c", b"c")],
        4: [put(12, "d", b"new"), put(3, "e", b"old")],
        5: [put(5, "a", b"old"), put(6, "b", b"old"), delete(7, "d"), put(10, "e", b"new")],
    }
    want = [("a", b"new"), ("c", b"c"), ("d", b"new"), ("e", b"new")]
    for hints in (True, False):
        for active in (4, 5):
            folder = lab.folder(disk.store(segments, active, hints=hints))
            got = fine(lab.run([*opened(folder), ["scan", {}]]), "opening")
            same(got[-1], want, f"records that are out of order, {'with' if hints else 'without'} hints")
    folder = lab.folder()
    fill = [
        ["put", "k", "01"],
        *(["put", f"x{n}", "00" * 30] for n in range(3)),
        ["compact", 0.0],
        ["put", "k", "02"],
    ]
    fine(lab.run([*opened(folder, segment_bytes=150), *fill]), "writing")
    got = fine(lab.run([*opened(folder, segment_bytes=150), ["get", "k"]]), "opening")
    same(got[-1], b"\2", "a value written after a compaction, in the next process")


def test_sequence_numbers_are_not_reused(lab):
    """The numbers of deleted, expired and dropped records are never given out again (4.4, 7.5)."""
    ways: dict[str, list[list[Any]]] = {
        "deleted": [["put", "a", "01"], ["delete", "a"]],
        "expired": [["put", "b", "01"], ["put", "a", "01", 10], ["clock", START + 10]],
        "deleted in a batch": [
            ["put", "a", "01"],
            ["write", [["put", "b", "02", None], ["delete", "b", "", None], ["delete", "a", "", None]]],
        ],
        "dropped by a compaction": [
            ["put", "a", "01"], ["delete", "a"], ["put", "b", "00" * 70], ["delete", "b"],
            ["put", "c", "00" * 70], ["delete", "c"], ["compact", 0.1],
        ],
    }  # fmt: skip
    for what, operations in ways.items():
        for end in ([], [["close"]]):
            folder = lab.folder()
            begin = opened(folder, segment_bytes=120)
            fine(lab.run([*begin, *operations, *end]), what)
            before = max((row.seq for rows in stored(folder, what).values() for row in rows), default=0)
            if what.startswith("dropped"):
                before = 6
            again = [["clock", START + 10], begin[1], ["put", "a", "07"]]
            fine(lab.run(again), what)
            got = fine(lab.run([*again[:2], ["get", "a"], ["close"]]), what)
            same(got[2], b"\7", f"a key put again after the newest record was {what}")
            new = disk.current(stored(folder, what))["a"].seq
            if new <= before:
                fail(
                    f"the newest record was {what}: number {before} had been used, the next record got {new}"
                )


def test_leftovers_are_removed(lab):
    """Files that MANIFEST does not name are neither read nor kept; those of others stay (4.1, 7.1)."""
    good = disk.store({2: [put(1, "a", b"1")], 3: [put(2, "b", b"2")]}, active=3)
    stray = disk.segment([put(50, "a", b"stray"), delete(51, "b"), put(52, "c", b"stray")])
    left = {seg(1): stray, seg(4): stray, idx(4): disk.hint([put(50, "a", b"stray")]), seg(7): stray[:-3],
            "00000002.tmp": b"x", "MANIFEST.tmp": b"{}"}  # fmt: skip
    others = {"notes.txt": b"x", "backup.seg.gz": b"x"}
    folder = lab.folder(good | left | others)
    wide = {"segment_bytes": 60}
    got = fine(lab.run([*opened(folder, **wide), ["scan", {}], ["put", "d", "04"], ["close"]]), "leftovers")
    same(got[2], [("a", b"1"), ("b", b"2")], "a store beside segments that are not in MANIFEST")
    segments = stored(folder, "after opening a folder with leftovers")
    same(sorted(segments), [2, 3, 4], "the segments after one more was begun")
    for name, data in others.items():
        if not (folder / name).is_file() or (folder / name).read_bytes() != data:
            fail(f"`{name}` is not a file of the store and was changed or removed")


# --- hints ---


def test_hints_are_complete(lab):
    """Each sealed segment has a hint with a row for each record, deletions included (section 5)."""
    folder = lab.folder()
    fill: list[list[Any]] = []
    for n in range(12):
        fill += [["put", f"k{n % 5}", "ab" * 20, None if n % 3 else 500], ["delete", f"k{(n + 3) % 5}"]]
        fill.append(["write", [["put", "é", "01", None], ["delete", f"k{n % 4}", "", None]]])
    fine(lab.run([*opened(folder, segment_bytes=200), *fill]), "writing")
    if len(stored(folder, "after rolling segments")) < 5:
        fail("the segments did not roll at `segment_bytes`")
    fine(lab.run([*opened(folder, segment_bytes=200), ["compact", 0.6], ["close"]]), "compacting")
    stored(folder, "after a compaction")


def test_untrue_hints_are_not_used(lab):
    """A hint that does not fit its segment is put aside and written anew (5.2)."""
    sealed = [put(1, "a", b"1"), put(2, "b", b"2", expires=START + 500), delete(3, "a"), delete(4, "x")]
    segments = {1: sealed, 2: [put(5, "c", b"3")]}
    right = disk.hint(sealed)
    short = disk.hint([row for row in sealed if row.kind == disk.PUT])
    top = 8 + 8 + 4 + 4
    rows = short[top:]
    told = right[:20] + disk.u(4, disk.zlib.crc32(rows)) + rows
    lying = bytearray(right)
    lying[-1] ^= 1
    other = disk.hint([put(1, "a", b"1"), put(2, "b", b"2"), put(3, "a", b"9"), put(4, "x", b"")])
    hints = {
        "of 2.3, without deletions": told, "with a wrong checksum": bytes(lying), "of another segment": other,
        "cut off": right[:-5], "cut in its head": right[:11], "empty": b"",
        "of another format": b"X" + right[1:],
        "with rows cut off and a fitting checksum": right[:20] + disk.u(4, disk.zlib.crc32(right[top:-4]))
        + right[top:-4],
    }  # fmt: skip
    for what, data in hints.items():
        folder = lab.folder(disk.store(segments, active=2) | {idx(1): data})
        got = lab.run([*opened(folder), ["scan", {}], ["ttl", "b"], ["close"]])
        same(got[2:4], [[("b", b"2"), ("c", b"3")], 500], f"a store with a hint {what}")
        stored(folder, f"after opening a store with a hint {what}")


def test_store_of_release_2_3(lab):
    """A store that 2.3 wrote, with its hints, holds what its segments hold."""
    folder = lab.folder({p.name: p.read_bytes() for p in (HERE / "stores" / "release-2.3").iterdir()})
    segments = {n: disk.read_segment(folder / seg(n)) for n in disk.read_manifest(folder)["segments"]}
    want = {k: v for k, (v, _) in disk.held(segments, START).items()}
    results = fine(lab.run([*opened(folder), ["scan", {}], ["compact", 0.3], ["close"]]), "a store of 2.3")
    same(results[2], pairs(want), "the keys of a store of 2.3")
    same(plain(contents(folder, START, "a store of 2.3, compacted")), want, "a store of 2.3, compacted")


# --- compaction ---


def compact_and_reopen(lab, segments, active, least, now, what):
    """Compact a store made by hand and compare report, files and contents with what `disk.py` says."""
    folder = lab.folder(disk.store(segments, active))
    merged, rows = disk.compacted(segments, active, least, now)
    output = max(segments) + 1 if rows else None
    held = {k: v for k, (v, _) in disk.held(segments, now).items()}
    open_it = opened(folder, now)
    got = fine(lab.run([*open_it, ["compact", least], ["scan", {}]]), what)
    same(
        got[2], {"merged": merged, "output": output, "records": len(rows)}, f"{what}: what `compact` returned"
    )
    same(got[3], pairs(held), f"{what}: the keys afterwards")
    want = {n: r for n, r in segments.items() if n not in merged} | ({output: rows} if rows else {})
    found = stored(folder, what)
    if sorted(found) != sorted(want):
        fail(f"{what}: the store consists of segments {sorted(found)}, expected {sorted(want)}")
    for number in found:
        if found[number] != want[number]:
            fail(f"{what}: segment {number} holds {found[number]!s:.400}, expected {want[number]!s:.400}")
    got = fine(lab.run([*open_it, ["scan", {}], ["close"]]), what)
    same(got[2], pairs(held), f"{what}: the keys after opening again")
    return folder


def test_deleted_keys_stay_deleted(lab):
    """A deletion outlives a compaction while a segment outside it holds the key, and no longer (8.3)."""
    old = [put(1, "k", b"old"), put(2, "other", b"x" * 60)]
    gone = [put(3, "l", b"1"), delete(4, "k"), delete(5, "l"), put(6, "m", b"2"), delete(7, "m")]
    rest = [put(8, "z", b"z")]
    compact_and_reopen(lab, {1: old, 2: gone, 3: rest}, 3, 0.9, START, "a deletion merged without its key")
    compact_and_reopen(lab, {1: old, 2: gone, 3: rest}, 3, 0.0, START, "a deletion merged with its key")
    # The older record may also lie in a segment with a higher number, or in the active one.
    compact_and_reopen(lab, {2: gone, 3: rest, 4: old}, 3, 0.9, START, "a deletion before its key")
    compact_and_reopen(lab, {1: old, 2: gone}, 1, 0.9, START, "a deletion of a key in the active segment")


def test_expired_keys_stay_expired(lab):
    """An expired record that is merged away leaves a deletion while an older one would come back (8.3)."""
    old = [put(1, "k", b"old"), put(2, "other", b"x" * 60)]
    short = [put(3, "k", b"short", expires=START + 5), put(4, "l", b"short", expires=START + 5)]
    segments = {1: old, 2: short, 3: [put(5, "z", b"z")]}
    compact_and_reopen(lab, segments, 3, 0.9, START + 5, "an expired record merged without its older one")
    compact_and_reopen(lab, segments, 3, 0.0, START + 5, "an expired record merged with its older one")
    compact_and_reopen(lab, segments, 3, 0.9, START + 4, "a record that expires in 1 ms")


def test_merged_records_leave_their_batch(lab):
    """The output of a compaction has no batch marks; it reads the same without its hint (8.2)."""
    batch = [put(2, "b", b"2", more=True), put(3, "c", b"3", more=True), delete(4, "x")]
    segments = {1: [put(1, "a", b"1"), *batch], 2: [put(5, "z", b"z")]}
    folder = compact_and_reopen(lab, segments, 2, 0.0, START, "a batch whose end is dropped")
    (folder / idx(3)).unlink()
    got = fine(lab.run([*opened(folder), ["scan", {}]]), "opening without the hint of a compaction's output")
    same(got[2], [("a", b"1"), ("b", b"2"), ("c", b"3"), ("z", b"z")], "the keys without that hint")


def random_segments(r: random.Random) -> dict[int, list[Any]]:
    segments: dict[int, list[Any]] = {}
    seqs = list(range(1, 60))
    if r.random() < 0.5:
        r.shuffle(seqs)
    for number in sorted(r.sample(range(1, 30), r.randrange(2, 7))):
        rows = []
        for _ in range(r.randrange(1, 7)):
            key, seq = r.choice(KEYS), seqs.pop(0)
            if r.random() < 0.3:
                rows.append(delete(seq, key))
            else:
                expires = r.choice((0, 0, START - 9, START, START + 1))
                rows.append(put(seq, key, r.randbytes(r.randrange(30)), expires, r.random() < 0.3))
        rows[-1] = rows[-1]._replace(more=False)
        segments[number] = rows
    return segments


def test_compaction_merges_what_it_should(lab):
    """Which segments are merged, and what becomes of their records, on stores made at random (section 8)."""
    for seed in range(15):
        r = random.Random(f"compaction-{seed}")
        segments = random_segments(r)
        active = r.choice(sorted(segments))
        least = r.choice((0.0, 0.25, 0.5, 0.75, 1.0))
        compact_and_reopen(lab, segments, active, least, START, f"random store {seed}, min_dead {least}")
    # Two of four records of one size are dead: a share of exactly one half.
    half = [put(1, "a", b"1"), put(2, "b", b"1"), put(3, "a", b"2"), put(4, "b", b"2")]
    less = [*half[:2], put(3, "a", b"22"), put(4, "b", b"2")]
    rest = [put(5, "z")]
    compact_and_reopen(
        lab, {1: less, 2: rest}, 2, 0.5, START, "a segment of which a little less than half is dead"
    )
    compact_and_reopen(
        lab, {1: half, 2: [put(5, "z")]}, 2, 0.5, START, "a segment of which exactly half is dead"
    )


# --- kills ---


def check_kills(lab, files, before, then, states, what, now=START):
    """Kill the process before each call that touches a file during `then`; the store must then open whole.

    `states` holds the contents after 0, 1, ... operations of `then`.
    """
    into = lab.folder()
    template = lab.folder(files)
    (answer,) = lab.run(
        [["kill at each call", str(template), str(into), [["clock", now], *before], then, 600]], seconds=240
    )
    if not isinstance(answer, list):
        fail(f"{what}: an operation failed before any kill: {shown(answer)}")
    folders = sorted(into.iterdir())
    if len(folders) != len(answer) or not all(type(n) is int and 0 <= n <= len(then) for n in answer):
        fail(f"{what}: the report of the kills makes no sense")
    if answer[-1] != len(then):
        fail(f"{what}: the last run was to end without a kill")
    ask = [[*opened(f, now, segment_bytes=200), ["scan", {}], ["close"]] for f in folders]
    results = lab.run([op for operations in ask for op in operations], seconds=120)
    for n, (returned, folder) in enumerate(zip(answer, folders, strict=True)):
        label = f"{what}, killed before file operation {n + 1} of {len(answer) - 1}"
        _, did_open, got, _ = results[4 * n : 4 * n + 4]
        fine([did_open], f"{label}: opening again")
        possible = [json.dumps(plain(pairs(state))) for state in states[returned : returned + 2]]
        if json.dumps(got) not in possible:
            fail(f"{label}: the keys are {shown(got)}, expected {shown(plain(pairs(states[returned])))}")
        same(plain(contents(folder, now, label)), dict(map(tuple, got_pairs(got))), f"{label}: the files")


def got_pairs(got: Any) -> list[tuple[str, Any]]:
    return [(key, bytes.fromhex(value["hex"])) for key, value in got]


def test_kill_during_compaction(lab):
    """A compaction that is killed at any point loses nothing and leaves a store that opens (8.4)."""
    segments = {
        1: [put(1, "a", b"1"), put(2, "b", b"2"), put(3, "c", b"3")],
        2: [delete(4, "a"), put(5, "b", b"5", more=True), put(6, "d", b"6")],
        3: [put(7, "c", b"7"), put(8, "e", b"8"), delete(9, "e")],
        4: [put(10, "f", b"9")],
    }
    held = {k: v for k, (v, _) in disk.held(segments, START).items()}
    for least in (0.0, 0.5):
        check_kills(
            lab, disk.store(segments, 4), [["open", "FOLDER", {}]], [["compact", least]], [held, held],
            f"compact({least})",
        )  # fmt: skip


def test_kill_while_segments_roll(lab):
    """What a returned write has stored is there after a kill, also in a segment begun since (7.6)."""
    for sync in ("always", "close"):
        then: list[list[Any]] = []
        m = model.Model()
        states = [{}]
        for n in range(3):
            then.append(["put", f"k{n}", "ab" * 50])
            m.put(f"k{n}", b"\xab" * 50)
            states.append(dict(m.scan()))
        batch = [["put", "x", b"1", None], ["delete", "k0", b"", None], ["put", "y", b"2" * 60, None]]
        then.append(["write", [[w, k, v.hex(), t] for w, k, v, t in batch]])
        m.write(batch)
        states.append(dict(m.scan()))
        begin = [["open", "FOLDER", {"segment_bytes": 200, "sync": sync}]]
        check_kills(lab, {}, begin, then, states, f'writes with sync="{sync}"')


def test_kill_while_opening(lab):
    """An upgrade or a recovery that is killed can be done again from what is left."""
    old = {
        f"{n}.seg": disk.old_segment([(1, "é", b"%d" % n, 0), (1, f"k{n}", b"x", 0)]) for n in range(8, 12)
    }
    held = {"é": b"11"} | {f"k{n}": b"x" for n in range(8, 12)}
    begin = [["open", "FOLDER", {}]]
    check_kills(lab, old, [], begin, [held, held], "an upgrade from 1.x")
    segments = {1: [put(1, "a", b"1"), delete(2, "b")], 2: [put(3, "c", b"3"), put(4, "d", b"4", more=True)]}
    torn = disk.store(segments, 2, hints=False) | {seg(5): b"x", "MANIFEST.tmp": b"x"}
    want = {"a": b"1", "c": b"3"}
    check_kills(lab, torn, [], begin, [want, want], "a recovery")


# --- power cuts and full disks ---


def all_synced(state: Any, names: Any, what: str) -> None:
    for name in names:
        size, synced = state["files"].get(name, (0, 0))
        if synced != size:
            fail(f"{what}: {size - synced} of {size} bytes of `{name}` have not been synced")
    if not state["folder"]:
        fail(f"{what}: the folder has not been synced since a file was renamed")


def test_returned_writes_are_synced(lab):
    """With sync="always" each write is on the disk when it returns, in whatever way it was made (6.2)."""
    folder = lab.folder()
    writes: list[list[Any]] = [
        ["put", "a", "01"], ["put", "b", "02", 900], ["delete", "a"], ["touch", "b", 500],
        ["increment", "n", 3], ["write", [["put", "c", "03", None], ["delete", "b", "", None]]],
        ["write", [["put", "d", "04", None]]], ["write", [["put", "e", "05" * 70, None]]],
        ["put", "f", "06" * 70], ["compact", 0.1],
    ]  # fmt: skip
    ask = ["synced", str(folder)]
    operations = opened(folder, segment_bytes=260)
    for write in writes:
        operations += [write, ask]
    results = fine(lab.run([*operations, ["close"], ask]), "writing")
    for write, state in zip(writes, results[3::2], strict=False):
        names = [n for n in state["files"] if n.endswith(".seg") or n == "MANIFEST"]
        all_synced(state, names, f"after {shown(write)} had returned")


def test_power_cut_between_syncs(lab):
    """With sync="close" a power cut takes none of the writes before a roll, a compaction or `close` (6.3)."""
    folder = lab.folder()
    ask, m = ["synced", str(folder)], model.Model()
    operations = opened(folder, sync="close", segment_bytes=300)
    states = [{}]
    for n in range(17):
        operations += [["put", f"k{n % 6}", f"{n:02d}" * 40], ask]
        m.put(f"k{n % 6}", bytes.fromhex(f"{n:02d}" * 40))
        states.append(dict(m.scan()))
    results = fine(lab.run(operations), "writing")
    for n, state in enumerate(results[3::2]):
        segments = sorted(name for name in state["files"] if name.endswith(".seg"))
        all_synced(state, [*segments[:-1], "MANIFEST"], f"sealed segments after {n + 1} writes")
    # What a power cut leaves at worst: of each file the bytes that were synced.
    state = results[-1]["files"]
    for name, (_, synced) in state.items():
        with (folder / name).open("r+b") as file:
            file.truncate(synced)
    got = fine(
        lab.run([*opened(folder, sync="close", segment_bytes=300), ["scan", {}]]), "opening after a power cut"
    )
    if json.dumps(got[2]) not in [json.dumps(plain(pairs(s))) for s in states]:
        fail(f"after a power cut the keys are {shown(got[2])}: not those of any moment before")
    for what, last in (("a compaction", ["compact", 0.1]), ("close", ["close"])):
        folder = lab.folder()
        ask = ["synced", str(folder)]
        fill = [["put", f"k{n % 4}", "ab" * 30] for n in range(14)]
        got = fine(lab.run([*opened(folder, sync="close", segment_bytes=300), *fill, last, ask]), what)
        state = got[-1]
        all_synced(
            state, [n for n in state["files"] if n.endswith(".seg") or n == "MANIFEST"], f"after {what}"
        )


def test_failed_writes_leave_nothing(lab):
    """A write that the disk has no room for raises OSError and leaves no trace; later ones work (6.4)."""
    folder = lab.folder()
    big, bigger = "cd" * 5000, "cd" * 9000
    limit = ["file size limit", 3000]
    wide = {"segment_bytes": 1 << 20}
    first = [["put", "a", "01"], ["put", "b", "02"], limit]
    # The last one fits into a buffer, which must not keep what the disk did not take.
    tries: list[list[Any]] = [
        ["put", "a", bigger], ["write", [["put", "b", "05", None], ["put", "c", big, None]]],
        ["put", "d", bigger], ["put", "d", big],
    ]  # fmt: skip
    checks = [["scan", {}], ["put", "e", "06"], ["get", "e"], ["get", "b"]]
    end = [["file size limit", None], ["put", "f", "07"], ["scan", {}]]
    results = lab.run([*opened(folder, **wide), *first, *tries, *checks, *end])
    for operation, result in zip(tries, results[5:9], strict=True):
        raised(result, "OSError", f"{operation[0]} on a full disk")
    same(results[9:13], [[("a", b"\1"), ("b", b"\2")], None, b"\6", b"\2"], "reading and writing after that")
    want = {"a": b"\1", "b": b"\2", "e": b"\6", "f": b"\7"}
    same(results[15], pairs(want), "the keys once there is space again")
    got = fine(lab.run([*opened(folder, **wide), ["scan", {}], ["close"]]), "opening after failed writes")
    same(got[2], pairs(want), "the keys after opening again")
    rows = stored(folder, "after failed writes")[1]
    same([row.key for row in rows], ["a", "b", "e", "f"], "the records in the file")


# --- layout and 1.x ---


def test_layout_of_segments(lab):
    """Writes fill segments up to `segment_bytes` and never straddle two (4.4, 4.5)."""
    r = random.Random("layout")
    folder, limit = lab.folder(), 500
    operations = opened(folder, sync="close", segment_bytes=limit)
    want: list[list[Any]] = [[]]
    seq, size = 1, 8
    for n in range(80):
        # 27 bytes of head, 2 of key; some writes fill their segment to the last byte, some want one more.
        count = r.choice((1, 1, 1, 2, 4))
        values = [r.randrange(60) for _ in range(count)]
        room = limit - size - 29 * count - sum(values[1:])
        if n % 4 == 0 and room >= 0:
            values[0] = room + n // 4 % 2
        if n == 50:
            values = [700, 2]
        keys = [chr(97 + n % 26) + str(i) for i in range(len(values))]
        rows = [
            put(seq + i, k, b"v" * v, more=i < len(values) - 1)
            for i, (k, v) in enumerate(zip(keys, values, strict=True))
        ]
        total = sum(len(disk.record(row)) for row in rows)
        if want[-1] and size + total > limit:
            want.append([])
            size = 8
        want[-1] += rows
        size, seq = size + total, seq + len(rows)
        operations.append(["write", [["put", row.key, row.value.hex(), None] for row in rows]])
    fine(lab.run([*operations, ["close"]]), "writing")
    found = stored(folder, "80 writes")
    same(sorted(found), list(range(1, len(want) + 1)), "the numbers of the segments")
    for number, rows in found.items():
        if rows != want[number - 1]:
            fail(f"segment {number} holds records {[x.seq for x in rows]}, "
                 f"expected {[x.seq for x in want[number - 1]]}")  # fmt: skip
    manifest = disk.read_manifest(folder)
    same([manifest["active"], manifest["next_id"]], [len(want), len(want) + 1], "`active` and `next_id`")
    if manifest["next_seq"] > seq:
        fail(f"`next_seq` is {manifest['next_seq']}, but the next number is {seq}")


def upgraded(lab, files, now, want, what):
    """Open a store of 1.x; `want` is its (key, value, expiry in ms), oldest write first."""
    folder = lab.folder(files)
    number = max(int(name.split(".")[0]) for name in files if name[0] != "0") + 1
    got = fine(lab.run([*opened(folder, now), ["scan", {}], ["close"]]), what)
    same(got[2], sorted((k, v) for k, v, _ in want), f"{what}: the keys")
    found = stored(folder, what)
    rows = [put(n, k, v, e) for n, (k, v, e) in enumerate(want, 1)]
    if found != {number: rows}:
        fail(f"{what}: the segments hold {found!s:.500}, expected { ({number: rows})!s:.500}")


def replayed(rows, now):
    held: dict[str, tuple[bytes, int]] = {}
    for kind, key, value, seconds in rows:
        held.pop(key, None)
        if kind == disk.PUT:
            held[key] = (value, seconds * 1000)
    return [(k, v, e) for k, (v, e) in held.items() if not e or now < e]


def test_stores_of_release_1(lab):
    """Stores of 1.x are upgraded: segments by number, keys in Latin-1, seconds, torn tail (section 9)."""
    for seed in range(4):
        r = random.Random(f"release-1-{seed}")
        every, files = [], {}
        for number in range(1, r.choice((3, 12, 23))):
            rows = [
                (r.choice((1, 1, 2)), r.choice(("a", "b", "Küche", "ÿ", "Ã¼", "\x80")), b"",
                 r.choice((0, 0, START // 1000, START // 1000 + 1, 2**32 - 1)))
                for _ in range(r.randrange(1, 5))
            ]  # fmt: skip
            rows = [(k, t, r.randbytes(9) if k == 1 else b"", s if k == 1 else 0) for k, t, _, s in rows]
            every += rows
            files[f"{number}.seg"] = disk.old_segment(rows)
        files[f"{number}.seg"] += disk.old_segment([(1, "torn", b"x" * 30, 0)])[8:-1]
        files["00000099.seg"] = disk.segment([put(1, "left over")])
        upgraded(lab, files, START, replayed(every, START), f"a store of 1.x with {number} segments")
    good = {
        "1.seg": disk.old_segment([(1, "a", b"1" * 9, 0)] * 3),
        "2.seg": disk.old_segment([(1, "b", b"", 0)]),
    }
    bad = good | {"1.seg": good["1.seg"][:30] + b"?" + good["1.seg"][31:]}
    raised(lab.run(opened(lab.folder(bad)))[-1], "CorruptionError", "damage in a segment of 1.x")


def test_store_of_release_1_9(lab):
    """The committed store of a 1.9 gateway is upgraded with the values that it last had."""
    source = HERE / "stores" / "release-1.9"
    want = json.loads((HERE / "stores" / "release-1.9.json").read_text())
    rows = [(key, bytes.fromhex(value), expires) for key, value, expires in want["held"]]
    upgraded(lab, {p.name: p.read_bytes() for p in source.iterdir()}, want["now"], rows, "the store of 1.9")


def test_opening_a_store_does_not_change_a_good_one(lab):
    """Opening and closing leaves segments and hints of a sound store byte for byte as they are."""
    segments = random_segments(random.Random("sound"))
    files = disk.store(segments, max(segments))
    folder = lab.folder(files)
    fine(lab.run([*opened(folder), ["scan", {}], ["close"]]), "opening")
    for name, data in files.items():
        there = folder / name
        if name != "MANIFEST" and (not there.is_file() or there.read_bytes() != data):
            fail(f"`{name}` was changed or removed by opening and closing the store")
    stored(folder, "after opening and closing")
