"""Held-out overlap: what is drawn from tasks, the fingerprint file, and each severity of the guide."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from gates.gate_cases import Case
from gates.overlap_cases import ALIEN, APART, HELD, WORDS, Files, HeldCase

from seatrials.cli import main
from seatrials.errors import UsageError
from seatrials.judge.run import check_task
from seatrials.rules.overlap import (
    Suite,
    compare,
    grams_of,
    load_suite,
    overlapping,
    print_of,
    written,
)
from seatrials.task.package import TaskPackage


def write(root: Path, name: str, prompt: str, files: Files) -> TaskPackage:
    """Write a task of a name."""
    folder = Case(code="", name="", found=True, files=files, prompt=prompt).build(root / name)
    return TaskPackage(folder.rename(folder.parent / name))


def make(root: Path, name: str, prompt: str, **files: str | None) -> TaskPackage:
    """Write a task of a name, with files at paths whose ``__`` stands for a slash."""
    return write(root, name, prompt, {path.replace("__", "/"): text for path, text in files.items()})


APART_AS_NAMES = {path.replace("/", "__"): text for path, text in APART.items()}


def suite_of(*tasks: TaskPackage, sealed: bool, evaluated: bool = True) -> Suite:
    """Return a suite of tasks, all or none of them evaluated."""
    names = frozenset(task.name for task in tasks) if evaluated else frozenset()
    return Suite(
        name="held", sealed=sealed, tasks=tuple(print_of(task) for task in tasks), evaluated=names
    ).index()


def codes(task: TaskPackage, suite: Suite) -> set[str]:
    """Return the codes of what a task shares with a suite."""
    return {rule.code for rule, _ in compare(task, [suite])}


def test_a_gram_is_thirteen_words_without_regard_to_case_and_marks() -> None:
    """Case and punctuation don't matter, and twelve words have no 13-gram."""
    assert grams_of("A b, c. d e f g h i j k l M!") == grams_of("a B c d e f g h i j k l m")
    assert list(grams_of("A b, c. d e f g h i j k l M!").values()) == ["a b c d e f g h i j k l m"]
    assert len(grams_of("a b c d e f g h i j k l m n")) == 2
    assert grams_of("a b c d e f g h i j k l") == {}


@pytest.mark.parametrize("case", HELD, ids=lambda case: f"{case.code} {case.name}")
def test_overlap_gate_finds_just_what_it_should(case: HeldCase, tmp_path: Path) -> None:
    """A task beside a held-out one gives the code where they overlap in that way, and not else."""
    names = [case.held_name, *(f"copy-{number}" for number in range(1, case.copies))]
    held = [write(tmp_path / "held", name, case.held_prompt, case.held) for name in names]
    task = write(tmp_path / "mine", case.mine_name, case.prompt, {**APART, **case.mine})
    found = codes(task, suite_of(*held, sealed=case.sealed, evaluated=case.evaluated))
    assert (case.code in found) is case.found, found


def test_a_name_of_an_evaluated_sealed_suite_counts_outside_the_evaluated_tasks_too(tmp_path: Path) -> None:
    """The suite is evaluated, so none of its tasks' names is free; of one that isn't, they are."""
    held = [make(tmp_path / "held", name, WORDS, **APART_AS_NAMES) for name in ("one", "two")]
    suite = replace(suite_of(*held, sealed=True), evaluated=frozenset({"one"}))
    mine = make(tmp_path / "mine", "two", ALIEN)
    assert codes(mine, suite) == {"OVL103"}
    assert codes(mine, replace(suite, evaluated=frozenset())) == set()


def test_a_file_of_two_uses_is_told_for_the_worse(tmp_path: Path) -> None:
    """What is data of one held-out task and the verifier's file of another blocks."""
    text = "the very same content of some length\n"
    first = make(tmp_path / "held", "a", WORDS, **{**APART_AS_NAMES, "environment__x": text})
    second = make(tmp_path / "held", "b", WORDS, **{**APART_AS_NAMES, "verifier__x": text})
    mine = make(tmp_path / "mine", "mine", ALIEN, environment__y=text)
    assert codes(mine, suite_of(first, second, sealed=True)) == {"OVL102"}


def test_what_three_public_tasks_share_is_template_text(tmp_path: Path) -> None:
    """It is compared while two share it or the suite is sealed, and not from three on."""
    held = [
        make(tmp_path, f"held-{number}", f"{WORDS} {number} " + ALIEN.replace("other", f"h{number}w"))
        for number in range(3)
    ]
    task = make(
        tmp_path, "mine", WORDS, **{**APART_AS_NAMES, "environment__data.csv": "amount\n41.5\n55.75\n"}
    )
    assert codes(task, suite_of(*held, sealed=False)) == set()
    assert codes(task, suite_of(*held[:2], sealed=False)) >= {"OVL101", "OVL105"}
    assert codes(task, suite_of(*held, sealed=True)) >= {"OVL101", "OVL105"}


