"""Where a user's own files lie."""

import os
import pwd
from pathlib import Path

import pytest

from seatrials.places import cache_home

LISTED = Path(pwd.getpwuid(os.getuid()).pw_dir)


@pytest.mark.parametrize(
    ("home", "cache", "expected"),
    [
        ("/home/somebody", None, Path("/home/somebody/.cache")),
        ("/home/somebody", "/var/cache/mine", Path("/var/cache/mine")),
        ("/home/somebody", "", Path("/home/somebody/.cache")),
        ("/home/somebody", "relative", Path("/home/somebody/.cache")),
        ("", None, LISTED / ".cache"),
        ("relative", None, LISTED / ".cache"),
        ("", "relative", LISTED / ".cache"),
        (None, None, LISTED / ".cache"),
        ("", "/var/cache/mine", Path("/var/cache/mine")),
    ],
)
def test_cache_lies_where_the_user_is_at_home(
    home: str | None, cache: str | None, expected: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty or a relative variable is not heeded: nothing is kept in the working directory or in `/`."""
    for name, value in (("HOME", home), ("XDG_CACHE_HOME", cache)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    assert cache_home() == expected


def test_user_without_an_entry_has_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process whose user nobody knows has no folder to keep things in, and that is no error."""

    def unknown(_: int) -> object:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_home() is None
