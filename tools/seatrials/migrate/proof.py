"""Proof that a new task means what the old one meant. Pure: it looks at a plan's result, file by file.

Parsed again, configuration and prompt are what was planned; exported again,
the task is the source: configuration, prompt, and every file by its git blob
id and run bit.
"""

import math
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from seatrials.migrate.config import native_path
from seatrials.migrate.export import plan_of
from seatrials.migrate.harbor_config import KEPT, native_names
from seatrials.migrate.model import Action, Plan, Unreadable, Unsupported
from seatrials.migrate.plan import FOLDERS
from seatrials.task.authoring import document_faults, expand
from seatrials.task.document import KeyPath, dotted, parse_document
from seatrials.task.files import TaskFile, git_blob_id
from seatrials.task.harbor import leaf_paths, split_extra, to_native_names
from seatrials.task.package import DOCUMENT, TaskPackage
from seatrials.task.schema import DOCUMENT_KEYS, SHORTHAND_KEYS, unknown_keys
from seatrials.task.validate import load

_LINK: Final = 0o777
_HARBOR_FOLDERS: Final = {new: old for old, new in FOLDERS.items()}


def result(task: TaskPackage, plan: Plan) -> dict[str, TaskFile]:
    """Return the files that a plan makes of a task, as they will be."""
    out: dict[str, TaskFile] = {}
    root = str(task.root)
    for action in plan.actions:
        if not action.target:
            continue
        source = task.resolve(action.source) if action.source and not action.link else None
        if action.content is None:
            assert source is not None  # noqa: S101 - only files are carried without content
            _ = source.blob_id  # read once, here: what is proven and what is written are the same bytes
            out[action.target] = source.at(action.target)
        else:
            out[action.target] = TaskFile(
                path=action.target,
                kind="link" if action.link else "file",
                size=len(action.content),
                mode=_LINK if action.link else 0o755 if action.executable else 0o644,
                place=f"{root}/{action.target}",
                _data=action.content,
            )
    return out


def disagreement(task: TaskPackage, plan: Plan, files: Mapping[str, TaskFile]) -> str:
    """Return in one line where the new task differs from the old one; empty where it is proven equal."""
    return next(_differences(task, plan, files), "")


def _differences(task: TaskPackage, plan: Plan, files: Mapping[str, TaskFile]) -> Iterator[str]:
    if task.format == "native":
        yield from _file_differences(task, plan, {path: _print(file) for path, file in files.items()})
        return
    document = parse_document(files[DOCUMENT].read())
    yield from (problem.message for problem in document.problems)
    if not same(document.frontmatter, plan.config):
        yield "the configuration reads differently once written"
    if document.prompt != task.native.prompt:
        yield "the prompt reads differently once written"
    yield from (
        f"BenchFlow would refuse `{dotted(f.path)}`: it {f.says}" for f in document_faults(plan.config)
    )
    yield from _lost_leaves(task, plan, document.frontmatter)
    config = expand(to_native_names(document.frontmatter)[0])[0]
    carried = {path: file for path, file in files.items() if file.kind == "file"}
    try:
        back = plan_of(plan.name, config, document.prompt, carried)
    except (Unreadable, Unsupported) as error:
        yield f"it can't be exported again: {error}"
        return
    yield from _config_differences(task, plan, back)
    if back.prompt.strip() != task.native.prompt.strip():
        yield "the prompt differs after an export back"
    exported = {path: _stamp(action, carried) for path, action in back.written.items()}
    exported |= {_harbor_path(path): _print(file) for path, file in files.items() if file.kind == "link"}
    yield from _file_differences(task, plan, exported)


def _lost_leaves(task: TaskPackage, plan: Plan, frontmatter: Mapping[str, Any]) -> Iterator[str]:
    """Yield the values of the source that are neither under their native key nor set aside."""
    source = _declared(task)
    extra, _ = to_native_names(frontmatter.get("benchflow", {}).get("compat", {}).get("extra", {}))
    for path in leaf_paths(source):
        if path[:2] == ("metadata", KEPT):
            continue  # put back to where it came from, and compared with the rest after an export
        native = native_path(path)
        moved = next((native[:end] for end in range(len(native), 0, -1) if native[:end] in plan.moved), None)
        if moved is not None:
            if not _has(frontmatter, plan.moved[moved]):
                yield f"`{dotted(path)}` is lost"
            continue
        found, value = _at(frontmatter, native), _at(source, path)
        if value == {} and isinstance(found, dict):
            continue  # something was added to an empty table
        if not same(found, value) and not same(_at(extra, native), value):
            yield f"`{dotted(path)}` is lost" if found is None else f"`{dotted(path)}` has another value"


