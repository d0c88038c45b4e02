"""One trial: the phases of one run of a task in a container of its own.

The order and the details follow BenchFlow 0.7.11 and Harbor 0.26.0, with one
difference: nothing of the verifier or the oracle is in the container before
the phase that it belongs to.
"""

import contextlib
import math
import re
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from seatrials import __version__
from seatrials.replay import archive, compose
from seatrials.replay import container as containers
from seatrials.replay.container import MAX_PROCESSES, Container, Ran, StartRefused
from seatrials.replay.engine import (
    PUBLIC_NETWORK,
    ContainerPlan,
    Engine,
    EngineGone,
    EngineRefused,
    Image,
)
from seatrials.replay.model import Blame, Failure, ImageFacts, Kind, Trial
from seatrials.replay.owner import Owner
from seatrials.replay.reward import Check, NoReward, Reward, read_checks, read_reward
from seatrials.replay.spec import (
    ORACLE_LOG,
    VERIFIER_LOG,
    VERIFIER_LOGS,
    Folder,
    Healthcheck,
    Network,
    SetupCommand,
    Step,
    TrialSpec,
    fill_env,
)

TAIL_LINES: Final = 20
MODEL_USER: Final = "agent"
"""The unprivileged user that BenchFlow runs a model as (`rollout._config`, 0.7.11)."""

_MAX_LOG_FILES: Final = 40
_LOOKS: Final = 3
_LOOK_AGAIN: Final = 0.3

_NO_SERVER: Final = re.compile(
    rb"(?:could not resolve|temporary failure (?:in name )?resol|name or service not known"
    rb"|network is unreachable|failed to lookup address)[^\n]{0,60}",
    re.IGNORECASE,
)
"""What programs print when a name can't be looked up. A refused connection may be the task's own."""


_SERVICE_FAILED: Final = re.compile(r"is unhealthy|exited \(\d+\)|dependency failed to start")
"""What compose says when one of the task's own services does not come up."""


@dataclass(frozen=True, kw_only=True)
class Room:
    """Where a trial runs: the engine, the image, the limits it really gets, and where its log goes.

    `host_env` is what ``${VAR}`` is filled in from. `cpus` and `memory` (bytes)
    are the declared ones, or what the engine has where that is less; `slower`
    says that it is, so that a time limit passed tells nothing of the task.
    `compose` is set for a task of several containers.
    """

    engine: Engine
    image: Image
    facts: ImageFacts
    labels: Mapping[str, str]
    host_env: Mapping[str, str]
    log_dir: Path
    cpus: float | None = None
    memory: int | None = None
    keep: bool = False
    as_model: bool = False
    notes: tuple[str, ...] = ()
    slower: bool = False
    compose: "ComposeRoom | None" = None


@dataclass(frozen=True, kw_only=True)
class ComposeRoom:
    """What a trial of several containers needs: the environment's key, the owner of its images, a name."""

    key: str
    owner: Owner
    project: str


