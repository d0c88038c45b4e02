"""What a verifier's script runs to judge: pytest and its arguments, unittest, programs by their path."""

import posixpath
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

from seatrials.parse.shell import Command, Test, parse_shell, walk
from seatrials.rules.verifier_facts import stripped, variables_of

Program = Literal["pytest", "unittest", "suite", "python", "shell", "other"]
"""What is run; a `suite` is the tests of a folder, by `cargo test`, `npm test`, `make test` and the like."""

_PYTHON: Final = re.compile(r"(?:python|pypy)[\d.]*")
_SHELLS: Final = frozenset({"bash", "sh", "dash", "zsh"})
_WITH_VALUE: Final = frozenset(
    {"-W", "-c", "-k", "-m", "-n", "-o", "-p", "--basetemp", "--color", "--confcutdir", "--cov", "--ctrf",
     "--deselect", "--durations", "--html", "--ignore", "--import-mode", "--json-report-file",
     "--junit-xml", "--junitxml", "--log-file", "--maxfail", "--report-log", "--rootdir", "--tb", "--timeout"}
)  # fmt: skip
_MOST_RUNS: Final = 100
_SUITES: Final = frozenset(
    {"bundle", "cargo", "go", "gradle", "gradlew", "make", "mix", "mvn", "npm", "pnpm", "yarn"}
)
_LISTS_ONLY: Final = frozenset({"--co", "--collect-only", "--setup-only", "--setup-plan"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One program that is run: `targets` are the paths it is given, `cwd` where it is known to start.

    Of pytest, `options` has the options with a value and those that only
    list; `as_module` says that Python runs it by ``-m``, which puts `cwd` on `sys.path`.
    """

    program: Program
    targets: tuple[str, ...]
    line: int
    cwd: str = ""
    options: tuple[tuple[str, str], ...] = ()
    as_module: bool = False

    def paths(self) -> tuple[str, ...]:
        """Return the targets as absolute paths; those that are not known are left out."""
        found = (posixpath.join(self.cwd, target.partition("::")[0]) for target in self.targets)
        return tuple(posixpath.normpath(path) for path in found if path.startswith("/") and "$" not in path)


def run_of(words: list[str], line: int, cwd: str = "") -> Run | None:
    """Return what a command runs; None for one that is no program of the verifier's or the agent's."""
    rest = stripped(words)
    if not rest:
        return None
    name = posixpath.basename(rest[0])
    args = rest[1:]
    as_module = False
    if _PYTHON.fullmatch(name):
        args = [word for word in args if word not in {"-u", "-B", "-I", "-E", "-s", "-S"}]
        if args[:1] == ["-m"]:
            name, args, as_module = args[1] if len(args) > 1 else "", args[2:], True
        elif args and not args[0].startswith("-"):
            return Run(program="python", targets=(args[0],), line=line, cwd=cwd)
    if name in {"pytest", "py.test"}:
        return replace(_pytest(args, line, cwd), as_module=as_module)
    if name == "unittest":
        return Run(
            program="unittest", targets=tuple(word for word in args if word[:1] != "-"), line=line, cwd=cwd
        )
    if name in _SUITES:
        return Run(program="suite", targets=(".",), line=line, cwd=cwd) if _names_tests(args) else None
    if name in _SHELLS:
        plain = [word for word in args if not word.startswith("-")]
        return (
            Run(program="shell", targets=tuple(plain[:1]), line=line, cwd=cwd)
            if plain and "-c" not in args
            else None
        )
    if "/" in rest[0] and not rest[0].startswith(("/usr/", "/bin/")):
        return Run(program="other", targets=(rest[0],), line=line, cwd=cwd)
    return None


def _names_tests(args: list[str]) -> bool:
    return any(word in {"check", "test", "tests"} for word in args[:3])


def _pytest(args: list[str], line: int, cwd: str) -> Run:
    targets: list[str] = []
    options: list[tuple[str, str]] = []
    at = 0
    while at < len(args):
        word = args[at]
        at += 1
        if word in _LISTS_ONLY:
            options.append((word, ""))
        elif word in _WITH_VALUE:
            options.append((word, args[at] if at < len(args) else ""))
            at += 1
        elif word.startswith(("-k", "-m")) and len(word) > 2:  # noqa: PLR2004 - the value follows at once
            options.append((word[:2], word[2:].lstrip("=")))
        elif not word.startswith("-") and re.search(r"[/.$]|::", word):
            targets.append(word)
    return Run(program="pytest", targets=tuple(targets), line=line, cwd=cwd, options=tuple(options))


@lru_cache(maxsize=64)
def runs_of(source: bytes) -> tuple[Run, ...]:
    """Return what a script runs, in order."""
    script = parse_shell(source)
    variables = variables_of(script)
    found: list[Run] = []
    cwd = ""
    for command in script.commands():
        words = [word.resolve(variables) for word in command.words]
        if command.name == "cd" and len(words) > 1:
            cwd = posixpath.join(cwd, words[1]) if "$" not in words[1] else ""
        elif (run := run_of(words, command.line, cwd)) is not None:
            found.append(run)
    return tuple(found[:_MOST_RUNS])


_MOVES: Final = frozenset({"cp", "install", "ln", "mv", "rsync", "tar", "git", "patch", "unzip"})


@lru_cache(maxsize=64)
def brings_files(source: bytes) -> bool:
    """Say whether a script puts files of the verifier's where the agent's lie."""
    return any(_brings(command) for command in parse_shell(source).commands())


def _brings(command: Command) -> bool:
    said = " ".join(word.raw for word in command.words[1:])
    return command.name in _MOVES and bool(re.search(r"/tests\b|/verifier\b|\$|\bcheckout\b|\bapply\b", said))


@lru_cache(maxsize=64)
def python_path(source: bytes) -> tuple[str, ...]:
    """Return the folders that a script puts on `PYTHONPATH`, where they are known."""
    if b"PYTHONPATH" not in source:
        return ()
    given = (pair for command in parse_shell(source).commands() for pair in command.assignments)
    values = [value.resolve({}) for name, value in given if name == "PYTHONPATH"]
    return tuple(part for value in values for part in value.split(":") if part.startswith("/"))


@lru_cache(maxsize=64)
def sourced(source: bytes) -> tuple[tuple[str, int], ...]:
    """Return path and line of each file that a script takes into its own shell."""
    found: list[tuple[str, int]] = []
    for command in (
        parse_shell(source).commands() if re.search(rb"\bsource\b|^[ \t]*\. ", source, re.MULTILINE) else ()
    ):
        if command.name in {"source", "."} and len(command.words) > 1:
            path = command.words[1].resolve({})
            if path.startswith("/") and "$" not in path:
                found.append((posixpath.normpath(path), command.line))
    return tuple(found)


_DATE: Final = re.compile(r"(?:\$\(|`)date\b(?![^)`]*%s)")


@lru_cache(maxsize=64)
def dates_compared(source: bytes) -> tuple[int, ...]:
    """Return the lines of tests that look at `date`; seconds (``+%s``) serve to measure how long it takes."""
    if b"date" not in source:
        return ()
    nodes = walk(parse_shell(source).body)
    return tuple(node.line for node in nodes if isinstance(node, Test) and _DATE.search(node.text))
