"""Words that reports have in common."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, as in `1 task` and `3,566 tasks`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
