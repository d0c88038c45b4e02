"""LEK: answers that the agent could find, by the arena's static gates (gates-v4).

Source: the arena's agent guide, "Static gates (at validation)".
"""

import base64
import json
import posixpath
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import islice
from typing import Final

from seatrials.parse.image import ImageFile
from seatrials.parse.python_tree import Value
from seatrials.parse.shell import parse_shell
from seatrials.rules.grading import (
    MAX_FILE,
    Grading,
    compose_of,
    grading,
    is_answer_like,
    is_below,
    verifier_files,
)
from seatrials.rules.kept import ByListing
from seatrials.rules.model import Hit, TaskRule
from seatrials.rules.structure import DOCKERFILE
from seatrials.task.package import TaskPackage

_LEAST_LINES: Final = 4
_LEAST_TEXT: Final = 80
"""Lines that say something, and characters in them, from which a text is told by its content alone."""

_MOST_SEARCHED: Final = 16 * 1024 * 1024
_TESTS: Final = re.compile(r"test\.sh|(?:test_.*|.*_test|grade.*|verify.*|check.*)\.(?:py|js|ts|sh)")
_CODE: Final = (
    ".py",
    ".sh",
    ".js",
    ".ts",
    ".go",
    ".rs",
    ".c",
    ".cpp",
    ".java",
    ".rb",
    ".pl",
    ".R",
    ".jl",
    ".sql",
)


def _lines(text: str) -> tuple[str, ...]:
    """Return the lines of a text that say something, without white space and comments."""
    found = ("".join(line.split()) for line in text.splitlines())
    return tuple(line for line in found if len(line) > 1 and not line.startswith(("#", "//")))


def _says_something(data: bytes) -> bool:
    found = ("".join(line.split()) for line in data.decode("utf-8", "replace").splitlines())
    return any(len(line) > 1 and not line.startswith(("#", "//")) for line in found)


def _is_telling(lines: tuple[str, ...]) -> bool:
    return len(lines) >= _LEAST_LINES and sum(map(len, lines)) >= _LEAST_TEXT


@lru_cache(maxsize=4)
def _json(data: bytes) -> object:
    """Return the object or array, not empty, that a text is in JSON; None for any other."""
    if data.lstrip()[:1] not in {b"{", b"["}:
        return None
    try:
        return json.loads(data) or None
    except (ValueError, RecursionError):
        return None


