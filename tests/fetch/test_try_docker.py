"""A small collection released to a Hub on loopback, fetched back and replayed in Docker."""

import json
from pathlib import Path

import pytest
from hub import Hub

from seatrials.cli import main

REPO = "ada/sums"

pytestmark = [
    pytest.mark.docker,
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),
]


def test_released_collection_is_fetched_and_replayed(
    collection: Path,
    hub: Hub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What is published passes as it did at home, and an unchanged task is not run twice."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert main(["release", str(collection), "--repo", REPO, "--without-replays", "--no-arena"]) == 0
    capsys.readouterr()
    assert main(["try", REPO, "--yes"]) == 0
    assert "1 passing" in capsys.readouterr().out
    home = tmp_path / "cache" / "seatrials" / "hub" / REPO
    trials = [json.loads(line) for line in (home / ".seatrials" / "trials.jsonl").read_text().splitlines()]
    assert sorted((trial["kind"], trial["reward"]) for trial in trials) == [("noop", 0.0), ("oracle", 1.0)]
    repo = hub.repos[REPO]
    repo.add({**repo.files, "README.md": repo.files["README.md"] + b"\nMore.\n"})
    assert main(["try", REPO, "--yes"]) == 0
    assert "2 trials from earlier runs" in capsys.readouterr().out
