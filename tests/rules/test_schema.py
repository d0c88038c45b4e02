"""SCH and STR: what the messages of the schema say, and where."""

from pathlib import Path

import pytest

from seatrials.judge.run import check_task
from seatrials.task.package import TaskPackage


def only(folder: Path, code: str) -> tuple[str, int | None, str]:
    """Return the one finding of a code: path, line and message."""
    [found] = [item for item in check_task(TaskPackage(folder)).findings if item.code == code]
    return found.path, found.line, found.message


def insert(folder: Path, file: str, before: str, text: str) -> None:
    """Insert a text before one that is there."""
    whole = (folder / file).read_text("utf-8")
    assert before in whole
    (folder / file).write_text(whole.replace(before, text + before, 1), "utf-8")


@pytest.mark.parametrize(
    ("before", "text", "says"),
    [
        ("agent:\n", "agnet: {}\n", "`agnet`; `agent` is"),
        ("  network_mode", "  memory_gb: 4\n", "`sandbox.memory_gb`; `memory_mb` is"),
        ("agent:\n", "docker_image: x\n", "`docker_image`; it belongs under `sandbox`"),
        ("agent:\n", "difficulty: hard\n", "`difficulty`; own data can go under `metadata`"),
    ],
)  # fmt: skip
def test_sch101_names_the_nearest_key(native_task: Path, before: str, text: str, says: str) -> None:
    """A near miss, a key of another table, or own data."""
    insert(native_task, "task.md", before, text)
    path, line, message = only(native_task, "SCH101")
    assert (path, message.replace(" is not a key that BenchFlow knows", "")) == ("task.md", says)
    assert (native_task / "task.md").read_text().splitlines()[(line or 0) - 1] + "\n" == text


def test_a_harbor_finding_speaks_of_the_authors_file(harbor_task: Path) -> None:
    """The key as Harbor spells it, and the line in task.toml."""
    insert(harbor_task, "task.toml", "cpus = 1", 'gpus = "none"\n')
    path, line, message = only(harbor_task, "SCH103")
    assert (path, message) == ("task.toml", "`environment.gpus` must be an integer, not `none`")
    assert (harbor_task / "task.toml").read_text().splitlines()[(line or 0) - 1] == 'gpus = "none"'


def test_sch103_says_to_quote(native_task: Path) -> None:
    """What YAML read as a number and BenchFlow wants as text."""
    insert(native_task, "task.md", "  network_mode", "  env: {PORT: 80}\n")
    assert only(native_task, "SCH103")[2] == (
        "`sandbox.env` must map names to strings, and `PORT` has another value; quote it"
    )


def test_unknown_keys_of_a_task_toml_are_no_errors(harbor_task: Path) -> None:
    """An import keeps them aside; only a near miss is worth a word."""
    with (harbor_task / "task.toml").open("a", encoding="utf-8") as stream:
        stream.write("\n[bench]\nrounds = 3\n")
    assert check_task(TaskPackage(harbor_task)).findings == ()


def test_shorthands_are_expanded_before_they_are_judged(native_task: Path) -> None:
    """A bad `name` is told where it stands."""
    path = native_task / "task.md"
    text = path.read_text("utf-8")
    path.write_text(text.replace("task:\n  name: seatrials/sum-column\n", "name: -x/y\n"), "utf-8")
    report = check_task(TaskPackage(native_task), profile="benchflow")
    assert [(item.code, item.line) for item in report.findings] == [("DOC109", 3)]
