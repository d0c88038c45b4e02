"""A Dockerfile as BuildKit's parser reads it.

Line continuations, comments within them, the `escape` and `syntax` directives,
JSON forms, flags, heredocs and build arguments. Unlike BuildKit's, this parser
never stops: what it can't read is a `Problem`, and the rest is still there.
`docs/dependencies.md` says why no library does it.

Source: moby/buildkit, ``frontend/dockerfile/parser`` and ``.../instructions``.
"""

import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

MAX_SOURCE: Final = 1024 * 1024
"""Bytes that are parsed. A larger Dockerfile is cut there, with a `Problem`."""

MAX_INSTRUCTIONS: Final = 2000
"""Instructions that are parsed; an image can't have more than 127 layers anyway."""

_MAX_VARIABLES: Final = 1000
_MAX_DIRECTIVE: Final = 1000

INSTRUCTIONS: Final = frozenset(
    {
        "ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL",
        "MAINTAINER", "ONBUILD", "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR",
    }
)  # fmt: skip

FLAGS: Final[Mapping[str, frozenset[str]]] = {
    "ADD": frozenset({"chmod", "chown", "link", "keep-git-dir", "checksum", "exclude", "unpack"}),
    "COPY": frozenset({"chmod", "chown", "link", "from", "parents", "exclude"}),
    "FROM": frozenset({"platform"}),
    "HEALTHCHECK": frozenset({"interval", "timeout", "start-period", "start-interval", "retries"}),
    "RUN": frozenset({"mount", "network", "security", "device"}),
}
"""The flags that BuildKit knows, by instruction; the others have none."""

_MAYBE_JSON: Final = frozenset({"ADD", "COPY", "CMD", "ENTRYPOINT", "RUN", "SHELL", "VOLUME"})
_WITH_HEREDOC: Final = frozenset({"ADD", "COPY", "RUN"})
_AT_LEAST: Final = {"FROM": 1, "COPY": 2, "ADD": 2, "WORKDIR": 1, "USER": 1, "ARG": 1, "ENV": 1, "LABEL": 1}

_DIRECTIVE: Final = re.compile(r"#\s*([a-zA-Z][a-zA-Z0-9]*)\s*=\s*(.+?)\s*")
_HEREDOC: Final = re.compile(r"(\d*)<<(-?)([^<]+)")
_BLANKS: Final = re.compile(r"[\t\v\f\r ]+")
_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Heredoc:
    """A document in the Dockerfile: its name, its text, the line its text starts on.

    In `COPY` the name is the file's; `expand` says that variables in it are replaced.
    """

    name: str
    text: str
    line: int
    expand: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Instruction:
    """One instruction; lines count from 1, `end_line` included.

    `name` is in upper case (as written where it isn't an instruction). `rest`
    is what follows the flags, continuations joined; `args` the JSON array's
    strings where `json` says so, else `rest` split at blanks. `values` are
    `args` with variables replaced and quotes taken off where the builder does
    that, None where a value is not known. `stage` is the index of the stage it
    belongs to, -1 before the first `FROM`; `workdir` the working directory
    after it, empty while the base image's holds, None if not known; `variables`
    what a `RUN` finds in its environment, names with their values.
    """

    name: str
    line: int
    end_line: int
    rest: str
    flags: tuple[tuple[str, str | None], ...] = ()
    args: tuple[str, ...] = ()
    json: bool = False
    heredocs: tuple[Heredoc, ...] = ()
    stage: int = -1
    values: tuple[str | None, ...] = ()
    workdir: str | None = ""
    variables: tuple[tuple[str, str], ...] = ()

    def flag(self, name: str) -> str | None:
        """Return the last value of a flag: empty where it has none, None where it is not given."""
        for key, value in reversed(self.flags):
            if key == name:
                return value or ""
        return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """One stage: what it starts from, variables replaced where known, and its name in lower case."""

    index: int
    line: int
    base: str
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """What a builder would refuse, and on which line."""

    line: int
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Dockerfile:
    """Everything a Dockerfile says. `syntax` is the directive's value, empty without one."""

    instructions: tuple[Instruction, ...]
    stages: tuple[Stage, ...]
    problems: tuple[Problem, ...]
    escape: str = "\\"
    syntax: str = ""

    def stage_named(self, name: str, *, before: int) -> Stage | None:
        """Return the earlier stage that `--from=NAME` means in the stage with index `before`."""
        earlier = self.stages[: max(before, 0)]
        if name.isdecimal() and name.isascii():
            return next((stage for stage in earlier if str(stage.index) == name), None)
        return _find(earlier, name)


