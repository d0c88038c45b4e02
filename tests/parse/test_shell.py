"""The shell's tree says what a script runs, where, and with which files."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrials.parse.shell import (
    MAX_SOURCE,
    AndOr,
    Background,
    Case,
    Command,
    Group,
    If,
    Loop,
    Not,
    Pipeline,
    Script,
    parse_shell,
    walk,
)
from seatrials.parse.shell import Test as Condition
from seatrials.parse.shell import Word as ShellWord
from seatrials.rules.limits import OutOfTime, time_limit


def parse(text: str) -> Script:
    """Parse a text."""
    return parse_shell(text.encode())


def names(text: str) -> list[str]:
    """Return the names of all commands."""
    return [command.name for command in parse(text).commands()]


@pytest.mark.parametrize(
    ("first", "program", "options"),
    [
        ("#!/bin/bash", "bash", ""),
        ("#! /usr/bin/env bash", "bash", ""),
        ("#!/bin/sh -eu", "sh", "eu"),
        ("#!/usr/bin/env -S bash -e", "bash", "e"),
        ("#!/bin/bash\r", "bash", ""),
        ("# a comment", "", ""),
    ],
)
def test_shebang(first: str, program: str, options: str) -> None:
    """The program's name and its option letters are read."""
    script = parse(f"{first}\ntrue\n")
    assert (script.interpreter, script.options) == (program, options)


def test_commands_have_words_assignments_and_redirections() -> None:
    """A simple command keeps its parts as written, and its line."""
    command = next(parse('\nA=1 python3 "$x/a b.py" -v 2>&1 >>out.txt\n').commands())
    assert command.line == 2
    assert [word.raw for word in command.words] == ["python3", '"$x/a b.py"', "-v"]
    assert command.assignments == (("A", ShellWord(raw="1")),)
    assert [(redirect.operator, redirect.target.raw) for redirect in command.redirects] == [
        (">&", "1"),
        (">>", "out.txt"),
    ]


def test_here_documents_are_read_with_what_follows_them() -> None:
    """The text belongs to the command; a redirection, a pipe or `||` on its line is not lost."""
    body = parse("python3 - <<'PY' > out || exit 3\nprint(1)\nPY\ncat <<E | tee x\nhi\nE\n").body
    match body:
        case (AndOr(items=(Command() as python, Command() as leave)), Pipeline(items=(_, Command() as tee))):
            assert [(part.operator, part.text) for part in python.redirects] == [
                ("<<", "print(1)\n"),
                (">", ""),
            ]
            assert (leave.name, tee.name) == ("exit", "tee")
        case _:
            pytest.fail(str(body))


def test_structures() -> None:
    """Lists, conditions, loops, cases and functions are told apart."""
    body = parse(
        "a && b || c\nif a; then b; elif c; then d; else e; fi\nwhile a; do b; done\nuntil a; do b; done\n"
        "for x in 1 2; do a; done\ncase $x in 1*|2) a;; *) b;; esac\n"
        "(a; b)\n{ a; } > f\n! a\na &\n[[ -f x ]]\n"
    ).body
    kinds = [type(node) for node in body]
    assert kinds == [AndOr, If, Loop, Loop, Loop, Case, Group, Group, Not, Background, Condition]
    match body:
        case (
            AndOr(operators=("&&", "||")),
            If(branches=(_, _), otherwise=(Command(),)),
            Loop(kind="while"),
            Loop(kind="until"),
            Loop(kind="for"),
            Case(items=((patterns, _), _)),
            Group(subshell=True),
            Group(subshell=False, redirects=(redirect,)),
            *_,
        ):
            assert [pattern.raw for pattern in patterns] == ["1*", "2"]
            assert redirect.target.raw == "f"
        case _:
            pytest.fail(str(body))


def test_commands_in_substitutions_and_functions_are_found() -> None:
    """Every command is found, in the order of the source, however it is wrapped."""
    text = 'f() { a; }\nx=$(b "$(c)" | d)\necho "`e`" <(g)\ntrap h EXIT\n'
    assert [name for name in names(text) if name] == ["a", "b", "c", "d", "echo", "e", "g", "trap"]


def test_redirection_after_a_list_is_that_of_its_last_command() -> None:
    """The shell reads `a && b > f` as `a && (b > f)`."""
    match parse("a && b > f").body:
        case (AndOr(items=(Command(redirects=()), Command(redirects=(redirect,)))),):
            assert redirect.target.raw == "f"
        case other:
            pytest.fail(str(other))


def test_comparisons() -> None:
    """What is compared with what, in both kinds of test."""
    first, second = (
        node
        for node in walk(parse('[ "$?" -eq 0 ] && [[ $r == 1* && ! -f "$y" ]]').body)
        if isinstance(node, Condition)
    )
    assert [(part.left and part.left.raw, part.operator, part.right.raw) for part in first.comparisons] == [
        ('"$?"', "-eq", "0")
    ]
    assert {
        (part.left.raw if part.left else "", part.operator, part.right.raw) for part in second.comparisons
    } == {
        ("$r", "==", "1*"),
        ("", "-f", '"$y"'),
    }


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("a'b c'\"d\"", "ab cd"),
        ('"$DIR/x"', "/logs/x"),
        ("${DIR}/x", "/logs/x"),
        ("${NONE:-/d/$DIR}", "/d//logs"),
        ("${DIR:-no}", "/logs"),
        ("${NONE:-${OTHER:-deep}}", "deep"),
        ("$NONE", "$NONE"),
        ('"$(dirname "$0")/x.py"', "$(…)/x.py"),
        ("'$DIR'", "$DIR"),
        ("\\$DIR", "$DIR"),
    ],
)
def test_words_are_resolved_as_far_as_known(word: str, text: str) -> None:
    """Known variables and defaults are put in; the rest stays recognizable."""
    assert ShellWord(raw=word).resolve({"DIR": "/logs"}) == text


