"""The Dockerfile parser reads what BuildKit reads, and never stops at a fault."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrials.parse.dockerfile import (
    MAX_INSTRUCTIONS,
    MAX_SOURCE,
    Dockerfile,
    Instruction,
    expand,
    parse_dockerfile,
)


def parse(text: str) -> Dockerfile:
    """Parse a text."""
    return parse_dockerfile(text.encode())


def only(text: str) -> Instruction:
    """Return the last instruction of a Dockerfile that starts with a `FROM`."""
    return parse(f"FROM a\n{text}").instructions[-1]


def test_continuations_pass_over_comments_and_empty_lines() -> None:
    """A continued line goes on after comments and empty lines, and says where it ends."""
    found = only("RUN one \\\n  # a comment\n\n  two\n")
    assert (found.line, found.end_line) == (2, 5)
    assert found.rest.split() == ["one", "two"]


def test_escape_directive_changes_the_continuation() -> None:
    """With the backtick as escape, a backslash at the end of a line continues nothing."""
    dockerfile = parse("# escape=`\nFROM a\nRUN a `\n  b\nRUN c\\\nRUN d\n")
    assert [found.rest for found in dockerfile.instructions] == ["a", "a   b", "c\\", "d"]
    assert dockerfile.escape == "`"


def test_directive_after_a_comment_is_a_comment() -> None:
    """Directives come first, or not at all."""
    assert parse("# hello\n# escape=`\nFROM a\n").escape == "\\"
    assert parse("# syntax=docker/dockerfile:1\nFROM a\n").syntax == "docker/dockerfile:1"


def test_carriage_returns_and_byte_order_mark_are_no_part_of_the_text() -> None:
    """A file of Windows has the same instructions."""
    dockerfile = parse("\ufeffFROM a\r\nRUN b \\\r\n  c\r\n")
    assert [found.args for found in dockerfile.instructions] == [("a",), ("b", "c")]
    assert not dockerfile.problems


def test_heredocs_belong_to_their_instruction() -> None:
    """The text of a heredoc is no instruction; several follow each other."""
    found = only('COPY <<one.txt <<-"two.txt" /d/\nFROM x\none.txt\n\tindented $A\n\ttwo.txt\n')
    assert [(document.name, document.text, document.expand) for document in found.heredocs] == [
        ("one.txt", "FROM x\n", True),
        ("two.txt", "indented $A\n", False),
    ]
    assert (found.line, found.end_line) == (2, 6)


@pytest.mark.parametrize(
    "line",
    ["RUN echo '<<END'", "RUN cat << END", "RUN echo $((1<<2))", 'RUN ["cat", "<<END"]', "CMD cat <<END"],
)
def test_what_only_looks_like_a_heredoc_is_none(line: str) -> None:
    """Quotes, a blank after `<<`, arithmetic, the JSON form and `CMD` start no heredoc."""
    assert only(line).heredocs == ()


def test_json_form_keeps_blanks() -> None:
    """In the JSON form a blank is part of a name; what is no array of strings is split or told."""
    assert only('COPY ["my file", "/to/"]').values == ("my file", "/to/")
    assert only("RUN [ -f x ]").args == ("[", "-f", "x", "]")
    assert [problem.line for problem in parse('FROM a\nCMD ["a", 1]\n').problems] == [2]


def test_flags_are_taken_off() -> None:
    """Flags stand before the arguments, with or without a value."""
    found = only("COPY --from=base --link --chmod=755 a b /c/")
    assert (found.flag("from"), found.flag("link"), found.flag("chown")) == ("base", "", None)
    assert found.args == ("a", "b", "/c/")


def test_arguments_and_variables_are_replaced_where_known() -> None:
    """`ARG` defaults, `ENV` and global arguments that a stage asks for are known; others are not."""
    dockerfile = parse(
        "ARG TAG=slim\nARG DIR=data\nFROM debian:${TAG} AS one\n"
        "ARG DIR\nENV FILE=$DIR/a.csv\nCOPY ${FILE} ${OTHER:-/b}/ ${NOPE} /c\n"
        "FROM one\nCOPY $FILE $DIR ${TAG} /d\n"
    )
    assert [stage.base for stage in dockerfile.stages] == ["debian:slim", "one"]
    first, second = (found for found in dockerfile.instructions if found.name == "COPY")
    assert first.values == ("data/a.csv", "/b/", None, "/c")
    assert second.values == ("data/a.csv", "data", None, "/d")


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("$A-x", "1-x"),
        ("'$A'", "$A"),
        ('"$A"', "1"),
        ("\\$A", "$A"),
        ("${A:+yes}${B:+no}", "yes"),
        ("${B-${A}}", "1"),
        ("${E:-two}${E-two}", "two"),
        ("${A%x}", None),
        ("$B", None),
        ("$", "$"),
    ],
)
def test_forms_of_variables(word: str, value: str | None) -> None:
    """Each form that BuildKit replaces gives its value, and None where it is not known here."""
    assert expand(word, {"A": "1", "E": ""}) == value


def test_working_directory_is_followed_through_stages() -> None:
    """A relative `WORKDIR` is below the last one; one below the base image's is not known."""
    dockerfile = parse(
        "FROM a AS x\nRUN b\nWORKDIR /one\nWORKDIR two\nRUN c\nFROM x\nRUN d\nFROM e\nWORKDIR sub\nRUN f\n"
    )
    assert [found.workdir for found in dockerfile.instructions if found.name == "RUN"] == [
        "", "/one/two", "/one/two", None,
    ]  # fmt: skip


