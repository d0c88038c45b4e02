"""Our Dockerfile parser gives what BuildKit's own gives, where a build of that is installed."""

import random

import pytest

from seatrials.parse.dockerfile import INSTRUCTIONS, Instruction, parse_dockerfile

buildkit = pytest.importorskip("dockerfile", reason="no wheel of BuildKit's parser for this platform")

_FILES = [
    "FROM a\nRUN <<EOF\necho a\nFROM x\nEOF\nCOPY <<f.txt <<g.txt /d/\nhello\nf.txt\nhi\ng.txt\nRUN ls\n",
    "FROM a\nRUN a \\\n# comment\n\n  b\n",
    "# escape=`\nFROM a\nRUN a `\n  b\n",
    'FROM a\nCOPY ["a b", "c"]\nCOPY --from=x --chmod=755 a b /c/\nCMD [ "a", "b" ]\n',
    "FROM a\r\nRUN a \\\r\n b\r\n",
    "\ufefffrom a as b\nrun c\nEntrypoint d e\n",
    "FROM a\nRUN cat << 'EOF'\nno heredoc\nEOF\n",
    "FROM a\nRUN <<-'EOF' cat\n\tx\n\tEOF\nONBUILD RUN true\n",
    'FROM a\nCOPY [] b\nRUN ["a\nVOLUME a b\nSHELL ["/bin/sh", "-c"]\n',
]
_WORDS = (
    *(
        "FROM a\n",
        "RUN ",
        "COPY ",
        "ADD ",
        "CMD ",
        "ENV a=b ",
        "<<EOF",
        "<<-EOF",
        "<<'E' ",
        "EOF\n",
        "E\n",
        "\n",
    ),
    *(
        "\\\n",
        "\\\n\n",
        "# c\n",
        "[",
        '"a"',
        ",",
        "]",
        " ",
        "--from=x ",
        "$x",
        "a ",
        "b",
        "\t",
        "\r\n",
        "<< ",
    ),
)


def theirs(text: str) -> list[tuple[object, ...]] | None:
    """Return what BuildKit's parser says, None where it refuses the file."""
    try:
        commands = buildkit.parse_string(text)
    except buildkit.GoParseError:
        return None
    out: list[tuple[object, ...]] = []
    for command in commands:
        name = (command.cmd or "").upper()
        known = name in INSTRUCTIONS
        # BuildKit takes the tabs of `<<-` off later.
        documents = [(document.name, document.content.replace("\t", "")) for document in command.heredocs]
        flags = [flag[2:].partition("=")[0] for flag in command.flags] if known else []
        words = " ".join(command.value).split() if known and not command.json else list(command.value)
        shown = words if name in {"COPY", "ADD", "CMD", "VOLUME", "ENTRYPOINT"} else []
        out.append((name, command.start_line, command.end_line, flags, documents, shown))
    return out


def ours(instruction: Instruction) -> tuple[object, ...]:
    """Return the same of one of ours."""
    name = instruction.name
    return (
        name.upper(),
        instruction.line,
        instruction.end_line,
        [flag for flag, _ in instruction.flags],
        [(document.name, document.text.replace("\t", "")) for document in instruction.heredocs],
        list(instruction.args) if name in {"COPY", "ADD", "CMD", "VOLUME", "ENTRYPOINT"} else [],
    )


@pytest.mark.parametrize("text", _FILES, ids=range(len(_FILES)))
def test_written_files(text: str) -> None:
    """Heredocs, continuations, directives, JSON forms and flags are read alike."""
    expected = theirs(text)
    assert expected is not None
    assert [ours(found) for found in parse_dockerfile(text.encode()).instructions] == expected


@pytest.mark.parametrize("seed", range(8))
def test_generated_files(seed: int) -> None:
    """Whatever BuildKit's parser accepts we read alike; whatever it refuses has a problem."""
    chance = random.Random(seed)
    for _ in range(400):
        text = "FROM a\n" + "".join(chance.choice(_WORDS) for _ in range(chance.randint(0, 20)))
        expected = theirs(text)
        dockerfile = parse_dockerfile(text.encode())
        if expected is None:
            assert dockerfile.problems, text
        else:
            # A continuation of nothing is an instruction without a name to BuildKit, and a problem to us.
            named = [found for found in expected if found[0]]
            assert [ours(found) for found in dockerfile.instructions] == named, text
