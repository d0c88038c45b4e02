"""A configuration against BenchFlow's schema: what it would refuse, and the values it would read.

Neither stricter nor laxer than ``TaskConfig`` of BenchFlow 0.7.11: the
conformance tests compare both the verdict and the values with the installed
model.
"""

import ipaddress
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import Any, Final, Literal, assert_never
from urllib.parse import urlsplit

from seatrials.task import coerce
from seatrials.task.coerce import Refused
from seatrials.task.document import KeyPath
from seatrials.task.schema import (
    ALIASES,
    DOCUMENT_KEYS,
    RENAMED,
    SHORTHAND_KEYS,
    TABLES,
    Check,
    Key,
    is_env_name,
)

FaultKind = Literal["unknown", "renamed", "type", "value", "name", "network", "reward", "version", "document"]

_SUPPORTED_MAJORS: Final = (1,)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One thing that BenchFlow refuses: where it is, and a phrase that goes on from the key's name."""

    kind: FaultKind
    path: KeyPath
    says: str


@dataclass(kw_only=True)
class Loaded:
    """What came of a configuration: BenchFlow's values (defaults filled in), and the faults.

    `values` is of use only where there is no fault.
    """

    values: dict[str, Any]
    faults: list[Fault] = field(default_factory=list)


def load(config: Mapping[str, Any]) -> Loaded:
    """Read a configuration (no document keys, no shorthands) as BenchFlow's model does."""
    loader = _Loader()
    values = loader.table("", dict(config), ())
    return Loaded(values=values, faults=loader.faults)


