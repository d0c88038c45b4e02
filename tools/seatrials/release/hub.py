"""The upload to the Hugging Face Hub: one commit on top of the commit whose card was read."""

import hashlib
import re
import tempfile
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from seatrials.errors import RefusedError, UsageError
from seatrials.hub_client import DATASET, explained, is_repo, status_of
from seatrials.release.layout import CARD, Layout
from seatrials.release.limits import check_limits
from seatrials.release.stage import Staged, Tell, silent
from seatrials.task.files import git_blob_id

if TYPE_CHECKING:
    from huggingface_hub import HfApi

MAX_TRIES: Final = 5
"""How often a branch may move between the reading of its card and the commit."""

_COLLECTION: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[\w.-]{1,200}")
_TAG: Final = re.compile(r"[A-Za-z0-9](?:[\w./+-]{0,198}[\w+-])?", re.ASCII)
_CHUNK: Final = 1024 * 1024

Stager = Callable[[str], AbstractContextManager[Staged]]
"""Stages the set for the card that is there (empty where there is none)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """Where to publish. `private` is for a repository that is made; `tag` names the published commit.

    `collection` is the slug of a collection on the Hub, to which the data set is added.
    """

    repo: str
    private: bool = False
    tag: str | None = None
    collection: str | None = None
    dry_run: bool = False

    def __post_init__(self) -> None:
        """Raise UsageError for what names no repository."""
        if not is_repo(self.repo):
            raise UsageError(f"`{self.repo}` must have the form OWNER/NAME")
        if self.tag is not None and (not _TAG.fullmatch(self.tag) or ".." in self.tag):
            raise UsageError(f"`{self.tag}` must be a tag's name, as v0.1.0")
        if self.collection is not None and not _COLLECTION.fullmatch(self.collection):
            raise UsageError(
                f"`{self.collection}` must be a collection's slug, OWNER/TITLE-ID, as in its address"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Published:
    """What was done, or would be with `dry_run`. `commit` is None where there is no commit yet."""

    staged: Staged
    commit: str | None
    created: bool
    sent: tuple[str, ...]
    deleted: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Remote:
    commit: str
    private: bool
    files: Mapping[str, tuple[str, bool]]
    """Each file's hash, and whether that is the sha256 of one in LFS."""
    card: str
    tagged: str | None


def publish(api: "HfApi", target: Target, layout: Layout, stager: Stager, tell: Tell = silent) -> Published:
    """Publish the set that `stager` stages; what is there and unchanged is not sent.

    A missing repository is created after the scan has passed. A branch that
    moved meanwhile is read again, at most `MAX_TRIES` times. Doing it again
    after any failure is safe: a commit whose answer was lost is found to be
    there. Raises RefusedError, NoIdentityError and CannotJudgeError.
    """
    with explained(target.repo, again="which sends only what is missing"):
        created = False
        for _ in range(MAX_TRIES):
            remote = _read(api, target)
            if remote is not None and target.private and not remote.private and not created:
                raise RefusedError(
                    f"`{target.repo}` is there and public; `--private` is for one that is made anew"
                )
            with stager(remote.card if remote is not None else "") as staged:
                if remote is None and not target.dry_run:
                    api.create_repo(target.repo, repo_type=DATASET, private=target.private, exist_ok=True)
                    created = True
                    remote = _read(api, target)
                    if remote is None:
                        raise RefusedError(f"`{target.repo}` was created, yet the Hub does not show it")
                    if remote.card:
                        continue  # somebody else was faster: their card is to be kept
                done = _commit(api, target, layout, staged, remote, tell)
            if done is None:
                continue
            commit, sent, deleted = done
            if target.tag is not None and commit is not None and not target.dry_run:
                _tag(api, target.repo, target.tag, commit)
            if target.collection is not None and not target.dry_run:
                _collect(api, target.repo, target.collection)
            return Published(staged=staged, commit=commit, created=created, sent=sent, deleted=deleted)
        raise RefusedError(f"`{target.repo}` changed {MAX_TRIES} times meanwhile; try again when it is quiet")


