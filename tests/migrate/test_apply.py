"""Writing: whole or not at all, nothing overwritten, and an end after every interruption."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seatrials.migrate import apply
from seatrials.migrate.model import Unreadable
from seatrials.migrate.plan import plan
from seatrials.migrate.proof import result
from seatrials.migrate.run import Options, turn, turn_one
from seatrials.task.package import TaskPackage

from .conftest import Make


def tree(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder, hidden ones too."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_task_is_written_into_the_set(make: Make, tmp_path: Path) -> None:
    """A migrated task is `OUT/tasks/NAME`, with nothing else left beside it, and the source is as it was."""
    folder = make()
    before = tree(folder)
    outcome = turn_one(TaskPackage(folder), Options(out=tmp_path / "out"))
    assert outcome.target == (tmp_path / "out/tasks/answer").as_posix()
    assert [path.name for path in (tmp_path / "out/tasks").iterdir()] == ["answer"]
    assert TaskPackage(tmp_path / "out/tasks/answer").format == "native"
    assert tree(folder) == before


def test_nothing_there_is_overwritten(make: Make, tmp_path: Path) -> None:
    """A folder of that name is left alone, unless `--force` says otherwise."""
    there = tmp_path / "out/tasks/answer"
    there.mkdir(parents=True)
    (there / "mine").write_text("mine")
    task = TaskPackage(make())
    outcome = turn_one(task, Options(out=tmp_path / "out"))
    assert outcome.status == "failed"
    assert "is there already" in outcome.problem
    assert tree(tmp_path / "out") == {"tasks/answer/mine": b"mine"}
    assert turn_one(task, Options(out=tmp_path / "out", force=True)).problem == ""
    assert not (there / "mine").exists()


def test_dangling_link_is_something_that_is_there(make: Make, tmp_path: Path) -> None:
    """A link to nothing is kept like a folder, and by force replaced; what it names is not made."""
    there = tmp_path / "out/tasks/answer"
    there.parent.mkdir(parents=True)
    there.symlink_to(tmp_path / "nowhere")
    task = TaskPackage(make())
    assert "is there already" in turn_one(task, Options(out=tmp_path / "out")).problem
    assert there.is_symlink()
    assert turn_one(task, Options(out=tmp_path / "out", force=True)).problem == ""
    assert not there.is_symlink()
    assert TaskPackage(there).format == "native"
    assert not (tmp_path / "nowhere").exists()


def test_in_place_replaces_the_folder_and_keeps_what_is_no_part_of_the_task(make: Make) -> None:
    """In place the task is native afterwards, and an editor's folder is still there."""
    folder = make({".vscode/settings.json": "{}"})
    assert turn_one(TaskPackage(folder), Options(in_place=True)).problem == ""
    task = TaskPackage(folder)
    assert task.format == "native"
    assert not {"task.toml", "tests/test.sh"} & set(task.files)
    assert (folder / ".vscode/settings.json").read_text() == "{}"
    assert [path.name for path in folder.parent.iterdir()] == ["answer"]


def test_in_place_spares_the_top_of_a_repository(make: Make) -> None:
    """A task that holds its own `.git` is not swapped away under it."""
    folder = make({".git/HEAD": "ref: refs/heads/main\n"})
    assert "top of a git repository" in turn_one(TaskPackage(folder), Options(in_place=True)).problem


CHANGES = frozenset({"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.chmod"})
"""What Python tells before it changes something on disk (of `open`, more than that)."""