def test_faults_and_carriage_returns_have_lines() -> None:
    """The first line that is no shell, and the first that ends in a carriage return."""
    assert parse("true\nif a; then\n").bad_line is not None
    assert parse("true\n").bad_line is None
    assert parse("true\ntrue\r\n").crlf == 2
    assert parse("a \\\r\n b\r\n").body == parse("a \\\n b\n").body


_PIECES = st.sampled_from(
    [
        *(
            "if ",
            "then ",
            "else ",
            "fi",
            "for ",
            "do ",
            "done",
            "while ",
            "case ",
            "esac",
            "in ",
            ";;",
            "{ ",
            "}",
        ),
        *(
            "(",
            ")",
            "$(",
            "`",
            '"',
            "'",
            "$",
            "${",
            "<<E",
            "E\n",
            "\n",
            ";",
            "&",
            "&&",
            "||",
            "|",
            "!",
            "[[ ",
            "]]",
        ),
        *("[ ", "]", "=", ">", "<", "#", "\\", "a", " ", "é", "日", "\U0010ffff", "\0", "f()"),
    ]
)


@pytest.mark.parametrize("wide", ["日", "\U0001f40d", "ж", "\u2028", "é"])
def test_characters_of_any_width_are_read_as_they_are(wide: str) -> None:
    """Where the grammar asks what a character is, it gets one that it knows; the words keep theirs."""
    pieces = ["$", "${", "[[ a =~ ", "<<", "<<-", "=", "(", "$((", "`", "{a..", "case a in "]
    for piece in pieces:
        parse(f"echo a\n{piece}{wide}\n{wide}\n")
    echo, cat = parse(f"echo {wide}a > /logs/{wide}\ncat > a <<E\n{wide} x\nE\n").commands()
    assert echo.words[1].raw == f"{wide}a"
    assert cat.redirects[-1].text == f"{wide} x\n"


@settings(max_examples=300, deadline=None)
@given(st.lists(_PIECES, max_size=40).map("".join) | st.text(max_size=150))
def test_no_text_is_too_mangled(text: str) -> None:
    """Whatever the text, there is a tree, with lines within the file."""
    script = parse_shell(text.encode("utf-8", "replace"))
    for node in walk(script.body):
        assert 1 <= node.line <= text.count("\n") + 1
    for command in script.commands():
        assert isinstance(command.name, str)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=150))
def test_no_bytes_are_too_mangled(source: bytes) -> None:
    """Bytes that are no text are read all the same."""
    for node in walk(parse_shell(source).body):
        assert node.line >= 1


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "$(" * 5_000 + "a" + ")" * 5_000,
        "if a; then " * 3_000 + "b\n" + "fi;" * 3_000,
        "a" * 5_000_000,
        '"${a:-' * 30_000,
        "echo a > b\n" * 100_000,
        "echo a > b\n" * 20_000,
        "cat <<A | " * 10_000,
        "a" + " && a" * 40_000,
        "[[ " + "( " * 30_000 + "a" + " )" * 30_000 + " ]]",
        "a0=x\n" + "".join(f"a{n + 1}=$a{n}$a{n}\n" for n in range(200)),
    ],
    ids=range(11),
)
def test_enormous_scripts_come_to_an_end(text: str) -> None:
    """Deep nesting, a line of megabytes and a hundred thousand lines are read, or told to be too large."""
    script = parse(text)
    assert script.too_large == (len(text) > MAX_SOURCE)
    known: dict[str, str] = {}
    for command in script.commands():
        known |= {name: value.resolve(known) for name, value in command.assignments}
        assert all(word.resolve(known) is not None for word in command.words)


@pytest.mark.parametrize("sign", [b"[a](", b"||", b"<<A\n"])
def test_script_that_costs_the_square_of_its_length_is_given_up(
    sign: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After its time nothing is said of a script, and the next one is parsed as ever."""
    monkeypatch.setattr("seatrials.parse.shell.MAX_SECONDS", 0.2)
    parse_shell.cache_clear()
    assert parse_shell(sign * 50_000).too_large
    parse_shell.cache_clear()
    assert [command.name for command in parse_shell(b"echo a\n" * 3000).commands()] == ["echo"] * 3000


def test_time_limit_holds_within_the_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal that ends a task's time is heeded once the parser has given up, and is not lost in it."""
    monkeypatch.setattr("seatrials.parse.shell.MAX_SECONDS", 0.5)
    parse_shell.cache_clear()
    with pytest.raises(OutOfTime), time_limit(0.05):
        parse_shell(b"[a](" * 50_000)
