"""What the Hub holds: entries of a folder, files of a repository, bytes of a file.

Figures of huggingface.co/docs/hub/storage-limits (repository limitations and recommendations).
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from seatrials.errors import RefusedError

MAX_ENTRIES: Final = 10_000
MAX_FILES: Final = 100_000
MAX_BYTES: Final = 200 * 10**9


def check_limits(sizes: Mapping[str, int]) -> None:
    """Raise RefusedError where files pass a limit; `sizes` has the bytes of each by its path."""
    if len(sizes) > MAX_FILES:
        raise RefusedError(f"{len(sizes):,} files; a repository of the Hub holds {MAX_FILES:,}")
    entries: defaultdict[str, set[str]] = defaultdict(set)
    for path, size in sizes.items():
        if size > MAX_BYTES:
            raise RefusedError(
                f"`{path}` has {size / 10**9:.1f} GB; a file of the Hub holds {MAX_BYTES // 10**9} GB"
            )
        while path:
            path, _, name = path.rpartition("/")  # noqa: PLW2901 - a walk up
            entries[path].add(name)
    for folder, names in entries.items():
        if len(names) > MAX_ENTRIES:
            raise RefusedError(
                f"`{folder or '.'}` has {len(names):,} entries; a folder of the Hub holds {MAX_ENTRIES:,}"
            )
