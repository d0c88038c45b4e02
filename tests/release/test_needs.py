"""The card's table of needs, which `try` reads."""

from seatrials.release.layout import Layout
from seatrials.release.needs import with_needs


def test_needs_of_others_stay() -> None:
    """A collection's own needs are replaced, those of its neighbours and the default stay."""
    first = with_needs({"tags": ["x"]}, Layout(name="a"), requires=["a GPU"], setup=[])
    assert first["seatrials"] == {"default": "a", "collections": {"a": {"requires": ["a GPU"]}}}
    second = with_needs(first, Layout(name="b"), requires=[], setup=["make data"])
    assert second["seatrials"]["default"] == "a"
    assert second["seatrials"]["collections"]["b"] == {"setup": ["make data"]}
    third = with_needs(second, Layout(name="a"), requires=[], setup=[])
    assert third["seatrials"] == {"default": "a", "collections": {"b": {"setup": ["make data"]}}}
    assert third["tags"] == ["x"]


def test_collection_without_name_or_needs_has_no_table() -> None:
    """A card of one collection that needs nothing is left as it is."""
    assert with_needs({"tags": ["x"]}, Layout(), requires=[], setup=[]) == {"tags": ["x"]}
    assert with_needs({"seatrials": "?"}, Layout(), requires=["x"], setup=[]) == {
        "seatrials": {"collections": {"envs": {"requires": ["x"]}}}
    }
