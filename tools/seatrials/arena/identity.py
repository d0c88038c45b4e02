"""The Hugging Face token of this machine, and its absence from all that is shown or kept."""

import base64
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote

from seatrials.errors import NoIdentityError

HIDDEN: Final = "[token]"
_MAX: Final = 4096
_TELLING: Final = 12
"""Characters of base64 that tell; shorter ones may stand anywhere."""
_SHAPE: Final = re.compile(r"(?<![A-Za-z0-9])(?:hf|api_org)_[A-Za-z0-9]{30,}")


def token_of(env: Mapping[str, str] = os.environ) -> str:
    """Return the token that `hf` and the arena's client would use: `HF_TOKEN`, else the one saved.

    The order is that of the arena's guide ("Access"), with the hub client's
    `$XDG_CACHE_HOME`. Raises NoIdentityError where there is none, or what is
    there can't be one; the message never holds it.
    """
    if (value := env.get("HF_TOKEN", "").strip()) or (value := _saved(env)):
        if not value.isascii() or not value.isprintable() or " " in value:
            raise NoIdentityError("the Hugging Face token must be one word; log in anew with `hf auth login`")
        return value
    raise NoIdentityError("no Hugging Face token; log in with `hf auth login`, or set `HF_TOKEN`")


def _saved(env: Mapping[str, str]) -> str:
    try:
        with _token_file(env).open("rb") as stream:
            return stream.read(_MAX).decode("utf-8", "replace").strip()
    except (OSError, RuntimeError, ValueError):
        return ""


def _token_file(env: Mapping[str, str]) -> Path:
    if path := env.get("HF_TOKEN_PATH"):
        return Path(path).expanduser()
    if home := env.get("HF_HOME"):
        return Path(home).expanduser() / "token"
    cache = env.get("XDG_CACHE_HOME")
    return (Path(cache).expanduser() if cache else Path.home() / ".cache") / "huggingface" / "token"


def hide(text: str, token: str | None) -> str:
    """Return a text without the token, however it is spelt in it, and without what looks like one."""
    for spelling in _spellings(token) if token else ():
        text = text.replace(spelling, HIDDEN)
    return _SHAPE.sub(HIDDEN, text)


def _spellings(token: str) -> tuple[str, ...]:
    raw = token.encode()
    # Base64 of a text that holds the token depends on where in a group of three it starts.
    coded = tuple(
        base64.b64encode(b"\0" * start + raw)[-(-start * 4 // 3) : (start + len(raw)) // 3 * 4].decode()
        for start in range(3)
    )
    spelt = {
        token,
        quote(token, safe=""),
        json.dumps(token)[1:-1],
        *(word for word in coded if len(word) >= _TELLING),
    }
    return tuple(sorted(spelt, key=len, reverse=True))
