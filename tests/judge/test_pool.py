"""Many tasks in watched processes: the same reports in the same order, whatever a task does."""

import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrials.judge import pool, run
from seatrials.judge.pool import Options, check_all
from seatrials.judge.run import check_task
from seatrials.proc import start_method
from seatrials.rules import limits
from seatrials.rules.model import Hit, TaskReport, TaskRule
from seatrials.task.package import TaskPackage

# The tests' own process has threads when it is one of pytest-xdist's; the workers use none of them.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")

linux = pytest.mark.skipif(pool.sys.platform != "linux", reason="rules are injected by forking")


@pytest.fixture
def tasks(native_task: Path, tmp_path: Path) -> list[TaskPackage]:
    """Forty copies of a good task, every third without its verifier."""
    out = []
    for number in range(40):
        folder = shutil.copytree(native_task, tmp_path / "many" / f"task-{number:02d}")
        if number % 3 == 0:
            (folder / "verifier" / "test.sh").unlink()
        out.append(TaskPackage(folder))
    return out


def inject(monkeypatch: pytest.MonkeyPatch, rule: TaskRule) -> None:
    """Make one rule run in the workers, in place of all others."""

    def only(task: TaskPackage, **options: object) -> TaskReport:
        return check_task(task, rules=(rule,), **options)  # type: ignore[arg-type]

    monkeypatch.setattr(pool, "start_method", lambda: "fork")
    monkeypatch.setattr(pool, "check_task", only)


def codes(report: TaskReport) -> list[str]:
    """Return the codes of a report."""
    return [finding.code for finding in report.findings]


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_reports_are_those_of_one_process(jobs: int, tasks: list[TaskPackage]) -> None:
    """Any number of processes gives the serial reports, in the tasks' order."""
    seen: list[str] = []
    reports = check_all(tasks, Options(), jobs=jobs, on_task=lambda report: seen.append(report.name))
    assert reports == tuple(check_task(task) for task in tasks)
    assert sorted(seen) == [task.name for task in tasks]


def test_no_tasks_need_no_process() -> None:
    """Nothing to check gives nothing."""
    assert check_all([], Options(), jobs=2) == ()


def test_profile_reaches_the_workers(tasks: list[TaskPackage]) -> None:
    """The workers check by the profile asked for."""
    reports = check_all(tasks[:2], Options(profile="benchflow"), jobs=2)
    assert reports == tuple(check_task(task, profile="benchflow") for task in tasks[:2])


