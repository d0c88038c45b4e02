"""What the gates reason about, read once per task: image, verifier, prompt and reference solution."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import yaml

from seatrials.parse.copies import Context, Copy, copies
from seatrials.parse.dockerfile import Dockerfile, parse_dockerfile
from seatrials.parse.image import Image, ImageFile, image_of
from seatrials.parse.pytest import Compared, FieldRead, PythonFacts, python_facts
from seatrials.parse.python_tree import Value
from seatrials.parse.shell import Command, parse_shell, walk
from seatrials.rules.kept import ByListing
from seatrials.rules.structure import DOCKERFILE
from seatrials.task.files import TaskFile
from seatrials.task.package import TaskPackage

MAX_FILE: Final = 1024 * 1024
"""Bytes of one file of the image that are searched for answers."""

MAX_PROMPT: Final = 400_000
"""Characters of the prompt that are looked at."""

_MAX_PYTHON: Final = 60
_HARNESS: Final = ("/verifier", "/tests", "/logs", "/oracle", "/proc", "/sys", "/dev", "/usr", "/bin", "/etc")
_COMPOSE: Final = ("environment/docker-compose.yaml", "environment/docker-compose.yml")

_ANSWER: Final = frozenset(
    {"answer", "answers", "expected", "golden", "groundtruth", "label", "labels", "oracle", "solution",
     "solutions", "truth", "truths"}
)  # fmt: skip
_ANSWER_FOLDERS: Final = frozenset(
    {"answer_key", "answers", "expected", "expected_output", "expected_outputs", "golden", "ground_truth",
     "groundtruth", "truth"}
)  # fmt: skip
_COMMON: Final = frozenset(
    {"", "/", "/app", "/data", "/etc", "/home", "/home/agent", "/home/user", "/mnt", "/opt", "/root", "/src",
     "/srv", "/tmp", "/usr", "/var", "/work", "/workdir", "/workspace"}  # noqa: S108 - paths in the image
)  # fmt: skip
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@lru_cache(maxsize=1024)
def is_answer_like(path: str) -> bool:
    """Say whether a file is named like an answer: by a word of its name, or by the folder it lies in."""
    folder, name = posixpath.split(path)
    words = {word.lower() for word in _PARTS.findall(name.partition(".")[0] or name)}
    return bool(words & _ANSWER) or posixpath.basename(folder).lower().replace("-", "_") in _ANSWER_FOLDERS


_LONGEST_FOLDERS: Final = 200
_FOLDERS_BEFORE: Final = re.compile(r"[\w./-]*/\Z")


class Prompt:
    """What the agent is told."""

    def __init__(self, text: str) -> None:
        self.text = text[:MAX_PROMPT]

    @cached_property
    def folded(self) -> str:
        """The text without regard to case, its words one blank apart."""
        return " ".join(self.text.casefold().split())

    def names(self, path: str) -> bool:
        """Say whether the prompt names a file, in full or by its last part; not where it lies elsewhere."""
        name = posixpath.basename(path).casefold()
        whole = path.casefold() if path.startswith("/") else ""
        return bool(name) and any(not whole or self._may_be(at, name, whole) for at in self._words(name))

    def tells_of(self, path: str) -> bool:
        """Say whether the prompt names a file, or says its name in words ("ground truth")."""
        stem = posixpath.basename(path).partition(".")[0]
        words = re.sub(r"[-_]+", " ", stem).casefold().strip()
        return self.names(path) or (" " in words and self._has_word(words))

    def mentions(self, path: str) -> bool:
        """Say whether the prompt names a file, or a folder of the task that it lies in."""
        if self.tells_of(path):
            return True
        folder = posixpath.dirname(path)
        while folder not in _COMMON:
            if self._has_word(folder.casefold()) or self._has_word(
                f"{posixpath.basename(folder).casefold()}/"
            ):
                return True
            folder = posixpath.dirname(folder)
        return False

    def _may_be(self, at: int, name: str, path: str) -> bool:
        """Say whether the name that stands at a place can be that of a path, by the folders before it."""
        folders = _FOLDERS_BEFORE.search(self.folded, max(at - _LONGEST_FOLDERS, 0), at)
        if folders is None or folders.start() == at - _LONGEST_FOLDERS:
            return True
        if self.folded[folders.start() - 1 : folders.start()] in {"}", "$", "~", "*", ">", "]", ")"}:
            return True  # a folder that is not said in full
        said = posixpath.normpath(folders[0] + name)
        return path.endswith(said) or said.endswith(path) or ".." in said

    def _has_word(self, word: str) -> bool:
        return next(self._words(word), -1) >= 0

    def _words(self, word: str) -> Iterator[int]:
        """Yield the places at which a word stands."""
        at = self.folded.find(word)
        while at >= 0:
            before, after = self.folded[at - 1 : at], self.folded[at + len(word) : at + len(word) + 1]
            if not (before.isalnum() or before == "_" or after.isalnum() or after == "_"):
                yield at
            at = self.folded.find(word, at + 1)

    @cached_property
    def _numbers(self) -> frozenset[float]:
        found = re.findall(r"\d[\d,_]*(?:\.\d+)?(?:e[+-]?\d+)?", self.folded)
        return frozenset(number for text in found for number in _numbers_of(text))

    def shows(self, value: Value) -> bool:
        """Say whether a value stands in the prompt; a number in any way of writing it."""
        if isinstance(value, str):
            return " ".join(value.casefold().split()) in self.folded
        return any(abs(abs(value) - number) <= 1e-9 * abs(number) for number in self._numbers)


def _numbers_of(text: str) -> Iterator[float]:
    for plain in {text.replace(",", "").replace("_", ""), text.rstrip(",")}:
        try:
            number = float(plain)
        except ValueError:
            continue
        yield from (number, number / 100)


@dataclass(frozen=True, kw_only=True)
class Grading:
    """The facts of one task; paths in the image are absolute."""

    task: TaskPackage
    dockerfile: Dockerfile | None
    context: Context
    context_folder: str
    copies: tuple[Copy, ...]
    prompt: Prompt

    @cached_property
    def image(self) -> Image:
        """What the agent's image holds."""
        if self.dockerfile is None:
            return Image(files={})
        return image_of(self.dockerfile, self.context, self.copies)

    @cached_property
    def image_folders(self) -> frozenset[str]:
        """The folders that files of the image lie in, at any depth."""
        found = set[str]()
        for path in self.image.files:
            folder = posixpath.dirname(path)
            while folder not in found:
                found.add(folder)
                folder = posixpath.dirname(folder)
        return frozenset(found)

    @cached_property
    def python(self) -> tuple[tuple[str, PythonFacts], ...]:
        """Each Python file of the verifier, and what its scripts hand to the interpreter."""
        return tuple(_python(self.task))

    @cached_property
    def scripts(self) -> tuple[tuple[str, TaskFile], ...]:
        """Each `test.sh` that is small enough to be read, with its folder, which ends in a slash."""
        found = ((folder, self.task.resolve(f"{folder}test.sh")) for folder in verifier_folders(self.task))
        return tuple(
            (folder, file)
            for folder, file in found
            if file is not None and file.kind == "file" and file.size <= MAX_FILE
        )

    @cached_property
    def _verifier(self) -> bytes:
        """The verifier's files one after another."""
        return b"\0".join(file.read() for _, file in verifier_files(self.task) if file.size <= MAX_FILE)

    def content(self, file: ImageFile) -> bytes | None:
        """Return what is known of a file of the image; None for what is not known or too large."""
        if not file.source:
            return file.content
        there = self.source(file)
        return there.read() if there is not None and there.size <= MAX_FILE else None

    def source(self, file: ImageFile) -> TaskFile | None:
        """Return the task's file that a file of the image was copied from."""
        found = self.task.resolve(self.context_folder + file.source) if file.source else None
        return found if found is not None and found.kind == "file" else None

    def spells(self, name: str) -> bool:
        """Say whether a file of the verifier holds a name as it is: what it reads, it spells somewhere."""
        return name.encode("utf-8", "surrogateescape") in self._verifier

    def spelled(self, pattern: re.Pattern[bytes]) -> set[bytes]:
        """Return what a pattern's group finds in the verifier's files."""
        return set(pattern.findall(self._verifier))

    def reads(self) -> Iterator[tuple[str, str, int]]:
        """Yield ``(path in the container, file of the verifier, line)`` for all that the verifier reads."""
        for name, facts in self.python:
            for use in facts.paths:
                if use.how == "reads" and not is_below(use.path, _HARNESS):
                    yield use.path, name, use.line
        yield from _shell_reads(self.task)

    @cached_property
    def untold_reads(self) -> tuple[tuple[str, str, int, ImageFile], ...]:
        """What the verifier reads that the build creates and the prompt doesn't tell of, each path once.

        Each with the verifier's file, the line there, and the file of the image.
        """
        files = self.image.files
        if not any(self.spells(posixpath.basename(path)) and self._is_untold(path) for path in files):
            return ()
        untold = {path: file for path, file in files.items() if self._is_untold(path)}
        return tuple(
            (path, where, line, file)
            for path, where, line in self.reads()
            if (file := untold.pop(path, None)) is not None
        )

    def _is_untold(self, path: str) -> bool:
        """Say whether the prompt doesn't name a file, nor (but of one named like an answer) its folder."""
        if is_answer_like(path):
            return not self.prompt.tells_of(path)
        return not self.prompt.mentions(path)

    def _is_output(self, path: str) -> bool:
        """Say whether a path may be the agent's output: the image has it not, or the prompt names it."""
        return not path or (
            not is_below(path, _HARNESS) and (path not in self.image.files or self.prompt.names(path))
        )

    def fields(self) -> Iterator[FieldRead]:
        """Yield the fields that the verifier reads from the agent's output."""
        for _, facts in self.python:
            yield from (found for found in facts.fields if found.path and self._is_output(found.path))

    def compared(self) -> Iterator[Compared]:
        """Yield the constants that the verifier compares with, other than with files of the image."""
        for _, facts in self.python:
            yield from (found for found in facts.compared if self._is_output(found.path))


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Say whether a path is one of the folders or lies in one."""
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def grading(task: TaskPackage) -> Grading:
    """Return a task's facts; kept for the rules that ask next about the same task."""
    return _grading(ByListing(task))


