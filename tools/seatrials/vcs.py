"""What git knows: the top of the working tree, and the files changed since a revision."""

import os
import tempfile
from pathlib import Path
from typing import Final

from seatrials.errors import UsageError
from seatrials.proc import Finished, ProgramMissing, ProgramTimedOut, run

_SECONDS: Final = 60.0
# Nothing that the repository's own configuration names is run.
_GIT: Final = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-pager")


def top_level(folder: Path) -> Path | None:
    """Return the top of the working tree that holds a folder; None outside one, or without git."""
    try:
        found = run((*_GIT, "rev-parse", "--show-toplevel"), cwd=folder, timeout=_SECONDS)
    except (ProgramMissing, ProgramTimedOut):
        return None
    top = found.output.strip()
    return Path(top) if found.ok and Path(top).is_absolute() else None


def remote_of(folder: Path) -> str | None:
    """Return where the working tree that holds a folder was cloned from; None where git names nothing."""
    try:
        found = run((*_GIT, "remote", "get-url", "origin"), cwd=folder, timeout=_SECONDS)
    except (ProgramMissing, ProgramTimedOut):
        return None
    return found.output.strip() if found.ok else None


def changed_since(ref: str, folder: Path) -> frozenset[Path]:
    """Return the absolute paths of files that differ from where `ref` and the current branch parted.

    Committed, staged, unstaged and untracked changes count, and so do
    deletions. Raises UsageError where git can't tell.
    """
    top = top_level(folder)
    if top is None:
        raise UsageError(f"`--changed {ref}` needs git and a working tree; `{folder}` is in none")
    base = _git("merge-base", "--end-of-options", ref, "HEAD", ref=ref, top=top).output.strip()
    # By way of a file: git's warnings would else stand among the names.
    with tempfile.TemporaryDirectory() as room:
        listed = Path(room) / "names"
        _git("diff", "--no-ext-diff", "--no-renames", "--name-only", "-z", f"--output={listed}", base, "--",
             ref=ref, top=top)  # fmt: skip
        names = listed.read_bytes().split(b"\0")
    untracked = _git("ls-files", "--others", "--exclude-standard", "-z", ref=ref, top=top).output.split("\0")
    paths = [*map(os.fsdecode, names), *untracked]
    return frozenset(top / path for path in paths if path)


def _git(*words: str, ref: str, top: Path) -> Finished:
    try:
        done = run((*_GIT, *words), cwd=top, timeout=_SECONDS)
    except (ProgramMissing, ProgramTimedOut) as error:
        raise UsageError(f"`--changed {ref}`: {error}") from error
    if not done.ok:
        said = done.output.strip().splitlines()
        reason = said[0].removeprefix("fatal: ") if said else "no common history; fetch more of it"
        raise UsageError(f"`--changed {ref}`: {reason}")
    return done
