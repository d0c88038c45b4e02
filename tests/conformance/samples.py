"""Configurations, documents and verifier documents for both sides to judge: many right, many nearly so.

Everything comes from a seeded generator, so that a mismatch can be had again
from the number in its message.
"""

from random import Random
from typing import Any

from seatrials.task.schema import TABLES, Key

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, 2, -1, 0.0, 1.0, 1.5, 2.0**63, float("nan"), float("inf"), 10**400,
    "", " ", "5", " 5 ", "5.0", "5.", "5.5", "1e3", "1_000", "_1", "1__0", "+5", "0x10", "nan", "inf",
    "\u00a05", "\u0663", "true", "TRUE", "yes", "n", "on", " true", "x", "a/b", "a/b\n", "a..b/c", "-a/b",
    "public", "PUBLIC", "no-network", "allowlist", "denylist", "1.3", "2.0", "1", "one", "root", "stdio",
    "http", "sse", "HTTP", "Linux", "windows", "/a", "a", "512M", "2g", "1K", "2048", "xG", "nanG",
    "infG", "FOO", "foo", "2x4", "2x0", "mean", "final", "shared", "separate", "test-script", "llm-judge",
    "deliverables",
    b"5", b"public", b"\xff", [], {}, ["a"], ["a.com", "B.org."], ["http://a"], ["-a"], [" "], [1], [b"a"],
    ["1.2.3.4"], ["https://a.com/x?y"], ["https://u@a.com"], ["ftp://a.com"], ["https://[a"], {"a": "b"},
    {"a": 1}, {"A": "x"}, {1: "a"}, {b"a": "b"}, [0, 1], [-1, 1], [0.5, 2], ["0", "1"], [0, 1, 2],
    [float("nan"), 1], {0.0, 1.0}, ("a",), {"a"},
)  # fmt: skip
"""Values of every type that YAML and TOML have, at and beside the edge of what some key takes."""

_GOOD: dict[str, tuple[Any, ...]] = {
    "string": ("x", "a/b", "1.3", "/a", "FOO", "2x4", "512M"),
    "strings": (["a.com"], ["b.org", "a.com."], [], ["x"]),
    "env": ({}, {"A": "1"}),
    "mapping": ({}, {"a": [1, None]}),
    "number": (1, 2.5, "7", 0),
    "integer": (1, 2, "7", 4.0),
    "boolean": (True, False, "no"),
    "user": ("root", 1000),
    "range": ([0, 1], [-1, 2]),
    "reward": (1, {"a": 0.5}),
}
_STRANGERS = ("foo", "environment", "environment_mode", 1, None, "FOO", "image")
_DEEPEST = 5


def config(random: Random, table: str = "", depth: int = 0) -> dict[str, Any]:
    """Return a table of a configuration: a few of its keys, most of them right."""
    keys = TABLES[table]
    chosen = random.sample(list(keys), min(len(keys), random.choice((0, 1, 1, 2, 2, 3, 4))))
    out = {name: _value(random, keys[name], depth) for name in chosen}
    for name, key in keys.items():
        if key.required and name not in out and random.random() < 0.9:
            out[name] = "a/b" if table == "task" else random.choice(("a/b", "2x4", "x"))
    if random.random() < 0.04:
        out[random.choice(_STRANGERS)] = random.choice(VALUES)
    return out


def _value(random: Random, key: Key, depth: int) -> Any:
    if random.random() < 0.25:
        return random.choice(VALUES)
    if key.choices:
        return random.choice(key.choices)
    if key.kind == "table":
        return config(random, key.table, depth + 1) if depth < _DEEPEST else {}
    if key.kind in {"tables", "paths"}:
        count = random.choice((0, 1, 2)) if depth < _DEEPEST else 0
        plain = key.kind == "paths" and random.random() < 0.4
        return ["p" if plain else config(random, key.table, depth + 1) for _ in range(count)]
    return random.choice(_GOOD[key.kind])


def single_values() -> list[tuple[str, dict[str, Any]]]:
    """Return, for every key of every table and every value, a configuration with just that, and its name."""
    out = []
    for table, path in _homes().items():
        for name in TABLES[table]:
            for number, value in enumerate(VALUES):
                needed = {
                    other: "a/b" if table == "task" else "2x4"
                    for other, key in TABLES[table].items()
                    if key.required and other != name
                }
                made: Any = {**needed, name: value}
                for part in reversed(path):
                    made = [{**({"name": "s"} if part == "" else {}), **made}] if part == "" else {part: made}
                out.append((f"{'.'.join(path)}.{name} = VALUES[{number}]", made))
    return out


def _homes() -> dict[str, tuple[str, ...]]:
    """Return where a table stands in a configuration; an empty part is an item of a list."""
    return {
        "": (),
        "task": ("task",),
        "author": ("task", "authors", ""),
        "agent": ("agent",),
        "verifier": ("verifier",),
        "judge": ("verifier", "judge"),
        "memory": ("verifier", "memory"),
        "hardening": ("verifier", "hardening"),
        "sandbox": ("sandbox",),
        "tpu": ("sandbox", "tpu"),
        "healthcheck": ("sandbox", "healthcheck"),
        "setup_command": ("sandbox", "setup_commands", ""),
        "mcp_server": ("sandbox", "mcp_servers", ""),
        "oracle": ("oracle",),
        "artifact": ("artifacts", ""),
        "step": ("steps", ""),
    }


