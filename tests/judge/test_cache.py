"""Earlier results: everything that a rule can see is in the key, and what is damaged is passed over."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from seatrials.findings import Finding
from seatrials.judge import cache
from seatrials.judge.cache import ResultCache, default_folder, key
from seatrials.judge.stored import encode
from seatrials.rules.model import Skip, TaskReport, Waived
from seatrials.task.credit import Credit
from seatrials.task.package import TaskPackage
from seatrials.task.waivers import Waiver

NAME = "00" * 32


def key_of(folder: Path) -> str:
    """Return the key of a task read afresh."""
    return key(TaskPackage(folder), profile="arena")


@pytest.mark.parametrize(
    "change",
    [
        lambda task: (task / "task.md").write_bytes(b"other"),
        lambda task: (task / "verifier" / "test.sh").chmod(0o644),
        lambda task: (task / "environment" / "data.csv").rename(task / "environment" / "data2.csv"),
        lambda task: (task / "new.txt").write_bytes(b""),
        lambda task: (task / ".DS_Store").write_bytes(b""),
        lambda task: (task / "__pycache__").mkdir(),
        lambda task: (task / "link").symlink_to("task.md"),
        lambda task: os.mkfifo(task / "pipe"),
    ],
    ids=["content", "run bit", "name", "empty file", "junk file", "junk folder", "link", "pipe"],
)
def test_key_changes_with_all_that_a_rule_can_see(
    change: Callable[[Path], object], native_task: Path
) -> None:
    """A change of content, mode, names, junk or kinds of files gives another key."""
    before = key_of(native_task)
    assert key_of(native_task) == before
    change(native_task)
    assert key_of(native_task) != before


def test_key_changes_with_what_lies_around(native_task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The profile, the folder's name and the rules themselves are in the key."""
    task = TaskPackage(native_task)
    keys = {
        key(task, profile="arena"),
        key(task, profile="benchflow"),
        key_of(shutil.copytree(native_task, native_task.with_name("another-name"))),
    }
    monkeypatch.setattr(cache, "rule_set", lambda: "newer rules")
    keys.add(key(task, profile="arena"))
    assert len(keys) == 4


def test_key_changes_when_the_end_of_a_link_does(native_task: Path, tmp_path: Path) -> None:
    """A link out of the task has another key once what it points to is there."""
    (native_task / "link").symlink_to("../outside")
    before = key_of(native_task)
    (tmp_path / "outside").write_bytes(b"")
    assert key_of(native_task) != before


def test_key_is_the_same_elsewhere(native_task: Path, tmp_path: Path) -> None:
    """A copy of a task in another folder of the same name has its key: results outlive a fresh checkout."""
    assert key_of(shutil.copytree(native_task, tmp_path / "other" / native_task.name)) == key_of(native_task)


def test_rule_set_changes_with_any_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed line in any module of the kit gives another rule set."""
    package = tmp_path / "seatrials"
    shutil.copytree(Path(cache.__file__).parents[1], package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(cache, "__file__", str(package / "rules" / "cache.py"))
    seen = {cache.rule_set.__wrapped__()}
    for module in ("rules/structure.py", "task/files.py", "findings.py"):
        with (package / module).open("a") as stream:
            stream.write("# changed\n")
        seen.add(cache.rule_set.__wrapped__())
    assert len(seen) == 4


def signed(body: bytes) -> bytes:
    """Return a file of the store with this body."""
    return b"seatrials check 1 " + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


@pytest.fixture
def report(native_task: Path) -> TaskReport:
    """A report with something in every field."""
    waived = Finding(code="FIL106", severity="review", path="x", line=1, message="m")
    return TaskReport(
        name=native_task.name,
        full_name="org/sum",
        path=native_task.as_posix(),
        format="native",
        content_hash="sha256:" + "1" * 64,
        findings=(
            Finding(code="DOC101", severity="error", path="bad\udcff\x1b", line=3, message="ü"),
            Finding(code="DOC102", severity="warning", path="", line=None, message="m"),
        ),
        skipped=(Skip(code="STR104", reason="after DOC101"),),
        credit=Credit(
            file="task.md", line=None, fields={"license": "MIT"}, lines={"license": 4}, emails=("metadata.e",)
        ),
        waivers=(Waiver(code="FIL106", reason="so", file="task.md", line=9, tasks=("a*",), fault="none"),),
        waived=(Waived(finding=waived, reason="so"),),
    )


def test_result_comes_back_as_it_was(report: TaskReport, native_task: Path, tmp_path: Path) -> None:
    """Every field of a report survives the store; name and path are those of the task at hand."""
    assert all(getattr(report, field.name) for field in fields(report)), "fill every field above"
    ResultCache(tmp_path / "store").put([("ab" * 32, report)])
    store = ResultCache(tmp_path / "store")
    assert store.get("ab" * 32, TaskPackage(native_task)) == report
    assert store.get("cd" * 32, TaskPackage(native_task)) is None
    moved = store.get("ab" * 32, TaskPackage(native_task, label="elsewhere/sum"))
    assert moved is not None
    assert moved.path == "elsewhere/sum"


def spoilt(report: TaskReport, old: str, new: str) -> bytes:
    """Return a file of the store that holds a report with one value exchanged."""
    text = json.dumps({NAME: encode(report)})
    assert old in text
    return signed(text.replace(old, new).encode())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"native"', '"no-such-format"'),
        ('"error"', '"fatal"'),
        (", 3, ", ', "3", '),
        (", 3, ", ", true, "),
        ('"DOC102"', "null"),
        ('"DOC102", ', ""),
        ('"STR104", ', '"STR104", "more", '),
    ],
)
def test_result_of_another_shape_is_none(
    old: str, new: str, report: TaskReport, native_task: Path, tmp_path: Path
) -> None:
    """A stored result whose values are not of the report's types is passed over."""
    (tmp_path / "store").mkdir()
    for content, good in ((spoilt(report, old, old), True), (spoilt(report, old, new), False)):
        (tmp_path / "store" / "00.json").write_bytes(content)
        found = ResultCache(tmp_path / "store").get(NAME, TaskPackage(native_task))
        assert found == (report if good else None)


