"""The arena's own structure check and static gates, run here over a copy of the collection.

The arena serves both scripts beside its client, and its guide says how they
are called; what they print is not documented. It is read with care: JSON with
findings anywhere in it, or lines that name a task and say what is wrong. What
can't be read so is shown as it is, and nothing is concluded from it.
"""

import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from seatrials import proc
from seatrials.arena.beside import Difference
from seatrials.arena.client import environment_of
from seatrials.arena.results import StaticFinding
from seatrials.arena.site import Site
from seatrials.arena.trust import Ask, Trust
from seatrials.findings import SEVERITIES, Severity, at_least

SCRIPTS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("check_task.py", ()),
    ("validation_gates.py", ("static",)),
)
"""The scripts and the words before the folder of tasks, by the arena's guide ("Start here", step 6)."""

SECONDS: Final = 600.0
"""Seconds that a script may take."""

_MOST_SHOWN: Final = 4000


@dataclass(frozen=True, kw_only=True, slots=True)
class Opinion:
    """What one script said. `findings` is None where its output could not be read; `output` is that."""

    script: str
    url: str
    sha256: str
    code: int
    findings: tuple[StaticFinding, ...] | None
    output: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SecondOpinion:
    """What the arena's scripts said of a report's tasks, and where that differs from the report.

    Warnings are not compared: the kit has many that the arena knows nothing of.
    """

    url: str
    tasks: int
    opinions: tuple[Opinion, ...]
    differences: tuple[Difference, ...]

    @property
    def complete(self) -> bool:
        """Whether all that the scripts printed could be read."""
        return all(opinion.findings is not None for opinion in self.opinions)

    def fails(self, threshold: Severity) -> bool:
        """Say whether the arena has a finding as bad as `threshold` or worse."""
        bad = {severity for severity in SEVERITIES if at_least(severity, threshold)}
        return any(found.severity in bad for opinion in self.opinions for found in opinion.findings or ())


class Opinions:
    """Asks the arena's scripts, each fetched and trusted as its client is (see `trust`)."""

    def __init__(
        self,
        site: Site,
        *,
        ask: Ask | None = None,
        accept: Collection[str] = (),
        say: Callable[[str], None] | None = None,
        folder: Path | None = None,
    ) -> None:
        self.site = site
        self._ask = ask
        self._accept = accept
        self._say = say
        self._trust = Trust(folder)

    def fetched(self) -> tuple[tuple[Path, tuple[str, ...]], ...]:
        """Return each script, trusted and verified, with its words; raises as `Trust.trusted` does."""
        return tuple(
            (
                self._trust.trusted(self.site, name, ask=self._ask, accept=self._accept, say=self._say),
                words,
            )
            for name, words in SCRIPTS
        )

    def of(self, tasks: Path, names: Collection[str]) -> tuple[Opinion, ...]:
        """Return what the scripts say of a folder of tasks, of which `names` are the folders.

        They run without a token and without this machine's variables. Raises
        as `fetched` does; a script that fails or takes too long has no findings.
        """
        known = frozenset(names)
        return tuple(self._asked(script, words, tasks, known) for script, words in self.fetched())

    def _asked(self, script: Path, words: Sequence[str], tasks: Path, names: Collection[str]) -> Opinion:
        argv = (sys.executable, "-I", "-X", "utf8", str(self._trust.verified(script)), *words, str(tasks))
        code, findings = -1, None
        with tempfile.TemporaryDirectory(prefix="seatrials-") as home:
            env = environment_of(self.site, home=Path(home), token=None, outer=os.environ)
            try:
                done = proc.run_apart(argv, timeout=SECONDS, env=env, cwd=tasks)
            except (proc.ProgramTimedOut, proc.TooMuchOutput) as error:
                said = str(error)
            else:
                code = done.code
                text = done.output.decode("utf-8", "replace")
                findings = findings_in(text, names, failed=code != 0)
                said = text if findings is None and text.strip() else ""
                said += done.errors.decode("utf-8", "replace") if findings is None else ""
        return Opinion(
            script=script.name,
            url=self.site.address(script.name),
            sha256=script.parent.name,
            code=code,
            findings=findings,
            output=said.replace(str(tasks), "").strip()[-_MOST_SHOWN:],
        )


