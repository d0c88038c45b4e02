"""Downloads by commit, as plain files: ``$XDG_CACHE_HOME/seatrials/hub/OWNER/NAME/COMMIT``.

What is wanted comes in units: a folder (a task) or a single file. A unit is
downloaded beside that folder, in ``COMMIT.partial``, compared with the hashes
that the Hub lists, and moved into place in one step. So what is in ``COMMIT``
is whole; an interrupted download goes on with the files that are missing, and
a unit that is there and unchanged is used again. The Hub client's own cache is
not used: it is made of links that lead out of a task's folder.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from seatrials.errors import CannotJudgeError, RefusedError
from seatrials.fetch.listing import AGAIN, RemoteFile, Snapshot, refuse_hostile
from seatrials.hub_client import DATASET, explained
from seatrials.places import cache_home

if TYPE_CHECKING:
    from huggingface_hub import HfApi

WORKERS: Final = 8
"""Downloads at a time, as many as the Hub's client takes by default."""

_CHUNK: Final = 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How far a download is: files and bytes done, of those that are to come."""

    files: int
    of_files: int
    bytes: int
    of_bytes: int


Watch = Callable[[Progress], None]


def cache_folder() -> Path:
    """Return where data sets are kept for this user; CannotJudgeError where there is no home for them."""
    home = cache_home()
    if home is None:
        raise CannotJudgeError("this user has no home folder; set `XDG_CACHE_HOME`")
    return home / "seatrials" / "hub"


def repo_folder(repo: str, *, cache: Path | None = None) -> Path:
    """Return the folder of a data set, which holds its commits."""
    return (cache or cache_folder()) / repo


def download(
    api: "HfApi",
    snapshot: Snapshot,
    units: Sequence[str],
    *,
    cache: Path | None = None,
    watch: Watch = lambda _: None,
) -> Path:
    """Bring folders and files of a data set here, and return the folder of its commit.

    Raises RefusedError for names that are hostile and where a link lies in the
    way, and CannotJudgeError where the Hub can't be reached, a file comes out
    damaged, or this machine can't store it.
    """
    wanted = {
        unit: {path: snapshot.files[path] for path in paths}
        for unit, paths in snapshot.grouped(units).items()
    }
    refuse_hostile(snapshot, (path for files in wanted.values() for path in files))
    base = repo_folder(snapshot.repo, cache=cache)
    whole, partial = base / snapshot.commit, base / f"{snapshot.commit}.partial"
    try:
        _make_real(base, above=(cache or cache_folder()))
        with _locked(base / ".lock"):
            for folder in (whole, partial):
                _refuse_link(folder)
            missing = {unit: files for unit, files in wanted.items() if not _is_whole(whole, unit, files)}
            if missing:
                _fetch(api, snapshot, missing, partial, watch)
                for unit, files in missing.items():
                    _place(partial, whole, unit, files)
                shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        if error.filename is None:
            raise
        raise CannotJudgeError(f"`{error.filename}` can't be written: {error.strerror}") from error
    return whole


def _fetch(
    api: "HfApi",
    snapshot: Snapshot,
    units: dict[str, dict[str, RemoteFile]],
    partial: Path,
    watch: Watch,
) -> None:
    partial.mkdir(exist_ok=True)
    for unit, files in units.items():
        _clear_foreign(partial, unit, files)
    todo = [file for files in units.values() for file in files.values() if not _is_good(partial, file)]
    meter = _Meter(files=len(todo), size=sum(file.size for file in todo), watch=watch)
    bar = _bar(meter)
    pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="fetch")
    try:
        with explained(snapshot.repo, again=AGAIN, reading=True):
            jobs = [pool.submit(_bring, api, snapshot, file, partial, bar) for file in todo]
            for job in as_completed(jobs):
                job.result()
                meter.file_done()
    finally:
        meter.stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _bring(api: "HfApi", snapshot: Snapshot, file: RemoteFile, partial: Path, bar: Any) -> None:
    """Download one file, and once more where it comes out otherwise than listed."""
    for again in (False, True):
        api.hf_hub_download(
            snapshot.repo,
            file.path,
            repo_type=DATASET,
            revision=snapshot.commit,
            local_dir=partial,
            force_download=again,
            tqdm_class=bar,
        )
        if _is_good(partial, file):
            return
        (partial / file.path).unlink(missing_ok=True)
    raise CannotJudgeError(
        f"`{file.path}` of `{snapshot.repo}` came out otherwise than the Hub lists it, twice"
    )


class _Stopped(Exception):  # noqa: N818 - reads as what happened
    """The download was given up meanwhile."""


class _Meter:
    """Adds up what the threads of a download report; `stop` ends them."""

    def __init__(self, *, files: int, size: int, watch: Watch) -> None:
        self.stop = threading.Event()
        self._lock = threading.Lock()
        self._of_files, self._of_bytes = files, size
        self._files = self._bytes = 0
        self._watch = watch

    def add(self, size: int) -> None:
        """Take note of bytes; raises where the download was given up."""
        if self.stop.is_set():
            raise _Stopped
        with self._lock:
            self._bytes += size

    def file_done(self) -> None:
        """Take note of a file, and tell."""
        self._files += 1
        self._watch(
            Progress(
                files=self._files,
                of_files=self._of_files,
                bytes=min(self._bytes, self._of_bytes),
                of_bytes=self._of_bytes,
            )
        )


def _bar(meter: _Meter) -> Any:
    """Return a progress bar, as the client wants one, that shows nothing and tells the meter."""
    from huggingface_hub import utils

    # The client gives its bar classes no types.
    plain: Any = getattr(utils, "tqdm")  # noqa: B009 - mypy takes it for private

    class Bar(plain):  # type: ignore[misc]
        # Else every class of bars has a thread of its own that looks after them, to the end of the process.
        monitor_interval = 0

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **{**options, "disable": True})

        def update(self, n: float | None = 1) -> bool | None:
            meter.add(int(n or 0))
            return None

    return Bar


# What is on disk


def _is_whole(root: Path, unit: str, files: dict[str, RemoteFile]) -> bool:
    """Say whether a unit is there: all of its files as listed, nothing else, and no link."""
    for folder in _parents(root, unit):
        _refuse_link(folder)
    top = root / unit
    if unit in files:
        return _is_good(root, files[unit])
    try:
        there = set(_walk(top))
    except OSError:
        return False
    return there == set(_below(root, files)) and all(_is_good(root, file) for file in files.values())


def _below(root: Path, files: dict[str, RemoteFile]) -> Iterator[Path]:
    for path in files:
        yield root / path


def _walk(folder: Path) -> Iterator[Path]:
    """Yield all that a folder holds, folders apart; links are not followed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(Path(entry.path))
            else:
                yield Path(entry.path)


