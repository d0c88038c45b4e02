"""What `release` does at the arena after the upload, and how it is told."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seatrials.arena.client import Arena
    from seatrials.arena.identity_hashes import Identity
    from seatrials.arena.results import Preflight, Submission
    from seatrials.flows.arena_part import ArenaPart, Judged, Wanted
    from seatrials.release.layout import Layout

STEPS: Final = ("gate", "upload", "validate", "submit", "preflight")
AT_ARENA: Final = STEPS[2:]

_SHOWN: Final = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the arena's part."""
    group = parser.add_argument_group("at the arena (ARENA_URL), after the upload")
    group.add_argument("--no-arena", action="store_true", help="upload only")
    group.add_argument(
        "--only", choices=STEPS, help="only this step; the arena's are about the commit on the Hub"
    )
    group.add_argument(
        "--challenge", metavar="ID", help="the challenge to submit to (default: the one that is open)"
    )
    group.add_argument(
        "--notes", metavar="TEXT", help="what the tasks are and why they should help the model"
    )
    group.add_argument("--agent-id", metavar="ID", help="a registered agent of yours (default: you yourself)")
    group.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="SHA256",
        help="run the arena's client without asking if this is\nits hash; repeatable",
    )


def wanted(args: argparse.Namespace, layout: "Layout") -> "Wanted":
    """Return what to submit.

    Raises UsageError for what the arena would refuse in any case, and
    RefusedError for a secret in what would be public there.
    """
    from seatrials.flows.arena_part import Wanted
    from seatrials.release.secrets import known_here, refuse_in_texts

    told = {"--title": args.title, "--notes": args.notes}
    refuse_in_texts({option: text for option, text in told.items() if text}, known_here())
    return Wanted(
        source=args.source,
        repo=args.repo,
        layout=layout,
        challenge=args.challenge,
        title=args.title,
        notes=args.notes or "",
        agent_id=args.agent_id,
    )


def run(args: argparse.Namespace, what: "Wanted", commit: str | None, *, store: bool) -> None:
    """Do the arena's steps, or the one that is asked for, and tell each; `store` False submits nothing."""
    from seatrials.commands.output import take_any_name
    from seatrials.flows.arena_part import ArenaPart
    from seatrials.hub_client import connect
    from seatrials.report.plain import plain

    take_any_name(sys.stdout)
    part = ArenaPart(connect(), _arena(args), what, commit)
    challenge = part.challenge()
    kind = "challenge" if challenge.runs else "track"
    paused = f"; runs are paused: {plain(challenge.paused)}" if challenge.paused else ""
    print(f"Arena {part.arena.site.url}, {kind} `{plain(challenge.id)}`{paused}", flush=True)
    sent: str | None = None
    if args.only in {None, "validate", "submit"}:
        _doing("The arena validates the collection")
        judged = part.validate()
        _tell_judged(judged)
        part.refuse_unfit(judged.validation)
        if args.only == "validate":
            return
        if store:
            _doing("Submitting it")
            submission = part.submit()
            _tell_submission(submission, part)
            _tell_identity(part.identity({**judged.validation.hashes, **submission.hashes}))
            sent = submission.environment_id
        elif args.only == "submit":
            print("Would submit it")
        if args.only == "submit":
            return
    if sent is None:
        sent = _earlier(part, needed=store)
    if sent is not None:
        _tell_preflight(part.preflight(sent), sent)


def _doing(step: str) -> None:
    """Say what takes a while, apart from what comes of it."""
    print(step, file=sys.stderr, flush=True)


def would(what: "Wanted") -> None:
    """Say what a dry run leaves out, where there is no commit to ask about yet."""
    from seatrials.arena.site import site_of

    on = f"challenge `{what.challenge}`" if what.challenge else "the open challenge"
    print(f"Would validate and submit it at {site_of().url} for {on}, and preflight a run")


def _earlier(part: "ArenaPart", *, needed: bool) -> str | None:
    from seatrials.errors import RefusedError

    try:
        return part.submitted()
    except RefusedError:
        if needed:
            raise
        print("Would submit it; there is no preflight before that")
        return None


def _arena(args: argparse.Namespace) -> "Arena":
    from seatrials.arena.client import Arena
    from seatrials.arena.trust import hashes_of
    from seatrials.commands.asking import trust_asker

    return Arena(
        ask=trust_asker(),
        accept=hashes_of(args.trust),
        say=lambda line: print(line, file=sys.stderr),
    )


def _tell_judged(judged: "Judged") -> None:
    from seatrials.judge.gates import VERSION
    from seatrials.report.plain import plain

    said = judged.validation
    valid = "valid" if said.valid else "not valid"
    print(f"Validated: {valid}, {said.eligible} eligible; the arena: {judged.theirs}; check: {judged.ours}")
    for kind, texts in (("error", said.errors), ("warning", said.warnings)):
        _list([f"{kind:<7} {text}" for text in texts])
    found = [
        " ".join(part for part in (one.severity, one.code, one.task, one.path, one.message) if part)
        for one in said.findings
    ]
    _list(found)
    if judged.gates is not None:
        print(f"The arena's gates are `{plain(judged.gates)}`, and this kit knows `{VERSION}`")
    if judged.differences:
        print("The arena and check differ:")
        _list([str(one) for one in judged.differences])


def _tell_submission(sent: "Submission", part: "ArenaPart") -> None:
    from seatrials.report import arena_text

    sys.stdout.write(arena_text.submission(sent))
    print(f"Request and answers are in `{_short(part.folder)}`")


def _tell_identity(found: "Identity") -> None:
    from seatrials.report.words import counted

    number = counted(len(found.same), "task")
    if found.other:
        print(f"Content hashes: the arena's are those of what the Hub has for {number}, and others for"
              f" {counted(len(found.other), 'task')} ({found.way}):")  # fmt: skip
        _list(found.other)
    elif found.way is not None:
        print(f"Content hashes: the arena's are those of what the Hub has for {number} ({found.way})")
    elif not found.compared:
        print("Content hashes: the arena tells none of these tasks")
    else:
        print("Content hashes: how the arena joins paths and ids is not known, so they can't be compared")
    if found.absent and found.compared:
        print(f"The arena tells no content hash of {counted(len(found.absent), 'task')}:")
        _list(found.absent)
    if found.more:
        print(f"The arena has {counted(len(found.more), 'task')} that are not here:")
        _list(found.more)


def _tell_preflight(found: "Preflight | None", environment: str) -> None:
    from seatrials.report import arena_text
    from seatrials.report.terminal import terminal_of

    if found is None:
        print("A track takes no runs, so there is no preflight")
        return
    print(f"Preflight of a run of {environment}; it starts nothing:")
    sys.stdout.write(arena_text.preflight(found, terminal=terminal_of(sys.stdout)))


def _list(items: "Sequence[str]") -> None:
    """Print the first of some items, which may be the arena's words."""
    from seatrials.report.plain import plain

    for item in items[:_SHOWN]:
        print(f"  {plain(item)}")
    if len(items) > _SHOWN:
        print(f"  and {len(items) - _SHOWN} more")


def _short(path: Path) -> Path:
    """Return a path from here, where it lies below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
