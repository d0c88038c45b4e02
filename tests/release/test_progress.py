"""What `release` says while it works, and that it checks as `check` does."""

import shutil
from pathlib import Path

import pytest
from hub import Hub

from seatrials.cli import main
from seatrials.commands.output import telling

# How the client hands a file to its HTTP library is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

REPO = "ada/sums"


def publish(collection: Path, *words: str) -> int:
    """Release the collection, which has no replays, to the Hub and no further."""
    return main(["release", str(collection), "--repo", REPO, "--without-replays", "--no-arena", *words])


@pytest.fixture
def three(collection: Path) -> Path:
    """The collection with three tasks."""
    for name in ("mean-column", "last-column"):
        copy = shutil.copytree(collection / "tasks" / "sum-column", collection / "tasks" / name)
        file = copy / "task.md"
        file.write_text(file.read_text().replace("seatrials/sum-column", f"seatrials/{name}"))
    return collection


def test_each_step_is_one_plain_line(three: Path, hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    """Where nobody watches, each step is a line on standard error, and nothing is drawn."""
    assert publish(three) == 0
    said = capsys.readouterr()
    lines = said.err.splitlines()
    files = len(hub.repos[REPO].files) - 1  # .gitattributes was there
    assert lines[:3] == ["Checking the tasks: 3", "Staging the tasks: 3", f"Scanning the files: {files}"]
    assert lines[3].startswith(f"Sending to `{REPO}`: {files} files, ")
    assert "\r" not in said.err + said.out
    assert "\033" not in said.err + said.out


def test_steps_are_counted_in_place_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal a counted step stays in its line, which is wiped for what comes after."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("seatrials.commands.output._PAUSE", 0.0)
    with telling() as tell:
        for done in (1, 2):
            tell("Staging the tasks", done, 1_500)
        tell("Sending 3 files", 0, 0)
        tell("Staging the tasks", 3, 1_500)
    assert capsys.readouterr().err == (
        "\rStaging the tasks: 1 of 1,500\033[K\rStaging the tasks: 2 of 1,500\033[K"
        "\r\033[KSending 3 files\n"
        "\rStaging the tasks: 3 of 1,500\033[K\r\033[K"
    )


def test_nothing_to_send_says_of_no_sending(
    three: Path, hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """A release that changes nothing does not claim to send."""
    assert publish(three) == 0
    capsys.readouterr()
    assert publish(three) == 0
    assert "Sending" not in capsys.readouterr().err


def test_one_of_many_tasks_sends_itself_and_the_tables(three: Path, hub: Hub) -> None:
    """A change in one task sends its files, the table, and of the card what says it; not the other tasks."""
    assert publish(three) == 0
    hub.sent.clear()
    script = three / "tasks" / "mean-column" / "verifier" / "test.sh"
    script.write_text(script.read_text() + "# changed\n")
    assert publish(three) == 0
    assert sorted(hub.sent) == ["data/tasks.parquet", "envs/mean-column/verifier/test.sh"]
    assert len(hub.repos[REPO].commits) == 3


def test_named_collection_leaves_the_other_alone(three: Path, hub: Hub) -> None:
    """With names, a release of one collection sends nothing of the other, and both stay unchanged after."""
    for name in ("a", "b"):
        assert publish(three, "--name", name) == 0
    repo = hub.repos[REPO]
    before = {path: data for path, data in repo.files.items() if path.startswith("a/")}
    shutil.rmtree(three / "tasks" / "last-column")
    hub.sent.clear()
    assert publish(three, "--name", "b") == 0
    assert {path.partition("/")[0] for path in hub.sent} <= {"b", "README.md"}
    assert not any(path.startswith("b/envs/last-column/") for path in repo.files)
    assert {path: data for path, data in repo.files.items() if path.startswith("a/")} == before
    card = repo.files["README.md"].decode()
    assert card.count("config_name: a_tasks") == card.count("config_name: b_tasks") == 1


def test_overlap_with_a_suite_counts_as_in_check(
    three: Path, hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A copy of a held-out task is found by the release too, where the collection has the fingerprints."""
    suite = tmp_path / "suite"
    shutil.copytree(three / "tasks" / "sum-column", suite / "sum-column")
    assert publish(three) == 0
    del hub.repos[REPO]
    (three / "suites").mkdir()
    words = ["fingerprint", str(suite), "--public", "--suite", "a-benchmark"]
    assert main([*words, "--output", str(three / "suites" / "a.json")]) == 0
    assert publish(three) == 1
    assert "check finds errors" in capsys.readouterr().err
    assert hub.repos == {}
