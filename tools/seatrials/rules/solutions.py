"""BYD: whether the reference solution does the work, or has its outcome from elsewhere."""

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from seatrials.parse.shell import Command, Script, parse_shell, walk
from seatrials.rules.controls import solutions
from seatrials.rules.grading import MAX_FILE, Grading, grading, is_below, verifier_files
from seatrials.rules.model import Hit, TaskRule
from seatrials.task.files import TaskFile
from seatrials.task.package import TaskPackage

_GRADING: Final = re.compile(
    r"(?<![\w./$}~-])(/(?:tests|verifier|logs/verifier)/[\w./*-]*|\$\{?BENCHFLOW_VERIFIER_DIR\b)"
)
_COMMENT: Final = re.compile(r"(?:^|(?<=\s))(?:#|//).*$", re.MULTILINE)
_SOURCES: Final = (".bash", ".js", ".pl", ".py", ".R", ".rb", ".sh", ".ts")
_DATA: Final = frozenset(
    {".csv", ".json", ".jsonl", ".ndjson", ".npy", ".npz", ".parquet", ".pickle", ".pkl", ".tsv", ".txt",
     ".xlsx"}
)  # fmt: skip
"""Kinds of files that are results; source code, settings and patches are work that somebody wrote."""

_BESIDE: Final = frozenset(
    {":", "basename", "cd", "chmod", "chown", "date", "dirname", "echo", "exit", "export", "ls", "mkdir",
     "printf", "pwd", "readlink", "realpath", "set", "test", "touch", "true", "umask"}
)  # fmt: skip
_LEAST: Final = 16
"""Smaller files (one number, a word) are the same by chance."""


def ready_answer(task: TaskPackage) -> Iterator[Hit]:
    """The reference solution works its result out.

    Why: the solution shows that the task can be solved from what the agent
    has. One that reads the tests, the expected output or the verifier's logs,
    or only copies a finished result (JSON, CSV, text and the like) that lies
    beside it, shows nothing; and the tests are not there when it runs. A copy
    of source code or of settings is work, and no such case.

    Fix: compute the result from the files in the image.
    """
    for script in solutions(task):
        folder = posixpath.dirname(script.path)
        source = script.text or ""
        run = [script, *_run_by(task, folder, source)]
        for file in run:
            for line, path in _grading_paths(file.text or ""):
                if not _is_the_tasks(grading(task), path):
                    yield Hit(
                        path=file.path, line=line, message=f"reads `{path}`, which belongs to the verifier"
                    )
        if "cp" in source or "cat" in source or "install" in source or "mv" in source:
            yield from _copied(task, script, folder)


def _run_by(task: TaskPackage, folder: str, source: str) -> Iterator[TaskFile]:
    """Yield the scripts beside a solution that it names."""
    for path, file in task.files.items():
        beside = path.startswith(f"{folder}/") and path.endswith(_SOURCES) and file.kind == "file"
        if beside and file.size <= MAX_FILE and file.name in source and file.name != "solve.sh":
            yield file


def _grading_paths(text: str) -> Iterator[tuple[int, str]]:
    """Yield the first path of the verifier that a script names outside of comments, with its line."""
    if "/tests" in text or "verifier" in text or "VERIFIER_DIR" in text:
        for number, line in enumerate(text.splitlines(), start=1):
            if match := _GRADING.search(_COMMENT.sub("", line)):
                yield number, match[1]
                return


def _is_the_tasks(facts: Grading, path: str) -> bool:
    """Say whether a path like one of the verifier's is the task's own: by the image, or by the prompt."""
    if not path.startswith("/"):
        return False
    top = "/" + path.split("/")[1]
    return f"{top}/" in facts.prompt.text or any(is_below(held, (top,)) for held in facts.image.files)


def _copied(task: TaskPackage, script: TaskFile, folder: str) -> Iterator[Hit]:
    """Yield the results that a solution copies, where it does nothing else or they are the verifier's."""
    parsed = parse_shell(script.read())
    copies = list(_copies(task, parsed, folder))
    expected = (
        {file.blob_id: file.path for _, file in verifier_files(task) if _LEAST <= file.size <= MAX_FILE}
        if copies
        else {}
    )
    only = all(
        node.name in _BESIDE or not node.words or any(node is command for command, _, _ in copies)
        for node in walk(parsed.body)
        if isinstance(node, Command)
    )
    for command, file, target in copies:
        if (same := expected.get(file.blob_id)) is not None:
            message = f"copies `{file.path}`, which is `{same}`"
        elif only and target not in grading(task).image.files:
            message = f"only copies `{file.path}`, a finished result"
        else:
            continue
        yield Hit(path=script.path, line=command.line, message=message)
        return


def _copies(task: TaskPackage, script: Script, folder: str) -> Iterator[tuple[Command, TaskFile, str]]:
    """Yield each command that copies a result from beside the solution, the file, and where it goes."""
    for command in script.commands():
        words = [word.resolve({}) for word in command.words[1:]]
        plain = [word for word in words if not word.startswith("-")]
        if command.name in {"cp", "install", "mv"} and len(plain) > 1:
            *sources, target = plain
        elif command.name == "cat":
            sources = plain
            target = next(
                (found.target.resolve({}) for found in command.redirects if ">" in found.operator), ""
            )
        else:
            continue
        for source in sources:
            file = _beside(task, source, folder)
            if file is not None and target:
                name = posixpath.basename(source)
                yield command, file, posixpath.join(target, name) if target.endswith("/") else target


def _beside(task: TaskPackage, source: str, folder: str) -> TaskFile | None:
    """Return the result beside the solution that a word means, in the sandbox or relative to it."""
    if posixpath.splitext(source)[1].lower() not in _DATA:
        return None
    match = re.fullmatch(r"(?:/(?:oracle|solution)/|\./|\$(?:\(…\)|\{?\w+\}?)/)?([\w./-]+)", source)
    if match is None or match[1].startswith("/"):
        return None
    return task.resolve(posixpath.normpath(posixpath.join(folder, match[1])))


RULES: Final = (
    TaskRule("BYD117", "review", ready_answer, requires=("STR101", "ORA101"), profiles=("arena",)),
)
