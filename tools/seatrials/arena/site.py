"""Where the arena is, and how a file that it serves is fetched.

Only HTTPS, or plain HTTP on loopback, as its own client has it; no redirect is
followed, nothing is sent but the request, and both size and time are bounded.
"""

import os
import re
import ssl
import threading
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from typing import IO, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from seatrials.errors import CannotJudgeError, RefusedError, UsageError

PUBLIC_URL: Final = "https://openenvarena-arena.hf.space"
"""The public Space, by the arena's guide."""

LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
"""The hosts that plain HTTP is for, by the arena's guide ("Access")."""

MAX_BYTES: Final = 4 * 1024 * 1024
"""Bytes of a served file that are taken; the arena's are scripts of some ten thousand lines at most."""

SECONDS: Final = 60.0
"""Seconds that fetching a file may take, from the first to the last byte."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*")
_FOUND: Final = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """An arena by its base URL, without a slash at its end."""

    url: str
    loopback: bool

    def address(self, name: str) -> str:
        """Return the URL of a file that the arena serves beside its API."""
        if not _NAME.fullmatch(name):
            raise UsageError(f"`{name}` must be a file's plain name, as `arena_cli.py`")
        return f"{self.url}/{name}"


def site_of(text: str | None = None) -> Site:
    """Return the arena that a URL names; without one, `ARENA_URL` or the public Space.

    Raises UsageError for a URL that is neither HTTPS nor on loopback, or that
    holds credentials, a query or a fragment. The message holds no credentials.
    """
    url = (text if text is not None else os.environ.get("ARENA_URL", "")).strip() or PUBLIC_URL
    if not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError("`ARENA_URL` must be a plain URL, without spaces or control characters")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise UsageError("`ARENA_URL` must be a URL, as `https://host`") from None
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise UsageError("`ARENA_URL` must hold no user name or password")
    if parts.query or parts.fragment or not host:
        raise UsageError("`ARENA_URL` must be a URL with a host and without `?` and `#`, as `https://host`")
    loopback = host in LOOPBACK
    if parts.scheme != "https" and not (parts.scheme == "http" and loopback):
        raise UsageError(
            "`ARENA_URL` must begin with `https://`; plain `http://` is only for 127.0.0.1, localhost and ::1"
        )
    shown = f"[{host}]" if ":" in host else host
    base = f"{parts.scheme}://{shown}" + (f":{port}" if port is not None else "")
    return Site(url=base + parts.path.rstrip("/"), loopback=loopback)


def fetch(site: Site, name: str, *, seconds: float = SECONDS, limit: int = MAX_BYTES) -> bytes:
    """Return what the arena serves under a name, in full.

    Raises RefusedError for a redirect, a file that is not there, one over
    `limit` bytes, and what is no script; CannotJudgeError where the arena
    can't be reached in `seconds`, has an error, or breaks off.
    """
    address = site.address(name)
    found: list[bytes | Exception] = []

    def get() -> None:
        try:
            found.append(_get(site, address, seconds=seconds, limit=limit))
        except Exception as error:  # noqa: BLE001 - raised again below, in the caller's thread
            if isinstance(error, HTTPError):
                error.close()
            found.append(error)

    # A thread, since a socket's time limit starts anew with each byte that trickles in.
    thread = threading.Thread(target=get, daemon=True)
    thread.start()
    thread.join(seconds)
    match found:
        case [bytes() as data]:
            return _script(address, name, data)
        case [Exception() as error]:
            raise _explained(address, error) from None
        case _:
            raise CannotJudgeError(f"`{address}` took over {seconds:g} s; try again later")


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Follow none: what is trusted is what this very address serves."""


def _get(site: Site, address: str, *, seconds: float, limit: int) -> bytes:
    handlers: list[HTTPRedirectHandler | ProxyHandler] = [_NoRedirects()]
    if site.loopback:
        handlers.append(ProxyHandler({}))
    request = Request(address, headers={"Accept-Encoding": "identity", "User-Agent": "seatrials"})  # noqa: S310 - `site_of` admits HTTPS, and HTTP on loopback
    with build_opener(*handlers).open(request, timeout=seconds) as response:
        if response.status != _FOUND:
            raise CannotJudgeError(f"`{address}` answered {response.status}; try again later")
        declared = response.headers.get("Content-Length")
        data: bytes = response.read(limit + 1)
    if len(data) > limit:
        raise RefusedError(f"`{address}` is over {limit} bytes, which no script of the arena's is")
    if declared is not None and declared.isdecimal() and len(data) != int(declared):
        raise CannotJudgeError(f"`{address}` was cut off after {len(data)} of {declared} bytes; try again")
    return data


def _script(address: str, name: str, data: bytes) -> bytes:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise RefusedError(f"`{address}` must be a text in UTF-8") from None
    if not text.strip():
        raise RefusedError(f"`{address}` is empty")
    if name.endswith(".py") and text.lstrip("\ufeff \t\r\n").startswith("<"):
        raise CannotJudgeError(f"`{address}` is a web page, no script: the arena is briefly unavailable")
    return data


def _explained(address: str, error: Exception) -> Exception:
    match error:
        case CannotJudgeError() | RefusedError():
            return error
        case HTTPError(code=code) if 300 <= code < 400:  # noqa: PLR2004 - the redirects
            return RefusedError(f"`{address}` redirects ({code}), which is not followed; check `ARENA_URL`")
        case HTTPError(code=code) if 400 <= code < 500:  # noqa: PLR2004 - the client's errors
            return RefusedError(f"`{address}` is not there ({code}); check `ARENA_URL`")
        case HTTPError(code=code):
            return CannotJudgeError(f"`{address}` answered {code}: the arena is briefly unavailable")
        case URLError(reason=reason):
            why = f"{type(reason).__name__}: {reason}" if isinstance(reason, Exception) else str(reason)
            return CannotJudgeError(f"`{address}` can't be reached ({' '.join(why.split())})")
        case HTTPException() | OSError() | ssl.SSLError():
            return CannotJudgeError(f"`{address}` broke off ({type(error).__name__}); try again")
        case _:
            return error
