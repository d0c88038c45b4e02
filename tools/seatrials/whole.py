"""Files that are written whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def whole(path: Path, *, private: bool = False, new: bool = False) -> Iterator[IO[bytes]]:
    """Give a stream whose bytes become the file at `path` once the block ends; where it raises, nothing does.

    With `private` the file is its owner's alone, else as readable as any new
    file. With `new` FileExistsError is raised where one is there by then, even
    if it came to be this very moment. Raises OSError.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        if not private:
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
        if new:
            path.hardlink_to(temporary)
        else:
            temporary.replace(path)
    finally:
        # It is there still where it was linked, or where something failed.
        temporary.unlink(missing_ok=True)
