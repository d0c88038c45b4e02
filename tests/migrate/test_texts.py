"""YAML and TOML as text, and the comments of both."""

import datetime
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrials.migrate import toml_text, yaml_text
from seatrials.migrate.comments import toml_comments, yaml_comments
from seatrials.migrate.proof import same
from seatrials.task.document import parse_document, parse_yaml
from seatrials.task.harbor import parse_toml

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SCALARS = st.one_of(
    TEXT,
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.datetimes(datetime.datetime(1, 1, 2), datetime.datetime(9999, 12, 30)),
    st.dates(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
TABLES = st.dictionaries(TEXT, VALUES, max_size=5)


@given(TABLES)
def test_toml_reads_back_equal(data: dict[str, Any]) -> None:
    """Whatever a configuration holds, Python's reader gives it back."""
    assert same(tomllib.loads(toml_text.dump(data)), data)


NAMES = st.from_regex(r"[a-z_][a-z0-9_-]{0,8}", fullmatch=True)


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=5))
def test_frontmatter_reads_back_equal(data: dict[str, Any]) -> None:
    """A mapping written as frontmatter comes back equal, in its order, and the body after it, too."""
    printable = yaml_text.dump(data)
    document = parse_document(f"---\n{printable}---\n\n## prompt\n\nbody\n".encode())
    assert document.problems == ()
    assert same(document.frontmatter, data)
    assert document.prompt == "body"


WORDS = st.sampled_from(
    ["a b", "a -b", "a: b", "a #b", "null", "On", "yes", "~", "1.0", "1e3", "0x1F", "-", "- a", "_1", "a-",
     "=", "<<", "/x/y.py", "a@b.org", "2024-01-02", "[a]", "it's", " a", "a ", "TRUE", "y", ".inf",
     "k" * 120]
)  # fmt: skip
USUAL = st.recursive(
    st.one_of(WORDS, TEXT, st.booleans(), st.integers(), st.floats(), st.none(), st.dates()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(WORDS | NAMES, USUAL, max_size=5))
def test_the_quick_way_to_yaml_writes_what_pyyaml_writes(data: dict[str, Any]) -> None:
    """Byte for byte, whatever the data holds."""
    assert yaml_text.dump(data) == yaml_text.dump_slowly(data)


def test_short_lists_stand_on_one_line() -> None:
    """A short list of scalars is in flow style, a long one or one of mappings is not."""
    assert yaml_text.dump({"a": ["x", 1], "b": [{"c": 1}], "d": ["y" * 60, "z" * 60]}) == (
        f"a: [x, 1]\nb:\n- c: 1\nd:\n- {'y' * 60}\n- {'z' * 60}\n"
    )


def test_comments_of_toml_know_strings() -> None:
    """A `#` in any of the four forms of string is no comment; one in a list belongs to the list's key."""
    text = 'a = \'#x\' # 1\nb = """\n# no\n"""\nc = [ # 2\n  1, # 3\n]\nd = \'\'\'#\'\'\'\ne = "\\"#"\n'
    found = toml_comments(text, parse_toml(text.encode()).lines)
    assert [(comment.text, comment.key, comment.trailing) for comment in found] == [
        ("# 1", ("a",), True),
        ("# 2", ("c",), True),
        ("# 3", ("c",), False),
    ]


def test_comments_of_yaml_know_scalars() -> None:
    """A `#` in a quoted or block scalar, or without a space before it, is no comment."""
    text = "# 0\na: 'x # no' # 1\nb: |\n  # no\nc: x#no\nd: [1, # 2\n  2]\n# 3 # 4\n"
    found = yaml_comments(text, parse_yaml(text, path="").lines, first_line=1)
    assert [(comment.text, comment.key) for comment in found] == [
        ("# 0", ("a",)), ("# 1", ("a",)), ("# 2", ("d",)), ("# 3 # 4", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, True, False),
        (0, False, False),
        (float("nan"), float("nan"), True),
        (1, 1.0, True),
        ([1], [1, 2], False),
    ],
)
def test_same_is_strict_about_booleans(left: object, right: object, equal: bool) -> None:
    """A boolean is no number and NaN is itself, when configurations are compared."""
    assert same(left, right) is equal
