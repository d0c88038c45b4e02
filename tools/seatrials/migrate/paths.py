"""Paths that scripts name: `/solution` where BenchFlow has `/oracle`. Pure.

A path is rewritten only where it can mean nothing but the folder of the
reference solution; the same rule run backwards gives the old text again.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from seatrials.task.files import TaskFile

COMPOSE: Final = ("environment/docker-compose.yaml", "environment/docker-compose.yml")

_BEFORE: Final = r"(?:(?<![\w./~})\]`*?$-])(?<![\w})][\"'])|(?<=[\s\"']-[ILl]))"
_AFTER: Final = r"(?![\w-])(?!\.\w)"


@dataclass(frozen=True, kw_only=True)
class Rename:
    """The folder of the reference solution in a container: `old` becomes `new`, both without slashes."""

    old: str
    new: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """Match `/old` as a whole path component at a path's start, with the first name below it."""
        return re.compile(rf"{_BEFORE}/{self.old}{_AFTER}(/[\w.-]+)?")

    def found(self, text: str) -> "re.Match[str] | None":
        """Return the first match; most texts have none, which a plain search tells faster."""
        return self.pattern.search(text) if f"/{self.old}" in text else None


@dataclass(frozen=True, kw_only=True)
class Rewritten:
    """The files that change, by path, and the places that were left: ``(path, line)`` of each."""

    texts: Mapping[str, str]
    unsure: tuple[tuple[str, int], ...]


def rewrite_oracle(files: Mapping[str, TaskFile], folder: str, rename: Rename, prompt: str) -> Rewritten:
    """Rewrite the scripts of the reference solution that lie in `folder`.

    Certain is ``/old/NAME`` where the folder holds NAME and no compose file
    puts something at ``/old``; and ``/old`` otherwise where nothing else in
    the task says ``/old``. Nothing is certain where ``/new`` already stands
    for something of that kind.
    """
    prefix = f"{folder}/"
    own = {path: file for path, file in files.items() if path.startswith(prefix)}
    if not own:
        return Rewritten(texts={}, unsure=())
    texts = _texts(own.items())
    others = _texts((path, file) for path, file in files.items() if path not in own)
    said = {path: text for path, text in texts.items() if rename.found(text)}
    verifier = _places(_verifier(others), rename)
    if not said:
        return Rewritten(texts={}, unsure=verifier)
    back = Rename(old=rename.new, new=rename.old)
    names = {path[len(prefix) :].partition("/")[0] for path in own}
    saying = [text for text in texts.values() if back.found(text)]
    taken = [(match.group(1) or "")[1:] in names for text in saying for match in back.pattern.finditer(text)]
    elsewhere = [prompt, *others.values()]
    mounted = any(rename.found(others.get(path, "")) for path in COMPOSE)
    alone = not any(rename.found(text) or back.found(text) for text in elsewhere)

    def replaced(match: re.Match[str]) -> str:
        below = match.group(1) or ""
        named = below[1:] in names and not mounted
        if (named and True not in taken) or (not named and alone and False not in taken):
            return f"/{rename.new}{below}"
        return match.group()

    new = {path: rename.pattern.sub(replaced, text) for path, text in said.items()}
    left = {path: text for path, text in new.items() if rename.found(text)}
    return Rewritten(
        texts={path: text for path, text in new.items() if text != texts[path]},
        unsure=(*_places(left, rename), *verifier),
    )


def rewrite_mounts(text: str, names: Mapping[str, str]) -> str:
    """Rename the task's folders where a compose file mounts them from its side (``../tests``)."""
    for old, new in names.items():
        text = re.sub(rf"(?<![\w./-])\.\./{old}(?![\w.-])", f"../{new}", text)
    return text


def _verifier(texts: Mapping[str, str]) -> dict[str, str]:
    return {path: text for path, text in texts.items() if path.startswith(("tests/", "verifier/"))}


def _texts(files: Iterable[tuple[str, TaskFile]]) -> dict[str, str]:
    """Return the files that are text, by path; large ones are data and not looked at."""
    out: dict[str, str] = {}
    for path, file in files:
        if file.size <= _LOOKED_AT and (text := file.text) is not None and "\0" not in text:
            out[path] = text
    return out


def _places(texts: Mapping[str, str], rename: Rename) -> tuple[tuple[str, int], ...]:
    found: list[tuple[str, int]] = []
    for path, text in texts.items():
        if match := rename.found(text):
            found.append((path, text.count("\n", 0, match.start()) + 1))
    return tuple(found)


_LOOKED_AT: Final = 1024 * 1024
"""Bytes of a file that is searched for paths."""
