"""Near-duplicates within a collection: by what their prompts, their data and their verifiers share."""

from dataclasses import replace
from pathlib import Path

import pytest
from gates.gate_cases import Case

from seatrials.rules.duplicates import near_duplicates, same_data, same_verifier
from seatrials.rules.limits import TOO_LONG
from seatrials.rules.model import TaskReport
from seatrials.task.collection import Collection

FIRST = [f"first{number}" for number in range(60)]
SECOND = [f"second{number}" for number in range(60)]


def found(root: Path, *prompts: str) -> list[str]:
    """Return what is said of a collection of tasks with these prompts."""
    report = TaskReport(name="", full_name="", path="", format="native", content_hash="", findings=())
    reports = [
        replace(
            report,
            name=f"task-{number}",
            path=str(Case(code="", name="", found=True, files={}, prompt=prompt).build(root / str(number))),
        )
        for number, prompt in enumerate(prompts)
    ]
    return [hit.message for hit in near_duplicates(Collection(root=root), tuple(reports))]


@pytest.mark.parametrize(
    "second",
    [
        " ".join(FIRST),
        " ".join(FIRST).upper(),
        " ".join([*FIRST, *SECOND]),
        " ".join([*FIRST[:50], *SECOND[:10]]),
        " ".join(["Do", *FIRST[5:], "now"]),
    ],
)
def test_prompts_that_share_half_are_told(tmp_path: Path, second: str) -> None:
    """Case, additions and some other words don't hide that a prompt is the same."""
    assert len(found(tmp_path, " ".join(FIRST), second)) == 1


@pytest.mark.parametrize(
    "second",
    [
        " ".join(SECOND),
        " ".join([*FIRST[:20], *SECOND]),
        " ".join(reversed(FIRST)),
        " ".join(word for pair in zip(FIRST, SECOND, strict=True) for word in pair),
        " ".join(FIRST[:20]),
    ],
)
def test_prompts_that_share_less_are_not(tmp_path: Path, second: str) -> None:
    """Other words, a common beginning, another order and a very short prompt make no pair."""
    assert found(tmp_path, " ".join(FIRST), second) == []


def test_the_template_of_a_collection_makes_no_pairs(tmp_path: Path) -> None:
    """What more than twenty tasks share is not counted."""
    prompts = [" ".join([*FIRST, *(f"own{number}x{word}" for word in range(40))]) for number in range(22)]
    assert found(tmp_path, *prompts) == []
    assert len(found(tmp_path / "fewer", *prompts[:2])) == 1


Files = dict[str, str | None]
Pairs = dict[str, list[str]]


def alike(root: Path, *tasks: Files, prompts: bool = False) -> Pairs:
    """Return what each rule says of tasks with these files, and prompts of their own or one."""
    blank = TaskReport(name="", full_name="", path="", format="native", content_hash="", findings=())
    reports: list[TaskReport] = []
    for number, files in enumerate(tasks):
        words = FIRST if prompts else [f"own{number}x{word}" for word in range(60)]
        case = Case(code="", name="", found=True, files=OWN[number % 3] | files, prompt=" ".join(words))
        reports.append(replace(blank, name=f"task-{number}", path=str(case.build(root / str(number)))))
    given = Collection(root=root), tuple(reports)
    rules = {"prompt": near_duplicates, "data": same_data, "verifier": same_verifier}
    return {name: said for name, rule in rules.items() if (said := [hit.message for hit in rule(*given)])}


def rows(seed: str, number: int = 60) -> str:
    """Return a table of so many lines."""
    return "amount,of\n" + "".join(f"{seed}{line},value {line * 7}\n" for line in range(number))


def checks(seed: str, number: int = 20) -> str:
    """Return a test of so many assertions."""
    lines = (f"    assert load()['{seed}{line}'] == {line * 3}\n" for line in range(number))
    return "from own import load\n\n\ndef test_it():\n" + "".join(lines)


