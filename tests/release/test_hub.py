"""Publishing: what the real client sends to a Hub on loopback, and what a fault there comes to."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hub import TOKEN, Fault, Hub

from seatrials.cli import main
from seatrials.task.package import TaskPackage

REPO = "ada/sums"

# How the client hands a file to its HTTP library is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


def publish(collection: Path, *words: str) -> int:
    """Release the collection, which has no replays, to the Hub."""
    return main(["release", str(collection), "--repo", REPO, "--without-replays", "--no-arena", *words])


def test_missing_repository_is_made_and_filled_in_one_commit(
    collection: Path, hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """The set goes up whole, in one commit on top of the first, and the tag names it."""
    assert publish(collection, "--tag", "v1") == 0
    repo = hub.repos[REPO]
    assert not repo.private
    assert len(repo.commits) == 2
    assert repo.tags == {"v1": repo.head}
    task = collection / "tasks" / "sum-column"
    assert repo.files["envs/sum-column/task.md"] == (task / "task.md").read_bytes()
    assert repo.files["data/tasks.parquet"][:4] == b"PAR1"
    assert f'load_dataset("{REPO}", "tasks"' in repo.files["README.md"].decode()
    said = capsys.readouterr()
    assert repo.head in said.out
    assert TOKEN not in said.out + said.err


def test_second_release_sends_nothing(collection: Path, hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    """What is there is not sent again, and nothing changed means no commit."""
    assert publish(collection) == 0
    hub.sent.clear()
    assert publish(collection) == 0
    assert hub.sent == []
    assert len(hub.repos[REPO].commits) == 2
    assert "Nothing to send" in capsys.readouterr().out


def test_changed_task_sends_itself_and_the_tables_only(collection: Path, hub: Hub) -> None:
    """A release after a change sends what changed; what is gone is deleted; other files stay."""
    assert publish(collection) == 0
    repo = hub.repos[REPO]
    theirs = {
        "mine/notes.md": b"mine",
        "data/mine.parquet": b"PAR1",
        "tasks/x/task.toml": b"x",
        "registry.json": b"[]",
    }
    repo.add({**repo.files, **theirs, "envs/old/task.md": b"old"})
    hub.sent.clear()
    script = collection / "tasks" / "sum-column" / "verifier" / "test.sh"
    script.write_text(script.read_text() + "# changed\n")
    assert publish(collection) == 0
    assert sorted(hub.sent) == ["data/tasks.parquet", "envs/sum-column/verifier/test.sh"]
    assert "envs/old/task.md" not in repo.files
    assert theirs.items() <= repo.files.items()


def test_card_of_the_repository_is_kept(collection: Path, hub: Hub) -> None:
    """Text and license of an existing card stay."""
    hub.seed(REPO, {"README.md": b"---\nlicense: cc-by-4.0\n---\n\n# Theirs\n\nTheir text.\n"})
    assert publish(collection) == 0
    card = hub.repos[REPO].files["README.md"].decode()
    assert "license: cc-by-4.0" in card
    assert card.index("Their text.") < card.index("## Tasks")


def test_card_that_cannot_be_kept_stops_the_release(
    collection: Path, hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """A card with a broken header, or in another encoding, is never overwritten."""
    for card in (b"---\nlicense: [\n---\ntext\n", b"---\n- a\n---\n", b"caf\xe9"):
        repo = hub.seed(REPO, {"README.md": card})
        assert publish(collection) == 1
        assert "mend it" in capsys.readouterr().err
        assert len(repo.commits) == 1


def test_two_collections_share_a_repository(collection: Path, hub: Hub) -> None:
    """Named collections replace their own folder only, and both have their configs."""
    assert publish(collection, "--name", "a") == 0
    assert publish(collection, "--name", "b") == 0
    files = hub.repos[REPO].files
    assert "a/envs/sum-column/task.md" in files
    assert "b/envs/sum-column/task.md" in files
    card = files["README.md"].decode()
    assert "a_tasks" in card
    assert "b_tasks" in card


def test_branch_that_moved_is_read_again(collection: Path, hub: Hub) -> None:
    """A commit between the reading of the card and ours is kept: the card is read anew and merged."""
    repo = hub.seed(REPO, {"README.md": b"# First\n"})
    hub.faults.append(
        Fault(
            method="POST",
            path="/commit/",
            status=0,
            action=lambda: repo.add({**repo.files, "README.md": b"# Second\n", "new.txt": b"n"}),
        )
    )
    assert publish(collection) == 0
    assert "# Second" in repo.files["README.md"].decode()
    assert repo.files["new.txt"] == b"n"
    assert len(repo.commits) == 3


def test_branch_that_never_rests_ends_in_a_refusal(
    collection: Path, hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """The number of tries is bounded."""
    repo = hub.seed(REPO, {})
    hub.faults.append(
        Fault(
            method="POST",
            path="/commit/",
            status=0,
            times=100,
            action=lambda: repo.add({**repo.files, "n": str(len(repo.commits)).encode()}),
        )
    )
    assert publish(collection) == 1
    assert "changed 5 times" in capsys.readouterr().err
    assert "envs/sum-column/task.md" not in repo.files


def test_lost_answer_doubles_nothing(collection: Path, hub: Hub) -> None:
    """A commit whose answer was lost is found by the next run: no second one is made."""
    hub.faults.append(Fault(method="POST", path="/commit/", status=502, after=True))
    assert publish(collection, "--tag", "v1") == 5
    assert publish(collection, "--tag", "v1") == 0
    repo = hub.repos[REPO]
    assert len(repo.commits) == 2
    assert repo.tags == {"v1": repo.head}


@pytest.mark.parametrize(
    ("status", "code", "words"), [(403, 1, "write access"), (401, 4, "hf auth login"), (429, 5, "wait")]
)
def test_refusals_say_what_to_do(
    status: int, code: int, words: str, collection: Path, hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each refusal has its exit code and says what would help."""
    hub.seed(REPO, {})
    hub.faults.append(Fault(method="POST", path="/commit/", status=status, times=100))
    assert publish(collection) == code
    said = capsys.readouterr().err
    assert words in said
    assert TOKEN not in said
    assert len(hub.repos[REPO].commits) == 1


