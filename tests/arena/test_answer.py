"""Reading what the client said: statuses, waits, words, and the token in none of it."""

import base64
import contextlib
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrials.arena.answer import Answer, one_line, parsed, words_of
from seatrials.arena.identity import hide, token_of
from seatrials.arena.refusals import duration
from seatrials.arena.results import Preflight, Submission, Validation, hashes_of, rows_of
from seatrials.errors import NoIdentityError, SeatrialsError

TOKENS = st.text(alphabet="abcdefgXYZ0123456789_-+/=.", min_size=16, max_size=60)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=20,
)


def answer(said: str = "", data: object = None, code: int = 1) -> Answer:
    """Return an answer to `runs`."""
    return Answer(words=("runs", "--challenge", "c"), code=code, data=data, said=said)


@pytest.mark.parametrize(
    ("said", "data", "status"),
    [
        ("HTTP 409: already registered", None, 409),
        ("HTTP Error 503: Service Unavailable", None, 503),
        ("HTTP/1.1 502 Bad Gateway", None, 502),
        ("arena_cli: error 422: bad", None, 422),
        ("the Space answered 429", None, 429),
        ("refused (403)", None, 403),
        ("404 not found", None, 404),
        ("status code: 500", None, 500),
        ("", {"status_code": 422, "detail": "x"}, 422),
        ("", {"detail": {"status": 409, "message": "x"}}, 409),
        ("network failure: timed out after 500 s", None, None),
        ("", {"status": "failed"}, None),
        ("", {"status": True}, None),
        ("", [1], None),
    ],
)
def test_status(said: str, data: object, status: int | None) -> None:
    """The status is found in the answer's object or the client's words, however it tells it."""
    assert answer(said, data).status == status


@pytest.mark.parametrize(
    ("said", "data", "seconds"),
    [
        ("Retry-After: 30", None, 30),
        ("retry after 2.5 seconds", None, 2.5),
        ("(retry_after=7)", None, 7),
        ("", {"retry_after_s": 90}, 90),
        ("", {"detail": {"retry_after": "12"}}, 12),
        ("Retry-After: soon", None, None),
        ("Retry-After: 99999999999999999999", None, None),
        ("nothing", None, None),
    ],
)
def test_retry_after(said: str, data: object, seconds: float | None) -> None:
    """The wait is found in the answer's object or the client's words; what is no time is none."""
    assert answer(said, data).retry_after == seconds


def test_retry_after_as_a_date() -> None:
    """A date, the other form that HTTP knows, is the time until then."""
    when = datetime.now(UTC) + timedelta(hours=1)
    found = answer(f"Retry-After: {format_datetime(when, usegmt=True)}").retry_after
    assert found is not None
    assert 3500 < found <= 3600
    assert answer("Retry-After: Wed, 21 Oct 2015 07:28:00 GMT").retry_after == 0


@pytest.mark.parametrize(
    ("data", "said", "reason"),
    [
        ({"detail": "no such run"}, "HTTP 404", "no such run"),
        ({"detail": [{"loc": ["body", "title"], "msg": "Field required"}]}, "", "`title`: Field required"),
        ({"error": {"message": "m"}}, "", "m"),
        (None, "a\nb\n\nc\nd", "b; c; d"),
        (None, "HTTP 502: <html><body>x</body></html>", "HTTP 502:"),
        ({"detail": "x" * 1000}, "", "x" * 399 + "…"),
        ({"detail": "bad \x1b[31mred"}, "", "bad \\x1b[31mred"),
        (None, "", ""),
    ],
)
def test_reason(data: object, said: str, reason: str) -> None:
    """The arena's own words in one line: of its object, else the client's last lines."""
    assert answer(said, data).reason == reason


@given(st.binary(max_size=200) | JSON.map(lambda data: json.dumps(data).encode()), TOKENS)
def test_no_output_breaks_the_reading(raw: bytes, token: str) -> None:
    """Whatever a client prints, it becomes an answer or a ValueError, and every question to it one line."""
    try:
        data = parsed(raw, token)
    except ValueError:
        data = None
    found = Answer(words=("validate",), code=1, data=data, said=words_of(raw, token))
    assert "\n" not in found.reason
    assert found.status is None or 400 <= found.status < 600
    assert found.retry_after is None or found.retry_after >= 0
    assert all(line.isprintable() for line in found.said.split("\n"))
    for read in (Validation.of, Submission.of, Preflight.of):
        with contextlib.suppress(SeatrialsError):
            read(found)
    rows_of(data, "runs")
    hashes_of(found.fields)


@given(TOKENS, st.text(max_size=30), st.text(max_size=30))
def test_token_is_hidden_in_any_text(token: str, before: str, after: str) -> None:
    """As it is, in a URL, in base64 wherever it starts, and in JSON: the token is gone."""
    raw = (before + token + after).encode("utf-8", "replace")
    coded = base64.b64encode(raw).decode()
    text = f"{before} {token} {quote(token, safe='')} {json.dumps(token)} {coded}"
    hidden = hide(text, token)
    assert token not in hidden
    for start in range(3):
        spelt = base64.b64encode(b"\0" * start + token.encode()).decode()
        assert spelt[-(-start * 4 // 3) : (start + len(token)) // 3 * 4] not in hidden


@given(JSON, TOKENS)
def test_token_is_hidden_in_any_json(data: object, token: str) -> None:
    """A value or a key with the token keeps its place without it; what has none is as it was."""
    raw = json.dumps({"inner": data, "told": f"x {token} y", token: 1}).encode()
    found = parsed(raw, token)
    assert token not in json.dumps(found)
    assert found["told"] == "x [token] y"
    assert parsed(json.dumps(data).encode(), None) == data


def test_error_that_the_words_quote() -> None:
    """A client that quotes the API's object on standard error is understood too."""
    body = {"detail": "the job service timed out", "launched": False, "retry_after": 9}
    found = answer(f"arena_cli: HTTP 500 for POST /x {{y}}: {json.dumps(body)}\nlook at `runs`")
    assert (found.status, found.reason, found.retry_after) == (500, "the job service timed out", 9)
    assert found.fields["launched"] is False
    assert answer(found.said, code=0).fields == {}
    assert answer("{" * 1000).fields == {}


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(1, "1 s"), (119, "119 s"), (120, "2 min"), (3000, "50 min"), (3600, "1 h"), (80_000, "22 h 14 min")],
)
def test_durations(seconds: float, told: str) -> None:
    """A wait is told as people say it."""
    assert duration(seconds) == told


def test_long_texts_and_pages_are_cut() -> None:
    """A line has no page in it, and an end."""
    assert one_line("a\n b <!DOCTYPE html><p>x") == "a b (a web page)"
    assert len(one_line("y" * 10_000)) == 400


def test_token_is_found_as_the_client_of_the_hub_does(tmp_path: Path) -> None:
    """The variable, else the file named, else that of HF_HOME, of XDG_CACHE_HOME and of the home folder."""
    (tmp_path / "a").write_text("of-path\n", "utf-8")
    (tmp_path / "token").write_text("of-home", "utf-8")
    (tmp_path / "huggingface").mkdir()
    (tmp_path / "huggingface" / "token").write_text("of-cache", "utf-8")
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    assert token_of(env) == "of-cache"
    env["HF_HOME"] = str(tmp_path)
    assert token_of(env) == "of-home"
    env["HF_TOKEN_PATH"] = str(tmp_path / "a")
    assert token_of(env) == "of-path"
    env["HF_TOKEN"] = " of-variable "
    assert token_of(env) == "of-variable"
    with pytest.raises(NoIdentityError):
        token_of({"HF_HOME": str(tmp_path / "none")})
