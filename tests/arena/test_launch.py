"""Launching a run once, whatever becomes of the answer; posting likewise; and following a run."""

import json
from pathlib import Path

import pytest
from arena.server import CHALLENGE, ArenaState, Fault
from arena.test_client import LATER, kept, request_at
from hub import TOKEN, Hub

from seatrials.arena.client import Arena
from seatrials.arena.launch import find_run, launch, post
from seatrials.arena.refusals import ArenaRefusedError, ArenaUnavailableError
from seatrials.arena.requests import MessageRequest, RunRequest, keep
from seatrials.arena.watch import MISSES, RunState, watch
from seatrials.errors import UsageError

RUNS = f"/api/challenges/{CHALLENGE}/runs"
UNKNOWN = {"detail": "the job service timed out", "launched": "unknown", "retry_with_same_request_id": True}


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made, which take no time."""
    made: list[float] = []
    monkeypatch.setattr(Arena, "pause", lambda _, seconds: made.append(seconds))
    return made


@pytest.fixture
def environment(server: ArenaState, arena: Arena, tmp_path: Path) -> str:
    """A submitted collection on a challenge whose runs are on."""
    server.runs_paused = None
    return arena.submit(request_at(tmp_path)).environment_id


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    """A run.json."""
    keep(tmp_path / "run.json", RunRequest(request_id="ada-run-001"))
    return tmp_path / "run.json"


def posts(server: ArenaState) -> int:
    """Return how often a launch was sent."""
    return server.asked("POST", RUNS)


def test_run_is_started_once_and_its_receipt_kept(
    server: ArenaState, arena: Arena, environment: str, run_file: Path
) -> None:
    """The answer is the receipt; the same call again finds the run and sends nothing."""
    first = launch(arena, CHALLENGE, environment, run_file, look_first=False)
    again = launch(arena, CHALLENGE, environment, run_file)
    assert (first.run_id, first.found) == ("run-0001", False)
    assert (again.run_id, again.found) == ("run-0001", True)
    assert posts(server) == 1
    assert kept(run_file.parent, "run-receipt.json")["request_key"] == "ada-run-001"
    assert kept(run_file.parent, "run.json") == {"request_id": "ada-run-001"}


@pytest.mark.parametrize("how", ["lost", "json", "html", "cut"])
def test_uncertain_launch_that_arrived_is_found(
    how: str, server: ArenaState, arena: Arena, environment: str, run_file: Path, said: list[str]
) -> None:
    """Where the run was started and the answer lost, a look finds it by its request id: one run."""
    fault = {
        "lost": Fault("POST", RUNS, lost=True, after=True, times=LATER),
        "json": Fault("POST", RUNS, 500, body=UNKNOWN, after=True, times=LATER),
        "html": Fault("POST", RUNS, 502, after=True, times=LATER),
        "cut": Fault("POST", RUNS, cut=True, times=LATER),
    }[how]
    server.faults.append(fault)
    done = launch(arena, CHALLENGE, environment, run_file, look_first=False, say=said.append)
    assert (done.run_id, done.found) == ("run-0001", True)
    assert list(server.runs) == ["run-0001"]
    assert kept(run_file.parent, "run-receipt.json")["run_id"] == "run-0001"
    assert any("looking for the request id" in line for line in said)
    order = [(method, path) for method, path, _ in server.requests if path == RUNS]
    assert order[-1] == ("GET", RUNS)


def test_uncertain_launch_that_did_not_arrive_is_repeated_as_it_was(
    server: ArenaState, arena: Arena, environment: str, run_file: Path
) -> None:
    """Where a look finds no such run, the exact same call is made again, with the same id."""
    server.faults.append(Fault("POST", RUNS, 500, body=UNKNOWN))
    done = launch(arena, CHALLENGE, environment, run_file, look_first=False)
    assert not done.found
    assert [run["request_key"] for run in server.runs.values()] == ["ada-run-001"]
    order = [method for method, path, _ in server.requests if path == RUNS]
    assert order == ["POST", "GET", "POST"]


def test_uncertain_launch_is_not_repeated_without_end(
    server: ArenaState, arena: Arena, environment: str, run_file: Path
) -> None:
    """An arena that goes on failing is asked a few times; then the line says to keep the request id."""
    server.faults.append(Fault("POST", RUNS, 500, body=UNKNOWN, times=8))
    with pytest.raises(ArenaUnavailableError, match="never with a new request id"):
        launch(arena, CHALLENGE, environment, run_file, look_first=False)
    assert posts(server) == 3
    assert not (run_file.parent / "run-receipt.json").exists()
    assert kept(run_file.parent, "run.json") == {"request_id": "ada-run-001"}


def test_uncertain_launch_is_not_repeated_where_one_cant_look(
    server: ArenaState, arena: Arena, environment: str, run_file: Path
) -> None:
    """While the list of runs can't be had, nothing is sent again."""
    server.faults.append(Fault("POST", RUNS, 500, body=UNKNOWN, times=LATER))
    server.faults.append(Fault("GET", RUNS, 502, times=LATER))
    with pytest.raises(ArenaUnavailableError, match="timed out"):
        launch(arena, CHALLENGE, environment, run_file, look_first=False)
    assert posts(server) == 1


