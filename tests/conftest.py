"""What all tests share: the docker marker, and tasks written on the spot."""

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@cache
def no_engine() -> str | None:
    """Return why no Docker engine can be used, or None where one answers."""
    docker = shutil.which("docker")
    if docker is None:
        return "the docker command is not installed"
    asked = subprocess.run([docker, "info"], capture_output=True, text=True, check=False, timeout=60)
    if asked.returncode:
        said = (asked.stderr.strip() or asked.stdout.strip() or "no reason given").splitlines()[-1]
        return f"no Docker engine answers: {said}"
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip Docker tests with the reason, unless SEATRIALS_REQUIRE_DOCKER says that they must run."""
    if os.environ.get("SEATRIALS_REQUIRE_DOCKER"):
        return
    if not any(item.get_closest_marker("docker") for item in items):
        return
    if reason := no_engine():
        for item in items:
            if item.get_closest_marker("docker"):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def write() -> Callable[[Path, dict[str, str | bytes]], Path]:
    """Return a function that writes files below a folder and returns the folder."""

    def write_files(folder: Path, files: dict[str, str | bytes]) -> Path:
        for path, content in files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)
            if path.endswith(".sh"):
                target.chmod(0o755)
        return folder

    return write_files


NATIVE: dict[str, str | bytes] = {
    "task.md": """---
schema_version: "1.3"
task:
  name: seatrials/sum-column
metadata:
  author_hub: seatrials
  license: Apache-2.0
  category: data-processing
  origin: original
agent:
  timeout_sec: 300
verifier:
  timeout_sec: 60
sandbox:
  network_mode: no-network
---

## prompt

Write the sum of the column `amount` of `/root/data.csv` to `/root/sum.txt`.
""",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /root\nCOPY data.csv /root/data.csv\n",
    "environment/data.csv": "id,amount\n1,17\n2,25\n",
    "verifier/test.sh": """#!/bin/bash
rm -f /logs/verifier/reward.txt
if [ "$(cat /root/sum.txt 2>/dev/null)" = "42" ]; then reward=1; else reward=0; fi
echo "$reward" > /logs/verifier/reward.txt
""",
    "oracle/solve.sh": """#!/bin/bash
awk -F, 'NR > 1 { sum += $2 } END { print sum }' /root/data.csv > /root/sum.txt
""",
}
"""A small native task that every rule accepts."""

HARBOR: dict[str, str | bytes] = {
    "task.toml": """version = "1.0"

[metadata]
author_name = "Somebody"
difficulty = "easy"
category = "data-processing"

[verifier]
timeout_sec = 60.0

[agent]
timeout_sec = 300.0

[environment]
build_timeout_sec = 300.0
cpus = 1
memory_mb = 512
allow_internet = false
""",
    "instruction.md": "Write the sum of the column `amount` of `/root/data.csv` to `/root/sum.txt`.\n",
    "environment/Dockerfile": NATIVE["environment/Dockerfile"],
    "environment/data.csv": NATIVE["environment/data.csv"],
    "tests/test.sh": NATIVE["verifier/test.sh"],
    "solution/solve.sh": NATIVE["oracle/solve.sh"],
}
"""The same task as Harbor has it."""


@pytest.fixture
def native_task(tmp_path: Path, write: Callable[[Path, dict[str, str | bytes]], Path]) -> Path:
    """A native task on disk that every rule accepts."""
    return write(tmp_path / "sum-column", NATIVE)


@pytest.fixture
def harbor_task(tmp_path: Path, write: Callable[[Path, dict[str, str | bytes]], Path]) -> Path:
    """A Harbor task on disk that every rule accepts."""
    return write(tmp_path / "sum-column-harbor", HARBOR)
