"""``seatrials check``: what the arena's validation and BenchFlow would say, without running anything."""

import argparse
import sys
from typing import Final

HELP: Final = "check tasks without running anything"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TASK",
        help="a task's name or folder, or a folder of tasks (default: the collection here)",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="show every finding")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument(
        "--profile",
        choices=("arena", "benchflow"),
        default="arena",
        help="what the arena asks for (default), or what BenchFlow alone needs",
    )
    parser.add_argument(
        "--fail-on",
        choices=("block", "error", "reject", "controls", "review", "warning"),
        default="reject",
        help="exit with 1 when a finding is this bad or worse (default: reject)",
    )


def run(args: argparse.Namespace) -> int:
    """Check, print, and return the exit code."""
    from seatrials.errors import EXIT_FINDINGS, EXIT_OK
    from seatrials.rules.run import check
    from seatrials.task.collection import select

    report = check(select(args.targets), profile=args.profile)
    if args.format == "json":
        from seatrials.report.check_json import render as render_json

        sys.stdout.write(render_json(report))
    else:
        from seatrials.report.check_text import render as render_text

        sys.stdout.write(render_text(report, verbose=args.verbose))
    return EXIT_FINDINGS if report.fails(args.fail_on) else EXIT_OK
