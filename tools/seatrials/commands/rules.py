"""List the rules of `check`."""

import argparse
import sys
from pathlib import Path
from typing import Final

HELP: Final = "list the rules of check"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--format", choices=("text", "markdown"), default="text", help="default: text")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write to FILE")


def run(args: argparse.Namespace) -> int:
    """Print the table, or write it."""
    from seatrials.commands.output import write
    from seatrials.report.rules_table import markdown, text
    from seatrials.rules import RULES_BY_CODE

    rules = RULES_BY_CODE.values()
    page = markdown(rules) if args.format == "markdown" else text(rules)
    if args.output is not None:
        write(args.output, [page])
    else:
        sys.stdout.write(page)
    return 0