@lru_cache(maxsize=1)
def _grading(of: ByListing) -> Grading:
    task = of.task
    folder, path = _build(task)
    file = task.resolve(path)
    dockerfile = parse_dockerfile(file.head()) if file is not None else None
    below = {
        name.removeprefix(folder): entry for name, entry in task.files.items() if name.startswith(folder)
    }
    copying = dockerfile is not None and any(
        found.name in {"ADD", "COPY"} for found in dockerfile.instructions
    )
    context = Context.of(below) if copying else Context(files={})
    return Grading(
        task=task,
        dockerfile=dockerfile,
        context=context,
        context_folder=folder,
        copies=tuple(copies(dockerfile, context)) if dockerfile is not None and copying else (),
        prompt=Prompt(prompt_of(task)),
    )


def prompt_of(task: TaskPackage) -> str:
    """Return all that the agent is told: the prompt, the steps' instructions, files under ``prompts/``."""
    more = [
        file.text or ""
        for path, file in task.files.items()
        if path.startswith(("prompts/", "steps/")) and path.endswith(".md") and file.size < MAX_PROMPT
    ]
    return "\n".join([task.native.prompt, *more])


class Unreadable:
    """What a compose file is that is no YAML."""


@lru_cache(maxsize=2)
def compose_in(source: bytes) -> object:
    """Return what a compose file says, or that it is `Unreadable`; several rules ask about the same one."""
    try:
        return yaml.safe_load(source)
    except (yaml.YAMLError, ValueError, RecursionError):
        return Unreadable()