class _Payload:
    """A file of the verifier or of the reference solution, or what the solution writes."""

    def __init__(self, what: str, data: bytes, *, whole: bool = False) -> None:
        self.what = what
        self.data = data
        self.whole = whole

    @cached_property
    def longest(self) -> bytes:
        """The longest line."""
        return max(map(bytes.strip, self.data.splitlines()), key=len, default=b"")

    @cached_property
    def value(self) -> object:
        """What it says as JSON, an object or an array that is not empty; None for any other."""
        return _json(self.data)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines that it is known by; none where they are too few, or it is no text."""
        try:
            lines = _lines(self.data.decode("utf-8"))
        except UnicodeDecodeError:
            return ()
        return lines if _is_telling(lines) else ()

    def is_in(self, data: bytes) -> bool:
        """Say whether a file is this one, or holds all of its lines in a row."""
        if data == self.data or (self.whole and self.value is not None and _json(data) == self.value):
            return True
        # The longest line stands for all: most files are told apart by it alone.
        if self.longest not in data or not self.lines:
            return False
        there = _lines(data.decode("utf-8", "replace"))
        # A few lines of an expected output may well stand in an example that the agent is meant to see.
        return there == self.lines if self.whole else "\n".join(self.lines) in "\n".join(there)


@lru_cache(maxsize=1)
def _payloads(of: ByListing) -> tuple[_Payload, ...]:
    task = of.task
    out: list[_Payload] = []
    for below, file in task.native.under("oracle"):
        if file.kind != "file" or not 0 < file.size <= MAX_FILE:
            continue
        data = file.read()
        if below.endswith((*_CODE, ".patch", ".diff")) or is_answer_like(below):
            out.append(_Payload(f"`{file.path}`, a file of the reference solution", data))
        if below.endswith(".sh"):
            for command in parse_shell(data).commands():
                for redirect in command.redirects:
                    if redirect.operator == "<<":
                        what = f"what `{file.path}` writes in line {command.line}"
                        out.append(_Payload(what, redirect.text.encode("utf-8", "replace")))
    files = [(below, file) for below, file in verifier_files(task) if 0 < file.size <= MAX_FILE]
    scripts = b"\n".join(file.read() for below, file in files if below.endswith(".sh"))
    python = b"\n".join(file.read() for below, file in files if below.endswith(".py"))
    for below, file in files:
        name = posixpath.basename(below)
        if _TESTS.fullmatch(name) and is_used(name, scripts, python):
            out.append(_Payload(f"`{file.path}`, a test file of the verifier", file.read()))
        elif is_answer_like(below) and not below.endswith(_CODE):
            out.append(
                _Payload(f"`{file.path}`, an expected output of the verifier", file.read(), whole=True)
            )
    return tuple(payload for payload in out if _says_something(payload.data))


_RUNS_FOLDER: Final = re.compile(
    rb"pytest(?:\s+-\S+)*\s+(?:/tests|/verifier|\"?\$\w+\"?)/?(?:\s|$)", re.MULTILINE
)


@lru_cache(maxsize=64)
def _is_run(name: str, scripts: bytes) -> bool:
    """Say whether scripts, which many tasks share, name a file; or run all tests of the folder."""
    if name == "test.sh" or _RUNS_FOLDER.search(scripts):
        return True
    said = re.escape(name.encode())
    in_folder = rb"(?<![\w.-])(?:/tests|/verifier|\$\{?\w+\}?|\.)/" + said
    return re.search(in_folder + rb"|(?<![\w./-])" + said, scripts) is not None


def is_used(name: str, scripts: bytes, python: bytes) -> bool:
    """Say whether the verifier runs a test file: some hold a copy of the agent's own tests that none does."""
    if _is_run(name, scripts):
        return True
    said = re.escape(name.encode())
    module = re.escape(name.rpartition(".")[0].encode())
    imported = rb"^\s*(?:import|from)\s+\.?" + module + rb"\b"
    return bool(re.search(imported + rb"|[\"'](?:/tests/|/verifier/)" + said, python, re.MULTILINE))


_LEAST_RUN: Final = 60
_BASE64: Final = re.compile(rb"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{%d,}+={0,2}(?![A-Za-z0-9+/=])" % _LEAST_RUN)
_RUN: Final = b"A" * _LEAST_RUN
_AS_RUN: Final = bytes(
    ord("A") if chr(byte).isascii() and (chr(byte).isalnum() or byte in b"+/") else ord(" ")
    for byte in range(256)
)
"""Base64's letters as one: a file without a run of them, as most are, need not be searched."""

_ALL_BASE64: Final = re.compile(rb"[A-Za-z0-9+/]+={0,2}")
_LEAST_BASE64: Final = 16
_MOST_BASE64: Final = 20


def out_of_base64(content: bytes) -> Iterator[bytes]:
    """Yield what a file holds in base64: the whole of it, in lines or not, or long runs in another text."""
    first = content.split(None, 1)
    if (
        first
        and _ALL_BASE64.fullmatch(first[0])
        and _ALL_BASE64.fullmatch(whole := b"".join(content.split()))
    ):
        parts = [whole]
    elif _RUN in content.translate(_AS_RUN):
        parts = [match[0] for match in islice(_BASE64.finditer(content), _MOST_BASE64)]
    else:
        return
    for part in parts:
        if len(part) >= _LEAST_BASE64 and len(part) % 4 == 0:
            with suppress(ValueError):
                yield base64.b64decode(part, validate=True)


def _searched(facts: Grading) -> Iterator[tuple[ImageFile, bytes]]:
    """Yield the files of the image with what is known of them, up to a number of bytes."""
    left = _MOST_SEARCHED
    for file in facts.image.files.values():
        content = facts.content(file)
        if content:
            left -= len(content)
            if left < 0:
                return
            yield file, content
            yield from ((file, inner) for inner in out_of_base64(content))


