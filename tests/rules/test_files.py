"""FIL: names and permissions that a case in `bad_tasks` can't hold."""

import os
from pathlib import Path

import pytest

from seatrials.judge.run import check_task
from seatrials.task.package import TaskPackage


def codes(folder: Path) -> set[str]:
    """Return the codes of a task's findings."""
    return {finding.code for finding in check_task(TaskPackage(folder)).findings}


@pytest.mark.skipif(os.name == "nt" or os.uname().sysname == "Darwin", reason="needs names of any bytes")
def test_fil105_name_that_is_not_utf8(native_task: Path) -> None:
    """Such a name is told, in a message that can be printed."""
    path = os.fsencode(native_task / "environment") + b"/caf\xe9.txt"
    with open(path, "wb") as stream:  # noqa: PTH123 - Path has no bytes
        stream.write(b"x")
    [finding] = [found for found in check_task(TaskPackage(native_task)).findings if found.code == "FIL105"]
    assert finding.path == "environment/caf\\xe9.txt"
    assert "not UTF-8" in finding.message
    finding.message.encode()


@pytest.mark.parametrize(
    "name", ["nul", "con.txt", "a*b", "a?b", "x" * 250 + ".csv", "end.", "end ", "tab\t"]
)
def test_fil105_names_that_cannot_live_everywhere(native_task: Path, name: str) -> None:
    """Windows and the Hub can't hold them."""
    (native_task / "environment" / name).write_bytes(b"x")
    assert codes(native_task) == {"FIL105"}


def test_fil105_long_path(native_task: Path) -> None:
    """A path over 200 characters is told once, however deep."""
    folder = native_task / "environment" / ("a" * 100) / ("b" * 100)
    folder.mkdir(parents=True)
    (folder / "c").write_bytes(b"x")
    assert codes(native_task) == {"FIL105"}


def test_fil107_crowded_folder(native_task: Path) -> None:
    """The Hub takes 10,000 entries in a folder."""
    folder = native_task / "environment" / "many"
    folder.mkdir()
    for number in range(10_001):
        (folder / str(number)).touch()
    [finding] = [found for found in check_task(TaskPackage(native_task)).findings if found.code == "FIL107"]
    assert finding.path == "environment/many"


def test_fil108_unreadable_file_and_folder(native_task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What permissions forbid is told; simulated, since root may read everything."""
    (native_task / "environment/locked").mkdir()
    scandir, access, opened = os.scandir, os.access, os.open

    def guarded(path: str) -> object:
        if str(path).endswith("locked"):
            raise PermissionError(path)
        return scandir(path)

    def guarded_open(path: str, flags: int, *more: int) -> int:
        if str(path).endswith("data.csv"):
            raise PermissionError(path)
        return opened(path, flags, *more)

    monkeypatch.setattr(os, "scandir", guarded)
    monkeypatch.setattr(os, "open", guarded_open)
    monkeypatch.setattr(
        os, "access", lambda path, mode: not str(path).endswith("data.csv") and access(path, mode)
    )
    found = [item for item in check_task(TaskPackage(native_task)).findings if item.code == "FIL108"]
    assert {item.path for item in found} == {"environment/locked", "environment/data.csv"}