def test_lost_run_bits_are_told(collection: Path, hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    """A build that needs a run bit, which the Hub does not keep, works here only: that is said."""
    environment = collection / "tasks" / "sum-column" / "environment"
    script = environment / "prepare.sh"
    script.write_text("#!/bin/sh\ntrue\n")
    script.chmod(0o755)
    dockerfile = environment / "Dockerfile"
    before = dockerfile.read_text()
    dockerfile.write_text(before + "COPY prepare.sh /prepare.sh\nRUN bash /prepare.sh\n")
    assert publish(collection, "--dry-run") == 0
    assert "run bits" not in capsys.readouterr().err
    dockerfile.write_text(before + "COPY prepare.sh /prepare.sh\nRUN /prepare.sh\n")
    assert publish(collection, "--dry-run") == 0
    said = capsys.readouterr().err
    assert "The Hub keeps no run bits" in said
    assert "`sum-column`: environment/Dockerfile:5: `RUN` runs `/prepare.sh`" in said


def test_foreign_owner_is_refused(collection: Path, hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    """A repository that may not be created there says which right is missing."""
    words = ["release", str(collection), "--repo", "bob/sums", "--without-replays", "--no-arena"]
    assert main(words) == 1
    assert "`bob`" in capsys.readouterr().err
    assert hub.repos == {}


def test_unreachable_hub_is_not_judged(
    collection: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A Hub that does not answer gives one line and exit code 5."""
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert publish(collection) == 5
    assert "can't be reached" in capsys.readouterr().err


def test_without_a_token_nothing_is_sent(collection: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """No identity is exit code 4, before the Hub is asked for anything."""
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    assert publish(collection) == 4
    assert hub.requests == []


def test_private_is_for_a_new_repository(
    collection: Path, hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--private` makes a private one, and refuses a public one that is there."""
    assert publish(collection, "--private") == 0
    assert hub.repos[REPO].private
    hub.repos[REPO].private = False
    assert publish(collection, "--private") == 1
    assert "public" in capsys.readouterr().err


def test_tag_is_never_moved(collection: Path, hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    """A tag on another commit is refused before anything is sent; the same again is fine."""
    assert publish(collection, "--tag", "v1") == 0
    assert publish(collection, "--tag", "v1") == 0
    script = collection / "tasks" / "sum-column" / "verifier" / "test.sh"
    script.write_text(script.read_text() + "# changed\n")
    assert publish(collection, "--tag", "v1") == 1
    assert "tag `v1`" in capsys.readouterr().err
    assert len(hub.repos[REPO].commits) == 2


def test_collection_gets_the_data_set_once(
    collection: Path, hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """The data set is added to a collection of the Hub; a missing one is said, with the set published."""
    hub.collections["ada/seas-1"] = []
    assert publish(collection, "--collection", "ada/seas-2") == 1
    assert "is published, but the collection `ada/seas-2`" in capsys.readouterr().err
    for _ in range(2):
        assert publish(collection, "--collection", "ada/seas-1") == 0
    assert hub.collections == {"ada/seas-1": [REPO]}
    assert len(hub.repos[REPO].commits) == 2


def test_dry_run_changes_nothing(collection: Path, hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    """A dry run says what would be sent; nothing is created or sent."""
    assert publish(collection, "--dry-run") == 0
    assert "send    envs/sum-column/task.md" in capsys.readouterr().out
    assert hub.repos == {}
    assert {method for method, _ in hub.requests} <= {"GET", "HEAD"}


def test_secret_is_never_sent(collection: Path, hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    """The Hub's own token in a task stops the release before anything is created."""
    (collection / "tasks" / "sum-column" / "verifier" / "notes.md").write_text(f"login {TOKEN}\n")
    assert publish(collection) == 1
    said = capsys.readouterr().err
    assert "notes.md:1" in said
    assert TOKEN not in said
    assert hub.repos == {}


def test_tasks_without_a_good_replay_stop_the_upload(
    collection: Path, hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """Publishing needs a replay of each task as it is, or `--without-replays`."""
    assert main(["release", str(collection), "--repo", REPO]) == 1
    assert "--without-replays" in capsys.readouterr().err
    assert hub.requests == []


@pytest.mark.parametrize(
    "words",
    [
        ["--repo", "nobody"],
        ["--repo", REPO, "--force"],
        ["--repo", REPO, "--collection", "seas"],
        ["--repo", REPO, "--tag", "a..b"],
        ["--repo", REPO, "--tag=-v1"],
        ["--repo", REPO, "--split", "a/b"],
        ["--out", "o", "--tag", "v1"],
        ["--out", "o", "--dry-run"],
        ["--out", "o", "--no-arena"],
        ["--out", "o", "--only", "upload"],
        ["--repo", REPO, "--no-arena", "--only", "submit"],
        ["--repo", REPO, "--agent-id", "human-x"],
        ["--only", "validate"],
    ],
)
def test_words_that_do_not_go_together(words: list[str], collection: Path) -> None:
    """A name that is none, and options of the other way, are usage errors."""
    assert main(["release", str(collection), *words]) == 2


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", range(1, 14))
def test_killed_release_is_finished_by_the_next(number: int, after: bool, collection: Path, hub: Hub) -> None:
    """Killed at any request and started again, a release ends as an undisturbed one."""
    words = ["release", str(collection), "--repo", REPO, "--without-replays", "--no-arena", "--tag", "v1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "seatrials", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    hub.faults.append(
        Fault(method=".", path=".", status=0, skip=number - 1, after=after, action=process.kill)
    )
    assert process.wait(60) in {0, -signal.SIGKILL}
    with hub.lock:
        killed = not hub.faults[0].times
        hub.faults.clear()
    assert killed or number > 10
    assert main(words) == 0
    repo = hub.repos[REPO]
    assert len(repo.commits) == 2
    assert repo.tags == {"v1": repo.head}
    assert {path for path in repo.files if path.startswith("envs/")} == {
        f"envs/sum-column/{path}" for path in TaskPackage(collection / "tasks" / "sum-column").files
    }
    assert "data/tasks.parquet" in repo.files
