"""``seatrials rules``: the table of rules."""

import argparse
import sys
from typing import Final

HELP: Final = "list the rules of check"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--format", choices=("text", "markdown"), default="text", help="default: text")


def run(args: argparse.Namespace) -> int:
    """Print the table."""
    from seatrials.report.rules_table import markdown, text
    from seatrials.rules import ALL_RULES

    sys.stdout.write(markdown(ALL_RULES) if args.format == "markdown" else text(ALL_RULES))
    return 0
