"""Stand-ins for a task's files and for the container engine."""

import io
import tarfile
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Literal

from seatrials.replay.engine import (
    BuildFailed,
    ContainerPlan,
    EngineGone,
    EngineInfo,
    Image,
)
from seatrials.replay.spec import Folder, Oracle, Step, TrialSpec, Verifier
from seatrials.task.files import git_blob_id


@dataclass(frozen=True, kw_only=True)
class FakeFile:
    """A file that is not on disk."""

    data: bytes = b""
    kind: Literal["file", "link", "other"] = "file"
    mode: int = 0o644

    @property
    def blob_id(self) -> str:
        """The git blob id."""
        return git_blob_id(self.data)

    def read(self) -> bytes:
        """Return the content."""
        return self.data


def files(**content: str | bytes) -> dict[str, FakeFile]:
    """Return files by path; `__` in a keyword is a slash and `_dot_` a dot."""
    return {
        name.replace("__", "/").replace("_dot_", "."): FakeFile(
            data=data.encode() if isinstance(data, str) else data
        )
        for name, data in content.items()
    }


def spec(**changes: Any) -> TrialSpec:
    """Return the spec of a small native task, with changes."""
    step = Step(
        verifier=Verifier(
            folder=Folder(target="/verifier", files=files(test_dot_sh="exit 0\n")),
            command="/verifier/test.sh",
            link_tests=True,
        ),
        oracle=Oracle(
            folder=Folder(target="/oracle", files=files(solve_dot_sh="exit 0\n")),
            command="bash /oracle/solve.sh",
        ),
    )
    values: dict[str, Any] = {
        "name": "sums",
        "format": "native",
        "content_hash": "sha256:" + "a" * 64,
        "context": files(Dockerfile="FROM debian:bookworm-slim\n"),
        "steps": (step,),
        "cpus": 1.0,
        "memory": 512 * 1024**2,
    }
    return TrialSpec(**{**values, **changes})


