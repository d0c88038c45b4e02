"""What `COPY` and `ADD` take from the build context, and where it lands. Pure.

Source: moby/buildkit, ``dispatchCopy`` in ``frontend/dockerfile/dockerfile2llb``.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from seatrials.parse.dockerfile import Dockerfile, Instruction
from seatrials.parse.dockerignore import Ignore, ignore_of
from seatrials.parse.globs import compiled, name_regexp

Outcome = Literal["found", "missing", "no-match", "ignored", "outside", "link", "unknown", "remote"]
"""What became of one source.

`missing`: no such path; `no-match`: a wildcard that matches nothing;
`ignored`: there, but left out by the ignore file; `outside`: leads out of the
context by `..`; `link`: a link that leads out, loops or dangles; `unknown`: its
name depends on a variable that is not known; `remote`: a URL or a git address.
"""

_MAX_LINKS: Final = 40
_WILD: Final = re.compile(r"[*?\[]")
_REMOTE: Final = re.compile(r"(?:https?|git|ftp|ssh)://|git@")


class ContextFile(Protocol):
    """A file of the context: ``kind`` is ``file``, ``link`` or ``other``; a link's content is its target."""

    @property
    def kind(self) -> str:
        """What it is."""

    def read(self) -> bytes:
        """Return the content."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """One source. `files` are the context's paths that it takes; `wild` says that it has a wildcard."""

    text: str
    outcome: Outcome
    files: tuple[str, ...] = ()
    wild: bool = False
    directory: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Copy:
    """One `COPY` or `ADD` from the context.

    `destination` is absolute where the working directory is known, else as
    written, and None where it depends on an unknown variable; `documents` are
    the names of its heredocs.
    """

    instruction: Instruction
    sources: tuple[Source, ...]
    destination: str | None
    documents: tuple[str, ...]

    def targets(self) -> dict[str, str]:
        """Map each path in the image, where it is known, to the file of the context that it comes from."""
        many = len(self.sources) + len(self.documents) > 1
        return _targets(self.sources, self.destination, many=many)


@dataclass(kw_only=True)
class Context:
    """A build context: the files below its folder, by path relative to it."""

    files: Mapping[str, ContextFile]
    ignore_name: str = ""
    ignore: Ignore = field(default_factory=lambda: Ignore(patterns=()))
    folders: dict[str, list[str]] = field(default_factory=dict)
    """The files below each folder, at any depth; the context itself is the empty name."""
    found: dict[str, "Source"] = field(default_factory=dict)
    """What became of the sources that were looked for, by their text."""

    @classmethod
    def of(cls, files: Mapping[str, ContextFile]) -> "Context":
        """Take a context in, with its ignore file."""
        name, ignore = ignore_of(files)
        context = cls(files=files, ignore_name=name, ignore=ignore)
        for path in files:
            at = path.rfind("/")
            while at >= 0:
                context.folders.setdefault(path[:at], []).append(path)
                at = path.rfind("/", 0, at)
        context.folders[""] = list(files)
        return context

    def resolve(self, path: str) -> tuple[str, Outcome]:
        """Follow links from a cleaned path; returns where it leads and ``found``, ``missing`` or ``link``."""
        followed = 0
        done = ""
        parts = path.split("/") if path else []
        while parts:
            part = parts.pop(0)
            here = f"{done}/{part}" if done else part
            file = self.files.get(here)
            if file is None or file.kind != "link":
                done = here
                continue
            followed += 1
            target = file.read().decode("utf-8", "surrogateescape")
            # The builder takes the context for the root, so an absolute target starts there.
            base = "" if target.startswith("/") else done
            steps = [step for step in f"{base}/{target}".split("/") if step not in {"", "."}]
            climbed = posixpath.normpath("/".join(steps)) if steps else ""
            if followed > _MAX_LINKS or climbed.startswith("..") or target.startswith("/"):
                return here, "link"
            parts = ([] if climbed in {"", "."} else climbed.split("/")) + parts
            done = ""
        if done in self.files or done in self.folders:
            return done, "found"
        return done, "link" if followed else "missing"

    def below(self, path: str) -> Iterator[str]:
        """Yield the files at a path, or below it where it is a folder."""
        if path in self.files:
            yield path
        yield from self.folders.get(path, ())


