#!/usr/bin/env python3
"""Write the first state of the desk, from one seed: `python3 generator/generate.py`.

Houses, people, projects and bookings are invented. Most of the diary is drawn at random; `Diary.planted` adds
the cases that the policy's finer points are about. Nothing here reaches the image, whose build context is
`environment/`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

SEED = 20251020
HALF = timedelta(minutes=30)
DESK_TIME = "2025-10-17T14:00:00+02:00"
LISTING_AS_OF = "2025-10-16T23:00:00Z"
SITES = {
    "BER": ("Berlin", (("2025-03-30T01:00:00Z", 2), ("2025-10-26T01:00:00Z", 1))),
    "LDN": ("London", (("2025-03-30T01:00:00Z", 1), ("2025-10-26T01:00:00Z", 0))),
    "TOR": ("Toronto", (("2025-03-09T07:00:00Z", -4), ("2025-11-02T06:00:00Z", -5))),
}
CHANGES = {"UTC": (), **{code: changes for code, (_, changes) in SITES.items()}}
STANDARD = {"BER": 1, "LDN": 0, "TOR": -5, "UTC": 0}
# suite, name, kinds, features, seats, turnaround
SUITES = (
    ("BER-1", "Havel", ("edit",), ("lounge", "uhd"), 4, 30),
    ("BER-2", "Spree", ("edit", "grade"), ("hdr", "uhd"), 6, 30),
    ("BER-3", "Panke", ("edit",), ("uhd",), 4, 0),
    ("BER-4", "Dahme", ("mix", "voice"), ("atmos", "booth"), 5, 15),
    ("BER-5", "Wuhle", ("grade",), ("hdr", "lounge", "uhd"), 8, 30),
    ("BER-6", "Erpe", ("mix", "voice"), ("booth",), 3, 0),
    ("LDN-1", "Fleet", ("edit",), (), 3, 0),
    ("LDN-2", "Wandle", ("edit",), ("uhd",), 3, 30),
    ("LDN-3", "Lea", ("edit", "grade"), ("hdr", "lounge", "uhd"), 4, 30),
    ("LDN-4", "Effra", ("grade",), ("hdr", "lounge", "uhd"), 9, 60),
    ("LDN-5", "Tyburn", ("mix",), ("atmos", "lounge"), 8, 30),
    ("LDN-6", "Peck", ("mix", "voice"), ("booth",), 4, 15),
    ("LDN-7", "Brent", ("edit", "voice"), ("booth", "uhd"), 5, 15),
    ("TOR-1", "Don", ("edit",), ("uhd",), 4, 30),
    ("TOR-2", "Humber", ("edit", "grade"), ("hdr", "uhd"), 6, 30),
    ("TOR-3", "Rouge", ("mix", "voice"), ("atmos", "booth", "lounge"), 6, 30),
    ("TOR-4", "Credit", ("edit",), ("lounge",), 4, 0),
    ("TOR-5", "Mimico", ("grade", "mix"), ("atmos", "hdr", "uhd"), 7, 45),
)
# suite, start, end; as written into the record
OUTAGES = {
    "BER-2": (("2025-10-23T12:00", "2025-10-23T20:00"),),
    "BER-6": (("2025-10-29T00:00:00+01:00", None),),
    "LDN-2": (("2025-10-22T17:00:00Z", "2025-10-23T07:00:00Z"),),
    "LDN-5": (
        ("2025-10-27T08:00", "2025-10-27T20:00"),
        ("2025-10-31T08:00:00-04:00", "2025-10-31T12:00:00-04:00"),
    ),
    "TOR-2": (("2025-10-28T06:00", "2025-10-30T06:00"),),
}
FIRST = [
    "Ada",
    "Bram",
    "Chiara",
    "Dov",
    "Esme",
    "Farid",
    "Greta",
    "Hugo",
    "Imani",
    "Jonas",
    "Kaya",
    "Lior",
    "Mira",
    "Nils",
    "Oona",
    "Piet",
    "Quinn",
    "Rosa",
    "Sami",
    "Tess",
]
LAST = [
    "Abara",
    "Bellweather",
    "Castellan",
    "Dorn",
    "Ekholm",
    "Farrow",
    "Grünberg",
    "Halloran",
    "Ivers",
    "Jelinek",
    "Kestrel",
    "Lindgren",
    "Moreau",
    "Nakata",
    "Okafor",
    "Pell",
    "Quist",
    "Rahimi",
    "Sandoval",
    "Thorne",
]
TITLES = [
    "Salt Line",
    "The Cartographers",
    "Nine Quiet Rooms",
    "Harbour Radio",
    "Under Glass",
    "Weather Children",
    "Low Tide Road",
    "Paper Kings",
    "Second Winter",
    "A Field Guide to Leaving",
    "Ironbridge",
    "Tender Machines",
    "The Long Aisle",
    "Moth Hour",
    "Copper Street",
    "Orchard Nights",
    "Blue Ledger",
    "Night Ferry",
    "Small Republics",
    "Kestrel Point",
    "Glasshouse Four",
    "The Understudies",
    "Fault Lines",
    "Summer Parliament",
    "Eleven Bridges",
    "North of Nothing",
    "The Lamplighters",
    "Half a Kingdom",
    "Static",
    "Open Water",
]
CLIENTS = (
    "Marlow & Finch",
    "Studio Nordkap",
    "Redwing Pictures",
    "Canal Street Films",
    "Polder Media",
    "Tamarack TV",
)


def iso(moment: datetime, hours: float | None) -> str:
    """Write an instant with an offset in hours, in UTC as `Z` (None)."""
    if hours is None:
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    zone = timezone(timedelta(hours=hours))
    return moment.astimezone(zone).isoformat()


def parse(text: str) -> datetime:
    """Read a time with an offset."""
    return datetime.fromisoformat(text).astimezone(UTC)


def offset(site: str, moment: datetime) -> int:
    """Give the offset in hours that holds at a site."""
    hours = STANDARD[site]
    for since, new in CHANGES[site]:
        if moment >= parse(since):
            hours = new
    return hours


def local(site: str, text: str) -> datetime:
    """Read `MM-DD HH:MM` of 2025 in local time, the first of two where the clocks pass it twice."""
    wall = datetime.strptime(f"2025-{text}", "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
    known = {STANDARD[site], *(new for _, new in CHANGES[site])}
    found = [wall - timedelta(hours=hours) for hours in sorted(known, reverse=True)]
    return next(moment for moment in found if moment + timedelta(hours=offset(site, moment)) == wall)


@dataclass(kw_only=True, eq=False)
class Booking:
    """One row of `bookings`, times as instants."""

    suite: str
    project: str
    start: datetime
    end: datetime
    kind: str = ""
    needs: tuple[str, ...] = ()
    crew: int = 2
    state: str = "confirmed"
    hold: str | None = None
    locked: bool = False
    block: str | None = None
    created: str = ""
    deleted: str | None = None
    reason: str | None = None
    style: str = ""
    id: str = ""
    version: int = 1
    then: dict[str, object] | None = field(default_factory=dict)  # what the listing says; None: not listed

    @property
    def site(self) -> str:
        """The site of the suite."""
        return self.suite[:3]

    def write(self, moment: datetime) -> str:
        """Write a time in the booking's style: z, local, floating, or an offset in hours."""
        match self.style:
            case "z":
                return iso(moment, None)
            case "local":
                return iso(moment, offset(self.site, moment))
            case "floating":
                wall = moment + timedelta(hours=offset(self.site, moment))
                assert local(self.site, wall.strftime("%m-%d %H:%M")) == moment, "the second of two"
                return wall.strftime("%Y-%m-%dT%H:%M")
            case hours:
                return iso(moment, float(hours))

    def row(self) -> dict[str, object]:
        """The record."""
        return {
            "id": self.id,
            "suite_id": self.suite,
            "project_id": self.project,
            "kind": self.kind,
            "needs": list(self.needs),
            "crew": self.crew,
            "starts_at": self.write(self.start),
            "ends_at": self.write(self.end),
            "state": self.state,
            "hold_until": self.hold,
            "locked": self.locked,
            "block_id": self.block,
            "created_at": self.created,
            "deleted_at": self.deleted,
            "reason": self.reason,
            "version": self.version,
        }


