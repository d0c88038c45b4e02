"""The configuration schema of a task, as BenchFlow 0.7.11 models it (``benchflow.task.config``).

One table, read by the native view (which keys are BenchFlow's, which go under
``benchflow.compat``) and by the document rules (types, choices, ranges).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from seatrials.task.document import KeyPath

Kind = Literal[
    "string", "integer", "number", "boolean", "user", "strings", "env", "any", "mapping",
    "table", "tables", "paths", "range", "reward",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """What one key may hold.

    `table` names the table of a ``table`` or ``tables`` kind. `positive` asks
    for a finite number above 0. `required` keys must stand in their table;
    `nullable` ones may be null.
    """

    kind: Kind
    table: str = ""
    choices: tuple[str, ...] = ()
    positive: bool = False
    required: bool = False
    nullable: bool = False


def _key(kind: Kind, **extra: Any) -> Key:
    return Key(kind=kind, **extra)


_STRING: Final = _key("string")
_MAYBE_STRING: Final = _key("string", nullable=True)
_STRINGS: Final = _key("strings")
_MAYBE_STRINGS: Final = _key("strings", nullable=True)
_NUMBER: Final = _key("number")
_INTEGER: Final = _key("integer")
_BOOLEAN: Final = _key("boolean")
_ENV: Final = _key("env")
_USER: Final = _key("user", nullable=True)
_MAYBE_SECONDS: Final = _key("number", positive=True, nullable=True)
_SECONDS: Final = _key("number", positive=True)

NETWORK_MODES: Final = ("no-network", "public", "allowlist", "denylist")
_ROLE_NETWORK: Final = _key("string", choices=NETWORK_MODES[:3], nullable=True)

TABLES: Final[Mapping[str, Mapping[str, Key]]] = {
    "": {
        "schema_version": _STRING,
        "version": _STRING,
        "task": _key("table", table="task", nullable=True),
        "metadata": _key("mapping"),
        "agent": _key("table", table="agent"),
        "verifier": _key("table", table="verifier"),
        "sandbox": _key("table", table="sandbox"),
        "oracle": _key("table", table="oracle"),
        "solution": _key("table", table="oracle"),
        "source": _MAYBE_STRING,
        "reward": _key("mapping"),
        "multi_step_reward_strategy": _key("string", choices=("mean", "final"), nullable=True),
        "steps": _key("tables", table="step", nullable=True),
        "artifacts": _key("paths", table="artifact"),
    },
    "task": {
        "name": _key("string", required=True),
        "version": _STRING,
        "description": _STRING,
        "authors": _key("tables", table="author"),
        "keywords": _STRINGS,
    },
    "author": {"name": _key("string", required=True), "email": _MAYBE_STRING},
    "agent": {
        "prompt_prefix": _MAYBE_STRING,
        "timeout_sec": _MAYBE_SECONDS,
        "user": _USER,
        "network_mode": _ROLE_NETWORK,
        "allowed_hosts": _MAYBE_STRINGS,
    },
    "verifier": {
        "type": _key("string", choices=("test-script", "llm-judge")),
        "timeout_sec": _SECONDS,
        "env": _ENV,
        "reward_range": _key("range", nullable=True),
        "user": _USER,
        "network_mode": _ROLE_NETWORK,
        "allowed_hosts": _MAYBE_STRINGS,
        "sandbox_mode": _key("string", choices=("shared", "separate"), nullable=True),
        "sandbox": _key("table", table="sandbox", nullable=True),
        "service": _STRING,
        "judge": _key("table", table="judge"),
        "memory": _key("table", table="memory"),
        "hardening": _key("table", table="hardening"),
        "pytest_plugins": _STRINGS,
    },
    "judge": {
        "model": _STRING,
        "rubric_path": _STRING,
        "input_dir": _STRING,
        "input_type": _key("string", choices=("deliverables",)),
        "context": _STRING,
    },
    "memory": {"expected_skills": _MAYBE_STRINGS},
    "hardening": {"cleanup_conftests": _BOOLEAN},
    "sandbox": {
        "network_mode": _key("string", choices=NETWORK_MODES),
        "allowed_hosts": _MAYBE_STRINGS,
        "blocked_urls": _MAYBE_STRINGS,
        "blocked_hosts": _MAYBE_STRINGS,
        "build_timeout_sec": _NUMBER,
        "docker_image": _MAYBE_STRING,
        "image": _MAYBE_STRING,
        "os": _key("string", choices=("linux", "windows")),
        "cpus": _INTEGER,
        "memory_mb": _INTEGER,
        "storage_mb": _INTEGER,
        "gpus": _INTEGER,
        "gpu_types": _MAYBE_STRINGS,
        "mcp_servers": _key("tables", table="mcp_server"),
        "env": _ENV,
        "tpu": _key("table", table="tpu", nullable=True),
        "skills_dir": _MAYBE_STRING,
        "healthcheck": _key("table", table="healthcheck", nullable=True),
        "workdir": _MAYBE_STRING,
        "setup_commands": _key("tables", table="setup_command"),
        "bugswarm_image_tag": _MAYBE_STRING,
        "allow_internet": _BOOLEAN,
        "memory": _MAYBE_STRING,
        "storage": _MAYBE_STRING,
    },
    "tpu": {"type": _key("string", required=True), "topology": _key("string", required=True)},
    "healthcheck": {
        "command": _key("string", required=True),
        "interval_sec": _NUMBER,
        "timeout_sec": _NUMBER,
        "start_period_sec": _NUMBER,
        "start_interval_sec": _NUMBER,
        "retries": _INTEGER,
    },
    "setup_command": {
        "command": _key("string", required=True),
        "timeout_sec": _SECONDS,
        "cwd": _MAYBE_STRING,
        "env": _ENV,
        "user": _USER,
        "service": _STRING,
        "host_lock": _MAYBE_STRING,
        "capture_dir": _MAYBE_STRING,
        "capture_dir_b64_env": _MAYBE_STRING,
        "capture_dir_b64_env_file_var": _MAYBE_STRING,
    },
    "mcp_server": {
        "name": _key("string", required=True),
        "transport": _key("string", choices=("stdio", "sse", "streamable-http", "http")),
        "url": _MAYBE_STRING,
        "command": _MAYBE_STRING,
        "args": _STRINGS,
        "cwd": _MAYBE_STRING,
        "env": _ENV,
        "headers": _ENV,
        "tools": _MAYBE_STRINGS,
        "include_tags": _MAYBE_STRINGS,
        "exclude_tags": _MAYBE_STRINGS,
    },
    "oracle": {"env": _ENV, "timeout_sec": _key("number", nullable=True)},
    "artifact": {
        "source": _key("string", required=True),
        "destination": _MAYBE_STRING,
        "exclude": _STRINGS,
    },
    "step": {
        "name": _key("string", required=True),
        "agent": _key("table", table="agent"),
        "verifier": _key("table", table="verifier"),
        "min_reward": _key("reward", nullable=True),
        "healthcheck": _key("table", table="healthcheck", nullable=True),
        "artifacts": _key("paths", table="artifact"),
    },
}
"""Tables of the configuration by name; the empty name is the top level."""

DOCUMENT_KEYS: Final = frozenset({"agents", "scenes", "user", "benchflow"})
"""Top-level keys that only a ``task.md`` may have."""

SHORTHAND_KEYS: Final = frozenset({"name", "image", "profile", "profiles"})
"""Top-level keys that BenchFlow expands before it validates."""


def unknown_keys(config: Mapping[str, Any], table: str = "", where: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the paths of the keys that BenchFlow's model of a configuration does not know.

    In ``[solution]``, names in capitals with a string are variables of the
    oracle's environment, as BenchFlow reads them.
    """
    keys = TABLES[table]
    for name, value in config.items():
        path = (*where, name)
        key = keys.get(name)
        if key is None:
            if table == "oracle" and isinstance(value, str) and is_env_name(name):
                continue
            yield path
        elif key.kind == "table" and isinstance(value, Mapping):
            yield from unknown_keys(value, key.table, path)
        elif key.kind in {"tables", "paths"} and isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, Mapping):
                    yield from unknown_keys(item, key.table, (*path, index))


def is_env_name(name: str) -> bool:
    """Say whether a name is what BenchFlow takes for an environment variable."""
    return (
        name.isascii()
        and name.replace("_", "A").isalnum()
        and name.upper() == name
        and not name[:1].isdigit()
    )
