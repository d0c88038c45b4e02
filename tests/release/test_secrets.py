"""The scan: each kind of secret in each kind of file stops the release; what only looks like one does not."""

import base64
import bz2
import gzip
import io
import json
import lzma
import os
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import yaml

from seatrials.cli import main
from seatrials.errors import CannotJudgeError, RefusedError, UsageError
from seatrials.release import contents, detectors
from seatrials.release.limits import check_limits
from seatrials.release.secrets import MACHINE, Allowance, allowances, known_here, known_of, scan

VALUE = 'q7"Zr\\v9-kP2xW4'
KNOWN = known_of({VALUE: "the value of the variable `A_TOKEN`"}, Path("/home/mara.lind"))

LETTERS = "kQzPwXyRtVbNmLsDfGhJcTqZrWxYvBnKpMdLgHsFjCkR"
DIGITS = "8351740962" * 3

# Put together here, so that no scanner takes this file for a leak.
SECRETS = {
    "hugging-face": "hf_" + LETTERS[:34],
    "anthropic": "sk-ant-" + "api03-" + (LETTERS * 3)[:93] + "AA",
    "openai": "sk-proj-" + LETTERS[:30] + "T3Blbk" + "FJ" + LETTERS[:30],
    "aws": "AKIA" + "Q3EGRZ7TWM5HJ2PB",
    "github": "ghp_" + LETTERS[:36],
    "gitlab": "glpat-" + LETTERS[:20],
    "slack": "xoxb-" + DIGITS[:12] + "-" + LETTERS[:24],
    "google": "AIza" + "Sy" + LETTERS[:33],
    "private-key": "-----BEGIN RSA " + "PRIVATE KEY-----\n" + (LETTERS * 2)[:64] + "\n",
    # Of makers without a kind of their own: what the library's detectors know.
    "token": "shpat" + "_5efaf89fc43c5fa52f8b2b19b8f89a50",
    "home-path": "/home/mara.lind/tasks",
    MACHINE: VALUE,
}


def zipped(content: str) -> bytes:
    """Return a zip archive with one file."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("notes/a.txt", content)
    return data.getvalue()


def tarred(content: str) -> bytes:
    """Return a gzipped tar archive with a zip in it."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        inner = zipped(content)
        entry = tarfile.TarInfo("inner.zip")
        entry.size = len(inner)
        archive.addfile(entry, io.BytesIO(inner))
    return data.getvalue()


def notebook(content: str) -> bytes:
    """Return a notebook whose cell prints the content."""
    cell = {"cell_type": "code", "source": [line + "\n" for line in content.split("\n")], "outputs": []}
    return json.dumps({"cells": [cell], "nbformat": 4}, indent=1).encode()


def parquet(content: str) -> bytes:
    """Return a table with the content deep in a nested column."""
    data = io.BytesIO()
    rows = [{"n": i, "deep": [{"messages": {"text": "x" * 50}}]} for i in range(200)]
    rows.append({"n": 200, "deep": [{"messages": {"text": content}}]})
    pq.write_table(pa.Table.from_pylist(rows), data, compression="zstd")
    return data.getvalue()


def compressed(content: str, codec: str) -> bytes:
    """Return the content as a compressed stream."""
    data = pa.BufferOutputStream()
    with pa.CompressedOutputStream(data, codec) as stream:
        stream.write(content.encode())
    return bytes(data.getvalue())


def feather(content: str) -> bytes:
    """Return a table in Arrow's file format, compressed."""
    data = io.BytesIO()
    rows = [{"text": "x" * 50}] * 200 + [{"text": content}]
    pa.feather.write_feather(pa.Table.from_pylist(rows), data, compression="zstd")
    return data.getvalue()


