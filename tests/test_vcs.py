"""What git says changed, through the real git."""

import os
import subprocess
from pathlib import Path

import pytest

from seatrials.errors import UsageError
from seatrials.judge.changed import touched
from seatrials.task.collection import select
from seatrials.vcs import changed_since, top_level

IDENTITY = {
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
}  # fmt: skip


def git(folder: Path, *words: str) -> None:
    """Run git in a folder."""
    subprocess.run(["git", *words], cwd=folder, env=os.environ | IDENTITY, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose branch `work` left `main` behind by one commit, while `main` went on."""
    root = tmp_path.resolve() / "repository"
    root.mkdir()
    git(root, "init", "--quiet", "--initial-branch=main")
    for name in ("one", "two", "three", "gone"):
        folder = root / "tasks" / name
        folder.mkdir(parents=True)
        (folder / "task.md").write_text("text\n")
    (root / "submission.yaml").write_text("team_name: a\n")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "first")
    git(root, "checkout", "--quiet", "-b", "work")
    (root / "tasks" / "one" / "task.md").write_text("other\n")
    git(root, "commit", "--quiet", "--all", "-m", "second")
    git(root, "checkout", "--quiet", "main")
    (root / "tasks" / "three" / "task.md").write_text("elsewhere\n")
    git(root, "commit", "--quiet", "--all", "-m", "on main")
    git(root, "checkout", "--quiet", "work")
    return root


def names(root: Path, ref: str = "main") -> set[str]:
    """Return what changed, relative to the root."""
    return {path.relative_to(root).as_posix() for path in changed_since(ref, root)}


def test_changes_are_those_since_the_branches_parted(repository: Path) -> None:
    """What only the other branch changed is no change of ours."""
    assert names(repository) == {"tasks/one/task.md"}
    assert names(repository, "HEAD") == set()


def test_every_kind_of_change_counts(repository: Path) -> None:
    """Staged, unstaged and untracked files, renames and deletions are changes; ignored files are none."""
    (repository / "tasks" / "two" / "task.md").write_text("unstaged\n")
    (repository / "tasks" / "two" / "new\nname ü.txt").write_text("untracked\n")
    git(repository, "mv", "tasks/three/task.md", "tasks/three/moved.md")
    git(repository, "rm", "--quiet", "-r", "tasks/gone")
    (repository / ".gitignore").write_text("*.log\n")
    (repository / "tasks" / "two" / "x.log").write_text("ignored\n")
    assert names(repository, "HEAD") == {
        ".gitignore",
        "tasks/two/task.md",
        "tasks/two/new\nname ü.txt",
        "tasks/three/task.md",
        "tasks/three/moved.md",
        "tasks/gone/task.md",
    }


def test_warnings_of_git_are_no_names(repository: Path) -> None:
    """A warning that git prints beside the names does not hide the first of them."""
    git(repository, "config", "core.autocrlf", "true")
    (repository / "tasks" / "one" / "task.md").write_bytes(b"lf only\nagain\n")
    (repository / "tasks" / "two" / "task.md").write_bytes(b"lf only\nagain\n")
    assert names(repository, "HEAD") == {"tasks/one/task.md", "tasks/two/task.md"}


@pytest.mark.parametrize("ref", ["no-such-branch", "--output=/tmp/x", "-h", "", "HEAD:tasks"])
def test_bad_revision_is_one_line(ref: str, repository: Path) -> None:
    """What is no revision is a usage error of one line, and never an option of git's."""
    with pytest.raises(UsageError) as caught:
        changed_since(ref, repository)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"`--changed {ref}`")


def test_no_repository_is_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of a working tree there is no saying what changed."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert top_level(tmp_path) is None
    with pytest.raises(UsageError, match="needs git and a working tree"):
        changed_since("HEAD", tmp_path)


def test_no_git_is_a_usage_error(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without git, too."""
    monkeypatch.setenv("PATH", str(repository))
    with pytest.raises(UsageError, match="needs git"):
        changed_since("HEAD", repository)


def test_histories_without_a_common_commit_are_told(repository: Path) -> None:
    """Where branches never parted, as in a shallow clone, the message says what to do."""
    git(repository, "checkout", "--quiet", "--orphan", "other")
    git(repository, "commit", "--quiet", "-m", "unrelated")
    with pytest.raises(UsageError, match="fetch more"):
        changed_since("main", repository)


def test_touched_tasks_are_those_with_changed_files(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a collection, the tasks with changes are touched, and with them the collection as a whole."""
    monkeypatch.chdir(repository)
    found = touched(select([]), changed_since("main", Path()))
    assert [task.name for task in found.tasks] == ["one"]
    assert found.collection


def test_changed_manifest_touches_every_task(repository: Path) -> None:
    """The manifest has defaults for every task."""
    found = touched(select([str(repository)]), {repository / "submission.yaml"})
    assert len(found.tasks) == 4
    assert found.collection


def test_deleted_task_touches_the_collection_only(repository: Path) -> None:
    """A task that went leaves nothing to check but the collection."""
    git(repository, "rm", "--quiet", "-r", "tasks/gone")
    found = touched(select([str(repository)]), changed_since("HEAD", repository))
    assert found.tasks == ()
    assert found.collection


def test_other_changes_touch_nothing(repository: Path) -> None:
    """A changed README is no change of a task."""
    (repository / "README.md").write_text("hello\n")
    found = touched(select([str(repository)]), changed_since("HEAD", repository))
    assert found.tasks == ()
    assert not found.collection


def test_linked_task_is_touched_by_its_files(repository: Path) -> None:
    """A task reached through a link is touched by a change where it really is."""
    (repository / "other").symlink_to("tasks/one")
    found = touched(select([str(repository / "other")]), {repository / "tasks" / "one" / "task.md"})
    assert [task.name for task in found.tasks] == ["other"]
