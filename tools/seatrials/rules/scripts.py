"""VER and SHL: the scripts that judge and solve a task, read through a grammar of bash.

VER101 to VER109 are about the verifier, SHL101 to SHL104 about any script that
a trial runs. Only the CTRF path (VER106) is refused by BenchFlow's check.
"""

import ast
import posixpath
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

from seatrials.parse.dockerfile import Instruction, parse_dockerfile
from seatrials.parse.shell import (
    AndOr,
    Body,
    Case,
    Command,
    Comparison,
    If,
    Node,
    Script,
    Test,
    children,
    parse_shell,
    shebang,
    walk,
)
from seatrials.rules.grading import grading
from seatrials.rules.image import names_said
from seatrials.rules.kept import ByListing
from seatrials.rules.model import Hit, TaskRule
from seatrials.rules.structure import DOCKERFILE
from seatrials.rules.trust import asked_hosts
from seatrials.rules.verifier_facts import WRITES_REWARD, ScriptFacts, script_facts
from seatrials.task.files import TaskFile
from seatrials.task.package import TaskPackage

_MAX_HELPER: Final = 1024 * 1024
_SHELLS: Final = frozenset({"bash", "sh", "dash", "ash", "ksh", "zsh"})


def _test_scripts(task: TaskPackage) -> Iterator[tuple[str, TaskFile]]:
    """Yield each step's and the task's ``test.sh`` with the folder it lies in."""
    folders = [task.native.verifier_dir]
    if task.native.get("steps"):
        folders += [
            path.removesuffix("/test.sh")
            for path in task.files
            if path.startswith("steps/") and path.endswith(("/tests/test.sh", "/verifier/test.sh"))
        ]
    for folder in folders:
        file = task.resolve(f"{folder}/test.sh")
        if file is not None:
            yield folder, file


@lru_cache(maxsize=1)
def _facts(of: ByListing) -> tuple[tuple[TaskFile, ScriptFacts], ...]:
    """Return each test script with what is known of it."""
    out: list[tuple[TaskFile, ScriptFacts]] = []
    for folder, file in _test_scripts(of.task):
        source = file.head()
        helpers: dict[str, bool] = {}
        for path, other in of.task.files.items():
            if path.startswith(f"{folder}/") and other is not file and other.kind == "file":
                name = other.name
                if name not in helpers and name.encode("utf-8", "surrogateescape") in source:
                    helpers[name] = _writes_reward(other)
        out.append((file, script_facts(source, tuple(sorted(helpers.items())))))
    return tuple(out)


def _writes_reward(file: TaskFile) -> bool:
    if file.size > _MAX_HELPER:
        return False
    source = file.head()
    return (b"eward" in source or b"EWARD" in source) and bool(WRITES_REWARD.search(source))


def no_reward(task: TaskPackage) -> Iterator[Hit]:
    """The verifier writes the reward.

    Why: a trial without `/logs/verifier/reward.txt` or `reward.json` is a
    verifier error, whatever the agent did. Nothing in `test.sh`, nor in the
    files of the verifier that it names, writes one.

    Fix: end `test.sh` with a line that writes `reward.txt` on every path.
    """
    for file, facts in _facts(ByListing(task)):
        if not facts.writes and not facts.opaque and not facts.script.too_large:
            message = f"nothing in `{file.path}` writes `reward.txt` or `reward.json`"
            yield Hit(path=file.path, message=message)


def ends_before_reward(task: TaskPackage) -> Iterator[Hit]:
    """A failing check does not end the script before the reward is written.

    Why: under `set -e` the shell stops at the command that fails, so a wrong
    solution gets no reward file, which is a verifier error, and a line that
    looks at `$?` after it is never reached.

    Fix: `set +e` before the check, or put it into an `if`.
    """
    for file, facts in _facts(ByListing(task)):
        lines = {
            ending.line for ending in facts.endings if ending.kind == "errexit" and not ending.state.written
        }
        for line in sorted(lines):
            message = "a failure here ends the script (`set -e`) before the reward is written"
            yield Hit(path=file.path, line=line, message=message)