class _Raw(NamedTuple):
    """An instruction before its stage, variables and working directory are known."""

    name: str
    line: int
    end_line: int
    rest: str
    flags: tuple[tuple[str, str | None], ...]
    args: tuple[str, ...]
    json: bool
    heredocs: tuple[Heredoc, ...]


@lru_cache(maxsize=64)
def parse_dockerfile(source: bytes) -> Dockerfile:
    """Parse a Dockerfile. Never raises; equal sources are parsed once."""
    problems: list[Problem] = []
    lines = source[:MAX_SOURCE].decode("utf-8", "replace").removeprefix("\ufeff").split("\n")
    if not lines[-1]:
        lines.pop()
    if len(source) > MAX_SOURCE:
        message = f"only the first {MAX_SOURCE} bytes are looked at"
        problems.append(Problem(line=max(len(lines), 1), message=message))
    escape, syntax = _directives(lines, problems)
    resolved = list(_resolve(list(_instructions(lines, escape, problems)), escape, problems))
    return Dockerfile(
        instructions=tuple(found for found in resolved if isinstance(found, Instruction)),
        stages=tuple(found for found in resolved if isinstance(found, Stage)),
        problems=tuple(sorted(problems, key=lambda problem: problem.line)),
        escape=escape,
        syntax=syntax,
    )


def _directives(lines: list[str], problems: list[Problem]) -> tuple[str, str]:
    """Read the directives: they come before everything else, comments included."""
    seen: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        match = _DIRECTIVE.fullmatch(line.strip()) if len(line) < _MAX_DIRECTIVE else None
        key = match[1].lower() if match else ""
        if match is None or key not in {"escape", "syntax", "check"}:
            break
        if key in seen:
            problems.append(Problem(line=number, message=f"the directive `{key}` is given twice"))
        seen[key] = match[2]
        if key == "escape" and match[2] not in {"\\", "`"}:
            problems.append(Problem(line=number, message="`escape` must be a backslash or a backtick"))
    escape = seen.get("escape", "\\")
    return (escape if escape in {"\\", "`"} else "\\"), seen.get("syntax", "")


def _instructions(lines: list[str], escape: str, problems: list[Problem]) -> Iterator[_Raw]:
    at = 0
    count = 0
    while at < len(lines):
        start = at
        text, at = _logical_line(lines, at, escape)
        if not text.strip():
            if lines[start].strip().endswith(escape) and not lines[start].lstrip().startswith("#"):
                problems.append(Problem(line=start + 1, message="a line that only continues starts nothing"))
            continue
        count += 1
        if count > MAX_INSTRUCTIONS:
            message = f"only the first {MAX_INSTRUCTIONS} instructions are looked at"
            problems.append(Problem(line=start + 1, message=message))
            return
        found, at = _instruction(text, lines, start, at, escape, problems)
        yield found


def _logical_line(lines: list[str], at: int, escape: str) -> tuple[str, int]:
    """Join a line with those it continues on; comments and empty lines between are left out."""
    first = lines[at].strip()
    at += 1
    if first.startswith("#"):
        return "", at
    text, more = _continues(first, escape)
    parts = [text]
    while more and at < len(lines):
        line = lines[at].removesuffix("\r")
        at += 1
        bare = line.lstrip()
        if not bare or bare.startswith("#"):
            continue
        text, more = _continues(line, escape)
        parts.append(text)
    return "".join(parts), at


def _continues(line: str, escape: str) -> tuple[str, bool]:
    bare = line.rstrip(" \t")
    # A doubled escape at the end is an escaped one.
    if bare.endswith(escape) and not bare.endswith(escape * 2):
        return bare[:-1], True
    return line, False