def _config_differences(task: TaskPackage, plan: Plan, back: Plan) -> Iterator[str]:
    """Compare what BenchFlow reads off the source and off the exported task, and what both set aside."""
    try:
        written = tomllib.loads((back.written["task.toml"].content or b"").decode())
    except ValueError as error:
        yield f"the exported `task.toml` can't be read: {error}"
        return
    old = native_names(_declared(task))
    new = native_names(written)
    for path in sorted(plan.added, key=len, reverse=True):
        _drop(new, path, old)
    for path in (path for path, now in plan.moved.items() if path == now):
        _drop(new, path, old)  # its value changed on purpose, as a note says
    sides: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for side in (old, new):
        aside = DOCUMENT_KEYS | SHORTHAND_KEYS if task.document is not None else frozenset[str]()
        known, extra = {key: value for key, value in side.items() if key not in aside}, dict[str, Any]()
        if next(unknown_keys(known), None) is not None:
            known, extra, _ = split_extra(known)
        sides.append((known, extra))
    # What is declared alike is read alike.
    if not same(sides[0][0], sides[1][0]) and not same(*(load(known).values for known, _ in sides)):
        yield "the configuration differs after an export back"
    if not same(_without_none(sides[0][1]), _without_none(sides[1][1])):
        yield "the keys that were set aside differ after an export back"


def _declared(task: TaskPackage) -> dict[str, Any]:
    data = task.document.frontmatter if task.document is not None else task.toml.data if task.toml else {}
    return dict(data)


def _drop(data: Any, path: KeyPath, old: Any) -> None:
    """Take an added key out; one that the source had all along gets its old value."""
    if _has(old, path):
        value = _at(old, path)
        for part in path[:-1]:
            data = data[part]
        data[path[-1]] = value
        return
    for part in path[:-1]:
        data = data.get(part, {})
    data.pop(path[-1], None)


def _print(file: TaskFile) -> tuple[str, str, bool]:
    return file.kind, file.blob_id, file.kind == "file" and file.executable


def _stamp(action: Action, files: Mapping[str, TaskFile]) -> tuple[str, str, bool]:
    if action.content is not None:
        return "file", git_blob_id(action.content), action.executable
    return _print(files[action.source])


def _file_differences(
    task: TaskPackage, plan: Plan, exported: Mapping[str, tuple[str, str, bool]]
) -> Iterator[str]:
    """Compare the source's files with those that an export of the new task would give back."""
    made = {action.target for action in plan.actions if action.verb == "write" and not action.source}
    dropped = {action.source for action in plan.actions if action.verb == "leave out"}
    native = task.format == "native"
    links = {action.source for action in plan.actions if action.link and action.verb == "rewrite"}
    moved = {
        action.source: _harbor_path(action.target)
        for action in plan.actions
        if action.source and action.target and not native
    }
    for path, file in task.files.items():
        if path in dropped or (path == DOCUMENT and not native):
            continue
        there = exported.get(path if native else moved.get(path, path))
        if there is None:
            yield f"`{path}` is lost"
        elif there != _print(file) and path not in links and not _renamed_back(task, path, there):
            yield f"`{path}` comes back changed"
    expected = set(task.files) if native else set(moved.values()) | {_harbor_path(path) for path in made}
    for path in exported:
        if path not in expected | {"task.toml", "instruction.md"}:
            yield f"`{path}` is new, and no part of the plan"


def _renamed_back(task: TaskPackage, path: str, there: tuple[str, str, bool]) -> bool:
    """Say whether a native script differs only by the folders' names, which an export gives it."""
    file = task.files[path]
    if task.document is None or file.text is None or there[2] != file.executable:
        return False
    text = file.text
    for old, new in FOLDERS.items():
        text = text.replace(f"/{new}", f"/{old}")
    return "/" in file.text and there[0] == "file" and git_blob_id(text.encode()) == there[1]


def _harbor_path(path: str) -> str:
    top, slash, rest = path.partition("/")
    return _HARBOR_FOLDERS.get(top, top) + slash + rest if slash else path


def same(left: Any, right: Any) -> bool:
    """Compare two values of a configuration: a boolean is no number, NaN is NaN, a time is its text."""
    # Plain data that is written alike is alike; most is.
    return repr(left) == repr(right) or _same(left, right)


def _same(left: Any, right: Any) -> bool:
    match left, right:
        case dict(), dict():
            return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
        case (list() | tuple(), list() | tuple()):
            return len(left) == len(right) and all(_same(a, b) for a, b in zip(left, right, strict=True))
        case (bool(), _) | (_, bool()):
            return left is right
        case float(), float():
            return left == right or (math.isnan(left) and math.isnan(right))
        case _:
            if hasattr(left, "isoformat") != hasattr(right, "isoformat"):
                return bool(_iso(left) == _iso(right))
            return bool(left == right)


def _iso(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


def _at(data: Any, path: KeyPath) -> Any:
    for part in path:
        match data:
            case dict() if part in data:
                data = data[part]
            case list() if isinstance(part, int) and part < len(data):
                data = data[part]
            case _:
                return None
    return data


def _has(data: Any, path: KeyPath) -> bool:
    above = _at(data, path[:-1]) if path[:-1] else data
    if isinstance(above, dict):
        return path[-1] in above
    return isinstance(above, list) and isinstance(path[-1], int) and path[-1] < len(above)


def _without_none(data: Any) -> Any:
    match data:
        case dict():
            return {key: _without_none(value) for key, value in data.items() if value is not None}
        case list():
            return [_without_none(value) for value in data if value is not None]
        case _:
            return data