def leaves_before_reward(task: TaskPackage) -> Iterator[Hit]:
    """No `exit` comes between the checks and the reward.

    Why: a solution that fails there leaves no reward file: the trial counts
    as a verifier error, not as 0.

    Fix: write the reward before the `exit`.
    """
    for file, facts in _facts(ByListing(task)):
        lines = {
            ending.line
            for ending in facts.endings
            if ending.kind == "exit" and ending.state.checked and not ending.state.written
        }
        for line in sorted(lines) if facts.writes else ():
            yield Hit(path=file.path, line=line, message="the script ends here with no reward written")


def way_without_reward(task: TaskPackage) -> Iterator[Hit]:
    """Each way through the script writes a reward, the failing one too.

    Why: `if pytest …; then echo 1 > reward.txt; fi` writes nothing where the
    tests fail; no reward is a verifier error, never a reward of 0.

    Fix: write 0 in the other branch, or before the checks.
    """
    for file, facts in _facts(ByListing(task)):
        if facts.writes and any(
            ending.kind == "end" and ending.state.checked and not ending.state.written
            for ending in facts.endings
        ):
            yield Hit(
                path=file.path, message="a way through the script reaches its end with no reward written"
            )


_NUMBER: Final = r"-?\d+(?:\.\d+)?"
_PREFIX_GLOB: Final = re.compile(rf"[\"']?{_NUMBER}[\"']?\*")
_SUBSTRING_GLOB: Final = re.compile(rf"\*[\"']?{_NUMBER}[\"']?\*?")
_OPEN_REGEXP: Final = re.compile(rf"\^?{_NUMBER}")
_JUDGED: Final = re.compile(
    r"reward|score|result|answer|out\b|output|stdout|actual|got\b|value|count|total|verdict|sum\b",
    re.IGNORECASE,
)


def takes_other_numbers(task: TaskPackage) -> Iterator[Hit]:
    """A number is compared as a whole.

    Why: `[[ $x == 1* ]]`, `grep -q 42`, `startswith("1")` and `"42" in text`
    also take 100, 1420 and 142.

    Fix: compare the whole text, or the number that it stands for.
    """
    folder = f"{task.native.verifier_dir}/"
    for path, file in task.files.items():
        if not path.startswith(folder) or file.kind != "file" or file.size > _MAX_HELPER:
            continue
        if path.endswith(".py"):
            for line, code in _loose_python(file.head()):
                yield Hit(path=path, line=line, message=f"`{code}` takes other numbers too")
        elif path.endswith(".sh"):
            for line, code in _loose_shell(file.head()):
                yield Hit(path=path, line=line, message=f"`{code}` takes other numbers too")


@lru_cache(maxsize=64)
def _loose_shell(source: bytes) -> tuple[tuple[int, str], ...]:
    out: list[tuple[int, str]] = []
    for node in walk(parse_shell(source).body):
        match node:
            case Test() if node.text.startswith("[["):
                out += [(node.line, node.text[:60]) for part in node.comparisons if _is_loose(part)]
            case Case() if _JUDGED.search(node.word.raw):
                for patterns, _ in node.items:
                    out += [
                        (node.line, f"{part.raw})") for part in patterns if _PREFIX_GLOB.fullmatch(part.raw)
                    ]
            case Command() if node.name in {"grep", "egrep"}:
                words = [word.resolve({}) for word in node.words[1:]]
                flags = "".join(word for word in words if word.startswith("-"))
                plain = [word for word in words if not word.startswith("-")]
                system = any(word.startswith(("/etc/", "/proc/", "/sys/")) for word in plain[1:])
                quiet = "q" in flags and not {"x", "w"} & set(flags) and not system
                if quiet and plain and _OPEN_REGEXP.fullmatch(plain[0]):
                    out.append((node.line, f"grep {' '.join(words)[:60]}"))
            case _:
                pass
    return tuple(dict.fromkeys(out))


def _is_loose(part: Comparison) -> bool:
    left = part.left.raw if part.left is not None else ""
    if not _JUDGED.search(left):
        return False
    if part.operator in {"==", "="}:
        return bool(_PREFIX_GLOB.fullmatch(part.right.raw) or _SUBSTRING_GLOB.fullmatch(part.right.raw))
    return part.operator == "=~" and bool(_OPEN_REGEXP.fullmatch(part.right.raw))


_NUMBER_IN: Final = re.compile(rb"[\"'](?:-?\d{1,3}|-?\d+\.\d+)[\"']\s+in\Z")
_STARTS_WITH_NUMBER: Final = re.compile(rb"startswith\(\s*[\"']-?\d[\d.]*[\"']")
_LONGEST_NUMBER: Final = 40
_TEXT_METHODS: Final = frozenset(
    {
        "read",
        "read_text",
        "strip",
        "lstrip",
        "rstrip",
        "lower",
        "upper",
        "decode",
        "getvalue",
        "replace",
        "join",
    }
)
_TEXT_NAMES: Final = frozenset({"stdout", "stderr", "text"})


@lru_cache(maxsize=64)
def _loose_python(source: bytes) -> tuple[tuple[int, str], ...]:
    if not _may_be_loose(source):
        return ()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    parts = [
        part
        for node in ast.walk(tree)
        if isinstance(node, ast.Assert | ast.If)
        for part in _parts(node.test)
        if isinstance(part, ast.Compare | ast.Call) and _names_number(part)
    ]
    texts = _text_names(tree) if parts else frozenset()
    return tuple((part.lineno, _source_of(part)) for part in parts if _takes_more(part, texts))


def _may_be_loose(source: bytes) -> bool:
    """Say, without parsing, whether a number in quotes stands before `in`, or in a `startswith`."""
    if _STARTS_WITH_NUMBER.search(source):
        return True
    for quoted in (b"' in", b'" in'):
        at = source.find(quoted)
        while at >= 0:
            end = at + len(quoted)
            if _NUMBER_IN.search(source, max(at - _LONGEST_NUMBER, 0), end):
                return True
            at = source.find(quoted, end)
    return False


def _parts(test: ast.expr) -> Iterator[ast.expr]:
    """Yield what must hold for a condition: the terms of `and`."""
    pending = [test]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.BoolOp) and isinstance(part.op, ast.And):
            pending.extend(reversed(part.values))
        else:
            yield part


def _names_number(part: ast.Compare | ast.Call) -> bool:
    """Say whether a number in quotes is compared with, or given to a function."""
    value = part.left if isinstance(part, ast.Compare) else part.args[0] if part.args else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str) and _is_short(value.value)


def _takes_more(part: ast.expr, texts: frozenset[str]) -> bool:
    match part:
        case ast.Compare(left=ast.Constant(value=str(number)), ops=[ast.In()], comparators=[where]) if (
            _is_short(number)
        ):
            return bool(_JUDGED.search(_source_of(where))) and _is_text(where, texts)
        case ast.Call(
            func=ast.Attribute(value=what, attr="startswith"), args=[ast.Constant(value=str(number))]
        ) if _is_short(number):
            return bool(_JUDGED.search(_source_of(what)))
        case _:
            return False


def _is_short(text: str) -> bool:
    """Say whether a text is a number that others easily contain; a port or a year is not."""
    return bool(re.fullmatch(_NUMBER, text)) and (len(text) <= 3 or "." in text)  # noqa: PLR2004


def _text_names(tree: ast.Module) -> frozenset[str]:
    """Return the names that are always given a text."""
    given: dict[str, bool] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                given[name] = given.get(name, True) and _is_text(value, frozenset())
            case ast.For(target=ast.Name(id=name)) | ast.comprehension(target=ast.Name(id=name)):
                given[name] = False
            case ast.arg(arg=name):
                given[name] = False
            case _:
                pass
    return frozenset(name for name, text in given.items() if text)