def tar_of(content: Mapping[str, bytes]) -> bytes:
    """Return a tar as the engine gives it for `/logs`."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in content.items():
            info = tarfile.TarInfo("logs/" + name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


Logs = Mapping[str, bytes]


@dataclass
class FakeRunning:
    """A command that printed some pieces; without pieces one that never ends."""

    pieces: list[bytes] | None
    exit_code: int | None

    def read(self, deadline: float) -> bytes:
        """Return the next piece."""
        if self.pieces is None:
            raise TimeoutError
        return self.pieces.pop(0) if self.pieces else b""

    def code(self) -> int | None:
        """Return the exit code."""
        return self.exit_code

    def close(self) -> None:
        """Do nothing."""


@dataclass
class FakeEngine:
    """An engine whose containers do what `behave` says.

    `behave` is called with the script of each command; what it returns is the
    exit code (None: it never ends), what it raises is raised. `logs` says what lies under `/logs` in the end.
    """

    logs: Callable[[bool], Logs] = lambda oracle: {"verifier/reward.txt": b"1" if oracle else b"0"}
    behave: Callable[[str], int | None] = lambda script: 0
    build_error: Exception | None = None
    present: set[str] = field(default_factory=lambda: {"debian:bookworm-slim"})
    calls: list[str] = field(default_factory=list)
    alive: dict[str, Mapping[str, str]] = field(default_factory=dict)
    tags: set[str] = field(default_factory=set)
    plans: list[ContainerPlan] = field(default_factory=list)
    uploads: dict[str, list[str]] = field(default_factory=dict)
    scripts: list[tuple[str, str | None, Mapping[str, str] | None]] = field(default_factory=list)
    gone: bool = False
    has_tar: bool = True
    strays: dict[str, float] = field(default_factory=dict)
    count: int = 0

    def _check(self, call: str) -> None:
        self.calls.append(call)
        if self.gone:
            raise EngineGone("the engine stopped answering")

    def info(self) -> EngineInfo:
        """Say what the engine is."""
        return EngineInfo(version="1.0", architecture="amd64", os="linux", cpus=2, memory=8 * 1024**3)

    def image(self, name: str) -> Image | None:
        """Return an image that is there."""
        self._check("image")
        if name in self.present or name in self.tags:
            return Image(id=f"sha256:{name}", architecture="amd64")
        return None

    def pull(self, name: str, *, timeout: float) -> Image:
        """Refuse, as a registry out of reach does."""
        from seatrials.replay.engine import ImageUnavailable

        raise ImageUnavailable(f"pull access denied for {name}", 404)

    def build(self, context: IO[bytes], *, tag: str, timeout: float, log: Callable[[str], None]) -> Image:
        """Note a tag."""
        self._check("build")
        log("Step 1/1\n")
        if self.build_error is not None:
            raise self.build_error
        self.tags.add(tag)
        return Image(id=f"sha256:{tag}", architecture="amd64")

    def remove_image(self, tag: str) -> None:
        """Forget a tag."""
        self._check("remove_image")
        self.tags.discard(tag)
        self.strays.pop(tag, None)

    def images(self) -> Sequence[str]:
        """Return the tags."""
        return sorted(self.tags)

    def stray_images(self, *, older_than: float) -> Sequence[str]:
        """Return what is old enough."""
        return [name for name, age in self.strays.items() if age > older_than]

    def create(self, plan: ContainerPlan) -> str:
        """Note a container."""
        self._check("create")
        self.count += 1
        name = f"box{self.count}"
        self.plans.append(plan)
        self.alive[name] = dict(plan.labels)
        self.uploads[name] = []
        return name

    def start(self, container: str) -> None:
        """Do nothing."""
        self._check("start")

    def put(self, container: str, archive: IO[bytes]) -> None:
        """Note the names that go in."""
        self._check("put")
        with tarfile.open(fileobj=archive) as tar:
            self.uploads[container] += tar.getnames()

    def open(
        self,
        container: str,
        argv: Sequence[str],
        *,
        stdin: IO[bytes] | None = None,
        user: str | None = None,
        env: Mapping[str, str] | None = None,
        workdir: str | None = None,
    ) -> "FakeRunning":
        """Take what is uploaded, and do what `behave` says."""
        self._check("open")
        if stdin is not None and not self.has_tar:
            return FakeRunning([b"seatrials untar\n"], 0)
        if stdin is not None:
            self.put(container, stdin)
        self.scripts.append((argv[-1], user, env))
        code = self.behave(argv[-1])
        if code is None:
            return FakeRunning(None, None)
        pieces = [b"seatrials peak 1048576\n", b"seatrials code %d\nseatrials" % code]
        if self.has_tar and "seatrials logs" in argv[-1]:
            logs = tar_of(self.logs("oracle/solve.sh" in self.uploads[container]))
            pieces += [b" logs\n" + logs[:100], logs[100:]]
        return FakeRunning(pieces, code)

    def get(self, container: str, path: str) -> Generator[bytes, None, None] | None:
        """Return what `logs` says."""
        self._check("get")
        return (part for part in [tar_of(self.logs("oracle/solve.sh" in self.uploads[container]))])

    def kill(self, container: str) -> None:
        """Do nothing."""
        self._check("kill")

    def running(self, container: str) -> bool:
        """Say whether a container is there."""
        return container in self.alive

    def remove(self, container: str) -> None:
        """Forget a container."""
        self._check("remove")
        self.alive.pop(container, None)

    def containers(self, label: str) -> Sequence[tuple[str, Mapping[str, str]]]:
        """Return containers by label."""
        key, _, value = label.partition("=")
        return [
            (name, found)
            for name, found in self.alive.items()
            if key in found and (not value or found[key] == value)
        ]

    def set_network(self, container: str, *, on: bool) -> None:
        """Note the call."""
        self._check(f"network {on}")

    def networks(self, label: str) -> Sequence[tuple[str, Mapping[str, str]]]:
        """Return none."""
        return []

    def remove_network(self, network: str) -> None:
        """Do nothing."""

    def abort(self) -> None:
        """Note the call."""
        self.calls.append("abort")

    def close(self) -> None:
        """Note the call."""
        self.calls.append("close")


def failed_build(message: str, log: str = "") -> BuildFailed:
    """Return what a build that printed `log` raises."""
    return BuildFailed(message, log=log)
