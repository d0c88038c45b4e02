"""What a check can't read, so that no other rule says anything about it."""

from collections.abc import Iterator
from typing import Final

from seatrials.parse.pytest import MAX_SOURCE, PythonFacts
from seatrials.parse.python_syntax import looks_whole, syntax_fault
from seatrials.rules.grading import MAX_PROMPT, grading, verifier_files
from seatrials.rules.leaks import is_used
from seatrials.rules.model import Hit, TaskRule
from seatrials.task.files import MAX_TEXT
from seatrials.task.package import TaskPackage

_DOCUMENTS: Final = ("task.md", "task.toml", "instruction.md")
_BUILD: Final = ("environment/Dockerfile", "environment/.dockerignore", "environment/docker-compose.yaml")


def too_long(task: TaskPackage) -> Iterator[Hit]:
    """A document, a build file or a script is small enough to be looked at whole.

    Why: of more than 8 MiB, and of a prompt of more than 400,000 characters,
    only the first are read: what stands further down is not checked by any
    rule, and no agent reads so much.

    Fix: move data out of it into a file of its own.
    """
    folders = (f"{task.native.verifier_dir}/", f"{task.native.oracle_dir or 'oracle'}/")
    for path, file in task.files.items():
        if file.size > MAX_TEXT and file.kind == "file":
            is_script = path.startswith(folders) and path.endswith((".md", ".py", ".sh"))
            if is_script or path in _DOCUMENTS or path in _BUILD:
                message = f"`{path}` has {file.size:,} bytes; the first {MAX_TEXT:,} are looked at"
                yield Hit(path=path, message=message)
    length = len(task.native.prompt)
    if length > MAX_PROMPT:
        message = f"the prompt has {length:,} characters; the first {MAX_PROMPT:,} are looked at"
        yield Hit(path=task.config_file if task.document is not None else "instruction.md", message=message)


def no_python(task: TaskPackage) -> Iterator[Hit]:
    """The verifier's tests are Python that can be parsed.

    Why: pytest stops at a file with a syntax error, and everyone gets the
    same reward. Found are strings and brackets left open, headers without a
    colon and what was cut off; other faults where another rule had to parse
    the file. Of a file over 512 KiB, or nested hundreds deep, this check
    knows nothing.

    Fix: correct the line named; keep data in a file of its own.
    """
    scripts: bytes | None = None
    for path, found in grading(task).python:
        name = found.name
        # A file deeper down may be data, and meant to be wrong; so may be one that nothing runs.
        if not path.endswith(".py") or "/" in name:
            continue
        if scripts is None:
            scripts = b"\n".join(file.head() for below, file in verifier_files(task) if below.endswith(".sh"))
        if not is_used(name, scripts, b""):
            continue
        file = task.files[path]
        if file.size > MAX_SOURCE:
            yield Hit(path=path, message=f"`{path}` has {file.size:,} bytes and was not looked at")
        elif not _is_python(found) and (fault := syntax_fault(found.source)) is not None:
            line, said = fault
            yield Hit(path=path, line=line, message=f"`{path}` is not Python: {said}")


def _is_python(found: PythonFacts) -> bool:
    """Say whether a file is Python: by the tree that another rule needed, or by what shows without."""
    known = vars(found)
    return known["tree"] is not None if "tree" in known else looks_whole(found.source)


RULES: Final = (
    TaskRule("FIL111", "review", too_long),
    TaskRule("VER110", "review", no_python, requires=("DOC111",)),
)
