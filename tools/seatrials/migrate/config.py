"""The configuration of a task as a native one: renamed, modernised, completed. Pure.

What is done to the author's keys is what BenchFlow's import does (see
`task.native`); what comes on top is told in a note each.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from seatrials.migrate.harbor_config import restore_kept
from seatrials.migrate.model import Fill, Note, Unreadable, Unsupported, copied
from seatrials.task.document import KeyPath, dotted
from seatrials.task.harbor import split_extra, to_native_names
from seatrials.task.native import author_path, set_aside
from seatrials.task.package import TaskPackage
from seatrials.task.schema import DOCUMENT_KEYS, SHORTHAND_KEYS
from seatrials.task.validate import Fault, load

NEEDED: Final = ("schema_version", "task", "metadata", "agent", "verifier", "sandbox")
"""What the arena's guide asks of a native frontmatter."""

PLACEHOLDER_ORG: Final = "your-org"
"""Stands for the organisation in `task.name` until a person names it."""

_CREDITS: Final = ("author_hub", "license", "origin", "origin_url")
_SIZE: Final = re.compile(r"\s*[0-9]*\.?[0-9]+\s*[GMK]\s*", re.IGNORECASE)
_EXTRA: Final[KeyPath] = ("benchflow", "compat", "extra")


@dataclass(kw_only=True)
class NativeConfig:
    """A native frontmatter in the making."""

    data: dict[str, Any]
    added: set[KeyPath] = field(default_factory=set)
    moved: dict[KeyPath, KeyPath] = field(default_factory=dict)
    extra: tuple[KeyPath, ...] = ()
    notes: list[Note] = field(default_factory=list)

    def new_path(self, path: KeyPath) -> KeyPath:
        """Return where a key of the author's file stands now."""
        native = native_path(path)
        if any(native[: len(one)] == one for one in self.extra):
            return (*_EXTRA, *(path[:1] if path[0] == "solution" else native[:1]), *native[1:])
        for end in range(len(native), 0, -1):
            if (new := self.moved.get(native[:end])) is not None:
                return (*new, *native[end:])
        return native


_TOP_NAMES: Final[Mapping[str | int, str]] = {
    "environment": "sandbox",
    "solution": "oracle",
    "version": "schema_version",
}
_VERIFIER_NAMES: Final[Mapping[str | int, str]] = {
    "environment": "sandbox",
    "environment_mode": "sandbox_mode",
}


def native_path(path: KeyPath) -> KeyPath:
    """Return the path of an author's key in the native spelling."""
    match path:
        case ("verifier", second, *rest):
            return ("verifier", _VERIFIER_NAMES.get(second, second), *rest)
        case ("steps", int() as index, "verifier", second, *rest):
            return ("steps", index, "verifier", _VERIFIER_NAMES.get(second, second), *rest)
        case (first, *rest):
            return (_TOP_NAMES.get(first, first), *rest)
        case _:
            return path


def native_config(task: TaskPackage, fill: Fill) -> NativeConfig:
    """Return the frontmatter that a Harbor or PostTrain task gets.

    Raises `Unreadable` where the author's own file contradicts itself, and
    `Unsupported` where BenchFlow refuses what it says.
    """
    document = task.document
    source = document.frontmatter if document is not None else task.toml.data if task.toml is not None else {}
    renamed, conflicts = to_native_names(copied(dict(source)))
    if conflicts:
        raise Unreadable(conflicts[0])
    if source.get("version", renamed.get("schema_version")) != renamed.get("schema_version"):
        raise Unreadable("`version` and `schema_version` are the same key and differ; keep one")
    restored = restore_kept(renamed)
    config = {"schema_version": renamed.pop("schema_version", "1.3"), **renamed}
    aside = DOCUMENT_KEYS | SHORTHAND_KEYS if document is not None else restored
    known, extra, paths = split_extra({key: value for key, value in config.items() if key not in aside})
    data = {key: known.get(key, value) for key, value in config.items() if key in known or key in aside}
    out = NativeConfig(data=data, extra=paths)
    if "version" not in source and "schema_version" not in source:
        out.added.add(("schema_version",))
    if paths:
        _set_aside(out, set_aside(extra, source))
    _modernise(out)
    _complete(out, task, fill)
    _judge_rubric(out, task)
    _refuse(out, task)
    _credit(out, fill)
    _runtime(out)
    return out