class _Loader:
    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def fault(self, kind: FaultKind, path: KeyPath, says: str) -> None:
        self.faults.append(Fault(kind=kind, path=path, says=says))

    def table(self, table: str, data: Any, path: KeyPath) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.fault("type", path, "must be a mapping")
            return {}
        before = len(self.faults)
        keys = TABLES[table]
        found = self._by_key(table, data, path)
        settled, own = _defaults(table)
        values = {**settled, **{name: default.copy() for name, default in own}}
        for name in values:
            if name in found:
                author_name, value = found[name]
                values[name] = self._value(keys[name], value, (*path, author_name))
            elif keys[name].required:
                self.fault("value", (*path, name), "is required")
        if len(self.faults) == before:
            self._whole(table, values, path, declared=found.keys())
        return values

    def _by_key(self, table: str, data: dict[Any, Any], path: KeyPath) -> dict[str, tuple[str, Any]]:
        """Return the known keys of a table with the name the author used; the others are faults."""
        keys, aliases, renamed = TABLES[table], ALIASES.get(table, {}), RENAMED.get(table, {})
        found: dict[str, tuple[str, Any]] = {}
        variables: dict[str, str] = {}
        for name, value in data.items():
            here = (*path, name if isinstance(name, str) else str(name))
            target = aliases.get(name, name)
            if name in renamed:
                self.fault("renamed", here, f"was renamed to `{renamed[name]}`, and BenchFlow refuses it")
            elif not isinstance(name, str) or name not in keys:
                if table == "oracle" and isinstance(value, str) and is_env_name(name):
                    variables[name] = value
                else:
                    self.fault("unknown", here, "is not a key that BenchFlow knows" + hint(str(name), table))
            elif target != name and target in data:
                if name != "version":
                    kind: FaultKind = "unknown" if table == "sandbox" else "renamed"
                    self.fault(kind, here, f"stands beside `{target}`, which is the same; keep that one")
            else:
                found[target] = (name, value)
        if table == "oracle":
            self._inline_env(found, variables, path)
        return found

    def _inline_env(
        self, found: dict[str, tuple[str, Any]], variables: dict[str, str], path: KeyPath
    ) -> None:
        declared = found.get("env", ("env", None))[1]
        if declared is None:
            declared = {}
        if not isinstance(declared, dict):
            return  # the type of `env` is the fault
        for name, value in variables.items():
            if declared.get(name, value) not in (None, value):
                self.fault("value", (*path, name), f"differs from `env.{name}`")
        found["env"] = ("env", {**declared, **variables})

    def _value(self, key: Key, value: Any, path: KeyPath) -> Any:
        if value is None and key.nullable:
            return None
        try:
            taken = self._typed(key, value, path)
        except Refused as refused:
            shown = f", not {_shown(value)}" if str(refused).startswith("must be") else ""
            says = str(refused).replace("; quote it", "") + shown
            self.fault("type", path, says + ("; quote it" if "; quote it" in str(refused) else ""))
            return None
        if key.check and taken is not None:
            try:
                return CHECKS[key.check](taken)
            except Refused as refused:
                self.fault(_KINDS.get(key.check, "value"), path, str(refused))
        return taken

    def _typed(self, key: Key, value: Any, path: KeyPath) -> Any:  # noqa: PLR0912 - a table in code
        match key.kind:
            case "string":
                return coerce.string(value)
            case "integer":
                return coerce.integer(value)
            case "number":
                return coerce.number(value)
            case "boolean":
                return coerce.boolean(value)
            case "choice" | "literal":
                return _choice(key, value)
            case "user":
                return coerce.user(value)
            case "strings":
                return coerce.items(value, coerce.string, "strings")
            case "env":
                return coerce.mapping(value, coerce.string, "strings")
            case "mapping":
                return coerce.mapping(value, lambda item: item, "values")
            case "range":
                pair = coerce.items(value, coerce.number, "two numbers")
                if len(pair) != 2:  # noqa: PLR2004 - a range has two ends
                    raise Refused("must be a list of two numbers")
                return pair
            case "reward":
                if isinstance(value, dict):
                    return coerce.mapping(value, coerce.number, "numbers")
                return coerce.number(value)
            case "table":
                return self.table(key.table, value, path)
            case "tables" | "paths":
                if not isinstance(value, list | tuple | set | frozenset):
                    raise Refused("must be a list")
                return [self._item(key, item, (*path, index)) for index, item in enumerate(value)]
            case _:
                assert_never(key.kind)

    def _item(self, key: Key, item: Any, path: KeyPath) -> Any:
        if key.kind == "paths" and not isinstance(item, dict):
            return coerce.string(item)
        return self.table(key.table, item, path)

    def _whole(self, table: str, values: dict[str, Any], path: KeyPath, *, declared: Any) -> None:
        """Check what depends on several keys of one table, and settle them as BenchFlow does."""
        match table:
            case "sandbox":
                self._network(values, path)
                self._sizes(values, path)
                self._internet(values, path, explicit="network_mode" in declared)
            case "agent":
                self._network(values, path)
            case "verifier":
                self._network(values, path)
                if values["sandbox_mode"] == "shared" and values["sandbox"] is not None:
                    self.fault("value", (*path, "sandbox_mode"), "is `shared`, so there can be no `sandbox`")
            case "mcp_server":
                needed = "command" if values["transport"] == "stdio" else "url"
                if not values[needed]:
                    says = f"is required with the transport `{values['transport']}`"
                    self.fault("value", (*path, needed), says)
            case "setup_command":
                self._captures(values, path)
            case _:
                pass

    def _network(self, values: dict[str, Any], path: KeyPath) -> None:
        mode = values["network_mode"]
        blocked = values.get("blocked_urls") or values.get("blocked_hosts")
        at = (*path, "network_mode")
        if mode == "allowlist" and not values["allowed_hosts"]:
            self.fault("network", at, "is `allowlist`, so `allowed_hosts` must name a host")
        if mode != "allowlist" and values["allowed_hosts"]:
            self.fault("network", (*path, "allowed_hosts"), "needs `network_mode: allowlist`")
        if mode == "denylist" and not blocked:
            self.fault("network", at, "is `denylist`, so `blocked_hosts` or `blocked_urls` must name one")
        if mode != "denylist" and blocked:
            name = "blocked_urls" if values.get("blocked_urls") else "blocked_hosts"
            self.fault("network", (*path, name), "needs `network_mode: denylist`")

    def _internet(self, values: dict[str, Any], path: KeyPath, *, explicit: bool) -> None:
        if values["allow_internet"] is False and values["network_mode"] != "no-network":
            if explicit:
                says = f"is false, against `network_mode: {values['network_mode']}`; drop it"
                self.fault("network", (*path, "allow_internet"), says)
                return
            values["network_mode"] = "no-network"
            self._network(values, path)
        if values["network_mode"] == "no-network":
            values["allow_internet"] = False

    def _sizes(self, values: dict[str, Any], path: KeyPath) -> None:
        for name in ("memory", "storage"):
            text = values[name]
            if text is not None:
                try:
                    values[f"{name}_mb"] = _megabytes(text)
                except (ValueError, OverflowError):
                    self.fault("value", (*path, name), "must be a size such as `512M` or `2G`")
                values[name] = None

    def _captures(self, values: dict[str, Any], path: KeyPath) -> None:
        if bool(values["capture_dir"]) != bool(values["capture_dir_b64_env"]):
            name = "capture_dir" if values["capture_dir"] else "capture_dir_b64_env"
            self.fault("value", (*path, name), "needs both `capture_dir` and `capture_dir_b64_env`")
        if values["capture_dir_b64_env_file_var"] and not values["capture_dir_b64_env"]:
            path = (*path, "capture_dir_b64_env_file_var")
            self.fault("value", path, "needs `capture_dir_b64_env`")


