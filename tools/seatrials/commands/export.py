"""Write native and PostTrain packages as Harbor tasks, and say what Harbor can't express.

A Harbor task is copied as it is, so that --limit also picks a subset of a Harbor set.

exit codes: 0 good; 1 a task has no Harbor form or is broken; 2 usage
"""

import argparse
from pathlib import Path
from typing import Final

HELP: Final = "write packages as Harbor tasks"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    from seatrials.commands.migrate import add_common

    add = parser.add_argument
    add(
        "targets",
        nargs="+",
        metavar="SRC",
        help="a task's folder, a folder of tasks in any layout,\nor a `registry.json`",
    )
    add("--out", type=Path, metavar="DIR",
        help="write the tasks as DIR/tasks/NAME\n(default: only report what would be lost)")  # fmt: skip
    add("--dry-run", action="store_true", help="write nothing, and show each change as a diff")
    add("--force", action="store_true", help="replace what is in the way")
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """Export, print the report, and return the exit code."""
    from seatrials.commands.migrate import say_recovered, show
    from seatrials.commands.output import counting
    from seatrials.flows.migrate import migrate, sources
    from seatrials.migrate.run import Options
    from seatrials.proc import processors

    out = None if args.dry_run else args.out
    options = Options(direction="harbor", out=out, force=args.force, diffs=args.dry_run)
    source = sources(args.targets, limit=args.limit, seed=args.seed, on_recovered=say_recovered)
    with counting() as watch:
        report = migrate(source, options, jobs=args.jobs or processors(), on_progress=watch)
    return show(report, args)
