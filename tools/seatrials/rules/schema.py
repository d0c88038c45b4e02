"""SCH: the configuration against BenchFlow's schema.

Source: BenchFlow 0.7.11, ``benchflow.task.config`` and its authoring layer. A
``task.toml`` is judged as the native configuration that it becomes.
"""

from collections.abc import Iterator
from typing import Final

from seatrials.rules.model import Hit, TaskRule
from seatrials.task.document import KeyPath, dotted
from seatrials.task.package import TaskPackage
from seatrials.task.validate import Fault, FaultKind


def _hit(task: TaskPackage, path: KeyPath, says: str) -> Hit:
    line = task.config_line(path) or (1 if task.document is not None else None)
    where = f"`{dotted(path)}` " if path else ""
    return Hit(path=task.config_file, line=line, message=f"{where}{says}")


def _faults(task: TaskPackage, *kinds: FaultKind) -> Iterator[Hit]:
    for fault in task.faults:
        if fault.kind in kinds:
            yield _hit(task, fault.path, fault.says)


def _is_kept(task: TaskPackage, fault: Fault) -> bool:
    """Say whether BenchFlow's import keeps the unknown key of a ``task.toml``; it can't in an artifact."""
    return task.document is None and "artifacts" not in fault.path


def unknown_key(task: TaskPackage) -> Iterator[Hit]:
    """The configuration has only keys that BenchFlow knows.

    Why: BenchFlow refuses a `task.md` with any other key. From a `task.toml`
    its import keeps them aside, except in an artifact.

    Fix: correct the key, or move own data under `metadata`, which is free.
    """
    for fault in task.faults:
        if fault.kind == "unknown" and not _is_kept(task, fault):
            yield _hit(task, fault.path, fault.says)


def misspelt_key(task: TaskPackage) -> Iterator[Hit]:
    """A key of `task.toml` is not a near miss of one that BenchFlow knows.

    Why: an import keeps unknown keys aside, so a misspelt one has no effect.

    Fix: correct the key, if that is what it should be.
    """
    for fault in task.faults:
        if fault.kind == "unknown" and _is_kept(task, fault) and fault.says.endswith("` is"):
            yield _hit(task, fault.path, fault.says)


def renamed_key(task: TaskPackage) -> Iterator[Hit]:
    """The configuration uses the present names of its tables, each once.

    Why: since 0.6.8 BenchFlow refuses `environment` (now `sandbox`) and
    `environment_mode` (now `sandbox_mode`) in a `task.md`, and it refuses two
    names of one table in any file.

    Fix: rename the key, or keep one of the two.
    """
    yield from _faults(task, "renamed")


def wrong_type(task: TaskPackage) -> Iterator[Hit]:
    """Each value has the type that BenchFlow reads.

    Why: BenchFlow refuses any other. It reads `"5"` as 5, but not `5` as
    `"5"`: a variable of an `env` must be quoted.

    Fix: write the value in the type named.
    """
    yield from _faults(task, "type")


def wrong_value(task: TaskPackage) -> Iterator[Hit]:
    """Each value is one that BenchFlow takes, and what is required is there.

    Why: BenchFlow refuses a time limit of 0 or less, a size without a unit, a
    relative working directory, a server without its address, and the like.

    Fix: write a value as the message says.
    """
    yield from _faults(task, "value")


def network_policy(task: TaskPackage) -> Iterator[Hit]:
    """The network settings agree with each other.

    Why: BenchFlow refuses `allow_internet: false` beside a `network_mode`
    that gives network, an allowlist without hosts, hosts without the mode
    they belong to, and anything but plain host names in a list of hosts.

    Fix: declare `network_mode` alone, with the list that it asks for.
    """
    yield from _faults(task, "network")


def reward_range(task: TaskPackage) -> Iterator[Hit]:
    """`verifier.reward_range` widens [0, 1], if it is there.

    Why: 0 must go on meaning that nothing was done, and 1 that the task is
    solved; BenchFlow refuses a range that leaves one out.

    Fix: drop the key, or write a range such as `[-1, 1]`.
    """
    yield from _faults(task, "reward")


def schema_version(task: TaskPackage) -> Iterator[Hit]:
    """`schema_version` has a major that BenchFlow reads.

    Why: it reads version 1 and refuses every other.

    Fix: write `schema_version: "1.3"`, in quotes: a bare 1.3 is a number,
    which BenchFlow refuses for its type.
    """
    yield from _faults(task, "version")


def document_keys(task: TaskPackage) -> Iterator[Hit]:
    """Profiles, roles, scenes and the simulated user are well formed.

    Why: BenchFlow refuses an unknown authoring profile, a role without an
    `agent`, a turn of a role that is not declared, and the like.

    Fix: correct the key named.
    """
    yield from _faults(task, "document")


