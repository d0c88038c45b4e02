"""Replays, layouts, names and the card: what `release` writes beyond the tasks."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from seatrials.cli import main
from seatrials.release.card import CardOptions, render_card
from seatrials.release.layout import Layout
from seatrials.replay.model import Failure, ImageFacts, Trial
from seatrials.replay.reward import Check
from seatrials.replay.store import Store
from seatrials.task.package import TaskPackage

Record = Callable[..., None]


@pytest.fixture
def record(collection: Path) -> Record:
    """Return a function that puts a trial of the collection's task into its store."""
    store = Store(collection)
    now = TaskPackage(collection / "tasks" / "sum-column").content_hash

    def append(kind: Any, rerun: int, reward: float | None, **values: Any) -> None:
        store.append(
            Trial(
                **{
                    "task": "sum-column",
                    "content_hash": now,
                    "kind": kind,
                    "rerun": rerun,
                    "reward": reward,
                    "timings": {"start": 1.0, "agent": 2.0 + rerun, "verifier": 0.5},
                    "checks": (Check(name="test_sum", status="passed", message="at /home/mara/x"),),
                    "image": ImageFacts(
                        id="sha256:1", base=("registry.lan/base@sha256:2",), architecture="arm64"
                    ),
                    "log": "/home/mara/logs/1",
                    "tail": ("host mara.lan",),
                    "notes": ("ran beside /home/mara",),
                    "started": "2026-05-04T12:34:56+02:00",
                    "kit": "0.1.0",
                    **values,
                }
            )
        )

    return append


def released(collection: Path, out: Path, *words: str) -> int:
    """Release the collection into a folder, replacing it."""
    return main(["release", str(collection), "--out", str(out), "--force", *words])


