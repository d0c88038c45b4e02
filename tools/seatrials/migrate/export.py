"""A native package as a Harbor task: the plan, with what Harbor can't express. Pure.

What Harbor's model (0.26.0) does not know is kept under
`metadata.seatrials_native`, by its path, and a migration puts it back.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from seatrials.migrate import toml_text
from seatrials.migrate.harbor_config import harbor_config
from seatrials.migrate.model import Action, Note, Plan, Unreadable, Unsupported, carried
from seatrials.migrate.paths import COMPOSE, Rename, rewrite_mounts, rewrite_oracle
from seatrials.migrate.verifier import VERIFIER_DOCUMENT, script_command
from seatrials.task.document import TaskDocument
from seatrials.task.files import TaskFile
from seatrials.task.package import CONFIG, DOCUMENT, INSTRUCTION, TaskPackage
from seatrials.task.verifier_document import parse_verifier_document

FOLDERS: Final[Mapping[str, str]] = {"verifier": "tests", "oracle": "solution"}


def export_plan(task: TaskPackage) -> Plan:
    """Plan the export of one task. Never raises on what it holds; a Harbor task stays as it is."""
    try:
        refuse_problems(task)
        if task.document is None:
            return _as_it_is(task)
        plan = plan_of(task.name, task.native.config, task.native.prompt, task.files)
    except Unsupported as error:
        return Plan(name=task.name, problem=str(error), supported=False)
    except Unreadable as error:
        return Plan(name=task.name, problem=str(error))
    if "tests/test.sh" not in plan.written:
        reason = "it has no `verifier/test.sh`, which is what Harbor runs"
        return Plan(name=task.name, problem=reason, supported=False)
    losses = (*_document_losses(task.document), *_verifier_losses(task.files))
    return replace(plan, notes=(*plan.notes, *losses))


def refuse_problems(task: TaskPackage) -> None:
    """Refuse what can't be read whole, since it could not be carried over whole."""
    if task.problems:
        raise Unreadable(task.problems[0].message)
    if task.listing.truncated:
        raise Unreadable(f"it holds over {len(task.files)} files; it must hold fewer")
    for path, file in task.files.items():
        if file.kind == "other":
            raise Unreadable(f"`{path}` is neither a file nor a link; take it out")
        if file.unreadable:
            raise Unreadable(f"`{path}` can't be read; its permissions forbid it")


def plan_of(name: str, config: Mapping[str, Any], prompt: str, files: Mapping[str, TaskFile]) -> Plan:
    """Plan the export of a native configuration and prompt, and the files beside them."""
    notes: list[Note] = []
    harbor = harbor_config(config, notes)
    if not prompt.strip():
        raise Unreadable(f"the prompt in `{DOCUMENT}` is empty; Harbor needs one")
    actions = dict(_files(files))
    _rewrite(files, prompt, actions, notes)
    if CONFIG in actions or INSTRUCTION in actions:
        raise Unreadable(f"`{DOCUMENT}` stands beside `{CONFIG}` or `{INSTRUCTION}`; keep the one that holds")
    for path, text in ((CONFIG, toml_text.dump(harbor)), (INSTRUCTION, prompt.strip() + "\n")):
        actions[path] = Action(verb="write", source="", target=path, content=text.encode())
    left = Action(
        verb="leave out", source=DOCUMENT, target="", reason="`task.toml` and `instruction.md` say it"
    )
    return Plan(
        name=name,
        actions=(*(actions[path] for path in sorted(actions)), left),
        notes=tuple(notes),
        config=harbor,
        prompt=prompt,
    )


def _as_it_is(task: TaskPackage) -> Plan:
    for path in (CONFIG, INSTRUCTION):
        if task.resolve(path) is None and not (path == INSTRUCTION and task.native.get("steps")):
            raise Unreadable(f"`{path}` is missing; a Harbor task has one")
    actions = tuple(carried(path, path, file) for path, file in task.files.items())
    note = Note(kind="files", message="it is a Harbor task already and kept as it is")
    return Plan(
        name=task.name,
        actions=actions,
        notes=(note,),
        config=task.toml.data if task.toml is not None else {},
        prompt=task.native.prompt,
    )


def _files(files: Mapping[str, TaskFile]) -> Iterator[tuple[str, Action]]:
    tops = {path.partition("/")[0] for path in files}
    for new, old in FOLDERS.items():
        if new in tops and old in tops:
            raise Unreadable(f"`{new}/` and `{old}/` both exist; keep one")
    for path, file in files.items():
        if path == DOCUMENT:
            continue
        if file.kind != "file":
            raise Unreadable(f"`{path}` is a link or no file; Harbor's loader takes files only")
        top, slash, rest = path.partition("/")
        target = FOLDERS.get(top, top) + slash + rest if slash else path
        yield target, carried(path, target, file)


def _document_losses(document: TaskDocument) -> Iterator[Note]:
    for name in document.sections:
        if name != "prompt":
            said = f"`## {name}` has no place in `{INSTRUCTION}`; its text is not exported"
            yield Note(kind="loss", message=said, look=True)


def _verifier_losses(files: Mapping[str, TaskFile]) -> Iterator[Note]:
    folder = "verifier" if any(path.startswith("verifier/") for path in files) else "tests"
    path = f"{folder}/{VERIFIER_DOCUMENT}"
    file, script = files.get(path), files.get(f"{folder}/test.sh")
    if file is None or script is None:
        return
    chosen = parse_verifier_document(file.head(), path=path).selected
    if chosen is None:
        yield Note(kind="loss", message=f"`{path}` can't be read; Harbor runs `tests/test.sh`", look=True)
    elif chosen.type != "script":
        said = f"`{path}` judges by a `{chosen.type}`; Harbor does not, it runs `tests/test.sh`"
        yield Note(kind="loss", message=said, look=True)
    elif chosen.text("command") != script_command(script):
        said = (
            f"`{path}` runs `{chosen.text('command')}` in the verifier's folder; Harbor runs `tests/test.sh`"
            " in the image's working directory"
        )
        yield Note(
            kind="loss", message=said, look=True, group="the verifier's command runs elsewhere in Harbor"
        )


def _rewrite(
    files: Mapping[str, TaskFile], prompt: str, actions: dict[str, Action], notes: list[Note]
) -> None:
    kept = {path: file for path, file in files.items() if path.rpartition("/")[2] != VERIFIER_DOCUMENT}
    for new, old in FOLDERS.items():
        found = rewrite_oracle(kept, new, Rename(old=new, new=old), prompt)
        for path, text in found.texts.items():
            _content(actions, old + path[len(new) :], text)
            said = f"`/{new}` is now `/{old}`"
            notes.append(Note(kind="path", message=f"`{path}`: {said}", group=said))
        for path, line in found.unsure:
            said = f"names `/{new}`, which Harbor has as `/{old}`, and what is meant is not certain"
            notes.append(Note(kind="path", message=f"`{path}:{line}` {said}", look=True, group=said))
    for path in COMPOSE:
        file = files.get(path)
        compose = file.text if file is not None else None
        if compose is not None and (mounts := rewrite_mounts(compose, FOLDERS)) != compose:
            _content(actions, path, mounts)
            said = "it mounts the folders under their new names"
            notes.append(Note(kind="path", message=f"`{path}`: {said}", group=said))


def _content(actions: dict[str, Action], target: str, text: str) -> None:
    old = actions[target]
    actions[target] = Action(
        verb="rewrite", source=old.source, target=target, content=text.encode(), executable=old.executable
    )
