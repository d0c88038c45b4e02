"""DOC: `task.md` or `task.toml` and the prompt, as text and as data."""

import re
from collections.abc import Iterator
from typing import Final

from seatrials.rules.model import Hit, TaskRule
from seatrials.rules.structure import is_multi_step
from seatrials.task.document import ProblemKind
from seatrials.task.files import TaskFile
from seatrials.task.package import DOCUMENT, INSTRUCTION, TaskPackage

MARKER: Final = "[REPLACE:"
"""What BenchFlow's and this kit's scaffolds write where an author must."""

_SHOWN: Final = 60
_ORG_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]*/[a-zA-Z0-9][a-zA-Z0-9._-]*")


def _problems(task: TaskPackage, *kinds: ProblemKind) -> Iterator[Hit]:
    for problem in task.problems:
        if problem.kind in kinds:
            yield Hit(path=problem.path, line=problem.line, message=problem.message)


def unreadable_config(task: TaskPackage) -> Iterator[Hit]:
    """The frontmatter is YAML between two `---` lines; `task.toml` is TOML.

    Why: BenchFlow and the arena parse it before anything else, and refuse
    what they can't parse.

    Fix: mend the line named. Quote a value that holds `: ` or starts with one of `[{&*!|>%@`.
    """
    yield from _problems(task, "fence", "yaml", "toml")


def byte_order_mark(task: TaskPackage) -> Iterator[Hit]:
    """The file starts with its text, not with a byte-order mark.

    Why: BenchFlow then doesn't see the opening `---` and refuses the task.

    Fix: save the file as UTF-8 without a byte-order mark.
    """
    yield from _problems(task, "bom")


def not_utf8(task: TaskPackage) -> Iterator[Hit]:
    """`task.md`, `task.toml` and `instruction.md` are UTF-8.

    Why: the runtimes decode them as UTF-8 and stop at the first other byte.

    Fix: convert it, as in `iconv -f LATIN1 -t UTF-8`.
    """
    yield from _problems(task, "encoding")


def duplicate_section(task: TaskPackage) -> Iterator[Hit]:
    """A reserved section stands once in `task.md`.

    Why: BenchFlow refuses a document with two sections of one name.

    Fix: merge them, or put a backslash before a heading that belongs to the prompt's text.
    """
    yield from _problems(task, "duplicate-section")


def duplicate_key(task: TaskPackage) -> Iterator[Hit]:
    """A key stands once in its mapping.

    Why: YAML keeps the last value in silence, so the first, often the one
    meant, has no effect.

    Fix: delete one of the two lines.
    """
    yield from _problems(task, "duplicate-key")


def empty_prompt(task: TaskPackage) -> Iterator[Hit]:
    """The prompt says something.

    Why: a model is given this text only; BenchFlow refuses an empty one.

    Fix: write what to do, with which files, and where the result goes.
    """
    if not task.native.prompt.strip() and not is_multi_step(task):
        name = DOCUMENT if task.document is not None else INSTRUCTION
        line = None
        if task.document is not None and "prompt" in task.document.sections:
            line = task.document.sections["prompt"].line
        yield Hit(path=name, line=line, message=f"the prompt in `{name}` is empty")


def _markers(files: Iterator[TaskFile]) -> Iterator[Hit]:
    for file in files:
        text = file.text
        if text is None or MARKER not in text:
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            if MARKER in line:
                said = line[line.index(MARKER) :].partition("]")[0]
                said = f"{said[:56]} ..." if len(said) > _SHOWN else f"{said}]"
                yield Hit(path=file.path, line=number, message=f"scaffold text is still there: `{said}`")


def _is_refused_with_markers(task: TaskPackage, path: str) -> bool:
    native = task.native
    if path in {DOCUMENT, INSTRUCTION} or path.startswith(f"{native.verifier_dir}/"):
        return True
    return path in {"oracle/solve.sh", "solution/solve.sh"}


def scaffold_text(task: TaskPackage) -> Iterator[Hit]:
    """No scaffold marker is left in the prompt, the verifier or the oracle.

    Why: BenchFlow refuses a task with one. A fresh scaffold has been seen to
    pass every other check and score 1 with its placeholder text still in it.

    Fix: replace each `[REPLACE: ...]` with your own text.
    """
    yield from _markers(file for path, file in task.files.items() if _is_refused_with_markers(task, path))


def scaffold_text_elsewhere(task: TaskPackage) -> Iterator[Hit]:
    """No scaffold marker is left in the other files.

    Why: nothing refuses it, but it was written to be replaced.

    Fix: replace each `[REPLACE: ...]` with your own text.
    """
    yield from _markers(file for path, file in task.files.items() if not _is_refused_with_markers(task, path))


def bad_name(task: TaskPackage) -> Iterator[Hit]:
    """`task.name` has the form `org/name`.

    Why: BenchFlow refuses any other; both parts start with a letter or a
    digit and hold letters, digits, `.`, `_` and `-`.

    Fix: put your Hub handle before the task's name, as in `my-handle/my-task`.
    """
    native = task.native
    section = native.get("task")
    if section is None:
        return
    name = native.get("task", "name")
    line = native.line("task", "name")
    if not isinstance(name, str):
        yield Hit(path=native.source, line=line, message="`task.name` must be a string `org/name`")
    elif not _ORG_NAME.fullmatch(name) or ".." in name:
        yield Hit(
            path=native.source, line=line, message=f"`task.name` is `{name[:80]}`; it must be `org/name`"
        )


RULES: Final = (
    TaskRule("DOC101", "error", unreadable_config),
    TaskRule("DOC102", "error", byte_order_mark),
    TaskRule("DOC103", "error", not_utf8),
    TaskRule("DOC104", "error", duplicate_section),
    TaskRule("DOC105", "warning", duplicate_key),
    TaskRule("DOC106", "error", empty_prompt, requires=("STR101", "STR104", "DOC101")),
    TaskRule("DOC107", "error", scaffold_text),
    TaskRule("DOC108", "warning", scaffold_text_elsewhere),
    TaskRule("DOC109", "error", bad_name, requires=("DOC101",)),
)
