"""A rehearsal of a release: publish, submit, fetch back and replay, with a Hub and an arena on loopback.

Runs the commands that a person would type on a copy of a collection. The Hub
(`hub.py`) and the arena (`arena/`) are this folder's stand-ins, written after
what is public about the real ones; nothing leaves the machine, and no token is
needed. Arguments go to `seatrials try`, as ``--task NAME`` or ``--dry-run``.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from arena.server import ArenaState, serving_arena
from hub import TOKEN, Hub, serving

ROOT = Path(__file__).parents[1]
REPO = "ada/rehearsal"
PARTS = ("tasks", "submission.yaml", "pyproject.toml")


def main(words: Sequence[str], root: Path = ROOT) -> int:
    """Rehearse with the collection at `root`; return the first exit code that is not 0."""
    print("A rehearsal: the Hub and the arena are stand-ins on this machine (tests/hub.py, tests/arena/).")
    print("Nothing leaves it, and what they say is not what the real ones would say.", flush=True)
    with tempfile.TemporaryDirectory(prefix="seatrials-rehearsal-") as scratch:
        folder = Path(scratch)
        collection = folder / "collection"
        for part in PARTS:
            if (root / part).is_dir():
                shutil.copytree(root / part, collection / part, ignore=shutil.ignore_patterns(".seatrials"))
            elif (root / part).is_file():
                shutil.copy(root / part, collection / part)
        with serving() as hub, serving_arena(hub) as arena:
            return rehearse(hub, arena, folder, words)


def rehearse(hub: Hub, arena: ArenaState, folder: Path, words: Sequence[str]) -> int:
    """Release, submit and fetch back; then look that there is one of each."""
    client = hashlib.sha256(arena.files["arena_cli.py"]).hexdigest()
    env = environment(hub, arena, folder)
    # A fresh copy has no replays of its own; those come last here.
    release = ["release", "collection", "--repo", REPO, "--without-replays", "--trust", client]
    for step in (release, release, ["try", REPO, "--yes", *words]):
        if code := call(step, env=env, cwd=folder):
            return code
    commits, submissions = len(hub.repos[REPO].commits) - 1, len(arena.environments)
    if (commits, submissions) != (1, 1):
        print(f"rehearsal: {commits} commits and {submissions} submissions, where one of each was due")
        return 1
    print("\nRehearsed: one commit, one submission, and no second one when the release was repeated.")
    return 0


def environment(hub: Hub, arena: ArenaState, folder: Path) -> dict[str, str]:
    """Return what the commands run in: this machine's own token and caches are out of it."""
    own = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "HUGGING"))}
    return own | {
        "HF_ENDPOINT": hub.url,
        "HF_TOKEN": TOKEN,
        "HF_HOME": str(folder / "hf"),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "XDG_CACHE_HOME": str(folder / "cache"),
        "ARENA_URL": arena.url,
    }


def call(words: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> int:
    """Show a command, run it, and return its exit code."""
    print(f"\n$ seatrials {' '.join(words)}", flush=True)
    return subprocess.run(
        [sys.executable, "-m", "seatrials", *words], env=dict(env), cwd=cwd, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
