"""The request files: what may stand in them, and that nothing of a person's is written over."""

import json
from pathlib import Path

import pytest

from seatrials.arena.requests import (
    AgentRequest,
    EnvironmentRequest,
    MessageRequest,
    RunRequest,
    keep,
    new_request_id,
    read,
)
from seatrials.errors import UsageError

GOOD = {"challenge_id": "openenv-9b", "repo_id": "ada/tasks", "title": "T"}


@pytest.mark.parametrize("agent", ["ab", "a" * 48, "0-9", "my-agent-", "9a", "humanoid", "human"])
def test_good_agent_ids(agent: str) -> None:
    """Two to 48 lowercase letters, digits and hyphens, starting with a letter or a digit."""
    assert AgentRequest(agent_id=agent, description="d").as_data() == {"agent_id": agent, "description": "d"}


@pytest.mark.parametrize(
    "agent",
    ["", "a", "a" * 49, "-ab", "Ab", "a_b", "a b", "ab\n", "ä1", "human-ada", "human-", 7, None, ["ab"]],
)
def test_bad_agent_ids(agent: object) -> None:
    """Anything else is refused by its key, and so are ids for people."""
    with pytest.raises(UsageError, match="`agent_id`"):
        AgentRequest(agent_id=agent, description="d")


@pytest.mark.parametrize("request_id", ["12345678", "a" * 120, "my run 001"])
def test_good_request_ids(request_id: str) -> None:
    """Eight to 120 characters."""
    assert RunRequest(request_id=request_id).as_data() == {"request_id": request_id}


@pytest.mark.parametrize("request_id", ["", "1234567", "a" * 121, "1234567\n", " 1234567", None, 12345678])
def test_bad_request_ids(request_id: object) -> None:
    """Shorter, longer, with control characters or no text: refused by the key."""
    with pytest.raises(UsageError, match="`request_id`"):
        RunRequest(request_id=request_id)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("agent_id", "human-ada"), ("challenge_id", ""), ("challenge_id", "--file"), ("repo_type", "space"),
        ("repo_id", "tasks"), ("repo_id", "a/b/c"), ("repo_id", "../x"), ("revision", ""), ("revision", "-x"),
        ("revision", "a b"), ("entry_path", "/a"), ("entry_path", "a/../b"), ("entry_path", "a//b"),
        ("entry_path", "a\\b"), ("entry_path", "a/"), ("entry_path", None), ("title", " "), ("notes", None),
    ],
)  # fmt: skip
def test_bad_collections(key: str, value: object) -> None:
    """Each key of environment.json is checked, and named."""
    with pytest.raises(UsageError, match=f"`{key}`"):
        EnvironmentRequest(**{**GOOD, key: value})


def test_collection_has_the_keys_of_the_guide() -> None:
    """environment.json has the guide's keys, with null for the Hugging Face identity itself."""
    assert EnvironmentRequest(**GOOD).as_data() == {
        "agent_id": None, "challenge_id": "openenv-9b", "repo_type": "dataset", "repo_id": "ada/tasks",
        "revision": "main", "entry_path": "", "title": "T", "notes": "",
    }  # fmt: skip
    assert EnvironmentRequest(**{**GOOD, "revision": "a" * 40}).pinned
    assert not EnvironmentRequest(**GOOD).pinned


@pytest.mark.parametrize(
    ("key", "value"), [("broadcast", True), ("broadcast", 0), ("refs", "x"), ("refs", ["a/b"]), ("body", "")]
)
def test_bad_messages(key: str, value: object) -> None:
    """A message has words, names others by their file's name, and is never a broadcast."""
    with pytest.raises(UsageError, match=f"`{key}`"):
        MessageRequest(**{"request_id": "12345678", "body": "b", key: value})


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("{", "must be JSON"), ("[]", "an object|JSON object"), ("[" * 100_000, "must be JSON"),
        ('{"request_id": "12345678", "requestid": "x"}', "`requestid` is no key"),
        ("{}", "must have `request_id`"),
        ('{"request_id": "short"}', "8 to 120"), ("\ufeff", "must be JSON"), ("x" * 2_000_000, "at most"),
    ],
)  # fmt: skip
def test_bad_files(text: str, word: str, tmp_path: Path) -> None:
    """A file that is no such request is one line that names it."""
    (tmp_path / "run.json").write_text(text, "utf-8")
    with pytest.raises(UsageError, match=word) as caught:
        read(tmp_path / "run.json", RunRequest)
    assert "run.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    """No file, and a folder in its place, are told."""
    for path in (tmp_path / "run.json", tmp_path):
        with pytest.raises(UsageError, match="is not there"):
            read(path, RunRequest)


def test_what_a_person_wrote_stays(tmp_path: Path) -> None:
    """A file that says something else is left, unless it is to be replaced; one that says the same too."""
    path = tmp_path / "run.json"
    assert keep(path, RunRequest(request_id="12345678"))
    path.write_text('{"request_id":   "12345678"}', "utf-8")
    assert not keep(path, RunRequest(request_id="12345678"))
    with pytest.raises(UsageError, match=r"`request_id`.*`--force`"):
        keep(path, RunRequest(request_id="87654321"))
    assert path.read_text("utf-8") == '{"request_id":   "12345678"}'
    assert keep(path, RunRequest(request_id="87654321"), replace=True)
    assert json.loads(path.read_text("utf-8")) == {"request_id": "87654321"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]


def test_file_that_comes_to_be_meanwhile_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two commands that make the same run.json at once: one of them stops, and the first id stays."""
    path = tmp_path / "run.json"
    keep(path, RunRequest(request_id="the-first-one"))
    monkeypatch.setattr(Path, "exists", lambda self, **_: False)
    with pytest.raises(UsageError, match="meanwhile"):
        keep(path, RunRequest(request_id="the-second-one"))
    monkeypatch.undo()
    assert read(path, RunRequest).request_id == "the-first-one"
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]


def test_new_request_ids_differ() -> None:
    """A made request id is its prefix and something nobody has, and is good."""
    ids = {new_request_id("a" * 200) for _ in range(50)}
    assert len(ids) == 50
    assert all(RunRequest(request_id=one) for one in ids)


@pytest.mark.parametrize("value", ["ours-of-this-machine", "hf_" + "Qx7" * 12])
def test_no_request_holds_a_token(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine's token, and what looks like one, is refused by the key and not repeated."""
    monkeypatch.setenv("HF_TOKEN", "ours-of-this-machine")
    said = f"see {value}"
    with pytest.raises(UsageError, match="`notes` holds a Hugging Face token") as caught:
        EnvironmentRequest(**GOOD, notes=said)
    assert value not in str(caught.value)
    with pytest.raises(UsageError, match="`body`"):
        MessageRequest(request_id="12345678", body=said)
    with pytest.raises(UsageError, match="`description`"):
        AgentRequest(agent_id="ab", description=said)
    with pytest.raises(UsageError, match="`request_id`"):
        RunRequest(request_id=value)
