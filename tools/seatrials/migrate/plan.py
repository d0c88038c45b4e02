"""The plan of a migration: what the native package will hold, and why. Pure: reads, writes nothing."""

import os
import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from seatrials.migrate.comments import Comment, toml_comments, yaml_comments
from seatrials.migrate.config import NativeConfig, native_config, slug
from seatrials.migrate.export import refuse_problems
from seatrials.migrate.model import Action, Fill, Note, Plan, Unreadable, Unsupported, Verb, carried
from seatrials.migrate.paths import COMPOSE, Rename, rewrite_mounts, rewrite_oracle
from seatrials.migrate.verifier import verifier_files
from seatrials.migrate.yaml_text import dump_with_comments
from seatrials.task.document import decode, escape_headings
from seatrials.task.harborignore import without_ignored
from seatrials.task.package import CONFIG, DOCUMENT, INSTRUCTION, TaskPackage

ENVIRONMENT: Final = "environment"
DOCKERFILE: Final = "environment/Dockerfile"
FOLDERS: Final[Mapping[str, str]] = {"tests": "verifier", "solution": "oracle"}
"""Harbor's folders and what they are called in a native package."""

_ESCAPED: Final = re.compile(
    r"^\\##\s+(?:prompt|role:[\w.-]+|scene:[\w.-]+|user-persona)\s*$", re.IGNORECASE | re.MULTILINE
)
_IMAGE: Final = re.compile(r"[\w][\w.\-/:@]*")
_FROM_CONTEXT: Final = re.compile(r"^\s*(?:COPY|ADD)\s+(?!.*--from=)", re.IGNORECASE | re.MULTILINE)


def plan(task: TaskPackage, fill: Fill | None = None) -> Plan:
    """Plan the migration of one task. Never raises on what the task holds."""
    try:
        _sound(task)
        if task.format == "native":
            return _as_it_is(task)
        return _Planner(task, fill or Fill()).plan()
    except Unsupported as error:
        return Plan(name=task.name, problem=str(error), supported=False)
    except Unreadable as error:
        return Plan(name=task.name, problem=str(error))


def _sound(task: TaskPackage) -> None:
    """Refuse what can't be read whole, since it could not be carried over whole."""
    refuse_problems(task)
    if DOCUMENT in task.files:
        for path in (CONFIG, INSTRUCTION):
            if path in task.files:
                raise Unreadable(f"`{DOCUMENT}` stands beside `{path}`; keep the one that holds")
        return
    for path in (CONFIG, INSTRUCTION):
        if task.resolve(path) is None and not (path == INSTRUCTION and _has_steps(task)):
            raise Unreadable(f"`{path}` is missing; a Harbor task has one")


def _has_steps(task: TaskPackage) -> bool:
    return bool(task.toml and task.toml.data.get("steps"))


def _as_it_is(task: TaskPackage) -> Plan:
    actions = [carried(path, path, file) for path, file in task.files.items()]
    note = Note(kind="files", message="it is native already and kept as it is")
    return Plan(
        name=task.name, actions=tuple(actions), notes=(note,), config=task.native.config,
        prompt=task.native.prompt,
    )  # fmt: skip


