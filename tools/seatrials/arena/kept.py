"""Files that the room writes: whole or not at all."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from seatrials.errors import UsageError


def write(path: Path, data: bytes, *, private: bool = False, new: bool = False) -> None:
    """Write a file under a temporary name and move it into place; with `private` for its owner alone.

    Raises UsageError where the file can't be written; with `new`, also where
    one is there, even if it came to be this very moment.
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
        if new:
            path.hardlink_to(temporary)
        else:
            temporary.replace(path)
            temporary = None
    except FileExistsError:
        raise UsageError(f"`{path}` has come to be meanwhile; run the same command again") from None
    except OSError as error:
        raise UsageError(f"`{path}` can't be written: {error.strerror}") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def check_folder(folder: Path) -> None:
    """Raise UsageError where a folder takes no file, before something is done that is to be kept."""
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"`{folder}` must be a folder to write to: answers are kept there")


def as_json(data: Any) -> bytes:
    """Return data as the text of a JSON file."""
    return json.dumps(data, ensure_ascii=False, indent=2).encode("utf-8", "backslashreplace") + b"\n"
