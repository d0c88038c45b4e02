"""Questions for the person at the terminal, on standard error: standard output may be a file."""

import sys
from functools import partial
from typing import TYPE_CHECKING

from seatrials.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from seatrials.arena.trust import Ask, Offer


def somebody() -> bool:
    """Say whether there is a person to ask: both ends are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def trust_asker(*, token: bool = True) -> "Ask | None":
    """Return what asks whether a script of the arena's may run here; None without a terminal.

    `token` says that it gets the person's Hugging Face token where it needs one.
    """
    return partial(_trusts, token=token) if somebody() else None


def _trusts(offer: "Offer", *, token: bool) -> bool:
    more = "with your Hugging Face token where a command needs it" if token else "without your token"
    lines = [
        f"A script of the arena's is to run here, {more}:",
        f"  URL     {offer.url}",
        f"  sha256  {offer.sha256}",
        f"  size    {offer.size} bytes",
    ]
    if offer.before is not None:
        lines.append(f"It has changed; trusted was sha256 {offer.before}")
    print("\n".join(lines), file=sys.stderr)
    return agreed("Trust exactly this file?")


def confirm(question: str, wanted: str, *, given: str | None, option: str) -> None:
    """Have a person type `wanted`; `given` is what `option` says in its place.

    Raises UsageError where the option says something else, RefusedError where
    there is nobody to ask, or something else was typed.
    """
    if given is not None:
        if given != wanted:
            raise UsageError(f"`{option} {given}` must be `{option} {wanted}`")
        return
    if not somebody():
        raise RefusedError(f"{question} Without a terminal, say so with `{option} {wanted}`")
    print(question, file=sys.stderr)
    if answer(f"Type `{wanted}` to go on: ") != wanted:
        raise RefusedError("not confirmed; nothing was sent")


def agreed(question: str) -> bool:
    """Ask a question, and say whether the answer is yes; anything but yes is no."""
    return answer(f"{question} [y/N] ").lower() in {"y", "yes"}


def answer(prompt: str) -> str:
    """Return the line that a person types, without spaces around it; empty at the end of input."""
    print(prompt, end="", file=sys.stderr, flush=True)
    try:
        return sys.stdin.readline().strip()
    except UnicodeDecodeError:
        return ""
