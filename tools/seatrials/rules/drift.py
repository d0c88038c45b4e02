"""Where two layouts of one task differ, told as BenchFlow 0.7.11 does (``benchflow.task.export``)."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from seatrials.rules.model import Hit
from seatrials.task.authoring import config_of
from seatrials.task.document import Problem, decode
from seatrials.task.files import git_blob_id
from seatrials.task.harbor import split_extra, to_native_names
from seatrials.task.package import CONFIG, DOCUMENT, INSTRUCTION, TaskPackage
from seatrials.task.validate import load

TWIN_FOLDERS: Final = (("oracle", "solution"), ("verifier", "tests"))


def drift(task: TaskPackage) -> Iterator[Hit]:
    """Yield each difference between a native task and the Harbor layout beside it."""
    if DOCUMENT not in task.files:
        return
    config, instruction = CONFIG in task.files, INSTRUCTION in task.files
    if config != instruction:
        there, missing = (CONFIG, INSTRUCTION) if config else (INSTRUCTION, CONFIG)
        yield Hit(
            path=there,
            message=f"`{there}` stands beside `{DOCUMENT}` without `{missing}`; delete it",
        )
    yield from _folders(task)
    if config and not task.problems and not task.faults:
        yield from _definition(task)


def _folders(task: TaskPackage) -> Iterator[Hit]:
    for native, legacy in TWIN_FOLDERS:
        if native in task.listing.folders and legacy in task.listing.folders:
            ours, theirs = _contents(task, native), _contents(task, legacy)
            differ = sorted(path for path in ours | theirs if ours.get(path) != theirs.get(path))
            if differ:
                message = f"`{native}/` and `{legacy}/` differ in `{differ[0]}`; delete `{legacy}/`"
                yield Hit(path=legacy, message=message)


def _contents(task: TaskPackage, folder: str) -> dict[str, str]:
    """Return a git blob id for each file of a folder, what editors and caches left there included."""
    prefix = f"{folder}/"
    out: dict[str, str] = {}
    for path, file in task.files.items():
        if path.startswith(prefix):
            found = task.resolve(path)
            out[path.removeprefix(prefix)] = (found or file).blob_id
    for path in task.listing.junk:
        if path.startswith(prefix):
            for below in _regular(task.root / path):
                out[below.relative_to(task.root / folder).as_posix()] = git_blob_id(below.read_bytes())
    return out


def _regular(path: Path) -> Iterator[Path]:
    for one in [path, *path.rglob("*")] if path.is_dir() else [path]:
        if one.is_file() and not one.is_symlink():
            yield one


def _definition(task: TaskPackage) -> Iterator[Hit]:
    toml, document = task.toml, task.document
    if toml is None or document is None:
        return
    known = split_extra(to_native_names(toml.data)[0])[0]
    theirs = load(known)
    if toml.problems or to_native_names(toml.data)[1] or theirs.faults:
        message = f"`{CONFIG}` can't be read as a configuration, so it differs from `{DOCUMENT}`; delete it"
        yield Hit(path=CONFIG, message=message)
        return
    if where := _difference(load(config_of(document.frontmatter)).values, theirs.values):
        yield Hit(path=CONFIG, message=f"`{CONFIG}` and `{DOCUMENT}` differ in `{where}`; delete `{CONFIG}`")
    instruction = task.resolve(INSTRUCTION)
    if instruction is not None:
        problems: list[Problem] = []
        text = decode(instruction.read(), INSTRUCTION, problems)
        text = "\ufeff" + text if any(problem.kind == "bom" for problem in problems) else text
        undecodable = any(problem.kind == "encoding" for problem in problems)
        if undecodable or _plain(text) != _plain(document.prompt):
            message = f"`{INSTRUCTION}` and the prompt of `{DOCUMENT}` differ; delete `{INSTRUCTION}`"
            yield Hit(path=INSTRUCTION, message=message)


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def _difference(ours: Any, theirs: Any, where: str = "") -> str:
    """Return the name of the first value that differs; empty where none does. NaN differs from itself."""
    match ours, theirs:
        case dict(), dict():
            for key in [*ours, *(key for key in theirs if key not in ours)]:
                name = f"{where}.{key}" if where else str(key)
                if key not in ours or key not in theirs:
                    return name
                if found := _difference(ours[key], theirs[key], name):
                    return found
            return ""
        case float(), float() if math.isnan(ours) or math.isnan(theirs):
            return where
        case _:
            return "" if ours == theirs else where
