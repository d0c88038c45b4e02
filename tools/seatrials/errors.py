"""What stops the program, each kind with its exit code.

::

    SeatrialsError           70  a fault of ours, unless a subclass says otherwise
    ├── UsageError            2  what was asked for can't be done as asked
    ├── RefusedError          1  a gate, a scan or a remote said no
    ├── PreflightRefusedError      3  the arena's preflight says no
    ├── NoIdentityError       4  no Hugging Face identity
    └── CannotJudgeError      5  no engine, nothing reachable

An author's mistake inside a task is never an exception: it is a finding.
The message of each is one line: what, where, what to do.
"""

from typing import ClassVar, Final

EXIT_OK: Final = 0
EXIT_FINDINGS: Final = 1
EXIT_INTERRUPTED: Final = 130


class SeatrialsError(Exception):
    """Base of all that the command turns into one line and an exit code."""

    exit_code: ClassVar[int] = 70


class UsageError(SeatrialsError):
    """A wrong argument, or a path or name that is not there."""

    exit_code: ClassVar[int] = 2


class RefusedError(SeatrialsError):
    """A gate of ours or an answer from outside says no."""

    exit_code: ClassVar[int] = 1


class PreflightRefusedError(SeatrialsError):
    """The arena's preflight does not allow the run."""

    exit_code: ClassVar[int] = 3


class NoIdentityError(SeatrialsError):
    """A step that needs a Hugging Face identity found none."""

    exit_code: ClassVar[int] = 4


class CannotJudgeError(SeatrialsError):
    """Nothing can be said of the task: the engine or the network is missing."""

    exit_code: ClassVar[int] = 5
