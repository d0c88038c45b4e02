"""Tasks written on the spot for the migration tests."""

from collections.abc import Callable
from pathlib import Path

import pytest

Files = dict[str, str | bytes]
Make = Callable[..., Path]

TOML = """\
version = "1.0"

[metadata]
author_name = "Somebody"
difficulty = "easy"
category = "data-processing"

[agent]
timeout_sec = 300.0

[verifier]
timeout_sec = 60.0

[environment]
cpus = 1
allow_internet = false
"""

HARBOR: Files = {
    "task.toml": TOML,
    "instruction.md": "Write 42 to `/app/answer.txt`.\n",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\n",
    "tests/test.sh": "#!/bin/bash\ngrep -qx 42 answer.txt\necho $((1 - $?)) > /logs/verifier/reward.txt\n",
    "solution/solve.sh": "#!/bin/bash\necho 42 > /app/answer.txt\n",
}
"""A Harbor task whose verifier reads a path relative to the image's working directory."""


@pytest.fixture
def make(tmp_path: Path, write: Callable[[Path, Files], Path]) -> Make:
    """Return a function that writes the Harbor task above, changed: a file of None is left out."""

    def make_task(changes: dict[str, str | bytes | None] | None = None, *, name: str = "answer") -> Path:
        files = {**HARBOR, **(changes or {})}
        return write(
            tmp_path / "src" / name, {path: text for path, text in files.items() if text is not None}
        )

    return make_task
