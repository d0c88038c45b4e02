"""Checks of `/app/triage.json` against the pristine inputs in `pristine/`."""

from __future__ import annotations

import datetime
import functools
import importlib.util
import json
import os
import re
import stat
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

HERE = Path(__file__).resolve().parent
RESULT = Path("/app/triage.json")
MAX_BYTES = 2_000_000

# By path: test.sh leaves this folder off sys.path.
_spec = importlib.util.spec_from_file_location("estate_advisory_truth", HERE / "truth.py")
truth_module = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = truth_module
_spec.loader.exec_module(truth_module)

COMPONENT = {"service": "text", "ecosystem": ("npm", "PyPI", "Debian"), "package": "text", "version": "text"}
SHAPES: dict[str, dict[str, Any]] = {
    "vulnerabilities": {
        "id": "text",
        "aliases": "texts",
        "score": "score",
        "severity": ("critical", "high", "medium", "low", "unrated"),
        "exploited": "flag",
        "published": "date",
    },
    "findings": {
        **COMPONENT,
        "vulnerability": "text",
        "scope": ("runtime", "dev"),
        "reachability": ("reachable", "unreachable", "unknown"),
        "status": ("open", "suppressed"),
        "priority": ("P1", "P2", "P3", "P4", None),
        "due": "date or null",
    },
    "upgrades": {
        **COMPONENT,
        "target": "text or null",
        "blocked_by": "texts",
        "resolves": "texts",
        "due": "date",
    },
    "services": {
        "service": "text",
        "components": "count",
        "open": "count",
        "suppressed": "count",
        "overdue": "count",
        "gate": ("hold", "conditional", "pass"),
    },
}
IDENTITY = {
    "vulnerabilities": ("id",),
    "findings": (*COMPONENT, "vulnerability"),
    "upgrades": tuple(COMPONENT),
    "services": ("service",),
}


# -- reading what the agent left ---------------------------------------------


class UnusableError(AssertionError):
    """The result cannot be read; the message says why."""


def read_result(path: Path = RESULT) -> Any:
    """Return the parsed result, or raise `UnusableError`; follows no link and reads no device."""
    try:
        # O_NONBLOCK: opening a pipe must not hang.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise UnusableError(f"`{path}` cannot be opened as a plain file: {error.strerror}") from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise UnusableError(f"`{path}` is not a regular file")
        with os.fdopen(handle, "rb", closefd=False) as stream:
            data = stream.read(MAX_BYTES + 1)
    finally:
        os.close(handle)
    if len(data) > MAX_BYTES:
        raise UnusableError(f"`{path}` is larger than {MAX_BYTES} bytes")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
        if twice:
            raise UnusableError(f"`{path}` has the key `{twice[0][:60]}` twice in one object")
        return dict(pairs)

    def no_constant(name: str) -> None:
        raise UnusableError(f"`{path}` holds `{name}`, which is not JSON")

    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=unique, parse_constant=no_constant)
    except UnicodeDecodeError:
        raise UnusableError(f"`{path}` is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise UnusableError(f"`{path}` is not valid JSON: {str(error)[:200]}") from None


def is_date(value: Any) -> bool:
    if not isinstance(value, str) or re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value) is None:
        return False
    try:
        datetime.date.fromisoformat(value)
    except ValueError:
        return False
    return True


def fits(value: Any, wanted: Any) -> bool:
    """Say whether a value has the kind that `SHAPES` asks for."""
    match wanted:
        case "text":
            return isinstance(value, str) and value != ""
        case "texts":
            return isinstance(value, list) and all(isinstance(x, str) for x in value)
        case "text or null":
            return value is None or fits(value, "text")
        case "score":
            return value is None or (
                isinstance(value, str) and re.fullmatch(r"[0-9]\.[0-9]|10\.0", value) is not None
            )
        case "flag":
            return isinstance(value, bool)
        case "date":
            return is_date(value)
        case "date or null":
            return value is None or is_date(value)
        case "count":
            return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**6
        case _:
            return (value is None or isinstance(value, str)) and value in wanted


def describe(wanted: Any) -> str:
    """Say in words what `SHAPES` asks for."""
    if isinstance(wanted, tuple):
        return "one of " + ", ".join("null" if x is None else x for x in wanted)
    return {
        "text": "a string that is not empty",
        "texts": "a list of strings",
        "text or null": "a string that is not empty, or null",
        "score": 'a string with one decimal such as "5.0", or null',
        "flag": "true or false",
        "date": "a date as YYYY-MM-DD",
        "date or null": "a date as YYYY-MM-DD, or null",
        "count": "an integer from 0 on",
    }[wanted]


