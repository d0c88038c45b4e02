"""DOC: `task.md` or `task.toml` and the prompt, as text and as data."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from seatrials.rules.model import Hit, TaskRule
from seatrials.rules.structure import DOCKERFILE, is_multi_step
from seatrials.task.document import ProblemKind, dotted
from seatrials.task.files import MAX_TEXT, TaskFile
from seatrials.task.package import CONFIG, DOCUMENT, INSTRUCTION, TaskPackage

MARKER: Final = "[REPLACE:"
"""What BenchFlow's and this kit's scaffolds write where an author must."""

MARKER_BYTES: Final = MARKER.encode("ascii")

_SHOWN: Final = 60


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
    """The files that the runtimes read as text are UTF-8.

    Why: BenchFlow decodes `task.md`, `task.toml`, `instruction.md`, `test.sh`,
    `solve.sh` and `prompts/*.md`, and its check stops at the first other byte.

    Fix: convert it, as in `iconv -f LATIN1 -t UTF-8`.
    """
    yield from _problems(task, "encoding")
    for path in _texts(task):
        file = task.resolve(path)
        link = task.files.get(path)
        end = task.link_end(link) if link is not None and link.kind == "link" else path
        if file is not None and file.text is None and file.size <= MAX_TEXT:
            yield Hit(path=path, line=1, message=f"`{path}` is not UTF-8; it must be")
        elif file is None and end in task.listing.folders and not path.endswith("test.sh"):
            yield Hit(path=path, message=f"`{path}` is a folder; it must be a text file")
        elif file is None and link is not None and path.startswith("prompts/"):
            yield Hit(path=path, message=f"`{path}` can't be read; it must be a text file")


def _texts(task: TaskPackage) -> Iterator[str]:
    """Yield the paths, beside those with problems of their own, that BenchFlow's check reads as text."""
    yield from (f"{task.native.verifier_dir}/test.sh", "oracle/solve.sh", "solution/solve.sh")
    if task.document is not None:
        for path in (*task.files, *task.listing.folders):
            if path.startswith("prompts/") and path.endswith(".md") and path.count("/") == 1:
                yield path


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


def _markers(files: Iterable[TaskFile]) -> Iterator[Hit]:
    for file in files:
        if file.size > MAX_TEXT:
            if file.holds(MARKER_BYTES):
                yield Hit(path=file.path, message="scaffold text is still there")
            continue
        data = file.head()
        if MARKER_BYTES not in data:
            continue
        for number, line in enumerate(data.splitlines(), start=1):
            if MARKER_BYTES in line:
                inside = line[line.index(MARKER_BYTES) :].partition(b"]")[0].decode("utf-8", "replace")
                said = f"{inside}]" if len(inside) <= _SHOWN else f"{inside[:_SHOWN]}..."
                yield Hit(path=file.path, line=number, message=f"scaffold text is still there: `{said}`")


def _refused_with_markers(task: TaskPackage) -> dict[str, TaskFile]:
    """Return the files where BenchFlow refuses a marker, links followed, by path."""
    folder = f"{task.native.verifier_dir}/"
    names = {DOCUMENT, INSTRUCTION, "oracle/solve.sh", "solution/solve.sh"}
    found = (task.resolve(path) for path in task.files if path in names or path.startswith(folder))
    return {file.path: file for file in found if file is not None}


def scaffold_text(task: TaskPackage) -> Iterator[Hit]:
    """No scaffold marker is left in the prompt, the verifier or the oracle.

    Why: BenchFlow refuses a task with one. A fresh scaffold has been seen to
    pass every other check and score 1 with its placeholder text still in it.

    Fix: replace each `[REPLACE: ...]` with your own text.
    """
    yield from _markers(_refused_with_markers(task).values())
    # BenchFlow looks at what editors and caches left there as well.
    yield from _markers(task.junk_below(task.native.verifier_dir))


def scaffold_text_elsewhere(task: TaskPackage) -> Iterator[Hit]:
    """No scaffold marker is left in the other files.

    Why: nothing refuses it, but it was written to be replaced.

    Fix: replace each `[REPLACE: ...]` with your own text.
    """
    refused = _refused_with_markers(task)
    yield from _markers(
        file
        for path, file in task.files.items()
        if path not in refused and file.kind == "file" and file.size <= MAX_TEXT
    )


def bad_name(task: TaskPackage) -> Iterator[Hit]:
    """`task.name` has the form `org/name`.

    Why: BenchFlow refuses any other; both parts start with a letter or a
    digit and hold letters, digits, `.`, `_` and `-`.

    Fix: put your Hub handle before the task's name, as in `my-handle/my-task`.
    """
    for fault in task.faults:
        if fault.kind == "name":
            line = task.config_line(fault.path)
            yield Hit(path=task.config_file, line=line, message=f"`{dotted(fault.path)}` {fault.says}")


def crlf(task: TaskPackage) -> Iterator[Hit]:
    """`task.md`, `task.toml` and `instruction.md` end their lines with LF.

    Why: the runtimes read both, but git, diffs and the content hash see other
    files than those of an author on Linux.

    Fix: convert it (`dos2unix`), and keep it so with `* text=auto eol=lf` in `.gitattributes`.
    """
    for name in (DOCUMENT, CONFIG, INSTRUCTION):
        file = task.resolve(name)
        if file is not None and (found := file.head().find(b"\r")) >= 0:
            line = file.head().count(b"\n", 0, found) + 1
            yield Hit(path=name, line=line, message=f"`{name}` has lines that end with CR LF")


