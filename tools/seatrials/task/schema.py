"""The configuration schema of a task, as BenchFlow 0.7.11 models it (``benchflow.task.config``).

One table, read by the native view (which keys are BenchFlow's, which go under
``benchflow.compat``) and by `validate` (types, choices, ranges, defaults).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from seatrials.task.document import KeyPath

Kind = Literal[
    "string", "integer", "number", "boolean", "choice", "literal", "user", "strings", "env", "mapping",
    "table", "tables", "paths", "range", "reward",
]  # fmt: skip
"""What a value is. A ``literal`` must be text, a ``choice`` may be bytes; ``paths`` are strings or
tables; a ``range`` is two numbers; a ``reward`` is a number or a mapping of names to numbers."""

Check = Literal[
    "", "positive", "filled", "not-blank", "absolute", "variable", "org-name", "version", "hosts",
    "blocked-hosts", "urls", "filters", "topology", "reward-range",
]  # fmt: skip
"""What is asked of a value beyond its type; `validate` has a function for each."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """What one key may hold.

    `table` names the table of a ``table``, ``tables`` or ``paths`` kind.
    `required` keys must stand in their table; `nullable` ones may be null.
    `default` is the value of a key that is not declared.
    """

    kind: Kind
    table: str = ""
    choices: tuple[str, ...] = ()
    check: Check = ""
    required: bool = False
    nullable: bool = False
    default: Any = None


def _string(default: str = "", *, check: Check = "") -> Key:
    return Key(kind="string", default=default, check=check)


def _maybe(kind: Kind = "string", *, table: str = "", check: Check = "") -> Key:
    return Key(kind=kind, nullable=True, table=table, check=check)


def _needed(*, check: Check = "") -> Key:
    return Key(kind="string", required=True, check=check)


def _list(kind: Kind, table: str = "") -> Key:
    return Key(kind=kind, table=table, default=())


def _number(default: float, *, check: Check = "") -> Key:
    return Key(kind="number", default=default, check=check)


def _integer(default: int) -> Key:
    return Key(kind="integer", default=default)


def _table(table: str) -> Key:
    return Key(kind="table", table=table, default={})


def _choice(*choices: str, default: str | None = None, kind: Kind = "choice") -> Key:
    return Key(kind=kind, choices=choices, default=default, nullable=default is None)


_ENV: Final = Key(kind="env", default={})
_HOSTS: Final = _maybe("strings", check="hosts")
_FILTERS: Final = _maybe("strings", check="filters")

_VARIABLE: Final = re.compile(r"^[A-Z_][A-Z0-9_]*$")

NETWORK_MODES: Final = ("no-network", "public", "allowlist", "denylist")
_ROLE_NETWORK: Final = _choice(*NETWORK_MODES[:3])

TABLES: Final[Mapping[str, Mapping[str, Key]]] = {
    "": {
        "schema_version": _string("1.3", check="version"),
        "version": _string("1.3", check="version"),
        "task": _maybe("table", table="task"),
        "metadata": Key(kind="mapping", default={}),
        "agent": _table("agent"),
        "verifier": _table("verifier"),
        "sandbox": _table("sandbox"),
        "oracle": _table("oracle"),
        "solution": _table("oracle"),
        "source": _maybe(),
        "reward": Key(kind="mapping", default={}),
        "multi_step_reward_strategy": _choice("mean", "final"),
        "steps": _maybe("tables", table="step"),
        "artifacts": _list("paths", "artifact"),
    },
    "task": {
        "name": _needed(check="org-name"),
        "version": _string(),
        "description": _string(),
        "authors": _list("tables", "author"),
        "keywords": _list("strings"),
    },
    "author": {"name": _needed(), "email": _maybe()},
    "agent": {
        "prompt_prefix": _maybe(check="not-blank"),
        "timeout_sec": _maybe("number", check="positive"),
        "user": _maybe("user"),
        "network_mode": _ROLE_NETWORK,
        "allowed_hosts": _HOSTS,
    },
    "verifier": {
        "type": _choice("test-script", "llm-judge", default="test-script", kind="literal"),
        "timeout_sec": _number(600.0, check="positive"),
        "env": _ENV,
        "reward_range": _maybe("range", check="reward-range"),
        "user": _maybe("user"),
        "network_mode": _ROLE_NETWORK,
        "allowed_hosts": _HOSTS,
        "sandbox_mode": _choice("shared", "separate"),
        "sandbox": _maybe("table", table="sandbox"),
        "service": _string("main"),
        "judge": _table("judge"),
        "memory": _table("memory"),
        "hardening": _table("hardening"),
        "pytest_plugins": _list("strings"),
    },
    "judge": {
        "model": _string("claude-sonnet-4-6"),
        "rubric_path": _string("tests/rubric.toml"),
        "input_dir": _string("/app"),
        "input_type": _choice("deliverables", default="deliverables", kind="literal"),
        "context": _string(),
    },
    "memory": {"expected_skills": _maybe("strings")},
    "hardening": {"cleanup_conftests": Key(kind="boolean", default=True)},
    "sandbox": {
        "network_mode": _choice(*NETWORK_MODES, default="public"),
        "allowed_hosts": _HOSTS,
        "blocked_urls": _maybe("strings", check="urls"),
        "blocked_hosts": _maybe("strings", check="blocked-hosts"),
        "build_timeout_sec": _number(600.0),
        "docker_image": _maybe(),
        "image": _maybe(),
        "os": _choice("linux", "windows", default="linux"),
        "cpus": _integer(1),
        "memory_mb": _integer(2048),
        "storage_mb": _integer(10240),
        "gpus": _integer(0),
        "gpu_types": _maybe("strings"),
        "mcp_servers": _list("tables", "mcp_server"),
        "env": _ENV,
        "tpu": _maybe("table", table="tpu"),
        "skills_dir": _maybe(),
        "healthcheck": _maybe("table", table="healthcheck"),
        "workdir": _maybe(),
        "setup_commands": _list("tables", "setup_command"),
        "bugswarm_image_tag": _maybe(),
        "allow_internet": Key(kind="boolean", default=True),
        "memory": _maybe(),
        "storage": _maybe(),
    },
    "tpu": {"type": _needed(check="filled"), "topology": _needed(check="topology")},
    "healthcheck": {
        "command": _needed(),
        "interval_sec": _number(5.0),
        "timeout_sec": _number(30.0),
        "start_period_sec": _number(0.0),
        "start_interval_sec": _number(5.0),
        "retries": _integer(3),
    },
    "setup_command": {
        "command": _needed(check="not-blank"),
        "timeout_sec": _number(600.0, check="positive"),
        "cwd": _maybe(check="absolute"),
        "env": _ENV,
        "user": _maybe("user"),
        "service": _string("main", check="not-blank"),
        "host_lock": _maybe(check="not-blank"),
        "capture_dir": _maybe(check="absolute"),
        "capture_dir_b64_env": _maybe(check="variable"),
        "capture_dir_b64_env_file_var": _maybe(check="variable"),
    },
    "mcp_server": {
        "name": _needed(),
        "transport": _choice("stdio", "sse", "streamable-http", default="sse", kind="literal"),
        "url": _maybe(),
        "command": _maybe(),
        "args": _list("strings"),
        "cwd": _maybe(),
        "env": _ENV,
        "headers": _ENV,
        "tools": _FILTERS,
        "include_tags": _FILTERS,
        "exclude_tags": _FILTERS,
    },
    "oracle": {"env": _ENV, "timeout_sec": _maybe("number")},
    "artifact": {
        "source": _needed(),
        "destination": _maybe(),
        "exclude": _list("strings"),
    },
    "step": {
        "name": _needed(),
        "agent": _table("agent"),
        "verifier": _table("verifier"),
        "min_reward": _maybe("reward"),
        "healthcheck": _maybe("table", table="healthcheck"),
        "artifacts": _list("paths", "artifact"),
    },
}
"""Tables of the configuration by name; the empty name is the top level."""

ALIASES: Final[Mapping[str, Mapping[str, str]]] = {
    "": {"version": "schema_version", "solution": "oracle"},
    "sandbox": {"image": "docker_image"},
}
"""Keys that BenchFlow's model reads as another key of the same table."""

