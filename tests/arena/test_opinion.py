"""The second opinion: the arena's own scripts, written here from its guide, beside our check."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from arena.server import ArenaState
from hub import TOKEN

from seatrials.arena.opinion import findings_in

ROOT = Path(__file__).parents[2]
GOOD = ROOT / "tests" / "good_tasks" / "collection"

CHECK = b"""\
import sys
from pathlib import Path
bad = 0
for task in sorted(Path(sys.argv[1]).iterdir()):
    if not (task / "verifier" / "test.sh").exists() and not (task / "tests" / "test.sh").exists():
        bad = 1
        print(f"\\u2717 {task.name} \\u2014 1 issue(s):\\n  \\u2192 Missing required file: test.sh")
    else:
        print(f"\\u2713 {task.name} \\u2014 valid")
sys.exit(bad)
"""
GATES = b"""\
import json, sys
from pathlib import Path
assert sys.argv[1] == "static"
names = sorted(path.name for path in Path(sys.argv[2]).iterdir())
one = {"task": names[0], "severity": "reject", "code": "D-LEAK", "detail": "grading data"}
found = [one] if REJECT else []
print(json.dumps({"version": "gates-v4", "findings": found, "summary": {"tasks": len(names)}}))
"""


def sha(data: bytes) -> str:
    """Return a script's hash."""
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """Return a copy of the good collection."""
    return Path(shutil.copytree(GOOD, tmp_path / "collection"))


def serve(server: ArenaState, check: bytes = CHECK, gates: bytes = b"REJECT = 0\n" + GATES) -> list[str]:
    """Serve the two scripts and return the words that trust them."""
    server.files |= {"check_task.py": check, "validation_gates.py": gates}
    return ["--trust", sha(check), "--trust", sha(gates)]


