"""COL: the collection as a whole, and its manifest."""

from collections.abc import Iterator
from typing import Final

from seatrials.rules.model import CollectionRule, Hit, TaskReport
from seatrials.task.collection import MANIFEST, MAX_TASKS, Collection


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


RULES: Final = (
    CollectionRule("COL101", "error", unreadable_manifest),
    CollectionRule("COL102", "error", manifest_keys),
    CollectionRule("COL103", "error", task_count),
    CollectionRule("COL104", "error", clashing_names),
)
