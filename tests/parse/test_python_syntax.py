"""Whether a text is Python."""

import pytest

from seatrials.parse.python_syntax import syntax_fault


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (b"x = (1\n", 1),
        (b"x = 1\ny = 'open\n", 2),
        (b"def f():\n    from a import *\n", 2),
        (b"x = 1\n  y = 2\n", 2),
        (b"x = \xff\n", 1),
    ],
)
def test_fault_has_its_line(source: bytes, line: int) -> None:
    """What is no Python is told with the line and a reason."""
    fault = syntax_fault(source)
    assert fault is not None
    assert (fault[0], bool(fault[1])) == (line, True)


@pytest.mark.parametrize("source", [b"x = " + b"(" * 5000, b"x = 1\0\n"])
def test_what_is_built_to_break_a_parser_is_a_fault(source: bytes) -> None:
    """Nesting and null bytes end in a reason, not in an exception."""
    assert syntax_fault(source) is not None


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"x = 1\n",
        b"import re\nre.compile('\\d')\n",
        "# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1"),
    ],
)
def test_python_has_none(source: bytes) -> None:
    """A file that Python takes, with a warning or in another encoding, has no fault."""
    assert syntax_fault(source) is None