def _place(facts: Grading, file: ImageFile) -> str:
    source = facts.source(file)
    return f"`{file.path}`, from `{source.path}`," if source is not None else f"`{file.path}`"


def grading_files(task: TaskPackage) -> Iterator[Hit]:
    """The image holds neither the reference solution nor the verifier's tests and expected outputs.

    Why: the agent reads everything in its image, so it need not do the work.
    Found are files that are the same, or hold all lines of one, however they
    came there: by a folder, a wildcard, a here-document, `RUN` or base64. The
    arena excludes the task.

    Fix: leave them out of `environment/`; `oracle/` and `verifier/` reach the
    sandbox after the agent has finished.
    """
    facts = grading(task)
    for file, content in _searched(facts):
        for payload in _payloads(ByListing(task)):
            if payload.is_in(content):
                message = f"{_place(facts, file)} holds {payload.what}"
                yield Hit(path=DOCKERFILE, line=file.line, message=message)
                break
        else:
            if _is_solution_path(file.source):
                message = f"{_place(facts, file)} is named as a file of the reference solution"
                yield Hit(path=DOCKERFILE, line=file.line, message=message)
    yield from _mounted(task)


def _is_solution_path(source: str) -> bool:
    folder, name = posixpath.split(source)
    return name == "solve.sh" and posixpath.basename(folder) in {"oracle", "solution"}


def _mounted(task: TaskPackage) -> Iterator[Hit]:
    """Yield the folders of the solution and the verifier that the compose file mounts for the agent."""
    match compose_of(task).get("main"):
        case {"volumes": [*volumes]}:
            pass
        case _:
            return
    hidden = (task.native.oracle_dir or "oracle", task.native.verifier_dir)
    for volume in volumes:
        match volume:
            case str(text):
                source = text.partition(":")[0]
            case {"source": str(source)}:
                pass
            case _:
                continue
        path = posixpath.normpath(posixpath.join("environment", source))
        if path == "." or is_below(path, hidden):
            yield Hit(
                path="environment/docker-compose.yaml", message=f"the agent's service mounts `{source}`"
            )


def grading_data(task: TaskPackage) -> Iterator[Hit]:
    """The verifier reads no answer from the image that the prompt doesn't mention.

    Why: a file named like an answer (truth, oracle, expected, label, ...) that
    the build creates, the prompt never mentions and the verifier reads is
    what the work is measured by, and the agent can read it, or change it. The
    arena excludes the task.

    Fix: put the file below `verifier/`, which reaches the sandbox after the agent has finished.
    """
    facts = grading(task)
    for path, where, line, file in facts.untold_reads:
        if is_answer_like(path):
            message = (
                f"reads `{path}`, which the image holds (line {file.line}) and the prompt never mentions"
            )
            yield Hit(path=where, line=line, message=message)


_GENERIC: Final = frozenset(
    {"complete", "completed", "correct", "default", "disabled", "enabled", "error", "failed", "failure",
     "false", "incorrect", "invalid", "localhost", "null", "passed", "pending", "root", "running", "string",
     "success", "successful", "true", "unknown", "utf-8", "valid", "warning"}
)  # fmt: skip
_ROUND: Final = frozenset({1024, 2048, 3600, 4096, 8080, 8192, 8443, 16384, 32768, 65535, 65536, 86400})


def tells(value: Value) -> bool:
    """Say whether a value is so particular that a file that holds it holds an answer."""
    if isinstance(value, str):
        text = value.strip()
        word = text.replace("_", "").replace("-", "").isalpha()
        return len(text) >= (8 if word else 5) and text.casefold() not in _GENERIC
    if isinstance(value, int):
        year = 1900 <= value <= 2100  # noqa: PLR2004
        return abs(value) >= 1000 and not year and value % 1000 != 0 and value not in _ROUND  # noqa: PLR2004
    digits = repr(abs(value)).partition("e")[0].replace(".", "").strip("0")
    return len(digits) >= 3  # noqa: PLR2004 - significant digits


