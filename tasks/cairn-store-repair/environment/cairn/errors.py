# ruff: noqa: N818 - callers know these names
"""Every error that Cairn raises on its own account."""


class CairnError(Exception):
    """Base of all of them."""


class CorruptionError(CairnError):
    """A file of the store does not hold what it must."""

    def __init__(self, path, offset, reason):
        super().__init__(f"{path}: byte {offset}: {reason}")
        self.path = path
        self.offset = offset
        self.reason = reason


class InvalidKey(CairnError, ValueError):
    """A key that cannot be stored."""


class InvalidValue(CairnError, ValueError):
    """A value that cannot be stored, or is not what the operation needs."""


class StoreClosed(CairnError):
    """The store has been closed."""


class StoreLocked(CairnError):
    """Another process, or this one, has the store open."""
