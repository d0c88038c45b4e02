"""Whatever the client prints and however it ends, the command ends with a documented code."""

import json
from pathlib import Path

import pytest
from arena.test_answer import JSON
from hub import TOKEN
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatrials import proc
from seatrials.arena.client import Arena
from seatrials.arena.trust import Trust
from seatrials.cli import main

ACTIONS = (
    ("whoami",),
    ("register-agent", "--agent-id", "ada-agent", "--description", "d", "--force"),
    ("challenges",),
    ("benchmarks",),
    ("benchmarks", "--benchmark", "b-1"),
    ("discover",),
    ("budget",),
    ("environments", "list"),
    ("validate", "--challenge", "c-1", "--repo", "ada/tasks", "--title", "T", "--force"),
    ("submit", "--challenge", "c-1", "--repo", "ada/tasks", "--title", "T", "--force"),
    ("run", "--challenge", "c-1", "--id", "env-1"),
    ("run", "--challenge", "c-1", "--id", "env-1", "--execute", "--confirm", "env-1"),
    ("runs", "--challenge", "c-1"),
    ("runs", "--challenge", "c-1", "--run-id", "run-1"),
    ("runs", "--challenge", "c-1", "--run-id", "run-1", "--watch"),
    ("result", "collect", "--challenge", "c-1", "--run-id", "run-1"),
    ("leaderboard",),
    ("gates", "plan", "--challenge", "c-1", "--id", "env-1"),
    ("gates", "get", "--challenge", "c-1", "--id", "env-1"),
    ("board", "list"),
    ("board", "post", "--body", "hi", "--confirm", "post", "--force"),
)
KEYS = st.sampled_from(
    (
        "allowed", "checks", "valid", "quality_gates", "static", "summary", "findings", "task_identity",
        "name", "ok", "detail", "error", "status", "state", "stage", "reason", "run_id", "id",
        "environment_id",
        "request_key", "existing", "launched", "runs", "messages", "challenges", "health", "recipe", "body",
        "eligible_tasks", "max_compute_usd", "retry_after", "errors", "warnings",
    )
)  # fmt: skip
WORDS = st.sampled_from(
    ("scored", "failed", "open", "env-1", "run-1", "c-1", True, False, None, 1.5, 404, "429", "a" * 40, -1)
)
ODD = st.recursive(
    WORDS | JSON, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6)
)
PRINTED = st.binary(max_size=60) | ODD.map(lambda data: json.dumps(data).encode())


class EnoughError(Exception):
    """Watching has gone on for long enough."""


@pytest.mark.parametrize("words", ACTIONS, ids=" ".join)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    answers=st.lists(
        st.tuples(st.sampled_from((0, 0, 0, 1, 2, 3, 4, -9, 70)), PRINTED, PRINTED | st.just(b"HTTP 503: x")),
        min_size=1,
        max_size=6,
    )
)
def test_any_answer_ends_well(
    words: tuple[str, ...],
    answers: list[tuple[int, bytes, bytes]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Any exit code with anything on both streams: 0 to 5, one line where it stops, never a fault of ours."""
    left = list(answers)

    def run(*_: object, **__: object) -> proc.Apart:
        if not left:
            raise EnoughError
        code, output, errors = left.pop(0)
        return proc.Apart(code=code, output=output, errors=errors)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(proc, "run_apart", run)
    monkeypatch.setattr(Trust, "trusted", lambda *_, **__: tmp_path / "arena_cli.py")
    monkeypatch.setattr(Trust, "verified", lambda _, path: path)
    monkeypatch.setattr(Arena, "pause", lambda *_: None)
    for path in tmp_path.iterdir():
        path.unlink()
    monkeypatch.setenv("SEATRIALS_DEBUG", "1")
    capsys.readouterr()
    try:
        code = main(["arena", *words])
    except EnoughError:
        return
    captured = capsys.readouterr()
    assert code in {0, 1, 2, 3, 4, 5}
    assert TOKEN not in captured.out + captured.err
    assert "\x1b" not in captured.out + captured.err
    if code and not (words[0] in {"validate", "runs"} and code == 1):
        assert captured.err.splitlines()[-1].startswith("seatrials: ")
