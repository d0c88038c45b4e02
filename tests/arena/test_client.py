"""Driving the arena's client: what it is given, what it answers, and what happens when it does not."""

import json
from pathlib import Path

import pytest
from arena.conftest import REPO
from arena.server import CHALLENGE, ArenaState, Fault
from hub import TOKEN, Hub

from seatrials.arena import requests
from seatrials.arena.calls import COMMANDS
from seatrials.arena.client import Arena, environment_of, pinned_path
from seatrials.arena.refusals import ArenaRefusedError, ArenaUnavailableError
from seatrials.arena.site import Site, site_of
from seatrials.errors import NoIdentityError, RefusedError, UsageError

LATER = 10**9


def request_at(folder: Path, **keys: object) -> Path:
    """Write an environment.json and return its path."""
    made = requests.EnvironmentRequest(
        **{"challenge_id": CHALLENGE, "repo_id": REPO, "title": "Tasks of the sea", **keys}
    )
    requests.keep(folder / "environment.json", made, replace=True)
    return folder / "environment.json"


def kept(folder: Path, name: str) -> dict:
    """Return a kept answer."""
    return json.loads((folder / name).read_text("utf-8"))


def everything(folder: Path) -> bytes:
    """Return the content of all files below a folder."""
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


# What the client is given.


