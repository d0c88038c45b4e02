"""Images: one build per distinct environment, however many tasks share it."""

import contextlib
import hashlib
import re
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from seatrials.parse.dockerfile import Dockerfile, parse_dockerfile
from seatrials.parse.dockerignore import without_ignored
from seatrials.replay import archive, buildkit, compose
from seatrials.replay.engine import (
    BuildFailed,
    Engine,
    EngineGone,
    EngineRefused,
    Image,
    ImageUnavailable,
)
from seatrials.replay.model import Failure, ImageFacts
from seatrials.replay.owner import Owner, image_tag
from seatrials.replay.spec import TrialSpec

TAIL_LINES: Final = 20

_FULL: Final = re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE)
_NETWORK: Final = re.compile(
    r"temporary failure (in name )?resolv|could not resolve|name or service not known"
    r"|network is unreachable|no route to host|connection (timed out|refused|reset by peer)"
    r"|tls handshake timeout|i/o timeout|read timed out|certificate_verify_failed"
    r"|failed to establish a new connection|unable to connect to|toomanyrequests",
    re.IGNORECASE,
)
"""What a build prints when it can't reach a server: this machine's doing, not the task's."""

_UNAVAILABLE: Final = re.compile(
    r"pull access denied|manifest( for .+)? (unknown|not found)|repository .* (not found|does not exist)"
    r"|failed to resolve source metadata|no matching manifest|error getting credentials"
    r"|dial tcp|registry.*(timeout|unauthorized)|^get \"?https?://",
    re.IGNORECASE,
)
"""What the engine says of a base image that it can't fetch."""

_ENGINE: Final = re.compile(
    r"could not find bridge|failed to create endpoint|failed to set up container networking"
    r"|error creating overlay mount|failed to start shim|containerd.*(unavailable|not running)",
    re.IGNORECASE,
)
"""What the engine says where it can't even make a build's container."""


@dataclass(frozen=True, kw_only=True)
class Built:
    """An image to run, or why there is none. `seconds` is how long it took to have it."""

    image: Image | None
    facts: ImageFacts = field(default_factory=ImageFacts)
    failure: Failure | None = None
    seconds: float = 0.0
    log: str = ""
    tail: tuple[str, ...] = ()


def environment_key(spec: TrialSpec) -> str:
    """Return what tells environments apart: hex of a hash over what the builder is sent."""
    digest = hashlib.sha256(f"{spec.image or ''}\0".encode())
    for path, file in sorted(without_ignored(spec.context).items()):
        digest.update(
            f"{path}\0{file.kind}\0{file.mode:o}\0{file.blob_id}\n".encode("utf-8", "surrogateescape")
        )
    return digest.hexdigest()


def classify_build(error: BuildFailed, timeout: float) -> Failure:
    """Say whose doing a failed build is, by what it printed."""
    if error.timed_out:
        return _task(f"the build ran past `build_timeout_sec` ({timeout:g} s)")
    text = str(error)
    if _FULL.search(text) or _FULL.search(error.log[-4000:]):
        return _machine(f"the build ran out of disk space: {text}")
    if _UNAVAILABLE.search(text):
        return _machine(f"an image can't be had: {text}")
    if _ENGINE.search(text):
        return _machine(f"the engine could not run the build: {text}")
    if found := _NETWORK.search(error.log[-20_000:]):
        return _machine(f"the build could not reach a server (`{found[0]}`): {text}")
    return _task(f"the build failed: {text}")


def _task(message: str) -> Failure:
    return Failure(blame="task", phase="build", message=message)


def _machine(message: str) -> Failure:
    return Failure(blame="machine", phase="build", message=message)


