"""Values as pydantic's lax mode reads them, which BenchFlow validates configurations with.

Read off pydantic 2.14 and tested against the installed one in
``tests/conformance``. Each function returns the value, or raises `Refused`.
"""

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

_Item = TypeVar("_Item")

_MAX_DIGITS: Final = 4_300
_INTEGER: Final = re.compile(r"[+-]?[0-9]+(?:_[0-9]+)*(?:\.0+)?")
_NUMBER: Final = re.compile(
    r"[+-]?(?:inf|infinity|nan|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)", re.IGNORECASE
)
_TRUE: Final = frozenset({"1", "true", "t", "yes", "y", "on"})
_FALSE: Final = frozenset({"0", "false", "f", "no", "n", "off"})
# What Rust takes for white space; Python's strip() removes U+001C to U+001F as well.
_SPACE: Final = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


class Refused(ValueError):  # noqa: N818 - it says what happened to the value
    """BenchFlow's model would not take the value; the text says what it must be."""


def string(value: Any) -> str:
    """Take a string, or bytes that are UTF-8."""
    match value:
        case str():
            return value
        case bytes():
            return _utf8(value, "must be a string")
        case _:
            raise Refused("must be a string" + quote_hint(value))


def integer(value: Any) -> int:
    """Take an integer, a boolean, a float without a fraction, or such a number as text."""
    said = "must be an integer"
    match value:
        case int():
            return int(value)
        case float():
            if value.is_integer() and abs(value) < 2.0**63:
                return int(value)
            raise Refused(said)
        case str() | bytes():
            text = _utf8(value, said).strip(_SPACE) if isinstance(value, bytes) else value.strip(_SPACE)
            if len(text) <= _MAX_DIGITS and _INTEGER.fullmatch(text):
                return int(text.partition(".")[0])
            raise Refused(said)
        case _:
            raise Refused(said)


def number(value: Any) -> float:
    """Take an integer, a float (also infinite or NaN), a boolean, or a number as text."""
    said = "must be a number"
    match value:
        case int() | float():
            try:
                return float(value)
            except OverflowError:
                raise Refused(said) from None
        case str() | bytes():
            text = _utf8(value, said).strip(_SPACE) if isinstance(value, bytes) else value.strip(_SPACE)
            if text.startswith("_") or text.endswith("_") or "__" in text:
                raise Refused(said)
            text = text.replace("_", "")
            if _NUMBER.fullmatch(text):
                return float(text)
            raise Refused(said)
        case _:
            raise Refused(said)


def boolean(value: Any) -> bool:
    """Take a boolean, 0 or 1, or one of the words that YAML 1.1 has for them."""
    said = "must be true or false"
    match value:
        case bool():
            return value
        case int() | float():
            if value in {0, 1}:
                return bool(value)
        case str() | bytes():
            word = (_utf8(value, said) if isinstance(value, bytes) else value).lower()
            if word in _TRUE or word in _FALSE:
                return word in _TRUE
        case _:
            pass
    raise Refused(said)


def choice(value: Any, choices: tuple[str, ...], *, literal: bool = False) -> str:
    """Take one of `choices`; a `literal` one must be text, another may be bytes."""
    plain = value.decode("utf-8", "replace") if isinstance(value, bytes) and not literal else value
    if isinstance(plain, str) and plain in choices:
        return plain
    raise Refused("must be one of " + ", ".join(f"`{word}`" for word in choices))


def user(value: Any) -> str | int:
    """Take a user name or a UID."""
    if isinstance(value, str):
        return value
    try:
        return integer(value) if not isinstance(value, bytes) else string(value)
    except Refused:
        raise Refused("must be a user name or a UID") from None


def items(value: Any, take: Callable[[Any], _Item], what: str) -> list[_Item]:
    """Take a list (YAML's sets and tuples too) of values that `take` takes."""
    said = f"must be a list of {what}"
    if not isinstance(value, list | tuple | set | frozenset):
        raise Refused(said)
    try:
        return [take(item) for item in value]
    except Refused:
        raise Refused(said) from None


def mapping(value: Any, take: Callable[[Any], _Item], what: str) -> dict[str, _Item]:
    """Take a mapping from strings to values that `take` takes."""
    if not isinstance(value, dict):
        raise Refused(f"must be a mapping of names to {what}")
    out: dict[str, _Item] = {}
    for key, item in value.items():
        try:
            out[string(key)] = take(item)
        except Refused:
            if not isinstance(key, str):
                raise Refused(f"has a key `{key!r:.60}` that is not a string; quote it") from None
            raise Refused(
                f"must map names to {what}, and `{key[:60]}` has another value{quote_hint(item)}"
            ) from None
    return out


def quote_hint(value: Any) -> str:
    """Say to quote what YAML or TOML did not read as text."""
    return "; quote it" if isinstance(value, bool | int | float) or hasattr(value, "isoformat") else ""


def _utf8(raw: bytes, said: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(said) from None
