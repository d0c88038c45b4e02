"""``verifier/verifier.md``: the strategies by which a verifier judges.

Parsing and refusals follow BenchFlow 0.7.11 (``benchflow.task.verifier_document``
and ``benchflow.task.paths``): a strategy's files are those its command or keys name.
"""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final, Literal, get_args

from seatrials.task.document import KeyPath, parse_document
from seatrials.task.validate import Fault

StrategyType = Literal["script", "reward-kit", "llm-judge", "agent-judge", "ors-episode"]

_SCRIPT_SUFFIXES: Final = frozenset({".js", ".mjs", ".py", ".rb", ".sh", ".ts"})
_OPTIONAL_TEXTS: Final[Mapping[str, tuple[str, ...]]] = {
    "script": (),
    "reward-kit": ("criteria", "entrypoint"),
    "llm-judge": ("model", "input_dir", "context", "context_file"),
    "agent-judge": ("model",),
    "ors-episode": ("format",),
}
_REQUIRED_TEXTS: Final[Mapping[str, tuple[str, ...]]] = {
    "script": ("command",),
    "reward-kit": ("root",),
    "llm-judge": ("rubric",),
    "agent-judge": ("role", "isolation"),
    "ors-episode": (),
}
_RELATIVE: Final = frozenset({"root", "criteria", "entrypoint", "context_file"})


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """One way to judge: its name, its type, and what it declares."""

    name: str
    type: StrategyType
    config: Mapping[str, Any]

    def text(self, key: str) -> str | None:
        """Return a declared string."""
        value = self.config.get(key)
        return value if isinstance(value, str) else None


@dataclass(frozen=True, kw_only=True)
class VerifierDocument:
    """A parsed ``verifier.md``; `selected` is None where BenchFlow would refuse the document."""

    selected: Strategy | None
    strategies: Mapping[str, Strategy]
    faults: tuple[Fault, ...]
    lines: Mapping[KeyPath, int]

    def line(self, path: KeyPath) -> int:
        """Return the line of a key, or of the nearest one above it; else the first."""
        for end in range(len(path), 0, -1):
            if (line := self.lines.get(path[:end])) is not None:
                return line
        return 1


def parse_verifier_document(raw: bytes, *, path: str) -> VerifierDocument:
    """Parse the bytes of a ``verifier.md``. Never raises on their content."""
    document = parse_document(raw, path=path)
    faults = [
        Fault(kind="document", path=(), says=problem.message)
        for problem in document.problems
        if problem.kind not in {"duplicate-key", "duplicate-section"}
    ]
    if faults:
        return VerifierDocument(selected=None, strategies={}, faults=tuple(faults), lines={})
    roles = frozenset(key.partition(":")[2] for key in document.sections if key.startswith("role:"))
    reader = _Reader(roles=roles, faults=faults)
    strategies, default = reader.verifier(document.frontmatter)
    selected = strategies.get(default) if default is not None and not faults else None
    return VerifierDocument(
        selected=selected, strategies=strategies, faults=tuple(faults), lines=document.lines
    )


