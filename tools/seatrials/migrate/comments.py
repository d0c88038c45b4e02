"""The comments of a TOML or YAML file, each with the key that it belongs to. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from seatrials.task.document import KeyPath

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# Strings first, so that a `#` in one is passed over; the long forms before the short.
_TOML: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|(?P<comment>#[^\n]*)",
    re.DOTALL,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Comment:
    """A comment with its ``#``.

    `key` is the key that it stands before, None where none follows; `trailing`
    says that it shares the key's line.
    """

    text: str
    key: KeyPath | None
    trailing: bool


def toml_comments(text: str, lines: Mapping[KeyPath, int]) -> tuple[Comment, ...]:
    """Return the comments of a TOML text; `lines` says where its keys are (see `parse_toml`)."""
    if "#" not in text:
        return ()
    found = ((match.start(), match.group()) for match in _TOML.finditer(text) if match.group("comment"))
    return tuple(_attached(found, text, lines, first_line=1))


def yaml_comments(text: str, lines: Mapping[KeyPath, int], *, first_line: int) -> tuple[Comment, ...]:
    """Return the comments of a YAML text; `lines` says where its keys are (see `parse_yaml`)."""
    if "#" not in text:
        return ()
    scalars = [
        (token.start_mark.index, token.end_mark.index)
        for token in yaml.scan(text, Loader=_LOADER)
        if isinstance(token, yaml.ScalarToken)
    ]
    return tuple(_attached(_yaml_marks(text, scalars), text, lines, first_line=first_line))


def _yaml_marks(text: str, scalars: list[tuple[int, int]]) -> Iterator[tuple[int, str]]:
    upcoming = iter(scalars)
    start, end = next(upcoming, (len(text), len(text)))
    line_end = -1
    for match in re.finditer(r"(?:(?<=\s)|^)#", text):
        place = match.start()
        while end <= place:
            start, end = next(upcoming, (len(text), len(text)))
        if start <= place or place < line_end:
            continue
        line_end = text.find("\n", place)
        line_end = len(text) if line_end < 0 else line_end
        yield place, text[place:line_end]


def _attached(
    found: Iterable[tuple[int, str]], text: str, lines: Mapping[KeyPath, int], *, first_line: int
) -> Iterator[Comment]:
    keys: dict[int, KeyPath] = {}
    for key, number in sorted(lines.items(), key=lambda item: len(item[0])):
        keys.setdefault(number, key)
    numbers = sorted(keys)
    for place, comment in found:
        number = text.count("\n", 0, place) + first_line
        line_start = text.rfind("\n", 0, place) + 1
        said = comment.rstrip()
        if text[line_start:place].strip():
            above = [one for one in numbers if one <= number]
            # Inside a list that spans lines there is no line of its own to stand on.
            same = bool(above) and above[-1] == number
            yield Comment(text=said, key=keys[above[-1]] if above else None, trailing=same)
        else:
            below = next((one for one in numbers if one > number), None)
            yield Comment(text=said, key=keys[below] if below is not None else None, trailing=False)
