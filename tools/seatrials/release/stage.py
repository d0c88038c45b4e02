"""Write the data set into a folder, whole or not at all."""

import errno
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import yaml

from seatrials.errors import RefusedError, UsageError
from seatrials.release import pictures, tables
from seatrials.release.card import CardOptions, render_card
from seatrials.release.detectors import get_ready
from seatrials.release.harbor import registry
from seatrials.release.layout import CARD, Layout
from seatrials.release.limits import check_limits
from seatrials.release.replays import NOT_REPLAYED, Replayed
from seatrials.release.rows import TaskRow, row_of
from seatrials.release.secrets import Allowance, Known, Scan, SecretsFoundError, allowances, known_here, scan
from seatrials.task.collection import Collection
from seatrials.task.files import TaskFile, hash_of_blobs
from seatrials.task.package import TaskPackage

_CHUNK: Final = 256 * 1024

Tell = Callable[[str, int, int], None]
"""Is told what is being done, the number done and that of all; 0 and 0 where nothing is counted."""


def silent(_step: str, _done: int, _total: int, /) -> None:
    """Tell nobody."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to stage.

    `findings` holds the codes found about each task and `replays` what its
    replays say, both by folder name; `replays` is None where nothing of
    replays is to be published. `known` are the values that must not be in it
    (default: this machine's).
    """

    tasks: Sequence[TaskPackage]
    collection: Collection
    card: CardOptions
    layout: Layout = field(default_factory=Layout)
    findings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    replays: Mapping[str, Replayed] | None = None
    known: Known | None = None


@dataclass(frozen=True, kw_only=True)
class Staged:
    """What was staged: where, its files in order, a row per task, and what the scan came to."""

    root: Path
    files: tuple[str, ...]
    rows: tuple[TaskRow, ...]
    scan: Scan


def stage(plan: Plan, out: Path, *, force: bool = False, tell: Tell = silent) -> Staged:
    """Write the data set into `out`.

    All is written beside `out` first and moved into place at the end. An `out`
    that holds something is refused; with `force` it is replaced, unless the
    collection itself would go with it. Raises as `staging` does.
    """
    _refuse_source(plan.collection, out)
    if out.exists() and not (out.is_dir() and not any(out.iterdir())) and not force:
        raise UsageError(f"`{out}` is not empty; name another folder, or replace it with `--force`")
    out.parent.mkdir(parents=True, exist_ok=True)
    with staging(plan, beside=out, tell=tell) as staged:
        if out.exists():
            out.rename(staged.root.with_name("replaced"))
        staged.root.rename(out)
    return replace(staged, root=out)


def _refuse_source(collection: Collection, out: Path) -> None:
    """Raise UsageError for a folder that holds the collection or where we stand, or lies in its tasks."""
    place = out.resolve()
    kept = (collection.root.resolve(), collection.tasks_dir.resolve(), Path.cwd())
    if any(folder.is_relative_to(place) for folder in kept) or place.is_relative_to(kept[1]):
        raise UsageError(
            f"`{out}` is part of the collection, or has it or this folder in it; name another folder"
        )


@contextmanager
def staging(plan: Plan, *, beside: Path | None = None, tell: Tell = silent) -> Iterator[Staged]:
    """Stage in a temporary folder, which goes with the context unless it was moved away.

    Raises SecretsFoundError where the scan has a hit, and RefusedError where
    something can't be published or passes a limit of the Hub.
    """
    allowed = allowances(plan.collection.root)
    get_ready()
    prefix, where = (f".{beside.name}-", beside.parent) if beside is not None else ("seatrials-", None)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=where) as scratch:
        root = Path(scratch) / "staged"
        rows = _write(plan, root, tell)
        sizes = {
            entry.path.removeprefix(f"{root}/"): entry.stat(follow_symlinks=False).st_size
            for entry in _entries(str(root))
        }
        check_limits(sizes)
        files = tuple(sorted(sizes))
        found = _scan(plan, root, files, allowed, tell)
        yield Staged(root=root, files=files, rows=rows, scan=found)


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(entry.path)
            else:
                yield entry


def _scan(plan: Plan, root: Path, files: Sequence[str], allowed: Sequence[Allowance], tell: Tell) -> Scan:
    layout = plan.layout
    derived = {CARD, layout.registry, layout.summary, layout.table("tasks"), layout.table("replays")}
    found = scan(
        root,
        files,
        plan.known or known_here(),
        allowed,
        derived=derived,
        watch=lambda number: tell("Scanning the files", number, len(files)),
    )
    if found.hits:
        raise SecretsFoundError(found.hits)
    return found