def _is_text(value: ast.expr, texts: frozenset[str]) -> bool:
    match value:
        case ast.Name(id=name):
            return name in texts
        case ast.Call(func=ast.Name(id="str")) | ast.JoinedStr():
            return True
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in _TEXT_METHODS
        case ast.Attribute(attr=name):
            return name in _TEXT_NAMES
        case _:
            return False


def _source_of(node: ast.expr) -> str:
    try:
        return ast.unparse(node)[:60]
    except (RecursionError, ValueError):
        return "…"


_CTRF: Final = re.compile(r"--ctrf[= ]([^\s\\]+)")
_CTRF_PATH: Final = "/logs/verifier/ctrf.json"


def ctrf_elsewhere(task: TaskPackage) -> Iterator[Hit]:
    """The CTRF report goes to `/logs/verifier/ctrf.json`.

    Why: it is where BenchFlow reads the single checks, and its `tasks check`
    refuses a `test.sh` with `--ctrf` and another path; a variable passes.

    Fix: write `--ctrf /logs/verifier/ctrf.json`.
    """
    file = task.resolve(f"{task.native.verifier_dir}/test.sh")
    if file is None or b"--ctrf" not in (source := file.head()):
        return
    # As BenchFlow does it: what follows a `#` is cut off, and the first use counts.
    lines = [line.split("#", 1)[0] for line in source.decode("utf-8", "replace").splitlines()]
    text = "\n".join(lines)
    match = _CTRF.search(text)
    if match is None:
        return
    path = match[1].strip('"').strip("'")
    if not path.startswith("$") and path != _CTRF_PATH:
        line = text.count("\n", 0, match.start()) + 1
        yield Hit(path=file.path, line=line, message=f"`--ctrf {path[:80]}` must be `{_CTRF_PATH}`")


_SOLUTION: Final = re.compile(r"(?<![\w./$}~*-])/solution(?![\w-]|\.\w)")


def solution_path(task: TaskPackage) -> Iterator[Hit]:
    """A native task's scripts don't name `/solution`.

    Why: BenchFlow puts the reference solution into `/oracle` and links
    nothing to `/solution`, as Harbor has it, so a script that reads from
    there fails. (`/tests` is linked to `/verifier`.)

    Fix: write `/oracle`, or find the script's own folder with `$(dirname "$0")`.
    """
    if task.format == "harbor" or _SOLUTION.search(task.native.prompt):
        return
    dockerfile = task.resolve(DOCKERFILE)
    if dockerfile is not None and _SOLUTION.search(_code(dockerfile)):
        # The image has a folder of that name, which may be the agent's.
        return
    folders = tuple(f"{name}/" for name in (task.native.verifier_dir, task.native.oracle_dir) if name)
    for path, file in task.files.items():
        if path.startswith(folders) and path.endswith((".sh", ".py")) and file.size <= _MAX_HELPER:
            code = _code(file)
            if match := _SOLUTION.search(code):
                line = code.count("\n", 0, match.start()) + 1
                yield Hit(path=path, line=line, message="names `/solution`, which BenchFlow does not make")


def _code(file: TaskFile) -> str:
    """Return a file's text with whole-line comments blanked."""
    return re.sub(r"(?m)^[ \t]*#.*$", "", file.head().decode("utf-8", "replace"))


_PROBE: Final = re.compile(
    r"command\s+-v|\bwhich\b|\btype\s|\bhash\s|\bimport\b|--version|-x\s|SKIP|find_spec"
)
_URL: Final = re.compile(r"(?:https?|ftp)://(?!localhost|127\.|0\.0\.0\.0|\[::1|\$)[\w.-]*\.\w+")


def downloads(task: TaskPackage) -> Iterator[Hit]:
    """The verifier needs no network where the task has none.

    Why: with the network off, `apt-get`, `pip install`, `uvx` or `curl`, and
    what a test fetches from another host, fail when the verifier runs, and
    everyone gets a reward of 0 or none.

    Fix: install what the verifier needs in the Dockerfile.
    """
    if _verifier_network(task) != "no-network":
        return
    for folder, file in _test_scripts(task):
        for line, what in _downloads(file.head()):
            message = f"`{what}` needs the network, which is off (`{folder}/` runs in the sandbox)"
            yield Hit(path=file.path, line=line, message=message)
    for path, host, line in asked_hosts(grading(task)):
        message = f"asks `{host}` over the network, which is off"
        yield Hit(path=path, line=line, message=message)


