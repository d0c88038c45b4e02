"""The task `cairn-store-repair` outside Docker: its stores, its oracle and what its checks catch."""

import functools
import inspect
import os
import select
import shutil
import sys
from pathlib import Path

import pytest
import task_module

CAIRN_TASK = Path(__file__).resolve().parents[2] / "tasks" / "cairn-store-repair"
pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the verifier runs on Linux, in its container"
)
load_cairn = functools.partial(task_module.load, CAIRN_TASK)


@pytest.fixture(scope="module")
def checks():
    """The verifier's checks as a module."""
    return load_cairn("verifier/test_outputs.py", "cairn_test_outputs")


@pytest.fixture(scope="module")
def oracle():
    """The reference repairs as a module."""
    return load_cairn("oracle/repair.py", "cairn_repair")


@pytest.fixture
def app(tmp_path):
    """The agent's tree as the image has it."""
    shutil.copytree(
        CAIRN_TASK / "environment", tmp_path / "app", ignore=shutil.ignore_patterns("__pycache__")
    )
    return tmp_path / "app"


def edit(app, name, old, new):
    """Change a text that occurs once in a file of the tree."""
    path = app / name
    text = path.read_text()
    assert text.count(old) == 1, f"`{old}` occurs {text.count(old)} times in `{name}`"
    path.write_text(text.replace(old, new))


def run_check(checks, app, name):
    """What a check says about a tree: the message it failed with, None where it passed.

    Whatever else it raises is a fault of the check.
    """
    check = getattr(checks, f"test_{name}")
    for arguments in (
        [(seed,) for seed in range(4)] if "seed" in inspect.signature(check).parameters else [()]
    ):
        lab = checks.laboratory.Lab(app, drop_root=False)
        try:
            check(lab, *arguments)
        except pytest.fail.Exception as failed:
            return str(failed)
        finally:
            lab.close()
    return None


# Each defect that the oracle repairs, and a check that fails when it alone is left.
LEFT = {
    "torn-tail-cut": "torn_tail",
    "unfinished-batch-dropped": "unfinished_batch",
    "damage-told-from-torn-tail": "damage_is_reported",
    "newest-record-wins": "newest_record_wins",
    "hints-name-deletions": "hints_are_complete",
    "short-hints-refused": "store_of_release_2_3",
    "sequence-numbers-not-reused": "sequence_numbers_are_not_reused",
    "tombstones-kept-while-needed": "deleted_keys_stay_deleted",
    "batch-marks-cleared": "merged_records_leave_their_batch",
    "inputs-removed-last": "kill_during_compaction",
    "strays-not-adopted": "leftovers_are_removed",
    "manifest-before-records": "kill_while_segments_roll",
    "cache-asked-last": "cache_never_shows",
    "batches-clear-the-cache": "cache_never_shows",
    "time-never-goes-back": "time_never_goes_back",
    "increments-are-one-step": "increments_from_threads",
    "scans-show-one-moment": "scan_shows_one_moment",
    "prefix-is-a-prefix": "scan_by_prefix",
    "batches-are-synced": "returned_writes_are_synced",
    "sealed-segments-are-synced": "power_cut_between_syncs",
    "compaction-syncs-first": "power_cut_between_syncs",
    "failed-writes-leave-nothing": "failed_writes_leave_nothing",
    "old-segments-in-numeric-order": "store_of_release_1_9",
    "old-keys-are-latin-1": "stores_of_release_1",
}

