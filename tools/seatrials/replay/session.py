"""A task's container for a person: enter it as a model finds it, then have the verifier judge what was done.

The container outlives the command that made it, until it is judged or closed.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seatrials.errors import CannotJudgeError, RefusedError, UsageError
from seatrials.replay import buildkit
from seatrials.replay import owner as owners
from seatrials.replay.engine import LABEL, Engine
from seatrials.replay.images import Images, environment_key, unmet_needs
from seatrials.replay.model import ImageFacts, Trial
from seatrials.replay.reading import spec_of
from seatrials.replay.spec import TrialSpec, UnsetVariable
from seatrials.replay.store import Store
from seatrials.replay.trial import (
    MODEL_USER,
    Room,
    TaskFailed,
    open_container,
    verify_open,
    workspace,
)
from seatrials.task.package import TaskPackage

SESSION_LABEL: Final = f"{LABEL}.session"
IMAGE_LABEL: Final = f"{LABEL}.image"
HASH_LABEL: Final = f"{LABEL}.content"
USER_LABEL: Final = f"{LABEL}.user"
PLACE_LABEL: Final = f"{LABEL}.place"

_SHELL: Final = "if command -v bash >/dev/null; then exec bash; fi; exec sh"


@dataclass(frozen=True, kw_only=True)
class Session:
    """An open container. `task` is the task's absolute folder, `user` empty for the image's own."""

    container: str
    task: str
    content_hash: str
    image: str
    user: str
    place: str


def sessions(engine: Engine) -> list[Session]:
    """Return the sessions open on an engine."""
    return [
        Session(
            container=container,
            task=labels[SESSION_LABEL],
            content_hash=labels.get(HASH_LABEL, ""),
            image=labels.get(IMAGE_LABEL, ""),
            user=labels.get(USER_LABEL, ""),
            place=labels.get(PLACE_LABEL, ""),
        )
        for container, labels in engine.containers(SESSION_LABEL)
    ]


def find(engine: Engine, task: TaskPackage) -> Session | None:
    """Return the session of one task, or None."""
    here = _address(task)
    return next((session for session in sessions(engine) if session.task == here), None)


def only(engine: Engine) -> Session:
    """Return the one session there is. Raises `UsageError` with none or several."""
    match sessions(engine):
        case [session]:
            return session
        case []:
            raise UsageError("no task is open; `seatrials shell TASK` opens one")
        case several:
            names = ", ".join(f"`{Path(session.task).name}`" for session in several)
            raise UsageError(f"several tasks are open ({names}); name one")


def begin(
    engine: Engine, task: TaskPackage, *, root: Path, as_root: bool, host_env: Mapping[str, str] | None = None
) -> Session:
    """Build a task's image and start its container.

    Raises `RefusedError` where the task is at fault, `CannotJudgeError` where
    this machine is.
    """
    spec = spec_of(task)
    info = engine.info()
    owner = owners.this_process()
    has_buildkit = buildkit.installed()
    if spec.faults:
        raise RefusedError(spec.faults[0])
    if blockers := (*spec.blockers, *unmet_needs(spec, buildx=has_buildkit, engine=info.version)):
        raise CannotJudgeError(blockers[0])
    store = Store(root)
    store.prepare()
    images = Images(
        engine, owner=owner, architecture=info.architecture, version=info.version, buildkit=has_buildkit
    )
    built = images.get(spec, log=store.log_dir(spec.name, "session") / "build.log")
    if built.image is None or built.failure is not None:
        why = built.failure.message if built.failure is not None else "there is no image"
        raise (RefusedError if built.failure and built.failure.blame == "task" else CannotJudgeError)(why)
    as_model = not as_root and spec.format != "harbor"
    user = "0" if as_root else MODEL_USER if as_model else spec.steps[0].agent_user or ""
    place = workspace(spec, built.image) if as_model else ""
    tag = images.tag_of(spec)
    labels = {
        **owners.labels(owner, run=owners.new_run(), task=spec.name, kept=True),
        SESSION_LABEL: _address(task),
        IMAGE_LABEL: tag,
        HASH_LABEL: spec.content_hash,
        USER_LABEL: user,
        PLACE_LABEL: place,
    }
    room = Room(
        engine=engine,
        image=built.image,
        facts=built.facts,
        labels=labels,
        host_env=os.environ if host_env is None else host_env,
        log_dir=store.log_dir(spec.name, "session"),
        cpus=min(spec.cpus, info.cpus) if spec.cpus is not None else None,
        memory=spec.memory,
        keep=True,
        as_model=as_model,
    )
    try:
        container = open_container(spec, room)
    except (TaskFailed, UnsetVariable) as error:
        images.remove()
        raise RefusedError(str(error)) from error
    return Session(
        container=container,
        task=_address(task),
        content_hash=spec.content_hash,
        image=tag,
        user=user,
        place=place,
    )


def enter_argv(session: Session, command: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the command that enters a session on this terminal."""
    terminal = ("-it",) if sys.stdin.isatty() and sys.stdout.isatty() else ("-i",)
    user = ("--user", session.user) if session.user else ()
    home = ("--env", f"HOME=/home/{MODEL_USER}") if session.user == MODEL_USER else ()
    place = ("--workdir", session.place) if session.place else ()
    inside = tuple(command) or ("sh", "-c", _SHELL)
    return ("docker", "exec", *terminal, *user, *home, *place, session.container, *inside)


def verify(engine: Engine, session: Session, *, root: Path) -> Trial:
    """Run the task's verifier on what was done in a session. Raises `UsageError` for a task that changed."""
    task = TaskPackage(Path(session.task))
    spec = spec_of(task)
    image = engine.image(session.image)
    if image is None or not engine.running(session.container):
        raise UsageError("the open container does not run any more; `seatrials shell --new` starts over")
    if spec.content_hash != session.content_hash and _environment_changed(spec, session):
        raise UsageError("the task's environment changed since the shell was opened; `seatrials shell --new`")
    room = Room(
        engine=engine,
        image=image,
        facts=ImageFacts(id=image.id, architecture=image.architecture),
        labels={},
        host_env=os.environ,
        log_dir=Store(root).log_dir(spec.name, "session"),
        memory=spec.memory,
    )
    return verify_open(spec, room, session.container)


def close(engine: Engine, session: Session) -> None:
    """Remove a session's container and the tag of its image."""
    engine.remove(session.container)
    if session.image.startswith(owners.REPOSITORY + ":"):
        engine.remove_image(session.image)


def _environment_changed(spec: TrialSpec, session: Session) -> bool:
    if spec.image is not None:
        return session.image != spec.image
    return not session.image.startswith(f"{owners.REPOSITORY}:{environment_key(spec)[:16]}")


def _address(task: TaskPackage) -> str:
    return str(task.root.resolve())
