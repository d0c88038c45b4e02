"""Reading finished job folders of BenchFlow (0.7.11) and Harbor (0.26.0) into trials of ours.

Each trial of either has a folder with a `result.json`. BenchFlow's names a
digest over the task's files, so that it is matched to the task as it is now;
Harbor's is matched by name, and only if no file of the task is newer.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from seatrials.replay import archive
from seatrials.replay.model import Blame, Failure, Kind, Trial
from seatrials.replay.reward import NoReward, read_checks, read_reward
from seatrials.replay.spec import Files, RewardRules, as_number
from seatrials.task.files import TaskFile

MAX_RESULT: Final = 8 * 1024 * 1024
NOOP_SCRIPT: Final = b"#!/bin/bash\nexit 0\n"
"""BenchFlow has no no-op agent: its no-op is an oracle that does nothing."""

_KINDS: Final[Mapping[str, Kind]] = {"oracle": "oracle", "nop": "noop"}
_TASK_ERRORS: Final = (
    "AddTestsDirError", "RewardFileNotFoundError", "RewardFileEmptyError", "VerifierOutputParseError",
    "VerifierTimeoutError", "AgentTimeoutError", "HealthcheckError",
)  # fmt: skip
"""Harbor's exceptions that are the task's own doing."""

_MACHINE_CATEGORIES: Final = frozenset({"infra", "sandbox", "sandbox_setup", "api", "transport", "install"})


@dataclass(frozen=True, kw_only=True)
class Target:
    """A task to match trials to: as a task of its own, and as the no-op made of it."""

    name: str
    content_hash: str
    digest: str
    noop_digest: str
    newest: float
    rules: RewardRules


def benchflow_digest(files: Files) -> str:
    """Return BenchFlow's digest of a task (``task_digest``): each file's hash in path order, no links."""
    digest = hashlib.sha256()
    for path, file in sorted(files.items()):
        if file.kind == "file" and path.rpartition("/")[2] != ".benchflow-source.json":
            digest.update(path.encode("utf-8", "surrogateescape") + b"\0")
            digest.update(hashlib.sha256(file.read()).digest())
    return f"sha256:{digest.hexdigest()}"


def target_of(
    name: str, content_hash: str, files: Mapping[str, TaskFile], noop: Files, rules: RewardRules
) -> Target:
    """Return what a task's trials are matched by; `noop` is the task with an oracle that does nothing."""
    newest = max((file.location.lstat().st_mtime for file in files.values()), default=0.0)
    return Target(
        name=name,
        content_hash=content_hash,
        digest=benchflow_digest(files),
        noop_digest=benchflow_digest(noop),
        newest=newest,
        rules=rules,
    )


def collect(folder: Path, targets: Sequence[Target]) -> Iterator[Trial]:
    """Yield the trials below a job folder that belong to the given tasks, in the order they ran."""
    found = [
        trial for path in sorted(folder.rglob("result.json")) if (trial := _read(path, targets)) is not None
    ]
    counts: dict[tuple[str, Kind], int] = {}
    for trial in sorted(found, key=lambda one: one.started):
        key = (trial.content_hash, trial.kind)
        counts[key] = counts.get(key, 0) + 1
        yield _numbered(trial, counts[key])


def _numbered(trial: Trial, rerun: int) -> Trial:
    return replace(trial, rerun=rerun)


def _read(path: Path, targets: Iterable[Target]) -> Trial | None:
    try:
        if path.stat().st_size > MAX_RESULT:
            return None
        data = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError, RecursionError):
        return None
    match data:
        case {"rollout_name": str(), "task_digest": str() as digest, "agent": str() as agent}:
            return _benchflow(path.parent, data, digest, agent, targets)
        case {"trial_name": str(), "task_name": str(), "agent_info": {"name": str() as agent}}:
            return _harbor(path.parent, data, agent, targets)
        case _:
            return None


