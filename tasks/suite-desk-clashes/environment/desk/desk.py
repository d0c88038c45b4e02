#!/usr/bin/env python3
"""The booking desk's service, as `API.md` describes it: `desk.py serve [--port N]`, `desk.py restore`."""

from __future__ import annotations

import argparse
import base64
import binascii
import contextlib
import hashlib
import json
import re
import sqlite3
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

HERE = Path(__file__).resolve().parent
DATABASE = HERE / "desk.db"
PORT = 8750
TOKENS = 100  # the bucket's size, and what flows into it per second
COSTS = {"list": 5, "one": 1, "write": 2}
MAX_LIMIT = 25
# How many rows the store behind a list hands over at a time; a page is what one hand-over gives.
SHARDS = (25, 11, 0, 19, 25, 7, 3, 0, 0, 23)
JSON_COLUMNS = ("offsets", "kinds", "features", "outages", "needs")
KEY = re.compile(r"[A-Za-z0-9_-]{8,64}")
NEXT_STATES = {"confirmed": ("released", "waitlisted"), "pencil": ("released",)}
REASONS = ("project_closed", "pencil_expired", "duplicate", "outage", "clash")
NOTICE = {
    "booking_id": str,
    "booking_version": int,
    "kind": str,
    "recipient": str,
    "suite_id": (str, type(None)),
    "local_start": str,
}


def compact(value: Any) -> str:
    """Write JSON in the one way that the journal and the replies use."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest(before: str, seq: int, key: str, target: str, version: int, change: str) -> str:
    """Chain a row of the journal to the row before it."""
    return hashlib.sha256(
        "\n".join([before, str(seq), key, target, str(version), change]).encode()
    ).hexdigest()


def build(path: Path, *scripts: str) -> None:
    """Write a new database and move it into place."""
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    database = sqlite3.connect(new)
    for script in scripts:
        database.executescript(script)
    database.commit()
    database.close()
    # What a killed service left half written belongs to the old database.
    path.with_name(path.name + "-journal").unlink(missing_ok=True)
    new.replace(path)
    path.chmod(0o666)


class RefusalError(Exception):
    """An answer other than 2xx."""

    def __init__(self, status: int, error: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(error)
        self.status, self.error, self.headers = status, error, dict(headers or {})


class Bucket:
    """Tokens that calls pay with."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock, self.level, self.at = clock, float(TOKENS), clock()

    def pay(self, cost: int) -> None:
        """Take tokens, or refuse."""
        now = self.clock()
        self.level = min(float(TOKENS), self.level + (now - self.at) * TOKENS)
        self.at = now
        if self.level < cost:
            raise RefusalError(429, "rate limit", {"Retry-After": "1"})
        self.level -= cost


