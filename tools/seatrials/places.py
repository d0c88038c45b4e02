"""Where a user's own files lie, whatever the environment says."""

import os
import pwd
from pathlib import Path


def cache_home() -> Path | None:
    """Return the folder for what can be had again: `$XDG_CACHE_HOME`, or `.cache` in the home folder.

    As its specification says, a relative path is not heeded. An empty or a
    relative `$HOME` would put files below the working directory, or into
    ``/``: then the user's entry in the password file tells. None where there
    is neither.
    """
    if (root := os.environ.get("XDG_CACHE_HOME")) and Path(root).is_absolute():
        return Path(root)
    home = os.environ.get("HOME", "")
    if not Path(home).is_absolute():
        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            return None
    return Path(home) / ".cache" if Path(home).is_absolute() else None