def compose_of(task: TaskPackage) -> Mapping[str, object]:
    """Return the services of the task's compose file, by name."""
    for path in _COMPOSE:
        file = task.resolve(path)
        if file is not None and file.size < MAX_FILE:
            match compose_in(file.read()):
                case Unreadable():
                    return {}
                case {"services": {**services}}:
                    return {str(name): service for name, service in services.items()}
    return {}


def _build(task: TaskPackage) -> tuple[str, str]:
    """Return the build context's folder, with a slash (empty for the task's own), and the Dockerfile."""
    match compose_of(task).get("main"):
        case {"build": str(context)}:
            return _inside(context), f"{_inside(context)}Dockerfile"
        case {"build": {**build}}:
            folder = _inside(str(build.get("context", ".")))
            path = posixpath.normpath(folder + str(build.get("dockerfile", "Dockerfile")))
            return folder, path if task.resolve(path) is not None else DOCKERFILE
        case _:
            return "environment/", DOCKERFILE


def _inside(context: str) -> str:
    path = posixpath.normpath(posixpath.join("environment", context))
    return "" if path == "." or path.startswith(("..", "/")) else f"{path}/"


def verifier_folders(task: TaskPackage) -> tuple[str, ...]:
    """Return the folders, with a slash, that hold verifiers: the task's and its steps'."""
    steps = {
        f"{match[1]}/"
        for path in task.files
        if path.startswith("steps/") and (match := re.match(r"(steps/[^/]+/(?:tests|verifier))/", path))
    }
    return (f"{task.native.verifier_dir}/", *sorted(steps))