DATA = "environment/data.csv"
TESTS = "verifier/test_outputs.py"
OWN: list[Files] = [{DATA: rows(f"own{n}"), TESTS: checks(f"own{n}")} for n in range(3)]
SETTING = """\
---
schema_version: "1.3"
task: {{name: a/b}}
verifier: {{env: {{ANSWER: "{}"}}}}
---

## prompt

Write `/app/x`.
"""
BINARY = "\0" * 3_000 + "x" * 900_000


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({DATA: rows("a")}, {DATA: rows("a")}),
        ({DATA: rows("a")}, {DATA: rows("a").replace("value 7\n", "value 8\n")}),
        ({DATA: rows("a")}, {DATA: rows("a") + rows("b", 10)}),
        ({DATA: rows("a")}, {DATA: None, "environment/deep/other.txt": rows("a")}),
        ({DATA: "\n".join(rows("a").split("\n")[::-1])}, {DATA: rows("a").replace("\n", "\r\n")}),
        ({"environment/scan.bin": BINARY}, {"environment/volume.bin": BINARY}),
    ],
    ids=["all of it", "a value", "more lines", "another name", "another order", "binary"],
)
def test_tasks_with_the_same_data_are_told(tmp_path: Path, first: Files, second: Files) -> None:
    """A name, an order, line ends, some lines more or a changed value don't hide that data are the same."""
    (said,) = alike(tmp_path, first, second)["data"]
    assert said.startswith("`task-0` and `task-1` share ")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {}),
        ({DATA: rows("a")}, {DATA: rows("a", 30) + rows("b", 30)}),
        ({DATA: "amount\n41.5\n"}, {DATA: "amount\n41.5\n"}),
        ({"environment/Dockerfile": rows("a")}, {"environment/Dockerfile": rows("a")}),
        ({"environment/scan.bin": BINARY}, {"environment/scan.bin": "\0" + BINARY[1:-1] + "\0\0"}),
        ({DATA: "x" * 5000 + "\n" + rows("a")}, {DATA: "x" * 5000 + "\n" + rows("b")}),
    ],
    ids=["other rows", "half of it", "a few bytes", "build files", "another size", "one long line"],
)
def test_tasks_with_other_data_are_not(tmp_path: Path, first: Files, second: Files) -> None:
    """Half of the data, very little of it, and what builds the image make no pair."""
    assert "data" not in alike(tmp_path, first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({TESTS: checks("a")}, {TESTS: checks("a")}),
        ({TESTS: checks("a")}, {TESTS: checks("a").replace("assert ", "assert  ")}),
        ({TESTS: checks("a")}, {TESTS: "# another task's\n" + checks("a").replace("'a3'", "'b3'")}),
        ({TESTS: checks("a")}, {TESTS: None, "verifier/test_all.py": checks("a")}),
        ({TESTS: checks("a")}, {TESTS: checks("a") + "\n\ndef test_more():\n    assert load()\n"}),
        (
            {TESTS: checks("a"), "verifier/expected.json": "{}\n"},
            {TESTS: checks("a"), "verifier/expected.json": "{}\n"},
        ),
    ],
    ids=["all of it", "blanks", "a name", "another file", "one test more", "the same answers"],
)
def test_tasks_with_the_same_verifier_are_told(tmp_path: Path, first: Files, second: Files) -> None:
    """White space, comments, names of files and a test more don't hide that verifiers are the same."""
    (said,) = alike(tmp_path, first, second, {}, {}, {}, {})["verifier"]
    assert said.startswith("`task-0` and `task-1` share ")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {}),
        ({TESTS: checks("a")}, {TESTS: checks("a", 12) + checks("b", 12)}),
        ({TESTS: checks("a", 4)}, {TESTS: checks("a", 4)}),
        (
            {TESTS: checks("a"), "verifier/expected.json": "[1]\n"},
            {TESTS: checks("a"), "verifier/expected.json": "[2]\n"},
        ),
        (
            {TESTS: checks("a"), "task.md": SETTING.format("1")},
            {TESTS: checks("a"), "task.md": SETTING.format("2")},
        ),
    ],
    ids=["other tests", "half of it", "a few lines", "other answers", "another setting"],
)
def test_tasks_with_other_verifiers_are_not(tmp_path: Path, first: Files, second: Files) -> None:
    """Half of the lines, and a common grader with answers of its own beside it, make no pair."""
    assert "verifier" not in alike(tmp_path, first, second, {}, {}, {}, {})


def test_a_pair_is_told_once_with_all_its_shares(tmp_path: Path) -> None:
    """Tasks that are the same in everything give one finding that names the three shares."""
    said = alike(tmp_path, OWN[0], OWN[0], OWN[1], OWN[2], prompts=False)
    assert list(said) == ["data"]
    assert said["data"] == [
        "`task-0` and `task-1` share 100% of their data and 100% of their verifiers' lines"
    ]
    both = alike(tmp_path / "prompts", OWN[0], OWN[0], prompts=True)
    assert list(both) == ["prompt"]
    assert both["prompt"][0].startswith(
        "`task-0` and `task-1` share 100% of the shorter prompt's 13-grams, 100%"
    )


def test_a_common_set_of_data_and_a_common_grader_make_no_pairs(tmp_path: Path) -> None:
    """Data that six tasks share, and the code that most of the tasks share, are not counted."""
    assert alike(tmp_path / "six", *[{DATA: rows("a"), TESTS: checks(f"t{n}")} for n in range(6)]) == {}
    tasks: list[Files] = [{DATA: rows(f"d{n}"), TESTS: checks("a")} for n in range(4)]
    assert alike(tmp_path / "most", *tasks) == {}
    assert "verifier" in alike(tmp_path / "two", *tasks[:2])


def test_what_could_not_be_checked_is_not_compared(tmp_path: Path) -> None:
    """A task whose own check ran out of time is not read again."""
    path = str(Case(code="", name="", found=True, files={}, prompt=" ".join(FIRST)).build(tmp_path))
    report = TaskReport(name="a", full_name="", path=path, format="native", content_hash="", findings=())
    late = replace(report, findings=(TOO_LONG.finding(TOO_LONG.check()),))
    assert len(list(near_duplicates(Collection(root=tmp_path), (report, report)))) == 1
    assert list(near_duplicates(Collection(root=tmp_path), (report, late))) == []