_ROLES = ("architect", "a", "b", None, 1, "zz")
_PROFILES = (
    "code-change", "multi-agent", "reward-kit", ["multi-agent", "code-change"], "harbor-compatible",
    " leaderboard-local ", ["nope"], [], "acceptance-live",
)  # fmt: skip


def frontmatter(random: Random) -> dict[str, Any]:
    """Return the frontmatter of a ``task.md``: shorthands, profiles, roles and scenes as well."""
    out = config(random) if random.random() < 0.4 else {}
    for key, chance, good in (
        ("profile", 0.2, _PROFILES),
        ("profiles", 0.1, _PROFILES),
        ("name", 0.2, ("x", "a/b")),
        ("image", 0.2, ("img",)),
        ("verifier", 0.1, ("verifier/", "../x", "/abs", " ", 1, [])),
        ("oracle", 0.1, ("oracle", "../x", {})),
        ("user", 0.2, ({"model": "x"}, None, "x")),
    ):
        if random.random() < chance:
            out[key] = _maybe(random, random.choice(good))
    if random.random() < 0.5:
        roles = {random.choice(_ROLES): _role(random) for _ in range(random.choice((0, 1, 2, 3)))}
        out["agents"] = _maybe(random, {"roles": _maybe(random, roles)})
    if random.random() < 0.5:
        out["scenes"] = _maybe(random, [_scene(random) for _ in range(random.choice((0, 1, 2)))])
    if random.random() < 0.3:
        policy = {"composition": _maybe(random, "append"), "order": _maybe(random, ["base"])}
        parts = {"prompt": _maybe(random, policy), "verifier": _maybe(random, {})}
        out["benchflow"] = _maybe(random, parts | {"authoring": _maybe(random, {})})
    return out


def _maybe(random: Random, good: Any) -> Any:
    return random.choice(VALUES) if random.random() < 0.15 else good


def _some(random: Random, items: dict[str, Any], chance: float) -> dict[str, Any]:
    return {key: _maybe(random, value) for key, value in items.items() if random.random() < chance}


def _role(random: Random) -> Any:
    good = {"agent": "x", "model": "m", "timeout_sec": 5, "env": {1: 2}, "capabilities": ["a"]}
    return _maybe(random, _some(random, good, 0.8))


def _scene(random: Random) -> Any:
    def turn() -> Any:
        role = random.choice(_ROLES)
        return _maybe(random, random.choice((role, {"role": role, "prompt": random.choice((None, "x", 1))})))

    turns = [turn() for _ in range(random.choice((0, 1, 2)))]
    good = {"name": "n", "roles": [random.choice(_ROLES[:3])], "turns": turns, "skills_dir": "/x"}
    return _maybe(random, _some(random, good, 0.5))


_STRATEGIES: dict[str, dict[str, Any]] = {
    "script": {"command": "./test.sh"},
    "reward-kit": {"root": "."},
    "llm-judge": {"rubric": "q.md"},
    "agent-judge": {"role": "judge", "isolation": "verifier-only", "inputs": ["a"]},
    "ors-episode": {"inputs": ["a"]},
    "oracle": {},
}
_STRATEGY_KEYS = (
    "type", "command", "rubric", "root", "criteria", "entrypoint", "role", "model", "input_dir", "context",
    "context_file", "inputs", "format", "isolation",
)  # fmt: skip
_STRATEGY_VALUES = (
    None, "", 1, True, [], {}, "x", "./test.sh", "bash test.sh", "pytest", "python3 sub/check.py --x a.json",
    "../x.sh", "a b", "'open", "http://x/y.py", "-c x.sh", "reward.py", "rubrics/q.md", ["a"], [""], [1],
    "verifier-only", "json", "judge", ".",
)  # fmt: skip


def verifier_frontmatter(random: Random) -> dict[str, Any]:
    """Return the frontmatter of a ``verifier.md``."""
    names = random.sample(("a", "b", "c"), random.choice((0, 1, 1, 2, 3)))
    strategies = {
        random.choice((1, "")) if random.random() < 0.05 else name: _strategy(random) for name in names
    }
    verifier: dict[str, Any] = {"strategies": strategies}
    for key in ("default_strategy", "name", "rubric", "outputs"):
        if random.random() < 0.25:
            outputs = {
                "reward_text": random.choice(_STRATEGY_VALUES),
                "aggregate_policy": random.choice(({}, 1)),
            }
            verifier[key] = random.choice((*_STRATEGY_VALUES, "a", outputs))
    out = {"verifier": verifier if random.random() < 0.95 else random.choice(_STRATEGY_VALUES)}
    if random.random() < 0.1:
        out["document_version"] = random.choice(_STRATEGY_VALUES)
    return out


def _strategy(random: Random) -> Any:
    if random.random() < 0.1:
        return random.choice(_STRATEGY_VALUES)
    kind = random.choice(list(_STRATEGIES))
    made = {"type": kind, **_STRATEGIES[kind]}
    for _ in range(random.choice((0, 0, 1, 2))):
        made[random.choice(_STRATEGY_KEYS)] = random.choice(_STRATEGY_VALUES)
    return made
