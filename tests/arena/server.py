"""An arena on loopback: serves the stand-in client of this folder, and the routes which that speaks.

A stand-in, written from the arena's agent guide; the routes are its own. It is
strict: a request with a key too many, a token where none is needed, an agent
of somebody else's or a moving revision at the submission is refused. It reads
the pinned commit from a loopback Hub (`tests/hub.py`) and judges it. `faults`
make it fail::

    with serving() as hub, serving_arena(hub) as arena:
        arena.faults.append(Fault("POST", "/api/environments", lost=True, after=True))
"""

import hashlib
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import loopback
from arena.judge import HeldOut, judge
from hub import TOKEN, Hub, Repo, entry

CHALLENGE = "openenv-9b"
PLANNED = "openenv-30b"
TRACK = "environments"
PAUSED = "the base model's baseline is not measured yet"
SCORED = (
    ("queued", "setup", None),
    ("running", "baseline", None),
    ("running", "training", None),
    ("scored", "heldout", None),
)
"""What a run goes through, a step at each look at it."""

CLIENT = Path(__file__).with_name("arena_cli.py")
PAGE = b"<!DOCTYPE html>\n<html><head><title>502</title></head><body>Bad gateway</body></html>\n"


class NoError(Exception):
    """An error answer."""

    def __init__(self, status: int, detail: Any, *, retry_after: str | None = None, **fields: Any) -> None:
        super().__init__(status)
        self.status = status
        self.body = {"detail": detail, **fields}
        self.headers = {"Retry-After": retry_after} if retry_after else {}


@dataclass
class Fault:
    """An answer other than the right one at requests that match; `skip` of them go by.

    With `after`, what was asked for is done first. `body` is JSON where it is
    no bytes. `lost` closes the connection without an answer, `cut` breaks the
    body off in its middle, `delay` is in seconds.
    """

    method: str
    path: str
    status: int = 502
    body: Any = PAGE
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1
    skip: int = 0
    after: bool = False
    lost: bool = False
    cut: bool = False
    delay: float = 0.0


@dataclass
class ArenaState:
    """The server's state, to be changed at any time. `requests` has method, path and whether a token came."""

    hub: Hub | None = None
    url: str = ""
    users: dict[str, str] = field(default_factory=lambda: {TOKEN: "ada"})
    editors: set[str] = field(default_factory=set)
    agents: dict[str, dict[str, Any]] = field(default_factory=dict)
    environments: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)
    github: dict[str, Repo] = field(default_factory=dict)
    gated: set[str] = field(default_factory=set)
    held_out: dict[str, HeldOut] = field(default_factory=dict)
    runs_paused: str | None = PAUSED
    cap: float = 1000.0
    allocation: float = 250.0
    script: tuple[tuple[str, str, str | None], ...] = SCORED
    files: dict[str, bytes] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    requests: list[tuple[str, str, bool]] = field(default_factory=list)
    lock: Any = field(default_factory=threading.RLock)

    def asked(self, method: str, path: str) -> int:
        """Return how many requests there were."""
        return sum((got, at) == (method, path) for got, at, _ in self.requests)

    def active(self) -> dict[str, Any] | None:
        """Return the run that is on."""
        return next((run for run in self.runs.values() if run["state"] in {"queued", "running"}), None)