def _read(api: "HfApi", target: Target) -> _Remote | None:
    from huggingface_hub.errors import RepositoryNotFoundError
    from huggingface_hub.hf_api import RepoFile

    try:
        info: Any = api.repo_info(target.repo, repo_type=DATASET)
    except RepositoryNotFoundError as error:
        if status_of(error) in {401, 403}:
            raise
        return None
    commit = str(info.sha)
    files = {
        item.path: (item.lfs.sha256, True) if item.lfs is not None else (item.blob_id, False)
        for item in api.list_repo_tree(target.repo, recursive=True, revision=commit, repo_type=DATASET)
        if isinstance(item, RepoFile)
    }
    card = ""
    if CARD in files:
        with tempfile.TemporaryDirectory(prefix="seatrials-") as folder:
            path = api.hf_hub_download(
                target.repo, CARD, repo_type=DATASET, revision=commit, local_dir=folder
            )
            try:
                card = Path(path).read_text(encoding="utf-8")
            except UnicodeDecodeError as error:
                raise RefusedError(
                    f"`{CARD}` of `{target.repo}` must be UTF-8, to be kept; mend it"
                ) from error
    tagged = None
    if target.tag is not None:
        refs = api.list_repo_refs(target.repo, repo_type=DATASET)
        tagged = next((tag.target_commit for tag in refs.tags if tag.name == target.tag), None)
    return _Remote(commit=commit, private=bool(info.private), files=files, card=card, tagged=tagged)


def _commit(
    api: "HfApi", target: Target, layout: Layout, staged: Staged, remote: _Remote | None, tell: Tell
) -> tuple[str | None, tuple[str, ...], tuple[str, ...]] | None:
    """Return the commit with what was sent and deleted; None where the branch has moved."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete
    from huggingface_hub.errors import HfHubHTTPError

    there = remote.files if remote is not None else {}
    sent = tuple(
        path
        for path in staged.files
        # A picture's name tells what it shows; another version of the library may draw that otherwise.
        if not (layout.is_picture(path) and path in there) and not _same(staged.root / path, there.get(path))
    )
    deleted = tuple(sorted(path for path in there if layout.owns(path) and path not in staged.files))
    changed = bool(sent or deleted)
    # What else is in the data set counts too.
    left = {path: 0 for path in there if path not in deleted}
    check_limits(left | {path: (staged.root / path).stat().st_size for path in staged.files})
    if remote is not None and remote.tagged not in {None, remote.commit if not changed else None}:
        raise RefusedError(
            f"the tag `{target.tag}` names another commit of `{target.repo}`; choose a new one"
        )
    if remote is None or target.dry_run or not changed:
        return (remote.commit if remote is not None else None), sent, deleted
    operations: list[CommitOperationAdd | CommitOperationDelete] = [
        *(CommitOperationAdd(path_in_repo=path, path_or_fileobj=staged.root / path) for path in sent),
        *(CommitOperationDelete(path_in_repo=path, is_folder=False) for path in deleted),
    ]
    size = sum((staged.root / path).stat().st_size for path in sent)
    tell(f"Sending to `{target.repo}`: {len(sent):,} files, {size / 10**6:,.1f} MB", 0, 0)
    tasks = f"{len(staged.rows)} task{'s' if len(staged.rows) != 1 else ''}"
    try:
        with warnings.catch_warnings():
            # The Hub's advice on the card's header; what it refuses comes as an error.
            warnings.filterwarnings(
                "ignore", message="Warnings while validating metadata", category=UserWarning
            )
            made = api.create_commit(
                target.repo,
                operations,
                commit_message=f"Release {layout.name or 'the collection'}: {tasks}",
                repo_type=DATASET,
                parent_commit=remote.commit,
            )
    except HfHubHTTPError as error:
        if status_of(error) == 412:  # noqa: PLR2004 - Precondition Failed: the parent is no longer the newest
            return None
        raise
    except ValueError as error:
        said = " ".join(str(error).split())
        if "metadata in README.md" not in said:
            raise
        raise RefusedError(f"the Hub refuses the card's header: {said}") from None
    return made.oid, sent, deleted


def _same(path: Path, remote: tuple[str, bool] | None) -> bool:
    if remote is None:
        return False
    expected, in_lfs = remote
    if not in_lfs:
        return git_blob_id(path.read_bytes()) == expected
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest() == expected


def _tag(api: "HfApi", repo: str, tag: str, commit: str) -> None:
    """Tag a commit; one that has the tag already is left as it is."""
    refs = api.list_repo_refs(repo, repo_type=DATASET)
    there = next((item.target_commit for item in refs.tags if item.name == tag), None)
    if there is None:
        api.create_tag(repo, tag=tag, revision=commit, repo_type=DATASET)
    elif there != commit:
        raise RefusedError(f"the tag `{tag}` names another commit of `{repo}`; choose a new one")


def _collect(api: "HfApi", repo: str, collection: str) -> None:
    """Add the data set to a collection of the Hub; one that has it is left as it is."""
    from huggingface_hub.errors import HfHubHTTPError

    try:
        api.add_collection_item(collection, item_id=repo, item_type=DATASET, exists_ok=True)
    except HfHubHTTPError as error:
        if status_of(error) not in {403, 404}:
            raise
        raise RefusedError(
            f"`{repo}` is published, but the collection `{collection}` is not there, or not for this token to"
            " change; the same command with another `--collection` sends nothing twice"
        ) from None