_OLD_KEYS: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("sandbox", "allow_internet"), "`network_mode`"),
    (("sandbox", "memory"), "`memory_mb`"),
    (("sandbox", "storage"), "`storage_mb`"),
    (("solution",), "`oracle`"),
    (("version",), "`schema_version`"),
)


def deprecated_key(task: TaskPackage) -> Iterator[Hit]:
    """A `task.md` uses no deprecated key.

    Why: BenchFlow still reads `allow_internet`, `memory`, `storage`,
    `solution` and `version`, but has named each one's successor.

    Fix: write the key that the message names.
    """
    if task.document is None:
        return
    for path, now in _OLD_KEYS:
        table = task.document.frontmatter if len(path) == 1 else task.document.frontmatter.get(path[0])
        if isinstance(table, dict) and path[-1] in table:
            yield _hit(task, path, f"is deprecated; write {now}")


_LEAST: Final[tuple[tuple[tuple[str, ...], float, str], ...]] = (
    (("agent", "timeout_sec"), 10, "seconds"),
    (("verifier", "timeout_sec"), 1, "second"),
    (("sandbox", "build_timeout_sec"), 10, "seconds"),
    (("sandbox", "cpus"), 1, "processor"),
    (("sandbox", "memory_mb"), 64, "MiB"),
    (("sandbox", "storage_mb"), 64, "MiB"),
)
_DAY: Final = 24 * 3600
_TERABYTE: Final = 1024 * 1024


def doubtful_number(task: TaskPackage) -> Iterator[Hit]:
    """Limits are in the unit that their key names, and can be met.

    Why: BenchFlow takes `cpus: 0`, 4 for 4 GB in `memory_mb` and milliseconds
    in `timeout_sec`, and the sandbox then fails or never ends.

    Fix: write seconds in `_sec`, MiB in `_mb`, whole processors in `cpus`.
    """
    native = task.native
    for path, least, unit in _LEAST:
        value = native.number(*path)
        if value is None:
            continue
        here = task.author_path(path)
        if value < least:
            yield _hit(task, here, f"is {value:g}; at least {least:g} {unit} would make sense")
        elif path[-1].endswith("_sec") and value > _DAY:
            yield _hit(task, here, f"is {value:g} seconds, over a day; is it in milliseconds?")
        elif path[-1].endswith("_mb") and value > _TERABYTE:
            yield _hit(task, here, f"is {value:g} MiB, over a TiB; is it in bytes or KiB?")


def not_run(task: TaskPackage) -> Iterator[Hit]:
    """The task declares nothing that BenchFlow reads but does not run.

    Why: BenchFlow 0.7.11 parses steps, artifacts, GPUs, TPUs, Windows and
    network allowlists, and then refuses to start a trial that needs them.

    Fix: do without, or run the task with Harbor; the arena runs BenchFlow.
    """
    native = task.native
    for path, what in (
        (("steps",), "steps"),
        (("artifacts",), "artifacts"),
        (("sandbox", "gpus"), "GPUs"),
        (("sandbox", "gpu_types"), "GPUs"),
        (("sandbox", "tpu"), "TPUs"),
    ):
        if native.get(*path):
            yield _hit(task, task.author_path(path), f"is declared, and BenchFlow runs no task with {what}")
    if native.get("sandbox", "os") == "windows":
        yield _hit(task, task.author_path(("sandbox", "os")), "is `windows`, and BenchFlow runs Linux only")
    for table in ("agent", "sandbox", "verifier"):
        if native.get(table, "network_mode") == "allowlist":
            here = task.author_path((table, "network_mode"))
            yield _hit(task, here, "is `allowlist`, and BenchFlow refuses to run what it can't enforce")


_READ: Final = ("DOC101", "STR108")

RULES: Final = (
    TaskRule("SCH101", "error", unknown_key, requires=_READ),
    TaskRule("SCH102", "error", renamed_key, requires=_READ),
    TaskRule("SCH103", "error", wrong_type, requires=_READ),
    TaskRule("SCH104", "error", wrong_value, requires=_READ),
    TaskRule("SCH105", "error", network_policy, requires=_READ),
    TaskRule("SCH106", "error", reward_range, requires=_READ),
    TaskRule("SCH107", "error", schema_version, requires=_READ),
    TaskRule("SCH108", "error", document_keys, requires=_READ),
    TaskRule("SCH109", "warning", misspelt_key, requires=_READ),
    TaskRule("SCH110", "warning", deprecated_key, requires=_READ),
    TaskRule("SCH111", "warning", doubtful_number, requires=_READ),
    TaskRule("SCH112", "warning", not_run, requires=_READ),
)
