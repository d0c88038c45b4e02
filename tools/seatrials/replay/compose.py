"""Tasks of several containers: `docker compose` with the task's file between two of ours.

As BenchFlow 0.7.11 and Harbor 0.26.0 do it: ours first says what `main` is
unless the task says otherwise, ours last has the last word on labels, limits
and network. What would reach this machine (host folders, the host's network or
processes, devices, privileges) is refused before anything starts.
"""

import contextlib
import hashlib
import json
import os
import posixpath
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from seatrials import proc
from seatrials.replay import archive
from seatrials.replay.container import IDLE, LOG_FOLDERS, MAX_PROCESSES, Container, StartRefused
from seatrials.replay.engine import LABEL, BuildFailed, Engine, EngineGone, EngineRefused
from seatrials.replay.model import Blame
from seatrials.replay.owner import Owner, image_tag
from seatrials.replay.spec import Files, TrialSpec, fill_env

MAIN: Final = "main"
COMPOSE_FILE: Final = "docker-compose.yaml"
_PROJECT: Final = "com.docker.compose.project"
_SERVICE: Final = "com.docker.compose.service"
_PROBE_TIMEOUT: Final = 20.0
_DOWN_TIMEOUT: Final = 120.0
_UP_TIMEOUT: Final = 600.0
"""Seconds for the services to start and report healthy; neither runtime sets a limit of its own."""

_HOST_KEYS: Final[Mapping[str, frozenset[object]]] = {
    "network_mode": frozenset({"host"}),
    "pid": frozenset({"host"}),
    "ipc": frozenset({"host"}),
    "userns_mode": frozenset({"host"}),
    "uts": frozenset({"host"}),
    "cgroup": frozenset({"host"}),
    "privileged": frozenset({True}),
    "use_api_socket": frozenset({True}),
}
_HOST_THINGS: Final = (
    "devices",
    "device_cgroup_rules",
    "cap_add",
    "cgroup_parent",
    "credential_spec",
    "volumes_from",
    "provider",
)
"""Of these, a `provider` is a program of this machine, which compose runs."""

_HOST_BUILD: Final = ("ssh", "secrets", "privileged", "entitlements", "cache_from", "cache_to", "tags")
"""Caches may be folders of this machine, and a tag may be that of an image which is here already."""

_OWN_NETWORKS: Final = frozenset({"", "none", "bridge", "default"})
_OWN_LOGS: Final = frozenset({"json-file", "local", "none"})
_NEEDED: Final = re.compile(
    r"PATH|HOME|LANG|LC_\w+|TMPDIR|XDG_\w+|DOCKER_(?!AUTH)\w+|BUILDX_\w+|SSH_AUTH_SOCK"
)
"""Variables that Docker's programs work with. Others are kept from them, unless given to the replay."""

_MAX_COMPOSE: Final = 256 * 1024
_MAX_VALUES: Final = 50_000
_MAX_MERGED: Final = 40
"""Characters, values and, where there are merges, aliases of one compose file: a small one can be endless."""

_LOG_MOUNTS: Final = frozenset(LOG_FOLDERS)


class Refused(Exception):  # noqa: N818 - reads as what happened
    """A compose file can't be used: compose does not take it, or it reaches for this machine."""

    def __init__(self, message: str, *, blame: Blame = "task") -> None:
        super().__init__(message)
        self.blame = blame


@dataclass(frozen=True, kw_only=True)
class Project:
    """One compose project on disk: the folder with the task's environment, and how to call compose on it."""

    folder: Path
    name: str
    env: Mapping[str, str | None] = field(default_factory=dict)

    def argv(self, *words: str) -> tuple[str, ...]:
        """Return a compose command for this project."""
        files = ("first.json", COMPOSE_FILE, "last.json")
        named = tuple(part for name in files if (self.folder / name).exists() for part in ("-f", name))
        return ("docker", "compose", "--project-name", self.name, *named, *words)

    def call(self, *words: str, timeout: float) -> proc.Finished:
        """Call compose. Raises `EngineRefused` where it can't be called or does not end."""
        try:
            return proc.run(self.argv(*words), timeout=timeout, cwd=self.folder, env=self.env)
        except (proc.ProgramMissing, proc.ProgramTimedOut) as error:
            raise EngineRefused(str(error)) from error


