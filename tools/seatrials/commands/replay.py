"""Run the oracle and the no-op of tasks in Docker, each in a fresh container, and say what holds.

A local replay: what it says is not the arena's gate.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seatrials.replay.model import ReplayReport
    from seatrials.replay.runner import ReplayOptions
    from seatrials.report.terminal import Terminal
    from seatrials.task.package import TaskPackage

HELP: Final = "run the oracle and a no-op of tasks in Docker"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    from seatrials.commands.arguments import jobs_or_auto, positive

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
        type=positive,
        default=1,
        metavar="N",
        help="runs of each kind per task (default: 1; the arena asks for 8)",
    )
    parser.add_argument("--only", choices=("oracle", "noop"), help="run one kind only")
    parser.add_argument(
        "--jobs",
        type=jobs_or_auto,
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
    parser.add_argument(
        "--engine",
        choices=("docker", "bench"),
        default="docker",
        help="docker: the kit's own (default); bench: hand the plan\nto BenchFlow (`bench eval run`)",
    )
    parser.add_argument(
        "--sandbox",
        default="docker",
        metavar="NAME",
        help="with --engine bench: its sandbox, as docker, daytona\nor modal (default: docker)",
    )
    parser.add_argument(
        "--plan",
        type=Path,
        metavar="DIR",
        help="with --engine bench: run nothing, leave tasks and\ncommands in the new folder DIR",
    )
    parser.add_argument(
        "--collect",
        type=Path,
        metavar="JOBS_DIR",
        help="run nothing, judge on the finished jobs of BenchFlow or\nHarbor in this folder",
    )
    parser.add_argument("--format", choices=("text", "json", "github"), default="text", help="default: text")
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write the report to FILE, and text for people here"
    )


def run(args: argparse.Namespace) -> int:
    """Replay, print the verdicts, and return the exit code."""
    from seatrials.commands.output import take_any_name, write
    from seatrials.errors import EXIT_OK
    from seatrials.replay.runner import ReplayOptions
    from seatrials.report.terminal import terminal_of
    from seatrials.task.collection import select

    selection = select(args.targets)
    if not selection.tasks:
        print("no tasks here", file=sys.stderr)
        return EXIT_OK
    root = selection.collection.root if selection.collection is not None else Path()
    _sane(args)
    if args.engine == "bench" and args.plan is not None:
        return _leave_plan(args, selection.tasks)
    options = ReplayOptions(
        reruns=args.reruns,
        kinds=("oracle", "noop") if args.only is None else (args.only,),
        jobs=args.jobs,
        force=args.force,
        keep=args.keep,
        as_model=args.as_user == "agent",
        root=root,
    )
    report = _report(args, selection.tasks, options)
    format_ = args.format
    if args.output is not None:
        write(args.output, [_rendered(report, format_)])
        format_ = "text"
    take_any_name(sys.stdout)
    sys.stdout.write(_rendered(report, format_, terminal_of(sys.stdout)))
    return report.exit_code


def _sane(args: argparse.Namespace) -> None:
    from seatrials.errors import UsageError

    if args.engine != "bench" and (args.plan is not None or args.sandbox != "docker"):
        raise UsageError("`--plan` and `--sandbox` belong to `--engine bench`")
    if args.engine == "bench" and (args.keep or args.as_user):
        raise UsageError("`--keep` and `--as` belong to the kit's own engine")


def _report(
    args: argparse.Namespace, tasks: "Sequence[TaskPackage]", options: "ReplayOptions"
) -> "ReplayReport":
    from seatrials.commands.output import observing
    from seatrials.replay import bench
    from seatrials.replay.owner import new_run
    from seatrials.replay.runner import replay
    from seatrials.replay.store import Store

    if args.collect is not None:
        return bench.report_jobs(tasks, args.collect, root=options.root)
    if args.engine == "bench":
        bench.check_version()
        store = Store(options.root)
        store.prepare()
        plan = bench.lay_out(
            tasks,
            (store.folder / "bench" / new_run()).resolve(),
            kinds=options.kinds,
            reruns=options.reruns,
            sandbox=args.sandbox,
            concurrency=_concurrency(args),
        )
        print(f"{len(plan.commands)} runs of BenchFlow in `{plan.folder}`", file=sys.stderr)
        try:
            bench.run(plan)
        finally:
            bench.clear(plan)
        return bench.report_jobs(tasks, plan.jobs, root=options.root, kinds=options.kinds)
    with observing() as observer:
        return replay(tasks, options, observer)


def _leave_plan(args: argparse.Namespace, tasks: "Sequence[TaskPackage]") -> int:
    from seatrials.replay import bench

    plan = bench.lay_out(
        tasks,
        args.plan,
        kinds=("oracle", "noop") if args.only is None else (args.only,),
        reruns=args.reruns,
        sandbox=args.sandbox,
        concurrency=_concurrency(args),
    )
    print(f"commands: {len(plan.commands)}, in `{plan.folder / 'run.sh'}`; nothing was run")
    return 0


def _concurrency(args: argparse.Namespace) -> int:
    return 1 if args.jobs == "auto" else int(args.jobs)


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


def _repository() -> Path:
    """Return the folder that annotations name files from."""
    from seatrials.vcs import top_level

    workspace = os.environ.get("GITHUB_WORKSPACE")
    if workspace and Path.cwd().is_relative_to(workspace):
        return Path(workspace)
    return top_level(Path.cwd()) or Path.cwd()
