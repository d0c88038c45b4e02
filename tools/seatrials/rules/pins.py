"""BYD: what the next build of the same sources may get in another version."""

import json
import posixpath
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import yaml

from seatrials.parse.installs import SPEAKS, Install, bare_name, installs
from seatrials.rules.grading import MAX_FILE, Grading, grading, verifier_files
from seatrials.rules.model import Hit, TaskRule
from seatrials.rules.structure import DOCKERFILE
from seatrials.task.package import TaskPackage

_MOST_NAMED: Final = 6
_TOOLS: Final = frozenset({"pip", "pip3", "setuptools", "wheel"})
"""What installs the others: to upgrade it first is a habit that no task's outcome hangs on."""

_BOUNDED: Final = re.compile(r"\b(?:PIP_CONSTRAINT|PIP_NO_INDEX|UV_CONSTRAINT|UV_EXCLUDE_NEWER)\b")
_LOCKS: Final = ("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml")
_NO_LIST: Final = (".cfg", ".lock", ".py", ".toml")
"""Endings of files that uv reads too, and that are no list of a package a line."""

_EXACT: Final = re.compile(r"[=v]?\d+\.\d+\.\d+[\w.+-]*|(?:file|link|portal|workspace|npm):.*|\.{0,2}/.*")


def unpinned(task: TaskPackage) -> Iterator[Hit]:
    """What the image and the verifier install from an index has a version.

    Why: an index serves today's newest release. The image that is built next
    month is another one, the oracle that passed may fail in it, and nobody
    can build the image again that a result came from. Looked at are pip, uv,
    npm, yarn, gem, cargo, go and conda. Packages of the distribution are left
    out: the archive of a release gives out fixes only, and drops each version
    that a fix replaces, so that a Dockerfile that names one soon fails to
    build; the tag of the base image is what fixes them.

    Fix: `pip install pandas==2.3.2`, a `requirements.txt` with versions or
    hashes, a lock file, `npm install left-pad@1.3.0`, `gem install x -v 1.2.3`.
    """
    facts = grading(task)
    done = list(_installs(facts))
    found: dict[tuple[str, str], tuple[str, str, int]] = {}
    for path, line, install, workdir in done:
        for name in _floating(install, facts, workdir):
            found.setdefault((install.manager, bare_name(name)), (name, path, line))
    if found:
        # A package that is there is not fetched again where no version is asked for.
        given = {
            (install.manager, bare_name(name))
            for _, _, install, _ in done
            for name in install.packages
            if not _floats(install.manager, name)
        }
        found = {key: value for key, value in found.items() if key not in given}
    if found:
        names = [f"`{name[:60]}`" for name, _, _ in found.values()]
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        _, path, line = next(iter(found.values()))
        message = f"installs {', '.join(names[:_MOST_NAMED])}{more} without an exact version"
        yield Hit(path=path, line=line, message=message)


def _installs(facts: Grading) -> Iterator[tuple[str, int, Install, str]]:
    """Yield the file and the line of each installation, and the folder that it starts in."""
    dockerfile = facts.dockerfile
    bounded = False
    for found in dockerfile.instructions if dockerfile is not None else ():
        if found.name in {"ARG", "ENV"}:
            bounded = bounded or _BOUNDED.search(found.rest) is not None
        elif found.name == "RUN":
            text = found.rest
            if found.json:
                text = found.args[-1] if "-c" in found.args[:-1] else " ".join(found.args)
            for part in (text, *(document.text for document in found.heredocs)):
                for install in installs(part) if SPEAKS.search(part) else ():
                    if not (bounded and install.manager == "pip"):
                        yield DOCKERFILE, found.line, install, found.workdir or "/"
    for below, file in verifier_files(facts.task):
        if below.endswith(".sh") and file.size <= MAX_FILE:
            for install in installs(file.text or ""):
                yield file.path, install.line, install, "/"


def _floating(install: Install, facts: Grading, workdir: str) -> Iterator[str]:
    """Yield the packages of one installation whose version is left open."""
    if install.bounded or (install.version and "$" not in install.version):
        return
    yield from (name for name in install.packages if _floats(install.manager, name))
    folder = posixpath.normpath(posixpath.join(workdir, install.folder))
    for name in install.lists:
        text = _text(facts, posixpath.join(folder, name))
        if install.manager == "npm":
            yield from _of_package_json(text, facts, folder)
        elif install.manager == "conda" and name.endswith((".yml", ".yaml")):
            yield from _of_environment(text)
        elif "--hash=" not in text and not name.endswith(_NO_LIST):
            for line in text.splitlines():
                bare = line.partition(" #")[0].partition(";")[0].strip()
                if bare and not bare.startswith(("#", "-")) and _floats(install.manager, bare):
                    yield bare


def _text(facts: Grading, path: str) -> str:
    """Return what a file holds that the build reads; nothing where that is not known."""
    file = facts.image.files.get(posixpath.normpath(path))
    content = facts.content(file) if file is not None else None
    return content.decode("utf-8", "replace") if content is not None else ""


@lru_cache(maxsize=512)
def _floats(manager: str, name: str) -> bool:
    """Say whether a package, as asked for, may be another one tomorrow; False where nobody can tell."""
    if "$" in name or name.startswith((".", "/", "~", "file:")) or not name:
        return False
    address = re.match(r"(?:git\+)?\w+://|git@", name)
    match manager:
        case "pip":
            if address:
                # Any other address names one file.
                return name.startswith("git+") and "@" not in name.partition("://")[2].partition("/")[2]
            if "/" in name or name.endswith((".whl", ".gz", ".zip")):
                return False
            said = re.split(r"[\[<>=!~@;\s]", name, maxsplit=1)[0]
            given = "==" in name or re.search(r"@\s*(?:\d|\w+://|git\+|file:)", name)
            return said.lower() not in _TOOLS and not given
        case "npm":
            if address or name.count("/") > name.startswith("@") or name.endswith((".tgz", ".gz")):
                return False
            return not any(sign.isdigit() for sign in name[1:].partition("@")[2])
        case "go":
            return not re.search(r"@(?:v?\d|[0-9a-f]{7,})", name)
        case "gem":
            return not re.search(r":[~>=<\s]*\d", name) and not name.endswith(".gem")
        case "cargo":
            return address is not None or "@" not in name
        case _:
            return "=" not in name and not name.endswith((".conda", ".bz2")) and address is None


def _of_package_json(text: str, facts: Grading, folder: str) -> Iterator[str]:
    if any(posixpath.join(folder, lock) in facts.image.files for lock in _LOCKS):
        return
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return
    for key in ("dependencies", "devDependencies"):
        parts = data.get(key) if isinstance(data, dict) else None
        for name, version in parts.items() if isinstance(parts, dict) else ():
            if isinstance(version, str) and not _EXACT.fullmatch(version) and "://" not in version:
                yield f"{name}@{version}"


def _of_environment(text: str) -> Iterator[str]:
    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return
    match data:
        case {"dependencies": [*names]}:
            for name in names:
                match name:
                    case str() if _floats("conda", name):
                        yield name
                    case {"pip": [*inner]}:
                        yield from (item for item in inner if isinstance(item, str) and _floats("pip", item))


RULES: Final = (TaskRule("BYD116", "review", unpinned, requires=("STR105", "STR106"), profiles=("arena",)),)
