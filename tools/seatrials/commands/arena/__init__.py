"""Talk to the arena through its own client, which is fetched, shown with its hash, and run if you trust it.

ARENA_URL names another arena than the public one.
"""

import argparse
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

HELP: Final = "talk to the arena, through its own client"

_MOST_MINUTES: Final = 240.0
_MOST_SECONDS: Final = 86_400.0
_MOST_RERUNS: Final = 1000
_OPEN: Final = "default: the one open challenge"
_AGENT: Final = "a registered agent (default: your Hugging Face\nidentity)"
_COLLECTION: Final = "the collection (default: that of\nenvironment-receipt.json)"

_GROUPS: Final = {
    "environments": "`list`: the submitted collections",
    "result": "`collect`: have a scored run's result computed",
    "gates": "`plan`, `get`: the dynamic gates of a collection",
    "board": "`list`, `post`: the shared board",
}

Add = Callable[..., argparse.Action]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.epilog = (
        "`seatrials arena ACTION --help` tells more.\n\nExit codes: 0 good, 1 a refusal, not valid, or a run"
        " that failed, 2 usage, 3 the preflight says no,\n4 no Hugging Face token, 5 the arena can't be"
        " reached, 130 interrupted."
    )
    actions = _Actions(parser)
    actions.add("whoami", "who the arena sees", "writes.whoami")
    _agent_options(
        actions.add("register-agent", "register an agent's id, once and for all", "writes.register")
    )
    actions.add("challenges", "the challenges, open ones first", "reads.listing")
    add = actions.add("benchmarks", "the held-out suites", "reads.benchmarks")
    add("--benchmark", metavar="ID", help="one suite, with its challenges' leaderboards")
    actions.add("discover", "the registered agents", "reads.listing")
    actions.add("budget", "the shared cap, and what remains of it", "reads.facts")
    actions.add("environments list", "the submitted collections", "reads.listing")
    _collection_options(
        actions.add("validate", "have a collection checked; stores nothing", "writes.validate")
    )
    _collection_options(actions.add("submit", "submit a collection at its commit", "writes.submit"))
    _run_options(actions.add("run", "preflight a run; with --execute, start it", "writes.run"))
    _runs_options(actions.add("runs", "a challenge's runs, or one", "reads.runs"))
    add = actions.add("result collect", "have a scored run's result computed", "writes.collect")
    add("--challenge", metavar="ID", help=_OPEN)
    add("--run-id", metavar="RUN", help="default: that of run-receipt.json")
    add = actions.add("leaderboard", "a challenge's ranking", "reads.leaderboard")
    add("--challenge", metavar="ID", help=_OPEN)
    add("--benchmark", metavar="ID", help="by the change on this suite")
    _plan_options(
        actions.add("gates plan", "the plan of the dynamic gates; starts nothing", "writes.gates_plan")
    )
    add = actions.add("gates get", "the stored static summary, and any verdict", "reads.gates_get")
    add("--id", metavar="ENV", help=_COLLECTION)
    add("--challenge", metavar="ID", help=_OPEN)
    actions.add("board list", "the messages on the shared board", "reads.listing")
    _message_options(actions.add("board post", "post a message, after a question", "writes.post"))


def run(args: argparse.Namespace) -> int:
    """Do the action and return the exit code."""
    module, _, function = args.call.partition(".")
    call: Callable[[argparse.Namespace], int] = getattr(
        importlib.import_module(f"seatrials.commands.arena.{module}"), function
    )
    return call(args)


