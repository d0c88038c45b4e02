"""A staged set in `datasets`, the library behind the Hub's viewer."""

from pathlib import Path
from typing import Any

import pytest

from seatrials.cli import main

pytestmark = pytest.mark.loader("datasets")


def load(*words: str, **options: Any) -> Any:
    """Load a data set."""
    from datasets import load_dataset

    return load_dataset(*words, **options)


def test_card_names_what_loads(collection: Path, tmp_path: Path) -> None:
    """The folder loads by the name and the split of its card's config, with the columns' types."""
    out = tmp_path / "out"
    assert main(["release", str(collection), "--out", str(out), "--split", "eval"]) == 0
    tasks = load(str(out), "tasks", split="eval")
    (row,) = tasks
    assert row["folder"] == "sum-column"
    assert row["prompt"].startswith("Write the sum")
    assert tasks.features["tags"].feature.dtype == "string"
    assert tasks.features["verifier_timeout_sec"].dtype == "float64"


def test_tables_load_without_a_card(collection: Path, tmp_path: Path) -> None:
    """The tables alone are a data set, too."""
    out = tmp_path / "out"
    assert main(["release", str(collection), "--out", str(out)]) == 0
    rows = load("parquet", data_files=str(out / "data" / "tasks.parquet"), split="train")
    assert rows["folder"] == ["sum-column"]


def test_several_collections_load_side_by_side(collection: Path, tmp_path: Path) -> None:
    """With a name, the config is NAME_tasks."""
    out = tmp_path / "out"
    assert main(["release", str(collection), "--out", str(out), "--name", "sums"]) == 0
    assert load(str(out), "sums_tasks", split="train").num_rows == 1
