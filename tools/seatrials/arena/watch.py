"""Following a run to its end: hours, at a look every few minutes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from seatrials.arena.answer import Answer, one_line
from seatrials.arena.client import Arena
from seatrials.arena.launch import Say, quiet
from seatrials.arena.refusals import ArenaUnavailableError

ENDS: Final = {"scored": 0, "failed": 1, "canceled": 1}
"""The states in which a run stays, by the arena's guide ("Watch"), each with the exit code of watching."""

MISSES: Final = 10
"""Looks in a row without an answer after which watching is given up; the run itself goes on."""

_PLATFORM: Final = ("NCCL", "vLLM", "Daytona", "ACP initialize timed out")
"""What a reason names when serving, sandboxes or the agent handshake failed, by the arena's guide."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunState:
    """Where a run is. `stage` is the last one it reached, `reason` why it stopped early."""

    state: str
    stage: str
    reason: str
    job: str

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "RunState":
        """Read a run's record; what is not there is empty."""
        text = {key: value for key, value in record.items() if isinstance(value, str)}
        return cls(
            state=text.get("state", ""),
            stage=text.get("stage", ""),
            reason=one_line(text.get("reason", "")),
            job=text.get("job_status", ""),
        )

    @property
    def platform_fault(self) -> str | None:
        """What of the arena's own the reason names; None where it names nothing of that."""
        reason = self.reason.casefold()
        return next((name for name in _PLATFORM if name.casefold() in reason), None)

    def __str__(self) -> str:
        """One line for people."""
        line = self.state or "unknown"
        if self.stage:
            line += f", stage {self.stage}"
        if self.job == "COMPLETED" and self.state in {"failed", "canceled"}:
            line += " (the job's COMPLETED only says that its container exited)"
        if self.reason:
            line += f": {self.reason}"
        if fault := self.platform_fault:
            line += f" [a platform fault: {fault}; not the collection's]"
        return line


def watch(
    arena: Arena,
    challenge: str,
    run_id: str,
    *,
    minutes: float,
    show: Callable[[RunState], None],
    say: Say = quiet,
) -> tuple[Answer, int]:
    """Look at a run every so many minutes until it ends; return the last answer and the exit code.

    `show` gets what each look found. A look without an answer is told and
    passed over, `MISSES` in a row end it with ArenaUnavailableError.
    """
    missed = 0
    while True:
        try:
            answer = arena.runs(challenge, run_id)
        except ArenaUnavailableError as error:
            missed += 1
            if missed >= MISSES:
                raise
            say(f"{error}")
        else:
            missed = 0
            found = RunState.of(answer.fields)
            if not found.state:
                raise ArenaUnavailableError(f"the arena's record of `{run_id}` has no `state`", answer)
            show(found)
            if found.state in ENDS:
                return answer, ENDS[found.state]
        arena.pause(minutes * 60)