def _is_good(root: Path, file: RemoteFile) -> bool:
    """Say whether a file is there, plain, with the content that the Hub lists."""
    path = root / file.path
    try:
        info = path.lstat()
        if not stat.S_ISREG(info.st_mode) or info.st_size != file.size:
            return False
        algorithm = (
            hashlib.sha256() if file.in_lfs else hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)
        )
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as stream:
            while chunk := stream.read(_CHUNK):
                algorithm.update(chunk)
    except OSError:
        return False
    return algorithm.hexdigest() == file.digest


def _clear_foreign(partial: Path, unit: str, files: dict[str, RemoteFile]) -> None:
    """Take out of an unfinished unit what does not belong to it, and refuse links in the way."""
    for folder in _parents(partial, unit):
        _refuse_link(folder)
    top = partial / unit
    if unit in files or not top.is_dir():
        return
    _refuse_link(top)
    wanted = set(_below(partial, files))
    for path in list(_walk(top)):
        if path not in wanted or path.is_symlink():
            path.unlink()


def _place(partial: Path, whole: Path, unit: str, files: dict[str, RemoteFile]) -> None:
    """Move a finished unit into place; what was there in its stead goes."""
    if not _is_whole(partial, unit, files):
        raise CannotJudgeError(f"`{partial / unit}` was changed meanwhile; run the same command again")
    target = whole / unit
    _make_real(target.parent, above=whole.parent)
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    elif os.path.lexists(target):
        target.unlink()
    (partial / unit).rename(target)


def _parents(root: Path, unit: str) -> Iterator[Path]:
    parts = unit.split("/")
    yield root
    for end in range(1, len(parts)):
        yield root.joinpath(*parts[:end])


def _make_real(folder: Path, *, above: Path) -> None:
    """Make a folder and those over it up to `above`, none of which may be a link."""
    above.mkdir(parents=True, exist_ok=True)
    here = above
    for part in folder.relative_to(above).parts:
        here = here / part
        _refuse_link(here)
        here.mkdir(exist_ok=True)


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise RefusedError(f"`{path}` is a link; nothing is written or read through one: take it away")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock, so that two downloads of one data set go one after the other."""
    _refuse_link(path)
    with path.open("a") as stream:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield
