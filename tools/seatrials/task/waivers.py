"""Waivers: findings that an author has looked at and lets stand, each with a reason.

In a task, under `metadata.seatrials` (BenchFlow takes own keys nowhere else)::

    metadata:
      seatrials:
        waivers:
          - {code: FIL106, reason: the task is about a repository}

In the collection's ``pyproject.toml``, for all tasks or for those named::

    [tool.seatrials.waivers]
    CRD102 = "the licence is being settled"
    FIL106 = { reason = "tasks about repositories", tasks = ["git-*"] }
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from seatrials.task.document import KeyPath, dotted
from seatrials.task.harbor import parse_toml
from seatrials.task.package import TaskPackage

PYPROJECT: Final = "pyproject.toml"
_WHERE: Final[KeyPath] = ("metadata", "seatrials", "waivers")
_TABLE: Final[KeyPath] = ("tool", "seatrials", "waivers")


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiver:
    """One waiver and where it stands. `fault` says why it does not hold; `tasks` are patterns of names."""

    code: str
    reason: str
    file: str
    line: int | None
    tasks: tuple[str, ...] = ()
    fault: str = ""

    def covers(self, name: str) -> bool:
        """Say whether the waiver is for a task of this folder name."""
        return not self.tasks or any(fnmatchcase(name, pattern) for pattern in self.tasks)


def waivers_of(task: TaskPackage) -> tuple[Waiver, ...]:
    """Read the waivers of a task, the faulty ones too."""
    own = task.native.get(*_WHERE[:2])
    if own is not None and not isinstance(own, dict):
        fault = f"`{dotted(_WHERE[:2])}` must be a table with `waivers`"
        line = task.config_line(_WHERE[:2])
        return (Waiver(code="", reason="", file=task.config_file, line=line, fault=fault),)
    declared = own.get("waivers") if own is not None else None
    if declared is None:
        return ()
    line = task.config_line(_WHERE)
    if not isinstance(declared, list):
        fault = f"`{dotted(_WHERE)}` must be a list of `code` and `reason`"
        return (Waiver(code="", reason="", file=task.config_file, line=line, fault=fault),)
    return tuple(
        _waiver(item, dotted((*_WHERE, index)), task.config_file, task.config_line((*_WHERE, index)) or line)
        for index, item in enumerate(declared)
    )


def waivers_at(folder: Path) -> tuple[Waiver, ...]:
    """Read the waivers in a folder's ``pyproject.toml``, the faulty ones too; none where there is no file."""
    if not (folder / PYPROJECT).is_file():  # a pipe would never end
        return ()
    try:
        raw = (folder / PYPROJECT).read_bytes()
    except OSError:
        return ()
    toml = parse_toml(raw, path=PYPROJECT)
    if toml.problems:
        problem = toml.problems[0]
        fault = f"{problem.message}; no waiver in it holds"
        return (Waiver(code="", reason="", file=PYPROJECT, line=problem.line, fault=fault),)
    table: Any = toml.data
    for part in _TABLE:
        table = table.get(part) if isinstance(table, dict) else None
    if table is None:
        return ()
    if not isinstance(table, dict):
        fault = f"`{dotted(_TABLE)}` must be a table of codes"
        line = toml.lines.get(_TABLE)
        return (Waiver(code="", reason="", file=PYPROJECT, line=line, fault=fault),)
    return tuple(_of_table(table, toml.lines))


def _of_table(table: dict[str, Any], lines: Any) -> Iterator[Waiver]:
    for code, value in table.items():
        line = lines.get((*_TABLE, code)) or lines.get(_TABLE)
        for item in value if isinstance(value, list) else [value]:
            data = {"reason": item} if isinstance(item, str) else item
            data = {"code": code, **data} if isinstance(data, dict) else data
            yield _waiver(data, dotted((*_TABLE, code)), PYPROJECT, line)


def _waiver(data: Any, where: str, file: str, line: int | None) -> Waiver:
    declared = data if isinstance(data, dict) else {}
    code, reason = declared.get("code"), declared.get("reason")
    tasks = declared.get("tasks", []) if file == PYPROJECT else []
    allowed = {"code", "reason", "tasks"} if file == PYPROJECT else {"code", "reason"}
    fault = ""
    if not isinstance(code, str) or not code.strip():
        fault = f"`{where}` must have a `code` and a `reason`, both strings"
    elif not isinstance(reason, str) or not reason.strip():
        fault = f"`{where}` waives `{code[:20]}` without a `reason`, so it does not hold"
    elif extra := sorted(str(key) for key in declared if key not in allowed):
        fault = f"`{where}` has `{extra[0][:40]}`; it may have {', '.join(sorted(allowed))}"
    elif not isinstance(tasks, list) or not all(isinstance(one, str) for one in tasks):
        fault = f"`{where}` must have a list of names in `tasks`"
    if fault:
        known = code.strip() if isinstance(code, str) else ""
        return Waiver(code=known, reason="", file=file, line=line, fault=fault)
    return Waiver(
        code=str(code).strip(), reason=str(reason).strip(), file=file, line=line, tasks=tuple(tasks)
    )
