"""What the arena's client answered, and what of it can be told: statuses, waits and words."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any, Final

from seatrials.arena.identity import hide

_WORDS: Final = 400
_QUOTES: Final = 20
_STATUS: Final = re.compile(
    r"(?:\b(?:HTTP(?:/\d(?:\.\d)?| Error)?|status(?:[ _]code)?|code|error|answered)|\()[\s:=]*([45]\d\d)\b",
    re.IGNORECASE,
)
_RETRY: Final = re.compile(r"\bretry[-_ ]after(?:_s)?\b[\"'\s:=]*([^\r\n;|\"]{1,40})", re.IGNORECASE)
_HTML: Final = re.compile(r"<\s*(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_PERSISTENT: Final = re.compile(r"\bpersist", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """The client's exit code, the JSON of its standard output, and the words of its standard error.

    `data` is None where there was nothing on standard output. Neither holds
    the token; `said` holds no control character but line ends.
    """

    words: tuple[str, ...]
    code: int
    data: Any
    said: str

    @property
    def command(self) -> str:
        """The command without its options, as ``runs`` or ``board post``."""
        return command_of(self.words)

    @property
    def fields(self) -> Mapping[str, Any]:
        """The answer's object, with what an error puts under `detail` or `error`; empty for anything else.

        Of a failure without one on standard output, an object that the words quote.
        """
        data = self.data if self.data is not None or self.code == 0 else _quoted(self.said)
        if not isinstance(data, dict):
            return {}
        for key in ("detail", "error"):
            if isinstance(inner := data.get(key), dict):
                return {**inner, **data}
        return data

    @property
    def status(self) -> int | None:
        """The HTTP status of an error answer, as the client told it; None where it told none."""
        for key in ("status", "status_code", "http_status", "code"):
            value = self.fields.get(key)
            if isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600:  # noqa: PLR2004 - the errors of HTTP
                return value
        found = _STATUS.search(self.said) or re.match(r"\s*([45]\d\d)\b", self.said)
        return int(found[1]) if found else None

    @property
    def retry_after(self) -> float | None:
        """Seconds after which the arena wants to be asked again; None where it named none."""
        for key in ("retry_after", "retry_after_s", "retry-after", "Retry-After"):
            if key in self.fields:
                return _seconds(str(self.fields[key]))
        found = _RETRY.search(self.said)
        return _seconds(found[1]) if found else None

    @property
    def is_html(self) -> bool:
        """Whether the client told of, or handed on, a web page: the proxy's, not the arena's."""
        return bool(_HTML.search(self.said))

    @property
    def persistent(self) -> bool:
        """Whether the client gave a failure up as one that stays: it had sent the request again itself."""
        return bool(_PERSISTENT.search(self.said))

    @property
    def reason(self) -> str:
        """The arena's own words in one line, at most some 400 characters; empty where it said nothing."""
        return one_line(_told(self.data) or _told(self.fields) or _last_words(self.said))


def command_of(words: Sequence[str]) -> str:
    """Return a call's command without its options."""
    plain = []
    for word in words:
        if word.startswith("-"):
            break
        plain.append(word)
    return " ".join(plain)


def parsed(output: bytes, token: str | None) -> Any:
    """Return the JSON of a standard output, the token hidden; None for no output. Raises ValueError."""
    text = output.decode("utf-8").strip()
    if not text:
        return None
    try:
        data = json.loads(text)
        # Hidden in what was read: an escape may spell the token in the text.
        spelt = json.dumps(data)
    except RecursionError:
        raise ValueError("nested too deep") from None
    hidden = hide(spelt, token)
    return data if hidden == spelt else json.loads(hidden)


def words_of(errors: bytes | str, token: str | None) -> str:
    """Return a standard error as text for people: the token hidden, control characters spelt."""
    text = errors.decode("utf-8", "replace") if isinstance(errors, bytes) else errors
    lines = hide(text, token).replace("\r\n", "\n").split("\n")
    return "\n".join(_printable(line.replace("\t", "    ")) for line in lines).strip("\n")


def one_line(text: str) -> str:
    """Return a text in one line, cut where it is long, with a web page named and not shown."""
    page = _HTML.search(text)
    if page:
        text = text[: page.start()] + "(a web page)"
    line = " ".join(text.split())
    return line if len(line) <= _WORDS else line[: _WORDS - 1].rstrip() + "…"


def _printable(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in line
    )


def _told(data: Any) -> str:
    """Return the words of an error answer: a text, FastAPI's list of them, or an object that holds either."""
    match data:
        case {"detail": inner} | {"error": inner} | {"message": inner} | {"msg": inner} if inner:
            told = _told(inner)
            place = data.get("loc")
            if told and isinstance(place, list):
                return f"`{'.'.join(str(part) for part in place if part != 'body')}`: {told}"
            return told
        case list():
            return "; ".join(told for item in data if (told := _told(item)))
        case str():
            return _printable(data)
        case _:
            return ""


def _quoted(said: str) -> Any:
    """Return the first JSON object that a text quotes; None where it quotes none."""
    for found in islice(re.finditer(r"\{", said), _QUOTES):
        with suppress(ValueError, RecursionError):
            return json.JSONDecoder().raw_decode(said, found.start())[0]
    return None


def _last_words(said: str) -> str:
    page = _HTML.search(said)
    if page:
        said = said[: page.start()]
    lines = [line for line in said.splitlines() if line.strip()]
    return "; ".join(line.strip() for line in lines[-3:])


def _seconds(text: str) -> float | None:
    text = text.strip()
    number = re.match(r"\d{1,9}(?:\.\d+)?(?!\d)", text)
    if number:
        return float(number[0])
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return max((when - datetime.now(UTC)).total_seconds(), 0.0)