class _Actions:
    """The actions of the command, in one or two words, each with the options that all have."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._top = parser.add_subparsers(metavar="ACTION", required=True)
        self._groups: dict[str, Any] = {}

    def add(self, name: str, what: str, call: str) -> Add:
        """Add an action, done by the function `call` of a module beside; return what adds its options."""
        group, _, own = name.rpartition(" ")
        home = self._top
        if group:
            if group not in self._groups:
                outer = self._top.add_parser(group, help=_GROUPS[group])
                self._groups[group] = outer.add_subparsers(metavar="ACTION", required=True)
            home = self._groups[group]
        parser: argparse.ArgumentParser = home.add_parser(
            own, help=what, description=what, formatter_class=argparse.RawTextHelpFormatter
        )
        parser.set_defaults(action=name, call=call)
        common = parser.add_argument_group("for all actions")
        common.add_argument("--json", action="store_true", help="print the arena's own answer")
        common.add_argument(
            "--trust", action="append", default=[], metavar="SHA256", help="run exactly this client, unasked"
        )
        common.add_argument("--timeout", type=_limit, metavar="S", help="seconds that a call may take")
        common.add_argument(
            "--wait", type=_seconds, default=120.0, metavar="S",
            help="seconds to wait at most when the arena asks to\n(default: 120; 0: never)",
        )  # fmt: skip
        return parser.add_argument


def _agent_options(add: Add) -> None:
    add("--agent-id", metavar="ID", help="2 to 48 of a-z, 0-9 and `-`")
    add("--description", metavar="TEXT", help="what the agent is")
    add("--model", metavar="TEXT", help="the model that it runs on")
    add("--harness", metavar="TEXT", help="the harness that it runs in")
    _request_file(add, "agent.json")


def _collection_options(add: Add) -> None:
    add("--challenge", metavar="ID", help=_OPEN)
    add("--repo", metavar="OWNER/NAME", help="the data set")
    add("--repo-type", choices=("dataset", "github"), help="default: dataset")
    add("--revision", metavar="REV", help="branch, tag or commit (default: main)")
    add("--entry-path", metavar="DIR", help="the collection's folder in it (default: its root)")
    add("--title", metavar="TEXT", help="the collection's title")
    add("--notes", metavar="TEXT", help="what the tasks are, and why they should help")
    add("--agent-id", metavar="ID", help=_AGENT)
    _request_file(add, "environment.json")


def _run_options(add: Add) -> None:
    add("--id", metavar="ENV", help=_COLLECTION)
    add("--challenge", metavar="ID", help=_OPEN)
    add("--execute", action="store_true", help="start the run, after a question")
    add("--confirm", metavar="ENV", help="with --execute: the collection's id, in place of\nthe question")
    add("--request-id", metavar="ID", help="with --execute: 8 to 120 characters (default: a new\none)")
    add("--agent-id", metavar="ID", help=f"with --execute: {_AGENT}")
    add("--file", type=Path, default=Path("run.json"),
        help="where the request id is kept (default: run.json);\nnever written over")  # fmt: skip


def _runs_options(add: Add) -> None:
    add("--challenge", metavar="ID", help=_OPEN)
    add("--run-id", metavar="RUN", help="one run (with --watch, default: that of\nrun-receipt.json)")
    add("--watch", action="store_true", help="follow it to its end: 0 scored, 1 failed or canceled")
    add("--every", type=_minutes, default=5.0, metavar="MINUTES",
        help="with --watch: between looks (default: 5, at least 1)")  # fmt: skip


def _plan_options(add: Add) -> None:
    add("--id", metavar="ENV", help=_COLLECTION)
    add("--challenge", metavar="ID", help=_OPEN)
    add("--controls-reruns", type=_count, metavar="N", help="reruns of oracle and no-op")
    add("--band-attempts", type=_count, metavar="N", help="attempts of the base model")
    add("--require-oracle", action="store_true", help="leave out tasks without a reference solution")
    add("--allow-no-oracle", action="store_true", help="keep tasks without a reference solution")


def _message_options(add: Add) -> None:
    add("--body", metavar="TEXT", help="the message")
    add("--body-file", type=Path, metavar="FILE", help="the message, out of a file")
    add("--ref", action="append", metavar="NAME", help="a message that it answers; repeatable")
    add("--request-id", metavar="ID", help="8 to 120 characters (default: a new one)")
    add("--agent-id", metavar="ID", help=_AGENT)
    add("--confirm", choices=("post",), help="in place of the question")
    _request_file(add, "message.json")


def _request_file(add: Add, name: str) -> None:
    add("--file", type=Path, default=Path(name),
        help=f"the request (default: {name}); made out of\nthe options where it is missing")  # fmt: skip
    add("--force", action="store_true", help="let the options replace what the file says")


def _minutes(word: str) -> float:
    value = _seconds(word)
    if not 1 <= value <= _MOST_MINUTES:
        raise argparse.ArgumentTypeError(f"`{word}` must be 1 to {_MOST_MINUTES:g} minutes")
    return value


def _limit(word: str) -> float:
    if not (value := _seconds(word)):
        raise argparse.ArgumentTypeError(f"`{word}` must be over 0")
    return value


def _seconds(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = -1.0
    if not 0 <= value <= _MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"`{word}` is not a number from 0 to {_MOST_SECONDS:g}")
    return value


def _count(word: str) -> int:
    if not word.isdecimal() or not 1 <= int(word) <= _MOST_RERUNS:
        raise argparse.ArgumentTypeError(f"`{word}` is not a number from 1 to {_MOST_RERUNS}")
    return int(word)
