"""The arena's content hashes beside what the Hub lists. Pure.

The arena takes a task's hash "over its sorted file paths and git blob IDs,
computed from the repository listing" (its guide, "Task credit metadata") and
doesn't say how those are joined, nor from where the paths count. `JOINS` are
the ways that are tried. Where none gives the arena's hash of any task, its way
is not known, and nothing follows about the content.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

Pairs = Sequence[tuple[str, str]]
"""Paths with git blob ids, sorted by the paths' bytes."""

Join = Callable[[Pairs], str]

JOINS: Final[tuple[tuple[str, Join], ...]] = (
    ("PATH NUL ID LF", lambda pairs: "".join(f"{path}\0{blob}\n" for path, blob in pairs)),
    ("PATH NUL ID NUL", lambda pairs: "".join(f"{path}\0{blob}\0" for path, blob in pairs)),
    ("PATH SPACE ID LF", lambda pairs: "".join(f"{path} {blob}\n" for path, blob in pairs)),
    ("PATH TAB ID LF", lambda pairs: "".join(f"{path}\t{blob}\n" for path, blob in pairs)),
    ("PATH:ID LF", lambda pairs: "".join(f"{path}:{blob}\n" for path, blob in pairs)),
    ("PATH NUL ID, LF between", lambda pairs: "\n".join(f"{path}\0{blob}" for path, blob in pairs)),
    ("PATH SPACE ID, LF between", lambda pairs: "\n".join(f"{path} {blob}" for path, blob in pairs)),
    ("PATH:ID, LF between", lambda pairs: "\n".join(f"{path}:{blob}" for path, blob in pairs)),
    ("ID SPACE PATH LF", lambda pairs: "".join(f"{blob} {path}\n" for path, blob in pairs)),
    ("ID 2 SPACES PATH LF", lambda pairs: "".join(f"{blob}  {path}\n" for path, blob in pairs)),
    ("PATH ID, nothing between", lambda pairs: "".join(f"{path}{blob}" for path, blob in pairs)),
    ("JSON list of pairs", lambda pairs: json.dumps([list(pair) for pair in pairs])),
    ("JSON list of pairs, compact", lambda pairs: json.dumps([*map(list, pairs)], separators=(",", ":"))),
    ("JSON object", lambda pairs: json.dumps(dict(pairs), sort_keys=True)),
    ("JSON object, compact", lambda pairs: json.dumps(dict(pairs), sort_keys=True, separators=(",", ":"))),
)
"""Ways to join a task's paths and blob ids, ours first; each by a name that says how."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Listing:
    """A task as the Hub lists it: blob ids by path in its folder, and the folder's path in the repository.

    `listed` has the ids of the list, which of a file in LFS is its pointer's;
    `content` those of the files themselves.
    """

    folder: str
    listed: Mapping[str, str]
    content: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """What comparing hashes gives.

    `compared` counts the tasks that both have. `way` says how the arena joins,
    None where no way fits any task; `same` and `other` are the tasks whose hash
    is ours, or another. `absent` are tasks of ours that the arena has no hash
    of, `more` those that only the arena has.
    """

    compared: int

    way: str | None
    same: tuple[str, ...]
    other: tuple[str, ...]
    absent: tuple[str, ...]
    more: tuple[str, ...]


def compare(theirs: Mapping[str, str], ours: Mapping[str, Listing], *, entry_path: str = "") -> Identity:
    """Compare the arena's hashes with those of the tasks as the Hub lists them, both by folder name.

    `entry_path` is the collection's folder in the repository.
    """
    both = sorted(set(theirs) & set(ours))
    way: str | None = None
    same: list[str] = []
    for tried, hashed in _ways(entry_path):
        fits = [task for task in both if _bare(theirs[task]) == hashed(ours[task])]
        if len(fits) > len(same):
            way, same = tried, fits
        if len(same) == len(both):
            break
    return Identity(
        compared=len(both),
        way=way,
        same=tuple(same),
        other=tuple(task for task in both if task not in same) if way is not None else (),
        absent=tuple(sorted(set(ours) - set(theirs))),
        more=tuple(sorted(set(theirs) - set(ours))),
    )


def _ways(entry_path: str) -> list[tuple[str, Callable[[Listing], str]]]:
    """Return each join, from each folder that paths may count from, with either kind of ids."""
    collection = f"{entry_path}/" if entry_path else ""
    bases: list[tuple[str, Callable[[Listing], str]]] = [
        ("from the task", lambda _: ""),
        ("from the collection", lambda task: f"{task.folder.removeprefix(collection)}/"),
        ("from the repository", lambda task: f"{task.folder}/"),
    ]
    return [
        (f"{name}, paths {base}, {of}", _hasher(join, prefix, kind))
        for kind, of in (("listed", "ids as listed"), ("content", "ids of the content"))
        for base, prefix in bases
        for name, join in JOINS
    ]


def _hasher(join: Join, prefix: Callable[[Listing], str], kind: str) -> Callable[[Listing], str]:
    def hashed(task: Listing) -> str:
        blobs = task.listed if kind == "listed" else task.content
        before = prefix(task)
        pairs = sorted(
            ((before + path, blob) for path, blob in blobs.items()), key=lambda pair: pair[0].encode()
        )
        return hashlib.sha256(join(pairs).encode()).hexdigest()

    return hashed


def _bare(value: str) -> str:
    return value.removeprefix("sha256:").lower()
