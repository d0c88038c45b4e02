"""What commands share of showing: a report in a file, and the progress of what takes long."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from seatrials.errors import UsageError
from seatrials.task.collection import enclosing_task
from seatrials.whole import whole

if TYPE_CHECKING:
    from seatrials.replay.runner import Observer

_PAUSE: Final = 0.1
_SMALL: Final = 50


def take_any_name(stream: TextIO) -> None:
    """Have a stream spell what its encoding lacks: no name and no word of others must end a report."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")


def write(path: Path, pieces: Iterable[str]) -> None:
    """Write a file whole, or leave what is there; raises UsageError where it can't be written.

    A task's folder is no place for it: it would become a part of the task, or replace one.

    A device, a pipe or the end of a link, as /dev/stdout, is written to and not replaced.
    """
    try:
        if (task := enclosing_task(path)) is not None:
            raise UsageError(f"`{path}` lies in the task `{task.name}`; write it outside of tasks")
        if path.is_symlink() or (path.exists() and not path.is_file() and not path.is_dir()):
            with path.open("w", encoding="utf-8", errors="backslashreplace") as stream:
                stream.writelines(pieces)
            return
        with whole(path) as file:
            file.writelines(piece.encode("utf-8", "backslashreplace") for piece in pieces)
    except OSError as error:
        raise UsageError(f"`{path}` can't be written: {error.strerror}") from error


@contextmanager
def observing() -> Iterator["Observer"]:
    """Give what shows the run on standard error: a table on a terminal, lines elsewhere."""
    from seatrials.report.replay_progress import Lines, Live
    from seatrials.report.terminal import terminal_of

    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield Lines(sys.stderr)
        return
    live = Live(sys.stderr, terminal_of(sys.stderr))
    try:
        yield live
    finally:
        live.close()


@contextmanager
def counting() -> Iterator[Callable[[int, int], None]]:
    """Give a function that shows how many of all tasks are done, where someone watches a terminal."""
    shown = 0.0

    def watch(done: int, total: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if total > _SMALL and now - shown > _PAUSE:
            shown = now
            print(f"\r{done:,} of {total:,} tasks", end="", file=sys.stderr, flush=True)

    if not sys.stderr.isatty():
        yield lambda _, __: None
        return
    try:
        yield watch
    finally:
        if shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


@contextmanager
def telling() -> Iterator[Callable[[str, int, int], None]]:
    """Give a function that shows what is being done, and how much of it.

    It is told a step, the number done and that of all, or 0 and 0 where there
    is nothing to count. On a terminal a step with a count is shown in place;
    elsewhere each step is one line.
    """
    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    begun, shown, drawn = "", 0.0, False

    def tell(step: str, done: int, total: int) -> None:
        nonlocal begun, shown, drawn
        now = time.monotonic()
        new, begun = step != begun, step
        if terminal and total:
            if new or now - shown > _PAUSE:
                shown, drawn = now, True
                print(f"\r{step}: {done:,} of {total:,}", end="\033[K", file=sys.stderr, flush=True)
        elif new:
            before = "\r\033[K" if drawn else ""
            drawn = False
            print(f"{before}{step}{f': {total:,}' if total else ''}", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        if drawn:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
