"""Near-duplicates within a collection: by what their prompts, their data and their verifiers share."""

from dataclasses import replace
from pathlib import Path

import pytest
from gates.gate_cases import Case
from gates.pair_cases import DATA, FIRST, PAIRS, TESTS, Files, PairCase, asserts, rows

from seatrials.rules.duplicates import near_duplicates, same_data, same_verifier
from seatrials.rules.limits import TOO_LONG
from seatrials.rules.model import TaskReport
from seatrials.task.collection import Collection

RULES = {"BYD102": near_duplicates, "BYD114": same_data, "BYD115": same_verifier}
OWN: list[Files] = [{DATA: rows(f"own{n}"), TESTS: asserts(f"own{n}")} for n in range(8)]


def alike(root: Path, *tasks: Files, prompts: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """Return what each rule says of tasks with these files and prompts, or with ones of their own."""
    blank = TaskReport(name="", full_name="", path="", format="native", content_hash="", findings=())
    reports: list[TaskReport] = []
    for number, files in enumerate(tasks):
        own = " ".join(f"own{number}x{word}" for word in range(60))
        prompt = (prompts[number] if number < len(prompts) else "") or own
        case = Case(code="", name="", found=True, files={**OWN[number % 8], **files}, prompt=prompt)
        reports.append(replace(blank, name=f"task-{number}", path=str(case.build(root / str(number)))))
    given = Collection(root=root), tuple(reports)
    return {code: said for code, rule in RULES.items() if (said := [hit.message for hit in rule(*given)])}


@pytest.mark.parametrize("case", PAIRS, ids=lambda case: f"{case.code} {case.name}")
def test_pair_is_told_where_it_is_one(case: PairCase, tmp_path: Path) -> None:
    """Order, names, white space, additions and a changed value don't hide a pair; half of it makes none."""
    others: list[Files] = [{}, {}, {}, {}]
    said = alike(tmp_path, case.first, case.second, *others, prompts=case.prompts).get(case.code, [])
    assert (len(said), all(one.startswith("`task-0` and `task-1` share ") for one in said)) == (
        case.found,
        True,
    )


def test_the_template_of_a_collection_makes_no_pairs(tmp_path: Path) -> None:
    """What more than twenty tasks share is not counted."""
    prompts = [" ".join([*FIRST, *(f"own{number}x{word}" for word in range(40))]) for number in range(22)]
    assert alike(tmp_path, *[{}] * 22, prompts=tuple(prompts)).get("BYD102") is None
    assert len(alike(tmp_path / "fewer", {}, {}, prompts=tuple(prompts[:2]))["BYD102"]) == 1


def test_one_prompt_for_a_whole_collection_is_told(tmp_path: Path) -> None:
    """Copies of one task are no template, however many they are; they give one finding, not one a pair."""
    [said] = alike(tmp_path, *[{}] * 23, prompts=(" ".join(FIRST),) * 22)["BYD102"]
    assert said == "`task-0` and 21 others have the same prompt: `task-1`, `task-2`, `task-3`, ..."


def test_a_pair_is_told_once_with_all_its_shares(tmp_path: Path) -> None:
    """Tasks that are the same in everything give one finding that names the three shares."""
    said = alike(tmp_path, OWN[0], OWN[0], OWN[1], OWN[2])
    assert list(said) == ["BYD114"]
    assert said["BYD114"] == [
        "`task-0` and `task-1` share 100% of their data and 100% of their verifiers' lines"
    ]
    both = alike(tmp_path / "prompts", OWN[0], OWN[0], prompts=(" ".join(FIRST),) * 2)
    assert list(both) == ["BYD102"]
    assert both["BYD102"][0].startswith(
        "`task-0` and `task-1` share 100% of the shorter prompt's 13-grams, 100%"
    )


def test_a_common_set_of_data_and_a_common_grader_make_no_pairs(tmp_path: Path) -> None:
    """Data that six tasks share, and the code that most of the tasks share, are not counted."""
    assert alike(tmp_path / "six", *[{DATA: rows("a"), TESTS: asserts(f"t{n}")} for n in range(6)]) == {}
    tasks: list[Files] = [{DATA: rows(f"d{n}"), TESTS: asserts("a")} for n in range(4)]
    assert alike(tmp_path / "most", *tasks) == {}
    assert "BYD115" in alike(tmp_path / "two", *tasks[:2])


def test_what_could_not_be_checked_is_not_compared(tmp_path: Path) -> None:
    """A task whose own check ran out of time is not read again."""
    path = str(Case(code="", name="", found=True, files={}, prompt=" ".join(FIRST)).build(tmp_path))
    report = TaskReport(name="a", full_name="", path=path, format="native", content_hash="", findings=())
    late = replace(report, findings=(TOO_LONG.finding(TOO_LONG.check()),))
    assert len(list(near_duplicates(Collection(root=tmp_path), (report, report)))) == 1
    assert list(near_duplicates(Collection(root=tmp_path), (report, late))) == []
