"""Tasks beside held-out suites, at least five of each kind for every gate of the overlap."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

WORDS: Final = " ".join(f"word{number}" for number in range(40))
ALIEN: Final = " ".join(f"other{number}" for number in range(40))
PHRASE: Final = " ".join(WORDS.split()[:13])
TEXT: Final = "the very same content of some length\n"
Files = Mapping[str, str | None]

APART: Final[Files] = {
    "oracle/solve.sh": "#!/bin/bash\necho mine, and only mine > /app/out.json\n",
    "verifier/test_outputs.py": "def test_mine():\n    assert open('/app/mine').read() == 'mine'\n",
    "verifier/test.sh": "#!/bin/bash\npytest /verifier && echo 1 > /logs/verifier/reward.txt\n",
    "environment/data.csv": "quite,other,columns\n1,2,3\n",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nRUN echo apart\n",
}
"""Files that no other task of these cases has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldCase:
    """A held-out task and one beside it, otherwise apart; so many tasks of the suite are the same."""

    code: str
    name: str
    found: bool
    sealed: bool = True
    evaluated: bool = True
    held_name: str = "held-task"
    held_prompt: str = WORDS
    held: Files = field(default_factory=dict)
    mine_name: str = "mine"
    prompt: str = ALIEN
    mine: Files = field(default_factory=dict)
    copies: int = 1


def _same(code: str, name: str, path: str, *, found: bool, **more: bool | int) -> HeldCase:
    """Return a case where a file is the held-out one."""
    return HeldCase(code=code, name=name, found=found, held={path: TEXT}, mine={path: TEXT}, **more)  # type: ignore[arg-type]


def _prompts(code: str, name: str, prompt: str, *, found: bool, **more: bool | int) -> HeldCase:
    return HeldCase(code=code, name=name, found=found, prompt=prompt, **more)  # type: ignore[arg-type]


def _named(code: str, name: str, held: str, mine: str, *, found: bool, **more: bool | int) -> HeldCase:
    return HeldCase(code=code, name=name, found=found, held_name=held, mine_name=mine, **more)  # type: ignore[arg-type]


TWENTY: Final = " ".join(WORDS.split()[:20])
ORACLE: Final = "oracle/solve.sh"
DATA: Final = "environment/data.csv"
BUILD: Final = "environment/Dockerfile"
CHANGED: Final = TEXT.replace("same", "Same")
OUTSIDE: Final = {"evaluated": False}
PUBLIC: Final = {"sealed": False}