_CONFLICT: Final = re.compile(rb"^<{7} .*\n(?:.*\n)*?={7}\r?\n(?:.*\n)*?>{7} ", re.MULTILINE)


_REJECTED: Final = re.compile(r"^(?:@@ -\d|\*{15}$)", re.MULTILINE)
"""How a hunk of a rejected patch starts; other programs name other rejects so."""


def _is_authored(task: TaskPackage, path: str) -> bool:
    """Say whether a file is the author's own text; data of a task may well be about conflicts."""
    folders = (f"{task.native.verifier_dir}/", f"{task.native.oracle_dir or 'oracle'}/")
    return path in {DOCUMENT, CONFIG, INSTRUCTION, DOCKERFILE} or path.startswith(folders)


def left_conflict(task: TaskPackage) -> Iterator[Hit]:
    """No merge or template update has left a conflict behind.

    Why: `copier update` and `git merge` write both versions between
    `<<<<<<<` and `>>>>>>>`, or the rejected part into a `.rej` file, and
    nothing stops there.

    Fix: keep one version and delete the markers, or the `.rej` file.
    """
    for path, file in task.files.items():
        if path.endswith(".rej"):
            if _REJECTED.search(file.text or ""):
                yield Hit(path=path, message="a rejected part of an update was left here")
        elif file.kind == "file" and file.size <= MAX_TEXT and _is_authored(task, path):
            data = file.head()
            if b"<<<<<<< " in data and (found := _CONFLICT.search(data)):
                line = data.count(b"\n", 0, found.start()) + 1
                yield Hit(path=path, line=line, message="a conflict is not resolved: `<<<<<<<` to `>>>>>>>`")


def _prompt_hit(task: TaskPackage, message: str) -> Hit:
    document = task.document
    if document is None:
        return Hit(path=INSTRUCTION, line=1, message=message)
    section = document.sections.get("prompt")
    return Hit(path=DOCUMENT, line=section.line if section else document.body_line, message=message)


_PLACE: Final = re.compile(
    r"`[^`\n]+`"
    r"|/[\w.${<*-]"  # a path
    r"|\w\w\.[A-Za-z][A-Za-z0-9]{0,9}\b"  # a file with a suffix, or a host
    r"|\b(?:ports?|localhost|stdout|endpoint|socket|service|daemon)\b",
    re.IGNORECASE,
)


def no_output_named(task: TaskPackage) -> Iterator[Hit]:
    """The prompt names a file, a path or a port where the result will be looked for.

    Why: a verifier looks at one place; a model that isn't told it fails for
    that reason alone.

    Fix: name the path, in full, as in `/root/report.json`.
    """
    if not is_multi_step(task) and not _PLACE.search(task.native.prompt):
        yield _prompt_hit(task, "the prompt names no path; it must say where the result goes")


_PLACEHOLDER: Final = re.compile(
    r"lorem ipsum"
    r"|\b(?:todo|tbd|fixme|placeholder)\b"
    r"|<(?:your|insert|describe|fill)\b[^>\n]{0,80}>"
    r"|\[(?:your|insert|describe|fill|todo|tbd)\b[^\]\n]{0,80}\]"
    r"|\b(?:describe|write|put|insert|replace) (?:this|the|your)\b[^.\n]{0,40}\bhere\b",
    re.IGNORECASE,
)
_SHORTEST: Final = 20
_SHORT: Final = 240
"""Characters. In a longer prompt such words are about the task: code to complete, a payload to fill in."""


def placeholder_prompt(task: TaskPackage) -> Iterator[Hit]:
    """The prompt is no placeholder.

    Why: such tasks have been published: a model gets nothing to work on.

    Fix: write what to do, with which files, and where the result goes.
    """
    prompt = task.native.prompt.strip()
    if is_multi_step(task):
        return
    if len(prompt) < _SHORTEST:
        yield _prompt_hit(task, f"the prompt has {len(prompt)} characters; that can't say what to do")
    elif len(prompt) < _SHORT and (found := _PLACEHOLDER.search(prompt)):
        yield _prompt_hit(task, f"the prompt holds placeholder text: `{' '.join(found.group().split())}`")


def time_limits(task: TaskPackage) -> Iterator[Hit]:
    """The time limits of agent and verifier are declared.

    Why: without `agent.timeout_sec` BenchFlow sets no limit and Harbor one of
    its own; without `verifier.timeout_sec` both take 600 seconds.

    Fix: declare both, with room above what the oracle and the verifier take.
    """
    native = task.native
    for table, default in (("agent", "none in BenchFlow"), ("verifier", "600 seconds")):
        is_table = isinstance(native.config.get(table, {}), Mapping)  # else the schema's fault
        if is_table and native.get(table, "timeout_sec") is None and not is_multi_step(task):
            line = task.config_line((table,)) or 1
            message = f"`{table}.timeout_sec` is not declared; the limit is then {default}"
            yield Hit(path=task.config_file, line=line, message=message)


_HAS_PROMPT: Final = ("STR101", "DOC101", "DOC106")

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
    TaskRule("DOC110", "warning", crlf),
    TaskRule("DOC111", "warning", left_conflict),
    TaskRule("DOC112", "warning", no_output_named, requires=_HAS_PROMPT),
    TaskRule("DOC113", "warning", placeholder_prompt, requires=(*_HAS_PROMPT, "DOC107")),
    TaskRule("DOC114", "warning", time_limits, requires=("STR101", "STR103", "DOC101")),
)
