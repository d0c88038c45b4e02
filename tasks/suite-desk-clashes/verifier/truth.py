"""What the clash policy makes of a first state, read from SQL; knows neither the service nor the oracle.

Instants are whole minutes since 2025-01-01T00:00Z.
"""

from __future__ import annotations

import json
import re
import sqlite3
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

STAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::00)?(Z|[+-]\d\d:\d\d)?")
ORIGIN = date(2025, 1, 1).toordinal()
FIRST_DAY, LAST_DAY = date(2025, 10, 20).toordinal() - ORIGIN, date(2025, 11, 2).toordinal() - ORIGIN
FOREVER = 10**9
Row = dict[str, Any]


def shift(text: str) -> int:
    """Minutes of an offset."""
    if text == "Z":
        return 0
    minutes = int(text[1:3]) * 60 + int(text[4:6])
    return -minutes if text[0] == "-" else minutes


def wall(text: str) -> tuple[int, str | None]:
    """Minutes of the clock reading, and the offset written after it."""
    found = STAMP.fullmatch(text)
    if found is None:
        raise ValueError(text)
    year, month, day, hour, minute = map(int, found.groups()[:5])
    return (date(year, month, day).toordinal() - ORIGIN) * 1440 + hour * 60 + minute, found[6]


def minutes(text: str) -> int:
    """The instant of a time with an offset."""
    reading, zone = wall(text)
    assert zone is not None, text
    return reading - shift(zone)


class Clock:
    """Local time of a site: stretches (from, to, offset) of its table."""

    def __init__(self, offsets: list[Row]) -> None:
        starts = [-FOREVER if x["from"] is None else minutes(x["from"]) for x in offsets]
        self.stretches = [
            (start, end, shift(x["offset"]))
            for start, end, x in zip(starts, [*starts[1:], FOREVER], offsets, strict=True)
        ]

    def instant(self, text: str) -> int:
        """The instant of a time; without an offset the first that the clock shows."""
        reading, zone = wall(text)
        if zone is not None:
            return reading - shift(zone)
        return min(reading - off for start, end, off in self.stretches if start <= reading - off < end)

    def offset(self, instant: int) -> int:
        """Minutes of the offset that holds at an instant."""
        return next(off for start, end, off in self.stretches if start <= instant < end)

    def day(self, instant: int) -> int:
        """The local day."""
        return (instant + self.offset(instant)) // 1440

    def show(self, instant: int) -> str:
        """Local time with its offset."""
        off = self.offset(instant)
        sign, (hour, minute) = "-" if off < 0 else "+", divmod(abs(off), 60)
        return f"{stamp(instant + off)}{sign}{hour:02}:{minute:02}"


def stamp(reading: int) -> str:
    """Write a clock reading to the minute."""
    day, rest = divmod(reading, 1440)
    return f"{date.fromordinal(ORIGIN + day)}T{rest // 60:02}:{rest % 60:02}"


@dataclass(kw_only=True, eq=False)
class Session:
    """A booking with instants."""

    row: Row
    start: int
    end: int
    inside: bool
    suite: str
    state: str
    rank: tuple[Any, ...]
    reason: str | None = None
    settled: bool = False

    @property
    def live(self) -> bool:
        """Whether it occupies its suite."""
        return self.row["deleted_at"] is None and self.state in ("confirmed", "pencil")


@dataclass(kw_only=True)
class Truth:
    """What has to stand in the database and in the report."""

    first: dict[str, list[tuple[Any, ...]]]
    bookings: dict[str, tuple[Any, ...]]
    changed: dict[str, Row] = field(default_factory=dict)
    notices: dict[str, Row] = field(default_factory=dict)
    report: Row = field(default_factory=dict)


def load(folder: Path) -> sqlite3.Connection:
    """The first state in memory."""
    database = sqlite3.connect(":memory:")
    database.executescript((folder / "schema.sql").read_text(encoding="utf-8"))
    database.executescript((folder / "seed.sql").read_text(encoding="utf-8"))
    return database


