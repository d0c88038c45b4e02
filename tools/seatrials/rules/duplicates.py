"""BYD: two tasks of a collection that are nearly the same, by their prompts, their data or their verifiers.

What many tasks share is the collection's own template and tells no pair
apart; so the work grows with the text, not with the number of pairs. A pair is
told once, by the first of the three that gives it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Final, Literal

from seatrials.rules import limits
from seatrials.rules.grading import prompt_of, verifier_files
from seatrials.rules.kept import Same
from seatrials.rules.model import CollectionRule, Hit, TaskReport
from seatrials.rules.overlap import NEAR_COPY, WORDS, use_of, words_of
from seatrials.task.collection import Collection
from seatrials.task.files import TaskFile
from seatrials.task.package import TaskPackage

Part = Literal["prompt", "data", "verifier"]

_MOST_SHARING: Final = 20
"""Tasks with one 13-gram or line from which it is the collection's own template and tells no pair apart."""

_COMMON_DATA: Final = 5
"""Tasks with one file from which it is a common set of data, on which many questions may be asked."""

_LEAST_GRAMS: Final = 20
"""13-grams from which a prompt is compared: a sentence or two are told from others by their data."""

_LEAST_LINES: Final = 10
_LEAST_BYTES: Final = 500
_ALIKE: Final = 0.8
"""The share of the larger of two sets of data or two verifiers from which they are nearly the same."""

_MOST_TEXT: Final = 256 * 1024
"""Bytes of a task's data, and of its verifier, that are compared by lines; what is beyond, by samples."""

_MOST_FILES: Final = 500
_LONG_LINE: Final = 1000
_SHORT_LINE: Final = 5
_CODE: Final = (
    ".bats", ".c", ".cpp", ".go", ".java", ".jl", ".js", ".kt", ".mjs", ".pl", ".py", ".R", ".rb", ".rs",
    ".sh", ".sql", ".ts",
)  # fmt: skip
_NO_CHECK: Final = (".md", ".toml", ".cfg", ".ini", ".lock", "requirements.txt")