def _instruction(
    text: str, lines: list[str], start: int, at: int, escape: str, problems: list[Problem]
) -> tuple[_Raw, int]:
    line = start + 1
    word, rest = _partition(text.strip())
    upper = word.upper()
    name = upper if upper in INSTRUCTIONS else word
    flags: tuple[tuple[str, str | None], ...] = ()
    if name in INSTRUCTIONS:
        flags, rest = _flags(rest.strip(), escape)
    else:
        problems.append(Problem(line=line, message=f"`{word[:40]}` is not an instruction"))
    args, is_json = _arguments(name, rest, line, problems)
    heredocs: list[Heredoc] = []
    inner = _partition(rest)[0].upper() if name == "ONBUILD" else name
    if inner in _WITH_HEREDOC and not is_json and "<<" in rest:
        for document in _heredoc_starts(rest, escape):
            body, at, ended = _heredoc_body(lines, at, document)
            heredocs.append(body)
            if not ended:
                message = f"the heredoc `{body.name[:40]}` does not end"
                problems.append(Problem(line=line, message=message))
    for key, _ in flags:
        if key not in FLAGS.get(name, ()):
            problems.append(Problem(line=line, message=f"`{name}` has no flag `--{key[:40]}`"))
    if len(args) < _AT_LEAST.get(name, 0):
        need = _AT_LEAST[name]
        message = f"`{name}` needs {'an argument' if need == 1 else f'{need} arguments'}"
        problems.append(Problem(line=line, message=message))
    if name in {"ENV", "LABEL"}:
        problems.extend(_bad_pairs(name, rest, line, escape))
    if name == "FROM" and len(args) not in {0, 1, 3}:
        problems.append(Problem(line=line, message="`FROM` takes an image, or an image, `AS` and a name"))
    found = _Raw(
        name=name,
        line=line,
        end_line=at,
        rest=rest,
        flags=flags,
        args=args,
        json=is_json,
        heredocs=tuple(heredocs),
    )
    return found, at


def _bad_pairs(name: str, rest: str, line: int, escape: str) -> Iterator[Problem]:
    words = list(split_words(rest, escape))
    if words and "=" not in words[0]:
        if len(words) == 1:
            yield Problem(line=line, message=f"`{name} {words[0][:40]}` has no value")
        return
    for word in words:
        if "=" not in word:
            yield Problem(line=line, message=f"`{word[:40]}` in `{name}` is not of the form `name=value`")
            return


def _partition(text: str) -> tuple[str, str]:
    parts = _BLANKS.split(text, 1)
    return parts[0], parts[1] if len(parts) > 1 else ""


def _flags(rest: str, escape: str) -> tuple[tuple[tuple[str, str | None], ...], str]:
    """Take the flags off the start: words that begin with `--`, quotes and escapes kept together."""
    flags: list[tuple[str, str | None]] = []
    while rest.startswith("--"):
        word = next(iter(split_words(rest, escape, limit=1)), rest)
        rest = rest[len(word) :].lstrip()
        if word == "--":
            break
        key, equals, value = word[2:].partition("=")
        flags.append((key, _unquote(value, escape) if equals else None))
    return tuple(flags), rest


def _unquote(word: str, escape: str) -> str:
    if "'" not in word and '"' not in word and escape not in word:
        return word
    out: list[str] = []
    quote = ""
    chars = iter(word)
    for char in chars:
        if char == escape and quote != "'":
            out.append(next(chars, ""))
        elif char == quote:
            quote = ""
        elif char in "\"'" and not quote:
            quote = char
        else:
            out.append(char)
    return "".join(out)


def _arguments(name: str, rest: str, line: int, problems: list[Problem]) -> tuple[tuple[str, ...], bool]:
    rest = rest.strip()
    if name in _MAYBE_JSON and rest.startswith("["):
        try:
            # As BuildKit does: what follows the array is passed over.
            value, _ = json.JSONDecoder().raw_decode(rest)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, list):
            if all(isinstance(item, str) for item in value):
                return tuple(value), True
            message = f"the JSON form of `{name}` takes strings only"
            problems.append(Problem(line=line, message=message))
    return tuple(_BLANKS.split(rest)) if rest else (), False


def split_words(text: str, escape: str = "\\", *, limit: int | None = None) -> Iterator[str]:
    """Yield the words of a line, quotes and escapes kept, blanks inside quotes no separators."""
    word: list[str] = []
    quote = ""
    count = 0
    chars = iter(text)
    for char in chars:
        if not quote and char in " \t\r\n\v\f":
            if word:
                yield "".join(word)
                word = []
                count += 1
                if count == limit:
                    return
            continue
        word.append(char)
        if char == escape and quote != "'":
            word.append(next(chars, ""))
        elif char == quote:
            quote = ""
        elif char in "\"'" and not quote:
            quote = char
    if word:
        yield "".join(word)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Start:
    name: str
    strip_tabs: bool
    expand: bool