def holds(text: str, value: Value) -> bool:
    """Say whether a value stands in a text, not as a part of another."""
    said = value if isinstance(value, str) else repr(value)
    return re.search(rf"(?<![\w.]){re.escape(said)}(?!\w|\.\d)", text) is not None


def _holds_field(text: str, name: str) -> bool:
    """Say whether a text has a key of that name: in JSON, YAML, INI, or in the head of a table."""
    quoted = re.escape(name)
    if re.search(
        rf"""["']{quoted}["'][ \t]*:|^[ \t]*(?:[-*][ \t]*)?{quoted}[ \t]*[=:]""", text, re.MULTILINE
    ):
        return True
    head = text.lstrip().partition("\n")[0]
    return bool(re.search(r"[,;\t|]", head)) and name in {
        cell.strip(" \"'") for cell in re.split(r"[,;\t|]", head)
    }


def answer_file(task: TaskPackage) -> Iterator[Hit]:
    """No file named like an answer in the image holds what the verifier checks.

    Why: a file named like an answer (expected, answer, solution, label, ...)
    that the prompt doesn't name and that holds two of the fields that the
    verifier reads from the output, or a value that it compares with and the
    prompt doesn't show, is the answer. The arena excludes the task.

    Fix: leave the file out of the image; if it is an input, name it in the prompt.
    """
    facts = grading(task)
    for file, why in _answer_files(facts):
        if why:
            message = f"{_place(facts, file)} is named like an answer and holds {why}"
            yield Hit(path=DOCKERFILE, line=file.line, message=message)


def _answer_files(facts: Grading) -> Iterator[tuple[ImageFile, str]]:
    """Yield the files named like an answer that the prompt doesn't name, and what of the checks they hold."""
    found = [
        file
        for file in facts.image.files.values()
        if is_answer_like(file.path) and not facts.prompt.names(file.path)
    ]
    if not found:
        return
    fields = {item.name for item in facts.fields() if re.fullmatch(r"[A-Za-z_][\w .-]{2,60}", item.name)}
    values = {
        item.value
        for item in facts.compared()
        if item.value not in fields and tells(item.value) and not facts.prompt.shows(item.value)
    }
    for file in found:
        content = facts.content(file)
        texts = (
            [part.decode("utf-8", "replace") for part in (content, *out_of_base64(content))]
            if content
            else []
        )
        yield file, next((why for text in texts if (why := _checked(text, fields, values))), "")


def _checked(text: str, fields: set[str], values: set[Value]) -> str:
    held = [name for name in sorted(fields) if _holds_field(text, name)]
    if len(held) > 1:
        return (
            f"fields that the verifier reads from the output: {', '.join(f'`{name}`' for name in held[:3])}"
        )
    shared = [value for value in sorted(values, key=str) if holds(text, value)]
    return f"`{str(shared[0])[:60]}`, which the verifier compares with" if shared else ""


def answer_like_file(task: TaskPackage) -> Iterator[Hit]:
    """A file named like an answer in the image is named in the prompt too.

    Why: it holds nothing that the verifier is seen to check, so it may be an
    input, a decoy or an answer in another form. For a person to look at.

    Fix: name it in the prompt if it is an input; else leave it out of the image.
    """
    facts = grading(task)
    for file, why in _answer_files(facts):
        if not why and not facts.prompt.mentions(file.path):
            message = f"{_place(facts, file)} is named like an answer, and the prompt doesn't name it"
            yield Hit(path=DOCKERFILE, line=file.line, message=message)


_VERIFIER_NAMES: Final = frozenset(
    {"test_outputs.py", "verifier.md", "grader.py", "reward.txt", "reward.json"}
)


