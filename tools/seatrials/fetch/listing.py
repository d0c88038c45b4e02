"""What a data set holds at one commit, before anything of it is downloaded."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from seatrials.errors import RefusedError, UsageError
from seatrials.hub_client import DATASET, explained, is_repo

if TYPE_CHECKING:
    from huggingface_hub import HfApi

AGAIN: Final = "which goes on where this one stopped"
MAX_LISTED: Final = 1_000_000
"""Files of a data set that are looked at. The Hub advises at most about 100,000."""

MAX_PART: Final = 255
MAX_PATH: Final = 1_000
"""Bytes of one name and of a whole path: what file systems take, with room for the folder above."""

_REVISION: Final = re.compile(r"[\w][\w./+@%-]{0,199}")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Address:
    """A data set and a branch, tag or commit of it."""

    repo: str
    revision: str = "main"

    def __str__(self) -> str:
        return f"{self.repo}@{self.revision}"


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteFile:
    """One file. `digest` is its git blob id, or the sha256 of its content where it is `in_lfs`.

    `listed` is the blob id that the list gives: of a file in LFS, that of its pointer.
    """

    path: str
    size: int
    digest: str
    in_lfs: bool
    listed: str = ""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A data set at one commit: its files by path."""

    repo: str
    commit: str
    files: Mapping[str, RemoteFile]

    def below(self, folder: str) -> list[str]:
        """Return the paths of the files in a folder, sorted."""
        return self.grouped([folder])[folder]

    def grouped(self, units: Sequence[str]) -> dict[str, list[str]]:
        """Return the paths of the files in each folder, sorted; of a file, itself."""
        found: dict[str, list[str]] = {unit: [] for unit in units}
        depths = {unit.count("/") for unit in units}
        for path in sorted(self.files):
            if path in found:
                found[path].append(path)
            parts = path.split("/")
            for depth in depths:
                unit = "/".join(parts[: depth + 1])
                if depth + 1 < len(parts) and unit in found:
                    found[unit].append(path)
        return found

    def size(self, paths: Iterable[str]) -> int:
        """Return how many bytes files have together."""
        return sum(self.files[path].size for path in paths)


def address_of(text: str) -> Address:
    """Parse OWNER/NAME[@REV]; UsageError for what has another form."""
    repo, at, revision = text.partition("@")
    if not is_repo(repo):
        raise UsageError(f"`{text}` must have the form OWNER/NAME or OWNER/NAME@REVISION")
    if at and (not _REVISION.fullmatch(revision) or ".." in revision):
        raise UsageError(f"`{revision}` is not the name of a branch, a tag or a commit")
    return Address(repo=repo, revision=revision) if at else Address(repo=repo)


def snapshot_of(api: "HfApi", address: Address) -> Snapshot:
    """Resolve a revision to its commit, and list the files there.

    Raises RefusedError where the data set or the revision is missing or not
    for this token, and where a path in it leads out of a folder.
    """
    from huggingface_hub.hf_api import RepoFile

    files: dict[str, RemoteFile] = {}
    with explained(address.repo, again=AGAIN, reading=True):
        commit = str(api.repo_info(address.repo, revision=address.revision, repo_type=DATASET).sha)
        if not _COMMIT.fullmatch(commit):
            raise RefusedError(f"`{address}` gives no commit, but `{commit[:60]!r}`")
        for item in api.list_repo_tree(address.repo, recursive=True, revision=commit, repo_type=DATASET):
            if not isinstance(item, RepoFile):
                continue
            if len(files) >= MAX_LISTED:
                raise RefusedError(f"`{address.repo}` has over {MAX_LISTED:,} files; that is too many to try")
            if leads_out(item.path):
                raise RefusedError(f"`{address.repo}` lists a file that leads out of its folder,"
                                   f" {item.path!r}; nothing of it is downloaded")  # fmt: skip
            digest, in_lfs = (item.lfs.sha256, True) if item.lfs is not None else (item.blob_id, False)
            files[item.path] = RemoteFile(
                path=item.path, size=item.size, digest=digest, in_lfs=in_lfs, listed=item.blob_id
            )
    return Snapshot(repo=address.repo, commit=commit, files=files)


def leads_out(path: str) -> bool:
    """Say whether a path would leave the folder that it is joined to, on any system."""
    parts = re.split(r"[/\\]", path)
    return not path or ".." in parts or path[0] in "/\\" or re.match(r"[A-Za-z]:", path) is not None


def refuse_hostile(snapshot: Snapshot, paths: Iterable[str]) -> None:
    """Raise RefusedError for a path that can't be written as it is, or that something would act upon."""
    wanted = set(paths)
    for path in sorted(wanted):
        if (why := _hostile(path)) is not None:
            raise RefusedError(f"`{snapshot.repo}` has a file {path!r}: {why}; nothing of it is downloaded")
        parts = path.split("/")
        if any("/".join(parts[:end]) in wanted for end in range(1, len(parts))):
            raise RefusedError(f"`{snapshot.repo}` lists {path!r} below a file; that can't be written")


def _hostile(path: str) -> str | None:
    parts = path.split("/")
    if leads_out(path) or any(part in {"", "."} for part in parts):
        return "it leads out of its folder"
    if not path.isprintable() or "\\" in path:
        return "its name has a character that does not print, or a backslash"
    if any(part.casefold() == ".git" for part in parts):
        return "git acts upon what is in a `.git`"
    if any(len(part.encode()) > MAX_PART for part in parts) or len(path.encode()) > MAX_PATH:
        return "its name is too long"
    return None
