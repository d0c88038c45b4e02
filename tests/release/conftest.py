"""A Hub and an arena on loopback for the tests of this folder."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

# Read when huggingface_hub is imported, which the kit does when it needs it.
os.environ["HF_HUB_DISABLE_XET"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

from arena.server import ArenaState, serving_arena
from hub import TOKEN, Hub, serving


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """Run a Hub, and let the kit talk to it with a token that it accepts."""
    with serving() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf-home"))
        yield running


@pytest.fixture
def arena(hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ArenaState]:
    """Run an arena over that Hub, and let the kit find it; what it trusts is kept by the test."""
    with serving_arena(hub) as running:
        monkeypatch.setenv("ARENA_URL", running.url)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.delenv("HF_TOKEN_PATH", raising=False)
        yield running
