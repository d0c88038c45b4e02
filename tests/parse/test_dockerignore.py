"""`.dockerignore` leaves out what BuildKit leaves out."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrials.parse.dockerignore import ignore_of, parse_ignore, without_ignored


@dataclass
class File:
    """A file of a context."""

    content: bytes = b""
    kind: str = "file"

    def read(self) -> bytes:
        """Return the content."""
        return self.content


@pytest.mark.parametrize(
    ("patterns", "out", "kept"),
    [
        ("*.log", ["a.log"], ["logs/a.log", "a.log.txt"]),
        ("**/*.log", ["a.log", "x/y/a.log"], ["a.logs"]),
        ("**.log", ["a.log", "x/a.log"], ["a.txt"]),
        ("docs", ["docs", "docs/a", "docs/x/y"], ["x/docs", "docs2"]),
        ("/docs/", ["docs/a"], ["x/docs/a"]),
        ("docs/**", ["docs/a", "docs/x/y"], ["docs"]),
        ("a/**/z", ["a/z", "a/b/z", "a/b/c/z", "a/b/z/q"], ["a/zz", "z"]),
        ("*\n!data", ["x", "y/z"], ["data", "data/a.csv"]),
        ("docs\n!docs/keep.md", ["docs/a"], ["docs/keep.md"]),
        ("docs\n!docs/*.md\ndocs/no.md", ["docs/no.md", "docs/a"], ["docs/yes.md"]),
        ("# *\n\n  a.txt  \n", ["a.txt"], ["# *", "b.txt"]),
        (" # a", ["# a"], ["a"]),
        ("[a-c].txt\n[^x]y", ["b.txt", "zy"], ["d.txt", "xy"]),
        ("te?t", ["test"], ["tet", "te/t"]),
        ("\\*", ["*"], ["a"]),
        ("./a/../b", ["b"], ["a"]),
        ("a**", ["ab", "ab/c"], ["ba"]),
        (".", [], ["a"]),
        ("\ufeffa", ["a"], ["b"]),
    ],
)
def test_patterns(patterns: str, out: list[str], kept: list[str]) -> None:
    """Each pattern takes out what it should, by itself or through a folder above, and nothing else."""
    ignore = parse_ignore(patterns.encode())
    assert [path for path in out if not ignore.excludes(path)] == []
    assert [path for path in kept if ignore.excludes(path)] == []


@pytest.mark.parametrize("pattern", ["[", "a[b", "!", "\\", "[b-a]"])
def test_pattern_that_is_not_well_formed_is_told(pattern: str) -> None:
    """It has its line, and the others still hold."""
    ignore = parse_ignore(f"x\n{pattern}\n".encode())
    assert ignore.bad == ((2, pattern),)
    assert ignore.excludes("x")


def test_dockerfile_and_ignore_file_are_always_sent() -> None:
    """A pattern that names them takes nothing from the builder."""
    files = {"Dockerfile": File(), ".dockerignore": File(b"*\n!a"), "a": File(), "b": File()}
    assert set(without_ignored(files)) == {"Dockerfile", ".dockerignore", "a"}


def test_ignore_file_of_the_dockerfile_wins() -> None:
    """`Dockerfile.dockerignore` holds instead of `.dockerignore`; a link holds nothing."""
    files = {"Dockerfile.dockerignore": File(b"a"), ".dockerignore": File(b"b"), "a": File(), "b": File()}
    assert ignore_of(files)[0] == "Dockerfile.dockerignore"
    assert set(without_ignored(files)) == set(files) - {"a"}
    assert set(without_ignored({".dockerignore": File(b"b", kind="link"), "b": File()})) == {
        ".dockerignore", "b",
    }  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(
    st.text(alphabet="*?[]!/\\.ab^-\n", max_size=40),
    st.lists(st.text(alphabet="ab./*", min_size=1, max_size=12), max_size=4),
)
def test_no_pattern_is_too_mangled(text: str, paths: list[str]) -> None:
    """Whatever the patterns, each path has an answer."""
    ignore = parse_ignore(text.encode())
    for path in paths:
        assert ignore.excludes(path) in {True, False}


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 100 + "b", "a" * 255),
        ("**/*a*/" * 30 + "b", "aaa/" * 500 + "c"),
        ("**/a/" * 50 + "b", "a/" * 2_000 + "c"),
        ("**/*a" * 20, "a/" * 200),
        ("[" * 5_000, "a"),
        ("*\n" * 50_000, "a/b/c"),
    ],
    ids=range(6),
)
def test_hostile_patterns_come_to_an_end(pattern: str, path: str) -> None:
    """No pattern takes time that grows with the ways it could match."""
    assert parse_ignore(pattern.encode()).excludes(path) in {True, False}
