"""From a data set's address to tasks on this machine: resolve, look, choose the collection, download."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from seatrials.fetch.card import CARD, MAX_CARD, CardSays, default_in, header_of, needs_in
from seatrials.fetch.download import Progress, download, repo_folder
from seatrials.fetch.listing import Address, Snapshot, snapshot_of
from seatrials.fetch.sets import MAX_REGISTRY, REGISTRY, Found, choose, collections_in, extras, with_registry
from seatrials.hub_client import connect
from seatrials.task.collection import Collection, Selection
from seatrials.task.package import TaskPackage

if TYPE_CHECKING:
    from huggingface_hub import HfApi

Watch = Callable[[Progress], None]


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A collection on the Hub that was chosen, before its tasks are downloaded."""

    address: Address
    snapshot: Snapshot
    found: Found
    tasks: tuple[str, ...]
    says: CardSays
    api: "HfApi"

    @property
    def units(self) -> tuple[str, ...]:
        """What is to be downloaded: the tasks, and what is read with them."""
        return (*extras(self.found, self.snapshot.files), *self.tasks)

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The files of all that."""
        return tuple(path for paths in self.snapshot.grouped(self.units).values() for path in paths)

    @property
    def size(self) -> int:
        """Their bytes."""
        return self.snapshot.size(self.files)


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """A collection's tasks on this machine. `home` is the data set's folder, for what is kept of its runs."""

    offer: Offer
    folder: Path
    home: Path
    selection: Selection


def look(address: Address, *, name: str | None = None, tasks: Sequence[str] = ()) -> Offer:
    """Resolve the revision, list the files, and choose the collection and its tasks.

    Downloads the card and a registry, nothing else. Raises as `snapshot_of`,
    `choose` and `Found.pick` do.
    """
    api = connect(anonymous=True)
    snapshot = snapshot_of(api, address)
    found = collections_in(snapshot.files)
    registries = {
        path: one
        for one in found
        if (path := one.beside(REGISTRY)) in snapshot.files and snapshot.files[path].size <= MAX_REGISTRY
    }
    wanted = [*registries]
    if CARD in snapshot.files and snapshot.files[CARD].size <= MAX_CARD:
        wanted.append(CARD)
    folder = download(api, snapshot, wanted) if wanted else Path()
    header = header_of((folder / CARD).read_bytes()) if CARD in wanted else {}
    sets: list[Found] = []
    for one in found:
        path = one.beside(REGISTRY)
        sets += with_registry(one, (folder / path).read_bytes()) if path in registries else [one]
    chosen = choose(sets, name=name, default=default_in(header), repo=address.repo)
    return Offer(
        address=address,
        snapshot=snapshot,
        found=chosen,
        tasks=chosen.pick(tasks),
        says=needs_in(header, chosen),
        api=api,
    )


def bring(offer: Offer, watch: Watch = lambda _: None) -> Fetched:
    """Download what was chosen; raises as `download` does."""
    folder = download(offer.api, offer.snapshot, offer.units, watch=watch)
    root = folder / offer.found.root
    packages = tuple(TaskPackage(folder / task, label=task) for task in offer.tasks)
    return Fetched(
        offer=offer,
        folder=folder,
        home=repo_folder(offer.snapshot.repo),
        selection=Selection(tasks=packages, collection=Collection(root=root)),
    )
