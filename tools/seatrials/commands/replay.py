"""``seatrials replay``: run oracles and no-ops in containers and say what holds."""

import argparse
import sys
from pathlib import Path

from seatrials.errors import EXIT_OK
from seatrials.replay.runner import ReplayOptions, replay
from seatrials.replay.show import Lines, write_report
from seatrials.task.collection import select

HELP = "run the oracle and the no-op of tasks in Docker"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TASK",
        help="a task's name or folder, or a folder of tasks (default: all)",
    )
    parser.add_argument(
        "--reruns", type=_positive, default=1, metavar="N", help="runs of each kind per task (default: 1)"
    )
    parser.add_argument("--only", choices=("oracle", "noop"), help="run one kind only")
    parser.add_argument(
        "--jobs", type=_jobs, default="auto", metavar="N", help="trials at a time (default: auto)"
    )
    parser.add_argument("--force", action="store_true", help="run again what already passed")
    parser.add_argument("--keep", action="store_true", help="leave the containers and say how to enter them")
    parser.add_argument(
        "--as",
        dest="as_user",
        choices=("agent",),
        help="run the oracle as the unprivileged user that BenchFlow gives a model",
    )


def run(args: argparse.Namespace) -> int:
    """Replay, print the verdicts, and return the exit code."""
    selection = select(args.targets)
    if not selection.tasks:
        print("no tasks here", file=sys.stderr)
        return EXIT_OK
    report = replay(
        selection.tasks,
        ReplayOptions(
            reruns=args.reruns,
            kinds=("oracle", "noop") if args.only is None else (args.only,),
            jobs=args.jobs,
            force=args.force,
            keep=args.keep,
            as_model=args.as_user == "agent",
            root=selection.collection.root if selection.collection is not None else Path(),
        ),
        Lines(),
    )
    write_report(report, sys.stdout)
    return report.exit_code


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def _jobs(text: str) -> int | str:
    return text if text == "auto" else _positive(text)
