"""What one trial needs to know of a task, as plain data.

`spec_of` reads it off the task model once; everything below works on the
`TrialSpec` alone. A value that the runtimes would refuse becomes a fault of
the task (`faults`); a shape that can't be run on this machine becomes a
blocker (`blockers`), which is never blamed on the task.

Defaults and readings follow BenchFlow 0.7.11 (``benchflow.task.config``) for
native and PostTrain tasks and Harbor 0.26.0 (``harbor.models.task.config``)
for Harbor tasks.
"""

import math
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final, Literal, Protocol

Format = Literal["native", "posttrain", "harbor"]
Network = Literal["public", "no-network"]

LOGS: Final = "/logs"
VERIFIER_LOGS: Final = f"{LOGS}/verifier"
ORACLE_LOG: Final = f"{LOGS}/agent/oracle.txt"
VERIFIER_LOG: Final = f"{VERIFIER_LOGS}/test-stdout.txt"

BUILD_TIMEOUT: Final = 600.0
VERIFIER_TIMEOUT: Final = 600.0
AGENT_TIMEOUT: Final = 3600.0
"""Seconds for an oracle whose task declares no `agent.timeout_sec`. The runtimes would wait for ever."""

_TEMPLATE: Final = re.compile(r"\$\{([^}:]+)(?::-(.*))?\}", re.DOTALL)
_SIZE: Final = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([GMK])B?\s*", re.IGNORECASE)


class SourceFile(Protocol):
    """A file of a task, as far as a replay uses it (`seatrials.task.files.TaskFile`)."""

    @property
    def kind(self) -> Literal["file", "link", "other"]:
        """What it is; a link is never followed."""

    @property
    def mode(self) -> int:
        """Permission bits."""

    @property
    def blob_id(self) -> str:
        """The git blob id of the content."""

    def read(self) -> bytes:
        """Return the content; for a link, its target's name."""


Files = Mapping[str, SourceFile]
"""Files by path relative to a folder, with forward slashes."""


@dataclass(frozen=True, kw_only=True)
class Folder:
    """Files to put below `target`, an absolute path in the container."""

    target: str
    files: Files


@dataclass(frozen=True, kw_only=True)
class Oracle:
    """The reference solution. `env` may hold ``${VAR}`` of the host, not yet filled in."""

    folder: Folder
    command: str
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Verifier:
    """The verifier of a task or step. `timeout` is in seconds."""

    folder: Folder
    command: str
    env: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    timeout: float = VERIFIER_TIMEOUT
    service: str = "main"
    link_tests: bool = False


@dataclass(frozen=True, kw_only=True)
class Healthcheck:
    """A command that must succeed before the agent starts; times are in seconds."""

    command: str
    interval: float = 5.0
    timeout: float = 30.0
    start_period: float = 0.0
    start_interval: float = 5.0
    retries: int = 3


@dataclass(frozen=True, kw_only=True)
class SetupCommand:
    """A command that BenchFlow runs after the start and before the agent."""

    command: str
    timeout: float = 600.0
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    service: str = "main"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One round of agent and verifier. A task without declared steps has exactly one, without a name.

    `min_reward` gates the steps after it: reward key to the least value.
    `workdir` goes into the working directory before the step, `setup` names a
    script in it that is run.
    """

    verifier: Verifier
    oracle: Oracle | None
    name: str = ""
    agent_user: str | None = None
    agent_timeout: float = AGENT_TIMEOUT
    min_reward: Mapping[str, float] = field(default_factory=dict)
    healthcheck: Healthcheck | None = None
    workdir: Files = field(default_factory=dict)
    setup: bool = False


@dataclass(frozen=True, kw_only=True)
class RewardRules:
    """How a reward file is read: whose reading, the range, and BenchFlow's aggregate policy."""

    style: Literal["benchflow", "harbor"] = "benchflow"
    low: float = 0.0
    high: float = 1.0
    aggregate: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TrialSpec:
    """All that a trial of one task needs. Times are in seconds, memory in bytes.

    `path` is the task's folder as the user named it, `source` the file in it
    that holds its configuration.
    """

    name: str
    format: Format
    content_hash: str
    context: Files
    steps: tuple[Step, ...]
    image: str | None = None
    build_timeout: float = BUILD_TIMEOUT
    cpus: float | None = None
    memory: int | None = None
    network: Network = "public"
    agent_network: Network | None = None
    verifier_network: Network | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str | None = None
    healthcheck: Healthcheck | None = None
    setup_commands: tuple[SetupCommand, ...] = ()
    reward: RewardRules = RewardRules()
    step_strategy: Literal["mean", "final"] = "mean"
    compose: bool = False
    faults: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    path: str = ""
    source: str = ""

    @property
    def has_oracle(self) -> bool:
        """Whether there is a reference solution to run."""
        return any(step.oracle is not None for step in self.steps)


