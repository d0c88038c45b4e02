"""Check a collection, then stage it."""

from pathlib import Path

from seatrials.errors import RefusedError, UsageError
from seatrials.release.stage import Staged, stage
from seatrials.rules.run import check
from seatrials.task.collection import select


def release(source: str | None, out: Path, *, title: str | None, force: bool) -> Staged:
    """Stage the collection at `source` (default: here) into `out`.

    Raises RefusedError where check finds an error, which the arena would refuse,
    and where the scan finds a secret.
    """
    selection = select([source] if source is not None else [])
    collection = selection.collection
    if collection is None:
        raise UsageError(f"`{source}` is not a collection: it has neither `tasks/` nor `submission.yaml`")
    if not selection.tasks:
        raise RefusedError(f"no task in `{collection.tasks_dir}`; there is nothing to release")
    report = check(selection)
    if report.fails("error"):
        bad = [
            task.path for task in report.tasks if any(f.severity in {"block", "error"} for f in task.findings)
        ]
        where = (
            f"{len(bad)} of {len(report.tasks)} tasks, first `{bad[0]}`" if bad else f"`{collection.root}`"
        )
        raise RefusedError(f"check finds errors in {where}; `seatrials check` lists them")
    return stage(
        selection.tasks,
        collection,
        out,
        title=title or collection.team or collection.root.resolve().name,
        findings={task.name: [finding.code for finding in task.findings] for task in report.tasks},
        force=force,
    )
