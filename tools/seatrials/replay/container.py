"""One container for one trial: there from `with` on, gone after it whatever happened.

Each phase is one command of the engine: it takes the phase's files from its
standard input, runs the phase, and gives the log folder back on its standard
output. Every other way costs the engine another process or two.
"""

import contextlib
import io
import re
import tarfile
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from seatrials.replay import archive
from seatrials.replay.engine import ContainerPlan, Engine, EngineGone, EngineRefused, Running
from seatrials.replay.spec import LOGS, Folder

LOG_FOLDERS: Final = (f"{LOGS}/agent", f"{LOGS}/verifier", f"{LOGS}/artifacts")

IDLE: Final = ("sh", "-c", "while :; do sleep 3600; done")
"""The first process: a shell that reaps orphans, and that no `kill -9 -1` in the container can end."""

MAX_PROCESSES: Final = 2048
"""Processes and threads in one container, so that a fork bomb stays inside it."""

_COLLECT_SECONDS: Final = 300.0
_OUTPUT_BYTES: Final = 16 * 1024
_HEAD_BYTES: Final = 4096

_ROOT: Final = frozenset({"", "0", "root", "0:0", "root:root"})
_PATH: Final = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_UNPACK: Final = f"""({_PATH}; command -v tar) >/dev/null || {{ echo "seatrials untar"; exit 0; }}
({_PATH}; tar -x -f - -C /) || {{ echo "seatrials stuck"; exit 0; }}
exec </dev/null
"""

_AFTER: Final = """seatrials_code=$?
for f in /sys/fs/cgroup/memory.peak /sys/fs/cgroup/memory/memory.max_usage_in_bytes; do
[ -r "$f" ] && read -r v < "$f" && echo "seatrials peak $v"; done
for f in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
[ -r "$f" ] && while read -r k v; do [ "$k" = oom_kill ] && echo "seatrials oom $v"; done < "$f"; done
echo "seatrials code $seatrials_code"
"""
"""Shell built-ins only: what a task did to its own tools does not matter."""

_GIVE_BACK: Final = f"""echo "seatrials logs"
{_PATH}
exec tar -c -f - -C / logs 2>/dev/null
"""

_SEEN: Final = re.compile(rb"^seatrials (peak|oom|code|untar|stuck) ?(\d*)$")
_LOGS_FOLLOW: Final = b"seatrials logs"


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A phase's command. `code` is None when it did not end by itself; `peak` is bytes, None if unknown.

    `told` says that the phase's shell lived to tell the code, not the engine
    alone. `logs` is what lay under `/logs`, where it was asked for and could be given.
    """

    code: int | None
    timed_out: bool
    seconds: float
    peak: int | None
    oom_kills: int
    told: bool = True
    logs: archive.Harvest | None = None


@dataclass(frozen=True, kw_only=True)
class ShellResult:
    """A short command's exit code (None when it did not end) and the beginning of what it printed."""

    code: int | None
    output: bytes
    seconds: float
    timed_out: bool


class StartRefused(EngineRefused):
    """The engine would not make or start the container."""


