"""OVL: what a task shares with held-out suites, by their fingerprints (gates-v4).

A fingerprint holds no text: of each task of a suite its name, the hashes of
its prompt's 13-grams, and the git blob ids of its files by what they are for.
`docs/gates.md` describes the file. What a word is and how 13-grams are hashed
is our choice; the arena's guide doesn't say.
"""

import base64
import binascii
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Literal

from seatrials.errors import UsageError
from seatrials.rules.grading import MAX_PROMPT, prompt_of
from seatrials.rules.limits import (
    FAILED,
    SECONDS,
    TOO_LONG,
    OutOfTime,
    allowance,
    is_unchecked,
    time_limit,
)
from seatrials.rules.model import Hit, KitRule, TaskReport
from seatrials.task.package import TaskPackage

FORMAT: Final = "seatrials fingerprint 1"
FOLDER: Final = "suites"
WORDS: Final = 13
TEMPLATE: Final = 3
"""Tasks of one public benchmark from which what they share is template text, by the arena's guide."""

NEAR_COPY: Final = 0.5

_GRAM: Final = 6
"""Bytes of a hash: with a million 13-grams, and 100,000 to look for, one run in 2,800 has one by chance."""

_BLOB: Final = 20
_MAX_FILE: Final = 512 * 1024 * 1024
_LEAST_BYTES: Final = 16
"""Smaller files (an empty ``__init__.py``, one number) are the same by chance."""

Use = Literal["verifier", "oracle", "data", "image"]
USES: Final[tuple[Use, ...]] = ("verifier", "oracle", "data", "image")
"""What a file of a held-out task is for; `image` stands for skills and what builds the image."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskPrint:
    """One task of a suite."""

    name: str
    grams: frozenset[bytes]
    blobs: Mapping[Use, frozenset[bytes]]


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A held-out suite. `evaluated` are the names of the tasks that a challenge evaluates."""

    name: str
    sealed: bool
    tasks: tuple[TaskPrint, ...]
    evaluated: frozenset[str]
    by_gram: dict[bytes, list[int]] = field(default_factory=dict)
    by_blob: dict[bytes, tuple[Use, str]] = field(default_factory=dict)

    def index(self) -> "Suite":
        """Return the suite, ready for questions; a public one without its template text and files."""
        for number, task in enumerate(self.tasks):
            for gram in task.grams:
                self.by_gram.setdefault(gram, []).append(number)
        blobs = Counter(blob for task in self.tasks for blob in frozenset().union(*task.blobs.values()))
        # A file that is a verifier of one task and data of another is told for what is worst.
        for use in USES:
            for task in self.tasks:
                for blob in task.blobs.get(use, ()):
                    if self.sealed or blobs[blob] < TEMPLATE:
                        self.by_blob.setdefault(blob, (use, task.name))
        if not self.sealed:
            for gram in [gram for gram, tasks in self.by_gram.items() if len(tasks) >= TEMPLATE]:
                del self.by_gram[gram]
        return self


# What is drawn from a task


def words_of(text: str) -> list[str]:
    """Return the words of a text: letters, digits and underscores, without regard to case."""
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text[:MAX_PROMPT]).casefold())


def grams_of(text: str) -> dict[bytes, str]:
    """Return a text's word 13-grams in order, by their hashes; none of a shorter text."""
    words = words_of(text)
    grams = (" ".join(words[at : at + WORDS]) for at in range(len(words) - WORDS + 1))
    return {blake2b(gram.encode(), digest_size=_GRAM).digest(): gram for gram in grams}


def use_of(path: str, task: TaskPackage) -> Use | None:
    """Return what a file of a task is for; None for what is neither graded, solved nor built with."""
    top, _, below = path.partition("/")
    if top == "steps":
        _, _, below = below.partition("/")
        top, _, below = below.partition("/")
    if top in {task.native.verifier_dir, "verifier", "tests"}:
        return "verifier"
    if top in {task.native.oracle_dir, "oracle", "solution"}:
        return "oracle"
    if top == "environment":
        name = below.rpartition("/")[2]
        built = name in {"Dockerfile", ".dockerignore"} or name.startswith("docker-compose")
        return "image" if built or below.startswith("skills/") else "data"
    return None