def wheel(content: str) -> bytes:
    """Return a zip archive in a zip archive, as a wheel in a wheelhouse."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("wheels/a-1.0-py3-none-any.whl", zipped(content))
    return data.getvalue()


CARRIERS: dict[str, Callable[[str], bytes]] = {
    "text": lambda text: f"first\nsecond: {text}\n".encode(),
    "long line": lambda text: b"x, " * 700_000 + text.encode() + b" ,x" * 700_000,
    "utf-16": lambda text: f"first\nsecond: {text}\n".encode("utf-16"),
    "utf-16 without a mark": lambda text: f"first\nsecond: {text}\n".encode("utf-16-be"),
    "binary": lambda text: b"\0\1\2" + text.encode() + b"\0",
    "json": lambda text: json.dumps({"a": [text]}).encode(),
    "yaml": lambda text: yaml.safe_dump({"env": [{"name": "A", "value": text}]}).encode(),
    "toml": lambda text: f"[environment.env]\nA = {json.dumps(text)}\n".encode(),
    "notebook": notebook,
    "parquet": parquet,
    "zip": zipped,
    "wheel in a zip": wheel,
    "tar.gz": tarred,
    "gzip": lambda text: gzip.compress(text.encode()),
    "bzip2": lambda text: bz2.compress(text.encode()),
    "zstandard": lambda text: compressed(text, "zstd"),
    "lz4": lambda text: compressed(text, "lz4"),
    "feather": feather,
    "xz": lambda text: lzma.compress(text.encode()),
}


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("kind", SECRETS)
def test_each_secret_is_found_in_each_kind_of_file(kind: str, carrier: str, tmp_path: Path) -> None:
    """No kind of file hides a secret, and the secret itself is not repeated."""
    (tmp_path / "f").write_bytes(CARRIERS[carrier](SECRETS[kind]))
    found = scan(tmp_path, ["f"], KNOWN).hits
    assert kind in {hit.kind for hit in found}
    assert all(SECRETS[kind] not in str(hit) for hit in found)


@pytest.mark.parametrize("kind", [kind for kind in SECRETS if kind not in {"private-key", MACHINE}])
def test_secret_in_a_name_is_found_and_not_repeated(kind: str, tmp_path: Path) -> None:
    """The names of files and folders are published too; of one with a secret in it the rest is told."""
    path = f"envs/a/{SECRETS[kind].strip('/')}.txt" if kind != "home-path" else "envs/home/mara.lind/x"
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text("x")
    hits = scan(tmp_path, [path], KNOWN).hits
    assert kind in {hit.kind for hit in hits}
    assert all(str(hit).startswith("`envs") and SECRETS[kind] not in str(hit) for hit in hits)


def test_hit_names_the_line(tmp_path: Path) -> None:
    """A hit in a text says in which line, and within an archive in which of its files."""
    (tmp_path / "a.txt").write_text("x\ny\nkey=" + SECRETS["github"] + "\n")
    (tmp_path / "b.zip").write_bytes(zipped("x\n" + SECRETS["github"]))
    first, second = scan(tmp_path, ["a.txt", "b.zip"], KNOWN).hits
    assert str(first) == "`a.txt:3`: a GitHub token (github)"
    assert str(second) == "`b.zip` (notes/a.txt, line 2): a GitHub token (github)"


@pytest.mark.parametrize(
    "token",
    [
        "npm" + "_mI4ROnl89Sm995ytbxAk7jqevt0MLaMRTvet",
        "sk_" + "live_w0tESulEETldq8b8Vw2zbJYA",
        "pypi-" + "AgEIcHlwaS5vcmcEJXquQrDs0GPRZwwrPwV81Aw71l33SCx9vHjHkm1x72EsSfUQUAkNX7LHQ7A",
        "dop_" + "v1_bc0e15637ebb8e3b91d26ab4a829a95249f512c17b8ed411fa644d35db41d94e",
        "SG." + "NqVwYS81VP7Hb1DX8pPd5k.hxE3pyIgKpaUnArl63XykWZeiNNCiia3anXn9k3ksu9",
    ],
)
def test_tokens_of_other_makers_are_found(token: str, tmp_path: Path) -> None:
    """The library's detectors stop what has no shape of ours, also in base64."""
    (tmp_path / "plain").write_text(f"key = '{token}'\n")
    (tmp_path / "coded").write_text(f"key: {base64.b64encode(token.encode()).decode()}\n")
    found = scan(tmp_path, ["plain", "coded"], KNOWN).hits
    assert [(hit.path, hit.line, hit.kind) for hit in found] == [("plain", 1, "token"), ("coded", 1, "token")]


@pytest.mark.parametrize("before", ["", "u", "us", "user:"])
def test_value_in_base64_is_found(before: str, tmp_path: Path) -> None:
    """A value of this machine is found in base64, wherever it starts, as in a basic-auth header."""
    (tmp_path / "f").write_bytes(base64.b64encode(f"{before}{VALUE}@host".encode()))
    assert [hit.kind for hit in scan(tmp_path, ["f"], KNOWN).hits] == [MACHINE]


