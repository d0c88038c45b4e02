"""What is published of replays: a verdict per task, and a row per trial of listed fields.

Whatever names a place stays out: paths, hosts, container and image names, logs,
and the messages of failures and checks, which quote them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayRow:
    """One recorded trial, as ``data/replays.parquet`` holds it.

    Times are in seconds, memory in bytes. `started` is rounded to the minute,
    in UTC. `failed_phase` and `failed_by` (task or machine) are null for a
    trial that came to a reward. `current` says whether the task is published
    as it was in the trial.
    """

    task: str
    content_hash: str
    current: bool
    kind: str
    rerun: int
    reward: float | None
    failed_phase: str | None
    failed_by: str | None
    agent_sec: float | None
    verifier_sec: float | None
    total_sec: float
    peak_memory: int | None
    oom_kills: int
    limits_passed: int
    oracle_exit: int | None
    verifier_exit: int | None
    checks: tuple[Mapping[str, str], ...]
    steps: tuple[Mapping[str, str | float | None], ...]
    user: str
    engine: str
    architecture: str | None
    kit: str | None
    started: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Replayed:
    """What replays say of one task.

    `verdict` is accepted, passing, rejected or inconclusive, or null where the
    task was not replayed as it is. The counts are of the trials that the
    verdict rests on; the times are medians of the oracle's trials.
    """

    verdict: str | None = None
    oracle_runs: int = 0
    noop_runs: int = 0
    attempts: int = 0
    solved: int = 0
    agent_sec: float | None = None
    verifier_sec: float | None = None
    reasons: tuple[str, ...] = field(default=())
    rows: tuple[ReplayRow, ...] = field(default=())

    @property
    def good(self) -> bool:
        """Whether the task may be published on this."""
        return self.verdict in {"accepted", "passing"}

    @property
    def label(self) -> str:
        """The verdict in a word, with the number of runs of each kind where it needs saying."""
        if self.verdict is None:
            return "none"
        runs = min(self.oracle_runs, self.noop_runs) or max(self.oracle_runs, self.noop_runs)
        return f"{self.verdict} ({runs} run{'s' if runs != 1 else ''} each)"


NOT_REPLAYED = Replayed()
