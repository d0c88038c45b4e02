"""A Hub on loopback for the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hub import Hub, for_the_kit


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """Run a Hub that the kit talks to."""
    yield from for_the_kit(monkeypatch, tmp_path)