class UnsetVariable(Exception):  # noqa: N818 - reads as what happened
    """A ``${VAR}`` without a default names a variable that this machine has not set."""


def fill_env(declared: Mapping[str, str], host: Mapping[str, str], *, where: str) -> dict[str, str]:
    """Fill ``${VAR}`` and ``${VAR:-default}`` in from the host, as both runtimes do.

    Only a value that is a template as a whole is one. Raises `UnsetVariable`.
    """
    filled: dict[str, str] = {}
    for key, value in declared.items():
        match = _TEMPLATE.fullmatch(value)
        if match is None:
            filled[key] = value
        elif match[1] in host:
            filled[key] = host[match[1]]
        elif match[2] is not None:
            filled[key] = match[2]
        else:
            raise UnsetVariable(f"`{where}.{key}` needs `{match[1]}`, which is not set on this machine")
    return filled


def variable_in(value: str) -> str | None:
    """Return the variable of this machine that a declared value stands for, if it stands for one."""
    match = _TEMPLATE.fullmatch(value)
    return match[1] if match is not None else None


def below(files: Files, folder: str) -> dict[str, SourceFile]:
    """Return the files in a folder, by path relative to it."""
    prefix = folder + "/"
    return {path[len(prefix) :]: file for path, file in files.items() if path.startswith(prefix)}


class Reader:
    """Reads typed values out of one table of a config, collecting what is wrong as faults.

    A missing or null value gives the default; so does a wrong one, after it
    was noted. Numbers in quotes count as numbers, as the runtimes take them.
    """

    def __init__(self, data: Any, where: str, faults: list[str]) -> None:
        self.where = where
        self.faults = faults
        match data:
            case None:
                self.data: Mapping[str, Any] = {}
            case dict():
                self.data = data
            case _:
                self.data = {}
                faults.append(f"`{where}` must be a table")

    def key(self, name: str) -> str:
        """Return the dotted name of a key in this table."""
        return f"{self.where}.{name}" if self.where else name

    def table(self, name: str) -> "Reader":
        """Return a reader of the table under `name`."""
        return Reader(self.data.get(name), self.key(name), self.faults)

    def wrong(self, name: str, required: str) -> None:
        """Note that the value under `name` is not what is required."""
        self.faults.append(f"`{self.key(name)}` must be {required}, not `{self.data.get(name)!r}`")

    def seconds(self, name: str, default: float) -> float:
        """Return a positive finite number of seconds."""
        value = self.number(name, positive=True)
        return default if value is None else value

    def number(self, name: str, *, positive: bool = False) -> float | None:
        """Return a finite number, or None where there is none."""
        value = self.data.get(name)
        if value is None:
            return None
        number = as_number(value)
        if number is None or (positive and number <= 0):
            self.wrong(name, "a number above 0" if positive else "a number")
            return None
        return number

    def text(self, name: str) -> str | None:
        """Return a string that is not empty, or None where there is none."""
        match self.data.get(name):
            case None | "":
                return None
            case str() as value:
                return value
            case _:
                self.wrong(name, "a string")
                return None

    def user(self, name: str) -> str | None:
        """Return a user's name or number as Docker takes it."""
        match self.data.get(name):
            case None | "":
                return None
            case bool():
                pass
            case str() | int() as value:
                return str(value)
            case _:
                pass
        self.wrong(name, "a user's name or number")
        return None

    def env(self, name: str) -> dict[str, str]:
        """Return a table of environment variables; numbers and booleans become text."""
        match self.data.get(name):
            case None:
                return {}
            case dict() as table:
                return {str(key): _env_text(value) for key, value in table.items()}
            case _:
                self.wrong(name, "a table of strings")
                return {}


