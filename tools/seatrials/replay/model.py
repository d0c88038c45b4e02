"""What a replay found out, as data that the store keeps and the reports show.

Times are in seconds, sizes in bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from seatrials.replay.reward import Check

Kind = Literal["oracle", "noop", "agent"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Verdict = Literal["accepted", "passing", "rejected", "inconclusive"]

Blame = Literal["task", "machine"]
"""Whose doing a failure is: the task's, or this machine's (engine, registry, memory, network)."""

ACCEPTED_RERUNS = 8
"""Oracle and no-op runs each that the arena's guide asks for."""

NEAR_LIMIT = 0.8
"""The share of a declared limit above which an oracle's use is worth a warning."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """Why a trial (or a build) did not come to a reward.

    `phase` is where it happened: build, start, setup, agent, verifier, reward.
    """

    blame: Blame
    phase: str
    message: str


@dataclass(frozen=True, kw_only=True)
class ImageFacts:
    """What a trial ran on. Digests are empty where the engine knows none (built or imported here)."""

    id: str = ""
    base: tuple[str, ...] = ()
    architecture: str = ""
    engine: str = ""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One trial: a fresh container, one kind of run, what came of it.

    `timings` has seconds by phase: start, agent, verifier, collect. `limits`
    names the declared limits that were passed. `steps` has the reward of each
    step of a multi-step task, None where one gave none.
    """

    task: str
    content_hash: str
    kind: Kind
    rerun: int
    reward: float | None = None
    failure: Failure | None = None
    checks: tuple[Check, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    peak_memory: int | None = None
    oom_kills: int = 0
    oracle_exit: int | None = None
    verifier_exit: int | None = None
    limits: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    image: ImageFacts = field(default_factory=ImageFacts)
    log: str = ""
    tail: tuple[str, ...] = ()
    started: str = ""
    kit: str = ""
    as_user: str = ""
    source: str = "docker"
    steps: Mapping[str, float | None] = field(default_factory=dict)
    container: str = ""

    @property
    def seconds(self) -> float:
        """How long it took, all phases together."""
        return sum(self.timings.values())


@dataclass(frozen=True, kw_only=True)
class CheckCount:
    """How often one check ran and how often it passed, over the oracle's runs."""

    runs: int
    passed: int

    @property
    def flaky(self) -> bool:
        """Whether it passed sometimes only."""
        return 0 < self.passed < self.runs


@dataclass(frozen=True, kw_only=True)
class TaskReplay:
    """The verdict on one task, with all its trials.

    `time_limits` has the declared seconds by phase (as `Trial.timings` names
    them), `memory_limit` the declared bytes, `band` (solved, attempts) of a
    model, where attempts were collected.
    """

    name: str
    content_hash: str
    verdict: Verdict
    reasons: tuple[str, ...]
    path: str = ""
    source: str = ""
    time_limits: Mapping[str, float] = field(default_factory=dict)
    memory_limit: int | None = None
    notes: tuple[str, ...] = ()
    trials: tuple[Trial, ...] = ()
    checks: Mapping[str, CheckCount] = field(default_factory=dict)
    build: Failure | None = None
    build_seconds: float = 0.0
    build_log: str = ""
    build_tail: tuple[str, ...] = ()
    band: tuple[int, int] | None = None

    def of(self, kind: Kind) -> tuple[Trial, ...]:
        """Return the trials of one kind."""
        return tuple(trial for trial in self.trials if trial.kind == kind)


@dataclass(frozen=True, kw_only=True)
class ReplayReport:
    """A whole replay run."""

    tasks: tuple[TaskReplay, ...]
    engine: str = ""
    architecture: str = ""
    reruns: int = 1
    seconds: float = 0.0
    reused: int = 0

    @property
    def exit_code(self) -> int:
        """0 all pass, 1 one is rejected, 5 none is rejected but one is inconclusive."""
        verdicts = {task.verdict for task in self.tasks}
        return 1 if "rejected" in verdicts else 5 if "inconclusive" in verdicts else 0
