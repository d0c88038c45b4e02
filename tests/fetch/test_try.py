"""`seatrials try` against a Hub on loopback: what it chooses, shows, asks and refuses."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hub import TOKEN, Hub

from seatrials.cli import main
from seatrials.commands import asking
from seatrials.replay.model import ReplayReport
from seatrials.replay.runner import ReplayOptions
from seatrials.rules.overlap import load_suite

REPO = "ada/sums"
Files = dict[str, bytes]

# How the client hands a file to its HTTP library is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


@pytest.fixture(autouse=True)
def _cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Downloads go where the test looks."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], ReplayOptions]]:
    """Collect what would be handed to the replay, which starts nothing."""
    calls: list[tuple[list[str], ReplayOptions]] = []

    def replay(tasks: Any, options: ReplayOptions, observer: object) -> ReplayReport:
        calls.append(([task.name for task in tasks], options))
        return ReplayReport(tasks=(), engine="e", architecture="a", reruns=1, seconds=0.0, reused=0)

    monkeypatch.setattr("seatrials.replay.runner.replay", replay)
    return calls


def files_of(folder: Path, prefix: str) -> Files:
    """Return the files of a folder, under a prefix."""
    return {
        f"{prefix}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_released_collection_is_shown_and_replayed(
    collection: Path, hub: Hub, replayed: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """What `release` published is downloaded by commit, checked, shown with what it needs, and replayed."""
    words = ["--requires", "a GPU", "--setup", "touch /tmp/never"]
    assert main(["release", str(collection), "--repo", REPO, "--without-replays", "--no-arena", *words]) == 0
    capsys.readouterr()
    assert main(["try", REPO, "--yes"]) == 0
    said = capsys.readouterr()
    head = hub.repos[REPO].head
    assert f"{REPO} at {head}" in said.out
    assert "collection `envs`: 1 task" in said.out
    assert "requires  a GPU" in said.out
    assert "setup     touch /tmp/never" in said.out
    assert "gates-v4: 0 blocked + 0 rejected + 1 eligible" in said.out
    assert "FROM debian:bookworm-slim" in said.out or "FROM python" in said.out
    assert "no network" in said.out
    assert "2 trials" in said.out
    assert TOKEN not in said.out + said.err
    ((tasks, options),) = replayed
    assert tasks == ["sum-column"]
    assert options.host_env == {}
    assert options.root == Path("cache/seatrials/hub", REPO).absolute()


def test_nothing_runs_without_a_yes(
    collection: Path,
    hub: Hub,
    replayed: list[Any],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a terminal only with `--yes`; on one, any answer but yes runs nothing."""
    hub.seed(REPO, files_of(collection / "tasks", "envs"))
    assert main(["try", REPO]) == 2
    assert "--yes" in capsys.readouterr().err
    assert hub.requests == []
    monkeypatch.setattr("seatrials.commands.asking.somebody", lambda: True)
    for answer, code in (("\n", 1), ("no\n", 1), ("", 1), ("yes please\n", 1), ("y\n", 0)):
        monkeypatch.setattr("sys.stdin.readline", lambda answer=answer: answer, raising=False)
        assert len(replayed) == 0
        assert main(["try", REPO]) == code
    assert len(replayed) == 1
    said = capsys.readouterr()
    assert "nothing was run" in said.err
    assert "Build and run this task? [y/N]" in said.err


