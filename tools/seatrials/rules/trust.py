"""BYD: what a verifier relies on that the agent, the day or another host can change."""

import posixpath
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from seatrials.parse.pytest import PythonFacts
from seatrials.parse.shell import parse_shell
from seatrials.parse.trust import (
    added_folders,
    clock_compared,
    equal_files,
    hosts,
    imports,
    loaded,
    started,
    starts_any,
)
from seatrials.rules.grading import Grading, grading, is_below, verifier_folders
from seatrials.rules.model import Hit, TaskRule
from seatrials.rules.script_runs import (
    Run,
    brings_files,
    dates_compared,
    python_path,
    run_of,
    runs_of,
    sourced,
)
from seatrials.task.package import TaskPackage

_MOST_LOOKED_AT: Final = 200
_MOST_FOLDERS: Final = 8
_NOT_AGENTS: Final = (
    "/verifier", "/tests", "/logs/verifier", "/proc", "/sys", "/dev", "/usr", "/bin",
    "/lib", "/etc",
)  # fmt: skip
_DONE: Final = {
    "imports": "imports {}",
    "runs": "runs the code of {}",
    "evaluates": "evaluates what stands in {}",
    "unpickles": "unpickles {}, which can run any code,",
}
_TELLS_PATH: Final = (".json", ".txt", ".yaml", ".yml")


def agent_code(task: TaskPackage) -> Iterator[Hit]:
    """The process that decides the reward runs no code that the agent can write.

    Why: what a test imports, evaluates or unpickles can end the process with
    success, replace the assertions, or write the reward itself. To run the
    agent's program as a process of its own, and compare what it prints, is no finding.

    Fix: `subprocess.run([sys.executable, "-c", ...])` with the import inside,
    and compare its output; JSON in place of pickle; `ast.literal_eval` in place of `eval`.
    """
    facts = grading(task)
    folders: list[str] = []
    for _, file in facts.scripts:
        for path, line in sourced(file.read()):
            if not is_below(path, _NOT_AGENTS) and not path.endswith("/activate"):
                yield _in_process(file.path, line, f"`source` runs `{path}`")
        folders += python_path(file.read())
        for run in runs_of(file.read()):
            if run.program == "pytest" and run.as_module:
                folders.append(run.cwd or _workdir(facts))
    for path, found in facts.python:
        seen: set[str] = set()
        for item in loaded(found):
            if not is_below(item.path, _NOT_AGENTS) and item.path not in seen:
                seen.add(item.path)
                what = f"`{item.path}`"
                if item.path.endswith(_TELLS_PATH) and item.how in {"imports", "unpickles"}:
                    what = f"what {what} names"
                yield _in_process(path, item.line, _DONE[item.how].format(what))
        for name, line, where in _imported(facts, found, folders):
            if where not in seen:
                seen.add(where)
                yield _in_process(path, line, f"imports `{name}` from `{where}`")


def _in_process(path: str, line: int, what: str) -> Hit:
    return Hit(path=path, line=line, message=f"{what} in the process that decides the reward")


def _workdir(facts: Grading) -> str:
    instructions = facts.dockerfile.instructions if facts.dockerfile is not None else ()
    return next((found.workdir for found in reversed(instructions) if found.workdir), "")


def _imported(facts: Grading, found: PythonFacts, given: list[str]) -> Iterator[tuple[str, int, str]]:
    """Yield module, line and folder of what is imported from a folder of the agent's on `sys.path`."""
    folders = [
        folder for folder in (*added_folders(found), *given) if folder and not is_below(folder, _NOT_AGENTS)
    ]
    for name, line in islice(imports(found).items(), _MOST_LOOKED_AT) if folders else ():
        if name in sys.stdlib_module_names or _is_verifiers(facts, name):
            continue
        for folder in folders[:_MOST_FOLDERS]:
            if _holds_module(facts, found, folder, name):
                yield name, line, folder
                break


def _is_verifiers(facts: Grading, name: str) -> bool:
    paths = (f"{folder}{name}" for folder in verifier_folders(facts.task))
    return any(
        facts.task.resolve(f"{path}.py") is not None or facts.task.resolve(f"{path}/__init__.py") is not None
        for path in paths
    )


