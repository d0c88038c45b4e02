"""ORA: the reference solution."""

from collections.abc import Iterator
from typing import Final

from seatrials.rules.model import Hit, TaskRule
from seatrials.rules.structure import is_multi_step
from seatrials.task.package import TaskPackage


def no_solution(task: TaskPackage) -> Iterator[Hit]:
    """The task has a reference solution.

    Why: the arena keeps a task without one eligible, but it counts only if
    its no-op scores 0 on every rerun and the base model solves it at least once.

    Fix: add `oracle/solve.sh` (Harbor: `solution/solve.sh`) that solves the task by computing.
    """
    if is_multi_step(task) or task.format == "posttrain":
        return
    folder = task.native.oracle_dir or ("solution" if task.format == "harbor" else "oracle")
    if task.resolve(f"{folder}/solve.sh") is None:
        yield Hit(path=f"{folder}/solve.sh", message=f"no `{folder}/solve.sh`: no reference solution")


RULES: Final = (TaskRule("ORA101", "controls", no_solution, requires=("STR101",)),)
