"""BYD: what the arena's gates don't look at, and weakens a task. Each can be left out by its code."""

import re
from collections.abc import Iterator
from typing import Final

from seatrials.parse.python_tree import Value
from seatrials.rules.grading import grading
from seatrials.rules.leaks import holds, tells
from seatrials.rules.model import Hit, TaskRule
from seatrials.rules.structure import DOCKERFILE
from seatrials.task.package import TaskPackage

_BLOCK: Final = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_AFTER_KEY: Final = re.compile(r"[:=][ \t]*(-?\d{1,300}(?:\.\d{1,300})?(?:[eE][+-]?\d{1,3})?)")
_TEXT_AFTER_KEY: Final = re.compile(r"""[:=][ \t]*["']([^"'\n]{1,300})["']""")
_INLINE: Final = re.compile(r"(?<!`)`(\{[^`\n]{1,2000}\})`(?!`)")
_EXAMPLE: Final = re.compile(r"(?:\be\.g\.|\bexamples?\b|\bsuch as\b|\blike\b)[^.`]{0,40}$", re.IGNORECASE)
_BEFORE: Final = 300
_ASKS: Final = re.compile(
    r"\b(?:create|generate|output|produce|record|result|save|solution|write)", re.IGNORECASE
)
_GIVES: Final = re.compile(r"\b(?:input|contains?|given|provided)\b", re.IGNORECASE)


def shown_answer(task: TaskPackage) -> Iterator[Hit]:
    """The prompt's example of the output does not show the answer.

    Why: a value that the verifier compares with stands in the example, after
    the key that it is checked for: to copy the example is to pass. Numbers
    count, and texts with a digit in them; words may be all that there is to choose from.

    Fix: make the example's values others, and say that they are made up.
    """
    facts = grading(task)
    examples = list(_examples(facts.prompt.text))
    # Without a value that tells, after a key in an example, the verifier's source need not be parsed.
    if not any(tells(value) and facts.spells(said) for text in examples for said, value in _values(text)):
        return
    rest = _BLOCK.sub("", facts.prompt.text)
    for text in examples:
        rest = rest.replace(f"`{text}`", "")
    seen: set[Value] = set()
    for path, found in facts.python:
        for item in found.compared:
            value = item.value
            if value in seen or not tells(value) or holds(rest, value):
                continue
            if isinstance(value, str) and not (item.asserted and _has_digit(value)):
                continue
            seen.add(value)
            key = next((key for text in examples for key in _keys_of(text, value)), "")
            if key and holds_word(task, path, key):
                message = (
                    f"the prompt's example of the output shows `{key}` with `{value}`, which is checked for"
                )
                yield Hit(path=path, line=item.line, message=message)


def _examples(prompt: str) -> Iterator[str]:
    """Yield the fenced blocks, and objects in a line of text, that show what is to be written."""
    end = 0
    for match in _BLOCK.finditer(prompt):
        before = prompt[max(end, match.start() - _BEFORE) : match.start()]
        end = match.end()
        if _ASKS.search(before) and not _GIVES.search(before.rpartition("\n\n")[2] or before):
            yield match[1]
    for match in _INLINE.finditer(prompt) if "`{" in prompt else ():
        before = prompt[max(0, match.start() - _BEFORE) : match.start()]
        if (
            _EXAMPLE.search(before)
            and _ASKS.search(before)
            and not _GIVES.search(before.rpartition("\n\n")[2])
        ):
            yield match[1]


def _has_digit(text: str) -> bool:
    return any(sign.isdigit() for sign in text)


def _values(text: str) -> Iterator[tuple[str, Value]]:
    """Yield the numbers, and the quoted texts with a digit, that follow a key: as written, and as values."""
    for match in _AFTER_KEY.finditer(text):
        yield match[1], float(match[1]) if re.search("[.eE]", match[1]) else int(match[1])
    for match in _TEXT_AFTER_KEY.finditer(text):
        if _has_digit(match[1]):
            yield match[1], match[1]


def _keys_of(text: str, value: Value) -> Iterator[str]:
    """Yield the keys that a value follows, in JSON, YAML or INI."""
    said = rf"""["']{re.escape(value)}["']""" if isinstance(value, str) else re.escape(repr(value))
    for match in re.finditer(rf"""["']?\b([A-Za-z_]\w{{2,60}})["']?[ \t]*[:=][ \t]*{said}(?![\w.-])""", text):
        yield match[1]