def rows(out: Path, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table."""
    return list(pq.read_table(out / table).to_pylist())


def test_verdict_and_times_are_published(collection: Path, tmp_path: Path, record: Record) -> None:
    """A task's row has the verdict, its runs and medians; the card shows them."""
    for rerun in (1, 2, 3):
        record("oracle", rerun, 1.0)
        record("noop", rerun, 0.0, checks=())
    assert released(collection, tmp_path / "out") == 0
    (row,) = rows(tmp_path / "out", "data/tasks.parquet")
    assert (row["replay_verdict"], row["oracle_runs"], row["noop_runs"]) == ("passing", 3, 3)
    assert (row["oracle_agent_sec"], row["oracle_verifier_sec"]) == (4.0, 0.5)
    card = (tmp_path / "out" / "README.md").read_text()
    assert "passing (3 runs each)" in card
    assert "config_name: replays" in card


def test_replays_have_no_paths_hosts_or_logs(collection: Path, tmp_path: Path, record: Record) -> None:
    """A trial's row has listed fields only, and nothing in it names a place."""
    failed = Failure(blame="machine", phase="verifier", message="no space on /home/mara")
    record("oracle", 1, 1.0)
    record("noop", 1, 0.0, checks=())
    record("agent", 1, None, failure=failed, limits=("passed /home/mara",))
    assert released(collection, tmp_path / "out") == 0
    table = rows(tmp_path / "out", "data/replays.parquet")
    assert [(row["kind"], row["reward"], row["failed_by"]) for row in table] == [
        ("oracle", 1.0, None),
        ("noop", 0.0, None),
        ("agent", None, "machine"),
    ]
    assert table[0]["checks"] == [{"name": "test_sum", "status": "passed"}]
    assert table[0]["started"] == "2026-05-04T10:34Z"
    assert table[2]["limits_passed"] == 1
    assert "mara" not in repr(table)
    assert "lan" not in repr(table)


def test_all_runs_are_published_where_asked(collection: Path, tmp_path: Path, record: Record) -> None:
    """`--runs all` adds trials of earlier content, which the default leaves out."""
    record("oracle", 1, 0.0, content_hash="sha256:earlier")
    record("oracle", 1, 1.0)
    record("noop", 1, 0.0, checks=())
    assert released(collection, tmp_path / "out") == 0
    assert len(rows(tmp_path / "out", "data/replays.parquet")) == 2
    assert released(collection, tmp_path / "out", "--runs", "all") == 0
    assert [row["current"] for row in rows(tmp_path / "out", "data/replays.parquet")] == [False, True, True]


def test_rejected_task_stops_the_release(
    collection: Path, tmp_path: Path, record: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    """A task that its replay rejects is refused; a bad run stays until it is run anew."""
    record("oracle", 1, 1.0)
    record("oracle", 2, 0.0)
    record("noop", 1, 0.0, checks=())
    record("oracle", 3, 1.0)
    assert released(collection, tmp_path / "out") == 1
    assert "`sum-column`: oracle scored 0, not 1" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    record("oracle", 2, 1.0)
    assert released(collection, tmp_path / "out") == 0


def test_machine_fault_says_nothing_beside_other_trials(
    collection: Path, tmp_path: Path, record: Record
) -> None:
    """A trial that a machine spoilt is passed over where others ran."""
    record("oracle", 1, 1.0)
    record("noop", 1, 0.0, checks=())
    record("oracle", 2, None, failure=Failure(blame="machine", phase="start", message="gone"))
    assert released(collection, tmp_path / "out") == 0
    assert rows(tmp_path / "out", "data/tasks.parquet")[0]["replay_verdict"] == "passing"


def test_task_not_replayed_as_it_is_is_named(
    collection: Path, tmp_path: Path, record: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    """A changed task has no verdict, and the command says so."""
    record("oracle", 1, 1.0, content_hash="sha256:earlier")
    assert released(collection, tmp_path / "out") == 0
    assert "No replay as they are now: 1\n  `sum-column`" in capsys.readouterr().out
    assert rows(tmp_path / "out", "data/tasks.parquet")[0]["replay_verdict"] is None


def test_without_replays_publishes_none(collection: Path, tmp_path: Path, record: Record) -> None:
    """`--without-replays` leaves verdicts and trials out, and the card says that there are none."""
    record("oracle", 1, 1.0)
    record("noop", 1, 0.0, checks=())
    assert released(collection, tmp_path / "out", "--without-replays") == 0
    assert not (tmp_path / "out" / "data" / "replays.parquet").exists()
    assert rows(tmp_path / "out", "data/tasks.parquet")[0]["replay_verdict"] is None
    card = (tmp_path / "out" / "README.md").read_text()
    assert "No local replay" in card
    assert "config_name: replays" not in card


def test_harbor_layout(harbor_task: Path, tmp_path: Path) -> None:
    """Harbor tasks are released as they are under tasks/, with the registry and the short table."""
    collection = tmp_path / "set"
    shutil.copytree(harbor_task, collection / "tasks" / "sum-column")
    out = tmp_path / "out"
    assert released(collection, out, "--layout", "harbor", "--title", "Sums") == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "README.md",
        "data",
        "manifest.parquet",
        "pictures",
        "registry.json",
        "tasks",
    ]
    (spec,) = json.loads((out / "registry.json").read_text())
    header = yaml.safe_load((out / "README.md").read_text().split("---\n")[1])
    assert header["license"] == rows(out, "data/tasks.parquet")[0]["license"].lower()
    assert spec["name"] == "set"
    assert spec["description"] == "Sums"
    assert spec["tasks"] == [{"name": "sum-column", "path": "tasks/sum-column"}]
    assert (out / spec["tasks"][0]["path"] / "task.toml").is_file()
    (row,) = rows(out, "manifest.parquet")
    assert (row["task_id"], row["path"]) == ("sum-column", "tasks/sum-column")


def test_native_task_has_no_harbor_layout(
    collection: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A native task is refused in Harbor's layout, with what to do."""
    assert released(collection, tmp_path / "out", "--layout", "harbor") == 1
    assert "seatrials export" in capsys.readouterr().err


def test_named_collection_has_a_folder_and_configs_of_its_own(
    collection: Path, tmp_path: Path, record: Record
) -> None:
    """With `--name` all but the card is in that folder, and the configs carry the name."""
    record("oracle", 1, 1.0)
    record("noop", 1, 0.0, checks=())
    out = tmp_path / "out"
    assert released(collection, out, "--name", "sums", "--split", "test") == 0
    assert sorted(path.name for path in out.iterdir()) == ["README.md", "sums"]
    assert (out / "sums" / "envs" / "sum-column" / "task.md").is_file()
    header = yaml.safe_load((out / "README.md").read_text().split("---\n")[1])
    assert header["configs"] == [
        {
            "config_name": f"sums_{name}",
            "data_files": [{"split": "test", "path": f"sums/data/{name}.parquet"}],
        }
        for name in ("tasks", "replays")
    ]


@pytest.mark.parametrize("name", ["../x", "data", "Envs", "a/b", ".git", "a" * 65])
def test_name_that_is_no_folder_of_its_own_is_refused(collection: Path, tmp_path: Path, name: str) -> None:
    """A name with a path in it, or one that the layout uses, is a usage error."""
    assert released(collection, tmp_path / "out", "--name", name) == 2


def test_card_says_what_the_person_said(collection: Path, tmp_path: Path) -> None:
    """The note, the license, the needs and the setup are on the card."""
    (tmp_path / "note.md").write_text("Data of the **Sea** office.")
    words = ["--card-note", str(tmp_path / "note.md"), "--license", "MIT", "--requires", "a GPU"]
    assert released(collection, tmp_path / "out", *words, "--setup", "make data") == 0
    card = (tmp_path / "out" / "README.md").read_text()
    assert "Data of the **Sea** office." in card
    assert "license: mit\n" in card
    assert "- `a GPU`" in card
    assert "```sh\nmake data\n```" in card
    assert released(collection, tmp_path / "out", "--card-note", str(tmp_path / "none.md")) == 2


EXISTING = """---
license: cc-by-4.0
language: [en]
tags: [sea, harbor]
configs:
- config_name: other
  data_files: other.csv
- config_name: tasks
  data_files: old.parquet
---
# My own heading

Mine before.

<!-- seatrials: begin -->
old section
<!-- seatrials: end -->

Mine after.

<!-- seatrials-note: begin -->
My note.
<!-- seatrials-note: end -->
"""


def test_license_that_no_task_declares_is_unknown() -> None:
    """The card claims no license where no task has one, and takes the one given."""
    for given, shown in ((None, "unknown"), ("MIT", "mit")):
        card = render_card(CardOptions(title="T", license=given), Layout(), (), trials=0, replays=None)
        assert yaml.safe_load(card.split("---\n")[1])["license"] == shown


def test_existing_card_keeps_all_but_our_sections() -> None:
    """Text, license, keys, tags and other configs stay; our section and our configs are new."""
    options = CardOptions(title="T", existing=EXISTING, license="mit")
    card = render_card(options, Layout(), (), trials=0, replays=None)
    header = yaml.safe_load(card.split("---\n")[1])
    assert header["license"] == "cc-by-4.0"
    assert "license_name" not in header
    assert header["language"] == ["en"]
    assert header["tags"][:2] == ["sea", "harbor"]
    assert "rl-environment" in header["tags"]
    assert [config["config_name"] for config in header["configs"]] == ["other", "tasks"]
    assert header["configs"][1]["data_files"][0]["path"] == "data/tasks.parquet"
    assert "old section" not in card
    positions = [
        card.index(part)
        for part in ("# My own heading", "Mine before.", "## Tasks", "Mine after.", "My note.")
    ]
    assert positions == sorted(positions)


def test_second_rendering_changes_nothing() -> None:
    """A card made of its own result is the same, also with a second collection beside it."""
    first = render_card(CardOptions(title="T", existing=EXISTING), Layout(), (), trials=1, replays=None)
    second = render_card(CardOptions(title="U", existing=first), Layout(name="u"), (), trials=0, replays=None)
    third = render_card(CardOptions(title="T", existing=second), Layout(), (), trials=1, replays=None)
    assert yaml.safe_load(third.split("---\n")[1])["configs"][-1]["config_name"] == "replays"
    assert third.count("<!-- seatrials: begin -->") == third.count("<!-- seatrials u: begin -->") == 1
    again = render_card(CardOptions(title="T", existing=third), Layout(), (), trials=1, replays=None)
    assert again == third
