"""`seatrials new` makes a task from the template, or leaves nothing behind."""

from pathlib import Path

import pytest

from seatrials.cli import main
from seatrials.judge.run import check_task
from seatrials.task.package import TaskPackage


@pytest.fixture(autouse=True)
def in_a_collection(collection: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a collection, as an author does."""
    monkeypatch.chdir(collection)


def test_new_task_has_nothing_but_its_markers_to_mend() -> None:
    """A fresh task is in the collection's tasks/, in the native format, and only its markers are found."""
    assert main(["new", "my-task", "--defaults"]) == 0
    task = TaskPackage(Path("tasks/my-task"))
    assert task.format == "native"
    assert {finding.code for finding in check_task(task).findings} <= {"DOC107", "DOC108"}


def test_answers_are_taken_from_the_command_line() -> None:
    """`-d KEY=VALUE` answers a question of the template."""
    assert main(["new", "my-task", "-d", "author_hub=some-body", "-d", "difficulty=hard"]) == 0
    metadata = TaskPackage(Path("tasks/my-task")).native.table("metadata")
    assert metadata["author_hub"] == "some-body"
    assert metadata["difficulty"] == "hard"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["My Task"], "name"),
        (["my-task", "-d", "license"], "KEY=VALUE"),
        (["my-task", "-d", "cpus=0"], "cpus"),
        (["my-task", "-d", "cpu=1"], "did you mean `cpus`?"),
        (["my-task", "-d", "qqqqq=1"], "asks for"),
        ([""], "empty"),
        (["."], "does not end in a name"),
        (["tasks/.."], "does not end in a name"),
        (["x" * 300], "can't be made"),
        (["tasks/sum-column/my-task"], "would lie in the task `sum-column`"),
        (["my-task", "-d", "template_version=v9"], "no question of the template"),
        (["submission.yaml/my-task"], "can't be made"),
        (["sum-column"], "exists already"),
    ],
)
def test_refused_answers_leave_nothing(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str], collection: Path
) -> None:
    """A bad name or answer, or a name in use, is one line and exit code 2; no file is written."""
    before = sorted(collection.rglob("*"))
    assert main(["new", "--defaults", *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("seatrials: ")
    assert error.count("\n") == 1
    assert said in error
    assert sorted(collection.rglob("*")) == before
