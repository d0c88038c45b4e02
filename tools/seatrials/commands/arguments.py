"""Kinds of arguments that commands share."""

import argparse


def positive(word: str) -> int:
    """Parse a number of 1 or more."""
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"`{word}` is not a number of 1 or more")
    return int(word)


def jobs_or_auto(word: str) -> int | str:
    """Parse a number of 1 or more, or the word `auto`."""
    return word if word == "auto" else positive(word)
