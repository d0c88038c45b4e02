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
    from seatrials.rules import RULES_BY_CODE

    rules = RULES_BY_CODE.values()
    sys.stdout.write(markdown(rules) if args.format == "markdown" else text(rules))
    return 0
