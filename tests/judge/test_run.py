"""One task's check: it always ends, in time, and a rule at fault hides nothing."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrials.judge import run
from seatrials.judge.run import check, check_task
from seatrials.rules import TASK_RULES, limits
from seatrials.rules.model import CollectionRule, Hit, TaskReport, TaskRule
from seatrials.task.collection import Collection, select
from seatrials.task.package import TaskPackage


def found(task: TaskPackage) -> Iterator[Hit]:
    """Find something everywhere."""
    yield Hit(message=f"found in {task.name}")


def slow(_: TaskPackage) -> Iterator[Hit]:
    """Find something, then never end."""
    yield Hit(message="before")
    while True:
        time.sleep(0.01)


def endless_match(_: TaskPackage) -> Iterator[Hit]:
    """Backtrack for years."""
    re.fullmatch(r"(a+)+b", "a" * 60)
    yield Hit(message="never")


def swallows(_: TaskPackage) -> Iterator[Hit]:
    """Never end, and hold back every exception that it knows of."""
    while True:
        try:
            time.sleep(0.01)
        except Exception:  # noqa: BLE001
            continue
    yield Hit(message="never")


def broken(_: TaskPackage) -> Iterator[Hit]:
    """Find something, then fail."""
    yield Hit(message="before")
    raise KeyError("no such\nkey")


FOUND = TaskRule("XXX101", "warning", found)


def codes(report: TaskReport) -> list[str]:
    """Return the codes of a report in its order."""
    return [finding.code for finding in report.findings]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every task a fifth of a second."""
    monkeypatch.setattr(limits, "SECONDS", 0.2)
    monkeypatch.setattr(run, "SECONDS", 0.2)


@pytest.mark.parametrize("rule", [slow, endless_match, swallows])
@pytest.mark.usefixtures("short")
def test_slow_rule_ends_in_a_finding(rule: object, native_task: Path) -> None:
    """A task that keeps a rule busy past its time gets KIT101 and keeps what was found before."""
    rules = (FOUND, TaskRule("XXX102", "error", rule), TaskRule("XXX103", "error", found))  # type: ignore[arg-type]
    report = check_task(TaskPackage(native_task), rules=rules, limited=True)
    assert [code for code in codes(report) if code != "XXX102"] == ["XXX101", "KIT101"]
    assert report.findings[-1].severity == "reject"
    assert report.content_hash == TaskPackage(native_task).content_hash


@pytest.mark.usefixtures("short")
def test_slow_reading_ends_in_a_finding(native_task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time covers the reading of the task too; its hash is then not known."""
    monkeypatch.setattr(TaskPackage, "content_hash", property(lambda _: time.sleep(60)))
    report = check_task(TaskPackage(native_task), rules=(FOUND,), limited=True)
    assert codes(report) == ["KIT101"]
    assert report.content_hash == ""


def test_time_grows_with_the_files_up_to_an_end() -> None:
    """A large data set gets the time to be read; a file that claims to be endless does not."""
    assert limits.allowance(0) == limits.SECONDS
    assert limits.allowance(10 * limits.BYTES_PER_SECOND) == limits.SECONDS + 10
    assert limits.allowance(10**15) == limits.MOST_SECONDS


def test_no_alarm_is_left_behind(native_task: Path) -> None:
    """After a check the process's own timer and handler are as before."""
    import signal

    before = signal.getsignal(signal.SIGALRM)
    check_task(TaskPackage(native_task), limited=True)
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_rule_that_raises_is_a_finding(native_task: Path) -> None:
    """A fault of one rule is told with its code and error, and the other rules run all the same."""
    rules = (TaskRule("XXX102", "error", broken), FOUND)
    report = check_task(TaskPackage(native_task), rules=rules)
    assert codes(report) == ["XXX102", "KIT102", "XXX101"]
    assert report.findings[1].message == "a fault of seatrials in the rule XXX102: KeyError: 'no such\\nkey'"


def test_reading_that_raises_is_a_finding(native_task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the read room ends in a finding for the task, not in the end of the run."""
    monkeypatch.setattr(TaskPackage, "content_hash", property(lambda _: 1 // 0))
    report = check_task(TaskPackage(native_task))
    assert codes(report) == ["KIT102"]
    assert "reading the task: ZeroDivisionError" in report.findings[0].message


def out_of_memory(_: TaskPackage) -> Iterator[Hit]:
    """A rule that finds no memory."""
    raise MemoryError
    yield


def test_task_too_large_for_the_memory_is_rejected(
    native_task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task that exhausts the memory is at fault, in a rule as in the reading, and not the kit."""
    rules = (TaskRule("XXX103", "error", out_of_memory),)
    assert codes(check_task(TaskPackage(native_task), rules=rules)) == ["KIT103"]
    monkeypatch.setattr(TaskPackage, "content_hash", property(lambda task: next(out_of_memory(task))))
    assert codes(check_task(TaskPackage(native_task))) == ["KIT103"]


def test_rule_tells_a_hundred_findings_and_that_there_are_more(native_task: Path) -> None:
    """A rule that finds something without end is stopped, and the others run."""

    def endless(_: TaskPackage) -> Iterator[Hit]:
        """Never run out of findings."""
        while True:
            yield Hit(message="one more", path="task.md", line=1)

    def hundred(_: TaskPackage) -> Iterator[Hit]:
        """Find just as many as are told."""
        yield from [Hit(message="one", path="task.md", line=1)] * 100

    rules = (TaskRule("XXX102", "error", endless), TaskRule("XXX103", "error", hundred), FOUND)
    found = codes(check_task(TaskPackage(native_task), rules=rules))
    assert found == ["XXX102"] * 101 + ["XXX103"] * 100 + ["XXX101"]


def test_collection_rule_that_raises_is_a_finding(collection: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of a rule about the collection is told too, and makes the report a faulty one."""

    def bad(_: Collection, __: tuple[TaskReport, ...]) -> Iterator[Hit]:
        """Fail at once."""
        raise OSError("gone")
        yield

    monkeypatch.setattr(run, "COLLECTION_RULES", (CollectionRule("XXX201", "error", bad),))
    report = check(select([str(collection)]))
    assert [finding.code for finding in report.collection_findings] == ["KIT102"]
    assert report.faulty
    assert not report.keeping(lambda code: code != "KIT102").faulty


def test_good_tasks_have_no_fault(native_task: Path) -> None:
    """The rules as they are find nothing in a good task within the time."""
    assert codes(check_task(TaskPackage(native_task), rules=TASK_RULES, limited=True)) == []
