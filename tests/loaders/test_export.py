"""The repository's own tasks, exported: linted and run by Harbor, and served by OpenEnv."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from harbor_tasks import CONFIGS, GOOD, migrated, source

from seatrials.cli import main
from seatrials.replay import compose
from seatrials.task.collection import select_tasks

ROOT = Path(__file__).parents[2]
HARBOR = Path(sys.executable).with_name("harbor")
NAMES = [task.name for task in select_tasks([str(ROOT)])]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository's collection as Harbor tasks."""
    out = tmp_path_factory.mktemp("harbor")
    assert main(["export", str(ROOT), "--out", str(out)]) == 0
    return out / "tasks"


def harbor(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run Harbor's command."""
    env = {**os.environ, "COLUMNS": "200"}
    argv = [str(HARBOR), *map(str, words)]
    return subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, check=False)


@pytest.mark.loader("harbor")
def test_harbor_lint_accepts_them(exported: Path) -> None:
    """`harbor lint` has nothing to say but that the verifier shares the sandbox, which it says of most."""
    done = harbor("lint", "--json", *sorted(exported.iterdir()), cwd=exported)
    findings = json.loads(done.stdout)
    assert {found["rule"] for found in findings} <= {"shared-verifier"}
    assert len(findings) == len(NAMES)


@pytest.mark.loader("harbor")
def test_harbor_lint_is_heard(exported: Path, tmp_path: Path) -> None:
    """The test above is no rubber stamp: a key that Harbor does not know is found in an exported task."""
    text = (exported / NAMES[0] / "task.toml").read_text(encoding="utf-8")
    (tmp_path / "task.toml").write_text(f"odd = 1\n{text}", encoding="utf-8")
    done = harbor("lint", "--json", tmp_path, cwd=tmp_path)
    assert "unknown-config-field" in {found["rule"] for found in json.loads(done.stdout)}


@pytest.mark.loader("harbor")
@pytest.mark.docker
@pytest.mark.skipif(not compose.installed(), reason="`docker compose` is not installed, and Harbor needs it")
@pytest.mark.parametrize(("agent", "reward"), [("oracle", 1.0), ("nop", 0.0)])
def test_harbor_runs_them(agent: str, reward: float, exported: Path, tmp_path: Path) -> None:
    """`harbor run` gives the oracle the whole reward in each task, and an agent that does nothing none.

    Harbor enforces `no-network` with an image that it pulls and a feature of the kernel; so that this
    runs everywhere, the copies that are run leave the network open. Nothing else of them is changed.
    """
    for name in NAMES:
        for file in (path for path in (exported / name).rglob("*") if path.is_file()):
            target = tmp_path / "tasks" / name / file.relative_to(exported / name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
        toml = tmp_path / "tasks" / name / "task.toml"
        text = toml.read_text(encoding="utf-8")
        toml.write_text(text.replace('network_mode = "no-network"', 'network_mode = "public"'), "utf-8")
    done = harbor("run", "--path", tmp_path / "tasks", "--agent", agent, "--jobs-dir", tmp_path / "jobs",
                  "--n-concurrent", "2", "--yes", "--quiet", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    trials = [json.loads(path.read_text("utf-8")) for path in (tmp_path / "jobs").glob("*/*/result.json")]
    assert [trial["exception_info"] for trial in trials] == [None] * len(NAMES)
    rewards = {trial["task_name"].rpartition("/")[2]: trial["verifier_result"]["rewards"] for trial in trials}
    assert {name: found["reward"] for name, found in rewards.items()} == dict.fromkeys(NAMES, reward)


@pytest.mark.loader("openenv", "harbor")
def test_openenv_serves_them(exported: Path) -> None:
    """OpenEnv's Harbor loader offers each exported task with the prompt of its source."""
    from openenv.harbor.tasks import HarborTaskProvider

    served = HarborTaskProvider([str(exported.parent)]).list_tasks(str(exported.parent))
    prompts = {task.name: task.native.prompt.strip() for task in select_tasks([str(ROOT)])}
    assert {task["task_name"]: task["instruction"].strip() for task in served} == prompts


@pytest.mark.loader("harbor")
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


@pytest.mark.loader("harbor")
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
