"""Check what a user named: find the tasks, see what changed, use earlier results, run the rules."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from seatrials.judge.cache import default_folder
from seatrials.judge.changed import touched
from seatrials.judge.choice import EVERYTHING, Choice
from seatrials.judge.gates import summarize
from seatrials.judge.pool import Options, check_all
from seatrials.judge.run import CheckReport, report_on
from seatrials.proc import processors
from seatrials.rules.model import Profile, TaskReport
from seatrials.rules.overlap import FOLDER, load_suites, overlapping
from seatrials.task.collection import Selection, select
from seatrials.vcs import changed_since


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What to check and how.

    `changed` is a git revision; `jobs` 0 stands for one a processor; `cached`
    and `reuse` are for earlier results and for what is parsed (see `Options`).
    A `selection` goes before `targets`; held-out suites are then looked for
    here, not in that collection.
    """

    targets: Sequence[str]
    profile: Profile = "arena"
    choice: Choice = EVERYTHING
    changed: str | None = None
    jobs: int = 0
    cached: bool = True
    reuse: bool = True
    selection: Selection | None = None


def check(request: Request, watch: Callable[[int, int], None] = lambda _, __: None) -> CheckReport:
    """Check, and return what is wanted of the report.

    `watch` is called with the number of tasks done and of all. Raises
    UsageError for a target that is not there and where git can't tell.
    """
    selection = request.selection or select(request.targets)
    tasks, collection = selection.tasks, selection.collection
    shown: frozenset[str] | None = None
    if request.changed is not None:
        concerned = touched(selection, changed_since(request.changed, Path()))
        shown = frozenset(task.label for task in concerned.tasks)
        if not concerned.collection:
            # What is said of a collection depends on all of its tasks: they are read only where it is wanted.
            tasks, collection = concerned.tasks, None
    options = Options(
        profile=request.profile,
        cache=default_folder() if request.cached else None,
        reuse=request.reuse,
    )
    done = 0

    def on_task(_: TaskReport) -> None:
        nonlocal done
        done += 1
        watch(done, len(tasks))

    # Read before the work: a file that is no fingerprint ends the run at once.
    own = collection is not None and request.selection is None
    home = collection.root if collection is not None and own else Path()
    suites = load_suites(home / FOLDER) if request.profile == "arena" else ()
    reports = check_all(tasks, options, jobs=request.jobs or processors(), on_task=on_task)
    if suites:
        reports = tuple(overlapping(tasks, reports, suites))
    # What a change brought is told where it stands, and not among what all other tasks lack.
    counting = request.changed is None
    report = report_on(collection, reports, profile=request.profile, counting=counting)
    if shown is not None:
        report = replace(report, tasks=tuple(task for task in report.tasks if task.path in shown))
    if request.profile == "arena":
        report = replace(report, gates=summarize(report.tasks, (suite.name for suite in suites)))
    return report.keeping(request.choice.keeps)