@cache
def _defaults(table: str) -> tuple[dict[str, Any], tuple[tuple[str, Any], ...]]:
    """Return what each key of a table is where it is not declared, in the schema's order.

    The second part names again those that each reader must have a copy of.
    """
    out: dict[str, Any] = {}
    for name, key in TABLES[table].items():
        if name in ALIASES.get(table, ()):
            continue
        if key.kind == "table" and not key.nullable:
            out[name] = _default_table(key.table)
        else:
            out[name] = [] if key.default == () else key.default
    own = [name for name, value in out.items() if isinstance(value, dict | list)]
    return out, tuple((name, out[name]) for name in own if TABLES[table][name].kind != "table")


@cache
def _default_table(table: str) -> dict[str, Any]:
    """Return a table of which nothing is declared; shared, and never changed."""
    return _Loader().table(table, {}, ())


def hint(name: str, table: str) -> str:
    """Say which known key an unknown one may be meant as; empty where none is near."""
    keys = set(TABLES[table])
    if not table:
        keys |= DOCUMENT_KEYS | SHORTHAND_KEYS
    if near := get_close_matches(name, sorted(keys), n=1, cutoff=0.75):
        return f"; `{near[0]}` is"
    if table in {"", "task", "agent", "verifier", "sandbox", "oracle"}:
        homes = [home for home in ("agent", "verifier", "sandbox", "task", "oracle") if name in TABLES[home]]
        if homes:
            return "; it belongs under " + " or ".join(f"`{home}`" for home in homes)
    return "; own data can go under `metadata`" if not table else ""


def _shown(value: Any) -> str:
    match value:
        case None:
            return "null"
        case dict():
            return "a mapping"
        case list() | tuple() | set() | frozenset():
            return "a list"
        case bool():
            return f"`{str(value).lower()}`"
        case str():
            return f"`{' '.join(value[:60].split())}`" if value.strip() else "empty"
        case int() if value.bit_length() > 200:  # noqa: PLR2004 - str() refuses an integer of thousands of digits
            return "an enormous number"
        case _:
            return f"`{str(value)[:60]}`"


def _choice(key: Key, value: Any) -> str:
    if "streamable-http" in key.choices and value == "http":
        value = "streamable-http"
    if "windows" in key.choices and isinstance(value, str):
        value = value.lower()
    return coerce.choice(value, key.choices, literal=key.kind == "literal")


