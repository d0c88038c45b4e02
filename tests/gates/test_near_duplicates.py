"""Near-duplicates within a collection, by what their prompts share."""

from dataclasses import replace
from pathlib import Path

import pytest
from gates.gate_cases import Case

from seatrials.rules.beyond import near_duplicates
from seatrials.rules.model import TaskReport
from seatrials.task.collection import Collection

FIRST = [f"first{number}" for number in range(60)]
SECOND = [f"second{number}" for number in range(60)]


def found(root: Path, *prompts: str) -> list[str]:
    """Return what is said of a collection of tasks with these prompts."""
    report = TaskReport(name="", full_name="", path="", format="native", content_hash="", findings=())
    reports = [
        replace(
            report,
            name=f"task-{number}",
            path=str(Case(code="", name="", found=True, files={}, prompt=prompt).build(root / str(number))),
        )
        for number, prompt in enumerate(prompts)
    ]
    return [hit.message for hit in near_duplicates(Collection(root=root), tuple(reports))]


@pytest.mark.parametrize(
    "second",
    [
        " ".join(FIRST),
        " ".join(FIRST).upper(),
        " ".join([*FIRST, *SECOND]),
        " ".join([*FIRST[:50], *SECOND[:10]]),
        " ".join(["Do", *FIRST[5:], "now"]),
    ],
)
def test_prompts_that_share_half_are_told(tmp_path: Path, second: str) -> None:
    """Case, additions and some other words don't hide that a prompt is the same."""
    assert len(found(tmp_path, " ".join(FIRST), second)) == 1


@pytest.mark.parametrize(
    "second",
    [
        " ".join(SECOND),
        " ".join([*FIRST[:20], *SECOND]),
        " ".join(reversed(FIRST)),
        " ".join(word for pair in zip(FIRST, SECOND, strict=True) for word in pair),
        " ".join(FIRST[:20]),
    ],
)
def test_prompts_that_share_less_are_not(tmp_path: Path, second: str) -> None:
    """Other words, a common beginning, another order and a very short prompt make no pair."""
    assert found(tmp_path, " ".join(FIRST), second) == []


def test_the_template_of_a_collection_makes_no_pairs(tmp_path: Path) -> None:
    """What more than twenty tasks share is not counted."""
    prompts = [" ".join([*FIRST, *(f"own{number}x{word}" for word in range(40))]) for number in range(22)]
    assert found(tmp_path, *prompts) == []
    assert len(found(tmp_path / "fewer", *prompts[:2])) == 1
