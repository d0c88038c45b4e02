"""Facts about a verifier's Python are the same whether a pattern or the syntax tree tells them."""

import pytest

from seatrials.parse.pytest import python_facts


@pytest.mark.parametrize(
    "handler",
    [
        "except Exception:\n        pass\n",
        "except Exception as e:  # optional\n        pass\n",
        "except (AssertionError, ValueError):\n\n        # it may differ\n        # here\n        pass\n",
        "except: pass\n",
        "except Exception:\r\n        pass\r\n",
    ],
)
def test_swallowed_assertion_is_seen_in_each_shape(handler: str) -> None:
    """An `except` that only passes is found, whatever stands between it and its `pass`."""
    source = f"def test_x():\n    try:\n        assert f() == 1\n    {handler}"
    assert python_facts(source.encode()).swallowed == (3,)


def test_handler_that_says_something_swallows_nothing() -> None:
    """An `except` that does anything is no swallowed assertion."""
    source = b"def test_x():\n    try:\n        assert f() == 1\n    except Exception:\n        fail('no')\n"
    assert python_facts(source).swallowed == ()


@pytest.mark.parametrize(
    ("assertion", "value"),
    [
        ("assert total == 3", True),
        ("assert 'x' in text", True),
        ("assert path.exists()", False),
        ("assert os.path.isfile(p)", False),
    ],
)
def test_assertion_about_a_value_is_told_from_one_about_a_path(assertion: str, value: bool) -> None:
    """Only what looks into something is an assertion about a value."""
    source = f"import os\ndef test_x():\n    {assertion}\n".encode()
    assert python_facts(source).asserts_values is value