def run(collection: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Check a collection with the arena's opinion."""
    return subprocess.run(
        [sys.executable, "-m", "seatrials", "check", "--arena", *words, str(collection)],
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )


def test_where_both_agree_it_is_said_with_url_and_hashes(server: ArenaState, collection: Path) -> None:
    """The scripts are named with their hashes, and that nothing differs."""
    done = run(collection, *serve(server))
    assert done.returncode == 0, done.stderr
    assert f"second opinion of {server.url}" in done.stdout
    assert sha(CHECK) in done.stdout
    assert "it agrees by task and severity about all" in done.stdout


def test_a_difference_is_told_by_task_and_severity_and_fails(server: ArenaState, collection: Path) -> None:
    """What the arena alone rejects is told of its task, and makes the check fail."""
    gates = b"REJECT = 1\n" + GATES
    done = run(collection, *serve(server, gates=gates))
    first = min(path.name for path in (collection / "tasks").iterdir() if path.is_dir())
    assert done.returncode == 1
    assert f"{first}: reject by the arena only: D-LEAK grading data" in done.stdout


def test_what_we_alone_find_is_told(server: ArenaState, collection: Path) -> None:
    """A task that only our check rejects is told of too."""
    first = min(path for path in (collection / "tasks").iterdir() if path.is_dir())
    shutil.copytree(first / "oracle", first / "environment" / "oracle")
    with (first / "environment" / "Dockerfile").open("a") as dockerfile:
        dockerfile.write("\nCOPY oracle /opt/oracle\n")
    done = run(collection, *serve(server))
    assert f"{first.name}: reject by seatrials check only: LEK101" in done.stdout


def test_nothing_runs_that_nobody_trusts(server: ArenaState, collection: Path, tmp_path: Path) -> None:
    """Without a terminal and without `--trust` the URL and the hash are named, and nothing is started."""
    serve(server, check=b"import pathlib; pathlib.Path(%r).touch()" % str(tmp_path / "ran").encode())
    done = run(collection)
    assert done.returncode == 1
    assert f"{server.url}/check_task.py" in done.stderr
    assert "--trust" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_a_hash_is_remembered_until_it_changes(server: ArenaState, collection: Path) -> None:
    """The same scripts need no word the next time; a changed one is refused until it is named."""
    assert run(collection, *serve(server)).returncode == 0
    assert run(collection).returncode == 0
    serve(server, check=CHECK + b"# new\n")
    done = run(collection)
    assert done.returncode == 1
    assert sha(CHECK + b"# new\n") in done.stderr


def test_the_scripts_see_no_token_and_can_spoil_nothing(server: ArenaState, collection: Path) -> None:
    """No variable and no file leads to the token; what they write goes into a copy."""
    spy = b"""\
import os, sys
from pathlib import Path
for path in Path(sys.argv[1]).rglob("*"):
    if path.is_file():
        path.write_text("spoilt")
print("reject", dict(os.environ), Path("~/.cache/huggingface/token").expanduser().exists())
sys.exit(3)
"""
    before = {path: path.read_bytes() for path in collection.rglob("*") if path.is_file()}
    done = run(collection, *serve(server, check=spy))
    assert done.returncode == 0
    assert "ended with 3, and what it printed can't be read" in done.stdout
    assert "nothing is concluded" in done.stdout
    assert "False" in done.stdout
    assert TOKEN not in done.stdout + done.stderr
    assert os.environ["HF_TOKEN"] == TOKEN
    assert before == {path: path.read_bytes() for path in collection.rglob("*") if path.is_file()}


def test_json_has_the_opinion_as_the_schema_says(server: ArenaState, collection: Path) -> None:
    """The report for programs has the scripts and the differences."""
    done = run(collection, *serve(server, gates=b"REJECT = 1\n" + GATES), "--format", "json")
    report = json.loads(done.stdout)
    jsonschema.validate(report, json.loads((ROOT / "docs" / "check.schema.json").read_text()))
    assert [script["name"] for script in report["arena"]["scripts"]] == [
        "check_task.py",
        "validation_gates.py",
    ]
    assert report["arena"]["differences"][0]["by"] == "arena"


def test_an_arena_without_the_scripts_is_one_line(server: ArenaState, collection: Path) -> None:
    """Where they can't be fetched that is said, and our own report is there all the same."""
    done = run(collection)
    assert done.returncode == 1
    assert "1 clean" in done.stdout
    assert "check_task.py" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


NAMES = frozenset({"sort-logs", "sort", "fit.v2"})


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("✓ sort-logs — valid\n✗ sort — 1 issue(s):\n  → no prompt\n", [("sort", "error", "", "no prompt")]),
        ("ERROR sort: no prompt\nchecked\n", [("sort", "error", "", "no prompt")]),
        ("- [reject] envs/sort: D-LEAK the answer\n", [("sort", "reject", "D-LEAK", "the answer")]),
        ("the review of sort: done\n", []),
        ("sort-logs: reject D-LEAK: it is there\n", [("sort-logs", "reject", "D-LEAK", "it is there")]),
        ("envs/fit.v2\n  - [review] D-NAME named so\n", [("fit.v2", "review", "D-NAME", "named so")]),
        ("sort: warning: no license\nsort-logs: ok\n", [("sort", "warning", "", "no license")]),
        ('{"findings": [{"task": "envs/sort", "severity": "controls", "code": "C", "message": "m"}]}',
         [("sort", "controls", "C", "m")]),
        ('{"tasks": {"sort-logs": {"findings": [{"severity": "block", "code": "B", "detail": "d"}]}}}',
         [("sort-logs", "block", "B", "d")]),
        ('[{"package": "fit.v2", "findings": [{"severity": "Review", "reason": "r"}]}]',
         [("fit.v2", "review", "", "r")]),
        ("sort-logs: ok\n", []),
        ('{"findings": []}', []),
    ],
)  # fmt: skip
def test_outputs_that_can_be_read(text: str, wanted: list[tuple[str, str, str, str]]) -> None:
    """Lines and JSON of several shapes give the same findings."""
    found = findings_in(text, NAMES, failed=False)
    assert found is not None
    assert [(one.task, one.severity, one.code, one.message) for one in found] == wanted


@pytest.mark.parametrize(
    ("text", "failed"),
    [("", False), ("Traceback (most recent call last):\n", True), ("done\n", False), ("sort: ok\n", True),
     ("[" * 5000, True)],
)  # fmt: skip
def test_what_says_nothing_of_a_task_is_not_taken_for_agreement(text: str, failed: bool) -> None:
    """An output without findings that names no task, or of a script that failed, is no opinion."""
    assert findings_in(text, NAMES, failed=failed) is None
