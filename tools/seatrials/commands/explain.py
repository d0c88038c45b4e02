"""Say why a rule exists and how to fix what it finds."""

import argparse
import sys
from typing import Final

HELP: Final = "explain a finding's code"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("code", metavar="CODE", help="such as STR101")


def run(args: argparse.Namespace) -> int:
    """Print the explanation."""
    from seatrials.errors import UsageError
    from seatrials.judge.choice import nearest
    from seatrials.report.rules_table import explanation
    from seatrials.rules import RULES_BY_CODE

    code = args.code.upper()
    if code not in RULES_BY_CODE:
        raise UsageError(f"no rule has the code `{args.code}`{nearest(code)}")
    sys.stdout.write(explanation(RULES_BY_CODE[code]))
    return 0
