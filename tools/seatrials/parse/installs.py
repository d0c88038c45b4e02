"""What a script installs from package indexes, and how each package is asked for. Nothing is run."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from seatrials.parse.shell import parse_shell

SPEAKS: Final = re.compile(
    r"\b(?:pip[\d.]*|pipx|uvx?|npm|pnpm|yarn|gem|cargo|go|conda|mamba|micromamba)[ \t]+[a-z-]"
)
"""What a script that installs something holds; one without it isn't parsed."""

_PYTHON: Final = re.compile(r"(?:python|pypy)[\d.]*")
_PIP: Final = re.compile(r"pip[\d.]*")

_WITH_VALUE: Final[dict[str, frozenset[str]]] = {
    "pip": frozenset(
        {"-i", "--index-url", "--extra-index-url", "-f", "--find-links", "-t", "--target", "--prefix",
         "--root",
         "--platform", "--python-version", "--implementation", "--abi", "--only-binary", "--no-binary",
         "--retries", "--timeout", "--default-timeout", "--cache-dir", "--trusted-host", "--proxy", "--cert",
         "--client-cert", "--log", "--upgrade-strategy", "--progress-bar", "-C", "--config-settings", "--src",
         "--python", "-p", "--index", "--default-index", "--index-strategy", "--exists-action",
         "--global-option", "--report", "--resolution", "--prerelease", "--exclude-newer", "--link-mode",
         "--keyring-provider", "-b", "--torch-backend", "-P", "--upgrade-package", "--with-editable",
         "--suffix", "--pip-args", "--env-file", "--root-user-action", "--use-feature", "--resume-retries",
         "--extra", "--group", "--directory", "--project", "--python-platform"}
    ),
    "npm": frozenset(
        {"--prefix", "--registry", "--cache", "--loglevel", "--tag", "--omit", "--include", "-C", "--cwd",
         "--dir", "--fetch-retries", "--fetch-timeout", "--modules-folder", "--network-timeout"}
    ),
    "gem": frozenset({"-i", "--install-dir", "-n", "--bindir", "-s", "--source", "-P", "--trust-policy"}),
    "cargo": frozenset(
        {"--root", "--features", "-F", "--target", "--profile", "-j", "--jobs", "--index", "--registry",
         "--config", "--target-dir", "--color", "--bin", "--example"}
    ),
    "go": frozenset({"-tags", "-ldflags", "-gcflags", "-mod", "-modfile", "-o", "-p"}),
    "conda": frozenset(
        {"-n", "--name", "-p", "--prefix", "-c", "--channel", "--solver", "--subdir", "--repodata-fn", "-r",
         "--root-prefix"}
    ),
}  # fmt: skip
"""Options that take the next word, by manager."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Install:
    """One installation.

    `manager` is ``pip`` (uv and pipx too), ``npm`` (pnpm and yarn too),
    ``gem``, ``cargo``, ``go`` or ``conda``; `line` counts from 1. `packages`
    are asked for as written; `version` is what an option of its own says
    (``gem install x -v 1.2``); `lists` the files that name more packages
    (``-r``, ``--file``); `bounded` says that something else fixes the versions
    (constraints, hashes, a lock, a local index only); `folder` is where it
    runs, relative unless a ``cd`` with an absolute path came before.
    """

    manager: str
    line: int
    packages: tuple[str, ...] = ()
    version: str = ""
    lists: tuple[str, ...] = ()
    bounded: bool = False
    folder: str = ""


@lru_cache(maxsize=256)
def installs(source: str) -> tuple[Install, ...]:
    """Return what a script installs, in order. Never raises; equal scripts are read once."""
    return tuple(_found(source)) if SPEAKS.search(source) else ()


def _found(source: str) -> Iterator[Install]:
    folder = ""
    for line, words in _commands(source):
        match _bare(words):
            case ["cd", target]:
                folder = posixpath.join(folder, target)
            case [program, *args]:
                found = _read(program.rpartition("/")[2], args, line, folder)
                if found is not None:
                    yield found


_SPECIAL: Final = re.compile(r"[<>|`$(){}\"'\\#;&]")


def _commands(source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the words of each command; only what has more than words in it is parsed."""
    if not _SPECIAL.search(source.replace(" && ", " ")):
        for number, line in enumerate(source.split("\n"), start=1):
            for part in line.split(" && "):
                yield number, part.split()
        return
    variables: dict[str, str] = {}
    for command in parse_shell(source.encode("utf-8", "replace")).commands():
        for name, value in command.assignments:
            variables.setdefault(name, value.resolve(variables))
        yield command.line, [word.resolve(variables) for word in command.words]


_BEFORE: Final = frozenset({"command", "env", "exec", "nice", "sudo", "time"})


def _bare(words: list[str]) -> list[str]:
    """Take off what only runs another command, and what makes Python run pip."""
    while words and (words[0] in _BEFORE or "=" in words[0] or (words[0].startswith("-") and len(words) > 1)):
        words = words[1:]
    match words:
        case ["timeout", _, *rest]:
            return rest
        case [python, "-m", "pip" | "pipx" | "uv" as program, *rest] if _PYTHON.fullmatch(
            python.rpartition("/")[2]
        ):
            return [program, *rest]
        case _:
            return words


def _read(program: str, args: list[str], line: int, folder: str) -> Install | None:  # noqa: PLR0912 - one each
    match args:
        case ["install", *rest] if _PIP.fullmatch(program):
            return _pip(rest, line, folder)
        case ["pip", "install", *rest] if program == "uv":
            return _pip(rest, line, folder)
        case ["tool", "install", *rest] | ["add", *rest] if program == "uv":
            return _pip(rest, line, folder)
        case ["install", *rest] if program == "pipx":
            return _pip(rest, line, folder)
        case ["tool", "run", *rest] | ["x", *rest] if program == "uv":
            return _uvx(rest, line, folder)
        case ["run", *rest] if program == "uv":
            return _uv_run(rest, line, folder)
        case [_, *_] if program == "uvx":
            return _uvx(args, line, folder)
        case ["install" | "i" | "add" | "ci", *rest] if program in {"npm", "pnpm"}:
            return _npm(rest, line, folder, locked=args[0] == "ci")
        case ["global", "add", *rest] | ["add", *rest] if program == "yarn":
            return _npm(rest, line, folder)
        case ["install", *rest] if program == "gem":
            return _plain("gem", rest, line, folder, version={"-v", "--version"})
        case ["install", *rest] if program == "cargo":
            return _cargo(rest, line, folder)
        case ["install" | "get", *rest] if program == "go":
            names = [word for word in _words("go", rest) if _IMPORT_PATH.match(word)]
            return Install(manager="go", line=line, packages=tuple(names), folder=folder)
        case ["install" | "create", *rest] if program in {"conda", "mamba", "micromamba"}:
            return _conda(rest, line, folder)
        case _:
            return None


_IMPORT_PATH: Final = re.compile(r"[\w-]+(?:\.[\w-]+)+/")
_LOCKS: Final = ("--require-hashes", "--frozen-lockfile", "--immutable", "--no-index", "--locked", "--frozen")


def _words(manager: str, args: Sequence[str]) -> list[str]:
    """Return the words that are no options."""
    out: list[str] = []
    rest = iter(args)
    for word in rest:
        if word in _WITH_VALUE[manager]:
            next(rest, "")
        elif not word.startswith("-"):
            out.append(word)
    return out


def _taken(args: Sequence[str], options: set[str]) -> tuple[list[str], list[str]]:
    """Return the values of some options, and the words that are left."""
    values: list[str] = []
    left: list[str] = []
    rest = iter(args)
    for word in rest:
        name, equals, value = word.partition("=")
        short = next((flag for flag in options if len(flag) == 2 and word.startswith(flag)), "")  # noqa: PLR2004 - "-r"
        if word in options:
            values.append(next(rest, ""))
        elif equals and name in options:
            values.append(value)
        elif short and not word.startswith("--"):
            values.append(word[2:])
        else:
            left.append(word)
    return values, left


def _pip(args: list[str], line: int, folder: str) -> Install:
    lists, left = _taken(args, {"-r", "--requirement", "--requirements"})
    constraints, left = _taken(left, {"-c", "--constraint", "--constraints"})
    editable, left = _taken(left, {"-e", "--editable"})
    more, left = _taken(left, {"--with"})
    more = [name for value in more for name in value.split(",")]
    return Install(
        manager="pip",
        line=line,
        packages=(*_words("pip", left), *more, *(name for name in editable if "://" in name)),
        lists=tuple(lists),
        bounded=bool(constraints) or any(word in left for word in _LOCKS),
        folder=folder,
    )


def _uvx(args: list[str], line: int, folder: str) -> Install:
    """Read ``uvx``: what follows the command's own name are the command's options."""
    more, source, name = _before_program(args)
    known = {bare_name(item) for item in more}
    own = [source] if source else [name] if name and bare_name(name) not in known else []
    return Install(manager="pip", line=line, packages=(*own, *more), folder=folder)


def _uv_run(args: list[str], line: int, folder: str) -> Install:
    more, _, _ = _before_program(args)
    return Install(manager="pip", line=line, packages=tuple(more), folder=folder)


def _before_program(args: list[str]) -> tuple[list[str], str, str]:
    """Return what ``--with`` asks for, what ``--from`` names, and the program."""
    more: list[str] = []
    source = ""
    rest = iter(args)
    for word in rest:
        name, equals, value = word.partition("=")
        if word in {"--with", "-w", "--from"}:
            name, equals, value = word, "=", next(rest, "")
        if equals and name in {"--with", "-w"}:
            more += value.split(",")
        elif equals and name == "--from":
            source = value
        elif word in _WITH_VALUE["pip"] or word == "--with-requirements":
            next(rest, "")
        elif not word.startswith("-"):
            return more, source, word
    return more, source, ""


def bare_name(name: str) -> str:
    """Return the name of what is asked for, as an index of Python packages compares it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~@;\s]", name, maxsplit=1)[0]).lower()


def _npm(args: list[str], line: int, folder: str, *, locked: bool = False) -> Install:
    folders, left = _taken(args, {"--prefix", "-C", "--cwd", "--dir"})
    names = _words("npm", left)
    return Install(
        manager="npm",
        line=line,
        packages=tuple(names),
        lists=() if names or locked or {"-g", "--global"} & set(left) else ("package.json",),
        bounded=locked or any(word in left for word in _LOCKS),
        folder=posixpath.join(folder, folders[0]) if folders else folder,
    )


def _plain(manager: str, args: list[str], line: int, folder: str, *, version: set[str]) -> Install:
    versions, left = _taken(args, version)
    return Install(
        manager=manager,
        line=line,
        packages=tuple(_words(manager, left)),
        version=versions[0] if versions else "",
        folder=folder,
    )


def _cargo(args: list[str], line: int, folder: str) -> Install | None:
    path, left = _taken(args, {"--path"})
    address, left = _taken(left, {"--git"})
    pinned, left = _taken(left, {"--rev", "--tag", "--vers", "--version"})
    if path:
        return None
    packages = tuple(address or _words("cargo", left))
    return Install(
        manager="cargo", line=line, packages=packages, version=pinned[0] if pinned else "", folder=folder
    )


def _conda(args: list[str], line: int, folder: str) -> Install:
    lists, left = _taken(args, {"--file", "-f"})
    return Install(
        manager="conda",
        line=line,
        packages=tuple(_words("conda", left)),
        lists=tuple(lists),
        folder=folder,
    )
