"""The arena's answers laid out for people."""

import pytest

from seatrials.arena.answer import Answer
from seatrials.arena.results import Preflight, Validation
from seatrials.report import arena_text
from seatrials.report.terminal import Terminal


def answer(data: object) -> Answer:
    """Return an answer."""
    return Answer(words=("validate",), code=0, data=data, said="")


def test_columns_without_values_are_left_out() -> None:
    """A listing has the columns of which some row has a value, under whichever key it stands."""
    rows = [{"id": "run-1", "state": "scored"}, {"run_id": "run-2", "state": "failed", "reason": "NCCL"}]
    assert arena_text.listing("runs", rows) == ("run    state   reason\nrun-1  scored\nrun-2  failed  NCCL\n")


def test_rows_of_an_unknown_shape_are_shown_all_the_same() -> None:
    """Where no known key has a value, keys and values are told."""
    assert arena_text.listing("leaderboard", {"rows": [{"who": "ada", "what": 1}]}) == "who: ada, what: 1\n"


@pytest.mark.parametrize("data", [{}, [], None, {"runs": []}, {"runs": None}, "text", 7])
def test_nothing_is_said_to_be_nothing(data: object) -> None:
    """An empty or odd listing is told as none."""
    assert arena_text.listing("runs", data).startswith("none\n")


@pytest.mark.parametrize("width", [40, 60, 100])
def test_table_fits_the_terminal(width: int) -> None:
    """No line is wider than the terminal; what is cut says so."""
    row = {"environment_id": "env-000000000000", "title": "t" * 90, "repo_id": "r" * 70, "author": "a" * 30}
    told = arena_text.listing("environments list", [row], terminal=Terminal(width=width))
    assert all(len(line) <= width for line in told.splitlines())
    assert "…" in told


def test_notes_of_a_challenge_are_whole() -> None:
    """What to read before one enters a challenge stands below the table, wrapped and not cut."""
    row = {
        "id": "c-1", "status": "open", "runs_paused": "word " * 30,
        "recipe": {"id": "r", "note": "numbers are placeholders"}, "status_note": "soon",
        "health": {"accepting_runs": False, "reason": "paused"},
    }  # fmt: skip
    told = arena_text.listing("challenges", {"challenges": [row]}, terminal=Terminal(width=60))
    assert told.count("word") == 30
    assert "c-1, recipe: numbers are placeholders" in told
    assert "c-1, status: soon" in told
    assert all(len(line) <= 60 for line in told.splitlines())


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ({"health": {"accepting_runs": True, "reason": None}}, "accepted"),
        ({"health": {"accepting_runs": False, "reason": "another run is active"}}, "not now"),
        ({"runs_paused": "later", "health": {"accepting_runs": False}}, "paused"),
    ],
)
def test_runs_of_a_challenge_in_a_word(row: dict, word: str) -> None:
    """Accepted, not now or paused; the reason is a note."""
    told = arena_text.listing("challenges", [{"id": "c-1", **row}])
    assert told.splitlines()[1].split(maxsplit=1) == ["c-1", word]


def test_messages_are_whole_and_harmless() -> None:
    """A message is shown whole, and can't move the cursor or pose as another line of ours."""
    row = {
        "filename": "1.md",
        "agent_id": "crab",
        "created_at": "today",
        "body": "a\x1b[2J\nb",
        "refs": ["0.md"],
    }
    told = arena_text.listing("board list", {"messages": [row]})
    assert told == "1.md  crab  today\n  answers 0.md\n  a\\x1b[2J\n  b\n"


def test_facts_are_flat() -> None:
    """Objects in objects are joined by dots, lists have a line each, nothing is left out."""
    data = {
        "a": {"b": {"c": {"d": 1}}},
        "e": ["x", "y"],
        "f": [{"g": 1, "h": None}],
        "i": None,
        "j": True,
        "k": 0.5,
    }
    assert arena_text.facts(data) == (
        "a.b.c: 1 keys\ne: 2\n  x\n  y\nf: 1\n  g: 1\ni: none\nj: yes\nk: 0.5\n"
    )


def test_preflight_marks_line_up() -> None:
    """Each check has the arena's own mark; what is not known is not told."""
    data = {"allowed": False, "checks": [
        {"name": "open", "ok": False, "detail": "paused"}, {"name": "the cap", "ok": None, "detail": ""},
        {"name": "who", "ok": True, "detail": "ada"}, {"name": "odd", "ok": "yes"},
    ]}  # fmt: skip
    found = Preflight.of(Answer(words=("run",), code=3, data=data, said=""))
    assert arena_text.preflight(found).splitlines() == [
        "FAIL  open     paused", "skip  the cap",
        "ok    who      ada",
        "not allowed; nothing was reserved or started",
    ]  # fmt: skip


def test_validation_tells_all() -> None:
    """Counts, errors, findings and warnings, each on a line of its own."""
    data = {
        "valid": False, "eligible_tasks": 0, "revision": "a" * 40, "errors": ["t: test.sh is missing"],
        "warnings": [{"task": "t", "message": "no license"}],
        "quality_gates": {"static": {
            "summary": {"tasks": 2, "blocked": 1},
            "findings": [
                {"severity": "block", "code": "D-FILE-COPY", "task": "t", "path": "x", "detail": "same"}
            ],
        }},
    }  # fmt: skip
    assert arena_text.validation(Validation.of(answer(data))).splitlines() == [
        "not valid: 0 of 2 tasks eligible at aaaaaaaaaaaa", "  blocked 1", "error  t: test.sh is missing",
        "block  D-FILE-COPY  t/x: same", "warning  `t`: no license",
    ]  # fmt: skip
