"""Files that the room writes: whole or not at all."""

import json
import os
from pathlib import Path
from typing import Any

from seatrials.errors import UsageError
from seatrials.whole import whole


def write(path: Path, data: bytes, *, private: bool = False, new: bool = False) -> None:
    """Write a file under a temporary name and move it into place; with `private` for its owner alone.

    Raises UsageError where the file can't be written; with `new`, also where
    one is there, even if it came to be this very moment.
    """
    try:
        with whole(path, private=private, new=new) as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    except FileExistsError:
        raise UsageError(f"`{path}` has come to be meanwhile; run the same command again") from None
    except OSError as error:
        raise UsageError(f"`{path}` can't be written: {error.strerror}") from None


def check_folder(folder: Path) -> None:
    """Raise UsageError where a folder takes no file, before something is done that is to be kept."""
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"`{folder}` must be a folder to write to: answers are kept there")


def as_json(data: Any) -> bytes:
    """Return data as the text of a JSON file."""
    return json.dumps(data, ensure_ascii=False, indent=2).encode("utf-8", "backslashreplace") + b"\n"
