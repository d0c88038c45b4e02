"""A Hub on loopback: what `huggingface_hub` needs of it to create, read, commit to and tag data sets.

A stand-in, written after the requests that the client sends. Everything is in
memory; a lock is held around the check of a commit's parent and its storing.
"""

import base64
import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

import loopback
import yaml

if TYPE_CHECKING:
    import pytest

# Read when huggingface_hub is imported, which the kit does when it needs it.
os.environ["HF_HUB_DISABLE_XET"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

TOKEN = "hub-token-of-the-tests"
Files = dict[str, bytes]


@dataclass
class Repo:
    """A data set: its commits, oldest first, each with all its files, and its tags.

    A `gated` one is listed to all, and its files are for its owner.
    """

    private: bool = False
    gated: bool = False
    commits: list[tuple[str, Files]] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)

    def add(self, files: Files) -> str:
        """Store a commit and return its id."""
        parent = self.commits[-1][0] if self.commits else ""
        told = repr((parent, len(self.commits), sorted(files.items()))).encode()
        oid = hashlib.sha1(told, usedforsecurity=False).hexdigest()
        self.commits.append((oid, files))
        return oid

    @property
    def head(self) -> str:
        """The newest commit's id."""
        return self.commits[-1][0]

    @property
    def files(self) -> Files:
        """The newest commit's files."""
        return self.commits[-1][1]

    def at(self, revision: str) -> tuple[str, Files] | None:
        """Return the commit that a branch, tag or id names."""
        wanted = self.head if revision == "main" else self.tags.get(revision, revision)
        return next((commit for commit in self.commits if commit[0] == wanted), None)


@dataclass
class Fault:
    """An answer other than the right one, or an `action`, at requests that match.

    With `after`, what was asked for is done first. `skip` requests go by; a
    `status` of 0 gives the right answer all the same, with a `cut` only that
    many bytes of it before the connection ends, and with `spoil` that body.
    """

    method: str
    path: str
    status: int
    times: int = 1
    after: bool = False
    skip: int = 0
    action: Callable[[], object] | None = None
    cut: int | None = None
    spoil: bytes | None = None


class Hub:
    """The server's state. `requests` has methods and paths.

    `sent` has the paths of uploaded files, `given` those of downloaded ones.
    """

    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.lfs: dict[str, bytes] = {}
        self.collections: dict[str, list[str]] = {}
        self.faults: list[Fault] = []
        self.requests: list[tuple[str, str]] = []
        self.sent: list[str] = []
        self.given: list[str] = []
        self.lock = threading.RLock()
        self.url = ""

    def seed(self, name: str, files: Files, *, private: bool = False) -> Repo:
        """Make a data set with one commit."""
        repo = self.repos[name] = Repo(private=private)
        repo.add({".gitattributes": b"*.parquet filter=lfs\n", **files})
        return repo


def is_lfs(path: str) -> bool:
    """Say whether the server wants a file in LFS."""
    return path.endswith((".parquet", ".bin"))


def blob(data: bytes) -> str:
    """Return the git blob id."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def entry(path: str, data: bytes) -> dict[str, Any]:
    """Return a file as the tree lists it; one in LFS by its pointer's blob id."""
    if not is_lfs(path):
        return {"type": "file", "path": path, "size": len(data), "oid": blob(data)}
    sha = hashlib.sha256(data).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha}\nsize {len(data)}\n".encode()
    lfs = {"oid": sha, "size": len(data), "pointerSize": len(pointer)}
    return {"type": "file", "path": path, "size": len(data), "oid": blob(pointer), "lfs": lfs}


