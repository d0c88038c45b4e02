"""What a data set's card says to programs: its default collection, and what each collection needs."""

import re
from dataclasses import dataclass
from typing import Any, Final

from seatrials.fetch.sets import Found
from seatrials.task.document import parse_yaml

CARD: Final = "README.md"
MAX_CARD: Final = 4 * 1024 * 1024
KEY: Final = "seatrials"

_HEADER: Final = re.compile(r"\A---[ \t]*\r?\n(.*?\r?\n)??---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_CONFIG: Final = re.compile(r"(.+)_(?:tasks|replays)")


@dataclass(frozen=True, kw_only=True, slots=True)
class CardSays:
    """What is read off a card. Commands in it are for people to read: nothing here runs them."""

    default: str | None = None
    license: str | None = None
    requires: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()


def header_of(raw: bytes) -> dict[str, Any]:
    """Return the header of a card, empty where there is none that can be read."""
    match = _HEADER.match(raw[:MAX_CARD].decode("utf-8", "replace"))
    return dict(parse_yaml(match[1] or "", path=CARD).data) if match is not None else {}


def default_in(header: dict[str, Any]) -> str | None:
    """Return the collection that a card calls its default: ours, else that of the Hub's default config."""
    match header.get(KEY):
        case {"default": str(name)} if name:
            return name
    configs = header.get("configs")
    for item in configs if isinstance(configs, list) else []:
        match item:
            case {"config_name": str(name), "default": True} if named := _CONFIG.fullmatch(name):
                return named[1]
    return None


def needs_in(header: dict[str, Any], found: Found) -> CardSays:
    """Return what a card says that a collection needs."""
    table: Any = {}
    match header.get(KEY):
        case {"collections": dict(collections)}:
            named = [collections.get(name) for name in (found.name, found.root, found.folder) if name]
            table = next((item for item in named if isinstance(item, dict)), {})
    said = header.get("license")
    return CardSays(
        default=default_in(header),
        license=said if isinstance(said, str) else None,
        requires=_texts(table.get("requires")),
        setup=_texts(table.get("setup")),
    )


def _texts(value: Any) -> tuple[str, ...]:
    items: list[Any] = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(item for item in items if isinstance(item, str) and item.strip())
