"""What the commands of a verifier's scripts mean: what writes the reward, what judges the work."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from seatrials.parse.flow import Ending, Mark, Meaning, endings
from seatrials.parse.shell import Command, Group, Redirect, Script, Test, Word, parse_shell, walk

_REWARD: Final = re.compile(r"reward[^/\s]*\.(?:txt|json)\b|\$\{?\w*reward", re.IGNORECASE)
"""A reward file, or a variable that must hold one: `$REWARD_FILE`, `$BENCHFLOW_REWARD_TEXT`."""

WRITES_REWARD: Final = re.compile(
    rb"reward\w*\.(?:txt|json)|BENCHFLOW_REWARD|REWARD_(?:FILE|PATH|TXT|TEXT|JSON|DIR)", re.IGNORECASE
)
"""What a helper that writes the reward names."""

_READERS: Final = frozenset(
    {
        "[", "basename", "cat", "chmod", "chown", "cut", "declare", "diff", "dirname", "echo", "export",
        "find", "grep", "head", "jq", "local", "ls", "mkdir", "printf", "readlink", "readonly", "realpath",
        "rm", "rmdir", "stat", "tail", "test", "touch", "trap", "tr", "unset", "wc",
    }
)  # fmt: skip
"""Commands that only look at a reward file that they name, remove it, or say its name."""

_SURE: Final = frozenset(
    {":", "echo", "export", "printf", "true", "trap", "unset", "umask", "shift", "local"}
)
_PREFIXES: Final = frozenset(
    {
        "command", "conda", "env", "exec", "gosu", "ionice", "nice", "nohup", "npx", "pipx", "poetry", "run",
        "runuser", "setpriv", "stdbuf", "sudo", "su", "time", "timeout", "unbuffer", "uv", "uvx",
        "xvfb-run",
    }
)  # fmt: skip
_RUNNERS: Final = frozenset(
    {"bats", "ctest", "jest", "mocha", "nosetests", "phpunit", "py.test", "pytest", "rspec", "tox", "vitest"}
)
_WITH_TEST: Final = frozenset(
    {"bazel", "bundle", "cargo", "dotnet", "go", "gradle", "gradlew", "make", "mix", "mvn", "npm", "pnpm",
     "stack", "swift", "yarn"}
)  # fmt: skip
_INTERPRETERS: Final = re.compile(
    r"(?:python|pypy)[\d.]*|node|deno|bun|ruby|perl|php|Rscript|java|julia|bash|sh|dash"
)
_COMPARERS: Final = frozenset({"cmp", "diff", "grep", "egrep", "fgrep"})
_HARNESS: Final = (
    "/tests",
    "/verifier",
    "/logs",
    "/oracle",
    "/solution",
    "/tmp",  # noqa: S108 - a path of the sandbox
    "/usr",
    "/bin",
    "/opt/verifier",
)
_NO_TEST: Final = frozenset(
    {
        "apk",
        "apt",
        "apt-get",
        "cd",
        "curl",
        "dnf",
        "export",
        "hash",
        "pip",
        "pip3",
        "type",
        "wget",
        "which",
        "yum",
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptFacts:
    """How a verifier's script ends, and whether anything in it writes the reward.

    `opaque` says that it calls something outside the task's verifier that may write it.
    """

    script: Script
    endings: tuple[Ending, ...]
    writes: bool
    opaque: bool


@dataclass(frozen=True, slots=True)
class _Reader:
    variables: Mapping[str, str]
    helpers: Mapping[str, bool]

    def words(self, command: Command) -> list[str]:
        return [word.resolve(self.variables) for word in command.words]

    def command(self, command: Command) -> frozenset[Mark]:
        words = self.words(command)
        marks: set[Mark] = set()
        if any(self.redirect(redirect) for redirect in command.redirects) or self._writes(command, words):
            marks.add("writes")
        if self._checks(command, words):
            marks.add("checks")
        if command.name in _SURE or (not words and not command.substitutions):
            marks.add("succeeds")
        if command.name == "false":
            marks.add("fails")
        return frozenset(marks)

    def redirect(self, redirect: Redirect) -> bool:
        return redirect.operator.strip("0123456789") in {">", ">>", ">|", "&>", "&>>"} and bool(
            _REWARD.search(redirect.target.resolve(self.variables))
        )

    def _writes(self, command: Command, words: list[str]) -> bool:
        name = stripped(words)[:1]
        if name and name[0].rpartition("/")[2] in _READERS:
            return False
        if any(_REWARD.search(word) for word in words[1:]):
            return True
        if any(redirect.operator == "<<" and _REWARD.search(redirect.text) for redirect in command.redirects):
            return True
        if any(self.helpers.get(word.rpartition("/")[2], False) for word in words):
            return True
        return any(
            "writes" in self.command(inner)
            for body in command.substitutions
            for inner in body
            if isinstance(inner, Command)
        )

    def _checks(self, command: Command, words: list[str]) -> bool:
        rest = stripped(words)
        if not rest:
            return not words and any(
                "checks" in self.command(inner)
                for body in command.substitutions
                for inner in body[-1:]
                if isinstance(inner, Command)
            )
        name = rest[0].rpartition("/")[2]
        if name in _NO_TEST or name in _SURE:
            return False
        if name in _RUNNERS or name in _COMPARERS:
            return True
        if name in _WITH_TEST:
            return any(word in {"test", "check", "tests"} for word in rest[1:])
        if name in {"test", "["}:
            return any(_is_work(word) for word in rest[1:])
        if _INTERPRETERS.fullmatch(name):
            return self._judges(command, rest)
        return rest[0].rpartition("/")[2] in self.helpers

    def _judges(self, command: Command, rest: list[str]) -> bool:
        """Say whether an interpreter runs tests, a file of the verifier, or code that it is given."""
        if any(word in _RUNNERS or word == "unittest" for word in rest[1:4]):
            return True
        if any(word.rpartition("/")[2] in self.helpers for word in rest[1:]):
            return True
        if "venv" in rest or "pip" in rest or "--version" in rest:
            return False
        code = [redirect.text for redirect in command.redirects if redirect.operator == "<<"]
        return any("assert" in text or "sys.exit" in text for text in (*code, *rest[1:]))

    def test(self, test: Test) -> bool:
        """Say whether a test looks at what the agent has made."""
        return any(
            comparison.left is None and _is_work(comparison.right.resolve(self.variables))
            for comparison in test.comparisons
            if comparison.operator in {"-f", "-e", "-d", "-s", "-r", "-x"}
        )


def _is_work(path: str) -> bool:
    return path.startswith("/") and "$" not in path and not path.startswith(_HARNESS)


def stripped(words: list[str]) -> list[str]:
    """Take off what only runs another command: `timeout 60`, `env A=b`, `uv run --with x`."""
    at = 0
    while at < len(words) and words[at].rpartition("/")[2] in _PREFIXES:
        at += 1
        while at < len(words):
            word = words[at]
            if word.rpartition("/")[2] in _RUNNERS or _INTERPRETERS.fullmatch(word.rpartition("/")[2]):
                break
            takes_value = word in {
                "--with",
                "--python",
                "-p",
                "-u",
                "--from",
                "-n",
                "--signal",
                "-k",
                "--project",
            }
            if word.startswith("-") or "=" in word or re.fullmatch(r"\d+(?:\.\d+)?[smhd]?", word):
                at += 2 if takes_value else 1
                continue
            break
    return words[at:]


def variables_of(script: Script) -> dict[str, str]:
    """Return the first value that each variable of a script is given, variables in it replaced."""
    known: dict[str, str] = {}
    for command in script.commands():
        for name, value in command.assignments:
            if name not in known:
                known[name] = value.resolve(known)
    return known


@lru_cache(maxsize=64)
def script_facts(source: bytes, helpers: tuple[tuple[str, bool], ...]) -> ScriptFacts:
    """Read a script; `helpers` are the verifier's files that it names, and if they write the reward."""
    script = parse_shell(source)
    reader = _Reader(variables_of(script), dict(helpers))
    meaning = Meaning(command=reader.command, test=reader.test, redirect=reader.redirect)
    writes = any("writes" in reader.command(command) for command in script.commands()) or any(
        _REWARD.search(word.raw) for word in _group_targets(script)
    )
    return ScriptFacts(
        script=script,
        endings=endings(script, meaning),
        writes=writes,
        opaque=any(_is_opaque(reader, command) for command in script.commands()),
    )


def _group_targets(script: Script) -> Iterator[Word]:
    for node in walk(script.body):
        if isinstance(node, Group):
            yield from (redirect.target for redirect in node.redirects)


def _is_opaque(reader: _Reader, command: Command) -> bool:
    """Say whether a command runs a program or a script that is not the verifier's."""
    rest = stripped(reader.words(command))
    if not rest:
        return False
    name = rest[0].rpartition("/")[2]
    if name in {"source", "."} or _INTERPRETERS.fullmatch(name):
        files = [word for word in rest[1:] if not word.startswith("-")][:1]
        return any(
            word.rpartition("/")[2] not in reader.helpers and ("$" in word or "." in word) for word in files
        )
    if name in reader.helpers:
        return False
    return "$" in rest[0] or ("/" in rest[0] and not rest[0].startswith(("/usr/", "/bin/")))
