"""CTL: whether the reference solution and the verifier's checks work at all, by the arena's gates (gates-v4).

Source: the arena's agent guide, "Static gates (at validation)".
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from seatrials.parse.shell import (
    Body,
    Command,
    Function,
    If,
    Node,
    Opaque,
    Pipeline,
    Script,
    parse_shell,
    shebang,
    walk,
)
from seatrials.rules.grading import MAX_FILE, grading, verifier_files, verifier_folders
from seatrials.rules.model import Hit, TaskRule
from seatrials.rules.verifier_facts import WRITES_REWARD, variables_of
from seatrials.task.files import TaskFile
from seatrials.task.package import TaskPackage

_IDLE: Final = frozenset(
    {":", "cat", "cd", "date", "echo", "exit", "export", "false", "ls", "mkdir", "printf", "pwd", "return",
     "set", "sleep", "true", "umask", "unset", "whoami"}
)  # fmt: skip
"""Commands that change nothing of the task, unless what they print is sent into a file."""

_SHELLS: Final = frozenset({"", "bash", "sh", "dash", "ash", "ksh", "zsh"})
_NOWHERE: Final = ("/dev/", "&", "/logs/agent")


def solutions(task: TaskPackage) -> Iterator[TaskFile]:
    """Yield the scripts that solve a task, or its steps."""
    folder = task.native.oracle_dir
    for path, file in task.files.items():
        is_step = re.fullmatch(r"steps/[^/]+/(?:solution|oracle)/solve\.sh", path)
        if (path == f"{folder}/solve.sh" or is_step) and file.kind == "file" and file.size <= MAX_FILE:
            yield file


def idle_solution(task: TaskPackage) -> Iterator[Hit]:
    """The reference solution does something.

    Why: the arena takes a solution that does nothing for none: the task
    counts only if its no-op scores 0 on every rerun and the base model solves
    it at least once.

    Fix: write the steps that solve the task.
    """
    for file in solutions(task):
        source = file.head()
        program, _ = shebang(source)
        idle = _is_idle(parse_shell(source)) if program in _SHELLS else _is_idle_python(program, source)
        if idle:
            yield Hit(path=file.path, message=f"`{file.path}` does nothing")


def _is_idle(script: Script) -> bool:
    """Say whether no command of a script changes anything."""
    if script.bad_line is not None or script.too_large:
        return False
    for node in _reached(script):
        if isinstance(node, Opaque):
            return False
        for redirect in getattr(node, "redirects", ()):
            target = redirect.target.resolve({})
            if ">" in redirect.operator and not target.startswith(_NOWHERE) and not target.isdigit():
                return False
        if isinstance(node, Command) and node.words and not _does_nothing(node, script):
            return False
    return True


def _reached(script: Script) -> Iterator[Node]:
    """Yield the nodes that may run: none after `exit`, of an `if false`, of a function that nothing calls."""
    called = {node.name for node in walk(script.body) if isinstance(node, Command)}
    for node in script.body:
        match node:
            case Function(name=name) if name not in called:
                continue
            case If(branches=[(condition, _)], otherwise=otherwise) if _is_false(condition):
                yield from walk(otherwise or ())
                continue
            case _:
                yield from walk((node,))
        if isinstance(node, Command) and node.name == "exit":
            return


def _is_false(condition: Body) -> bool:
    return len(condition) == 1 and isinstance(condition[0], Command) and condition[0].name == "false"


def _is_idle_document(command: Command) -> bool:
    """Say whether a command is Python with a here-document that does nothing."""
    texts = [part.text for part in command.redirects if part.operator in {"<<", "<<-"}]
    plain = all(word.raw == "-" for word in command.words[1:])
    return bool(texts) and plain and _is_idle_python(command.name, texts[-1].encode("utf-8", "replace"))


def _does_nothing(command: Command, script: Script) -> bool:
    return command.name in _IDLE or _is_own(command, script) or _is_idle_document(command)


def _is_own(command: Command, script: Script) -> bool:
    return any(isinstance(node, Function) and node.name == command.name for node in walk(script.body))


def _is_idle_python(program: str, source: bytes) -> bool:
    if not program.startswith("python"):
        return False
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(
        isinstance(node, ast.Pass | ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Name)
            and node.value.func.id == "print"
        )
        for node in tree.body
    )


_URL: Final = re.compile(
    r"(?:https?|ftp)://(?!localhost|127\.|0\.0\.0\.0|\[::1\]|\$|\{)([\w.-]+\.[a-z]{2,})", re.IGNORECASE
)
_FETCHERS: Final = frozenset({"aria2c", "axel", "curl", "git", "wget"})
_PYTHON_FETCH: Final = re.compile(
    r"(?:urlopen|urlretrieve|requests\.get|httpx\.get|snapshot_download|hf_hub_download)\(\s*[fr]?[\"']?([^\"')\s]*)"
)


def fetching_solution(task: TaskPackage) -> Iterator[Hit]:
    """The reference solution downloads nothing from other hosts.

    Why: it may then fetch the answer rather than compute it, it fails where
    the task turns the network off, and what it fetches can change.

    Fix: put what it needs into `environment/` or `oracle/`.
    """
    for file in solutions(task):
        script = parse_shell(file.head())
        variables = variables_of(script)
        for command in script.commands():
            words = [word.resolve(variables) for word in command.words]
            host = next((match[1] for word in words for match in [_URL.search(word)] if match), "")
            if command.name in _FETCHERS and host and (command.name != "git" or "clone" in words):
                message = f"`{command.name}` downloads from `{host}`"
                yield Hit(path=file.path, line=command.line, message=message)
            for redirect in command.redirects:
                if redirect.operator == "<<" and command.name.startswith("python"):
                    for host in _python_hosts(redirect.text):
                        yield Hit(path=file.path, line=command.line, message=f"downloads from `{host}`")
    for below, file in task.native.under("oracle"):
        if below.endswith(".py") and file.kind == "file" and file.size <= MAX_FILE:
            for host in _python_hosts(file.head().decode("utf-8", "replace")):
                yield Hit(path=file.path, message=f"downloads from `{host}`")


def _python_hosts(text: str) -> set[str]:
    found = (_URL.search(match[1]) for match in _PYTHON_FETCH.finditer(text))
    return {host[1] for host in found if host is not None}


_OTHER_CHECKS: Final = re.compile(
    r"(?:diff|cmp|grep|egrep|jq|test|\[|bats|go|cargo|npm|node|mvn|gradle|ctest|make|java|ruby|perl|php|awk|"
    r"sha\d+sum|md5sum|[\w./-]+\.(?:sh|js|pl|rb))"
)


def no_real_assertion(task: TaskPackage) -> Iterator[Hit]:
    """The verifier asserts more than that paths exist.

    Why: an empty file of the right name then scores as well as the work; and
    tests without an assertion pass whatever was done.

    Fix: assert what the file must hold.
    """
    facts = grading(task)
    if any(found.asserts_values for _, found in facts.python):
        return
    tested = [(name, found) for name, found in facts.python if found.tests or found.assertions]
    if not tested or any(not found.parsed for _, found in facts.python) or checks_in_shell(task):
        return
    assertions = [item for _, found in tested for item in found.assertions]
    if not any(found.tests for _, found in tested):
        return
    if assertions:
        message = "the verifier's assertions only ask whether paths exist"
    else:
        message = "the verifier's tests assert nothing"
    yield Hit(path=tested[0][0], line=assertions[0].line if assertions else None, message=message)


def checks_in_shell(task: TaskPackage) -> bool:
    """Say whether a script of the verifier checks something itself, beside what it has pytest do."""
    for below, file in verifier_files(task):
        if below.endswith(".sh") and below != "test.sh":
            return True
        if not below.endswith((".sh", ".py", ".md", ".txt", ".json", ".csv")) and file.executable:
            return True
        if below == "test.sh" and file.size <= MAX_FILE:
            for command in parse_shell(file.head()).commands():
                if command.name not in {"test", "["} and _OTHER_CHECKS.fullmatch(command.name):
                    return True
    return False


_TEXTS: Final = (".md", ".rst", ".txt")
"""Files that tell of the reward, as `verifier.md` does, and write none."""

_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_IN_JSON: Final = re.compile(r"[\"']?reward[\"']?\s*:\s*(-?\d+(?:\.\d+)?)\s*[,}]")


def only_full_reward(task: TaskPackage) -> Iterator[Hit]:
    """`test.sh` can write another reward than 1.

    Why: a verifier that writes nothing but 1 gives the full reward, or none
    at all, which is a verifier error and not a 0.

    Fix: write 0 where the checks fail.
    """
    for folder in verifier_folders(task):
        file = task.resolve(f"{folder}test.sh")
        if file is None or file.size > MAX_FILE:
            continue
        written = _rewards(file.head())
        if not written or any(value is None or value < 1 for _, value in written):
            continue
        others = (
            other
            for below, other in verifier_files(task)
            if other is not file and other.size <= MAX_FILE and not below.endswith(_TEXTS)
        )
        if not any(WRITES_REWARD.search(other.head()) for other in others):
            message = f"`{file.path}` can only write the reward {written[0][1]:g}"
            yield Hit(path=file.path, line=written[0][0], message=message)


@lru_cache(maxsize=64)
def _rewards(source: bytes) -> tuple[tuple[int, float | None], ...]:
    """Return each line that writes a reward and the number; None where it is not known."""
    return tuple(_reward_lines(source))


def _reward_lines(source: bytes) -> Iterator[tuple[int, float | None]]:
    script = parse_shell(source)
    variables = variables_of(script)
    given = Counter(name for command in script.commands() for name, _ in command.assignments)
    fixed = {name: value for name, value in variables.items() if given[name] == 1}
    seen = set[int]()
    for node in walk(script.body):
        match node:
            case Pipeline(items=[Command() as first, Command(name="tee") as last]):
                if any(WRITES_REWARD.search(word.raw.encode("utf-8", "replace")) for word in last.words):
                    seen.add(last.line)
                    yield last.line, _printed(first, fixed)
            case _:
                pass
        for redirect in getattr(node, "redirects", ()):
            target = redirect.target.resolve(variables)
            if ">" not in redirect.operator or not WRITES_REWARD.search(target.encode("utf-8", "replace")):
                continue
            seen.add(node.line)
            yield node.line, _printed(node, fixed) if isinstance(node, Command) else None
        if (
            isinstance(node, Command)
            and node.line not in seen
            and node.name not in {"mkdir", "rm", "cat", "chmod"}
        ):
            said = " ".join(word.raw for word in node.words)
            said += "".join(redirect.text for redirect in node.redirects if redirect.operator == "<<")
            if WRITES_REWARD.search(said.encode("utf-8", "replace")):
                yield node.line, None


def _printed(command: Command, fixed: Mapping[str, str]) -> float | None:
    """Return the number that a command prints; `fixed` are the variables that are given a value once."""
    if command.name not in {"echo", "printf"}:
        return None
    if (name := re.fullmatch(r"[\"']?\$\{?(\w+)\}?[\"']?", command.words[-1].raw)) is not None:
        value = fixed.get(name[1], "")
        return float(value) if _NUMBER.fullmatch(value) else None
    text = " ".join(word.raw.strip("\"'") for word in command.words[1:] if word.raw not in {"-n", "-e"})
    text = text.replace("\\n", "").replace('\\"', '"').strip()
    match = _NUMBER.fullmatch(text) or _IN_JSON.search(text)
    return float(match[match.lastindex or 0]) if match else None


RULES: Final = (
    TaskRule("CTL101", "controls", idle_solution, requires=("STR101", "ORA101"), profiles=("arena",)),
    TaskRule("CTL102", "review", fetching_solution, requires=("STR101", "ORA101"), profiles=("arena",)),
    TaskRule("CTL103", "review", no_real_assertion, requires=("STR107",), profiles=("arena",)),
    TaskRule("CTL104", "review", only_full_reward, requires=("VER101",), profiles=("arena",)),
)
