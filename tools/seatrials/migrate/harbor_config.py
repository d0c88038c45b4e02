"""A native frontmatter as the data of a Harbor ``task.toml``, and back. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from seatrials.migrate.model import Note, copied
from seatrials.task.document import KeyPath, dotted
from seatrials.task.harbor import to_native_names
from seatrials.task.schema import DOCUMENT_KEYS, TABLES, is_env_name

KEPT: Final = "seatrials_native"
"""The table of `metadata` that holds native keys which Harbor does not know, by dotted path."""

BEYOND_HARBOR: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset({"reward"}),
    "agent": frozenset({"prompt_prefix"}),
    "verifier": frozenset(
        {"type", "reward_range", "service", "judge", "memory", "hardening", "pytest_plugins"}
    ),
    "sandbox": frozenset({"blocked_urls", "blocked_hosts", "setup_commands", "bugswarm_image_tag"}),
    "mcp_server": frozenset({"cwd", "env", "tools", "include_tags", "exclude_tags"}),
    "oracle": frozenset({"timeout_sec"}),
}
"""Keys of BenchFlow's model that ``harbor.models.task.config`` lacks, by table of the schema."""

_STEP: Final = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def harbor_config(native: Mapping[str, Any], notes: list[Note]) -> dict[str, Any]:
    """Return a native frontmatter as the data of a ``task.toml``, and note what Harbor does not know."""
    config = copied(dict(native))
    compat = config.get("benchflow", {}).get("compat") if isinstance(config.get("benchflow"), dict) else None
    extra = compat.get("extra") if isinstance(compat, dict) else None
    if isinstance(extra, dict):
        del config["benchflow"]["compat"]
        if not config["benchflow"]:
            del config["benchflow"]
    kept: dict[str, Any] = {key: config.pop(key) for key in list(config) if key in DOCUMENT_KEYS}
    if isinstance(extra, dict):
        # Before the rest is kept: a table that Harbor lacks takes along what BenchFlow does not know of it.
        _merge(config, to_native_names(extra)[0])
    kept |= {dotted(path): _pop(config, path) for path in list(_beyond(config, "", ()))}
    if kept:
        metadata = config.setdefault("metadata", {})
        metadata[KEPT] = {path: value for path, value in kept.items() if value is not None}
        for name in kept:
            said = f"Harbor does not know `{name}`; it is kept under `metadata.{KEPT}`"
            notes.append(Note(kind="loss", message=said, look=True))
    _inline_env(config)
    return _harbor_names(config)


def restore_kept(config: dict[str, Any]) -> frozenset[str]:
    """Put back what an export kept under `metadata.seatrials_native`; other content stays where it is.

    Returns the document's keys among them, which no ``task.toml`` has otherwise.
    """
    metadata = config.get("metadata")
    kept = metadata.get(KEPT) if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(kept, dict):
        return frozenset()
    back = {path: value for path, value in kept.items() if _put(config, path, value)}
    if len(back) == len(kept):
        del metadata[KEPT]
    else:
        metadata[KEPT] = {path: value for path, value in kept.items() if path not in back}
    return DOCUMENT_KEYS & back.keys()


def _put(config: dict[str, Any], path: str, value: Any) -> bool:
    steps = [int(index) if index else name for name, index in _STEP.findall(path)]
    if not steps or dotted(tuple(steps)) != path:
        return False
    place: Any = config
    for step in steps[:-1]:
        match place:
            case dict() if isinstance(step, str):
                place = place.setdefault(step, {})
            case list() if isinstance(step, int) and step < len(place):
                place = place[step]
            case _:
                return False
    last = steps[-1]
    if not isinstance(place, dict) or last in place:
        return False
    place[last] = value
    return True


def _beyond(config: Mapping[str, Any], table: str, where: KeyPath) -> Iterator[KeyPath]:
    """Yield the paths of what Harbor's model has no place for."""
    keys = TABLES[table]
    for name, value in config.items():
        path = (*where, name)
        key = keys.get(name)
        denylist = name == "network_mode" and value == "denylist"
        if denylist or name in BEYOND_HARBOR.get(table, ()):
            yield path
        elif key is None:
            continue
        elif key.kind == "table" and isinstance(value, dict):
            yield from _beyond(value, key.table, path)
        elif key.kind == "tables" and isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, dict):
                    yield from _beyond(item, key.table, (*path, index))


def _pop(data: Any, path: KeyPath) -> Any:
    for part in path[:-1]:
        data = data[part]
    return data.pop(path[-1])


def _inline_env(config: dict[str, Any]) -> None:
    # BenchFlow takes variables right under the table; Harbor has `env` for them.
    oracle = config.get("oracle")
    if isinstance(oracle, dict):
        inline = [key for key, value in oracle.items() if is_env_name(key) and isinstance(value, str)]
        if inline:
            variables = {key: oracle.pop(key) for key in inline}
            oracle["env"] = {**variables, **oracle.get("env", {})}


def _merge(config: dict[str, Any], extra: Mapping[str, Any]) -> None:
    """Put the keys that were set aside back to where they stood; a key that is there wins."""
    for key, value in extra.items():
        if key not in config:
            config[key] = copied(value)
        elif isinstance(config[key], dict) and isinstance(value, Mapping):
            _merge(config[key], value)
        elif isinstance(config[key], list) and isinstance(value, list):
            for index, item in enumerate(value):
                if item is not None and index < len(config[key]) and isinstance(config[key][index], dict):
                    _merge(config[key][index], item)


def _harbor_names(config: dict[str, Any]) -> dict[str, Any]:
    tables = [config, *(step for step in config.get("steps") or () if isinstance(step, dict))]
    for table in tables:
        if isinstance(verifier := table.get("verifier"), dict):
            table["verifier"] = _renamed(
                verifier, {"sandbox": "environment", "sandbox_mode": "environment_mode"}
            )
    config = _renamed(config, {"sandbox": "environment", "oracle": "solution"})
    if isinstance(environment := config.get("environment"), dict):
        config["environment"] = _renamed(environment, {"image": "docker_image"})
    return config


def _renamed(table: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in table.items()}


def native_names(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a ``task.toml`` in native spelling, with what an export kept put back."""
    native, _ = to_native_names(copied(dict(config)))
    restore_kept(native)
    return native
