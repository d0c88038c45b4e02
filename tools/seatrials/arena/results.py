"""The arena's answers to validate, submit and preflight, read with care: any key may be missing."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

from seatrials.arena.answer import Answer
from seatrials.arena.refusals import ArenaUnavailableError

_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_ENVIRONMENT: Final = re.compile(r"env-[A-Za-z0-9-]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class StaticFinding:
    """One finding of the arena's. `task` is empty for one about the collection, `code` where it has none."""

    severity: str
    code: str
    task: str
    path: str
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Validation:
    """What validation says. `eligible` counts tasks that no static gate excludes.

    `commit` is the one that was read; `summary` has the arena's counts of
    tasks; `hashes` maps each task's name to its content hash (``sha256:...``),
    as far as the answer has them.
    """

    answer: Answer
    valid: bool
    eligible: int
    commit: str | None
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    findings: tuple[StaticFinding, ...]
    summary: Mapping[str, Any]
    hashes: Mapping[str, str]

    @classmethod
    def of(cls, answer: Answer) -> Self:
        """Read an answer; ArenaUnavailableError where it does not say whether the collection is valid."""
        data = answer.fields
        valid = data.get("valid")
        if not isinstance(valid, bool):
            raise ArenaUnavailableError(
                "the answer to `validate` does not say `valid`; see `validation.json`", answer
            )
        static = static_of(data)
        summary = _mapping(static.get("summary"))
        return cls(
            answer=answer,
            valid=valid,
            eligible=_count(data.get("eligible_tasks"), summary.get("eligible")),
            commit=commit_of(data),
            errors=tuple(_texts(data.get("errors"))),
            warnings=tuple(_texts(data.get("warnings"))),
            findings=tuple(_findings(static.get("findings"))),
            summary=summary,
            hashes=hashes_of(data),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Submission:
    """A stored collection. `existing`: it was there already, and keeps its first title, notes and agent."""

    answer: Answer
    environment_id: str
    existing: bool
    commit: str | None
    hashes: Mapping[str, str]

    @classmethod
    def of(cls, answer: Answer) -> Self:
        """Read an answer; ArenaUnavailableError where it names no collection."""
        data = answer.fields
        record = {**_mapping(data.get("environment")), **data}
        found = next(
            (
                value
                for key in ("environment_id", "id")
                if isinstance(value := record.get(key), str) and _ENVIRONMENT.fullmatch(value)
            ),
            None,
        )
        if found is None:
            raise ArenaUnavailableError(
                "the answer to `submit` names no collection (`env-...`); submitting the same again is safe",
                answer,
            )
        return cls(
            answer=answer,
            environment_id=found,
            existing=record.get("existing") is True,
            commit=commit_of(record),
            hashes=hashes_of(record),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One check of the preflight. `mark` is as the arena's client prints it."""

    name: str
    mark: Literal["ok", "FAIL", "skip"]
    detail: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Preflight:
    """What the preflight says. `max_compute_usd` is what a run would reserve, None where it is not told."""

    answer: Answer
    allowed: bool
    checks: tuple[Check, ...]
    max_compute_usd: float | None
    eligible: int | None

    @classmethod
    def of(cls, answer: Answer) -> Self:
        """Read an answer; one that does not say `allowed` is taken by the client's exit code.

        A check that failed is a no, whatever else the answer says.
        """
        data = answer.fields
        checks = tuple(_checks(data.get("checks")))
        failed = any(check.mark == "FAIL" for check in checks)
        cost = data.get("max_compute_usd")
        eligible = data.get("eligible_tasks")
        return cls(
            answer=answer,
            allowed=answer.code == 0 and data.get("allowed", True) is True and not failed,
            checks=checks,
            max_compute_usd=float(cost) if isinstance(cost, (int, float)) else None,
            eligible=eligible if isinstance(eligible, int) else None,
        )

    @property
    def refusal(self) -> str:
        """The first check that failed, in words; empty where the run is allowed."""
        failed = next((check for check in self.checks if check.mark == "FAIL"), None)
        if self.allowed:
            return ""
        return f"{failed.name}: {failed.detail}" if failed is not None else self.answer.reason


def static_of(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `quality_gates.static`, or `quality_gates` itself where that holds the summary."""
    gates = _mapping(data.get("quality_gates"))
    return _mapping(gates.get("static")) or gates


def hashes_of(data: Mapping[str, Any]) -> dict[str, str]:
    """Return each task's content hash out of `quality_gates.static.task_identity`."""
    found: dict[str, str] = {}
    identity = static_of(data).get("task_identity")
    rows: list[tuple[Any, Any]] = []
    if isinstance(identity, dict):
        rows = list(identity.items())
    elif isinstance(identity, list):
        rows = [(_mapping(row).get("task") or _mapping(row).get("name"), row) for row in identity]
    for task, row in rows:
        value = (
            row if isinstance(row, str) else _mapping(row).get("content_hash") or _mapping(row).get("hash")
        )
        if isinstance(task, str) and isinstance(value, str):
            found[task.rpartition("/")[2]] = value
    return found


def commit_of(data: Mapping[str, Any]) -> str | None:
    """Return the commit that an answer names."""
    for key in ("commit", "revision", "resolved_revision", "commit_sha", "sha"):
        value = data.get(key)
        if isinstance(value, str) and _COMMIT.fullmatch(value):
            return value
    return None


def rows_of(data: Any, *keys: str) -> list[Mapping[str, Any]]:
    """Return the rows of a listing: the list itself, one under the keys, or the one list there is."""
    if isinstance(data, dict):
        lists = [data[key] for key in keys if isinstance(data.get(key), list)]
        lists = lists or [value for value in data.values() if isinstance(value, list)]
        data = lists[0] if lists else []
    return [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []


def _checks(value: Any) -> Iterator[Check]:
    for row in value if isinstance(value, list) else ():
        match row:
            case {"name": str(name), "ok": True | False | None as ok}:
                detail = row.get("detail")
                mark: Literal["ok", "FAIL", "skip"] = "skip" if ok is None else "ok" if ok else "FAIL"
                yield Check(name=name, mark=mark, detail=detail if isinstance(detail, str) else "")


def _findings(value: Any) -> Iterator[StaticFinding]:
    rows = value
    if isinstance(value, dict):
        rows = [
            {"task": task, **row}
            for task, own in value.items()
            for row in (own if isinstance(own, list) else ())
            if isinstance(row, dict)
        ]
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, dict):
            continue
        text = {key: value for key, value in row.items() if isinstance(value, str)}
        yield StaticFinding(
            severity=text.get("severity", ""),
            code=text.get("code", ""),
            task=text.get("task", ""),
            path=text.get("path", ""),
            message=text.get("detail") or text.get("message") or "",
        )


def _texts(value: Any) -> Iterator[str]:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            text = item.get("message") or item.get("detail") or item.get("msg")
            place = item.get("path") or item.get("task") or item.get("loc")
            if isinstance(text, str):
                yield f"`{place}`: {text}" if isinstance(place, str) else text


def _count(*values: Any) -> int:
    return next((value for value in values if isinstance(value, int) and not isinstance(value, bool)), 0)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
