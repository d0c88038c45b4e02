"""The tables: each column that is promised, of its type, and what Harbor's short one has."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seatrials.cli import main

TEXT, TEXTS, NUMBER, WHOLE = pa.string(), pa.list_(pa.string()), pa.float64(), pa.int32()

TASKS = {
    "name": TEXT, "folder": TEXT, "title": TEXT, "prompt": TEXT, "category": TEXT, "difficulty_tier": TEXT,
    "difficulty_level": pa.int8(), "tags": TEXTS, "license": TEXT, "origin": TEXT, "origin_url": TEXT,
    "author": TEXT, "network": TEXT, "verifier_kind": TEXT, "has_oracle": pa.bool_(),
    "agent_timeout_sec": NUMBER, "verifier_timeout_sec": NUMBER, "build_timeout_sec": NUMBER, "cpus": NUMBER,
    "memory_mb": NUMBER, "storage_mb": NUMBER, "gpus": WHOLE, "format": TEXT, "content_hash": TEXT,
    "findings": TEXTS, "replay_verdict": TEXT, "oracle_runs": WHOLE, "noop_runs": WHOLE, "attempts": WHOLE,
    "solved": WHOLE, "oracle_agent_sec": NUMBER, "oracle_verifier_sec": NUMBER,
}  # fmt: skip

SUMMARY = {
    "task_id": TEXT, "path": TEXT, "category": TEXT, "difficulty_tier": TEXT, "difficulty_level": pa.int8(),
    "tags": TEXTS, "license": TEXT, "network": TEXT, "content_hash": TEXT,
}  # fmt: skip

METADATA = """metadata:
  title: Sum of a column
  difficulty: medium
  difficulty_level: 4
  tags: [csv, sums]
  origin_url: https://example.org/a
  author_hub: ada
  license: Apache-2.0
  category: data-processing
  origin: original
"""

SANDBOX = """sandbox:
  network_mode: public
  cpus: 2
  memory_mb: 1024
  storage_mb: 4096
  gpus: 1
  build_timeout_sec: 120
"""


def types(table: Path) -> dict[str, Any]:
    """Return the columns of a table with their types, in their order."""
    schema = pq.read_schema(table)
    return dict(zip(schema.names, schema.types, strict=True))


def staged(collection: Path, out: Path, *words: str) -> Path:
    """Stage a collection and return the folder."""
    assert main(["release", str(collection), "--out", str(out), *words]) == 0
    return out


def test_tasks_have_each_column_of_its_type(collection: Path, tmp_path: Path) -> None:
    """The columns are those that docs/release.md tells, whatever the tasks declare."""
    assert types(staged(collection, tmp_path / "out") / "data" / "tasks.parquet") == TASKS


def test_row_has_what_the_task_declares(collection: Path, tmp_path: Path) -> None:
    """Each declared value is in its column; a declared level goes before the tier's."""
    file = collection / "tasks" / "sum-column" / "task.md"
    head, rest = file.read_text().split("metadata:\n")
    tail = rest[rest.index("agent:") :].replace("sandbox:\n  network_mode: no-network\n", SANDBOX)
    file.write_text(head + METADATA + tail)
    (row,) = pq.read_table(staged(collection, tmp_path / "out") / "data" / "tasks.parquet").to_pylist()
    expected = {
        "name": "seatrials/sum-column", "folder": "sum-column", "title": "Sum of a column",
        "category": "data-processing", "difficulty_tier": "medium", "difficulty_level": 4,
        "tags": ["csv", "sums"], "license": "Apache-2.0", "origin": "original",
        "origin_url": "https://example.org/a", "author": "ada", "network": "public",
        "verifier_kind": "test-script", "has_oracle": True, "agent_timeout_sec": 300.0,
        "verifier_timeout_sec": 60.0, "build_timeout_sec": 120.0, "cpus": 2.0, "memory_mb": 1024.0,
        "storage_mb": 4096.0, "gpus": 1, "format": "native",
    }  # fmt: skip
    assert {key: row[key] for key in expected} == expected
    assert row["prompt"].startswith("Write the sum of the column `amount`")
    assert row["content_hash"].startswith("sha256:")


@pytest.mark.parametrize(("tier", "level"), [("easy", 1), ("medium", 3), ("hard", 5), ("brutal", None)])
def test_level_follows_from_the_tier(tier: str, level: int | None, collection: Path, tmp_path: Path) -> None:
    """A task that declares a tier only has the tier's level, and none for a tier of its own."""
    file = collection / "tasks" / "sum-column" / "task.md"
    file.write_text(file.read_text().replace("metadata:\n", f"metadata:\n  difficulty: {tier}\n"))
    (row,) = pq.read_table(staged(collection, tmp_path / "out") / "data" / "tasks.parquet").to_pylist()
    assert (row["difficulty_tier"], row["difficulty_level"]) == (tier, level)


def test_findings_are_those_of_check(collection: Path, tmp_path: Path) -> None:
    """The codes that check finds about a task are in its row."""
    file = collection / "tasks" / "sum-column" / "environment" / "Dockerfile"
    file.write_text(file.read_text().replace(":bookworm-slim", ":latest"))
    (row,) = pq.read_table(staged(collection, tmp_path / "out") / "data" / "tasks.parquet").to_pylist()
    assert row["findings"]


def test_short_table_of_harbors_layout(harbor_task: Path, tmp_path: Path) -> None:
    """`manifest.parquet` has one row a task, with where it is, to choose by."""
    for name in ("b", "a"):
        shutil.copytree(harbor_task, tmp_path / "set" / "tasks" / name)
    out = staged(tmp_path / "set", tmp_path / "out", "--layout", "harbor", "--without-replays")
    assert types(out / "manifest.parquet") == SUMMARY
    rows = pq.read_table(out / "manifest.parquet").to_pylist()
    assert [(row["task_id"], row["path"]) for row in rows] == [("a", "tasks/a"), ("b", "tasks/b")]
    assert types(out / "data" / "tasks.parquet") == TASKS
