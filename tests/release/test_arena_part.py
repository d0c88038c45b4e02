"""`seatrials release` at the arena: what is asked, compared, kept and told, and what stops it."""

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from arena import judge
from arena.server import CHALLENGE, ArenaState, Fault
from hub import TOKEN, Hub

from seatrials.cli import main

REPO = "ada/sums"

# How the client hands a file to its HTTP library is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

Release = Callable[..., int]


@pytest.fixture
def release(collection: Path, arena: ArenaState) -> Release:
    """Return a function that releases the collection, which has no replays, with the client trusted."""

    def call(*words: str, source: Path = collection) -> int:
        client = hashlib.sha256(arena.files["arena_cli.py"]).hexdigest()
        return main(["release", str(source), "--repo", REPO, "--without-replays", "--trust", client, *words])

    return call


def kept(collection: Path, commit: str, *below: str) -> dict[str, Any]:
    """Return the files that a release keeps of its submission."""
    folder = collection.joinpath(".seatrials", "arena", REPO, commit[:12], *below)
    return {path.name: json.loads(path.read_text()) for path in sorted(folder.iterdir()) if path.is_file()}


def test_release_ends_with_a_submission_and_a_preflight(
    release: Release, collection: Path, hub: Hub, arena: ArenaState, capsys: pytest.CaptureFixture[str]
) -> None:
    """One commit, one submission at that commit, and every check of a preflight that says no: exit code 0."""
    assert release("--title", "Sums", "--notes", "why") == 0
    said = capsys.readouterr()
    head = hub.repos[REPO].head
    ((name, record),) = arena.environments.items()
    assert (record["revision"], record["repo_id"], record["entry_path"]) == (head, REPO, "")
    assert (record["title"], record["notes"], record["agent_id"]) == ("Sums", "why", None)
    assert record["target_challenge_id"] == CHALLENGE
    assert f"challenge `{CHALLENGE}`; runs are paused: " in said.out
    assert "Validated: valid, 1 eligible" in said.out
    assert f"submitted as {name}" in said.out
    assert "Content hashes: the arena's are those of what the Hub has for 1 task (PATH NUL ID LF" in said.out
    for line in ("FAIL  challenge open", "ok    signed in", "skip  job layout", "skip  cap", "ok    owner"):
        assert line in said.out
    assert f"Preflight of a run of {name}" in said.out
    assert "not allowed; nothing was reserved or started" in said.out
    assert TOKEN not in said.out + said.err
    files = kept(collection, head)
    assert set(files) == {
        "environment.json", "environment.json.pinned.json", "environment-receipt.json", "validation.json"
    }  # fmt: skip
    assert files["environment.json"]["revision"] == head
    assert files["environment-receipt.json"]["environment_id"] == name
    assert TOKEN not in json.dumps(files)
    assert arena.runs == {}
    assert arena.messages == []


