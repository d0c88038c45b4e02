"""``registry.json`` as Harbor 0.26.0 reads it (``harbor.models.registry.DatasetSpec``).

Harbor fills in the repository and the commit of tasks that name none, when it
reads the registry out of a repository (``harbor run --repo``).
"""

import json
from collections.abc import Sequence
from typing import Final

from seatrials.release.rows import TaskRow

REGISTRY: Final = "registry.json"
VERSION: Final = "head"
"""The version of a set that has no other than its commit; Harbor takes it where none is asked for."""


def registry(name: str, title: str, rows: Sequence[TaskRow], *, folder: str) -> str:
    """Return the registry of one set; `folder` is where its tasks are, from the repository's root."""
    spec = {
        "name": name,
        "version": VERSION,
        "description": title,
        "tasks": [{"name": row.folder, "path": f"{folder}/{row.folder}"} for row in rows],
    }
    return json.dumps([spec], indent=2, ensure_ascii=False) + "\n"
