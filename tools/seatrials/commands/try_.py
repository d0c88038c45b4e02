"""Try a collection of the Hub: download it, check it, show what it would run, ask, and replay it.

Reads the layouts of `release`, of PostTrain (envs/) and of Harbor (tasks/,
registry.json). Nothing that the card names is installed or run.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from seatrials.fetch.download import Progress
    from seatrials.flows.fetch import Fetched, Offer
    from seatrials.flows.tryout import Prospect
    from seatrials.replay.model import ReplayReport
    from seatrials.replay.runner import ReplayOptions

HELP: Final = "download a collection from the Hub, and replay it"

LARGE: Final = 1_000_000_000
MANY: Final = 5_000
"""Bytes and files from which a download is asked about. The Hub limits how many are asked for in a while."""

_PAUSE: Final = 0.1


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    from seatrials.commands.arguments import jobs_or_auto, positive

    parser.epilog = (
        "Exit codes: 0 all pass, 1 one is rejected, the Hub or check refuses, or you say no, 2 usage"
        " (also: no terminal to ask on, and no --yes), 4 log in first, 5 can't be told, 130 interrupted."
    )
    parser.add_argument(
        "address", metavar="OWNER/NAME[@REV]", help="a data set, and a branch, tag or commit (default: main)"
    )
    parser.add_argument("--name", metavar="NAME", help="the collection, where the data set has several")
    parser.add_argument(
        "--task", action="append", default=[], metavar="TASK", help="only this task; repeatable"
    )
    parser.add_argument("--yes", action="store_true", help="don't ask before running")
    parser.add_argument(
        "--dry-run", action="store_true", help="download, check and show what would be run; run nothing"
    )
    parser.add_argument("--reruns", type=positive, default=1, metavar="N", help="runs of each kind per task")
    parser.add_argument("--only", choices=("oracle", "noop"), help="run one kind only")
    parser.add_argument(
        "--jobs", type=jobs_or_auto, default="auto", metavar="N", help="trials at a time (default: auto)"
    )
    parser.add_argument(
        "--force", action="store_true", help="run again what passed in an earlier try and did not change"
    )
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="VAR",
        help="give the tasks this variable of yours, if they ask for\nit; without, they get none",
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show every finding of check, and each task"
    )


def run(args: argparse.Namespace) -> int:
    """Download, check, show, ask, replay; return the exit code."""
    from seatrials.commands.asking import agreed, somebody
    from seatrials.commands.output import counting, take_any_name
    from seatrials.errors import EXIT_FINDINGS, EXIT_OK, UsageError
    from seatrials.fetch.listing import address_of
    from seatrials.flows.fetch import look
    from seatrials.flows.tryout import options, prospect

    take_any_name(sys.stdout)
    if not args.yes and not args.dry_run and not somebody():
        raise UsageError("there is no terminal to ask on: say `--yes` to run it, or `--dry-run` to look only")
    offer = look(address_of(args.address), name=args.name, tasks=args.task)
    fetched = _fetched(args, offer)
    if fetched is None:
        return EXIT_FINDINGS
    with counting() as watch:
        found = prospect(fetched, watch)
    how = options(found, reruns=args.reruns, only=args.only, jobs=args.jobs, force=args.force, given=args.env)
    _show(args, found, how)
    if not found.tasks:
        return EXIT_FINDINGS
    if args.dry_run:
        return EXIT_OK
    if not args.yes and not agreed(
        f"Build and run {'this task' if len(found.tasks) == 1 else 'these tasks'}?"
    ):
        print("nothing was run", file=sys.stderr)
        return EXIT_FINDINGS
    report = _replayed(found, how)
    return (
        max(report.exit_code, EXIT_FINDINGS) if found.refused and not report.exit_code else report.exit_code
    )


def _fetched(args: argparse.Namespace, offer: "Offer") -> "Fetched | None":
    from seatrials.commands.asking import agreed, somebody
    from seatrials.flows.fetch import bring
    from seatrials.report.plain import plain
    from seatrials.report.try_text import size
    from seatrials.report.words import counted

    tasks = counted(len(offer.tasks), "task")
    of = f" of {len(offer.found.tasks)}" if len(offer.tasks) != len(offer.found.tasks) else ""
    licence = f", license {plain(offer.says.license)}" if offer.says.license else ""
    print(f"{offer.address.repo} at {offer.snapshot.commit}")
    print(f"collection `{plain(offer.found.name)}`: {tasks}{of}, {size(offer.size)}{licence}")
    if offer.found.missing:
        first = plain(offer.found.missing[0])
        print(f"its registry.json names {len(offer.found.missing)} tasks that are not there, first `{first}`")
    sys.stdout.flush()
    large = offer.size > LARGE or len(offer.files) > MANY
    if large and not args.yes and not (somebody() and agreed(f"Download {len(offer.files):,} files?")):
        print("nothing was downloaded; `--task` takes a part, `--yes` all of it", file=sys.stderr)
        return None
    with downloading() as watch:
        return bring(offer, watch)


def _show(args: argparse.Namespace, found: "Prospect", how: "ReplayOptions") -> None:
    from seatrials.report import check_text, try_text
    from seatrials.report.terminal import terminal_of

    terminal = terminal_of(sys.stdout)
    if lines := try_text.needs(found.fetched.offer.says, terminal):
        print("\n".join(lines))
    sys.stdout.write(check_text.render(found.report, verbose=args.verbose, terminal=terminal))
    lines = try_text.plan(
        found.outlooks,
        found.refused,
        verbose=args.verbose,
        kinds=how.kinds,
        reruns=how.reruns,
        given=how.host_env,
        terminal=terminal,
    )
    print("\n".join(lines), flush=True)


def _replayed(found: "Prospect", how: "ReplayOptions") -> "ReplayReport":
    from seatrials.commands.output import observing
    from seatrials.replay.runner import replay
    from seatrials.report import replay_text
    from seatrials.report.terminal import terminal_of

    with observing() as observer:
        report = replay(found.tasks, how, observer)
    sys.stdout.write(replay_text.render(report, terminal=terminal_of(sys.stdout)))
    return report


@contextmanager
def downloading() -> Iterator[Callable[["Progress"], None]]:
    """Give a function that shows how far a download is: in place on a terminal, one line elsewhere."""
    from seatrials.report.try_text import size

    shown = 0.0
    said = False

    def watch(progress: Any) -> None:
        nonlocal shown, said
        now = time.monotonic()
        done = f"{progress.files:,} of {progress.of_files:,} files, {size(progress.bytes)}"
        if sys.stderr.isatty():
            if now - shown > _PAUSE:
                shown = now
                print(f"\rdownloading: {done}", end="\033[K", file=sys.stderr, flush=True)
        elif not said:
            said = True
            print(f"downloading {progress.of_files:,} files, {size(progress.of_bytes)}", file=sys.stderr)

    try:
        yield watch
    finally:
        if shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