class _Failed(Exception):  # noqa: N818 - internal, says what happened
    def __init__(self, blame: Blame, phase: str, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(blame=blame, phase=phase, message=message)


@dataclass(kw_only=True)
class _Progress:
    """What a trial has found out so far, kept when a later phase fails."""

    timings: dict[str, float] = field(default_factory=dict)
    limits: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    peak: int | None = None
    oom_kills: int = 0
    oracle_exit: int | None = None
    verifier_exit: int | None = None
    rewards: dict[str, Reward] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    container: str = ""

    def took(self, phase: str, seconds: float) -> None:
        self.timings[phase] = self.timings.get(phase, 0.0) + seconds

    def ran(self, phase: str, ran: Ran) -> None:
        self.took(phase, ran.seconds)
        if ran.peak is not None:
            self.peak = max(self.peak or 0, ran.peak)
        self.oom_kills = max(self.oom_kills, ran.oom_kills)


def run_trial(spec: TrialSpec, kind: Kind, rerun: int, room: Room) -> Trial:
    """Run one trial and return its row. What goes wrong is in the row; nothing is raised for it."""
    return _told(spec, kind, rerun, room, lambda progress: _run(spec, kind, room, progress))


def open_container(spec: TrialSpec, room: Room) -> str:
    """Start a task's container for a person and return its id: as a model finds it, nothing run yet.

    Raises `TaskFailed` where it can't be brought that far.
    """
    progress = _Progress()
    try:
        with _opened(spec, room, progress) as phases:
            phases.box.put()
            phases.begin()
            phases.network(networks(spec)[1])
    except _Failed as error:
        with contextlib.suppress(EngineGone, EngineRefused):
            room.engine.remove(progress.container)
        raise TaskFailed(error.failure.message) from error
    return progress.container


def verify_open(spec: TrialSpec, room: Room, container: str) -> Trial:
    """Run the verifier in a container that `open_container` started, and return the row.

    In a task with steps it is the first step's.
    """

    def verify(progress: _Progress) -> None:
        box = Container(room.engine, container, default_user=room.image.user)
        phases = _Phases(spec=spec, room=room, boxes={"main": box}, progress=progress)
        _, agent, verifier = networks(spec)
        phases.online = agent == "public"
        phases.network(verifier)
        step = spec.steps[0]
        progress.rewards[step.name] = phases.verify(step)

    return _told(spec, "agent", 1, room, verify)


class TaskFailed(Exception):  # noqa: N818 - reads as what happened
    """A task's container can't be brought to where a model would start."""


def _told(spec: TrialSpec, kind: Kind, rerun: int, room: Room, act: Callable[[_Progress], None]) -> Trial:
    progress = _Progress(notes=list(room.notes))
    began = datetime.now(UTC)
    failure: Failure | None = None
    try:
        act(progress)
    except _Failed as error:
        failure = error.failure
    except EngineGone as error:
        failure = Failure(blame="machine", phase="engine", message=str(error))
    except EngineRefused as error:
        failure = _refused(room.engine, progress.container, error).failure
    except OSError as error:
        # A full disk, where files for the container are gathered.
        failure = Failure(blame="machine", phase="files", message=f"this machine's disk: {error}")
    reward = _final_reward(spec, progress) if failure is None else None
    if progress.oom_kills and (failure is None or failure.blame == "task"):
        # Who is killed and scores 1 all the same was not held back by it.
        harmless = failure is None and (reward == 1 or kind == "noop")
        (progress.notes if harmless else progress.limits).append(_memory_limit(room))
    try:
        _write_logs(room.log_dir, progress.files)
    except OSError as error:
        progress.notes.append(f"the logs could not be written: {error}")
    in_agent = failure is not None and failure.phase == "agent"
    shown = progress.files.get("agent/oracle.txt" if in_agent else "verifier/test-stdout.txt", b"")
    return Trial(
        task=spec.name,
        content_hash=spec.content_hash,
        kind=kind,
        rerun=rerun,
        reward=reward,
        failure=failure,
        checks=tuple(progress.checks),
        timings=progress.timings,
        peak_memory=progress.peak,
        oom_kills=progress.oom_kills,
        oracle_exit=progress.oracle_exit,
        verifier_exit=progress.verifier_exit,
        limits=tuple(dict.fromkeys(progress.limits)),
        notes=tuple(dict.fromkeys(progress.notes)),
        image=room.facts,
        log=str(room.log_dir),
        tail=archive.last_lines(shown, TAIL_LINES),
        started=began.isoformat(timespec="seconds"),
        kit=__version__,
        as_user=MODEL_USER if room.as_model else "",
        steps={name: found.value for name, found in progress.rewards.items()} if len(spec.steps) > 1 else {},
        container=progress.container if room.keep else "",
    )


def _refused(engine: Engine, container: str, error: EngineRefused) -> _Failed:
    """Say what an answer with an error means in the middle of a trial."""
    message = f"the engine refused: {error}"
    with contextlib.suppress(EngineGone, EngineRefused):
        if container and not engine.running(container):
            message = "the container was ended from outside"
    return _Failed("machine", "engine", message)


def container_plan(spec: TrialSpec, room: Room, *, network: str) -> ContainerPlan:
    """Return the container of a trial."""
    return ContainerPlan(
        image=room.image.id,
        command=containers.IDLE,
        labels=room.labels,
        env=fill_env(spec.env, room.host_env, where="sandbox.env"),
        # Harbor runs everything in a declared working directory; BenchFlow only its agents.
        workdir=spec.workdir if spec.format == "harbor" else None,
        network=network,
        cpus=room.cpus,
        memory=room.memory,
        pids=MAX_PROCESSES,
    )


def workspace(spec: TrialSpec, image: Image) -> str:
    """Return the folder that BenchFlow lets a model work in."""
    found = spec.workdir or image.workdir
    return found if found not in {"", "/"} else "/root"


def networks(spec: TrialSpec) -> tuple[Network, Network, Network]:
    """Return the network of the start, of the agent's phase and of the verifier's."""
    return spec.network, spec.agent_network or spec.network, spec.verifier_network or spec.network


@contextlib.contextmanager
def _opened(spec: TrialSpec, room: Room, progress: _Progress) -> Iterator["_Phases"]:
    clock = time.monotonic()
    public = "public" in networks(spec)
    try:
        with contextlib.ExitStack() as stack:
            if room.compose is not None:
                boxes = stack.enter_context(_composed(spec, room, room.compose))
            else:
                plan = container_plan(spec, room, network=PUBLIC_NETWORK if public else "none")
                box = stack.enter_context(
                    containers.started(room.engine, plan, default_user=room.image.user, keep=room.keep)
                )
                boxes = {"main": box}
            progress.container = boxes["main"].id
            progress.timings["start"] = time.monotonic() - clock
            phases = _Phases(spec=spec, room=room, boxes=boxes, progress=progress)
            phases.online = public
            try:
                yield phases
            except EngineRefused as error:
                raise _refused(room.engine, progress.container, error) from error
    except StartRefused as error:
        raise _start_failure(error) from error
    except compose.Refused as error:
        raise _Failed(error.blame, "start", str(error)) from error


@contextlib.contextmanager
def _composed(spec: TrialSpec, room: Room, of: ComposeRoom) -> Iterator[Mapping[str, Container]]:
    with (
        compose.laid_out(
            spec,
            name=of.project,
            key=of.key,
            owner=of.owner,
            labels=room.labels,
            host_env=room.host_env,
            cpus=room.cpus,
            memory=room.memory,
        ) as project,
        compose.started(room.engine, project, default_user=room.image.user, keep=room.keep) as boxes,
    ):
        yield boxes


def _run(spec: TrialSpec, kind: Kind, room: Room, progress: _Progress) -> None:
    with _opened(spec, room, progress) as phases:
        phases.kind = kind
        phases.all()


def _start_failure(error: EngineRefused) -> _Failed:
    text = str(error)
    if '"sh"' in text and "not found" in text:
        return _Failed("task", "start", "the image has no `sh`; every runtime needs it")
    blame: Blame = "task" if _SERVICE_FAILED.search(text) else "machine"
    return _Failed(blame, "start", f"the container could not be started: {text}")


@dataclass(kw_only=True)
class _Phases:
    """The phases of one trial in its container, or its containers by service."""

    spec: TrialSpec
    room: Room
    boxes: Mapping[str, Container]
    progress: _Progress
    kind: Kind = "noop"
    online: bool = False

    @property
    def box(self) -> Container:
        """The agent's container."""
        return self.boxes["main"]

    def box_of(self, service: str, key: str) -> Container:
        """Return a service's container."""
        try:
            return self.boxes[service]
        except KeyError:
            raise _Failed(
                "task", "start", f"`{key}` names the service `{service}`, which there is not"
            ) from None

    def begin(self) -> None:
        """Bring the container to where the agent's phase starts."""
        self.network(networks(self.spec)[0])
        if self.spec.healthcheck is not None or self.spec.setup_commands:
            self.box.put()
        if self.spec.format != "harbor" and self.spec.workdir:
            self._must("mkdir -p " + shlex.quote(self.spec.workdir), user="0", what="make `sandbox.workdir`")
        if self.spec.healthcheck is not None:
            self._healthcheck(self.spec.healthcheck)
        for index, command in enumerate(self.spec.setup_commands):
            self._setup_command(index, command)
        if self.room.as_model:
            self._model_user()

    def all(self) -> None:
        """Run the agent's and the verifier's phase of each step."""
        _, agent, verifier = networks(self.spec)
        self.begin()
        for index, step in enumerate(self.spec.steps):
            self._prepare(step, first=index == 0)
            self.network(agent)
            if self.kind == "oracle" and step.oracle is not None:
                self._agent(step)
            self.network(verifier)
            reward = self.verify(step)
            self.progress.rewards[step.name] = reward
            if _gated(step, reward):
                if index + 1 < len(self.spec.steps):
                    note = f"step `{step.name}` fell below its `min_reward`; the steps after it did not run"
                    self.progress.notes.append(note)
                break

    def network(self, wanted: Network) -> None:
        """Have the container on the network, or off it."""
        if self.online != (wanted == "public"):
            self.online = not self.online
            self.box.engine.set_network(self.box.id, on=self.online)

    def _must(
        self,
        script: str,
        *,
        user: str | None,
        what: str,
        timeout: float = 120.0,
        box: Container | None = None,
    ) -> None:
        result = (box or self.box).shell(script, timeout=timeout, user=user)
        if result.code != 0:
            said = archive.last_lines(result.output, 1)
            raise _Failed("task", "setup", f"could not {what}: {said[0] if said else f'exit {result.code}'}")

    def _healthcheck(self, check: Healthcheck, *, user: str | None = None) -> None:
        began = time.monotonic()
        as_user = user or (None if self.spec.format == "harbor" else "0")
        left = check.retries
        # BenchFlow waits before it looks for the first time in a start period; Harbor looks at once.
        if self.spec.format != "harbor" and check.start_period > 0:
            time.sleep(min(check.start_interval, check.start_period))
        while True:
            result = self.box.shell(check.command, timeout=max(1.0, math.ceil(check.timeout)), user=as_user)
            if result.code == 0:
                break
            if time.monotonic() - began >= check.start_period:
                left -= 1
                if left <= 0:
                    why = f"the healthcheck failed {check.retries} times: `{check.command}`"
                    raise _Failed("task", "setup", why)
                time.sleep(check.interval)
            else:
                time.sleep(check.start_interval)
        self.progress.took("setup", time.monotonic() - began)

    def _setup_command(self, index: int, command: SetupCommand) -> None:
        name = f"sandbox.setup_commands[{index}]"
        result = self.box_of(command.service, f"{name}.service").shell(
            command.command,
            timeout=command.timeout,
            user=command.user,
            env=fill_env(command.env, self.room.host_env, where=f"{name}.env"),
            workdir=command.cwd,
        )
        self.progress.took("setup", result.seconds)
        if result.code != 0:
            why = f"took over {command.timeout:g} s" if result.timed_out else f"exited with {result.code}"
            raise _Failed("task", "setup", f"`{name}` {why}")

    def _model_user(self) -> None:
        """Make the user that BenchFlow makes for a model, and give it what BenchFlow gives it."""
        place = shlex.quote(workspace(self.spec, self.room.image))
        home = f"/home/{MODEL_USER}"
        self._must(
            f"id -u {MODEL_USER} >/dev/null 2>&1 || useradd -m -s /bin/bash {MODEL_USER} || exit 1\n"
            f"mkdir -p {home} {place} || exit 1\n"
            f"chown -R {MODEL_USER}:{MODEL_USER} {home} {place} || exit 1\n"
            'for d in /output /outputs; do [ -d "$d" ] && [ ! -L "$d" ] &&'
            f' chown -R {MODEL_USER}:{MODEL_USER} "$d"; done\ntrue',
            user="0",
            what=f"make the user `{MODEL_USER}`, as BenchFlow does for a model",
        )

    def _prepare(self, step: Step, *, first: bool) -> None:
        if not first:
            self._must(
                f"rm -rf /tests/* {VERIFIER_LOGS}/* /logs/agent/*", user="0", what="clear the step before"
            )
        if step.workdir:
            workdir = self._step_dir()
            self.box.put(Folder(target=workdir, files=step.workdir))
            if step.setup:
                script = f"bash {shlex.quote(workdir.rstrip('/') + '/setup.sh')}"
                self._must(
                    script,
                    user=step.agent_user,
                    what=f"set up step `{step.name}`: `setup.sh` failed",
                    timeout=step.agent_timeout,
                )
        if step.healthcheck is not None:
            self._healthcheck(step.healthcheck, user=step.agent_user)

    def _step_dir(self) -> str:
        return self.spec.workdir or self.room.image.workdir or "/"

    def _agent(self, step: Step) -> None:
        oracle = step.oracle
        if oracle is None:
            return
        model = self.room.as_model
        env = {
            "DEBIAN_FRONTEND": "noninteractive",
            **fill_env(oracle.env, self.room.host_env, where="oracle.env"),
            **({"HOME": f"/home/{MODEL_USER}"} if model else {}),
        }
        ran = self.box.phase(
            oracle.command,
            folder=oracle.folder,
            log=ORACLE_LOG,
            timeout=step.agent_timeout,
            user=MODEL_USER if model else step.agent_user,
            env=env,
            workdir=workspace(self.spec, self.room.image) if model else None,
        )
        self.progress.ran(_phase("agent", step), ran)
        self.progress.oracle_exit = ran.code
        if ran.timed_out:
            limit = f"the oracle ran past `agent.timeout_sec` ({step.agent_timeout:g} s)"
            if self.room.slower:
                raise _Failed("machine", "agent", f"{limit} with less than the declared CPUs")
            self.progress.limits.append(limit)
            self.box.end_processes()
        elif not ran.told:
            self._vanished("agent", self.box)

    def verify(self, step: Step) -> Reward:
        """Run a step's verifier and read its reward."""
        verifier = step.verifier
        box = self.box_of(verifier.service, "verifier.service")
        env = fill_env(verifier.env, self.room.host_env, where="verifier.env")
        clear = _before_verifier(link=verifier.link_tests, target=verifier.folder.target)
        as_root = (verifier.user or box.default_user or "0") in {"0", "root", "0:0", "root:root"}
        if not as_root:
            self._must(clear, user="0", what="make the verifier's folders ready", box=box)
        ran = box.phase(
            verifier.command,
            folder=verifier.folder,
            collect=True,
            log=VERIFIER_LOG,
            timeout=verifier.timeout,
            user=verifier.user,
            env=env or None,
            before=clear if as_root else "",
        )
        self.progress.ran(_phase("verifier", step), ran)
        self.progress.verifier_exit = ran.code
        if ran.timed_out:
            box.engine.kill(box.id)
        elif not ran.told:
            self._vanished("verifier", box)
        self._collect(step, box, ran)
        if ran.timed_out:
            limit = f"the verifier ran past `verifier.timeout_sec` ({verifier.timeout:g} s)"
            if self.room.slower:
                raise _Failed("machine", "verifier", f"{limit} with less than the declared CPUs")
            self.progress.limits.append(limit)
            raise _Failed("task", "verifier", limit)
        return self._reward(step, ran)

    def _collect(self, step: Step, box: Container, ran: Ran) -> None:
        clock = time.monotonic()
        harvest = ran.logs if ran.logs is not None else box.logs()
        if box is not self.box:
            # The oracle's log stays in the agent's container.
            self.progress.files.update(self.box.logs().files)
        prefix = f"{step.name}/" if step.name else ""
        self.progress.files.update({prefix + path: data for path, data in harvest.files.items()})
        if step.name:
            self.progress.files.update(harvest.files)
        if harvest.truncated:
            self.progress.notes.append("`/logs` could not be read to its end")
        self.progress.took("collect", time.monotonic() - clock)

    def _reward(self, step: Step, ran: Ran) -> Reward:
        files = self.progress.files
        prefix = f"{step.name}/" if step.name else ""
        checks = read_checks(files.get(f"{prefix}verifier/ctrf.json"))
        title = f"{step.name}: " if step.name else ""
        self.progress.checks += [replace(check, name=title + check.name) for check in checks]
        found = read_reward(
            files.get(f"{prefix}verifier/reward.json"),
            files.get(f"{prefix}verifier/reward.txt"),
            self.spec.reward,
        )
        self._reachable(step, checks, found)
        if isinstance(found, NoReward):
            if ran.oom_kills and ran.code:
                self.progress.limits.append(_memory_limit(self.room))
            ended = f" (the verifier exited with {ran.code})" if ran.code else ""
            raise _Failed("task", "reward", found.reason + ended)
        return found

    def _reachable(self, step: Step, checks: Sequence[Check], found: Reward | NoReward) -> None:
        """Tell a server that could not be reached from a task that failed.

        Where the checks themselves ran, or the reward is full, it did not matter.
        """
        if checks or (isinstance(found, Reward) and found.value >= 1):
            return
        prefix = f"{step.name}/" if step.name else ""
        for phase, name, network in (
            ("agent", "agent/oracle.txt", networks(self.spec)[1]),
            ("verifier", "verifier/test-stdout.txt", networks(self.spec)[2]),
        ):
            hit = _NO_SERVER.search(self.progress.files.get(prefix + name, b""))
            if hit is None:
                continue
            who = "the oracle" if phase == "agent" else "the verifier"
            said = hit[0].decode("utf-8", "replace")
            if network == "public":
                raise _Failed("machine", phase, f"{who} could not reach a server (`{said}`)")
            self.progress.notes.append(f"{who} looks for a server (`{said}`), and the task has no network")

    def _vanished(self, phase: str, box: Container) -> None:
        """Tell apart why a phase ended without a word: its own doing, or its container was ended."""
        for _ in range(_LOOKS):
            if not box.engine.running(box.id):
                raise _Failed("machine", phase, "the container was ended from outside")
            # A container that is being ended still counts as running for a moment.
            time.sleep(_LOOK_AGAIN)


def _before_verifier(*, link: bool, target: str) -> str:
    gone = " ".join(f"{VERIFIER_LOGS}/{name}" for name in ("reward.txt", "reward.json", "ctrf.json"))
    link_tests = f"[ -e /tests ] || ln -s {target} /tests\n" if link else ""
    return f"mkdir -p {VERIFIER_LOGS}\nchmod 777 {VERIFIER_LOGS}\nrm -rf {gone}\n{link_tests}"


def _phase(name: str, step: Step) -> str:
    return f"{name}:{step.name}" if step.name else name


def _gated(step: Step, reward: Reward) -> bool:
    values = {"reward": reward.value, **reward.metrics}
    return any(values.get(key, -math.inf) < bound for key, bound in step.min_reward.items())


def _final_reward(spec: TrialSpec, progress: _Progress) -> float | None:
    values = [reward.value for reward in progress.rewards.values()]
    if not values:
        return None
    return values[-1] if spec.step_strategy == "final" else sum(values) / len(values)


def _memory_limit(room: Room) -> str:
    declared = f" ({room.memory / 2**20:.0f} MB)" if room.memory else ""
    return f"processes were killed at the memory limit `memory_mb`{declared}"


def _write_logs(folder: Path, files: Mapping[str, bytes]) -> None:
    for path in sorted(files)[:_MAX_LOG_FILES]:
        # Names come out of a container; only plain ones become files here.
        if all(part not in {"", ".", ".."} for part in path.split("/")):
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(files[path])
