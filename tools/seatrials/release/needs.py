"""The card's own table, ``seatrials``: which collection is the default, and what each needs.

For programs; the card says the same to people. A collection without a name is
called after the folder of its tasks.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from seatrials.release.layout import Layout

KEY: Final = "seatrials"


def with_needs(
    header: Mapping[str, Any], layout: Layout, *, requires: Sequence[str], setup: Sequence[str]
) -> dict[str, Any]:
    """Return a card's header with this collection's needs, those of others kept.

    The first named collection of a data set becomes its default.
    """
    name = layout.name or layout.tasks
    before = header.get(KEY)
    table = dict(before) if isinstance(before, dict) else {}
    others = table.get("collections")
    collections = {key: value for key, value in others.items() if key != name} if isinstance(
        others, dict
    ) else {}  # fmt: skip
    if requires or setup:
        collections[name] = {
            **({"requires": list(requires)} if requires else {}),
            **({"setup": list(setup)} if setup else {}),
        }
    if layout.name:
        table.setdefault("default", layout.name)
    table.pop("collections", None)
    if collections:
        table["collections"] = collections
    rest = {key: value for key, value in header.items() if key != KEY}
    return {**rest, KEY: table} if table else rest
