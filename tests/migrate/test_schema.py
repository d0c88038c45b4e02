"""Configurations drawn from BenchFlow's schema, with strange keys strewn in: all proven or refused."""

from random import Random
from typing import Any

import pytest

from seatrials.migrate import toml_text
from seatrials.migrate.run import Options, turn_one
from seatrials.task.package import TaskPackage
from seatrials.task.schema import TABLES, Key

from .conftest import Make

TEXTS = {
    "": ("a", "two\nlines\n# no", "---", "é # x: y"),
    "version": ("1.1",),
    "absolute": ("/abs",),
    "topology": ("2x2",),
}
VALUES: dict[str, tuple[Any, ...]] = {
    "integer": (1, 8), "number": (1, 2.5), "boolean": (True, False), "user": ("root", 1000),
    "strings": (["a.com"], ["a.com", "b.org"]), "env": ({}, {"A": "${B:-c}"}),
    "mapping": ({}, {"q": 1, "w": [1, {"e": 2.5}]}), "paths": (["/a"], [{"source": "/x"}]),
    "range": ([-1.0, 1.0],), "reward": (0.5, {"a": 1.0}),
}  # fmt: skip
LEFT_OUT = frozenset(
    {"steps", "os", "image", "solution", "network_mode", "allowed_hosts", "blocked_hosts", "blocked_urls",
     "memory", "storage", "version", "capture_dir_b64_env", "capture_dir_b64_env_file_var"}
)  # fmt: skip
"""Keys that other tests look at, or that make most combinations invalid."""
HARBOR_NAMES = {"sandbox": "environment", "sandbox_mode": "environment_mode", "oracle": "solution"}
UNKNOWN = (1, "s", [1, [2]], {"deep": {"er": [{"x": 1}]}}, {})


def table(random: Random, name: str) -> dict[str, Any]:
    """Return a table of the schema in Harbor's spelling, most keys left out, some strange ones added."""
    chosen: dict[str, Any] = {}
    for key, about in TABLES[name].items():
        if about.required or (key not in LEFT_OUT and random.random() < 0.3):
            here = HARBOR_NAMES.get(key, key) if name in ("", "verifier") else key
            chosen[here] = value(random, about)
    if random.random() < 0.4:
        chosen[random.choice(["odd", "un known", "environment_", "Odd"])] = random.choice(UNKNOWN)
    items = list(chosen.items())
    random.shuffle(items)
    return dict(items)


def value(random: Random, key: Key) -> Any:
    """Return a value that the schema takes."""
    if key.kind == "table":
        return table(random, key.table)
    if key.kind == "tables":
        return [table(random, key.table) for _ in range(random.randint(0, 2))]
    if key.kind in {"choice", "literal"}:
        return random.choice(key.choices)
    return random.choice(VALUES.get(key.kind) or TEXTS.get(key.check, ("a/b",)))


@pytest.mark.parametrize("seed", range(8))
def test_configurations_of_the_schema_are_proven(make: Make, seed: int) -> None:
    """No valid configuration fails its proof, whatever stands beside the keys that BenchFlow knows."""
    random = Random(seed)
    folder = make()
    migrated = 0
    for _ in range(60):
        (folder / "task.toml").write_text(toml_text.dump(table(random, "")), encoding="utf-8")
        outcome = turn_one(TaskPackage(folder), Options())
        assert outcome.status != "failed", outcome.problem
        migrated += not outcome.problem
    assert migrated > 20
