"""Downloads with the real client from a Hub on loopback: whole or not there, never through a link."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hub import Fault, Hub

from seatrials.errors import CannotJudgeError, NoIdentityError, RefusedError
from seatrials.fetch.download import WORKERS, Progress, download
from seatrials.fetch.listing import Snapshot, address_of, snapshot_of
from seatrials.hub_client import connect

REPO = "ada/sums"
FILES = {
    "README.md": b"# Sums\n",
    "envs/x/task.md": b"x",
    "envs/x/environment/big.bin": bytes(range(256)) * 40_000,
    "envs/y/task.md": b"y",
}


def seen(revision: str = "main") -> Snapshot:
    """Return what the Hub lists."""
    return snapshot_of(connect(anonymous=True), address_of(f"{REPO}@{revision}"))


def brought(snapshot: Snapshot, cache: Path, *units: str) -> Path:
    """Download units, as the kit does."""
    return download(
        connect(anonymous=True), snapshot, units or ("envs/x", "envs/y", "README.md"), cache=cache
    )


def content(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_download_is_plain_files_by_commit(hub: Hub, tmp_path: Path) -> None:
    """What is wanted lies under the commit as plain files, large ones too, and nothing else."""
    repo = hub.seed(REPO, {**FILES, "data/tasks.parquet": b"PAR1"})
    progress: list[Progress] = []
    folder = download(
        connect(anonymous=True), seen(), ["envs/x", "README.md"], cache=tmp_path, watch=progress.append
    )
    assert folder == tmp_path / REPO / repo.head
    assert content(folder) == {path: data for path, data in FILES.items() if not path.startswith("envs/y")}
    assert not any(path.is_symlink() for path in folder.rglob("*"))
    assert not (tmp_path / REPO / f"{repo.head}.partial").exists()
    assert progress[-1].files == progress[-1].of_files == 3
    assert progress[-1].bytes == progress[-1].of_bytes > 10_000_000


def test_download_leaves_no_thread_behind(hub: Hub, tmp_path: Path) -> None:
    """However many files there are, no thread of the client's stays for each of them."""
    hub.seed(REPO, {f"envs/x/{number}.txt": b"%d" % number for number in range(40)})
    before = threading.active_count()
    brought(seen(), tmp_path, "envs/x")
    # The server's own threads for open connections are as many as the download's workers at most.
    assert threading.active_count() - before <= 2 * WORKERS


def test_what_is_there_is_not_downloaded_again(hub: Hub, tmp_path: Path) -> None:
    """A second call downloads nothing; one that wants more downloads the rest."""
    hub.seed(REPO, FILES)
    brought(seen(), tmp_path, "envs/x")
    hub.given.clear()
    brought(seen(), tmp_path, "envs/x")
    assert hub.given == []
    brought(seen(), tmp_path)
    assert set(hub.given) == {"envs/y/task.md", "README.md"}


@pytest.mark.parametrize("harm", ["change", "add", "take", "link"])
def test_what_was_changed_is_downloaded_anew(harm: str, hub: Hub, tmp_path: Path) -> None:
    """A task that was touched since is taken anew, and no file is written through a link in it."""
    hub.seed(REPO, FILES)
    folder = brought(seen(), tmp_path)
    outside = tmp_path / "outside"
    outside.write_bytes(b"mine")
    target = folder / "envs/x/task.md"
    match harm:
        case "change":
            target.write_bytes(b"z")
        case "add":
            (folder / "envs/x/more").write_bytes(b"")
        case "take":
            target.unlink()
        case "link":
            target.unlink()
            target.symlink_to(outside)
    brought(seen(), tmp_path)
    assert content(folder) == FILES
    assert outside.read_bytes() == b"mine"


@pytest.mark.parametrize("where", ["", "COMMIT", "COMMIT.partial", "COMMIT/envs", "COMMIT.partial/envs"])
def test_link_in_the_way_is_refused(where: str, hub: Hub, tmp_path: Path) -> None:
    """Nothing is written through a linked folder: it is named, and what it leads to stays as it is."""
    repo = hub.seed(REPO, FILES)
    outside = tmp_path / "outside"
    outside.mkdir()
    link = tmp_path / "cache" / REPO / where.replace("COMMIT", repo.head)
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    with pytest.raises(RefusedError, match="is a link"):
        brought(seen(), tmp_path / "cache")
    assert list(outside.iterdir()) == []


def test_damaged_answer_is_asked_for_again(hub: Hub, tmp_path: Path) -> None:
    """A file that comes out otherwise than listed is asked for once more; twice is an error."""
    hub.seed(REPO, FILES)
    spoil = Fault(method="GET", path="/resolve/.*/envs/y/task.md", status=0, spoil=b"z")
    hub.faults.append(spoil)
    assert content(brought(seen(), tmp_path / "a")) == FILES
    spoil.times = 2
    with pytest.raises(CannotJudgeError, match=r"`envs/y/task.md` .* otherwise than the Hub lists"):
        brought(seen(), tmp_path / "b")
    assert not (tmp_path / "b" / REPO / hub.repos[REPO].head / "envs" / "y").exists()


