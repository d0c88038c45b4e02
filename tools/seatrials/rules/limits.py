"""KIT: what the check says of itself, where a task is more than it can take or a rule is at fault."""

import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from seatrials.findings import Finding
from seatrials.rules.model import Hit, KitRule

SECONDS: Final = 10.0
"""Seconds that one task's check may take beside the reading; all of the public sets' take milliseconds."""

BYTES_PER_SECOND: Final = 20_000_000
"""How fast a slow disk is read and hashed; each such portion of a task gives its check a second more."""

MOST_SECONDS: Final = 120.0
"""Where the allowance ends: a file may claim any size and hold nothing."""

_AGAIN: Final = 0.5


class OutOfTime(BaseException):
    """The time of one task is over; not an Exception, so that no rule holds it back."""


def allowance(size: int) -> float:
    """Return the seconds that the check of a task of `size` bytes may take."""
    return min(SECONDS + size / BYTES_PER_SECOND, MOST_SECONDS)


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise OutOfTime in the block once it took so long; no limit for None and outside the main thread."""
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    armed = True

    def ring(_: int, __: FrameType | None) -> None:
        if armed:
            raise OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    # It rings again and again, in case the first exception is lost, in a destructor for one.
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6), _AGAIN)
    try:
        yield
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def took_too_long() -> Hit:
    """A task is checked within its time.

    Why: the check of one task may take 10 seconds, and one more for each
    20 MB of its files, up to two minutes; a file built to keep a parser busy
    must not stop the check of a whole collection. What can't be checked is
    not accepted.

    Fix: look for a file that is enormous, nested thousands deep or made of
    one endless line, and make it smaller or generate it in the image.
    """
    return Hit(message="the check took longer than its time and was ended; the rest was not looked at")


def rule_failed(where: str, error: BaseException) -> Hit:
    """No rule fails on a task.

    Why: a rule that ends with an exception is a fault of the kit, not of the
    task; the task's other rules have run, this one says nothing of it. The
    command then exits with 70.

    Fix: report it with the task's file that sets it off; `--ignore KIT102`
    leaves it out until then.
    """
    said = " ".join(str(error).split())[:200]
    return Hit(message=f"a fault of seatrials in {where}: {type(error).__name__}{': ' if said else ''}{said}")


def check_died(how: str) -> Hit:
    """The check of a task stays alive.

    Why: the process that checked it was killed or crashed, most often for
    want of memory. What can't be checked is not accepted.

    Fix: look for enormous files and for YAML, TOML or shell that nests
    thousands deep.
    """
    return Hit(message=f"the process that checked this task {how}; nothing is known of it")


TOO_LONG: Final = KitRule("KIT101", "reject", took_too_long)
FAILED: Final = KitRule("KIT102", "review", rule_failed)
DIED: Final = KitRule("KIT103", "reject", check_died)

RULES: Final = (TOO_LONG, FAILED, DIED)


def is_unchecked(findings: Iterable[Finding]) -> bool:
    """Say whether a task's check was ended: nobody should read it again outside of a watched process."""
    return any(found.code in {TOO_LONG.code, DIED.code} for found in findings)