def test_stages_are_found_by_name_and_number() -> None:
    """`--from` means an earlier stage only, without regard to case."""
    dockerfile = parse("FROM a AS Base\nFROM b AS later\n")
    found = dockerfile.stage_named("BASE", before=1)
    assert found is not None
    assert found.index == 0
    assert dockerfile.stage_named("0", before=1) == found
    assert dockerfile.stage_named("later", before=1) is None
    assert dockerfile.stage_named("1", before=1) is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("FROM a\nRUM b\n", 2),
        ("FROM a\nCOPY only-one\n", 2),
        ("FROM a b\n", 1),
        ("FROM a\nRUN <<END\nnever ends\n", 2),
        ("FROM a\nCOPY --frm=x a b\n", 2),
        ("RUN a\nFROM a\n", 1),
        ("FROM a\nENV A\n", 2),
        ("FROM a\nLABEL a=b c\n", 2),
        ('FROM a\nCOPY "a b" /c\n', 2),
        ("# escape=x\nFROM a\n", 1),
        ("# escape=`\n# escape=`\nFROM a\n", 2),
        ("FROM a\n\\\n", 2),
    ],
)
def test_faults_are_told_and_the_rest_is_read(text: str, line: int) -> None:
    """What a builder refuses is a problem with its line; `FROM` is still there."""
    dockerfile = parse(text)
    assert line in {problem.line for problem in dockerfile.problems}
    assert [stage.base for stage in dockerfile.stages] == ["a"]


_PIECES = st.sampled_from(
    [
        *(
            "FROM a\n",
            "RUN ",
            "COPY ",
            "ADD ",
            "ENV ",
            "ARG ",
            "WORKDIR ",
            "ONBUILD ",
            "LABEL ",
            "<<E",
            "<<-E",
        ),
        *(
            "E\n",
            "\n",
            "\\\n",
            "\\",
            "[",
            '"',
            "'",
            "]",
            ",",
            "--from=",
            "$",
            "${",
            "}",
            ":-",
            "# escape=`\n",
        ),
        *("`", "=", "a", " ", "\t", "\r\n", "é", "\0"),
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(_PIECES, max_size=40).map("".join) | st.text(max_size=200))
def test_no_text_is_too_mangled(text: str) -> None:
    """Whatever the text, there is an answer: lines within the file, one stage for each `FROM`."""
    dockerfile = parse_dockerfile(text.encode("utf-8", "replace"))
    count = text.count("\n") + 1
    for found in dockerfile.instructions:
        assert 1 <= found.line <= found.end_line <= count
        assert -1 <= found.stage < len(dockerfile.stages)
    assert len(dockerfile.stages) == sum(found.name == "FROM" for found in dockerfile.instructions)
    assert all(problem.line >= 1 for problem in dockerfile.problems)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_are_too_mangled(source: bytes) -> None:
    """Bytes that are no text are read all the same."""
    parse_dockerfile(source)


@pytest.mark.parametrize(
    "text",
    [
        "FROM a\nRUN " + "b" * 5_000_000,
        "FROM a\n" + "RUN b\n" * 100_000,
        "FROM a\nRUN " + "b \\\n" * 100_000,
        "FROM a\nCOPY " + "${" * 100_000,
        "FROM a\nCOPY " + "${A:-" * 50_000 + "}" * 50_000 + " b",
        "FROM a\nCOPY " + "<<A " * 20_000 + "x\n",
        "FROM a\nCOPY " + "[" * 100_000,
        "FROM a\nENV A=xx\n" + "ENV A=$A$A\n" * 1_000 + "COPY $A /b\n",
        "ONBUILD " * 50_000,
    ],
    ids=lambda text: text[:16] + "…",
)
def test_enormous_files_come_to_an_end(text: str) -> None:
    """A file far beyond any real one is cut, and says so, or is read."""
    dockerfile = parse(text)
    assert len(dockerfile.instructions) <= MAX_INSTRUCTIONS
    if len(text) > MAX_SOURCE:
        assert any("only the first" in problem.message for problem in dockerfile.problems)
