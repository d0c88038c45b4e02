"""What lies in the image that a Dockerfile builds, and where it came from. Nothing is run.

The stages are followed in order: what `COPY` and `ADD` take from the context
or from another stage; what a `RUN` writes with `echo`, `printf`, `cat`, `tee`,
here-documents, `base64 -d` or a Python script; what it copies, moves and
removes. Scripts that lie in the image are followed when a `RUN` calls them.
"""

import base64
import binascii
import codecs
import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import islice, pairwise
from typing import Final, Literal

from seatrials.parse.copies import Context, Copy
from seatrials.parse.dockerfile import Dockerfile, Instruction
from seatrials.parse.pytest import python_facts
from seatrials.parse.shell import (
    AndOr,
    Body,
    Case,
    Command,
    Function,
    Group,
    If,
    Loop,
    Node,
    Pipeline,
    Redirect,
    Word,
    parse_shell,
    shebang,
)

Origin = Literal["copied", "written", "generated"]
"""How a file came to be: copied from the context, written with a text that is known, or made by a program."""

MAX_STEPS: Final = 20_000
"""Commands that are followed in one Dockerfile."""

MAX_CONTENT: Final = 1024 * 1024
"""Bytes of a written file that are kept; of a longer one only its name is known."""

_MAX_CALLS: Final = 4
_MOST_FILES: Final = 100_000
_WRITES: Final = frozenset({">", ">>", ">|", "&>", "&>>"})
_PYTHON: Final = re.compile(r"python[\d.]*")
_SHELLS: Final = frozenset({"bash", "sh", "dash", "ash", "source", "."})
_SAVES_AS: Final = {
    "curl": re.compile(r"-[a-zA-Z]*o|--output"),
    "wget": re.compile(r"-[a-zA-Z]*O|--output-document"),
}
_REMOTE_NAME: Final = re.compile(r"-[a-zA-NP-Z]*O|--remote-name")
_ELSEWHERE: Final = re.compile(r"-[a-zA-Z]*[OP]|--output-document|--directory-prefix")
_OUT: Final = re.compile(r"-o|--out(?:put)?(?:[-_](?:file|path|json|csv))?")


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageFile:
    """A file in the image.

    `path` is absolute (below ``/`` where the working directory is the base
    image's); `line` that of the Dockerfile; `source` the path in the context
    of a copied file, else empty; `content` what is known of a written one.
    """

    path: str
    line: int
    origin: Origin
    source: str = ""
    content: bytes | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Image:
    """The files of the last stage, by path; `git` has the lines that put a repository's history there."""

    files: dict[str, ImageFile]
    git: tuple[int, ...] = ()


@dataclass(kw_only=True, slots=True)
class _Stage:
    files: dict[str, ImageFile]
    git: list[int] = field(default_factory=list)


def image_of(dockerfile: Dockerfile, context: Context, taken: Iterable[Copy]) -> Image:
    """Return what the last stage of a Dockerfile holds, of which `taken` are its `copies`. Never raises."""
    by_line = {copy.instruction.line: copy for copy in taken}
    stages: list[_Stage] = []
    steps = _Steps(left=MAX_STEPS)
    for found in dockerfile.instructions:
        if found.name == "FROM":
            base = dockerfile.stages[found.stage].base if found.stage >= 0 else ""
            parent = dockerfile.stage_named(base, before=found.stage)
            from_ = stages[parent.index] if parent is not None and parent.index < len(stages) else None
            stages.append(
                _Stage(files=dict(from_.files) if from_ else {}, git=list(from_.git) if from_ else [])
            )
        if not stages:
            continue
        stage = stages[-1]
        copy = by_line.get(found.line)
        if copy is not None and found.name in {"COPY", "ADD"}:
            destination = copy.destination
            if destination is not None and not destination.startswith("/"):
                copy = replace(copy, destination=_below_root(destination))
            targets = islice(copy.targets().items(), _MOST_FILES)
            for path, source in targets:
                clean = posixpath.normpath(path)
                stage.files[clean] = ImageFile(path=clean, line=found.line, origin="copied", source=source)
            _documents(found, copy.destination, stage)
        elif found.name in {"COPY", "ADD"}:
            _from_stage(found, dockerfile, stages)
        elif found.name == "RUN":
            _Run(stage, found, context, steps).run()
    last = stages[-1] if stages else _Stage(files={})
    return Image(files=last.files, git=tuple(last.git))


