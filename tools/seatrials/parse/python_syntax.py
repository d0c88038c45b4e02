"""Whether a text is Python at all. Nothing is run."""

import re
import symtable
import sys
import warnings
from functools import lru_cache
from typing import Final

_TEXT: Final = re.compile(
    rb'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|#[^\n]*|'
    rb"'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''|'[^'\\\n]*(?:\\.[^'\\\n]*)*'",
    re.DOTALL,
)
"""Strings and comments that end."""

_NO_COLON: Final = re.compile(
    rb"\n[ \t]*(?:class|def|elif|else|except|finally|for|if|try|while|with)\b"
    rb"[^\n:([{\\]*(?:\([^\n()]*\)[^\n:([{\\]*)*(?=\n)"
)
_NEVER: Final = (b"(:", b"(,", b"{:", b"{,", b"[,", b",,", b"=\n", b"= \n", b"assert\n", b"(" * 90, b"[" * 90)
_PAIRS: Final = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"))


def looks_whole(source: bytes) -> bool:
    """Say whether nothing in a file shows that it is no Python; a sixth of the time of a parser.

    What shows are strings and brackets left open, headers without a colon and
    other ends of what was cut off; of other faults nothing is known.
    """
    bare = _TEXT.sub(b"0", source)
    if b'"' in bare or b"'" in bare or any(bare.count(left) != bare.count(right) for left, right in _PAIRS):
        return False
    if any(sign in bare for sign in _NEVER) or _NO_COLON.search(bare):
        return False
    return b"import *" not in bare or re.search(rb"\n[ \t]+from \S+ import \*", bare) is None


@lru_cache(maxsize=64)
def syntax_fault(source: bytes) -> tuple[int | None, str] | None:
    """Return where and why a file is not Python; None where it is, or nobody can tell. Never raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # The compiler's own tables: unlike a syntax tree, they cost no Python objects.
            symtable.symtable(source, "<verifier>", "exec")  # type: ignore[arg-type]
    except SyntaxError as error:
        said = error.msg or "invalid syntax"
        # What may stand in an f-string changed in 3.12, and the verifier has a Python of its own.
        if sys.version_info < (3, 12) and "f-string" in said:
            return None
        return error.lineno, said
    except (RecursionError, MemoryError):
        return None, "nested too deeply"
    except ValueError as error:  # a null byte
        return None, str(error)
    return None
