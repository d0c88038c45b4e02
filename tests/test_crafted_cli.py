"""Tasks and suites built to stop a check, through the command: it ends, and each is a finding or a line."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gates.gate_cases import CHECKS, HEAD, PROMPT, SOLVE, TEST, Case

LINE = 50_000_000
"""Bytes of an endless line."""

MANY = 100_000
DEEP = 20_000

HURRY = """\
import sys
from seatrials.cli import main
from seatrials.rules import limits
limits.SECONDS = {seconds}
sys.exit(main(sys.argv[1:]))
"""


def check(home: Path, *words: str, seconds: float = 10.0) -> tuple[int, dict[str, Any], str]:
    """Run `seatrials check` on a collection; returns its exit code, its report and what it said beside it."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            HURRY.format(seconds=seconds),
            "check",
            "--format",
            "json",
            "--no-cache",
            *words,
        ],
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr


def collection(tmp_path: Path, files: dict[str, str | bytes]) -> Path:
    """Write a collection with a good task, and one with these files."""
    for name, own in (("crafted", files), ("good", {})):
        texts = {path: text for path, text in own.items() if isinstance(text, str)}
        folder = Case(code="", name="", found=True, files=texts).build(tmp_path / "build")
        for path, data in own.items():
            if isinstance(data, bytes):
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(data)
        (tmp_path / "home" / "tasks").mkdir(parents=True, exist_ok=True)
        folder.rename(tmp_path / "home" / "tasks" / name)
    return tmp_path / "home"


def codes(report: dict[str, Any], name: str = "crafted") -> set[str]:
    """Return the codes that a task got."""
    (task,) = (task for task in report["tasks"] if Path(task["path"]).name == name)
    return {finding["code"] for finding in task["findings"]}


def document(body: str = PROMPT) -> str:
    """Return a good task's `task.md` with another prompt."""
    head = 'schema_version: "1.3"\ntask: {name: gates/case}\nmetadata: {author_hub: gates}\n'
    limits = "agent: {timeout_sec: 60}\nverifier: {timeout_sec: 60}\nsandbox: {}\n"
    return f"---\n{head}{limits}---\n\n## prompt\n\n{body}"


ENDLESS = b"a " * (LINE // 2)
LINES: dict[str, tuple[str, bytes, str]] = {
    "prompt": ("task.md", document().encode(), "FIL111"),
    "Dockerfile": ("environment/Dockerfile", f"{HEAD}RUN echo ".encode(), "FIL111"),
    "test.sh": ("verifier/test.sh", f"{TEST}echo ".encode(), "FIL111"),
    "test_outputs.py": ("verifier/test_outputs.py", f"{CHECKS}X = '".encode(), "VER110"),
    "solution": ("oracle/solve.sh", f"{SOLVE}echo ".encode(), "FIL111"),
    "data": ("environment/data.csv", b"", ""),
}


@pytest.mark.parametrize("name", LINES)
def test_line_of_fifty_megabytes(name: str, tmp_path: Path) -> None:
    """An endless line is told of where it is read, and costs neither the time of its task nor a fault."""
    path, start, code = LINES[name]
    _, report, _ = check(collection(tmp_path, {path: start + ENDLESS}))
    found = codes(report)
    assert not {item for item in found if item.startswith("KIT")}
    assert not code or code in found


@pytest.mark.parametrize(
    ("folder", "number"),
    [
        ("environment/many", MANY),
        ("verifier/many", MANY // 5),
        ("oracle/many", MANY // 5),
        ("prompts", MANY // 5),
    ],
)
def test_very_many_files(folder: str, number: int, tmp_path: Path) -> None:
    """A hundred thousand files end in a finding, that of a limit or that of the time."""
    home = collection(tmp_path, {"environment/Dockerfile": f"{HEAD}COPY . /app/\n"})
    many = home / "tasks" / "crafted" / folder
    many.mkdir(parents=True)
    for at in range(number):
        os.close(os.open(many / f"f{at}.md", os.O_CREAT | os.O_WRONLY, 0o644))
    _, report, _ = check(home)
    found = codes(report)
    assert found & {"FIL107", "KIT101"}
    assert "KIT102" not in found
    assert codes(report, "good") == set()


NESTED: dict[str, dict[str, str | bytes]] = {
    "frontmatter": {"task.md": "---\nmetadata: " + "[" * DEEP + "\n---\n\n## prompt\n\nx\n"},
    "prompt": {"task.md": document("> " * DEEP + PROMPT)},
    "Dockerfile": {"environment/Dockerfile": f"{HEAD}RUN " + "${a:-" * DEEP},
    "build script": {"environment/Dockerfile": f"{HEAD}RUN " + "(" * DEEP + "pip install x" + ")" * DEEP},
    "test.sh": {"verifier/test.sh": "#!/bin/bash\n" + "if a; then\n" * DEEP + "b\n" + "fi\n" * DEEP},
    "test_outputs.py": {"verifier/test_outputs.py": "x = " + "(" * DEEP + ")" * DEEP},
    "solution": {"oracle/solve.sh": "#!/bin/bash\necho " + "$(" * DEEP},
    "data": {
        "environment/package.json": "[" * DEEP,
        "environment/Dockerfile": f"{HEAD}COPY . .\nRUN npm install\n",
    },
    "folders": {"environment/" + "d/" * 900 + "leaf": "x"},
}


@pytest.mark.parametrize("name", NESTED)
def test_deep_nesting(name: str, tmp_path: Path) -> None:
    """What is nested twenty thousand deep ends in a report, without a fault of a rule."""
    _, report, _ = check(collection(tmp_path, NESTED[name]))
    assert not codes(report) & {"KIT102", "KIT103"}
    assert codes(report, "good") == set()


BOMBS = (
    "[a](",
    "||",
    "<<A\n",
    "a=",
    "Write to /app/x.csv ",
    "must be ",
    "/a",
    "'/a.b' ",
    "\\\n",
    "pip install ",
)
BOMBED: dict[str, Callable[[str], dict[str, str | bytes]]] = {
    "prompt": lambda text: {"task.md": document(PROMPT + text[:390_000])},
    "Dockerfile": lambda text: {"environment/Dockerfile": f"{HEAD}RUN {text[:10_000]}"},
    "test.sh": lambda text: {"verifier/test.sh": TEST + text[:10_000]},
    "test_outputs.py": lambda text: {"verifier/test_outputs.py": CHECKS + text[:400_000]},
    "solution": lambda text: {"oracle/solve.sh": SOLVE + text[:10_000]},
    "data": lambda text: {"environment/data.csv": text[:400_000]},
}


@pytest.mark.parametrize("name", BOMBED)
def test_what_makes_patterns_go_back_and_forth(name: str, tmp_path: Path) -> None:
    """Signs repeated to keep a regular expression or a grammar busy end in a report, each within its time."""
    home = collection(tmp_path, {})
    for number, bomb in enumerate(BOMBS):
        other = collection(tmp_path / str(number), BOMBED[name](bomb * 400_000))
        (other / "tasks" / "crafted").rename(home / "tasks" / f"crafted-{number}")
    _, report, _ = check(home)
    found = {finding["code"] for task in report["tasks"] for finding in task["findings"]}
    assert len(report["tasks"]) == len(BOMBS) + 2
    assert not found & {"KIT102", "KIT103"}


def test_time_that_is_over_is_a_finding_and_the_next_task_is_checked(tmp_path: Path) -> None:
    """The command ends a task that overruns its time with KIT101, refuses it, and checks the others."""
    home = collection(tmp_path, {"verifier/test.sh": TEST + "[a](" * 60_000})
    code, report, _ = check(home, seconds=1.0)
    assert "KIT101" in codes(report)
    assert code == 1
    assert report["summary"]["gates"]["rejected"] == 1
    assert codes(report, "good") == set()


@pytest.mark.parametrize(
    "text",
    [ENDLESS, b"[" * 5_000_000, b'{"a":' * 1_000_000, b"\0" * LINE, b'{"format": "seatrials fingerprint 1"'],
    ids=["a line", "deep lists", "deep mappings", "null bytes", "cut off"],
)
def test_suite_that_is_no_fingerprint_is_one_line(text: bytes, tmp_path: Path) -> None:
    """A crafted file in `suites/` ends the run with a line that names it, before any task is read."""
    home = collection(tmp_path, {})
    (home / "suites").mkdir()
    (home / "suites" / "bad.json").write_bytes(text)
    code, report, said = check(home)
    assert (code, report) == (2, {})
    assert said.count("\n") == 1
    assert "`suites/bad.json`" in said


def test_suite_with_a_hundred_thousand_tasks(tmp_path: Path) -> None:
    """A fingerprint of very many tasks is compared with, and finds what is shared."""
    home = collection(tmp_path, {})
    tasks = [{"name": f"task-{number}", "grams": ""} for number in range(MANY)] + [
        {"name": "good", "grams": ""}
    ]
    head = {"format": "seatrials fingerprint 1", "suite": "s", "sealed": False, "evaluated": "all"}
    (home / "suites").mkdir()
    (home / "suites" / "many.json").write_text(json.dumps(head | {"tasks": tasks}))
    _, report, _ = check(home)
    assert codes(report, "good") == {"OVL107"}