class Desk:
    """The service without its sockets: `handle` takes a request and returns the answer."""

    def __init__(self, path: Path = DATABASE, clock: Callable[[], float] = time.monotonic) -> None:
        self.lock = threading.Lock()
        self.database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self.database.row_factory = sqlite3.Row
        self.bucket = Bucket(clock)

    def handle(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, str], Any]:
        """Answer one request: status, headers, JSON body."""
        with self.lock:
            try:
                return self._answer(method, target, {k.lower(): v for k, v in headers.items()}, body)
            except RefusalError as refusal:
                return refusal.status, refusal.headers, {"error": refusal.error}

    def _answer(
        self, method: str, target: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], Any]:
        url = urlsplit(target)
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        match method, parts:
            case "GET", ["status"]:
                meta = dict(self.database.execute("SELECT name, value FROM meta").fetchall())
                return 200, {}, {"desk_time": meta["desk_time"], "listing_as_of": meta["listing_as_of"]}
            case "GET", ["sites" | "suites" | "people" | "projects" as table]:
                self.bucket.pay(COSTS["list"])
                rows = self.database.execute(f"SELECT * FROM {table} ORDER BY id").fetchall()
                return self._page([self._object(row) for row in rows], query)
            case "GET", ["bookings"]:
                self.bucket.pay(COSTS["list"])
                return self._page(self._listed(query), query)
            case "GET", ["changes"]:
                self.bucket.pay(COSTS["list"])
                rows = self.database.execute(
                    "SELECT seq, target, version FROM journal WHERE target LIKE 'bookings/%' AND seq > "
                    "(SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'listing_seq') ORDER BY seq"
                ).fetchall()
                changes = [
                    {"seq": seq, "booking_id": name.split("/")[1], "version": version}
                    for seq, name, version in rows
                ]
                return self._page(changes, query)
            case "GET", ["notices"]:
                self.bucket.pay(COSTS["list"])
                rows = self.database.execute("SELECT * FROM notices ORDER BY id").fetchall()
                return self._page([dict(row) for row in rows], query)
            case "GET", ["sites" | "suites" | "people" | "projects" | "bookings" as table, name]:
                self.bucket.pay(COSTS["one"])
                found = self._one(table, name)
                return 200, {"ETag": self._etag(found)} if table == "bookings" else {}, found
            case "PATCH", ["bookings", name]:
                self.bucket.pay(COSTS["write"])
                return self._write(method, f"bookings/{name}", headers, body)
            case "POST", ["notices"]:
                self.bucket.pay(COSTS["write"])
                return self._write(method, "notices", headers, body)
        raise RefusalError(404, f"no such resource: {method} {url.path}")

    # -- reading

    def _object(self, row: sqlite3.Row) -> dict[str, Any]:
        found = dict(row)
        for column in JSON_COLUMNS:
            if column in found:
                found[column] = json.loads(found[column])
        if "locked" in found:
            found["locked"] = bool(found["locked"])
        return found

    def _one(self, table: str, name: str) -> dict[str, Any]:
        row = self.database.execute(f"SELECT * FROM {table} WHERE id = ?", (name,)).fetchone()
        if row is None:
            raise RefusalError(404, f"no such resource: {table}/{name}")
        return self._object(row)

    def _etag(self, booking: Mapping[str, Any]) -> str:
        return f'"{booking["id"]}.{booking["version"]}"'

    def _listed(self, query: dict[str, str]) -> list[dict[str, Any]]:
        rows = [json.loads(x[0]) for x in self.database.execute("SELECT body FROM listing ORDER BY position")]
        for name in ("suite_id", "project_id", "state"):
            if name in query:
                rows = [row for row in rows if row[name] == query[name]]
        for name, holds in (("from", lambda a, b: a >= b), ("to", lambda a, b: a < b)):
            if name in query:
                bound = self._instant(query[name])
                rows = [row for row in rows if holds(self._instant(row["starts_at"]), bound)]
        return rows

    def _instant(self, text: str) -> datetime:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise RefusalError(422, f"not a time: {text}") from None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    def _page(self, rows: list[Any], query: dict[str, str]) -> tuple[int, dict[str, str], Any]:
        try:
            limit = min(int(query.get("limit", MAX_LIMIT)), MAX_LIMIT)
            start, shard = 0, len(rows) % len(SHARDS)
            if "cursor" in query:
                start, shard = json.loads(base64.urlsafe_b64decode(query["cursor"]))
            if limit < 1 or not 0 <= start <= len(rows):
                raise ValueError
            size = min(limit, SHARDS[shard])
        except (ValueError, TypeError, IndexError, binascii.Error):
            raise RefusalError(422, "bad `limit` or `cursor`") from None
        items, end = rows[start : start + size], start + size
        more = None
        if end < len(rows):
            more = base64.urlsafe_b64encode(compact([end, (shard + 1) % len(SHARDS)]).encode()).decode()
        return 200, {}, {"items": items, "next_cursor": more}

    # -- writing

    def _write(
        self, method: str, target: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], Any]:
        key = headers.get("idempotency-key", "")
        if not KEY.fullmatch(key):
            raise RefusalError(400, "`Idempotency-Key` of 8 to 64 letters, digits, `_` or `-` is required")
        try:
            wanted = json.loads(body)
        except (ValueError, RecursionError):
            raise RefusalError(400, "the body is not JSON") from None
        if not isinstance(wanted, dict):
            raise RefusalError(400, "the body is not a JSON object")
        request = compact([method, target, wanted])
        earlier = self.database.execute("SELECT * FROM replies WHERE key = ?", (key,)).fetchone()
        if earlier is not None:
            if earlier["request"] != request:
                raise RefusalError(422, "this `Idempotency-Key` was used for another request")
            return self._reply(earlier["status"], earlier["etag"], json.loads(earlier["body"]), replayed=True)
        self.database.execute("BEGIN IMMEDIATE")
        try:
            if target == "notices":
                status, etag, answer, version = self._notice(wanted)
            else:
                status, etag, answer, version = self._change(target.split("/")[1], headers, wanted)
            seq, before = self.database.execute(
                "SELECT seq, digest FROM journal ORDER BY seq DESC LIMIT 1"
            ).fetchone()
            row = (seq + 1, key, target, version, compact(wanted))
            self.database.execute("INSERT INTO journal VALUES (?,?,?,?,?,?)", (*row, digest(before, *row)))
            self.database.execute(
                "INSERT INTO replies VALUES (?,?,?,?,?)", (key, request, status, etag, compact(answer))
            )
            self.database.execute("COMMIT")
        except BaseException:
            self.database.execute("ROLLBACK")
            raise
        if seq % 7 == 3:
            raise RefusalError(503, "the gateway had no answer in time; the write may have been accepted")
        return self._reply(status, etag, answer, replayed=False)

    def _reply(
        self, status: int, etag: str | None, answer: Any, *, replayed: bool
    ) -> tuple[int, dict[str, str], Any]:
        headers = {"Idempotency-Replayed": "true"} if replayed else {}
        return status, headers | ({"ETag": etag} if etag else {}), answer

    def _change(
        self, name: str, headers: dict[str, str], wanted: dict[str, Any]
    ) -> tuple[int, str, dict[str, Any], int]:
        booking = self._one("bookings", name)
        match headers.get("if-match"):
            case None:
                raise RefusalError(428, "`If-Match` is required")
            case tag if tag != self._etag(booking):
                raise RefusalError(412, "the booking has another version")
        if booking["deleted_at"] is not None:
            raise RefusalError(410, "the booking is deleted")
        if wanted.get("reason") not in REASONS:
            raise RefusalError(422, f"`reason` must be one of {', '.join(REASONS)}")
        match sorted(wanted):
            case ["reason", "suite_id"]:
                here = self._one("suites", booking["suite_id"])
                new = self.database.execute(
                    "SELECT site_id FROM suites WHERE id = ?", (str(wanted["suite_id"]),)
                ).fetchone()
                if booking["state"] not in NEXT_STATES:
                    raise RefusalError(409, f"a booking that is {booking['state']} can't be moved")
                if new is None or new[0] != here["site_id"] or wanted["suite_id"] == here["id"]:
                    raise RefusalError(422, "`suite_id` must be another suite of the same site")
                column = "suite_id"
            case ["reason", "state"]:
                if wanted["state"] not in NEXT_STATES.get(booking["state"], ()):
                    raise RefusalError(
                        409, f"a booking that is {booking['state']} can't become {wanted['state']}"
                    )
                column = "state"
            case _:
                raise RefusalError(422, "the body must hold `reason` and either `suite_id` or `state`")
        self.database.execute(
            f"UPDATE bookings SET {column} = ?, reason = ?, version = version + 1 WHERE id = ?",
            (wanted[column], wanted["reason"], name),
        )
        changed = self._one("bookings", name)
        return 200, self._etag(changed), changed, changed["version"]

    def _notice(self, wanted: dict[str, Any]) -> tuple[int, None, dict[str, Any], int]:
        if set(wanted) != set(NOTICE):
            raise RefusalError(422, f"the body must hold exactly {', '.join(NOTICE)}")
        for name, kind in NOTICE.items():
            if not isinstance(wanted[name], kind) or isinstance(wanted[name], bool):
                raise RefusalError(422, f"`{name}` has the wrong type")
        if wanted["kind"] not in ("moved", "released", "waitlisted"):
            raise RefusalError(422, "`kind` must be moved, released or waitlisted")
        booking = self._one("bookings", wanted["booking_id"])
        if wanted["booking_version"] != booking["version"]:
            raise RefusalError(409, "`booking_version` is not the version of the booking")
        number = self.database.execute(
            "INSERT INTO notices (booking_id, booking_version, kind, recipient, suite_id, local_start) "
            "VALUES (:booking_id, :booking_version, :kind, :recipient, :suite_id, :local_start)",
            wanted,
        ).lastrowid
        return 201, None, {"id": number, **wanted}, booking["version"]


