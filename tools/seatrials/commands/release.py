"""Check the collection, publish it as a data set, and submit that to the arena; or write it to a folder."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from seatrials.flows.release import Request
    from seatrials.release.hub import Published
    from seatrials.release.layout import Layout
    from seatrials.release.replays import Replayed
    from seatrials.release.secrets import Scan

HELP: Final = "publish the collection as a data set"

_SHOWN: Final = 10


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    from seatrials.commands import arena_part

    parser.add_argument(
        "source", nargs="?", metavar="COLLECTION", help="the collection's folder (default: here)"
    )
    parser.epilog = (
        "What stays the same can stand in the collection's pyproject.toml, under [tool.seatrials.release]."
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--out", type=Path, metavar="DIR", help="write to a folder, to look at first")
    where.add_argument("--repo", metavar="OWNER/NAME", help="publish on the Hugging Face Hub, in one commit")
    parser.add_argument("--force", action="store_true", help="with --out: replace DIR if it holds something")
    parser.add_argument("--private", action="store_true", help="with --repo: make a missing data set private")
    parser.add_argument("--tag", metavar="TAG", help="with --repo: tag the commit, as v0.1.0")
    parser.add_argument(
        "--collection", metavar="SLUG", help="with --repo: add the data set to this collection"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="with --repo: say what would be sent, send nothing"
    )
    parser.add_argument("--title", metavar="TEXT", help="the data set's title (default: the team's name)")
    parser.add_argument(
        "--layout",
        choices=("arena", "harbor"),
        help="arena: tasks in envs/ (default); harbor: Harbor tasks in\ntasks/, with Harbor's registry.json",
    )
    parser.add_argument(
        "--name",
        metavar="NAME",
        help="put the collection in the folder NAME, so that several\nshare a data set",
    )
    parser.add_argument("--split", metavar="NAME", help="the tables' split (default: train)")
    parser.add_argument(
        "--runs",
        choices=("latest", "all"),
        help="the trials to publish: those behind the verdicts\n(default), or all recorded of the tasks",
    )
    parser.add_argument(
        "--without-replays", action="store_true", help="publish nothing of replays, and say so on the card"
    )
    parser.add_argument(
        "--license", metavar="ID", help="the card's license (default: the tasks', where they agree)"
    )
    parser.add_argument("--card-note", type=Path, metavar="FILE", help="Markdown for a section of your own")
    parser.add_argument(
        "--requires",
        action="append",
        default=[],
        metavar="TEXT",
        help="something the tasks need, for the card; repeatable",
    )
    parser.add_argument(
        "--setup",
        action="append",
        default=[],
        metavar="COMMAND",
        help="a command to run once before, for the card; repeatable",
    )
    arena_part.configure(parser)


def run(args: argparse.Namespace) -> int:
    """Check, stage or publish, and say what was done."""
    from seatrials.release.secrets import SecretsFoundError

    _sane(args)
    _fill(args)
    try:
        return _stage(args) if args.out is not None else _send(args)
    except SecretsFoundError as error:
        for hit in error.hits:
            print(hit, file=sys.stderr)
        raise


def _sane(args: argparse.Namespace) -> None:
    from seatrials.commands.arena_part import AT_ARENA
    from seatrials.errors import UsageError

    if args.out is not None and (args.private or args.tag or args.collection or args.dry_run):
        raise UsageError("`--private`, `--tag`, `--collection` and `--dry-run` belong to `--repo`")
    if args.out is not None and (args.no_arena or args.only):
        raise UsageError("with `--out` nothing is sent; `--no-arena` and `--only` belong to `--repo`")
    if args.repo is not None and args.force:
        raise UsageError("`--force` belongs to `--out`")
    if args.no_arena and args.only in AT_ARENA:
        raise UsageError(f"`--only {args.only}` is a step at the arena, which `--no-arena` leaves out")


def _fill(args: argparse.Namespace) -> None:
    """Add what the collection's own settings say to what the command line leaves open."""
    from seatrials.errors import UsageError
    from seatrials.release.settings import settings_at

    for key, value in settings_at(Path(args.source or ".")).items():
        name = key.replace("-", "_")
        if not getattr(args, name):
            setattr(args, name, value)
    if args.out is None and args.repo is None and args.only != "gate":
        raise UsageError("say where to: `--repo OWNER/NAME`, or `--out DIR` to look at it first")


def _send(args: argparse.Namespace) -> int:
    """Do the steps, or the one that is asked for."""
    from seatrials.commands import arena_part

    request = _request(args)
    if args.only == "gate":
        return _gate(request)
    _tell_run_bits(request)
    what = arena_part.wanted(args, request.layout)
    if args.only in arena_part.AT_ARENA:
        arena_part.run(args, what, None, store=not args.dry_run)
        return 0
    done = _publish(args, request)
    if args.no_arena or args.only == "upload":
        return 0
    sent = bool(done.sent or done.deleted)
    if args.dry_run and (sent or done.commit is None):
        arena_part.would(what)
    else:
        sys.stdout.flush()
        arena_part.run(args, what, done.commit, store=not args.dry_run)
    return 0