def _heredoc_starts(rest: str, escape: str) -> Iterator[_Start]:
    if _open_quote(rest, escape):
        return
    for word in split_words(rest, escape):
        match = _HEREDOC.fullmatch(word)
        if match is None:
            continue
        name = _unquote(match[3], escape)
        if name:
            yield _Start(name=name, strip_tabs=bool(match[2]), expand=name == match[3])


def _heredoc_body(lines: list[str], at: int, start: _Start) -> tuple[Heredoc, int, bool]:
    first = at
    body: list[str] = []
    while at < len(lines):
        line = lines[at]
        at += 1
        bare = line.removesuffix("\r")
        if (bare.lstrip("\t") if start.strip_tabs else bare) == start.name:
            text = "".join(part + "\n" for part in body)
            return Heredoc(name=start.name, text=text, line=first + 1, expand=start.expand), at, True
        body.append(line.lstrip("\t") if start.strip_tabs else line)
    text = "\n".join(body)
    return Heredoc(name=start.name, text=text, line=first + 1, expand=start.expand), at, False


def _resolve(raw: list[_Raw], escape: str, problems: list[Problem]) -> Iterator[Instruction | Stage]:
    """Yield the instructions with stage, variables and working directory, each stage before its `FROM`."""
    defaults: dict[str, str | None] = {}
    stages: list[tuple[Stage, _Scope]] = []
    scope = _Scope(known={})
    for found in raw:
        index = len(stages) - 1
        values: tuple[str | None, ...] = found.args
        match found.name:
            case "FROM":
                index += 1
                values = tuple(expand(arg, defaults, escape) for arg in found.args)
                stage = _stage(found, values, index)
                parent = _find([known for known, _ in stages], stage.base)
                scope = stages[parent.index][1].copy() if parent is not None else _Scope(known={})
                stages.append((stage, scope))
                yield stage
            case "ARG" | "ENV" if index >= 0:
                _declare(found, scope.known, escape, defaults)
            case "ARG":
                _declare(found, defaults, escape, {})
            case "WORKDIR":
                values = (expand(found.rest.strip(), scope.known, escape),)
                scope.enter(values[0])
            case "COPY" | "ADD" | "USER" | "VOLUME":
                values = tuple(expand(arg, scope.known, escape) for arg in found.args)
                if not found.json and found.name in {"COPY", "ADD"}:
                    problems.extend(_open_quotes(found, escape))
            case name if name in INSTRUCTIONS:
                pass
        if index < 0 and found.name in INSTRUCTIONS and found.name != "ARG":
            message = f"`{found.name}` stands before the first `FROM`"
            problems.append(Problem(line=found.line, message=message))
        yield Instruction(
            name=found.name,
            line=found.line,
            end_line=found.end_line,
            rest=found.rest,
            flags=found.flags,
            args=found.args,
            json=found.json,
            heredocs=found.heredocs,
            stage=index,
            values=values,
            workdir=scope.workdir,
            variables=scope.told() if found.name == "RUN" else (),
        )


@dataclass(kw_only=True, slots=True)
class _Scope:
    """What is known at a place of a stage."""

    known: dict[str, str | None]
    workdir: str | None = ""

    def copy(self) -> "_Scope":
        return _Scope(known=dict(self.known), workdir=self.workdir)

    def told(self) -> tuple[tuple[str, str], ...]:
        return tuple((name, value) for name, value in self.known.items() if value is not None)

    def enter(self, folder: str | None) -> None:
        if folder is None or self.workdir is None:
            self.workdir = folder if folder is not None and folder.startswith("/") else None
        elif folder.startswith("/") or self.workdir:
            self.workdir = posixpath.normpath(posixpath.join(self.workdir, folder))
        else:
            # Below whatever the base image says.
            self.workdir = None


def _stage(found: _Raw, values: tuple[str | None, ...], index: int) -> Stage:
    base = found.args[0] if found.args else ""
    if values and values[0] is not None:
        base = values[0]
    named = len(found.args) == 3 and found.args[1].lower() == "as"  # noqa: PLR2004
    return Stage(index=index, line=found.line, base=base, name=found.args[2].lower() if named else "")