@dataclass(slots=True)
class _Steps:
    left: int


def _below_root(path: str) -> str:
    clean = posixpath.normpath(f"/{path}")
    return f"{clean}/" if path.endswith(("/", ".")) and clean != "/" else clean


_ESCAPED: Final = re.compile(r"\\([\\$])")
"""What a backslash keeps in a here-document whose variables are replaced."""


def _documents(found: Instruction, destination: str | None, stage: _Stage) -> None:
    """Put the heredocs of a `COPY` in."""
    if destination is None:
        return
    folder = destination.endswith("/") or len(found.heredocs) > 1
    for document in found.heredocs:
        path = posixpath.join(destination, document.name) if folder else destination
        text = _ESCAPED.sub(r"\1", document.text) if document.expand else document.text
        content = text.encode("utf-8", "replace")
        clean = posixpath.normpath(path)
        stage.files[clean] = ImageFile(path=clean, line=found.line, origin="written", content=content)


def _from_stage(found: Instruction, dockerfile: Dockerfile, stages: list[_Stage]) -> None:
    """Copy from an earlier stage; from another image nothing is known."""
    name = found.flag("from")
    stage = dockerfile.stage_named(name, before=found.stage) if name else None
    if stage is None or stage.index >= len(stages) or len(found.values) < 2:  # noqa: PLR2004 - source, destination
        return
    *sources, end = found.values
    if end is None:
        return
    workdir = found.workdir or "/"
    target = posixpath.join(workdir, end)
    for source in sources:
        if source is not None:
            there = stages[stage.index].files
            many = len(sources) > 1 or end.endswith("/")
            _copy(there, stages[-1].files, posixpath.join("/", source), target, many=many, line=found.line)


def _copy(
    there: dict[str, ImageFile],
    here: dict[str, ImageFile],
    source: str,
    target: str,
    *,
    many: bool,
    line: int,
) -> list[str]:
    """Copy a file, a pattern or a folder; returns the paths that were copied."""
    source = posixpath.normpath(source)
    target = posixpath.normpath(target)
    taken: list[str] = []
    prefix = "/" if source == "/" else f"{source}/"
    wild = any(sign in source for sign in "*?[")
    for path in list(there):
        file = there[path]
        if path == source:
            new = posixpath.join(target, posixpath.basename(path)) if many else target
        elif path.startswith(prefix):
            new = posixpath.join(target, path[len(prefix) :])
        elif wild and path.count("/") == source.count("/") and fnmatchcase(path, source):
            new = posixpath.join(target, posixpath.basename(path))
        else:
            continue
        taken.append(path)
        if len(here) < _MOST_FILES:
            here[new] = replace(file, path=new, line=line)
    return taken


_SPECIAL: Final = re.compile(r"[<>|`$(){}\"'\\]")
_PARTS: Final = re.compile(r"&&|;|\n")
_INSTALLS: Final = "apt-get|apt|apk|gem|npm|pip3?|yarn|chmod|chown|groupadd|mkdir|set|true|useradd"
_IDLE: Final = re.compile(
    rf"\s*(?:#.*|(?:[A-Z_]+=\S* )*(?:{_INSTALLS})(?:\s[^&]*)?|rm -rf? /var/lib/apt/lists/\*\s*)?"
)


def _is_idle(script: str) -> bool:
    """Say whether a script only installs packages and the like, which puts no file that is followed here."""
    joined = script.replace("\\\n", " ")
    return not _SPECIAL.search(joined) and all(_IDLE.fullmatch(part) for part in _PARTS.split(joined))


