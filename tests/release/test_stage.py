"""Staging: what `release --out` writes, refuses and leaves alone."""

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from seatrials.cli import main
from seatrials.task.package import TaskPackage


def release(*words: str) -> int:
    """Run `seatrials release`."""
    return main(["release", *words])


def header(card: Path) -> dict[str, object]:
    """Return the YAML header of a card."""
    _, text, _ = card.read_text("utf-8").split("---\n", 2)
    data = yaml.safe_load(text)
    assert isinstance(data, dict)
    return data


def test_stage_writes_the_whole_layout(collection: Path, tmp_path: Path) -> None:
    """A staged set has the manifest, the tasks, one row per task and a card."""
    out = tmp_path / "out"
    assert release(str(collection), "--out", str(out)) == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "README.md",
        "data",
        "envs",
        "pictures",
        "submission.yaml",
    ]
    assert (out / "submission.yaml").read_bytes() == (collection / "submission.yaml").read_bytes()
    (row,) = pq.read_table(out / "data" / "tasks.parquet").to_pylist()
    assert row["name"] == "seatrials/sum-column"
    assert row["license"] == "Apache-2.0"
    assert row["network"] == "no-network"
    assert row["verifier_timeout_sec"] == 60
    assert row["prompt"].startswith("Write the sum")


def test_staged_task_is_the_task_that_was_hashed(collection: Path, tmp_path: Path) -> None:
    """The published copy has the source's content hash and run bits, and the row records that hash."""
    out = tmp_path / "out"
    source = collection / "tasks" / "sum-column"
    (source / "verifier" / "__pycache__").mkdir()
    (source / "verifier" / "__pycache__" / "x.pyc").write_bytes(b"x")
    assert release(str(collection), "--out", str(out)) == 0
    copy = out / "envs" / "sum-column"
    assert TaskPackage(copy).content_hash == TaskPackage(source).content_hash
    assert not (copy / "verifier" / "__pycache__").exists()
    assert os.access(copy / "oracle" / "solve.sh", os.X_OK)
    (row,) = pq.read_table(out / "data" / "tasks.parquet").to_pylist()
    assert row["content_hash"] == TaskPackage(source).content_hash


def test_card_header_is_what_the_hub_reads(collection: Path, tmp_path: Path) -> None:
    """The header names the license, the tags and the table of the default split."""
    release(str(collection), "--out", str(tmp_path / "out"), "--title", "Sums: all of them")
    found = header(tmp_path / "out" / "README.md")
    assert found["pretty_name"] == "Sums: all of them"
    assert found["license"] == "apache-2.0"
    assert found["size_categories"] == ["n<1K"]
    assert {"rl-environment", "harbor", "benchflow", "openenv"} <= set(found["tags"])  # type: ignore[call-overload]
    assert found["configs"] == [
        {"config_name": "tasks", "data_files": [{"split": "train", "path": "data/tasks.parquet"}]}
    ]


def test_same_collection_gives_the_same_bytes(collection: Path, tmp_path: Path) -> None:
    """Staging twice writes the same files."""
    for name in ("a", "b"):
        assert release(str(collection), "--out", str(tmp_path / name)) == 0
    for path in sorted((tmp_path / "a").rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes()


def test_folder_with_something_in_it_is_refused(
    collection: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that holds something is left as it is, unless `--force` asks to replace it."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    assert release(str(collection), "--out", str(out)) == 2
    assert (out / "mine.txt").read_text() == "mine"
    assert "--force" in capsys.readouterr().err
    assert release(str(collection), "--out", str(out), "--force") == 0
    assert not (out / "mine.txt").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("out", [".", "tasks", "tasks/sum-column", "..", "link"])
def test_force_never_replaces_the_collection(
    out: str, collection: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that is part of the collection, or has it in it, is refused with `--force` too."""
    (collection / "link").symlink_to(collection / "tasks")
    monkeypatch.chdir(collection.parent)
    assert release(str(collection), "--out", str(collection / out), "--force") == 2
    assert "part of the collection" in capsys.readouterr().err
    assert (collection / "tasks" / "sum-column" / "task.md").is_file()


def test_errors_of_check_stop_the_release(
    collection: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written while check finds an error."""
    (collection / "tasks" / "sum-column" / "verifier" / "test.sh").unlink()
    assert release(str(collection), "--out", str(tmp_path / "out")) == 1
    assert not (tmp_path / "out").exists()
    assert "seatrials check" in capsys.readouterr().err


def test_link_inside_is_published_as_its_file_and_one_outside_refused(
    collection: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The Hub keeps no links: one inside the task becomes a file, one that leads out stops the release."""
    task = collection / "tasks" / "sum-column"
    (task / "verifier" / "data.csv").symlink_to("../environment/data.csv")
    assert release(str(collection), "--out", str(tmp_path / "a")) == 0
    copy = tmp_path / "a" / "envs" / "sum-column" / "verifier" / "data.csv"
    assert not copy.is_symlink()
    assert copy.read_bytes() == (task / "environment" / "data.csv").read_bytes()
    secret = tmp_path / "secret"
    secret.write_text("s")
    (task / "verifier" / "out.csv").symlink_to(secret)
    assert release(str(collection), "--out", str(tmp_path / "b")) == 1
    assert "out.csv" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()


def test_what_is_not_a_collection_is_a_usage_error(native_task: Path, tmp_path: Path) -> None:
    """A single task can't be released on its own."""
    assert release(str(native_task), "--out", str(tmp_path / "out")) == 2
