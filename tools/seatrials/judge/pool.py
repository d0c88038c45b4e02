"""Check many tasks in several processes, each watched: no task can stop the check of the others.

A worker gets a few tasks at once. Where it ends in the midst of them, each is
checked by itself by another, and the one that ends that too is known. A worker
that overran its time on a task is replaced.
"""

import gc
import multiprocessing
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from seatrials.findings import Finding
from seatrials.judge.cache import ResultCache, key
from seatrials.judge.run import check_task
from seatrials.proc import start_method
from seatrials.rules import limits
from seatrials.rules.model import KitRule, Profile, TaskReport
from seatrials.task.credit import Credit
from seatrials.task.package import DOCUMENT, TaskPackage

_AHEAD: Final = 2
_BATCH: Final = 8
_GRACE: Final = 2.0
_OVERRAN: Final = -signal.SIGPROF
"""The exit code of a worker that the system ended at the last of its time."""

_NOT_KEPT: Final = frozenset(rule.code for rule in limits.RULES)


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """What every task of a run is checked with.

    `cache` is the folder of earlier results, None for none. Without `reuse` a
    script that several tasks share is parsed for each anew, to measure that.
    """

    profile: Profile = "arena"
    cache: Path | None = None
    reuse: bool = True


def check_all(
    tasks: Sequence[TaskPackage],
    options: Options,
    *,
    jobs: int,
    on_task: Callable[[TaskReport], None] = lambda _: None,
) -> tuple[TaskReport, ...]:
    """Check tasks with at most `jobs` processes and return their reports in the tasks' order.

    `on_task` is called with each report as it comes, in any order. Memory does
    not grow with the tasks' files. Whatever happens, no process is left behind.
    """
    reports: list[TaskReport | None] = [None] * len(tasks)
    fresh: list[tuple[str, TaskReport]] = []
    shared = _Shared()
    with _Crew.of(tasks, options, min(jobs, -(-len(tasks) // _BATCH))) as crew:
        try:
            for index, name, report in crew.results():
                report = shared.report(report)  # noqa: PLW2901
                reports[index] = report
                if name:
                    fresh.append((name, report))
                on_task(report)
        finally:
            if options.cache is not None:
                ResultCache(options.cache).put(fresh)
    return tuple(report for report in reports if report is not None)


@dataclass(kw_only=True)
class _Shared:
    """What many reports have in common, kept once: most findings in a set of tasks are the same."""

    findings: dict[Finding, Finding] = field(default_factory=dict)
    credits: dict[str, Credit] = field(default_factory=dict)

    def report(self, report: TaskReport) -> TaskReport:
        """Return the same report, made of what is known already where it can be."""
        credit = report.credit
        return replace(
            report,
            findings=tuple(self.findings.setdefault(found, found) for found in report.findings),
            credit=self.credits.setdefault(repr(credit), credit) if credit is not None else None,
        )


@dataclass(kw_only=True, eq=False)
class _Worker:
    process: BaseProcess
    connection: Connection
    given: deque[list[int]] = field(default_factory=deque)


@dataclass(kw_only=True)
class _Crew:
    tasks: Sequence[TaskPackage]
    options: Options
    size: int
    context: BaseContext
    waiting: deque[list[int]]
    workers: list[_Worker] = field(default_factory=list)

    @classmethod
    @contextmanager
    def of(cls, tasks: Sequence[TaskPackage], options: Options, size: int) -> Iterator["_Crew"]:
        """Hire workers, and send them off at the end, whatever happens."""
        context = multiprocessing.get_context(start_method())
        indexes = range(len(tasks))
        waiting = deque(list(indexes[start : start + _BATCH]) for start in indexes[::_BATCH])
        crew = cls(tasks=tasks, options=options, size=size, context=context, waiting=waiting)
        try:
            yield crew
        finally:
            for worker in crew.workers:
                worker.process.kill()
                worker.process.join()
                worker.connection.close()

    def results(self) -> Iterator[tuple[int, str, TaskReport]]:
        """Yield each task's index, the key to store its report under (empty: don't), and the report."""
        while self.waiting or any(worker.given for worker in self.workers):
            while self.waiting and len(self.workers) < self.size:
                self._hire()
            for worker in self.workers:
                self._feed(worker)
            busy = {worker.connection: worker for worker in self.workers if worker.given}
            for connection in wait(list(busy)):
                yield from self._hear(busy[connection])  # type: ignore[index]

    def _hire(self) -> None:
        ours, theirs = self.context.Pipe()
        # A forked child holds copies of our ends; it closes them to notice when we are gone.
        forked = self.context.get_start_method() == "fork"
        copies = [ours, *(worker.connection for worker in self.workers)] if forked else []
        names = [(task.root, task.label) for task in self.tasks]
        process = self.context.Process(  # type: ignore[attr-defined]
            target=_work, args=(theirs, copies, names, self.options), daemon=True
        )
        # Held back until the child ignores it: Ctrl-C reaches the whole group, and it is ours to handle.
        masked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
            self.workers.append(_Worker(process=process, connection=ours))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)
        theirs.close()

    def _feed(self, worker: _Worker) -> None:
        while self.waiting and len(worker.given) < _AHEAD:
            try:
                worker.connection.send(self.waiting[0])
            except OSError:  # it is gone; `_hear` finds out how
                if not worker.given:
                    worker.given.append(self.waiting.popleft())
                return
            worker.given.append(self.waiting.popleft())

    def _hear(self, worker: _Worker) -> Iterator[tuple[int, str, TaskReport]]:
        batch = worker.given.popleft()
        try:
            answers = worker.connection.recv()
        except (EOFError, OSError):
            worker.process.join(_GRACE)
            # Which task of a batch it was shows once each is checked by itself.
            self._dismiss(worker, [[index] for index in batch] if len(batch) > 1 else [])
            if len(batch) == 1:
                yield batch[0], "", _unchecked(self.tasks[batch[0]], worker.process.exitcode)
            return
        if len(answers) < len(batch) or _overran(answers[-1][1]):
            self._dismiss(worker, [batch[len(answers) :]])
        for index, (name, report) in zip(batch, answers, strict=False):
            yield index, name, report

    def _dismiss(self, worker: _Worker, left: Sequence[list[int]]) -> None:
        """End a worker that died or overran its time; what it had left goes to the others."""
        self.waiting.extendleft(batch for batch in reversed([*left, *worker.given]) if batch)
        worker.given.clear()
        self.workers.remove(worker)
        worker.process.kill()
        worker.process.join()
        worker.connection.close()


def _overran(report: TaskReport) -> bool:
    return any(finding.code == limits.TOO_LONG.code for finding in report.findings)


def _unchecked(task: TaskPackage, code: int | None) -> TaskReport:
    """Return the report on a task whose check ended the process: nothing of it is known."""
    if code == _OVERRAN:
        rule: KitRule = limits.TOO_LONG
        hit = limits.took_too_long()
    else:
        rule = limits.DIED
        hit = limits.check_died(
            f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"
        )
    return TaskReport(
        name=task.name,
        full_name=task.name,
        path=task.label,
        format="native" if (task.root / DOCUMENT).exists() else "harbor",
        content_hash="",
        findings=(rule.finding(hit),),
    )


def _work(
    connection: Connection,
    copies: Sequence[Connection],
    names: Sequence[tuple[Path, str]],
    options: Options,
) -> None:
    """Check the tasks whose indexes come in, until the other end is closed."""
    # What came with the fork is never garbage, and looking at it would copy its pages.
    gc.freeze()
    # Most objects live as long as their task: looking for garbage less often costs a few MB.
    gc.set_threshold(50_000, 10, 10)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    for copy in copies:
        copy.close()
    cache = ResultCache(options.cache) if options.cache is not None else None
    stores = [] if options.reuse else _stores()
    try:
        while True:
            answers: list[tuple[str, TaskReport]] = []
            for index in connection.recv():
                root, label = names[index]
                task = TaskPackage(root, label=label)
                size = sum(file.size for file in task.files.values())
                # The last resort where the time limit can't be heard, inside a C function for one: the
                # system ends the process once it has used so many seconds of a processor.
                signal.setitimer(signal.ITIMER_PROF, limits.allowance(size) * 1.5 + _GRACE)
                answers.append(_judged(task, options, cache))
                signal.setitimer(signal.ITIMER_PROF, 0)
                for clear in stores:
                    clear()
                if _overran(answers[-1][1]):
                    break
            connection.send(answers)
    except (EOFError, OSError):
        return


def _stores() -> list[Callable[[], None]]:
    """Return what empties each store of facts about files that tasks may share."""
    values = [
        value
        for name, module in list(sys.modules.items())
        if name.startswith(("seatrials.parse.", "seatrials.rules."))
        for value in vars(module).values()
        if hasattr(value, "cache_parameters")
    ]
    # What is kept once is a grammar, or of one task; what is kept without end is no fact about a file.
    return [value.cache_clear for value in values if value.cache_parameters()["maxsize"] not in {1, None}]


def _judged(task: TaskPackage, options: Options, cache: ResultCache | None) -> tuple[str, TaskReport]:
    """Return a report and the key to store it under, empty where it is not to be stored."""
    name = ""

    def known(task: TaskPackage) -> TaskReport | None:
        nonlocal name
        assert cache is not None  # noqa: S101
        name = key(task, profile=options.profile)
        found = cache.get(name, task)
        if found is not None:
            name = ""
        return found

    report = check_task(
        task, profile=options.profile, limited=True, known=known if cache is not None else None
    )
    keep = not any(finding.code in _NOT_KEPT for finding in report.findings)
    return (name if keep else ""), report
