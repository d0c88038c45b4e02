"""``seatrials release``: check the collection and write it as a data set to a folder."""

import argparse
from pathlib import Path
from typing import Final

HELP: Final = "stage the collection as a data set"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "source", nargs="?", metavar="COLLECTION", help="the collection's folder (default: here)"
    )
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="the folder to write")
    parser.add_argument("--title", metavar="TEXT", help="the data set's title (default: the team's name)")
    parser.add_argument("--force", action="store_true", help="replace DIR if it holds something")


def run(args: argparse.Namespace) -> int:
    """Check, stage, and say what was written."""
    from seatrials.flows.release import release

    rows = release(args.source, args.out, title=args.title, force=args.force)
    print(f"Staged {len(rows)} task{'s' if len(rows) != 1 else ''} in `{args.out}`:")
    for path, what in (
        ("README.md", "the card"),
        ("submission.yaml", "the manifest"),
        ("data/tasks.parquet", "one row per task"),
        ("envs/", "the tasks"),
    ):
        print(f"  {path:<20} {what}")
    return 0