class _Run:
    """Follows the commands of one `RUN`."""

    def __init__(self, stage: _Stage, found: Instruction, context: Context, steps: _Steps) -> None:
        self.stage = stage
        self.found = found
        self.context = context
        self.steps = steps
        self.cwd = (found.workdir or "/") if found.workdir is not None else "/?"
        self.variables = dict(found.variables)
        self.calls = 0

    def run(self) -> None:
        found = self.found
        if found.json:
            words = [value for value in found.args if value]
            if len(words) > 2 and posixpath.basename(words[0]) in _SHELLS and words[1].startswith("-"):  # noqa: PLR2004
                self.script(words[2])
            elif words:
                self.call(words)
            return
        if found.heredocs and found.rest.lstrip().startswith("<<"):
            for document in found.heredocs:
                program, _ = shebang(document.text.encode("utf-8", "replace"))
                if _PYTHON.fullmatch(program):
                    self.python(document.text)
                else:
                    self.script(document.text)
            return
        text = found.rest
        for document in found.heredocs:
            text += f"\n{document.text}{document.name}"
        self.script(text)

    def script(self, text: str) -> None:
        if self.calls < _MAX_CALLS and not _is_idle(text):
            self.calls += 1
            self.body(parse_shell(text.encode("utf-8", "replace")).body, None)
            self.calls -= 1

    def body(self, body: Body, stdin: bytes | None) -> bytes | None:
        """Follow commands one after another; returns what they print, None where that is not known."""
        out: bytes | None = b""
        for node in body:
            printed = self.node(node, stdin)
            out = None if out is None or printed is None else (out + printed)[:MAX_CONTENT]
        return out

    def node(self, node: Node, stdin: bytes | None) -> bytes | None:  # noqa: PLR0912 - one case each
        self.steps.left -= 1
        if self.steps.left < 0:
            return None
        match node:
            case Command():
                return self.command(node, stdin)
            case Pipeline(items=items):
                for item in items:
                    stdin = self.node(item, stdin)
                return stdin
            case AndOr(items=items):
                return self.body(items, stdin)
            case Group(body=body, redirects=redirects):
                cwd = self.cwd
                out = self.body(body, stdin)
                if node.subshell:
                    self.cwd = cwd
                return self.redirect(redirects, out)
            case If(branches=branches, otherwise=otherwise):
                for condition, body in branches:
                    self.body(condition, None)
                    self.body(body, None)
                self.body(otherwise or (), None)
                return None
            case Loop(body=body):
                self.body(body, None)
                return None
            case Case(items=items):
                for _, body in items:
                    self.body(body, None)
                return None
            case Function():
                return b""
            case _:
                return None

    def command(self, command: Command, stdin: bytes | None) -> bytes | None:
        for name, value in command.assignments:
            self.variables[name] = value.resolve(self.variables)
        words = [self.word(word, printed=command.name in {"echo", "printf"}) for word in command.words]
        while words and words[0] in {"sudo", "exec", "env", "command", "nice"}:
            words = words[1:]
        for redirect in command.redirects:
            if redirect.operator in {"<<", "<<-"}:
                plain = any(sign in redirect.target.raw for sign in "'\"\\")
                text = redirect.text if plain else _ESCAPED.sub(r"\1", redirect.text)
                stdin = text.encode("utf-8", "replace")
            elif redirect.operator == "<<<":
                stdin = redirect.target.resolve(self.variables).encode("utf-8", "replace") + b"\n"
            elif redirect.operator == "<":
                stdin = self.content(redirect.target.resolve(self.variables))
        out = self.call(words, stdin) if words else b""
        return self.redirect(command.redirects, out)

    def word(self, word: Word, *, printed: bool) -> str:
        raw = word.raw
        # Between double quotes a backslash stays before most letters; `resolve` takes it off.
        kept = raw.replace("\\n", "\n").replace("\\t", "\t") if printed and raw.startswith('"') else raw
        return (word if kept is raw else replace(word, raw=kept)).resolve(self.variables)

    def redirect(self, redirects: tuple[Redirect, ...], out: bytes | None) -> bytes | None:
        for redirect in redirects:
            operator = redirect.operator.lstrip("1")
            if operator in _WRITES:
                path = redirect.target.resolve(self.variables)
                self.write(path, out, append=operator.endswith(">>"))
                out = b""
        return out

    def call(self, words: list[str], stdin: bytes | None = None) -> bytes | None:  # noqa: PLR0912 - one each
        """Do what a command does to files; returns what it prints."""
        name = posixpath.basename(words[0])
        args = words[1:]
        plain = [word for word in args if not word.startswith("-")]
        match name:
            case "cd":
                self.cwd = self.at(plain[0]) if plain else "/root"
                return b""
            case "echo":
                return _echo(args)
            case "printf":
                return _printf(args)
            case "cat":
                if not plain:
                    return stdin
                return self.joined(plain)
            case "base64" if any(word in {"-d", "-D", "--decode", "-di"} for word in args):
                data = self.content(plain[0]) if plain else stdin
                return _unbase64(data) if data is not None else None
            case "tee":
                for path in plain:
                    self.write(path, stdin, append="-a" in args)
                return stdin
            case "rm" | "unlink" | "shred":
                for path in plain:
                    self.remove(path)
                return b""
            case "cp" | "mv" | "install" if len(plain) > 1:
                self.transfer(plain, moves=name == "mv")
                return b""
            case "ln" if len(plain) > 1:
                self.transfer(plain, moves=False)
                return b""
            case "dd":
                for word in args:
                    if word.startswith("of="):
                        self.write(word[3:], None, append=False)
                return b""
            case "sqlite3" if plain and plain[0] != ":memory:":
                if self.at(plain[0]) not in self.stage.files:
                    self.write(plain[0], None, append=False)
                return None
            case "touch":
                for path in plain:
                    if self.at(path) not in self.stage.files:
                        self.write(path, b"", append=False)
                return b""
            case "curl" | "wget":
                self.fetched(name, args)
                return None
            case "git":
                self.git(plain)
                return None
            case _ if _PYTHON.fullmatch(name):
                self.interpret(args, plain, stdin)
                return None
            case _ if name in _SHELLS:
                self.shell(args, plain, stdin)
                return None
            case _ if "/" in words[0]:
                self.shell([words[0]], [words[0]], None)
                return None
            case "mkdir" | "chmod" | "chown" | "true" | ":" | "set" | "export":
                return b""
            case _:
                return None

    def shell(self, args: list[str], plain: list[str], stdin: bytes | None) -> None:
        if "-c" in args and args.index("-c") + 1 < len(args):
            self.script(args[args.index("-c") + 1])
            return
        content = self.content(plain[0]) if plain else stdin
        if content is None:
            return
        program, _ = shebang(content)
        if _PYTHON.fullmatch(program):
            self.python(content.decode("utf-8", "replace"), self.at(plain[0]) if plain else "")
        elif not program or program in _SHELLS:
            self.script(content.decode("utf-8", "replace"))

    def interpret(self, args: list[str], plain: list[str], stdin: bytes | None) -> None:
        if "-c" in args and args.index("-c") + 1 < len(args):
            self.python(args[args.index("-c") + 1])
        elif plain:
            content = self.content(plain[0])
            if content is not None:
                self.python(content.decode("utf-8", "replace"), self.at(plain[0]))
            self.told_to_write(args)
        elif stdin is not None:
            self.python(stdin.decode("utf-8", "replace"))

    def told_to_write(self, args: list[str]) -> None:
        """Put in the file that a program is told to write, by a flag such as `--output`."""
        for flag, following in pairwise([*args, ""]):
            name, equals, value = flag.partition("=")
            path = value if equals else following
            if _OUT.fullmatch(name) and path.startswith("/") and self.at(path) not in self.stage.files:
                self.write(path, None, append=False)

    def python(self, code: str, path: str = "") -> None:
        """Put in what a Python program, which lies at `path`, writes to paths that its source gives."""
        folder = "" if "?" in self.cwd else self.cwd
        facts = python_facts(code.encode("utf-8", "replace"), path or "build.py", folder)
        texts: dict[str, list[str]] = {}
        for written in facts.written:
            texts.setdefault(written.path, []).append(written.text)
        for use in facts.paths:
            if use.how == "writes":
                said = texts.get(use.path)
                content = "\n".join(said).encode("utf-8", "replace") if said else None
                self.put(use.path, content, "generated")

    def git(self, plain: list[str]) -> None:
        match plain:
            case ["clone", *rest]:
                # Before the address stand the values of flags, as in `--depth 1`.
                start = next((at for at, word in enumerate(rest) if "/" in word), 0)
                where = self.at(_cloned(rest[start:]))
            case ["commit", *_]:
                where = self.cwd
            case _:
                return
        # What is built from there is a tool, not the work.
        if not where.startswith(("/opt/", "/usr/", "/tmp/")):  # noqa: S108 - a path in the image
            self.stage.git.append(self.found.line)

    def fetched(self, name: str, args: list[str]) -> None:
        flags = _SAVES_AS[name]
        for flag, value in pairwise(args):
            if flags.fullmatch(flag) and not value.startswith("-"):
                self.write(value, None, append=False)
                return
        urls = [word for word in args if "://" in word]
        elsewhere = any(_ELSEWHERE.match(word) for word in args)
        if (name == "wget" and not elsewhere) or (
            name == "curl" and any(_REMOTE_NAME.fullmatch(word) for word in args)
        ):
            for last in (url.partition("?")[0].rpartition("/")[2] for url in urls):
                if last:
                    self.write(last, None, append=False)

    # Files

    def at(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self.cwd, path)).replace("//", "/")

    def content(self, path: str) -> bytes | None:
        file = self.stage.files.get(self.at(path))
        if file is None:
            return None
        if file.source:
            there = self.context.files.get(file.source)
            return there.read() if there is not None and there.kind == "file" else None
        return file.content

    def joined(self, paths: list[str]) -> bytes | None:
        out = b""
        for path in paths:
            content = self.content(path)
            if content is None or len(out) + len(content) > MAX_CONTENT:
                return None
            out += content
        return out

    def write(self, path: str, content: bytes | None, *, append: bool) -> None:
        where = self.at(path)
        if where.startswith("/dev/") or "$" in where:
            return
        if append and where in self.stage.files:
            before = self.content(path)
            content = None if before is None or content is None else before + content
        self.put(where, content, "generated" if content is None else "written")

    def put(self, where: str, content: bytes | None, origin: Origin) -> None:
        if len(self.stage.files) < _MOST_FILES:
            kept = content if content is not None and len(content) <= MAX_CONTENT else None
            where = posixpath.normpath(where)
            self.stage.files[where] = ImageFile(path=where, line=self.found.line, origin=origin, content=kept)

    def remove(self, path: str) -> None:
        where = self.at(path)
        prefix = f"{where.rstrip('/')}/"
        if where.endswith("/.git"):
            self.stage.git.clear()
        wild = any(sign in where for sign in "*?[")
        for name in list(self.stage.files):
            if name == where or name.startswith(prefix) or (wild and fnmatchcase(name, where)):
                del self.stage.files[name]

    def transfer(self, plain: list[str], *, moves: bool) -> None:
        *sources, end = plain
        target = self.at(end)
        files = self.stage.files
        folder = (
            end.endswith(("/", "/.")) or end == "." or any(name.startswith(f"{target}/") for name in files)
        )
        for source in sources:
            taken = _copy(
                files,
                files,
                self.at(source),
                target,
                many=folder or len(sources) > 1,
                line=self.found.line,
            )
            for path in taken if moves else ():
                if path != target:
                    files.pop(path, None)