def _holds_module(facts: Grading, found: PythonFacts, folder: str, name: str) -> bool:
    """Say whether a folder is seen to hold a module: in the image, the prompt or the test itself."""
    inside = posixpath.join(folder, name)
    if f"{inside}.py" in facts.image.files or inside in facts.image_folders:
        return True
    spelled = folder.encode("utf-8", "replace") in found.source
    if folder.casefold() not in facts.prompt.folded and not spelled:
        return False
    said = facts.prompt.names(f"{name}.py") or f"{name}.py".encode() in found.source
    return said or ("_" in name and facts.prompt.names(name)) or inside.casefold() in facts.prompt.folded


_GRADER: Final = re.compile(
    r"(?:^|.*[_-])(?:check|checker|checks|evaluate|evaluator|grade|grader|judge|score|scorer|tests?|validate"
    r"|validator|verifier|verify)(?:[_-].*|$)",
    re.IGNORECASE,
)
_PROGRAMS: Final = (
    b"bundle", b"cargo", b"go", b"gradle", b"make", b"mix", b"mvn", b"npm", b"pnpm", b"pytest", b"unittest",
    b"yarn",
)  # fmt: skip
_MAY_START_TESTS: Final = (
    b"-m pytest", b"-m unittest", *(quote + name for name in _PROGRAMS for quote in (b"'", b'"'))
)  # fmt: skip
"""Without one of these the pattern below, which takes longer, finds nothing."""

_STARTS_TESTS: Final = re.compile(
    rb"[\"'](?:pytest|unittest)[\"' ]|-m (?:pytest|unittest)"
    rb"|[\"'](?:bundle|cargo|go|gradle|make|mix|mvn|npm|pnpm|yarn)"
    rb"(?: |[\"'], *[\"'])[^\n]{0,40}\b(?:check|test)"
)
_OF_A_SUITE: Final = re.compile(
    r"(?:^|/)(?:tests?|__tests__|spec)/|(?:^|/)(?:test_[^/]*|[^/]*[._-](?:spec|test)s?\.\w+|[^/]*Test\.\w+|conftest\.py|Makefile)$"
)
"""What belongs to the tests of a folder."""


def agents_grader(task: TaskPackage) -> Iterator[Hit]:
    """The verifier runs no tests and no grader that lie in the agent's image.

    Why: the agent can rewrite or empty them, and pass without the work.

    Fix: keep them below `verifier/` and run those, or copy them over the agent's before they run.
    """
    facts = grading(task)
    if not facts.image.files:
        return
    seen: set[str] = set()
    for path, run in _runs(facts):
        for target in run.paths():
            if target in seen or is_below(target, _NOT_AGENTS) or not _is_grader(run, target):
                continue
            seen.add(target)
            suite = _suite(facts, target)
            if suite and not _is_work(facts, suite) and not (suite != [target] and _mends_tests(facts)):
                what = f"the tests in `{target}`" if run.program == "suite" else f"`{target}`"
                message = f"runs {what}, which the agent's image holds, to judge"
                yield Hit(path=path, line=run.line, message=message)


def _runs(facts: Grading) -> Iterator[tuple[str, Run]]:
    for _, file in facts.scripts:
        if not brings_files(file.read()):
            for run in runs_of(file.read()):
                yield file.path, run if run.cwd else replace(run, cwd=_workdir(facts))
    named: list[bytes] | None = None
    for path, found in facts.python:
        if not starts_any(found):
            continue
        if named is None:
            names = {posixpath.basename(path) for path in facts.image.files}
            graders = (name for name in names if _GRADER.fullmatch(name.partition(".")[0]))
            named = [name.encode("utf-8", "surrogateescape") for name in islice(graders, _MOST_LOOKED_AT)]
        begins = any(word in found.source for word in _MAY_START_TESTS)
        if not (begins and _STARTS_TESTS.search(found.source)) and not any(
            name in found.source for name in named
        ):
            continue
        for item in started(found) if b"shutil.copy" not in found.source else ():
            begun = run_of(list(item.words), item.line, item.cwd)
            if begun is not None:
                yield path, begun


def _is_grader(run: Run, target: str) -> bool:
    if run.program in {"pytest", "suite", "unittest"}:
        return True
    return bool(_GRADER.fullmatch(posixpath.basename(target).partition(".")[0]))


