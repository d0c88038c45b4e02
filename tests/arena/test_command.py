"""`seatrials arena`: what it prints, keeps and asks, and its exit codes."""

import hashlib
import io
import json
import os
import pty
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from arena.conftest import REPO
from arena.server import CHALLENGE, ArenaState, Fault
from arena.test_client import LATER, everything, kept
from hub import TOKEN, Hub

from seatrials.arena.client import Arena
from seatrials.cli import main

RUNS = f"/api/challenges/{CHALLENGE}/runs"
COLLECTION = ("--repo", REPO, "--title", "Tasks of the sea")


@pytest.fixture(autouse=True)
def at_work(server: ArenaState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def trusted(server: ArenaState) -> str:
    """Return the hash of the client that the server has."""
    return hashlib.sha256(server.files["arena_cli.py"]).hexdigest()


class Call:
    """Calls the command, with the client trusted, and keeps what it printed."""

    def __init__(self, server: ArenaState, capsys: pytest.CaptureFixture[str]) -> None:
        self._server = server
        self._capsys = capsys
        self.out = ""
        self.err = ""

    def __call__(self, *words: str) -> int:
        """Run it and return the exit code."""
        code = main(["arena", *words, "--trust", trusted(self._server)])
        self.out, self.err = self._capsys.readouterr()
        assert TOKEN not in self.out + self.err
        assert "Traceback" not in self.err
        return code

    @property
    def line(self) -> str:
        """The last line on standard error, which says why the command stopped."""
        return self.err.splitlines()[-1]


@pytest.fixture
def call(server: ArenaState, capsys: pytest.CaptureFixture[str]) -> Call:
    """The command."""
    return Call(server, capsys)


def at_terminal(words: list[str], typed: str, *, cwd: Path) -> tuple[int, str, str]:
    """Run the command at a terminal where somebody types; return code, standard output and the screen."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "seatrials", "arena", *words],
        cwd=cwd,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "dumb"},
    )
    os.close(theirs)
    screen = bytearray()

    def look() -> None:
        while True:
            try:
                chunk = os.read(ours, 4096)
            except OSError:
                return
            if not chunk:
                return
            screen.extend(chunk)

    watcher = threading.Thread(target=look)
    watcher.start()
    os.write(ours, typed.encode())
    out, _ = process.communicate(timeout=60)
    watcher.join(10)
    os.close(ours)
    return process.returncode, out.decode(), screen.decode("utf-8", "replace")


# Reads.


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["challenges"],
            ["openenv-9b", "open", "Qwen/Qwen3.5-9B", "paused", "runs: the base model's baseline"],
        ),
        (["benchmarks"], ["agentic-8", "87", "yes", "default: agentic-8"]),
        (["benchmarks", "--benchmark", "agentic-8"], ["tasks: 87"]),
        (["discover"], ["none"]),
        (["budget"], ["cap_usd: 1000", "currency: USD"]),
        (["environments", "list"], ["none"]),
        (["runs"], ["none"]),
        (["leaderboard"], ["none", "pending_count: 0"]),
        (["board", "list"], ["none"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_reads(words: list[str], told: list[str], call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each public read works without a token, as a table or lines; `--json` is the arena's own answer."""
    monkeypatch.delenv("HF_TOKEN")
    assert call(*words) == 0
    for word in told:
        assert word in call.out
    assert call(*words, "--json") == 0
    assert isinstance(json.loads(call.out), dict)


def test_table_has_a_row_for_each(call: Call, server: ArenaState) -> None:
    """A listing shows ids, names and commits in columns; texts of others can't move the cursor."""
    call("submit", *COLLECTION)
    server.messages.append(
        {"filename": "0000-a.md", "author": "eve", "body": "\x1b[2Jhi\nthere", "agent_id": None}
    )
    assert call("environments", "list") == 0
    head, row = call.out.splitlines()
    assert head.split()[:2] == ["collection", "title"]
    assert row.startswith("env-")
    assert "Tasks of the sea" in row
    assert call("board", "list") == 0
    assert call.out == "0000-a.md  eve\n  \\x1b[2Jhi\n  there\n"


@pytest.mark.parametrize("status", ["planned", "open"])
def test_default_challenge_is_the_one_open(
    status: str, call: Call, server: ArenaState, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without `--challenge` the one open challenge is meant; none or several must be named."""
    source = {"challenges": [{"id": "a-1", "status": status}, {"id": "b-1", "status": status}]}
    server.faults.append(Fault("GET", "/api/challenges", 200, body=source, times=LATER))
    assert call("runs") == 2
    assert ("a-1, b-1" if status == "open" else "no challenge is open") in call.line


# Trust.


def test_untrusted_client_is_shown_and_refused(
    server: ArenaState, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a terminal and `--trust` nothing runs: code 1, with URL, hash and the option."""
    assert main(["arena", "challenges"]) == 1
    line = capsys.readouterr().err
    assert f"{server.url}/arena_cli.py" in line
    assert f"--trust {trusted(server)}" in line
    assert line.count("\n") == 1
    assert server.asked("GET", "/api/challenges") == 0


def test_trust_is_asked_at_a_terminal_and_remembered(server: ArenaState, at_work: Path) -> None:
    """At a terminal a person sees URL and hash, and says yes once; a change is asked again."""
    code, _, screen = at_terminal(["budget"], "n\n", cwd=at_work)
    assert code == 1
    code, out, screen = at_terminal(["budget"], "y\n", cwd=at_work)
    assert (code, "cap_usd" in out) == (0, True)
    assert trusted(server) in screen
    assert server.url in screen
    code, _, screen = at_terminal(["budget"], "", cwd=at_work)
    assert code == 0
    assert "Trust" not in screen
    before = trusted(server)
    server.files["arena_cli.py"] += b"# more\n"
    code, _, screen = at_terminal(["budget"], "y\n", cwd=at_work)
    assert code == 0
    assert before in screen
    assert trusted(server) in screen


@pytest.mark.parametrize("word", ["abc", "0" * 64])
def test_other_hashes_are_refused(word: str, server: ArenaState, capsys: pytest.CaptureFixture[str]) -> None:
    """A word that is no hash is wrong usage; another file's hash is a refusal."""
    assert main(["arena", "budget", "--trust", word]) == (2 if word == "abc" else 1)
    assert server.asked("GET", "/api/arena/budget") == 0


def test_bad_url_is_usage(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """A URL that is neither HTTPS nor loopback is exit code 2."""
    monkeypatch.setenv("ARENA_URL", "http://arena.test")
    assert call("budget") == 2
    assert "https://" in call.line


# Identity.


@pytest.mark.parametrize(
    "words",
    [
        ["whoami"], ["register-agent", "--agent-id", "ada-agent", "--description", "d"],
        ["validate", *COLLECTION], ["submit", *COLLECTION], ["run", "--id", "env-1"],
        ["result", "collect", "--run-id", "run-1"],
        ["gates", "plan", "--id", "env-1"], ["board", "post", "--body", "hi", "--confirm", "post"],
    ],
    ids=lambda words: " ".join(words[:2]),
)  # fmt: skip
def test_no_token_is_code_4(
    words: list[str], call: Call, server: ArenaState, at_work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a token: code 4, nothing asked, nothing written."""
    monkeypatch.delenv("HF_TOKEN")
    assert call(*words) == 4
    assert "hf auth login" in call.line
    assert server.requests == []
    assert list(at_work.iterdir()) == []


def test_token_is_nowhere(call: Call, server: ArenaState, tmp_path: Path) -> None:
    """After all that needs the token, no file of ours holds it."""
    server.runs_paused = None
    call("whoami")
    call("validate", *COLLECTION)
    call("submit")
    call("run", "--execute", "--confirm", next(iter(server.environments)))
    call("board", "post", "--body", "Ahoy", "--confirm", "post")
    assert len(server.runs) == len(server.messages) == 1
    assert TOKEN.encode() not in everything(tmp_path)


def test_whoami(call: Call) -> None:
    """It tells who the arena sees."""
    assert call("whoami") == 0
    assert call.out == "name: ada\neditor: no\n"


def test_agent_is_registered_with_a_file_that_is_kept(call: Call, server: ArenaState, at_work: Path) -> None:
    """agent.json is made of the options; the same again is fine, other words need `--force`."""
    words = ("register-agent", "--agent-id", "ada-agent", "--description", "The agent of ada")
    assert call(*words) == 0
    assert kept(at_work, "agent.json") == {"agent_id": "ada-agent", "description": "The agent of ada"}
    assert call("register-agent") == 0
    assert call("register-agent", "--description", "Other") == 2
    assert "`description`" in call.line
    assert call("register-agent", "--description", "Other", "--force") == 1
    assert "is yours already" in call.line
    server.agents["crab"] = {"agent_id": "crab", "description": "d", "owner": "bob"}
    assert call("register-agent", "--agent-id", "crab", "--description", "d", "--file", "crab.json") == 1
    assert "add a digit" in call.line
    assert server.agents["ada-agent"]["description"] == "The agent of ada"


def test_reserved_agent_id_is_not_sent(call: Call, server: ArenaState, at_work: Path) -> None:
    """An id that is reserved is refused here, by its key, before anything is written or sent."""
    assert call("register-agent", "--agent-id", "human-ada", "--description", "d") == 2
    assert "`agent_id`" in call.line
    assert list(at_work.iterdir()) == []
    assert server.asked("POST", "/api/agents") == 0


# Collections.


def test_validate_makes_the_request_and_keeps_the_answer(
    call: Call, server: ArenaState, hub: Hub, at_work: Path
) -> None:
    """The request is made of options and the open challenge; findings are printed, the answer kept."""
    assert call("validate", *COLLECTION) == 0
    assert kept(at_work, "environment.json")["challenge_id"] == CHALLENGE
    assert kept(at_work, "validation.json")["revision"] == hub.repos[REPO].head
    assert call.out.startswith(f"valid: 1 of 1 task eligible at {hub.repos[REPO].head[:12]}\n")
    assert call("validate") == 0
    assert call("validate", "--title", "Another") == 2
    assert "`title`" in call.line
    assert kept(at_work, "environment.json")["title"] == "Tasks of the sea"
    assert call("validate", "--title", "Another", "--force") == 0
    assert kept(at_work, "environment.json")["title"] == "Another"


def test_collection_without_an_eligible_task_is_code_1(call: Call, hub: Hub) -> None:
    """Valid is not enough: without an eligible task the code is 1, and the finding is shown."""
    files = dict(hub.repos[REPO].files)
    files["envs/sum-column/environment/Dockerfile"] += b"COPY solve.sh /\n"
    hub.repos[REPO].add(files)
    assert call("validate", *COLLECTION) == 1
    assert "valid: 0 of 1 task eligible" in call.out
    assert "reject  S-ANSWER-COPY  sum-column/environment/Dockerfile" in call.out


def test_missing_request_says_how_to_make_it(call: Call) -> None:
    """Without a file and options the line names both."""
    assert call("validate") == 2
    assert "`--repo OWNER/NAME --title TEXT`" in call.line
    assert call("board", "post") == 2
    assert "`--body TEXT`" in call.line


def test_submit_and_submit_again(call: Call, server: ArenaState, at_work: Path) -> None:
    """The id is printed, the receipts named; the same again says that it was there."""
    assert call("submit", *COLLECTION) == 0
    [environment] = server.environments
    assert call.out.startswith(f"submitted as {environment} at ")
    assert "environment.json.pinned.json" in call.err
    assert kept(at_work, "environment-receipt.json")["environment_id"] == environment
    assert call("submit") == 0
    assert f"{environment} was there already" in call.out
    assert list(server.environments) == [environment]


def test_uncertain_submission_ends_with_5_and_is_finished_by_the_same_command(
    call: Call, server: ArenaState
) -> None:
    """A lost answer is code 5 with what to do; the same command then finds the record."""
    server.faults.append(Fault("POST", "/api/environments", lost=True, after=True))
    assert call("submit", *COLLECTION) == 5
    assert "same record" in call.line
    assert call("submit") == 0
    assert "was there already" in call.out
    assert len(server.environments) == 1


def test_long_rate_limit_is_shown_at_once(call: Call, server: ArenaState) -> None:
    """A `Retry-After` of an hour is told and not waited for; `--wait 0` waits for none."""
    limit = {"detail": "slow down"}
    server.faults.append(
        Fault("POST", "/api/validate", 429, body=limit, headers={"Retry-After": "3600"}, times=1)
    )
    assert call("validate", *COLLECTION) == 1
    assert "1 h" in call.line
    server.faults.append(Fault("GET", "/api/challenges", 429, body=limit, headers={"Retry-After": "1"}))
    assert call("challenges", "--wait", "0") == 1
    assert "1 s" in call.line


def test_slow_arena_is_ended(call: Call, server: ArenaState) -> None:
    """`--timeout` ends a call that takes too long, with code 5."""
    server.faults.append(Fault("GET", "/api/arena/budget", delay=15.0, times=LATER))
    assert call("budget", "--timeout", "1.5") == 5
    assert "took over 2 s" in call.line


# Runs.


@pytest.fixture
def environment(call: Call, server: ArenaState) -> str:
    """A submitted collection."""
    assert call("submit", *COLLECTION) == 0
    return next(iter(server.environments))


def test_preflight_that_says_no_is_code_3(call: Call, server: ArenaState, environment: str) -> None:
    """Every check is printed with its mark, the reason last; the collection is that of the receipt."""
    assert call("run") == 3
    marks = [line.split()[0] for line in call.out.splitlines()]
    assert marks[:9] == ["FAIL", "ok", "ok", "ok", "skip", "ok", "skip", "ok", "ok"]
    assert "reserves up to 250 USD" in call.out
    assert "baseline is not measured" in call.line
    assert server.runs == {}
    assert call("run", "--id", environment, "--json") == 3
    assert json.loads(call.out)["allowed"] is False


def test_execute_stops_at_a_preflight_that_says_no(
    call: Call, server: ArenaState, environment: str, at_work: Path
) -> None:
    """A run is not sent, nor its request made, while the preflight says no."""
    assert call("run", "--execute", "--confirm", environment) == 3
    assert server.asked("POST", RUNS) == 0
    assert not (at_work / "run.json").exists()


def test_run_without_a_terminal_needs_the_option(
    call: Call, server: ArenaState, environment: str, at_work: Path
) -> None:
    """Nobody there to type: refused, with the option to give; another id is wrong usage."""
    server.runs_paused = None
    assert call("run", "--execute") == 1
    assert f"--confirm {environment}" in call.line
    assert call("run", "--execute", "--confirm", "yes") == 2
    assert server.asked("POST", RUNS) == 0
    assert not (at_work / "run.json").exists()
    assert call("run", "--execute", "--confirm", environment) == 0
    assert kept(at_work, "run-receipt.json")["request_key"] == kept(at_work, "run.json")["request_id"]


def test_run_is_confirmed_by_typing_its_id(server: ArenaState, environment: str, at_work: Path) -> None:
    """At a terminal the collection's id is to be typed; anything else starts nothing."""
    server.runs_paused = None
    for typed in ("y", "", "env-"):
        code, _, screen = at_terminal(["run", "--execute"], f"{typed}\n", cwd=at_work)
        assert code == 1
        assert "250 USD" in screen
        assert server.asked("POST", RUNS) == 0
    code, out, _ = at_terminal(["run", "--execute"], f"{environment}\n", cwd=at_work)
    assert (code, out) == (0, "run-0001: queued, stage setup\n")
    assert list(server.runs) == ["run-0001"]


def test_run_again_finds_the_run(call: Call, server: ArenaState, environment: str, at_work: Path) -> None:
    """The same command again starts nothing and needs no word: the request id has its run."""
    server.runs_paused = None
    assert call("run", "--execute", "--confirm", environment) == 0
    before = kept(at_work, "run.json")
    assert call("run", "--execute") == 0
    assert "has its run already" in call.err
    assert kept(at_work, "run.json") == before
    assert server.asked("POST", RUNS) == 1


def test_request_id_is_kept_and_never_written_over(
    call: Call, server: ArenaState, environment: str, at_work: Path
) -> None:
    """A run.json keeps its id: another one on the command line is wrong usage."""
    server.runs_paused = None
    server.faults.append(Fault("POST", RUNS, 502, times=LATER))
    words = ("run", "--execute", "--confirm", environment)
    Arena.pause, pause = lambda self, seconds: None, Arena.pause
    try:
        assert call(*words, "--request-id", "ada-run-001") == 5
    finally:
        Arena.pause = pause
    assert "never with a new request id" in call.line
    assert kept(at_work, "run.json") == {"request_id": "ada-run-001"}
    assert call(*words, "--request-id", "ada-run-002") == 2
    assert "never written over" in call.line
    server.faults.clear()
    assert call(*words) == 0
    assert [run["request_key"] for run in server.runs.values()] == ["ada-run-001"]
    assert call("run", "--request-id", "ada-run-001") == 2


def test_run_of_another_collection_needs_a_file_of_its_own(
    call: Call, server: ArenaState, environment: str, at_work: Path
) -> None:
    """A run.json that stands for a run of one collection isn't used for another."""
    server.runs_paused = None
    call("run", "--execute", "--confirm", environment)
    assert call("run", "--execute", "--id", "env-000000000000", "--confirm", "env-000000000000") == 2
    assert "`--file`" in call.line


def test_run_is_told_listed_and_followed(
    call: Call, server: ArenaState, environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run shows in the list, by its id, and followed to its end; then its result is collected."""
    server.runs_paused = None
    call("run", "--execute", "--confirm", environment)
    assert call("runs") == 0
    assert "run-0001" in call.out
    assert call("result", "collect") == 1
    assert "not scored" in call.line
    assert call("runs", "--run-id", "run-0001") == 0
    assert call.out == "run-0001: queued, stage setup\n"
    pauses: list[float] = []
    monkeypatch.setattr(Arena, "pause", lambda _, seconds: pauses.append(seconds))
    assert call("runs", "--watch", "--every", "2") == 0
    assert [line.split("  ")[1] for line in call.err.splitlines() if "run-0001: " in line] == [
        "run-0001: running, stage baseline",
        "run-0001: running, stage training",
        "run-0001: scored, stage heldout",
    ]
    assert pauses == [120.0, 120.0]
    assert call("result", "collect") == 0
    assert "delta_pp: 3.1" in call.out


def test_terminal_shows_when_it_was_looked(
    call: Call, server: ArenaState, environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a terminal one line is kept up between changes, and taken away at the end."""

    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    server.runs_paused = None
    server.script = (("running", "training", None),) * 3 + (("scored", "heldout", None),)
    call("run", "--execute", "--confirm", environment)
    monkeypatch.setattr(Arena, "pause", lambda *_: None)
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    assert main(["arena", "runs", "--watch"]) == 0
    shown = screen.getvalue()
    assert shown.count("running, stage training\n") == 1
    assert shown.count("looked; again in 5 min") == 4
    assert "\r\033[Knext: " in shown


def test_failed_run_is_code_1(call: Call, server: ArenaState, environment: str) -> None:
    """A run that failed ends the watching with 1, and a platform fault is named."""
    server.runs_paused = None
    server.script = (("failed", "training", "vLLM did not start"),)
    call("run", "--execute", "--confirm", environment)
    assert call("runs", "--watch") == 1
    assert "platform fault: vLLM" in call.err


@pytest.mark.parametrize("every", ["0", "0.5", "-1", "x", "nan", "1000"])
def test_looks_are_minutes_apart(every: str, call: Call) -> None:
    """A look more often than each minute is wrong usage."""
    with pytest.raises(SystemExit) as caught:
        call("runs", "--watch", "--every", every)
    assert caught.value.code == 2


# Gates and the board.


def test_gates(call: Call, environment: str) -> None:
    """The plan takes its numbers, the stored summary is told, and no verdict is said to be there."""
    assert call("gates", "plan", "--controls-reruns", "3", "--require-oracle", "--json") == 0
    assert json.loads(call.out)["controls_reruns"] == 3
    assert call("gates", "plan", "--require-oracle", "--allow-no-oracle") == 2
    assert call("gates", "get") == 0
    assert "static.summary.eligible: 1" in call.out
    assert "verdict: none" in call.out


def test_post_is_confirmed(call: Call, server: ArenaState, at_work: Path) -> None:
    """A message is shown, and posted only with a word; the same again posts nothing new."""
    assert call("board", "post", "--body", "Ahoy\nthere") == 1
    assert "--confirm post" in call.line
    assert server.messages == []
    assert call("board", "post", "--confirm", "post") == 0
    assert call("board", "post", "--confirm", "post") == 0
    assert "was there already" in call.out
    assert [message["body"] for message in server.messages] == ["Ahoy\nthere"]
    assert call("board", "post", "--body", "Other", "--confirm", "post") == 2
    assert call("board", "post", "--body", "Other", "--confirm", "post", "--force") == 0
    assert [message["body"] for message in server.messages] == ["Ahoy\nthere", "Other"]
    assert len({message["request_id"] for message in server.messages}) == 2


def test_post_is_confirmed_at_a_terminal(server: ArenaState, call: Call, at_work: Path) -> None:
    """At a terminal the word is typed; anything else posts nothing."""
    call("budget")
    code, _, _ = at_terminal(["board", "post", "--body", "Ahoy"], "yes\n", cwd=at_work)
    assert (code, server.messages) == (1, [])
    code, _, screen = at_terminal(["board", "post"], "post\n", cwd=at_work)
    assert code == 0
    assert "Ahoy" in screen
    assert [message["body"] for message in server.messages] == ["Ahoy"]


def test_answer_refers_to_a_message(call: Call, server: ArenaState, at_work: Path) -> None:
    """`--ref` names a message; one that is not there is refused by the arena."""
    call("board", "post", "--body", "Ahoy", "--confirm", "post")
    name = server.messages[0]["filename"]
    (at_work / "words.md").write_text("Aye", "utf-8")
    words = ("board", "post", "--body-file", "words.md", "--confirm", "post")
    assert call(*words, "--file", "a.json", "--ref", name) == 0
    assert server.messages[1]["refs"] == [name]
    assert call(*words, "--file", "b.json", "--ref", "nothing.md") == 1
    assert "mend `message.json`" in call.line


# Refusals.


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Fault("GET", "/api/arena/budget", 403, body={"detail": "no"}), 1),
        (Fault("GET", "/api/arena/budget", 404, body={"detail": "no"}), 1),
        (Fault("GET", "/api/arena/budget", 409, body={"detail": "no"}), 1),
        (Fault("GET", "/api/arena/budget", 410, body={"detail": "no"}), 1),
        (Fault("GET", "/api/arena/budget", 422, body={"detail": [{"loc": ["body", "x"], "msg": "bad"}]}), 1),
        (Fault("GET", "/api/arena/budget", 429, body={"detail": "no"}), 1),
        (Fault("GET", "/api/arena/budget", 401, body={"detail": "no"}), 1),
        (Fault("GET", "/api/arena/budget", 500, body={"detail": "no"}), 5),
        (Fault("GET", "/api/arena/budget", 502, times=LATER), 5),
        (Fault("GET", "/api/arena/budget", 503, body={"detail": "no"}, times=LATER), 5),
        (Fault("GET", "/api/arena/budget", 504, times=LATER), 5),
        (Fault("GET", "/api/arena/budget", 302, b"", {"Location": "https://evil.test"}), 5),
    ],
    ids=lambda value: str(value.status) if isinstance(value, Fault) else None,
)
def test_each_refusal_is_one_line(fault: Fault, code: int, call: Call, server: ArenaState) -> None:
    """Each status becomes one line that says what, and what to do, with its exit code."""
    server.faults.append(replace(fault))
    assert call("budget") == code
    assert call.err.count("\n") == 1
    assert call.line.startswith("seatrials: ")
    assert ";" in call.line or "`ARENA_URL`" in call.line


def test_interrupt_says_what_may_have_happened(
    call: Call, server: ArenaState, environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Ctrl-C during a launch the line says to run the same command again, and the code is 130."""
    server.runs_paused = None

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Arena, "launch", interrupt)
    assert call("run", "--execute", "--confirm", environment) == 130
    assert "exact same command again" in call.err


@pytest.mark.parametrize("stored", [True, False])
def test_killed_launch_is_finished_by_the_same_command(
    stored: bool, call: Call, server: ArenaState, environment: str, at_work: Path
) -> None:
    """Killed while the answer was awaited, the same command finds the run, or starts it under the same id."""
    server.runs_paused = None
    server.faults.append(Fault("POST", RUNS, 0 if stored else 502, delay=60.0, after=stored))
    words = ["run", "--execute", "--confirm", environment, "--trust", trusted(server)]
    process = subprocess.Popen(
        [sys.executable, "-m", "seatrials", "arena", *words],
        cwd=at_work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not server.asked("POST", RUNS):
        time.sleep(0.02)
    process.kill()
    process.wait()
    request = kept(at_work, "run.json")
    assert call("run", "--execute", "--confirm", environment) == 0
    assert kept(at_work, "run.json") == request
    assert [run["request_key"] for run in server.runs.values()] == [request["request_id"]]
    assert kept(at_work, "run-receipt.json")["run_id"] == "run-0001"
    assert server.asked("POST", RUNS) == (1 if stored else 2)
