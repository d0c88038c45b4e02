"""A replay run: which trials, in what order, how many at a time, and what is cleaned up when."""

import contextlib
import os
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Final, Literal, Protocol

from seatrials import proc
from seatrials.replay import buildkit, compose
from seatrials.replay import owner as owners
from seatrials.replay.engine import Engine, EngineGone, EngineInfo, EngineRefused, connect
from seatrials.replay.images import Built, Images, environment_key, unmet_needs
from seatrials.replay.model import Failure, Kind, ReplayReport, TaskReplay, Trial
from seatrials.replay.reading import spec_of
from seatrials.replay.spec import TrialSpec, UnsetVariable, fill_env
from seatrials.replay.store import Store, attempts, reusable
from seatrials.replay.trial import MODEL_USER, ComposeRoom, Room, run_trial
from seatrials.replay.verdict import judge
from seatrials.task.package import TaskPackage

MEMORY_SHARE: Final = 0.8
"""How much of the engine's memory the declared limits of trials at the same time may add up to."""

_POLL: Final = 0.5
_LAST_SWEEP: Final = 30.0


@dataclass(frozen=True, kw_only=True)
class ReplayOptions:
    """How to replay.

    `jobs` is a number of trials at a time, or ``auto``: as many as the
    engine's CPUs and memory hold by what tasks declare. `host_env` is what
    ``${VAR}`` in a task is filled in from.
    """

    reruns: int = 1
    kinds: tuple[Kind, ...] = ("oracle", "noop")
    jobs: int | Literal["auto"] = "auto"
    force: bool = False
    keep: bool = False
    as_model: bool = False
    root: Path = field(default_factory=Path)
    buildkit: bool = field(default_factory=buildkit.installed)
    compose: bool = field(default_factory=compose.installed)
    host_env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


class Observer(Protocol):
    """Who is told how a run goes, always from the same thread."""

    def planned(self, tasks: Sequence[str], trials: int, reused: int, /) -> None:
        """Take note of what is to come."""

    def building(self, task: str, /) -> None:
        """Take note that a task's image is being built."""

    def built(self, task: str, built: Built, /) -> None:
        """Take note that a task's image is there, or why it is not."""

    def started(self, task: str, kind: Kind, rerun: int, /) -> None:
        """Take note that a trial began."""

    def ended(self, trial: Trial, /) -> None:
        """Take note of a trial."""

    def judged(self, task: TaskReplay, /) -> None:
        """Take note of a verdict."""

    def tick(self) -> None:
        """Take note that time goes by; called a few times a second."""


class Silent:
    """An observer that takes no note."""

    def planned(self, tasks: Sequence[str], trials: int, reused: int, /) -> None:
        """Do nothing."""

    def building(self, task: str, /) -> None:
        """Do nothing."""

    def built(self, task: str, built: Built, /) -> None:
        """Do nothing."""

    def started(self, task: str, kind: Kind, rerun: int, /) -> None:
        """Do nothing."""

    def ended(self, trial: Trial, /) -> None:
        """Do nothing."""

    def judged(self, task: TaskReplay, /) -> None:
        """Do nothing."""

    def tick(self) -> None:
        """Do nothing."""


def replay(
    tasks: Iterable[TaskPackage],
    options: ReplayOptions,
    observer: Observer | None = None,
    *,
    connect_engine: Callable[[], Engine] = connect,
) -> ReplayReport:
    """Replay tasks and return the verdicts, in the order of the tasks.

    Raises `EngineAbsent` when no engine answers. Ctrl-C and SIGTERM end the
    run with `KeyboardInterrupt`, after all that is ours was removed; trials
    that had ended by then are in the store.
    """
    clock = time.monotonic()
    engine = connect_engine()
    with _terminable():
        try:
            owners.sweep(engine)
            run = _Run(
                engine=engine,
                info=engine.info(),
                options=options,
                observer=observer or Silent(),
                specs=[spec_of(task) for task in tasks],
            )
            found = run.all()
        finally:
            engine.close()
    return ReplayReport(
        tasks=tuple(found),
        engine=run.info.version,
        architecture=run.info.architecture,
        reruns=options.reruns,
        seconds=time.monotonic() - clock,
        reused=run.reused,
    )


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM and a terminal that is closed end a run as Ctrl-C does, so that nothing is left."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_signum: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {
        number: signal.signal(number, stop)
        for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM))
        # Under `nohup` a terminal that goes away is to end nothing.
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(kw_only=True)
class _TaskState:
    """One task of a run: what it still waits for, what it has."""

    spec: TrialSpec
    key: str
    wanted: list[tuple[Kind, int]] = field(default_factory=list)
    open: int = 0
    trials: list[Trial] = field(default_factory=list)
    built: Built | None = None
    done: bool = False