def blobs_of(task: TaskPackage) -> Iterator[tuple[str, Use, bytes]]:
    """Yield the path, the use and the git blob id of each file that is compared."""
    for path, file in task.files.items():
        use = use_of(path, task)
        if use is not None and file.kind == "file" and _LEAST_BYTES <= file.size <= _MAX_FILE:
            yield path, use, bytes.fromhex(file.blob_id)


def print_of(task: TaskPackage) -> TaskPrint:
    """Return a task's fingerprint; its name is the folder's."""
    blobs: dict[Use, set[bytes]] = {}
    for _, use, blob in blobs_of(task):
        blobs.setdefault(use, set()).add(blob)
    return TaskPrint(
        name=task.name,
        grams=frozenset(grams_of(prompt_of(task))),
        blobs={use: frozenset(found) for use, found in blobs.items()},
    )


# The file


def written(suite: Suite) -> Iterator[str]:
    """Yield the text of a fingerprint file, one task a line."""
    evaluated: Any = sorted(suite.evaluated)
    if suite.evaluated >= {task.name for task in suite.tasks}:
        evaluated = "all"
    head = {"format": FORMAT, "suite": suite.name, "sealed": suite.sealed, "evaluated": evaluated}
    yield json.dumps(head)[:-1] + ', "tasks": [\n'
    for number, task in enumerate(suite.tasks):
        said = {"name": task.name, "grams": _packed(task.grams)}
        for use in USES:
            if task.blobs.get(use):
                said[use] = _packed(task.blobs[use])
        yield (",\n" if number else "") + json.dumps(said, separators=(",", ":"))
    yield "\n]}\n"


def _packed(hashes: Iterable[bytes]) -> str:
    return base64.b64encode(b"".join(sorted(hashes))).decode("ascii")


def _unpacked(text: object, size: int) -> frozenset[bytes]:
    if not isinstance(text, str):
        raise TypeError
    data = base64.b64decode(text, validate=True)
    if len(data) % size:
        raise ValueError
    return frozenset(data[at : at + size] for at in range(0, len(data), size))


