"""Go's wildcards as regular expressions that never backtrack far. Pure.

What stands between two stars is matched at its first place and never given up
(an atomic group): for wildcards that is enough, and time stays in proportion.
Source: Go's ``path/filepath.Match``.
"""

import re


def name_regexp(pattern: str) -> str | None:
    """Translate the pattern of one name (no slash); None where it is not well formed."""
    pieces: list[list[str]] = [[]]
    at = 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        match char:
            case "*":
                if pieces[-1] or len(pieces) == 1:
                    pieces.append([])
            case "?":
                pieces[-1].append("[^/]")
            case "[":
                end = _class_end(pattern, at)
                if end < 0:
                    return None
                members = _class(pattern[at:end])
                if members is None:
                    return None
                pieces[-1].append(members)
                at = end + 1
            case "\\":
                if at == len(pattern):
                    return None
                pieces[-1].append(re.escape(pattern[at]))
                at += 1
            case _:
                pieces[-1].append(re.escape(char))
    first, *rest = ["".join(piece) for piece in pieces]
    if not rest:
        return first
    middle = "".join(f"(?>[^/]*?{piece})" for piece in rest[:-1])
    return f"{first}{middle}[^/]*{rest[-1]}"


def compiled(regexp: str) -> re.Pattern[str] | None:
    """Compile, or return None where it can't be: a class with a range that runs backwards, say."""
    try:
        return re.compile(regexp, re.DOTALL)
    except (re.error, OverflowError, RecursionError):
        return None


def _class_end(pattern: str, at: int) -> int:
    """Return where a character class that starts at `at` closes, -1 where it doesn't."""
    if pattern.startswith("^", at):
        at += 1
    first = at
    while at < len(pattern):
        if pattern[at] == "\\":
            at += 1
        elif pattern[at] == "]" and at > first:
            return at
        at += 1
    return -1


def _class(inside: str) -> str | None:
    """Translate what stands between the brackets; None where a character is missing, or a range runs back."""
    negated = inside.startswith("^")
    ranges: list[str] = []
    at = int(negated)
    while at < len(inside):
        low, at = _member(inside, at)
        high = low
        if inside.startswith("-", at):
            high, at = _member(inside, at + 1)
        if not low or not high or low > high:
            return None
        ranges.append(f"{re.escape(low)}-{re.escape(high)}")
    return f"(?!/)[{'^' if negated else ''}{''.join(ranges)}]"


def _member(inside: str, at: int) -> tuple[str, int]:
    """Return the character of a class at a place, and where it goes on; empty where none is."""
    if inside.startswith("\\", at):
        return inside[at + 1 : at + 2], at + 2
    return ("" if inside.startswith("-", at) else inside[at : at + 1]), at + 1