def show(value: Any) -> str:
    """Quote a value of the agent's, cut short."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def short(problems: list[str]) -> list[str]:
    """Keep the first ten problems and say how many more there are."""
    more = len(problems) - 10
    return problems if more <= 0 else [*problems[:10], f"... and {more} more"]


# -- the checks; each returns what is wrong ------------------------------------


def check_shape(doc: Any) -> list[str]:
    """Keys, types and words are those of the prompt."""
    if not isinstance(doc, dict):
        return ["the top level must be a JSON object"]
    keys = {"review_date", *SHAPES}
    if set(doc) != keys:
        missing, added = sorted(keys - set(doc)), sorted(set(doc) - keys)
        return [f"top-level keys: missing {missing}, not asked for {show(added)}"]
    problems = []
    if doc["review_date"] != "2025-09-15":
        problems.append('`review_date` must be "2025-09-15"')
    for section, shape in SHAPES.items():
        if not isinstance(doc[section], list):
            problems.append(f"`{section}` must be a list")
            continue
        for number, row in enumerate(doc[section]):
            where = f"`{section}[{number}]`"
            if not isinstance(row, dict) or set(row) != set(shape):
                problems.append(f"{where} must be an object with exactly the keys {', '.join(shape)}")
                continue
            problems += [
                f"{where}: `{key}` is {show(row[key])}, must be {describe(wanted)}"
                for key, wanted in shape.items()
                if not fits(row[key], wanted)
            ]
            if section == "findings" and {row["priority"] is None, row["due"] is None} != {
                row["status"] == "suppressed"
            }:
                problems.append(
                    f"{where}: `priority` and `due` are null in suppressed findings, and only there"
                )
    return problems


def check_order(doc: Any) -> list[str]:
    """Lists are sorted as the prompt says and hold nothing twice."""
    problems = []
    for section, keys in IDENTITY.items():
        given = [tuple(row[key] for key in keys) for row in doc[section]]
        if given != sorted(given):
            problems.append(f"`{section}` is not sorted by {', '.join(keys)}")
        problems += [f"`{section}` has {n} rows of {show(x)}" for x, n in Counter(given).items() if n > 1]
    for section, key in (
        ("vulnerabilities", "aliases"),
        ("upgrades", "blocked_by"),
        ("upgrades", "resolves"),
    ):
        problems += [
            f"`{section}[{number}]`: `{key}` must be sorted and name nothing twice"
            for number, row in enumerate(doc[section])
            if row[key] != sorted(set(row[key]))
        ]
    return problems


def tell(ident: Iterable[str]) -> str:
    """Write a component, or a component and a vulnerability, in one line."""
    service, ecosystem, package, version, *more = (x if len(x) <= 60 else x[:57] + "..." for x in ident)
    return " ".join([f"{service}: {ecosystem} {package} {version}", *more])


def rows(doc: Any, section: str) -> dict[Any, dict[str, Any]]:
    """Return the rows of a section by what they are about."""
    return {tuple(row[key] for key in IDENTITY[section]): row for row in doc[section]}


def finding_rows(truth: Any) -> dict[Any, dict[str, Any]]:
    return {(*ident, name): row for (ident, name), row in truth.findings.items()}


def compare_sets(given: Iterable[Any], right: Iterable[Any], write: Callable[[Any], str]) -> list[str]:
    """Say what is missing and what has no place."""
    return [f"missing: {write(x)}" for x in sorted(set(right) - set(given))] + [
        f"against the policy: {write(x)}" for x in sorted(set(given) - set(right))
    ]


def compare_values(
    given: dict[Any, dict[str, Any]],
    right: dict[Any, dict[str, Any]],
    keys: Iterable[str],
    write: Callable[[Any], str],
) -> list[str]:
    """Say which values differ in the rows that both have; other checks judge which rows there are."""
    shared = [x for x in right if x in given]
    if not shared:
        return ["none of the rows that the policy gives is there, so nothing can be compared"]
    return [
        f"{write(x)}: `{key}` is {show(right[x][key])}, not {show(given[x][key])}"
        for x in shared
        for key in keys
        if given[x][key] != right[x][key]
    ]


def check_components(doc: Any, truth: Any) -> list[str]:
    """The services that take part, and how many components their lock files hold."""
    given = {row["service"]: row for row in doc["services"]}
    return compare_sets(given, truth.summary, str) + compare_values(given, truth.summary, ["components"], str)


def check_vulnerabilities(doc: Any, truth: Any) -> list[str]:
    """Records are grouped, named and dated as the policy says, and void ones left out."""
    given = {row["id"]: row for row in doc["vulnerabilities"]}
    right = {
        name: {
            "aliases": sorted(x.names - {name}),
            "published": x.published.isoformat(),
            "exploited": x.exploited is not None,
        }
        for name, x in truth.affecting.items()
    }
    return compare_sets(given, right, show) + compare_values(
        given, right, ["aliases", "published", "exploited"], str
    )


def check_scores(doc: Any, truth: Any) -> list[str]:
    """CVSS base scores from the right vectors, and the severities that follow."""
    given = {row["id"]: row for row in doc["vulnerabilities"]}
    right = {
        name: {"score": None if x.score is None else str(x.score), "severity": x.severity}
        for name, x in truth.affecting.items()
    }
    return compare_values(given, right, ["score", "severity"], str)


def check_findings(doc: Any, truth: Any) -> list[str]:
    """Which component has which vulnerability."""
    return compare_sets(rows(doc, "findings"), finding_rows(truth), tell)


def check_scope_and_reachability(doc: Any, truth: Any) -> list[str]:
    """Scopes from the lock files, reachability from the notes that hold."""
    return compare_values(rows(doc, "findings"), finding_rows(truth), ["scope", "reachability"], tell)


def check_status(doc: Any, truth: Any) -> list[str]:
    """What the statements that count suppress, and nothing else."""
    return compare_values(rows(doc, "findings"), finding_rows(truth), ["status"], tell)


def _both_open(doc: Any, truth: Any, key: str) -> list[str]:
    right = {x: row for x, row in finding_rows(truth).items() if row["status"] == "open"}
    given = {x: row for x, row in rows(doc, "findings").items() if row["status"] == "open"}
    return compare_values(given, right, [key], tell)


def check_priorities(doc: Any, truth: Any) -> list[str]:
    """Priorities of open findings."""
    return _both_open(doc, truth, "priority")


def check_due_dates(doc: Any, truth: Any) -> list[str]:
    """Due dates of open findings, and the earliest of each upgrade."""
    given = rows(doc, "upgrades")
    return _both_open(doc, truth, "due") + compare_values(given, truth.upgrades, ["due"], tell)


def check_targets(doc: Any, truth: Any) -> list[str]:
    """Which components have to be upgraded, for what, and to which version."""
    given = rows(doc, "upgrades")
    return compare_sets(given, truth.upgrades, tell) + compare_values(
        given, truth.upgrades, ["target", "resolves"], tell
    )


def check_blocked_by(doc: Any, truth: Any) -> list[str]:
    """Dependents whose ranges do not admit the target."""
    return compare_values(rows(doc, "upgrades"), truth.upgrades, ["blocked_by"], tell)


def check_gates(doc: Any, truth: Any) -> list[str]:
    """Totals and gate of each service."""
    given = {row["service"]: row for row in doc["services"]}
    return compare_values(given, truth.summary, ["open", "suppressed", "overdue", "gate"], str)


# -- pytest ------------------------------------------------------------------


@functools.cache
def truth() -> Any:
    """Review the pristine inputs once."""
    return truth_module.Truth(HERE / "pristine")


def _usable() -> Any:
    doc = read_result()
    if check_shape(doc):
        raise UnusableError("not judged: the shape of the result is wrong, see test_shape")
    return doc


def judge(problems: list[str]) -> None:
    assert not problems, "\n".join(short(problems))


def test_readable() -> None:
    """The result is one plain JSON file."""
    assert isinstance(read_result(), dict), "the top level must be a JSON object"


def test_shape() -> None:
    """The result has the keys, types and words that the prompt asks for."""
    judge(check_shape(read_result()))


def test_order() -> None:
    """The lists are sorted and hold nothing twice."""
    judge(check_order(_usable()))


def test_components() -> None:
    """Section 1 of the policy."""
    judge(check_components(_usable(), truth()))


def test_vulnerabilities() -> None:
    """Sections 3.1, 3.2 and 3.5 of the policy."""
    judge(check_vulnerabilities(_usable(), truth()))


def test_scores() -> None:
    """Section 3.4 and the appendix of the policy."""
    judge(check_scores(_usable(), truth()))


def test_findings() -> None:
    """Sections 2 and 3.3 of the policy."""
    judge(check_findings(_usable(), truth()))


def test_scope_and_reachability() -> None:
    """Sections 1 and 6 of the policy."""
    judge(check_scope_and_reachability(_usable(), truth()))


def test_status() -> None:
    """Sections 4 and 5 of the policy."""
    judge(check_status(_usable(), truth()))


def test_priorities() -> None:
    """Section 7 of the policy, priorities."""
    judge(check_priorities(_usable(), truth()))


def test_due_dates() -> None:
    """Section 7 of the policy, due dates."""
    judge(check_due_dates(_usable(), truth()))


def test_targets() -> None:
    """Section 8 of the policy, targets."""
    judge(check_targets(_usable(), truth()))


def test_blocked_by() -> None:
    """Section 8 of the policy, dependents."""
    judge(check_blocked_by(_usable(), truth()))


def test_gates() -> None:
    """Section 9 of the policy."""
    judge(check_gates(_usable(), truth()))
