"""IMG: the Dockerfile and what it takes from `environment/`.

Nothing here is refused by the arena's validation or by BenchFlow's check: they
read the first instruction only (STR106). What certainly breaks the build is a
`warning`, what may be meant is `review`.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from seatrials.parse.copies import Context, Copy, copies
from seatrials.parse.dockerfile import Dockerfile, Instruction, parse_dockerfile
from seatrials.parse.dockerignore import parse_ignore
from seatrials.parse.shell import parse_shell
from seatrials.rules.grading import Unreadable, compose_in, grading
from seatrials.rules.kept import ByListing
from seatrials.rules.model import Hit, TaskRule
from seatrials.rules.structure import DOCKERFILE
from seatrials.task.files import TaskFile
from seatrials.task.package import TaskPackage

_FOLDER: Final = "environment/"

_ROOTED: Final = frozenset(
    {
        "almalinux", "alpine", "amazonlinux", "archlinux", "buildpack-deps", "busybox", "centos", "debian",
        "eclipse-temurin", "erlang", "elixir", "fedora", "gcc", "haskell", "julia", "maven", "mysql", "node",
        "openjdk", "oraclelinux", "perl", "php", "postgres", "python", "r-base", "rockylinux", "ruby",
        "rust", "swift", "ubuntu",
    }
)  # fmt: skip
"""Docker Hub's official images whose working directory is `/` (``golang``, for one, has another)."""


def _dockerfile(task: TaskPackage) -> Dockerfile | None:
    file = task.resolve(DOCKERFILE)
    return parse_dockerfile(file.head()) if file is not None else None


def _context_files(task: TaskPackage) -> dict[str, TaskFile]:
    return {path.removeprefix(_FOLDER): file for path, file in task.files.items() if path.startswith(_FOLDER)}


@lru_cache(maxsize=1)
def _facts(of: ByListing) -> tuple[Context, tuple[Copy, ...]]:
    dockerfile = _dockerfile(of.task)
    if dockerfile is None or _has_other_context(of.task):
        return Context(files={}), ()
    facts = grading(of.task)
    if facts.dockerfile is dockerfile and facts.context_folder == _FOLDER:
        return facts.context, facts.copies
    context = Context.of(_context_files(of.task))
    return context, tuple(copies(dockerfile, context))


def _has_other_context(task: TaskPackage) -> bool:
    """Say whether a compose file builds the agent's service from another folder, or with arguments."""
    for name in ("docker-compose.yaml", "docker-compose.yml"):
        file = task.resolve(_FOLDER + name)
        if file is None or b"build" not in file.head():
            continue
        match compose_in(file.head()):
            case Unreadable():
                return True
            case {"services": {"main": {"build": str(folder)}}}:
                return posixpath.normpath(folder) != "."
            case {"services": {"main": {"build": {**build}}}}:
                return posixpath.normpath(str(build.get("context", "."))) != "." or "args" in build
            case _:
                pass
    return False


def _copies(task: TaskPackage) -> tuple[Context, tuple[Copy, ...]]:
    """Return what the Dockerfile copies; kept for the rules that ask next about the same task."""
    return _facts(ByListing(task))


def _lines(numbers: list[int]) -> str:
    shown = ", ".join(str(number) for number in numbers[:5])
    return f"line{'s' if len(numbers) > 1 else ''} {shown}{', …' if len(numbers) > 5 else ''}"  # noqa: PLR2004


def malformed(task: TaskPackage) -> Iterator[Hit]:
    """Each line of the Dockerfile is part of an instruction that Docker knows.

    Why: the build stops at the first other one. Often it is the text of a
    heredoc that Docker did not see as one: `<< 'EOF'` with a blank, or one
    within quotes.

    Fix: correct the line; write `<<'EOF'` without a blank, or `COPY` a file.
    """
    dockerfile = _dockerfile(task)
    if dockerfile is None or not dockerfile.stages:
        return
    strays = [problem for problem in dockerfile.problems if problem.message.endswith("not an instruction")]
    for problem in dockerfile.problems:
        if problem not in strays[1:]:
            more = f" (and {len(strays) - 1} more lines)" if strays[1:] and problem is strays[0] else ""
            yield Hit(path=DOCKERFILE, line=problem.line, message=problem.message + more)


_REASONS: Final = {
    "missing": "is not in `environment/`, which is the build context",
    "no-match": "matches no file in `environment/`, which is the build context",
}


def missing_source(task: TaskPackage) -> Iterator[Hit]:
    """Each source of `COPY` and `ADD` is in `environment/`.

    Why: that folder is the build context; a source that is not there stops
    the build. An empty folder is kept neither by git nor by the Hub.

    Fix: add the file below `environment/`, or correct the path, which is relative to it.
    """
    junk = tuple(name for name in task.listing.junk if name.startswith(_FOLDER))
    for copy in _copies(task)[1]:
        found_one = any(source.files for source in copy.sources) or bool(copy.documents)
        for source in copy.sources:
            if source.outcome == "no-match" and found_one:
                # `COPY package.json yarn.lock* ./` takes the second where it is there.
                continue
            if source.outcome in _REASONS and not _is_junk(source.text, junk):
                instruction = copy.instruction
                message = f"`{source.text}` of `{instruction.name}` {_REASONS[source.outcome]}"
                yield Hit(path=DOCKERFILE, line=instruction.line, message=message)


def _is_junk(source: str, junk: tuple[str, ...]) -> bool:
    clean = posixpath.normpath(_FOLDER + source.lstrip("/"))
    return any(clean == name.rstrip("/") or clean.startswith(name) for name in junk)


def source_outside(task: TaskPackage) -> Iterator[Hit]:
    """No source of `COPY` and `ADD` leads out of `environment/`.

    Why: a builder sees the build context only. It refuses a path with `..`
    that leaves it (BuildKit looks for it inside instead), and a link that
    leads out of it.

    Fix: put the file below `environment/`.
    """
    for copy in _copies(task)[1]:
        for source in copy.sources:
            name = copy.instruction.name
            if source.outcome == "outside":
                message = f"`{source.text}` of `{name}` leaves `environment/`, the build context"
                yield Hit(path=DOCKERFILE, line=copy.instruction.line, message=message)
            elif source.outcome == "link":
                message = f"`{source.text}` of `{name}` is a link that leads to nothing in `environment/`"
                yield Hit(path=DOCKERFILE, line=copy.instruction.line, message=message)


def source_ignored(task: TaskPackage) -> Iterator[Hit]:
    """No source of `COPY` and `ADD` is left out by `.dockerignore`.

    Why: what the ignore file names is not sent to the builder, so for the
    build it is not there, though it is in the folder.

    Fix: take the pattern out, or add one with `!` after it.
    """
    context, found = _copies(task)
    for copy in found:
        for source in copy.sources:
            if source.outcome == "ignored":
                message = (
                    f"`{source.text}` of `{copy.instruction.name}` is left out by `{context.ignore_name}`"
                )
                yield Hit(path=DOCKERFILE, line=copy.instruction.line, message=message)


def bad_ignore_pattern(task: TaskPackage) -> Iterator[Hit]:
    """Each pattern of `.dockerignore` is well formed.

    Why: Docker refuses to build with a pattern that it can't read.

    Fix: close the bracket, or put a backslash before it.
    """
    file = task.resolve(f"{_FOLDER}.dockerignore")
    if file is not None:
        for line, pattern in parse_ignore(file.head()).bad:
            yield Hit(path=file.path, line=line, message=f"the pattern `{pattern[:60]}` can't be read")


def needs_buildkit(task: TaskPackage) -> Iterator[Hit]:
    """The Dockerfile builds with any builder.

    Why: heredocs, `RUN --mount`, `COPY --link`, `--parents`, `--exclude` and
    `--chmod` need BuildKit. The Docker SDK for Python and engines without
    buildx have the classic builder, which fails, or takes a heredoc's lines
    for instructions.

    Fix: nothing, if everything that will build the task has BuildKit; else `COPY` a script and run it.
    """
    dockerfile = _dockerfile(task)
    if dockerfile is None:
        return
    needs: dict[str, list[int]] = {}
    for found in dockerfile.instructions:
        for what in _buildkit_features(found):
            needs.setdefault(what, []).append(found.line)
    if needs:
        told = "; ".join(f"{what} ({_lines(lines)})" for what, lines in needs.items())
        first = min(line for lines in needs.values() for line in lines)
        yield Hit(path=DOCKERFILE, line=first, message=f"needs BuildKit: {told}")