def verifier_files(task: TaskPackage) -> tuple[tuple[str, TaskFile], ...]:
    """Return the verifier's files with their path below its folder."""
    return _verifier_files(ByListing(task))


@lru_cache(maxsize=1)
def _verifier_files(of: ByListing) -> tuple[tuple[str, TaskFile], ...]:
    folders = verifier_folders(of.task)
    return tuple(
        (path.removeprefix(folder), file)
        for path, file in of.task.files.items()
        for folder in folders
        if path.startswith(folder) and file.kind == "file"
    )


def _python(task: TaskPackage) -> Iterator[tuple[str, PythonFacts]]:
    left = _MAX_PYTHON
    for below, file in verifier_files(task):
        if below.endswith(".py") and left:
            left -= 1
            # Kept with the task's facts: to look it up by its content would take longer than it saves.
            yield file.path, PythonFacts(file.read() if file.size <= MAX_FILE else b"", below)
        elif below.endswith(".sh") and file.size <= MAX_FILE:
            for code in _inline(file.read()):
                yield file.path, python_facts(code.encode("utf-8", "replace"), below)


_PYTHON: Final = re.compile(r"python[\d.]*")


def _inline(source: bytes) -> Iterator[str]:
    """Yield the Python code that a script hands to the interpreter."""
    if b"python" not in source:
        return
    for node in walk(parse_shell(source).body):
        if isinstance(node, Command) and _PYTHON.fullmatch(node.name):
            yield from (redirect.text for redirect in node.redirects if redirect.operator == "<<")
            words = [word.resolve({}) for word in node.words]
            if "-c" in words[:-1]:
                yield words[words.index("-c") + 1]


_SHELL_READERS: Final = frozenset({"awk", "cat", "cmp", "cut", "diff", "grep", "head", "jq", "sort", "tail"})


def _shell_reads(task: TaskPackage) -> Iterator[tuple[str, str, int]]:
    for below, file in verifier_files(task):
        if not below.endswith(".sh") or file.size > MAX_FILE:
            continue
        for command in parse_shell(file.read()).commands():
            if command.name not in _SHELL_READERS:
                continue
            words = [word.resolve({}) for word in command.words[1:]]
            words += [found.target.resolve({}) for found in command.redirects if found.operator == "<"]
            for word in words:
                if word.startswith("/") and " " not in word and not is_below(word, _HARNESS):
                    yield posixpath.normpath(word), file.path, command.line
