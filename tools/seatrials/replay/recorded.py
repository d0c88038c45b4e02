"""What the store says of a task as it is now, without running anything."""

from collections.abc import Sequence
from dataclasses import replace

from seatrials.replay.model import TaskReplay, Trial
from seatrials.replay.reading import spec_of
from seatrials.replay.store import attempts
from seatrials.replay.verdict import judge
from seatrials.task.package import TaskPackage

_OWN: str = "docker"


def recorded(task: TaskPackage, trials: Sequence[Trial]) -> TaskReplay | None:
    """Judge a task on its recorded trials, oldest first; None where it was not run as it is now.

    Of each rerun the newest trial counts. One that failed by a machine's fault
    says nothing beside others of its kind; one that failed by the task's fault
    counts until it is run again, so that a flaky task does not get in by
    trying anew. The kit's own engine goes before others, and the oracle as
    root, as BenchFlow runs it, before the oracle as the model's user.
    """
    spec = spec_of(task)
    mine = [trial for trial in trials if trial.content_hash == spec.content_hash]
    controls = [trial for trial in mine if trial.kind != "agent"]
    if not controls:
        return None
    source = min((trial.source for trial in controls), key=lambda name: (name != _OWN, name))
    controls = [trial for trial in controls if trial.source == source]
    counted: list[Trial] = []
    for kind in ("oracle", "noop"):
        group = [trial for trial in controls if trial.kind == kind]
        user = min((trial.as_user for trial in group), default="")
        newest = {trial.rerun: trial for trial in group if trial.as_user == user}
        told = [
            trial for trial in newest.values() if trial.failure is None or trial.failure.blame != "machine"
        ]
        counted += told or newest.values()
    # What this machine can't run was run elsewhere.
    spec = spec if source == _OWN else replace(spec, blockers=())
    rows = [replace(trial, task=spec.name) for trial in counted]
    return judge(spec, [*rows, *attempts(mine, content_hash=spec.content_hash)])
