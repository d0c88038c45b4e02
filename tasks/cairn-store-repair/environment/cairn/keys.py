"""What may be stored: keys, values, times to live. See section 2 of docs/SPEC.md."""

from .errors import InvalidKey, InvalidValue

MAX_KEY_BYTES = 1024
MAX_VALUE_BYTES = 16 * 1024 * 1024


def check_key(key):
    """Return the key in UTF-8, or raise InvalidKey."""
    if not isinstance(key, str):
        raise InvalidKey(f"a key is a str, not {type(key).__name__}")
    try:
        raw = key.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidKey(f"a key must be encodable as UTF-8: {error.reason}") from None
    if not 1 <= len(raw) <= MAX_KEY_BYTES:
        raise InvalidKey(f"a key has 1 to {MAX_KEY_BYTES} bytes in UTF-8, not {len(raw)}")
    return raw


def check_value(value):
    if not isinstance(value, bytes | bytearray | memoryview):
        raise InvalidValue(f"a value is bytes, not {type(value).__name__}")
    if len(value) > MAX_VALUE_BYTES:
        raise InvalidValue(f"a value has at most {MAX_VALUE_BYTES} bytes, not {len(value)}")


def check_ttl(ttl_ms):
    if ttl_ms is None:
        return
    if isinstance(ttl_ms, bool) or not isinstance(ttl_ms, int) or ttl_ms <= 0:
        raise ValueError("`ttl_ms` is a positive whole number of milliseconds, or None")


def parse_integer(value):
    """The whole number that `Store.increment` finds under a key."""
    text = bytes(value)
    digits = text.removeprefix(b"-")
    if not digits or any(byte not in b"0123456789" for byte in digits):
        raise InvalidValue("the value to increment is not a whole number in ASCII digits")
    return int(text)
