"""A release killed at any point and started again ends in the state of an undisturbed one."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from arena.server import ArenaState, serving_arena
from hub import TOKEN, Hub, serving

GOOD = Path(__file__).parents[1] / "good_tasks"
REPO = "ada/sums"
POINTS = 20


class Counted(list[Any]):
    """A list of requests that tells when one comes in."""

    def __init__(self, told: Callable[[], None]) -> None:
        super().__init__()
        self.told = told

    def append(self, item: Any) -> None:
        """Take a request, and tell."""
        super().append(item)
        self.told()


@dataclass
class Stage:
    """A collection with a Hub and an arena of its own, and what is to happen at their `at`-th request."""

    hub: Hub
    arena: ArenaState
    collection: Path
    env: dict[str, str]
    seen: int = 0
    at: int = 0
    action: Callable[[], None] = lambda: None

    def told(self) -> None:
        """Count a request."""
        self.seen += 1
        if self.seen == self.at:
            self.action()

    def start(self) -> "subprocess.Popen[bytes]":
        """Start a release, as a person does."""
        client = hashlib.sha256(self.arena.files["arena_cli.py"]).hexdigest()
        words = ["--repo", REPO, "--without-replays", "--tag", "v1", "--trust", client]
        return subprocess.Popen(
            [sys.executable, "-m", "seatrials", "release", str(self.collection), *words],
            env=self.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def end(self) -> dict[str, Any]:
        """Return what is there in the end: at the Hub, at the arena and beside the collection."""
        repo = self.hub.repos[REPO]
        home = self.collection / ".seatrials" / "arena"
        kept = {
            path.relative_to(home).as_posix(): json.loads(path.read_text()) for path in home.rglob("*.json")
        }
        for receipt in kept.values():
            receipt.pop("existing", None)  # whether the first try or the second was heard
        return {
            "commits": [commit for commit, _ in repo.commits],
            "files": repo.files,
            "tags": repo.tags,
            "environments": self.arena.environments,
            "runs": self.arena.runs,
            "messages": self.arena.messages,
            "kept": kept,
        }


@contextmanager
def staged(folder: Path) -> Iterator[Stage]:
    """Set a stage."""
    with serving() as hub, serving_arena(hub) as arena:
        collection = shutil.copytree(GOOD / "collection", folder / "collection")
        env = {key: value for key, value in os.environ.items() if key != "HF_TOKEN_PATH"} | {
            "HF_ENDPOINT": hub.url,
            "HF_TOKEN": TOKEN,
            "HF_HOME": str(folder / "hf"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "ARENA_URL": arena.url,
        }
        stage = Stage(hub=hub, arena=arena, collection=collection, env=env)
        hub.requests = Counted(stage.told)
        arena.requests = Counted(stage.told)
        yield stage


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, dict[str, Any]]:
    """Return how many requests an undisturbed release makes, and the state that it ends in."""
    with staged(tmp_path_factory.mktemp("calm")) as stage:
        assert stage.start().wait(120) == 0
        return stage.seen, stage.end()


def test_undisturbed_release_is_one_of_each(calm: tuple[int, dict[str, Any]]) -> None:
    """What the others are compared with: one commit on top of the first, one tag, one submission, no run."""
    total, state = calm
    assert total >= POINTS
    assert len(state["commits"]) == 2
    assert state["tags"] == {"v1": state["commits"][-1]}
    assert len(state["environments"]) == 1
    assert len(state["kept"]) == 4
    assert not state["runs"]
    assert not state["messages"]


@pytest.mark.parametrize("point", range(POINTS))
def test_killed_release_is_finished_by_the_next(
    point: int, calm: tuple[int, dict[str, Any]], tmp_path: Path
) -> None:
    """Whichever request a release is killed at, the next one ends in the same state."""
    total, expected = calm
    with staged(tmp_path) as stage:
        stage.at = 1 + point * (total - 1) // (POINTS - 1)
        process = stage.start()
        stage.action = process.kill
        assert process.wait(120) == -signal.SIGKILL
        stage.at = 0
        assert stage.start().wait(120) == 0
        assert stage.end() == expected
