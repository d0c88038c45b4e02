"""Runs the code under test at arm's length.

Its `.py` files are copied, and `driver.py` runs them in another process, as another user where the verifier
is root, without environment, with limits. Only JSON comes back, and its shape is checked.
"""

from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
NOBODY = 65534
MAX_SOURCE_BYTES = 2_000_000
MAX_RESULT_BYTES = 32_000_000


def fail(message: str) -> Any:
    pytest.fail(message, pytrace=False)


def quick_folder() -> str | None:
    """A folder in memory, where thousands of syncs cost nothing; None for the usual one."""
    memory = Path("/dev/shm")
    if memory.is_dir() and os.access(memory, os.W_OK | os.X_OK) and shutil.disk_usage(memory).free > 32 << 20:
        return str(memory)
    return None


class Lab:
    def __init__(self, app: Path, *, drop_root: bool) -> None:
        self.app = app
        self.drop_root = drop_root
        self.root = Path(tempfile.mkdtemp(prefix="cairn-", dir=quick_folder()))
        self.root.chmod(0o755)
        self.code = self.root / "code"
        self._folders = 0
        shutil.copyfile(HERE / "driver.py", self.root / "driver.py")
        self.problem = self._copy_package()
        shutil.copytree(HERE / "pristine" / "tests", self.code / "tests")
        for path in [self.code, *self.code.rglob("*"), self.root / "driver.py"]:
            path.chmod(0o755 if path.is_dir() else 0o644)

    def _copy_package(self) -> str:
        """Copy the sources alone: no bytecode, links or libraries. What is wrong with them, or nothing."""
        package = self.app / "cairn"
        (self.code / "cairn").mkdir(parents=True)
        if package.is_symlink() or not package.is_dir():
            return f"`{package}` is not a folder"
        total = 0
        for path in sorted(package.rglob("*.py")):
            inside = path.relative_to(package)
            if any((package / parent).is_symlink() for parent in (inside, *inside.parents)):
                return f"`{path}` is, or lies behind, a symbolic link"
            if not path.is_file():
                return f"`{path}` is not a regular file"
            total += path.stat().st_size
            if total > MAX_SOURCE_BYTES:
                return f"`{package}` holds more than {MAX_SOURCE_BYTES} bytes of source"
            copy = self.code / "cairn" / inside
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
        return ""

    def close(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def folder(self, files: dict[str, bytes] | None = None) -> Path:
        """A new folder, holding `files`, that the code under test may change."""
        self._folders += 1
        folder = self.root / f"{self._folders:04d}"
        folder.mkdir()
        folder.chmod(0o777)
        for name, data in (files or {}).items():
            (folder / name).write_bytes(data)
            (folder / name).chmod(0o666)
        return folder

    def run(self, operations: list[list[Any]], *, seconds: float = 60) -> list[Any]:
        """The result of each operation. Fails the test when there are none in time."""
        if self.problem:
            fail(self.problem)
        reader, writer = os.pipe()
        options: dict[str, Any] = {}
        if self.drop_root:
            options = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
            given.write(json.dumps(operations).encode())
            given.seek(0)
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-B", self.root / "driver.py", self.code, str(writer)],
                stdin=given, stdout=said, stderr=said, cwd=self.root, env={"PATH": "/usr/bin:/bin"},
                pass_fds=(writer,), start_new_session=True, **options,
            )  # fmt: skip
            os.close(writer)
            try:
                raw = read_pipe(reader, seconds)
                if raw is not None:
                    process.wait(5)
            except subprocess.TimeoutExpired:
                raw = None
            finally:
                os.close(reader)
                # The process is not reaped yet, or was the leader: its group is still ours.
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                else:
                    end_group(process.pid)
            said.seek(max(0, said.seek(0, os.SEEK_END) - 600))
            tail = said.read().decode("utf-8", "replace").strip()
        if raw is None:
            fail(f"{len(operations)} operations were not finished within {seconds:.0f} s\n{tail}")
        return checked_results(raw, len(operations), f"exit status {process.returncode}\n{tail}")


def end_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def read_pipe(reader: int, seconds: float) -> bytes | None:
    """Everything up to the end of the pipe, None when that takes too long or is too much."""
    end = time.monotonic() + seconds
    data = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(reader, selectors.EVENT_READ)
        while len(data) <= MAX_RESULT_BYTES:
            left = end - time.monotonic()
            if left <= 0 or not selector.select(left):
                return None
            chunk = os.read(reader, 1 << 16)
            if not chunk:
                return bytes(data)
            data += chunk
    return None


def checked_results(raw: bytes, count: int, ended: str) -> list[Any]:
    try:
        results = json.loads(raw)
    except (ValueError, RecursionError):
        return fail(f"the process of the code under test ended without a report: {ended}")
    if not isinstance(results, list) or len(results) != count:
        return fail(f"the report of the code under test is not one result for each operation: {ended}")
    return results