def _cloned(words: list[str]) -> str:
    """Return the folder that `git clone` makes of an address, or the one that it is given."""
    match words:
        case [_, folder, *_]:
            return folder
        case [address]:
            return posixpath.basename(address.rstrip("/")).removesuffix(".git")
        case _:
            return "."


def _echo(args: list[str]) -> bytes:
    newline = b"\n"
    escapes = False
    while args and re.fullmatch(r"-[neE]+", args[0]):
        newline = b"" if "n" in args[0] else newline
        escapes = escapes or "e" in args[0]
        args = args[1:]
    text = " ".join(args)
    # The `sh` of most images is dash, whose echo knows escapes without -e.
    return (
        _unescaped(text) + newline if escapes or "\\n" in text else text.encode("utf-8", "replace") + newline
    )


def _printf(args: list[str]) -> bytes:
    args = args[1:] if args[:1] == ["--"] else args
    if not args:
        return b""
    form, rest = _unescaped(args[0]).decode("utf-8", "replace"), args[1:]
    spots = len(re.findall(r"%[sdifgq]", form))
    if not rest or not spots:
        return form.encode("utf-8", "replace")
    out: list[str] = []
    for start in range(0, min(len(rest), MAX_CONTENT // len(form)), spots):
        group = iter(rest[start : start + spots])
        out.append(re.sub(r"%[sdifgq]", lambda _: next(group, ""), form))  # noqa: B023 - used at once
    return "".join(out).encode("utf-8", "replace")


def _unescaped(text: str) -> bytes:
    def one(match: re.Match[str]) -> str:
        try:
            return codecs.decode(match[0], "unicode_escape")
        except UnicodeDecodeError:
            return match[0]

    return re.sub(r"\\(?:[nt\\]|x[0-9a-fA-F]{2}|[0-7]{3})", one, text).encode("utf-8", "replace")


def _unbase64(data: bytes) -> bytes | None:
    try:
        return base64.b64decode(b"".join(data.strip(b"\"' \n").split()), validate=True)
    except (binascii.Error, ValueError):
        return None