# Repairs that look right, and things that were right and get lost: what they do, the check that fails, and
# edits of the repaired tree.
HALF = {
    "batch dropped in memory, left in the file": (
        "unfinished_batch",
        ("cairn/segment.py", "        offset = found.pop().offset\n", "        found.pop()\n"),
    ),
    "a wrong checksum is always damage": (
        "torn_tail_of_other_shapes",
        ("cairn/segment.py", "end is None or end == len(data) or not any(data[offset:])", "end is None"),
    ),
    "a tail of zeros is damage": (
        "torn_tail_of_other_shapes",
        ("cairn/segment.py", " or not any(data[offset:])", ""),
    ),
    "leftovers removed before damage is found": (
        "damage_is_reported",
        (
            "cairn/store.py",
            "        missing_hints = []\n",
            "        missing_hints = []\n        self._remove_strays(self._listed_names())\n",
        ),
    ),
    "marks in sealed segments taken for damage": (
        "store_of_release_2_3",
        (
            "cairn/segment.py",
            "    while active and found",
            """\
    if not active and found and found[-1].record.more:
        raise CorruptionError(path, 0, "cut")
    while active and found""",
        ),
    ),
    "leftovers ignored, not removed": (
        "leftovers_are_removed",
        ("cairn/store.py", "        self._remove_strays(self._listed_names())\n", ""),
    ),
    "deletions kept, expiries dropped": (
        "expired_keys_stay_expired",
        (
            "cairn/compaction.py",
            "elif record.key in elsewhere",
            "elif record.kind == DELETE and record.key in elsewhere",
        ),
    ),
    "deletions kept for ever": (
        "deleted_keys_stay_deleted",
        ("cairn/compaction.py", "elif record.key in elsewhere:", "else:"),
    ),
    "older records looked for in lower numbers only": (
        "deleted_keys_stay_deleted",
        ("cairn/store.py", "in found if number not in victims]", "in found if number < victims[0]]"),
    ),
    "checksum of hints not looked at": (
        "untrue_hints_are_not_used",
        ("cairn/hint.py", " or zlib.crc32(data[start:]) != crc", ""),
    ),
    "untrue hints not written anew": (
        "untrue_hints_are_not_used",
        ("cairn/store.py", "                    missing_hints.append((number, size, entries))\n", ""),
    ),
    "values of a scan read later": (
        "scan_shows_one_moment",
        (
            "cairn/store.py",
            "return iter([(entry.key, self._value(entry)) for entry in live[:limit]])",
            "return ((entry.key, self._value(entry)) for entry in live[:limit])",
        ),
    ),
    "scan begins with the first pair": (
        "scan_shows_one_moment",
        (
            "cairn/store.py",
            "return iter([(entry.key, self._value(entry)) for entry in live[:limit]])",
            "yield from [(entry.key, self._value(entry)) for entry in live[:limit]]",
        ),
    ),
    "prefix up to U+10FFFF": (
        "scan_by_prefix",
        ("cairn/store.py", "key.startswith(prefix)", 'prefix <= key <= prefix + "\\U0010ffff"'),
    ),
    "expiries from the raw clock": (
        "time_never_goes_back",
        ("cairn/store.py", "else self._now() + ttl_ms", "else self._clock() + ttl_ms"),
    ),
    "failed write cut from the file, left in the buffer": (
        "failed_writes_leave_nothing",
        (
            "cairn/segment.py",
            """\
        view = memoryview(data)
        while view:
            view = view[os.write(self._file.fileno(), view) :]
""",
            "        self._file.write(data)\n        self._file.flush()\n",
        ),
    ),
    "failed write cut, position kept": (
        "failed_writes_leave_nothing",
        ("cairn/segment.py", "            os.lseek(self._file.fileno(), start, os.SEEK_SET)\n", ""),
    ),
    "written, never synced": (
        "returned_writes_are_synced",
        ("cairn/segment.py", "            if sync:\n                os.fsync(self._file.fileno())\n", ""),
    ),
    "folder not synced": (
        "returned_writes_are_synced",
        ("cairn/manifest.py", "NAME)\n    sync_folder(folder)\n", "NAME)\n"),
    ),
    "MANIFEST written in place": (
        "kill_during_compaction",
        ("cairn/manifest.py", 'folder / (NAME + ".tmp")', "folder / NAME"),
    ),
    "old segments removed before the upgrade": (
        "kill_while_opening",
        ("cairn/store.py", "self._remove_strays({path.name for path in old})", "self._remove_strays(set())"),
    ),
    "seconds taken for milliseconds": (
        "stores_of_release_1",
        ("cairn/legacy.py", "seconds * 1000", "seconds"),
    ),
    "min_dead exclusive": (
        "compaction_merges_what_it_should",
        ("cairn/store.py", "entries, now) >= min_dead", "entries, now) > min_dead"),
    ),
    "header counted in the dead share": (
        "compaction_merges_what_it_should",
        ("cairn/compaction.py", "total = size - len(HEADER)", "total = size"),
    ),
    "output in the order of segments": (
        "compaction_merges_what_it_should",
        ("cairn/compaction.py", "return sorted(kept, key=lambda record: record.seq)", "return kept"),
    ),
    "segments one byte short": (
        "layout_of_segments",
        ("cairn/store.py", "+ size > self._segment_bytes", "+ size >= self._segment_bytes"),
    ),
    "room asked for the first record of a batch only": (
        "layout_of_segments",
        ("cairn/store.py", "size = sum(map(len, chunks))", "size = len(chunks[0])"),
    ),
    "expired one millisecond late": (
        "limits_of_keys_and_times",
        ("cairn/index.py", "now >= expires", "now > expires"),
    ),
    "key measured in characters": (
        "limits_of_keys_and_times",
        ("cairn/keys.py", "1 <= len(raw) <= MAX", "1 <= len(key) <= MAX"),
    ),
    "limit 0 taken for none": (
        "random_histories",
        ("cairn/store.py", "live[:limit]", "live[: limit or None]"),
    ),
    "increment drops the expiry": (
        "visible_tests_pass",
        ("cairn/store.py", "(self._value(entry)), entry.expires", "(self._value(entry)), 0"),
    ),
    "hints thrown away when opening": (
        "opening_a_store_does_not_change_a_good_one",
        ("cairn/store.py", "return {segment_name(n) for n in numbers} | {hint_name(n) for n in numbers}",
         "return {segment_name(n) for n in numbers}"),
    ),
    "a new argument": (
        "what_must_stay_is_untouched",
        ("cairn/store.py", "def compact(self, min_dead=0.5)", "def compact(self, min_dead=0.5, force=False)"),
    ),
    "a changed test": (
        "what_must_stay_is_untouched",
        ("tests/test_store.py", "def test_empty(self)", "def test_nothing(self)"),
    ),
    "a changed specification": (
        "what_must_stay_is_untouched",
        ("docs/SPEC.md", ">= `min_dead`", "> `min_dead`"),
    ),
}  # fmt: skip


