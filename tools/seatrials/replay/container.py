"""One container for one trial: there from `with` on, gone after it whatever happened."""

import contextlib
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from seatrials.replay import archive
from seatrials.replay.engine import ContainerPlan, Engine, EngineGone, EngineRefused, ExecResult
from seatrials.replay.spec import LOGS, Folder

LOG_FOLDERS: Final = (f"{LOGS}/agent", f"{LOGS}/verifier", f"{LOGS}/artifacts")

IDLE: Final = ("sh", "-c", "while :; do sleep 3600; done")
"""The first process: a shell that reaps orphans, and that no `kill -9 -1` in the container can end."""

MAX_PROCESSES: Final = 2048
"""Processes and threads in one container, so that a fork bomb stays inside it."""

_AFTER: Final = """seatrials_code=$?
for f in /sys/fs/cgroup/memory.peak /sys/fs/cgroup/memory/memory.max_usage_in_bytes; do
[ -r "$f" ] && read -r v < "$f" && echo "seatrials peak $v"; done
for f in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
[ -r "$f" ] && while read -r k v; do [ "$k" = oom_kill ] && echo "seatrials oom $v"; done < "$f"; done
exit $seatrials_code
"""
"""Shell built-ins only: what a task did to its own tools does not matter."""

_SEEN: Final = re.compile(rb"^seatrials (peak|oom) (\d+)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A phase's command. `code` is None when it did not end by itself; `peak` is bytes, None if unknown."""

    code: int | None
    timed_out: bool
    seconds: float
    peak: int | None
    oom_kills: int


class StartRefused(EngineRefused):
    """The engine would not make or start the container."""


class Container:
    """A running container of one trial."""

    def __init__(self, engine: Engine, container: str, *, default_user: str) -> None:
        self.engine = engine
        self.id = container
        self.default_user = default_user

    def put(self, *folders: Folder) -> None:
        """Upload folders."""
        self.engine.put(self.id, archive.write_folders(folders))

    def shell(
        self,
        script: str,
        *,
        timeout: float,
        user: str | None = None,
        env: Mapping[str, str] | None = None,
        workdir: str | None = None,
    ) -> ExecResult:
        """Run a script in the container's `sh`, as the image's own user unless told otherwise."""
        return self.engine.exec(
            self.id,
            ("sh", "-c", script),
            timeout=timeout,
            user=user or self.default_user or None,
            env=env,
            workdir=workdir,
        )

    def phase(
        self,
        script: str,
        *,
        log: str,
        timeout: float,
        user: str | None = None,
        env: Mapping[str, str] | None = None,
        workdir: str | None = None,
        before: str = "",
    ) -> Ran:
        """Run one phase's command with its output in `log`, a path in the container.

        `before` is run first, outside the log.
        """
        # In braces on a line of its own, so that the redirection covers all of a compound command.
        wrapped = f"{before}\n{{ {script}\n}} > {log} 2>&1\n{_AFTER}"
        result = self.shell(wrapped, timeout=timeout, user=user, env=env, workdir=workdir)
        seen = {match[1]: int(match[2]) for match in _SEEN.finditer(result.output)}
        return Ran(
            code=result.code,
            timed_out=result.timed_out,
            seconds=result.seconds,
            peak=seen.get(b"peak"),
            oom_kills=seen.get(b"oom", 0),
        )

    def end_processes(self) -> None:
        """End everything that runs in the container but the container itself."""
        with contextlib.suppress(EngineRefused):
            self.engine.exec(self.id, ("sh", "-c", "kill -9 -1"), timeout=20.0, user="0")

    def logs(self) -> archive.Harvest:
        """Read what lies under `/logs`, bounded.

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


@contextlib.contextmanager
def started(
    engine: Engine,
    plan: ContainerPlan,
    *,
    folders: Iterable[Folder] = (),
    default_user: str = "",
    keep: bool = False,
) -> Iterator[Container]:
    """Make and start a container with the log folders and `folders` in it; remove it in the end.

    With `keep` it stays when it came to run. Raises `StartRefused`.
    """
    container = ""
    ready = False
    try:
        try:
            container = engine.create(plan)
            engine.put(container, archive.write_folders(folders, empty=LOG_FOLDERS))
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
