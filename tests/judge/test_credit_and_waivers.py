"""Credit is counted over tasks, and waivers take out what they name, with their reasons."""

import shutil
from pathlib import Path

import pytest

from seatrials.judge.run import CheckReport, check
from seatrials.rules import credit
from seatrials.task.collection import select
from seatrials.task.credit import Credit


def replace(path: Path, old: str, new: str) -> None:
    """Replace a text that is there."""
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def checked(*folders: Path) -> CheckReport:
    """Check tasks or a collection."""
    return check(select([str(folder) for folder in folders]))


def add_task(collection: Path, name: str) -> Path:
    """Copy the collection's task under another name."""
    folder = collection / "tasks" / name
    shutil.copytree(collection / "tasks" / "sum-column", folder)
    replace(folder / "task.md", "seatrials/sum-column", f"seatrials/{name}")
    return folder


def test_one_task_gets_its_credit_findings_with_a_line(native_task: Path) -> None:
    """A single task's finding stands at the key in its file."""
    replace(native_task / "task.md", "license: Apache-2.0", "license: Apache License")
    report = checked(native_task)
    [finding] = report.tasks[0].findings
    assert (finding.code, finding.path, finding.line) == ("CRD102", "task.md", 7)
    assert report.collection_findings == ()


def test_a_collection_gets_one_finding_per_field_with_the_number_of_tasks(collection: Path) -> None:
    """As the arena counts: how many tasks lack a field, not one finding for each."""
    for number in range(5):
        replace(add_task(collection, f"more-{number}") / "task.md", "  license: Apache-2.0\n", "")
    report = checked(collection)
    assert all(task.findings == () for task in report.tasks)
    [finding] = report.collection_findings
    assert finding.code == "CRD102"
    assert "(5 of 6 tasks: more-0, more-1, more-2, ...)" in finding.message


def test_several_tasks_without_a_collection_are_counted_too(tmp_path: Path, native_task: Path) -> None:
    """The folder above them stands for the collection."""
    other = shutil.copytree(native_task, tmp_path / "elsewhere" / "sum-of-b")
    for folder in (native_task, other):
        replace(folder / "task.md", "  origin: original\n", "")
    report = checked(native_task, other)
    assert [finding.code for finding in report.collection_findings] == ["CRD104"]
    assert report.collection_path == tmp_path.as_posix()


def test_manifest_defaults_hold_for_tasks_that_leave_them_out(collection: Path) -> None:
    """`license` and `origin` of submission.yaml, for the collection and for a single task of it."""
    task = collection / "tasks" / "sum-column"
    replace(task / "task.md", "  license: Apache-2.0\n", "")
    replace(task / "task.md", "  origin: original\n", "")
    assert len(checked(collection).collection_findings) == 2
    with (collection / "submission.yaml").open("a", encoding="utf-8") as stream:
        stream.write("license: MIT\norigin: generated\n")
    assert [*checked(collection).findings()] == []
    assert [*checked(task).findings()] == []


def test_an_adapted_default_asks_for_the_source(collection: Path) -> None:
    """A manifest that says `adapted` makes each task name its source."""
    replace(collection / "tasks/sum-column/task.md", "  origin: original\n", "")
    with (collection / "submission.yaml").open("a", encoding="utf-8") as stream:
        stream.write("origin: adapted\n")
    assert [finding.code for finding in checked(collection).findings()] == ["CRD105"]


def fields(**declared: str) -> Credit:
    """A credit with these fields only."""
    return Credit(file="task.md", line=1, fields=declared, lines={}, emails=())


@pytest.mark.parametrize("handle", ["benchflow", "meta-llama", "01-ai", "some_one", "a", "HuggingFaceH4"])
def test_crd101_accepts_hub_handles(handle: str) -> None:
    """Names as the Hub has them."""
    assert [*credit.author(fields(author_hub=handle), {}, "native")] == []


@pytest.mark.parametrize(
    "handle", ["@benchflow", "a b", "org/name", "https://huggingface.co/x", "a--b", "-a", "a@b.c", "x" * 97]
)
def test_crd101_refuses_what_is_no_handle(handle: str) -> None:
    """Addresses, paths and prose are no handles."""
    assert [*credit.author(fields(author_hub=handle), {}, "native")]


@pytest.mark.parametrize("text", ["Apache-2.0", "mit", "MIT OR Apache-2.0", "LicenseRef-Own", "CC-BY-4.0"])
def test_crd102_accepts_spdx_expressions(text: str) -> None:
    """Identifiers in any case, expressions, and own references."""
    assert credit.is_spdx(text)


@pytest.mark.parametrize("text", ["Apache", "MIT License", "proprietary", "MIT,Apache-2.0", "(MIT", "MIT OR"])
def test_crd102_refuses_other_texts(text: str) -> None:
    """Prose and half expressions are none."""
    assert not credit.is_spdx(text)


@pytest.mark.parametrize(
    ("url", "good"),
    [("https://github.com/a/b", True), ("http://x.org", True), ("github.com/a", False), ("https://x", False),
     ("ftp://x.org/a", False), ("https://x.org/a b", False)],
)  # fmt: skip
def test_crd105_asks_for_an_address(url: str, good: bool) -> None:
    """An http address with a host that has a dot."""
    found = [*credit.origin_url(fields(origin="adapted", origin_url=url), {}, "native")]
    assert (found == []) == good


WAIVER = "metadata:\n  seatrials:\n    waivers:\n      - {code: FIL106, reason: a task about editors}\n"


