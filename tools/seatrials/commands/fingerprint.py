"""Write the fingerprint of a held-out suite: hashes of its prompts and files, no text.

The suite is a folder of tasks or, where there is no such folder, a data set of
the Hugging Face Hub at a branch, a tag or a commit.
"""

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seatrials.task.package import TaskPackage

# A file is named so.
_SUITE: Final = re.compile(r"[^\s./\\](?:[^/\\\x00-\x1f]{0,98}[^\s/\\])?")
HELP: Final = "fingerprint a held-out suite for the overlap gates"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.epilog = (
        "`check` reads every fingerprint in `suites/` of the collection. Exit codes: 0 good, 1 the Hub"
        " refuses, 2 usage, 4 log in first, 5 the Hub can't be reached."
    )
    parser.add_argument(
        "source", metavar="DIR|OWNER/NAME[@REV]", help="a folder of tasks, of any format, or a data set"
    )
    parser.add_argument("--name", metavar="NAME", help="the collection, where a data set has several")
    parser.add_argument("--suite", metavar="NAME", help="the suite's name (default: the folder's)")
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--sealed", action="store_true", help="its tasks are secret")
    kind.add_argument("--public", action="store_true", help="its tasks are public")
    parser.add_argument(
        "--evaluated",
        type=Path,
        metavar="FILE",
        help="the names of the evaluated tasks, one a line\n(default: all)",
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="the file to write (default: suites/NAME.json)"
    )
    parser.add_argument("--force", action="store_true", help="replace FILE if it is there")


def run(args: argparse.Namespace) -> int:
    """Read the tasks, write the file, say how much is in it."""
    from seatrials.commands.output import write
    from seatrials.errors import UsageError
    from seatrials.report.words import counted
    from seatrials.rules.overlap import FOLDER, Suite, print_of, written

    if args.suite is not None and not _SUITE.fullmatch(args.suite):
        raise UsageError(
            f"`--suite {args.suite}` can't name a file; it must have no slash, and no dot at its start"
        )
    packages, default = _packages(args.source, args.name)
    tasks = []
    for task in packages:
        tasks.append(print_of(task))
        task.forget()
    if not tasks:
        raise UsageError(f"no task in `{args.source}`")
    name = args.suite or default
    names = frozenset(task.name for task in tasks)
    evaluated = names if args.evaluated is None else _names(args.evaluated)
    if unknown := sorted(evaluated - names):
        raise UsageError(f"`{args.evaluated}`: no task `{unknown[0]}` in `{args.source}`")
    path = args.output or Path(FOLDER) / f"{name}.json"
    if path.exists() and not args.force:
        raise UsageError(f"`{path}` is there already; `--force` replaces it")
    if args.output is None:
        path.parent.mkdir(exist_ok=True)
    write(path, written(Suite(name=name, sealed=args.sealed, tasks=tuple(tasks), evaluated=evaluated)))
    kind = "sealed" if args.sealed else "public"
    grams = sum(len(task.grams) for task in tasks)
    said = f"{counted(len(tasks), 'task')} of the {kind} suite `{name}`, {len(evaluated):,} evaluated"
    print(f"`{path}`: {said}, {grams:,} 13-grams")
    return 0


def _packages(source: str, name: str | None) -> "tuple[Sequence[TaskPackage], str]":
    """Return the tasks of a folder or a data set, and what the suite is called unless it is said."""
    from seatrials.errors import UsageError
    from seatrials.fetch.listing import address_of
    from seatrials.hub_client import is_repo
    from seatrials.task.collection import select_tasks

    if Path(source).exists() or not is_repo(source.partition("@")[0]):
        if name is not None:
            raise UsageError("`--name` is for a data set of the Hub")
        return select_tasks([source]), Path(source).resolve().name
    from seatrials.commands.try_ import downloading
    from seatrials.flows.fetch import bring, look

    offer = look(address_of(source), name=name)
    with downloading() as watch:
        fetched = bring(offer, watch)
    print(f"{offer.address.repo} at {offer.snapshot.commit}")
    return fetched.selection.tasks, source.partition("@")[0].rpartition("/")[2]


def _names(path: Path) -> frozenset[str]:
    from seatrials.errors import UsageError

    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"`{path}` can't be read as text") from error
    return frozenset(line.strip() for line in lines if line.strip())