def test_dry_run_shows_all_and_runs_nothing(
    collection: Path, hub: Hub, replayed: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """A dry run downloads and shows; it asks nothing and runs nothing."""
    hub.seed(REPO, files_of(collection / "tasks", "envs"))
    assert main(["try", REPO, "--dry-run"]) == 0
    assert "A replay would build and run" in capsys.readouterr().out
    assert replayed == []


def test_one_task_is_downloaded_alone(collection: Path, hub: Hub, replayed: list[Any]) -> None:
    """`--task` takes that task only, from the download on."""
    two = shutil.copytree(collection / "tasks" / "sum-column", collection / "tasks" / "other")
    document = two / "task.md"
    document.write_text(document.read_text().replace("sum-column", "other"))
    hub.seed(REPO, files_of(collection / "tasks", "envs"))
    assert main(["try", REPO, "--task", "other", "--yes"]) == 0
    assert replayed[0][0] == ["other"]
    assert not any("sum-column" in path for path in hub.given)
    assert main(["try", REPO, "--task", "none", "--yes"]) == 2


def test_harbor_and_posttrain_sets_are_read(
    harbor_task: Path, posttrain_task: Path, hub: Hub, replayed: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Harbor's layout with its registry and PostTrain's below a folder are collections like ours."""
    tasks = [{"name": "sums", "path": "tasks/sums"}]
    registry = json.dumps([{"name": "seas", "version": "1", "description": "d", "tasks": tasks}]).encode()
    files = {**files_of(harbor_task, "tasks/sums"), **files_of(harbor_task, "tasks/unlisted")}
    hub.seed(REPO, {**files, "registry.json": registry})
    assert main(["try", REPO, "--yes", "--name", "seas"]) == 0
    assert "collection `seas`: 1 task" in capsys.readouterr().out
    hub.seed("bob/sums", {
        **files_of(posttrain_task, "submissions/team/envs/sums"),
        "submissions/team/submission.yaml": b"team_name: t\ntrack: environments\n",
    })  # fmt: skip
    assert main(["try", "bob/sums", "--yes"]) == 0
    said = capsys.readouterr().out
    assert "collection `submissions/team`: 1 task" in said
    assert "COL" not in said
    assert [call[0] for call in replayed] == [["sums"], ["sums"]]


def test_cards_default_is_chosen(collection: Path, hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    """Of several released collections the first is the card's default; `--name` takes another."""
    for name in ("a", "b"):
        words = [
            "release",
            str(collection),
            "--repo",
            REPO,
            "--without-replays",
            "--no-arena",
            "--name",
            name,
        ]
        assert main([*words, "--requires", f"the sea of {name}"]) == 0
    capsys.readouterr()
    assert main(["try", REPO, "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "collection `a`" in said
    assert "requires  the sea of a" in said
    assert main(["try", REPO, "--dry-run", "--name", "b"]) == 0
    assert "requires  the sea of b" in capsys.readouterr().out


def test_task_with_an_error_is_left_out(
    collection: Path, hub: Hub, replayed: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """A task that check finds an error in is named and not run; with no other, nothing is."""
    good = files_of(collection / "tasks", "envs")
    bad = {path.replace("sum-column", "bad"): data for path, data in good.items() if "test.sh" not in path}
    hub.seed(REPO, {**good, **bad})
    assert main(["try", REPO, "--yes"]) == 1
    said = capsys.readouterr().out
    assert "Not run, since check finds an error" in said
    assert "envs/bad" in said
    assert [call[0] for call in replayed] == [["sum-column"]]
    hub.seed(REPO, bad)
    assert main(["try", REPO, "--yes"]) == 1
    assert len(replayed) == 1


def test_variables_of_this_machine_stay_here(
    collection: Path,
    hub: Hub,
    replayed: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A task that asks for a variable is told of, and gets it only where `--env` names it."""
    monkeypatch.setenv("SEA_KEY", "value-of-the-key")
    document = collection / "tasks" / "sum-column" / "task.md"
    text = document.read_text()
    document.write_text(text.replace("sandbox:\n", "sandbox:\n  env: {KEY: '${SEA_KEY}'}\n", 1))
    assert document.read_text() != text
    hub.seed(REPO, files_of(collection / "tasks", "envs"))
    assert main(["try", REPO, "--yes"]) == 0
    said = capsys.readouterr().out
    assert "don't get: `SEA_KEY` (1)" in said
    assert main(["try", REPO, "--yes", "--env", "SEA_KEY"]) == 0
    assert "don't get" not in capsys.readouterr().out
    assert [call[1].host_env for call in replayed] == [{}, {"SEA_KEY": "value-of-the-key"}]
    assert main(["try", REPO, "--yes", "--env", "SEA_OTHER"]) == 2


@pytest.mark.parametrize(
    ("address", "code", "words"),
    [
        ("ada/none", 1, "no data set `ada/none`"),
        (f"{REPO}@v9", 1, "no such branch, tag or commit"),
        ("bob/private", 1, "is private"),
        ("bob/gated", 1, "is gated"),
        ("bob/empty", 1, "holds no task"),
        ("bob/evil", 1, "leads out"),
        ("sums", 2, "OWNER/NAME"),
    ],
)
def test_refusals_are_one_line(
    address: str,
    code: int,
    words: str,
    collection: Path,
    hub: Hub,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What can't be had is told in one line, with its exit code."""
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None if "private" in address else TOKEN)
    files = files_of(collection / "tasks", "envs")
    hub.seed(REPO, files)
    hub.seed("bob/private", files, private=True)
    hub.seed("bob/gated", {**files, "README.md": b"# card\n"}).gated = True
    hub.seed("bob/empty", {"data/x.csv": b"1"})
    hub.seed("bob/evil", {**files, "envs/../../x": b"1"})
    assert main(["try", address, "--yes"]) == code
    said = capsys.readouterr()
    assert words in said.err
    assert said.err.count("\n") == 1
    assert "Traceback" not in said.err


def test_unreachable_hub_is_not_judged(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A Hub that does not answer gives one line and exit code 5."""
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert main(["try", REPO, "--yes"]) == 5
    assert "can't be reached" in capsys.readouterr().err


@pytest.mark.parametrize("limit", ["LARGE", "MANY"])
def test_large_download_is_asked_about(
    limit: str,
    collection: Path,
    hub: Hub,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A download of many bytes or files needs `--yes` or an answer."""
    monkeypatch.setattr(f"seatrials.commands.try_.{limit}", 3)
    hub.seed(REPO, files_of(collection / "tasks", "envs"))
    assert main(["try", REPO, "--dry-run"]) == 1
    assert "nothing was downloaded" in capsys.readouterr().err
    assert hub.given == []
    assert main(["try", REPO, "--dry-run", "--yes"]) == 0


def test_names_do_not_reach_the_terminal_raw(
    collection: Path, hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """A card's escape sequences are spelt out."""
    card = b'---\nseatrials: {collections: {envs: {requires: ["\\e[2Jgone"]}}}\n---\n'
    hub.seed(REPO, {**files_of(collection / "tasks", "envs"), "README.md": card})
    assert main(["try", REPO, "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "gone" in said
    assert "\x1b" not in said


def test_fingerprint_of_a_data_set(
    collection: Path, hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A data set's fingerprint is that of its folder; a folder of the same name goes before."""
    tasks = collection / "tasks"
    assert main(["fingerprint", str(tasks), "--public", "--suite", "sums"]) == 0
    from_folder = load_suite(Path("suites/sums.json"))
    hub.seed(REPO, files_of(tasks, "envs"))
    assert main(["fingerprint", f"{REPO}@main", "--public", "--force"]) == 0
    assert load_suite(Path("suites/sums.json")) == from_folder
    assert hub.repos[REPO].head in capsys.readouterr().out
    hub.requests.clear()
    shutil.copytree(tasks, tmp_path / REPO)
    assert main(["fingerprint", REPO, "--public", "--output", "x.json"]) == 0
    assert hub.requests == []
    assert main(["fingerprint", "ada/none", "--public"]) == 1


def test_question_that_is_cut_off_is_no(
    monkeypatch: pytest.MonkeyPatch, make_stdin: Callable[[str], Any]
) -> None:
    """The end of the input is no yes."""
    monkeypatch.setattr("sys.stdin", make_stdin(""))
    assert not asking.agreed("Run?")
    monkeypatch.setattr("sys.stdin", make_stdin(" YES \n"))
    assert asking.agreed("Run?")


@pytest.fixture
def make_stdin() -> Callable[[str], Any]:
    """Return a function that gives a stream to read from."""
    from io import StringIO

    return StringIO
