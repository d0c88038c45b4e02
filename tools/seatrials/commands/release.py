"""``seatrials release``: check the collection and write it as a data set to a folder."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seatrials.release.secrets import Scan

HELP: Final = "stage the collection as a data set"

_SHOWN: Final = 10


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
    from seatrials.release.secrets import SecretsFoundError

    try:
        staged = release(args.source, args.out, title=args.title, force=args.force)
    except SecretsFoundError as error:
        for hit in error.hits:
            print(hit, file=sys.stderr)
        raise
    rows = staged.rows
    print(f"Staged {len(rows)} task{'s' if len(rows) != 1 else ''} in `{args.out}`:")
    for path, what in (
        ("README.md", "the card"),
        ("submission.yaml", "the manifest"),
        ("data/tasks.parquet", "one row per task"),
        ("envs/", "the tasks"),
    ):
        print(f"  {path:<20} {what}")
    _tell(staged.scan)
    return 0


def _tell(scan: "Scan") -> None:
    """Say what the scan saw and let pass."""
    if scan.allowed:
        print(f"Let pass by `pyproject.toml`: {_listed([str(hit) for hit in scan.allowed])}")
    for allowance in scan.unused:
        print(f"Nothing to let pass in `{allowance.pattern}`; take it out of `pyproject.toml`")
    if scan.unopened:
        print(f"Not looked into: {_listed(scan.unopened)}")
    if scan.mails:
        print(f"E-mail addresses: {_listed([f'{mail} (`{path}`)' for mail, path in scan.mails.items()])}")


def _listed(items: "Sequence[str]") -> str:
    more = f"\n  and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return f"{len(items)}" + "".join(f"\n  {item}" for item in items[:_SHOWN]) + more
