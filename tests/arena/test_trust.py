"""Where the arena is, what is fetched from it, and what may run here."""

import hashlib
import json
import stat
from pathlib import Path

import pytest
from arena.server import ArenaState, Fault

from seatrials.arena.site import PUBLIC_URL, fetch, site_of
from seatrials.arena.trust import Offer, Trust, hashes_of
from seatrials.errors import CannotJudgeError, RefusedError, UsageError

CLIENT = "arena_cli.py"
LATER = 10**9


@pytest.mark.parametrize(
    ("text", "url"),
    [
        (None, PUBLIC_URL),
        ("", PUBLIC_URL),
        ("https://arena.test/", "https://arena.test"),
        ("https://arena.test/a/b/", "https://arena.test/a/b"),
        ("http://127.0.0.1:7860", "http://127.0.0.1:7860"),
        ("http://localhost", "http://localhost"),
        ("http://[::1]:80/", "http://[::1]:80"),
    ],
)
def test_good_urls(text: str | None, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """HTTPS anywhere, plain HTTP on loopback, the public Space without a word."""
    monkeypatch.delenv("ARENA_URL", raising=False)
    assert site_of(text).url == url


@pytest.mark.parametrize(
    "text",
    [
        "http://arena.test", "http://127.0.0.2", "http://localhost.evil.test", "ftp://127.0.0.1", "arena",
        "https://", "https://ada:pa55word@arena.test", "https://pa55word@arena.test", "https://a.test/?x=1",
        "https://a.test/#x", "https://a.test:port", "https://a b", "https://a.test/\n", "file:///etc/passwd",
        "http://[::1", "http://localhost@pa55word.test",
    ],
)  # fmt: skip
def test_bad_urls(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anything else is refused in one line that names the variable and no credential."""
    monkeypatch.setenv("ARENA_URL", text)
    if text.endswith("\n"):
        text = text.replace("\n", "\n/x")
        monkeypatch.setenv("ARENA_URL", text)
    with pytest.raises(UsageError, match="`ARENA_URL`") as caught:
        site_of()
    assert "pa55word" not in str(caught.value)


@pytest.mark.parametrize("name", ["../secrets", "a/b.py", "", ".py", "a b.py", "a.py?x", "https://x"])
def test_only_plain_names_are_fetched(name: str) -> None:
    """A file's name can't lead elsewhere."""
    with pytest.raises(UsageError, match="plain name"):
        fetch(site_of("http://127.0.0.1:1"), name)


def test_file_is_fetched_whole(server: ArenaState) -> None:
    """What is served is what comes; no token goes along."""
    server.files["check_task.py"] = b"print('hello')\n"
    assert fetch(site_of(), "check_task.py") == b"print('hello')\n"
    assert server.requests == [("GET", "/check_task.py", False)]


@pytest.mark.parametrize(
    ("fault", "kind", "word"),
    [
        (
            Fault("GET", "/arena_cli.py", 302, b"", {"Location": "https://evil.test/"}),
            RefusedError,
            "redirect",
        ),
        (Fault("GET", "/arena_cli.py", 404, b"none"), RefusedError, "not there"),
        (Fault("GET", "/arena_cli.py", 502), CannotJudgeError, "briefly"),
        (Fault("GET", "/arena_cli.py", 200), CannotJudgeError, "web page"),
        (Fault("GET", "/arena_cli.py", 200, b""), RefusedError, "empty"),
        (Fault("GET", "/arena_cli.py", 200, b"\xff\xfe"), RefusedError, "UTF-8"),
        (Fault("GET", "/arena_cli.py", 200, b"x" * 70_000), RefusedError, "over"),
        (Fault("GET", "/arena_cli.py", cut=True), CannotJudgeError, "cut off"),
        (Fault("GET", "/arena_cli.py", lost=True), CannotJudgeError, "can't be reached|broke off"),
        (Fault("GET", "/arena_cli.py", delay=20.0), CannotJudgeError, "over 1 s|can't be reached"),
    ],
    ids=["redirect", "404", "502", "page", "empty", "binary", "large", "cut", "lost", "slow"],
)
def test_fetch_that_fails(fault: Fault, kind: type[Exception], word: str, server: ArenaState) -> None:
    """A redirect, an error, a web page, too much, too little or too late is one line, and no file."""
    server.faults.append(fault)
    with pytest.raises(kind, match=word) as caught:
        fetch(site_of(), CLIENT, seconds=1.0 if fault.delay else 30.0, limit=60_000)
    assert "\n" not in str(caught.value)


def test_nobody_there() -> None:
    """An arena that is not there is told so."""
    with pytest.raises(CannotJudgeError, match="can't be reached"):
        fetch(site_of("http://127.0.0.1:9"), CLIENT, seconds=10)


def test_first_time_is_asked_and_remembered(server: ArenaState, tmp_path: Path) -> None:
    """A person is shown URL, hash and size once; then the same script runs unasked."""
    offers: list[Offer] = []
    trust = Trust(tmp_path / "trust")
    path = trust.trusted(site_of(), CLIENT, ask=lambda offer: offers.append(offer) or True)
    data = server.files[CLIENT]
    sha = hashlib.sha256(data).hexdigest()
    assert offers == [Offer(url=f"{server.url}/{CLIENT}", sha256=sha, size=len(data), before=None)]
    assert path.read_bytes() == data
    assert path == tmp_path / "trust" / "files" / sha / CLIENT
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert trust.trusted(site_of(), CLIENT) == path


def test_change_is_asked_again(server: ArenaState, tmp_path: Path) -> None:
    """A script that changed is asked about with the hash trusted before; a no leaves things as they were."""
    trust = Trust(tmp_path / "trust")
    first = trust.trusted(site_of(), CLIENT, ask=lambda offer: True)
    server.files[CLIENT] += b"# more\n"
    offers: list[Offer] = []
    with pytest.raises(RefusedError, match="has changed"):
        trust.trusted(site_of(), CLIENT, ask=lambda offer: offers.append(offer) or False)
    assert offers[0].before == first.parent.name
    with pytest.raises(RefusedError, match="has changed"):
        trust.trusted(site_of(), CLIENT)
    second = trust.trusted(site_of(), CLIENT, ask=lambda offer: True)
    assert second.parent.name != first.parent.name
    assert trust.trusted(site_of(), CLIENT) == second


def test_without_a_terminal_the_refusal_names_the_option(server: ArenaState, tmp_path: Path) -> None:
    """Nobody to ask: the line has the URL, the hash and the option that takes exactly this file."""
    trust = Trust(tmp_path / "trust")
    sha = hashlib.sha256(server.files[CLIENT]).hexdigest()
    with pytest.raises(RefusedError, match=f"--trust {sha}") as caught:
        trust.trusted(site_of(), CLIENT)
    assert f"{server.url}/{CLIENT}" in str(caught.value)
    assert trust.trusted(site_of(), CLIENT, accept=hashes_of([sha.upper()])).is_file()
    assert trust.trusted(site_of(), CLIENT).is_file()


def test_named_hash_takes_exactly_that_file(server: ArenaState, tmp_path: Path) -> None:
    """Another file than the named one is refused, though it was trusted before and somebody would say yes."""
    trust = Trust(tmp_path / "trust")
    trust.trusted(site_of(), CLIENT, ask=lambda offer: True)
    with pytest.raises(RefusedError, match="does not name"):
        trust.trusted(site_of(), CLIENT, ask=lambda offer: True, accept=hashes_of(["0" * 64]))


@pytest.mark.parametrize("word", ["", "abc", "0" * 63, "g" * 64])
def test_named_hash_must_be_one(word: str) -> None:
    """A prefix of a hash names no file."""
    with pytest.raises(UsageError, match="64 hex digits"):
        hashes_of([word])


def test_trust_is_per_url(server: ArenaState, tmp_path: Path) -> None:
    """The same script at another address is asked about anew."""
    trust = Trust(tmp_path / "trust")
    trust.trusted(site_of(), CLIENT, ask=lambda offer: True)
    with pytest.raises(RefusedError, match="not trusted yet"):
        trust.trusted(site_of(server.url.replace("127.0.0.1", "localhost")), CLIENT)


def test_damaged_file_is_kept_anew(server: ArenaState, tmp_path: Path) -> None:
    """A kept script whose content changed is never run: it is fetched again, and refused meanwhile."""
    trust = Trust(tmp_path / "trust")
    path = trust.trusted(site_of(), CLIENT, ask=lambda offer: True)
    path.write_bytes(b"raise SystemExit('evil')\n")
    with pytest.raises(RefusedError, match="was changed"):
        trust.verified(path)
    assert trust.verified(trust.trusted(site_of(), CLIENT)).read_bytes() == server.files[CLIENT]


def test_link_in_its_place_is_not_run(server: ArenaState, tmp_path: Path) -> None:
    """A symbolic link where the script was kept is replaced by the script."""
    trust = Trust(tmp_path / "trust")
    path = trust.trusted(site_of(), CLIENT, ask=lambda offer: True)
    (tmp_path / "copy").write_bytes(server.files[CLIENT])
    path.unlink()
    path.symlink_to(tmp_path / "copy")
    with pytest.raises(RefusedError, match="was changed"):
        trust.verified(path)
    assert not trust.trusted(site_of(), CLIENT).is_symlink()


@pytest.mark.parametrize("note", [b"", b"[]", b"{", b'{"url": "https://x", "sha256": "0"}'])
def test_damaged_note_is_asked_again(note: bytes, server: ArenaState, tmp_path: Path) -> None:
    """A note that can't be read trusts nothing."""
    trust = Trust(tmp_path / "trust")
    trust.trusted(site_of(), CLIENT, ask=lambda offer: True)
    [path] = (tmp_path / "trust" / "trusted").iterdir()
    path.write_bytes(note)
    with pytest.raises(RefusedError, match="not trusted yet"):
        trust.trusted(site_of(), CLIENT)


def test_arena_that_is_away_leaves_the_trusted_script(server: ArenaState, tmp_path: Path) -> None:
    """While the arena can't be reached, the script trusted before is used, and that is told."""
    trust = Trust(tmp_path / "trust")
    server.faults.append(Fault("GET", "/arena_cli.py", 502, times=LATER))
    with pytest.raises(CannotJudgeError):
        trust.trusted(site_of(), CLIENT, ask=lambda offer: True)
    server.faults.clear()
    path = trust.trusted(site_of(), CLIENT, ask=lambda offer: True)
    server.faults.append(Fault("GET", "/arena_cli.py", 502, times=LATER))
    said: list[str] = []
    assert trust.trusted(site_of(), CLIENT, say=said.append) == path
    assert "trusted before" in said[0]
    with pytest.raises(CannotJudgeError):
        trust.trusted(site_of(), CLIENT, accept=hashes_of(["0" * 64]))


def test_other_files_go_the_same_way(server: ArenaState, tmp_path: Path) -> None:
    """Any file that the arena serves is fetched, asked about and kept alike."""
    server.files["validation_gates.py"] = b"print('gates')\n"
    trust = Trust(tmp_path / "trust")
    path = trust.trusted(site_of(), "validation_gates.py", ask=lambda offer: True)
    assert (path.name, path.read_bytes()) == ("validation_gates.py", b"print('gates')\n")


def test_note_holds_url_and_hash_alone(server: ArenaState, tmp_path: Path) -> None:
    """What is remembered is which hash was trusted where."""
    trust = Trust(tmp_path / "trust")
    path = trust.trusted(site_of(), CLIENT, ask=lambda offer: True)
    [note] = (tmp_path / "trust" / "trusted").iterdir()
    assert json.loads(note.read_text("utf-8")) == {
        "url": f"{server.url}/{CLIENT}",
        "sha256": path.parent.name,
    }