class Container:
    """A running container of one trial. `default_user` is its image's, empty for root."""

    def __init__(self, engine: Engine, container: str, *, default_user: str) -> None:
        self.engine = engine
        self.id = container
        self.default_user = default_user
        self._has_logs = False
        self._has_tar = True

    def put(self, *folders: Folder) -> None:
        """Upload folders, and the log folders with the first."""
        self.engine.put(self.id, self._pack(folders))

    def _pack(self, folders: Iterable[Folder]) -> io.BytesIO:
        stream = io.BytesIO()
        archive.write_folders(folders, empty=() if self._has_logs else LOG_FOLDERS, into=stream)
        self._has_logs = True
        return stream

    def shell(
        self,
        script: str,
        *,
        timeout: float,
        user: str | None = None,
        env: Mapping[str, str] | None = None,
        workdir: str | None = None,
    ) -> ShellResult:
        """Run a script in the container's `sh`, as the image's own user unless told otherwise."""
        began = time.monotonic()
        kept = bytearray()
        code: int | None = None
        timed_out = False
        with self._running(script, user=user, env=env, workdir=workdir) as running:
            try:
                while piece := running.read(began + timeout):
                    kept += piece[: max(0, _OUTPUT_BYTES - len(kept))]
                code = running.code()
            except TimeoutError:
                timed_out = True
        return ShellResult(
            code=code, output=bytes(kept), seconds=time.monotonic() - began, timed_out=timed_out
        )

    @contextlib.contextmanager
    def _running(
        self,
        script: str,
        *,
        user: str | None,
        env: Mapping[str, str] | None,
        workdir: str | None,
        stdin: io.BytesIO | None = None,
    ) -> Iterator[Running]:
        running = self.engine.open(
            self.id,
            ("sh", "-c", script),
            stdin=stdin,
            user=user or self.default_user or None,
            env=env,
            workdir=workdir,
        )
        try:
            yield running
        finally:
            running.close()

    def phase(  # noqa: PLR0913 - one phase has this many sides
        self,
        script: str,
        *,
        folder: Folder,
        log: str,
        timeout: float,
        user: str | None = None,
        env: Mapping[str, str] | None = None,
        workdir: str | None = None,
        before: str = "",
        collect: bool = False,
    ) -> Ran:
        """Upload a phase's folder and run its command with its output in `log`, a path in the container.

        `before` is run ahead of it, outside the log and as the same user.
        `timeout` is for the command; with `collect` the log folders are read
        back afterwards.
        """
        # In braces on a line of its own, so that the redirection covers all of a compound command.
        wrapped = f"{before}\n{{ {script}\n}} > {log} 2>&1\n{_AFTER}{_GIVE_BACK if collect else ''}"
        if self._has_tar and (user or self.default_user) in _ROOT:
            with self._running(
                _UNPACK + wrapped, user=user, env=env, workdir=workdir, stdin=self._pack([folder])
            ) as running:
                ran = _follow(running, timeout, collect=collect)
            if ran is not None:
                return ran
            self._has_tar = self._has_logs = False
        self.put(folder)
        with self._running(wrapped, user=user, env=env, workdir=workdir) as running:
            ran = _follow(running, timeout, collect=collect)
        return ran if ran is not None else Ran(code=125, timed_out=False, seconds=0.0, peak=None, oom_kills=0)

    def end_processes(self) -> None:
        """End everything that runs in the container but the container itself."""
        with contextlib.suppress(EngineRefused):
            self.shell("kill -9 -1", timeout=20.0, user="0")

    def logs(self) -> archive.Harvest:
        """Read what lies under `/logs` from outside, bounded, where the container could not give it.

        Something that still writes can break the first reading; then the
        container is ended, and what it left is read once more.
        """
        with contextlib.suppress(tarfile.TarError, EngineRefused):
            return self._read_logs()
        self.engine.kill(self.id)
        try:
            return self._read_logs()
        except (tarfile.TarError, EngineRefused):
            return archive.Harvest(truncated=True)

    def _read_logs(self) -> archive.Harvest:
        chunks = self.engine.get(self.id, LOGS)
        if chunks is None:
            return archive.Harvest()
        with contextlib.closing(chunks):
            return archive.read_logs(chunks)


def _follow(running: Running, timeout: float, *, collect: bool) -> Ran | None:
    """Follow a phase's script to its end; None when the container has no `tar` to take the files."""
    began = time.monotonic()
    seen: dict[bytes, int] = {}
    logs: archive.Harvest | None = None
    try:
        first = _read_head(running, began + timeout, seen, collect=collect)
    except TimeoutError:
        seconds = time.monotonic() - began
        return Ran(code=None, timed_out=True, seconds=seconds, peak=None, oom_kills=0)
    seconds = time.monotonic() - began
    if b"stuck" in seen:
        raise EngineRefused("the container could not take the files of a phase")
    if b"untar" in seen:
        return None
    if first is not None:
        pieces = _pieces(first, running, time.monotonic() + _COLLECT_SECONDS)
        with contextlib.suppress(tarfile.TarError, TimeoutError):
            logs = archive.read_logs(pieces)
    return Ran(
        code=seen[b"code"] if b"code" in seen else running.code(),
        timed_out=False,
        seconds=seconds,
        peak=seen.get(b"peak"),
        oom_kills=seen.get(b"oom", 0),
        told=b"code" in seen,
        logs=logs,
    )


def _read_head(running: Running, deadline: float, seen: dict[bytes, int], *, collect: bool) -> bytes | None:
    """Read the lines that our own shell prints into `seen`.

    With `collect`, returns what came after the line that says that the logs
    follow. None when the output ended without it, or none was asked for.
    """
    buffer = b""
    while True:
        line, newline, rest = buffer.partition(b"\n")
        if newline:
            if line == _LOGS_FOLLOW:
                return rest
            if match := _SEEN.match(line):
                seen[match[1]] = int(match[2] or 0)
                # Something left behind may hold the stream open; our last line is enough.
                if match[1] == b"code" and not collect:
                    return None
            buffer = rest
            continue
        piece = running.read(deadline)
        if not piece:
            return None
        # Only our own lines are printed here, so a long one is none of them.
        buffer = (buffer + piece) if len(buffer) < _HEAD_BYTES else piece


def _pieces(first: bytes, running: Running, deadline: float) -> Generator[bytes, None, None]:
    if first:
        yield first
    while piece := running.read(deadline):
        yield piece


@contextlib.contextmanager
def started(
    engine: Engine, plan: ContainerPlan, *, default_user: str = "", keep: bool = False
) -> Iterator[Container]:
    """Make and start a container; remove it in the end.

    With `keep` it stays when it came to run. Raises `StartRefused`.
    """
    container = ""
    ready = False
    try:
        try:
            container = engine.create(plan)
            engine.start(container)
        except EngineRefused as error:
            raise StartRefused(str(error), error.status) from error
        ready = True
        yield Container(engine, container, default_user=default_user)
    finally:
        if container and not (keep and ready):
            # What can't be removed now, because the engine went away, goes at the next start.
            with contextlib.suppress(EngineGone, EngineRefused):
                engine.remove(container)
