"""An arena on loopback over a Hub on loopback, for the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from arena.server import ArenaState, serving_arena
from hub import TOKEN, Hub, serving

from seatrials.arena.client import Arena

GOOD = Path(__file__).parents[1] / "good_tasks" / "collection"
REPO = "ada/tasks-of-the-sea"


@pytest.fixture
def hub() -> Iterator[Hub]:
    """Run a Hub that has one public collection."""
    with serving() as running:
        running.seed(REPO, published())
        yield running


@pytest.fixture
def server(hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ArenaState]:
    """Run an arena, with an identity that it knows and a cache of its own."""
    with serving_arena(hub) as running:
        monkeypatch.setenv("ARENA_URL", running.url)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf-home"))
        monkeypatch.delenv("HF_TOKEN_PATH", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        yield running


@pytest.fixture
def said() -> list[str]:
    """What the kit told a person."""
    return []


@pytest.fixture
def arena(server: ArenaState, said: list[str]) -> Arena:
    """An arena whose client is trusted at once."""
    return Arena(ask=lambda offer: True, say=said.append)


def published() -> dict[str, bytes]:
    """Return the good collection as a data set has it."""
    return {
        path.relative_to(GOOD).as_posix().replace("tasks/", "envs/", 1): path.read_bytes()
        for path in GOOD.rglob("*")
        if path.is_file()
    }
