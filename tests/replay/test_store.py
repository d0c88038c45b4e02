"""Rows that outlive a run."""

from pathlib import Path
from typing import Any

import pytest

from seatrials.replay.model import Failure, ImageFacts, Trial
from seatrials.replay.reward import Check
from seatrials.replay.store import Store, read_row, reusable


def trial(**changes: Any) -> Trial:
    """Return an oracle's trial that passed, with changes."""
    values: dict[str, Any] = {
        "task": "sums",
        "content_hash": "sha256:a",
        "kind": "oracle",
        "rerun": 1,
        "reward": 1.0,
        "checks": (Check(name="total", status="passed"),),
        "timings": {"agent": 1.5},
        "image": ImageFacts(id="sha256:i", base=("debian@sha256:b",), architecture="amd64", engine="1"),
        "tail": ("last",),
    }
    return Trial(**{**values, **changes})


def test_row_comes_back_as_it_was(tmp_path: Path) -> None:
    """What is written is read back whole, failures and checks included, and git sees none of it."""
    store = Store(tmp_path)
    rows = [trial(), trial(reward=None, failure=Failure(blame="task", phase="reward", message="none"))]
    for row in rows:
        store.append(row)
    assert store.load() == rows
    assert (tmp_path / ".seatrials" / ".gitignore").read_text() == "*\n"


def test_row_with_unusual_line_ends(tmp_path: Path) -> None:
    """A log that holds one of Unicode's other line ends does not cost the row."""
    row = trial(tail=("a\u2028b\x85c\x0cd\re",))
    Store(tmp_path).append(row)
    assert Store(tmp_path).load() == [row]


@pytest.mark.parametrize("line", ["", "{", "[]", '{"schema": 99}', '{"schema": 1, "task": "a"}'])
def test_foreign_lines_are_passed_over(tmp_path: Path, line: str) -> None:
    """A half-written line, or one of another version, hides no other row."""
    store = Store(tmp_path)
    store.append(trial())
    with store.path.open("a") as stream:
        stream.write(line + "\n")
    store.append(trial(rerun=2))
    assert read_row(line) is None
    assert [row.rerun for row in store.load()] == [1, 2]


@pytest.mark.parametrize(
    ("changes", "again"),
    [
        ({}, False),
        ({"content_hash": "sha256:b"}, True),
        ({"reward": 0.5}, True),
        ({"reward": None, "failure": Failure(blame="machine", phase="engine", message="x")}, True),
        ({"limits": ("past it",)}, True),
        ({"checks": (Check(name="total", status="failed"),)}, True),
        ({"as_user": "agent"}, True),
        ({"source": "bench"}, True),
        ({"kind": "noop", "reward": 0.0}, True),
    ],
)
def test_only_what_passed_unchanged_is_reused(changes: dict[str, Any], again: bool) -> None:
    """A trial counts again only for the same content, kind and user, and only if it passed."""
    found = reusable([trial(**changes)], content_hash="sha256:a", kind="oracle", as_user="", source="docker")
    assert (found == []) is again
