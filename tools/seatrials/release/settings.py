"""Options of `release` that stay the same, from the collection's ``pyproject.toml``.

::

    [tool.seatrials.release]
    repo = "OWNER/NAME"
    title = "Tasks of the sea"
    requires = ["a GPU"]

The keys are the options' names; paths start at the collection. What is given
on the command line goes before.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from seatrials.errors import UsageError
from seatrials.task.harbor import parse_toml

PYPROJECT: Final = "pyproject.toml"
TABLE: Final = "tool.seatrials.release"

_TEXTS: Final = (
    "repo",
    "collection",
    "title",
    "name",
    "split",
    "license",
    "card-note",
    "challenge",
    "notes",
    "agent-id",
)
_SWITCHES: Final = ("private", "without-replays", "no-arena")
_LISTS: Final = ("requires", "setup")
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {"layout": ("arena", "harbor"), "runs": ("latest", "all")}
_TABLES: Final = ("allow",)


def table_at(root: Path) -> dict[str, Any]:
    """Return the table of a collection, empty where there is none; UsageError for a file that is no TOML."""
    try:
        raw = (root / PYPROJECT).read_bytes()
    except OSError:
        return {}
    toml = parse_toml(raw, path=PYPROJECT)
    if toml.problems:
        raise UsageError(f"`{root / PYPROJECT}` can't be read: {toml.problems[0].message}")
    table: Any = toml.data
    for part in TABLE.split("."):
        table = table.get(part) if isinstance(table, dict) else None
    if table is None:
        return {}
    if not isinstance(table, dict):
        raise UsageError(f"`{TABLE}` in `{PYPROJECT}` must be a table")
    return table


def settings_at(root: Path) -> dict[str, Any]:
    """Return a collection's options by name; UsageError for one that is none, or of another kind."""
    found: dict[str, Any] = {}
    for key, value in table_at(root).items():
        if key in _TABLES:
            continue
        found[key] = _valid(key, value)
    if "card-note" in found:
        found["card-note"] = root / found["card-note"]
    return found


def _valid(key: str, value: Any) -> Any:
    where = f"`{TABLE}.{key}` in `{PYPROJECT}`"
    if key in _TEXTS:
        good, kind = isinstance(value, str) and bool(value.strip()), "a text"
    elif key in _SWITCHES:
        good, kind = isinstance(value, bool), "true or false"
    elif key in _LISTS:
        good = isinstance(value, list) and all(isinstance(item, str) for item in value)
        kind = "a list of texts"
    elif key in _CHOICES:
        good, kind = value in _CHOICES[key], " or ".join(f'"{choice}"' for choice in _CHOICES[key])
    else:
        known = sorted((*_TEXTS, *_SWITCHES, *_LISTS, *_CHOICES, *_TABLES))
        raise UsageError(f"{where} is no option; there are {', '.join(known)}")
    if not good:
        raise UsageError(f"{where} must be {kind}")
    return value