@dataclass(frozen=True, kw_only=True)
class _Item:
    """One piece of work: a build where `kind` is None, else a trial."""

    state: _TaskState
    kind: Kind | None = None
    rerun: int = 0


class _Run:
    """One run, driven from one thread; builds and trials are in others."""

    def __init__(
        self,
        *,
        engine: Engine,
        info: EngineInfo,
        options: ReplayOptions,
        observer: Observer,
        specs: Sequence[TrialSpec],
    ) -> None:
        self.engine = engine
        self.info = info
        self.options = options
        self.observer = observer
        self.store = Store(options.root)
        self.owner = owners.this_process()
        self.run = owners.new_run()
        self.images = Images(
            engine,
            owner=self.owner,
            architecture=info.architecture,
            version=info.version,
            buildkit=options.buildkit,
            host_env=options.host_env,
        )
        self.states = [
            _TaskState(spec=_checked(spec, options, info), key=environment_key(spec)) for spec in specs
        ]
        self.ready: deque[_Item] = deque()
        self.running: dict[Future[Built | Trial], _Item] = {}
        self.users: Counter[str] = Counter()
        self.reused = 0
        self.stop = threading.Event()

    def all(self) -> list[TaskReplay]:
        """Run everything and return the verdicts in order."""
        self._plan()
        verdicts: dict[int, TaskReplay] = {}
        for state in self.states:
            if not state.wanted:
                verdicts[id(state)] = self._judge(state)
        workers = len(self.states) + self.info.cpus if self.options.jobs == "auto" else self.options.jobs
        pool = ThreadPoolExecutor(max_workers=max(1, workers), thread_name_prefix="replay")
        try:
            while self.ready or self.running:
                self._admit(pool)
                self.observer.tick()
                done, _ = wait(self.running, timeout=_POLL, return_when=FIRST_COMPLETED)
                for future in done:
                    item = self.running.pop(future)
                    self._finish(item, future.result())
                    if item.state.open == 0 and not item.state.done:
                        verdicts[id(item.state)] = self._judge(item.state)
        except BaseException:
            self._abandon(pool)
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            self.images.remove()
        return [verdicts[id(state)] for state in self.states]

    def _plan(self) -> None:
        rows = self.store.load()
        earlier = [] if self.options.force else rows
        for state in self.states:
            spec = state.spec
            state.trials += attempts(rows, content_hash=spec.content_hash)
            if spec.faults or spec.blockers:
                continue
            for kind in self.options.kinds:
                if kind == "oracle" and not spec.has_oracle:
                    continue
                usable = reusable(
                    earlier,
                    content_hash=spec.content_hash,
                    kind=kind,
                    as_user=MODEL_USER if self.options.as_model and kind == "oracle" else "",
                    source="docker",
                )
                again = [replace(trial, task=spec.name) for trial in usable[-self.options.reruns :]]
                self.reused += len(again)
                state.trials += again
                state.wanted += [(kind, rerun) for rerun in range(len(again) + 1, self.options.reruns + 1)]
            if state.wanted:
                state.open = 1
                self.users[state.key] += 1
                self.ready.append(_Item(state=state))
        total = sum(len(state.wanted) for state in self.states)
        self.observer.planned([state.spec.name for state in self.states], total, self.reused)

    def _admit(self, pool: ThreadPoolExecutor) -> None:
        while self.ready and self._fits(self.ready[0]):
            item = self.ready.popleft()
            if item.kind is None:
                self.observer.building(item.state.spec.name)
                self.running[pool.submit(self._build, item)] = item
            else:
                self.observer.started(item.state.spec.name, item.kind, item.rerun)
                self.running[pool.submit(self._trial, item, item.kind)] = item

    def _fits(self, item: _Item) -> bool:
        if not self.running:
            return True
        if self.options.jobs != "auto":
            return len(self.running) < self.options.jobs
        load = [_needs(other) for other in self.running.values()] + [_needs(item)]
        cpus = sum(cpu for cpu, _ in load)
        memory = sum(size for _, size in load)
        return cpus <= self.info.cpus and memory <= MEMORY_SHARE * self.info.memory

    def _build(self, item: _Item) -> Built | Trial:
        spec = item.state.spec
        log = self.store.log_dir(spec.name, f"{self.run}-build") / "build.log"
        try:
            return self.images.get(spec, log=log)
        except OSError as error:
            failure = Failure(blame="machine", phase="build", message=_of_disk(error))
            return Built(image=None, failure=failure)

    def _trial(self, item: _Item, kind: Kind) -> Built | Trial:
        state = item.state
        spec, built = state.spec, state.built
        if built is None or built.image is None:
            raise AssertionError
        if self.stop.is_set():
            raise EngineGone("the run was stopped")
        name = f"{self.run}-{spec.content_hash[-8:]}-{kind}-{item.rerun}"
        cpus = min(spec.cpus, self.info.cpus) if spec.cpus is not None else None
        slower = cpus is not None and spec.cpus is not None and cpus < spec.cpus
        trial = run_trial(
            spec,
            kind,
            item.rerun,
            Room(
                engine=self.engine,
                image=built.image,
                facts=built.facts,
                labels=owners.labels(self.owner, run=self.run, task=spec.name, kept=self.options.keep),
                host_env=self.options.host_env,
                log_dir=self.store.log_dir(spec.name, name),
                cpus=cpus,
                memory=spec.memory,
                keep=self.options.keep,
                as_model=self.options.as_model and kind == "oracle",
                notes=(f"ran with {cpus:g} of the {spec.cpus:g} CPUs declared",) if slower else (),
                slower=slower,
                compose=ComposeRoom(key=state.key, owner=self.owner, project=f"seatrials-{name}")
                if spec.compose
                else None,
            ),
        )
        try:
            self.store.append(trial)
        except OSError as error:
            trial = replace(trial, notes=(*trial.notes, f"not kept in the store: {_of_disk(error)}"))
        return trial

    def _finish(self, item: _Item, result: Built | Trial) -> None:
        state = item.state
        state.open -= 1
        if isinstance(result, Trial):
            state.trials.append(result)
            self.observer.ended(result)
            return
        state.built = result
        self.observer.built(state.spec.name, result)
        if result.image is not None:
            state.open += len(state.wanted)
            # Ahead of other builds, so that an image is not held longer than need be.
            self.ready.extendleft(
                _Item(state=state, kind=kind, rerun=rerun) for kind, rerun in reversed(state.wanted)
            )

    def _judge(self, state: _TaskState) -> TaskReplay:
        state.done = True
        built = state.built
        if state.wanted:
            self.users[state.key] -= 1
            if not self.users[state.key]:
                self.images.release(state.spec)
        state.trials.sort(key=lambda trial: (trial.kind != "oracle", trial.rerun))
        found = judge(
            state.spec,
            state.trials,
            wanted=self.options.kinds,
            build=built.failure if built is not None else None,
        )
        if built is not None:
            found = replace(found, build_seconds=built.seconds, build_log=built.log, build_tail=built.tail)
        self.observer.judged(found)
        return found

    def _abandon(self, pool: ThreadPoolExecutor) -> None:
        """End what other threads still do, and remove every container of this run."""
        self.stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
        self.engine.abort()
        proc.end_all()
        deadline = time.monotonic() + _LAST_SWEEP
        while time.monotonic() < deadline:
            with contextlib.suppress(EngineGone, EngineRefused):
                for container, _ in self.engine.containers(f"{owners.RUN_LABEL}={self.run}"):
                    self.engine.remove(container)
                for network, _ in self.engine.networks(f"{owners.RUN_LABEL}={self.run}"):
                    self.engine.remove_network(network)
            if all(future.done() for future in self.running):
                break
            wait(self.running, timeout=_POLL)


