"""The container engine, behind as narrow a door as a replay needs.

`Engine` is what the rest of the room works with; `DockerEngine` is Docker's
SDK behind it, loaded when first asked for. Tests put a stand-in there.

::

    CannotJudgeError               5
    ├── EngineAbsent                 no engine answers
    └── EngineGone                   it stopped answering in the middle
    EngineRefused                    it answered with an error
    ├── ImageUnavailable             an image can't be had from here
    └── BuildFailed                  a build ended with an error, or past its time
"""

import contextlib
import json
import re
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Final, Protocol

from seatrials.errors import CannotJudgeError

LABEL: Final = "seatrials"
PUBLIC_NETWORK: Final = "bridge"
API_TIMEOUT: Final = 120.0
"""Seconds that one answer of the engine may take; a start under load takes a few."""

_READ: Final = 64 * 1024
_CHUNK: Final = 1024 * 1024


class EngineAbsent(CannotJudgeError):  # noqa: N818 - reads as what happened
    """No container engine answers."""


class EngineGone(CannotJudgeError):  # noqa: N818 - reads as what happened
    """The engine stopped answering in the middle of something."""


class EngineRefused(Exception):  # noqa: N818 - reads as what happened
    """The engine answered with an error; the message is its own, on one line."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(one_line(message))
        self.status = status


class ImageUnavailable(EngineRefused):
    """An image is neither here nor to be had from its registry."""


class BuildFailed(EngineRefused):
    """A build ended with an error. `log` has what it printed, `timed_out` that its time was up."""

    def __init__(self, message: str, *, log: str = "", timed_out: bool = False) -> None:
        super().__init__(message)
        self.log = log
        self.timed_out = timed_out


@dataclass(frozen=True, kw_only=True)
class EngineInfo:
    """What an engine says of itself. `memory` is in bytes."""

    version: str
    architecture: str
    os: str
    cpus: int
    memory: int


@dataclass(frozen=True, kw_only=True)
class Image:
    """An image on the engine. `digests` are the registry digests it is known under."""

    id: str
    digests: tuple[str, ...] = ()
    architecture: str = ""
    user: str = ""
    workdir: str = ""


@dataclass(frozen=True, kw_only=True)
class ContainerPlan:
    """A container to be made. `cpus` is a share of CPUs, `memory` bytes, both None for no limit.

    No host folder is ever mounted and no privilege given: there is no field for it.
    """

    image: str
    command: tuple[str, ...]
    labels: Mapping[str, str]
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str | None = None
    network: str = "none"
    cpus: float | None = None
    memory: int | None = None
    pids: int = 0
    name: str | None = None


class Running(Protocol):
    """A command that runs in a container."""

    def read(self, deadline: float) -> bytes:
        """Return the next piece of its standard output, empty at the end.

        Raises TimeoutError when `deadline`, a time of `time.monotonic`, passes.
        """

    def code(self) -> int | None:
        """Return its exit code once it ended; None when it was ended with its container."""

    def close(self) -> None:
        """Let go of it; what runs goes on."""


class Engine(Protocol):
    """What a replay asks of a container engine. Every call may raise `EngineGone` or `EngineRefused`."""

    def info(self) -> EngineInfo:
        """Return what the engine says of itself."""

    def image(self, name: str) -> Image | None:
        """Return an image that is on the engine, or None."""

    def pull(self, name: str, *, timeout: float) -> Image:
        """Fetch an image. Raises `ImageUnavailable`."""

    def build(self, context: IO[bytes], *, tag: str, timeout: float, log: Callable[[str], None]) -> Image:
        """Build an image from the tar of a context. Raises `BuildFailed` and `ImageUnavailable`."""

    def remove_image(self, tag: str) -> None:
        """Take a tag away, and the image with its last tag; its layers stay in the build cache."""

    def images(self) -> Sequence[str]:
        """Return the tags of all images that carry our label."""

    def stray_images(self, *, older_than: float) -> Sequence[str]:
        """Return the ids of images of ours without a tag that were made over so many seconds ago."""

    def create(self, plan: ContainerPlan) -> str:
        """Make a container and return its id."""

    def start(self, container: str) -> None:
        """Start a container."""

    def put(self, container: str, archive: IO[bytes]) -> None:
        """Unpack a tar at the root of a container, running or not."""

    def open(
        self,
        container: str,
        argv: Sequence[str],
        *,
        stdin: IO[bytes] | None = None,
        user: str | None = None,
        env: Mapping[str, str] | None = None,
        workdir: str | None = None,
    ) -> Running:
        """Start a command in a running container; `stdin` is what it reads."""

    def get(self, container: str, path: str) -> Generator[bytes, None, None] | None:
        """Return the tar of a path in a container, in chunks, or None where there is no such path."""

    def kill(self, container: str) -> None:
        """End all processes of a container at once; nothing where it does not run."""

    def running(self, container: str) -> bool:
        """Say whether a container is there and runs."""

    def remove(self, container: str) -> None:
        """End and remove a container with its volumes; nothing where it is gone already."""

    def containers(self, label: str) -> Sequence[tuple[str, Mapping[str, str]]]:
        """Return id and labels of all containers that carry a label, running or not."""

    def set_network(self, container: str, *, on: bool) -> None:
        """Connect a running container to the default network, or cut it off."""

    def networks(self, label: str) -> Sequence[tuple[str, Mapping[str, str]]]:
        """Return id and labels of all networks that carry a label."""

    def remove_network(self, network: str) -> None:
        """Remove a network; nothing where it is gone, or something is still on it."""

    def abort(self) -> None:
        """Cut builds and downloads short that other threads wait for."""

    def close(self) -> None:
        """Let go of connections."""


def one_line(message: str) -> str:
    """Return a message of the engine on one line, without its prefixes."""
    text = " ".join(message.split())
    return re.sub(r"^(Error response from daemon|error): ", "", text, flags=re.IGNORECASE)[:500]


def connect() -> "DockerEngine":
    """Return the engine that Docker's own settings name (`DOCKER_HOST` and so on).

    Raises `EngineAbsent` with one line when none answers.
    """
    try:
        import docker
        from docker.errors import DockerException
    except ImportError as error:
        raise EngineAbsent("Docker's SDK for Python is not installed; a replay needs it") from error
    try:
        return DockerEngine(docker.from_env(timeout=int(API_TIMEOUT)).api)
    except (DockerException, OSError, ValueError) as error:
        raise EngineAbsent(
            f"no Docker engine answers ({_cause(error)}); start it, or set `DOCKER_HOST`"
        ) from error


def _cause(error: BaseException) -> str:
    """Return the innermost reason of a connection error, in few words."""
    seen = error
    while (inner := seen.__cause__ or seen.__context__) is not None:
        seen = inner
    text = getattr(seen, "strerror", None) or one_line(str(seen))
    return str(text)[:120]


class _DockerRunning:
    """A command in a container, by the engine's raw stream: frames of stream, 3 of nothing, length, data."""

    def __init__(self, api: Any, name: str, stream: Any, stdin: IO[bytes] | None) -> None:
        self._api = api
        self._name = name
        self._stream = stream
        self._raw = _raw_socket(stream)
        self._buffer = bytearray()
        self._sender: threading.Thread | None = None
        if stdin is not None:
            # Beside the reading: who waits for the other to read would wait for ever.
            self._sender = threading.Thread(target=self._send, args=(stdin,), daemon=True)
            self._sender.start()

    def _send(self, stdin: IO[bytes]) -> None:
        # What is not read, because the command ended before, is not missed.
        with contextlib.suppress(OSError, ValueError):
            while piece := stdin.read(_CHUNK):
                self._raw.sendall(piece)

    def read(self, deadline: float) -> bytes:
        """Return the next piece of standard output."""
        while True:
            if len(self._buffer) >= _HEAD:
                stream, length = struct.unpack(">BxxxI", self._buffer[:_HEAD])
                if len(self._buffer) >= _HEAD + length:
                    data = bytes(self._buffer[_HEAD : _HEAD + length])
                    del self._buffer[: _HEAD + length]
                    if stream == _STDOUT and data:
                        return data
                    continue
            # No timeout on the socket itself: the sender shares it.
            ready, _, _ = select.select([self._raw], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            with _answers():
                data = self._raw.recv(_READ)
            if not data:
                return b""
            self._buffer += data

    def code(self) -> int | None:
        """Return the exit code."""
        with _answers():
            code = self._api.exec_inspect(self._name).get("ExitCode")
        return None if code is None else int(code)

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(OSError):
            self._raw.shutdown(socket.SHUT_RDWR)
        if self._sender is not None:
            self._sender.join()
        _close(self._stream)


class DockerEngine:
    """Docker's SDK as an `Engine`. One object may serve several threads."""

    def __init__(self, api: Any) -> None:
        self._first = api
        self._local = threading.local()
        self._local.api = api
        self._clients = [api]
        self._lock = threading.Lock()
        self._builds: set[Any] = set()
        self._aborted = False

    @property
    def _api(self) -> Any:
        # The SDK's session is not made for threads, and each keeps a connection of its own.
        api = getattr(self._local, "api", None)
        if api is None:
            import docker

            api = docker.from_env(version=self._first._version, timeout=int(API_TIMEOUT)).api  # noqa: SLF001 - spares a round trip per thread
            self._local.api = api
            with self._lock:
                self._clients.append(api)
        return api

    def close(self) -> None:
        """Let go of connections."""
        for api in self._clients:
            with contextlib.suppress(Exception):
                api.close()

    def abort(self) -> None:
        """Cut builds and downloads short that other threads wait for."""
        self._aborted = True
        with self._lock:
            builds = tuple(self._builds)
        for response in builds:
            _hang_up(response)

    def info(self) -> EngineInfo:
        """Return what the engine says of itself."""
        with _answers():
            data = self._api.info()
        return EngineInfo(
            version=str(data.get("ServerVersion", "")),
            architecture=str(data.get("Architecture", "")),
            os=str(data.get("OSType", "linux")),
            cpus=int(data.get("NCPU") or 1),
            memory=int(data.get("MemTotal") or 0),
        )

    def image(self, name: str) -> Image | None:
        """Return an image that is on the engine, or None."""
        try:
            with _answers():
                data = self._api.inspect_image(name)
        except EngineRefused as error:
            if error.status == _NOT_FOUND:
                return None
            raise
        config = data.get("Config") or {}
        return Image(
            id=str(data["Id"]),
            digests=tuple(data.get("RepoDigests") or ()),
            architecture=str(data.get("Architecture", "")),
            user=str(config.get("User") or ""),
            workdir=str(config.get("WorkingDir") or ""),
        )

    def pull(self, name: str, *, timeout: float) -> Image:
        """Fetch an image. Raises `ImageUnavailable`."""
        from docker.utils import parse_repository_tag

        repository, tag = parse_repository_tag(name)
        deadline = time.monotonic() + timeout
        problem = ""
        try:
            with _answers():
                for event in self._api.pull(repository, tag=tag or "latest", stream=True, decode=True):
                    problem = str(event.get("error") or problem)
                    if self._aborted or time.monotonic() > deadline:
                        problem = f"fetching `{name}` took over {timeout:g} s"
                        break
        except EngineRefused as error:
            raise ImageUnavailable(str(error), error.status) from error
        image = None if problem else self.image(name)
        if image is None:
            raise ImageUnavailable(problem or f"`{name}` was fetched and is not there")
        return image

    def build(self, context: IO[bytes], *, tag: str, timeout: float, log: Callable[[str], None]) -> Image:
        """Build with the classic builder, which the SDK speaks to."""
        lines: list[str] = []

        def note(text: str) -> None:
            lines.append(text)
            log(text)

        api = self._api
        params = {"t": tag, "rm": True, "forcerm": True, "labels": json.dumps({LABEL: "image"})}
        expired = threading.Event()
        with _answers():
            response = api.post(
                api._url("/build"),  # noqa: SLF001 - the SDK's own build() hides the connection that a time limit must close
                params=params,
                data=context,
                headers={"Content-Type": "application/x-tar"},
                stream=True,
                timeout=max(timeout, API_TIMEOUT),
            )
            _raise_for(api, response)

            def expire() -> None:
                expired.set()
                _hang_up(response)

            timer = threading.Timer(timeout, expire)
            timer.daemon = True
            timer.start()
            with self._lock:
                self._builds.add(response)
            error = ""
            try:
                for event in api._stream_helper(response, decode=True):  # noqa: SLF001 - as the SDK's own build()
                    if "stream" in event:
                        note(str(event["stream"]))
                    elif "error" in event:
                        error = str(event["error"])
            except Exception:
                if not expired.is_set():
                    raise
            finally:
                timer.cancel()
                with self._lock:
                    self._builds.discard(response)
                response.close()
        text = "".join(lines)
        if expired.is_set():
            raise BuildFailed(f"the build took over {timeout:g} s", log=text, timed_out=True)
        if error:
            raise BuildFailed(error, log=text + error)
        image = self.image(tag)
        if image is None:
            raise BuildFailed("the build ended without an image", log=text)
        return image

    def remove_image(self, tag: str) -> None:
        """Take a tag away, and the image with its last tag; its layers stay in the build cache."""
        with _ignoring(_NOT_FOUND, _CONFLICT):
            self._api.remove_image(tag, noprune=True)

    def images(self) -> Sequence[str]:
        """Return the tags of all images that carry our label."""
        with _answers():
            found = self._api.images(filters={"label": f"{LABEL}=image"})
        return [str(tag) for image in found for tag in image.get("RepoTags") or ()]

    def stray_images(self, *, older_than: float) -> Sequence[str]:
        """Return the ids of images of ours without a tag that were made over so many seconds ago."""
        with _answers():
            found = self._api.images(filters={"label": f"{LABEL}=image", "dangling": True})
        return [str(image["Id"]) for image in found if time.time() - float(image["Created"]) > older_than]

    def create(self, plan: ContainerPlan) -> str:
        """Make a container and return its id."""
        api = self._api
        with _answers():
            host = api.create_host_config(
                network_mode=plan.network,
                pids_limit=plan.pids or None,
                nano_cpus=int(plan.cpus * 1e9) if plan.cpus is not None else None,
                mem_limit=plan.memory,
                # Swap would let a container past its memory limit.
                memswap_limit=plan.memory,
                log_config={"Type": "none", "Config": {}},
            )
            made = api.create_container(
                plan.image,
                command=list(plan.command[1:]),
                entrypoint=[plan.command[0]],
                environment=dict(plan.env),
                working_dir=plan.workdir,
                labels=dict(plan.labels),
                host_config=host,
                # A HEALTHCHECK of the image would run beside the task's own phases.
                healthcheck={"test": ["NONE"]},
                user="0",
                name=plan.name,
            )
        return str(made["Id"])

    def start(self, container: str) -> None:
        """Start a container."""
        with _answers():
            self._api.start(container)

    def put(self, container: str, archive: IO[bytes]) -> None:
        """Unpack a tar at the root of a container, running or not."""
        with _answers():
            self._api.put_archive(container, "/", archive)

    def open(
        self,
        container: str,
        argv: Sequence[str],
        *,
        stdin: IO[bytes] | None = None,
        user: str | None = None,
        env: Mapping[str, str] | None = None,
        workdir: str | None = None,
    ) -> Running:
        """Start a command in a running container; `stdin` is what it reads."""
        api = self._api
        with _answers():
            made = api.exec_create(
                container,
                list(argv),
                stdin=stdin is not None,
                user=user or "",
                environment=dict(env) if env else None,
                workdir=workdir,
            )["Id"]
            return _DockerRunning(api, made, api.exec_start(made, socket=True), stdin)

    def get(self, container: str, path: str) -> Generator[bytes, None, None] | None:
        """Return the tar of a path in a container, in chunks, or None where there is no such path."""
        api = self._api
        try:
            with _answers():
                # The SDK's own get_archive() leaves the connection open when not read to its end.
                response = api.get(
                    api._url("/containers/{0}/archive", container),  # noqa: SLF001 - as above
                    params={"path": path},
                    stream=True,
                    timeout=API_TIMEOUT,
                )
                _raise_for(api, response)
        except EngineRefused as error:
            if error.status == _NOT_FOUND:
                return None
            raise
        return _chunks(response)

    def kill(self, container: str) -> None:
        """End all processes of a container at once; nothing where it does not run."""
        with _ignoring(_NOT_FOUND, _CONFLICT):
            self._api.kill(container)

    def running(self, container: str) -> bool:
        """Say whether a container is there and runs."""
        try:
            with _answers():
                state = self._api.inspect_container(container)["State"]
        except EngineRefused as error:
            if error.status == _NOT_FOUND:
                return False
            raise
        return bool(state.get("Running"))

    def remove(self, container: str) -> None:
        """End and remove a container with its volumes; nothing where it is gone already."""
        with _ignoring(_NOT_FOUND, _CONFLICT):
            self._api.remove_container(container, force=True, v=True)

    def containers(self, label: str) -> Sequence[tuple[str, Mapping[str, str]]]:
        """Return id and labels of all containers that carry a label, running or not."""
        with _answers():
            found = self._api.containers(all=True, filters={"label": label})
        return [(str(item["Id"]), dict(item.get("Labels") or {})) for item in found]

    def set_network(self, container: str, *, on: bool) -> None:
        """Connect a running container to the default network, or cut it off."""
        with _answers():
            if on:
                self._api.connect_container_to_network(container, PUBLIC_NETWORK)
            else:
                self._api.disconnect_container_from_network(container, PUBLIC_NETWORK, force=True)

    def networks(self, label: str) -> Sequence[tuple[str, Mapping[str, str]]]:
        """Return id and labels of all networks that carry a label."""
        with _answers():
            found = self._api.networks(filters={"label": label})
        return [(str(item["Id"]), dict(item.get("Labels") or {})) for item in found]

    def remove_network(self, network: str) -> None:
        """Remove a network; nothing where it is gone, or something is still on it."""
        with _ignoring(_NOT_FOUND, _CONFLICT, _FORBIDDEN):
            self._api.remove_network(network)


_FORBIDDEN: Final = 403
_HEAD: Final = 8
_STDOUT: Final = 1
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409


@contextlib.contextmanager
def _answers() -> Iterator[None]:
    """Turn what the SDK raises into our own exceptions."""
    import docker.errors
    import requests
    import urllib3.exceptions

    lost = (docker.errors.DockerException, requests.RequestException, urllib3.exceptions.HTTPError, OSError)
    try:
        yield
    except docker.errors.APIError as error:
        raise EngineRefused(str(error.explanation or error), error.status_code or 0) from error
    except lost as error:
        raise EngineGone(f"the Docker engine stopped answering ({_cause(error)})") from error


@contextlib.contextmanager
def _ignoring(*statuses: int) -> Iterator[None]:
    try:
        with _answers():
            yield
    except EngineRefused as error:
        if error.status not in statuses:
            raise


def _raise_for(api: Any, response: Any) -> None:
    try:
        api._raise_for_status(response)  # noqa: SLF001 - as the SDK's own calls do
    except BaseException:
        response.close()
        raise


def _chunks(response: Any) -> Generator[bytes, None, None]:
    try:
        with _answers():
            yield from response.iter_content(_CHUNK)
    finally:
        response.close()


def _raw_socket(stream: Any) -> Any:
    """Return the plain socket below what the SDK hands out, which differs by transport."""
    return getattr(stream, "_sock", stream)


def _close(stream: Any) -> None:
    """Close what `exec_start` gave, with the connection below it."""
    # The response first: it flushes what lies below it.
    for part in (getattr(stream, "_response", None), _raw_socket(stream), stream):
        if part is not None:
            part.close()


def _hang_up(response: Any) -> None:
    """Close the connection under a response that another thread is reading."""
    with contextlib.suppress(Exception):
        _raw_socket(response.raw._fp.fp.raw).shutdown(socket.SHUT_RDWR)  # noqa: SLF001 - there is no public way