def _gate(request: "Request") -> int:
    """Pass the gates and stop there; what they refuse is raised."""
    from seatrials.commands.output import telling
    from seatrials.flows.release import gated
    from seatrials.report.words import counted

    with telling() as tell:
        number = gated(request, tell)
    print(f"The gates let {counted(number, 'task')} pass")
    return 0


def _publish(args: argparse.Namespace, request: "Request") -> "Published":
    from seatrials.commands.output import telling
    from seatrials.flows.release import publish_to
    from seatrials.release.hub import Target
    from seatrials.report.words import counted

    target = Target(
        repo=args.repo,
        private=args.private,
        tag=args.tag,
        collection=args.collection,
        dry_run=args.dry_run,
    )
    with telling() as tell:
        done, _ = publish_to(request, target, tell)
    tasks = counted(len(done.staged.rows), "task")
    changes = f"{len(done.sent)} files to send, {len(done.deleted)} to delete"
    if args.dry_run:
        print(f"Would publish {tasks} to `{args.repo}`: {changes}")
        for path in done.sent:
            print(f"  send    {path}")
        for path in done.deleted:
            print(f"  delete  {path}")
    elif not done.sent and not done.deleted:
        print(f"Nothing to send: `{args.repo}` has all of it at {done.commit}")
    else:
        print(f"Published {tasks} on `{args.repo}` at {done.commit}: {len(done.sent)} files sent,"
              f" {len(done.deleted)} deleted")  # fmt: skip
    _tell(done.staged.scan)
    return done


def _stage(args: argparse.Namespace) -> int:
    from seatrials.commands.output import telling
    from seatrials.flows.release import stage_at
    from seatrials.report.words import counted

    request = _request(args)
    with telling() as tell:
        staged, replays = stage_at(request, args.out, force=args.force, tell=tell)
    print(f"Staged {counted(len(staged.rows), 'task')} in `{args.out}`:")
    for path, what in _contents(request.layout):
        if path in staged.files or any(file.startswith(path) for file in staged.files if path.endswith("/")):
            print(f"  {path:<20} {what}")
    _tell_replays(replays)
    _tell(staged.scan)
    return 0


def _request(args: argparse.Namespace) -> "Request":
    from seatrials.flows.release import Request
    from seatrials.release.layout import Layout

    return Request(
        source=args.source,
        title=args.title,
        layout=Layout(name=args.name or "", harbor=args.layout == "harbor"),
        runs=None if args.without_replays else args.runs or "latest",
        split=args.split or "train",
        license=args.license,
        note=args.card_note,
        requires=args.requires,
        setup=args.setup,
        repo=args.repo,
    )


def _contents(layout: "Layout") -> "Sequence[tuple[str, str]]":
    from seatrials.release.layout import CARD

    return (
        (CARD, "the card"),
        (layout.manifest, "the manifest"),
        (layout.registry, "the tasks, for Harbor"),
        (layout.summary, "one short row per task"),
        (layout.table("tasks"), "one row per task"),
        (layout.table("replays"), "one row per recorded trial"),
        (f"{layout.pictures}/", "the card's pictures"),
        (f"{layout.tasks}/", "the tasks"),
    )


def _tell_replays(replays: "Mapping[str, Replayed]") -> None:
    """Name the tasks that no replay of ours speaks for."""
    missing = [
        f"`{name}`" + (f" ({found.verdict}: {found.reasons[0]})" if found.verdict else "")
        for name, found in replays.items()
        if not found.good
    ]
    if missing:
        print(f"No replay as they are now: {_listed(missing)}")


def _tell_run_bits(request: "Request") -> None:
    """Warn of builds that work here and not from the Hub."""
    from seatrials.flows.release import lost_run_bits

    if lost := lost_run_bits(request):
        print(f"The Hub keeps no run bits; from there these builds fail (IMG107 says what to do):"
              f" {_listed(lost)}", file=sys.stderr)  # fmt: skip


def _tell(scan: "Scan") -> None:
    """Say what the scan saw and let pass."""
    if scan.allowed:
        print(f"Let pass by `pyproject.toml`: {_listed([str(hit) for hit in scan.allowed])}")
    for allowance in scan.unused:
        print(f"Nothing to let pass in `{allowance.pattern}`; take it out of `pyproject.toml`")
    if scan.unopened:
        print(f"Not looked into: {_listed(scan.unopened)}")
    if scan.mails:
        print(f"E-mail addresses: {_listed([f'{mail} (`{path}`)' for mail, path in scan.mails.items()])}")


def _listed(items: "Sequence[str]") -> str:
    more = f"\n  and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return f"{len(items)}" + "".join(f"\n  {item}" for item in items[:_SHOWN]) + more