def test_second_release_is_the_first_one(
    release: Release, hub: Hub, arena: ArenaState, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is sent or stored again, and the first title stays, which is told."""
    assert release() == 0
    capsys.readouterr()
    assert release("--notes", "Others") == 0
    said = capsys.readouterr().out
    assert "it keeps its first title, notes and agent" in said
    assert "Nothing to send" in said
    assert len(arena.environments) == 1
    assert len(hub.repos[REPO].commits) == 2


def test_words_on_the_card_make_no_second_submission(
    release: Release, collection: Path, hub: Hub, arena: ArenaState
) -> None:
    """The arena reads the tasks and the manifest: a commit that leaves them alone is not submitted anew."""
    assert release() == 0
    repo = hub.repos[REPO]
    repo.add({**repo.files, "README.md": repo.files["README.md"] + b"\nMore words.\n"})
    assert release() == 0
    assert len(arena.environments) == 1
    script = collection / "tasks" / "sum-column" / "verifier" / "test.sh"
    script.write_text(script.read_text() + "# changed\n")
    assert release() == 0
    assert len(arena.environments) == 2


def test_differences_are_told_by_task_and_severity(
    release: Release, arena: ArenaState, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What one side finds and the other doesn't is named with its task."""
    found = {"task": "sum-column", "severity": "review", "code": "S-X", "path": "task.md", "detail": "see it"}
    right = judge.judge

    def more(*args: Any) -> judge.Verdict:
        verdict = right(*args)
        verdict.findings.append(found)
        return verdict

    monkeypatch.setattr("arena.server.judge", more)
    assert release() == 0
    said = capsys.readouterr().out
    assert "gates are" not in said
    assert "the arena: 1 review; check: no findings" in said
    assert "sum-column: review by the arena only: S-X task.md see it" in said


def test_newer_gates_are_told(
    release: Release, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the arena judges by another version of its gates, that is said before the differences."""
    right = judge.Verdict.as_data

    def newer(verdict: judge.Verdict) -> dict[str, Any]:
        data = right(verdict)
        data["quality_gates"]["static"]["version"] = "gates-v9"
        return data

    monkeypatch.setattr("arena.judge.Verdict.as_data", newer)
    assert release("--only", "upload") == 0
    assert release("--only", "validate") == 0
    assert "The arena's gates are `gates-v9`, and this kit knows `gates-v4`" in capsys.readouterr().out


def test_collection_that_the_arena_blocks_is_not_submitted(
    release: Release, collection: Path, arena: ArenaState, capsys: pytest.CaptureFixture[str]
) -> None:
    """A held-out name blocks validation: it is told beside ours, kept, and nothing is stored."""
    arena.held_out["sum-column"] = judge.HeldOut(prompt="something else")
    assert release() == 1
    said = capsys.readouterr()
    assert "Validated: not valid, 0 eligible" in said.out
    assert "sum-column: block by the arena only: S-NAME" in said.out
    assert "not find the collection valid" in said.err
    assert arena.environments == {}
    (validation,) = (collection / ".seatrials" / "arena").rglob("validation.json")
    assert json.loads(validation.read_text())["valid"] is False
    assert not list((collection / ".seatrials" / "arena").rglob("environment-receipt.json"))


@pytest.mark.parametrize("how", ["made private", "private", "gated"])
def test_closed_repository_is_published_and_not_submitted(
    how: str, release: Release, hub: Hub, arena: ArenaState, capsys: pytest.CaptureFixture[str]
) -> None:
    """The upload to a private or gated data set works; the arena's part is refused with the reason."""
    if how != "made private":
        repo = hub.seed(REPO, {}, private=how == "private")
        repo.gated = how == "gated"
    words = ["--private"] if how != "gated" else []
    assert release(*words) == 1
    said = capsys.readouterr()
    assert f"is {how.removeprefix('made ')}, and the arena reads public, ungated data sets only" in said.err
    assert "envs/sum-column/task.md" in hub.repos[REPO].files
    assert arena.requests == []
    assert release(*words, "--no-arena") == 0


def test_no_arena_and_dry_run_do_what_they_say(
    release: Release, hub: Hub, arena: ArenaState, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--no-arena` asks the arena nothing; a dry run stores nothing, and validates what is there already."""
    assert release("--dry-run") == 0
    assert "Would validate and submit it" in capsys.readouterr().out
    assert hub.repos == {}
    assert release("--no-arena") == 0
    assert arena.requests == []
    for words in ([], ["--only", "submit"]):
        assert release("--dry-run", *words) == 0
        said = capsys.readouterr().out
        assert "Validated: valid" in said
        assert "Would submit it" in said
        assert arena.environments == {}
    assert release() == 0
    capsys.readouterr()
    assert release("--dry-run") == 0
    assert "Preflight of a run of env-" in capsys.readouterr().out
    assert len(arena.environments) == 1
    assert arena.asked("POST", "/api/environments") == 1


def test_each_step_can_be_done_alone(
    release: Release, hub: Hub, arena: ArenaState, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each step does its own and no other, as often as it is asked for."""
    assert release("--only", "preflight") == 1
    assert "no data set" in capsys.readouterr().err
    assert release("--only", "gate") == 0
    assert "The gates let 1 task pass" in capsys.readouterr().out
    assert hub.repos == {}
    for _ in range(2):
        assert release("--only", "upload") == 0
    assert len(hub.repos[REPO].commits) == 2
    assert arena.requests == []
    capsys.readouterr()
    assert release("--only", "preflight") == 1
    assert "not submitted yet" in capsys.readouterr().err
    for _ in range(2):
        assert release("--only", "validate") == 0
    assert arena.environments == {}
    for _ in range(2):
        assert release("--only", "submit") == 0
    assert len(arena.environments) == 1
    assert "Preflight" not in capsys.readouterr().out
    for _ in range(2):
        assert release("--only", "preflight") == 0
    assert "Preflight of a run of env-" in capsys.readouterr().out


def test_preflight_finds_a_submission_from_elsewhere(
    release: Release, collection: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a receipt here, the arena's list says under which id the commit is stored."""
    assert release() == 0
    shutil.rmtree(collection / ".seatrials")
    assert release("--only", "preflight") == 0
    assert capsys.readouterr().out.count("Preflight of a run of env-") == 2


@pytest.mark.parametrize(
    "fault",
    [
        Fault("POST", "/api/environments", lost=True, after=True),
        Fault("POST", "/api/environments", cut=True),
        Fault("POST", "/api/environments", 502, after=True),
        Fault("GET", "/api/challenges", 502),
        Fault("POST", "/api/validate", lost=True),
    ],
    ids=["lost", "cut", "html", "read", "validate"],
)
def test_uncertain_answer_doubles_nothing(
    fault: Fault, release: Release, hub: Hub, arena: ArenaState
) -> None:
    """Whatever becomes of an answer, this release or the next one ends with one commit and one submission."""
    arena.faults.append(fault)
    assert release() in {0, 5}
    arena.faults.clear()
    assert release() == 0
    assert len(arena.environments) == 1
    assert len(hub.repos[REPO].commits) == 2


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        (
            Fault("POST", "/api/validate", 429, {"detail": "slow down"}, headers={"Retry-After": "1"}),
            0,
            "wait",
        ),
        (
            Fault("POST", "/api/validate", 302, b"", headers={"Location": "http://127.0.0.1:9/"}),
            5,
            "redirect",
        ),
        (Fault("POST", "/api/environments", 409, {"detail": "the challenge is closed"}), 1, "is closed"),
        (Fault("POST", "/api/environments", 422, {"detail": "no such thing"}), 1, "no such thing"),
        (Fault("POST", "/api/environments", 403, {"detail": "not yours"}), 1, "public and ungated"),
        (Fault("GET", "/api/challenges/.*/preflight", 500, {"detail": "down"}, times=9), 5, "down"),
    ],
    ids=["429", "302", "409", "422", "403", "preflight"],
)
def test_each_no_of_the_arena_is_explained_and_finished_later(
    fault: Fault,
    code: int,
    words: str,
    release: Release,
    hub: Hub,
    arena: ArenaState,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A refusal ends with its exit code and what to do, and the next release does what is left."""
    arena.faults.append(fault)
    assert release() == code
    said = capsys.readouterr()
    assert words in said.err
    assert TOKEN not in said.out + said.err
    arena.faults.clear()
    assert release() == 0
    assert len(arena.environments) == 1
    assert len(hub.repos[REPO].commits) == 2


def test_busy_arena_is_told_and_finished_later(
    release: Release, hub: Hub, arena: ArenaState, capsys: pytest.CaptureFixture[str]
) -> None:
    """A long Retry-After is shown and not waited for; the set stays published."""
    arena.faults.append(
        Fault("POST", "/api/environments", 503, {"detail": "busy"}, headers={"Retry-After": "7200"}, times=9)
    )
    assert release() == 5
    said = capsys.readouterr()
    assert "2 h" in said.err
    assert "Published 1 task" in said.out
    arena.faults.clear()
    assert release() == 0
    assert len(hub.repos[REPO].commits) == 2


def test_words_of_the_arena_are_spelt_out(
    release: Release, arena: ArenaState, capsys: pytest.CaptureFixture[str]
) -> None:
    """No escape sequence of the arena's reaches the terminal."""
    arena.runs_paused = "until \x1b[2Jlater"
    assert release() == 0
    said = capsys.readouterr()
    assert "until \\x1b[2Jlater" in said.out
    assert "\x1b" not in said.out + said.err


def test_refusals_of_the_arena(
    release: Release, collection: Path, arena: ArenaState, capsys: pytest.CaptureFixture[str]
) -> None:
    """An untrusted client, an agent that is not registered and a closed challenge end with what to do."""
    assert main(["release", str(collection), "--repo", REPO, "--without-replays"]) == 1
    assert "allow exactly it with `--trust" in capsys.readouterr().err
    assert arena.asked("GET", "/api/challenges") == 0
    assert release("--agent-id", "nobody-here") == 1
    assert "not registered" in capsys.readouterr().err
    assert release("--challenge", "openenv-30b") == 1
    assert "takes no collections" in capsys.readouterr().err
    assert arena.environments == {}


def test_track_has_no_preflight(
    release: Release, arena: ArenaState, capsys: pytest.CaptureFixture[str]
) -> None:
    """A collection can be stored under a track, which runs nothing."""
    assert release("--challenge", "environments") == 0
    assert "there is no preflight" in capsys.readouterr().out
    assert len(arena.environments) == 1


def test_named_collection_has_its_entry_path(
    release: Release, collection: Path, hub: Hub, arena: ArenaState, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `--name` the folder is the entry path, and the two of one repository are two submissions."""
    assert release("--name", "sea") == 0
    assert release("--name", "land") == 0
    assert {record["entry_path"] for record in arena.environments.values()} == {"sea", "land"}
    by_path = {record["entry_path"]: record["revision"] for record in arena.environments.values()}
    assert kept(collection, by_path["sea"], "sea")["environment.json"]["entry_path"] == "sea"
    assert capsys.readouterr().out.count("for 1 task (") == 2
    assert release("--name", "sea") == 0
    assert len(arena.environments) == 2


def test_harbor_set_is_submitted_as_it_is(
    release: Release, harbor_task: Path, tmp_path: Path, arena: ArenaState, hub: Hub
) -> None:
    """Tasks under `tasks/` go as they are, without a manifest."""
    folder = tmp_path / "set"
    shutil.copytree(harbor_task, folder / "tasks" / "sums")
    assert release("--layout", "harbor", source=folder) == 0
    (record,) = arena.environments.values()
    assert record["quality_gates"]["static"]["task_identity"]["sums"]["format"] == "harbor"
    assert "submission.yaml" not in hub.repos[REPO].files


def test_file_in_lfs_has_its_pointers_id(
    release: Release, collection: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The arena hashes what the Hub lists, a pointer's id for a file in LFS; the hashes agree."""
    (collection / "tasks" / "sum-column" / "environment" / "more.bin").write_bytes(bytes(1000))
    assert release() == 0
    assert "for 1 task (PATH NUL ID LF, paths from the task, ids as listed)" in capsys.readouterr().out


def two_tasks(collection: Path) -> None:
    """Give the collection a second task."""
    two = shutil.copytree(collection / "tasks" / "sum-column", collection / "tasks" / "other")
    document = two / "task.md"
    document.write_text(document.read_text().replace("sum-column", "other"))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (["other"], ["for 1 task, and others for 1 task", "\n  other\n"]),
        (["other", "sum-column"], ["how the arena joins paths and ids is not known"]),
    ],
)
def test_other_hashes_are_told(
    wrong: Sequence[str],
    words: Sequence[str],
    release: Release,
    collection: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where a way of hashing fits one task, other hashes are other content; where it fits none, unknown."""
    two_tasks(collection)
    right = judge.judge

    def off(*args: Any) -> judge.Verdict:
        verdict = right(*args)
        for task in wrong:
            verdict.identity[task]["content_hash"] = "sha256:" + "0" * 64
        return verdict

    monkeypatch.setattr("arena.server.judge", off)
    assert release() == 0
    said = capsys.readouterr().out
    for word in words:
        assert word in said
    assert ("others for" in said) == (len(wrong) == 1)


def test_too_many_tasks_are_published_and_not_submitted(
    release: Release,
    collection: Path,
    hub: Hub,
    arena: ArenaState,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A set of more tasks than the arena takes goes up, and its part is refused before it is asked."""
    two_tasks(collection)
    monkeypatch.setattr("seatrials.flows.arena_part.MAX_TASKS", 1)
    assert release() == 1
    assert "submit a subset" in capsys.readouterr().err
    assert "envs/other/task.md" in hub.repos[REPO].files
    assert arena.asked("POST", "/api/validate") == 0


def test_settings_name_challenge_and_agent(
    release: Release, collection: Path, arena: ArenaState, capsys: pytest.CaptureFixture[str]
) -> None:
    """What stays the same stands in the collection's own settings."""
    table = f'[tool.seatrials.release]\nchallenge = "{CHALLENGE}"\nnotes = "why"\nagent-id = "ada-agent"\n'
    (collection / "pyproject.toml").write_text(table)
    arena.agents["ada-agent"] = {"agent_id": "ada-agent", "owner": "ada"}
    assert release() == 0
    (record,) = arena.environments.values()
    assert (record["agent_id"], record["notes"]) == ("ada-agent", "why")
    (collection / "pyproject.toml").write_text("[tool.seatrials.release]\nno-arena = true\n")
    arena.requests.clear()
    assert release() == 0
    assert arena.requests == []


def test_several_open_challenges_must_be_chosen_from(
    release: Release, arena: ArenaState, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two open challenges are named, none is none, and `--challenge` decides."""
    rows: list[dict[str, Any]] = []
    monkeypatch.setattr("arena.server.Handler.challenges", lambda handler: rows)
    assert release() == 2
    assert "no challenge is open" in capsys.readouterr().err
    rows += [{"id": "one", "status": "open"}, {"id": "two", "status": "open", "runs_paused": None}]
    assert release() == 2
    assert "one, two" in capsys.readouterr().err
    assert release("--challenge", "two", "--only", "validate") == 0


@pytest.mark.parametrize("option", ["--notes", "--title"])
def test_secret_in_an_option_stops_the_release(
    option: str,
    release: Release,
    hub: Hub,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What would be public at the arena is looked at before anything is sent."""
    monkeypatch.setenv("SEA_API_KEY", "q8Zt-55-tide-Lw1")
    assert release(option, "ask q8Zt-55-tide-Lw1") == 1
    said = capsys.readouterr().err
    assert f"`{option}` holds the value of the variable `SEA_API_KEY`" in said
    assert "q8Zt" not in said
    assert hub.repos == {}
