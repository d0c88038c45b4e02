"""A mapping as TOML. Pure.

Python reads TOML but has no writer. This one writes what a configuration
holds: tables in their own order, lists of tables as arrays of tables.
"""

import datetime
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


def dump(data: Mapping[str, Any]) -> str:
    """Return a mapping as TOML text. Null has no form in TOML: such keys are left out."""
    blocks = list(_table(data, ()))
    return "\n".join(blocks)


def _table(data: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """Yield blocks of lines: a table's own values first, then the tables below it."""
    own = {key: value for key, value in data.items() if not _is_table(value) and value is not None}
    header = f"[{_dotted(path)}]\n" if path else ""
    below = [(str(key), value) for key, value in data.items() if _is_table(value)]
    if own or not below:
        yield header + "".join(f"{_key(str(key))} = {_value(value)}\n" for key, value in own.items())
    for key, value in below:
        if isinstance(value, dict):
            yield from _table(value, (*path, key))
        else:
            yield from _array(value, (*path, key))


def _array(items: list[Mapping[str, Any]], path: tuple[str, ...]) -> Iterator[str]:
    for item in items:
        blocks = list(_table(item, path))
        header = f"[[{_dotted(path)}]]\n"
        first = f"[{_dotted(path)}]\n"
        if blocks and blocks[0].startswith(first):
            blocks[0] = header + blocks[0][len(first) :]
        else:
            blocks.insert(0, header)
        yield from blocks


def _is_table(value: Any) -> bool:
    if isinstance(value, dict):
        return True
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _dotted(path: tuple[str, ...]) -> str:
    return ".".join(_key(part) for part in path)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _string(name)


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _float(value)
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case dict():
            pairs = (f"{_key(str(key))} = {_value(one)}" for key, one in value.items() if one is not None)
            return "{ " + ", ".join(pairs) + " }" if value else "{}"
        case list() | tuple():
            return "[" + ", ".join(_value(item) for item in value if item is not None) + "]"
        case _:
            return _string(str(value))


def _float(value: float) -> str:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = repr(value)
    return text if "." in text or "e" in text else f"{text}.0"


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