def test_answer_that_forbids_a_repeat_is_obeyed(
    server: ArenaState, arena: Arena, environment: str, run_file: Path
) -> None:
    """Where the arena says not to retry, one looks and stops."""
    body = {**UNKNOWN, "retry_with_same_request_id": False}
    server.faults.append(Fault("POST", RUNS, 500, body=body, times=LATER))
    with pytest.raises(ArenaUnavailableError):
        launch(arena, CHALLENGE, environment, run_file, look_first=False)
    assert posts(server) == 1


@pytest.mark.parametrize(("launched", "word"), [(False, "nothing was started"), (True, "was started")])
def test_what_the_answer_says_of_the_launch_is_told(
    launched: bool, word: str, server: ArenaState, arena: Arena, environment: str, run_file: Path
) -> None:
    """Where an error answer knows whether a run was started, the line says so."""
    server.faults.append(Fault("POST", RUNS, 500, body={**UNKNOWN, "launched": launched}, times=LATER))
    with pytest.raises(ArenaUnavailableError, match=word):
        launch(arena, CHALLENGE, environment, run_file, look_first=False)


def test_503_that_stays_stops_the_launch(
    server: ArenaState, arena: Arena, environment: str, run_file: Path
) -> None:
    """The client's word that a 503 persists ends it: its own four tries, no more."""
    server.faults.append(Fault("POST", RUNS, 503, body={"detail": "no node"}, times=LATER))
    with pytest.raises(ArenaUnavailableError, match="ask an organizer"):
        launch(arena, CHALLENGE, environment, run_file, look_first=False)
    assert posts(server) == 4


def test_earlier_launch_is_looked_for_first(
    server: ArenaState, arena: Arena, environment: str, run_file: Path
) -> None:
    """A run.json from before may stand for a run that is on: it is found, and nothing is sent."""
    arena.launch(CHALLENGE, environment, run_file)
    before = posts(server)
    assert launch(arena, CHALLENGE, environment, run_file).found
    assert posts(server) == before


def test_request_that_never_got_a_job_is_sent_again(
    server: ArenaState, arena: Arena, environment: str, run_file: Path
) -> None:
    """A request that the arena lists as not launched is no run yet."""
    arena.launch(CHALLENGE, environment, run_file)
    server.runs["run-0001"]["status"] = "not launched"
    assert find_run(arena, CHALLENGE, "ada-run-001") is None