def cairn_check_names(checks):
    """Names of the verifier's checks."""
    return {name.removeprefix("test_") for name in vars(checks) if name.startswith("test_")}


CHECKS = sorted({*LEFT.values(), *(half[0] for half in HALF.values())})


def test_every_check_of_the_verifier_can_fail(checks):
    """No check of the verifier is one that nothing below makes fail."""
    assert set(CHECKS) == cairn_check_names(checks)


def test_every_repair_is_left_out_once(oracle):
    """Each defect that the oracle repairs has a check that misses its repair."""
    assert [repair.name for repair in oracle.REPAIRS] == list(LEFT)


@pytest.mark.parametrize("name", CHECKS)
def test_oracle_passes(checks, oracle, app, name):
    """The repaired package passes each check."""
    oracle.apply(app / "cairn")
    assert run_check(checks, app, name) is None


@pytest.mark.parametrize("left", LEFT)
def test_defect_left_is_caught(checks, oracle, app, left):
    """With all repairs but one a check fails."""
    oracle.apply(app / "cairn", [repair for repair in oracle.REPAIRS if repair.name != left])
    assert run_check(checks, app, LEFT[left])


@pytest.mark.parametrize("what", HALF)
def test_half_repair_is_caught(checks, oracle, app, what):
    """A repair that only looks right, or that breaks what was right, fails a check."""
    oracle.apply(app / "cairn")
    name, *edits = HALF[what]
    for change in edits:
        edit(app, *change)
    assert run_check(checks, app, name)


