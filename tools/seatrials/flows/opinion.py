"""Ask the arena's own scripts about what was checked, and see where the two differ."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from seatrials.arena.beside import differences
from seatrials.arena.opinion import Opinion, Opinions, SecondOpinion
from seatrials.arena.results import StaticFinding
from seatrials.errors import UsageError
from seatrials.findings import Finding
from seatrials.judge.gates import is_gate
from seatrials.judge.run import CheckReport
from seatrials.release.stage import copy_task
from seatrials.task.collection import Selection, select

_COMPARED: Final = frozenset({"block", "error", "reject", "controls", "review"})


def second_opinion(report: CheckReport, targets: Sequence[str], opinions: Opinions) -> SecondOpinion:
    """Ask the arena's scripts about the tasks of a report.

    They see a copy of what would be published, and can spoil nothing. Raises
    as `Opinions.fetched` does; UsageError where two tasks have the same name,
    RefusedError for a task that can't be published.
    """
    wanted = {task.path for task in report.tasks}
    selection = select(targets)
    names = Counter(task.name for task in selection.tasks if task.label in wanted)
    if twice := [name for name, number in names.items() if number > 1]:
        raise UsageError(f"two tasks are named `{twice[0]}`; the arena's scripts tell tasks by their folders")
    with tempfile.TemporaryDirectory(prefix="seatrials-") as room:
        said = opinions.of(_copied(selection, wanted, Path(room)), names)
    theirs = [found for opinion in said for found in opinion.findings or ()]
    return SecondOpinion(
        url=opinions.site.url,
        tasks=len(report.tasks),
        opinions=said,
        differences=differences(
            (found for found in theirs if found.severity in _COMPARED), _ours(report, said)
        ),
    )


def _copied(selection: Selection, wanted: Iterable[str], room: Path) -> Path:
    """Copy tasks, and the collection's manifest, as the arena reads them; return the folder of tasks."""
    folder = room / "collection" / "envs"
    folder.mkdir(parents=True)
    for task in selection.tasks:
        if task.label in wanted:
            copy_task(task, folder / task.name)
            task.forget()
    collection = selection.collection
    if collection is not None and collection.manifest_path.is_file():
        (folder.parent / collection.manifest_path.name).write_bytes(collection.manifest_path.read_bytes())
    return folder


def _ours(report: CheckReport, said: Iterable[Opinion]) -> Iterator[StaticFinding]:
    """Yield our findings of the kinds that those scripts judge whose words could be read."""
    read = {opinion.script for opinion in said if opinion.findings is not None}

    def is_judged(found: Finding) -> bool:
        if is_gate(found.code):
            return "validation_gates.py" in read
        return "check_task.py" in read and found.severity == "error"

    return our_findings(report, is_judged)


def our_findings(report: CheckReport, wanted: Callable[[Finding], bool]) -> Iterator[StaticFinding]:
    """Yield a report's findings in the arena's shape, those waived too: the arena knows no waivers."""
    for task in report.tasks:
        for found in (*task.findings, *(waived.finding for waived in task.waived)):
            if wanted(found):
                yield StaticFinding(
                    severity=found.severity,
                    code=found.code,
                    task=task.name,
                    path=found.path,
                    message=found.message,
                )
