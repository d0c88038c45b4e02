"""A key for what is kept of the task at hand, so that several rules share one reading of it."""

from seatrials.task.package import TaskPackage


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