@dataclass(kw_only=True)
class _Reader:
    roles: frozenset[str]
    faults: list[Fault]

    def fault(self, path: KeyPath, says: str) -> None:
        self.faults.append(Fault(kind="document", path=path, says=says))

    def verifier(self, frontmatter: Mapping[str, Any]) -> tuple[dict[str, Strategy], str | None]:
        data = frontmatter.get("verifier")
        self._optional_text(frontmatter, (), "document_version")
        if not isinstance(data, dict):
            self.fault(("verifier",), "must be a mapping with `strategies`")
            return {}, None
        declared = data.get("strategies")
        if not isinstance(declared, dict) or not declared:
            self.fault(("verifier", "strategies"), "must name at least one strategy")
            return {}, None
        strategies: dict[str, Strategy] = {}
        for name, config in declared.items():
            if (strategy := self._strategy(name, config)) is not None:
                strategies[strategy.name] = strategy
        default = data.get("default_strategy")
        if default is None:
            default = next(iter(declared))
        elif not isinstance(default, str) or default not in declared:
            self.fault(("verifier", "default_strategy"), "must name one of `verifier.strategies`")
            default = None
        self._optional_text(data, ("verifier",), "name")
        self._outputs(data)
        return strategies, default

    def _outputs(self, data: Mapping[str, Any]) -> None:
        for key in ("rubric", "outputs"):
            if not isinstance(data.get(key), dict | None):
                self.fault(("verifier", key), "must be a mapping")
        outputs = data.get("outputs")
        if isinstance(outputs, dict):
            for key in ("reward_text", "reward_json", "details_json"):
                self._optional_text(outputs, ("verifier", "outputs"), key)
            if not isinstance(outputs.get("aggregate_policy"), dict | None):
                self.fault(("verifier", "outputs", "aggregate_policy"), "must be a mapping")

    def _strategy(self, name: Any, config: Any) -> Strategy | None:
        where: KeyPath = ("verifier", "strategies", str(name))
        if not isinstance(name, str) or not name:
            self.fault(where, "must be named with a string")
            return None
        if not isinstance(config, dict):
            self.fault(where, "must be a mapping with a `type`")
            return None
        kind = config.get("type")
        known: tuple[StrategyType, ...] = get_args(StrategyType)
        found = next((one for one in known if one == kind), None)
        if found is None:
            self.fault((*where, "type"), "must be one of " + ", ".join(f"`{one}`" for one in known))
            return None
        for key in _REQUIRED_TEXTS[found]:
            if not isinstance(config.get(key), str) or not config[key]:
                self.fault((*where, key), "is required: a string that is not empty")
        for key in _OPTIONAL_TEXTS[found]:
            if key in config and (not isinstance(config[key], str) or not config[key]):
                self.fault((*where, key), "must be a string that is not empty")
        for key in _RELATIVE & {*_REQUIRED_TEXTS[found], *_OPTIONAL_TEXTS[found]}:
            value = config.get(key)
            if isinstance(value, str) and value and relative(value, empty=True) is None:
                self.fault((*where, key), "must be a path inside the verifier's folder")
        self._particular(found, config, where)
        return Strategy(name=name, type=found, config=config)

    def _particular(self, kind: StrategyType, config: Mapping[str, Any], where: KeyPath) -> None:
        if kind == "llm-judge" and "context" in config and "context_file" in config:
            self.fault((*where, "context"), "stands beside `context_file`; keep one of them")
        if kind == "agent-judge":
            role, isolation = config.get("role"), config.get("isolation")
            if isinstance(role, str) and role and role not in self.roles:
                self.fault(
                    (*where, "role"), f"names `{role[:60]}`, and there is no section `## role:{role[:60]}`"
                )
            if isinstance(isolation, str) and isolation and isolation != "verifier-only":
                self.fault((*where, "isolation"), "must be `verifier-only`")
        if kind in {"agent-judge", "ors-episode"}:
            inputs = config.get("inputs")
            strings = isinstance(inputs, list) and all(isinstance(one, str) and one for one in inputs)
            if not inputs or not strings:
                self.fault((*where, "inputs"), "must be a list of at least one string")
        if kind == "ors-episode":
            form = config.get("format")
            if isinstance(form, str) and form and form not in {"json", "jsonl", "auto"}:
                self.fault((*where, "format"), "must be `json`, `jsonl` or `auto`")

    def _optional_text(self, data: Mapping[str, Any], where: KeyPath, key: str) -> None:
        value = data.get(key)
        if value is not None and (not isinstance(value, str) or not value):
            self.fault((*where, key), "must be a string that is not empty")


def strategy_files(strategy: Strategy) -> Iterator[tuple[str, str | None]]:
    """Yield ``(key, path)`` for each file below the verifier's folder that a strategy names.

    The path is None where what the key says can't be such a file. A `script`
    without any is yielded as ``("command", None)``.
    """
    match strategy.type:
        case "script":
            named = list(command_files(strategy.text("command") or ""))
            yield from [("command", path) for path in named] or [("command", None)]
        case "reward-kit":
            root, entry = relative(strategy.text("root") or ""), relative(
                strategy.text("entrypoint") or "reward.py"
            )  # fmt: skip
            yield "entrypoint", f"{root}/{entry}" if root is not None and entry is not None else None
            if (criteria := strategy.text("criteria")) is not None:
                yield "criteria", relative(criteria)
        case "llm-judge":
            yield "rubric", relative(strategy.text("rubric") or "")
            if (context := strategy.text("context_file")) is not None:
                yield "context_file", relative(context)
        case "agent-judge" | "ors-episode":
            return


def command_files(command: str) -> Iterator[str | None]:
    """Yield the local files that a command names; None for one outside, or for a command without words."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not words:
        yield None
    for word in words:
        if not word or word.startswith("-") or "://" in word or any(mark.isspace() for mark in word):
            continue
        path = PurePosixPath(word)
        if not path.is_absolute() and ("/" in word or path.suffix in _SCRIPT_SUFFIXES):
            yield relative(word)


def relative(value: str, *, empty: bool = False) -> str | None:
    """Return a path in its plain form; None where it is absolute, climbs, or (unless `empty`) is nothing."""
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts or (not path.parts and not empty):
        return None
    return path.as_posix()
