"""The native view: any task as the BenchFlow package that it is or would become.

A pure mapping. For a Harbor task it follows ``bench tasks migrate`` of
BenchFlow 0.7.11, as the arena does when it validates one; for a PostTrain
task it renames what BenchFlow renamed. `migrate` writes it, the rules read it.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

from seatrials.task.authoring import expand
from seatrials.task.document import KeyPath, TaskDocument, dotted
from seatrials.task.files import TaskFile
from seatrials.task.harbor import TomlData, leaf_paths, split_extra, to_native_names

Format = Literal["native", "posttrain", "harbor"]

DEFAULT_VERIFIER_TIMEOUT: Final = 600.0
"""Seconds, from BenchFlow's and Harbor's ``verifier.timeout_sec``."""

DEFAULT_BUILD_TIMEOUT: Final = 600.0
"""Seconds, from BenchFlow's and Harbor's ``build_timeout_sec``."""


@dataclass(frozen=True, kw_only=True)
class NativeView:
    """A task in BenchFlow's terms.

    `config` is the frontmatter (``schema_version`` first); `extra` what
    BenchFlow does not model, kept under ``benchflow.compat``; `conflicts` one
    message for each pair of names of the same table that were both declared;
    `author_lines` gives the lines of `source`, the file that `config` came from, in the author's spelling.
    `verifier_dir` and `oracle_dir` are the folders read as ``verifier/`` and
    ``oracle/`` (`oracle_dir` is empty when the task has none).
    """

    config: Mapping[str, Any]
    extra: Mapping[str, Any]
    conflicts: tuple[str, ...]
    prompt: str
    source: str
    verifier_dir: str
    oracle_dir: str
    author_lines: Callable[[], Mapping[KeyPath, int]]
    files: Mapping[str, TaskFile]

    @cached_property
    def lines(self) -> Mapping[KeyPath, int]:
        """The line in `source` of each value of `config`."""
        return _native_lines(self.author_lines())

    def get(self, *path: str | int) -> Any:
        """Return the value at a path of `config`, or None where there is none."""
        value: Any = self.config
        for part in path:
            match value:
                case Mapping() if part in value:
                    value = value[part]
                case list() if isinstance(part, int) and part < len(value):
                    value = value[part]
                case _:
                    return None
        return value

    def table(self, *path: str | int) -> Mapping[str, Any]:
        """Return the mapping at a path of `config`, empty where there is none."""
        value = self.get(*path)
        return value if isinstance(value, Mapping) else {}

    def number(self, *path: str | int) -> float | None:
        """Return the finite number at a path of `config`, or None."""
        match self.get(*path):
            case bool():
                return None
            case int() | float() as value if abs(value) < float("inf"):
                return float(value)
            case _:
                return None

    def line(self, *path: str | int) -> int | None:
        """Return the line in `source` of a key, or of the nearest table above it."""
        for end in range(len(path), 0, -1):
            if (line := self.lines.get(path[:end])) is not None:
                return line
        return None

    def under(self, folder: Literal["environment", "verifier", "oracle"]) -> Iterator[tuple[str, TaskFile]]:
        """Yield ``(path below the folder, file)`` for a folder of the native package."""
        real = {"verifier": self.verifier_dir, "oracle": self.oracle_dir}.get(folder, folder)
        prefix = f"{real}/"
        if real:
            for path, file in self.files.items():
                if path.startswith(prefix):
                    yield path[len(prefix) :], file

    def file(self, path: str) -> TaskFile | None:
        """Return a file by its native path, such as ``verifier/test.sh``."""
        folder, slash, rest = path.partition("/")
        real = {"verifier": self.verifier_dir, "oracle": self.oracle_dir}.get(folder, folder)
        return self.files.get(real + slash + rest)

    @cached_property
    def network(self) -> str:
        """The agent's network: a `network_mode`; ``public`` when nothing is declared.

        An explicit mode wins over the deprecated ``allow_internet``.
        """
        sandbox = self.table("sandbox")
        mode = self.get("agent", "network_mode") or sandbox.get("network_mode")
        if isinstance(mode, str):
            return mode
        return "no-network" if sandbox.get("allow_internet") is False else "public"


def view_of_document(
    document: TaskDocument, files: Mapping[str, TaskFile], folders: Collection[str] = ()
) -> NativeView:
    """Map a ``task.md``, native or PostTrain. `folders` names those without files too."""
    config, conflicts = to_native_names(document.frontmatter)
    return NativeView(
        config=expand(config)[0],
        extra={},
        conflicts=conflicts,
        prompt=document.prompt,
        source="task.md",
        author_lines=lambda: document.lines,
        **_folders(files, folders),
        files=files,
    )


def view_of_harbor(
    toml: TomlData, instruction: str, files: Mapping[str, TaskFile], folders: Collection[str] = ()
) -> NativeView:
    """Map a ``task.toml`` and its instruction. The prompt is stripped, as the reference does."""
    config, conflicts = to_native_names(toml.data)
    config = {"schema_version": config.pop("schema_version", "1.3"), **config}
    known, extra, paths = split_extra(config)
    if paths:
        known["benchflow"] = {"compat": set_aside(extra, toml.data)}
    return NativeView(
        config=known,
        extra=extra,
        conflicts=conflicts,
        prompt=instruction.strip(),
        source="task.toml",
        author_lines=lambda: toml.lines,
        **_folders(files, folders),
        files=files,
    )


def set_aside(extra: Mapping[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    """Return what BenchFlow's import writes under ``benchflow.compat`` for keys that it does not model.

    It calls the oracle's table there as the author did in `source`.
    """
    spelled = {
        "solution" if key == "oracle" and "solution" in source else key: value for key, value in extra.items()
    }
    leaves = sorted(dotted(path) for path in leaf_paths(spelled))
    return {"source": "legacy", "extra_paths": leaves, "extra": spelled}


_NAMES: Final = {
    "environment": "sandbox",
    "solution": "oracle",
    "version": "schema_version",
    "environment_mode": "sandbox_mode",
}


def author_path(path: KeyPath) -> KeyPath:
    """Return a path of a Harbor task's native configuration in the spelling of its ``task.toml``."""
    names = {"sandbox": "environment", "oracle": "solution", "sandbox_mode": "environment_mode"}
    return tuple(
        names.get(part, part)
        if isinstance(part, str) and (position == 0 or path[position - 1] == "verifier")
        else part
        for position, part in enumerate(path)
    )


def _native_lines(lines: Mapping[KeyPath, int]) -> dict[KeyPath, int]:
    # `verifier.environment` and `steps[n].verifier.environment*` are renamed too; `task.version` is not.
    out: dict[KeyPath, int] = {}
    for path, line in lines.items():
        last = len(path) - 1
        renamed = tuple(
            _NAMES.get(part, part)
            if isinstance(part, str) and (position == 0 or path[position - 1] == "verifier")
            else part
            for position, part in enumerate(path[: last + 1])
        )
        out.setdefault(renamed, line)
    return out


def _folders(files: Mapping[str, TaskFile], folders: Collection[str]) -> dict[str, str]:
    """Choose by what exists, as BenchFlow does, be it empty or a file of that name."""
    tops = {path.partition("/")[0] for path in files if "/" in path or files[path].kind != "link"}
    tops.update(folder for folder in folders if folder and "/" not in folder)
    return {
        "verifier_dir": "verifier" if "verifier" in tops or "tests" not in tops else "tests",
        "oracle_dir": next((name for name in ("oracle", "solution") if name in tops), ""),
    }
