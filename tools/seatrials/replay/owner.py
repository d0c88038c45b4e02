"""Whose container or image tag it is, so that what a killed run left can be told from what is in use.

A label names the machine, its boot, the process and when that process began;
a number alone would be taken again by another process.
"""

import contextlib
import hashlib
import os
import platform
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seatrials.replay.engine import LABEL, Engine, EngineRefused

OWNER_LABEL: Final = f"{LABEL}.owner"
RUN_LABEL: Final = f"{LABEL}.run"
TASK_LABEL: Final = f"{LABEL}.task"
KEPT_LABEL: Final = f"{LABEL}.kept"
REPOSITORY: Final = "seatrials/task"

_STRAY_SECONDS: Final = 3600.0
"""Younger ones may belong to a build that runs."""

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, kw_only=True)
class Owner:
    """One process on one machine. `host` tells machines, boots and process namespaces apart."""

    host: str
    pid: int
    began: str

    @property
    def text(self) -> str:
        """As it stands in a label: letters, digits and hyphens."""
        return f"{self.host}-{self.pid}-{self.began}"


def this_process() -> Owner:
    """Return the owner that this process is."""
    return Owner(host=_host(), pid=os.getpid(), began=_began(os.getpid()) or "0")


def parse(text: str) -> Owner | None:
    """Read an owner out of a label; None for anything else."""
    match text.split("-"):
        case [host, pid, began] if pid.isdigit():
            return Owner(host=host, pid=int(pid), began=began)
        case _:
            return None


def is_gone(owner: Owner) -> bool:
    """Say whether an owner's process is known to have ended. One on another machine never is."""
    if owner.host != _host():
        return False
    began = _began(owner.pid)
    if began is not None:
        return began != owner.began
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def labels(owner: Owner, *, run: str, task: str, kept: bool) -> dict[str, str]:
    """Return the labels of a container of ours."""
    found = {LABEL: "trial", OWNER_LABEL: owner.text, RUN_LABEL: run, TASK_LABEL: task}
    return {**found, KEPT_LABEL: "yes"} if kept else found


def image_tag(key: str, owner: Owner) -> str:
    """Return the tag of an image that `owner` builds from the environment content `key` (hex)."""
    return f"{REPOSITORY}:{key[:16]}-{owner.text}"


def new_run() -> str:
    """Return a name for one run, different each time."""
    return uuid.uuid4().hex[:12]


def sweep(engine: Engine) -> int:
    """Remove what runs that were killed left behind; return how many things that were.

    Containers that were kept on purpose stay, and so does all that belongs to
    a process that still runs or to another machine.
    """
    removed = 0
    for container, found in engine.containers(LABEL):
        if _abandoned(found):
            engine.remove(container)
            removed += 1
    for network, found in engine.networks(LABEL):
        if _abandoned(found):
            engine.remove_network(network)
            removed += 1
    for tag in engine.images():
        repository, _, rest = tag.rpartition(":")
        owner = parse(rest.partition("-")[2]) if repository == REPOSITORY else None
        if owner is not None and is_gone(owner):
            with contextlib.suppress(EngineRefused):
                engine.remove_image(tag)
                removed += 1
    # A build that was killed can leave an image that has the label already and no tag yet.
    for image in engine.stray_images(older_than=_STRAY_SECONDS):
        with contextlib.suppress(EngineRefused):
            engine.remove_image(image)
            removed += 1
    return removed


def _abandoned(found: Mapping[str, str]) -> bool:
    owner = parse(found.get(OWNER_LABEL, ""))
    return owner is not None and KEPT_LABEL not in found and is_gone(owner)


def _host() -> str:
    try:
        boot = _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        boot = ""
    try:
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        namespace = ""
    return hashlib.sha256(f"{platform.node()}\n{boot}\n{namespace}".encode()).hexdigest()[:12]


def _began(pid: int) -> str | None:
    """Return when a process began, in the kernel's ticks; None where that can't be read."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name, in parentheses, may hold anything; the start is the 20th field after it.
    return stat.rpartition(")")[2].split()[19]
