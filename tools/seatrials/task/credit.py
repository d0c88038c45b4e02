"""Who is credited for a task and under what terms: the fields that the arena reads off `metadata`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from seatrials.task.package import TaskPackage

CREDIT_FIELDS: Final = ("author_hub", "author_name", "license", "category", "origin", "origin_url")

CATEGORIES: Final = (
    "software-engineering", "system-administration", "security", "scientific-computing", "data-science",
    "data-processing", "data-querying", "file-operations", "debugging", "machine-learning", "model-training",
    "mathematics", "optimization", "games", "personal-assistant", "video-processing", "tool-use", "other",
)  # fmt: skip
"""The arena's categories, from its guide."""

ORIGINS: Final = ("original", "adapted", "generated")
"""Written for the collection; derived from another task or data set; made by a model or a generator."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Credit:
    """What a task declares: each field's text (fields not declared are left out), and where.

    `lines` finds a field in `file`; `line` is that of `metadata`. `emails`
    names the keys that hold an e-mail address.
    """

    file: str
    line: int | None
    fields: Mapping[str, str]
    lines: Mapping[str, int]
    emails: tuple[str, ...]


def credit_of(task: TaskPackage) -> Credit | None:
    """Read a task's credit; None where there is no configuration that can be read."""
    config = task.files.get(task.config_file)
    if config is None or any(problem.kind in {"fence", "yaml", "toml"} for problem in task.problems):
        return None
    metadata = task.native.table("metadata")
    fields = {key: _text(metadata[key]) for key in CREDIT_FIELDS if metadata.get(key) not in (None, "")}
    emails = [f"metadata.{key}" for key, value in metadata.items() if _is_email(key, value)]
    authors = task.native.get("task", "authors")
    for index, author in enumerate(authors if isinstance(authors, list) else ()):
        if isinstance(author, dict) and author.get("email"):
            emails.append(f"task.authors[{index}].email")
    lines = {key: task.config_line(("metadata", key)) for key in fields}
    return Credit(
        file=task.config_file,
        line=task.config_line(("metadata",)) or 1,
        fields=fields,
        lines={key: line for key, line in lines.items() if line is not None},
        emails=tuple(emails),
    )


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else str(value)[:200]


def _is_email(key: Any, value: Any) -> bool:
    return isinstance(key, str) and isinstance(value, str) and key.lower().endswith("email") and "@" in value