def _suite(facts: Grading, target: str) -> list[str]:
    """Return the file of the image that a target is, or the tests in the folder that it is."""
    if target in facts.image.files:
        return [target]
    if target not in facts.image_folders:
        return []
    folder = "/" if target == "/" else f"{target}/"
    inside = (path for path in facts.image.files if path.startswith(folder))
    return list(islice((path for path in inside if _OF_A_SUITE.search(path)), _MOST_LOOKED_AT))


_TO_CHANGE: Final = (
    r"(?<!not )(?<!never )(?<!your )"
    r"\b(?:complet|creat|edit|extend|fix|implement|modify|patch|repair|rewrit|updat|writ)"
    r"(?:e|es|ing|y)?\b(?:(?!\b(?:and|by|for|makes?|must|so|that|to|until|using|when|with)\b)[^.\n`]){0,40}"
    r"[`'\"]?(?:/?[\w-]{1,60}/){0,12}"
)
_BROKEN: Final = r"[`'\"]?[^.\n]{0,30}\b(?:broken|bugs?|crash|incomplete|syntax error)"


def _is_work(facts: Grading, paths: list[str]) -> bool:
    """Say whether the prompt asks to change one of these files: then they are the work itself."""
    files = {posixpath.basename(path) for path in paths}
    if "conftest.py" in files and "fixture" in facts.prompt.folded:
        return True
    if not any(name.casefold() in facts.prompt.folded for name in files):
        return False
    names = "|".join(re.escape(name) for name in sorted(files)[:50])
    text = facts.prompt.text
    return bool(
        re.search(rf"{_TO_CHANGE}(?:{names})\b", text, re.IGNORECASE)
        or re.search(rf"(?:{names})(?:{_BROKEN})", text, re.IGNORECASE)
        or re.search(rf"\bbug_file\W{{1,9}}[\w/.-]{{0,200}}(?:{names})", text)
    )


_TESTS_TO_MEND: Final = re.compile(
    rf"{_TO_CHANGE}\btests?\b|\bbroken tests?\b|\btests?(?: \w+)? (?:are|is) broken\b",
    re.IGNORECASE,
)


def _mends_tests(facts: Grading) -> bool:
    """Say whether the prompt asks to mend tests, without naming the files."""
    return _TESTS_TO_MEND.search(facts.prompt.text) is not None


_OUTCOMES: Final = r"checksums?|correct|expected|golden|md5(?:sums?)?|pristine|sha\d+(?:sums?)?"
_SAYS: Final = re.compile(rf"(?:^|[._-])(?:{_OUTCOMES})(?:[._-]|$)", re.IGNORECASE)
"""Names of what can only be there to compare with: it is enough that the verifier reads it."""

_RIGHT: Final = re.compile(rf"(?:^|[._-])(?:{_OUTCOMES}|reference)(?:[._-]|$)", re.IGNORECASE)
_BEFORE: Final = re.compile(
    r"(?:^|[._-])(?:backup|bak|baseline|before|orig|original|untouched)(?:[._-]|$)", re.IGNORECASE
)


def changeable_reference(task: TaskPackage) -> Iterator[Hit]:
    """What the verifier compares with lies out of the agent's reach.

    Why: a checksum, an original or an expected output in the image can be
    rewritten together with the file that it speaks of.

    Fix: keep the reference below `verifier/`, or write the digest into the test.
    """
    facts = grading(task)
    references = {
        path
        for path in islice(filter(_is_reference, facts.image.files), _MOST_LOOKED_AT)
        if _is_compared(facts, path) and not _is_work(facts, [path])
    }
    if not references:
        return
    seen: set[str] = set()
    for path, first, second, line in _comparisons(facts):
        for reference, other in ((first, second), (second, first)):
            if reference not in references - seen or is_below(other, _NOT_AGENTS):
                continue
            if _is_kept(reference, other):
                seen.add(reference)
                message = f"compares with `{reference}`, which the agent can rewrite"
                yield Hit(path=path, line=line, message=message)
    said = {path for path in references - seen if any(map(_SAYS.search, path.split("/")[-2:]))}
    for reference, path, line in facts.reads() if said else ():
        if reference in said:
            said.discard(reference)
            message = f"reads `{reference}` to compare with, which the agent can rewrite"
            yield Hit(path=path, line=line, message=message)