class Handler(BaseHTTPRequestHandler):
    """Sockets around `Desk.handle`."""

    protocol_version = "HTTP/1.1"
    wbufsize, disable_nagle_algorithm = -1, True  # an answer leaves in one piece, at once
    desk: Desk

    def answer(self) -> None:
        """Read a request, write the answer."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, headers, answer = self.desk.handle(self.command, self.path, self.headers, body)
        data = json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_PATCH = do_POST = do_PUT = do_DELETE = answer  # noqa: N815

    def log_message(self, *_: Any) -> None:
        """Keep no access log."""


def serve(desk: Desk, port: int) -> ThreadingHTTPServer:
    """Bind the service to a loopback port."""
    return ThreadingHTTPServer(("127.0.0.1", port), type("BoundHandler", (Handler,), {"desk": desk}))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("serve", help="answer calls until stopped").add_argument(
        "--port", type=int, default=PORT
    )
    commands.add_parser("restore", help="put the database back to its first state, with the service stopped")
    arguments = parser.parse_args()
    if arguments.command == "restore":
        build(DATABASE, (HERE / "schema.sql").read_text(), (HERE / "seed.sql").read_text())
        return
    try:
        bound = serve(Desk(), arguments.port)
    except (OSError, OverflowError) as error:
        parser.exit(1, f"desk.py: cannot listen on port {arguments.port}: {error}\n")
    with bound as server:
        print(f"listening on http://127.0.0.1:{arguments.port}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