def installed() -> bool:
    """Say whether `docker compose` can be called."""
    try:
        return proc.run(("docker", "compose", "version"), timeout=_PROBE_TIMEOUT).ok
    except (proc.ProgramMissing, proc.ProgramTimedOut):
        return False


def service_tag(key: str, service: str, owner: Owner) -> str:
    """Return the tag of the image that a service of an environment is built into."""
    return image_tag(hashlib.sha256(f"{key}\0{service}".encode()).hexdigest(), owner)


def first_file(spec: TrialSpec, *, cpus: float | None, memory: int | None) -> dict[str, Any]:
    """Return the file before the task's: what `main` is unless the task says otherwise."""
    limits: dict[str, Any] = {}
    if cpus is not None:
        limits["cpus"] = cpus
    if memory is not None:
        limits["mem_limit"] = memory
    source = {"image": spec.image} if spec.image is not None else {"build": {"context": "."}}
    builds = spec.image is not None or "Dockerfile" in spec.context
    return {"services": {MAIN: {**(source if builds else {}), "command": list(IDLE), **limits}}}


def last_file(
    config: Mapping[str, Any], *, key: str, owner: Owner, labels: Mapping[str, str], offline: bool
) -> dict[str, Any]:
    """Return the file after the task's: labels everywhere, tags for what is built, and the network."""
    services: dict[str, Any] = {}
    for name, service in _services(config).items():
        entry: dict[str, Any] = {"labels": dict(labels), "pids_limit": MAX_PROCESSES}
        if service.get("build"):
            entry["image"] = service_tag(key, name, owner)
            entry["build"] = {"labels": {LABEL: "image"}}
        mounts = [mount for mount in _binds(service) if mount.get("target") in _LOG_MOUNTS]
        if mounts:
            # The runtimes' own log folders: here they stay in the container.
            entry["volumes"] = [{"type": "volume", "target": mount["target"]} for mount in mounts]
        if name == MAIN:
            entry["command"] = list(IDLE)
            if offline:
                entry["network_mode"] = "none"
        services[name] = entry
    networks = {name: {"labels": dict(labels)} for name in {"default", *(config.get("networks") or {})}}
    external = {name for name, net in (config.get("networks") or {}).items() if (net or {}).get("external")}
    return {
        "services": services,
        "networks": {name: net for name, net in networks.items() if name not in external},
    }


