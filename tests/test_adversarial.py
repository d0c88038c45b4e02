"""Tasks built to stop a check end in findings: no exception, no dead process, nothing left running."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from seatrials.judge.pool import Options, check_all
from seatrials.task.package import TaskPackage

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")

DEEP = 20_000


def frontmatter(text: str) -> str:
    """Return a document with this text added to its frontmatter."""
    return f"---\nschema_version: '1.3'\ntask: {{name: a/b}}\n{text}\n---\n\n## prompt\n\nWrite /root/x.\n"


def in_file(path: str, content: str | bytes) -> Callable[[Path], None]:
    """Return what writes a file of a task."""

    def spoil(task: Path) -> None:
        target = task / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())

    return spoil


def sparse(task: Path) -> None:
    """Put in files that claim to be large and hold nothing, one of them a script."""
    for path in ("environment/huge.bin", "verifier/helper.sh"):
        with (task / path).open("wb") as stream:
            stream.truncate(64 * 1024**2)


def deep_folders(task: Path) -> None:
    """Nest folders as deep as a path may be long."""
    here = task / "environment"
    for _ in range(900):
        here /= "d"
    here.mkdir(parents=True)
    (here / "leaf").write_bytes(b"")


def many_files(task: Path) -> None:
    """Put in some thousands of files."""
    folder = task / "environment" / "many"
    folder.mkdir()
    for number in range(3_000):
        (folder / str(number)).write_bytes(b"")


def circle_of_links(task: Path) -> None:
    """Link folders in a circle, and files to themselves."""
    (task / "environment" / "a").symlink_to("b")
    (task / "environment" / "b").symlink_to("a")
    (task / "environment" / "up").symlink_to("..")
    (task / "verifier" / "self.sh").symlink_to("self.sh")


def devices(task: Path) -> None:
    """Put pipes where files are read, which would wait for a writer for ever."""
    for path in ("verifier/test.sh", "environment/Dockerfile"):
        (task / path).unlink()
        os.mkfifo(task / path)


def bomb(levels: int) -> str:
    """Return YAML whose aliases unfold to ten to the power of `levels` items."""
    first = "x0: &x0 [a, a, a, a, a, a, a, a, a, a]"
    return "\n".join([first, *(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 10)}]" for n in range(1, levels))])


CASES: dict[str, Callable[[Path], None]] = {
    "deep flow sequences": in_file("task.md", frontmatter("metadata: " + "[" * DEEP)),
    "deep flow mappings": in_file("task.md", frontmatter("metadata: " + "{a: " * DEEP + "}" * DEEP)),
    "deep block mappings": in_file(
        "task.md", frontmatter("\n".join(" " * n + f"k{n}:" for n in range(3_000)))
    ),
    "alias bomb": in_file("task.md", frontmatter("metadata:\n  " + bomb(9).replace("\n", "\n  "))),
    "recursive alias": in_file("task.md", frontmatter("metadata: &m\n  again: *m")),
    "many keys": in_file("task.md", frontmatter("\n".join(f"k{n}: {n}" for n in range(5_000)))),
    "huge number": in_file("task.md", frontmatter("agent: {timeout_sec: " + "9" * 100_000 + "}")),
    "endless line": in_file("task.md", frontmatter("metadata: {note: " + "a " * 1_000_000 + "}")),
    "many fences": in_file("task.md", "---\n" * 50_000),
    "many headings": in_file("task.md", frontmatter("") + "## prompt\n" * 20_000),
    "nul bytes": in_file("task.md", b"\0" * 1_000_000),
    "many heredocs": in_file("environment/Dockerfile", "FROM a\n" + "RUN cat <<A <<B\nx\nA\ny\nB\n" * 3_000),
    "endless continuation": in_file("environment/Dockerfile", "FROM a\nRUN x \\\n" + " \\\n" * 100_000),
    "endless instruction": in_file("environment/Dockerfile", "FROM a\nCOPY " + "a " * 200_000 + "/x\n"),
    "nested variables": in_file("environment/Dockerfile", "FROM a\nCOPY " + "${a:-" * 5_000 + " /x\n"),
    "wildcards": in_file("environment/Dockerfile", "FROM a\nCOPY " + "*?[a-z]" * 2_000 + " /x\n"),
    "deep substitutions": in_file("verifier/test.sh", "#!/bin/bash\necho " + "$(" * DEEP),
    "deep subshells": in_file("verifier/test.sh", "#!/bin/bash\n" + "(" * DEEP + "a" + ")" * DEEP),
    "deep conditions": in_file(
        "verifier/test.sh", "#!/bin/bash\n" + "if a; then\n" * 5_000 + "b\n" + "fi\n" * 5_000
    ),
    "endless pipeline": in_file("verifier/test.sh", "#!/bin/bash\n" + "a | " * 50_000 + "b\n"),
    "endless quotes": in_file("verifier/test.sh", "#!/bin/bash\n" + "\"'" * 200_000),
    "many functions": in_file("verifier/test.sh", "#!/bin/bash\n" + "f() { f; f; }\n" * 5_000 + "f\n"),
    "deep python": in_file("verifier/test_outputs.py", "x = " + "(" * DEEP + ")" * DEEP),
    "waiver flood": in_file(
        "task.md", frontmatter("metadata: {seatrials: {waivers: [" + "{code: X}," * 5_000 + "]}}")
    ),
    "sparse files": sparse,
    "deep folders": deep_folders,
    "many files": many_files,
    "circle of links": circle_of_links,
    "pipes": devices,
}


@pytest.mark.parametrize("spoil", CASES.values(), ids=CASES)
def test_hostile_task_ends_in_findings(spoil: Callable[[Path], None], native_task: Path) -> None:
    """A file that is nested, enormous or malformed costs no exception, no process and no time limit."""
    spoil(native_task)
    (report,) = check_all([TaskPackage(native_task)], Options(), jobs=1)
    faults = [finding for finding in report.findings if finding.code.startswith("KIT")]
    assert faults == []
    assert report.content_hash


HARBOR: dict[str, Callable[[Path], None]] = {
    "deep arrays": in_file("task.toml", "x = " + "[" * DEEP),
    "deep tables": in_file("task.toml", "[" + ".".join(["a"] * DEEP) + "]\n"),
    "deep dotted keys": in_file("task.toml", ".".join(["a"] * DEEP) + " = 1\n"),
    "many tables": in_file("task.toml", "".join(f"[a{n}]\nb = 1\n" for n in range(5_000))),
    "many array tables": in_file("task.toml", "[[steps]]\nname = 'a'\n" * 5_000),
    "huge number": in_file("task.toml", "x = " + "9" * 100_000),
    "endless prompt": in_file("instruction.md", "a" * 9_000_000),
}


@pytest.mark.parametrize("spoil", HARBOR.values(), ids=HARBOR)
def test_hostile_harbor_task_ends_in_findings(spoil: Callable[[Path], None], harbor_task: Path) -> None:
    """The same of a `task.toml`."""
    spoil(harbor_task)
    (report,) = check_all([TaskPackage(harbor_task)], Options(), jobs=1)
    assert [finding for finding in report.findings if finding.code.startswith("KIT")] == []
