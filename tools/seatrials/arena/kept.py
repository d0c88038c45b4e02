"""Files that the room writes: whole or not at all."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from seatrials.errors import UsageError


def write(path: Path, data: bytes, *, private: bool = False) -> None:
    """Write a file under a temporary name and move it into place; with `private` for its owner alone.

    Raises UsageError where the file can't be written.
    """
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        temporary = Path(name)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if not private:
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
        temporary = None
    except OSError as error:
        raise UsageError(f"`{path}` can't be written: {error.strerror}") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def as_json(data: Any) -> bytes:
    """Return data as the text of a JSON file."""
    return json.dumps(data, ensure_ascii=False, indent=2).encode("utf-8", "backslashreplace") + b"\n"