def copies(dockerfile: Dockerfile, context: Context) -> Iterator[Copy]:
    """Yield each `COPY` and `ADD` that takes something from the context or a heredoc."""
    for found in dockerfile.instructions:
        if found.name in {"COPY", "ADD"} and found.flag("from") is None and len(found.values) > 1:
            yield _copy(found, context)


def _copy(found: Instruction, context: Context) -> Copy:
    names = tuple(document.name for document in found.heredocs)
    texts = [
        (arg, value)
        for arg, value in zip(found.args[:-1], found.values[:-1], strict=True)
        if found.json or not (found.heredocs and "<<" in arg)
    ]
    sources = tuple(_source(arg, value, found, context) for arg, value in texts)
    destination = place(found.values[-1], found.workdir)
    return Copy(
        instruction=found,
        sources=sources,
        destination=destination,
        documents=names,
    )


def place(path: str | None, workdir: str | None) -> str | None:
    """Return a destination as an absolute path, with the slash at its end kept; as written if not known."""
    if path is None:
        return None
    if not path.startswith("/"):
        if not workdir:
            return path
        path = f"{workdir}/{path}"
    clean = posixpath.normpath(path).replace("//", "/")
    folder = path.endswith(("/", "/.", "/..")) and clean != "/"
    return f"{clean}/" if folder else clean


def _source(arg: str, value: str | None, found: Instruction, context: Context) -> Source:
    if value is None:
        return Source(text=arg, outcome="unknown")
    if found.name == "ADD" and _REMOTE.match(value):
        return Source(text=arg, outcome="remote")
    clean = posixpath.normpath(value.lstrip("/") or ".")
    if clean == ".." or clean.startswith("../"):
        return Source(text=value, outcome="outside")
    source = context.found.get(value)
    if source is None:
        source = context.found[value] = _look_for(value, "" if clean == "." else clean, context)
    return source


def _look_for(value: str, clean: str, context: Context) -> Source:
    if _WILD.search(clean):
        return _wildcard(value, clean, context)
    at, outcome = context.resolve(clean)
    if outcome != "found":
        return Source(text=value, outcome=outcome)
    there = list(context.below(at))
    sent = tuple(path for path in there if not context.ignore.excludes(path))
    directory = at in context.folders
    if there and not sent and at:
        return Source(text=value, outcome="ignored", directory=directory)
    return Source(text=value, outcome="found", files=sent, directory=directory)


def _wildcard(value: str, clean: str, context: Context) -> Source:
    regexp = _compile_wildcard(clean)
    if regexp is None:
        return Source(text=value, outcome="unknown", wild=True)
    depth = clean.count("/")
    hits = [path for path in (*context.files, *context.folders) if path.count("/") == depth and path]
    matched = [path for path in hits if regexp.fullmatch(path)]
    there = [path for hit in dict.fromkeys(matched) for path in context.below(hit)]
    sent = tuple(path for path in there if not context.ignore.excludes(path))
    if sent:
        return Source(text=value, outcome="found", files=sent, wild=True)
    return Source(text=value, outcome="ignored" if there else "no-match", wild=True)


def _compile_wildcard(pattern: str) -> re.Pattern[str] | None:
    names = [name_regexp(part) for part in pattern.split("/")]
    return compiled("/".join(name for name in names if name is not None)) if None not in names else None


def _targets(sources: tuple[Source, ...], destination: str | None, *, many: bool) -> dict[str, str]:
    """Map each path in the image to the file that it comes from."""
    if destination is None or not destination.startswith("/"):
        return {}
    folder = destination.rstrip("/")
    out: dict[str, str] = {}
    for source in sources:
        clean = posixpath.normpath(source.text.lstrip("/") or ".")
        for path in source.files:
            if source.directory:
                below = path if clean == "." else path.removeprefix(clean).lstrip("/")
                out[f"{folder}/{below}"] = path
            elif source.wild and clean.count("/") < path.count("/"):
                # A folder that a wildcard matched: its content, not itself, is copied.
                out[f"{folder}/{'/'.join(path.split('/')[clean.count('/') + 1 :])}"] = path
            elif many or source.wild or destination.endswith("/") or destination == "/":
                out[f"{folder}/{posixpath.basename(clean if not source.wild else path)}"] = path
            else:
                out[destination] = path
    return out
