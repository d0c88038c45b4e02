"""The rehearsal of a release, which `nox -s rehearsal` runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def rehearse(*words: str) -> tuple[int, str]:
    """Run it as nox does, with this machine's token in the environment, and return code and output."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "rehearsal.py"), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, "HF_TOKEN": "a-token-of-mine"},
    )
    return done.returncode, done.stdout + done.stderr


def test_own_collection_is_rehearsed() -> None:
    """The repository's own collection goes up, is submitted once, and comes back."""
    code, said = rehearse("--dry-run")
    assert code == 0, said
    assert "stand-ins on this machine" in said
    number = len(list((ROOT / "tasks").glob("*/task.md")))
    assert f"Published {number} tasks" in said
    assert f"collection `envs`: {number} tasks" in said
    assert "submitted as env-" in said
    assert "was there already" in said
    assert "A replay would build and run" in said
    assert "Rehearsed: one commit, one submission" in said
    assert "a-token-of-mine" not in said


def test_what_fails_ends_it() -> None:
    """A step that fails gives its exit code."""
    code, said = rehearse("--task", "no-such-task")
    assert code == 2
    assert "Rehearsed" not in said


@pytest.mark.docker
def test_task_is_fetched_back_and_replayed() -> None:
    """A task of the collection passes its replay as it came from the Hub."""
    code, said = rehearse("--task", "fjord-core-lead-210")
    assert code == 0, said
    assert "1 passing" in said
