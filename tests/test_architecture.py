"""The rooms import in one direction only."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "tools" / "seatrials"
GROUND = {"errors", "findings", "whole", "places", "proc", "__init__"}
READ = GROUND | {"task", "parse"}
ROOMS = ("rules", "judge", "replay", "migrate", "release", "fetch", "arena")
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "findings": set(),
    "places": set(),
    "whole": set(),
    "proc": {"errors", "__init__"},
    "parse": GROUND | {"parse"},
    "task": READ,
    "scaffold": READ,
    **{room: READ | {room} for room in ROOMS},
    "judge": READ | {"judge", "rules"},
    "hub_client": {"errors"},
    "release": READ | {"release", "hub_client"},
    "fetch": READ | {"fetch", "hub_client"},
    "arena": GROUND | {"arena"},
    "report": READ | set(ROOMS) | {"report"},
    "vcs": {"errors", "proc"},
    "flows": READ | set(ROOMS) | {"flows", "vcs", "hub_client"},
}
"""What each room may import of the kit; the door (`cli`, `commands`) may import all."""


def imports(path: Path) -> Iterator[str]:
    """Yield the rooms of the kit that a module imports, at any depth of its code."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.ImportFrom(module=str(module), level=0):
                names = [
                    f"{module}.{alias.name}" if module == "seatrials" else module for alias in node.names
                ]
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.ImportFrom():
                raise AssertionError(f"{path} imports relatively")
            case _:
                continue
        for name in names:
            if name.startswith("seatrials."):
                room = name.split(".")[1]
                yield room if (PACKAGE / room).exists() or (PACKAGE / f"{room}.py").exists() else "__init__"


MODULES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_module_imports_only_what_its_room_may(path: Path) -> None:
    """A room never reaches sideways or up."""
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if room in {"cli", "commands", "__main__", "__init__"}:
        return
    assert room in ALLOWED, (
        f"{path.name} is in no known room: add it to the table, and to docs/architecture.md"
    )
    assert set(imports(path)) <= ALLOWED[room]


def test_subprocess_has_one_user() -> None:
    """Only `proc` starts other programs."""
    users = [path.name for path in MODULES if "import subprocess" in path.read_text("utf-8")]
    assert users in (["proc.py"], [])
