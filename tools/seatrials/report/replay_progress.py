"""How a replay goes while it runs: lines for logs, a table that moves for a terminal."""

import time
from collections.abc import Sequence
from typing import Final, TextIO

from seatrials.replay.images import Built
from seatrials.replay.model import Kind, TaskReplay, Trial
from seatrials.report.plain import plain
from seatrials.report.replay_text import NAMES, outcome
from seatrials.report.terminal import Terminal
from seatrials.report.words import counted

_WIDTH: Final = 80


class Lines:
    """An observer that prints one line per event."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def _say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def planned(self, tasks: Sequence[str], trials: int, reused: int) -> None:
        """Say how much there is to do."""
        earlier = f", {reused} from earlier runs" if reused else ""
        self._say(f"{counted(len(tasks), 'task')}, {counted(trials, 'trial')} to run{earlier}")

    def building(self, task: str) -> None:
        """Say that an image is being built."""
        self._say(f"{plain(task)}: building")

    def built(self, task: str, built: Built) -> None:
        """Say that an image is there, or why it is not."""
        said = plain(built.failure.message) if built.failure else f"built in {built.seconds:.1f} s"
        self._say(f"{plain(task)}: {said}")

    def started(self, task: str, kind: Kind, rerun: int) -> None:
        """Say nothing: the end of a trial is told."""

    def ended(self, trial: Trial) -> None:
        """Say what came of a trial."""
        name = f"{NAMES[trial.kind]} {trial.rerun}"
        self._say(f"{plain(trial.task)}: {name}: {outcome(trial)} in {trial.seconds:.1f} s")

    def judged(self, task: TaskReplay) -> None:
        """Say nothing: verdicts come together at the end."""

    def tick(self) -> None:
        """Say nothing."""


class Live:
    """An observer that keeps a table of what runs at the bottom of a terminal."""

    def __init__(self, stream: TextIO, terminal: Terminal) -> None:
        self._stream = stream
        self._terminal = terminal
        self._running: dict[str, float] = {}
        self._drawn = 0
        self._left = 0
        self._done = 0

    def planned(self, _tasks: Sequence[str], trials: int, _reused: int, /) -> None:
        """Begin the table."""
        self._left, self._done = trials, 0
        self._draw()

    def building(self, task: str) -> None:
        """Add a build to the table."""
        self._running[f"{plain(task)}  building"] = time.monotonic()
        self._draw()

    def built(self, task: str, _built: Built, /) -> None:
        """Take a build off the table."""
        self._running.pop(f"{plain(task)}  building", None)
        self._draw()

    def started(self, task: str, kind: Kind, rerun: int) -> None:
        """Add a trial to the table."""
        self._running[f"{plain(task)}  {NAMES[kind]} {rerun}"] = time.monotonic()
        self._draw()

    def ended(self, trial: Trial) -> None:
        """Take a trial off the table."""
        self._running.pop(f"{plain(trial.task)}  {NAMES[trial.kind]} {trial.rerun}", None)
        self._done += 1
        self._draw()

    def judged(self, task: TaskReplay) -> None:
        """Put a verdict above the table."""
        self._draw(f"{task.verdict:<12} {plain(task.name)}")

    def tick(self) -> None:
        """Move the clocks on."""
        self._draw()

    def close(self) -> None:
        """Wipe the table away."""
        self._wipe()
        self._stream.flush()

    def _wipe(self) -> None:
        if self._drawn:
            self._stream.write(f"\x1b[{self._drawn}A\x1b[J")
            self._drawn = 0

    def _draw(self, above: str = "") -> None:
        now = time.monotonic()
        width = self._terminal.width or _WIDTH
        shown = list(self._running.items())[: max(1, self._terminal.rows - 2)]
        lines = [f"  {now - since:6.1f} s  {name}" for name, since in shown]
        lines.append(f"{self._done} of {counted(self._left, 'trial')} done, {len(self._running)} running")
        self._wipe()
        if above:
            self._stream.write(above[: width - 1] + "\n")
        self._stream.writelines(line[: width - 1] + "\n" for line in lines)
        self._stream.flush()
        self._drawn = len(lines)