def _buildkit_features(found: Instruction) -> Iterator[str]:
    if found.heredocs:
        yield "a heredoc"
    for flag in ("mount", "network", "security", "device"):
        if found.name == "RUN" and found.flag(flag) is not None:
            yield f"`RUN --{flag}`"
    for flag in ("link", "parents", "exclude", "chmod", "checksum", "keep-git-dir", "unpack"):
        if found.name in {"COPY", "ADD"} and found.flag(flag) is not None:
            yield f"`{found.name} --{flag}`"


_CHMOD: Final = re.compile(r"\bchmod\b[^\n;|]*")
_SETS_RUN_BIT: Final = re.compile(r"\s(?:[ugoa]*\+[rwst]*x|[ugoa]*=[rwst]*x|0?[0-7]?[1357][0-7]{2})\S*\s")


def no_run_bit(task: TaskPackage) -> Iterator[Hit]:
    """A copied file that the Dockerfile runs has its run bit.

    Why: `COPY` keeps the mode; without the bit, `RUN /x.sh` and an
    `ENTRYPOINT` of that file end in "permission denied".

    Fix: set the bit (`git update-index --chmod=+x`), run it as `bash /x.sh`,
    or `chmod +x` it in a `RUN` before.
    """
    dockerfile = _dockerfile(task)
    if dockerfile is None:
        return
    context, found = _copies(task)
    words = names_said(dockerfile.instructions)
    named = any(posixpath.basename(path) in words for path in context.files)
    targets: dict[str, str] = {}
    by_line = {copy.instruction.line: copy for copy in found}
    for instruction in dockerfile.instructions:
        if instruction.name == "FROM":
            targets = {}
        copy = by_line.get(instruction.line)
        if copy is not None:
            renamed = posixpath.basename(copy.destination or "") in words
            if instruction.flag("chmod") is not None or not (named or renamed):
                continue
            targets |= {
                where: path
                for where, path in copy.targets().items()
                if posixpath.basename(where) in words and _lacks_bit(task, path)
            }
        elif targets and instruction.name in {"RUN", "ENTRYPOINT", "CMD"}:
            yield from _runs_without_bit(instruction, targets)
            targets = {
                where: path for where, path in targets.items() if not _gets_bit(instruction.rest, where)
            }


def names_said(instructions: tuple[Instruction, ...]) -> frozenset[str]:
    """Return the words, paths split into their parts, of what the image runs."""
    said = " ".join(found.rest for found in instructions if found.name in {"RUN", "CMD", "ENTRYPOINT"})
    return frozenset(re.split(r"[\s\"';&|(),/\[\]]+", said))


def _lacks_bit(task: TaskPackage, path: str) -> bool:
    file = task.files.get(_FOLDER + path)
    return file is not None and file.kind == "file" and not file.executable


def _gets_bit(text: str, where: str) -> bool:
    """Say whether a `chmod` in a line gives the file its bit; one that names a folder or a pattern does."""
    for match in _CHMOD.finditer(text):
        said = match[0] + " "
        if _SETS_RUN_BIT.search(said):
            folder, name = posixpath.split(where)
            if name in said or "*" in said or "$" in said or (" -R" in said and folder):
                return True
    # What moves, installs or makes files anew may set modes as well.
    return bool(re.search(r"\b(?:install|rsync|mv|cp|dos2unix)\b|\bos\.chmod\b", text))


def _runs_without_bit(instruction: Instruction, targets: Mapping[str, str]) -> Iterator[Hit]:
    names = {posixpath.basename(where) for where in targets}
    if not any(name in instruction.rest for name in names):
        return
    if instruction.json:
        first = [instruction.args[0]] if instruction.args else []
    elif instruction.heredocs:
        return
    else:
        # Set in the same line, before it is run.
        script = parse_shell(instruction.rest.encode("utf-8", "replace"))
        first = [command.words[0].resolve({}) for command in script.commands() if command.words]
    workdir = instruction.workdir or ""
    for word in first:
        where = posixpath.normpath(posixpath.join(workdir, word)) if "/" in word else ""
        if where in targets and not _gets_bit(instruction.rest, where):
            message = (
                f"`{instruction.name}` runs `{word[:80]}`, copied from `{_FOLDER}{targets[where]}` "
                "without its run bit"
            )
            yield Hit(path=DOCKERFILE, line=instruction.line, message=message)


