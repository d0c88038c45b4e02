"""Telling what a killed run left from what is in use."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest
from replay_helpers import FakeEngine

from seatrials.replay import owner
from seatrials.replay.engine import LABEL


def dead() -> owner.Owner:
    """Return an owner on this machine whose process has ended."""
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    return replace(owner.this_process(), pid=child.pid, began="1")


def test_owner_survives_its_label() -> None:
    """An owner is read back from its label as it was; other text is none."""
    me = owner.this_process()
    assert owner.parse(me.text) == me
    assert owner.parse("something else") is None
    assert owner.parse("a-b-c") is None


def test_this_process_is_not_gone() -> None:
    """A running process, also another's, is not gone; one that ended is; one elsewhere can't be told."""
    me = owner.this_process()
    assert not owner.is_gone(me)
    assert owner.is_gone(dead())
    assert not owner.is_gone(replace(dead(), host="elsewhere"))


@pytest.mark.skipif(sys.platform != "linux", reason="the start of a process is read from /proc")
def test_reused_number_is_gone() -> None:
    """A process with the same number that began at another time is another process."""
    assert owner.is_gone(replace(owner.this_process(), began="12"))
    assert not owner.is_gone(replace(owner.this_process(), pid=os.getpid()))


def test_sweep_takes_only_what_is_abandoned() -> None:
    """Containers and tags of ended processes go; what is in use, kept on purpose or not ours stays."""
    me, gone = owner.this_process(), dead()
    boxes = {
        "mine": owner.labels(me, run="r", task="t", kept=False),
        "left": owner.labels(gone, run="r", task="t", kept=False),
        "kept": owner.labels(gone, run="r", task="t", kept=True),
        "foreign": {LABEL: "something"},
    }
    tags = {owner.image_tag("0" * 64, me), owner.image_tag("0" * 64, gone), "someone/else:1"}
    engine = FakeEngine(alive=dict(boxes), tags=set(tags), strays={"old": 4000.0, "young": 10.0})
    assert owner.sweep(engine) == 3
    assert set(engine.strays) == {"young"}
    assert set(engine.alive) == {"mine", "kept", "foreign"}
    assert engine.tags == {owner.image_tag("0" * 64, me), "someone/else:1"}