class Images:
    """The images of one run: each built once, all taken away in the end."""

    def __init__(
        self,
        engine: Engine,
        *,
        owner: Owner,
        architecture: str,
        version: str,
        buildkit: bool = False,
        host_env: Mapping[str, str] | None = None,
    ) -> None:
        self._host_env = host_env or {}
        self.buildkit = buildkit
        self._engine = engine
        self._owner = owner
        self._architecture = architecture
        self._version = version
        self._lock = threading.Lock()
        self._built: dict[str, Future[Built]] = {}
        self._tags: set[str] = set()
        self._of: dict[str, set[str]] = {}

    def get(self, spec: TrialSpec, *, log: Path, note: Callable[[str], None] = lambda _: None) -> Built:
        """Return the image of a task's environment, building it if nobody has.

        Who asks while another builds the same waits for that build. `note` is
        called with each line a build prints.
        """
        key = environment_key(spec)
        with self._lock:
            future = self._built.get(key)
            mine = future is None
            if future is None:
                future = self._built[key] = Future()
        if mine:
            try:
                future.set_result(self._make(spec, key, log, note))
            except BaseException as error:
                future.set_exception(error)
                raise
        return future.result()

    def tag_of(self, spec: TrialSpec) -> str:
        """Return the name that a task's image has on the engine."""
        return spec.image if spec.image is not None else image_tag(environment_key(spec), self._owner)

    def release(self, spec: TrialSpec) -> None:
        """Take the tags of one environment away; its layers stay in the engine's build cache."""
        key = environment_key(spec)
        for tag in (image_tag(key, self._owner), *self._of.get(key, ())):
            self._remove(tag)

    def remove(self) -> None:
        """Take the tags of this run away."""
        with self._lock:
            tags = tuple(self._tags)
        for tag in tags:
            self._remove(tag)

    def _remove(self, tag: str) -> None:
        with self._lock:
            if tag not in self._tags:
                return
            self._tags.remove(tag)
        with contextlib.suppress(EngineGone, EngineRefused):
            self._engine.remove_image(tag)

    def _make(self, spec: TrialSpec, key: str, log: Path, note: Callable[[str], None]) -> Built:
        clock = time.monotonic()
        lines: list[str] = []

        def keep(text: str) -> None:
            lines.append(text)
            note(text)

        image: Image | None = None
        failure: Failure | None = None
        bases: tuple[str, ...] = ()
        try:
            bases = self._bases(spec)
            if spec.compose:
                image = self._compose(spec, key, keep)
            elif spec.image is None:
                image = self._build(spec, key, keep)
            else:
                image = self._engine.image(spec.image)
        except compose.Refused as error:
            failure = Failure(blame=error.blame, phase="build", message=str(error))
        except BuildFailed as error:
            failure = classify_build(error, spec.build_timeout)
        except ImageUnavailable as error:
            failure = _machine(f"an image can't be had: {error}")
        except EngineRefused as error:
            failure = _machine(f"the engine refused the build: {error}")
        except EngineGone as error:
            failure = _machine(str(error))
        if lines:
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text("".join(lines)[-archive.FILE_BYTES :], encoding="utf-8", errors="replace")
        return Built(
            image=image,
            facts=ImageFacts(
                id=image.id if image is not None else "",
                base=bases,
                architecture=image.architecture if image is not None else self._architecture,
                engine=self._version,
            ),
            failure=failure,
            seconds=time.monotonic() - clock,
            log=str(log) if lines else "",
            tail=archive.last_lines("".join(lines).encode(), TAIL_LINES),
        )

    def _bases(self, spec: TrialSpec) -> tuple[str, ...]:
        """Make the images that a build starts from be there, and return what they are known by."""
        names = (spec.image,) if spec.image is not None else base_images(dockerfile_of(spec))
        known: list[str] = []
        for name in names:
            image = self._engine.image(name)
            if image is None:
                try:
                    image = self._engine.pull(name, timeout=spec.build_timeout)
                except ImageUnavailable as error:
                    raise ImageUnavailable(f"`{name}`: {error}", error.status) from error
            known.append(image.digests[0] if image.digests else f"{name}@{image.id}")
        return tuple(known)

    def _compose(self, spec: TrialSpec, key: str, note: Callable[[str], None]) -> Image:
        """Build what a compose project builds, and return the image of its agent's service."""
        with compose.laid_out(
            spec,
            name=f"seatrials-build-{key[:16]}",
            key=key,
            owner=self._owner,
            labels={},
            host_env=self._host_env,
            cpus=None,
            memory=None,
        ) as project:
            log: list[str] = []
            try:
                tags = compose.build(project, timeout=spec.build_timeout, log=log)
            finally:
                note("".join(log))
            with self._lock:
                self._tags.update(tags)
                self._of.setdefault(key, set()).update(tags)
            name = compose.main_image(project)
        return self._engine.image(name) or self._engine.pull(name, timeout=spec.build_timeout)

    def _build(self, spec: TrialSpec, key: str, note: Callable[[str], None]) -> Image:
        tag = image_tag(key, self._owner)
        with self._lock:
            self._tags.add(tag)
        with tempfile.TemporaryFile() as spool:
            archive.write_context(without_ignored(spec.context), spool)
            if not self.buildkit:
                return self._engine.build(spool, tag=tag, timeout=spec.build_timeout, log=note)
            buildkit.build(spool, tag=tag, timeout=spec.build_timeout, log=note)
        image = self._engine.image(tag)
        if image is None:
            raise BuildFailed("the build ended without an image")
        return image


def dockerfile_of(spec: TrialSpec) -> Dockerfile:
    """Return the parsed Dockerfile of a task's environment, empty where there is none."""
    file = spec.context.get("Dockerfile")
    return parse_dockerfile(file.read() if file is not None and file.kind == "file" else b"")


def base_images(dockerfile: Dockerfile) -> tuple[str, ...]:
    """Return the images a Dockerfile starts or copies from, each once; its own stages are none."""
    found: dict[str, None] = {}
    for stage in dockerfile.stages:
        if dockerfile.stage_named(stage.base, before=stage.index) is None:
            found[stage.base] = None
    for instruction in dockerfile.instructions:
        source = instruction.flag("from") if instruction.name == "COPY" else None
        if source and dockerfile.stage_named(source, before=instruction.stage) is None:
            found[source] = None
    return tuple(name for name in found if name and name != "scratch" and "$" not in name)


def unmet_needs(spec: TrialSpec, *, buildx: bool, engine: str) -> tuple[str, ...]:
    """Return why an environment can't be built here, told before the build."""
    if spec.image is not None:
        return ()
    return buildkit.unmet(dockerfile_of(spec), buildx=buildx, engine=engine)