def findings_in(text: str, names: Collection[str], *, failed: bool) -> tuple[StaticFinding, ...] | None:
    """Return the findings that an output tells of; None where it can't be read.

    `names` are the tasks' folders; `failed` says that the script ended with an
    error, which an output without any finding does not explain.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        found = tuple(dict.fromkeys(_in_lines(text, names)))
        read = bool(found) or (not failed and any(_named(line, names) for line in text.splitlines()))
    else:
        found = tuple(dict.fromkeys(_in_data(data, names)))
        read = bool(found) or (not failed and isinstance(data, dict | list))
    return found if read else None


_SEVERITIES: Final = ("block", "error", "reject", "controls", "review", "warning")
_TASK_KEYS: Final = ("task", "task_name", "package", "name", "path")
_TEXT_KEYS: Final = ("detail", "message", "reason", "text")


def _in_data(data: Any, names: Collection[str]) -> Iterator[StaticFinding]:
    """Yield each mapping with a severity, of the task that it or what holds it names."""
    pending: list[tuple[Any, str]] = [(data, "")]
    while pending:
        value, task = pending.pop()
        match value:
            case dict():
                task = next((found for key in _TASK_KEYS if (found := _named(value.get(key), names))), task)
                severity = _severity(value.get("severity"))
                if severity:
                    yield StaticFinding(
                        severity=severity,
                        code=_text(value.get("code")),
                        task=task,
                        path=_text(value.get("path") or value.get("file")),
                        message=next((_text(value[key]) for key in _TEXT_KEYS if value.get(key)), ""),
                    )
                pending += [(inner, _named(key, names) or task) for key, inner in reversed(value.items())]
            case list():
                pending += [(inner, task) for inner in reversed(value)]
            case _:
                pass


_BULLET: Final = re.compile(r"\s*(?:→|[-*•>]|\d+[.)])\s+")
_WORD: Final = re.compile(
    r"[\[(]?\b(block|error|reject|controls|review|warning|warn)(?:ed|s)?\b[\])]?[ \t:\u2013\u2014-]*",
    re.IGNORECASE,
)
_FIRST: Final = re.compile(
    r"[\s\[(*-]*(block|error|reject|controls|review|warning|warn)(?:ed)?[\])]?[\s:\u2013\u2014-]*[`\[(\"']?(?:[\w.-]+/)*",
    re.IGNORECASE,
)
_LONGEST_FIRST: Final = 200
_AROUND: Final = " :\u2013\u2014-[("
_CODE: Final = re.compile(r"\b[A-Z](?:-[A-Z]+)+\b|\b[A-Z]+\d+\b")
_BAD: Final = re.compile(r"✗|✘|❌|\bFAIL(?:ED)?\b|\bissue")


def _in_lines(text: str, names: Collection[str]) -> Iterator[StaticFinding]:
    """Yield what lines say: one that names a task, and those with a bullet below it."""
    task, bad = "", False
    for line in text.splitlines():
        named = _named(line, names)
        if named:
            task, bad = named, bool(_BAD.search(line))
        before, _, after = line.partition(named) if named else ("", "", "")
        rest = after if named else _BULLET.sub("", line, count=1)
        word = _WORD.search(rest)
        at_start = word is not None and not rest[: word.start()].strip(_AROUND)
        if not at_start and (first := _FIRST.fullmatch(before[:_LONGEST_FIRST])) is not None:
            # "ERROR sort: no prompt", where other lines have the word after the name.
            rest = f"{first[1]}: {after.lstrip(_AROUND + '])`')}"
            word, at_start = _WORD.search(rest), True
        if named and not at_start:
            continue
        if not task or not (at_start or (bad and _BULLET.match(line))):
            continue
        severity = _severity(word[1]) if word is not None and at_start else "error"
        said = rest[word.end() :] if word is not None and at_start else rest
        code = _CODE.match(said.strip())
        yield StaticFinding(
            severity=severity,
            code=code[0] if code else "",
            task=task,
            path="",
            message=(said.strip()[code.end() :] if code else said).strip(" :"),
        )


_TOKEN: Final = re.compile(r"[\w.-]+")


def _named(value: Any, names: Collection[str]) -> str:
    """Return the task that a text names as a word, the first one; empty for none."""
    if not isinstance(value, str):
        return ""
    for token in _TOKEN.findall(value):
        for word in (token, token.rstrip(".")):
            if word in names:
                return str(word)
    return ""


def _severity(value: Any) -> str:
    word = value.strip().lower() if isinstance(value, str) else ""
    word = "warning" if word == "warn" else word
    return word if word in _SEVERITIES else ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
