"""A fetched collection before its replay: checked, gated, and what the replay would do."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from seatrials.errors import UsageError
from seatrials.findings import Finding
from seatrials.flows.check import Request, check
from seatrials.flows.fetch import Fetched
from seatrials.judge.run import CheckReport
from seatrials.replay.outlook import Outlook, outlook
from seatrials.replay.reading import spec_of
from seatrials.replay.runner import ReplayOptions
from seatrials.task.package import TaskPackage

_RUNS_ALL_THE_SAME: Final = frozenset({"STR108"})
"""Errors that are no matter to a replay: it runs the PostTrain format, which BenchFlow refuses."""

_NOT_TOLD: Final = "COL108"
"""The folders that hold no task."""


@dataclass(frozen=True, kw_only=True)
class Prospect:
    """What was found of a collection: the report of check, and the tasks that a replay would run.

    `refused` are the others, each with the finding that keeps it out.
    """

    fetched: Fetched
    report: CheckReport
    tasks: tuple[TaskPackage, ...]
    outlooks: tuple[Outlook, ...]
    refused: Mapping[str, Finding]


def prospect(fetched: Fetched, watch: Callable[[int, int], None] = lambda _, __: None) -> Prospect:
    """Check what was fetched, and look at what its replay would do; nothing is run."""
    report = _checked(fetched, watch)
    refused: dict[str, Finding] = {}
    for task in report.tasks:
        for finding in task.findings:
            if finding.severity in {"block", "error"} and finding.code not in _RUNS_ALL_THE_SAME:
                refused.setdefault(task.path, finding)
    tasks = tuple(task for task in fetched.selection.tasks if task.label not in refused)
    return Prospect(
        fetched=fetched,
        report=report,
        tasks=tasks,
        outlooks=tuple(outlook(spec_of(task)) for task in tasks),
        refused=refused,
    )


def _checked(fetched: Fetched, watch: Callable[[int, int], None]) -> CheckReport:
    """Check the tasks where they lie, and name them as the data set does."""
    labels = {task.root.as_posix(): task.label for task in fetched.selection.tasks}
    here = replace(fetched.selection, tasks=tuple(TaskPackage(task.root) for task in fetched.selection.tasks))
    report = check(Request(targets=(), selection=here), watch)
    # Of a part of a collection, or beside parts that came earlier, this can't be said.
    findings = tuple(finding for finding in report.collection_findings if finding.code != _NOT_TOLD)
    return replace(
        report,
        tasks=tuple(replace(task, path=labels[task.path]) for task in report.tasks),
        collection_path=fetched.offer.address.repo,
        collection_findings=findings,
    )


def options(found: Prospect, *, reruns: int, only: str | None, jobs: object, force: bool,
            given: Sequence[str]) -> ReplayOptions:  # fmt: skip
    """Return how to replay it: with no variable of this machine but those `given`.

    Results are kept beside the downloads of the data set, so that a task that
    did not change from one commit to the next is not run again. Raises
    UsageError for a variable that is not set here.
    """
    for name in given:
        if name not in os.environ:
            raise UsageError(f"`--env {name}`: that variable is not set here")
    return ReplayOptions(
        reruns=reruns,
        kinds=("oracle", "noop") if only is None else ("oracle",) if only == "oracle" else ("noop",),
        jobs=jobs if isinstance(jobs, int) else "auto",
        force=force,
        root=found.fetched.home,
        host_env={name: os.environ[name] for name in given},
    )