def _benchflow(
    folder: Path, data: Mapping[str, Any], digest: str, agent: str, targets: Iterable[Target]
) -> Trial | None:
    kind = _KINDS.get(agent, "agent")
    target = next((one for one in targets if digest == one.digest), None)
    if target is None and kind == "oracle":
        target = next((one for one in targets if digest == one.noop_digest), None)
        kind = "noop"
    if target is None:
        return None
    rewards = data.get("rewards")
    reward = as_number(rewards.get("reward")) if isinstance(rewards, dict) else None
    timing = data.get("timing")
    seconds = {str(k): as_number(v) for k, v in timing.items()} if isinstance(timing, dict) else {}
    said = next((str(data[key]) for key in ("verifier_error", "error") if data.get(key)), "")
    category = str(data.get("verifier_error_category") or data.get("error_category") or "")
    machine = any(word in category.lower() for word in _MACHINE_CATEGORIES)
    return _trial(
        folder,
        target,
        kind,
        reward=reward,
        said=said,
        blame="machine" if machine else "task",
        timings={name: value for name, value in seconds.items() if value is not None and name != "total"},
        started=str(data.get("started_at") or ""),
        source="bench",
    )


def _harbor(folder: Path, data: Mapping[str, Any], agent: str, targets: Iterable[Target]) -> Trial | None:
    name = str(data["task_name"]).rpartition("/")[2]
    started = str(data.get("started_at") or "")
    began = _moment(started)
    target = next((one for one in targets if one.name in {name, _local_name(data)}), None)
    if target is None or began is None or target.newest > began:
        return None
    result = data.get("verifier_result")
    rewards = result.get("rewards") if isinstance(result, dict) else None
    reward = None
    if isinstance(rewards, dict):
        found = read_reward(json.dumps(rewards).encode(), None, target.rules)
        reward = None if isinstance(found, NoReward) else found.value
    exception = data.get("exception_info")
    said, blame = "", "task"
    if isinstance(exception, dict):
        type_ = str(exception.get("exception_type"))
        said = f"{type_}: {exception.get('exception_message')}"
        blame = "task" if type_ in _TASK_ERRORS else "machine"
    phases = {"environment_setup": "start", "agent_execution": "agent", "verifier": "verifier"}
    return _trial(
        folder,
        target,
        _KINDS.get(agent, "agent"),
        reward=reward,
        said=said,
        blame="machine" if blame == "machine" else "task",
        timings={
            phase: seconds
            for key, phase in phases.items()
            if (seconds := _duration(data.get(key))) is not None
        },
        started=started,
        source="harbor",
    )


def _trial(  # noqa: PLR0913 - one row has this many sides
    folder: Path,
    target: Target,
    kind: Kind,
    *,
    reward: float | None,
    said: str,
    blame: Blame,
    timings: Mapping[str, float],
    started: str,
    source: str,
) -> Trial:
    failure = None
    if reward is None:
        message = " ".join((said or "no reward").split())[:300]
        failure = Failure(blame=blame, phase="verifier", message=f"{source}: {message}")
    return Trial(
        task=target.name,
        content_hash=target.content_hash,
        kind=kind,
        rerun=1,
        reward=reward,
        failure=failure,
        checks=read_checks(_bytes(folder / "verifier" / "ctrf.json")),
        timings=timings,
        log=str(folder),
        tail=archive.last_lines(_bytes(folder / "verifier" / "test-stdout.txt"), 20),
        started=started,
        source=source,
    )


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(archive.FILE_BYTES)
    except OSError:
        return b""


def _local_name(data: Mapping[str, Any]) -> str:
    match data.get("task_id"):
        case {"path": str() as path}:
            return Path(path).name
        case _:
            return ""


def _moment(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def _duration(data: object) -> float | None:
    match data:
        case {"started_at": str() as first, "finished_at": str() as last}:
            began, ended = _moment(first), _moment(last)
            return None if began is None or ended is None else max(0.0, ended - began)
        case _:
            return None
