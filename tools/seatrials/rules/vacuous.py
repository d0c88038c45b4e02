"""BYD: tests of a verifier that can pass whatever was done."""

import posixpath
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from seatrials.parse.collected import (
    all_skipped,
    always_true,
    collects,
    empty_run_passes,
    names,
    runs_nothing,
    skips_without_work,
)
from seatrials.parse.pytest import PythonFacts
from seatrials.parse.self_checked import compares_nothing, only_itself
from seatrials.parse.shell import AndOr, Body, Case, Command, If, Node, Test, parse_shell, walk
from seatrials.rules.controls import checks_in_shell
from seatrials.rules.grading import grading, is_below
from seatrials.rules.model import Hit, TaskRule
from seatrials.rules.script_runs import Run, runs_of
from seatrials.task.package import TaskPackage

_MOST_INPUTS: Final = 1000
HARNESS: Final = ("/verifier", "/tests")
_SYSTEM: Final = ("/bin", "/dev", "/etc", "/lib", "/proc", "/sbin", "/sys", "/usr")
"""Folders of the base image: what is missing there is no output."""

_EMPTY: Final = "takes pytest's exit code 5, no test collected, for a pass"
_CONFIGS: Final = frozenset({"pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml"})
_DEFAULT: Final = re.compile(r"test_.*\.py|.*_test\.py")


def runs_no_test(task: TaskPackage) -> Iterator[Hit]:
    """Every test of the verifier can run.

    Why: where pytest collects nothing, or skips what it collects, nothing is
    checked; a script that takes exit code 5 (no test collected) or a skip for
    a success then rewards any work, and other scripts reward none.

    Fix: let `test.sh` name the file and the tests that there are, fail a test
    whose output is missing in place of skipping it, and take exit code 0 alone for a pass.
    """
    facts = dict(grading(task).python)
    for folder, file in grading(task).scripts:
        for run in runs_of(file.read()):
            yield from _of_run(task, run, folder, file.path, facts)
        for line in _five_passes(file.read()):
            yield Hit(path=file.path, line=line, message=_EMPTY)
    for path, found in facts.items():
        for line in empty_run_passes(found):
            yield Hit(path=path, line=line, message=_EMPTY)
        for line, missing in skips_without_work(found):
            if not is_below(missing, (*HARNESS, *_SYSTEM)) and missing not in grading(task).image.files:
                message = f"a test is skipped, and so does not fail, where `{missing}` is missing"
                yield Hit(path=path, line=line, message=message)


def _of_run(
    task: TaskPackage, run: Run, folder: str, script: str, facts: dict[str, PythonFacts]
) -> Iterator[Hit]:
    if run.program == "python":
        for path, found in _files(run, folder, facts):
            if runs_nothing(found):
                message = f"`python` runs `{path}`, which defines tests and calls none"
                yield Hit(path=script, line=run.line, message=message)
        return
    if run.program != "pytest":
        return
    options = dict(run.options)
    for option, value in options.items():
        if option.startswith("--") and not value:
            yield Hit(path=script, line=run.line, message=f"`pytest {option}` runs no test")
            return
    files = list(_files(run, folder, facts))
    if not files or options.get("-c", "/dev/null") != "/dev/null" or "-o" in options:
        return
    said = ", ".join(f"`{path}`" for path, _ in files[:3])
    hit: Hit | None = None
    if not any(collects(found) for _, found in files):
        hit = Hit(path=script, line=run.line, message=f"pytest collects no test from {said}")
    elif selection := _unmatched(run, options, files):
        hit = Hit(path=script, line=run.line, message=f"`{selection}` matches no test of {said}")
    elif all(all_skipped(found) is not None for _, found in files):
        hit = Hit(path=files[0][0], line=all_skipped(files[0][1]), message=f"every test of {said} is skipped")
    if hit is not None and not any(task.resolve(f"{folder}{name}") for name in _CONFIGS):
        yield hit


def _files(run: Run, folder: str, facts: dict[str, PythonFacts]) -> Iterator[tuple[str, PythonFacts]]:
    """Yield the verifier's files that a run names; those of a folder as pytest would find them."""
    for target in run.targets or ((run.cwd,) if is_below(run.cwd, HARNESS) else ()):
        base = target.partition("::")[0]
        if base.startswith("/") and not is_below(posixpath.normpath(base), HARNESS):
            continue
        for path, found in facts.items():
            below = path.removeprefix(folder)
            if not path.startswith(folder) or not path.endswith(".py"):
                continue
            if base.endswith(".py"):
                if base == below or base.endswith(f"/{below}"):
                    yield path, found
            elif posixpath.normpath(base) in HARNESS and _DEFAULT.fullmatch(posixpath.basename(below)):
                yield path, found


def _unmatched(run: Run, options: dict[str, str], files: list[tuple[str, PythonFacts]]) -> str:
    """Return the selection that matches none of the tests; empty where one does, or it is not known."""
    if not options and not any("::" in target for target in run.targets):
        return ""
    known = {name for _, found in files for name in names(found)}
    text = b"\n".join(found.source for _, found in files)
    word = options.get("-k", "")
    if re.fullmatch(r"\w+", word) and b"parametrize" not in text:
        said = " ".join((*known, *(posixpath.basename(path) for path, _ in files))).casefold()
        if word.casefold() not in said:
            return f"-k {word}"
    mark = options.get("-m", "")
    if re.fullmatch(r"\w+", mark) and f"mark.{mark}".encode() not in text and b"add_marker" not in text:
        return f"-m {mark}"
    wanted = [target.split("::")[1:] for target in run.targets if "::" in target]
    if wanted and len(wanted) == len(run.targets):
        parts = [[part.partition("[")[0] for part in way] for way in wanted]
        if all(any(part not in known for part in way) for way in parts) and known:
            return "::".join(wanted[0])
    return ""


_STATUS: Final = re.compile(r"\$\{?(?:\?|\w*(?:status|code|rc|ret|exit|result)\w*)", re.IGNORECASE)
_IS_FIVE: Final = re.compile(r"""\$\{?[\w?]+\}?["']?\s*(?:-eq|==?)\s*["']?5["']?(?![\d.])""")
_IS_ZERO: Final = re.compile(r"""\$\{?[\w?]+\}?["']?\s*(?:-eq|==?)\s*["']?0["']?(?![\d.])""")


@lru_cache(maxsize=64)
def _five_passes(source: bytes) -> tuple[int, ...]:
    """Return the lines of a script at which exit code 5 of pytest counts as a pass."""
    return tuple(_fives(source)) if b"pytest" in source and b"5" in source else ()


def _fives(source: bytes) -> Iterator[int]:
    for node in walk(parse_shell(source).body):
        match node:
            case Test(text=text) if "||" in text and _IS_FIVE.search(text) and _IS_ZERO.search(text):
                yield node.line
            case AndOr(items=items, operators=operators) if set(operators) == {"||"} and _is_five(items[-1:]):
                first = items[0]
                is_run = isinstance(first, Command) and any("pytest" in word.raw for word in first.words)
                if is_run or (isinstance(first, Test) and _IS_ZERO.search(first.text)):
                    yield node.line
            case If(branches=branches):
                for condition, body in branches:
                    if _is_five(condition) and any(map(_is_success, walk(body))):
                        yield condition[0].line
            case Case(word=word, items=cases) if _STATUS.search(word.raw):
                for patterns, _ in cases:
                    if {"0", "5"} <= {pattern.raw.strip("\"'") for pattern in patterns}:
                        yield node.line
            case _:
                pass


def _is_five(body: Body) -> bool:
    return (
        len(body) == 1
        and isinstance(body[0], Test)
        and bool(_IS_FIVE.search(body[0].text) and _STATUS.search(body[0].text))
    )


def _is_success(node: Node) -> bool:
    """Say whether a command ends with success, sets the status to 0 or the reward to 1."""
    if not isinstance(node, Command):
        return False
    for name, value in node.assignments:
        if (_STATUS.fullmatch(f"${name}") and value.raw == "0") or (
            "reward" in name.lower() and value.raw.startswith("1")
        ):
            return True
    words = [word.raw for word in node.words]
    writes = node.name == "echo" and any("reward" in part.target.raw.lower() for part in node.redirects)
    return words == ["exit", "0"] or (writes and words[1:2] == ["1"])


def always_holds(task: TaskPackage) -> Iterator[Hit]:
    """Every test of the verifier asserts what can fail.

    Why: a test whose only assertion holds whatever was done (`assert True`,
    `len(x) >= 0`) checks nothing, though it is counted as passed; and
    `assert (value, "message")` asserts a pair, which always holds.

    Fix: assert what the output must hold; write `assert value, "message"` without the parentheses.
    """
    for path, facts in grading(task).python:
        for line, what in always_true(facts):
            yield Hit(path=path, line=line, message=f"{what} always holds")


def only_its_own(task: TaskPackage) -> Iterator[Hit]:
    """What the agent wrote is compared with something that it did not write.

    Why: where the tests only ask whether the fields of one file are there and
    agree with each other, any file that agrees with itself passes.

    Fix: work the expected values out of the input, or keep them below `verifier/`.
    """
    facts = grading(task)
    inputs = facts.image.files
    if len(inputs) > _MOST_INPUTS or any(facts.spells(posixpath.basename(path)) for path in inputs):
        return  # an input, which the tests may work the expected values out of
    hits: list[Hit] = []
    for path, found in facts.python:
        if compares_nothing(found):
            continue
        if (seen := only_itself(found)) is None:
            return
        line, output, compared = seen
        if is_below(output, HARNESS) or output in facts.image.files:
            return
        what = f"compare `{output}` with itself only" if compared else f"look at the form of `{output}` only"
        hits.append(Hit(path=path, line=line, message=f"the tests {what}"))
    if hits and not checks_in_shell(task):
        yield hits[0]


RULES: Final = (
    TaskRule("BYD106", "review", runs_no_test, requires=("STR107",), profiles=("arena",)),
    TaskRule("BYD107", "review", always_holds, profiles=("arena",)),
    TaskRule("BYD113", "review", only_its_own, requires=("CTL103",), profiles=("arena",)),
)
