"""Cairn: an embedded, append-only key-value store for small devices."""

from .batch import Batch
from .errors import CairnError, CorruptionError, InvalidKey, InvalidValue, StoreClosed, StoreLocked
from .store import Store, open_store

__version__ = "2.4.0.dev0"

__all__ = [
    "Batch",
    "CairnError",
    "CorruptionError",
    "InvalidKey",
    "InvalidValue",
    "Store",
    "StoreClosed",
    "StoreLocked",
    "open_store",
]
