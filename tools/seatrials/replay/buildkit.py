"""Builds by BuildKit, through Docker's command line, where its buildx plugin is installed.

The SDK speaks to the classic builder only, which knows neither heredocs nor
`RUN --mount`.
"""

import re
from collections.abc import Callable
from typing import IO, Final

from seatrials import proc
from seatrials.parse.dockerfile import Dockerfile
from seatrials.replay.engine import LABEL, BuildFailed

_PROBE_TIMEOUT: Final = 20.0
OLD_ENGINE: Final = 23
"""Engines before this have a BuildKit without what is new below, unless `# syntax=` names a newer one."""

_FLAGS: Final = {
    "RUN": frozenset({"mount", "network", "security", "device"}),
    "COPY": frozenset({"chmod"}),
    "ADD": frozenset({"chmod"}),
}
_NEW_FLAGS: Final = {
    "COPY": frozenset({"link", "parents", "exclude"}),
    "ADD": frozenset({"link", "keep-git-dir", "checksum", "exclude", "unpack"}),
}
"""Flags that the classic builder does not know, those of newer BuildKits apart."""

_ERROR: Final = re.compile(r"^(?:ERROR|error): (?:failed to (?:build|solve): )*(.+)$", re.MULTILINE)


def installed() -> bool:
    """Say whether `docker buildx` can be called."""
    try:
        return proc.run(("docker", "buildx", "version"), timeout=_PROBE_TIMEOUT).ok
    except (proc.ProgramMissing, proc.ProgramTimedOut):
        return False


def argv(tag: str) -> tuple[str, ...]:
    """Return the command that builds a context read from standard input."""
    return (
        "docker", "buildx", "build", "--load", "--progress=plain", "--provenance=false",
        f"--tag={tag}", f"--label={LABEL}=image", "-",
    )  # fmt: skip


def build(context: IO[bytes], *, tag: str, timeout: float, log: Callable[[str], None]) -> None:
    """Build an image. Raises `BuildFailed`."""
    try:
        done = proc.run(argv(tag), timeout=timeout, stdin=context)
    except proc.ProgramTimedOut as error:
        log(error.output)
        raise BuildFailed(f"the build took over {timeout:g} s", log=error.output, timed_out=True) from error
    log(done.output)
    if not done.ok:
        found = _ERROR.findall(done.output)
        raise BuildFailed(found[-1] if found else f"buildx exited with {done.code}", log=done.output)


def unmet(dockerfile: Dockerfile, *, buildx: bool, engine: str) -> tuple[str, ...]:
    """Return what of a Dockerfile can't be built here, each with what it would take.

    `buildx` says whether the plugin is installed, `engine` is the engine's version.
    """
    major = engine.partition(".")[0]
    old = major.isdigit() and int(major) < OLD_ENGINE and not dockerfile.syntax
    found: dict[str, None] = {}
    for instruction in dockerfile.instructions:
        name = instruction.name
        flags = [flag for flag, _ in instruction.flags]
        plain = [f"`{name} --{flag}`" for flag in flags if flag in _FLAGS.get(name, frozenset())]
        new = [f"`{name} --{flag}`" for flag in flags if flag in _NEW_FLAGS.get(name, frozenset())]
        if instruction.heredocs:
            new.append(f"a heredoc in `{name}`")
        for need in [*plain, *new] if not buildx else new if old else []:
            why = "which needs BuildKit; `docker buildx` is not installed"
            if buildx:
                why = f"which engine {engine} does not know; a `# syntax=` line brings a newer BuildKit"
            found[f"`environment/Dockerfile` uses {need}, {why}"] = None
    return tuple(found)
