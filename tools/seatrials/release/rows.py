"""One row per task, as ``data/tasks.parquet`` holds it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from seatrials.release.replays import NOT_REPLAYED, Replayed
from seatrials.task.collection import Collection
from seatrials.task.native import DEFAULT_BUILD_TIMEOUT, DEFAULT_VERIFIER_TIMEOUT
from seatrials.task.package import TaskPackage

LEVELS: Final[Mapping[str, int]] = {"easy": 1, "medium": 3, "hard": 5}
"""`difficulty_level` (1 to 5) of a task that declares a tier only; ours, for want of a published scale."""

_MANY: Final = 2**31


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskRow:
    """What is published of one task.

    Times are in seconds, memory and storage in MiB; null where not declared.
    """

    name: str
    folder: str
    title: str
    prompt: str
    category: str | None
    difficulty_tier: str | None
    difficulty_level: int | None
    tags: tuple[str, ...]
    license: str | None
    origin: str | None
    origin_url: str | None
    author: str | None
    network: str
    verifier_kind: str
    has_oracle: bool
    agent_timeout_sec: float | None
    verifier_timeout_sec: float
    build_timeout_sec: float
    cpus: float | None
    memory_mb: float | None
    storage_mb: float | None
    gpus: int | None
    format: str
    content_hash: str
    findings: tuple[str, ...]
    replay_verdict: str | None
    oracle_runs: int
    noop_runs: int
    attempts: int
    solved: int
    oracle_agent_sec: float | None
    oracle_verifier_sec: float | None


def row_of(
    task: TaskPackage,
    collection: Collection,
    findings: Sequence[str],
    replayed: Replayed = NOT_REPLAYED,
    *,
    published: str | None = None,
) -> TaskRow:
    """Return the row of a task; `findings` are the codes found about it, in order.

    `published` is the content hash of what is published of it, where that may
    be another: a link becomes the file that it points to.
    """
    native = task.native
    metadata = native.table("metadata")
    tier = _text(metadata.get("difficulty"))
    default = collection.default
    return TaskRow(
        name=task.full_name,
        folder=task.name,
        title=_text(metadata.get("title")) or task.name.replace("-", " ").capitalize(),
        prompt=native.prompt,
        category=_text(metadata.get("category")),
        difficulty_tier=tier,
        difficulty_level=_level(metadata.get("difficulty_level"), tier),
        tags=_texts(metadata.get("tags")) or _texts(native.get("task", "keywords")),
        license=_text(metadata.get("license")) or default("license"),
        origin=_text(metadata.get("origin")) or default("origin"),
        origin_url=_text(metadata.get("origin_url")),
        author=_text(metadata.get("author_hub")) or _text(metadata.get("author_name")),
        network=native.network,
        verifier_kind=_text(native.get("verifier", "type")) or "test-script",
        has_oracle=native.file("oracle/solve.sh") is not None,
        agent_timeout_sec=native.number("agent", "timeout_sec"),
        verifier_timeout_sec=native.number("verifier", "timeout_sec") or DEFAULT_VERIFIER_TIMEOUT,
        build_timeout_sec=native.number("sandbox", "build_timeout_sec") or DEFAULT_BUILD_TIMEOUT,
        cpus=native.number("sandbox", "cpus"),
        memory_mb=native.number("sandbox", "memory_mb"),
        storage_mb=native.number("sandbox", "storage_mb"),
        gpus=_whole(native.number("sandbox", "gpus")),
        format=task.format,
        content_hash=published if published is not None else task.content_hash,
        findings=tuple(findings),
        replay_verdict=replayed.verdict,
        oracle_runs=replayed.oracle_runs,
        noop_runs=replayed.noop_runs,
        attempts=replayed.attempts,
        solved=replayed.solved,
        oracle_agent_sec=replayed.agent_sec,
        oracle_verifier_sec=replayed.verifier_sec,
    )


def _whole(value: float | None) -> int | None:
    return int(value) if value is not None and abs(value) < _MANY and value == int(value) else None


def _text(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() else None


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _level(declared: Any, tier: str | None) -> int | None:
    match declared:
        case bool():
            return None
        case int() if 1 <= declared <= 5:  # noqa: PLR2004 - the scale itself
            return declared
        case _:
            return LEVELS.get(tier or "")