def holds_word(task: TaskPackage, path: str, word: str) -> bool:
    """Say whether a file of the task names a word."""
    file = task.resolve(path)
    return file is not None and re.search(rf"\b{re.escape(word)}\b", file.text or "") is not None


def swallowed_assertion(task: TaskPackage) -> Iterator[Hit]:
    """No failing assertion is passed over.

    Why: an `assert` in a `try` whose `except` only passes can't fail: the
    test looks like a check and is none.

    Fix: take the assertion out of the `try`, or name the one exception that may be passed over.
    """
    for path, facts in grading(task).python:
        for line in facts.swallowed:
            yield Hit(
                path=path, line=line, message="the `except` around this assertion passes over its failure"
            )


def unseeded(task: TaskPackage) -> Iterator[Hit]:
    """A verifier that draws random numbers sets their seed.

    Why: two trials with the same work can then get different rewards, and a
    failure can't be repeated.

    Fix: `random.seed(7)`, `numpy.random.default_rng(7)`, or draw the cases
    once and keep them below `verifier/`.
    """
    for path, facts in grading(task).python:
        for line in facts.unseeded[:1]:
            yield Hit(
                path=path, line=line, message="draws random numbers, and nothing in the file sets a seed"
            )


_CHANNELS: Final = frozenset(
    {"beta", "canary", "current", "dev", "devel", "edge", "head", "latest", "lts", "main", "mainline",
     "master", "next", "nightly", "oldstable", "rolling", "sid", "stable", "testing", "trunk", "unstable"}
)  # fmt: skip
"""Tags that say which branch of releases, and not which release."""

_VARIANTS: Final = frozenset({"alpine", "base", "full", "minimal", "runtime", "slim"})
_OFFICIAL: Final = re.compile(r"(?:(?:[\w.-]+\.[\w-]+/(?:docker/)?)?library/)?([\w-]+)")
_BY_MINOR: Final = frozenset(
    {"alpine", "elixir", "golang", "julia", "perl", "php", "python", "ruby", "rust", "swift"}
)
"""Official images whose first number has stayed for years: `python:3` was 3.8 once and is 3.14 now."""

_LANGUAGES: Final = _BY_MINOR - {"alpine"} | {"eclipse-temurin", "gcc", "node", "openjdk"}
"""Official images whose tags without a number name only the distribution below (`python:bookworm`)."""


def mutable_base(task: TaskPackage) -> Iterator[Hit]:
    """The image starts from a tag that says which version it is.

    Why: without a tag, with `latest`, a branch (`lts`, `stable`, `edge`) or
    half a version (`python:3`), what is built changes from one month to the
    next: the oracle that passed may not pass in the run. A tag of a release
    (`debian:bookworm-slim`, `node:20`) moves too, by fixes only; a replay
    records the digest that it got.

    Fix: name a version (`python:3.12-slim`), or a digest (`@sha256:...`).
    """
    dockerfile = grading(task).dockerfile
    names = {stage.name for stage in dockerfile.stages} if dockerfile is not None else set()
    for stage in dockerfile.stages if dockerfile is not None else ():
        base = stage.base
        if not base or "$" in base or "@" in base or base.casefold() in names | {"scratch"}:
            continue
        folder, slash, name = base.rpartition("/")
        image, _, tag = name.partition(":")
        if tag in {"", "latest"}:
            yield Hit(path=DOCKERFILE, line=stage.line, message=f"`FROM {base}` names no version")
        elif _moves(f"{folder}{slash}{image}", tag):
            yield Hit(
                path=DOCKERFILE, line=stage.line, message=f"`FROM {base}` is another version every few months"
            )


def _moves(image: str, tag: str) -> bool:
    """Say whether a tag names a branch of releases, or half a version."""
    words = tag.casefold().split("-")
    official = _OFFICIAL.fullmatch(image)
    name = official[1] if official is not None else ""
    if not any(sign.isdigit() for sign in tag):
        return name in _LANGUAGES or not _CHANNELS.isdisjoint(words) or _VARIANTS.issuperset(words)
    return name in _BY_MINOR and words[0].isdecimal()


RULES: Final = (
    TaskRule("BYD101", "review", swallowed_assertion, profiles=("arena",)),
    TaskRule("BYD103", "review", unseeded, profiles=("arena",)),
    TaskRule("BYD105", "review", shown_answer, profiles=("arena",)),
    TaskRule("BYD104", "review", mutable_base, requires=("STR105", "STR106"), profiles=("arena",)),
)
