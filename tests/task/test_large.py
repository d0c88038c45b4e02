"""What is read of large files and folders, and where the search for tasks ends."""

from pathlib import Path

import pytest

from seatrials.errors import UsageError
from seatrials.judge.run import check_task
from seatrials.task import files
from seatrials.task.collection import find_tasks, select
from seatrials.task.files import MAX_TEXT, list_files
from seatrials.task.package import TaskPackage


def test_of_a_large_file_the_first_part_is_looked_at(tmp_path: Path) -> None:
    """A sparse script of gigabytes is read up to a limit, at the end of a line."""
    path = tmp_path / "huge.sh"
    path.write_text("#!/bin/bash\necho 1\n")
    with path.open("r+b") as stream:
        stream.truncate(5 * 1024**3)
    (tmp_path / "small.sh").write_text("echo 1\n")
    listed = list_files(tmp_path).files
    assert listed["huge.sh"].head() == b"#!/bin/bash\necho 1\n"
    assert listed["small.sh"].head() == b"echo 1\n"
    path.write_bytes("é".encode() * MAX_TEXT)
    assert len(list_files(tmp_path).files["huge.sh"].head()) == MAX_TEXT


@pytest.mark.parametrize("path", ["verifier/test.sh", "oracle/solve.sh", "task.md", "environment/Dockerfile"])
def test_sparse_file_of_a_task_is_told_of(
    path: str, native_task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script or document that claims to be large is a finding, and is never read whole."""
    with (native_task / path).open("r+b") as stream:
        stream.truncate(64 * 1024**2)
    whole: list[str] = []
    read = files.TaskFile.read
    monkeypatch.setattr(files.TaskFile, "read", lambda file: (whole.append(file.path), read(file))[1])
    found = check_task(TaskPackage(native_task)).findings
    assert path not in whole
    assert [finding.path for finding in found if finding.code == "FIL111"] == [path]


def test_what_lies_deeper_gives_way_where_there_are_too_many_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files that make a task are listed before the thousands below one of its folders."""
    for name in (
        "task.md",
        "verifier/test.sh",
        "environment/Dockerfile",
        *(f"verifier/a/{n}" for n in range(40)),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(files, "MAX_FILES", 10)
    listing = list_files(tmp_path)
    assert listing.truncated
    assert {"task.md", "verifier/test.sh", "environment/Dockerfile"} < set(listing.files)


def test_link_that_leads_back_is_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks behind a link are found; a link to a folder above, as /proc/self/root, leads nowhere new."""
    (tmp_path / "set" / "one").mkdir(parents=True)
    (tmp_path / "set" / "one" / "task.md").touch()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "linked").symlink_to(tmp_path / "set")
    (tmp_path / "set" / "up").symlink_to(tmp_path)
    (tmp_path / "set" / "self").symlink_to(".")
    (tmp_path / "set" / "root").symlink_to("/")
    assert list(find_tasks(tmp_path / "set")) == [tmp_path / "set" / "one"]
    assert list(find_tasks(tmp_path / "elsewhere")) == [tmp_path / "elsewhere" / "linked" / "one"]
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    if Path("/proc/self").is_dir():
        with pytest.raises(UsageError, match="no task in `/proc/self`"):
            select(["/proc/self"])