def test_a_waived_finding_is_kept_with_its_reason(native_task: Path) -> None:
    """It no longer fails the check, and the report still has it."""
    (native_task / ".idea").mkdir()
    replace(native_task / "task.md", "metadata:\n", WAIVER)
    report = checked(native_task)
    assert report.tasks[0].findings == ()
    [waived] = report.tasks[0].waived
    assert (waived.finding.code, waived.reason) == ("FIL106", "a task about editors")


def test_a_waiver_works_in_a_task_toml(harbor_task: Path) -> None:
    """Harbor tasks have `metadata` too."""
    (harbor_task / ".idea").mkdir()
    with (harbor_task / "task.toml").open("a", encoding="utf-8") as stream:
        stream.write('\n[[metadata.seatrials.waivers]]\ncode = "FIL106"\nreason = "about editors"\n')
    assert [*checked(harbor_task).findings()] == []


def test_a_waiver_of_a_counted_finding_takes_its_task_out_of_the_count(collection: Path) -> None:
    """The other tasks are still counted."""
    for name in ("sum-column", "second", "third"):
        folder = collection / "tasks" / name
        folder = folder if folder.exists() else add_task(collection, name)
        if name == "sum-column":
            replace(folder / "task.md", "  license: Apache-2.0\n", "")
    replace(collection / "tasks/third/task.md", "metadata:\n", WAIVER.replace("FIL106", "CRD102"))
    report = checked(collection)
    assert len(report.tasks[2].waived) + len(report.tasks[1].waived) == 1
    [finding] = report.collection_findings
    assert "2 of 3 tasks" in finding.message


def line_of(path: Path, start: str) -> int:
    """Return the number of the first line that starts so."""
    return next(n for n, line in enumerate(path.read_text("utf-8").splitlines(), 1) if line.startswith(start))


def pyproject(folder: Path, text: str) -> None:
    """Write the waivers of a collection."""
    (folder / "pyproject.toml").write_text(f"[tool.seatrials.waivers]\n{text}", "utf-8")


def test_waivers_of_a_collection_hold_for_the_tasks_they_name(collection: Path) -> None:
    """Patterns of folder names; without any, for all tasks."""
    for name in ("git-log", "other"):
        (add_task(collection, name) / ".idea").mkdir()
    pyproject(collection, 'FIL106 = { reason = "about repositories", tasks = ["git-*"] }\n')
    assert [task.name for task in checked(collection).tasks if task.findings] == ["other"]
    assert [*checked(collection / "tasks/git-log").findings()] == [], "a single task has them as well"
    pyproject(collection, 'FIL106 = "about repositories"\n')
    assert [*checked(collection).findings()] == []


def test_a_waiver_of_a_collection_holds_for_its_own_findings(collection: Path) -> None:
    """Findings about the collection are waived by code alone."""
    (collection / "tasks/half-done").mkdir()
    pyproject(collection, 'COL108 = "in progress"\n')
    report = checked(collection)
    assert [*report.findings()] == []
    assert [waived.finding.code for waived in report.collection_waived] == ["COL108"]


def test_an_idle_waiver_of_a_collection_is_told_only_when_all_of_it_is_checked(collection: Path) -> None:
    """One task alone can't show that no task needs it."""
    pyproject(collection, 'FIL106 = "about repositories"\n')
    assert [finding.code for finding in checked(collection).findings()] == ["WVR102"]
    assert [*checked(collection / "tasks/sum-column").findings()] == []


def test_a_waiver_of_a_rule_that_was_skipped_is_left_alone(native_task: Path) -> None:
    """It may be needed again once the rule runs."""
    waiver = WAIVER.replace("FIL106", "DOC112")
    replace(native_task / "task.md", "metadata:\n", waiver)
    replace(native_task / "task.md", "Write the sum", "[REPLACE: say it]\n## prompt\nWrite the sum")
    (native_task / "task.md").write_text(
        (native_task / "task.md").read_text("utf-8").partition("## prompt")[0] + "## prompt\n\n", "utf-8"
    )
    codes = {finding.code for finding in checked(native_task).findings()}
    assert codes == {"DOC106"}


def test_wvr101_waivers_that_can_not_be_read_are_told(collection: Path) -> None:
    """A `pyproject.toml` that is no TOML waives nothing, and the author hears why, with the line."""
    (collection / "tasks/sum-column/.idea").mkdir()
    pyproject(collection, 'FIL106 = "about repositories\n')
    found = {finding.code: finding for finding in checked(collection).findings()}
    assert found.keys() == {"FIL106", "WVR101"}
    assert (found["WVR101"].path, found["WVR101"].line) == ("pyproject.toml", 2)
    assert "is not valid TOML" in found["WVR101"].message


def test_wvr101_own_table_that_is_none_is_told(native_task: Path) -> None:
    """`metadata.seatrials` is the kit's own, so what is not a table there is a slip."""
    replace(native_task / "task.md", "metadata:\n", "metadata:\n  seatrials: [FIL106]\n")
    [finding] = checked(native_task).findings()
    assert (finding.code, finding.line) == ("WVR101", line_of(native_task / "task.md", "  seatrials:"))


@pytest.mark.parametrize(
    "text",
    ['FIL106 = ""', "FIL106 = {}", "FIL106 = 1", 'FIL106 = { reason = "x", task = "a" }',
     'FIL106 = { reason = "x", tasks = "a" }', 'FIL106 = [["x"]]', 'NOPE = "x"'],
)  # fmt: skip
def test_wvr101_malformed_waivers_do_not_hold(collection: Path, text: str) -> None:
    """Each is told, and what it meant to waive stays."""
    (collection / "tasks/sum-column/.idea").mkdir()
    pyproject(collection, text + "\n")
    assert {finding.code for finding in checked(collection).findings()} == {"FIL106", "WVR101"}
