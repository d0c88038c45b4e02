"""Where two layouts of one task differ, told as BenchFlow 0.7.11 does (``benchflow.task.export``)."""

import math
from collections.abc import Iterator
from typing import Any, Final

from seatrials.rules.model import Hit
from seatrials.task.authoring import config_of
from seatrials.task.document import Problem, decode
from seatrials.task.harbor import split_extra, to_native_names
from seatrials.task.package import CONFIG, DOCUMENT, INSTRUCTION, TaskPackage
from seatrials.task.validate import load

TWIN_FOLDERS: Final = (("oracle", "solution"), ("verifier", "tests"))


def drift(task: TaskPackage) -> Iterator[Hit]:
    """Yield each difference between a native task and the Harbor layout beside it."""
    if DOCUMENT not in task.files:
        return
    config, instruction = _exists(task, CONFIG), _exists(task, INSTRUCTION)
    if config != instruction:
        there, missing = (CONFIG, INSTRUCTION) if config else (INSTRUCTION, CONFIG)
        yield Hit(
            path=there,
            message=f"`{there}` stands beside `{DOCUMENT}` without `{missing}`; delete it",
        )
    yield from _folders(task)
    unread = any(problem.kind != "duplicate-key" for problem in task.problems)
    if config and not unread and not task.faults:
        yield from _definition(task)


def _exists(task: TaskPackage, name: str) -> bool:
    file = task.files.get(name)
    return name in task.listing.folders or (
        file is not None and (file.kind != "link" or file.location.exists())
    )


def _folders(task: TaskPackage) -> Iterator[Hit]:
    for native, legacy in TWIN_FOLDERS:
        if _exists(task, native) and _exists(task, legacy):
            ours, theirs = _contents(task, native), _contents(task, legacy)
            differ = sorted(path for path in ours | theirs if ours.get(path) != theirs.get(path))
            if differ:
                message = f"`{native}/` and `{legacy}/` differ in `{differ[0]}`; delete `{legacy}/`"
                yield Hit(path=legacy, message=message)


def _contents(task: TaskPackage, folder: str) -> dict[str, str]:
    """Return a git blob id for each file of a folder, what editors and caches left there included.

    What is no folder has none, and a linked folder those of its end.
    """
    link = task.files.get(folder)
    if link is not None and link.kind == "link" and not (folder := task.link_end(link) or ""):
        return {"": link.blob_id}  # outside, where nothing is read: it differs
    prefix = f"{folder}/"
    out: dict[str, str] = {}
    for path, file in task.files.items():
        if path.startswith(prefix):
            found = task.resolve(path)
            if found is not None or (file.kind == "link" and task.link_end(file) is None):
                out[path.removeprefix(prefix)] = (found or file).blob_id
    out.update({file.path.removeprefix(prefix): file.blob_id for file in task.junk_below(folder)})
    return out


def _definition(task: TaskPackage) -> Iterator[Hit]:
    toml, document = task.toml, task.document
    if document is None:
        return
    if toml is None:
        yield Hit(path=CONFIG, message=f"`{CONFIG}` can't be read; delete it")
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
    if instruction is None:
        yield Hit(path=INSTRUCTION, message=f"`{INSTRUCTION}` can't be read; delete it")
    else:
        problems: list[Problem] = []
        text = decode(instruction.head(), INSTRUCTION, problems)
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
