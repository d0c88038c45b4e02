"""A set of Harbor's layout in OpenEnv's Harbor loader; native ones once exported."""

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from seatrials.cli import main

pytestmark = pytest.mark.loader("openenv", "harbor")


def served(folder: Path) -> list[dict[str, Any]]:
    """Return the tasks that OpenEnv's server would offer of a folder."""
    from openenv.harbor.tasks import HarborTaskProvider

    return HarborTaskProvider([str(folder)]).list_tasks(str(folder))


@pytest.mark.parametrize("name", ["", "sums"])
def test_harbor_layout_is_served(name: str, harbor_task: Path, tmp_path: Path) -> None:
    """OpenEnv finds each task below `tasks/`, with its prompt, in the order of the table."""
    for task in ("beta", "alpha"):
        shutil.copytree(harbor_task, tmp_path / "set" / "tasks" / task)
    toml = tmp_path / "set" / "tasks" / "beta" / "task.toml"
    toml.write_text(toml.read_text().replace('name = "seatrials/', 'name = "seatrials/beta-'))
    out = tmp_path / "out"
    words = ["release", str(tmp_path / "set"), "--out", str(out), "--layout", "harbor", "--without-replays"]
    assert main([*words, *(["--name", name] if name else [])]) == 0
    tasks = served(out / name)
    assert [task["task_name"] for task in tasks] == ["alpha", "beta"]
    assert all(task["instruction"].startswith("Write the sum") for task in tasks)


def test_native_set_is_served_once_exported(collection: Path, tmp_path: Path) -> None:
    """OpenEnv finds no task in a native set, as the card says, and each of them in its export."""
    out = tmp_path / "out"
    assert main(["release", str(collection), "--out", str(out)]) == 0
    with pytest.raises(ValueError, match="no Harbor tasks found"):
        served(out)
    assert main(["export", str(out), "--out", str(tmp_path / "harbor")]) == 0
    (task,) = served(tmp_path / "harbor")
    assert task["instruction"].startswith("Write the sum")


def test_command_of_the_card_is_one_of_openenvs(collection: Path, tmp_path: Path) -> None:
    """OpenEnv's command line knows the command and each option that the card gives."""
    from openenv.cli.__main__ import app
    from typer.main import get_command

    assert main(["release", str(collection), "--out", str(tmp_path / "out")]) == 0
    card = (tmp_path / "out" / "README.md").read_text().replace("\\\n", "")
    (line,) = re.findall(r"^openenv .*$", card, re.MULTILINE)
    command: Any = get_command(app)
    words = shlex.split(line)[1:]
    while words and not words[0].startswith("-"):
        command = command.commands[words.pop(0)]
    known = {name for param in command.params for name in param.opts}
    assert {word for word in words if word.startswith("--")} <= known
