#!/usr/bin/env python3
"""Resolve the clashes of the planning period through the desk's API and write the report."""

from __future__ import annotations

import argparse
import http.client
import json
import time
import uuid
from collections import Counter, defaultdict
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

if TYPE_CHECKING:
    from collections.abc import Iterator

PERIOD = (date(2025, 10, 20), date(2025, 11, 2))
OCCUPIES = ("confirmed", "pencil")
END_OF_TIME = datetime.max.replace(tzinfo=UTC)
Json = dict[str, Any]


class Client:
    """The API, with its limits and its gateway."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def send(
        self, method: str, target: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], Any]:
        """Exchange one request for one answer."""
        self.connection.request(method, target, body, headers)
        answer = self.connection.getresponse()
        return answer.status, dict(answer.getheaders()), json.loads(answer.read())

    def call(
        self, method: str, target: str, headers: Json | None = None, body: Json | None = None
    ) -> tuple[Json, Json]:
        """Call until there is an answer other than 429 and 503; a write keeps its key."""
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **(headers or {})}
        if method != "GET":
            headers["Idempotency-Key"] = uuid.uuid4().hex
        while True:
            status, found, answer = self.send(method, target, headers, data)
            match status:
                case 429:
                    time.sleep(float(found["Retry-After"]))
                case 503:
                    pass
                case 200 | 201:
                    return answer, found
                case _:
                    raise SystemExit(f"{method} {target}: {status} {answer}")

    def pages(self, resource: str) -> Iterator[Json]:
        """Read a list to its end."""
        query: Json = {"limit": 25}
        while True:
            page, _ = self.call("GET", f"/{resource}?{urlencode(query)}")
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            query["cursor"] = page["next_cursor"]

    def table(self, resource: str) -> dict[str, Json]:
        """Read a list by id."""
        return {item["id"]: item for item in self.pages(resource)}


class Site:
    """Local time."""

    def __init__(self, record: Json) -> None:
        self.changes = [
            (
                None if item["from"] is None else datetime.fromisoformat(item["from"]),
                datetime.strptime(item["offset"], "%z").tzinfo,
            )
            for item in record["offsets"]
        ]

    def local(self, moment: datetime) -> datetime:
        """Give an instant in local time."""
        zone = [tz for since, tz in self.changes if since is None or since <= moment][-1]
        return moment.astimezone(zone)

    def parse(self, text: str) -> datetime:
        """Read a time as an instant; without an offset it is local."""
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            readings = [moment.replace(tzinfo=tz).astimezone(UTC) for _, tz in self.changes]
            moment = min(x for x in readings if self.local(x).replace(tzinfo=None) == moment)
        return moment.astimezone(UTC)


class Booking:
    """A booking as the policy sees it."""

    def __init__(self, record: Json, etag: str, site: Site, project: Json) -> None:
        self.record, self.etag, self.site, self.project = record, etag, site, project
        self.id, self.suite, self.state = record["id"], record["suite_id"], record["state"]
        self.start, self.end = site.parse(record["starts_at"]), site.parse(record["ends_at"])
        self.in_period = PERIOD[0] <= site.local(self.start).date() <= PERIOD[1]
        self.locked = record["locked"]
        self.reason: str | None = None

    @property
    def live(self) -> bool:
        """Whether it occupies its suite."""
        return self.record["deleted_at"] is None and self.state in OCCUPIES

    def rank(self) -> tuple[Any, ...]:
        """Lower is higher."""
        due = self.project["delivery_at"]
        return (
            0 if self.locked else 1,
            OCCUPIES.index(self.state),
            datetime.fromisoformat(due) if due else END_OF_TIME,
            datetime.fromisoformat(self.record["created_at"]),
            self.id,
        )


class Plan:
    """What the policy makes of the bookings."""

    def __init__(
        self, desk_time: str, sites: dict[str, Site], suites: dict[str, Json], bookings: list[Booking]
    ) -> None:
        self.now = datetime.fromisoformat(desk_time)
        self.suites, self.bookings = suites, bookings
        self.outages = {
            name: [
                (site.parse(x["starts_at"]), site.parse(x["ends_at"]) if x["ends_at"] else END_OF_TIME)
                for x in suite["outages"]
            ]
            for name, suite in suites.items()
            for site in [sites[suite["site_id"]]]
        }
        self.settled: list[Booking] = []

    def clash(self, one: Booking, other: Booking, suite: str) -> bool:
        """Say whether two bookings would clash in a suite."""
        gap = timedelta(minutes=self.suites[suite]["turnaround_min"])
        if one.project["id"] == other.project["id"]:
            gap = timedelta()
        return one.start < other.end + gap and other.start < one.end + gap

    def shut(self, booking: Booking, suite: str) -> bool:
        """Say whether a booking would clash with an outage of a suite."""
        return any(booking.start < end and start < booking.end for start, end in self.outages[suite])

    def open(self) -> list[Booking]:
        """The live bookings in the period."""
        return [x for x in self.bookings if x.live and x.in_period]

    def release(self, booking: Booking, reason: str) -> None:
        """Release a booking."""
        booking.state, booking.reason = "released", reason

    def clear(self) -> None:
        """Section 2."""
        for x in self.open():
            if x.project["status"] == "closed":
                self.release(x, "project_closed")
        for x in self.open():
            hold = x.record["hold_until"]
            if x.state == "pencil" and hold and datetime.fromisoformat(hold) < self.now:
                self.release(x, "pencil_expired")
        same = defaultdict(list)
        for x in self.open():
            same[x.project["id"], x.suite, x.start, x.end].append(x)
        for group in same.values():
            keep = min(group, key=Booking.rank)
            for x in group:
                if x is not keep:
                    self.release(x, "duplicate")

    def clashes(self) -> list[list[str]]:
        """The pairs of the report."""
        live = [x for x in self.bookings if x.live]
        return sorted(
            sorted((x.id, y.id))
            for number, x in enumerate(live)
            for y in live[number + 1 :]
            if x.suite == y.suite and (x.in_period or y.in_period) and self.clash(x, y, x.suite)
        )

    def units(self) -> list[list[Booking]]:
        """Section 3: units, highest rank first."""
        fixed = [x for x in self.bookings if x.live and not x.in_period]
        self.settled = list(fixed)
        units = defaultdict(list)
        for x in self.open():
            units[x.record["block_id"] or x.id].append(x)
        anchored = {x.record["block_id"] for x in fixed}
        for name, unit in units.items():
            if any(x.locked for x in unit) or name in anchored:
                for x in unit:
                    x.locked = True
        return sorted(units.values(), key=lambda unit: min(x.rank() for x in unit))

    def fits(self, unit: list[Booking], suite: str) -> bool:
        """Say whether a unit can move to a suite."""
        record = self.suites[suite]
        there = [x for x in self.bookings if x.live and x.suite == suite]
        return all(
            x.record["kind"] in record["kinds"]
            and set(x.record["needs"]) <= set(record["features"])
            and x.record["crew"] <= record["seats"]
            and not self.shut(x, suite)
            and not any(self.clash(x, y, suite) for y in there)
            for x in unit
        )

    def settle(self) -> None:
        """Section 4."""
        for unit in self.units():
            home = unit[0].suite
            standing = [x for x in self.settled if x.suite == home and x.live]
            outage = any(self.shut(x, home) for x in unit)
            if outage or any(self.clash(x, y, home) for x in unit for y in standing):
                self.displace(unit, home, "outage" if outage else "clash")
            self.settled += unit

    def displace(self, unit: list[Booking], home: str, reason: str) -> None:
        """Move a unit, or make it give way."""
        site = self.suites[home]["site_id"]
        others = [x for x, suite in self.suites.items() if x != home and suite["site_id"] == site]
        if any(x.locked for x in unit):
            others = []
        found = [x for x in others if self.fits(unit, x)]
        best = min(
            found, key=lambda x: (self.suites[x]["seats"], len(self.suites[x]["features"]), x), default=None
        )
        for x in unit:
            x.reason = reason
            if best:
                x.suite = best
            else:
                x.state = "waitlisted" if x.state == "confirmed" else "released"


def recipient(people: dict[str, Json], name: str, now: datetime) -> str:
    """The address of a person or of who stands in."""
    person = people[name]
    away, back = person["away_from"], person["away_until"]
    if away and datetime.fromisoformat(away) <= now < datetime.fromisoformat(back):
        return recipient(people, person["delegate_id"], now)
    return str(person["email"])


def read_bookings(client: Client, sites: dict[str, Site], suites: dict[str, Json]) -> list[Booking]:
    """Every booking as it is now, those that the listing lacks included."""
    projects = client.table("projects")
    names = {x["id"] for x in client.pages("bookings")} | {x["booking_id"] for x in client.pages("changes")}
    bookings = []
    for name in sorted(names):
        record, headers = client.call("GET", f"/bookings/{name}")
        site = sites[suites[record["suite_id"]]["site_id"]]
        bookings.append(Booking(record, headers["ETag"], site, projects[record["project_id"]]))
    return bookings


def write(client: Client, booking: Booking, address: str) -> Json:
    """Change one booking, send its notice, and return its row of the report."""
    moved = booking.suite != booking.record["suite_id"]
    change = {"suite_id": booking.suite} if moved else {"state": booking.state}
    changed, _ = client.call(
        "PATCH", f"/bookings/{booking.id}", {"If-Match": booking.etag}, {**change, "reason": booking.reason}
    )
    action, new = ("moved", booking.suite) if moved else (booking.state, None)
    notice = {
        "booking_id": booking.id,
        "booking_version": changed["version"],
        "kind": action,
        "recipient": address,
        "suite_id": new,
        "local_start": booking.site.local(booking.start).isoformat(timespec="minutes"),
    }
    client.call("POST", "/notices", body=notice)
    return {
        "booking_id": booking.id,
        "action": action,
        "reason": booking.reason,
        "from_suite": booking.record["suite_id"],
        "to_suite": new,
        "start_utc": booking.start.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "recipient": address,
    }


def resolve(client: Client) -> Json:
    """Do the job and return the report."""
    desk_time = client.call("GET", "/status")[0]["desk_time"]
    sites = {name: Site(record) for name, record in client.table("sites").items()}
    suites, people = client.table("suites"), client.table("people")
    plan = Plan(desk_time, sites, suites, read_bookings(client, sites, suites))
    plan.clear()
    clashes = plan.clashes()
    plan.settle()
    changes = [
        write(client, x, recipient(people, x.project["producer_id"], plan.now))
        for x in plan.bookings
        if x.reason and (x.suite != x.record["suite_id"] or x.state != x.record["state"])
    ]
    count, length = Counter(), Counter()
    for x in plan.open():
        count[x.suite] += 1
        length[x.suite] += (x.end - x.start) // timedelta(minutes=1)
    return {
        "desk_time": desk_time,
        "clashes": clashes,
        "changes": changes,
        "suites": [{"suite_id": x, "bookings": count[x], "minutes": length[x]} for x in sorted(suites)],
    }


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8750)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    client = Client(arguments.port)
    try:
        report = resolve(client)
    finally:
        client.connection.close()
    arguments.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