def tree(files: Files, folder: str, *, deep: bool) -> tuple[int, bytes, dict[str, str]]:
    """Return what is in a folder: its files, and its folders or, with `deep`, all files below."""
    prefix = f"{folder}/" if folder else ""
    below = {path: data for path, data in files.items() if path.startswith(prefix)}
    if not below:
        return missing("EntryNotFound")
    if deep:
        return as_json(200, [entry(path, data) for path, data in below.items()])
    names = dict.fromkeys(path.removeprefix(prefix).split("/")[0] for path in below)
    listed: list[dict[str, Any]] = []
    for path in (prefix + name for name in names):
        here = {"type": "directory", "path": path, "size": 0, "oid": blob(path.encode())}
        listed.append(entry(path, below[path]) if path in below else here)
    return as_json(200, listed)


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer."""
        self.route()

    do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815 - the base class's names

    def route(self) -> None:
        """Read the request, apply a fault that is due, and answer."""
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else b""
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline().strip(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        path = urlsplit(self.path).path
        with self.hub.lock:
            self.hub.requests.append((self.command, path))
            fault = next(
                (
                    fault
                    for fault in self.hub.faults
                    if fault.times and fault.method in {self.command, "."} and re.search(fault.path, path)
                ),
                None,
            )
            if fault is not None and fault.skip:
                fault.skip -= 1
                fault = None
            action = None
            if fault is not None:
                fault.times -= 1
                action = fault.action
            if action is not None and fault is not None and not fault.after:
                action()
            if fault is None or fault.after or not fault.status:
                status, data, headers = self.answer(path, body)
            if action is not None and fault is not None and fault.after:
                action()
        if fault is not None and fault.status:
            status, data, headers = fault.status, b"<html>fault</html>", {"Content-Type": "text/html"}
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            if fault is not None and fault.spoil is not None:
                data = fault.spoil
            self.wfile.write(data if fault is None or fault.cut is None else data[: fault.cut])
            self.close_connection = fault is not None

    def answer(self, path: str, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        """Return status, body and headers."""
        hub = self.hub
        if match := re.fullmatch(r"/lfs/([0-9a-f]{64})", path):
            if hashlib.sha256(body).hexdigest() != match[1]:
                return as_json(422, {"error": "wrong hash"})
            hub.lfs[match[1]] = body
            return 200, b"", {}
        token = self.headers.get("Authorization")
        if token not in {None, f"Bearer {TOKEN}"}:
            wrong = "Invalid credentials in Authorization header"
            return 401, json.dumps({"error": wrong}).encode(), {"X-Error-Message": wrong}
        if token is None and not self.open_to_all(path):
            return 401, b'{"error": "log in"}', {"X-Error-Code": "RepoNotFound"}
        if path == "/api/whoami-v2":
            return as_json(200, {"type": "user", "name": "ada", "orgs": [], "auth": {}})
        if path == "/api/repos/create":
            return self.create(json.loads(body))
        if path == "/api/validate-yaml":
            return validate_card(json.loads(body)["content"])
        if match := re.fullmatch(r"/api/collections/([^/]+/[^/]+?)(/items)?", path):
            return self.collect(match[1], json.loads(body)["item"] if match[2] else None)
        if match := re.fullmatch(r"/datasets/([^/]+/[^/]+?)\.git/info/lfs/objects/batch", path):
            objects = [
                {**item, "actions": {"upload": {"href": f"{hub.url}/lfs/{item['oid']}"}}}
                for item in json.loads(body)["objects"]
            ]
            return as_json(200, {"transfer": "basic", "objects": objects})
        if match := re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            return self.resolve(match[1], unquote(match[2]), unquote(match[3]))
        if match := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)(?:/(\w+)(?:/([^/]+))?)?(/.*)?", path):
            repo = hub.repos.get(match[1])
            if repo is None:
                return missing("RepoNotFound")
            return self.of_repo(match[1], repo, match[2] or "revision", unquote(match[3] or "main"), body)
        return as_json(404, {"error": f"no route for {path}"})

    def open_to_all(self, path: str) -> bool:
        """Say whether what is asked for may be had without a token."""
        match = re.match(r"/(?:api/)?datasets/([^/]+/[^/]+)", path)
        repo = self.hub.repos.get(match[1]) if match else None
        return self.command in {"GET", "HEAD"} and repo is not None and not repo.private

    def create(self, asked: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        """Create a data set, which has a first commit."""
        owner = asked.get("organization") or "ada"
        name = f"{owner}/{asked['name']}"
        if owner != "ada":
            return as_json(403, {"error": f"no right to create in {owner}"})
        url = {"url": f"{self.hub.url}/datasets/{name}"}
        if name in self.hub.repos:
            return as_json(409, {"error": "exists", **url})
        self.hub.seed(name, {}, private=asked.get("private") is True or asked.get("visibility") == "private")
        return as_json(200, url)

    def collect(self, slug: str, item: dict[str, Any] | None) -> tuple[int, bytes, dict[str, str]]:
        """Return a collection, with an item more where one is given."""
        items = self.hub.collections.get(slug)
        if items is None:
            return as_json(404, {"error": "no such collection"})
        if item is not None and item["id"] in items:
            return as_json(409, {"error": "exists"})
        if item is not None:
            items.append(item["id"])
        told = {"slug": slug, "title": "t", "owner": {}, "items": [], "position": 0, "private": False}
        return as_json(
            200, {**told, "theme": "blue", "upvotes": 0, "lastUpdated": "2026-01-01T00:00:00.000Z"}
        )

    def resolve(self, name: str, revision: str, file: str) -> tuple[int, bytes, dict[str, str]]:
        """Return a file."""
        repo = self.hub.repos.get(name)
        if repo is None:
            return missing("RepoNotFound")
        commit = repo.at(revision)
        if commit is None:
            return missing("RevisionNotFound")
        token = self.headers.get("Authorization")
        if repo.gated and not (token and name.startswith("ada/")):
            status = 403 if token else 401
            return status, b'{"error": "gated"}', {"X-Error-Code": "GatedRepo"}
        if file not in commit[1]:
            return missing("EntryNotFound")
        data = commit[1][file]
        told = entry(file, data)
        tag = told["lfs"]["oid"] if "lfs" in told else told["oid"]
        headers = {"X-Repo-Commit": commit[0], "ETag": f'"{tag}"'}
        if self.command == "GET":
            self.hub.given.append(file)
        if match := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")):
            start = int(match[1])
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
            return 206, data[start:], headers
        return 200, data, headers

    def of_repo(
        self, name: str, repo: Repo, what: str, revision: str, body: bytes
    ) -> tuple[int, bytes, dict[str, str]]:
        """Answer what is asked of one data set."""
        if what == "refs":
            return as_json(
                200,
                {
                    "branches": [{"name": "main", "ref": "refs/heads/main", "targetCommit": repo.head}],
                    "converts": [],
                    "tags": [
                        {"name": tag, "ref": f"refs/tags/{tag}", "targetCommit": oid}
                        for tag, oid in repo.tags.items()
                    ],
                },
            )
        commit = repo.at(revision)
        if commit is None:
            return missing("RevisionNotFound")
        oid, files = commit
        match what:
            case "revision":
                siblings = [{"rfilename": path} for path in files]
                told = {"id": name, "sha": oid, "private": repo.private, "gated": repo.gated and "auto"}
                return as_json(200, {**told, "siblings": siblings})
            case "tree":
                url = urlsplit(self.path)
                deep = parse_qs(url.query).get("recursive", [""])[0].lower() == "true"
                return tree(files, unquote(url.path.partition("/tree/")[2]).partition("/")[2], deep=deep)
            case "preupload":
                told_files = [
                    {
                        "path": file["path"],
                        "uploadMode": "lfs" if is_lfs(file["path"]) else "regular",
                        "shouldIgnore": False,
                        **(
                            {"oid": entry(file["path"], files[file["path"]])["oid"]}
                            if file["path"] in files
                            else {}
                        ),
                    }
                    for file in json.loads(body)["files"]
                ]
                return as_json(200, {"files": told_files})
            case "tag":
                tag = json.loads(body)["tag"]
                if tag in repo.tags:
                    return as_json(409, {"error": "exists"})
                repo.tags[tag] = oid
                return as_json(200, {})
            case "commit":
                return self.commit(name, repo, body)
            case _:
                return as_json(404, {"error": what})

    def commit(self, name: str, repo: Repo, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        """Store a commit whose parent is the newest one."""
        files = dict(repo.files)
        for line in body.splitlines():
            item = json.loads(line)
            value = item["value"]
            match item["key"]:
                case "header":
                    if value.get("parentCommit") not in {None, repo.head}:
                        return as_json(412, {"error": "the branch has moved"})
                case "file":
                    files[value["path"]] = base64.b64decode(value["content"])
                    self.hub.sent.append(value["path"])
                case "lfsFile":
                    files[value["path"]] = self.hub.lfs[value["oid"]]
                    self.hub.sent.append(value["path"])
                case "deletedFile":
                    if files.pop(value["path"], None) is None:
                        return missing("EntryNotFound")
        oid = repo.add(files)
        return as_json(
            200, {"success": True, "commitOid": oid, "commitUrl": f"{self.hub.url}/datasets/{name}"}
        )


def as_json(status: int, data: Any) -> tuple[int, bytes, dict[str, str]]:
    """Return an answer with data."""
    return status, json.dumps(data).encode(), {"Content-Type": "application/json"}


LICENSES = {"agpl-3.0", "apache-2.0", "cc-by-4.0", "gpl-3.0", "mit", "other", "unknown"}
"""Some of those that the Hub lists; with `other`, a card needs a `license_name`."""


def validate_card(content: str) -> tuple[int, bytes, dict[str, str]]:
    """Judge a card's header: a license of the list, and lists where there should be some."""
    match = re.match(r"---\n(.*?)\n---\n", content, re.DOTALL)
    header = yaml.safe_load(match[1]) if match else None
    errors, warnings = [], []
    if not isinstance(header, dict):
        warnings.append({"message": "empty or missing yaml metadata in repo card"})
        header = {}
    if "license" in header and header["license"] not in LICENSES:
        errors.append({"message": '"license" must be one of [...]'})
    if header.get("license") == "other" and "license_name" not in header:
        warnings.append({"message": '"license_name" is missing'})
    lists = ("tags", "configs")
    errors += [{"message": f'"{key}" must be an array'} for key in lists
               if not isinstance(header.get(key, []), list)]  # fmt: skip
    return as_json(400 if errors else 200, {"errors": errors, "warnings": warnings})


def missing(code: str) -> tuple[int, bytes, dict[str, str]]:
    """Return a 404 of which the client makes the exception that the code names."""
    return 404, b'{"error": "not found"}', {"Content-Type": "application/json", "X-Error-Code": code}


@contextmanager
def serving() -> Iterator[Hub]:
    """Run a Hub on a free port of loopback."""
    hub = Hub()
    with loopback.serve(Handler, hub=hub) as hub.url:
        yield hub


def for_the_kit(monkeypatch: "pytest.MonkeyPatch", tmp_path: Path) -> Iterator[Hub]:
    """Run a Hub, and let the kit talk to it with a token that it accepts."""
    with serving() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf-home"))
        yield running
