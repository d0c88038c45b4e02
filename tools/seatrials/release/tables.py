"""Rows as Parquet; the one user of pyarrow."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from seatrials.release.replays import ReplayRow
from seatrials.release.rows import TaskRow


def write_tasks(rows: Sequence[TaskRow], path: Path) -> None:
    """Write ``tasks.parquet``: one row per task, in the order given."""
    import pyarrow as pa

    text, texts, number = pa.string(), pa.list_(pa.string()), pa.float64()
    schema: Any = pa.schema(
        [
            pa.field("name", text, nullable=False),
            pa.field("folder", text, nullable=False),
            pa.field("title", text, nullable=False),
            pa.field("prompt", text, nullable=False),
            ("category", text),
            ("difficulty_tier", text),
            ("difficulty_level", pa.int8()),
            pa.field("tags", texts, nullable=False),
            ("license", text),
            ("origin", text),
            ("origin_url", text),
            ("author", text),
            pa.field("network", text, nullable=False),
            pa.field("verifier_kind", text, nullable=False),
            pa.field("has_oracle", pa.bool_(), nullable=False),
            ("agent_timeout_sec", number),
            pa.field("verifier_timeout_sec", number, nullable=False),
            pa.field("build_timeout_sec", number, nullable=False),
            ("cpus", number),
            ("memory_mb", number),
            ("storage_mb", number),
            ("gpus", pa.int32()),
            pa.field("format", text, nullable=False),
            pa.field("content_hash", text, nullable=False),
            pa.field("findings", texts, nullable=False),
            ("replay_verdict", text),
            pa.field("oracle_runs", pa.int32(), nullable=False),
            pa.field("noop_runs", pa.int32(), nullable=False),
            pa.field("attempts", pa.int32(), nullable=False),
            pa.field("solved", pa.int32(), nullable=False),
            ("oracle_agent_sec", number),
            ("oracle_verifier_sec", number),
        ]
    )
    _write([asdict(row) for row in rows], schema, path)


def write_summary(rows: Sequence[TaskRow], folder: str, path: Path) -> None:
    """Write ``manifest.parquet``: what to choose tasks by without walking the tree."""
    import pyarrow as pa

    text, texts = pa.string(), pa.list_(pa.string())
    schema: Any = pa.schema(
        [
            pa.field("task_id", text, nullable=False),
            pa.field("path", text, nullable=False),
            ("category", text),
            ("difficulty_tier", text),
            ("difficulty_level", pa.int8()),
            pa.field("tags", texts, nullable=False),
            ("license", text),
            pa.field("network", text, nullable=False),
            pa.field("content_hash", text, nullable=False),
        ]
    )
    _write(
        [{**asdict(row), "task_id": row.folder, "path": f"{folder}/{row.folder}"} for row in rows],
        schema,
        path,
    )


def write_replays(rows: Sequence[ReplayRow], path: Path) -> None:
    """Write ``replays.parquet``: one row per recorded trial."""
    import pyarrow as pa

    text, number, count = pa.string(), pa.float64(), pa.int32()
    check = pa.struct([("name", text), ("status", text)])
    step = pa.struct([("name", text), ("reward", number)])
    schema: Any = pa.schema(
        [
            pa.field("task", text, nullable=False),
            pa.field("content_hash", text, nullable=False),
            pa.field("current", pa.bool_(), nullable=False),
            pa.field("kind", text, nullable=False),
            pa.field("rerun", count, nullable=False),
            ("reward", number),
            ("failed_phase", text),
            ("failed_by", text),
            ("agent_sec", number),
            ("verifier_sec", number),
            pa.field("total_sec", number, nullable=False),
            ("peak_memory", pa.int64()),
            pa.field("oom_kills", count, nullable=False),
            pa.field("limits_passed", count, nullable=False),
            ("oracle_exit", count),
            ("verifier_exit", count),
            pa.field("checks", pa.list_(check), nullable=False),
            pa.field("steps", pa.list_(step), nullable=False),
            pa.field("user", text, nullable=False),
            pa.field("engine", text, nullable=False),
            ("architecture", text),
            ("kit", text),
            ("started", text),
        ]
    )
    _write([asdict(row) for row in rows], schema, path)


def _write(rows: list[dict[str, Any]], schema: Any, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table: Any = pa.Table.from_pylist(rows, schema=schema)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, compression="zstd")
