"""`.dockerignore`: what of a build context is not sent to the builder. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from seatrials.replay.spec import SourceFile

IGNORE_FILE: Final = ".dockerignore"
_ALWAYS: Final = frozenset({"Dockerfile", IGNORE_FILE})


def without_ignored(files: Mapping[str, SourceFile]) -> dict[str, SourceFile]:
    """Return the files that are sent. The Dockerfile and the ignore file always are, as by Docker's CLI."""
    ignore = files.get(IGNORE_FILE)
    if ignore is None or ignore.kind != "file":
        return dict(files)
    patterns = [
        line.strip()
        for line in ignore.read().decode("utf-8", "replace").splitlines()
        if line.strip() and not line.startswith("#")
    ]
    from docker.utils.build import PatternMatcher

    matcher: Any = PatternMatcher(patterns)
    return {path: file for path, file in files.items() if path in _ALWAYS or not matcher.matches(path)}