@linux
def test_task_that_takes_its_process_down_is_a_finding(
    tasks: list[TaskPackage], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that is killed costs its task KIT103, and no other task anything."""

    def deadly(task: TaskPackage) -> Iterator[Hit]:
        """Die on two of the tasks."""
        if task.name in {"task-05", "task-06"}:
            os.kill(os.getpid(), signal.SIGKILL)
        yield Hit(message="alive")

    inject(monkeypatch, TaskRule("XXX101", "error", deadly))
    reports = check_all(tasks, Options(), jobs=2)
    assert [report.name for report in reports] == [task.name for task in tasks]
    for report in reports:
        assert codes(report) == (["KIT103"] if report.name in {"task-05", "task-06"} else ["XXX101"])
    assert "signal 9" in reports[5].findings[0].message


@linux
def test_task_that_overruns_its_time_is_a_finding(
    tasks: list[TaskPackage], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task whose check never ends costs itself KIT101, and no other task anything."""

    def slow(task: TaskPackage) -> Iterator[Hit]:
        """Hang on one of the tasks."""
        if task.name == "task-05":
            time.sleep(60)
        yield Hit(message="alive")

    monkeypatch.setattr(run, "SECONDS", 0.2)
    monkeypatch.setattr(limits, "SECONDS", 0.2)
    inject(monkeypatch, TaskRule("XXX101", "error", slow))
    reports = check_all(tasks, Options(), jobs=2)
    assert [codes(report) for report in reports] == [
        ["KIT101"] if task.name == "task-05" else ["XXX101"] for task in tasks
    ]


@linux
def test_task_that_hangs_outside_of_python_is_a_finding(
    tasks: list[TaskPackage], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no signal handler can run, inside a C function, the process is ended and replaced."""

    def stuck(task: TaskPackage) -> Iterator[Hit]:
        """Stay in the search of a regular expression, which hears no alarm, on one of the tasks."""
        if task.name == "task-05":
            re.match(r"(a+)+b", "a" * 60)
        yield Hit(message="alive")

    monkeypatch.setattr(run, "SECONDS", 0.2)
    monkeypatch.setattr(limits, "SECONDS", 0.2)
    monkeypatch.setattr(pool, "_GRACE", 0.2)
    inject(monkeypatch, TaskRule("XXX101", "error", stuck))
    reports = check_all(tasks[:8], Options(), jobs=1)
    assert [codes(report) for report in reports] == [
        ["KIT101"] if task.name == "task-05" else ["XXX101"] for task in tasks[:8]
    ]


@linux
def test_no_process_is_left_behind(tasks: list[TaskPackage], monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is interrupted half-way ends its workers."""
    import multiprocessing

    def interrupt(_: TaskReport) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_all(tasks, Options(), jobs=3, on_task=interrupt)
    assert multiprocessing.active_children() == []


def test_only_a_process_without_threads_is_forked() -> None:
    """Where another thread runs, workers start afresh."""
    import threading

    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert start_method() == "spawn"
    finally:
        stop.set()
        thread.join()


def test_earlier_results_are_used_and_kept(
    tasks: list[TaskPackage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second run gives the same reports without running a rule, and a changed task is checked again."""
    options = Options(cache=tmp_path / "cache")
    first = check_all(tasks, options, jobs=2)
    if pool.sys.platform == "linux":
        monkeypatch.setattr(pool, "start_method", lambda: "fork")
        monkeypatch.setattr(run, "TASK_RULES", ())
        monkeypatch.setattr(run.check_task, "__kwdefaults__", run.check_task.__kwdefaults__ | {"rules": ()})
    assert check_all(tasks, options, jobs=2) == first
    (tasks[1].root / "verifier" / "test.sh").unlink()
    monkeypatch.undo()
    tasks[1].forget()
    again = check_all(tasks, options, jobs=2)
    assert again[1] != first[1]
    assert again[2:] == first[2:]


@linux
def test_without_reuse_nothing_is_kept_from_task_to_task(
    tasks: list[TaskPackage], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the kit parses is kept for the next task that has the same file, unless that is not wanted."""
    from seatrials.parse.shell import parse_shell

    def count(task: TaskPackage) -> Iterator[Hit]:
        """Tell how many scripts had to be parsed so far."""
        before = parse_shell.cache_info().hits
        parse_shell(b"echo the same in every task")
        yield Hit(message="known" if parse_shell.cache_info().hits > before else "parsed")

    inject(monkeypatch, TaskRule("XXX101", "error", count))
    parse_shell.cache_clear()
    for reuse, said in ((True, ["parsed"] + ["known"] * 7), (False, ["parsed"] * 8)):
        reports = check_all(tasks[:8], Options(reuse=reuse), jobs=1)
        assert [report.findings[0].message for report in reports] == said


@linux
def test_what_was_not_checked_is_not_kept(
    tasks: list[TaskPackage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault, or a check that did not end, is never taken for a result later."""

    def broken(_: TaskPackage) -> Iterator[Hit]:
        """Fail at once."""
        raise ValueError("broken")
        yield

    options = Options(cache=tmp_path / "cache")
    with monkeypatch.context() as patch:
        inject(patch, TaskRule("XXX101", "error", broken))
        assert {code for report in check_all(tasks, options, jobs=2) for code in codes(report)} == {"KIT102"}
    assert check_all(tasks, options, jobs=2) == tuple(check_task(task) for task in tasks)
