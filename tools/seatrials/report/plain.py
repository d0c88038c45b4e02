"""Text of others made safe to show: no control character or escape sequence gets through."""


def plain(text: str) -> str:
    r"""Return the text with all that does not print (controls, bidi marks, bad bytes) spelt, as ``\x1b``."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )
