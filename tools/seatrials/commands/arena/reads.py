"""The actions that read, which need no token."""

import argparse
import sys
from datetime import datetime
from pathlib import Path

from seatrials.arena.client import Arena
from seatrials.arena.watch import RunState, watch
from seatrials.commands.arena.shared import (
    arena_of,
    challenge_of,
    environment_of,
    run_id_of,
    say,
    show_list,
    tell,
)
from seatrials.report.plain import plain


def listing(args: argparse.Namespace) -> int:
    """List what needs no further word."""
    return show_list(args, arena_of(args).call(*args.action.split()).data)


def benchmarks(args: argparse.Namespace) -> int:
    """List the suites, or tell of one."""
    data = arena_of(args).benchmarks(args.benchmark).data
    return show_list(args, data) if args.benchmark is None else tell(args, data)


def leaderboard(args: argparse.Namespace) -> int:
    """List a ranking."""
    arena = arena_of(args)
    return show_list(args, arena.leaderboard(challenge_of(args, arena), args.benchmark).data)


def facts(args: argparse.Namespace) -> int:
    """Tell what is no listing."""
    return tell(args, arena_of(args).call(*args.action.split()).data)


def gates_get(args: argparse.Namespace) -> int:
    """Tell of a collection's gates."""
    environment = environment_of(args, Path())
    arena = arena_of(args)
    return tell(args, arena.gates(challenge_of(args, arena), environment).data)


def runs(args: argparse.Namespace) -> int:
    """List a challenge's runs, tell of one, or follow it."""
    run_id = run_id_of(args) if args.watch else args.run_id
    arena = arena_of(args)
    challenge = challenge_of(args, arena)
    if run_id is None:
        return show_list(args, arena.runs(challenge).data)
    if args.watch:
        return _follow(args, arena, challenge, run_id)
    answer = arena.runs(challenge, run_id)
    if args.json:
        return tell(args, answer.data)
    print(plain(f"{run_id}: {RunState.of(answer.fields)}"))
    say(answer.said)
    return 0


def _follow(args: argparse.Namespace, arena: Arena, challenge: str, run_id: str) -> int:
    show = _Watcher(run_id, args.every)
    try:
        answer, code = watch(arena, challenge, run_id, minutes=args.every, show=show, say=show.say)
    finally:
        show.close()
    if args.json:
        tell(args, answer.data)
    if code == 0:
        say(f"next: seatrials arena result collect --challenge {challenge} --run-id {run_id}")
    return code


class _Watcher:
    """Shows a run on standard error: a line at each change, and on a terminal when the next look is."""

    def __init__(self, run_id: str, minutes: float) -> None:
        self._run = run_id
        self._minutes = minutes
        self._last: RunState | None = None
        self._live = sys.stderr.isatty()
        self._open = False

    def __call__(self, state: RunState) -> None:
        now = datetime.now().astimezone().strftime("%H:%M")
        if state != self._last:
            self.say(plain(f"{now}  {self._run}: {state}"))
            self._last = state
        if self._live:
            line = f"\r\033[K{now}  looked; again in {self._minutes:g} min"
            print(line, end="", file=sys.stderr, flush=True)
            self._open = True

    def say(self, line: str) -> None:
        """Print a line that stays."""
        self.close()
        say(line)

    def close(self) -> None:
        """Take the line that is kept up away."""
        if self._open:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self._open = False
