"""Credit that a set's surroundings tell: proposed to a person, never filled in unasked. Pure."""

import re
from dataclasses import dataclass
from typing import Final

LICENSE_FILES: Final = (
    "LICENSE",
    "LICENSE.md",
    "LICENSE.txt",
    "LICENCE",
    "LICENCE.md",
    "COPYING",
    "UNLICENSE",
)

_LICENSES: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("Apache-2.0", ("apache license version 2.0",)),
    ("MPL-2.0", ("mozilla public license version 2.0",)),
    ("CC0-1.0", ("cc0 1.0 universal",)),
    ("CC-BY-SA-4.0", ("attribution-sharealike 4.0 international",)),
    ("CC-BY-NC-4.0", ("attribution-noncommercial 4.0 international",)),
    ("CC-BY-4.0", ("attribution 4.0 international",)),
    ("Unlicense", ("this is free and unencumbered software released into the public domain",)),
    ("BSD-3-Clause", ("redistribution and use in source and binary forms", "neither the name")),
    ("BSD-2-Clause", ("redistribution and use in source and binary forms",)),
    ("ISC", ("and/or distribute this software for any purpose with or without fee",)),
    ("MIT", ("permission is hereby granted, free of charge", "the software is provided \"as is\"")),
)  # fmt: skip
"""What the start of a license's text has, once white space is plain and letters are small. The GNU licenses
are left out: their text does not say whether a later version may be chosen."""

_NAMES: Final = {name.lower(): name for name, _ in _LICENSES}
_START: Final = 2_500
_REMOTE: Final = re.compile(
    r"(?:https?://(?:[^@/\s]*@)?|ssh://(?:[^@/\s]*@)?|[\w.-]+@)([\w.-]+\.\w+)(?::\d+)?[:/]([\w./~-]+?)(?:\.git)?/?"
)
_HUB: Final = re.compile(r"https://huggingface\.co/datasets/([\w.-]+)/[\w.-]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """A credit field that tasks leave out, and what could be put there: `option` fills it for the whole set.

    `reason` says where the value was found, `tasks` how many lack the field.
    """

    key: str
    value: str
    option: str
    reason: str
    tasks: int


def license_of(text: str) -> str | None:
    """Return the SPDX identifier of a license by its text; None for one that is not told for certain."""
    start = " ".join(text[:_START].lower().split())
    return next((name for name, marks in _LICENSES if all(mark in start for mark in marks)), None)


def license_named(name: object) -> str | None:
    """Return the SPDX identifier that the header of a data set's card names."""
    return _NAMES.get(name.lower()) if isinstance(name, str) else None


def address_of(remote: str) -> str | None:
    """Return the address that a person can open for a git remote; a password in it is left out."""
    match = _REMOTE.fullmatch(remote.strip())
    return f"https://{match.group(1)}/{match.group(2)}" if match is not None else None


def hub_account(address: str) -> str | None:
    """Return whose data set of the Hub an address is."""
    match = _HUB.fullmatch(address)
    return match.group(1) if match is not None else None
