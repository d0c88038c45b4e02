"""Results of earlier checks, kept by what they depend on: the task's files, the rules and the profile.

A result is stored under a digest of everything that a rule can see (`key`), so
nothing ever has to be declared stale. The store is a folder of `_SHARDS` files
of JSON with a checksum, each bounded in size; what is damaged or was written
by something else is passed over.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from seatrials.judge.stored import decode, encode
from seatrials.places import cache_home
from seatrials.rules.model import Profile, TaskReport
from seatrials.task.package import TaskPackage
from seatrials.whole import whole

_SHARDS: Final = 64
_SHARD_BYTES: Final = 1_000_000
_MAGIC: Final = b"seatrials check 1 "


def default_folder() -> Path | None:
    """Return where results are kept for this user; None where there is no home for them."""
    home = cache_home()
    return home / "seatrials" / "check" if home is not None else None


@cache
def rule_set() -> str:
    """Return a digest of the kit's own sources and of the versions of all that it is built on."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    for distribution in _dependencies():
        digest.update(distribution.encode() + b"\n")
    return digest.hexdigest()


def _dependencies() -> Iterable[str]:
    try:
        names = metadata.requires("seatrials") or []
    except metadata.PackageNotFoundError:
        names = []
    for name in names:
        bare = name.partition(";")[0].rstrip("0123456789.,*<>=!~ ")
        try:
            yield f"{bare} {metadata.version(bare)}"
        except metadata.PackageNotFoundError:
            yield f"{bare} is not installed"


def key(task: TaskPackage, *, profile: Profile) -> str:
    """Return the digest of everything that a task's own result depends on: 64 hex digits.

    What the collection around it adds, defaults and waivers, is applied to the result later.
    """
    digest = hashlib.sha256()
    listing = task.listing
    for part in (rule_set(), profile, task.name, str(listing.truncated), *listing.junk):
        digest.update(os.fsencode(part) + b"\0")
    for path, file in listing.files.items():
        said = f"\0{file.kind} {file.mode:o} {file.size} {file.blob_id} {file.unreadable}"
        if file.kind == "link":
            # Where a link ends may depend on what lies outside the task.
            end = os.path.relpath(os.path.realpath(file.location), os.path.realpath(task.root))
            said += f" {end} {file.location.exists()}"
        digest.update(os.fsencode(path) + os.fsencode(said) + b"\n")
    return digest.hexdigest()


class ResultCache:
    """A folder of earlier results. Reading and writing never fail: without it all is just checked again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shards: dict[str, dict[str, Any]] = {}

    def get(self, name: str, task: TaskPackage) -> TaskReport | None:
        """Return the result stored under a key, as one of `task`; None where there is none."""
        try:
            report = decode(TaskReport, self._shard(name).get(name))
        except ValueError:
            return None
        return replace(report, name=task.name, path=task.label)

    def put(self, results: Iterable[tuple[str, TaskReport]]) -> None:
        """Store results by their keys; the oldest give way where a file grows too large."""
        by_shard: dict[str, dict[str, Any]] = {}
        for name, report in results:
            by_shard.setdefault(self._file(name), {})[name] = encode(report)
        for file, fresh in by_shard.items():
            # Read again: another run may have stored its results meanwhile.
            stored = _load(self._folder / file)
            merged = {name: data for name, data in stored.items() if name not in fresh} | fresh
            if not _store(self._folder / file, merged):
                return

    def _shard(self, name: str) -> dict[str, Any]:
        file = self._file(name)
        if file not in self._shards:
            self._shards[file] = _load(self._folder / file)
        return self._shards[file]

    @staticmethod
    def _file(name: str) -> str:
        return f"{int(name[:8], 16) % _SHARDS:02d}.json"


def _load(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > 2 * _SHARD_BYTES:
            return {}
        head, _, body = path.read_bytes().partition(b"\n")
        if head != _MAGIC + hashlib.sha256(body).hexdigest().encode():
            return {}
        data = json.loads(body)
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _store(path: Path, entries: dict[str, Any]) -> bool:
    kept: list[str] = []
    room = _SHARD_BYTES
    for name, data in reversed(entries.items()):
        line = f"{json.dumps(name)}:{json.dumps(data, separators=(',', ':'))}"
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    body = ("{" + ",".join(reversed(kept)) + "}").encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with whole(path, private=True) as stream:
            stream.write(_MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    except OSError:
        return False
    return True
