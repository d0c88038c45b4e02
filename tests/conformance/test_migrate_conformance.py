"""Migrations against BenchFlow's own.

Where both migrate a task, configuration, prompt and files must be the same but
for what `docs/migrate.md` lists.
"""

import hashlib
import os
import shutil
from pathlib import Path
from random import Random

import pytest
from harbor_tasks import CONFIGS, GOOD, drawn, migrated, source

from seatrials.migrate import toml_text
from seatrials.migrate.config import PLACEHOLDER_ORG
from seatrials.migrate.run import Options, turn_one
from seatrials.task.collection import find_tasks
from seatrials.task.package import TaskPackage

PUBLIC_SETS = [path for path in os.environ.get("SEATRIALS_PUBLIC_SETS", "").split(os.pathsep) if path]

PROMPTS = (
    "Do it.\n",
    "# A\n\n## prompt\n\nx\n\n## role:me\n\ny\n",
    "---\na: 1\n---\n",
    "\n  Spaces.  \r\n\r\nEnd\r\n",
)


def files(folder: Path) -> dict[str, tuple[str, bool]]:
    """Return the files of a task but for its document: content (of a link, where it leads) and run bit."""
    return {
        path.relative_to(folder).as_posix(): (
            (str(path.readlink()), False)
            if path.is_symlink()
            else (hashlib.sha256(path.read_bytes()).hexdigest(), os.access(path, os.X_OK))
        )
        for path in folder.rglob("*")
        if (path.is_file() or path.is_symlink()) and path.name != "task.md"
    }


def compare(folder: Path, tmp_path: Path) -> None:
    """Migrate a task both ways and hold the results against each other."""
    from benchflow._utils.task_authoring import migrate_task_to_task_md
    from benchflow.task.document import TaskDocument

    theirs = tmp_path / "theirs" / folder.name
    shutil.copytree(folder, theirs, symlinks=True)
    migrate_task_to_task_md(theirs, remove_legacy=True)
    ours = migrated(folder, tmp_path / "ours")
    left, right = TaskDocument.from_path(ours / "task.md"), TaskDocument.from_path(theirs / "task.md")
    a, b = left.config.model_dump(), right.config.model_dump()
    if not b["task"]:
        assert a["task"]["name"].startswith(f"{PLACEHOLDER_ORG}/")
        a["task"] = b["task"]
    assert a == b
    assert left.instruction == right.instruction
    assert left.benchflow.get("compat") == right.benchflow.get("compat")
    mine, other = files(ours), files(theirs)
    assert {path for path in mine if path not in other} <= {
        "verifier/verifier.md", "verifier/rubrics/verifier.md"
    }  # fmt: skip
    for path, found in other.items():
        if mine[path] != found:
            assert mine[path][1] == found[1]
            assert path.startswith("oracle/")
            theirs_text = (theirs / path).read_text(encoding="utf-8")
            assert (ours / path).read_text(encoding="utf-8") == theirs_text.replace("/solution", "/oracle")


@pytest.mark.parametrize("kind", CONFIGS)
def test_configuration_is_the_reference_s(kind: str, tmp_path: Path) -> None:
    """BenchFlow's model reads the same configuration off both, and the same keys are set aside."""
    compare(source(tmp_path / "task", CONFIGS[kind]), tmp_path)


@pytest.mark.parametrize("seed", range(4))
def test_drawn_configurations_are_the_reference_s(seed: int, tmp_path: Path) -> None:
    """Whatever BenchFlow's model takes, strange keys beside it: where both migrate it, both mean the same."""
    from benchflow._utils.task_authoring import migrate_task_to_task_md

    random = Random(seed)
    both = 0
    for number in range(60):
        folder = source(tmp_path / f"task{number}", toml_text.dump(drawn(random)))
        trial = tmp_path / "trial" / folder.name
        shutil.copytree(folder, trial)
        try:
            migrate_task_to_task_md(trial, remove_legacy=True)
        except Exception:  # noqa: BLE001 - whatever stops BenchFlow is a refusal
            continue
        if not turn_one(TaskPackage(folder), Options()).problem:
            compare(folder, tmp_path / f"both{number}")
            both += 1
    assert both > 20


