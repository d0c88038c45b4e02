"""Pairs of tasks for what finds near-duplicates in a collection (BYD102, BYD114, BYD115)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

FIRST: Final = [f"first{number}" for number in range(60)]
SECOND: Final = [f"second{number}" for number in range(60)]
DATA: Final = "environment/data.csv"
TESTS: Final = "verifier/test_outputs.py"
Files = Mapping[str, str | None]

BINARY: Final = "\0" * 3_000 + "x" * 900_000
SETTING: Final = """\
---
schema_version: "1.3"
task: {{name: a/b}}
verifier: {{env: {{ANSWER: "{}"}}}}
---

## prompt

Write `/app/x`.
"""


def rows(seed: str, number: int = 60) -> str:
    """Return a table of so many lines."""
    return "amount,of\n" + "".join(f"{seed}{line},value {line * 7}\n" for line in range(number))


def asserts(seed: str, number: int = 20) -> str:
    """Return a test of so many assertions."""
    lines = (f"    assert load()['{seed}{line}'] == {line * 3}\n" for line in range(number))
    return "from own import load\n\n\ndef test_it():\n" + "".join(lines)


@dataclass(frozen=True, kw_only=True, slots=True)
class PairCase:
    """Two tasks: their prompts (empty: each its own), their files, the code, and whether it is told."""

    code: str
    name: str
    found: bool
    prompts: tuple[str, str] = ("", "")
    first: Files = field(default_factory=dict)
    second: Files = field(default_factory=dict)


def _prompt(name: str, second: list[str], *, found: bool) -> PairCase:
    return PairCase(code="BYD102", name=name, found=found, prompts=(" ".join(FIRST), " ".join(second)))


def _data(name: str, first: Files, second: Files, *, found: bool) -> PairCase:
    return PairCase(code="BYD114", name=name, found=found, first=first, second=second)


def _tests(name: str, first: str, second: str, *, found: bool) -> PairCase:
    return PairCase(code="BYD115", name=name, found=found, first={TESTS: first}, second={TESTS: second})


def _beside(name: str, path: str, first: str, second: str, *, found: bool) -> PairCase:
    same = {TESTS: asserts("a")}
    return PairCase(
        code="BYD115", name=name, found=found, first=same | {path: first}, second=same | {path: second}
    )


BITS: Final = "environment/scan.bin"
EXPECTED: Final = "verifier/expected.json"

PAIRS: Final = (
    _prompt("the same", FIRST, found=True),
    _prompt("in capitals", [word.upper() for word in FIRST], found=True),
    _prompt("with more", [*FIRST, *SECOND], found=True),
    _prompt("with another end", [*FIRST[:50], *SECOND[:10]], found=True),
    _prompt("with another frame", ["Do", *FIRST[5:], "now"], found=True),
    _prompt("other words", SECOND, found=False),
    _prompt("a common beginning", [*FIRST[:20], *SECOND], found=False),
    _prompt("another order", FIRST[::-1], found=False),
    _prompt("in turn", [word for pair in zip(FIRST, SECOND, strict=True) for word in pair], found=False),
    _prompt("very short", FIRST[:20], found=False),
    _data("all of it", {DATA: rows("a")}, {DATA: rows("a")}, found=True),
    _data("a value", {DATA: rows("a")}, {DATA: rows("a").replace("value 7\n", "value 8\n")}, found=True),
    _data("more lines", {DATA: rows("a")}, {DATA: rows("a") + rows("b", 10)}, found=True),
    _data("another name", {DATA: rows("a")}, {DATA: None, "environment/b/c.txt": rows("a")}, found=True),
    _data(
        "another order and line ends",
        {DATA: "\n".join(rows("a").split("\n")[::-1])},
        {DATA: rows("a").replace("\n", "\r\n")},
        found=True,
    ),
    _data("binary", {BITS: BINARY}, {"environment/volume.bin": BINARY}, found=True),
    _data("other rows", {DATA: rows("a")}, {DATA: rows("b")}, found=False),
    _data("half of it", {DATA: rows("a")}, {DATA: rows("a", 30) + rows("b", 30)}, found=False),
    _data("a few bytes", {DATA: "amount\n41.5\n"}, {DATA: "amount\n41.5\n"}, found=False),
    _data(
        "build files",
        {"environment/Dockerfile": rows("a")},
        {"environment/Dockerfile": rows("a")},
        found=False,
    ),
    _data("another size", {BITS: BINARY}, {BITS: "\0" + BINARY[1:-1] + "\0\0"}, found=False),
    _data(
        "one long line",
        {DATA: "x" * 5000 + "\n" + rows("a")},
        {DATA: "x" * 5000 + "\n" + rows("b")},
        found=False,
    ),
    _tests("all of it", asserts("a"), asserts("a"), found=True),
    _tests("blanks", asserts("a"), asserts("a").replace("assert ", "assert  "), found=True),
    _tests("a name", asserts("a"), "# another's\n" + asserts("a").replace("'a3'", "'b3'"), found=True),
    _tests(
        "a test more", asserts("a"), asserts("a") + "\n\ndef test_more():\n    assert load()\n", found=True
    ),
    PairCase(
        code="BYD115",
        name="another file",
        found=True,
        first={TESTS: asserts("a")},
        second={TESTS: None, "verifier/test_all.py": asserts("a")},
    ),
    _beside("the same answers", EXPECTED, "{}\n", "{}\n", found=True),
    _tests("other tests", asserts("a"), asserts("b"), found=False),
    _tests("half of it", asserts("a"), asserts("a", 12) + asserts("b", 12), found=False),
    _tests("a few lines", asserts("a", 4), asserts("a", 4), found=False),
    _beside("other answers", EXPECTED, "[1]\n", "[2]\n", found=False),
    _beside("another setting", "task.md", SETTING.format("1"), SETTING.format("2"), found=False),
)
