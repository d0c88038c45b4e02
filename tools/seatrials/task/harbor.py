"""``task.toml`` as data with line numbers, and Harbor's spelling of a configuration as BenchFlow's.

The renames are those of BenchFlow's import (``convert_legacy_environment_keys``).
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

from seatrials.task.document import MAX_DEPTH, KeyPath, Problem, decode
from seatrials.task.schema import unknown_keys

_LONG_LINE: Final = 2_000
_NAME: Final = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_PART: Final = re.compile(_NAME)
_KEY: Final = re.compile(rf"\s*{_NAME}(?:\s*\.\s*{_NAME})*\s*")
# Python's parser takes time by the square of a dotted key's parts.
_DOTTED: Final = re.compile(rf"^[ \t]*\[{{0,2}}(?:[ \t]*{_NAME}[ \t]*\.){{{MAX_DEPTH}}}", re.MULTILINE)
_HEADER: Final = re.compile(rf"\s*(\[\[?)({_KEY.pattern})\]\]?\s*(?:#.*)?$")


@dataclass(frozen=True, kw_only=True)
class TomlData:
    """A parsed TOML file: its data, its text, and what was wrong."""

    data: dict[str, Any]
    problems: tuple[Problem, ...]
    text: str = ""

    @cached_property
    def lines(self) -> Mapping[KeyPath, int]:
        """The line of each table and key that was found."""
        return _lines(self.text, self.data)

    def line(self, path: KeyPath) -> int | None:
        """Return the line of a table or key; None where it was not found."""
        at = -1 if "lines" in self.__dict__ else self._find(path)
        return self.text.count("\n", 0, at) + 1 if at >= 0 else self.lines.get(path)

    def _find(self, path: KeyPath) -> int:
        """Return where a table with a plain header starts, or a key of one; -1 where that is not certain."""
        match path:
            case (str(table),) if isinstance(self.data.get(table), dict):
                return self._search(rf"^\[{re.escape(table)}\]$", 0)
            case (str(table), str(key)) if isinstance(self.data.get(table), dict):
                start = self._find((table,))
                if start < 0 or key not in self.data[table]:
                    return -1
                end = self.text.find("\n[", start)
                at = self._search(rf"^{re.escape(key)} *=", start)
                return at if at < end or end < 0 else -1
            case _:
                return -1

    def _search(self, pattern: str, start: int) -> int:
        found = re.compile(pattern, re.MULTILINE).search(self.text, start)
        return found.start() if found is not None else -1


def parse_toml(raw: bytes, *, path: str = "task.toml") -> TomlData:
    """Parse the bytes of a TOML file. Never raises on their content."""
    problems: list[Problem] = []
    text = decode(raw, path, problems)
    if (deep := _DOTTED.search(text)) is not None:
        line = text.count("\n", 0, deep.start()) + 1
        return _too_deep(path, line, problems)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        problems.append(
            Problem(
                kind="toml",
                path=path,
                line=int(found.group(1)) if found else text.count("\n") + 1,
                message=f"`{path}` is not valid TOML: {error}",
            )
        )
        return TomlData(data={}, problems=tuple(problems))
    except (ValueError, RecursionError) as error:
        reason = str(error) or "it nests too deep"
        problems.append(Problem(kind="toml", path=path, line=1, message=f"`{path}` can't be read: {reason}"))
        return TomlData(data={}, problems=tuple(problems))
    if _nests_too_deep(data):
        return _too_deep(path, 1, problems)
    return TomlData(data=data, text=text, problems=tuple(problems))


def _too_deep(path: str, line: int, problems: list[Problem]) -> TomlData:
    message = f"`{path}` nests tables over {MAX_DEPTH} levels deep; it must be flatter"
    return TomlData(
        data={}, problems=(*problems, Problem(kind="toml", path=path, line=line, message=message))
    )


def _nests_too_deep(data: Any) -> bool:
    level = [data]
    for _ in range(MAX_DEPTH):
        inside: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                inside += value.values()
            elif isinstance(value, list):
                inside += value
        if not inside:
            return False
        level = inside
    return True


def to_native_names(config: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Rename Harbor's keys to BenchFlow's, in the author's order.

    ``environment`` becomes ``sandbox``, ``environment_mode`` ``sandbox_mode``,
    ``solution`` ``oracle`` and ``version`` ``schema_version`` (first). Returns
    the new mapping and one message for each pair of which both were declared.
    """
    conflicts: list[str] = []
    top = _renamed(config, {"environment": "sandbox", "solution": "oracle"}, "", conflicts)
    version = top.pop("schema_version", top.pop("version", None))
    top.pop("version", None)
    tables: list[tuple[str, Any]] = [("", top)]
    if isinstance(steps := top.get("steps"), list):
        top["steps"] = steps = [dict(step) if isinstance(step, dict) else step for step in steps]
        tables += [(f"steps[{index}].", step) for index, step in enumerate(steps)]
    for where, table in tables:
        if isinstance(table, dict) and isinstance(verifier := table.get("verifier"), dict):
            names = {"environment": "sandbox", "environment_mode": "sandbox_mode"}
            table["verifier"] = _renamed(verifier, names, f"{where}verifier.", conflicts)
    return ({"schema_version": version} if version is not None else {}) | top, tuple(conflicts)