def _verifier_network(task: TaskPackage) -> str:
    mode = task.native.get("verifier", "network_mode")
    if isinstance(mode, str):
        return mode
    sandbox = task.native.table("sandbox")
    declared = sandbox.get("network_mode")
    if isinstance(declared, str):
        return declared
    return "no-network" if sandbox.get("allow_internet") is False else "public"


@lru_cache(maxsize=64)
def _downloads(source: bytes) -> tuple[tuple[int, str], ...]:
    out: list[tuple[int, str]] = []
    pending: list[tuple[Body, bool]] = [(parse_shell(source).body, False)]
    while pending:
        body, spared = pending.pop()
        for node in body:
            if isinstance(node, Command) and not spared and (what := _fetches(node)):
                out.append((node.line, what))
            pending.extend(_spared(node, spared))
    return tuple(sorted(out))


def _spared(node: Node, spared: bool) -> Iterator[tuple[Body, bool]]:
    """Yield the parts of a node, and whether each is only a fallback for what may be in the image."""
    match node:
        case If():
            probe = spared or any(_probes(condition) for condition, _ in node.branches)
            for condition, body in node.branches:
                yield condition, spared
                yield body, probe
            yield node.otherwise or (), probe
        case AndOr():
            probe = spared
            for item in node.items:
                yield (item,), probe
                probe = probe or _probes((item,))
        case _:
            for part in children(node):
                yield part, spared


def _probes(body: Body) -> bool:
    """Say whether a condition asks if something is there already."""
    for node in walk(body):
        match node:
            case Command():
                text = " ".join(word.raw for word in node.words)
            case Test():
                text = node.text
            case _:
                continue
        if _PROBE.search(text):
            return True
    return False


_INSTALLERS: Final = {
    "apt": {"install", "update"},
    "apt-get": {"install", "update"},
    "apk": {"add", "update"},
    "yum": {"install"},
    "dnf": {"install"},
    "pip": {"install", "download"},
    "pip3": {"install", "download"},
    "npm": {"install", "ci", "i"},
    "pnpm": {"install", "add"},
    "yarn": {"install", "add"},
    "gem": {"install"},
    "cargo": {"install"},
    "conda": {"install"},
}


def _fetches(command: Command) -> str:
    words = [word.resolve({}) for word in command.words]
    while words and words[0] in {"sudo", "env", "timeout", "exec", "command"}:
        words = words[1:]
        while words and (words[0].startswith("-") or "=" in words[0] or words[0].rstrip("smh").isdigit()):
            words = words[1:]
    if not words:
        return ""
    name = words[0].rpartition("/")[2]
    if re.fullmatch(r"python[\d.]*", name) and words[1:3] == ["-m", "pip"]:
        name, words = "pip", words[2:]
    if any(word in {"--no-index", "--offline", "--no-download", "--help"} for word in words):
        return ""
    if name in {"uvx", "npx", "pipx"} and len(words) > 1:
        return name
    if name == "uv" and ("--with" in words or words[1:3] == ["pip", "install"] or words[1:2] == ["sync"]):
        return " ".join(words[:3])
    if any(word in _INSTALLERS.get(name, ()) for word in words[1:4]):
        verb = next(word for word in words[1:4] if word in _INSTALLERS[name])
        return f"{name} {verb}"
    if name in {"curl", "wget"} and any(_URL.search(word) for word in words[1:]):
        return name
    if name == "git" and "clone" in words[1:3] and any(_URL.search(word) for word in words):
        return "git clone"
    return ""


