"""Migrations against BenchFlow's own, and exports against Harbor's model and linter.

Where both migrate a task, configuration, prompt and files must be the same but
for what `docs/migrate.md` lists.
"""

import hashlib
import os
import shutil
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from seatrials.migrate.config import PLACEHOLDER_ORG
from seatrials.migrate.run import Options, turn_one
from seatrials.task.collection import find_tasks
from seatrials.task.package import TaskPackage

GOOD = Path(__file__).parents[1] / "good_tasks"
PUBLIC_SETS = [path for path in os.environ.get("SEATRIALS_PUBLIC_SETS", "").split(os.pathsep) if path]

needs_harbor = pytest.mark.skipif(find_spec("harbor") is None, reason="harbor is not installed")

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

PROMPTS = (
    "Do it.\n",
    "# A\n\n## prompt\n\nx\n\n## role:me\n\ny\n",
    "---\na: 1\n---\n",
    "\n  Spaces.  \r\n\r\nEnd\r\n",
)


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


def files(folder: Path) -> dict[str, str]:
    """Return the files of a task but for its document, by content."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "task.md"
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
    for path, digest in other.items():
        if mine[path] != digest:
            assert path.startswith("oracle/")
            theirs_text = (theirs / path).read_text(encoding="utf-8")
            assert (ours / path).read_text(encoding="utf-8") == theirs_text.replace("/solution", "/oracle")


@pytest.mark.parametrize("kind", CONFIGS)
def test_configuration_is_the_reference_s(kind: str, tmp_path: Path) -> None:
    """BenchFlow's model reads the same configuration off both, and the same keys are set aside."""
    compare(source(tmp_path / "task", CONFIGS[kind]), tmp_path)


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


@pytest.mark.parametrize("name", ["harbor", "posttrain"])
def test_result_is_of_publication_grade(name: str, tmp_path: Path) -> None:
    """A migrated task with a reference solution passes BenchFlow's check at publication grade."""
    from benchflow._utils.task_authoring import check_task

    new = migrated(GOOD / name, tmp_path)
    if name == "posttrain":
        assert check_task(new, validation_level="structural") == []
    else:
        assert check_task(new, validation_level="publication-grade", sandbox_type="docker") == []


@needs_harbor
@pytest.mark.parametrize("kind", CONFIGS)
def test_export_is_a_harbor_task(kind: str, tmp_path: Path) -> None:
    """Harbor's model takes a task that went to native and back, and reads what it read off the source."""
    from harbor.models.task.config import TaskConfig

    folder = source(tmp_path / "task", CONFIGS[kind])
    back = migrated(migrated(folder, tmp_path / "native"), tmp_path / "harbor", "harbor")
    old = TaskConfig.model_validate_toml((folder / "task.toml").read_text(encoding="utf-8"))
    new = TaskConfig.model_validate_toml((back / "task.toml").read_text(encoding="utf-8"))
    a, b = old.model_dump(mode="json"), new.model_dump(mode="json")
    if a["task"] is None:
        b["task"] = None
    if "version" not in CONFIGS[kind]:
        b["schema_version"] = a["schema_version"]  # BenchFlow's default was written; Harbor's is another
    inline = {"FOO": "bar"} if kind == "variables" else {}  # Harbor does not read variables there
    a["solution"]["env"] |= inline
    assert a == b


@needs_harbor
def test_export_passes_harbor_s_linter(tmp_path: Path) -> None:
    """`harbor lint` finds no fault in the files or the configuration of an exported native task."""
    from harbor.lint import lint_task
    from harbor.lint.models import DEFAULT_RULES

    back = migrated(GOOD / "native", tmp_path, "harbor")
    rules = {str(finding.rule) for finding in lint_task(back, selected_rules=set(DEFAULT_RULES))}
    assert not rules & {"invalid-task-config", "unknown-config-field", "invalid-task-files"}
    assert (
        "seatrials_native" not in tomllib.loads((back / "task.toml").read_text(encoding="utf-8"))["metadata"]
    )
