"""What a replay of a task would build and run, told before it does. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from seatrials.replay.compose import Refused, reaches_host, reads_outside
from seatrials.replay.images import base_images, dockerfile_of
from seatrials.replay.reading import COMPOSE_FILE
from seatrials.replay.spec import TrialSpec, variable_in

_NAMED: Final = re.compile(r"\$(?:\{(\w+)[^}]*\}|(\w+))")
_RUNTIME: Final = frozenset({"MAIN_IMAGE_NAME", "CONTEXT_DIR", "CPUS", "MEMORY"})
"""Variables that the runtimes define for a compose file; and `HOST_*_PATH` and `ENV_*_PATH`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outlook:
    """One task before its replay. Times are in seconds, memory in bytes.

    `images` are what its containers start from, as the files name them;
    `networks` are the phases that have one. `variables` are those of this
    machine that it asks for, and `open` says why it can't be run.
    """

    name: str
    images: tuple[str, ...]
    services: tuple[str, ...]
    steps: int
    cpus: float | None
    memory: int | None
    build_timeout: float
    agent_timeout: float
    verifier_timeout: float
    networks: tuple[str, ...]
    variables: tuple[str, ...]
    oracle: bool
    open: tuple[str, ...]


def outlook(spec: TrialSpec) -> Outlook:
    """Return what a replay of a task would build and run."""
    compose, refused = _looked_at(spec)
    agent, verifier = spec.agent_network or spec.network, spec.verifier_network or spec.network
    phases = [("agent", agent), ("verifier", verifier)]
    return Outlook(
        name=spec.name,
        images=tuple(dict.fromkeys(_images(spec, compose))),
        services=tuple(compose),
        steps=len(spec.steps),
        cpus=spec.cpus,
        memory=spec.memory,
        build_timeout=spec.build_timeout,
        agent_timeout=sum(step.agent_timeout for step in spec.steps),
        verifier_timeout=sum(step.verifier.timeout for step in spec.steps),
        networks=tuple(phase for phase, network in phases if network == "public"),
        variables=tuple(sorted(set(_variables(spec)))),
        oracle=spec.has_oracle,
        open=(*spec.faults, *spec.blockers, *refused),
    )


def _looked_at(spec: TrialSpec) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
    """Return the services of a compose file, and why a replay would refuse it.

    That is told as far as the file shows it before compose has read it.
    """
    if not spec.compose:
        return {}, ()
    try:
        outside = reads_outside(spec.context)
    except Refused as refused:
        return {}, (str(refused),)
    services = _compose(spec)
    said = [f"reads `{path}`, out of its folder" for path in outside] + [
        *reaches_host({"services": services})
    ]
    return services, tuple(f"`environment/{COMPOSE_FILE}`: {what}" for what in said)


def _images(spec: TrialSpec, compose: dict[str, dict[str, Any]]) -> Iterator[str]:
    if spec.image is not None:
        yield spec.image
    elif "Dockerfile" in spec.context:
        dockerfile = dockerfile_of(spec)
        yield from base_images(dockerfile)
        # What a build argument leaves open is shown as it is written.
        yield from (stage.base for stage in dockerfile.stages if "$" in stage.base)
        if any(stage.base == "scratch" for stage in dockerfile.stages):
            yield "scratch"
    for service in compose.values():
        if isinstance(image := service.get("image"), str) and "MAIN_IMAGE_NAME" not in image:
            yield image


def _compose(spec: TrialSpec) -> dict[str, dict[str, Any]]:
    try:
        data = yaml.safe_load(_compose_text(spec))
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    services = data.get("services") if isinstance(data, dict) else None
    found = services.items() if isinstance(services, dict) else ()
    return {str(name): service if isinstance(service, dict) else {} for name, service in found}


def _compose_text(spec: TrialSpec) -> str:
    file = spec.context.get(COMPOSE_FILE)
    return file.read().decode("utf-8", "replace") if file is not None and file.kind == "file" else ""


def _variables(spec: TrialSpec) -> Iterator[str]:
    declared = [spec.env, *(command.env for command in spec.setup_commands)]
    for step in spec.steps:
        declared.append(step.verifier.env)
        declared += [step.oracle.env] if step.oracle is not None else []
    yield from (name for env in declared for value in env.values() if (name := variable_in(value)))
    if spec.compose:
        for match in _NAMED.finditer(_compose_text(spec).replace("$$", "")):
            name = match[1] or match[2]
            defined = name in _RUNTIME or name in spec.env or re.fullmatch(r"(HOST|ENV)_\w+_PATH", name)
            if not defined:
                yield name
