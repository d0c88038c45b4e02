"""Harbor tasks with this and that configuration, for the tests of migrations against other tools."""

import shutil
from pathlib import Path
from random import Random
from typing import Any

from seatrials.migrate.run import Options, turn_one
from seatrials.task.package import TaskPackage
from seatrials.task.schema import TABLES, Key

GOOD = Path(__file__).parent / "good_tasks"

CONFIGS = {
    "plain": 'version = "1.0"\n[environment]\ncpus = 1\nallow_internet = false\n',
    "sizes": '[environment]\nmemory = "2G"\nstorage = "512M"\nallow_internet = true\n',
    "unknown": 'odd = 1\n[task]\nname = "a/b"\nformat = "x"\n[environment]\nodd = [1]\n[agent.more]\nx = 1\n',
    "separate": (
        '[verifier]\nenvironment_mode = "separate"\n[verifier.environment]\nallow_internet = true\n'
        '[environment]\ndocker_image = "a/b:1"\n[environment.env]\nA = "${A:-b}"\n'
    ),
    "servers": (
        '[[environment.mcp_servers]]\nname = "m"\nurl = "http://m"\nwhy = "z"\n'
        '[environment]\nworkdir = "/x"\n'
    ),
    "variables": '[solution]\nFOO = "bar"\n[environment]\n[verifier.env]\nKEY = "${KEY}"\n',
    "dates": "[metadata]\nday = 2024-02-03\nat = 2024-02-03T04:05:06Z\nlist = [[1], [{ a = 2 }]]\n",
}
"""Configurations that both migrate."""


def source(folder: Path, config: str, prompt: str = "Do it.\n") -> Path:
    """Write a Harbor task with this configuration."""
    shutil.copytree(GOOD / "harbor", folder)
    (folder / "task.toml").write_text(config, encoding="utf-8")
    (folder / "instruction.md").write_bytes(prompt.encode())
    (folder / "solution/solve.sh").write_text("#!/bin/bash\ncp /solution/data /root\n", encoding="utf-8")
    (folder / "solution/data").write_text("1\n", encoding="utf-8")
    return folder


def migrated(folder: Path, out: Path, direction: str = "native") -> Path:
    """Turn a task and return the new one."""
    to_harbor = direction == "harbor"
    outcome = turn_one(TaskPackage(folder), Options(out=out, direction="harbor" if to_harbor else "native"))
    assert outcome.problem == ""
    return Path(outcome.target)


_TEXTS = {
    "": ("a", "two\nlines\n# no", "---", "é # x: y"),
    "version": ("1.1",),
    "absolute": ("/abs",),
    "topology": ("2x2",),
}
_VALUES: dict[str, tuple[Any, ...]] = {
    "integer": (1, 8), "number": (1, 2.5), "boolean": (True, False), "user": ("root", 1000),
    "strings": (["a.com"], ["a.com", "b.org"]), "env": ({}, {"A": "${B:-c}"}),
    "mapping": ({}, {"q": 1, "w": [1, {"e": 2.5}]}), "paths": (["/a"], [{"source": "/x"}]),
    "range": ([-1.0, 1.0],), "reward": (0.5, {"a": 1.0}),
}  # fmt: skip
_LEFT_OUT = frozenset(
    {"steps", "os", "image", "solution", "network_mode", "allowed_hosts", "blocked_hosts", "blocked_urls",
     "memory", "storage", "version", "capture_dir_b64_env", "capture_dir_b64_env_file_var"}
)  # fmt: skip
"""Keys that other tests look at, or that make most combinations invalid."""
_HARBOR_NAMES = {"sandbox": "environment", "sandbox_mode": "environment_mode", "oracle": "solution"}
_UNKNOWN = (1, "s", [1, [2]], {"deep": {"er": [{"x": 1}]}}, {})


def drawn(random: Random, name: str = "") -> dict[str, Any]:
    """Return a table of the schema in Harbor's spelling, most keys left out, some strange ones added."""
    chosen: dict[str, Any] = {}
    for key, about in TABLES[name].items():
        if about.required or (key not in _LEFT_OUT and random.random() < 0.3):
            here = _HARBOR_NAMES.get(key, key) if name in ("", "verifier") else key
            chosen[here] = _value(random, about)
    if random.random() < 0.4:
        chosen[random.choice(["odd", "un known", "environment_", "Odd"])] = random.choice(_UNKNOWN)
    items = list(chosen.items())
    random.shuffle(items)
    return dict(items)


def _value(random: Random, key: Key) -> Any:
    """Return a value that the schema takes."""
    if key.kind == "table":
        return drawn(random, key.table)
    if key.kind == "tables":
        return [drawn(random, key.table) for _ in range(random.randint(0, 2))]
    if key.kind in {"choice", "literal"}:
        return random.choice(key.choices)
    return random.choice(_VALUES.get(key.kind) or _TEXTS.get(key.check, ("a/b",)))
