"""What `COPY` takes from the context is what a builder would take."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrials.parse.copies import Context, Copy, copies, place
from seatrials.parse.dockerfile import parse_dockerfile


@dataclass
class File:
    """A file of a context; a link's content is its target."""

    content: bytes = b""
    kind: str = "file"

    def read(self) -> bytes:
        """Return the content."""
        return self.content


def context(*paths: str, ignore: str = "", **links: str) -> Context:
    """Return a context of empty files, and links by name."""
    files = {path: File() for path in paths}
    files |= {name: File(target.encode(), "link") for name, target in links.items()}
    if ignore:
        files[".dockerignore"] = File(ignore.encode())
    return Context.of(files)


def copy(line: str, here: Context, before: str = "WORKDIR /w\n") -> Copy:
    """Return what one instruction copies."""
    return list(copies(parse_dockerfile(f"FROM a\n{before}{line}\n".encode()), here))[-1]


@pytest.mark.parametrize(
    ("line", "outcomes"),
    [
        ("COPY a.csv b.csv /x/", ["found", "missing"]),
        ('COPY ["my file", "x"]', ["missing"]),
        ("COPY ./a.csv /a.csv x", ["found", "found"]),
        ("COPY data/../a.csv x", ["found"]),
        ("COPY ../a.csv ./../../b x/", ["outside", "outside"]),
        ("COPY *.csv *.json d*/x* x/", ["found", "no-match", "found"]),
        ("COPY . x", ["found"]),
        ("COPY data data/ dat x/", ["found", "found", "missing"]),
        ("COPY $A ${B:-a.csv} x/", ["unknown", "found"]),
        ("ADD https://example.org/x.tgz a.csv x/", ["remote", "found"]),
        ("COPY https://example.org/x.tgz x/", ["missing"]),
        ("COPY <<one.txt a.csv x/\ntext\none.txt", ["found"]),
    ],
)
def test_outcomes(line: str, outcomes: list[str]) -> None:
    """Each source of each form has its outcome."""
    here = context("a.csv", "data/x.csv", "data/deep/y.csv")
    assert [source.outcome for source in copy(line, here).sources] == outcomes


def test_what_comes_from_a_stage_or_an_image_is_not_of_the_context() -> None:
    """`--from` takes nothing from the context."""
    dockerfile = parse_dockerfile(b"FROM a AS b\nFROM c\nCOPY --from=b /x /y\nCOPY --from=alpine:3 /x /y\n")
    assert list(copies(dockerfile, context())) == []


def test_ignored_sources() -> None:
    """A source that is left out as a whole is told; one of which something is left is not."""
    here = context("a.csv", "data/x.csv", "data/y.md", "logs/z.log", ignore="**/*.csv\nlogs")
    found = copy("COPY a.csv data logs *.csv /x/", here).sources
    assert [source.outcome for source in found] == ["ignored", "found", "ignored", "ignored"]
    assert found[1].files == ("data/y.md",)


def test_links_are_followed_within_the_context_only() -> None:
    """A link inside is what it leads to; one that leads out, loops or dangles is told."""
    here = context(
        "data/x.csv", inside="data", out="../secret", absolute="/etc/passwd", loop="loop", dangling="nothing"
    )
    found = copy("COPY inside inside/x.csv out absolute loop dangling /x/", here).sources
    assert [source.outcome for source in found] == ["found", "found", "link", "link", "link", "link"]
    assert found[1].files == ("data/x.csv",)


@pytest.mark.parametrize(
    ("line", "targets"),
    [
        ("COPY a.csv /x.csv", {"/x.csv": "a.csv"}),
        ("COPY a.csv /x/", {"/x/a.csv": "a.csv"}),
        ("COPY a.csv .", {"/w/a.csv": "a.csv"}),
        ("COPY a.csv sub/b.csv", {"/w/sub/b.csv": "a.csv"}),
        ("COPY data /d", {"/d/x.csv": "data/x.csv", "/d/deep/y.csv": "data/deep/y.csv"}),
        ("COPY d* /d/", {"/d/x.csv": "data/x.csv", "/d/deep/y.csv": "data/deep/y.csv"}),
        ("COPY data/*.csv /d/", {"/d/x.csv": "data/x.csv"}),
        ("COPY a.csv data/x.csv /d/", {"/d/a.csv": "a.csv", "/d/x.csv": "data/x.csv"}),
    ],
)
def test_targets(line: str, targets: dict[str, str]) -> None:
    """Each file has its place in the image."""
    assert copy(line, context("a.csv", "data/x.csv", "data/deep/y.csv")).targets() == targets


def test_targets_are_not_guessed() -> None:
    """Where the working directory is the base image's, a relative destination has no known place."""
    found = copy("COPY a.csv x/", context("a.csv"), before="")
    assert (found.destination, found.targets()) == ("x/", {})
    assert place(None, "/w") is None


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.text(alphabet="ab*?[]./\\-^", min_size=1, max_size=15), min_size=1, max_size=4),
    st.lists(st.text(alphabet="ab/", min_size=1, max_size=8), max_size=6),
)
def test_no_source_is_too_mangled(sources: list[str], paths: list[str]) -> None:
    """Whatever the sources and the context, each source has an outcome, and takes only what is there."""
    here = context(*paths)
    dockerfile = parse_dockerfile(f"FROM a\nCOPY {' '.join(sources)} /x/\n".encode())
    for found in copies(dockerfile, here):
        for source in found.sources:
            assert set(source.files) <= set(here.files)


def test_wildcards_do_not_backtrack() -> None:
    """A source full of stars takes no longer for it."""
    here = context(*("a" * 200 + str(number) for number in range(50)))
    assert copy("COPY " + "*a" * 100 + "b /x/", here).sources[0].outcome == "no-match"
