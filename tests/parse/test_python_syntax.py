"""Whether a text is Python."""

import pytest

from seatrials.parse.python_syntax import looks_whole, syntax_fault


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


@pytest.mark.parametrize(
    "source",
    [
        b"x = 'open\n",
        b'x = f"cut o',
        b'"""open\n',
        b"x = (1\n",
        b"def f(:\n    pass\n",
        b"\ndef f()\n    pass\n",
        b"\nif x\n    y()\n",
        b"x = [1, 2\ny = 3\n",
        b"x.get('a', ')\n",
        b"def f():\n    from a import *\n",
        b"def f():\n    x =\n",
        b"x = " + b"(" * 100 + b")" * 100,
    ],
)
def test_what_shows_that_a_file_is_no_python(source: bytes) -> None:
    """A file that was cut off, or left open, is seen to be none without a parser."""
    assert not looks_whole(source)
    assert syntax_fault(source) is not None or source.count(b"(") == 100


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"'''it's ('''\nx = 1\n",
        b'"""don\'t [\n"""\n# it\'s (\nx = "a\'b" + \'c"d\'\n',
        b"x = '\\'('\n",
        b"\ndef f(\n    a,\n    b,\n) -> None:\n    pass\n",
        b"\nif (a and\n        b):\n    pass\n",
        b"\nwith open('a') as b, \\\n        c:\n    pass\n",
        b"\nfor_ = 1\ntry_again = 2\nx = a[:, 1]\ny = a[:1]\n",
        b"from a import *\n",
    ],
)
def test_python_looks_whole(source: bytes) -> None:
    """Quotes in comments and texts, lines that go on, slices and names like keywords show nothing."""
    assert looks_whole(source)