HELD: Final = (
    _prompts("OVL101", "all of it", WORDS, found=True),
    _prompts("OVL101", "in capitals and marks", WORDS.upper().replace(" ", ", "), found=True),
    _prompts("OVL101", "with as much of its own", f"{WORDS} {ALIEN[:150]}", found=True),
    _prompts("OVL101", "of a task that is not evaluated", WORDS, found=True, **OUTSIDE),
    _prompts("OVL101", "of a public suite", WORDS, found=True, **PUBLIC),
    _prompts("OVL101", "another", ALIEN, found=False),
    _prompts("OVL101", "a phrase", f"{ALIEN} {PHRASE}", found=False),
    _prompts("OVL101", "less than half", f"{TWENTY} {ALIEN}", found=False),
    _prompts("OVL101", "the words in another order", " ".join(WORDS.split()[::-1]), found=False),
    _prompts("OVL101", "the template of a public suite", WORDS, found=False, copies=3, **PUBLIC),
    _prompts("OVL101", "twelve words", " ".join(WORDS.split()[:12]), found=False),
    _same("OVL102", "tests", "verifier/test_outputs.py", found=True),
    _same("OVL102", "a solution", ORACLE, found=True),
    _same("OVL102", "of a public suite", "verifier/grader.py", found=True, **PUBLIC),
    _same("OVL102", "deeper", "verifier/pristine/table.csv", found=True, **OUTSIDE),
    HeldCase(code="OVL102", name="put elsewhere", found=True, held={ORACLE: TEXT}, mine={DATA: TEXT}),
    HeldCase(code="OVL102", name="others", found=False),
    HeldCase(code="OVL102", name="changed", found=False, held={ORACLE: TEXT}, mine={ORACLE: CHANGED}),
    HeldCase(code="OVL102", name="a line end", found=False, held={ORACLE: TEXT}, mine={ORACLE: TEXT[:-1]}),
    HeldCase(
        code="OVL102", name="very small", found=False, held={"verifier/a": "1\n"}, mine={"verifier/a": "1\n"}
    ),
    _same("OVL102", "common to a public suite", ORACLE, found=False, copies=3, **PUBLIC),
    _same("OVL102", "beside the task's parts", "notes.md", found=False),
    _named("OVL103", "the same", "sort-rows", "sort-rows", found=True),
    _named("OVL103", "in capitals", "sort-rows", "Sort-Rows", found=True),
    _named("OVL103", "theirs in capitals", "SORT-rows", "sort-rows", found=True),
    _named("OVL103", "with digits", "task-12", "task-12", found=True),
    _named("OVL103", "the declared name", "case", "mine", found=True),
    _named("OVL103", "another", "sort-rows", "sort-row", found=False),
    _named("OVL103", "a part", "sort-rows", "sort-rows-2", found=False),
    _named("OVL103", "other marks", "sort-rows", "sort_rows", found=False),
    _named("OVL103", "of one that is not evaluated", "sort-rows", "sort-rows", found=False, **OUTSIDE),
    _named("OVL103", "of a public suite", "sort-rows", "sort-rows", found=False, **PUBLIC),
    _prompts("OVL104", "a phrase at the end", f"{ALIEN} {PHRASE}", found=True),
    _prompts("OVL104", "at the start", f"{PHRASE} {ALIEN}", found=True),
    _prompts("OVL104", "in capitals and marks", f"{ALIEN} {PHRASE.upper().replace(' ', ' - ')}", found=True),
    _prompts("OVL104", "of an evaluated public task", f"{ALIEN} {PHRASE}", found=True, **PUBLIC),
    _prompts("OVL104", "twenty words", f"{TWENTY} {ALIEN}", found=True),
    _prompts("OVL104", "nothing of it", ALIEN, found=False),
    _prompts("OVL104", "twelve words", f"{ALIEN} {' '.join(WORDS.split()[:12])}", found=False),
    _prompts("OVL104", "one word between", f"{ALIEN} {PHRASE.replace('word6', 'word6 and')}", found=False),
    _prompts("OVL104", "of one that is not evaluated", f"{ALIEN} {PHRASE}", found=False, **OUTSIDE),
    _prompts(
        "OVL104", "the template of a public suite", f"{ALIEN} {PHRASE}", found=False, copies=3, **PUBLIC
    ),
    _prompts("OVL104", "half of it, which is worse", WORDS, found=False),
    _same("OVL105", "a table", DATA, found=True),
    _same("OVL105", "deeper", "environment/app/src/main.c", found=True),
    _same("OVL105", "of a public suite", DATA, found=True, **PUBLIC),
    _same("OVL105", "of one that is not evaluated", DATA, found=True, **OUTSIDE),
    HeldCase(
        code="OVL105", name="of another name", found=True, held={DATA: TEXT}, mine={"environment/x.txt": TEXT}
    ),
    HeldCase(code="OVL105", name="others", found=False),
    HeldCase(code="OVL105", name="changed", found=False, held={DATA: TEXT}, mine={DATA: CHANGED}),
    HeldCase(
        code="OVL105", name="very small", found=False, held={DATA: "a,b\n1,2\n"}, mine={DATA: "a,b\n1,2\n"}
    ),
    _same("OVL105", "common to a public suite", DATA, found=False, copies=3, **PUBLIC),
    _same("OVL105", "what builds the image", BUILD, found=False),
    _prompts("OVL106", "a phrase", f"{ALIEN} {PHRASE}", found=True, **OUTSIDE),
    _prompts("OVL106", "at the start", f"{PHRASE} {ALIEN}", found=True, **OUTSIDE),
    _prompts("OVL106", "in capitals", f"{ALIEN} {PHRASE.upper()}", found=True, **OUTSIDE),
    _prompts("OVL106", "twenty words", f"{TWENTY} {ALIEN}", found=True, **OUTSIDE),
    _prompts("OVL106", "the suite's template", f"{ALIEN} {PHRASE}", found=True, copies=3, **OUTSIDE),
    _prompts("OVL106", "nothing of it", ALIEN, found=False, **OUTSIDE),
    _prompts("OVL106", "twelve words", f"{ALIEN} {' '.join(WORDS.split()[:12])}", found=False, **OUTSIDE),
    _prompts("OVL106", "of an evaluated one, which is worse", f"{ALIEN} {PHRASE}", found=False),
    _prompts("OVL106", "half of it, which is worse", WORDS, found=False, **OUTSIDE),
    _prompts("OVL106", "of a public suite", f"{ALIEN} {PHRASE}", found=False, evaluated=False, **PUBLIC),
    _named("OVL107", "the same", "sort-rows", "sort-rows", found=True, **PUBLIC),
    _named("OVL107", "in capitals", "sort-rows", "SORT-ROWS", found=True, **PUBLIC),
    _named("OVL107", "not evaluated", "sort-rows", "sort-rows", found=True, evaluated=False, **PUBLIC),
    _named("OVL107", "with digits", "task-12", "task-12", found=True, **PUBLIC),
    _named("OVL107", "the declared name", "case", "mine", found=True, **PUBLIC),
    _named("OVL107", "another", "sort-rows", "sort-row", found=False, **PUBLIC),
    _named("OVL107", "a part", "sort-rows", "rows", found=False, **PUBLIC),
    _named("OVL107", "other marks", "sort-rows", "sort_rows", found=False, **PUBLIC),
    _named("OVL107", "of a sealed suite, which is worse", "sort-rows", "sort-rows", found=False),
    _named("OVL107", "of a sealed one, not evaluated", "sort-rows", "sort-rows", found=False, **OUTSIDE),
    _same("OVL108", "a Dockerfile", BUILD, found=True),
    _same("OVL108", "a skill", "environment/skills/how/SKILL.md", found=True),
    _same("OVL108", "an ignore file", "environment/.dockerignore", found=True),
    _same("OVL108", "a compose file", "environment/docker-compose.yaml", found=True),
    _same("OVL108", "of a public suite", BUILD, found=True, **PUBLIC),
    HeldCase(code="OVL108", name="others", found=False),
    HeldCase(code="OVL108", name="changed", found=False, held={BUILD: TEXT}, mine={BUILD: CHANGED}),
    HeldCase(
        code="OVL108", name="very small", found=False, held={BUILD: "FROM a\n"}, mine={BUILD: "FROM a\n"}
    ),
    _same("OVL108", "common to a public suite", BUILD, found=False, copies=3, **PUBLIC),
    _same("OVL108", "data", DATA, found=False),
)