def _set_aside(out: NativeConfig, compat: dict[str, Any]) -> None:
    benchflow = out.data.setdefault("benchflow", {})
    if not isinstance(benchflow, dict) or "compat" in benchflow:
        raise Unsupported("`benchflow.compat` is declared already, and other keys would have to go there")
    benchflow["compat"] = compat
    named = ", ".join(f"`{dotted(path)}`" for path in out.extra)
    keys = (
        "key that BenchFlow does not model" if len(out.extra) == 1 else "keys that BenchFlow does not model"
    )
    out.notes.append(Note(kind="compat", message=f"{keys}, kept under `benchflow.compat`: {named}"))


def _sandboxes(data: Mapping[str, Any]) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    steps = data.get("steps")
    owners: list[tuple[KeyPath, Any]] = [(("verifier",), data.get("verifier"))]
    if isinstance(steps, list):
        owners += [
            (("steps", index, "verifier"), step.get("verifier"))
            for index, step in enumerate(steps)
            if isinstance(step, dict)
        ]
    for path, table in [
        (("sandbox",), data.get("sandbox")),
        *(((*path, "sandbox"), owner.get("sandbox")) for path, owner in owners if isinstance(owner, dict)),
    ]:
        if isinstance(table, dict):
            yield path, table


def _modernise(out: NativeConfig) -> None:
    for path, table in _sandboxes(out.data):
        _modern_network(out, path, table)
        for old, new in (("memory", "memory_mb"), ("storage", "storage_mb")):
            _modern_size(out, path, table, old, new)


def _modern_network(out: NativeConfig, path: KeyPath, table: dict[str, Any]) -> None:
    value = table.get("allow_internet")
    if not isinstance(value, bool):
        return
    old = dotted((*path, "allow_internet"))
    beside = next((key for key in ("network_mode", "allowed_hosts", "blocked_hosts", "blocked_urls")
                   if key in table), None)  # fmt: skip
    if beside is not None:
        said = f"`{old}` is deprecated; it stays, since `{beside}` stands beside it and may overrule it"
        out.notes.append(Note(kind="kept", message=said, look=True))
        return
    mode = "public" if value else "no-network"
    _replace(out, path, table, "allow_internet", "network_mode", mode)
    said = f"`{old}: {str(value).lower()}` is now `network_mode: {mode}`, which means the same"
    out.notes.append(Note(kind="modern", message=said))


def _modern_size(out: NativeConfig, path: KeyPath, table: dict[str, Any], old: str, new: str) -> None:
    value = table.get(old)
    if not isinstance(value, str) or not _SIZE.fullmatch(value):
        return  # BenchFlow refuses other forms, and `_refuse` says so
    if new in table:
        said = f"`{dotted((*path, old))}` is deprecated; it stays, since `{new}` stands beside it"
        out.notes.append(Note(kind="kept", message=said, look=True))
        return
    number, unit = float(value.strip()[:-1]), value.strip()[-1].upper()
    megabytes = int({"G": number * 1024, "M": number, "K": number / 1024}[unit])
    _replace(out, path, table, old, new, megabytes)
    said = f"`{dotted((*path, old))}: {value}` is now `{new}: {megabytes}`, which means the same"
    out.notes.append(Note(kind="modern", message=said))


def _replace(
    out: NativeConfig, path: KeyPath, table: dict[str, Any], old: str, new: str, value: object
) -> None:
    items = [(new, value) if key == old else (key, one) for key, one in table.items()]
    table.clear()
    table.update(items)
    out.moved[*path, old] = (*path, new)


def _complete(out: NativeConfig, task: TaskPackage, fill: Fill) -> None:
    if not isinstance(out.data.get("task", {}), dict):
        return  # `_refuse` says what it must be
    declared = out.data.get("task") or {}
    if "name" not in declared:
        org = fill.org or fill.author_hub or PLACEHOLDER_ORG
        name = f"{org}/{slug(task.name)}"
        if "task" not in out.data:
            first = {key: out.data[key] for key in ("schema_version",)}
            out.data = {**first, "task": {}, **{k: v for k, v in out.data.items() if k not in first}}
            out.added.add(("task",))
        out.data["task"] = {"name": name, **declared}
        out.added.add(("task", "name"))
        out.notes.append(Note(kind="added", message=f"`task.name` is `{name}`", group="`task.name` added"))
        if org == PLACEHOLDER_ORG:
            said = (
                f"`task.name`: put your organisation in place of `{PLACEHOLDER_ORG}` (`--org NAME` does it)"
            )
            out.notes.append(Note(kind="person", message=said, look=True))
    for key in NEEDED:
        if key not in out.data:
            out.data[key] = {}
            out.added.add((key,))
            out.notes.append(Note(kind="added", message=f"`{key}` is there, empty: the arena asks for it"))