class Diary:
    """All tables of the first state."""

    def __init__(self) -> None:
        self.random = random.Random(SEED)
        self.bookings: list[Booking] = []
        self.suites = {name: (kinds, features, seats, gap) for name, _, kinds, features, seats, gap in SUITES}
        self.blocks = 0
        self.make_people()
        self.make_projects()
        self.free: list[tuple[str, datetime, datetime]] = []
        self.planted()
        self.plants = len(self.bookings)
        self.reserved = self.free + [(x.suite, x.start - 4 * HALF, x.end + 4 * HALF) for x in self.bookings]
        self.regular()
        self.imported()
        self.finish()

    # -- people and projects

    def make_people(self) -> None:
        """Producers and who stands in for them."""
        self.people = []
        lasts = self.random.sample(LAST, len(LAST))
        for number, (first, last) in enumerate(zip(FIRST, lasts, strict=True), 1):
            email = f"{first}.{last}@lanternhouse.example".lower().replace("ü", "ue")
            self.people.append([f"P-{number:02}", f"{first} {last}", email, None, None, None])
        away = {
            2: ("2025-10-13T00:00:00+02:00", "2025-10-20T00:00:00+02:00", "P-03"),
            3: (
                "2025-10-17T08:00:00-04:00",
                "2025-10-24T08:00:00-04:00",
                "P-05",
            ),  # from the desk time itself
            5: ("2025-10-16T09:00:00+01:00", "2025-10-18T09:00:00+01:00", "P-09"),
            7: ("2025-10-06T00:00:00+02:00", "2025-10-17T14:00:00+02:00", "P-01"),  # up to the desk time
            8: ("2025-10-17T13:30:00+01:00", "2025-10-27T09:00:00+00:00", "P-02"),  # not yet
            11: ("2025-10-17T07:30:00-04:00", "2025-10-31T09:00:00-04:00", "P-12"),
            12: ("2025-09-01T00:00:00+02:00", "2025-09-12T00:00:00+02:00", "P-13"),  # was away
            14: ("2025-10-17T12:30:00+01:00", "2025-10-17T08:30:00-04:00", "P-16"),
        }
        for number, leave in away.items():
            self.people[number - 1][3:] = leave

    def make_projects(self) -> None:
        """Projects with deadlines, some without."""
        self.projects = []
        for number, title in enumerate(TITLES, 1):
            day = datetime(2025, 10, 28, tzinfo=UTC) + timedelta(days=self.random.randrange(40))
            due = iso(
                day + timedelta(hours=self.random.randrange(24)), self.random.choice((None, -4, 1, 2, 9))
            )
            status = {6: "closed", 19: "closed", 11: "on_hold", 23: "on_hold"}.get(number, "active")
            if number % 7 == 4:
                due = None
            producer = self.people[self.random.randrange(16)][0]
            client = self.random.choice(CLIENTS)
            self.projects.append([f"PR-{number:02}", title, client, status, due, producer])
        # Whose deadlines are the wrong way round when compared as text.
        self.projects[0][4], self.projects[1][4] = "2025-11-07T23:00:00-05:00", "2025-11-08T02:00:00+01:00"
        self.projects[2][4], self.projects[4][4] = "2025-11-14T18:00:00Z", "2025-11-14T19:30:00+02:00"
        for number, producer in ((1, 2), (2, 7), (3, 8), (5, 14), (8, 11), (9, 3), (10, 5)):
            self.projects[number - 1][5] = f"P-{producer:02}"

    # -- bookings

    def add(self, suite: str, start: str, end: str, project: int, **more: object) -> Booking:
        """Add a booking with its times in local time, or in UTC."""
        site = "UTC" if more.pop("utc", False) else suite[:3]
        more = {"kind": self.suites[suite][0][0], **more}
        booking = Booking(
            suite=suite, project=f"PR-{project:02}", start=local(site, start), end=local(site, end), **more
        )
        self.bookings.append(booking)
        return booking

    def leave_free(self, start: str, end: str, *suites: str) -> None:
        """Keep random bookings out of suites, for a case that is about which of them is taken."""
        self.free += [(suite, local(suite[:3], start), local(suite[:3], end)) for suite in suites]

    def block(self) -> str:
        """A new block id."""
        self.blocks += 1
        return f"BL-{self.blocks:02}"

    def planted(self) -> None:
        """The cases that the policy's finer points are about."""
        add = self.add
        early, late = "2025-06-02T09:00:00+02:00", "2025-09-01T09:00:00+02:00"
        # Turnaround: exactly enough, too little, the same project, and another suite's.
        add("LDN-4", "10-21 08:00", "10-21 12:00", 3, style="local")
        add("LDN-4", "10-21 13:00", "10-21 16:00", 5, style="z")
        add("LDN-4", "10-21 16:00", "10-21 18:00", 5, style="floating")
        add("LDN-4", "10-21 18:30", "10-21 22:00", 8, style="2", state="pencil")
        add("TOR-5", "10-22 08:00", "10-22 12:00", 9, style="z")
        add("TOR-5", "10-22 12:45", "10-22 15:00", 10, style="local")
        add("TOR-5", "10-22 15:30", "10-22 19:00", 12, style="floating", state="pencil")
        # The night the clocks go back. Floating times in the repeated hour are the first of two.
        add("LDN-7", "10-25 22:00", "10-26 01:30", 3, style="floating", created=early)
        add("LDN-7", "10-26 01:00", "10-26 05:00", 3, style="local", created=late, utc=True)
        add("LDN-7", "10-26 05:15", "10-26 08:00", 8, style="z", created=late, utc=True)
        add("BER-3", "10-25 23:00", "10-26 02:30", 9, style="floating", created=early)
        add("BER-3", "10-26 00:30", "10-26 04:00", 9, style="z", created=late, utc=True)
        add("BER-3", "10-26 05:00", "10-26 09:00", 10, style="floating")
        add("TOR-4", "11-02 06:00", "11-02 10:00", 1, style="local", created=early, utc=True)
        add("TOR-4", "11-02 05:00", "11-02 09:00", 2, style="floating", created=late)
        add("TOR-4", "11-02 00:30", "11-02 01:00", 2, style="floating", created=late)
        add("LDN-2", "10-28 09:00", "10-28 13:00", 12, style="floating")
        add("LDN-2", "10-28 12:00", "10-28 12:30", 1, style="z", state="pencil")
        # The ends of the period, by local date. The fixed ones rank low, and hold their suites all the same.
        add("BER-1", "10-20 00:30", "10-20 06:00", 1, style="z", locked=True)
        add("BER-1", "10-20 04:00", "10-20 10:00", 13, style="local")
        add(
            "BER-2",
            "10-19 23:30",
            "10-20 03:00",
            4,
            style="local",
            state="pencil",
            hold="2025-10-15T12:00:00Z",
        )
        add("BER-2", "10-20 02:00", "10-20 07:00", 1, style="local", crew=6, needs=("hdr",))
        add("TOR-1", "10-19 22:00", "10-20 05:00", 6, style="z")
        add("TOR-1", "10-20 04:00", "10-20 09:00", 1, style="local")
        add("TOR-2", "11-02 23:30", "11-03 04:00", 4, style="z", kind="grade")
        add("TOR-2", "11-02 18:00", "11-03 00:30", 2, style="2", kind="grade", needs=("hdr",))
        add(
            "LDN-3",
            "11-03 00:00",
            "11-03 06:00",
            19,
            style="local",
            state="pencil",
            hold="2025-10-01T00:00:00Z",
        )
        add("LDN-3", "11-02 19:00", "11-03 00:30", 3, style="-4", kind="grade", crew=5)
        add("LDN-3", "11-02 12:00", "11-02 18:30", 6, style="local")
        # Holds: the desk time itself, in other offsets, on a confirmed booking.
        for suite, day, hold, state in (
            ("BER-3", "10-21", "2025-10-17T12:00:00Z", "pencil"),
            ("BER-3", "10-22", "2025-10-17T13:30:00+01:00", "pencil"),
            ("BER-3", "10-23", "2025-10-17T08:30:00-04:00", "pencil"),
            ("BER-6", "10-21", "2025-10-17T14:30:00+03:00", "pencil"),
            ("BER-6", "10-22", "2025-10-17T20:30:00+09:00", "pencil"),
            ("LDN-1", "10-22", "2025-10-16T12:00:00Z", "confirmed"),
            ("LDN-1", "10-23", None, "pencil"),
            ("LDN-1", "10-24", "2025-10-10T17:00:00+01:00", "pencil"),
        ):
            add(suite, f"{day} 09:00", f"{day} 14:00", 14, style="local", state=state, hold=hold)
            add(suite, f"{day} 13:00", f"{day} 18:00", 4, style="floating", created=early)
        # The same session entered twice.
        for suite, day in (("LDN-6", "10-22"), ("TOR-3", "10-24"), ("BER-5", "10-30")):
            add(suite, f"{day} 10:00", f"{day} 15:00", 16, style="floating", created=late)
            add(suite, f"{day} 10:00", f"{day} 15:00", 16, style="z", created=early)
        add("LDN-6", "10-29 10:00", "10-29 15:00", 17, style="z", created=early, state="pencil")
        add("LDN-6", "10-29 10:00", "10-29 15:00", 17, style="local", created=late)
        add(
            "LDN-6",
            "10-30 10:00",
            "10-30 15:00",
            17,
            style="z",
            created=early,
            state="pencil",
            hold="2025-10-02T10:00:00Z",
        )
        add("LDN-6", "10-30 10:00", "10-30 15:00", 17, style="2", created=late, state="pencil")
        add("LDN-6", "10-31 10:00", "10-31 15:00", 18, style="z", created=late, kind="voice", locked=True)
        add("LDN-6", "10-31 10:00", "10-31 15:00", 18, style="z", created=early, kind="mix")
        add("TOR-4", "10-27 10:00", "10-27 15:00", 20, style="z", created=early)
        add("TOR-4", "10-27 10:00", "10-27 15:30", 20, style="local", created=late)
        # Created at the same instant, or in another order than the text says: the rank decides.
        add("TOR-4", "10-28 10:00", "10-28 15:00", 21, style="z", created="2025-08-04T09:00:00-04:00", crew=4)
        add("TOR-4", "10-28 14:00", "10-28 18:00", 21, style="z", created="2025-08-04T10:00:00+02:00", crew=4)
        add(
            "BER-5",
            "10-21 10:00",
            "10-21 15:00",
            22,
            style="local",
            created="2025-08-05T09:00:00+02:00",
            crew=8,
        )
        add("BER-5", "10-21 14:00", "10-21 18:00", 22, style="local", created="2025-08-05T07:00:00Z", crew=8)
        for suite, day in (("BER-5", "10-23"), ("LDN-4", "10-29")):  # deadlines as text
            add(suite, f"{day} 08:00", f"{day} 13:00", 1, style="local", created=early, crew=8)
            add(suite, f"{day} 12:30", f"{day} 17:00", 2, style="local", created=late, crew=8)
        add("TOR-3", "10-21 08:00", "10-21 13:00", 3, style="local", created=early)
        add("TOR-3", "10-21 12:30", "10-21 17:00", 5, style="local", created=late)
        add("TOR-3", "10-22 08:00", "10-22 13:00", 4, style="local", created=early, needs=("atmos", "booth"))
        add("TOR-3", "10-22 12:30", "10-22 17:00", 5, style="local", created=late, needs=("atmos", "booth"))
        # Blocks: one member in the way moves all; a fixed member locks all; the widest need counts.
        one = self.block()
        for day in ("10-28", "10-29", "10-30"):
            add(
                "LDN-3", f"{day} 09:00", f"{day} 18:00", 13, style="floating", block=one, crew=3, created=late
            )
        add("LDN-3", "10-29 17:00", "10-29 21:00", 1, style="z", crew=6, created=early, kind="grade")
        two = self.block()
        for day in ("10-31", "11-01", "11-02", "11-03"):
            add(
                "LDN-7",
                f"{day} 10:00",
                f"{day} 18:00",
                15,
                style="local",
                block=two,
                state="pencil",
                created=late,
            )
        add("LDN-7", "11-01 16:00", "11-01 20:00", 1, style="z", created=early)
        three = self.block()
        add("TOR-1", "10-23 09:00", "10-23 17:00", 15, style="local", block=three, crew=3)
        add("TOR-1", "10-24 09:00", "10-24 17:00", 15, style="local", block=three, crew=6, state="pencil")
        add("TOR-1", "10-23 16:00", "10-23 20:00", 1, style="z", created=early)
        four = self.block()
        add("BER-1", "10-27 09:00", "10-27 17:00", 24, style="z", block=four, locked=True)
        add("BER-1", "10-28 09:00", "10-28 17:00", 24, style="z", block=four, state="pencil")
        add("BER-1", "10-28 15:00", "10-28 19:00", 1, style="local", created=early)
        add("BER-1", "10-27 16:00", "10-27 19:00", 3, style="local", created=early, locked=True)
        five = self.block()
        add("LDN-5", "10-28 09:00", "10-28 17:00", 25, style="z", block=five)
        add(
            "LDN-5",
            "10-29 09:00",
            "10-29 17:00",
            25,
            style="z",
            block=five,
            state="pencil",
            hold="2025-10-14T09:00:00Z",
        )
        add("LDN-5", "10-29 12:00", "10-29 18:00", 26, style="z")
        six = self.block()
        add("LDN-4", "10-30 09:00", "10-30 15:00", 25, style="floating", block=six, crew=9)
        add("LDN-4", "10-31 09:00", "10-31 15:00", 25, style="floating", block=six, state="pencil")
        add("LDN-4", "10-31 14:00", "10-31 19:00", 2, style="floating", created=early)
        # Outages: the hour they touch, without turnaround; a room out for good.
        add("BER-2", "10-23 08:00", "10-23 12:00", 27, style="z", kind="grade")
        add("BER-2", "10-23 19:30", "10-23 23:00", 28, style="floating", kind="edit")
        add("LDN-2", "10-22 09:00", "10-22 18:00", 27, style="local")
        add("LDN-2", "10-23 08:00", "10-23 12:00", 28, style="floating", state="pencil")
        add("LDN-5", "10-27 06:00", "10-27 08:00", 29, style="floating")
        add("LDN-5", "10-31 12:00", "10-31 17:00", 29, style="z", locked=True, needs=("atmos",))
        add("BER-6", "10-28 20:00", "10-29 00:00", 30, style="floating", kind="voice")
        add("BER-6", "10-30 10:00", "10-30 16:00", 30, style="floating", kind="voice", created=early)
        add("BER-6", "10-31 10:00", "10-31 16:00", 4, style="z", kind="voice", state="pencil")
        add("BER-6", "10-31 15:30", "10-31 18:00", 13, style="z", kind="voice", state="confirmed")
        add("TOR-2", "10-30 03:00", "10-30 05:30", 9, style="z", kind="edit")
        add("TOR-2", "10-28 03:00", "10-28 06:00", 9, style="local", kind="edit")
        add("TOR-1", "10-29 10:00", "10-29 14:00", 1, style="z", created=early)
        add("TOR-1", "10-29 12:00", "10-29 16:00", 4, style="floating", needs=("uhd",), crew=5)
        # The turnaround of the suite moved to is longer.
        add("BER-3", "11-01 10:00", "11-01 14:00", 1, style="z", created=early)
        add("BER-3", "11-01 12:00", "11-01 16:00", 4, style="floating", needs=("uhd",), crew=4)
        add("BER-1", "11-01 16:15", "11-01 18:00", 9, style="z", locked=True)
        # A block ranks by its best member.
        for suite, days, states in (
            ("LDN-2", ("10-24", "10-25"), ("pencil", "confirmed")),
            ("TOR-1", ("10-30", "10-31"), ("confirmed", "pencil")),
            ("BER-1", ("10-22", "10-23"), ("pencil", "confirmed")),
        ):
            name = self.block()
            for day, state in zip(days, states, strict=True):
                add(suite, f"{day} 09:00", f"{day} 12:00", 1, style="local", block=name, state=state)
            add(suite, f"{days[0]} 11:00", f"{days[0]} 15:00", 4, style="z")
        # Who gave way is no longer in the way.
        add("LDN-5", "11-01 09:00", "11-01 12:00", 1, style="z", locked=True)
        add("LDN-5", "11-01 11:00", "11-01 15:00", 3, style="local", locked=True)
        add("LDN-5", "11-01 14:00", "11-01 18:00", 4, style="floating")
        # Of several suites: fewest seats, then fewest features.
        add("LDN-1", "10-21 09:00", "10-21 13:00", 1, style="z")
        add("LDN-1", "10-21 12:00", "10-21 16:00", 4, style="local", needs=("uhd",), crew=4)
        self.leave_free("10-21 09:00", "10-21 19:00", "LDN-2", "LDN-3", "LDN-7")
        add("BER-2", "10-25 10:00", "10-25 14:00", 1, style="z", kind="edit")
        add("BER-2", "10-25 12:00", "10-25 16:00", 4, style="floating", kind="edit", needs=("uhd",))
        self.leave_free("10-25 09:00", "10-25 19:00", "BER-1", "BER-3")
        # Locked, and another suite would be free.
        add("TOR-4", "10-30 09:00", "10-30 13:00", 1, style="z", locked=True)
        add("TOR-4", "10-30 12:00", "10-30 16:00", 4, style="local", locked=True)
        self.leave_free("10-30 08:00", "10-30 17:00", "TOR-2")
        # Notices to each kind of producer: away, not yet, no longer, with stand-ins.
        for hour, project in enumerate((1, 2, 3, 5, 8, 9, 10), 8):
            hold = f"2025-10-{project:02}T18:00:00+02:00"
            add("BER-4", f"10-24 {hour:02}:00", f"10-24 {hour + 1:02}:00", project, state="pencil", hold=hold)
        # Neither a lock nor a higher rank saves a booking from section 2.
        add("LDN-1", "10-25 09:00", "10-25 12:00", 6, style="local", locked=True)
        add(
            "LDN-7",
            "10-23 09:00",
            "10-23 12:00",
            9,
            style="local",
            state="pencil",
            locked=True,
            hold="2025-10-09T09:00:00Z",
        )
        # Nobody is driven out by a move: the better suite is held by one that later leaves it.
        add("LDN-1", "10-29 09:00", "10-29 13:00", 1, style="local", created=early, crew=3)
        add("LDN-1", "10-29 10:00", "10-29 14:00", 3, style="local", crew=3)
        add("LDN-2", "10-29 10:00", "10-29 14:00", 4, style="local", state="pencil", created=late)
        add("LDN-7", "10-29 14:30", "10-29 16:00", 26, style="local", locked=True)
        # Stays although the suite does not have what it needs.
        add("LDN-1", "10-31 09:00", "10-31 13:00", 28, style="z", needs=("hdr", "lounge"), crew=7)

    def regular(self) -> None:
        """The houses' own diaries, free of clashes but for what is planted."""
        pick = self.random
        for suite, (kinds, features, seats, gap) in self.suites.items():
            moment = local(suite[:3], "10-18 09:00")
            while moment < datetime(2025, 11, 5, tzinfo=UTC):
                hour = (moment + timedelta(hours=offset(suite[:3], moment))).hour
                length = pick.randrange(4, 17) * HALF
                if pick.random() < 0.19 and (7 <= hour <= 19 or pick.random() < 0.2):
                    self.draw(suite, kinds, features, seats, moment, moment + length)
                    moment += length + max(timedelta(minutes=gap), HALF * pick.randrange(0, 4))
                    moment += timedelta(minutes=-moment.minute % 30)
                else:
                    moment += HALF * pick.randrange(4, 12)
        for _ in range(4):
            self.random_block()

    def draw(
        self,
        suite: str,
        kinds: tuple[str, ...],
        features: tuple[str, ...],
        seats: int,
        start: datetime,
        end: datetime,
    ) -> Booking | None:
        """Add a random booking unless a planted case is near."""
        if any(s == suite and start < e and b < end for s, b, e in self.reserved):
            return None
        pick = self.random
        pencil = pick.random() < 0.35
        hold = None
        if pencil and pick.random() < 0.8:
            day = datetime(2025, 10, 13, tzinfo=UTC) + HALF * pick.randrange(48 * 40)
            hold = iso(day, pick.choice((None, 0, 1, 2, -4)))
        booking = Booking(
            suite=suite,
            project=pick.choice([row[0] for row in self.projects]),
            start=start,
            end=end,
            kind=pick.choice(kinds),
            needs=tuple(sorted(pick.sample(features, pick.randrange(min(2, len(features)) + 1)))),
            crew=pick.randrange(1, seats + 1),
            state="pencil" if pencil else "confirmed",
            hold=hold,
            locked=pick.random() < 0.06,
        )
        self.bookings.append(booking)
        return booking

    def random_block(self) -> None:
        """Put two or three neighbours of one suite into a block."""
        pick = self.random
        while True:
            first = pick.choice(self.bookings[self.plants :])
            days = [timedelta(days=n) for n in range(1, pick.randrange(2, 4))]
            spans = [(first.start + day, first.end + day) for day in days]
            near = [x for x in self.bookings if x.suite == first.suite and x is not first]
            free = all(x.end + 2 * HALF <= b or e + 2 * HALF <= x.start for b, e in spans for x in near)
            if (
                not first.block
                and free
                and not any(
                    s == first.suite and b < y and x < e for s, b, e in self.reserved for x, y in spans
                )
            ):
                break
        first.block = self.block()
        for start, end in spans:
            values = {**vars(first), "start": start, "end": end, "style": "", "then": {}}
            self.bookings.append(Booking(**values))

    def imported(self) -> None:
        """What the other houses' calendars brought: bookings on top of others, deleted and released ones."""
        pick = self.random
        own = list(self.bookings[self.plants :])
        for number in range(52):
            under = pick.choice(own)
            start = under.start + HALF * pick.randrange(-5, 9)
            kinds, features, seats, _ = self.suites[under.suite]
            made = self.draw(under.suite, kinds, features, seats, start, start + HALF * pick.randrange(3, 14))
            if made and number % 7 == 3:
                made.deleted = iso(datetime(2025, 10, 2, 9, tzinfo=UTC) + HALF * number, 2)
            if made and number % 7 == 5:
                made.state, made.reason = pick.choice((("released", "clash"), ("waitlisted", "outage")))
                made.hold = None

    def finish(self) -> None:
        """Give ids, styles and versions, and make the listing lag behind."""
        pick = self.random
        order = pick.sample(self.bookings, len(self.bookings))
        for number, booking in enumerate(order):
            booking.id = f"BK-{20114 + number * 3 + pick.randrange(3)}"
            day = datetime(2025, 5, 5, 8, tzinfo=UTC) + HALF * pick.randrange(48 * 150)
            booking.created = booking.created or iso(day, pick.choice((None, 1, 2, -4)))
            booking.version = pick.choice((1, 1, 1, 2, 2, 3, 5))
            booking.style = booking.style or pick.choice(
                ("z", "local", "local", "floating", "floating", "2", "-4", "1")
            )
            try:
                booking.row()
            except AssertionError:
                booking.style = "local"
        order_of_making = list(self.bookings)
        self.bookings.sort(key=lambda x: x.id)
        self.journal: list[tuple[str, int, dict[str, object]]] = []
        # What changed since the listing was written. Planted cases are spared where it would undo them.
        calm = [
            x for x in self.bookings if x.state in ("confirmed", "pencil") and not x.deleted and not x.block
        ]
        planted = {id(x) for x in order_of_making[: self.plants]}
        fresh = iter(pick.sample([x for x in calm if id(x) not in planted], 17))
        gone, released, made = ([next(fresh) for _ in range(n)] for n in (5, 4, 8))
        rest = iter(pick.sample([x for x in calm if x not in gone + released + made], 16))
        for booking in pick.sample([x for x in self.bookings if x.version > 1 and x not in made], 12):
            self.journal.append((booking.id, booking.version, {"crew": booking.crew}))
        self.listing_seq = len(self.journal)
        for _ in range(6):
            booking = next(rest)
            others = [x for x in self.suites if x[:3] == booking.site and x != booking.suite]
            self.lag(booking, {"suite_id": booking.suite}, {"suite_id": pick.choice(others)})
        for _ in range(6):
            booking = next(rest)
            shifted = {"start": booking.start - 3 * HALF, "end": booking.end - HALF, "style": "local"}
            before, now = Booking(**{**vars(booking), **shifted}).row(), booking.row()
            times = ("starts_at", "ends_at")
            self.lag(booking, {name: now[name] for name in times}, {name: before[name] for name in times})
        for name, other in (
            ("crew", lambda x: x % 3 + 1),
            ("locked", lambda x: not x),
            ("state", lambda x: "confirmed" if x == "pencil" else "pencil"),
            ("project_id", lambda x: "PR-30" if x != "PR-30" else "PR-29"),
        ):
            booking = next(rest)
            now = booking.row()[name]
            self.lag(booking, {name: now}, {name: other(now)})
        for booking in gone:
            booking.deleted = "2025-10-17T07:20:00Z"
            self.lag(booking, {"deleted_at": booking.deleted}, {"deleted_at": None})
        for booking in released:
            was, booking.state, booking.reason = booking.state, "released", "clash"
            self.lag(booking, {"state": "released", "reason": "clash"}, {"state": was, "reason": None})
        for booking in made:
            booking.version, booking.then = 1, None
            booking.created = iso(datetime(2025, 10, 17, 6, tzinfo=UTC) + HALF * pick.randrange(8), 2)
            self.journal.append((booking.id, 1, {"created_at": booking.created}))
        head, tail = self.journal[: self.listing_seq], self.journal[self.listing_seq :]
        pick.shuffle(tail)
        self.journal = head + tail

    def lag(self, booking: Booking, change: dict[str, object], then: dict[str, object]) -> None:
        """Note a change since the listing was written."""
        booking.version += 1
        booking.then = {**then, "version": booking.version - 1}
        self.journal.append((booking.id, booking.version, change))

    # -- SQL

    def sql(self) -> str:
        """The first state as SQL, one row a line."""
        tables: dict[str, list[tuple[object, ...]]] = {
            "meta": [
                ("desk_time", DESK_TIME),
                ("listing_as_of", LISTING_AS_OF),
                ("listing_seq", str(self.listing_seq)),
            ]
        }
        tables["sites"] = [
            (
                code,
                name,
                dump(
                    [{"from": None, "offset": hours(STANDARD[code])}]
                    + [{"from": since, "offset": hours(new)} for since, new in changes]
                ),
            )
            for code, (name, changes) in SITES.items()
        ]
        tables["suites"] = [
            (
                code,
                code[:3],
                name,
                dump(kinds),
                dump(features),
                seats,
                gap,
                dump([{"starts_at": a, "ends_at": b} for a, b in OUTAGES.get(code, ())]),
            )
            for code, name, kinds, features, seats, gap in SUITES
        ]
        tables["people"] = [tuple(row) for row in self.people]
        tables["projects"] = [tuple(row) for row in self.projects]
        rows = [booking.row() for booking in self.bookings]
        tables["bookings"] = [
            tuple(
                dump(v) if isinstance(v, list) else int(v) if isinstance(v, bool) else v for v in row.values()
            )
            for row in rows
        ]
        listed = [{**row, **x.then} for row, x in zip(rows, self.bookings, strict=True) if x.then is not None]
        random.Random(SEED + 1).shuffle(listed)
        tables["listing"] = [(n, row["id"], dump(row)) for n, row in enumerate(listed, 1)]
        before, journal = "", []
        for seq, (name, version, change) in enumerate(self.journal, 1):
            key, target = f"sync-{seq:06}", f"bookings/{name}"
            parts = [before, str(seq), key, target, str(version), compact(change)]
            before = hashlib.sha256("\n".join(parts).encode()).hexdigest()
            journal.append((seq, key, target, version, compact(change), before))
        tables["journal"] = journal
        return "".join(
            f"INSERT INTO {table} VALUES ({', '.join(map(quote, row))});\n"
            for table, rows in tables.items()
            for row in rows
        )


def hours(number: int) -> str:
    """Write an offset."""
    return f"{'-' if number < 0 else '+'}{abs(number):02}:00"


def dump(value: object) -> str:
    """Write JSON for a column."""
    return json.dumps(value, ensure_ascii=False)


def compact(value: object) -> str:
    """Write JSON as the journal does."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def quote(value: object) -> str:
    """Write an SQL literal."""
    match value:
        case None:
            return "NULL"
        case int():
            return str(value)
    return "'" + str(value).replace("'", "''") + "'"


def main() -> None:
    """Write the seed for the image and for the verifier."""
    task = Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=task, help="folder of the task")
    out = parser.parse_args().out
    text = Diary().sql()
    for folder in ("environment/desk", "verifier/pristine"):
        (out / folder).mkdir(parents=True, exist_ok=True)
        (out / folder / "seed.sql").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
