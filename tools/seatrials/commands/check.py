"""Check tasks without running anything: what the arena's validation and BenchFlow would say, and more."""

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from seatrials.arena.opinion import SecondOpinion
    from seatrials.judge.run import CheckReport
    from seatrials.report.terminal import Terminal

HELP: Final = "check tasks without running anything"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.epilog = "Exit codes: 0 good, 1 findings at --fail-on or worse, 2 usage, 70 a rule is at fault."
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TASK",
        help="a task's name or folder, or a folder of tasks\n(default: the collection here)",
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show every finding, and the rules skipped after one"
    )
    parser.add_argument(
        "--format", choices=("text", "json", "github", "sarif"), default="text", help="default: text"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write the report to FILE, and text for people here"
    )
    parser.add_argument(
        "--profile",
        choices=("arena", "benchflow"),
        default="arena",
        help="what the arena asks for (default), or what BenchFlow\nalone needs",
    )
    parser.add_argument(
        "--select",
        action="append",
        default=[],
        metavar="CODES",
        help="only these findings: codes or their starts, as DOC,STR101",
    )
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="CODES", help="all but these findings"
    )
    parser.add_argument(
        "--fail-on",
        choices=("block", "error", "reject", "controls", "review", "warning"),
        default="reject",
        help="exit with 1 when a finding is this bad or worse\n(default: reject)",
    )
    parser.add_argument(
        "--changed",
        metavar="REF",
        help="only tasks with files that changed since this branch\nleft REF, committed or not",
    )
    parser.add_argument(
        "--arena",
        action="store_true",
        help="ask the arena's own check_task.py and validation_gates.py\n"
        "too, fetched from $ARENA_URL, and show where they differ",
    )
    parser.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="SHA256",
        help="with --arena: run exactly the scripts with these hashes,\nunasked; repeatable",
    )
    parser.add_argument(
        "--jobs", type=_jobs, default=0, metavar="N", help="processes to use (default: auto, one a processor)"
    )
    parser.add_argument(
        "--no-cache", action="store_true", help="neither use nor keep results of earlier checks"
    )
    parser.add_argument(
        "--no-reuse",
        action="store_true",
        help="parse files that tasks share for each task anew,\n"
        "to measure what that is worth (with --no-cache)",
    )


def run(args: argparse.Namespace) -> int:
    """Check, print, and return the exit code."""
    from seatrials.commands.output import counting, take_any_name, write
    from seatrials.errors import EXIT_FINDINGS, EXIT_OK, SeatrialsError
    from seatrials.flows.check import Request, check
    from seatrials.judge.choice import choice
    from seatrials.report.terminal import terminal_of

    request = Request(
        targets=args.targets,
        profile=args.profile,
        choice=choice(args.select, args.ignore),
        changed=args.changed,
        jobs=args.jobs,
        cached=not args.no_cache,
        reuse=not args.no_reuse,
    )
    _sane(args)
    with counting() as watch:
        report = check(request, watch)
    second, failure = None, None
    if args.arena and report.tasks:
        try:
            second = _second_opinion(report, args)
        except SeatrialsError as error:
            # Our own report is worth showing all the same.
            failure = error
    format_ = args.format
    if args.output is not None:
        write(args.output, _rendered(report, args, format_, second=second))
        format_ = "text"
    take_any_name(sys.stdout)
    if format_ == "text" and args.changed is not None and not report.tasks:
        sys.stdout.write(f"no task changed since `{args.changed}`\n")
    sys.stdout.writelines(_rendered(report, args, format_, terminal=terminal_of(sys.stdout), second=second))
    if second is not None and format_ != "json":
        _show(second, args, beside=format_ != "text")
    if failure is not None:
        raise failure
    if report.faulty:
        sys.stdout.flush()
        print("seatrials: rules failed, see KIT102: the report is not complete", file=sys.stderr)
        return SeatrialsError.exit_code
    failed = report.fails(args.fail_on) or (second is not None and second.fails(args.fail_on))
    return EXIT_FINDINGS if failed else EXIT_OK


def _sane(args: argparse.Namespace) -> None:
    from seatrials.errors import UsageError

    if args.arena and args.profile != "arena":
        raise UsageError("`--arena` belongs to the profile `arena`")
    if args.trust and not args.arena:
        raise UsageError("`--trust` belongs to `--arena`")


def _second_opinion(report: "CheckReport", args: argparse.Namespace) -> "SecondOpinion":
    from seatrials.arena.opinion import Opinions
    from seatrials.arena.site import site_of
    from seatrials.arena.trust import hashes_of
    from seatrials.commands.asking import trust_asker
    from seatrials.flows.opinion import second_opinion

    opinions = Opinions(site_of(), ask=trust_asker(token=False), accept=hashes_of(args.trust), say=_say)
    return second_opinion(report, args.targets, opinions)


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _show(second: "SecondOpinion", args: argparse.Namespace, *, beside: bool) -> None:
    """Print the arena's opinion, on standard error where the report is for a program."""
    from seatrials.report.opinion_text import render

    sys.stdout.flush()
    print(render(second, verbose=args.verbose), end="", file=sys.stderr if beside else sys.stdout)


def _rendered(
    report: "CheckReport",
    args: argparse.Namespace,
    format_: str,
    *,
    terminal: "Terminal | None" = None,
    second: "SecondOpinion | None" = None,
) -> Iterable[str]:
    match format_:
        case "json":
            from seatrials.report import check_json

            if second is None:
                return check_json.render(report)
            from seatrials.report import opinion_text

            return check_json.render(report, arena=opinion_text.data(second))
        case "github":
            from seatrials.report import check_github

            return [check_github.render(report, root=_repository())]
        case "sarif":
            from seatrials.report import check_sarif
            from seatrials.rules import RULES_BY_CODE

            return [check_sarif.render(report, rules=RULES_BY_CODE.values(), root=_repository())]
        case _:
            from seatrials.report import check_text
            from seatrials.report.terminal import Terminal

            return [check_text.render(report, verbose=args.verbose, terminal=terminal or Terminal())]


def _repository() -> Path:
    """Return the folder that annotations name files from."""
    from seatrials.vcs import top_level

    here = Path.cwd()
    workspace = os.environ.get("GITHUB_WORKSPACE")
    if workspace and here.is_relative_to(Path(workspace)):
        return Path(workspace)
    return top_level(here) or here


def _jobs(word: str) -> int:
    if word == "auto":
        return 0
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"`{word}` is neither a number of processes nor `auto`")
    return int(word)
