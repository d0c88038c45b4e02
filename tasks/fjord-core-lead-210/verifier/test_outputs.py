"""Check `/app/answer.txt` against the figures recomputed from `pristine/`, which the agent never had.

TOLERANCE: half a unit of the second decimal asked for, and as much again, for a tie rounded the other way.
The two implementations agree to 1e-9; the mildest of the mistakes that the rubric lists moves a figure by
more than 25 times the tolerance.
"""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.append(str(HERE))
from grader import MAX_ANSWER, grade  # noqa: E402
from recompute import figures  # noqa: E402

ANSWER = Path("/app/answer.txt")
TOLERANCE = {"abs_tol": 0.01}


def expected() -> list[float]:
    """Three ages in years, a rate in g per m2 and year, a supply in Bq per m2 and year."""
    return [float(figure) for figure in figures(HERE / "pristine")]


@pytest.fixture(scope="module")
def answer() -> str:
    """The agent's answer."""
    assert not ANSWER.is_symlink(), f"`{ANSWER}` is a symbolic link, not a file"
    assert ANSWER.is_file(), f"`{ANSWER}` was not written"
    assert ANSWER.stat().st_size <= 4 * MAX_ANSWER, f"`{ANSWER}` is too long for one answer"
    return ANSWER.read_text(encoding="utf-8", errors="replace")


def test_answer_was_given(answer):
    assert answer.strip(), f"`{ANSWER}` is empty"


def test_answer_is_right(answer):
    found = grade(answer, expected(), **TOLERANCE)
    assert found, found.message