def verifier_named(task: TaskPackage) -> Iterator[Hit]:
    """No file in the image is named like one of the verifier's.

    Why: a copy of the tests tells the agent what is checked. Some tasks do
    hand their tests out; then the prompt names them.

    Fix: leave the file out of `environment/`, or name it in the prompt.
    """
    facts = grading(task)
    names = {posixpath.basename(below) for below, _ in verifier_files(task)}
    names = {name for name in names if _TESTS.fullmatch(name)} | _VERIFIER_NAMES
    for file in facts.image.files.values():
        if posixpath.basename(file.path) in names and not facts.prompt.mentions(file.path):
            message = f"{_place(facts, file)} is named like a file of the verifier"
            yield Hit(path=DOCKERFILE, line=file.line, message=message)


def leftovers(task: TaskPackage) -> Iterator[Hit]:
    """No bytecode, caches or git history reach the image.

    Why: compiled tests, caches of earlier runs and the history of a
    repository can hold the answer.

    Fix: delete them, or name them in `.dockerignore`; `rm -rf .git` after a clone, in the same `RUN`.
    """
    facts = grading(task)
    for copy in facts.copies if task.listing.junk else ():
        for source in copy.sources:
            clean = posixpath.normpath(source.text.lstrip("/") or ".")
            top = facts.context_folder + ("" if clean == "." else f"{clean}/")
            # A folder with nothing else in it is not seen as one.
            for path in task.listing.junk if source.outcome in {"found", "missing"} else ():
                below = path.rstrip("/").removeprefix(facts.context_folder)
                if path.startswith(top) and not facts.context.ignore.excludes(below):
                    message = f"`{copy.instruction.name}` takes `{path}` into the image"
                    yield Hit(path=DOCKERFILE, line=copy.instruction.line, message=message)
    if facts.image.git and not re.search(r"\b(?:git|repo|repository|commits?)\b", facts.prompt.folded):
        for line in sorted(set(facts.image.git)):
            yield Hit(path=DOCKERFILE, line=line, message="a git history (`.git`) stays in the image")


def remote_add(task: TaskPackage) -> Iterator[Hit]:
    """`ADD` takes nothing from another host.

    Why: what lies there can change or vanish, and nobody has reviewed it.

    Fix: keep the file in `environment/`, or download it in a `RUN` that checks its sha256.
    """
    dockerfile = grading(task).dockerfile
    for found in dockerfile.instructions if dockerfile is not None else ():
        for value in found.values[:-1] if found.name == "ADD" else ():
            if value is not None and re.match(r"(?:https?|git|ftp|ssh)://|git@", value):
                yield Hit(
                    path=DOCKERFILE, line=found.line, message=f"`ADD` of `{value[:100]}`, on another host"
                )


def other_grading_data(task: TaskPackage) -> Iterator[Hit]:
    """What the verifier reads from the image is mentioned in the prompt.

    Why: the verifier measures by a file that the build creates and the prompt
    doesn't mention; the agent can read it, and change it.

    Fix: keep a copy below `verifier/` and read that, or mention the file in the prompt.
    """
    facts = grading(task)
    for path, where, line, file in facts.untold_reads:
        if not is_answer_like(path):
            message = (
                f"reads `{path}`, which the build creates (line {file.line}) and the prompt doesn't mention"
            )
            yield Hit(path=where, line=line, message=message)


RULES: Final = (
    TaskRule("LEK101", "reject", grading_files, requires=("STR105",), profiles=("arena",)),
    TaskRule("LEK102", "reject", grading_data, requires=("STR105",), profiles=("arena",)),
    TaskRule("LEK103", "reject", answer_file, requires=("STR105",), profiles=("arena",)),
    TaskRule(
        "LEK104", "review", answer_like_file, requires=("STR105", "LEK101", "LEK102"), profiles=("arena",)
    ),
    TaskRule("LEK105", "review", verifier_named, requires=("STR105", "LEK101"), profiles=("arena",)),
    TaskRule("LEK106", "review", leftovers, requires=("STR105",), profiles=("arena",)),
    TaskRule("LEK107", "review", remote_add, requires=("STR105",), profiles=("arena",)),
    TaskRule("LEK108", "review", other_grading_data, requires=("STR105",), profiles=("arena",)),
)
