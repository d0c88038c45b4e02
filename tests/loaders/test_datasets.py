"""A staged set in `datasets`, the library behind the Hub's viewer."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from seatrials.cli import main

pytestmark = pytest.mark.loader("datasets")


LOAD = """
import json, sys
from datasets import load_dataset
found = load_dataset("ada/sums", "tasks", split="train")
json.dump({"rows": found.num_rows, "folder": found[0]["folder"]}, sys.stdout)
"""


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


def test_published_set_loads_by_its_name(collection: Path, tmp_path: Path) -> None:
    """What the card says works against a Hub that has the published set."""
    from hub import TOKEN, serving

    with serving() as hub, pytest.MonkeyPatch.context() as patch:
        # Read at import, so that the other end is a process of its own.
        for name, value in {
            "HF_ENDPOINT": hub.url,
            "HF_TOKEN": TOKEN,
            "HF_HOME": str(tmp_path / "hf-home"),
        }.items():
            patch.setenv(name, value)
        words = ["release", str(collection), "--repo", "ada/sums", "--without-replays", "--no-arena"]
        assert main(words) == 0
        done = subprocess.run(
            [sys.executable, "-c", LOAD], capture_output=True, text=True, check=False, timeout=120
        )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"rows": 1, "folder": "sum-column"}
