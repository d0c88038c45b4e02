"""The report for people: worst first, counts last, a screen at most, and nothing that a terminal obeys."""

import io
import re
from dataclasses import replace

import pytest

from seatrials.findings import Finding, Severity
from seatrials.judge.run import CheckReport
from seatrials.report.check_text import render
from seatrials.report.terminal import Terminal, terminal_of
from seatrials.rules.model import Skip, TaskReport, Waived


def finding(
    code: str, severity: Severity = "error", message: str = "it is wrong", **place: object
) -> Finding:
    """Return a finding."""
    fields: dict[str, object] = {"path": "task.md", "line": 3} | place
    return Finding(code=code, severity=severity, message=message, **fields)  # type: ignore[arg-type]


def task(name: str, *findings: Finding, skipped: tuple[Skip, ...] = ()) -> TaskReport:
    """Return a task's report."""
    return TaskReport(
        name=name,
        full_name=name,
        path=f"tasks/{name}",
        format="native",
        content_hash="sha256:" + "0" * 64,
        findings=findings,
        skipped=skipped,
    )


def report(*tasks: TaskReport, collection: tuple[Finding, ...] = ()) -> CheckReport:
    """Return a whole report."""
    return CheckReport(tasks=tasks, collection_path=".", collection_findings=collection)


def test_worst_task_comes_first_and_counts_last() -> None:
    """Tasks are ordered by their worst finding, findings within a task too."""
    text = render(
        report(
            task("clean"),
            task("mild", finding("DOC105", "warning")),
            task("bad", finding("DOC105", "warning"), finding("DOC101", "error")),
        )
    )
    lines = text.splitlines()
    assert [line for line in lines if line.startswith("tasks/")] == ["tasks/bad", "tasks/mild"]
    assert lines[1] == "  error    DOC101  task.md:3: it is wrong"
    assert lines[2] == "  warning  DOC105  task.md:3: it is wrong"
    assert lines[-1] == "3 tasks checked, 1 clean: 1 error, 2 warnings"


def test_clean_report_is_one_line() -> None:
    """Where nothing is found, only the counts are printed."""
    assert render(report(task("a"))) == "1 task checked, 1 clean: no findings\n"


def test_collection_findings_are_shown_under_its_path() -> None:
    """What is wrong with the collection stands under its folder."""
    text = render(report(task("a"), collection=(finding("COL102", path="submission.yaml", line=None),)))
    assert text.startswith(".\n  error    COL102  submission.yaml: it is wrong\n")


def test_first_look_at_many_tasks_fits_a_screen() -> None:
    """A code that many tasks share is told once, with their number and two examples; the rest is counted."""
    tasks = [
        task(f"t{n}", finding("ORA101", "controls"), *[finding(f"DOC10{n % 3}")] * (n % 2)) for n in range(60)
    ]
    odd = task("odd", *[finding("STR101", message=f"number {n}") for n in range(3)])
    text = render(report(*tasks, odd), terminal=Terminal(rows=12))
    body, counts = text.rsplit("\n\n", 1)
    assert len(body.splitlines()) <= 12
    assert "controls ORA101  in 60 tasks, such as t" in body
    assert "error    DOC101  in 10 tasks, such as t" in body
    assert counts.splitlines()[-1] == "61 tasks checked, 0 clean: 33 errors, 60 controls"
    assert body.splitlines()[-1].startswith("... and ")
    told = sum(int(number) for number in re.findall(r"in (\d+) tasks", body))
    told += sum("number" in line for line in body.splitlines())
    hidden = int(re.search(r"\.\.\. and (\d+) more", body)[1])  # type: ignore[index]
    assert told + hidden == 93


@pytest.mark.parametrize("width", [None, 50, 100])
@pytest.mark.parametrize("rows", [10, 18, 40])
def test_first_look_counts_what_it_leaves_out(rows: int, width: int | None) -> None:
    """However little fits, what is told and what is said to be left out are all the findings."""
    long = "words that wrap on a narrow terminal, " * 4
    tasks = [
        task("one", *[finding("FIL105", "warning", message=f"file {n}; {long}") for n in range(9)]),
        task("two", *[finding(f"DOC1{n:02d}", message=f"line {n}; {long}") for n in range(30)]),
        task("three", finding("STR101", message="alone")),
    ]
    text = render(report(*tasks), terminal=Terminal(rows=rows, width=width))
    body, counts = text.rsplit("\n\n", 1)
    assert counts.splitlines()[-1] == "3 tasks checked, 0 clean: 31 errors, 9 warnings"
    assert len(body.splitlines()) <= rows
    told = sum(
        line.split()[0] in {"error", "warning"} and "more in this" not in line for line in body.splitlines()
    )
    folded = sum(int(number) for number in re.findall(r"and (\d+) more in this task", body))
    left = re.search(r"\.\.\. and (\d+) more finding", body)
    assert told + folded + (int(left[1]) if left else 0) == 40
    assert told