Weights = Mapping[int, int]
"""What a task holds, by its hash in this process, and how much each part of it counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Likeness:
    """What is compared of one task; `beside` are the verifier's own data and settings, by their names."""

    name: str
    prompt: Weights
    data: Weights
    verifier: Weights
    beside: Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pair:
    first: str
    second: str
    shares: Mapping[Part, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Alike:
    """What was found: pairs in the order of their names, and groups of many tasks with one prompt."""

    pairs: tuple[_Pair, ...]
    same_prompt: tuple[tuple[str, ...], ...]


def near_duplicates(collection: Collection, reports: tuple[TaskReport, ...]) -> Iterator[Hit]:
    """No two tasks of a collection have nearly the same prompt.

    Why: of two tasks that share half of their word 13-grams the second
    teaches little, and a model that has seen one has seen both. What more
    than twenty tasks share is the collection's own template and not counted,
    unless it is all that their prompts say; prompts of fewer than 32 words
    are not compared.

    Fix: make the tasks differ in what is asked, not in names and numbers, or drop one.
    """
    del collection
    yield from _told_by("prompt", reports)
    for first, *others in _alike(Same(reports)).same_prompt:
        named = ", ".join(f"`{name}`" for name in others[:3])
        yield Hit(message=f"`{first}` and {len(others)} others have the same prompt: {named}, ...")


def same_data(collection: Collection, reports: tuple[TaskReport, ...]) -> Iterator[Hit]:
    """No two tasks of a collection have nearly the same data.

    Why: where four fifths of the larger one's bytes in `environment/`, told by
    lines, stand in the other's too, the two are one task asked twice. Data
    that more than five tasks share is a common set, on which many questions
    may be asked, and not counted.

    Fix: generate each task's data anew, or make one task of the two.
    """
    del collection
    yield from _told_by("data", reports)


def same_verifier(collection: Collection, reports: tuple[TaskReport, ...]) -> Iterator[Hit]:
    """No two tasks of a collection have nearly the same verifier.

    Why: what rewards the same work is the same task. Compared are the lines of
    the verifier's code; what more than twenty tasks or most of the collection
    share (a common `test.sh`, a template's grader) is not counted, and where
    the data beside it or its settings differ, a grader is a common one.

    Fix: ask for something else in one of the two, or make one task of both.
    """
    del collection
    yield from _told_by("verifier", reports)


_OF: Final[Mapping[Part, str]] = {
    "prompt": "of the shorter prompt's 13-grams",
    "data": "of their data",
    "verifier": "of their verifiers' lines",
}


def _told_by(part: Part, reports: tuple[TaskReport, ...]) -> Iterator[Hit]:
    """Yield the pairs that this part gives first, with all that they share."""
    for pair in _alike(Same(reports)).pairs:
        if next(iter(pair.shares)) == part:
            *said, last = (f"{share:.0%} {_OF[of]}" for of, share in pair.shares.items())
            shares = f"{', '.join(said)} and {last}" if said else last
            yield Hit(message=f"`{pair.first}` and `{pair.second}` share {shares}")


@lru_cache(maxsize=1)
def _alike(of: Same[tuple[TaskReport, ...]]) -> _Alike:
    """Return the tasks that are alike; kept for the rules that ask next."""
    tasks = [likeness for report in of.item if (likeness := _likeness(report)) is not None]
    most = max(len(tasks) // 2, 2)
    found: dict[tuple[int, int], dict[Part, float]] = {}
    ways: tuple[tuple[Part, int, int, bool], ...] = (
        ("prompt", _MOST_SHARING, _LEAST_GRAMS, True),
        ("data", _COMMON_DATA, _LEAST_BYTES, False),
        ("verifier", min(_MOST_SHARING, most), _LEAST_LINES, False),
    )
    for part, few, least, smaller in ways:
        parts: list[Weights] = [getattr(task, part) for task in tasks]
        for pair, share in _shares(parts, few, least, of_smaller=smaller):
            enough = NEAR_COPY if smaller else _ALIKE
            first, second = tasks[pair[0]], tasks[pair[1]]
            if share >= enough and (part != "verifier" or first.beside == second.beside):
                found.setdefault(pair, {})[part] = share
    pairs = tuple(
        _Pair(first=tasks[first].name, second=tasks[second].name, shares=shares)
        for (first, second), shares in sorted(found.items())
    )
    return _Alike(pairs=pairs, same_prompt=tuple(_same_prompt(tasks)))


def _same_prompt(tasks: Sequence[_Likeness]) -> Iterator[tuple[str, ...]]:
    """Yield the names of those with one prompt where they are so many that no pair of them is told."""
    prompts: dict[frozenset[int], list[str]] = {}
    for task in tasks:
        if len(task.prompt) >= _LEAST_GRAMS:
            prompts.setdefault(frozenset(task.prompt), []).append(task.name)
    yield from (tuple(names) for names in prompts.values() if len(names) > _MOST_SHARING)


def _shares(
    parts: Sequence[Weights], few: int, least: int, *, of_smaller: bool
) -> Iterator[tuple[tuple[int, int], float]]:
    """Yield the pairs that have something in common that at most `few` have, and how much of it."""
    holders: dict[int, list[int]] = {}
    for number, part in enumerate(parts):
        for key in part:
            holders.setdefault(key, []).append(number)
    sizes = [0] * len(parts)
    shared: Counter[tuple[int, int]] = Counter()
    for key, numbers in holders.items():
        # A prompt's size has its template text in it; of files only what is a task's own counts.
        if of_smaller or len(numbers) <= few:
            for number in numbers:
                sizes[number] += parts[number][key]
        if 1 < len(numbers) <= few:
            weight = parts[numbers[0]][key]
            for pair in combinations(numbers, 2):
                shared[pair] += weight
    for (first, second), weight in shared.items():
        small, large = sorted((sizes[first], sizes[second]))
        if small >= least:
            yield (first, second), weight / (small if of_smaller else large)


def _likeness(report: TaskReport) -> _Likeness | None:
    """Read what is compared of a task; None for what its own check could not bear."""
    if limits.is_unchecked(report.findings):
        return None
    task = TaskPackage(Path(report.path))
    try:
        with limits.time_limit(limits.SECONDS):
            beside = {below: hash(file.samples()) for below, file in _beside(task)}
            env = task.native.get("verifier", "env")
            return _Likeness(
                name=report.name,
                prompt=dict.fromkeys(_grams(prompt_of(task)), 1),
                data=_data(task),
                verifier=_verifier(task),
                beside={**beside, "": hash(repr(env)) if env else 0},
            )
    except limits.OutOfTime:
        return None


def _grams(text: str) -> set[int]:
    words = words_of(text)
    return {hash(" ".join(words[at : at + WORDS])) for at in range(len(words) - WORDS + 1)}


def _data(task: TaskPackage) -> dict[int, int]:
    out: dict[int, int] = {}
    left = _MOST_TEXT
    files = (file for path, file in task.files.items() if use_of(path, task) == "data")
    for _, file in zip(range(_MOST_FILES), files, strict=False):
        if file.kind != "file" or not file.size:
            continue
        if file.size <= left and b"\0" not in (data := file.read()):
            left -= file.size
            for line in map(bytes.strip, data.splitlines()):
                if len(line) >= _SHORT_LINE:
                    out[hash(line)] = min(len(line), _LONG_LINE)
        else:
            out[hash((file.size, file.samples()))] = file.size
    return out


def _verifier(task: TaskPackage) -> dict[int, int]:
    out: dict[int, int] = {}
    left = _MOST_TEXT
    for below, file in verifier_files(task)[:_MOST_FILES]:
        if below.endswith(_CODE) and file.size <= left:
            left -= file.size
            for line in file.read().splitlines():
                bare = b"".join(line.split())
                if len(bare) >= _SHORT_LINE and not bare.startswith((b"#", b"//")):
                    out[hash(bare)] = 1
    return out


def _beside(task: TaskPackage) -> Iterator[tuple[str, TaskFile]]:
    for below, file in verifier_files(task)[:_MOST_FILES]:
        if not below.endswith((*_CODE, *_NO_CHECK)):
            yield below, file


RULES: Final = (
    CollectionRule("BYD102", "review", near_duplicates, profiles=("arena",)),
    CollectionRule("BYD114", "review", same_data, profiles=("arena",)),
    CollectionRule("BYD115", "review", same_verifier, profiles=("arena",)),
)
