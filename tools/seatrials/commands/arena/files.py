"""The request files: made out of the options, and never written over unasked."""

import argparse
from pathlib import Path
from typing import Any

from seatrials.arena.client import Arena
from seatrials.arena.requests import (
    MAX_FILE,
    AgentRequest,
    EnvironmentRequest,
    MessageRequest,
    RunRequest,
    keep,
    new_request_id,
    read,
)
from seatrials.errors import UsageError


def agent_file(args: argparse.Namespace) -> Path:
    """Return the file of a registration, made or compared with what the options say."""
    file: Path = args.file
    given = _given(args, "agent_id", "description", "model", "harness")
    if given:
        there = read(file, AgentRequest).as_data() if file.exists() else {}
        keep(file, AgentRequest.of({**there, **given}, str(file)), replace=args.force)
    elif not file.exists():
        raise _missing(file, "--agent-id ID --description TEXT")
    return file


def environment_file(args: argparse.Namespace, arena: Arena) -> Path:
    """Return the file of a collection, made or compared with what the options say."""
    file: Path = args.file
    given = _given(args, "repo_type", "revision", "entry_path", "title", "notes", "agent_id")
    given |= {
        key: value
        for key, value in (("repo_id", args.repo), ("challenge_id", args.challenge))
        if value is not None
    }
    if file.exists():
        if given:
            there = read(file, EnvironmentRequest).as_data()
            keep(file, EnvironmentRequest.of({**there, **given}, str(file)), replace=args.force)
        return file
    if args.repo is None or args.title is None:
        raise _missing(file, "--repo OWNER/NAME --title TEXT")
    if args.challenge is None:
        given["challenge_id"] = arena.open_challenge()
    keep(file, EnvironmentRequest.of(given, str(file)))
    return file


def run_request(args: argparse.Namespace) -> tuple[RunRequest, bool]:
    """Return the request of run.json, or a new one not yet written, and whether it is new.

    A run.json that is there is never changed: its request id may stand for a run.
    """
    file: Path = args.file
    if not file.exists():
        made = args.request_id or new_request_id(f"{args.agent_id or 'seatrials'}-run")
        return RunRequest(request_id=made, agent_id=args.agent_id), True
    there = read(file, RunRequest)
    for key, value in _given(args, "request_id", "agent_id").items():
        if value != getattr(there, key):
            raise UsageError(
                f"`{file}` holds another `{key}`, and is never written over; for a run of its own name"
                " another file with `--file`"
            )
    return there, False


def message_file(args: argparse.Namespace) -> Path:
    """Return the file of a message, made or compared with what the options say."""
    file: Path = args.file
    given = _given(args, "agent_id", "request_id")
    if (body := _body(args)) is not None:
        given["body"] = body
    if args.ref is not None:
        given["refs"] = args.ref
    there = read(file, MessageRequest).as_data() if file.exists() else {}
    if not given:
        if not there:
            raise _missing(file, "--body TEXT")
        return file
    wanted = {**there, **given}
    if args.request_id is None and wanted != there:
        # Other words need an id of their own: the arena knows the old one by the old words.
        wanted["request_id"] = new_request_id(f"{args.agent_id or 'seatrials'}-message")
    keep(file, MessageRequest.of(wanted, str(file)), replace=args.force)
    return file


def _body(args: argparse.Namespace) -> str | None:
    if args.body_file is None:
        body: str | None = args.body
        return body
    if args.body is not None:
        raise UsageError("`--body` and `--body-file` exclude each other")
    path: Path = args.body_file
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_FILE).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"`{path}` can't be read as text: {type(error).__name__}") from None


def _given(args: argparse.Namespace, *keys: str) -> dict[str, Any]:
    return {key: value for key in keys if (value := getattr(args, key)) is not None}


def _missing(file: Path, options: str) -> UsageError:
    return UsageError(f"`{file}` is not there; make it with `{options}`, or name one with `--file`")
