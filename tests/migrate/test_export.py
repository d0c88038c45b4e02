"""The way back to Harbor, and what it costs."""

import tomllib
from pathlib import Path
from typing import Any

from seatrials.migrate.export import export_plan
from seatrials.migrate.model import Plan
from seatrials.migrate.proof import result
from seatrials.migrate.run import Options, turn_one
from seatrials.task.package import TaskPackage

from .conftest import TOML, Make

NATIVE = """\
---
schema_version: "1.3"
task:
  name: a/b
metadata:
  category: other
agent:
  timeout_sec: 60
  prompt_prefix: Hello.
verifier:
  reward_range: [-1.0, 1.0]
sandbox:
  network_mode: no-network
  setup_commands:
  - command: "true"
oracle:
  FOO: bar
agents:
  roles:
    solver: {agent: codex-acp}
---

## prompt

Do it.

## role:solver

You solve.
"""


def native(make: Make, document: str = NATIVE, **more: str) -> Path:
    """Write a native task."""
    return make(
        {
            "task.md": document, "task.toml": None, "instruction.md": None,
            "tests/test.sh": None, "solution/solve.sh": None,
            "verifier/test.sh": "#!/bin/bash\npython /verifier/judge.py\n", "verifier/judge.py": "x = 1\n",
            "oracle/solve.sh": "cp /oracle/x /app\n", "oracle/x": "1",
            **more,
        },
        name="native",
    )  # fmt: skip


def exported(folder: Path) -> tuple[Plan, dict[str, str], dict[str, Any]]:
    """Return the plan, the texts, and the data of the new `task.toml`."""
    task = TaskPackage(folder)
    made = export_plan(task)
    assert not made.problem
    texts = {path: file.text or "" for path, file in result(task, made).items()}
    return made, texts, tomllib.loads(texts["task.toml"])


def test_folders_and_paths_are_harbor_s(make: Make) -> None:
    """The folders get Harbor's names, and scripts that name them follow."""
    _, texts, _ = exported(native(make))
    assert {"task.toml", "instruction.md", "tests/test.sh", "solution/solve.sh"} <= set(texts)
    assert texts["tests/test.sh"] == "#!/bin/bash\npython /tests/judge.py\n"
    assert texts["solution/solve.sh"] == "cp /solution/x /app\n"
    assert texts["instruction.md"] == "Do it.\n"


def test_what_harbor_does_not_know_is_kept_and_told(make: Make) -> None:
    """Keys beyond Harbor's model stand under `metadata`, and each is a loss in the report."""
    made, _, data = exported(native(make))
    assert data["environment"] == {"network_mode": "no-network"}
    assert data["agent"] == {"timeout_sec": 60}
    assert data["solution"] == {"env": {"FOO": "bar"}}
    kept = data["metadata"]["seatrials_native"]
    assert kept["verifier.reward_range"] == [-1.0, 1.0]
    assert kept["agent.prompt_prefix"] == "Hello."
    assert kept["sandbox.setup_commands"] == [{"command": "true"}]
    losses = [note.message for note in made.notes if note.kind == "loss"]
    for path in ("agents", "agent.prompt_prefix", "verifier.reward_range", "sandbox.setup_commands"):
        assert any(f"`{path}`" in said for said in losses)
    assert any("`## role:solver`" in said for said in losses)


def test_there_and_back_keeps_what_harbor_does_not_know(make: Make, tmp_path: Path) -> None:
    """A migration of the exported task gives back the native configuration, to the last key."""
    document = NATIVE.partition("## role:solver")[0].replace("  FOO: bar", "  env: {FOO: bar}")
    folder = native(make, document)
    assert turn_one(TaskPackage(folder), Options(direction="harbor", out=tmp_path / "h")).problem == ""
    assert turn_one(TaskPackage(tmp_path / "h/tasks/native"), Options(out=tmp_path / "n")).problem == ""
    old, new = TaskPackage(folder).document, TaskPackage(tmp_path / "n/tasks/native").document
    assert old is not None
    assert new is not None
    assert new.frontmatter == {**old.frontmatter, "schema_version": "1.3"}


def test_a_verifier_s_own_strategy_is_a_loss(make: Make) -> None:
    """Harbor runs `tests/test.sh`; a document that says otherwise is told as a loss."""
    document = "---\nverifier:\n  strategies:\n    s: {type: script, command: ./test.sh --strict}\n---\n"
    made, _, _ = exported(native(make, **{"verifier/verifier.md": document}))
    assert any("./test.sh --strict" in note.message for note in made.notes if note.kind == "loss")


def test_our_own_verifier_document_is_no_loss(make: Make, tmp_path: Path) -> None:
    """What a migration wrote for the verifier costs nothing on the way back."""
    assert turn_one(TaskPackage(make()), Options(out=tmp_path / "out")).problem == ""
    made, _, _ = exported(tmp_path / "out/tasks/answer")
    assert [note.message for note in made.notes if note.kind == "loss"] == []


def test_a_harbor_task_stays_as_it_is(make: Make, tmp_path: Path) -> None:
    """Exporting a Harbor task copies it, byte for byte, so that a subset can be had of a set."""
    folder = make({"task.toml": TOML + "# a comment\n"})
    outcome = turn_one(TaskPackage(folder), Options(direction="harbor", out=tmp_path / "out"))
    assert outcome.status == "migrated"
    new = TaskPackage(tmp_path / "out/tasks/answer")
    assert new.content_hash == TaskPackage(folder).content_hash


def test_no_script_no_harbor(make: Make) -> None:
    """A verifier without `test.sh` has no Harbor form, and that is said."""
    folder = native(make)
    (folder / "verifier/test.sh").unlink()
    made = export_plan(TaskPackage(folder))
    assert made.status == "unsupported"
    assert "no `verifier/test.sh`" in made.problem
