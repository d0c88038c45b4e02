"""Run the verifier on what was done in `seatrials shell`, and show the reward and the checks.

The container is removed afterwards, since it then holds the verifier.
"""

import argparse
import sys
from typing import Final

HELP: Final = "judge what was done in `seatrials shell`"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.epilog = "Exit codes: 0 reward 1, 1 any other reward or none, 2 usage, 5 no engine."
    parser.add_argument(
        "task", nargs="?", metavar="TASK", help="a task's name or folder (default: the one that is open)"
    )
    parser.add_argument("--keep", action="store_true", help="leave the container, verifier and all")


def run(args: argparse.Namespace) -> int:
    """Judge, print, and return the exit code."""
    from pathlib import Path

    from seatrials.errors import EXIT_FINDINGS, EXIT_OK, CannotJudgeError, UsageError
    from seatrials.replay import session as sessions
    from seatrials.replay.engine import connect
    from seatrials.report import replay_text
    from seatrials.task.collection import select

    engine = connect()
    try:
        root = Path()
        if args.task is None:
            session = sessions.only(engine)
        else:
            selection = select([args.task])
            if selection.collection is not None:
                root = selection.collection.root
            found = [one for task in selection.tasks if (one := sessions.find(engine, task)) is not None]
            if not found:
                raise UsageError(f"`{args.task}` is not open; `seatrials shell {args.task}` opens it")
            session = found[0]
        trial = sessions.verify(engine, session, root=root)
        if not args.keep:
            sessions.close(engine, session)
    finally:
        engine.close()
    sys.stdout.write(replay_text.render_attempt(trial))
    if trial.failure is not None and trial.failure.blame == "machine":
        raise CannotJudgeError(trial.failure.message)
    return EXIT_OK if trial.reward == 1 else EXIT_FINDINGS
