"""The actions that need an identity. What can't be undone is asked about first."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from seatrials.arena import launch
from seatrials.arena.client import RECEIPT, VALIDATION, Arena, pinned_path
from seatrials.arena.refusals import ArenaRefusedError
from seatrials.arena.requests import AgentRequest, MessageRequest, keep, read
from seatrials.arena.results import Preflight, rows_of
from seatrials.arena.watch import RunState
from seatrials.commands.arena.files import agent_file, environment_file, message_file, run_request
from seatrials.commands.arena.shared import (
    arena_of,
    challenge_of,
    environment_of,
    run_id_of,
    say,
    tell,
    terminal_for,
    unless_interrupted,
)
from seatrials.commands.asking import confirm
from seatrials.errors import PreflightRefusedError, RefusedError, UsageError
from seatrials.report import arena_text
from seatrials.report.plain import plain

_CONFLICT: Final = 409


def whoami(args: argparse.Namespace) -> int:
    """Tell who the arena sees."""
    answer = arena_of(args).whoami()
    tell(args, answer.data)
    say(answer.said)
    return 0


def register(args: argparse.Namespace) -> int:
    """Register an agent."""
    arena = arena_of(args)
    file = agent_file(args)
    try:
        answer = arena.register_agent(file)
    except ArenaRefusedError as error:
        agent = read(file, AgentRequest).agent_id
        if error.status == _CONFLICT and _owner(arena, agent) == arena.whoami().fields.get("name"):
            raise RefusedError(
                f"`{agent}` is yours already, registered with other words; a registration never changes:"
                " use it as it is"
            ) from None
        raise
    tell(args, answer.data)
    say(answer.said)
    return 0


def _owner(arena: Arena, agent: str) -> str | None:
    rows = rows_of(arena.discover().data, "agents")
    return next((row.get("owner") for row in rows if row.get("agent_id") == agent), None)


def validate(args: argparse.Namespace) -> int:
    """Have a collection checked, and tell what was found."""
    arena = arena_of(args)
    file = environment_file(args, arena)
    found = arena.validate(file)
    if args.json:
        tell(args, found.answer.data)
    else:
        sys.stdout.write(arena_text.validation(found, terminal=terminal_for(sys.stdout)))
    say(found.answer.said)
    say(f"kept: {file.with_name(VALIDATION)}")
    return 0 if found.valid and found.eligible else 1


def submit(args: argparse.Namespace) -> int:
    """Submit a collection."""
    arena = arena_of(args)
    file = environment_file(args, arena)
    sent = unless_interrupted(
        lambda: arena.submit(file), "it may have been submitted: run the same command again, which is safe"
    )
    if args.json:
        tell(args, sent.answer.data)
    else:
        sys.stdout.write(arena_text.submission(sent))
    say(sent.answer.said)
    files = [str(path) for path in (pinned_path(file), file.with_name(RECEIPT)) if path.exists()]
    say(f"kept: {', '.join(files)}")
    return 0


def run(args: argparse.Namespace) -> int:
    """Preflight a run, and with `--execute` start it."""
    if not args.execute and (args.confirm or args.request_id or args.agent_id):
        raise UsageError("`--confirm`, `--request-id` and `--agent-id` belong to `--execute`")
    arena = arena_of(args)
    environment = environment_of(args, args.file.parent)
    if args.execute:
        return _execute(args, arena, environment)
    found = arena.preflight(challenge_of(args, arena), environment)
    if args.json:
        tell(args, found.answer.data)
    else:
        sys.stdout.write(arena_text.preflight(found, terminal=terminal_for(sys.stdout)))
    _stop_unless_allowed(found)
    return 0


def _execute(args: argparse.Namespace, arena: Arena, environment: str) -> int:
    file: Path = args.file
    request, is_new = run_request(args)
    challenge = challenge_of(args, arena)
    if not is_new:
        launch.check_receipt(file, challenge, environment)
        there = launch.find_run(arena, challenge, request.request_id)
        if there is not None:
            say(f"the request id in `{file}` has its run already; no other is started")
            return _launched(args, launch.adopt(there, challenge, environment, file).record)
    found = arena.preflight(challenge, environment)
    sys.stderr.write(arena_text.preflight(found, terminal=terminal_for(sys.stderr)))
    _stop_unless_allowed(found)
    cost = found.max_compute_usd
    reserves = f", which reserves up to {cost:g} USD of its shared cap" if cost is not None else ""
    confirm(
        f"This starts a run of `{environment}` on `{challenge}`{reserves}.",
        environment,
        given=args.confirm,
        option="--confirm",
    )
    if is_new:
        keep(file, request)
    done = unless_interrupted(
        lambda: launch.launch(arena, challenge, environment, file, look_first=False, say=say),
        f"the run may have been started: run the exact same command again, and keep `{file}`",
    )
    return _launched(args, done.record)


def _stop_unless_allowed(found: Preflight) -> None:
    if not found.allowed:
        raise PreflightRefusedError(
            f"the preflight does not allow the run: {found.refusal or 'no reason given'}; nothing was started"
        )


def _launched(args: argparse.Namespace, record: Mapping[str, Any]) -> int:
    if args.json:
        tell(args, record)
    else:
        print(plain(f"{record.get('run_id') or record.get('id')}: {RunState.of(record)}"))
    say(f"kept: {args.file}, {args.file.with_name(launch.RECEIPT)}; next: seatrials arena runs --watch")
    return 0


def collect(args: argparse.Namespace) -> int:
    """Have a result computed."""
    run_id = run_id_of(args)
    arena = arena_of(args)
    answer = arena.collect(challenge_of(args, arena), run_id)
    tell(args, answer.data)
    say(answer.said)
    return 0


def gates_plan(args: argparse.Namespace) -> int:
    """Tell the plan of a collection's dynamic gates."""
    if args.require_oracle and args.allow_no_oracle:
        raise UsageError("`--require-oracle` and `--allow-no-oracle` exclude each other")
    environment = environment_of(args, Path())
    arena = arena_of(args)
    options: list[str] = []
    for option, number in (
        ("--controls-reruns", args.controls_reruns),
        ("--band-attempts", args.band_attempts),
    ):
        options += [option, str(number)] if number is not None else []
    options += ["--require-oracle"] if args.require_oracle else []
    options += ["--allow-no-oracle"] if args.allow_no_oracle else []
    return tell(args, arena.gates_plan(challenge_of(args, arena), environment, *options).data)


def post(args: argparse.Namespace) -> int:
    """Post a message."""
    arena = arena_of(args)
    file = message_file(args)
    message = read(file, MessageRequest)
    say(f"as {message.agent_id or 'yourself'}, request id {message.request_id}:")
    for line in message.body.splitlines():
        say(f"  {plain(line)}")
    confirm("This is posted on the arena's public board.", "post", given=args.confirm, option="--confirm")
    done = unless_interrupted(
        lambda: launch.post(arena, file, say=say),
        f"it may have been posted: run the same command again, and keep `{file}`",
    )
    if args.json:
        return tell(args, done.record)
    name = done.record.get("filename")
    print(plain(f"{'was there already' if done.found else 'posted'}{f': {name}' if name else ''}"))
    return 0