def test_a_file_holds_what_was_written_and_no_text(tmp_path: Path) -> None:
    """A suite read back is the same, and no word of a prompt stands in the file."""
    suite = suite_of(make(tmp_path, "held-task", WORDS), sealed=True, evaluated=False)
    path = tmp_path / "held.json"
    path.write_text("".join(written(suite)))
    assert "word1" not in path.read_text()
    read = load_suite(path)
    assert read == suite
    assert json.loads(path.read_text())["evaluated"] == []


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"format": "other"}', "[" * 100_000,
     '{"format": "seatrials fingerprint 1", "suite": "a", "sealed": 1, "evaluated": "all", "tasks": []}',
     '{"format": "seatrials fingerprint 1", "suite": "a", "sealed": true, "evaluated": "all", "tasks": [3]}',
     '{"format": "seatrials fingerprint 1", "suite": "a", "sealed": true, "evaluated": "all"}',
     '{"format": "seatrials fingerprint 1", "sealed": true, "evaluated": "all", "tasks": []}'],
)  # fmt: skip
def test_what_is_no_fingerprint_is_said_in_one_line(tmp_path: Path, text: str) -> None:
    """A damaged file is a usage error that names it."""
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"bad\.json"):
        load_suite(path)


def test_waived_or_not_a_report_keeps_its_other_findings(tmp_path: Path) -> None:
    """What is shared is added to a task's report, and nothing is without suites."""
    task = make(tmp_path, "mine", WORDS)
    report = replace(check_task(task), findings=())
    suite = suite_of(make(tmp_path, "held-task", WORDS), sealed=True)
    assert overlapping([task], [report], []) == [report]
    assert "OVL101" in {finding.code for finding in overlapping([task], [report], [suite])[0].findings}


def test_command_writes_what_check_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fingerprint made by the command blocks a copy, also where the check's result was kept before."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    make(tmp_path / "home" / "tasks", "mine", WORDS)
    (tmp_path / "home" / "tasks" / "mine" / "mine").rename(tmp_path / "home" / "mine")
    (tmp_path / "home" / "tasks" / "mine").rmdir()
    (tmp_path / "home" / "mine").rename(tmp_path / "home" / "tasks" / "mine")
    make(tmp_path, "held-task", WORDS, **APART_AS_NAMES)
    monkeypatch.chdir(tmp_path / "home")
    main(["check", "--format", "json"])
    before = json.loads(capsys.readouterr().out)["summary"]["gates"]
    assert (before["blocked"], before["held_out_overlap"]) == (0, "not checked")
    assert main(["fingerprint", str(tmp_path / "held-task"), "--sealed", "--suite", "held"]) == 0
    assert main(["fingerprint", str(tmp_path / "held-task"), "--sealed", "--suite", "held"]) == 2
    capsys.readouterr()
    assert main(["check", "--format", "json"]) == 1
    after = json.loads(capsys.readouterr().out)["summary"]["gates"]
    assert (after["blocked"], after["held_out_overlap"]) == (1, "held")


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", "a\\b", ""])
def test_a_suite_is_named_as_a_file_in_its_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No name of a suite leads out of `suites/`, and nothing is written."""
    make(tmp_path, "held-task", WORDS)
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path)
    assert main(["fingerprint", "held-task", "--sealed", "--suite", name]) == 2
    assert "can't name a file" in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


def test_kept_results_never_hide_a_changed_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is shared is said anew on each run: with another suite, a changed one, and none any more."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    home = tmp_path / "home"
    write(home / "tasks", "mine", WORDS, APART)
    suites = home / "suites"
    suites.mkdir()
    near = suite_of(write(tmp_path, "near", WORDS, {}), sealed=True)
    far = suite_of(write(tmp_path, "far", ALIEN, {}), sealed=True)
    monkeypatch.chdir(home)

    def seen() -> tuple[set[str], str]:
        main(["check", "--format", "json"])
        report = json.loads(capsys.readouterr().out)
        found = {finding["code"] for task in report["tasks"] for finding in task["findings"]}
        return found & {"OVL101"}, report["summary"]["gates"]["held_out_overlap"]

    assert seen() == (set(), "not checked")
    (suites / "a.json").write_text("".join(written(near)))
    assert seen() == ({"OVL101"}, "held")
    assert seen() == ({"OVL101"}, "held")
    (suites / "a.json").write_text("".join(written(far)))
    assert seen() == (set(), "held")
    (suites / "b.json").write_text("".join(written(near)))
    assert seen() == ({"OVL101"}, "held, held")
    for path in suites.iterdir():
        path.unlink()
    assert seen() == (set(), "not checked")
