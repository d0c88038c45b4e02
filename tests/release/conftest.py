"""A Hub and an arena on loopback for the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from arena.server import ArenaState, serving_arena
from hub import Hub, for_the_kit


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """Run a Hub that the kit talks to."""
    yield from for_the_kit(monkeypatch, tmp_path)


@pytest.fixture
def arena(hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ArenaState]:
    """Run an arena over that Hub, and let the kit find it; what it trusts is kept by the test."""
    with serving_arena(hub) as running:
        monkeypatch.setenv("ARENA_URL", running.url)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.delenv("HF_TOKEN_PATH", raising=False)
        yield running
