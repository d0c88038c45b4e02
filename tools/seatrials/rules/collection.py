"""COL: the collection as a whole, and its manifest."""

import os
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from seatrials.rules.credit import is_spdx
from seatrials.rules.model import CollectionRule, Hit, TaskReport
from seatrials.task.collection import MANIFEST, MAX_TASKS, TASK_FOLDERS, Collection
from seatrials.task.credit import ORIGINS
from seatrials.task.files import is_junk

_READ: Final = ("team_name", "track", "license", "origin")


def unreadable_manifest(collection: Collection, _: tuple[TaskReport, ...]) -> Iterator[Hit]:
    """`submission.yaml` is a flat YAML mapping.

    Why: the arena reads the team and the track from it.

    Fix: mend the line named.
    """
    manifest = collection.manifest
    for problem in manifest.problems if manifest is not None else ():
        yield Hit(path=problem.path, line=problem.line, message=problem.message)


def manifest_keys(collection: Collection, _: tuple[TaskReport, ...]) -> Iterator[Hit]:
    """`submission.yaml` names the team and the track.

    Why: the arena needs flat `team_name` and `track: environments` fields.

    Fix: write both; `team_name` can be your agent id or Hub handle.
    """
    manifest = collection.manifest
    if manifest is None or (manifest.problems and not manifest.data):
        return
    team, track = manifest.data.get("team_name"), manifest.data.get("track")
    if not isinstance(team, str) or not team.strip():
        line = manifest.lines.get(("team_name",))
        yield Hit(path=MANIFEST, line=line, message="`team_name` must be a name")
    if track != "environments":
        line = manifest.lines.get(("track",))
        yield Hit(path=MANIFEST, line=line, message="`track` must be `environments`")


def task_count(collection: Collection, tasks: tuple[TaskReport, ...]) -> Iterator[Hit]:
    """A collection holds 1 to 200 tasks.

    Why: the arena refuses more, and has nothing to train on with none.

    Fix: take a subset; for a larger Harbor set, submit a copy with at most 200 of its tasks.
    """
    if collection.manifest is not None and not 1 <= len(tasks) <= MAX_TASKS:
        yield Hit(path=collection.tasks_dir.name, message=f"{len(tasks)} tasks; 1 to {MAX_TASKS} are allowed")


def clashing_names(collection: Collection, tasks: tuple[TaskReport, ...]) -> Iterator[Hit]:
    """Names of tasks differ by more than case.

    Why: folders that differ only by case collide on macOS and Windows, and
    `org/name` must be unique without regard to case.

    Fix: rename one of the two.
    """
    for kind, names in (
        ("folder", [(task.name, task) for task in tasks]),
        ("name", [(task.full_name, task) for task in tasks if "/" in task.full_name]),
    ):
        seen: dict[str, str] = {}
        for name, task in names:
            other = seen.setdefault(name.casefold(), task.path)
            if other != task.path:
                path = f"{collection.tasks_dir.name}/{task.name}"
                yield Hit(path=path, message=f"the {kind} `{name}` is also that of `{other}`")


def misspelt_manifest_key(collection: Collection, _: tuple[TaskReport, ...]) -> Iterator[Hit]:
    """A key of `submission.yaml` is not a near miss of one that the arena reads.

    Why: other keys are accepted and mean nothing, so a misspelt one has no effect.

    Fix: correct the key, if that is what it should be.
    """
    manifest = collection.manifest
    for key in manifest.data if manifest is not None else ():
        if key not in _READ and (near := get_close_matches(key.lower(), _READ, n=1, cutoff=0.8)):
            line = manifest.lines.get((key,)) if manifest is not None else None
            yield Hit(path=MANIFEST, line=line, message=f"`{key}` is not a key that is read; `{near[0]}` is")


def bad_default(collection: Collection, _: tuple[TaskReport, ...]) -> Iterator[Hit]:
    """The `license` and `origin` of `submission.yaml` are ones that a task could declare.

    Why: they hold for every task that leaves them out.

    Fix: write an SPDX expression, and `original`, `adapted` or `generated`; both as plain text.
    """
    manifest = collection.manifest
    if manifest is None:
        return
    for key, is_good, said in (
        ("license", is_spdx, "an SPDX expression"),
        ("origin", ORIGINS.__contains__, "`original`, `adapted` or `generated`"),
    ):
        value = manifest.data.get(key)
        if value is not None and not (isinstance(value, str) and is_good(value)):
            message = f"`{key}` is `{str(value)[:60]}`; it must be {said}"
            yield Hit(path=MANIFEST, line=manifest.lines.get((key,)), message=message)


def two_task_folders(collection: Collection, _: tuple[TaskReport, ...]) -> Iterator[Hit]:
    """The tasks lie in one folder, `tasks/` or `envs/`.

    Why: with both, this kit reads `tasks/` only, and nobody can tell which is meant.

    Fix: move all tasks into one of them.
    """
    first, *others = [name for name in TASK_FOLDERS if (collection.root / name).is_dir()] or ("",)
    for name in others:
        yield Hit(path=name, message=f"`{name}/` stands beside `{first}/`, and its tasks are not read")


def folder_without_task(collection: Collection, tasks: tuple[TaskReport, ...]) -> Iterator[Hit]:
    """Each folder beside the tasks holds a task.

    Why: a folder without `task.md` or `task.toml` is passed over in silence.

    Fix: write the task's file, or move the folder elsewhere.
    """
    home = collection.tasks_dir
    known = {Path(task.path).relative_to(home).parts[0] for task in tasks if _is_below(task.path, home)}
    try:
        with os.scandir(home) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir())
    except OSError:
        return
    for name in names:
        if name not in known and not name.startswith(".") and not is_junk(name, directory=True):
            yield Hit(path=f"{home.name}/{name}", message=f"`{home.name}/{name}` holds no task")


def _is_below(path: str, folder: Path) -> bool:
    return Path(path) != folder and Path(path).is_relative_to(folder)


def manifest_email(collection: Collection, _: tuple[TaskReport, ...]) -> Iterator[Hit]:
    """`submission.yaml` publishes no e-mail address.

    Why: the arena takes the Hub account that submits for the contact; its
    legacy `contact_email` is accepted and not needed.

    Fix: delete the key.
    """
    manifest = collection.manifest
    for key, value in manifest.data.items() if manifest is not None else ():
        if key.lower().endswith("email") and value:
            line = manifest.lines.get((key,)) if manifest is not None else None
            yield Hit(
                path=MANIFEST, line=line, message=f"`{key}` is not needed; the Hub account is the contact"
            )


RULES: Final = (
    CollectionRule("COL101", "error", unreadable_manifest),
    CollectionRule("COL102", "error", manifest_keys),
    CollectionRule("COL103", "error", task_count),
    CollectionRule("COL104", "error", clashing_names),
    CollectionRule("COL105", "warning", misspelt_manifest_key),
    CollectionRule("COL106", "warning", bad_default),
    CollectionRule("COL107", "warning", two_task_folders),
    CollectionRule("COL108", "warning", folder_without_task),
    CollectionRule("COL109", "warning", manifest_email),
)
