"""Where things are in a released set."""

import re
from dataclasses import dataclass
from typing import Final

from seatrials.errors import UsageError
from seatrials.task.collection import MANIFEST

CARD: Final = "README.md"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TAKEN: Final = frozenset({"data", "envs", "pictures", "tasks"})
_PICTURE: Final = re.compile(r"(?:difficulty|category)-[0-9a-f]{12}\.png")


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """The paths of one collection, from the repository's root.

    With a `name` all of it, the card apart, is in a folder of that name, so
    that several collections share a repository. `harbor` is Harbor's layout:
    tasks under ``tasks/``, and a ``registry.json``.
    """

    name: str = ""
    harbor: bool = False

    def __post_init__(self) -> None:
        """Raise UsageError for a name that can't be a folder of its own and a config's prefix."""
        if self.name and (not _NAME.fullmatch(self.name) or self.name.lower() in _TAKEN):
            raise UsageError(
                f"the name `{self.name}` must be up to 64 letters, digits, `-` and `_`, and none of"
                f" {', '.join(sorted(_TAKEN))}"
            )

    @property
    def prefix(self) -> str:
        """What all paths but the card's begin with."""
        return f"{self.name}/" if self.name else ""

    @property
    def tasks(self) -> str:
        """The folder of the tasks."""
        return self.prefix + ("tasks" if self.harbor else "envs")

    @property
    def manifest(self) -> str:
        """The collection's manifest."""
        return self.prefix + MANIFEST

    @property
    def registry(self) -> str:
        """Harbor's list of tasks."""
        return f"{self.prefix}registry.json"

    @property
    def summary(self) -> str:
        """One row per task to choose by, without the prompts."""
        return f"{self.prefix}manifest.parquet"

    @property
    def pictures(self) -> str:
        """The folder of the card's pictures."""
        return f"{self.prefix}pictures"

    def is_picture(self, path: str) -> bool:
        """Say whether a path is a picture of ours; its name tells all that it shows."""
        folder, _, name = path.rpartition("/")
        return folder == self.pictures and _PICTURE.fullmatch(name) is not None

    def table(self, which: str) -> str:
        """The table of a config, ``tasks`` or ``replays``."""
        return f"{self.prefix}data/{which}.parquet"

    def config(self, which: str) -> str:
        """The name of a table's config."""
        return f"{self.name}_{which}" if self.name else which

    def owns(self, path: str) -> bool:
        """Say whether a path of the repository is this collection's to replace or to delete."""
        if self.name:
            return path.startswith(self.prefix)
        # Other tables and folders at the top are somebody else's.
        single = {self.table("tasks"), self.table("replays")}
        if self.harbor:
            single |= {self.registry, self.summary}
        return path in single or path.startswith(f"{self.tasks}/") or self.is_picture(path)
