"""A container for a person."""

import sys
from pathlib import Path

import pytest
from replay_helpers import FakeEngine, failed_build

from seatrials.errors import CannotJudgeError, RefusedError, UsageError
from seatrials.replay import owner, session
from seatrials.replay.engine import LABEL
from seatrials.replay.session import Session
from seatrials.task.package import TaskPackage


def opened(engine: FakeEngine, *tasks: str) -> None:
    """Put sessions of some tasks on an engine."""
    for task in tasks:
        engine.alive[f"box-{task}"] = {LABEL: "trial", session.SESSION_LABEL: f"/somewhere/{task}"}


def test_the_open_task_is_found() -> None:
    """Without a name it is the one open task; with none or several it asks for one."""
    engine = FakeEngine()
    with pytest.raises(UsageError, match="no task is open"):
        session.only(engine)
    opened(engine, "sums")
    assert session.only(engine).container == "box-sums"
    opened(engine, "tides")
    with pytest.raises(UsageError, match="`sums`, `tides`"):
        session.only(engine)


def test_begin_and_close(native_task: Path, tmp_path: Path) -> None:
    """A session outlives the process that began it, is found by its task, and closes without a trace."""
    engine = FakeEngine()
    task = TaskPackage(native_task)
    begun = session.begin(engine, task, root=tmp_path, as_root=False, host_env={})
    assert session.find(engine, task) == begun
    assert (begun.user, begun.task) == ("agent", str(native_task.resolve()))
    assert owner.KEPT_LABEL in engine.alive[begun.container]
    uploaded = engine.uploads[begun.container]
    assert "logs/verifier" in uploaded
    assert not any("test.sh" in name or "solve.sh" in name for name in uploaded)
    session.close(engine, begun)
    assert (engine.alive, engine.tags) == ({}, set())


def test_begin_tells_whose_fault_it_is(native_task: Path, tmp_path: Path) -> None:
    """A build that fails is the task's doing, an image out of reach the machine's; nothing stays open."""
    task = TaskPackage(native_task)
    for engine, error in (
        (FakeEngine(build_error=failed_build("returned a non-zero code: 1")), RefusedError),
        (FakeEngine(present=set()), CannotJudgeError),
    ):
        with pytest.raises(error):
            session.begin(engine, task, root=tmp_path, as_root=False, host_env={})
        assert engine.alive == {}


def test_failed_setup_leaves_nothing(native_task: Path, tmp_path: Path) -> None:
    """A container that can't be brought to where a model starts is removed again."""
    engine = FakeEngine(behave=lambda script: 1)
    with pytest.raises(RefusedError, match="could not make the user `agent`"):
        session.begin(engine, TaskPackage(native_task), root=tmp_path, as_root=False, host_env={})
    assert (engine.alive, engine.tags) == ({}, set())


def test_enter_argv(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shell is entered as the session's user, in its folder, with that user's home."""
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    one = Session(container="box", task="/t", content_hash="", image="", user="agent", place="/work")
    argv = session.enter_argv(one, ("id",))
    assert argv == (
        "docker", "exec", "-i", "--user", "agent", "--env", "HOME=/home/agent",
        "--workdir", "/work", "box", "id",
    )  # fmt: skip