def client_source(pauses: tuple[float, ...] = (0.01, 0.01, 0.01)) -> bytes:
    """Return the stand-in client; it waits so many seconds between tries, instead of 1, 2 and 4."""
    return CLIENT.read_bytes().replace(b"PAUSES = (1, 2, 4)", f"PAUSES = {pauses!r}".encode())


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    state: ArenaState

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer."""
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length) if length else b""
        path = urlsplit(self.path).path
        state = self.state
        with state.lock:
            state.requests.append((self.command, path, "Authorization" in self.headers))
            fault = self.due(path)
            if fault is None or fault.after:
                status, body, headers = self.answered(path, raw)
        if fault is not None:
            time.sleep(fault.delay)
            if fault.lost:
                self.close_connection = True
                self.connection.close()
                return
            if not fault.cut and fault.status:
                status, headers = fault.status, fault.headers
                body = fault.body if isinstance(fault.body, bytes) else json.dumps(fault.body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if fault is not None and fault.cut:
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
            return
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 - the base class's name

    def due(self, path: str) -> Fault | None:
        """Return the fault that is due."""
        for fault in self.state.faults:
            if fault.times and fault.method == self.command and re.fullmatch(fault.path, path):
                if fault.skip:
                    fault.skip -= 1
                    return None
                fault.times -= 1
                if fault.cut:
                    fault.after = True
                return fault
        return None

    def answered(self, path: str, raw: bytes) -> tuple[int, bytes, dict[str, str]]:
        """Return status, body and headers of the right answer."""
        name = path.removeprefix("/")
        if self.command == "GET" and name in self.state.files:
            return 200, self.state.files[name], {"Content-Type": "text/x-python"}
        headers = {"Content-Type": "application/json"}
        try:
            answer = self.route(path, raw)
        except NoError as no:
            return no.status, json.dumps(no.body).encode(), {**headers, **no.headers}
        return 200, json.dumps(answer).encode(), headers

    # Who asks, and for what.

    def route(self, path: str, raw: bytes) -> Any:  # noqa: PLR0912 - one branch for each route
        """Answer one request."""
        state = self.state
        query = {key: values[0] for key, values in parse_qs(urlsplit(self.path).query).items()}
        parts = tuple(unquote(part) for part in path.removeprefix("/api/").split("/"))
        if self.command == "GET":
            match parts:
                case ("whoami",):
                    user = self.user()
                    return {"name": user, "editor": user in state.editors}
                case ("challenges", str(challenge), "runs", "preflight"):
                    user = self.user()
                    return self.preflight(user, challenge, query.get("environment_id", ""))
            if "Authorization" in self.headers:
                raise NoError(400, "a public read carries no token")
            return self.read(parts, query)
        user = self.user()
        if self.headers.get("Content-Type") != "application/json":
            raise NoError(415, "JSON is needed")
        try:
            body = json.loads(raw)
        except ValueError:
            raise NoError(422, "the body is not JSON") from None
        if not isinstance(body, dict):
            raise NoError(422, "the body must be an object")
        match parts:
            case ("agents",):
                return self.register(user, body)
            case ("validate",):
                return self.validate(user, body)[0]
            case ("environments",):
                return self.submit(user, body)
            case ("challenges", str(challenge), "runs"):
                return self.launch(user, challenge, body)
            case ("challenges", str(challenge), "runs", str(run), "collect"):
                return self.collect(user, challenge, run)
            case ("challenges", str(challenge), "environments", str(environment), "gates", "plan"):
                return self.plan(user, challenge, environment, body)
            case ("messages",):
                return self.post(user, body)
        raise NoError(404, "no such route")

    def user(self) -> str:
        """Return who asks."""
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in self.state.users:
            raise NoError(401, "sign in with Hugging Face")
        return self.state.users[token]

    def acting(self, user: str, agent: Any) -> None:
        """Refuse an agent that is not the user's."""
        if agent is None:
            return
        if agent not in self.state.agents:
            raise NoError(422, [{"loc": ["body", "agent_id"], "msg": "this agent is not registered"}])
        if self.state.agents[agent]["owner"] != user:
            raise NoError(403, "this agent belongs to another HF user")

    # Reads.

    def read(self, parts: tuple[str, ...], query: dict[str, str]) -> Any:
        """Answer a public read."""
        state = self.state
        match parts:
            case ("challenges",):
                return {"challenges": self.challenges()}
            case ("benchmarks",):
                return {"benchmarks": [self.benchmark()], "default": "agentic-8"}
            case ("benchmarks", "agentic-8"):
                return {**self.benchmark(), "leaderboards": {CHALLENGE: state.results}}
            case ("discover",):
                return {"agents": list(state.agents.values()), "commands": ["challenges", "validate"]}
            case ("arena", "budget"):
                return {"cap_usd": state.cap, "remaining_usd": state.cap, "currency": "USD"}
            case ("environments",):
                return {"environments": list(state.environments.values())}
            case ("messages",):
                return {"messages": state.messages}
            case ("challenges", str(challenge), "runs"):
                self.challenge(challenge)
                return {"runs": [run for run in state.runs.values() if run["challenge_id"] == challenge]}
            case ("challenges", str(challenge), "runs", str(run)):
                return self.look(challenge, run)
            case ("challenges", str(challenge), "leaderboard"):
                self.challenge(challenge)
                if query.get("benchmark", "agentic-8") != "agentic-8":
                    raise NoError(404, "this challenge scores agentic-8 only")
                return {
                    "challenge": challenge,
                    "benchmark": "agentic-8",
                    "rows": state.results,
                    "pending_count": 0,
                }
            case ("challenges", str(challenge), "environments", str(environment), "gates"):
                self.challenge(challenge)
                record = self.environment(environment)
                return {"static": record["quality_gates"]["static"], "verdict": None}
        raise NoError(404, "no such route")

    def challenges(self) -> list[dict[str, Any]]:
        """Return the challenges, open ones first."""
        state = self.state
        why = state.runs_paused or ("another arena run is active" if state.active() else None)
        return [
            {
                "id": CHALLENGE,
                "status": "open",
                "base_model": "Qwen/Qwen3.5-9B",
                "recipe": {"id": "openenv-v1", "note": "placeholders"},
                "eval_suite": "agentic-8",
                "runs_paused": state.runs_paused,
                "health": {"accepting_runs": why is None, "reason": why, "runs": len(state.runs)},
                "per_run_allocation": state.allocation,
            },
            {"id": PLANNED, "status": "planned", "base_model": "Qwen/Qwen3.5-30B"},
        ]

    def challenge(self, name: str) -> dict[str, Any]:
        """Return a challenge."""
        found = next((challenge for challenge in self.challenges() if challenge["id"] == name), None)
        if found is None:
            raise NoError(404, f"no challenge {name}")
        return found

    def benchmark(self) -> dict[str, Any]:
        """Return the held-out suite."""
        return {"id": "agentic-8", "tasks": 87, "sealed": True, "challenges": [CHALLENGE]}

    def environment(self, name: str) -> dict[str, Any]:
        """Return a stored collection."""
        if name not in self.state.environments:
            raise NoError(404, f"no collection {name}")
        return self.state.environments[name]

    # Agents and the board.

    def register(self, user: str, body: dict[str, Any]) -> Any:
        """Register an agent; the same again is fine, anything else is not."""
        shape(body, {"agent_id": str, "description": str}, {"model": str, "harness": str})
        agent = body["agent_id"]
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{1,47}", agent) or agent.startswith("human-"):
            raise NoError(
                422, [{"loc": ["body", "agent_id"], "msg": "2-48 lowercase letters, digits or hyphens"}]
            )
        there = self.state.agents.get(agent)
        record = {**body, "owner": user}
        if there is not None and there["owner"] != user:
            raise NoError(409, "already registered by another HF user")
        if there is not None and there != record:
            raise NoError(409, "already registered with another description; a registration is immutable")
        self.state.agents[agent] = record
        return {**record, "existing": there is not None}

    def post(self, user: str, body: dict[str, Any]) -> Any:
        """Post a message."""
        optional = {"agent_id": (str, type(None)), "refs": list, "broadcast": bool}
        shape(body, {"request_id": str, "body": str}, optional)
        request_id(body)
        self.acting(user, body.get("agent_id"))
        if body.get("broadcast"):
            raise NoError(422, "broadcast accepts false only")
        names = {message["filename"] for message in self.state.messages}
        if set(body.get("refs", [])) - names:
            raise NoError(422, "refs must name existing messages")
        record = {**body, "author": user}
        for message in self.state.messages:
            if message["request_id"] == body["request_id"]:
                if {**message, "filename": None} != {**record, "filename": None}:
                    raise NoError(409, "this request id stands for another message")
                return {**message, "existing": True}
        message = {**record, "filename": f"{len(self.state.messages):04}-{body['request_id'][:20]}.md"}
        self.state.messages.append(message)
        return {**message, "existing": False}

    # Collections.

    def validate(self, user: str, body: dict[str, Any]) -> tuple[dict[str, Any], str]:
        """Judge a collection at the commit that its revision names."""
        required = dict.fromkeys(("challenge_id", "repo_type", "repo_id", "revision", "title"), str)
        shape(body, required, {"agent_id": (str, type(None)), "entry_path": str, "notes": str})
        self.acting(user, body.get("agent_id"))
        if body["challenge_id"] != TRACK and self.challenge(body["challenge_id"])["status"] != "open":
            raise NoError(409, "this challenge takes no collections")
        commit, files = self.source(body)
        base = body.get("entry_path", "").strip("/")
        prefix = base + "/" if base else ""
        own = {path.removeprefix(prefix): data for path, data in files.items() if path.startswith(prefix)}
        if not own:
            raise NoError(422, f"no folder {base} at {commit}")
        blobs = {path: entry(path, data)["oid"] for path, data in own.items()}
        verdict = judge(own, blobs, self.state.held_out)
        return {**verdict.as_data(), "revision": commit, "repo_id": body["repo_id"]}, commit

    def source(self, body: dict[str, Any]) -> tuple[str, dict[str, bytes]]:
        """Return the commit and its files, as someone without any rights may read them."""
        state, name = self.state, body["repo_id"]
        if body["repo_type"] == "github":
            repo = state.github.get(name)
        elif body["repo_type"] == "dataset":
            repo = state.hub.repos.get(name) if state.hub is not None else None
        else:
            raise NoError(422, [{"loc": ["body", "repo_type"], "msg": "dataset or github"}])
        if repo is None or repo.private:
            raise NoError(404, f"{name} is not there, or private: it must be public")
        if name in state.gated or getattr(repo, "gated", False):
            raise NoError(403, f"{name} is gated: it must be public and ungated")
        found = repo.at(body["revision"])
        if found is None:
            raise NoError(404, f"{name} has no revision {body['revision']}")
        return found

    def submit(self, user: str, body: dict[str, Any]) -> Any:
        """Store a collection, once for each author, track, repository, commit and folder."""
        if not re.fullmatch(r"[0-9a-f]{40}", str(body.get("revision", ""))):
            raise NoError(422, [{"loc": ["body", "revision"], "msg": "must be a commit"}])
        found, commit = self.validate(user, body)
        if not found["valid"]:
            raise NoError(422, "the collection is not valid", errors=found["errors"])
        place = (user, TRACK, body["repo_type"], body["repo_id"], commit, body.get("entry_path", ""))
        name = "env-" + hashlib.sha256("\0".join(place).encode()).hexdigest()[:12]
        if name in self.state.environments:
            return {**self.state.environments[name], "existing": True}
        record = {
            "environment_id": name,
            "author": user,
            "track": TRACK,
            "target_challenge_id": body["challenge_id"] if body["challenge_id"] != TRACK else None,
            **{
                key: body.get(key)
                for key in ("repo_type", "repo_id", "entry_path", "title", "notes", "agent_id")
            },
            "revision": commit,
            "eligible_tasks": found["eligible_tasks"],
            "quality_gates": found["quality_gates"],
        }
        self.state.environments[name] = record
        return {**record, "existing": False}

    # Runs.

    def preflight(self, user: str, challenge: str, environment: str) -> dict[str, Any]:
        """Return the checks in the guide's order; what depends on a failed one is not run."""
        state = self.state
        told = self.challenge(challenge)
        record = self.environment(environment)
        is_open = told["status"] == "open"
        counted = any(
            run["environment_id"] == environment and run["challenge_id"] == challenge
            and run["state"] not in {"failed", "canceled"}
            for run in state.runs.values()
        )  # fmt: skip
        active = state.active()
        can = is_open and not state.runs_paused
        names = set(record["quality_gates"]["static"]["task_identity"])
        checks: list[tuple[str, bool | None, str]] = [
            ("challenge open", can, state.runs_paused or told["status"]),
            ("signed in", True, user),
            ("owner", user == record["author"] or user in state.editors, f"submitted by {record['author']}"),
            ("daily limit", not counted, "a counted run in the last 24 hours" if counted else "none today"),
            ("job layout", True if can else None, "8 GPUs" if can else "not checked"),
            ("no active run", active is None, active["run_id"] if active else "none"),
            ("cap", state.cap >= state.allocation if can else None,
             f"{state.cap:g} of {state.allocation:g} USD" if can else "not checked"),
            ("eligible tasks", record["eligible_tasks"] > 0, f"{record['eligible_tasks']} eligible"),
            ("task names", not names & set(state.held_out), "no held-out name"),
        ]  # fmt: skip
        return {
            "allowed": all(ok is True for _, ok, _ in checks),
            "checks": [{"name": name, "ok": ok, "detail": detail} for name, ok, detail in checks],
            "max_compute_usd": state.allocation,
            "eligible_tasks": record["eligible_tasks"],
        }

    def launch(self, user: str, challenge: str, body: dict[str, Any]) -> Any:
        """Start a run, once for each request id."""
        state = self.state
        shape(body, {"request_id": str, "environment_id": str}, {"agent_id": (str, type(None))})
        request_id(body)
        self.acting(user, body.get("agent_id"))
        for run in state.runs.values():
            if run["request_key"] == body["request_id"]:
                same = (run["environment_id"], run["challenge_id"], run["author"])
                if same != (body["environment_id"], challenge, user):
                    raise NoError(409, "the request id belongs to another run", launched=False)
                return {**run, "existing": True}
        found = self.preflight(user, challenge, body["environment_id"])
        statuses = {"owner": 403, "daily limit": 429, "eligible tasks": 422, "task names": 422}
        for check in found["checks"]:
            if check["ok"] is False:
                status = statuses.get(check["name"], 409)
                wait = "80000" if status == 429 else None
                raise NoError(status, f"{check['name']}: {check['detail']}", launched=False, retry_after=wait)
        run = {
            "run_id": f"run-{len(state.runs) + 1:04}",
            "request_key": body["request_id"],
            "challenge_id": challenge,
            "environment_id": body["environment_id"],
            "author": user,
            "agent_id": body.get("agent_id"),
            "state": "queued",
            "stage": "setup",
            "reason": None,
            "status": "SCHEDULING",
            "job_status": "SCHEDULING",
            "looks": 0,
        }
        state.runs[run["run_id"]] = run
        return {**run, "launched": True, "existing": False}

    def look(self, challenge: str, name: str) -> Any:
        """Return a run, which goes a step on at each look."""
        run = self.state.runs.get(name)
        if run is None or run["challenge_id"] != challenge:
            raise NoError(404, f"no run {name} on {challenge}")
        step = self.state.script[min(run["looks"], len(self.state.script) - 1)]
        run["looks"] += 1
        run["state"], run["stage"], run["reason"] = step
        run["job_status"] = {"queued": "SCHEDULING", "running": "RUNNING"}.get(step[0], "COMPLETED")
        return {key: value for key, value in run.items() if key != "looks"}

    def collect(self, user: str, challenge: str, name: str) -> Any:
        """Store a scored run's result for review."""
        run = self.state.runs.get(name)
        if run is None or run["challenge_id"] != challenge:
            raise NoError(404, f"no run {name} on {challenge}")
        if user != run["author"] and user not in self.state.editors:
            raise NoError(403, "only the author collects a result")
        if run["state"] != "scored":
            raise NoError(409, f"the run is {run['state']}, not scored")
        run["stage"] = "collect"
        return {
            "run_id": name,
            "status": "pending",
            "baseline_pass_rate": 0.094,
            "after_pass_rate": 0.125,
            "delta_pp": 3.1,
            "stderr_pp": 1.9,
            "trials": 3,
        }

    def plan(self, user: str, challenge: str, name: str, body: dict[str, Any]) -> Any:
        """Return a plan of the dynamic gates."""
        self.challenge(challenge)
        shape(body, {}, {"controls_reruns": int, "band_attempts": int, "require_oracle": bool})
        record = self.environment(name)
        if user != record["author"] and user not in self.state.editors:
            raise NoError(403, "only the author asks for a plan")
        tasks = sorted(record["quality_gates"]["static"]["task_identity"])
        reruns = body.get("controls_reruns", 8)
        return {
            "environment_id": name,
            "challenge_id": challenge,
            "controls_reruns": reruns,
            "band_attempts": body.get("band_attempts", 4),
            "commands": [f"bench eval run --task {task} --agent oracle --trials {reruns}" for task in tasks],
        }


def shape(body: dict[str, Any], required: dict[str, Any], optional: dict[str, Any]) -> None:
    """Refuse what has not exactly these keys and kinds, as FastAPI words it."""
    faults = [{"loc": ["body", key], "msg": "Field required"} for key in required if key not in body]
    faults += [
        {"loc": ["body", key], "msg": "Extra inputs are not permitted"}
        for key in body
        if key not in required and key not in optional
    ]
    faults += [
        {"loc": ["body", key], "msg": "wrong kind"}
        for key, kind in {**required, **optional}.items()
        if key in body and not isinstance(body[key], kind)
    ]
    if faults:
        raise NoError(422, faults)


def request_id(body: dict[str, Any]) -> None:
    """Refuse a request id of another length."""
    if not 8 <= len(body["request_id"]) <= 120:
        raise NoError(422, [{"loc": ["body", "request_id"], "msg": "8 to 120 characters"}])


@contextmanager
def serving_arena(hub: Hub | None = None) -> Iterator[ArenaState]:
    """Run an arena on a free port of loopback, over the data sets of a Hub."""
    state = ArenaState(hub=hub, files={"arena_cli.py": client_source()})
    with loopback.serve(Handler, state=state) as state.url:
        yield state
