"""The rules about the Dockerfile say nothing of what builds, and find each form of what doesn't."""

from pathlib import Path

import pytest

from seatrials.rules.image import RULES
from seatrials.task.package import TaskPackage

HEAD = "FROM debian:bookworm-slim\nWORKDIR /w\n"


def codes(root: Path, dockerfile: str, *files: str, **special: str) -> set[str]:
    """Return the codes of the rules about the image that find something.

    `files` are made empty, below `environment/`; one that ends in `+x` gets
    its run bit. `special` gives the text of the ignore and the compose file.
    """
    folder = root / "environment"
    folder.mkdir()
    (folder / "Dockerfile").write_text(dockerfile)
    for name in files:
        path = folder / name.removesuffix("+x")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755 if name.endswith("+x") else 0o644)
    for key, text in special.items():
        name = {"ignore": ".dockerignore", "compose": "docker-compose.yaml"}[key]
        (folder / name).write_text(text)
    (root / "task.md").write_text("---\ntask: {name: a/b}\n---\n")
    task = TaskPackage(root)
    return {rule.code for rule in RULES for _ in rule.check(task)}


@pytest.mark.parametrize(
    "body",
    [
        "COPY a.csv /a.csv\nCOPY data/ /data/\nCOPY ./a.csv data/x.csv ./\nCOPY . .",
        'COPY ["with blank.txt", "/x/"]',
        "COPY a.csv b.lock* ./",
        "COPY dat?/*.csv ./\nCOPY [ad]* ./",
        "ARG DIR=data\nENV FILE=${DIR}/x.csv\nCOPY $FILE ${DIR} ./\nCOPY ${UNKNOWN}/x ./",
        "ADD https://example.org/x.tgz /x.tgz",
        "COPY --from=debian:bookworm-slim /etc/hostname /h",
        'COPY run.sh tool /w/\nRUN bash run.sh && /w/tool\nENTRYPOINT ["/w/tool"]',
        "COPY run.sh /w/\nRUN chmod +x /w/run.sh && /w/run.sh",
        'COPY run.sh /w/\nRUN chmod 0755 /w/*.sh\nRUN /w/run.sh\nCMD ["./run.sh"]',
        "COPY run.sh /w/\nRUN chmod -R a+rx /w && ./run.sh",
        "COPY run.sh /w/\nRUN cat /w/run.sh | sh",
        'RUN ["echo", "/w/run.sh"]',
    ],
)
def test_what_builds_is_left_alone(body: str, tmp_path: Path) -> None:
    """Every form of a source that is there, and every way to run a file without its bit, is fine."""
    files = ("a.csv", "data/x.csv", "with blank.txt", "run.sh", "tool+x")
    assert codes(tmp_path, HEAD + body + "\n", *files) == set()


def test_stages_share_what_they_know(tmp_path: Path) -> None:
    """A stage from another has its working directory, and `--from` finds stages by name and number."""
    text = (
        "FROM debian:bookworm-slim AS base\nWORKDIR /w\nFROM base AS next\nCOPY a.csv .\n"
        "FROM scratch\nCOPY --from=0 /w /w\nCOPY --from=NEXT /w/a.csv /a.csv\n"
    )
    assert codes(tmp_path, text, "a.csv") == set()


def test_image_with_its_own_working_directory(tmp_path: Path) -> None:
    """Where a base image works is not known for most, so nothing is said of where a file lands."""
    assert codes(tmp_path, "FROM golang:1.24\nCOPY a.csv .\n", "a.csv") == set()
    assert codes(_below(tmp_path, "b"), "FROM org/image:1\nCOPY a.csv .\n", "a.csv") == set()
    assert codes(_below(tmp_path, "c"), "FROM docker.io/library/python:3.12\nCOPY a.csv .\n", "a.csv") == {
        "IMG108"
    }


def _below(root: Path, name: str) -> Path:
    (root / name).mkdir()
    return root / name


def test_ignore_file_that_keeps_a_source(tmp_path: Path) -> None:
    """A source of which something is sent is not told as left out."""
    assert codes(tmp_path, HEAD + "COPY data ./\n", "data/x.csv", "data/y.tmp", ignore="**/*.tmp\n") == set()


@pytest.mark.parametrize(
    "compose",
    [
        "services:\n  main:\n    build:\n      context: ..\n",
        "services:\n  main:\n    build: ./app\n",
        "services:\n  main:\n    build:\n      context: .\n      args: {X: y}\n",
        "services: [\n",
    ],
)
def test_context_of_a_compose_file_is_not_guessed(compose: str, tmp_path: Path) -> None:
    """Where the agent's service is built from another folder, its sources are not looked for."""
    if "build" not in compose:
        compose = "# build\n" + compose
    assert codes(tmp_path, HEAD + "COPY nothing ./\n", compose=compose) == set()


def test_compose_file_that_builds_this_folder(tmp_path: Path) -> None:
    """A compose file that says what holds anyway changes nothing."""
    compose = "services:\n  main:\n    build: .\n  db:\n    build: ./db\n"
    assert codes(tmp_path, HEAD + "COPY nothing ./\n", compose=compose) == {"IMG102"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("COPY a.csv nothing.csv ./", {"IMG102"}),
        ("ADD nothing/ ./", {"IMG102"}),
        ("COPY /nothing.csv ./", {"IMG102"}),
        ("COPY ../../x ./", {"IMG103"}),
        ("COPY --from=3 /a /b", {"IMG109"}),
        ("COPY run.sh /w/\nRUN cd / && ./w/run.sh && /w/run.sh", {"IMG107"}),
        ("COPY run.sh .\nCMD ./run.sh", {"IMG107"}),
        ("COPY run.sh /usr/bin/start\nRUN /usr/bin/start", {"IMG107"}),
        ("COPY *.csv /data", {"IMG110"}),
        ("COPY a.csv b.csv .", {"IMG110"}),
        ("RUN --mount=type=cache,target=/c true", {"IMG106"}),
        ("COPY --chmod=755 run.sh /w/\nRUN /w/run.sh", {"IMG106"}),
        ("FETCH x", {"IMG101"}),
    ],
)
def test_what_does_not_build_is_found(body: str, expected: set[str], tmp_path: Path) -> None:
    """Each fault gives its own code and no other."""
    assert codes(tmp_path, HEAD + body + "\n", "a.csv", "b.csv", "run.sh") == expected


def test_links_within_the_context_are_followed(tmp_path: Path) -> None:
    """A link to a file beside it is as good as the file; one to the verifier is not."""
    (tmp_path / "environment").mkdir()
    (tmp_path / "verifier").mkdir()
    (tmp_path / "environment" / "link").symlink_to("a.csv")
    (tmp_path / "environment" / "out").symlink_to("../verifier")
    (tmp_path / "environment" / "a.csv").touch()
    (tmp_path / "environment" / "Dockerfile").write_text(HEAD + "COPY link ./b.csv\nCOPY out ./\n")
    (tmp_path / "task.md").touch()
    hits = [(rule.code, hit.line) for rule in RULES for hit in rule.check(TaskPackage(tmp_path))]
    assert hits == [("IMG103", 4)]