def tables(database: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables."""
    names = [
        x[0] for x in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    ]
    return {name: database.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in names}


def conclude(folder: Path) -> Truth:
    """Apply the policy."""
    database = load(folder)
    first = tables(database)
    database.row_factory = sqlite3.Row

    def rows(table: str) -> dict[str, Row]:
        return {row["id"]: dict(row) for row in database.execute(f"SELECT * FROM {table} ORDER BY id")}

    clocks = {name: Clock(json.loads(row["offsets"])) for name, row in rows("sites").items()}
    suites, people, projects = rows("suites"), rows("people"), rows("projects")
    desk_time = dict(database.execute("SELECT name, value FROM meta").fetchall())["desk_time"]
    now = minutes(desk_time)
    for suite in suites.values():
        clock = clocks[suite["site_id"]]
        suite["kinds"], suite["features"] = json.loads(suite["kinds"]), json.loads(suite["features"])
        suite["shut"] = [
            (clock.instant(x["starts_at"]), FOREVER if x["ends_at"] is None else clock.instant(x["ends_at"]))
            for x in json.loads(suite["outages"])
        ]

    sessions = []
    for row in rows("bookings").values():
        clock = clocks[suites[row["suite_id"]]["site_id"]]
        start = clock.instant(row["starts_at"])
        due = projects[row["project_id"]]["delivery_at"]
        sessions.append(
            Session(
                row=row,
                start=start,
                end=clock.instant(row["ends_at"]),
                inside=FIRST_DAY <= clock.day(start) <= LAST_DAY,
                suite=row["suite_id"],
                state=row["state"],
                rank=(
                    not row["locked"],
                    row["state"] != "confirmed",
                    FOREVER if due is None else minutes(due),
                    minutes(row["created_at"]),
                    row["id"],
                ),
            )
        )

    def clash(a: Session, b: Session) -> bool:
        gap = suites[a.suite]["turnaround_min"] if a.row["project_id"] != b.row["project_id"] else 0
        return a.suite == b.suite and a.start < b.end + gap and b.start < a.end + gap

    def shut(a: Session) -> bool:
        return any(a.start < end and start < a.end for start, end in suites[a.suite]["shut"])

    def release(found: list[Session], reason: str) -> None:
        for session in found:
            session.state, session.reason = "released", reason

    # Section 2
    def candidates() -> list[Session]:
        return [x for x in sessions if x.live and x.inside]

    release(
        [x for x in candidates() if projects[x.row["project_id"]]["status"] == "closed"], "project_closed"
    )
    release(
        [
            x
            for x in candidates()
            if x.state == "pencil" and x.row["hold_until"] is not None and minutes(x.row["hold_until"]) < now
        ],
        "pencil_expired",
    )
    alike: dict[tuple[Any, ...], list[Session]] = {}
    for x in candidates():
        alike.setdefault((x.row["project_id"], x.suite, x.start, x.end), []).append(x)
    for group in alike.values():
        release(sorted(group, key=lambda x: x.rank)[1:], "duplicate")

    live = [x for x in sessions if x.live]
    clashes = [
        [a.row["id"], b.row["id"]]
        for n, a in enumerate(live)
        for b in live[n + 1 :]
        if (a.inside or b.inside) and clash(a, b)
    ]

    # Sections 3 and 4
    units: dict[str, list[Session]] = {}
    held = {x.row["block_id"] for x in live if not x.inside and x.row["block_id"]}
    for x in live:
        if x.inside:
            units.setdefault(x.row["block_id"] or x.row["id"], []).append(x)
        x.settled = not x.inside
    queue = []
    for unit in units.values():
        locked = any(x.row["locked"] for x in unit) or unit[0].row["block_id"] in held
        queue.append((min((not locked, *x.rank[1:]) for x in unit), locked, unit))
    for _, locked, unit in sorted(queue, key=lambda x: x[0]):
        outage = any(shut(x) for x in unit)
        if outage or any(clash(x, y) for x in unit for y in live if y.settled and y.live and y not in unit):
            reason, home = "outage" if outage else "clash", unit[0].suite
            choice = []
            for name, suite in suites.items():
                if (
                    locked
                    or name == home
                    or suite["site_id"] != suites[home]["site_id"]
                    or any(x.row["kind"] not in suite["kinds"] for x in unit)
                    or any(not set(json.loads(x.row["needs"])) <= set(suite["features"]) for x in unit)
                    or any(x.row["crew"] > suite["seats"] for x in unit)
                ):
                    continue
                for x in unit:
                    x.suite = name
                if not any(
                    shut(x) or any(clash(x, y) for y in live if y.live and y not in unit) for x in unit
                ):
                    choice.append((suite["seats"], len(suite["features"]), name))
            target = min(choice)[2] if choice else home
            for x in unit:
                x.suite, x.reason = target, reason
                if not choice:
                    x.state = "waitlisted" if x.state == "confirmed" else "released"
        for x in unit:
            x.settled = True

    # Sections 5 and 6, and the report
    def recipient(person: Row) -> str:
        while person["away_from"] is not None and minutes(person["away_from"]) <= now < minutes(
            person["away_until"]
        ):
            person = people[person["delegate_id"]]
        return str(person["email"])

    truth = Truth(first=first, bookings={row[0]: row for row in first["bookings"]})
    changes = []
    for x in sessions:
        row = x.row
        if x.reason is None or (x.suite, x.state) == (row["suite_id"], row["state"]):
            continue
        name = row["id"]
        final = {
            **row,
            "suite_id": x.suite,
            "state": x.state,
            "reason": x.reason,
            "version": row["version"] + 1,
        }
        truth.bookings[name] = tuple(final.values())
        moved = x.suite != row["suite_id"]
        truth.changed[name] = {"reason": x.reason, **({"suite_id": x.suite} if moved else {"state": x.state})}
        action, new = "moved" if moved else x.state, x.suite if moved else None
        address = recipient(people[projects[row["project_id"]]["producer_id"]])
        truth.notices[name] = {
            "booking_id": name,
            "booking_version": final["version"],
            "kind": action,
            "recipient": address,
            "suite_id": new,
            "local_start": clocks[suites[x.suite]["site_id"]].show(x.start),
        }
        changes.append(
            {
                "booking_id": name,
                "action": action,
                "reason": x.reason,
                "from_suite": row["suite_id"],
                "to_suite": new,
                "start_utc": f"{stamp(x.start)}:00Z",
                "recipient": address,
            }
        )
    left = [x for x in sessions if x.live and x.inside]
    truth.report = {
        "desk_time": desk_time,
        "clashes": clashes,
        "changes": changes,
        "suites": [
            {
                "suite_id": name,
                "bookings": sum(x.suite == name for x in left),
                "minutes": sum(x.end - x.start for x in left if x.suite == name),
            }
            for name in suites
        ],
    }
    return truth
