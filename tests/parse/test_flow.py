"""The ways through a script end where the shell would end them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrials.parse.flow import Mark, Meaning, endings
from seatrials.parse.shell import Command, parse_shell


def _marks(command: Command) -> frozenset[Mark]:
    marks: set[Mark] = set()
    if command.name == "check":
        marks.add("checks")
    if any(redirect.target.raw == "reward" for redirect in command.redirects):
        marks.add("writes")
    if command.name in {"echo", "true", ":"} or not command.words:
        marks.add("succeeds")
    return frozenset(marks)


MEANING = Meaning(
    command=_marks,
    test=lambda test: "work" in test.text,
    redirect=lambda redirect: redirect.target.raw == "reward",
)


def ends(text: str) -> set[tuple[int, str]]:
    """Return line and kind of each ending at which work was checked and no reward is written."""
    return {
        (ending.line, ending.kind)
        for ending in endings(parse_shell(text.encode()), MEANING)
        if ending.state.checked and not ending.state.written
    }


@pytest.mark.parametrize(
    "text",
    [
        "check\necho > reward",
        "set +e\ncheck\nr=$?\nif [ $r -eq 0 ]; then echo > reward; else echo > reward; fi",
        "check && echo > reward || echo > reward",
        "if check; then echo > reward; exit 0; fi\necho > reward",
        "set -e\nif check; then echo > reward; else echo > reward; fi",
        "set -e\ncheck || true\necho > reward",
        "set -e\n! check\necho > reward",
        "set -e\ncheck | tee log\necho > reward",
        "set -e\nsetup\nset +e\ncheck\necho > reward",
        "set -e\nr=0\ncheck || r=1\necho $r > reward",
        "set -e\ntrap 'echo > reward' EXIT\ncheck",
        "set -e\ntrap 'echo > reward' ERR\ncheck\necho > reward",
        "set -e\nend() { echo > reward; }\ntrap end EXIT\ncheck\nexit 1",
        "echo > reward\nset -e\ncheck\nexit 1",
        "{ check; echo; } > reward",
        "cd /app || exit 1\ncheck\necho > reward",
        "f() { check; return 1; }\nf\necho > reward",
        "(set -e; check; exit 1)\necho > reward",
        "case $x in a) check; echo > reward;; *) echo > reward;; esac",
        "for i in 1 2; do check; done\necho > reward",
        "while ! check; do sleep 1; done\necho > reward",
        "[ -f /work ] || { echo > reward; exit 0; }\necho > reward",
    ],
)
def test_scripts_that_write_on_every_way(text: str) -> None:
    """Nothing is said of a script that writes its reward wherever it ends."""
    assert ends(text) == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("set -e\ncheck\necho > reward", {(2, "errexit")}),
        ("#!/bin/bash -e\ncheck\necho > reward", {(2, "errexit")}),
        ("set -euo pipefail\ncheck | tee log\necho > reward", {(2, "errexit")}),
        ("set -o errexit\ntrue && check\necho > reward", {(2, "errexit")}),
        ("set -e\nx=1\nf() { check; }\nf\necho > reward", {(3, "errexit")}),
        ("set -e\n[ -f work ]\necho > reward", {(2, "errexit")}),
        ("set -e\ncheck || true\nother\nif [ $? -eq 0 ]; then r=1; fi\necho > reward", {(3, "errexit")}),
        ("check || exit 1\necho > reward", {(1, "exit")}),
        ("trap 'echo > reward' ERR\ncheck || exit 1\necho > reward", {(2, "exit")}),
        ("set -e\ntrap 'echo' ERR\ncheck\necho > reward", {(3, "errexit")}),
        ("check\nif [ $? -ne 0 ]; then\n  exit 1\nfi\necho > reward", {(3, "exit")}),
        ("die() { exit 1; }\ncheck || die\necho > reward", {(1, "exit")}),
        ("if check; then\n  echo > reward\nfi", {(1, "end")}),
        ("check && echo > reward", {(1, "end")}),
        ("check\ncase $? in 0) echo > reward;; esac", {(2, "end")}),
        ("exec check", {(1, "exit")}),
    ],
)
def test_scripts_that_end_without(text: str, expected: set[tuple[int, str]]) -> None:
    """Each way without a reward is found, with the line where it ends."""
    found = ends(text)
    if text == "exec check":
        # Whether it has been checked by then is for the caller: what follows never runs.
        found = {(ending.line, ending.kind) for ending in endings(parse_shell(text.encode()), MEANING)} - {
            (1, "end")
        }
    assert found == expected


def test_too_many_ways_give_no_answer() -> None:
    """A script with more commands than are followed is not judged, rather than judged by half."""
    assert endings(parse_shell(b"check\n" * 19_999 + b"(check; check)\n"), MEANING) == ()


_LINES = st.sampled_from(
    [
        *(
            "set -e",
            "set +e",
            "set -o pipefail",
            "check",
            "check || exit 1",
            "check && true",
            "! check",
            "exit",
        ),
        *(
            "if check; then",
            "else",
            "fi",
            "f() {",
            "}",
            "f",
            "return 1",
            "for i in 1; do",
            "while check; do",
            "done",
        ),
        *(
            "echo > reward",
            "(",
            ")",
            "check | check",
            "trap f EXIT",
            "case x in",
            "a)",
            ";;",
            "esac",
            "check &",
        ),
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(_LINES, max_size=25))
def test_every_script_has_an_answer(lines: list[str]) -> None:
    """Recursive functions, unclosed blocks and the rest never raise; lines are within the file."""
    for ending in endings(parse_shell("\n".join(lines).encode()), MEANING):
        assert 1 <= ending.line <= max(len(lines), 1)