def as_number(value: object) -> float | None:
    """Return a finite number, also out of a string; None for anything else."""
    match value:
        case bool():
            return None
        case int() | float():
            number = float(value)
        case str():
            try:
                number = float(value)
            except ValueError:
                return None
        case _:
            return None
    return number if math.isfinite(number) else None


def _env_text(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return ""
        case _:
            return str(value)


def memory_bytes(reader: Reader, default_mb: int | None) -> int | None:
    """Return the memory limit of a sandbox table in bytes; `memory` ("2G") is the older spelling."""
    legacy = reader.data.get("memory")
    if legacy is not None:
        match = _SIZE.fullmatch(str(legacy))
        if match is None:
            reader.wrong("memory", "a size such as `2G` or `512M`")
        else:
            factor = {"G": 1024**3, "M": 1024**2, "K": 1024}[match[2].upper()]
            return int(float(match[1]) * factor)
    megabytes = reader.number("memory_mb", positive=True)
    if megabytes is None:
        return default_mb * 1024**2 if default_mb is not None else None
    return int(megabytes * 1024**2)


def network_of(reader: Reader, style: Format, blockers: list[str]) -> Network:
    """Return the network that a sandbox table declares; unset means public in both runtimes."""
    mode, internet = reader.data.get("network_mode"), reader.data.get("allow_internet")
    if mode is None:
        return "no-network" if internet is False else "public"
    if style != "harbor" and internet is False and mode != "no-network":
        reader.faults.append(
            f"`{reader.key('allow_internet')}` is false and `{reader.key('network_mode')}` is `{mode}`;"
            " BenchFlow refuses both together"
        )
    return _mode(reader, mode, blockers) or "public"


def role_network(reader: Reader, blockers: list[str]) -> Network | None:
    """Return the network that an agent or verifier table asks for instead of the sandbox's."""
    mode = reader.data.get("network_mode")
    return None if mode is None else _mode(reader, mode, blockers)


def _mode(reader: Reader, mode: object, blockers: list[str]) -> Network | None:
    match mode:
        case "public":
            return "public"
        case "no-network":
            return "no-network"
        case "allowlist" | "denylist":
            blockers.append(
                f"`{reader.key('network_mode')}` is `{mode}`, a list of hosts that can't be enforced here"
            )
        case _:
            reader.wrong("network_mode", "`no-network`, `public`, `allowlist` or `denylist`")
    return None


def healthcheck_of(reader: Reader) -> Healthcheck | None:
    """Read a healthcheck table, or None where there is none."""
    if not reader.data:
        return None
    command = reader.text("command")
    if command is None:
        reader.wrong("command", "a shell command")
        return None

    def number(name: str, default: float) -> float:
        value = reader.number(name)
        return default if value is None else max(value, 0.0)

    return Healthcheck(
        command=command,
        interval=number("interval_sec", 5.0),
        timeout=reader.seconds("timeout_sec", 30.0),
        start_period=number("start_period_sec", 0.0),
        start_interval=number("start_interval_sec", 5.0),
        retries=max(1, int(number("retries", 3))),
    )


def setup_commands_of(reader: Reader) -> tuple[SetupCommand, ...]:
    """Read BenchFlow's `sandbox.setup_commands`."""
    match reader.data.get("setup_commands"):
        case None:
            return ()
        case list() as raw:
            pass
        case _:
            reader.wrong("setup_commands", "a list of tables")
            return ()
    commands: list[SetupCommand] = []
    for index, item in enumerate(raw):
        entry = Reader(item, reader.key(f"setup_commands[{index}]"), reader.faults)
        command = entry.text("command")
        if command is None or not command.strip():
            entry.wrong("command", "a shell command")
            continue
        commands.append(
            SetupCommand(
                command=command,
                timeout=entry.seconds("timeout_sec", 600.0),
                cwd=entry.text("cwd"),
                env=entry.env("env"),
                user=entry.user("user"),
                service=entry.text("service") or "main",
            )
        )
    return tuple(commands)


def script_command(folder: str, command: str) -> str | None:
    """Return the shell line of a `script` strategy, or None for a command that BenchFlow refuses.

    The first word must lie inside the verifier's folder; it is run from there.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if not words or words[0].startswith("/") or ".." in PurePosixPath(words[0]).parts:
        return None
    return f"cd {shlex.quote(folder)} && {command}"