def lands_in_root(task: TaskPackage) -> Iterator[Hit]:
    """A `COPY` to a relative destination comes after a `WORKDIR`.

    Why: without one the files land in `/` (`COPY ./ .` puts the whole folder
    there), beside the system's own; the prompt's paths rarely mean that.

    Fix: set `WORKDIR` before, or write the destination as an absolute path.
    """
    dockerfile = _dockerfile(task)
    if dockerfile is None:
        return
    for found in dockerfile.instructions:
        if found.name in {"COPY", "ADD"} and len(found.values) > 1 and found.workdir == "":
            destination = found.values[-1]
            if destination is None or destination.startswith("/") or not _is_rooted(dockerfile, found):
                continue
            message = f"`{found.name}` to `{destination}` without a `WORKDIR` before it lands in `/`"
            yield Hit(path=DOCKERFILE, line=found.line, message=message)


def _is_rooted(dockerfile: Dockerfile, found: Instruction) -> bool:
    """Say whether the stage starts, maybe through other stages, from an image known to work in `/`."""
    stage = dockerfile.stages[found.stage] if found.stage >= 0 else None
    for _ in dockerfile.stages:
        if stage is None:
            break
        parent = next((other for other in dockerfile.stages[: stage.index] if other.name == stage.base), None)
        if parent is None:
            name = stage.base.split("@")[0].split(":")[0]
            return name.removeprefix("docker.io/").removeprefix("library/") in _ROOTED or name == "scratch"
        stage = parent
    return False


def unknown_stage(task: TaskPackage) -> Iterator[Hit]:
    """`--from` names a stage above, or an image.

    Why: a number that no earlier stage has, or the name of a stage further
    down, can't be copied from.

    Fix: correct the name, or move the stage up.
    """
    dockerfile = _dockerfile(task)
    if dockerfile is None:
        return
    names = {stage.name: stage for stage in dockerfile.stages if stage.name}
    for found in dockerfile.instructions:
        name = found.flag("from") if found.name == "COPY" else None
        if not name or "$" in name or dockerfile.stage_named(name, before=found.stage) is not None:
            continue
        if name.isdecimal() or name.lower() in names:
            message = f"`--from={name[:60]}` names no stage above this one"
            yield Hit(path=DOCKERFILE, line=found.line, message=message)


def many_to_one(task: TaskPackage) -> Iterator[Hit]:
    """A `COPY` of several sources goes to a folder: its destination ends in a slash.

    Why: the classic builder refuses it otherwise ("the destination must be a
    directory and end with a /"), `.` included; BuildKit makes a folder of it.

    Fix: put a `/` at the end of the destination: `./` instead of `.`.
    """
    for copy in _copies(task)[1]:
        raw = copy.instruction.values[-1]
        count = len(copy.documents) + sum(
            len(source.files) if source.wild and not source.directory else 1 for source in copy.sources
        )
        if raw is not None and count > 1 and not raw.endswith("/"):
            message = (
                f"`{copy.instruction.name}` takes {count} sources to `{raw}`, which has no `/` at its end"
            )
            yield Hit(path=DOCKERFILE, line=copy.instruction.line, message=message)


def crlf_heredoc(task: TaskPackage) -> Iterator[Hit]:
    """A heredoc's lines end in a line feed only.

    Why: Docker takes the carriage return off its own lines, but leaves it in
    a heredoc's text, where the shell takes it for part of the last word.

    Fix: save the Dockerfile with LF line ends.
    """
    dockerfile = _dockerfile(task)
    if dockerfile is None:
        return
    for found in dockerfile.instructions:
        for document in found.heredocs:
            if "\r\n" in document.text:
                message = f"the heredoc `{document.name[:40]}` has carriage returns at its line ends"
                yield Hit(path=DOCKERFILE, line=document.line, message=message)


RULES: Final = (
    TaskRule("IMG101", "warning", malformed, requires=("STR105",)),
    TaskRule("IMG102", "warning", missing_source, requires=("STR105",)),
    TaskRule("IMG103", "warning", source_outside, requires=("STR105",)),
    TaskRule("IMG104", "warning", source_ignored, requires=("STR105",)),
    TaskRule("IMG105", "warning", bad_ignore_pattern),
    TaskRule("IMG106", "warning", needs_buildkit, requires=("STR105",)),
    TaskRule("IMG107", "warning", no_run_bit, requires=("STR105",)),
    TaskRule("IMG108", "review", lands_in_root, requires=("STR105",)),
    TaskRule("IMG109", "warning", unknown_stage, requires=("STR105",)),
    TaskRule("IMG110", "review", many_to_one, requires=("STR105",)),
    TaskRule("IMG111", "warning", crlf_heredoc, requires=("STR105",)),
)