def test_files_are_the_reference_s(tmp_path: Path) -> None:
    """Folders in folders, run bits, names with spaces, data, and links go to the same places."""
    folder = source(tmp_path / "task", CONFIGS["plain"])
    for path, content in {
        "tests/deep/er/check.py": b"x = 1\n", "tests/a b/data.bin": b"\0\xff",
        "solution/lib/run": b"#!/bin/sh\n", "environment/data/empty": b"", "notes/readme.txt": b"n\n",
    }.items():  # fmt: skip
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    (folder / "solution/lib/run").chmod(0o755)
    (folder / "tests/deep/link.py").symlink_to("er/check.py")
    compare(folder, tmp_path)


@pytest.mark.parametrize("number", range(len(PROMPTS)))
def test_prompt_is_the_reference_s(number: int, tmp_path: Path) -> None:
    """BenchFlow reads the same prompt off both."""
    compare(source(tmp_path / "task", CONFIGS["plain"], PROMPTS[number]), tmp_path)


@pytest.mark.parametrize("public", PUBLIC_SETS)
def test_public_sets_are_the_reference_s(public: str, tmp_path: Path) -> None:
    """Over whole public sets, every Harbor task that both migrate comes out the same."""
    for number, folder in enumerate(find_tasks(Path(public))):
        if (folder / "task.toml").exists() and (folder / "instruction.md").exists():
            if (folder / "task.md").exists() or not (folder / "environment/Dockerfile").exists():
                continue
            compare(folder, tmp_path / str(number))
            shutil.rmtree(tmp_path / str(number))


REWARD_KIT = """\
---
document_version: "0.3"
verifier:
  name: kit
  default_strategy: kit
  strategies:
    kit:
      type: reward-kit
      root: kit
      entrypoint: reward.py
---
"""
JUDGE = '[verifier]\ntype = "llm-judge"\n[verifier.judge]\nmodel = "claude-x"\n'
RUBRIC = '[[criterion]]\nid = "a"\ndescription = "b"\n'
BASE = "debian:bookworm-slim"
COMPOSE = f"services:\n  main:\n    build: .\n  db:\n    image: {BASE}\n"
SHAPES: dict[str, tuple[str, dict[str, str | None]]] = {
    "no solution": ("", {"solution/solve.sh": None, "solution/data": None}),
    "image only": (f'[environment]\ndocker_image = "{BASE}"\n', {"environment/Dockerfile": None}),
    "Dockerfile at the root": ("", {"environment/Dockerfile": None, "Dockerfile": f"FROM {BASE}\n"}),
    "compose": ("", {"environment/docker-compose.yaml": COMPOSE}),
    "separate verifier": (CONFIGS["separate"], {"tests/Dockerfile": f"FROM {BASE}\n"}),
    "MCP servers": (CONFIGS["servers"], {}),
    "judge": (JUDGE, {"tests/rubric.toml": RUBRIC, "tests/test.sh": None}),
    "reward kit": (
        "", {"tests/verifier.md": REWARD_KIT, "tests/kit/reward.py": "print(1)\n", "tests/test.sh": None}
    ),
}  # fmt: skip
"""Shapes of Harbor tasks: the configuration, and the files that are unlike those of `source`."""


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_accepted(name: str, tmp_path: Path) -> None:
    """BenchFlow's check accepts what becomes of every shape of task that has a native equivalent."""
    from benchflow._utils.task_authoring import check_task

    config, changes = SHAPES[name]
    folder = source(tmp_path / "task", config)
    for path, content in changes.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            (folder / path).unlink(missing_ok=True)
        else:
            (folder / path).write_text(content, encoding="utf-8")
    if name in {"image only", "Dockerfile at the root"}:
        shutil.rmtree(folder / "environment")
    assert check_task(migrated(folder, tmp_path / "out")) == []


@pytest.mark.parametrize("name", ["harbor", "posttrain"])
def test_result_is_of_publication_grade(name: str, tmp_path: Path) -> None:
    """A migrated task with a reference solution passes BenchFlow's check at publication grade."""
    from benchflow._utils.task_authoring import check_task

    new = migrated(GOOD / name, tmp_path)
    if name == "posttrain":
        assert check_task(new, validation_level="structural") == []
    else:
        assert check_task(new, validation_level="publication-grade", sandbox_type="docker") == []
