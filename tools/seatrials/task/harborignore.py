"""`.harborignore`: which files of `tests/` and `solution/` Harbor leaves out. Pure.

Git's ignore rules, one file per folder, the nearest folder last
(``harbor.models.task.file_filter``, Harbor 0.26.0).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILE: Final = ".harborignore"


class _File(Protocol):
    @property
    def kind(self) -> str: ...

    def read(self) -> bytes: ...


_AnyFile = TypeVar("_AnyFile", bound=_File)


def without_ignored(files: Mapping[str, _AnyFile]) -> dict[str, _AnyFile]:
    """Return the files of a folder that its ignore files keep; an ignore file itself is never kept."""
    rules = _rules(files)
    return {
        path: file
        for path, file in files.items()
        if path.rpartition("/")[2] != IGNORE_FILE and not (rules and _ignored(path, rules))
    }


def _rules(files: Mapping[str, _File]) -> dict[str, "GitIgnoreSpec"]:
    found = {path: file for path, file in files.items() if path.rpartition("/")[2] == IGNORE_FILE}
    if not found:
        return {}
    from pathspec import GitIgnoreSpec

    return {
        path[: -len(IGNORE_FILE)]: GitIgnoreSpec.from_lines(
            file.read().decode("utf-8", "replace").splitlines()
        )
        for path, file in found.items()
        if file.kind == "file"
    }


def _ignored(path: str, rules: Mapping[str, "GitIgnoreSpec"]) -> bool:
    parts = path.split("/")
    # An ignored folder takes all below it along, so each level is asked in turn.
    for end in range(1, len(parts) + 1):
        candidate = "/".join(parts[:end]) + ("/" if end < len(parts) else "")
        verdict = False
        for folder in sorted(rules, key=len):
            if candidate.startswith(folder):
                match = rules[folder].check_file(candidate[len(folder) :])
                if match.include is not None:
                    verdict = match.include
        if verdict:
            return True
    return False
