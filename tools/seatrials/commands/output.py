"""Writing a report to a file that the user named."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from seatrials.errors import UsageError


def write(path: Path, pieces: Iterable[str]) -> None:
    """Write a file whole, or leave what is there; raises UsageError where it can't be written.

    A device, a pipe or the end of a link, as /dev/stdout, is written to and not replaced.
    """
    temporary: Path | None = None
    try:
        if path.is_symlink() or (path.exists() and not path.is_file() and not path.is_dir()):
            with path.open("w", encoding="utf-8", errors="backslashreplace") as stream:
                stream.writelines(pieces)
            return
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        temporary = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.writelines(pieces)
        # A temporary file is its owner's alone; a report is as readable as any new file.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
        temporary = None
    except OSError as error:
        raise UsageError(f"`{path}` can't be written: {error.strerror}") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