@pytest.mark.parametrize(
    "text",
    [
        "hf_" + "x" * 34,
        "hf_your_token_here_and_some_more_of_it",
        "hf_hub_download(repo_id, filename=filename_of_the_weights)",
        "AKIA" + "IOSFODNN7EXAMPLE",
        "sk-" + "1234567890" * 4,
        "grep -q 'BEGIN RSA PRIVATE KEY' key.pem",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "assets/glpat-icon.png global-variables-of-the-collection",
        "xoxb-your-bot-token",
        "/home/mara.lindgren/x and /home/agent/y and /root/z",
        "data:image/png;base64,iVBORw0KGgo+AIza" + "Sy" + LETTERS[:33] + "/abc==",
        "sk-ant-api03-" + "...",
        "Authorization: Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI0MiJ9.c2lnbmVkLWJ5LW5vYm9keQ",
        "curl -u admin:hunter2-9fKq http://localhost:8080/",
        "mongodb://admin:P4ssw0rd9x@db:27017/app and postgres://app:s3cr3tPw9@db/app",
        "STRIPE_KEY=sk_" + "live_abc123def456ghi789",
        "STRIPE_KEY=sk_" + "test_4eC39HqLyjWDarjtT1zdp7dc",
        base64.b64encode(b"token=sk_" + b"live_abc123xyz789").decode(),
    ],
)
def test_look_alikes_pass(text: str, tmp_path: Path) -> None:
    """Placeholders, code and prose about tokens are no hits."""
    (tmp_path / "f").write_text(text)
    assert scan(tmp_path, ["f"], KNOWN).hits == ()


def test_values_come_from_telling_variables_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Switches, paths, words and public values in variables of such names are not looked for."""
    for name in list(os.environ):
        if any(part in name.upper() for part in ("KEY", "TOKEN", "SECRET", "PASSWORD")):
            monkeypatch.delenv(name)
    for name, value in {
        "MY_API_KEY": "v8Kq-2zLw9",
        "DB_PASSWORD": "correcthorse",
        "TOKENIZERS_PARALLELISM": "false",
        "KEYCLOAK_MODE": "development",
        "SSH_KEY_FILE": str(tmp_path),
        "GPG_KEY": "A035C8C19219BA821ECEA86B64E628F8D684696D",
        "SHORT_KEY": "a1b2c3",
        "OTHER": "v8Kq-2zLw8",
        "LONG_SECRET": LETTERS * 10,
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: "opaque-hub-token-1")
    assert sorted(what for what, _ in known_here().values) == [
        "the value of the variable `DB_PASSWORD`",
        "the value of the variable `LONG_SECRET`",
        "the value of the variable `MY_API_KEY`",
        "this machine's Hugging Face token",
    ]


@pytest.mark.parametrize("home", ["/root", "/home/ubuntu", "/"])
def test_home_that_anybody_has_is_not_looked_for(home: str) -> None:
    """The homes of images and runners say nothing of a person."""
    assert known_of({}, Path(home)).home is None


def test_exception_needs_a_reason_and_known_kinds(tmp_path: Path) -> None:
    """An exception without a reason, with a kind that is none, or with another key is a usage error."""
    head = "[tool.seatrials.release.allow]\n"
    for faulty in (
        '"a" = ""',
        '"a" = { kinds = ["aws"] }',
        '"a" = { reason = "r", kinds = ["awss"] }',
        '"a" = { reason = "r", lines = 3 }',
        '"a" = 1',
    ):
        (tmp_path / "pyproject.toml").write_text(head + faulty)
        with pytest.raises(UsageError, match="`a`"):
            allowances(tmp_path)
    (tmp_path / "pyproject.toml").write_text(head + '"a/*" = "why"\n"b" = { reason = "r", kinds = ["aws"] }')
    assert allowances(tmp_path) == (
        Allowance(pattern="a/*", reason="why"),
        Allowance(pattern="b", reason="r", kinds=("aws",)),
    )


def test_exception_covers_its_files_and_their_copies_but_no_value_of_this_machine(tmp_path: Path) -> None:
    """What was let pass in a task passes in the table made of it; this machine's values need naming."""
    (tmp_path / "envs").mkdir()
    (tmp_path / "envs" / "a").write_text(SECRETS["aws"] + "\n" + VALUE)
    (tmp_path / "table").write_bytes(parquet(SECRETS["aws"]))
    paths = ["envs/a", "table"]
    plain = Allowance(pattern="envs/*", reason="r")
    named = Allowance(pattern="envs/*", reason="r", kinds=(MACHINE,))
    found = scan(tmp_path, paths, KNOWN, [plain], derived={"table"})
    assert [(hit.path, hit.kind) for hit in found.hits] == [("envs/a", MACHINE)]
    assert scan(tmp_path, paths, KNOWN, [plain, named], derived={"table"}).hits == ()
    assert {hit.path for hit in scan(tmp_path, paths, KNOWN, [plain, named]).hits} == {"table"}
    assert scan(tmp_path, ["envs/a"], KNOWN, [Allowance(pattern="x", reason="r")]).unused != ()