def _write(plan: Plan, root: Path, tell: Tell) -> tuple[TaskRow, ...]:
    layout = plan.layout
    rows: list[TaskRow] = []
    for task in plan.tasks:
        folder = root / layout.tasks / task.name
        if folder.exists():
            raise RefusedError(f"two tasks have the folder name `{task.name}`; rename one")
        if layout.harbor and task.format != "harbor":
            raise RefusedError(
                f"`{task.label}` is no Harbor task; `seatrials export` writes it as one for `--layout harbor`"
            )
        published = copy_task(task, folder)
        replayed = (plan.replays or {}).get(task.name, NOT_REPLAYED)
        found = plan.findings.get(task.name, ())
        rows.append(row_of(task, plan.collection, found, replayed, published=published))
        task.forget()
        tell("Staging the tasks", len(rows), len(plan.tasks))
    tables.write_tasks(rows, root / layout.table("tasks"))
    trials = [row for task in plan.tasks for row in (plan.replays or {}).get(task.name, NOT_REPLAYED).rows]
    if trials:
        tables.write_replays(trials, root / layout.table("replays"))
    if layout.harbor:
        name = layout.name or plan.collection.team or plan.collection.root.resolve().name
        text = registry(name, plan.card.title, rows, folder=layout.tasks)
        (root / layout.registry).write_text(text, encoding="utf-8")
        tables.write_summary(rows, layout.tasks, root / layout.summary)
    manifest = _manifest(plan.collection, harbor=layout.harbor)
    if manifest is not None:
        (root / layout.manifest).write_text(manifest, encoding="utf-8")
    charts = pictures.charts(rows)
    pictures.write_charts(charts, root / layout.pictures)
    card = render_card(plan.card, layout, rows, trials=len(trials), replays=plan.replays, pictures=charts)
    (root / CARD).write_text(card, encoding="utf-8")
    return tuple(rows)


def copy_task(task: TaskPackage, folder: Path) -> str:
    """Copy what is published of a task, and return its content hash, taken of the bytes written.

    These are its files with their run bits, without junk. A link inside the
    task becomes the file that it points to, since the Hub keeps no links; one
    that leads elsewhere raises RefusedError, and so does what can't be read.
    """
    made: set[str] = set()
    blobs: dict[str, str] = {}
    for path, file in task.files.items():
        source = task.resolve(path)
        if source is None:
            raise RefusedError(f"`{task.label}/{path}` can't be published: {_why(file)}")
        parent = path.rpartition("/")[0]
        if parent not in made:
            (folder / parent).mkdir(parents=True, exist_ok=True)
            made.add(parent)
        try:
            blobs[path] = _copy(source, f"{folder}/{path}")
        except OSError as error:
            raise RefusedError(f"`{task.label}/{path}` can't be published: {error.strerror}") from error
    return hash_of_blobs(blobs)


def _copy(source: TaskFile, target: str) -> str:
    """Copy a file that is no link, and return its git blob id."""
    mode = 0o755 if source.executable else 0o644
    new = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        os.fchmod(new, mode)  # whatever the umask says
        if source.size > _CHUNK:
            return _copy_large(source, new)
        data = source.read()  # the bytes that the task's hash and its row are taken of, too
        if source.unreadable:
            raise PermissionError(errno.EACCES, "it can't be read")
        _write_all(new, data)
        return source.blob_id
    finally:
        os.close(new)


def _copy_large(source: TaskFile, new: int) -> str:
    digest = hashlib.sha1(b"blob %d\0" % source.size, usedforsecurity=False)
    left = source.size
    old = os.open(source.place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        while data := os.read(old, _CHUNK):
            digest.update(data)
            _write_all(new, data)
            left -= len(data)
    finally:
        os.close(old)
    if left:
        raise OSError(errno.EAGAIN, "it was written to meanwhile")
    return digest.hexdigest()


def _write_all(new: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(new, rest) :]


def _why(file: TaskFile) -> str:
    if file.kind == "link":
        return "it is a link to a folder, out of the task, or to nothing"
    return "it is neither a file nor a link"


def _manifest(collection: Collection, *, harbor: bool) -> str | None:
    if collection.manifest is not None:
        return collection.manifest_path.read_text(encoding="utf-8")
    if harbor:
        return None
    return yaml.safe_dump(
        {"team_name": collection.root.resolve().name, "track": "environments"}, sort_keys=False
    )
