"""One task: a folder, its format, and cached views of what it holds."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Final

from seatrials.task.authoring import document_faults
from seatrials.task.document import KeyPath, Problem, TaskDocument, decode, parse_document
from seatrials.task.files import Listing, TaskFile, content_hash, list_files
from seatrials.task.harbor import TomlData, parse_toml, to_native_names
from seatrials.task.native import Format, NativeView, author_path, view_of_document, view_of_harbor
from seatrials.task.validate import Fault, load
from seatrials.task.verifier_document import VerifierDocument, parse_verifier_document

DOCUMENT: Final = "task.md"
CONFIG: Final = "task.toml"
INSTRUCTION: Final = "instruction.md"
VERIFIER_DOCUMENT: Final = "verifier.md"


class TaskPackage:
    """A task folder, read lazily; each file at most once.

    Loading never raises on what the folder contains and never follows a link
    out of it: what can't be read is in `problems`.
    """

    def __init__(self, root: Path, *, label: str | None = None) -> None:
        self.root = root
        """The folder, as given."""
        # Not pathlib's: it has no such function but one that follows links, and takes ten times as long.
        self.name = os.path.basename(os.path.abspath(root))  # noqa: PTH100, PTH119
        """The folder's own name."""
        self.label = label if label is not None else root.as_posix()
        """How messages name the folder."""

    def __repr__(self) -> str:
        return f"TaskPackage({self.label!r})"

    def forget(self) -> None:
        """Drop everything read so far; it is read again when asked for."""
        kept = ("root", "name", "label")
        self.__dict__ = {key: self.__dict__[key] for key in kept}

    @cached_property
    def listing(self) -> Listing:
        """Everything the folder holds."""
        return list_files(self.root)

    @property
    def files(self) -> Mapping[str, TaskFile]:
        """What is hashed, run and published, by path relative to the folder."""
        return self.listing.files

    @cached_property
    def content_hash(self) -> str:
        """``sha256:`` over sorted paths and git blob ids (see `files.content_hash`)."""
        return content_hash(self.files)

    @cached_property
    def format(self) -> Format:
        """The format, told as the arena does: ``task.md`` wins over ``task.toml``."""
        if DOCUMENT not in self.files:
            return "harbor"
        document = self.document
        keys = document.frontmatter if document is not None else {}
        return "native" if "schema_version" in keys and "task" in keys else "posttrain"

    @cached_property
    def document(self) -> TaskDocument | None:
        """The parsed ``task.md``; None where there is none."""
        file = self.resolve(DOCUMENT)
        return parse_document(file.head(), path=DOCUMENT) if file is not None else None

    @cached_property
    def toml(self) -> TomlData | None:
        """The parsed ``task.toml``; None where there is none."""
        file = self.resolve(CONFIG)
        return parse_toml(file.head(), path=CONFIG) if file is not None else None

    @cached_property
    def _instruction(self) -> tuple[str, tuple[Problem, ...]]:
        file = self.resolve(INSTRUCTION)
        problems: list[Problem] = []
        text = decode(file.head(), INSTRUCTION, problems) if file is not None else ""
        # A byte-order mark spoils frontmatter only; an instruction is read with it by the runtimes.
        mark = "\ufeff" if any(problem.kind == "bom" for problem in problems) else ""
        return mark + text, tuple(problem for problem in problems if problem.kind != "bom")

    @cached_property
    def verifier_document(self) -> VerifierDocument | None:
        """The parsed ``verifier.md`` in the verifier's folder; None where there is none."""
        path = f"{self.native.verifier_dir}/{VERIFIER_DOCUMENT}"
        file = self.resolve(path)
        return parse_verifier_document(file.head(), path=path) if file is not None else None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Why the task's own files could not be read as what they should be."""
        if self.document is not None:
            return self.document.problems
        return (self.toml.problems if self.toml is not None else ()) + self._instruction[1]

    @cached_property
    def native(self) -> NativeView:
        """The task as the BenchFlow package that it is or would become."""
        if self.document is not None:
            return view_of_document(self.document, self.files, self.listing.folders)
        toml = self.toml or TomlData(data={}, problems=())
        return view_of_harbor(toml, self._instruction[0], self.files, self.listing.folders)

    @cached_property
    def faults(self) -> tuple[Fault, ...]:
        """What BenchFlow's schema refuses in the configuration, in the spelling of the author's file.

        An unknown key of a ``task.toml`` is among them, though an import sets
        most of those aside.
        """
        if self.document is not None:
            return tuple(document_faults(self.document.frontmatter))
        config, conflicts = to_native_names(self.toml.data if self.toml is not None else {})
        found = [Fault(kind="renamed", path=(), says=said) for said in conflicts]
        found += [replace(fault, path=author_path(fault.path)) for fault in load(config).faults]
        return tuple(found)

    def author_path(self, path: KeyPath) -> KeyPath:
        """Return a path of the native configuration as this task's author writes it."""
        return author_path(path) if self.document is None else path

    def config_line(self, path: KeyPath) -> int | None:
        """Return the line of a key in the author's file, or of the nearest one above it."""
        for end in range(len(path), 0, -1):
            if (line := self._line(path[:end])) is not None:
                return line
        # What a shorthand stands for has no line of its own.
        shorthand = {"task": "name", "sandbox": "image"}.get(str(path[0])) if path else None
        return self._line((shorthand,)) if shorthand is not None else None

    def _line(self, path: KeyPath) -> int | None:
        if self.document is not None:
            return self.document.lines.get(path)
        return self.toml.line(path) if self.toml is not None else None

    @property
    def config_file(self) -> str:
        """The file with the configuration: ``task.md``, or ``task.toml`` where there is none."""
        return DOCUMENT if self.document is not None else CONFIG

    @property
    def full_name(self) -> str:
        """The declared ``org/name``, else the folder's name."""
        declared = self.native.get("task", "name")
        return declared if isinstance(declared, str) and declared else self.name

    def resolve(self, path: str) -> TaskFile | None:
        """Return the regular file at a path, through links that stay inside the folder."""
        file = self.files.get(path)
        if file is None or file.kind == "file":
            return file
        end = self.link_end(file) if file.kind == "link" else None
        found = self.files.get(end) if end is not None else None
        return found if found is not None and found.kind == "file" else None

    def junk_below(self, folder: str) -> Iterator[TaskFile]:
        """Yield the files that editors and caches left below a folder; of links, those inside the task."""
        for path in self.listing.junk:
            if path.startswith(f"{folder}/"):
                top = self.root / path
                is_folder = top.is_dir() and not top.is_symlink()
                for location in sorted(top.rglob("*")) if is_folder else [top]:
                    here = location.relative_to(self.root).as_posix()
                    found = self._junk_file(location, here)
                    if found is not None:
                        yield found

    def _junk_file(self, location: Path, path: str) -> TaskFile | None:
        link = location.is_symlink()
        file = TaskFile(path=path, kind="link" if link else "file", size=0, mode=0, place=str(location))
        if link:
            end = self.files.get(self.link_end(file) or "")
            return replace(end, path=path) if end is not None and end.kind == "file" else None
        return replace(file, size=location.stat().st_size) if location.is_file() else None

    def link_end(self, link: TaskFile) -> str | None:
        """Return where a link ends: a path in the folder (empty for the folder itself), None for outside."""
        root = os.path.realpath(self.root)
        target = os.path.realpath(link.place)
        if target == root:
            return ""
        return Path(target).relative_to(root).as_posix() if target.startswith(root + os.sep) else None
