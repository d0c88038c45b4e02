"""The store: one JSON line per trial, written as it ends, so that an interrupted run goes on from there.

It lives in `.seatrials/` beside the collection and ignores itself for git.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

from seatrials.replay.model import KINDS, Failure, ImageFacts, Kind, Trial
from seatrials.replay.reward import Check

FOLDER: Final = ".seatrials"
ROWS: Final = "trials.jsonl"
SCHEMA: Final = 1
"""Bumped when a row of old can't be judged by the rules of now; older rows are run again."""


class Store:
    """The trials of one collection."""

    def __init__(self, root: Path) -> None:
        self.folder = root / FOLDER
        self.path = self.folder / ROWS

    def prepare(self) -> None:
        """Make the folder, hidden from git."""
        self.folder.mkdir(parents=True, exist_ok=True)
        ignore = self.folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")

    def log_dir(self, task: str, name: str) -> Path:
        """Return the folder for one trial's logs."""
        return self.folder / "logs" / task / name

    def append(self, trial: Trial) -> None:
        """Write one row; a single write, so that rows of two runs never mix."""
        self.prepare()
        line = json.dumps({"schema": SCHEMA, **asdict(trial)}, ensure_ascii=False, allow_nan=False) + "\n"
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(fd, line.encode("utf-8", "surrogatepass"))
        finally:
            os.close(fd)

    def load(self) -> list[Trial]:
        """Return all rows that can be read, oldest first. A half-written or foreign line is passed over."""
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return []
        # Not `splitlines`: a check's name or a log's end may hold one of Unicode's other line ends.
        return [trial for line in text.split("\n") if (trial := read_row(line)) is not None]


def read_row(line: str) -> Trial | None:
    """Read one row, or None for what is not one of ours."""
    try:
        data = json.loads(line)
    except ValueError:
        return None
    match data:
        case {"schema": int() as schema, "task": str(), "content_hash": str(), "kind": str() as kind} if (
            schema == SCHEMA and kind in KINDS
        ):
            pass
        case _:
            return None
    try:
        return _trial(data)
    except (TypeError, ValueError, AttributeError):
        return None


def _trial(data: dict[str, Any]) -> Trial:
    known = {item.name for item in fields(Trial)}
    values = {key: value for key, value in data.items() if key in known}
    failure = values.get("failure")
    image = values.get("image") or {}
    values["failure"] = Failure(**failure) if failure is not None else None
    values["checks"] = tuple(Check(**check) for check in values.get("checks", ()))
    values["image"] = ImageFacts(**{**image, "base": tuple(image.get("base", ()))})
    for key in ("limits", "notes", "tail"):
        values[key] = tuple(values.get(key, ()))
    return Trial(**values)


def attempts(trials: Iterable[Trial], *, content_hash: str) -> list[Trial]:
    """Return the attempts of models at a task as it is now, which make its difficulty band."""
    return [trial for trial in trials if trial.kind == "agent" and trial.content_hash == content_hash]


def reusable(
    trials: Iterable[Trial], *, content_hash: str, kind: Kind, as_user: str, source: str
) -> list[Trial]:
    """Return the earlier trials that count for a task as it is now: same content, same user, and passed.

    A trial passed when it came to the reward that its kind should have; any
    other is run again.
    """
    expected: Mapping[str, float] = {"oracle": 1.0, "noop": 0.0}
    return [
        trial
        for trial in trials
        if trial.content_hash == content_hash
        and trial.kind == kind
        and trial.as_user == as_user
        and trial.source == source
        and trial.failure is None
        and not trial.limits
        and (kind == "agent" or trial.reward == expected[kind])
        and not any(
            check.status in {"failed", "pending", "other"} for check in trial.checks if kind == "oracle"
        )
    ]
