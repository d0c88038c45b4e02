"""`.dockerignore`: what of a build context is not sent to the builder. Pure.

Source: moby/patternmatcher, ``MatchesOrParentMatches``, and moby/buildkit,
``ignorefile``. The Docker SDK's own matcher reads `**` and `!` otherwise.
"""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Protocol, TypeVar

from seatrials.parse.globs import compiled, name_regexp

IGNORE_FILES: Final = ("Dockerfile.dockerignore", ".dockerignore")
"""Where BuildKit looks, the first one found is used; other builders know the second only."""

MAX_PATTERNS: Final = 2000
"""Patterns that are read; the rest of a longer file is passed over."""


class IgnoreSource(Protocol):
    """A file that can be read."""

    @property
    def kind(self) -> str:
        """``file`` for a regular file."""

    def read(self) -> bytes:
        """Return the content."""


SourceT = TypeVar("SourceT", bound=IgnoreSource)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pattern:
    regexp: re.Pattern[str]
    keeps: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Ignore:
    """The patterns of one ignore file, in order; `bad` those that Docker refuses, with their line."""

    patterns: tuple[_Pattern, ...]
    bad: tuple[tuple[int, str], ...] = ()

    def excludes(self, path: str) -> bool:
        """Say whether a file at a path relative to the context, slashes between, is left out."""
        if not self.patterns:
            return False
        parts = path.split("/")
        prefixes = ["/".join(parts[:end]) for end in range(len(parts), 0, -1)]
        out = False
        for pattern in self.patterns:
            # One that keeps changes only what is out, and the other way round.
            if pattern.keeps == out and any(pattern.regexp.fullmatch(prefix) for prefix in prefixes):
                out = not pattern.keeps
        return out


@lru_cache(maxsize=64)
def parse_ignore(source: bytes) -> Ignore:
    """Read an ignore file. Never raises; a pattern that Docker refuses is in `bad`."""
    patterns: list[_Pattern] = []
    bad: list[tuple[int, str]] = []
    text = source.decode("utf-8", "replace").removeprefix("\ufeff")
    for number, line in enumerate(text.split("\n"), start=1):
        if line.startswith("#") or not line.strip():
            continue
        if len(patterns) >= MAX_PATTERNS:
            bad.append((number, "…"))
            break
        body = line.strip()
        keeps = body.startswith("!")
        body = body[1:].strip() if keeps else body
        body = posixpath.normpath(body).lstrip("/") if body else ""
        regexp = _regexp(body)
        if regexp is None:
            bad.append((number, line.strip()))
        elif body != ".":
            patterns.append(_Pattern(regexp=regexp, keeps=keeps))
    return Ignore(patterns=tuple(patterns), bad=tuple(bad))


def _regexp(pattern: str) -> re.Pattern[str] | None:
    """Translate one cleaned pattern; None for one that is not well formed."""
    parts = pattern.split("/")
    # More than one name of this kind could be matched in too many ways.
    if not pattern or sum("**" in part and part != "**" for part in parts) > 1:
        return None
    out = ""
    chunk: list[str] = []
    open_depth = False
    for position, part in enumerate(parts):
        if part != "**":
            name = _mixed(part) if "**" in part else name_regexp(part)
            if name is None:
                return None
            chunk.append(name)
        elif position == len(parts) - 1:
            body = "/".join([*chunk, ".*"])
            return compiled(out + (f"(?:.*?/)?{body}" if open_depth else body))
        elif chunk or not open_depth:
            # Any number of folders: what comes next is matched at its first place.
            body = "".join(f"{name}/" for name in chunk)
            out += f"(?>(?:.*?/)??{body})" if open_depth else body
            chunk, open_depth = [], True
    body = "/".join(chunk)
    return compiled(out + (f"(?:.*/)?{body}" if open_depth else body))


def _mixed(part: str) -> str | None:
    """Translate a name with `**` in it: at its start any folders and text, at its end anything."""
    head, _, tail = part.partition("**")
    tail = tail.lstrip("*")
    left, right = name_regexp(head), name_regexp(tail)
    if left is None or right is None or "**" in tail:
        return None
    if not tail:
        return f"{left}.*"
    return f".*{right}" if not head else f"{left}(?:.*/)?{right}"


def ignore_of(files: Mapping[str, SourceT]) -> tuple[str, Ignore]:
    """Return the name of the ignore file that a context has, empty without one, and its patterns."""
    for name in IGNORE_FILES:
        file = files.get(name)
        if file is not None and file.kind == "file":
            return name, parse_ignore(file.read())
    return "", Ignore(patterns=())


def without_ignored(files: Mapping[str, SourceT]) -> dict[str, SourceT]:
    """Return the files of a context that are sent; the Dockerfile and the ignore file always are."""
    _, ignore = ignore_of(files)
    sent = {"Dockerfile", *IGNORE_FILES}
    return {path: file for path, file in files.items() if path in sent or not ignore.excludes(path)}
