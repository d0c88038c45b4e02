"""From a task to its `TrialSpec`: the one place of the run room that knows the task model. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from seatrials.replay.spec import (
    AGENT_TIMEOUT,
    BUILD_TIMEOUT,
    VERIFIER_TIMEOUT,
    Files,
    Folder,
    Network,
    Oracle,
    Reader,
    RewardRules,
    SourceFile,
    Step,
    TrialSpec,
    Verifier,
    as_number,
    below,
    healthcheck_of,
    memory_bytes,
    network_of,
    role_network,
    script_command,
    setup_commands_of,
)
from seatrials.task.document import parse_document
from seatrials.task.harborignore import without_ignored
from seatrials.task.package import TaskPackage

COMPOSE_FILE: Final = "docker-compose.yaml"
_NATIVE_CPUS: Final = 1.0
_NATIVE_MEMORY_MB: Final = 2048
"""What BenchFlow gives a task that declares nothing; Harbor sets no limit."""

_OTHER_STRATEGIES: Final = ("llm-judge", "reward-kit", "agent-judge", "ors-episode")


def spec_of(task: TaskPackage) -> TrialSpec:
    """Read what a trial needs off a task. Never raises on what the task contains."""
    return _Reading(task).spec()


class _Reading:
    """One pass over one task, collecting faults and blockers on its way."""

    def __init__(self, task: TaskPackage) -> None:
        self.task = task
        self.view = task.native
        self.harbor = task.format == "harbor"
        self.faults = [problem.message for problem in task.problems]
        self.blockers: list[str] = []
        self.top = Reader(dict(self.view.config), "", self.faults)
        self.agent = self.top.table("agent")
        self.verifier = self.top.table("verifier")
        self.sandbox = self.top.table("sandbox")
        self.oracle = self.top.table("oracle")
        self.aggregate: Mapping[str, Any] = {}

    def spec(self) -> TrialSpec:
        context = below(self.task.files, "environment")
        image = self.sandbox.text("docker_image") or self.sandbox.text("image")
        compose = COMPOSE_FILE in context
        if image is None and not compose and "Dockerfile" not in context:
            self.faults.append("`environment/Dockerfile` is missing; a task needs one")
        self._shapes(compose=compose)
        steps = tuple(self._steps())
        cpus = self.sandbox.number("cpus", positive=True)
        return TrialSpec(
            name=self.task.name,
            format=self.task.format,
            content_hash=self.task.content_hash,
            context=context,
            steps=steps,
            image=image,
            build_timeout=self.sandbox.seconds("build_timeout_sec", BUILD_TIMEOUT),
            cpus=cpus if cpus is not None or self.harbor else _NATIVE_CPUS,
            memory=memory_bytes(self.sandbox, None if self.harbor else _NATIVE_MEMORY_MB),
            network=network_of(self.sandbox, self.task.format, self.blockers),
            agent_network=self._role(self.agent),
            verifier_network=self._role(self.verifier),
            env=self.sandbox.env("env"),
            workdir=self.sandbox.text("workdir"),
            healthcheck=healthcheck_of(self.sandbox.table("healthcheck")),
            setup_commands=setup_commands_of(self.sandbox),
            reward=self._rules(),
            step_strategy="final" if self.top.data.get("multi_step_reward_strategy") == "final" else "mean",
            compose=compose,
            faults=tuple(dict.fromkeys(self.faults)),
            blockers=tuple(dict.fromkeys(self.blockers)),
            path=self.task.label,
            source=self.view.source,
        )

    def _role(self, table: Reader) -> Network | None:
        return role_network(table, self.blockers)

    def _shapes(self, *, compose: bool) -> None:
        if str(self.sandbox.data.get("os") or "linux").lower() != "linux":
            self.blockers.append("`sandbox.os` is not linux; it can't be run here")
        for key in ("gpus", "tpu"):
            if self.sandbox.data.get(key):
                self.blockers.append(f"`sandbox.{key}` asks for an accelerator; it can't be run here")
        if self.verifier.data.get("sandbox") or self.verifier.data.get("sandbox_mode") == "separate":
            self.blockers.append("`verifier.sandbox` asks for a sandbox of its own; it can't be run here")
        if self.verifier.data.get("type") == "llm-judge":
            self.blockers.append("`verifier.type` is `llm-judge`, which needs a model")
        roles = (self.agent.data.get("network_mode"), self.verifier.data.get("network_mode"))
        if compose and any(mode is not None for mode in roles):
            self.blockers.append(
                "a network of its own for agent or verifier can't be had with several services"
            )
        if not compose and self.verifier.data.get("service", "main") != "main":
            self.faults.append("`verifier.service` names a service, and there is no `docker-compose.yaml`")

    def _rules(self) -> RewardRules:
        style: Literal["harbor", "benchflow"] = "harbor" if self.harbor else "benchflow"
        match self.verifier.data.get("reward_range"):
            case None:
                return RewardRules(style=style, aggregate=self.aggregate)
            case [low, high]:
                bounds = as_number(low), as_number(high)
            case _:
                bounds = None, None
        low_end, high_end = bounds
        if low_end is None or high_end is None or low_end > 0 or high_end < 1:
            self.verifier.wrong("reward_range", "a pair of numbers that only widens [0, 1]")
            return RewardRules(style=style, aggregate=self.aggregate)
        return RewardRules(style=style, low=low_end, high=high_end, aggregate=self.aggregate)

    def _steps(self) -> Iterator[Step]:
        match self.top.data.get("steps"):
            case None | []:
                yield self._single()
            case list() as steps:
                for index, item in enumerate(steps):
                    yield self._step(Reader(item, f"steps[{index}]", self.faults))
                if not self.harbor:
                    self.blockers.append(
                        "`steps` is set: BenchFlow reads the steps of a native task and runs none"
                    )
            case _:
                self.top.wrong("steps", "a list of tables")

    def _single(self) -> Step:
        return Step(
            verifier=self._verifier(),
            oracle=self._oracle(below(self.task.files, self.view.oracle_dir) if self.view.oracle_dir else {}),
            agent_user=self.agent.user("user"),
            agent_timeout=self.agent.seconds("timeout_sec", AGENT_TIMEOUT),
        )

    def _step(self, table: Reader) -> Step:
        name = table.text("name") or ""
        if not name or "/" in name or name in {".", ".."}:
            table.wrong("name", "the name of a folder under `steps/`")
        files = below(self.task.files, f"steps/{name}")
        agent, verifier = table.table("agent"), table.table("verifier")
        own = below(files, "tests")
        script = "test.sh" in own or "tests/test.sh" in self.task.files
        if not script:
            self.faults.append(f"`steps/{name}/tests/test.sh` is missing, and so is `tests/test.sh`")
        if verifier.data.get("sandbox") or verifier.data.get("sandbox_mode") == "separate":
            self.blockers.append(f"`{verifier.key('sandbox')}` asks for a sandbox of its own")
        if any(role_network(role, self.blockers) is not None for role in (agent, verifier)):
            self.blockers.append(f"`{table.where}` asks for a network of its own; it can't be run here")
        shared = below(self.task.files, "tests")
        solution = below(files, "solution") or below(self.task.files, "solution")
        workdir = below(files, "workdir")
        return Step(
            name=name,
            verifier=Verifier(
                folder=Folder(target="/tests", files=self._kept({**shared, **own})),
                command="/tests/test.sh",
                env={**self.verifier.env("env"), **verifier.env("env")},
                user=verifier.user("user") or self.verifier.user("user"),
                timeout=verifier.seconds(
                    "timeout_sec", self.verifier.seconds("timeout_sec", VERIFIER_TIMEOUT)
                ),
            ),
            oracle=self._oracle(solution),
            agent_user=agent.user("user") or self.agent.user("user"),
            agent_timeout=agent.seconds("timeout_sec", self.agent.seconds("timeout_sec", AGENT_TIMEOUT)),
            min_reward=self._min_reward(table),
            healthcheck=healthcheck_of(table.table("healthcheck")),
            workdir=workdir,
            setup="setup.sh" in workdir,
        )

    def _min_reward(self, table: Reader) -> Mapping[str, float]:
        match table.data.get("min_reward"):
            case None:
                return {}
            case dict() as bounds:
                return {str(key): as_number(value) or 0.0 for key, value in bounds.items()}
            case value:
                number = as_number(value)
                if number is None:
                    table.wrong("min_reward", "a number or a table of numbers")
                    return {}
                return {"reward": number}

    def _kept(self, files: Files) -> dict[str, SourceFile]:
        return without_ignored(files) if self.harbor else dict(files)

    def _oracle(self, files: Files) -> Oracle | None:
        if not files:
            return None
        kept = self._kept(files)
        folder = self.view.oracle_dir or "solution"
        if "solve.sh" not in kept:
            why = "left out by `.harborignore`" if "solve.sh" in files else "missing"
            self.faults.append(f"`{folder}/solve.sh` is {why}")
        target = f"/{folder}"
        return Oracle(
            folder=Folder(target=target, files=kept),
            # Harbor makes the script executable and runs it as it is; BenchFlow hands it to bash.
            command=f"{target}/solve.sh" if self.harbor else f"bash {target}/solve.sh",
            env={**self._inline_env(), **self.oracle.env("env")},
        )

    def _inline_env(self) -> dict[str, str]:
        # BenchFlow takes upper-case string keys right under [solution] as environment variables.
        return {
            key: value
            for key, value in self.oracle.data.items()
            if isinstance(value, str) and key.isupper() and key.isidentifier()
        }

    def _verifier(self) -> Verifier:
        folder = self.view.verifier_dir
        files = below(self.task.files, folder)
        target = f"/{folder}"
        command = f"{target}/test.sh"
        strategy = None if self.harbor else self._strategy(files, folder)
        if strategy is not None:
            command = strategy
        elif "test.sh" not in files and not self.blockers:
            self.faults.append(f"`{folder}/test.sh` is missing; a task needs one")
        return Verifier(
            folder=Folder(target=target, files=self._kept(files)),
            command=command,
            env=self.verifier.env("env"),
            user=self.verifier.user("user"),
            timeout=self.verifier.seconds("timeout_sec", VERIFIER_TIMEOUT),
            service=self.verifier.text("service") or "main",
            link_tests=target != "/tests",
        )

    def _strategy(self, files: Files, folder: str) -> str | None:
        """Return the shell line of the strategy that `verifier.md` selects, if it selects one."""
        document = self.task.resolve(f"{folder}/verifier.md")
        if document is None:
            return None
        path = f"{folder}/verifier.md"
        parsed = parse_document(document.read(), path=path)
        if parsed.problems:
            self.faults.extend(problem.message for problem in parsed.problems)
            return None
        top = Reader(parsed.frontmatter.get("verifier"), "verifier", self.faults)
        self.aggregate = top.table("outputs").table("aggregate_policy").data
        match top.data.get("strategies"):
            case dict() as strategies if strategies:
                pass
            case _:
                self.faults.append(f"`{path}` has no `verifier.strategies`; BenchFlow needs at least one")
                return None
        name = top.data.get("default_strategy") or next(iter(strategies))
        match strategies.get(name):
            case {"type": "script", "command": str() as command}:
                line = script_command(f"/{folder}", command)
                if line is None:
                    self.faults.append(
                        f"the command of strategy `{name}` in `{path}` must start inside `{folder}/`"
                    )
                elif (script := command.split()[0].removeprefix("./")).endswith(
                    ".sh"
                ) and script not in files:
                    self.faults.append(f"`{folder}/{script}`, which `{path}` runs, is missing")
                return line
            case {"type": str() as kind} if kind in _OTHER_STRATEGIES:
                self.blockers.append(
                    f"`{path}` selects the strategy type `{kind}`, which needs more than a container"
                )
            case _:
                self.faults.append(
                    f"`{path}` selects the strategy `{name}`, which it does not define as BenchFlow needs"
                )
        return None