def test_earlier_results_stay_when_new_ones_come(
    report: TaskReport, native_task: Path, tmp_path: Path
) -> None:
    """Two runs that store results one after the other lose none."""
    first, second = ResultCache(tmp_path / "store"), ResultCache(tmp_path / "store")
    assert first.get("00" * 32, TaskPackage(native_task)) is None
    second.put([("00" * 32, report)])
    first.put([("00" * 4 + "11" * 28, report)])
    store = ResultCache(tmp_path / "store")
    for name in ("00" * 32, "00" * 4 + "11" * 28):
        assert store.get(name, TaskPackage(native_task)) == report


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not ours",
        b"\xff\xfe\x00",
        signed(b'{"truncated": '),
        signed(b"[]"),
        signed(b"[" * 100_000),
        signed(json.dumps({NAME: 1}).encode()),
        signed(json.dumps({NAME: []}).encode()),
        signed(json.dumps({NAME: {"findings": []}}).encode()),
        signed(json.dumps({NAME: []}).encode())[:-3] + b"xx}",
    ],
)
def test_damaged_and_foreign_files_are_passed_over(
    content: bytes, report: TaskReport, native_task: Path, tmp_path: Path
) -> None:
    """What is no result of ours is none, and the next results are stored in its place."""
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "00.json").write_bytes(content)
    task = TaskPackage(native_task)
    assert ResultCache(tmp_path / "store").get(NAME, task) is None
    ResultCache(tmp_path / "store").put([(NAME, report)])
    assert ResultCache(tmp_path / "store").get(NAME, task) == report


def test_store_is_bounded(
    report: TaskReport, native_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of the store stays under its bound: the oldest results give way, the newest stays."""
    monkeypatch.setattr(cache, "_SHARD_BYTES", 5_000)
    store = tmp_path / "store"
    names = ["00" * 4 + f"{number:056x}" for number in range(60)]
    for name in names:
        ResultCache(store).put([(name, report)])
    assert (store / "00.json").stat().st_size < 5_200
    task = TaskPackage(native_task)
    kept = [name for name in names if ResultCache(store).get(name, task) is not None]
    assert 0 < len(kept) < 60
    assert kept == names[-len(kept) :]


def test_store_that_can_not_be_written_does_no_harm(report: TaskReport, tmp_path: Path) -> None:
    """A path that can't become a folder is passed over, and nothing is left beside it."""
    (tmp_path / "file").write_bytes(b"")
    ResultCache(tmp_path / "file" / "store").put([(NAME, report)])
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_store_is_in_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """XDG_CACHE_HOME is honoured, else ~/.cache; a relative one is void, as its specification says."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "seatrials" / "check"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert default_folder() == tmp_path / "home" / ".cache" / "seatrials" / "check"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_folder() == tmp_path / "home" / ".cache" / "seatrials" / "check"