def reaches_host(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a resolved compose file takes of this machine, in words."""
    found: list[str] = []
    for name, service in _services(config).items():
        found += [
            f"service `{name}` sets `{key}: {str(value).lower()}`"
            for key, bad in _HOST_KEYS.items()
            if isinstance(value := service.get(key), (str, bool)) and value in bad
        ]
        found += [f"service `{name}` sets `{key}`" for key in _HOST_THINGS if service.get(key)]
        found += [f"service `{name}` sets `{key}: {value}`" for key, value in _shared(service)]
        build = service.get("build")
        if isinstance(build, dict):
            found += [f"service `{name}` sets `build.{key}`" for key in _HOST_BUILD if build.get(key)]
            if str(build.get("network") or "") not in _OWN_NETWORKS:
                found.append(f"service `{name}` sets `build.network: {build['network']}`")
        found += [
            f"service `{name}` mounts `{mount.get('source')}` of this machine"
            for mount in _binds(service)
            if mount.get("target") not in _LOG_MOUNTS
        ]
    for kind in ("volume", "network"):
        for name, item in _tables(config.get(f"{kind}s")).items():
            if item.get("external"):
                found.append(f"{kind} `{name}` is `external`")
            elif (called := str(item.get("name", ""))) and not called.startswith(f"{config.get('name')}_"):
                found.append(f"{kind} `{name}` sets `name: {called}`, which may be there already")
    for name, volume in _tables(config.get("volumes")).items():
        options = volume.get("driver_opts")
        if isinstance(options, dict) and "device" in options:
            found.append(f"volume `{name}` sets `driver_opts.device`")
    return tuple(found)


def _shared(service: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield keys and values by which a service shares what is not the project's, or drops a guard."""
    mode = str(service.get("network_mode") or "")
    if mode not in _OWN_NETWORKS | {"host"} and not mode.startswith("service:"):
        yield "network_mode", mode
    for key in ("pid", "ipc"):
        if (value := str(service.get(key) or "")).startswith("container:"):
            yield key, value
    for option in _texts(service.get("security_opt")):
        if not option.startswith("no-new-privileges"):
            yield "security_opt", option
    logging = service.get("logging")
    driver = logging.get("driver") if isinstance(logging, dict) else None
    if driver and str(driver) not in _OWN_LOGS:
        yield "logging.driver", str(driver)
    for hooks in ("post_start", "pre_stop"):
        given = service.get(hooks)
        if isinstance(given, list) and any(isinstance(one, dict) and one.get("privileged") for one in given):
            yield f"{hooks}.privileged", "true"


def reads_outside(context: Files) -> tuple[str, ...]:
    """Return what a compose file, and those that it includes or extends, read out of their folder.

    Compose reads what they name when it reads the files, and the resolved file
    no longer tells. Raises `Refused` for a file of these that can't be read
    here: compose may read it all the same.
    """
    found: dict[str, None] = {}
    waiting, seen = [COMPOSE_FILE], set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for data in _documents(context, name):
            found.update(dict.fromkeys(path for path in _paths(data) if _leads_out(path)))
            for path in _others(data):
                if re.match(r"[a-z+]+(://|:|@)", path):
                    found[path] = None  # a compose file from elsewhere, which nobody has looked at
                elif not _leads_out(path):
                    inside = path.removeprefix("${CONTEXT_DIR}").removeprefix("$CONTEXT_DIR").lstrip("/")
                    # Beside the file that names it, or in a project folder of its own.
                    here = posixpath.normpath(posixpath.join(posixpath.dirname(name), inside))
                    there = [place for place in (here, posixpath.normpath(inside)) if place in context]
                    if not there:
                        raise Refused(f"`environment/{name}` names `{path}`, which is not beside it")
                    waiting += there
    return tuple(found)


def links_outside(folder: Path) -> tuple[str, ...]:
    """Return the links in a folder that lead out of it, as compose would follow them."""
    home = folder.resolve()
    found = []
    for place, folders, files in os.walk(home):
        for path in (Path(place, name) for name in (*folders, *files)):
            if path.is_symlink():
                try:
                    inside = path.resolve().is_relative_to(home)
                except (OSError, RuntimeError):  # a loop leads nowhere
                    inside = True
                if not inside:
                    found.append(path.relative_to(home).as_posix())
    return tuple(found)


class _Loader(yaml.SafeLoader):
    """Reads a compose file as compose does where it matters: every value a text, any tag taken."""

    def text(self, node: yaml.Node) -> Any:
        """Return a node's value whatever its tag, as `!override`."""
        match node:
            case yaml.ScalarNode():
                return self.construct_scalar(node)
            case yaml.SequenceNode():
                return self.construct_sequence(node, deep=True)
            case yaml.MappingNode():
                return self.construct_mapping(node, deep=True)
            case _:
                return None


for _tag in (
    None,
    *(f"tag:yaml.org,2002:{kind}" for kind in ("timestamp", "int", "float", "bool", "binary")),
):
    _Loader.add_constructor(_tag, _Loader.text)


def _documents(context: Files, name: str) -> list[dict[str, Any]]:
    file = context[name]
    if file.kind != "file":
        raise Refused(f"`environment/{name}` must be a file, and no link to one")
    text = file.read().decode("utf-8", "replace")
    large = Refused(
        f"`environment/{name}` has more YAML than a compose file needs; write less, or fewer aliases"
    )
    if len(text) > _MAX_COMPOSE:
        raise large
    try:
        if "<<" in text and sum(isinstance(one, yaml.AliasEvent) for one in yaml.parse(text)) > _MAX_MERGED:
            raise large
        documents = list(yaml.load_all(text, _Loader))
        if _size(documents, {}) > _MAX_VALUES:
            raise large
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise Refused(f"`environment/{name}` can't be read as YAML: {type(error).__name__}") from None
    return [data for data in documents if isinstance(data, dict)]


def _size(value: Any, known: dict[int, int]) -> int:
    """Return how many values there are, each counted as often as an alias repeats it."""
    if id(value) not in known:
        known[id(value)] = 1
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        known[id(value)] += sum(_size(one, known) for one in inner)
    return known[id(value)]


def _others(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the compose files that one names."""
    yield from _texts(data.get("include"), "path")
    for service in _services(data).values():
        extends = service.get("extends")
        yield from _texts(extends.get("file") if isinstance(extends, dict) else None)


def _paths(data: Mapping[str, Any]) -> Iterator[str]:
    yield from _texts(data.get("include"), "path", "env_file", "project_directory")
    for kind in ("configs", "secrets"):
        for item in _tables(data.get(kind)).values():
            yield from _texts(item.get("file"))
    for service in _services(data).values():
        yield from _texts(service.get("env_file"), "path")
        yield from _texts(service.get("label_file"))
        extends = service.get("extends")
        yield from _texts(extends.get("file") if isinstance(extends, dict) else None)
        build = service.get("build")
        if isinstance(build, str):
            yield build
        if isinstance(build, dict):
            yield from _texts(build.get("context"))
            yield from _texts(build.get("dockerfile"))
            contexts = build.get("additional_contexts")
            if isinstance(contexts, dict):
                contexts = list(contexts.values())
            for named in _texts(contexts):
                yield named.partition("=")[2] or named


def _texts(value: Any, *keys: str) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _texts(item, *keys)
        case dict():
            for key in keys:
                yield from _texts(value.get(key))


def _leads_out(path: str) -> bool:
    if re.match(r"(https?|git|ssh|docker-image|service|target|oci)(://|:|@)", path):
        return False  # fetched by the builder, or another service
    inside = path.removeprefix("${CONTEXT_DIR}").removeprefix("$CONTEXT_DIR")
    if inside != path:
        inside = f".{inside}"
    return inside.startswith(("/", "~")) or ".." in inside.split("/") or "$" in inside


def _tables(value: Any) -> dict[str, dict[str, Any]]:
    return (
        {str(key): item for key, item in value.items() if isinstance(item, dict)}
        if isinstance(value, dict)
        else {}
    )


def _services(config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return _tables(config.get("services"))


def _binds(service: Mapping[str, Any]) -> list[dict[str, Any]]:
    volumes = service.get("volumes")
    return (
        [item for item in volumes if isinstance(item, dict) and item.get("type") == "bind"]
        if isinstance(volumes, list)
        else []
    )


@contextlib.contextmanager
def laid_out(  # noqa: PLR0913 - one project has this many sides
    spec: TrialSpec,
    *,
    name: str,
    key: str,
    owner: Owner,
    labels: Mapping[str, str],
    host_env: Mapping[str, str],
    cpus: float | None,
    memory: int | None,
) -> Iterator[Project]:
    """Write a project's files into a folder of their own, gone afterwards.

    Raises `Refused` where compose does not take the task's file, or where it
    reaches for this machine.
    """
    folder = Path(tempfile.mkdtemp(prefix="seatrials-compose-"))
    try:
        archive.write_out(spec.context, folder)
        outside = (*reads_outside(spec.context), *links_outside(folder))
        if outside:
            raise Refused(
                f"`environment/{COMPOSE_FILE}` reads `{outside[0]}`, out of its folder; a replay gives"
                " nothing of this machine",
                blame="machine",
            )
        project = Project(
            folder=folder,
            name=name,
            env={
                **_withheld(host_env),
                **_runtime_variables(spec, folder, key, owner),
                **fill_env(spec.env, host_env, where="sandbox.env"),
            },
        )
        _write_json(folder / "first.json", first_file(spec, cpus=cpus, memory=memory))
        config = resolve(project)
        if MAIN not in _services(config):
            raise Refused(f"`environment/{COMPOSE_FILE}` has no service `{MAIN}`; the agent works in it")
        if taken := reaches_host(config):
            raise Refused(
                f"`environment/{COMPOSE_FILE}`: {taken[0]}; a replay gives nothing of this machine",
                blame="machine",
            )
        offline = spec.network == "no-network"
        last = last_file(config, key=key, owner=owner, labels=labels, offline=offline)
        _write_json(folder / "last.json", last)
        resolve(project)
        yield project
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def resolve(project: Project) -> dict[str, Any]:
    """Return the project's files as compose reads them together. Raises `Refused`."""
    done = project.call("config", "--format", "json", timeout=_PROBE_TIMEOUT)
    if not done.ok:
        said = done.output.strip().splitlines()
        raise Refused(f"`environment/{COMPOSE_FILE}`: {said[-1] if said else 'compose does not take it'}")
    # Warnings come before the object on the same stream.
    start = done.output.find("{")
    try:
        data = json.loads(done.output[max(start, 0) :])
    except ValueError:
        raise Refused(f"`environment/{COMPOSE_FILE}`: compose's answer can't be read") from None
    return data if isinstance(data, dict) else {}


def build(project: Project, *, timeout: float, log: list[str]) -> tuple[str, ...]:
    """Build the images of a project and return their tags. Raises `BuildFailed`."""
    try:
        done = proc.run(project.argv("build"), timeout=timeout, cwd=project.folder, env=project.env)
    except proc.ProgramTimedOut as error:
        log.append(error.output)
        raise BuildFailed(f"the build took over {timeout:g} s", log=error.output, timed_out=True) from error
    except proc.ProgramMissing as error:
        raise EngineRefused(str(error)) from error
    log.append(done.output)
    if not done.ok:
        said = [line for line in done.output.splitlines() if line.strip()]
        raise BuildFailed(said[-1] if said else "compose could not build", log=done.output)
    return tuple(service["image"] for service in _services(resolve(project)).values() if service.get("build"))


@contextlib.contextmanager
def started(
    engine: Engine, project: Project, *, default_user: str, keep: bool
) -> Iterator[Mapping[str, Container]]:
    """Start a project's services and give their containers by service; take all down in the end.

    Raises `StartRefused`.
    """
    ready = False
    try:
        done = project.call("up", "--detach", "--wait", "--no-build", timeout=_UP_TIMEOUT)
        boxes = {
            labels[_SERVICE]: Container(
                engine, container, default_user=default_user if labels[_SERVICE] == MAIN else ""
            )
            for container, labels in engine.containers(f"{_PROJECT}={project.name}")
            if _SERVICE in labels
        }
        if not done.ok or MAIN not in boxes:
            said = [line for line in done.output.splitlines() if line.strip()]
            raise StartRefused(said[-1] if said else "compose started nothing")
        ready = True
        yield boxes
    finally:
        if not (keep and ready):
            with contextlib.suppress(EngineGone, EngineRefused):
                project.call("down", "--volumes", "--remove-orphans", "--timeout", "0", timeout=_DOWN_TIMEOUT)


def main_image(project: Project) -> str:
    """Return the image that the agent's service runs."""
    name = _services(resolve(project))[MAIN].get("image")
    if not isinstance(name, str):
        raise Refused(f"`environment/{COMPOSE_FILE}`: service `{MAIN}` has neither an image nor a build")
    return name


def _withheld(given: Mapping[str, str]) -> dict[str, str | None]:
    """Return this machine's variables that compose, which fills ``${VAR}`` in, is not to know."""
    return {name: None for name in os.environ if name not in given and not _NEEDED.fullmatch(name)}


def _runtime_variables(spec: TrialSpec, folder: Path, key: str, owner: Owner) -> dict[str, str]:
    """Return the variables that BenchFlow and Harbor define for a task's compose file."""
    memory = (spec.memory or 2048 * 1024**2) // 1024**2
    return {
        "MAIN_IMAGE_NAME": service_tag(key, MAIN, owner),
        "CONTEXT_DIR": str(folder),
        "CPUS": f"{spec.cpus or 1:g}",
        "MEMORY": f"{memory}M",
        **{
            f"{side}_{name.upper()}_PATH": path
            for name in ("verifier_logs", "agent_logs", "artifacts")
            for side, path in (
                ("HOST", str(folder / ".logs" / name)),
                ("ENV", "/logs/" + name.removesuffix("_logs")),
            )
        },
    }


def _write_json(path: Path, data: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(data), encoding="utf-8")
