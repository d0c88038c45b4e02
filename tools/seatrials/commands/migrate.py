"""Turn Harbor and PostTrain tasks into BenchFlow-native packages, and prove that each means the same.

Without --out and --in-place nothing is written: the report says what would be.

exit codes: 0 good; 1 a task was not turned, or replays differently; 2 usage; 5 replays can't be compared
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from seatrials.migrate.run import MigrationReport

HELP: Final = "turn Harbor and PostTrain tasks into native packages"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = parser.add_argument
    add(
        "targets",
        nargs="+",
        metavar="SRC",
        help="a task's folder, a folder of tasks in any layout,\nor a `registry.json`",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--out", type=Path, metavar="DIR", help="write the packages as DIR/tasks/NAME")
    where.add_argument("--in-place", action="store_true",
        help="replace each task where it is; asks for a clean git state")  # fmt: skip
    where.add_argument("--dry-run", action="store_true", help="write nothing, and show each change as a diff")
    add("--force", action="store_true", help="replace what is in the way, committed or not")
    add("--replay", action="store_true",
        help="replay before and after in Docker; rewards and checks\nmust be equal")  # fmt: skip
    add("--team-name", default="", metavar="NAME", help="write DIR/submission.yaml for this team")
    fill = parser.add_argument_group("what tasks leave out (no declared value is changed)")
    fill.add_argument("--org", default="", metavar="NAME", help="the organisation in `task.name`")
    fill.add_argument("--author-hub", default="", metavar="NAME", help="Hub account of the author")
    fill.add_argument("--license", default="", metavar="SPDX", help="as in Apache-2.0")
    fill.add_argument("--origin", default="", choices=("original", "adapted", "generated"),
        help="default with --origin-url: adapted")  # fmt: skip
    fill.add_argument("--origin-url", default="", metavar="URL", help="where adapted tasks come from")
    add_common(parser)


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add what `migrate` and `export` share."""
    add = parser.add_argument
    add("--limit", type=_positive, metavar="N",
        help="only N tasks, as even as can be over category and\ndifficulty")  # fmt: skip
    add("--seed", type=int, default=0, metavar="N", help="for --limit: another choice (default: 0)")
    add(
        "--jobs", type=_jobs, default=0, metavar="N", help="processes to use (default: auto, one a processor)"
    )
    add("-v", "--verbose", action="store_true", help="show every task with all its notes")
    add("--format", choices=("text", "json"), default="text", help="default: text")
    add("--report", type=Path, metavar="FILE.md", help="write the report as a Markdown page, too")


def run(args: argparse.Namespace) -> int:
    """Migrate, print the report, and return the exit code."""
    from seatrials.commands.output import counting, observing
    from seatrials.flows.migrate import migrate, replayed, sources
    from seatrials.migrate.model import Fill
    from seatrials.migrate.run import Options
    from seatrials.proc import processors

    if args.team_name and args.out is None:
        _refuse("`--team-name` needs `--out`: the manifest is written there")
    if args.replay and args.out is None and not args.in_place:
        _refuse("`--replay` needs `--out` or `--in-place`: it runs what was written")
    _refuse_wrong_credit(args)
    options = Options(
        out=args.out,
        in_place=args.in_place,
        force=args.force,
        fill=Fill(
            org=args.org,
            author_hub=args.author_hub,
            license=args.license,
            origin=args.origin,
            origin_url=args.origin_url,
        ),
        diffs=args.dry_run,
    )
    source = sources(args.targets, limit=args.limit, seed=args.seed, on_recovered=say_recovered)

    def turn_them() -> "MigrationReport":
        with counting() as watch:
            return migrate(
                source,
                options,
                jobs=args.jobs or processors(),
                team_name=args.team_name,
                on_progress=watch,
                on_recovered=say_recovered,
            )

    if args.replay:
        from seatrials.replay.runner import ReplayOptions

        with observing() as observer:
            report = replayed(source.tasks, turn_them, ReplayOptions(), observer)
    else:
        report = turn_them()
    return show(report, args)


def say_recovered(folder: Path) -> None:
    """Tell that an earlier run was interrupted, and that its traces are gone."""
    print(f"seatrials: `{folder}` is whole again; an earlier run was interrupted there", file=sys.stderr)


def show(report: "MigrationReport", args: argparse.Namespace) -> int:
    """Write the report as asked for, and return the exit code."""
    from seatrials.commands.output import take_any_name, write
    from seatrials.report import migrate_json, migrate_markdown, migrate_text

    if args.report is not None:
        write(args.report, [migrate_markdown.render(report)])
    take_any_name(sys.stdout)
    as_json = args.format == "json"
    text = migrate_json.render(report) if as_json else migrate_text.render(report, verbose=args.verbose)
    sys.stdout.write(text)
    return report.exit_code


def _refuse_wrong_credit(args: argparse.Namespace) -> None:
    """Hold what goes into every task to the rules of `check` first."""
    if not (args.org or args.author_hub or args.license or args.origin_url):
        return
    from seatrials.rules.credit import is_address, is_handle, is_spdx
    from seatrials.task.validate import is_name

    if args.org and not is_name(f"{args.org}/x"):
        _refuse(
            f"`--org {args.org}` can't be in `task.name`; it must have letters, digits, `.`, `_`, `-` only"
        )
    if args.author_hub and not is_handle(args.author_hub):
        _refuse(
            f"`--author-hub {args.author_hub}` is no Hub handle; it must be the name after `huggingface.co/`"
        )
    if args.license and not is_spdx(args.license):
        _refuse(f"`--license {args.license}` is no SPDX expression; it must be one, as `Apache-2.0`")
    if args.origin_url and not is_address(args.origin_url):
        _refuse(f"`--origin-url {args.origin_url}` is no `http` or `https` address; it must be one")


def _refuse(message: str) -> None:
    from seatrials.errors import UsageError

    raise UsageError(message)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def _jobs(text: str) -> int:
    return 0 if text == "auto" else _positive(text)
