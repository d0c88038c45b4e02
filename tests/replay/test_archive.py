"""What goes into builds and containers, and what is read out of them."""

import io
import tarfile
from typing import IO

import pytest
from replay_helpers import FakeFile, files, tar_of

from seatrials.parse.dockerignore import without_ignored
from seatrials.replay import archive
from seatrials.replay.spec import Folder


def entries(stream: IO[bytes]) -> dict[str, tarfile.TarInfo]:
    """Return what a tar holds."""
    with tarfile.open(fileobj=stream) as tar:
        return {info.name: info for info in tar.getmembers()}


def test_context_is_the_same_for_the_same_files() -> None:
    """The same files give the same bytes in whatever order they come, and without times or owners."""
    content = files(Dockerfile="FROM x\n", data__a="1", data__b="2")
    backwards = dict(reversed(content.items()))
    first = archive.write_context(content, io.BytesIO()).read()
    assert first == archive.write_context(backwards, io.BytesIO()).read()
    infos = entries(io.BytesIO(first))
    assert {(info.mtime, info.uid, info.gid) for info in infos.values()} == {(0, 0, 0)}
    assert infos["data"].isdir()


def test_links_are_not_followed() -> None:
    """A link goes in as a link with its target's name; nothing of the target is read."""
    content = {"passwd": FakeFile(data=b"/etc/passwd", kind="link"), "pipe": FakeFile(kind="other")}
    infos = entries(archive.write_context(content, io.BytesIO()))
    assert set(infos) == {"passwd"}
    assert infos["passwd"].issym()
    assert infos["passwd"].linkname == "/etc/passwd"


def test_scripts_get_the_run_bit_in_a_container_only() -> None:
    """An uploaded script can be run, as after the runtimes' `chmod +x`; a build context is left alone."""
    content = files(test_dot_sh="x", data="x")
    uploaded = entries(archive.write_folders([Folder(target="/tests", files=content)], empty=["/logs/agent"]))
    assert uploaded["tests/test.sh"].mode == 0o755
    assert uploaded["tests/data"].mode == 0o644
    assert uploaded["logs/agent"].mode == 0o777
    assert entries(archive.write_context(content, io.BytesIO()))["test.sh"].mode == 0o644


def test_long_log_keeps_its_ends() -> None:
    """Of a long log the beginning and the end stay, with a line that says how much is missing."""
    size = 3 * 1024 * 1024
    log = b"first\n" + b"x" * size + b"\nlast\n"
    harvest = archive.read_logs([tar_of({"verifier/test-stdout.txt": log, "verifier/reward.txt": b"1"})])
    kept = harvest.files["verifier/test-stdout.txt"]
    assert kept.startswith(b"first\n")
    assert kept.endswith(b"\nlast\n")
    assert len(kept) < archive.HEAD_BYTES + archive.TAIL_BYTES + 100
    left_out = int(kept.split(b"[... ")[1].split(b" ")[0])
    assert left_out + len(kept) - len(b"\n[... %d bytes left out ...]\n" % left_out) == len(log)
    assert harvest.files["verifier/reward.txt"] == b"1"


def test_reading_stops_at_a_limit() -> None:
    """However much a container left, reading ends at a limit and says so."""
    raw = tar_of({"verifier/reward.txt": b"1", "verifier/big": b"x" * 6_000_000})
    harvest = archive.read_logs([raw[i : i + 1000] for i in range(0, len(raw), 1000)], total=3_000_000)
    assert harvest.truncated
    assert harvest.files == {"verifier/reward.txt": b"1"}


def test_links_among_the_logs_are_passed_over() -> None:
    """A link where the reward should be is no reward."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        info = tarfile.TarInfo("logs/verifier/reward.txt")
        info.type = tarfile.SYMTYPE
        info.linkname = "/etc/hostname"
        tar.addfile(info)
    assert archive.read_logs([buffer.getvalue()]).files == {}


def test_cut_archive_is_an_error() -> None:
    """An archive that ends in the middle of a file is not taken for a whole one."""
    with pytest.raises((tarfile.TarError, OSError)):
        archive.read_logs([tar_of({"verifier/reward.txt": b"1" * 5000})[:2000]])


def test_last_lines_are_plain_text() -> None:
    """Control characters of a log don't reach the terminal."""
    assert archive.last_lines(b"one\n\n\x1b[31mtwo\x1b[0m\r\nthree \xff\n", 2) == (
        "[31mtwo[0m",
        "three \ufffd",
    )


def test_dockerignore() -> None:
    """What `.dockerignore` names is not sent; the Dockerfile always is; `!` brings back."""
    content = files(
        Dockerfile="FROM x\n",
        _dot_dockerignore="# notes\n*.log\nsecret\n!keep.log\nDockerfile\n",
        run_dot_log="x",
        keep_dot_log="x",
        secret__key="x",
        data="x",
    )
    assert set(without_ignored(content)) == {"Dockerfile", ".dockerignore", "keep.log", "data"}