def slug(name: str) -> str:
    """Return a folder's name as the second half of a `task.name`."""
    return re.sub(r"\.{2,}", ".", re.sub(r"[^A-Za-z0-9._-]+", "-", name)).strip("-._") or "task"


def _judge_rubric(out: NativeConfig, task: TaskPackage) -> None:
    verifier = out.data.get("verifier")
    judge = verifier.get("judge") if isinstance(verifier, dict) else None
    value = judge.get("rubric_path") if isinstance(judge, dict) else None
    if (
        isinstance(judge, dict)
        and isinstance(value, str)
        and value.startswith("tests/")
        and value in task.files
    ):
        judge["rubric_path"] = "verifier/" + value.removeprefix("tests/")
        out.moved["verifier", "judge", "rubric_path"] = ("verifier", "judge", "rubric_path")
        said = f"`verifier.judge.rubric_path` follows its file: `{judge['rubric_path']}`"
        out.notes.append(Note(kind="path", message=said))


def _refuse(out: NativeConfig, task: TaskPackage) -> None:
    config = {key: value for key, value in out.data.items() if key not in DOCUMENT_KEYS | SHORTHAND_KEYS}
    faults = load(config).faults
    if faults:
        more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
        raise Unsupported(f"BenchFlow refuses it: {say(faults[0], harbor=task.document is None)}{more}")
    if isinstance(steps := out.data.get("steps"), list) and steps:
        raise Unsupported("it has several steps; BenchFlow 0.7.11 reads `steps` but can't run them")
    if out.data["sandbox"].get("os") == "windows":
        raise Unsupported("it is for Windows; BenchFlow 0.7.11 reads `os: windows` but can't run it")


def say(fault: Fault, *, harbor: bool) -> str:
    """Return a fault as a clause that names the key in the author's spelling."""
    path = author_path(fault.path) if harbor else fault.path
    return f"`{dotted(path)}` {fault.says}" if path else fault.says


def _credit(out: NativeConfig, fill: Fill) -> None:
    metadata = out.data["metadata"]
    given = {"author_hub": fill.author_hub, "license": fill.license, "origin": fill.origin}
    given["origin_url"] = fill.origin_url
    if fill.origin_url and not fill.origin and not metadata.get("origin"):
        given["origin"] = "adapted"  # the guide: derived from something that is at `origin_url`
    for key, value in given.items():
        if value and not metadata.get(key):
            if key in metadata:
                out.moved["metadata", key] = ("metadata", key)
            metadata[key] = value
            out.added.add(("metadata", key))
            out.notes.append(Note(kind="credit", message=f"`metadata.{key}` is `{value}`"))
    if missing := uncredited(out.data):
        named = ", ".join(f"`metadata.{key}`" for key in missing)
        out.notes.append(Note(kind="credit", message=f"not declared: {named}", look=True))


def uncredited(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the credit fields that the arena asks for and a configuration leaves out."""
    found = config.get("metadata")
    metadata = found if isinstance(found, dict) else {}
    asked = ["author_hub", "license", "category", "origin"]
    asked += ["origin_url"] if metadata.get("origin") == "adapted" else []
    return tuple(key for key in asked if not metadata.get(key))


_RUNTIME: Final[tuple[tuple[KeyPath, Callable[[Any], bool], str], ...]] = (
    (("sandbox", "gpus"), bool, "schedules no GPUs"),
    (("sandbox", "gpu_types"), bool, "schedules no GPUs"),
    (("sandbox", "tpu"), bool, "schedules no TPUs"),
    (("artifacts",), bool, "collects no artifacts"),
)
"""Keys that BenchFlow's model takes and its runtime refuses (``benchflow.task.runtime_capabilities``)."""


def _runtime(out: NativeConfig) -> None:
    for path, matters, said in _RUNTIME:
        value: Any = out.data
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        if matters(value):
            message = f"`{dotted(path)}`: BenchFlow 0.7.11 reads it, but {said} and refuses to run the task"
            out.notes.append(Note(kind="runtime", message=message, look=True))
