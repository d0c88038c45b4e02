"""A published collection at the arena: validate, compare with ours, submit, compare the hashes, preflight.

Each step stands for itself and can be done again: what the arena is asked is
kept in a request file at the commit, and the same request gives the same
record. Nothing here starts a run or posts.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from seatrials.arena.beside import Difference, counts, differences
from seatrials.arena.client import RECEIPT, Arena
from seatrials.arena.identity_hashes import Identity, Listing, compare
from seatrials.arena.refusals import ArenaUnavailableError
from seatrials.arena.requests import EnvironmentRequest, keep, read
from seatrials.arena.results import (
    Preflight,
    StaticFinding,
    Submission,
    Validation,
    commit_of,
    rows_of,
    static_of,
)
from seatrials.errors import RefusedError, UsageError
from seatrials.fetch.listing import Address, Snapshot, snapshot_of
from seatrials.flows.check import Request as CheckRequest
from seatrials.flows.check import check
from seatrials.flows.opinion import our_findings
from seatrials.hub_client import DATASET, explained
from seatrials.judge.gates import VERSION, is_gate
from seatrials.release.layout import Layout
from seatrials.replay.store import Store
from seatrials.task.collection import MAX_TASKS, Selection, select

if TYPE_CHECKING:
    from huggingface_hub import HfApi

FOLDER: Final = "arena"
AGAIN: Final = "which does only what is left"

_EARLIER: Final = 5
"""Earlier requests that are looked at, each at the cost of a list of the Hub's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What to submit, and as whom. Without a `challenge` the one open challenge is meant."""

    source: str | None
    repo: str
    layout: Layout
    challenge: str | None = None
    title: str | None = None
    notes: str = ""
    agent_id: str | None = None

    def __post_init__(self) -> None:
        """Raise UsageError for what the arena would refuse in any case."""
        self.request("any", "0" * 40, self.title or "any")

    def request(self, challenge: str, commit: str, title: str) -> EnvironmentRequest:
        """Return the request for a commit."""
        return EnvironmentRequest(
            agent_id=self.agent_id,
            challenge_id=self.challenge or challenge,
            repo_id=self.repo,
            revision=commit,
            entry_path=self.layout.name,
            title=title,
            notes=self.notes,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Challenge:
    """A challenge or, where it is none of those listed, a track, which takes no runs."""

    id: str
    runs: bool
    paused: str | None = None


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What the arena says of a collection, and where that differs from what check says.

    `gates` is the version of the arena's gates where it is another than the kit's.
    """

    validation: Validation
    gates: str | None
    ours: str
    theirs: str
    differences: tuple[Difference, ...]


class ArenaPart:
    """The arena's part of one release, at the commit that was published."""

    def __init__(self, api: "HfApi", arena: Arena, wanted: Wanted, commit: str | None = None) -> None:
        """Look the collection up; without a `commit`, that of the data set's main branch is meant."""
        self.api, self.arena, self.wanted = api, arena, wanted
        self.selection: Selection = select([wanted.source] if wanted.source is not None else [])
        if self.selection.collection is None:
            raise UsageError(f"`{wanted.source}` is not a collection")
        self.root = self.selection.collection.root
        self.title = wanted.title or self.selection.collection.team or self.root.resolve().name
        self.commit = self._settled(commit)
        self._challenge: Challenge | None = None

    # Where things are

    @property
    def folder(self) -> Path:
        """Where the request and the arena's answers are kept."""
        return self._folder(self.commit)

    @property
    def file(self) -> Path:
        """The request file."""
        return self.folder / EnvironmentRequest.FILE

    def _folder(self, commit: str) -> Path:
        return self._home / commit[:12] / self.wanted.layout.name

    @property
    def _home(self) -> Path:
        return Store(self.root).folder / FOLDER / self.wanted.repo

    def _settled(self, commit: str | None) -> str:
        """Refuse a repository that is not open to all, and return the commit to submit.

        That is the published one, unless there is a request for an earlier one
        that holds the same of what the arena reads: a word changed on the card
        makes no second submission.
        """
        repo = self.wanted.repo
        with explained(repo, again=AGAIN, reading=True):
            info: Any = self.api.repo_info(repo, repo_type=DATASET)
        if info.private or info.gated:
            how = "private" if info.private else "gated"
            raise RefusedError(
                f"`{repo}` is {how}, and the arena reads public, ungated data sets only; nothing was"
                " submitted: open it in its settings, or say `--no-arena`"
            )
        newest = commit or str(info.sha)
        for earlier in self._asked_for():
            if earlier == newest or self._read_alike(earlier, newest):
                return earlier
        return newest

    def _asked_for(self) -> list[str]:
        """Return the commits that the newest request files from here name."""
        name, file = self.wanted.layout.name, EnvironmentRequest.FILE
        paths = [*self._home.glob(f"*/{name}/{file}" if name else f"*/{file}")]
        found: list[str] = []
        for path in sorted(paths, key=lambda path: path.stat().st_mtime, reverse=True)[:_EARLIER]:
            try:
                found.append(read(path, EnvironmentRequest).revision)
            except UsageError:
                continue
        return found

    def _read_alike(self, one: str, other: str) -> bool:
        try:
            first, second = self._listed(one), self._listed(other)
        except RefusedError:  # a commit that is gone
            return False
        return self._read_by_arena(first) == self._read_by_arena(second)

    def _read_by_arena(self, snapshot: Snapshot) -> dict[str, str]:
        layout = self.wanted.layout
        return {
            path: file.digest
            for path, file in snapshot.files.items()
            if path == layout.manifest or path.startswith(f"{layout.tasks}/")
        }

    def _listed(self, commit: str) -> Snapshot:
        return snapshot_of(self.api, Address(repo=self.wanted.repo, revision=commit))

    # The steps

    def challenge(self) -> Challenge:
        """Return the challenge to submit to: the one named, else the one that is open."""
        if self._challenge is None:
            self._challenge = self._chosen()
        return self._challenge

    def _chosen(self) -> Challenge:
        told = self.arena.challenges()
        wanted = self.wanted.challenge or self.arena.open_challenge(told)
        for row in rows_of(told.data, "challenges"):
            if wanted in {row.get("id"), row.get("challenge_id")}:
                paused = row.get("runs_paused")
                return Challenge(id=wanted, runs=True, paused=paused if isinstance(paused, str) else None)
        return Challenge(id=wanted, runs=False)

    def prepare(self) -> Path:
        """Write the request file, pinned to the commit, and return it."""
        number = len(self.selection.tasks)
        if not 1 <= number <= MAX_TASKS:
            raise RefusedError(
                f"the arena takes 1 to {MAX_TASKS} tasks, and these are {number}: submit a subset, or say"
                " `--no-arena`"
            )
        request = self.wanted.request(self.challenge().id, self.commit, self.title)
        Store(self.root).prepare()
        self.folder.mkdir(parents=True, exist_ok=True)
        keep(self.file, request, replace=True)
        return self.file

    def validate(self) -> Judged:
        """Have the arena validate the commit, and compare its findings with check's."""
        validation = self.arena.validate(self.prepare())
        if validation.commit not in {None, self.commit}:
            raise RefusedError(
                f"the arena read the commit {validation.commit}, not {self.commit}; nothing is submitted"
            )
        ours = self._ours()
        version = static_of(validation.answer.fields).get("version")
        return Judged(
            validation=validation,
            gates=version if isinstance(version, str) and version != VERSION else None,
            ours=counts(ours),
            theirs=counts(validation.findings),
            differences=differences(validation.findings, ours),
        )

    def _ours(self) -> list[StaticFinding]:
        report = check(CheckRequest(targets=[self.wanted.source] if self.wanted.source is not None else []))
        return list(our_findings(report, lambda found: is_gate(found.code)))

    def refuse_unfit(self, validation: Validation) -> None:
        """Raise RefusedError where the arena would store nothing, or nothing to train on."""
        if not validation.valid:
            said = f": {validation.errors[0]}" if validation.errors else ""
            raise RefusedError(f"the arena does not find the collection valid{said}; nothing was submitted")
        if validation.eligible < 1:
            raise RefusedError("the arena's gates leave no eligible task; nothing was submitted")

    def submit(self) -> Submission:
        """Submit the commit; once more where the answer was lost, since the same gives the same record."""
        file = self.prepare()
        try:
            return self.arena.submit(file)
        except ArenaUnavailableError as error:
            if not error.may_repeat or error.retry_after is not None:
                raise
            return self.arena.submit(file)

    def submitted(self) -> str:
        """Return the id under which the commit was submitted from here, or by the arena's list."""
        try:
            receipt = json.loads((self.folder / RECEIPT).read_bytes())
        except (OSError, ValueError):
            receipt = None
        rows = [row for row in rows_of(self.arena.environments().data, "environments") if self._is_ours(row)]
        for row in (receipt, *rows):
            match row:
                case {"environment_id": str(found)} | {"id": str(found)}:
                    return found
        raise RefusedError(f"{self.commit} of `{self.wanted.repo}` is not submitted yet; submit it first")

    def _is_ours(self, row: Mapping[str, Any]) -> bool:
        place = (row.get("repo_id"), commit_of(row), row.get("entry_path") or "")
        return place == (self.wanted.repo, self.commit, self.wanted.layout.name)

    def identity(self, hashes: Mapping[str, str]) -> Identity:
        """Compare the arena's hash of each task with those of the tasks as the Hub lists them."""
        snapshot = self._listed(self.commit)
        layout = self.wanted.layout
        folders = {f"{layout.tasks}/{task.name}": task for task in self.selection.tasks}
        ours: dict[str, Listing] = {}
        for folder, paths in snapshot.grouped([*folders]).items():
            task = folders[folder]
            listed = {path.removeprefix(f"{folder}/"): snapshot.files[path] for path in paths}
            content: dict[str, str] = {}
            for path, file in listed.items():
                local = task.resolve(path) if file.in_lfs else None
                content[path] = local.blob_id if local is not None else file.listed
            ours[task.name] = Listing(
                folder=folder, listed={path: file.listed for path, file in listed.items()}, content=content
            )
        return compare(hashes, ours, entry_path=layout.name)

    def preflight(self, environment_id: str) -> Preflight | None:
        """Return the checks before a run, which reserve and start nothing; None on a track: it has none."""
        challenge = self.challenge()
        return self.arena.preflight(challenge.id, environment_id) if challenge.runs else None
