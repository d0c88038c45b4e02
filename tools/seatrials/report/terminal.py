"""What the reader's end can show: width, height and colour."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import Final, Literal, TextIO

from seatrials.findings import Severity

Style = Literal["heading", "faint"] | Severity

_CODES: Final[dict[Style, str]] = {
    "heading": "1",
    "faint": "2",
    "block": "1;31",
    "error": "31",
    "reject": "31",
    "controls": "35",
    "review": "36",
    "warning": "33",
}
_NARROWEST: Final = 40
_HANGING: Final = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Terminal:
    """How to lay text out. Without a width nothing is wrapped; `rows` are for a first look."""

    width: int | None = None
    rows: int = 40
    colour: bool = False

    def paint(self, style: Style, text: str) -> str:
        """Return the text in a style, where colours are wanted."""
        return f"\033[{_CODES[style]}m{text}\033[0m" if self.colour and text else text

    def wrapped(self, text: str, *, indent: int) -> list[str]:
        """Return the lines of a text that starts `indent` columns in; the first comes without its indent."""
        if self.width is None:
            return [text]
        hanging = indent if self.width - indent >= _HANGING else 4
        room = max(self.width, _NARROWEST)
        lines = wrap(
            " " * indent + text,
            room,
            subsequent_indent=" " * hanging,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return [line[indent:] if number == 0 else line for number, line in enumerate(lines)] or [""]


def terminal_of(stream: TextIO, env: Mapping[str, str] = os.environ) -> Terminal:
    """Return what a stream can show; https://no-color.org is honoured."""
    if not stream.isatty():
        return Terminal()
    size = shutil.get_terminal_size()
    colour = not env.get("NO_COLOR") and env.get("TERM") != "dumb"
    # Room for the counts and the shell's next prompt.
    return Terminal(width=size.columns, rows=max(size.lines - 6, 10), colour=colour)
