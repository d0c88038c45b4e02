"""BYD: whether the prompt and the verifier speak of the same outputs."""

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from seatrials.rules.grading import MAX_FILE, Grading, grading, is_below, verifier_files
from seatrials.rules.model import Hit, TaskRule
from seatrials.task.package import TaskPackage

_FENCED: Final = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_PATH: Final = re.compile(
    r"/(?<![\w./:~$*<{-]/)[\w.-]{1,100}(?:/[\w.-]{1,100}){1,12}\.[A-Za-z]\w{0,7}(?![\w/*{<-]|\.\w)"
)
_VERB: Final = (
    "(?:create|deliver|document|export|generate|output|place|produce|put|record|save|store|submit|write)"
)
_DONE: Final = "(?:created|exported|generated|output|placed|produced|put|saved|stored|submitted|written)"
_ASKS: Final = re.compile(
    rf"""(?:^|[.!?:]\s)[\s>*_\#\d.)-]{{0,12}}
    (?:(?:additionally|also|finally|first|lastly|next|please|second|then)[,\s]{{1,2}})?(?:and\s)?[*_]{{0,3}}{_VERB}\b
    |\b(?:must|should|needs?\sto|have\sto|has\sto|task\sis\sto|required\sto)\s(?:also\s)?{_VERB}\b
    |\b(?:must|should|needs?\sto|has\sto)\sbe\s(?:\w{{1,20}}\s){{0,5}}{_DONE}\b""",
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
"""A sentence that tells the agent to write, up to what it is to write."""

_NOT_INTO: Final = re.compile(
    r"\b(?:against|between|by|for|from|like|of|on|per|reading|see|than|through|using|via|whose|with)"
    r"(?:\s(?:the|file|files|script)){0,2}\s?[`'\"*(]{0,3}$",
    re.IGNORECASE,
)
"""What stands before a path that the work starts from: "the sum of `/root/data.csv`"."""

_SENTENCE: Final = re.compile(r"(?<!\b(?:e\.g|i\.e))[.!?]\s+(?=[A-Z])")
_PLACEHOLDER: Final = re.compile(
    r"(?:^|[/_.-])(?:N+|X+|Y+|NAME|name|your_\w*|YYYY\w*|path|foo|bar)(?=[/_.-]|$)"
)
_FAR: Final = 300
_MOST_NAMES: Final = 200
"""Files that are looked for, of the prompt's and of the verifier's; no task speaks of so many."""


def unread_output(task: TaskPackage) -> Iterator[Hit]:
    """What the prompt tells the agent to write, the verifier reads.

    Why: nobody looks at the file, so the reward says nothing about that part
    of the work, and an agent that leaves it out is not told from one that
    does it.

    Fix: check the file, or run it; or leave it out of the prompt, or say
    there that how the result is made is free.
    """
    facts = grading(task)
    if not verifier_files(task):
        return
    text = _FENCED.sub("", facts.prompt.text) if "```" in facts.prompt.text else facts.prompt.text
    seen: set[str] = set()
    for match in _PATH.finditer(text):
        path = match[0]
        if path in seen or len(seen) == _MOST_NAMES:
            continue
        seen.add(path)
        if _is_spelled(facts, path):
            continue
        start = max(text.rfind("\n", 0, match.start()) + 1, match.start() - _FAR)
        before = _SENTENCE.split(text[start : match.start()])[-1]
        asked = _ASKS.search(before) is not None and not _NOT_INTO.search(before)
        if asked and not _is_seen_otherwise(facts, path):
            where, line = _said_at(task, path)
            yield Hit(path=where, line=line, message=f"asks for `{path}`, which the verifier never names")


def _is_spelled(facts: Grading, path: str) -> bool:
    """Say whether the verifier holds the name of a file, also without its ending."""
    name = posixpath.basename(path)
    return facts.spells(name) or facts.spells(name.rpartition(".")[0])


def _is_seen_otherwise(facts: Grading, path: str) -> bool:
    """Say whether a file may be read by the folder it lies in, is no work, or none in particular."""
    if is_below(path, ("/tmp", "/dev", "/proc")) or _PLACEHOLDER.search(path):  # noqa: S108 - paths in the image
        return True
    folder = posixpath.dirname(path)
    while folder != "/":
        # By itself, and not as the beginning of another file's path.
        if any(facts.spells(f"{folder}{end}") for end in ('"', "'", '/"', "/'", "\n", " ", ")")):
            return True
        folder = posixpath.dirname(folder)
    return path in facts.image.files


def _said_at(task: TaskPackage, path: str) -> tuple[str, int | None]:
    """Return the file with the prompt, and the line in it that names a path."""
    file = "task.md" if task.document is not None else "instruction.md"
    found = task.resolve(file)
    text = found.text or "" if found is not None else ""
    at = text.find(path)
    return file, text.count("\n", 0, at) + 1 if at >= 0 else None


_NAMES: Final = re.compile(rb"/(?<!/tests/)(?<!/verifier/) ?[\"']?([\w.-]{1,100}\.[A-Za-z]\w{0,7})[\"'\s);]")
"""The name at the end of a path, or joined to one: ``"/app/out.json"``, ``APP / "out.json"``."""

_MADE: Final = re.compile(
    r"test.*|tmp.*|temp.*|a\.out|CMakeCache\.txt"
    r"|.*\.(?:a|class|dll|exe|jar|lock|log|name|ninja|o|parent|pid|pyc|size|so|stem|suffix|tmp|vo|wasm)"
)
"""Names that a test gives its own files, that a build gives its products, and that are no names."""

_IF: Final = re.compile(r"\s*(?:el)?if\s+(?!not\b)")
_ELSEWHERE: Final = ("/boot", "/home/linuxbrew", "/lib", "/run", "/sbin", "/tmp", "/var")  # noqa: S108 - in the image
_MOST_SEARCHED: Final = 8 * MAX_FILE


def untold_output(task: TaskPackage) -> Iterator[Hit]:
    """What the verifier reads, the prompt names or the image holds.

    Why: an agent can't know that it has to write the file, or under which
    name. Often the end of the prompt was lost.

    Fix: name the path in the prompt.
    """
    facts = grading(task)
    names = {name.decode("ascii", "replace") for name in facts.spelled(_NAMES)}
    names = {name for name in names if name.casefold() not in facts.prompt.folded}
    if not names or not facts.prompt.folded:
        return
    names -= {posixpath.basename(path) for path in task.files}
    some = sorted(name for name in names if not _MADE.fullmatch(name))[:_MOST_NAMES]
    untold = {name for name in some if not _is_named_in_environment(task, name)}
    # What is left is rare, and only now the verifier need be parsed.
    for path, where, line in _reads(facts) if untold else ():
        if posixpath.basename(path) in untold and _is_work(facts, path):
            message = f"reads `{path}`, which neither the prompt names nor the image holds"
            yield Hit(path=where, line=line, message=message)


def _reads(facts: Grading) -> Iterator[tuple[str, str, int]]:
    """Yield, each path once, what the verifier only reads.

    Not what it writes or hands to a program, nor what it does without: one of several, or after ``if``.
    """
    at: dict[tuple[str, int], set[str]] = {}
    free: set[str] = set()
    for where, found in facts.python:
        file = facts.task.resolve(where)
        lines = (file.text or "").splitlines() if file is not None else []
        for use in found.paths:
            at.setdefault((where, use.line), set()).add(use.path)
            is_asked = use.how == "asks" and use.line <= len(lines)
            if use.how in {"names", "writes"} or (is_asked and _IF.match(lines[use.line - 1])):
                free.add(use.path)
    for path, where, line in facts.reads():
        if path not in free and len(at.get((where, line), ())) <= 1:
            free.add(path)
            yield path, where, line


def _is_work(facts: Grading, path: str) -> bool:
    """Say whether a path can only be one that the agent is to write, and that it is not told."""
    if not path.startswith("/") or is_below(path, _ELSEWHERE) or any(sign in path for sign in "*?["):
        return False
    return not facts.prompt.mentions(path) and path not in facts.image.files


def _is_named_in_environment(task: TaskPackage, name: str) -> bool:
    """Say whether a file of the environment speaks of another: a program there may write it."""
    said = name.encode("utf-8", "surrogateescape")
    left = _MOST_SEARCHED
    for path, file in task.files.items():
        if path.startswith("environment/") and file.kind == "file":
            left -= file.size
            if left < 0 or said in file.read():
                return True
    return False


RULES: Final = (
    TaskRule("BYD118", "review", unread_output, requires=("STR107", "DOC103", "DOC106"), profiles=("arena",)),
    TaskRule(
        "BYD119",
        "review",
        untold_output,
        requires=("STR107", "DOC103", "DOC106", "DOC112", "DOC113"),
        profiles=("arena",),
    ),
)