def test_reads_find_no_token_at_all(
    server: ArenaState, arena: Arena, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A public read sends no token, though the environment and the saved file have one."""
    home = tmp_path / "home"
    for place in (home / ".cache" / "huggingface", tmp_path / "hf-home", tmp_path / "cache" / "huggingface"):
        place.mkdir(parents=True)
        (place / "token").write_text(TOKEN, "utf-8")
    monkeypatch.setenv("HOME", str(home))
    server.files["arena_cli.py"] = (
        b"import json, os\nfound = []\n"
        b"for key in ('HOME', 'HF_HOME', 'XDG_CACHE_HOME', 'XDG_CONFIG_HOME'):\n"
        b"    for folder, _, names in os.walk(os.environ[key]):\n"
        b"        found += [folder] if 'token' in names else []\n"
        b"print(json.dumps({'env': dict(os.environ), 'found': found}))\n"
    )
    data = arena.challenges().data
    assert data["found"] == []
    assert "HF_TOKEN" not in data["env"]
    assert TOKEN not in json.dumps(data)
    assert not Path(data["env"]["HF_TOKEN_PATH"]).exists()
    assert not Path(data["env"]["HF_HOME"]).exists()


def test_read_commands_send_no_authorization(server: ArenaState, arena: Arena) -> None:
    """Each of the public reads works, and none carries the token."""
    arena.challenges()
    arena.benchmarks()
    arena.benchmarks("agentic-8")
    arena.discover()
    arena.budget()
    arena.environments()
    arena.runs(CHALLENGE)
    arena.leaderboard(CHALLENGE)
    arena.board()
    assert len(server.requests) == 10  # the client's own file, and one for each
    assert not any(token for _, _, token in server.requests)


def test_environment_is_built_from_scratch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the search path and, for an arena elsewhere, proxies and certificates pass on."""
    outer = {
        "PATH": "/bin",
        "AWS_SECRET_ACCESS_KEY": "x",
        "HTTPS_PROXY": "http://proxy",
        "PYTHONPATH": "/evil",
    }
    far = environment_of(site_of("https://arena.test"), home=Path("/h"), token="t", outer=outer)
    near = environment_of(site_of("http://127.0.0.1:1"), home=Path("/h"), token=None, outer=outer)
    assert far["HTTPS_PROXY"] == "http://proxy"
    assert far["HF_TOKEN"] == "t"
    assert not {"AWS_SECRET_ACCESS_KEY", "PYTHONPATH"} & set(far)
    assert not {"HTTPS_PROXY", "HF_TOKEN"} & set(near)


def test_saved_token_is_used_where_the_variable_is_unset(
    server: ArenaState, arena: Arena, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token that `hf auth login` saved speaks for the user."""
    monkeypatch.delenv("HF_TOKEN")
    (tmp_path / "hf-home").mkdir()
    (tmp_path / "hf-home" / "token").write_text(TOKEN + "\n", "utf-8")
    assert arena.whoami().data == {"name": "ada", "editor": False}


@pytest.mark.parametrize("command", [name for name, command in COMMANDS.items() if command.identity])
def test_no_token_ends_before_anything_is_started(
    command: str, server: ArenaState, arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a token, a command that needs one asks nothing of the arena, not even for its client."""
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(NoIdentityError) as caught:
        arena.call(*command.split())
    assert caught.value.exit_code == 4
    assert server.requests == []


def test_token_that_is_no_word_is_not_sent(
    server: ArenaState, arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token with a line end in it, which could add a header, is refused unseen."""
    monkeypatch.setenv("HF_TOKEN", "abc\r\nX-Evil: 1")
    with pytest.raises(NoIdentityError) as caught:
        arena.whoami()
    assert "X-Evil" not in str(caught.value)


def test_unknown_token_is_told(server: ArenaState, arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token that the arena does not accept is exit code 4, with what to do."""
    monkeypatch.setenv("HF_TOKEN", "hf_of_nobody")
    with pytest.raises(NoIdentityError, match="hf auth login"):
        arena.whoami()


def test_token_is_hidden_in_what_the_client_prints(
    server: ArenaState, arena: Arena, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that prints the token, in several spellings, gives it to no answer, file or exception."""
    monkeypatch.setenv("HF_TOKEN", "sea+secret/of=ada")
    server.files["arena_cli.py"] = (
        b"import base64, json, os, sys, urllib.parse\n"
        b"token = os.environ['HF_TOKEN']\n"
        b"coded = base64.b64encode(('x:' + token).encode()).decode()\n"
        b"told = [token, urllib.parse.quote(token, safe=''), coded, 'hf_' + 'a' * 34]\n"
        b"print(json.dumps({'valid': True, 'told': told}))\n"
        b"print(*told, file=sys.stderr)\n"
        b"sys.exit(0 if 'validate' in sys.argv else 1)\n"
    )
    (tmp_path / "work").mkdir()
    file = request_at(tmp_path / "work")
    found = arena.validate(file)
    with pytest.raises(ArenaUnavailableError) as caught:
        arena.whoami()
    shown = repr(found) + str(caught.value) + repr(caught.value.answer) + str(caught.value.__context__)
    shown += everything(tmp_path / "work").decode() + everything(tmp_path / "cache").decode()
    for spelling in (
        "sea+secret/of=ada",
        "sea%2Bsecret",
        "c2VhK3NlY3JldC9vZj1hZG",
        "NlYStzZWNyZXQvb2Y9YWRh",
        "aaaaaaaa",
    ):
        assert spelling not in shown
    assert "[token]" in found.answer.said


def test_token_is_taken_out_of_what_the_client_keeps(
    server: ArenaState, arena: Arena, tmp_path: Path
) -> None:
    """A client that writes the token into its pinned request leaves none in the folder."""
    (tmp_path / "work").mkdir()
    file = request_at(tmp_path / "work")
    pin = b'dict(request, revision=found["revision"])'
    source = server.files["arena_cli.py"]
    assert pin in source
    server.files["arena_cli.py"] = source.replace(pin, pin[:-1] + b", token=token())")
    server.faults.append(Fault("POST", "/api/environments", 502, times=LATER))
    with pytest.raises(ArenaUnavailableError):
        arena.submit(file)
    assert "[token]" in pinned_path(file).read_text("utf-8")
    assert TOKEN.encode() not in everything(tmp_path / "work")


def test_token_stands_in_no_argument(
    server: ArenaState, arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client gets the token by its environment alone."""
    server.files["arena_cli.py"] = b"import json, sys; print(json.dumps(sys.argv))\n"
    assert TOKEN not in json.dumps(arena.whoami().data)


# Validate, submit, preflight.


def test_validate_reads_the_pinned_commit_and_keeps_the_answer(
    server: ArenaState, arena: Arena, hub: Hub, tmp_path: Path
) -> None:
    """Validation says what it saw at which commit, and is kept beside the request; nothing is stored."""
    found = arena.validate(request_at(tmp_path))
    assert (found.valid, found.eligible, found.commit) == (True, 1, hub.repos[REPO].head)
    assert found.summary["tasks"] == 1
    assert set(found.hashes) == {"sum-column"}
    assert kept(tmp_path, "validation.json")["valid"] is True
    assert server.environments == {}


def test_submit_keeps_the_pinned_request_and_the_receipt(
    server: ArenaState, arena: Arena, hub: Hub, tmp_path: Path
) -> None:
    """A submission leaves the request at its commit and the answer; the same again is told to be there."""
    file = request_at(tmp_path)
    first = arena.submit(file)
    again = arena.submit(file)
    assert first.environment_id.startswith("env-")
    assert (first.existing, again.existing) == (False, True)
    assert again.environment_id == first.environment_id
    assert kept(tmp_path, "environment.json.pinned.json")["revision"] == hub.repos[REPO].head
    assert kept(tmp_path, "environment-receipt.json")["environment_id"] == first.environment_id
    assert list(server.environments) == [first.environment_id]
    assert arena.submit(pinned_path(file)).environment_id == first.environment_id


def test_hash_of_a_file_in_lfs_is_over_its_pointer(
    server: ArenaState, arena: Arena, hub: Hub, tmp_path: Path
) -> None:
    """The arena lists a file that is in LFS by its pointer's blob id."""
    before = arena.validate(request_at(tmp_path)).hashes
    hub.repos[REPO].add({**hub.repos[REPO].files, "envs/sum-column/environment/more.bin": b"12"})
    after = arena.validate(request_at(tmp_path)).hashes
    assert after != before


@pytest.mark.parametrize(("private", "gated", "status"), [(True, False, 404), (False, True, 403)])
def test_private_and_gated_sets_are_refused_with_what_to_do(
    private: bool, gated: bool, status: int, server: ArenaState, arena: Arena, hub: Hub, tmp_path: Path
) -> None:
    """A data set that the public can't read is refused, and the line says to make it public."""
    hub.repos[REPO].private = private
    if gated:
        server.gated.add(REPO)
    with pytest.raises(ArenaRefusedError, match="public") as caught:
        arena.validate(request_at(tmp_path))
    assert caught.value.status == status
    assert caught.value.exit_code == 1


def test_collection_that_is_not_valid_is_a_judgement(
    server: ArenaState, arena: Arena, hub: Hub, tmp_path: Path
) -> None:
    """`valid: false` is an answer with its errors, not an exception."""
    files = dict(hub.repos[REPO].files)
    del files["envs/sum-column/verifier/test.sh"]
    hub.repos[REPO].add(files)
    found = arena.validate(request_at(tmp_path))
    assert not found.valid
    assert found.errors == ("sum-column: verifier/test.sh is missing",)
    with pytest.raises(ArenaRefusedError):
        arena.submit(request_at(tmp_path))
    assert server.environments == {}


def test_preflight_that_says_no_is_an_answer(server: ArenaState, arena: Arena, tmp_path: Path) -> None:
    """Paused runs are told check by check, and reserve nothing."""
    sent = arena.submit(request_at(tmp_path))
    found = arena.preflight(CHALLENGE, sent.environment_id)
    assert not found.allowed
    assert [check.mark for check in found.checks[:2]] == ["FAIL", "ok"]
    assert "skip" in {check.mark for check in found.checks}
    assert "baseline" in found.refusal
    assert found.max_compute_usd == 250.0
    server.runs_paused = None
    assert arena.preflight(CHALLENGE, sent.environment_id).allowed
    assert server.runs == {}


# When it goes wrong.


def test_page_of_the_proxy_is_one_line(server: ArenaState, arena: Arena) -> None:
    """A 502 with HTML is told in one line without its markup, after the client's own tries."""
    server.faults.append(Fault("GET", "/api/challenges", 502, times=LATER))
    with pytest.raises(ArenaUnavailableError) as caught:
        arena.challenges()
    assert caught.value.exit_code == 5
    assert "briefly unavailable" in str(caught.value)
    assert "<" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert server.asked("GET", "/api/challenges") == 4


def test_page_that_passes_is_no_matter(server: ArenaState, arena: Arena) -> None:
    """The client sends a read again, so that one bad gateway is not noticed."""
    server.faults.append(Fault("GET", "/api/challenges", 502))
    assert arena.challenges().data["challenges"]


@pytest.mark.parametrize("what", ["cut", "lost", "slow", "html", "nothing"])
def test_broken_answer_is_one_line(what: str, server: ArenaState, said: list[str]) -> None:
    """An answer that is cut off, lost, late, a web page or empty ends in one line and code 5."""
    arena = Arena(ask=lambda offer: True, say=said.append, seconds=2.0 if what == "slow" else None)
    match what:
        case "cut":
            server.faults.append(Fault("GET", "/api/challenges", cut=True, times=LATER))
        case "lost":
            server.faults.append(Fault("GET", "/api/challenges", lost=True, times=LATER))
        case "slow":
            server.faults.append(Fault("GET", "/api/challenges", delay=20.0, times=LATER))
        case "html":
            server.files["arena_cli.py"] = b"print('<html><body>hello</body></html>')\n"
        case "nothing":
            server.files["arena_cli.py"] = b"pass\n"
    with pytest.raises(ArenaUnavailableError) as caught:
        arena.challenges()
    assert "\n" not in str(caught.value)
    assert "<" not in str(caught.value)
    assert caught.value.exit_code == 5


def test_short_retry_after_is_waited_for(
    server: ArenaState, arena: Arena, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the arena asks for a short pause, the same call follows after it, and the wait is told."""
    pauses: list[float] = []
    monkeypatch.setattr(arena, "pause", pauses.append)
    busy = {"detail": "too many requests"}
    server.faults.append(Fault("GET", "/api/challenges", 429, body=busy, headers={"Retry-After": "20"}))
    assert arena.challenges().data["challenges"]
    assert pauses == [20.0]
    assert any("20 s" in line for line in said)


@pytest.mark.parametrize("status", [429, 503])
def test_long_retry_after_is_told_and_not_waited_for(
    status: int, server: ArenaState, arena: Arena, tmp_path: Path
) -> None:
    """A limit that ends in hours is told with its time, at once."""
    limit = {"detail": "GitHub's hourly limit is used up until 14:00"}
    server.faults.append(
        Fault("POST", "/api/validate", status, body=limit, headers={"Retry-After": "3000"}, times=LATER)
    )
    with pytest.raises((ArenaRefusedError, ArenaUnavailableError), match="50 min") as caught:
        arena.validate(request_at(tmp_path))
    assert "GitHub's hourly limit" in str(caught.value)
    assert caught.value.retry_after == 3000.0
    assert server.asked("POST", "/api/validate") == 1


def test_waits_are_bounded_in_all(server: ArenaState, arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """An arena that goes on asking for short pauses is not waited for without end."""
    pauses: list[float] = []
    monkeypatch.setattr(arena, "pause", pauses.append)
    busy = {"detail": "too many requests"}
    server.faults.append(
        Fault("GET", "/api/challenges", 429, body=busy, headers={"Retry-After": "50"}, times=10)
    )
    with pytest.raises(ArenaRefusedError, match="429"):
        arena.challenges()
    assert pauses == [50.0, 50.0]


def test_503_that_stays_says_to_ask_an_organizer(server: ArenaState, arena: Arena, tmp_path: Path) -> None:
    """The client's own word that a 503 persists is handed on: stop, and ask."""
    server.faults.append(Fault("POST", "/api/validate", 503, body={"detail": "no node"}, times=LATER))
    with pytest.raises(ArenaUnavailableError, match="ask an organizer") as caught:
        arena.validate(request_at(tmp_path))
    assert not caught.value.may_repeat


def test_redirect_is_not_followed(server: ArenaState, arena: Arena) -> None:
    """The token follows no redirect."""
    server.faults.append(
        Fault("GET", "/api/whoami", 307, body=b"", headers={"Location": f"{server.url}/api/challenges"})
    )
    with pytest.raises(ArenaUnavailableError, match="redirect"):
        arena.whoami()
    assert server.asked("GET", "/api/challenges") == 0


def test_lost_answer_after_a_stored_submission(server: ArenaState, arena: Arena, tmp_path: Path) -> None:
    """Where a stored submission's answer was lost, the line names the pinned file, which gives its record."""
    server.faults.append(Fault("POST", "/api/environments", lost=True, after=True))
    file = request_at(tmp_path)
    with pytest.raises(ArenaUnavailableError, match=r"\.pinned\.json"):
        arena.submit(file)
    assert len(server.environments) == 1
    again = arena.submit(pinned_path(file))
    assert again.existing
    assert list(server.environments) == [again.environment_id]


def test_agent_of_somebody_else_is_refused(server: ArenaState, arena: Arena, tmp_path: Path) -> None:
    """One can't submit under another's agent id; the line says whose it must be."""
    server.agents["crab"] = {"agent_id": "crab", "description": "d", "owner": "bob"}
    with pytest.raises(ArenaRefusedError, match="agent id of your own"):
        arena.submit(request_at(tmp_path, agent_id="crab"))


def test_gone_routes_and_odd_ids(server: ArenaState, arena: Arena) -> None:
    """What is not there is told with what lists it; an id that could be an option goes nowhere."""
    with pytest.raises(ArenaRefusedError, match="list what is"):
        arena.runs(CHALLENGE, "run-9999")
    with pytest.raises(UsageError, match="`id`"):
        arena.preflight(CHALLENGE, "--execute")


def test_client_that_does_not_know_a_command(server: ArenaState, arena: Arena) -> None:
    """A client that takes a call for wrong usage is told to be of another version."""
    server.files["arena_cli.py"] = b"import sys\nprint('invalid choice', file=sys.stderr)\nsys.exit(2)\n"
    with pytest.raises(UsageError, match="invalid choice"):
        arena.challenges()


def test_client_imports_from_no_folder_of_the_user(server: ArenaState, arena: Arena, tmp_path: Path) -> None:
    """A file beside the request, or beside the kept client, can't stand in for a module that it imports."""
    for folder in (tmp_path, arena.client().parent):
        (folder / "json.py").write_text("raise SystemExit(9)", "utf-8")
    assert arena.validate(request_at(tmp_path)).valid


def test_nothing_is_left_in_the_temporary_folder(
    server: ArenaState, arena: Arena, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client's own folder goes when it ends, also after a failure."""
    import tempfile

    room = tmp_path / "tmp"
    room.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(room))
    arena.challenges()
    with pytest.raises(ArenaRefusedError):
        arena.runs("no-such-challenge")
    assert list(room.iterdir()) == []


def test_untrusted_client_is_not_run(server: ArenaState) -> None:
    """Without a word of trust, no command starts."""
    with pytest.raises(RefusedError, match="--trust"):
        Arena(site_of(server.url)).challenges()
    assert server.asked("GET", "/api/challenges") == 0


def test_site_of_an_arena() -> None:
    """An arena is made for a site, whatever the environment says."""
    assert Arena(Site(url="https://arena.test", loopback=False)).site.url == "https://arena.test"


@pytest.mark.parametrize("code", [0, 1])
def test_client_that_finds_a_collection_not_valid_at_submission(
    code: int, server: ArenaState, arena: Arena, tmp_path: Path
) -> None:
    """A client that ends the submission at `valid: false` is a refusal: nothing may have been stored."""
    server.files["arena_cli.py"] = (
        b'import sys\nprint(\'{"valid": false, "errors": ["no task"]}\')\n' + f"sys.exit({code})\n".encode()
    )
    kind = ArenaRefusedError if code else ArenaUnavailableError
    with pytest.raises(kind):
        arena.submit(request_at(tmp_path))


def test_page_on_standard_output_with_an_error_code(server: ArenaState, arena: Arena) -> None:
    """A web page that a client prints before it fails is told as the proxy's."""
    server.files["arena_cli.py"] = b"import sys\nprint('<html><h1>502</h1>')\nsys.exit(1)\n"
    with pytest.raises(ArenaUnavailableError, match="briefly unavailable") as caught:
        arena.challenges()
    assert "<" not in str(caught.value)


def test_token_spelt_with_escapes_is_hidden(
    server: ArenaState, arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token is hidden in what was read out of the JSON, not in its text alone."""
    monkeypatch.setenv("HF_TOKEN", "sea-secret-of-ada")
    server.files["arena_cli.py"] = b'print(\'{"a": "\\\\u0073ea-secret-of-ada", "b": 1}\')\n'
    assert arena.whoami().data == {"a": "[token]", "b": 1}


def test_preflight_that_says_no_without_words(server: ArenaState, arena: Arena) -> None:
    """Exit code 3 without JSON is a no, with what the client said."""
    server.files["arena_cli.py"] = b"import sys\nprint('runs are paused', file=sys.stderr)\nsys.exit(3)\n"
    found = arena.preflight(CHALLENGE, "env-1")
    assert (found.allowed, found.checks, found.refusal) == (False, (), "runs are paused")


def test_preflight_with_a_failed_check_is_a_no(server: ArenaState, arena: Arena) -> None:
    """A check that failed is a no, though the exit code is 0 and nothing says `allowed`."""
    server.files["arena_cli.py"] = (
        b'print(\'{"checks": [{"name": "cap", "ok": false, "detail": "used up"}]}\')\n'
    )
    found = arena.preflight(CHALLENGE, "env-1")
    assert (found.allowed, found.refusal) == (False, "cap: used up")


def test_preflight_without_an_answer_started_nothing(
    server: ArenaState, arena: Arena, tmp_path: Path
) -> None:
    """Only a launch whose answer is lost may have started a run."""
    server.files["arena_cli.py"] = b"import sys\nsys.exit(99)\n"
    with pytest.raises(ArenaUnavailableError) as preflight:
        arena.preflight(CHALLENGE, "env-1")
    assert "started" not in str(preflight.value)
    with pytest.raises(ArenaUnavailableError) as launch:
        arena.launch(CHALLENGE, "env-1", tmp_path / "run.json")
    assert "may have been started" in str(launch.value)


def test_link_to_a_request(server: ArenaState, arena: Arena, tmp_path: Path) -> None:
    """Where the request is a link, all that is kept stands beside the link."""
    (tmp_path / "real").mkdir()
    (tmp_path / "work").mkdir()
    request_at(tmp_path / "real")
    (tmp_path / "work" / "environment.json").symlink_to(tmp_path / "real" / "environment.json")
    arena.submit(tmp_path / "work" / "environment.json")
    assert [path.name for path in (tmp_path / "real").iterdir()] == ["environment.json"]
    assert kept(tmp_path / "work", "environment.json.pinned.json")["repo_id"] == REPO
