"""Whether a text is Python at all. Nothing is run."""

import symtable
import sys
import warnings
from functools import lru_cache


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
