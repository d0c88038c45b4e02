"""Tokens of some three hundred makers, as the rules of Kingfisher know them; the one user of that library.

It works offline: nothing is asked of any maker.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from seatrials.errors import CannotJudgeError
from seatrials.release.contents import Data

if TYPE_CHECKING:
    from kingfisher_sdk import Scanner

TOKEN: Final = "token"  # noqa: S105 - a kind, not one
"""The kind of a token whose maker has no kind of its own."""

_MAKERS: Final = (
    ("huggingface", "hugging-face"),
    ("anthropic", "anthropic"),
    ("openai", "openai"),
    ("openrouter", "openai"),
    ("aws", "aws"),
    ("github", "github"),
    ("gitlab", "gitlab"),
    ("slack", "slack"),
    ("gcp", "google"),
    ("private-key", "private-key"),
)
_NO_TOKENS: Final = (
    "curl-auth",
    "gcp-application-default-credentials",
    "generic-",
    "hashicorp-tf-password",
    "jwt",
    "kubernetes-secret-yaml",
    "mongodb-connection-string",
    "stripe-access-token-test",
)
"""Rules about what tasks make up by the hundred: session tokens, and passwords of their own services."""

_WINDOW: Final = 64 * 1024 * 1024
_OVERLAP: Final = 64 * 1024


def get_ready() -> None:
    """Begin to load the rules, in a thread: a quarter second, or three the first time on a machine.

    The library keeps them compiled in the user's cache folder.
    """
    _loading()


@cache
def _loading() -> "Future[Scanner]":
    executor = ThreadPoolExecutor(max_workers=1)
    loading = executor.submit(_load)
    executor.shutdown(wait=False)
    return loading


def _load() -> "Scanner":
    try:
        from kingfisher_sdk import Rules, Scanner
    except ModuleNotFoundError:
        raise CannotJudgeError(
            "the scan for secrets needs `kingfisher-secret-scanner`, which has no package for this kind of"
            " machine; release from another"
        ) from None

    return Scanner(Rules())


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """One that was found. In base64, `value` is what that says, and the span is that of the base64."""

    kind: str
    name: str
    value: bytes
    start: int
    end: int


def known_tokens(data: Data) -> Iterator[Token]:
    """Yield each token in the data."""
    for offset in range(0, max(len(data), 1), _WINDOW):
        for found in _loading().result().scan(data[offset : offset + _WINDOW + _OVERLAP]):
            name = found.rule_id.removeprefix("betterleaks.").removeprefix("veles.secrets/").partition(".")[0]
            if not found.visible or name.startswith(_NO_TOKENS) or name.endswith("-id"):
                continue
            kind = next((kind for maker, kind in _MAKERS if name.startswith(maker)), TOKEN)
            yield Token(
                kind=kind,
                name=name.replace("-", " "),
                value=found.secret.encode(),
                start=offset + found.location["start_offset"],
                end=offset + found.location["end_offset"],
            )