def _ends_at(number: int, folder: Path, *, swaps: bool) -> bool:
    """Replace a task in a process of its own that dies before its change of this number; tell whether it did.

    Nothing of it runs afterwards, cleaning up neither.
    """
    child = os.fork()
    if child == 0:
        try:
            left = [number]

            def dying(event: str, args: tuple[object, ...]) -> None:
                # Removals name a file by its folder's descriptor, so their paths are relative.
                about = [os.fsdecode(one) for one in args[:2] if isinstance(one, str | bytes | os.PathLike)]
                ours = any(str(folder.parent) in one or not one.startswith("/") for one in about)
                if event in CHANGES and ours:
                    left[0] -= 1
                    if left[0] < 0:
                        os._exit(9)

            if not swaps:
                apply._exchange = lambda *_: False  # type: ignore[assignment]
            sys.addaudithook(dying)
            outcome = turn_one(TaskPackage(folder), Options(in_place=True))
            os._exit(0 if outcome.problem == "" else 1)
        finally:
            os._exit(2)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in {0, 9}
    return code == 9


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the process that dies is a fork")
@pytest.mark.parametrize("swaps", [True, False])
def test_killed_at_any_point_a_task_is_old_or_new(make: Make, tmp_path: Path, *, swaps: bool) -> None:
    """Before whichever change on disk the process dies, the task is whole, and the next start tidies up."""
    source = make({"environment/sub/data": "1", ".vscode/settings.json": "{}"}, name="source")
    before = tree(source)
    whole = tmp_path / "whole" / "answer"
    shutil.copytree(source, whole)
    assert turn_one(TaskPackage(whole), Options(in_place=True)).problem == ""
    after = tree(whole)
    states: list[str] = []
    for number in range(1000):
        folder = tmp_path / f"at{number}" / "answer"
        shutil.copytree(source, folder)
        died = _ends_at(number, folder, swaps=swaps)
        if swaps and sys.platform == "linux":
            assert tree(folder) in (before, after)
        apply.recover(folder.parent)
        assert tree(folder) in (before, after)
        states.append("new" if tree(folder) == after else "old")
        assert [path.name for path in folder.parent.iterdir()] == ["answer"]
        if not died:
            break
    assert states == sorted(states, reverse=True)
    assert states.count("old") > len(after)
    assert states.count("new") > len(before)