class _Planner:
    def __init__(self, task: TaskPackage, fill: Fill) -> None:
        self.task = task
        self.fill = fill
        self.harbor = task.document is None
        self.notes: list[Note] = []
        self.actions: dict[str, Action] = {}
        self.left_out: list[Action] = []

    def plan(self) -> Plan:
        config = native_config(self.task, self.fill)
        if not self.task.native.prompt.strip():
            file = INSTRUCTION if self.harbor else DOCUMENT
            raise Unreadable(f"the prompt in `{file}` is empty; BenchFlow needs one")
        if self.harbor and _ESCAPED.search(self.task.native.prompt):
            raise Unsupported(
                "its prompt has a heading behind a backslash (`\\## prompt`); BenchFlow drops the backslash"
            )
        self.notes += config.notes
        targets = self._targets()
        self._carry(targets)
        self._rewrite()
        self._dockerfile(config.data)
        self._verifier(config.data)
        text = self._document(config)
        self.actions[DOCUMENT] = Action(
            verb="write" if self.harbor else "rewrite",
            source="" if self.harbor else DOCUMENT,
            target=DOCUMENT,
            content=text.encode(),
        )
        return Plan(
            name=self.task.name,
            actions=(*(self.actions[path] for path in sorted(self.actions)), *self.left_out),
            notes=tuple(self.notes),
            config=config.data,
            prompt=self.task.native.prompt,
            added=frozenset(config.added),
            moved=config.moved,
        )

    # -- files

    def _targets(self) -> dict[str, str]:
        """Return where each file goes; the two files that become `task.md` go nowhere."""
        files = self.task.files
        for old, new in FOLDERS.items():
            if old in files:
                raise Unreadable(f"`{old}` must be a folder, not a file or a link")
            if any(path.startswith(f"{old}/") for path in files) and any(
                path == new or path.startswith(f"{new}/") for path in files
            ):
                raise Unreadable(f"`{old}/` and `{new}/` both exist; keep one")
        ignored = self._ignored()
        targets: dict[str, str] = {}
        for path in files:
            top, slash, rest = path.partition("/")
            if path in (CONFIG, INSTRUCTION) and self.harbor:
                self._leave_out(path, "its content is in `task.md`")
            elif path == DOCUMENT:
                continue
            elif path in ignored:
                self._leave_out(
                    path, "Harbor leaves it out by `.harborignore`, which BenchFlow does not read"
                )
            else:
                targets[path] = FOLDERS[top] + slash + rest if slash and top in FOLDERS else path
        self._inner_tasks(targets)
        return targets

    def _ignored(self) -> frozenset[str]:
        if not self.harbor:
            return frozenset()
        ignored: list[str] = []
        for folder in FOLDERS:
            prefix = f"{folder}/"
            own = {
                path[len(prefix) :]: file for path, file in self.task.files.items() if path.startswith(prefix)
            }
            # A separate verifier is built from these though they are not uploaded.
            kept = {*without_ignored(own), "Dockerfile", "docker-compose.yaml"}
            ignored += [prefix + path for path in own if path not in kept]
        return frozenset(ignored)

    def _leave_out(self, path: str, reason: str) -> None:
        self.left_out.append(Action(verb="leave out", source=path, target="", reason=reason))
        if path not in (CONFIG, INSTRUCTION):
            said = Note(kind="left-out", message=f"`{path}`: {reason}", group=reason)
            self.notes.append(said)

    def _inner_tasks(self, targets: Iterable[str]) -> None:
        for path in targets:
            folder, _, name = path.rpartition("/")
            if folder and name in (CONFIG, DOCUMENT):
                said = f"`{folder}/` looks like a task of its own; it is carried over as files of this one"
                self.notes.append(
                    Note(kind="files", message=said, look=True, group="holds what looks like another task")
                )

    def _carry(self, targets: Mapping[str, str]) -> None:
        folded: dict[str, str] = {}
        for source, target in targets.items():
            file = self.task.files[source]
            action = carried(source, target, file)
            if file.kind == "link":
                action = self._link(source, target, targets)
            self.actions[target] = action
            other = folded.setdefault(target.casefold(), target)
            if other != target:
                raise Unreadable(f"`{other}` and `{target}` differ only by case; rename one")

    def _link(self, source: str, target: str, targets: Mapping[str, str]) -> Action:
        """Let a link inside the task point to the same thing as before."""
        file = self.task.files[source]
        written = os.fsdecode(file.read())
        to = posixpath.normpath(posixpath.join(posixpath.dirname(source), written))
        if written.startswith("/") or to == ".." or to.startswith("../") or not self._reaches(to):
            raise Unreadable(
                f"`{source}` is a link that leads out of the task or to nothing; put the file there"
            )
        top, slash, rest = to.partition("/")
        moved = targets.get(to) or (FOLDERS.get(top, top) + slash + rest)
        new = posixpath.relpath(moved, posixpath.dirname(target) or ".")
        if to in (CONFIG, INSTRUCTION) and self.harbor:
            raise Unreadable(
                f"`{source}` is a link to `{to}`, which becomes part of `task.md`; copy the file"
            )
        same = posixpath.normpath(posixpath.join(posixpath.dirname(target), written)) == moved
        verb: Verb = "rewrite" if not same else "keep" if source == target else "move"
        return Action(
            verb=verb, source=source, target=target, content=os.fsencode(written if same else new), link=True
        )

    def _reaches(self, path: str) -> bool:
        """Say whether a path in the task is there, without a link on the way that leads elsewhere."""
        real = os.path.realpath(self.task.root / path)
        root = os.path.realpath(self.task.root)
        return os.path.exists(real) and (real + os.sep).startswith(root + os.sep)  # noqa: PTH110

    def _rewrite(self) -> None:
        if not self.harbor and "solution" not in {path.partition("/")[0] for path in self.task.files}:
            return
        files = self.task.files
        found = rewrite_oracle(
            files, "solution", Rename(old="solution", new="oracle"), self.task.native.prompt
        )
        for path, text in found.texts.items():
            self._content("oracle/" + path.removeprefix("solution/"), text)
            self._told("`/solution` is now `/oracle`", path)
        for path, line in found.unsure:
            said = (
                f"`{path}:{line}` names `/solution`, Harbor's place for the reference solution; BenchFlow's"
                " is `/oracle`, and what is meant here is not certain"
            )
            self.notes.append(
                Note(
                    kind="path",
                    message=said,
                    look=True,
                    group="names `/solution`, and it is not certain what is meant",
                )
            )
        for path in COMPOSE:
            file = files.get(path)
            compose = file.text if file is not None else None
            if compose is not None and (mounts := rewrite_mounts(compose, FOLDERS)) != compose:
                self._content(path, mounts)
                self._told("it mounts the folders under their new names", path)

    def _told(self, what: str, path: str) -> None:
        self.notes.append(Note(kind="path", message=f"`{path}`: {what}", group=what))

    def _content(self, target: str, text: str) -> None:
        old = self.actions[target]
        self.actions[target] = Action(
            verb="rewrite", source=old.source, target=target, content=text.encode(), executable=old.executable
        )

    # -- what a native package needs

    def _dockerfile(self, config: Mapping[str, Any]) -> None:
        if DOCKERFILE in self.actions:
            return
        image = config["sandbox"].get("docker_image", config["sandbox"].get("image"))
        root = self.task.resolve("Dockerfile")
        if isinstance(image, str) and _IMAGE.fullmatch(image):
            self.actions[DOCKERFILE] = Action(
                verb="write", source="", target=DOCKERFILE, content=f"FROM {image}\n".encode()
            )
            said = f"`{DOCKERFILE}` is written: it starts from `docker_image` and adds nothing"
        elif root is not None and not any(path.startswith("environment/") for path in self.actions):
            if _FROM_CONTEXT.search(root.text or "COPY ."):
                raise Unsupported(
                    "`Dockerfile` at the task's root copies files from there;"
                    f" put it and them into `{ENVIRONMENT}/`"
                )
            del self.actions["Dockerfile"]
            self.actions[DOCKERFILE] = Action(verb="move", source="Dockerfile", target=DOCKERFILE)
            said = f"`Dockerfile` is now `{DOCKERFILE}`; it takes nothing from its folder"
        else:
            raise Unsupported(
                f"neither `{DOCKERFILE}` nor `environment.docker_image` is there; BenchFlow needs the former"
            )
        self.notes.append(Note(kind="files", message=said))

    def _verifier(self, config: Mapping[str, Any]) -> None:
        own = {
            action.target.partition("/")[2]: self.task.files[action.source]
            for action in self.actions.values()
            if action.target.startswith("verifier/") and not action.link
        }
        folder = self.task.native.verifier_dir
        judge = config["verifier"].get("type") == "llm-judge"
        if "test.sh" not in own and "verifier.md" not in own and not judge:
            if any(name.endswith(".bat") for name in own):
                raise Unsupported(f"`{folder}/` has a script for Windows only; BenchFlow runs `test.sh`")
            said = (
                f"`{folder}/test.sh` is missing; BenchFlow refuses the task until it has `verifier/test.sh`"
            )
            self.notes.append(Note(kind="person", message=said, look=True))
            return
        oracle = any(target.startswith("oracle/") for target in self.actions)
        actions, notes = verifier_files(slug(self.task.name), config, own, oracle=oracle)
        for action in actions:
            self.actions.setdefault(action.target, action)
        self.notes += notes

    # -- task.md

    def _document(self, config: NativeConfig) -> str:
        frontmatter = dump_with_comments(config.data, self._comments(config))
        if self.harbor:
            body = f"## prompt\n\n{escape_headings(self.task.native.prompt)}\n"
            return f"---\n{frontmatter}---\n\n{body}"
        document = self.task.document
        assert document is not None  # noqa: S101 - not Harbor
        lines = self._document_text().splitlines(keepends=True)
        body = "".join(lines[document.body_line - 1 :])
        if "prompt" not in document.sections:
            body = "## prompt\n\n" + body
            self.notes.append(Note(kind="added", message="the prompt stands in its own section `## prompt`"))
        return f"---\n{frontmatter}---\n\n{body}"

    def _document_text(self) -> str:
        file = self.task.resolve(DOCUMENT)
        return decode(file.read() if file is not None else b"", DOCUMENT, [])

    def _comments(self, config: NativeConfig) -> tuple[Comment, ...]:
        document = self.task.document
        found: tuple[Comment, ...] = ()
        if document is not None:
            lines = self._document_text().splitlines(keepends=True)
            fence = next(n for n, line in enumerate(lines[1:], start=1) if line.strip() == "---")
            found = yaml_comments("".join(lines[1:fence]), document.lines, first_line=2)
        elif self.task.toml is not None:
            text = self.task.toml.text
            found = toml_comments(text, self.task.toml.lines) if "#" in text else ()
        return tuple(
            Comment(
                text=comment.text,
                key=config.new_path(comment.key) if comment.key is not None else None,
                trailing=comment.trailing,
            )
            for comment in found
        )