_PATH: Final = re.compile(r"/(?:[\w-][\w.-]*/)+[\w-][\w.-]*\.\w+(?![\w/*])")
_WRITE: Final = re.compile(
    r"\b(?:write|save|store|place|put|create|generate|produce)s?\b(?:[^.\n]|\.(?=\S)){0,80}\Z", re.IGNORECASE
)
_INPUT: Final = re.compile(
    r"\b(?:located|available|provided|given|from|read|input|been|was|were|is|are|exists?|contains?)\b",
    re.IGNORECASE,
)
_OPENS: Final = frozenset(" \t\n`'\"(")
_BEFORE: Final = 90
"""Characters before a path in which the verb must stand."""


_WRITABLE: Final = (
    "/home/agent", "/tmp", "/var/tmp", "/dev/shm", "/output", "/outputs", "/logs/agent", "/logs/artifacts",  # noqa: S108
)  # fmt: skip


def root_only_output(task: TaskPackage) -> Iterator[Hit]:
    """The agent may write where the prompt wants its output.

    Why: BenchFlow runs models as the user `agent`, who owns the working
    directory, `/home/agent`, `/output` and `/outputs`, but runs the oracle as
    root: the oracle then passes where no model can.

    Fix: ask for the output below the `WORKDIR`, or `chmod` the folder in the Dockerfile.
    """
    file = task.resolve(DOCKERFILE)
    if file is None or task.native.get("agent", "user") in {"root", 0, "0"}:
        return
    instructions = parse_dockerfile(file.head()).instructions
    configured = task.native.get("sandbox", "workdir")
    workdir = (
        configured if isinstance(configured, str) else (instructions[-1].workdir if instructions else "")
    )
    if not workdir or not workdir.startswith("/") or workdir == "/":
        # The base image's, which is not known here; for `/` BenchFlow takes `/root`.
        return
    mine = (workdir, *_WRITABLE)
    for path in dict.fromkeys(islice(_outputs(task.native.prompt[:_MAX_PROMPT]), _MAX_OUTPUTS)):
        if any(_is_below(path, folder) for folder in mine) or _is_opened(path, instructions):
            continue
        message = f"`{path}` is asked for, but the user `agent` owns `{workdir}` only"
        yield Hit(path=task.native.source, message=message)


def _is_opened(path: str, instructions: tuple[Instruction, ...]) -> bool:
    """Say whether a `chmod` or `chown` in the Dockerfile names a folder above a path."""
    said = " ".join(found.rest for found in instructions if "chmod" in found.rest or "chown" in found.rest)
    return any(re.search(rf"{re.escape(parent)}(?:/?(?=[\s\"';&*]|$))", said) for parent in _parents(path))


_MAX_PROMPT: Final = 200_000
_MAX_OUTPUTS: Final = 50


def _outputs(prompt: str) -> Iterator[str]:
    """Yield the absolute paths of files that a prompt asks to be written, not those it says are there."""
    at = prompt.find("/")
    while at >= 0:
        match = _PATH.match(prompt, at) if prompt[at - 1 : at] in _OPENS else None
        if match is not None:
            verb = _WRITE.search(prompt[max(0, at - _BEFORE) : at])
            if verb is not None and not _INPUT.search(verb[0]):
                yield match[0]
        at = prompt.find("/", match.end() if match is not None else at + 1)


def _parents(path: str) -> Iterator[str]:
    while (path := posixpath.dirname(path)) != "/":
        yield path


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def _run_scripts(task: TaskPackage) -> Iterator[TaskFile]:
    """Yield the shell scripts of the verifier and the oracle."""
    folders = tuple(f"{name}/" for name in (task.native.verifier_dir, task.native.oracle_dir) if name)
    for path, file in task.files.items():
        if (path.startswith((*folders, "steps/")) and file.kind == "file") and (
            path.endswith(".sh") or _is_shell(file)
        ):
            yield file


def _image_scripts(task: TaskPackage) -> Iterator[TaskFile]:
    """Yield the shell scripts of the build context that the Dockerfile runs."""
    scripts = [
        file
        for path, file in task.files.items()
        if path.startswith("environment/") and path.endswith(".sh") and file.kind == "file"
    ]
    dockerfile = task.resolve(DOCKERFILE) if scripts else None
    if dockerfile is not None:
        instructions = parse_dockerfile(dockerfile.head()).instructions
        words = names_said(instructions)
        yield from (file for file in scripts if file.name in words)