def test_visible_tests_pass_before_the_repair(checks, app):
    """What the agent sees passes as it is given."""
    assert run_check(checks, app, "visible_tests_pass") is None
    assert run_check(checks, app, "what_must_stay_is_untouched") is None


def test_committed_stores_are_what_the_generator_writes(tmp_path, monkeypatch):
    """The old stores in the verifier are the generator's output, byte for byte."""
    generator = load_cairn("generator/generate.py", "cairn_generate")
    monkeypatch.setattr(generator, "STORES", tmp_path / "stores")
    generator.main()
    found, want = (
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        for root in (CAIRN_TASK / "verifier" / "stores", tmp_path / "stores")
    )
    assert found == want


def test_pristine_copies_are_those_of_the_image():
    """What the verifier compares with is what the agent is given."""
    pristine = CAIRN_TASK / "verifier" / "pristine"
    copies = {path.relative_to(pristine) for path in pristine.rglob("*") if path.is_file()} - {
        Path("api.json")
    }
    assert {path.name for path in copies} == {"SPEC.md", "incidents.md", "test_store.py", "test_files.py"}
    for path in copies:
        assert (pristine / path).read_bytes() == (CAIRN_TASK / "environment" / path).read_bytes()


# --- code that tries to get past the checks ---

FORGED = """
import os
for fd in range(3, 64):
    try:
        os.write(fd, b"[%s]" % b", ".join([b"null"] * 5000))
    except OSError:
        pass
os._exit(0)
"""
HOSTILE = {
    "leaves at once": "import os\nos._exit(0)\n",
    "raises": "raise SystemExit(0)\n",
    "forges a report": FORGED,
    "prints one": 'print("[null, null]")\nimport os\nos._exit(0)\n',
    "takes the memory": "x = bytearray(1 << 34)\n",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_code_fails_with_a_message(checks, app, what):
    """Code that leaves, forges or prints a report fails a check, and the verifier goes on."""
    (app / "cairn" / "__init__.py").write_text(HOSTILE[what])
    assert run_check(checks, app, "cache_never_shows")


def test_code_that_hangs_is_ended(checks, app):
    """Code that never returns is ended within its time, with all that it started."""
    note = app / "pid"
    (app / "cairn" / "__init__.py").write_text(
        f"import os, time\nchild = os.fork()\nif child:\n    open({str(note)!r}, 'w').write(str(child))\n"
        "while True:\n    time.sleep(1)\n"
    )
    lab = checks.laboratory.Lab(app, drop_root=False)
    with pytest.raises(pytest.fail.Exception, match="not finished within 2 s"):
        lab.run([["open", str(lab.folder()), {}]], seconds=2)
    lab.close()
    try:
        child = os.pidfd_open(int(note.read_text()))
    except ProcessLookupError:
        return
    ended, _, _ = select.select([child], [], [], 60)
    os.close(child)
    assert ended


@pytest.mark.parametrize("kind", ["no-package", "linked-package", "linked-module", "pipe", "huge"])
def test_package_that_is_no_plain_source_fails(checks, app, kind):
    """Links, pipes and anything but source of sensible size are refused with a message."""
    package = app / "cairn"
    match kind:
        case "no-package":
            shutil.rmtree(package)
        case "linked-package":
            package.rename(app / "other")
            package.symlink_to(app / "other")
        case "linked-module":
            (package / "cache.py").rename(app / "cache.py")
            (package / "cache.py").symlink_to(app / "cache.py")
        case "pipe":
            os.mkfifo(package / "pipe.py")
        case "huge":
            (package / "huge.py").write_bytes(b"#" * 2_000_001)
    assert f"`{package}" in run_check(checks, app, "cache_never_shows")
