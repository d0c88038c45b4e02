"""Write the data set into a folder, whole or not at all."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from seatrials.errors import RefusedError, UsageError
from seatrials.release.card import render_card
from seatrials.release.limits import check_limits
from seatrials.release.rows import TaskRow, row_of
from seatrials.release.secrets import Allowance, Known, Scan, SecretsFoundError, allowances, known_here, scan
from seatrials.release.tables import write_tasks
from seatrials.task.collection import MANIFEST, Collection
from seatrials.task.files import TaskFile
from seatrials.task.package import TaskPackage

ENVS: Final = "envs"
CARD: Final = "README.md"
TASKS_TABLE: Final = "data/tasks.parquet"


@dataclass(frozen=True, kw_only=True)
class Staged:
    """What was staged: a row per task, and what the scan came to."""

    rows: tuple[TaskRow, ...]
    scan: Scan


def stage(
    tasks: Sequence[TaskPackage],
    collection: Collection,
    out: Path,
    *,
    title: str,
    findings: Mapping[str, Sequence[str]],
    force: bool = False,
    known: Known | None = None,
) -> Staged:
    """Write `tasks` as a data set into `out` and say what it is.

    `findings` holds the codes found about each task, by folder name. All is
    written beside `out` first and moved into place at the end. An `out` that
    holds something is refused; with `force` it is replaced. SecretsFoundError
    where the scan for secrets has a hit; `known` are the values to look for
    (default: this machine's).
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())) and not force:
        raise UsageError(f"`{out}` is not empty; name another folder, or replace it with `--force`")
    allowed = allowances(collection.root)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as scratch:
        staged = Path(scratch) / "staged"
        rows = _write(tasks, collection, staged, title, findings)
        found = _inspect(staged, known or known_here(), allowed)
        if out.exists():
            out.rename(Path(scratch) / "replaced")
        staged.rename(out)
    return Staged(rows=rows, scan=found)


def _inspect(root: Path, known: Known, allowed: Sequence[Allowance]) -> Scan:
    """Look through all that is about to be published; nothing of it is outside the temporary folder yet."""
    sizes = {
        path.relative_to(root).as_posix(): path.stat().st_size for path in root.rglob("*") if path.is_file()
    }
    check_limits(sizes)
    found = scan(root, sorted(sizes), known, allowed, derived=(CARD, TASKS_TABLE))
    if found.hits:
        raise SecretsFoundError(found.hits)
    return found


def _write(
    tasks: Sequence[TaskPackage],
    collection: Collection,
    root: Path,
    title: str,
    findings: Mapping[str, Sequence[str]],
) -> tuple[TaskRow, ...]:
    rows: list[TaskRow] = []
    for task in tasks:
        folder = root / ENVS / task.name
        if folder.exists():
            raise RefusedError(f"two tasks have the folder name `{task.name}`; rename one")
        copy_task(task, folder)
        # What is published is what is hashed: the row is read off the copy.
        rows.append(row_of(TaskPackage(folder), collection, findings.get(task.name, ())))
    write_tasks(rows, root / TASKS_TABLE)
    (root / MANIFEST).write_text(_manifest(collection), encoding="utf-8")
    (root / CARD).write_text(render_card(title, rows), encoding="utf-8")
    return tuple(rows)


def copy_task(task: TaskPackage, folder: Path) -> None:
    """Copy what is published of a task: its files with their run bits, without junk.

    A link inside the task becomes the file that it points to, since the Hub
    keeps no links; one that leads elsewhere raises RefusedError.
    """
    for path, file in task.files.items():
        source = task.resolve(path)
        if source is None:
            raise RefusedError(f"`{task.label}/{path}` can't be published: {_why(file)}")
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source.location, target, follow_symlinks=False)
        target.chmod(0o755 if source.executable else 0o644)


def _why(file: TaskFile) -> str:
    if file.kind == "link":
        return "it is a link to a folder, out of the task, or to nothing"
    return "it is neither a file nor a link"


def _manifest(collection: Collection) -> str:
    if collection.manifest is not None:
        return collection.manifest_path.read_text(encoding="utf-8")
    return yaml.safe_dump(
        {"team_name": collection.root.resolve().name, "track": "environments"}, sort_keys=False
    )