def load_suite(path: Path) -> Suite:
    """Read a fingerprint file; raises UsageError where it can't be read as one."""
    try:
        data = json.loads(path.read_bytes())
        match data:
            case {"format": str(format_)} if format_ == FORMAT:
                pass
            case _:
                raise UsageError(f"`{path}`: its `format` must be `{FORMAT}`")
        tasks = tuple(_task(item) for item in data["tasks"])
        name, sealed, evaluated = _head(data, tasks)
    except OSError as error:
        raise UsageError(f"`{path}` can't be read: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, RecursionError, binascii.Error) as error:
        raise UsageError(f"`{path}` is not a fingerprint; `seatrials fingerprint` writes one") from error
    return Suite(name=name, sealed=sealed, tasks=tasks, evaluated=evaluated).index()


def _head(data: Mapping[str, Any], tasks: tuple[TaskPrint, ...]) -> tuple[str, bool, frozenset[str]]:
    match data:
        case {"suite": str(name), "sealed": bool(sealed), "evaluated": "all"}:
            return name, sealed, frozenset(task.name for task in tasks)
        case {"suite": str(name), "sealed": bool(sealed), "evaluated": [*names]}:
            return name, sealed, frozenset(str(item) for item in names)
        case _:
            raise TypeError


def _task(item: Mapping[str, Any]) -> TaskPrint:
    if not isinstance(item["name"], str):
        raise TypeError
    blobs: dict[Use, frozenset[bytes]] = {use: _unpacked(item[use], _BLOB) for use in USES if use in item}
    return TaskPrint(name=item["name"], grams=_unpacked(item["grams"], _GRAM), blobs=blobs)


def load_suites(folder: Path) -> tuple[Suite, ...]:
    """Read every ``*.json`` of a folder; none where there is no such folder."""
    return tuple(load_suite(path) for path in sorted(folder.glob("*.json"))) if folder.is_dir() else ()


# The gates


def near_copy(suite: str, task: str, share: float) -> Hit:
    """A prompt is not a near-copy of a held-out task's.

    Why: at least half of its word 13-grams stand in a held-out prompt.
    Training on what is evaluated measures nothing; the arena's validation fails.

    Fix: write the prompt anew, or leave the task out.
    """
    return Hit(
        message=f"{share:.0%} of the prompt's 13-grams stand in that of `{task}` of the suite `{suite}`"
    )


def copied_grading(suite: str, task: str, path: str, use: Use) -> Hit:
    """No file is a held-out task's verifier or reference solution.

    Why: the file has the same git blob id (the arena's `D-FILE-COPY`); its validation fails.

    Fix: write your own, or leave the task out.
    """
    what = "verifier" if use == "verifier" else "reference solution"
    return Hit(path=path, message=f"D-FILE-COPY: a file of the {what} of `{task}` of the suite `{suite}`")


def evaluated_name(suite: str, task: str) -> Hit:
    """No task is named as one of an evaluated sealed suite.

    Why: the arena's validation fails: a run could not tell the two apart.

    Fix: rename the task.
    """
    return Hit(message=f"`{task}` is the name of a task of the evaluated sealed suite `{suite}`")


def shared_phrase(suite: str, task: str, number: int, first: str) -> Hit:
    """A prompt shares no 13-gram with an evaluated held-out task.

    Why: thirteen words in a row are hardly the same by chance. The arena excludes the task.

    Fix: write the passage in your own words.
    """
    said = f"{number} of the prompt's 13-grams" if number > 1 else "one of the prompt's 13-grams"
    return Hit(message=f"shares {said} with `{task}`, evaluated, of the suite `{suite}`: `{first}`")


def copied_data(suite: str, task: str, path: str) -> Hit:
    """No file is a held-out task's data file.

    Why: the file has the same git blob id (the arena's `D-FILE-COPY`). The arena excludes the task.

    Fix: make data of your own.
    """
    return Hit(path=path, message=f"D-FILE-COPY: a data file of `{task}` of the suite `{suite}`")


def shared_outside(suite: str, task: str, number: int, first: str) -> Hit:
    """A prompt shares no 13-gram with a sealed task that is not evaluated.

    Why: the task may be evaluated tomorrow. For a person to look at.

    Fix: write the passage in your own words.
    """
    said = f"{number} 13-grams" if number > 1 else "a 13-gram"
    where = f"`{task}`, not evaluated, of the sealed suite `{suite}`"
    return Hit(message=f"shares {said} with {where}: `{first}`")


def public_name(suite: str, task: str) -> Hit:
    """No task is named as one of a public benchmark.

    Why: it may be that task. For a person to look at.

    Fix: rename the task, and say under `metadata.source` what it is made from.
    """
    return Hit(message=f"`{task}` is the name of a task of the public benchmark `{suite}`")


def copied_build(suite: str, task: str, path: str) -> Hit:
    """No file is a held-out task's skill or image build file.

    Why: the file has the same git blob id (the arena's `D-FILE-COPY`). A
    benchmark hands those to every agent, so it is for a person to look at.

    Fix: nothing, if it is a common file; else write your own.
    """
    return Hit(path=path, message=f"D-FILE-COPY: a skill or build file of `{task}` of the suite `{suite}`")


NEAR_COPY_RULE: Final = KitRule("OVL101", "block", near_copy, profiles=("arena",))
GRADING_RULE: Final = KitRule("OVL102", "block", copied_grading, profiles=("arena",))
SEALED_NAME_RULE: Final = KitRule("OVL103", "block", evaluated_name, profiles=("arena",))
PHRASE_RULE: Final = KitRule("OVL104", "reject", shared_phrase, profiles=("arena",))
DATA_RULE: Final = KitRule("OVL105", "reject", copied_data, profiles=("arena",))
OUTSIDE_RULE: Final = KitRule("OVL106", "review", shared_outside, profiles=("arena",))
PUBLIC_NAME_RULE: Final = KitRule("OVL107", "review", public_name, profiles=("arena",))
BUILD_RULE: Final = KitRule("OVL108", "review", copied_build, profiles=("arena",))

RULES: Final = (
    NEAR_COPY_RULE, GRADING_RULE, SEALED_NAME_RULE, PHRASE_RULE, DATA_RULE, OUTSIDE_RULE, PUBLIC_NAME_RULE,
    BUILD_RULE,
)  # fmt: skip


def compare(task: TaskPackage, suites: Sequence[Suite]) -> Iterator[tuple[KitRule, Hit]]:
    """Yield what a task shares with each suite."""
    grams = grams_of(prompt_of(task))
    blobs = list(blobs_of(task))
    names = {task.name.casefold(), task.full_name.rpartition("/")[2].casefold()}
    for suite in suites:
        yield from _names(names, suite)
        yield from _phrases(grams, suite)
        for path, _, blob in blobs:
            if (found := suite.by_blob.get(blob)) is not None:
                yield _copied(suite.name, found, path)


def _names(names: set[str], suite: Suite) -> Iterator[tuple[KitRule, Hit]]:
    for other in suite.tasks:
        if other.name.casefold() not in names:
            continue
        if not suite.sealed:
            yield PUBLIC_NAME_RULE, public_name(suite.name, other.name)
        elif suite.evaluated:
            yield SEALED_NAME_RULE, evaluated_name(suite.name, other.name)


def _phrases(grams: Mapping[bytes, str], suite: Suite) -> Iterator[tuple[KitRule, Hit]]:
    """Yield the worst that a prompt shares with a suite, by the task that it shares most with."""
    shared = Counter(number for gram in grams for number in suite.by_gram.get(gram, ()))
    held = [number for number in shared if suite.sealed or suite.tasks[number].name in suite.evaluated]
    if not held:
        return
    ranked = sorted(held, key=lambda number: (-shared[number], suite.tasks[number].name))
    evaluated = [number for number in ranked if suite.tasks[number].name in suite.evaluated]
    first = suite.tasks[ranked[0]].name
    if shared[ranked[0]] >= NEAR_COPY * len(grams):
        yield NEAR_COPY_RULE, near_copy(suite.name, first, shared[ranked[0]] / len(grams))
    elif evaluated:
        name = suite.tasks[evaluated[0]].name
        said = _said(grams, suite, evaluated[0])
        yield PHRASE_RULE, shared_phrase(suite.name, name, shared[evaluated[0]], said)
    else:
        said = _said(grams, suite, ranked[0])
        yield OUTSIDE_RULE, shared_outside(suite.name, first, shared[ranked[0]], said)


def _said(grams: Mapping[bytes, str], suite: Suite, number: int) -> str:
    """Return the first of the prompt's own 13-grams that a task of a suite has too."""
    return next(text for gram, text in grams.items() if number in suite.by_gram.get(gram, ()))


def _copied(suite: str, found: tuple[Use, str], path: str) -> tuple[KitRule, Hit]:
    use, name = found
    match use:
        case "verifier" | "oracle":
            return GRADING_RULE, copied_grading(suite, name, path, use)
        case "data":
            return DATA_RULE, copied_data(suite, name, path)
        case "image":
            return BUILD_RULE, copied_build(suite, name, path)


def overlapping(
    tasks: Sequence[TaskPackage], reports: Sequence[TaskReport], suites: Sequence[Suite]
) -> list[TaskReport]:
    """Return the reports with what each task shares with the suites; `tasks` are the same, in any order."""
    by_path = {task.label: task for task in tasks}
    out: list[TaskReport] = []
    for report in reports:
        task = by_path.get(report.path)
        findings = list(report.findings)
        try:
            if task is not None and suites and not is_unchecked(report.findings):
                with time_limit(SECONDS):
                    size = sum(file.size for file in task.files.values())
                with time_limit(allowance(size)):
                    findings += [rule.finding(hit) for rule, hit in compare(task, suites)]
        except OutOfTime:
            findings.append(TOO_LONG.finding(TOO_LONG.check()))
        except Exception as error:  # noqa: BLE001 - as for the other rules
            findings.append(FAILED.finding(FAILED.check("the comparison with held-out suites", error)))
        if task is not None:
            task.forget()
        out.append(replace(report, findings=tuple(findings)))
    return out