@pytest.mark.parametrize("writing", [True, False])
def test_ctrl_c_leaves_nothing_beside_the_task(
    make: Make, monkeypatch: pytest.MonkeyPatch, *, writing: bool
) -> None:
    """A task that is half built is taken back, one that is in its place already is finished."""
    folder = make()
    before = tree(folder.parent)
    place, name = (apply, "_put") if writing else (shutil, "rmtree")
    real, calls = getattr(place, name), []

    def interrupted(*args: Any) -> None:
        calls.append(args)
        if writing or len(calls) > 1:
            real(*args)
        if len(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(place, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        turn_one(TaskPackage(folder), Options(in_place=True))
    assert [path.name for path in folder.parent.iterdir()] == ["answer"]
    assert (tree(folder.parent) == before) is writing


ENDED = """
import os, signal, sys
# A shell that put the tests in the background has left this ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
from pathlib import Path
from seatrials.cli import main
from seatrials.migrate import run

def ends(task, options, real=run.turn_one):
    outcome = real(task, options)
    if task.name == "t040":
        os.kill(*eval(sys.argv[3]))
    return outcome

run.turn_one = ends
sys.exit(main(["migrate", sys.argv[1], "--out", sys.argv[2], "--jobs", "2"]))
"""


def _ended(make: Make, tmp_path: Path, who: str, signal_: str) -> tuple[int, str]:
    """Migrate 200 tasks in two processes and end one in the middle; return the exit code and what was said.

    Returns only once no process holds the pipe of the output any more. What was written is looked at.
    """
    for number in range(200):
        source = make(name=f"t{number:03}")
    done = subprocess.run(
        [sys.executable, "-c", ENDED, str(source.parent), str(tmp_path / "out"), f"{who}, {signal_}"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=120,
    )  # fmt: skip
    written = list((tmp_path / "out/tasks").iterdir())
    assert 0 < len(written) < 200
    whole = {"task.md", "oracle/solve.sh", "verifier/test.sh", "verifier/verifier.md",
             "verifier/rubrics/verifier.md", "environment/Dockerfile"}  # fmt: skip
    assert all(set(tree(path)) == whole for path in written if not path.name.startswith("."))
    return done.returncode, done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_ctrl_c_ends_a_run_with_whole_tasks(make: Make, tmp_path: Path) -> None:
    """Workers finish what they have, nothing half built is left, and the command says so in one line."""
    code, said = _ended(make, tmp_path, "os.getppid()", "signal.SIGINT")
    assert (code, said) == (130, "seatrials: interrupted\n")
    assert not list((tmp_path / "out/tasks").glob(".*"))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends workers with their parent")
def test_workers_end_with_a_killed_parent(make: Make, tmp_path: Path) -> None:
    """Where the command itself is killed its workers end, too, and what they wrote is whole."""
    assert _ended(make, tmp_path, "os.getppid()", "signal.SIGKILL") == (-9, "")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_killed_worker_is_one_line(make: Make, tmp_path: Path) -> None:
    """A worker that is killed, as where memory runs out, ends the run with one line and no waiting."""
    code, said = _ended(make, tmp_path, "os.getpid()", "signal.SIGKILL")
    assert code == 5
    assert said.startswith("seatrials: a process of this run was ended")
    assert said.count("\n") == 1


def test_recovery_finds_a_task_by_its_own_path(make: Make) -> None:
    """A task that is away when it is named comes back before it is looked for."""
    folder = make()
    before = tree(folder)
    folder.rename(apply.beside(folder, apply.OLD))
    assert apply.recover(folder) == [folder]
    assert tree(folder) == before


def test_recovery_drops_what_was_replaced_already(make: Make) -> None:
    """Where the new task is in place, what is left of the old one and of a half-built one goes."""
    folder = make()
    shutil.copytree(folder, apply.beside(folder, apply.OLD))
    shutil.copytree(folder, apply.beside(folder, apply.NEW))
    apply.recover(folder.parent)
    assert [path.name for path in folder.parent.iterdir()] == ["answer"]


def test_full_disk_leaves_the_old_task(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error while writing is one clear line, and nothing has changed."""
    folder = make()
    before = tree(folder)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(folder / "task.md"))

    monkeypatch.setattr(apply, "_build", full)
    outcome = turn_one(TaskPackage(folder), Options(in_place=True))
    assert outcome.status == "failed"
    assert "No space left on device" in outcome.problem
    assert tree(folder) == before
    assert [path.name for path in folder.parent.iterdir()] == ["answer"]


def test_file_that_grows_while_it_is_copied_is_noticed(make: Make, tmp_path: Path) -> None:
    """What is written is what was proven, or it is not put in place."""
    folder = make({"environment/big.bin": b"x" * (600 * 1024)})
    task = TaskPackage(folder)
    files = result(task, plan(task))
    with (folder / "environment/big.bin").open("ab") as stream:
        stream.write(b"more")
    with pytest.raises(Unreadable, match="changed while it was copied"):
        apply.write(task, files, tmp_path / "out", over=False)
    assert not (tmp_path / "out").exists()


def test_a_wrong_plan_is_not_written(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof stands between plan and disk: a plan that loses a file or changes a value is refused."""
    from seatrials.migrate import run

    def losing(*args: object) -> object:
        made = plan(*args)  # type: ignore[arg-type]
        actions = tuple(action for action in made.actions if action.target != "oracle/solve.sh")
        return type(made)(**{**_fields(made), "actions": actions})

    monkeypatch.setattr(run, "plan", losing)
    outcome = turn_one(TaskPackage(make()), Options(out=tmp_path / "out"))
    assert outcome.status == "failed"
    assert "`solution/solve.sh` is lost" in outcome.problem
    assert not (tmp_path / "out").exists()


def _fields(made: object) -> dict[str, object]:
    return {name: getattr(made, name) for name in type(made).__dataclass_fields__}  # type: ignore[attr-defined]


def test_one_bad_task_does_not_stop_the_others(
    make: Make, tmp_path: Path, write: Callable[..., Path]
) -> None:
    """Among many, the broken one is told and the rest are migrated; the run's exit code is 1."""
    folders = [make(name=f"t{number:02}") for number in range(40)]
    (folders[7] / "task.toml").write_text("= broken")
    report = turn([TaskPackage(path) for path in folders], Options(out=tmp_path / "out"), jobs=2)
    assert [task.name for task in report.tasks] == [path.name for path in folders]
    assert [task.name for task in report.tasks if task.problem] == ["t07"]
    assert len(list((tmp_path / "out/tasks").iterdir())) == 39
    assert report.exit_code == 1
