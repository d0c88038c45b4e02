"""Open a shell in a task's container, as a model finds it: its user, its folder, its network.

Neither the verifier nor the oracle is in there. What you do can then be judged
with `seatrials verify`; opening the same task again enters the same container.
"""

import argparse
import sys
from typing import Final

HELP: Final = "enter a task's container as the model sees it"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.epilog = "Exit codes: that of the shell, 1 the task is at fault, 2 usage, 5 no engine."
    parser.add_argument("task", metavar="TASK", help="a task's name or folder")
    parser.add_argument("--new", action="store_true", help="start over in a fresh container")
    parser.add_argument("--root", action="store_true", help="enter as root")
    parser.add_argument("--close", action="store_true", help="remove the task's open container and leave")


def run(args: argparse.Namespace) -> int:
    """Open the container if need be, enter it, and return the shell's exit code."""
    from pathlib import Path

    from seatrials import proc
    from seatrials.errors import CannotJudgeError, UsageError
    from seatrials.replay import session as sessions
    from seatrials.replay.engine import connect
    from seatrials.task.collection import select

    selection = select([args.task])
    match selection.tasks:
        case [task]:
            pass
        case several:
            raise UsageError(f"`{args.task}` holds {len(several)} tasks; name one")
    root = selection.collection.root if selection.collection is not None else Path()
    if proc.find("docker") is None:
        raise CannotJudgeError("a shell needs Docker's command line, which is not installed")
    engine = connect()
    try:
        session = sessions.find(engine, task)
        if session is not None and (args.new or args.close or not engine.running(session.container)):
            sessions.close(engine, session)
            session = None
        if args.close:
            return 0
        if session is None:
            print(f"building `{task.name}`", file=sys.stderr)
            session = sessions.begin(engine, task, root=root, as_root=args.root)
    finally:
        engine.close()
    print(
        f"in `{task.name}`; leave with `exit`, then: seatrials verify {args.task}",
        file=sys.stderr,
        flush=True,
    )
    return proc.attach(sessions.enter_argv(session))