def test_mail_addresses_are_listed_but_no_hits(tmp_path: Path) -> None:
    """Addresses of people are told with their file; those of nobody are not."""
    (tmp_path / "f").write_text(
        "ada@lovelace.org, b@example.com, git@host.invalid, x@users.noreply.github.com"
    )
    found = scan(tmp_path, ["f"], KNOWN)
    assert found.hits == ()
    assert dict(found.mails) == {"ada@lovelace.org": "f"}


def test_what_cannot_be_opened_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken archives, foreign ones and bombs are named, never passed over."""
    (tmp_path / "cut.zip").write_bytes(zipped("x" * 1000)[:-30])
    (tmp_path / "a.7z").write_bytes(b"7z\xbc\xaf\x27\x1c" + b"\0" * 20)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"0" * 20_000))
    (tmp_path / "cut.parquet").write_bytes(b"PAR1" + b"\0" * 40 + b"PAR1")
    monkeypatch.setattr(contents, "MAX_UNPACKED", 10_000)
    names = ["cut.zip", "a.7z", "bomb.gz", "cut.parquet"]
    assert [line.split(":")[0] for line in scan(tmp_path, names, KNOWN).unopened] == [f"`{n}`" for n in names]


def test_secret_stops_the_release_before_anything_is_written(
    collection: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command names file and line, leaves no trace of the release, and never prints the secret."""
    monkeypatch.setenv("DEPLOY_TOKEN", "v8Kq-2zLw9-tT31")
    (collection / "tasks" / "sum-column" / "verifier" / "notes.md").write_text(
        "a\nv8Kq-2zLw9-tT31\n" + SECRETS["slack"]
    )
    out = tmp_path / "out"
    assert main(["release", str(collection), "--out", str(out)]) == 1
    said = capsys.readouterr()
    assert "envs/sum-column/verifier/notes.md:2" in said.err
    assert "envs/sum-column/verifier/notes.md:3" in said.err
    assert "DEPLOY_TOKEN" in said.err
    assert "v8Kq" not in said.err + said.out
    assert SECRETS["slack"] not in said.err + said.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["collection"]
    (collection / "pyproject.toml").write_text(
        '[tool.seatrials.release.allow]\n"envs/sum-column/verifier/*" = '
        '{ reason = "both made up", kinds = ["slack", "machine-secret"] }\n'
    )
    assert main(["release", str(collection), "--out", str(out)]) == 0
    assert "Let pass" in capsys.readouterr().out


def test_machine_without_the_detectors_releases_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where their library has no package, that is one line, and no scan with less than all of them."""
    monkeypatch.setitem(sys.modules, "kingfisher_sdk", None)
    with pytest.raises(CannotJudgeError, match="kingfisher-secret-scanner"):
        detectors._load()


def test_limits_of_the_hub_stop_the_release() -> None:
    """A folder with too many entries, too many files and a file too large are each refused by name."""
    check_limits({f"a/{i}": 1 for i in range(10_000)})
    with pytest.raises(RefusedError, match="`a` has 10,001 entries"):
        check_limits({f"a/{i}/b": 1 for i in range(10_001)})
    with pytest.raises(RefusedError, match="100,001 files"):
        check_limits({f"{i % 100}/{i}": 1 for i in range(100_001)})
    with pytest.raises(RefusedError, match="`big`"):
        check_limits({"big": 201 * 10**9})
