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
_BUILDKIT_FLAGS: Final = {
    "RUN": frozenset({"mount", "network", "security", "device"}),
    "COPY": frozenset({"chmod", "link", "parents", "exclude"}),
    "ADD": frozenset({"chmod", "link", "keep-git-dir", "checksum", "exclude", "unpack"}),
}
"""Flags that the classic builder does not know."""

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


def needs(dockerfile: Dockerfile) -> tuple[str, ...]:
    """Return what of a Dockerfile only BuildKit understands, in words."""
    found: dict[str, None] = {}
    for instruction in dockerfile.instructions:
        if instruction.heredocs:
            found[f"a heredoc in `{instruction.name}`"] = None
        known = _BUILDKIT_FLAGS.get(instruction.name, frozenset())
        found.update(
            {f"`{instruction.name} --{name}`": None for name, _ in instruction.flags if name in known}
        )
    return tuple(found)
