"""The three ways to make and keep a task: copy from the folder, copy from an address, update."""

import shutil
import subprocess
import sys
from pathlib import Path

import copier
import pytest
import yaml

import seatrials

ROOT = Path(__file__).parents[2]


def git(folder, *arguments):
    """Run git in a folder and return what it says."""
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def commit(folder, tag=None):
    """Commit everything, under a tag if one is given."""
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "change")
    if tag is not None:
        git(folder, "tag", tag)


def edit(path, old, new):
    """Replace the one place in a file."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


def answers(task):
    """What copier will know of the task."""
    return yaml.safe_load((task / ".copier-answers.yml").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def git_identity(tmp_path, monkeypatch):
    """Git reads no configuration of the machine."""
    config = tmp_path / "gitconfig"
    config.write_text('[user]\nname = A\nemail = a@example.org\n[protocol "file"]\nallow = always\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with the template at its first tag, entered."""
    folder = tmp_path / "repository"
    folder.mkdir()
    shutil.copy(ROOT / "copier.yml", folder)
    shutil.copytree(ROOT / "template", folder / "template")
    git(folder, "init", "--quiet", "--initial-branch", "main")
    commit(folder, "v0.1.0")
    monkeypatch.chdir(folder)
    return folder


def release(repository, old, new):
    """Change one line of the template and tag the next version."""
    edit(repository / "template/task/task.md.jinja", old, new)
    edit(repository / "template/copier.yml", "default: v0.1.0", "default: v0.2.0")
    commit(repository, "v0.2.0")


def test_folder_and_address_give_the_same_task(repository, tmp_path):
    """Both ways ask the same questions and render the same files; only the source they record differs."""
    copier.run_copy("template", "tasks/a-task", defaults=True, quiet=True)
    copier.run_copy(f"git+file://{repository}", tmp_path / "a-task", defaults=True, quiet=True)
    here, there = Path("tasks/a-task"), tmp_path / "a-task"
    names = {path.relative_to(here) for path in here.rglob("*") if path.is_file()}
    assert names == {path.relative_to(there) for path in there.rglob("*") if path.is_file()}
    assert not [
        name
        for name in names - {Path(".copier-answers.yml")}
        if (here / name).read_bytes() != (there / name).read_bytes()
        or (here / name).stat().st_mode != (there / name).stat().st_mode
    ]
    assert answers(here) == answers(there) | {"_src_path": "."}
    assert (answers(there)["_commit"], answers(there)["_src_path"]) == ("v0.1.0", f"git+file://{repository}")


def test_copy_from_the_folder_is_dated_by_this_release(render):
    """A copy from the folder can be updated later, for it names the tag of the version it came with."""
    assert answers(render())["_commit"] == f"v{seatrials.__version__}"


@pytest.mark.parametrize("source", ["template", "."])
def test_task_in_the_repository_is_updated(repository, source):
    """An update brings the template's change, keeps the author's, and records the new version."""
    task = repository / "tasks/a-task"
    copier.run_copy(source, task, data={"title": "Mine"}, defaults=True, quiet=True)
    edit(task / "task.md", "- `rejected`: the number", "- `rejected`: how many, the number")
    commit(repository)
    release(repository, "- One pound is", "- A pound is")

    copier.run_update("tasks/a-task", defaults=True, overwrite=True, quiet=True)

    text = (task / "task.md").read_text(encoding="utf-8")
    assert "- A pound is" in text
    assert "how many, the number" in text
    assert 'title: "Mine"' in text
    assert answers(task)["_commit"] == "v0.2.0"


def test_task_in_another_repository_is_updated(repository, tmp_path, monkeypatch):
    """A collection elsewhere updates its tasks from the address they came from."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    git(elsewhere, "init", "--quiet")
    task = elsewhere / "tasks/a-task"
    copier.run_copy(f"git+file://{repository}", task, defaults=True, quiet=True)
    commit(elsewhere)
    release(repository, "- One pound is", "- A pound is")

    monkeypatch.chdir(elsewhere)
    copier.run_update("tasks/a-task", defaults=True, overwrite=True, quiet=True)

    assert "- A pound is" in (task / "task.md").read_text(encoding="utf-8")
    assert answers(task)["_commit"] == "v0.2.0"


def test_conflict_leaves_markers_and_does_not_fail(repository):
    """Copier succeeds on a conflict; only the marks in the file tell, so `check` has to look for them."""
    task = repository / "tasks/a-task"
    copier.run_copy("template", task, defaults=True, quiet=True)
    edit(task / "task.md", "- One pound is", "- 1 lb is")
    commit(repository)
    release(repository, "- One pound is", "- A pound is")

    copier.run_update("tasks/a-task", defaults=True, overwrite=True, quiet=True)

    lines = (task / "task.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith(("<<<<<<<", "=======", ">>>>>>>"))] == [
        "<<<<<<< before updating",
        "=======",
        ">>>>>>> after updating",
    ]


def test_command_line_needs_no_answer(tmp_path):
    """`copier copy --defaults template FOLDER` makes a task and says what comes next."""
    done = subprocess.run(
        [sys.executable, "-m", "copier", "copy", "--defaults", str(ROOT / "template"), "a-task"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a-task/task.md").is_file()
    assert "nox -s replay -- a-task" in done.stderr