def test_verbose_shows_every_finding_and_what_was_skipped() -> None:
    """With -v nothing is grouped or left out, and a rule that did not run is named with the reason."""
    tasks = [
        task(f"t{n}", finding("ORA101"), skipped=(Skip(code="STR104", reason="after DOC101"),))
        for n in range(60)
    ]
    text = render(report(*tasks), verbose=True, terminal=Terminal(rows=12))
    assert text.count("error    ORA101  task.md:3: it is wrong") == 60
    assert text.count("  skipped  STR104  after DOC101") == 60
    assert "more finding" not in text


def test_waived_findings_are_counted_and_shown_when_asked_for() -> None:
    """What an author lets stand is in the counts, and with -v in its task, last, with the reason."""
    waived = (Waived(finding=finding("FIL106", "review"), reason="it is about\x1b repositories"),)
    tasks = (replace(task("calm"), waived=waived), task("bad", finding("DOC101")))
    text = render(report(*tasks))
    assert "FIL106" not in text
    assert text.endswith("2 tasks checked, 1 clean: 1 error; 1 waived\n")
    lines = render(report(*tasks), verbose=True).splitlines()
    assert lines.index("tasks/bad") < lines.index("tasks/calm")
    said = r"  waived   FIL106  task.md:3: it is wrong (waived: it is about\x1b repositories)"
    assert lines[lines.index("tasks/calm") + 1] == said


@pytest.mark.parametrize("width", [20, 40, 60, 100])
def test_long_messages_wrap_under_themselves(width: int) -> None:
    """On a terminal a message keeps to the width and to its column, unless the terminal is very narrow."""
    message = "a message of several words about `some/path` that must be read to its end"
    text = render(report(task("a", finding("DOC101", message=message))), terminal=Terminal(width=width))
    lines = text.splitlines()
    start, end = 1, lines.index("")
    assert max(map(len, lines[start:end])) <= max(width, 40)
    assert " ".join(" ".join(lines[start:end]).split()) == f"error DOC101 task.md:3: {message}"
    indent = {len(line) - len(line.lstrip()) for line in lines[start + 1 : end]}
    assert indent <= {19 if width >= 40 else 4}


def test_message_is_one_line_where_nothing_is_known_of_the_width() -> None:
    """Text for a pipe is not wrapped, so that grep finds whole findings."""
    text = render(report(task("a", finding("DOC101", message="word " * 100 + "end"))))
    assert f"{'word ' * 100}end" in text


def test_hostile_text_is_spelt_out() -> None:
    """No control, escape, bidi mark or bad byte of a name, path or message reaches the terminal as it is."""
    nasty = "a\x1b[2Jb\rc\nd\u202ee\x9bf\udcffg\x07"
    text = render(
        report(task(nasty, finding("DOC101", message=nasty, path=nasty))), terminal=Terminal(width=200)
    )
    assert all(char.isprintable() for char in text.replace("\n", ""))
    assert text.count(r"a\x1b[2Jb\rc\nd\u202ee\x9bf\udcffg\x07") == 3


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say yes."""
        return True


def test_colour_is_for_terminals_that_want_it() -> None:
    """Only a terminal gets colours, and not with NO_COLOR or TERM=dumb."""
    assert terminal_of(Screen(), {"TERM": "xterm"}).colour
    assert terminal_of(Screen(), {"TERM": "xterm", "NO_COLOR": ""}).colour
    assert not terminal_of(Screen(), {"TERM": "xterm", "NO_COLOR": "1"}).colour
    assert not terminal_of(Screen(), {"TERM": "dumb"}).colour
    assert terminal_of(io.StringIO(), {"TERM": "xterm"}) == Terminal()
    bad = report(task("a", finding("DOC101")))
    assert "\x1b[31merror" in render(bad, terminal=Terminal(colour=True))
    assert "\x1b" not in render(bad, terminal=Terminal(colour=False))


def test_colours_do_not_move_columns() -> None:
    """Without its colours the coloured report is the plain one."""
    bad = report(task("a", finding("DOC101", message="some words " * 20), finding("DOC105", "warning")))
    coloured = render(bad, terminal=Terminal(width=70, colour=True))
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render(bad, terminal=Terminal(width=70))