def split_extra(
    config: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any], tuple[KeyPath, ...]]:
    """Part a native configuration into what BenchFlow models and what it does not.

    Returns ``(known, extra, paths)``: `extra` repeats the structure above each
    unmodelled key (lists padded with null), `paths` lists those keys. This is
    what BenchFlow's import keeps under ``benchflow.compat``.
    """
    known: dict[str, Any] = _copy(dict(config))
    paths = tuple(unknown_keys(config))
    extra: dict[str, Any] = {}
    for path in paths:
        _set(extra, path, _pop(known, path))
    return known, extra, paths


def leaf_paths(data: Any, where: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the path of every value that is not null; an empty table or list counts as one."""
    items: Iterator[tuple[Any, Any]]
    match data:
        case dict() if data:
            items = iter(data.items())
        case list() if data:
            items = iter(enumerate(data))
        case None:
            return
        case _:
            yield where
            return
    for key, value in items:
        yield from leaf_paths(value, (*where, key))


def _renamed(
    table: dict[str, Any], names: Mapping[str, str], where: str, conflicts: list[str]
) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in table.items():
        new = names.get(key, key)
        if new != key and new in table:
            conflicts.append(f"`{where}{key}` and `{where}{new}` are the same table; keep one")
            continue
        out[new] = value
    return out


def _copy(data: Any) -> Any:
    """Copy tables and lists; what else TOML has can't change."""
    match data:
        case dict():
            return {
                key: _copy(value) if isinstance(value, dict | list) else value for key, value in data.items()
            }
        case list():
            return [_copy(value) for value in data]
        case _:
            return data


def _pop(data: Any, path: KeyPath) -> Any:
    for part in path[:-1]:
        data = data[part]
    return data.pop(path[-1])


def _set(data: Any, path: KeyPath, value: Any) -> None:
    for part, following in pairwise(path):
        if isinstance(part, int):
            data.extend([None] * (part + 1 - len(data)))
            if data[part] is None:
                data[part] = [] if isinstance(following, int) else {}
            data = data[part]
        else:
            data = data.setdefault(part, [] if isinstance(following, int) else {})
    data[path[-1]] = value


def _lines(text: str, data: Mapping[str, Any]) -> dict[KeyPath, int]:
    """Find the line of each table and key by its shape; what the data doesn't have is not listed."""
    lines: dict[KeyPath, int] = {}
    prefix: KeyPath = ()
    counts: dict[KeyPath, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) <= _LONG_LINE and (header := _HEADER.match(line)):
            prefix = _resolve(_parts(header.group(2)), counts, new=header.group(1) == "[[")
            path = prefix
        elif _KEY.fullmatch(name := line[:_LONG_LINE].partition("=")[0]):
            path = (*prefix, *_parts(name))
        else:
            continue
        if _has(data, path):
            lines.setdefault(path, number)
    return lines


def _resolve(parts: KeyPath, counts: dict[KeyPath, int], *, new: bool) -> KeyPath:
    """Put the index of the latest `[[table]]` behind each array of tables in a header's path."""
    path: KeyPath = ()
    for position, part in enumerate(parts):
        path = (*path, part)
        if new and position == len(parts) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def _parts(dotted_key: str) -> KeyPath:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted_key))


def _has(data: Any, path: KeyPath) -> bool:
    for part in path:
        match data:
            case dict() if part in data:
                data = data[part]
            case list() if isinstance(part, int) and part < len(data):
                data = data[part]
            case _:
                return False
    return True
