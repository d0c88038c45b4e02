"""The door: parse the command line, call one command, turn errors into a line and an exit code."""

import argparse
import errno
import importlib
import keyword
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from seatrials import __version__
from seatrials.errors import EXIT_INTERRUPTED, SeatrialsError, UsageError

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

COMMANDS: Final = (
    ("new", "make a new task from the template"),
    ("check", "check tasks without running anything"),
    ("fingerprint", "fingerprint a held-out suite for the overlap gates"),
    ("replay", "run the oracle and a no-op of tasks in Docker"),
    ("shell", "enter a task's container as the model sees it"),
    ("verify", "judge what was done in `seatrials shell`"),
    ("migrate", "turn Harbor and PostTrain tasks into native packages"),
    ("export", "write packages as Harbor tasks"),
    ("release", "publish the collection as a data set"),
    ("try", "download a collection from the Hub, and replay it"),
    ("arena", "talk to the arena, through its own client"),
    ("rules", "list the rules of check"),
    ("explain", "explain a finding's code"),
)
"""Commands in the order in which a task goes through them; each is a module in `seatrials.commands`."""

_EPILOG: Final = """`seatrials COMMAND --help` tells more.

Exit codes: 0 good, 1 findings or a refusal, 2 usage, 3 the arena's preflight says no,
4 no Hugging Face token, 5 not judged, 70 a fault of ours, 130 interrupted."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    _stand_in_for_closed_streams()
    try:
        try:
            return _run(words)
        finally:
            # Here, where it can still be said that there is no room for it.
            sys.stdout.flush()
    except SeatrialsError as error:
        _say(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        _say("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader has left, as `head` does; nothing more can be said to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.errno not in _NO_ROOM:
            return _fault(error)
        # What is left in the stream's buffer must not be tried again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        where = f"`{error.filename}`" if error.filename else "the output"
        _say(f"{where} can't be written: {error.strerror}")
        return UsageError.exit_code
    except Exception as error:  # noqa: BLE001 - a line and a code for whatever it is
        return _fault(error)


_NO_ROOM: Final = frozenset({errno.EDQUOT, errno.EFBIG, errno.ENOSPC, errno.EROFS})
"""Faults of the place that is written to, and not of this program."""


def _fault(error: Exception) -> int:
    if os.environ.get("SEATRIALS_DEBUG"):
        raise error
    _say(f"a fault of seatrials: {type(error).__name__}: {error} (SEATRIALS_DEBUG=1 shows where)")
    return SeatrialsError.exit_code


def _run(words: list[str]) -> int:
    names = [name for name, _ in COMMANDS]
    parser = _parser()
    # Only the command that is called is imported and configured, so that start-up stays short.
    called = next((word for word in words if not word.startswith("-")), None)
    if called not in names:
        parser.parse_args(words)  # answers --help and --version, or says what is wrong
        parser.print_help()
        return 2
    module = importlib.import_module(module_name(called))
    own = _Parser(
        prog=f"seatrials {called}", description=module.__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    module.configure(own)
    position = words.index(called)
    parser.parse_args([*words[:position], called])
    code: int = module.run(own.parse_args(words[position + 1 :]))
    return code


def module_name(command: str) -> str:
    """Return the module of a command; a name that Python keeps to itself has an underscore after it."""
    return f"seatrials.commands.{command}{'_' * keyword.iskeyword(command)}"


def _parser() -> argparse.ArgumentParser:
    listed = "\n".join(f"  {name:<11} {help_}" for name, help_ in COMMANDS)
    parser = _Parser(
        prog="seatrials",
        description=f"An authoring kit for collections of agentic RL tasks.\n\ncommands:\n{listed}",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"seatrials {__version__}")
    parser.add_argument(
        "command", choices=[name for name, _ in COMMANDS], metavar="COMMAND", help="see above"
    )
    return parser


class _Parser(argparse.ArgumentParser):
    """A parser that does not hide that its help could not be written."""

    def _print_message(self, message: str, file: "SupportsWrite[str] | None" = None) -> None:
        if message and file is sys.stdout:
            file.write(message)
        else:
            super()._print_message(message, file)


def _stand_in_for_closed_streams() -> None:
    """Let a command run that was started with a standard stream closed (`>&-`): its exit code still tells."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - open to the end


def _say(message: str) -> None:
    # Where neither stream takes anything any more, the exit code still tells.
    with suppress(OSError):
        sys.stdout.flush()
    with suppress(OSError):
        print(f"seatrials: {message}", file=sys.stderr, flush=True)
