"""Which findings are wanted: `--select` and `--ignore`, by code or by the start of codes."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from seatrials.errors import UsageError
from seatrials.rules import RULES_BY_CODE, limits

_WORDS: Final = (*RULES_BY_CODE, *sorted({code[:3] for code in RULES_BY_CODE}))
_OF_THE_KIT: Final = frozenset(rule.code for rule in limits.RULES)


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """Codes and starts of codes; nothing selected means all. What is ignored wins."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def keeps(self, code: str) -> bool:
        """Say whether findings of a code are wanted; that a task was not checked, only `ignore` can hide."""
        if code.startswith(self.ignore):
            return False
        return not self.select or code in _OF_THE_KIT or code.startswith(self.select)


EVERYTHING: Final = Choice()
"""Nothing selected, nothing ignored."""


def choice(select: Iterable[str], ignore: Iterable[str]) -> Choice:
    """Read what a user wrote: codes between commas or spaces. Raises UsageError for what no rule has."""
    return Choice(select=_codes("--select", select), ignore=_codes("--ignore", ignore))


def _codes(option: str, words: Iterable[str]) -> tuple[str, ...]:
    codes = tuple(part.upper() for word in words for part in word.replace(",", " ").split())
    for code in codes:
        if not any(known.startswith(code) for known in RULES_BY_CODE):
            raise UsageError(f"`{option}`: no rule has the code `{code}`{nearest(code, _WORDS)}")
    return codes


def nearest(code: str, known: Collection[str] = RULES_BY_CODE.keys()) -> str:
    """Return the end of a message about an unknown code: the code that may be meant, or where all are."""
    near = get_close_matches(code, known, n=1)
    return f"; did you mean `{near[0]}`?" if near else "; `seatrials rules` lists all"