def test_interrupted_download_goes_on(hub: Hub, tmp_path: Path) -> None:
    """After a line that broke in one file, the next call asks for what is missing only."""
    hub.seed(REPO, FILES)
    hub.faults.append(Fault(method="GET", path="/big.bin", status=0, cut=0, times=10))
    with pytest.raises(CannotJudgeError, match="can't be reached"):
        brought(seen(), tmp_path)
    hub.faults.clear()
    assert not (tmp_path / REPO / hub.repos[REPO].head / "envs" / "x").exists()
    partial = tmp_path / REPO / f"{hub.repos[REPO].head}.partial"
    arrived = {path for path in content(partial) if path in FILES}
    hub.given.clear()
    assert content(brought(seen(), tmp_path)) == FILES
    assert not arrived & set(hub.given)


CALL = """
import sys
import threading
from pathlib import Path
from seatrials.fetch.download import download
from seatrials.fetch.listing import address_of, snapshot_of
from seatrials.hub_client import connect
api = connect(anonymous=True)
seen = snapshot_of(api, address_of(sys.argv[1]))
download(api, seen, ["envs/x", "envs/y", "README.md"], cache=Path(sys.argv[2]))
"""


@pytest.mark.parametrize("number", range(1, 9))
def test_killed_download_leaves_whole_tasks_only(number: int, hub: Hub, tmp_path: Path) -> None:
    """Killed at any request, a download leaves each task whole or not at all, and the next one ends it."""
    hub.seed(REPO, FILES)
    process = subprocess.Popen([sys.executable, "-c", CALL, REPO, str(tmp_path)], stderr=subprocess.DEVNULL)
    hub.faults.append(Fault(method=".", path=".", status=0, skip=number - 1, action=process.kill))
    assert process.wait(60) == -signal.SIGKILL
    with hub.lock:
        hub.faults.clear()
    whole = tmp_path / REPO / hub.repos[REPO].head
    for task in ("envs/x", "envs/y"):
        there = {path for path in content(whole) if path.startswith(task)}
        assert there in (set(), {path for path in FILES if path.startswith(task)})
    assert content(brought(seen(), tmp_path)) == FILES


def test_list_that_leads_out_is_refused_whole(hub: Hub, tmp_path: Path) -> None:
    """One path with `..` anywhere in the list, and nothing is downloaded."""
    hub.seed(REPO, {**FILES, "data/../../../evil": b"e"})
    with pytest.raises(RefusedError, match="leads out of its folder"):
        seen()
    hub.seed(REPO, {**FILES, "envs/x/.git/config": b"[core]\nfsmonitor = touch /tmp/x\n"})
    with pytest.raises(RefusedError, match=r"`\.git`"):
        brought(seen(), tmp_path)
    assert hub.given == []


def test_moved_branch_keeps_the_commit(hub: Hub, tmp_path: Path) -> None:
    """What was resolved once stays: a commit that comes meanwhile changes nothing."""
    repo = hub.seed(REPO, FILES)
    snapshot = seen()
    first = repo.head
    repo.add({**repo.files, "envs/x/task.md": b"new"})
    assert (brought(snapshot, tmp_path) / "envs/x/task.md").read_bytes() == b"x"
    assert snapshot.commit == first
    assert (brought(seen(), tmp_path) / "envs/x/task.md").read_bytes() == b"new"
    assert (brought(seen(first), tmp_path) / "envs/x/task.md").read_bytes() == b"x"


def test_public_set_needs_no_token(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a token a public set is read, and a private one is told as missing or private."""
    hub.seed(REPO, FILES)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    assert content(brought(seen(), tmp_path)) == FILES
    hub.repos[REPO].private = True
    with pytest.raises(RefusedError, match="private and only for those who log in"):
        seen()


def test_gated_set_says_where_to_ask(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gated set names the page on which access is asked for."""
    hub.seed("bob/sums", FILES).gated = True
    api = connect(anonymous=True)
    snapshot = snapshot_of(api, address_of("bob/sums"))
    with pytest.raises(RefusedError, match=r"is gated.*datasets/bob/sums"):
        download(api, snapshot, ["envs/x"], cache=tmp_path)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    with pytest.raises(NoIdentityError, match="log in"):
        download(connect(anonymous=True), snapshot, ["envs/x"], cache=tmp_path)


def test_full_disk_is_told(hub: Hub, tmp_path: Path) -> None:
    """A folder that can't be written gives one line that names it."""
    hub.seed(REPO, FILES)
    (tmp_path / "ada").write_bytes(b"a file")
    with pytest.raises(CannotJudgeError, match=r"ada.* can't be written"):
        brought(seen(), tmp_path)
    assert os.listdir(tmp_path) == ["ada"]  # noqa: PTH208 - names only