def _is_reference(path: str) -> bool:
    return any(_RIGHT.search(part) or _BEFORE.search(part) for part in path.split("/")[-2:])


def _is_compared(facts: Grading, path: str) -> bool:
    """Say whether the verifier spells a reference, and of an original also what it is the original of."""
    name = posixpath.basename(path)
    if not facts.spells(name):
        return False
    kept = _BEFORE.sub("", name).strip("._-")
    return any(map(_RIGHT.search, path.split("/")[-2:])) or (
        bool(kept) and (kept == name or facts.spells(kept))
    )


def _is_kept(reference: str, other: str) -> bool:
    """Say whether one file says what is right, or is the copy of what the other was before."""
    name, stem = posixpath.basename(reference), posixpath.basename(other).partition(".")[0]
    if any(_RIGHT.search(part) for part in reference.split("/")[-2:]):
        return True
    return bool(stem) and stem in name


def _comparisons(facts: Grading) -> Iterator[tuple[str, str, str, int]]:
    """Yield the verifier's file, two paths of which the second may be unknown, and the line."""
    for path, found in facts.python:
        for first, second, line in equal_files(found):
            yield path, first, second, line
        for item in started(found):
            yield from ((path, *pair, item.line) for pair in _shell_pairs(list(item.words)))
    for _, file in facts.scripts:
        for command in parse_shell(file.read()).commands():
            words = [word.resolve({}) for word in command.words]
            yield from ((file.path, *pair, command.line) for pair in _shell_pairs(words))


def _shell_pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    plain = [posixpath.normpath(word) for word in words[1:] if word.startswith("/")]
    match words[:1]:
        case ["cmp" | "diff"] if len(plain) > 1:
            yield plain[0], plain[1]
        case [name] if (
            re.fullmatch(r"(?:sha\d+|md5|b2)sum", name) and {"-c", "--check"} & set(words) and plain
        ):
            yield plain[0], ""


def wall_clock(task: TaskPackage) -> Iterator[Hit]:
    """The verifier does not compare with the date or the time of day.

    Why: the same work then passes today and fails next month. How long a program
    takes, and time limits, are no finding.

    Fix: compare with a date that the task fixes; let the task say which day is taken for today.
    """
    facts = grading(task)
    message = "compares with the time at which the verifier runs"
    for _, file in facts.scripts:
        for line in dates_compared(file.read())[:1]:
            yield Hit(path=file.path, line=line, message=message)
    for path, found in facts.python:
        for line in clock_compared(found)[:1]:
            yield Hit(path=path, line=line, message=message)


_LOCAL: Final = re.compile(
    r"localhost|127\..*|0\.0\.0\.0|10\..*|192\.168\..*|.*\.(?:local|localdomain|internal|test|example|invalid)|"
    r"(?:.*\.)?example\.(?:com|org|net)|[^.]*",
    re.IGNORECASE,
)


def other_hosts(task: TaskPackage) -> Iterator[Hit]:
    """The verifier's Python asks no other host.

    Why: without a network the test fails whatever was done, and what another
    host answers can change.

    Fix: keep a copy of what it answers below `verifier/`, or start the service in the sandbox.
    """
    for path, host, line in asked_hosts(grading(task)):
        yield Hit(path=path, line=line, message=f"asks `{host}`, another host")


def asked_hosts(facts: Grading) -> Iterator[tuple[str, str, int]]:
    """Yield each file of the verifier's Python that asks another host, the first such host and the line."""
    for path, found in facts.python:
        for host, line in hosts(found):
            if not _LOCAL.fullmatch(host):
                yield path, host, line
                break


RULES: Final = (
    TaskRule("BYD108", "review", agent_code, profiles=("arena",)),
    TaskRule("BYD109", "review", agents_grader, requires=("STR105",), profiles=("arena",)),
    TaskRule(
        "BYD110", "review", changeable_reference, requires=("STR105", "LEK102", "LEK108"), profiles=("arena",)
    ),
    TaskRule("BYD111", "review", wall_clock, profiles=("arena",)),
    TaskRule("BYD112", "review", other_hosts, requires=("VER108",), profiles=("arena",)),
)
