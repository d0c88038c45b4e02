"""Frontmatter as text: YAML in a fixed style, with comments carried over. Pure."""

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import yaml

from seatrials.migrate.comments import Comment
from seatrials.task.document import KeyPath, parse_yaml

_DUMPER: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_WIDE: Final = 2**30
_FLOW_LENGTH: Final = 88
_BREAKS: Final = frozenset("\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")

# Text that stands for itself in YAML wherever it stands, unless it is one of the words below.
_PLAIN: Final = re.compile(r"[A-Za-z_/][A-Za-z0-9_/.@+-]*(?: [A-Za-z0-9_/.@+-]+)*")
_WORDS: Final = frozenset({"null", "true", "false", "yes", "no", "on", "off"})
_FLOAT: Final = re.compile(r"-?[0-9]+\.[0-9]+")
_LONGEST_KEY: Final = 100


class _Dumper(_DUMPER):  # type: ignore[misc] # PyYAML picks its base when it is imported
    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _list(dumper: Any, data: Sequence[Any]) -> yaml.Node:
    short = all(item is None or isinstance(item, str | int | float) for item in data)
    length = sum(len(str(item)) + 4 for item in data)
    flow = (
        short and length <= _FLOW_LENGTH and not any("\n" in item for item in data if isinstance(item, str))
    )
    node: yaml.Node = dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=flow)
    return node


def _text(dumper: Any, data: str) -> yaml.Node:
    style = None
    if _BREAKS.intersection(data) or any(line.strip() == "---" for line in data.split("\n")):
        # A frontmatter ends at any line that is `---` once stripped, inside a block of text too.
        style = '"'
    elif "\n" in data:
        style = "|"
    node: yaml.Node = dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)
    return node


def _time(dumper: Any, data: datetime.time) -> yaml.Node:
    # YAML has no time of day; BenchFlow's own import can't write one at all.
    node: yaml.Node = dumper.represent_scalar("tag:yaml.org,2002:str", data.isoformat())
    return node


_Dumper.add_representer(list, _list)
_Dumper.add_representer(str, _text)
_Dumper.add_representer(datetime.time, _time)


def dump(data: Mapping[str, Any]) -> str:
    """Return a mapping as block YAML in its own order; short lists of scalars on one line."""
    entries = [_entry(key, value) for key, value in data.items()]
    # After some texts PyYAML ends the document, which only its end may have.
    alone = any(entry.endswith("\n...\n") for entry in entries)
    return dump_slowly(data) if alone or not entries else "".join(entries)


def _entry(key: str, value: Any) -> str:
    try:
        return "".join(_block({key: value}, ""))
    except _Uncommon:
        return dump_slowly({key: value})


def dump_slowly(data: Mapping[str, Any]) -> str:
    """Return what `dump` does, by PyYAML alone; several times as slow."""
    text: str = yaml.dump(dict(data), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDE)
    return text


class _Uncommon(Exception):  # noqa: N818 - says what the data is
    """The data holds what PyYAML has to write."""


def _block(data: Mapping[Any, Any], indent: str) -> Iterator[str]:
    """Yield the lines of a mapping as PyYAML writes it; raises `_Uncommon` for all but the usual."""
    for key, value in data.items():
        if not isinstance(key, str) or len(key) > _LONGEST_KEY or not _is_plain(key):
            raise _Uncommon
        match value:
            case dict() if value:
                yield f"{indent}{key}:\n"
                yield from _block(value, indent + "  ")
            case dict():
                yield f"{indent}{key}: {{}}\n"
            case list():
                yield f"{indent}{key}: {_flow(value)}\n"
            case str():
                yield f"{indent}{key}: {value if _is_plain(value) else _quoted(value)}\n"
            case _:
                yield f"{indent}{key}: {_scalar(value)}\n"


def _flow(items: list[Any]) -> str:
    texts = [item if isinstance(item, str) and _is_plain(item) else _scalar(item) for item in items]
    if sum(len(text) + 4 for text in texts) > _FLOW_LENGTH:
        raise _Uncommon
    return f"[{', '.join(texts)}]"


def _is_plain(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None and text.lower() not in _WORDS


def _scalar(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case None:
            return "null"
        case float() if _FLOAT.fullmatch(text := repr(value)):
            return text
        case _:
            raise _Uncommon


@lru_cache(maxsize=256)
def _quoted(text: str) -> str:
    """Return a text as PyYAML writes it behind a key."""
    if "\n" in text:
        raise _Uncommon
    return dump_slowly({"k": text}).removeprefix("k: ").removesuffix("\n")


def dump_with_comments(data: Mapping[str, Any], comments: Sequence[Comment]) -> str:
    """Return `dump` of a mapping with each comment at the key that it belongs to.

    A comment whose key is not in the text goes to the nearest key above it;
    one without a key goes to the end.
    """
    text = dump(data)
    if not comments:
        return text
    at = parse_yaml(text, path="").lines
    before: dict[int, list[str]] = {}
    after: dict[int, list[str]] = {}
    last: list[str] = []
    lines = text.splitlines()
    for comment in comments:
        number = _line(comment.key, at)
        if number is None:
            last.append(comment.text)
        elif comment.trailing:
            after.setdefault(number, []).append(comment.text)
        else:
            line = lines[number - 1]
            indent = line[: len(line) - len(line.lstrip(" "))]
            before.setdefault(number, []).append(indent + comment.text)
    out: list[str] = []
    for number, line in enumerate(lines, start=1):
        out += before.get(number, ())
        out.append("  ".join([line, *after.get(number, ())]))
    return "\n".join([*out, *last]) + "\n"


def _line(key: KeyPath | None, at: Mapping[KeyPath, int]) -> int | None:
    for end in range(len(key or ()), 0, -1):
        if (number := at.get((key or ())[:end])) is not None:
            return number
    return None
