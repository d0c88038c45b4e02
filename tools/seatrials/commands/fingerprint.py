"""Write the fingerprint of a held-out suite: hashes of its prompts and files, no text."""

import argparse
from pathlib import Path
from typing import Final

HELP: Final = "fingerprint a held-out suite for the overlap gates"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.epilog = (
        "`check` reads every fingerprint in `suites/` of the collection. Exit codes: 0 good, 2 usage."
    )
    parser.add_argument("source", metavar="DIR", help="a folder of tasks, of any format")
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
    from seatrials.rules.overlap import FOLDER, Suite, print_of, written
    from seatrials.task.collection import select_tasks

    tasks = []
    for task in select_tasks([args.source]):
        tasks.append(print_of(task))
        task.forget()
    if not tasks:
        raise UsageError(f"no task in `{args.source}`")
    name = args.suite or Path(args.source).resolve().name
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
    said = f"{len(tasks):,} tasks of the {kind} suite `{name}`, {len(evaluated):,} evaluated"
    print(f"`{path}`: {said}, {grams:,} 13-grams")
    return 0


def _names(path: Path) -> frozenset[str]:
    from seatrials.errors import UsageError

    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"`{path}` can't be read as text") from error
    return frozenset(line.strip() for line in lines if line.strip())
