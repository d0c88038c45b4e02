"""What the actions share: the arena, what the command line leaves open, and printing."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO, TypeVar

from seatrials.arena import client, launch
from seatrials.arena.calls import COMMANDS
from seatrials.arena.client import Arena
from seatrials.arena.identity import token_of
from seatrials.arena.requests import read_json
from seatrials.arena.trust import hashes_of
from seatrials.commands.asking import trust_asker
from seatrials.commands.output import take_any_name
from seatrials.errors import UsageError
from seatrials.report import arena_text
from seatrials.report.terminal import Terminal, terminal_of

T = TypeVar("T")


def arena_of(args: argparse.Namespace) -> Arena:
    """Return the arena. NoIdentityError, before anything is started or asked, where a token is needed."""
    arena = Arena(
        ask=trust_asker(), accept=hashes_of(args.trust), say=say, wait=args.wait, seconds=args.timeout
    )
    if COMMANDS[args.action].identity:
        token_of()
    return arena


def challenge_of(args: argparse.Namespace, arena: Arena) -> str:
    """Return the challenge that was named, else the one open challenge."""
    return args.challenge if args.challenge is not None else arena.open_challenge()


def environment_of(args: argparse.Namespace, folder: Path) -> str:
    """Return the collection that was named, else that of the receipt in a folder."""
    receipt = folder / client.RECEIPT
    found: str | None = args.id or _noted(receipt, "environment_id", "id")
    if found is None:
        raise UsageError(f"name the collection with `--id`: `{receipt}` has none")
    return found


def run_id_of(args: argparse.Namespace) -> str:
    """Return the run that was named, else that of the receipt here."""
    found: str | None = args.run_id or _noted(Path(launch.RECEIPT), "run_id", "id")
    if found is None:
        raise UsageError(f"name the run with `--run-id`: `{launch.RECEIPT}` has none")
    return found


def _noted(receipt: Path, *keys: str) -> str | None:
    told = read_json(receipt) if receipt.is_file() else None
    if not isinstance(told, dict):
        return None
    return next((value for key in keys if isinstance(value := told.get(key), str)), None)


def unless_interrupted(call: Callable[[], T], note: str) -> T:
    """Return what a call returns; on Ctrl-C say what may have happened."""
    try:
        return call()
    except KeyboardInterrupt:
        say(note)
        raise


def show_list(args: argparse.Namespace, data: Any) -> int:
    """Print a listing: a table, or with `--json` the answer."""
    if args.json:
        return tell(args, data)
    sys.stdout.write(arena_text.listing(args.action, data, terminal=terminal_for(sys.stdout)))
    return 0


def tell(args: argparse.Namespace, data: Any) -> int:
    """Print an answer that is no listing: keys and values, or with `--json` the answer."""
    if args.json:
        print(json.dumps(data, indent=2))
    else:
        terminal_for(sys.stdout)
        sys.stdout.write(arena_text.facts(data))
    return 0


def terminal_for(stream: TextIO) -> Terminal:
    """Return what a stream can show."""
    take_any_name(stream)
    return terminal_of(stream)


def say(line: str) -> None:
    """Print a line for people, apart from the answer; nothing for an empty one."""
    if line:
        print(line, file=sys.stderr, flush=True)