def _is_shell(file: TaskFile) -> bool:
    return "." not in file.name and file.size <= _MAX_HELPER and shebang(file.head())[0] in _SHELLS


def crlf_script(task: TaskPackage) -> Iterator[Hit]:
    """A script that a trial runs ends its lines in a line feed only.

    Why: bash takes the carriage return for part of the last word of each
    line: the shebang's program is not found, and conditions never hold.

    Fix: `dos2unix FILE`, and `*.sh text eol=lf` in `.gitattributes`.
    """
    for file in (*_run_scripts(task), *_image_scripts(task)):
        source = file.head()
        if b"\r\n" in source:
            line = source.count(b"\n", 0, source.find(b"\r\n")) + 1
            yield Hit(
                path=file.path, line=line, message=f"`{file.path}` has carriage returns at its line ends"
            )


def no_shebang(task: TaskPackage) -> Iterator[Hit]:
    """`test.sh` and `solve.sh` start with a shebang.

    Why: the runtimes execute them; without one it depends on the caller
    whether bash or a plainer shell reads the script, or none.

    Fix: make `#!/bin/bash` the first line, with nothing before it.
    """
    names = {f"{folder}/test.sh" for folder, _ in _test_scripts(task)}
    names.add(f"{task.native.oracle_dir}/solve.sh")
    for path in sorted(names):
        file = task.resolve(path)
        if file is not None and file.size and not file.head().startswith(b"#!"):
            bom = " (a byte-order mark stands before it)" if file.head().startswith(b"\xef\xbb\xbf#!") else ""
            yield Hit(path=path, line=1, message=f"`{path}` does not start with `#!`{bom}")


def bad_shell(task: TaskPackage) -> Iterator[Hit]:
    """A script that a trial runs is well-formed shell.

    Why: bash stops at a syntax error, often after it has run half of the script.

    Fix: `bash -n FILE` says where. (The grammar used here does not know every
    corner of bash; if `bash -n` is content, waive this.)
    """
    for file in _run_scripts(task):
        script = _shell(file)
        if script is not None and script.bad_line is not None:
            message = f"`{file.path}` can't be read as shell from about here"
            yield Hit(path=file.path, line=script.bad_line, message=message)


def large_script(task: TaskPackage) -> Iterator[Hit]:
    """A script is small enough to be looked at.

    Why: what is larger than 256 KiB, or so tangled that the grammar takes
    seconds over it, is not parsed, so no rule here says anything about it.

    Fix: move data out of the script into a file of its own.
    """
    for file in _run_scripts(task):
        script = _shell(file)
        if script is not None and script.too_large:
            yield Hit(path=file.path, message=f"`{file.path}` has {file.size} bytes and was not looked at")


def _shell(file: TaskFile) -> Script | None:
    source = file.head()
    program, _ = shebang(source)
    return parse_shell(source) if not program or program in _SHELLS else None


RULES: Final = (
    TaskRule("VER101", "warning", no_reward),
    TaskRule("VER102", "warning", ends_before_reward, requires=("VER101",)),
    TaskRule("VER103", "review", leaves_before_reward, requires=("VER101",)),
    TaskRule("VER104", "warning", way_without_reward, requires=("VER101",)),
    TaskRule("VER105", "review", takes_other_numbers),
    TaskRule("VER106", "error", ctrf_elsewhere),
    TaskRule("VER107", "warning", solution_path),
    TaskRule("VER108", "review", downloads),
    TaskRule("VER109", "review", root_only_output, requires=("DOC101",)),
    TaskRule("SHL101", "warning", crlf_script),
    TaskRule("SHL102", "warning", no_shebang),
    TaskRule("SHL103", "review", bad_shell, requires=("DOC111",)),
    TaskRule("SHL104", "review", large_script),
)
