"""Broken and odd tasks through the command: one clear line each, and the others go on."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from seatrials.cli import main
from seatrials.task.package import TaskPackage

from .conftest import TOML, Make

Changes = dict[str, str | bytes | None]
ODD = "odd = 1\n" + TOML.replace(
    "cpus = 1", "cpus = 1\nodd = [1]\n[environment.deep]\ner = { x = [{ y = 1 }] }"
)
ODD = ODD.replace("allow_internet = false", "").replace(
    "[agent]", '[metadata.own]\nx = "y"\n[agent]\nodd = "z"'
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A task: what of it is unlike a good one, and what is said of it; `links` leads paths to targets."""

    said: str
    changes: Changes = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    status: str = "failed"


REFUSED: dict[str, Case] = {
    "malformed-toml": Case(said="`task.toml` is not valid TOML", changes={"task.toml": "version = \n"}),
    "latin-1-toml": Case(
        said="`task.toml` is not UTF-8", changes={"task.toml": TOML.encode() + b'x = "\xe9"\n'}
    ),
    "latin-1-prompt": Case(said="`instruction.md` is not UTF-8", changes={"instruction.md": b"caf\xe9\n"}),
    "both-tables": Case(
        said="`solution` and `oracle` are the same table",
        changes={"task.toml": TOML + "[oracle]\n[solution]\n"},
    ),
    "both-folders": Case(
        said="`solution/` and `oracle/` both exist", changes={"oracle/solve.sh": "echo 1\n"}
    ),
    "two-versions": Case(
        said="same key and differ", changes={"task.toml": 'version = "1.0"\nschema_version = "1.1"\n'}
    ),
    "empty-prompt": Case(said="the prompt in `instruction.md` is empty", changes={"instruction.md": " \n"}),
    "no-prompt": Case(said="`instruction.md` is missing", changes={"instruction.md": None}),
    "no-config": Case(said="`task.toml` is missing", changes={"task.toml": None}),
    "steps-without-files": Case(
        said="it has several steps",
        changes={"instruction.md": None, "task.toml": f"{TOML}[[steps]]\nname = 'a'\n"},
        status="unsupported",
    ),
    "link-out": Case(said="`tests/data` is a link that leads out", links={"tests/data": "/etc/hostname"}),
    "link-up": Case(said="`tests/data` is a link that leads out", links={"tests/data": "../../good"}),
    "link-to-nothing": Case(said="or to nothing", links={"environment/data": "nowhere"}),
    "link-to-itself": Case(said="or to nothing", links={"tests/data": "data"}),
    "link-as-config": Case(
        said="is a link that leads out", changes={"notes": "x"}, links={"tests/x": "../../link-out/notes"}
    ),
    "names-by-case": Case(
        said="differ only by case", changes={"environment/A": "1", "environment/a": "2"}
    ),
    "good": Case(said="but for case"),
    "no-image": Case(
        said="neither `environment/Dockerfile` nor",
        changes={"environment/Dockerfile": None, "environment/x": "1"},
        status="unsupported",
    ),
    "windows": Case(
        said="it is for Windows", changes={"task.toml": TOML + 'os = "windows"\n'}, status="unsupported"
    ),
    "wrong-type": Case(
        said="`environment.cpus`", changes={"task.toml": TOML.replace("cpus = 1", 'cpus = "many"')},
        status="unsupported",
    ),
    "deep": Case(said="levels deep", changes={"task.toml": "x = " + "[" * 90 + "]" * 90 + "\n"}),
}  # fmt: skip
"""By the name of the task's folder. `good` collides with `Good`, but for case."""

TURNED: dict[str, Changes] = {
    "Good": {},
    "unknown-keys": {"task.toml": ODD},
    "dashes-in-prompt": {"instruction.md": "---\na: 1\n---\nDo it.\n\n---\n"},
    "task-inside": {"environment/inner/task.toml": TOML, "environment/inner/instruction.md": "x\n"},
    **{f"plain-{number:02}": {} for number in range(12)},
}


@pytest.fixture
def hostile(make: Make) -> Path:
    """A set with every case in it, and good tasks among them."""
    for name, case in REFUSED.items():
        folder = make(case.changes, name=name)
        for path, target in case.links.items():
            (folder / path).symlink_to(target)
    for name, changes in TURNED.items():
        make(changes, name=name)
    return folder.parent


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_each_is_one_clear_line_and_the_others_go_on(
    hostile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], jobs: str
) -> None:
    """Each refused task is told once, with its reason; the rest are written; the exit code is 1."""
    code = main(["migrate", str(hostile), "--out", str(tmp_path / "out"), "--jobs", jobs, "--verbose"])
    captured = capsys.readouterr()
    assert (code, captured.err) == (1, "")
    lines = captured.out.splitlines()
    for name, case in REFUSED.items():
        (line,) = (line for line in lines if f"{hostile / name}: " in line)
        assert line.startswith(case.status), line
        assert case.said in line
    assert {path.name for path in (tmp_path / "out/tasks").iterdir()} == set(TURNED)


def test_what_is_odd_but_sound_is_carried_over(hostile: Path, tmp_path: Path) -> None:
    """Unknown keys are set aside at every depth, dashes stay text, an inner task stays files."""
    main(["migrate", str(hostile), "--out", str(tmp_path / "out")])
    done = {name: TaskPackage(tmp_path / "out/tasks" / name) for name in TURNED}
    compat = done["unknown-keys"].native.get("benchflow", "compat")
    assert compat["extra_paths"] == [
        "agent.odd", "odd", "sandbox.deep.er.x[0].y", "sandbox.odd[0]"
    ]  # fmt: skip
    assert done["unknown-keys"].native.get("metadata", "own") == {"x": "y"}
    assert done["dashes-in-prompt"].native.prompt == "---\na: 1\n---\nDo it.\n\n---"
    assert "environment/inner/task.toml" in done["task-inside"].files


def test_a_set_of_only_broken_tasks_writes_nothing(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str], write: Callable[..., Path]
) -> None:
    """Where nothing can be turned, no folder is made, not for the manifest either."""
    make({"task.toml": "= broken"})
    code = main(["migrate", str(tmp_path / "src"), "--out", str(tmp_path / "out"), "--team-name", "us"])
    capsys.readouterr()
    assert code == 1
    assert not (tmp_path / "out").exists()