def _of_disk(error: OSError) -> str:
    """Say what this machine's own disk refused."""
    said = error.strerror or str(error)
    return (
        f"this machine's disk: `{error.filename}`: {said}"
        if error.filename
        else f"this machine's disk: {said}"
    )


def _needs(item: _Item) -> tuple[float, float]:
    """Return the CPUs and the memory (bytes) that a piece of work takes; a build counts as one CPU."""
    if item.kind is None:
        return 1.0, 0.0
    return item.state.spec.cpus or 1.0, float(item.state.spec.memory or 0)


def _checked(spec: TrialSpec, options: ReplayOptions, info: EngineInfo) -> TrialSpec:
    """Look up what a task needs of this machine before anything starts."""
    declared = [("sandbox.env", spec.env)]
    declared += [(f"sandbox.setup_commands[{i}].env", item.env) for i, item in enumerate(spec.setup_commands)]
    for step in spec.steps:
        declared.append(("verifier.env", step.verifier.env))
        if step.oracle is not None and "oracle" in options.kinds:
            declared.append(("oracle.env", step.oracle.env))
    missing = list(unmet_needs(spec, buildx=options.buildkit, engine=info.version))
    if spec.compose and not options.compose:
        missing.append("`environment/docker-compose.yaml` needs `docker compose`, which is not installed")
    for where, env in declared:
        try:
            fill_env(env, options.host_env, where=where)
        except UnsetVariable as error:
            missing.append(str(error))
    return replace(spec, blockers=(*spec.blockers, *dict.fromkeys(missing))) if missing else spec
