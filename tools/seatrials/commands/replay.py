"""Run the oracle and the no-op of tasks in Docker, each in a fresh container, and say what holds.

A local replay: what it says is not the arena's gate.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from seatrials.replay.model import ReplayReport
    from seatrials.replay.runner import Observer
    from seatrials.report.terminal import Terminal

HELP: Final = "run the oracle and a no-op of tasks in Docker"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.epilog = (
        "Exit codes: 0 all pass, 1 one is rejected, 2 usage, 5 none is rejected but one is"
        " inconclusive (also: no engine), 130 interrupted."
    )
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TASK",
        help="a task's name or folder, or a folder of tasks\n(default: the collection here)",
    )
    parser.add_argument(
        "--reruns",
        type=_positive,
        default=1,
        metavar="N",
        help="runs of each kind per task (default: 1; the arena asks for 8)",
    )
    parser.add_argument("--only", choices=("oracle", "noop"), help="run one kind only")
    parser.add_argument(
        "--jobs",
        type=_jobs,
        default="auto",
        metavar="N",
        help="trials at a time (default: auto, as many as the engine's\nCPUs and memory hold)",
    )
    parser.add_argument(
        "--force", action="store_true", help="run again what already passed and did not change"
    )
    parser.add_argument("--keep", action="store_true", help="leave the containers, and say how to enter them")
    parser.add_argument(
        "--as",
        dest="as_user",
        choices=("agent",),
        help="run the oracle as the unprivileged user that BenchFlow\ngives a model",
    )
    parser.add_argument("--format", choices=("text", "json", "github"), default="text", help="default: text")
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write the report to FILE, and text for people here"
    )


def run(args: argparse.Namespace) -> int:
    """Replay, print the verdicts, and return the exit code."""
    from seatrials.errors import EXIT_OK
    from seatrials.replay.runner import ReplayOptions, replay
    from seatrials.report.terminal import terminal_of
    from seatrials.task.collection import select

    selection = select(args.targets)
    if not selection.tasks:
        print("no tasks here", file=sys.stderr)
        return EXIT_OK
    options = ReplayOptions(
        reruns=args.reruns,
        kinds=("oracle", "noop") if args.only is None else (args.only,),
        jobs=args.jobs,
        force=args.force,
        keep=args.keep,
        as_model=args.as_user == "agent",
        root=selection.collection.root if selection.collection is not None else Path(),
    )
    with _observer() as observer:
        report = replay(selection.tasks, options, observer)
    format_ = args.format
    if args.output is not None:
        _write(args.output, _rendered(report, format_))
        format_ = "text"
    if isinstance(sys.stdout, TextIOWrapper):
        # A name that the terminal's encoding lacks must not end the report.
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stdout.write(_rendered(report, format_, terminal_of(sys.stdout)))
    return report.exit_code


def _rendered(report: "ReplayReport", format_: str, terminal: "Terminal | None" = None) -> str:
    match format_:
        case "json":
            from seatrials.report import replay_json

            return replay_json.render(report)
        case "github":
            from seatrials.report import replay_github

            return replay_github.render(report, root=_repository())
        case _:
            from seatrials.report import replay_text

            return replay_text.render(report, terminal=terminal)


@contextmanager
def _observer() -> Iterator["Observer"]:
    """Give what shows the run on standard error: a table on a terminal, lines elsewhere."""
    from seatrials.report.replay_progress import Lines, Live
    from seatrials.report.terminal import terminal_of

    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield Lines(sys.stderr)
        return
    live = Live(sys.stderr, terminal_of(sys.stderr))
    try:
        yield live
    finally:
        live.close()


def _repository() -> Path:
    """Return the folder that annotations name files from."""
    from seatrials.vcs import top_level

    workspace = os.environ.get("GITHUB_WORKSPACE")
    if workspace and Path.cwd().is_relative_to(workspace):
        return Path(workspace)
    return top_level(Path.cwd()) or Path.cwd()


def _write(path: Path, text: str) -> None:
    """Write a file in one move, so that nobody reads half of it."""
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
    ) as stream:
        stream.write(text)
    Path(stream.name).replace(path)


def _positive(word: str) -> int:
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"`{word}` is not a number of 1 or more")
    return int(word)


def _jobs(word: str) -> int | str:
    return word if word == "auto" else _positive(word)
