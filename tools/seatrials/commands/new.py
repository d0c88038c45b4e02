"""Make a new task from the template, a small one that works as it stands."""

import argparse
import sys
from pathlib import Path
from typing import Final

HELP: Final = "make a new task from the template"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("name", metavar="NAME", help="the task's name, or a path that ends in it")
    parser.add_argument(
        "-d",
        "--data",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="answer a question of the template; may be repeated",
    )
    parser.add_argument(
        "--defaults",
        action="store_true",
        help="take the defaults of all other questions (as without a terminal)",
    )


def run(args: argparse.Namespace) -> int:
    """Make the task and say what comes next."""
    from seatrials.errors import UsageError
    from seatrials.scaffold import scaffold, template_for
    from seatrials.task.collection import collection_at

    answers: dict[str, str] = {}
    for pair in args.data:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"`--data {pair}` must have the form KEY=VALUE")
        answers[key] = value
    if not args.name:
        raise UsageError("the name is empty; give the task's name, or a path that ends in it")
    here = Path()
    if Path(args.name).name in {"", ".."}:
        raise UsageError(f"`{args.name}` does not end in a name; give the new task's, as in `clean-readings`")
    if "/" in args.name:
        target = Path(args.name)
    else:
        home = collection_at(here)
        target = (home.tasks_dir if home is not None else here / "tasks") / args.name
    answers.setdefault("name", target.name)
    scaffold(template_for(here), target, answers, ask=sys.stdin.isatty() and not args.defaults)
    print(f"Made `{target}`. Replace each `[REPLACE: ...]` in it by your own, then:")
    prefix, dashes = ("nox -s", " --") if Path("noxfile.py").is_file() else ("seatrials", "")
    for command in ("check", "replay"):
        print(f"  {prefix} {command}{dashes} {target}")
    return 0