RENAMED: Final[Mapping[str, Mapping[str, str]]] = {
    "": {"environment": "sandbox"},
    "verifier": {"environment": "sandbox", "environment_mode": "sandbox_mode"},
}
"""Keys that BenchFlow refuses since 0.6.8, and what they are called now."""

DOCUMENT_KEYS: Final = frozenset({"agents", "scenes", "user", "benchflow"})
"""Top-level keys that only a ``task.md`` may have."""

SHORTHAND_KEYS: Final = frozenset({"name", "image", "profile", "profiles"})
"""Top-level keys that BenchFlow expands before it validates."""

_LIVE_EVIDENCE: Final[Mapping[str, Any]] = {"benchflow": {"evidence": {"acceptance_live": {}}}}

PROFILES: Final[Mapping[str, Mapping[str, Any]]] = {
    "code-change": {
        "schema_version": "1.3",
        "metadata": {"category": "code-change"},
        "agent": {"timeout_sec": 7200, "network_mode": "no-network"},
        "verifier": {"timeout_sec": 1200, "user": "root"},
        "sandbox": {
            "docker_image": "ubuntu:24.04",
            "network_mode": "no-network",
            "cpus": 4,
            "memory_mb": 8192,
            "storage_mb": 10240,
            "workdir": "/repo",
        },
        "benchflow": {
            "prompt": {"composition": "append", "order": ["base", "role", "scene", "turn"]},
        },
    },
    "harbor-compatible": {
        "schema_version": "1.3",
        "metadata": {"category": "harbor-compatible"},
        "sandbox": {"cpus": 1, "memory_mb": 2048},
        "benchflow": {"compatibility": {"harbor": {}}},
    },
    "reward-kit": {"benchflow": {"verifier": {"implementation": {"type": "reward-kit"}}}},
    "acceptance-live": _LIVE_EVIDENCE,
    "multi-agent": {
        "agents": {
            "roles": {
                "architect": {"agent": "codex-acp"},
                "implementer": {"agent": "codex-acp"},
                "reviewer": {"agent": "claude-agent-acp"},
            }
        },
        "scenes": [
            {"name": "design", "turns": [{"role": "architect"}]},
            {"name": "implement", "turns": [{"role": "implementer"}]},
            {"name": "review", "turns": [{"role": "reviewer"}]},
        ],
    },
    "leaderboard-local": _LIVE_EVIDENCE,
}
"""What each authoring profile of a ``task.md`` declares where the author did not.

Complete for the configuration; of the document keys, as much as decides
whether BenchFlow takes the document.
"""


def unknown_keys(config: Mapping[str, Any], table: str = "", where: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the paths of the keys that BenchFlow's model of a configuration does not know.

    In ``[solution]``, names in capitals with a string are variables of the
    oracle's environment, as BenchFlow reads them. An artifact's keys are left
    alone: BenchFlow's import can't set them aside and refuses the task.
    """
    keys = TABLES[table]
    for name, value in config.items():
        path = (*where, name)
        key = keys.get(name)
        if key is None:
            if table == "oracle" and isinstance(value, str) and is_env_name(name):
                continue
            yield path
        elif table == "sandbox" and name == "image" and "docker_image" in config:
            yield path
        elif key.kind == "table" and isinstance(value, Mapping):
            yield from unknown_keys(value, key.table, path)
        elif key.kind == "tables" and isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, Mapping):
                    yield from unknown_keys(item, key.table, (*path, index))


def is_env_name(name: object) -> bool:
    """Say whether a name is what BenchFlow takes for an environment variable."""
    return isinstance(name, str) and _VARIABLE.match(name) is not None
