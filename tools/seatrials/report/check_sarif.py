"""A check's report as SARIF 2.1.0, which code scanning services read.

Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from seatrials import __version__
from seatrials.judge.run import CheckReport
from seatrials.report.place import Place, level, places
from seatrials.report.plain import plain
from seatrials.rules.model import Rule, explain

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT: Final = "%SRCROOT%"


def as_data(report: CheckReport, *, rules: Iterable[Rule], root: Path) -> dict[str, Any]:
    """Return the report as plain data; `rules` are all that may have found something."""
    ordered = sorted(rules, key=lambda rule: rule.code)
    index = {rule.code: number for number, rule in enumerate(ordered)}
    run = {
        "tool": {
            "driver": {
                "name": "seatrials",
                "semanticVersion": __version__,
                "rules": [_rule(rule) for rule in ordered],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not report.faulty}],
        "results": [_result(place, index) for place in places(report, root=root)],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def render(report: CheckReport, *, rules: Iterable[Rule], root: Path) -> str:
    """Return the report as SARIF text."""
    return json.dumps(as_data(report, rules=rules, root=root), indent=2) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    said = explain(rule)
    return {
        "id": rule.code,
        "name": rule.check.__name__,
        "shortDescription": {"text": f"{said.title}."},
        "fullDescription": {"text": _sentence(said.why)},
        "help": {"text": _sentence(said.fix), "markdown": _sentence(said.fix)},
        "defaultConfiguration": {"level": level(rule.severity)},
        "properties": {"severity": rule.severity, "tags": [rule.code.rstrip("0123456789").lower()]},
    }


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _result(place: Place, index: dict[str, int]) -> dict[str, Any]:
    finding = place.finding
    physical: dict[str, Any] = {"artifactLocation": _artifact(plain(place.path))}
    if finding.line:
        physical["region"] = {"startLine": finding.line}
    suppressed: dict[str, Any] = {}
    if place.waived is not None:
        # Once one result has the key, the standard wants it on all; an empty list says that it counts.
        suppressed = {"kind": "external", "status": "accepted", "justification": plain(place.waived)}
    properties = {"severity": finding.severity} | ({"task": plain(place.task)} if place.task else {})
    return {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": place.level,
        "message": {"text": plain(finding.message)},
        "locations": [{"physicalLocation": physical}],
        "suppressions": [suppressed] if suppressed else [],
        "properties": properties,
    }


def _artifact(path: str) -> dict[str, Any]:
    if path.startswith("/"):
        return {"uri": f"file://{quote(path)}"}
    return {"uri": quote(path), "uriBaseId": _ROOT}