def _find(stages: Sequence[Stage], name: str) -> Stage | None:
    wanted = name.lower()
    return next((stage for stage in reversed(stages) if stage.name and stage.name == wanted), None)


def _open_quotes(found: _Raw, escape: str) -> Iterator[Problem]:
    for arg in found.args:
        if quote := _open_quote(arg, escape):
            message = f"`{arg[:40]}` has no closing {quote}; a path with a blank needs the JSON form"
            yield Problem(line=found.line, message=message)


def _open_quote(text: str, escape: str) -> str:
    """Return the quote that is open where a text ends, empty where none is."""
    if "'" not in text and '"' not in text:
        return ""
    quote = ""
    chars = iter(text)
    for char in chars:
        if char == escape and quote != "'":
            next(chars, "")
        elif char == quote:
            quote = ""
        elif char in "\"'" and not quote:
            quote = char
    return quote


def _declare(
    found: _Raw,
    known: dict[str, str | None],
    escape: str,
    defaults: Mapping[str, str | None],
) -> None:
    """Take an `ARG` or `ENV` into the known variables; those past `_MAX_VARIABLES` stay unknown."""
    words = list(split_words(found.rest, escape))
    fresh: dict[str, str | None] = {}
    if found.name == "ENV" and words and "=" not in words[0]:
        fresh[words[0]] = expand(found.rest.strip()[len(words[0]) :].strip(), known, escape)
        words = []
    for word in words:
        name, equals, value = word.partition("=")
        if equals:
            fresh[name] = expand(value, known, escape)
        elif found.name == "ARG":
            fresh[name] = defaults.get(name, known.get(name))
    for name, now in fresh.items():
        if name in known or len(known) < _MAX_VARIABLES:
            known[name] = now


def expand(word: str, known: Mapping[str, str | None], escape: str = "\\") -> str | None:
    """Replace variables and take quotes off, as BuildKit does; None where a value is not known.

    Understood: ``$NAME``, ``${NAME}``, ``${NAME:-word}``, ``${NAME-word}``,
    ``${NAME:+word}``, ``${NAME+word}``. Other forms are not known.
    """
    if "$" not in word and "'" not in word and '"' not in word and escape not in word:
        return word
    return _expand(word, known, escape, 0)


_MAX_NESTING: Final = 20
_MAX_VALUE: Final = 32_768
"""Characters of a value; one that grew beyond (`ENV A=$A$A`, again and again) is not known."""


def _expand(word: str, known: Mapping[str, str | None], escape: str, depth: int) -> str | None:
    out: list[str] = []
    quote = ""
    size = 0
    at = 0
    while at < len(word):
        char = word[at]
        at += 1
        if char == "$" and quote != "'":
            value, at = _variable(word, at, known, escape, depth)
            size += len(value or "")
            if value is None or size > _MAX_VALUE:
                return None
            out.append(value)
        elif char == escape and quote != "'":
            out.append(word[at : at + 1])
            at += 1
        elif char == quote:
            quote = ""
        elif char in "\"'" and not quote:
            quote = char
        else:
            out.append(char)
    return "".join(out)


def _variable(
    word: str, at: int, known: Mapping[str, str | None], escape: str, depth: int
) -> tuple[str | None, int]:
    """Return the value of the variable whose name starts at `at`, and where the text goes on."""
    if not word.startswith("{", at):
        match = _NAME.match(word, at)
        return (known.get(match[0]), match.end()) if match else ("$", at)
    end = _closing_brace(word, at)
    if end < 0 or depth > _MAX_NESTING:
        return None, len(word)
    inside = word[at + 1 : end]
    match = _NAME.match(inside)
    if match is None:
        return None, end + 1
    value, operation = known.get(match[0]), inside[match.end() :]
    if not operation:
        return value, end + 1
    for sign in (":-", "-", ":+", "+"):
        if operation.startswith(sign):
            other = _expand(operation[len(sign) :], known, escape, depth + 1)
            present = match[0] in known and (value != "" or not sign.startswith(":"))
            if sign.endswith("-"):
                return (value if present else other), end + 1
            return (other if present else ""), end + 1
    return None, end + 1


def _closing_brace(word: str, at: int) -> int:
    depth = 0
    for position in range(at, len(word)):
        if word[position] == "{":
            depth += 1
        elif word[position] == "}":
            depth -= 1
            if depth == 0:
                return position
    return -1