def _positive(value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise Refused("must be a finite number above 0")
    return value


def _filled(value: str) -> str:
    if not value:
        raise Refused("must not be empty")
    return value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise Refused("must not be empty")
    return value.strip()


def _absolute(value: str) -> str:
    if not value.strip().startswith("/"):
        raise Refused("must be an absolute path")
    return value.strip()


def _variable(value: str) -> str:
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", value.strip()):
        raise Refused("must be the name of an environment variable, in capitals")
    return value.strip()


# Matched with re.match, as BenchFlow does: a line break may end the name or the label.
_ORG_NAME: Final = re.compile(r"^[a-zA-Z0-9][a-zA-Z0-9._-]*/[a-zA-Z0-9][a-zA-Z0-9._-]*$")
_HOST_LABEL: Final = re.compile(r"^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$")
_TOPOLOGY: Final = re.compile(r"^[1-9]\d*(x[1-9]\d*)+$")


def is_name(text: str) -> bool:
    """Say whether a text is a name as `task.name` must be: ``org/name``."""
    return _ORG_NAME.match(text) is not None and ".." not in text


def _org_name(value: str) -> str:
    if not is_name(value):
        raise Refused(f"is {_shown(value)}; it must be `org/name`")
    return value


def _version(value: str) -> str:
    try:
        major = int(value.split(".", 1)[0])
    except ValueError:
        raise Refused(f"is {_shown(value)}; it must be `MAJOR.MINOR`, as in `1.3`") from None
    if major not in _SUPPORTED_MAJORS:
        raise Refused(f"has the major {_shown(major)}; BenchFlow reads 1 only")
    return value


def _host(raw: str) -> str:
    host = raw.strip().lower().rstrip(".")
    if not host or any(mark in host for mark in ("://", "/", ":")):
        raise Refused(f"must hold host names only, no URL, port or path; {_shown(raw)} is none")
    if not all(_HOST_LABEL.match(label) for label in host.split(".")):
        raise Refused(f"must hold host names only; {_shown(raw)} is none")
    return host


def _hosts(value: list[str]) -> list[str]:
    return [_host(item) for item in value]


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _blocked_hosts(value: list[str]) -> list[str]:
    hosts = _hosts(value)
    for host in hosts:
        if _is_address(host):
            raise Refused(f"must hold host names only; `{host}` is an address")
    return hosts


def _urls(value: list[str]) -> list[str]:
    out: dict[str, None] = {}
    for raw in value:
        url = raw.strip()
        if not url:
            raise Refused("must hold URLs; one is empty")
        try:
            parts = urlsplit(url if "://" in url else f"https://{url}")
        except ValueError:
            raise Refused(f"must hold URLs; {_shown(raw)} is none") from None
        if parts.scheme not in {"http", "https"} or "@" in parts.netloc or ":" in parts.netloc:
            raise Refused(f"must hold `http` or `https` URLs without user or port; {_shown(raw)} is another")
        host = _host(parts.netloc)
        if _is_address(host):
            raise Refused(f"must name hosts; `{host}` is an address")
        out.setdefault(f"{parts.scheme}://{host}{parts.path.rstrip('/')}")
    return list(out)


def _filters(value: list[str]) -> list[str]:
    kept = [item.strip() for item in value if item.strip()]
    if not kept:
        raise Refused("must hold at least one name")
    return kept


def _topology(value: str) -> str:
    if not _TOPOLOGY.match(value.strip()):
        raise Refused("must look like `2x4`")
    return value.strip()


def _reward_range(value: list[float]) -> tuple[float, float]:
    low, high = value
    if not (math.isfinite(low) and math.isfinite(high)) or low > 0.0 or high < 1.0:
        raise Refused("can only widen [0, 1]: the first number at most 0, the second at least 1, both finite")
    return low, high


def _megabytes(text: str) -> int:
    size = text.strip().upper()
    factor = {"G": 1024.0, "M": 1.0, "K": 1 / 1024}.get(size[-1:])
    if factor is None:
        raise ValueError(text)
    number = float(size[:-1])
    return int(number / 1024) if size.endswith("K") else int(number * factor)


CHECKS: Final[Mapping[Check, Callable[[Any], Any]]] = {
    "positive": _positive,
    "filled": _filled,
    "not-blank": _not_blank,
    "absolute": _absolute,
    "variable": _variable,
    "org-name": _org_name,
    "version": _version,
    "hosts": _hosts,
    "blocked-hosts": _blocked_hosts,
    "urls": _urls,
    "filters": _filters,
    "topology": _topology,
    "reward-range": _reward_range,
}

_KINDS: Final[Mapping[Check, FaultKind]] = {
    "org-name": "name",
    "version": "version",
    "hosts": "network",
    "blocked-hosts": "network",
    "urls": "network",
    "reward-range": "reward",
}
