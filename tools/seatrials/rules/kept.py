"""Keys for what is kept of the task or the run at hand, so that several rules share one reading of it."""

from typing import Generic, TypeVar

from seatrials.task.package import TaskPackage

_T = TypeVar("_T")


class Same(Generic[_T]):
    """An object as the key of a cache: equal to itself only, whatever it holds."""

    __slots__ = ("item",)

    def __init__(self, item: _T) -> None:
        self.item = item

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.item is other.item

    def __hash__(self) -> int:
        return id(self.item)


class ByListing:
    """A task as the key of a cache: equal to another of the same listing, which a task read again has not."""

    __slots__ = ("listing", "task")

    def __init__(self, task: TaskPackage) -> None:
        self.task = task
        self.listing = task.listing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByListing) and self.listing is other.listing

    def __hash__(self) -> int:
        return id(self.listing)
