"""Rows as Parquet; the one user of pyarrow."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from seatrials.release.rows import TaskRow


def write_tasks(rows: Sequence[TaskRow], path: Path) -> None:
    """Write ``tasks.parquet``: one row per task, in the order given."""
    import pyarrow as pa
    import pyarrow.parquet as pq

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
            pa.field("format", text, nullable=False),
            pa.field("content_hash", text, nullable=False),
            pa.field("findings", texts, nullable=False),
        ]
    )
    table: Any = pa.Table.from_pylist([asdict(row) for row in rows], schema=schema)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, compression="zstd")
