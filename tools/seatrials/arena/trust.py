"""Which of the arena's scripts a person said may run here: each by the hash of its content.

What is run is what was asked about. The answer is kept per URL, the script by
its hash, below ``$XDG_CACHE_HOME/seatrials/arena`` (``~/.cache`` without it)::

    trusted/DIGEST-OF-URL.json     {"url": ..., "sha256": ...}
    files/SHA256/arena_cli.py      the script, for its owner to read
"""

import hashlib
import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seatrials.arena import kept
from seatrials.arena.site import Site, fetch
from seatrials.errors import CannotJudgeError, RefusedError, UsageError
from seatrials.places import cache_home

_SHA: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Offer:
    """A script that is asked about: its URL, its content's sha256 and bytes, the hash trusted before."""

    url: str
    sha256: str
    size: int
    before: str | None


Ask = Callable[[Offer], bool]
"""Asks a person whether a script may run here."""


def default_folder() -> Path:
    """Return where trusted scripts are kept for this user; UsageError where there is no home for them."""
    home = cache_home()
    if home is None:
        raise UsageError("no home folder to keep the arena's client in; set `XDG_CACHE_HOME`")
    return home / "seatrials" / "arena"


def hashes_of(words: Collection[str]) -> frozenset[str]:
    """Return the hashes that a person named; UsageError for what is none."""
    hashes = frozenset(word.strip().lower().removeprefix("sha256:") for word in words)
    for word in hashes:
        if not _SHA.fullmatch(word):
            raise UsageError(f"`--trust {word}` must be a sha256: 64 hex digits")
    return hashes


class Trust:
    """The scripts that may run, as kept in a folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder if folder is not None else default_folder()

    def trusted(
        self,
        site: Site,
        name: str,
        *,
        ask: Ask | None = None,
        accept: Collection[str] = (),
        say: Callable[[str], None] | None = None,
    ) -> Path:
        """Fetch a script, make sure that a person trusts it, and return the kept file, verified.

        Where `accept` names hashes, exactly these are taken and nothing is
        asked. Else a hash that was not trusted under this URL is asked about;
        without `ask` (no terminal) it is refused. Where the arena can't be
        reached, the script trusted before is used, and `say` tells.
        """
        url = site.address(name)
        before = self._before(url)
        try:
            data = fetch(site, name)
        except CannotJudgeError as error:
            if before is None or (accept and before not in accept) or not self._intact(before, name):
                raise
            if say is not None:
                say(f"{error}; using the `{name}` trusted before")
            return self._path(before, name)
        sha = hashlib.sha256(data).hexdigest()
        offer = Offer(url=url, sha256=sha, size=len(data), before=before)
        if accept:
            if sha not in accept:
                raise RefusedError(
                    f"`{url}` is now sha256 {sha}, which `--trust` does not name; nothing was run"
                )
        elif sha != before:
            _asked(offer, ask)
        if not self._intact(sha, name):
            self._keep(sha, name, data)
        if sha != before:
            self._remember(url, sha)
        return self._path(sha, name)

    def verified(self, path: Path) -> Path:
        """Return a kept script; RefusedError where its content is no longer that of its hash."""
        if not self._intact(path.parent.name, path.name):
            raise RefusedError(f"`{path}` was changed after it was trusted; delete it and try again")
        return path

    def _path(self, sha: str, name: str) -> Path:
        return self._folder / "files" / sha / name

    def _intact(self, sha: str, name: str) -> bool:
        path = self._path(sha, name)
        try:
            return not path.is_symlink() and hashlib.sha256(path.read_bytes()).hexdigest() == sha
        except OSError:
            return False

    def _keep(self, sha: str, name: str, data: bytes) -> None:
        path = self._path(sha, name)
        _prepare(path.parent)
        kept.write(path, data, private=True)

    def _note(self, url: str) -> Path:
        return self._folder / "trusted" / f"{hashlib.sha256(url.encode()).hexdigest()[:32]}.json"

    def _before(self, url: str) -> str | None:
        """Return the hash trusted under a URL; None for none, and for a note that is damaged."""
        try:
            note = json.loads(self._note(url).read_bytes())
        except (OSError, ValueError):
            return None
        match note:
            case {"url": str(noted), "sha256": str(sha)} if noted == url and _SHA.fullmatch(sha):
                return sha
            case _:
                return None

    def _remember(self, url: str, sha: str) -> None:
        note = self._note(url)
        _prepare(note.parent)
        kept.write(note, kept.as_json({"url": url, "sha256": sha}), private=True)


def _asked(offer: Offer, ask: Ask | None) -> None:
    what = "is not trusted yet" if offer.before is None else f"has changed (it was sha256 {offer.before})"
    if ask is None:
        raise RefusedError(
            f"`{offer.url}`, {offer.size} bytes, sha256 {offer.sha256}, {what}; read it, then allow exactly"
            f" it with `--trust {offer.sha256}`"
        )
    if not ask(offer):
        raise RefusedError(f"`{offer.url}` {what}; nothing was run")


def _prepare(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"`{folder}` can't be made: {error.strerror}") from None
