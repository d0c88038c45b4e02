"""Running other programs: the one user of `subprocess` in the kit.

Never through a shell, always with a time limit, and when that passes the whole
group of processes is killed, not the first one alone.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

_GRACE = 5.0

_LOCK = threading.Lock()
_RUNNING: "set[subprocess.Popen[bytes]]" = set()


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def start_method() -> Literal["fork", "spawn"]:
    """Return how to start a worker: forking takes milliseconds, a fresh interpreter some hundred.

    Only a process with a single thread can be forked safely, and macOS's libraries don't bear it at all.
    """
    if sys.platform == "linux":
        try:
            return "fork" if len(list(Path("/proc/self/task").iterdir())) == 1 else "spawn"
        except OSError:
            pass
    return "spawn"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """A program that ended by itself. `output` has standard output and standard error as they came."""

    argv: tuple[str, ...]
    code: int
    output: str

    @property
    def ok(self) -> bool:
        """Whether it exited with 0."""
        return self.code == 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Apart:
    """A program that ended by itself, with its standard output and its standard error as bytes, apart."""

    code: int
    output: bytes
    errors: bytes


class ProgramMissing(Exception):  # noqa: N818 - reads as what happened
    """The program is not installed, or not on PATH."""


class ProgramTimedOut(Exception):  # noqa: N818 - reads as what happened
    """The program ran past its time limit and was killed with its children."""

    def __init__(self, argv: Sequence[str], seconds: float, output: str) -> None:
        super().__init__(f"`{argv[0]}` took over {seconds:g} s and was ended")
        self.output = output


class TooMuchOutput(Exception):  # noqa: N818 - reads as what happened
    """The program printed more than is taken, and was killed with its children."""


def find(program: str) -> str | None:
    """Return the full path of a program on PATH, or None."""
    return shutil.which(program)


def run(
    argv: Sequence[str],
    *,
    timeout: float,
    cwd: Path | None = None,
    env: Mapping[str, str | None] | None = None,
    stdin: bytes | IO[bytes] | None = None,
) -> Finished:
    """Run a program to its end and return what it printed.

    `timeout` is in seconds; `env`, where given, is added to this process's
    own, without the variables whose value there is None; `stdin` is what the
    program reads, an open file from where it stands.
    Raises `ProgramMissing` and `ProgramTimedOut`; an exit code is data.
    """
    given: bytes | None = None
    source: int | IO[bytes] = subprocess.DEVNULL
    if isinstance(stdin, bytes):
        given, source = stdin, subprocess.PIPE
    elif stdin is not None:
        source = stdin
    whole = None if env is None else _merged(env)
    with _running(argv, cwd=cwd, env=whole, stdin=source, stderr=subprocess.STDOUT) as process:
        try:
            output, _ = process.communicate(given, timeout=timeout)
        except subprocess.TimeoutExpired as error:
            _kill_group(process)
            raise ProgramTimedOut(argv, timeout, _drain(process)) from error
        except BaseException:
            _kill_group(process)
            _drain(process)
            raise
    return Finished(argv=tuple(argv), code=process.returncode, output=output.decode("utf-8", "replace"))


def run_apart(
    argv: Sequence[str],
    *,
    timeout: float,
    env: Mapping[str, str],
    cwd: Path | None = None,
    limit: int = 64 * 1024 * 1024,
) -> Apart:
    """Run a program that reads nothing to its end, and return its two streams apart.

    `timeout` is in seconds; `env` is all of the program's environment, nothing
    of this process's is added; `limit` is the most bytes taken of a stream.
    Raises `ProgramMissing`, `ProgramTimedOut` (with what stood on standard
    error) and `TooMuchOutput`; an exit code is data.
    """
    with _running(argv, cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        streams = [_Reader(process, stream, limit) for stream in (process.stdout, process.stderr)]
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired as error:
            _kill_group(process)
            process.wait()
            raise ProgramTimedOut(argv, timeout, streams[1].taken().decode("utf-8", "replace")) from error
        except BaseException:
            _kill_group(process)
            process.wait()
            raise
    output, errors = (stream.taken() for stream in streams)
    if any(stream.full for stream in streams):
        raise TooMuchOutput(f"`{argv[0]}` printed over {limit} bytes and was ended")
    return Apart(code=process.returncode, output=output, errors=errors)


@contextlib.contextmanager
def _running(
    argv: Sequence[str],
    *,
    cwd: Path | None,
    env: Mapping[str, str] | None,
    stdin: int | IO[bytes],
    stderr: int,
) -> "Iterator[subprocess.Popen[bytes]]":
    """Start a program with its output on a pipe; while the block lasts, `end_all` knows of it."""
    try:
        # A session of its own, so that the group can be killed as one.
        process = subprocess.Popen(  # noqa: S603 - argv is a list built by the kit, no shell reads it
            list(argv),
            cwd=cwd,
            env=env,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        if cwd is not None and not cwd.is_dir():
            raise
        raise ProgramMissing(f"`{argv[0]}` is not installed") from error
    with _LOCK:
        _RUNNING.add(process)
    try:
        yield process
    finally:
        with _LOCK:
            _RUNNING.discard(process)


class _Reader:
    """Takes what a program prints on one stream, up to a limit, in a thread of its own."""

    def __init__(self, process: "subprocess.Popen[bytes]", stream: IO[bytes] | None, limit: int) -> None:
        self.full = False
        self._process = process
        self._stream = stream
        self._limit = limit
        self._data = bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        if self._stream is None:
            return
        with self._stream as stream:
            while chunk := os.read(stream.fileno(), 64 * 1024):
                self._data += chunk
                if len(self._data) > self._limit:
                    self.full = True
                    _kill_group(self._process)
                    return

    def taken(self) -> bytes:
        """Return what came; a grandchild that left the group and holds the pipe is not waited for."""
        self._thread.join(_GRACE)
        return bytes(self._data)


def _merged(env: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in {**os.environ, **env}.items() if value is not None}


def end_all() -> None:
    """Kill every program that other threads of this process wait for in `run`, each with its children."""
    with _LOCK:
        running = tuple(_RUNNING)
    for process in running:
        _kill_group(process)


def attach(argv: Sequence[str]) -> int:
    """Run a program on this terminal until it ends, and return its exit code."""
    try:
        return subprocess.run(list(argv), check=False).returncode  # noqa: S603 - as above
    except FileNotFoundError as error:
        raise ProgramMissing(f"`{argv[0]}` is not installed") from error


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _drain(process: "subprocess.Popen[bytes]") -> str:
    # A grandchild that left the group may hold the pipe open: don't wait for it for ever.
    try:
        output, _ = process.communicate(timeout=_GRACE)
    except subprocess.TimeoutExpired as error:
        output = error.output or b""
        if process.stdout is not None:
            process.stdout.close()
    return output.decode("utf-8", "replace")