@pytest.mark.parametrize(
    ("change", "status", "word"),
    [
        ("other", 403, "author"),
        ("daily", 429, "24 hours"),
        ("active", 409, "never change the request id"),
        ("cap", 409, "never change the request id"),
        ("paused", 409, "closed"),
        ("names", 422, "can't run as it was submitted"),
    ],
)
def test_definite_refusals_are_explained(  # noqa: PLR0913, PLR0917 - fixtures
    change: str,
    status: int,
    word: str,
    server: ArenaState,
    arena: Arena,
    hub: Hub,
    environment: str,
    run_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each no of the arena's comes once, with what to do, and nothing is started."""
    match change:
        case "other":
            server.users["token-of-bob"] = "bob"
            monkeypatch.setenv("HF_TOKEN", "token-of-bob")
        case "daily":
            arena.launch(CHALLENGE, environment, run_file)
            server.runs["run-0001"]["state"] = "scored"
            keep(run_file, RunRequest(request_id="ada-run-002"), replace=True)
        case "active":
            hub.repos["ada/other"] = hub.repos["ada/tasks-of-the-sea"]
            (tmp_path / "other").mkdir()
            other = arena.submit(request_at(tmp_path / "other", repo_id="ada/other"))
            arena.launch(CHALLENGE, other.environment_id, run_file)
            keep(run_file, RunRequest(request_id="ada-run-002"), replace=True)
        case "cap":
            server.cap = 1.0
        case "paused":
            server.runs_paused = "later"
        case "names":
            from arena.judge import HeldOut

            server.held_out["sum-column"] = HeldOut(prompt="")
    before, runs = posts(server), len(server.runs)
    with pytest.raises(ArenaRefusedError, match=word) as caught:
        launch(arena, CHALLENGE, environment, run_file, look_first=False)
    assert caught.value.status == status
    assert posts(server) == before + 1
    assert len(server.runs) == runs
    assert TOKEN not in str(caught.value)


def test_request_id_of_another_run_is_refused(
    server: ArenaState, arena: Arena, environment: str, run_file: Path
) -> None:
    """A run.json whose receipt is of another collection is not used for this one; the file stays."""
    launch(arena, CHALLENGE, environment, run_file, look_first=False)
    before = len(server.requests)
    with pytest.raises(UsageError, match="name another with `--file`"):
        launch(arena, CHALLENGE, "env-000000000000", run_file)
    assert len(server.requests) == before
    (run_file.parent / "run-receipt.json").unlink()
    with pytest.raises(UsageError, match=environment):
        launch(arena, CHALLENGE, "env-000000000000", run_file)
    assert kept(run_file.parent, "run.json") == {"request_id": "ada-run-001"}


def test_lost_post_is_looked_for_on_the_board(server: ArenaState, arena: Arena, tmp_path: Path) -> None:
    """A message whose answer was lost is found on the board, and posted once."""
    keep(tmp_path / "message.json", MessageRequest(request_id="ada-hello", body="Ahoy"))
    server.faults.append(Fault("POST", "/api/messages", lost=True, after=True))
    assert post(arena, tmp_path / "message.json").found
    assert [message["body"] for message in server.messages] == ["Ahoy"]
    assert server.asked("POST", "/api/messages") == 1


def test_changed_words_under_an_old_id_are_refused(server: ArenaState, arena: Arena, tmp_path: Path) -> None:
    """The arena keeps the first words of a request id, and the line says so."""
    keep(tmp_path / "message.json", MessageRequest(request_id="ada-hello", body="Ahoy"))
    post(arena, tmp_path / "message.json")
    keep(tmp_path / "message.json", MessageRequest(request_id="ada-hello", body="Farewell"), replace=True)
    with pytest.raises(ArenaRefusedError, match="another message"):
        post(arena, tmp_path / "message.json")


def started(arena: Arena, environment: str, run_file: Path) -> str:
    """Start a run and return its id."""
    return launch(arena, CHALLENGE, environment, run_file, look_first=False).run_id or ""


def test_watching_a_run_to_its_score(
    server: ArenaState, arena: Arena, environment: str, run_file: Path, pauses: list[float]
) -> None:
    """A run is looked at every so many minutes until it is scored, which is code 0."""
    run = started(arena, environment, run_file)
    pauses.clear()
    seen: list[RunState] = []
    answer, code = watch(arena, CHALLENGE, run, minutes=4, show=seen.append)
    assert [str(state) for state in seen] == [
        "queued, stage setup", "running, stage baseline", "running, stage training", "scored, stage heldout",
    ]  # fmt: skip
    assert (code, answer.data["state"]) == (0, "scored")
    assert pauses == [240.0, 240.0, 240.0]


@pytest.mark.parametrize(
    ("reason", "fault"),
    [
        ("NCCL error: unhandled system error", "NCCL"),
        ("vllm server did not start", "vLLM"),
        ("Daytona sandbox quota", "Daytona"),
        ("ACP initialize timed out after 60 s", "ACP initialize timed out"),
        ("too many verifier errors at the gate", None),
        (None, None),
    ],
)
@pytest.mark.parametrize("state", ["failed", "canceled"])
def test_run_that_stops_is_code_1_and_platform_faults_are_named(
    state: str,
    reason: str | None,
    fault: str | None,
    server: ArenaState,
    arena: Arena,
    environment: str,
    run_file: Path,
) -> None:
    """Failed and canceled end with 1; a reason of the arena's own side is told as such."""
    run = started(arena, environment, run_file)
    server.script = (("running", "baseline", None), (state, "gate", reason))
    seen: list[RunState] = []
    _, code = watch(arena, CHALLENGE, run, minutes=1, show=seen.append)
    assert code == 1
    assert seen[-1].platform_fault == fault
    assert ("platform fault" in str(seen[-1])) == (fault is not None)
    assert "COMPLETED only says" in str(seen[-1])


def test_look_without_an_answer_is_passed_over(
    server: ArenaState, arena: Arena, environment: str, run_file: Path, said: list[str]
) -> None:
    """An arena that is briefly away does not end the watching; one that stays away does."""
    run = started(arena, environment, run_file)
    server.faults.append(Fault("GET", f"{RUNS}/{run}", 502, times=4 * 3))
    _, code = watch(arena, CHALLENGE, run, minutes=1, show=lambda state: None, say=said.append)
    assert code == 0
    assert sum("unavailable" in line for line in said) == 3
    server.faults.append(Fault("GET", f"{RUNS}/{run}", 502, times=LATER))
    said.clear()
    with pytest.raises(ArenaUnavailableError):
        watch(arena, CHALLENGE, run, minutes=1, show=lambda state: None, say=said.append)
    assert len(said) == MISSES - 1


def test_looks_without_an_answer_count_in_a_row_only(
    server: ArenaState, arena: Arena, environment: str, run_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer in between begins the count anew."""
    monkeypatch.setattr("seatrials.arena.watch.MISSES", 3)
    run = started(arena, environment, run_file)
    for skip in (0, 1):
        server.faults.append(Fault("GET", f"{RUNS}/{run}", 502, times=4 * 2, skip=skip))
    _, code = watch(arena, CHALLENGE, run, minutes=1, show=lambda state: None)
    assert code == 0


def test_record_without_a_state_is_told(server: ArenaState, arena: Arena) -> None:
    """An answer that does not say how the run is ends in one line, not in waiting for ever."""
    server.files["arena_cli.py"] = b"print('{}')\n"
    with pytest.raises(ArenaUnavailableError, match="`state`"):
        watch(arena, CHALLENGE, "run-0001", minutes=1, show=lambda state: None)


def test_interrupted_submission_is_finished_at_its_commit(
    server: ArenaState, arena: Arena, hub: Hub, tmp_path: Path, said: list[str]
) -> None:
    """After a lost answer the same call sends the commit that was pinned, though the branch has moved."""
    server.faults.append(Fault("POST", "/api/environments", lost=True, after=True))
    file = request_at(tmp_path)
    with pytest.raises(ArenaUnavailableError):
        arena.submit(file)
    pinned = kept(tmp_path, "environment.json.pinned.json")["revision"]
    repo = hub.repos["ada/tasks-of-the-sea"]
    repo.add({**repo.files, "envs/sum-column/environment/data.csv": b"amount\n5\n"})
    sent = arena.submit(file)
    assert (sent.existing, sent.commit) == (True, pinned)
    assert any(pinned in line for line in said)
    assert list(server.environments) == [sent.environment_id]
    newer = arena.submit(file)
    assert newer.commit == repo.head
    assert len(server.environments) == 2
    assert sorted(path.name for path in tmp_path.glob("env*.json")) == [
        "environment-receipt.json", "environment.json", "environment.json.pinned.json",
    ]  # fmt: skip


def test_rate_limit_does_not_end_an_interrupted_submission(
    server: ArenaState, arena: Arena, hub: Hub, tmp_path: Path
) -> None:
    """A 429 in between is no answer to the collection: the pinned commit is still sent afterwards."""
    file = request_at(tmp_path)
    server.faults.append(Fault("POST", "/api/environments", lost=True, after=True))
    with pytest.raises(ArenaUnavailableError):
        arena.submit(file)
    pinned = kept(tmp_path, "environment.json.pinned.json")["revision"]
    repo = hub.repos["ada/tasks-of-the-sea"]
    repo.add({**repo.files, "envs/sum-column/environment/data.csv": b"amount\n5\n"})
    server.faults.append(Fault("POST", "/api/validate", 429, body={"detail": "slow down"}))
    with pytest.raises(ArenaRefusedError):
        arena.submit(file)
    assert arena.submit(file).commit == pinned


def test_receipt_that_cant_be_written_does_not_hide_the_id(
    server: ArenaState, arena: Arena, environment: str, run_file: Path
) -> None:
    """A full disk or the like after the fact: the line still names what was made."""
    (run_file.parent / "run-receipt.json").mkdir()
    with pytest.raises(UsageError, match="started as `run-0001`"):
        launch(arena, CHALLENGE, environment, run_file)
    (run_file.parent / "environment-receipt.json").unlink()
    (run_file.parent / "environment-receipt.json").mkdir()
    with pytest.raises(UsageError, match=f"submitted as `{environment}`"):
        arena.submit(run_file.parent / "environment.json")


def test_refused_submission_pins_nothing(server: ArenaState, arena: Arena, hub: Hub, tmp_path: Path) -> None:
    """A definite no leaves no pinned request to be sent again."""
    server.faults.append(Fault("POST", "/api/environments", 409, body={"detail": "closed"}))
    with pytest.raises(ArenaRefusedError):
        arena.submit(request_at(tmp_path))
    assert not (tmp_path / "environment.json.pinned.json").exists()


def test_receipt_is_whole_json(server: ArenaState, arena: Arena, environment: str, run_file: Path) -> None:
    """The receipt beside run.json is the run's record."""
    started(arena, environment, run_file)
    text = (run_file.parent / "run-receipt.json").read_text("utf-8")
    assert json.loads(text)["state"] == "queued"
    assert text.endswith("}\n")
