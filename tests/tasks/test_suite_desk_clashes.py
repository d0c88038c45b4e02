"""The task `suite-desk-clashes` outside Docker: data, service, checks and the mistakes they catch."""

import base64
import functools
import json
import os
import sqlite3
import sys
import threading
import types
from datetime import datetime
from pathlib import Path

import pytest
import task_module

SDC_TASK = Path(__file__).resolve().parents[2] / "tasks" / "suite-desk-clashes"
DATABASE_CHECKS = [
    "records",
    "journal",
    "accepted_calls",
    "cleared",
    "moved",
    "gave_way",
    "unchanged",
    "written_once",
    "notices",
]
load_sdc = functools.partial(task_module.load, SDC_TASK)


@pytest.fixture(scope="module")
def verifier():
    """The verifier's checks as a module."""
    return load_sdc("verifier/test_outputs.py", "sdc_test_outputs")


@pytest.fixture(scope="module")
def service():
    """The service as a module."""
    return load_sdc("environment/desk/desk.py", "sdc_desk")


@pytest.fixture(scope="module")
def generator():
    """The generator as a module."""
    return load_sdc("generator/generate.py", "sdc_generate")


@pytest.fixture(scope="module")
def right(verifier):
    """What the verifier concludes from the first state; never changed in place."""
    return verifier.truth.conclude(SDC_TASK / "verifier" / "pristine")


@pytest.fixture
def patience():
    """Seconds that clients were told to wait; waiting takes no time here."""
    return [0.0]


@pytest.fixture(scope="module")
def built(service, tmp_path_factory):
    """The bytes of the first database, built as in the image."""
    path = tmp_path_factory.mktemp("sdc") / "desk.db"
    folder = SDC_TASK / "environment" / "desk"
    service.build(path, *((folder / name).read_text(encoding="utf-8") for name in ("schema.sql", "seed.sql")))
    return path.read_bytes()


@pytest.fixture
def desk(built, service, tmp_path, patience):
    """The service on a fresh database without syncs, with a clock that moves by waiting alone."""
    path = tmp_path / "desk.db"
    path.write_bytes(built)
    desk = service.Desk(path, clock=lambda: patience[0])
    for setting in ("synchronous = OFF", "journal_mode = MEMORY", "locking_mode = EXCLUSIVE"):
        desk.database.execute(f"PRAGMA {setting}")
    yield desk
    desk.database.close()


def sdc_oracle(changes=()):
    """The reference solution as a module, its source changed by (old, new) pairs."""
    source = (SDC_TASK / "oracle" / "resolve.py").read_text()
    for old, new in changes:
        assert source.count(old) == 1, f"`{old}` occurs {source.count(old)} times in the oracle"
        source = source.replace(old, new)
    module = types.ModuleType("sdc_resolve")
    sys.modules[module.__name__] = module
    exec(compile(source, "resolve.py", "exec"), module.__dict__)
    return module


def solve_sdc(desk, patience, changes=()):
    """Run the reference solution against the service without sockets and return its report."""
    module = sdc_oracle(changes)
    module.Client.send = lambda self, method, target, headers, body: desk.handle(
        method, target, headers, body
    )

    def wait(seconds):
        patience[0] += seconds
        assert patience[0] < 1000, "it waits for ever"

    module.time = types.SimpleNamespace(sleep=wait)
    return module.resolve(module.Client(0))


def failing(verifier, right, path, report):
    """Return the names of the checks that find something in a database and a report."""
    left = verifier.read_database(path)
    found = {name for name in DATABASE_CHECKS if getattr(verifier, f"check_{name}")(left, right)}
    if verifier.check_report_shape(report):
        return found | {"report_shape"}
    found |= {"report_order"} if verifier.check_report_order(report) else set()
    return found | {
        name
        for name in ("report_clashes", "report_changes", "report_suites")
        if getattr(verifier, f"check_{name}")(report, right)
    }


def where(desk):
    """The path of a desk's database."""
    return Path(desk.database.execute("PRAGMA database_list").fetchone()[2])


def test_oracle_passes_every_check(verifier, right, desk, patience):
    """The reference solution, written apart from the verifier, passes all of its checks."""
    report = solve_sdc(desk, patience)
    assert failing(verifier, right, where(desk), report) == set()
    print("waited", patience[0])


FITS = """            x.record["kind"] in record["kinds"]
            and set(x.record["needs"]) <= set(record["features"])
            and x.record["crew"] <= record["seats"]
"""
STALE = """        record, headers = client.call("GET", f"/bookings/{name}")
"""
LISTED = """        headers = {"ETag": ""}
        record = listed.get(name) or client.call("GET", f"/bookings/{name}")[0]
"""
NAMES = "    bookings = []\n"
THERE = "there = [x for x in self.bookings if x.live and x.suite == suite]"
OFFSET = "moment.replace(tzinfo=tz).astimezone(UTC) for _, tz in self.changes"
BEST = 'key=lambda x: (self.suites[x]["seats"], len(self.suites[x]["features"]), x)'
GAP = 'gap = timedelta(minutes=self.suites[suite]["turnaround_min"])'
DUE = "datetime.fromisoformat(due) if due else END_OF_TIME"
CREATED = 'datetime.fromisoformat(self.record["created_at"])'
EXPIRED = 'x.state == "pencil" and hold and datetime.fromisoformat(hold) < self.now'
SHUT = "return any(booking.start < end and start < booking.end for start, end in self.outages[suite])"
AWAY = "if away and datetime.fromisoformat(away) <= now < datetime.fromisoformat(back):"
ANCHORED = "if any(x.locked for x in unit) or name in anchored:"
IN_PERIOD = "PERIOD[0] <= site.local(self.start).date() <= PERIOD[1]"
OPEN = "return [x for x in self.bookings if x.live and x.in_period]"
STANDING = "standing = [x for x in self.settled if x.suite == home and x.live]"
RANK = """            0 if self.locked else 1,
            OCCUPIES.index(self.state),
"""

REFUSALS_IGNORED = ("raise SystemExit(f", 'return {"version": 0}, {} or print(f')

SEND = "            status, found, answer = self.send(method, target, headers, data)\n"
NEW_KEYS = f"""            headers["Idempotency-Key"] = uuid.uuid4().hex
{SEND}
            if status == 412:
                return self.call("GET", target)
"""
WALL = (
    "class Plan:",
    "def wall(x, moment):\n    return x.site.local(moment).replace(tzinfo=None)\n\n\nclass Plan:",
)
COUNT = "    count, length = Counter(), Counter()\n"
TELL_ALL = f"""    for x in plan.open():
        body = {{"booking_id": x.id, "booking_version": x.record["version"], "kind": "moved"}}
        body |= {{"recipient": "", "suite_id": None, "local_start": ""}}
        if not x.reason:
            client.call("POST", "/notices", body=body)
{COUNT}"""
TELL = "    notice = {\n"
BACK_AGAIN = f"""    for again in ({{"suite_id": booking.record["suite_id"]}}, change) if moved else ():
        tag = {{"If-Match": client.call("GET", f"/bookings/{{booking.id}}")[1]["ETag"]}}
        body = {{**again, "reason": booking.reason}}
        changed, _ = client.call("PATCH", f"/bookings/{{booking.id}}", tag, body)
{TELL}"""
CHANGE = """client.call(
        "PATCH", f"/bookings/{booking.id}", {"If-Match": booking.etag}, {**change, "reason": booking.reason}
    )
    action"""
HOLDS = "        for x in self.open():\n            hold"
LAST = '                    self.release(x, "duplicate")\n'
LATE = f"""{LAST}
        for x in self.open():
            late(x)
"""
UNFIT = """            record = self.suites[home]
            unfit = any(
                not set(x.record["needs"]) <= set(record["features"]) or x.record["crew"] > record["seats"]
                for x in unit
            )
            if unfit or outage or any("""

# A careless solution each: how the oracle's source becomes it, checks that must fail.
CARELESS = {
    "first page only": (
        [('if page["next_cursor"] is None:', 'if page["next_cursor"] is None or resource == "bookings":')],
        {"moved", "cleared"},
    ),
    "stops at a short page": (
        [
            (
                'if page["next_cursor"] is None:',
                'if page["next_cursor"] is None or resource == "bookings" and len(page["items"]) < 25:',
            )
        ],
        {"cleared", "moved"},
    ),
    "stops at an empty page": (
        [
            (
                'if page["next_cursor"] is None:',
                'if page["next_cursor"] is None or resource == "bookings" and not page["items"]:',
            )
        ],
        {"cleared", "moved"},
    ),
    "new bookings not looked for": (
        [(' | {x["booking_id"] for x in client.pages("changes")}', "")],
        {"report_suites", "report_clashes"},
    ),
    "listing taken for the bookings": (
        [
            (NAMES, NAMES + '    listed = client.table("bookings")\n'),
            (STALE, LISTED),
            (
                '{"If-Match": booking.etag}',
                '{"If-Match": client.call("GET", f"/bookings/{booking.id}")[1]["ETag"]}',
            ),
            REFUSALS_IGNORED,
        ],
        {"moved", "report_clashes", "report_suites"},
    ),
    "listing filtered by the period": (
        [
            (
                'client.pages("bookings")}',
                'client.pages("bookings") if "2025-10-20" <= x["starts_at"][:10] <= "2025-11-02"}',
            )
        ],
        {"unchanged", "gave_way"},
    ),
    "deleted bookings taken in": (
        [('self.record["deleted_at"] is None and self.state', "self.state"), REFUSALS_IGNORED],
        {"report_suites", "report_clashes"},
    ),
    "released bookings still in the way": (
        [
            (
                'self.record["deleted_at"] is None and self.state in OCCUPIES',
                'self.record["deleted_at"] is None',
            ),
            ("OCCUPIES.index(self.state)", 'self.state != "confirmed"'),
            REFUSALS_IGNORED,
        ],
        {"report_clashes"},
    ),
    "new key for each attempt": ([(SEND, NEW_KEYS)], {"notices"}),
    "floating times taken for UTC": (
        [
            (OFFSET, "moment.replace(tzinfo=UTC) for _ in (1,)"),
            ("if self.local(x).replace(tzinfo=None) == moment", ""),
        ],
        {"report_clashes", "report_suites"},
    ),
    "summer time all along": (
        [
            ("for _, tz in self.changes]", "for _, tz in self.changes[1:2]]"),
            (" if self.local(x).replace(tzinfo=None) == moment)", ")"),
        ],
        {"report_clashes", "report_changes"},
    ),
    "winter time all along": (
        [
            ("for _, tz in self.changes]", "for _, tz in self.changes[2:]]"),
            (" if self.local(x).replace(tzinfo=None) == moment)", ")"),
        ],
        {"report_clashes", "report_changes"},
    ),
    "second of two times": (
        [("moment = min(x for x", "moment = max(x for x")],
        {"report_clashes", "report_suites"},
    ),
    "offset dropped": (
        [
            (
                "datetime.fromisoformat(text)\n        if",
                "datetime.fromisoformat(text).replace(tzinfo=None)\n        if",
            )
        ],
        {"report_clashes"},
    ),
    "length on the clock": (
        [("(x.end - x.start) // timedelta", "(wall(x, x.end) - wall(x, x.start)) // timedelta"), WALL],
        {"report_suites"},
    ),
    "notice in UTC": (
        [("booking.site.local(booking.start).isoformat(", "booking.start.isoformat(")],
        {"notices"},
    ),
    "notice in the booking's own offset": (
        [
            (
                "booking.site.local(booking.start).isoformat(",
                'datetime.fromisoformat(booking.record["starts_at"]).isoformat(',
            )
        ],
        {"notices"},
    ),
    "period in UTC": (
        [(IN_PERIOD, "PERIOD[0] <= self.start.date() <= PERIOD[1]")],
        {"report_suites", "unchanged"},
    ),
    "period as written": (
        [(IN_PERIOD, 'str(PERIOD[0]) <= record["starts_at"][:10] <= str(PERIOD[1])')],
        {"report_suites", "unchanged"},
    ),
    "period without its last day": (
        [(IN_PERIOD, IN_PERIOD.replace("<= PERIOD[1]", "< PERIOD[1]"))],
        {"report_suites"},
    ),
    "fixed bookings left out": ([("self.settled = list(fixed)", "self.settled = []")], {"gave_way"}),
    "fixed bookings settled by rank": ([(IN_PERIOD, "True")], {"unchanged"}),
    "fixed bookings cleared up": (
        [
            (
                "for x in self.open():\n            if x.project",
                "for x in [x for x in self.bookings if x.live]:\n            if x.project",
            )
        ],
        {"unchanged"},
    ),
    "on hold taken for closed": (
        [('x.project["status"] == "closed"', 'x.project["status"] != "active"')],
        {"unchanged"},
    ),
    "locked bookings of closed projects spared": (
        [('if x.project["status"] == "closed":', 'if x.project["status"] == "closed" and not x.locked:')],
        {"cleared"},
    ),
    "holds compared as text": (
        [(EXPIRED, 'x.state == "pencil" and hold and hold < self.now.isoformat()')],
        {"cleared", "report_clashes"},
    ),
    "hold that ends now": ([(EXPIRED, EXPIRED.replace("<", "<="))], {"report_clashes"}),
    "holds of confirmed bookings": ([('x.state == "pencil" and hold', "hold")], {"unchanged"}),
    "pencils without a hold expired": (
        [(EXPIRED, 'x.state == "pencil" and (not hold or datetime.fromisoformat(hold) < self.now)')],
        {"unchanged", "moved"},
    ),
    "duplicates as written": (
        [
            (
                'same[x.project["id"], x.suite, x.start, x.end]',
                'same[x.project["id"], x.suite, x.record["starts_at"], x.record["ends_at"]]',
            )
        ],
        {"cleared"},
    ),
    "duplicates by their start": (
        [("x.suite, x.start, x.end]", "x.suite, x.start]")],
        {"report_clashes", "report_changes"},
    ),
    "first entered kept": (
        [
            (
                "keep = min(group, key=Booking.rank)",
                f"keep = min(group, key=lambda x: {CREATED.replace('self', 'x')})",
            )
        ],
        {"cleared"},
    ),
    "duplicates before holds": (
        [(HOLDS, "        def late(x):\n            hold"), (LAST, LATE)],
        {"unchanged", "written_once"},
    ),
    "no turnaround": ([(GAP, "gap = timedelta()")], {"report_clashes", "moved"}),
    "turnaround within a project": (
        [('        if one.project["id"] == other.project["id"]:\n', "        if False:\n")],
        {"report_clashes"},
    ),
    "turnaround not to be met exactly": (
        [
            (
                "return one.start < other.end + gap and other.start < one.end + gap",
                "return one.start <= other.end + gap and other.start <= one.end + gap",
            )
        ],
        {"report_clashes"},
    ),
    "turnaround on one side": (
        [
            (
                "return one.start < other.end + gap and other.start < one.end + gap",
                "return one.start < other.end + gap and other.start < one.end",
            )
        ],
        {"report_clashes"},
    ),
    "turnaround of the old suite": (
        [("self.clash(x, y, suite) for y in there", "self.clash(x, y, x.suite) for y in there")],
        {"moved"},
    ),
    "turnaround after outages": (
        [
            (
                SHUT,
                'gap = timedelta(minutes=self.suites[suite]["turnaround_min"])\n        '
                + SHUT.replace("< end", "< (end + gap if end != END_OF_TIME else end)").replace(
                    "< booking.end", "< booking.end + gap"
                ),
            )
        ],
        {"unchanged"},
    ),
    "outages not looked at": ([(SHUT, "return False")], {"gave_way", "moved"}),
    "outages of the new suite not looked at": (
        [("            and not self.shut(x, suite)\n", "")],
        {"gave_way"},
    ),
    "outages without an end skipped": (
        [
            (
                '                for x in suite["outages"]\n',
                '                for x in suite["outages"]\n                if x["ends_at"]\n',
            )
        ],
        {"gave_way"},
    ),
    "floating outages in UTC": (
        [
            (
                '(site.parse(x["starts_at"]), site',
                '(Site({"offsets": [{"from": None, "offset": "+00:00"}]}).parse(x["starts_at"]), site',
            )
        ],
        {"unchanged"},
    ),
    "lock ranks nowhere": ([("            0 if self.locked else 1,\n", "")], {"moved"}),
    "state before lock": (
        [(RANK, "            OCCUPIES.index(self.state),\n            0 if self.locked else 1,\n")],
        {"moved"},
    ),
    "state ranks nowhere": ([("            OCCUPIES.index(self.state),\n", "")], {"gave_way"}),
    "deadlines compared as text": ([(DUE, 'due or "9999"')], {"moved"}),
    "no deadline ranks first": (
        [(DUE, "datetime.fromisoformat(due) if due else END_OF_TIME.replace(year=1)")],
        {"moved", "gave_way"},
    ),
    "deadlines not looked at": ([(f"            {DUE},\n", "")], {"moved", "gave_way"}),
    "creation compared as text": ([(CREATED, 'self.record["created_at"]')], {"moved"}),
    "locked bookings moved": (
        [("if any(x.locked for x in unit):\n            others", "if False:\n            others")],
        {"gave_way"},
    ),
    "blocks taken apart": ([('x.record["block_id"] or x.id]', "x.id]")], {"unchanged"}),
    "blocks of fixed members moved": ([(ANCHORED, "if any(x.locked for x in unit):")], {"moved"}),
    "block ranked by its first member": ([("min(x.rank() for x in unit)", "unit[0].rank()")], {"gave_way"}),
    "block gives way in one state": (
        [
            (
                '"waitlisted" if x.state == "confirmed"',
                '"waitlisted" if all(y.record["state"] == "confirmed" for y in unit)',
            )
        ],
        {"gave_way"},
    ),
    "moves drive others out": (
        [(THERE, "there = [x for x in self.settled if x.live and x.suite == suite]")],
        {"moved"},
    ),
    "keeps only where nobody stands": (
        [(STANDING, "standing = [x for x in self.bookings if x.suite == home and x.live and x not in unit]")],
        {"unchanged"},
    ),
    "those who gave way still in the way": (
        [(STANDING, "standing = [x for x in self.settled if x.suite == home]")],
        {"unchanged"},
    ),
    "features not looked at": (
        [(FITS, FITS.replace('set(x.record["needs"]) <= set(record["features"])', "True"))],
        {"gave_way"},
    ),
    "kinds not looked at": ([(FITS, FITS.replace('x.record["kind"] in record["kinds"]', "True"))], {"moved"}),
    "seats not looked at": (
        [(FITS, FITS.replace('x.record["crew"] <= record["seats"]', "True"))],
        {"gave_way"},
    ),
    "one seat to spare": ([(FITS, FITS.replace('x.record["crew"] <=', 'x.record["crew"] <'))], {"moved"}),
    "unfit suites left": ([("            if outage or any(", UNFIT)], {"unchanged"}),
    "other sites taken": (
        [('if x != home and suite["site_id"] == site]', "if x != home]"), REFUSALS_IGNORED],
        {"moved"},
    ),
    "first suite that fits": ([(BEST, "key=lambda x: x")], {"moved"}),
    "features before seats": (
        [(BEST, 'key=lambda x: (len(self.suites[x]["features"]), self.suites[x]["seats"], x)')],
        {"moved"},
    ),
    "ties by number of features not broken": (
        [(BEST, 'key=lambda x: (self.suites[x]["seats"], x)')],
        {"moved"},
    ),
    "everyone who gives way waitlisted or released alike": (
        [('"waitlisted" if x.state == "confirmed" else "released"', '"released"')],
        {"gave_way"},
    ),
    "always a clash": ([('"outage" if outage else "clash"', '"clash"')], {"gave_way", "moved"}),
    "producers who are away told": ([(AWAY, "if False:")], {"notices", "report_changes"}),
    "stand-in of a stand-in not looked for": (
        [
            (
                'return recipient(people, person["delegate_id"], now)',
                'return people[person["delegate_id"]]["email"]',
            )
        ],
        {"notices"},
    ),
    "back at this moment, still away": ([(AWAY, AWAY.replace("<= now <", "<= now <="))], {"notices"}),
    "away from this moment, still there": ([(AWAY, AWAY.replace("<= now <", "< now <"))], {"notices"}),
    "absence compared as text": ([(AWAY, "if away and away <= now.isoformat() < back:")], {"notices"}),
    "notices for all bookings": ([(COUNT, TELL_ALL)], {"notices"}),
    "no notices": ([('    client.call("POST", "/notices", body=notice)\n', "")], {"notices"}),
    "there and back again": ([(TELL, BACK_AGAIN)], {"written_once"}),
    "clashes taken at the start": (
        [
            (
                "    plan.clear()\n    clashes = plan.clashes()\n",
                "    clashes = plan.clashes()\n    plan.clear()\n",
            )
        ],
        {"report_clashes"},
    ),
    "clashes outside the period": ([("(x.in_period or y.in_period) and ", "")], {"report_clashes"}),
    "nothing changed, only reported": (
        [(CHANGE, 'client.call("GET", f"/bookings/{booking.id}")\n    action')],
        {"cleared", "moved", "gave_way", "written_once"},
    ),
}


@pytest.mark.parametrize("name", CARELESS)
def test_careless_solution_fails(name, verifier, right, desk, patience):
    """Each trap bites: the reference solution with one plausible mistake fails the checks named for it."""
    changes, expected = CARELESS[name]
    report = solve_sdc(desk, patience, changes)
    found = failing(verifier, right, where(desk), report)
    assert expected <= found, sorted(found)


def write_sql(*statements):
    """Return a change that a hand on the database makes."""

    def change(database, report):
        for statement in statements:
            database.execute(statement)

    return change


def edit_report(section, number, key, value):
    """Return a change of one value of the report."""

    def change(database, report):
        rows = report[section]
        rows[number][key] = value(rows[number][key]) if callable(value) else value

    return change


FREE = "(SELECT min(id) FROM bookings WHERE reason IS NULL AND state = 'confirmed' AND deleted_at IS NULL)"
MOVED = "(SELECT min(id) FROM bookings WHERE reason = 'clash' AND state = 'confirmed')"

# What a hand in the database or the report does after the right solution, and a check that must fail.
TAMPERED = {
    "a project reopened": (write_sql("UPDATE projects SET status = 'active'"), "records"),
    "the listing brought up to date": (write_sql("DELETE FROM listing WHERE position = 3"), "records"),
    "another time at the desk": (
        write_sql("UPDATE meta SET value = '2025-01-01T00:00:00Z' WHERE name = 'desk_time'"),
        "records",
    ),
    "a suite put right by hand": (
        write_sql(f"UPDATE bookings SET suite_id = 'LDN-1' WHERE id = {FREE}"),
        "accepted_calls",
    ),
    "a version put back": (
        write_sql(f"UPDATE bookings SET version = version - 1 WHERE id = {MOVED}"),
        "accepted_calls",
    ),
    "a start shifted": (
        write_sql(f"UPDATE bookings SET starts_at = ends_at WHERE id = {FREE}"),
        "accepted_calls",
    ),
    "a booking removed": (write_sql(f"DELETE FROM bookings WHERE id = {FREE}"), "unchanged"),
    "a notice removed": (write_sql("DELETE FROM notices WHERE id = 2"), "notices"),
    "a notice added": (
        write_sql(
            "INSERT INTO notices SELECT 999, booking_id, booking_version, kind, recipient, suite_id, "
            "local_start FROM notices WHERE id = 1"
        ),
        "accepted_calls",
    ),
    "the journal's end removed": (
        write_sql("DELETE FROM journal WHERE seq = (SELECT max(seq) FROM journal)"),
        "journal",
    ),
    "a call changed in the journal": (
        write_sql("UPDATE journal SET change = '{}' WHERE seq = (SELECT max(seq) - 5 FROM journal)"),
        "journal",
    ),
    "the journal of the first state changed": (
        write_sql("UPDATE journal SET key = 'mine' WHERE seq = 2"),
        "journal",
    ),
    "the answers removed": (write_sql("DELETE FROM replies"), "journal"),
    "an answer made up": (
        write_sql("INSERT INTO replies VALUES ('made-up-1', '', 200, NULL, '')"),
        "journal",
    ),
    "odd types in the journal": (
        write_sql("UPDATE journal SET change = x'ff', target = x'00', version = 'x' WHERE seq > 80"),
        "accepted_calls",
    ),
    "no cases of clashes": (lambda database, report: report["clashes"].clear(), "report_clashes"),
    "clashes out of order": (lambda database, report: report["clashes"].reverse(), "report_order"),
    "a pair out of order": (lambda database, report: report["clashes"][0].reverse(), "report_order"),
    "a clash twice": (
        lambda database, report: report["clashes"].append(report["clashes"][-1]),
        "report_clashes",
    ),
    "time at the desk in UTC": (
        lambda database, report: report.update(desk_time="2025-10-17T12:00:00Z"),
        "report_clashes",
    ),
    "changes out of order": (lambda database, report: report["changes"].reverse(), "report_order"),
    "a change left out": (lambda database, report: report["changes"].pop(4), "report_changes"),
    "a change twice": (
        lambda database, report: report["changes"].append(report["changes"][-1]),
        "report_changes",
    ),
    "a start with an offset": (
        edit_report("changes", 3, "start_utc", lambda x: x.replace("Z", "+00:00")),
        "report_changes",
    ),
    "another word": (edit_report("changes", 0, "action", "cancelled"), "report_shape"),
    "minutes as text": (edit_report("suites", 0, "minutes", str), "report_shape"),
    "minutes as truth": (edit_report("suites", 0, "bookings", True), "report_shape"),
    "minutes off by an hour": (edit_report("suites", 5, "minutes", lambda x: x + 60), "report_suites"),
    "an empty suite left out": (lambda database, report: report["suites"].pop(5), "report_suites"),
    "a key too many": (lambda database, report: report.update(notes=""), "report_shape"),
    "pairs as objects": (lambda database, report: report.update(clashes=[{}]), "report_shape"),
}


@pytest.fixture(scope="module")
def solved(service, built, tmp_path_factory):
    """The bytes of the database and the report that the reference solution leaves."""
    path = tmp_path_factory.mktemp("sdc") / "desk.db"
    path.write_bytes(built)
    waited = [0.0]
    desk = service.Desk(path, clock=lambda: waited[0])
    desk.database.execute("PRAGMA synchronous = OFF")
    report = solve_sdc(desk, waited)
    desk.database.close()
    return path.read_bytes(), json.dumps(report)


@pytest.mark.parametrize("name", TAMPERED)
def test_tampered_result_fails(name, verifier, right, solved, tmp_path):
    """A hand in the database or in the report, after the right solution, fails the check named for it."""
    change, expected = TAMPERED[name]
    path = tmp_path / "desk.db"
    path.write_bytes(solved[0])
    report = json.loads(solved[1])
    database = sqlite3.connect(path)
    database.execute("PRAGMA synchronous = OFF")
    change(database, report)
    database.commit()
    database.close()
    found = failing(verifier, right, path, report)
    assert expected in found, sorted(found)


def test_every_check_is_bitten(verifier):
    """No check of the verifier is without a wrong solution that it alone or with others rejects."""
    bitten = {check for _, checks in CARELESS.values() for check in checks}
    bitten |= {check for _, check in TAMPERED.values()}
    assert {f"check_{name}" for name in bitten} == {x for x in vars(verifier) if x.startswith("check_")}


def test_every_check_has_a_test_in_the_verifier(verifier):
    """Pytest collects every check, and besides them the two readings."""
    tests = {name: value for name, value in vars(verifier).items() if name.startswith("test_")}
    checks = {name for name in vars(verifier) if name.startswith("check_")} - {"check_report_shape"}
    used = {name: f"check_{name.removeprefix('test_')}" for name in tests}
    assert {check for name, check in used.items() if check in tests[name].__code__.co_names} == checks
    assert set(used.values()) - checks == {
        "check_database_readable",
        "check_report_readable",
        "check_report_shape",
    }
    assert "check_report_shape" in verifier._usable.__code__.co_names


def test_untouched_desk_fails(verifier, right, built, tmp_path):
    """Doing nothing fails every check of the work, and no check of what must stay."""
    path = tmp_path / "desk.db"
    path.write_bytes(built)
    assert failing(verifier, right, path, None) == {
        "cleared",
        "moved",
        "gave_way",
        "written_once",
        "notices",
        "report_shape",
    }


def sdc_sql(*statements):
    """Return a maker of a database of other content."""

    def make(path):
        database = sqlite3.connect(path)
        for statement in statements:
            database.execute(statement)
        database.commit()
        database.close()

    return make


def add_trigger(path):
    """Put a trigger into the right database."""
    database = sqlite3.connect(path)
    database.execute("CREATE TRIGGER t AFTER DELETE ON notices BEGIN SELECT 1; END")
    database.commit()
    database.close()


def replace_table(path):
    """Put a view in the place of a table."""
    database = sqlite3.connect(path)
    database.executescript(
        "DROP TABLE replies; CREATE VIEW replies AS WITH RECURSIVE r(x) AS "
        "(SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x, x, x, x, x FROM r"
    )
    database.close()


def overwrite(path):
    """Damage a page in the middle."""
    data = bytearray(path.read_bytes())
    data[40960:45056] = os.urandom(4096)
    path.write_bytes(data)


def anew(make):
    """Return a maker that first removes what is there."""

    def made(path):
        path.unlink()
        make(path)

    return made


def long_text(path):
    """Put a text of a megabyte into a row."""
    database = sqlite3.connect(path)
    database.execute(
        "UPDATE bookings SET reason = ? WHERE id = (SELECT min(id) FROM bookings)", ("x" * 1_000_000,)
    )
    database.commit()
    database.close()


UNREADABLE_DATABASE = {
    "missing": (anew(lambda path: None), "cannot be opened"),
    "link": (anew(lambda path: path.symlink_to(SDC_TASK / "task.md")), "cannot be opened"),
    "folder": (anew(lambda path: path.mkdir()), "not a regular file"),
    "pipe": (anew(os.mkfifo), "not a regular file"),
    "huge": (lambda path: os.truncate(path, 32_000_001), "larger than"),
    "no database": (lambda path: path.write_bytes(b"x" * 9000), "cannot be read"),
    "empty": (lambda path: path.write_bytes(b""), "another schema"),
    "other tables": (anew(sdc_sql("CREATE TABLE bookings (id)")), "another schema"),
    "a trigger": (add_trigger, "another schema"),
    "a view without end": (replace_table, "another schema"),
    "damaged": (overwrite, "damaged|cannot be read"),
    "a long text": (long_text, "rows of up to"),
    "its rollback journal a pipe": (lambda path: os.mkfifo(f"{path}-journal"), "not a regular file"),
}


@pytest.mark.parametrize("name", UNREADABLE_DATABASE)
def test_unreadable_database_fails_in_words(name, verifier, built, tmp_path):
    """Whatever stands where the database should be, the verifier fails with one clear sentence."""
    make, words = UNREADABLE_DATABASE[name]
    path = tmp_path / "desk.db"
    path.write_bytes(built)
    make(path)
    with pytest.raises(verifier.UnusableError, match=words):
        verifier.read_database(path)


UNREADABLE_REPORT = {
    "missing": (lambda path: None, "cannot be opened"),
    "link": (lambda path: path.symlink_to(SDC_TASK / "task.md"), "cannot be opened"),
    "huge": (lambda path: path.write_bytes(b" " * 4_000_001), "larger than"),
    "binary": (lambda path: path.write_bytes(b"\xff\xfe{}"), "not UTF-8"),
    "cut short": (lambda path: path.write_text('{"desk_time": '), "not valid JSON"),
    "deep": (lambda path: path.write_text("[" * 200_000), "not valid JSON"),
    "NaN": (lambda path: path.write_text('{"desk_time": NaN}'), "not JSON"),
    "key twice": (lambda path: path.write_text('{"suites": 1, "suites": 2}'), "twice"),
}


@pytest.mark.parametrize("name", UNREADABLE_REPORT)
def test_unreadable_report_fails_in_words(name, verifier, tmp_path):
    """Whatever stands where the report should be, the verifier fails with one clear sentence."""
    make, words = UNREADABLE_REPORT[name]
    path = tmp_path / "report.json"
    make(path)
    with pytest.raises(verifier.UnusableError, match=words):
        verifier.read_report(path)


@pytest.mark.parametrize("top", [None, [], "text", 3, {}])
def test_other_json_is_refused_in_words(top, verifier):
    """JSON that is no object of the right keys is a finding of the shape check, not an exception."""
    problems = verifier.check_report_shape(top)
    assert problems
    assert all(isinstance(problem, str) for problem in problems)


def test_write_cut_short_is_rolled_back(verifier, right, solved, tmp_path):
    """Of a service killed in the middle of a write, the verifier reads the state before the write."""
    work, left = tmp_path / "work.db", tmp_path / "desk.db"
    work.write_bytes(solved[0])
    database = sqlite3.connect(work, isolation_level=None)
    database.execute("PRAGMA cache_size = 1")
    database.execute("BEGIN IMMEDIATE")
    database.execute("UPDATE bookings SET crew = crew + 1, needs = needs || '          '")
    database.execute("UPDATE listing SET body = body || '                    '")
    left.write_bytes(work.read_bytes())
    left.with_name("desk.db-journal").write_bytes(work.with_name("work.db-journal").read_bytes())
    database.execute("ROLLBACK")
    database.close()
    assert left.read_bytes() != solved[0]
    assert failing(verifier, right, left, json.loads(solved[1])) == set()


# -- the service -----------------------------------------------------------------


def ask(desk, method, target, body=None, **headers):
    """Make one call: status, headers, answer."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return desk.handle(method, target, names, b"" if body is None else json.dumps(body).encode())


def follow(desk, patience, resource, query):
    """All rows of a list, and the sizes of its pages."""
    rows, sizes, cursor = [], [], ""
    while True:
        patience[0] += 1
        _, _, page = ask(desk, "GET", f"{resource}?{query}{cursor}")
        rows += page["items"]
        sizes.append(len(page["items"]))
        if page["next_cursor"] is None:
            return rows, sizes
        cursor = f"&cursor={page['next_cursor']}"


def live_booking(desk):
    """A confirmed booking and its tag."""
    name = desk.database.execute(
        "SELECT id FROM bookings WHERE state = 'confirmed' AND deleted_at IS NULL ORDER BY id"
    ).fetchone()[0]
    _, headers, booking = ask(desk, "GET", f"/bookings/{name}")
    return booking, headers["ETag"]


RELEASE = {"state": "released", "reason": "clash"}


def test_writes_need_the_tag_of_now(desk):
    """A change without a tag, with an old one, or of a deleted booking is refused and changes nothing."""
    booking, tag = live_booking(desk)
    target = f"/bookings/{booking['id']}"
    assert ask(desk, "PATCH", target, RELEASE, Idempotency_Key="key-00001")[0] == 428
    assert ask(desk, "PATCH", target, RELEASE, Idempotency_Key="key-00002", If_Match='"x"')[0] == 412
    assert ask(desk, "PATCH", target, RELEASE, If_Match=tag)[0] == 400
    assert ask(desk, "GET", target)[2] == booking
    gone = desk.database.execute("SELECT id, version FROM bookings WHERE deleted_at IS NOT NULL").fetchone()
    tag = f'"{gone[0]}.{gone[1]}"'
    assert (
        ask(desk, "PATCH", f"/bookings/{gone[0]}", RELEASE, Idempotency_Key="key-00003", If_Match=tag)[0]
        == 410
    )


def test_a_key_counts_once(desk):
    """The same request under the same key has one effect and one answer; another one is refused."""
    booking, tag = live_booking(desk)
    target = f"/bookings/{booking['id']}"
    answers = [
        ask(desk, "PATCH", target, RELEASE, Idempotency_Key="key-00001", If_Match=tag) for _ in range(3)
    ]
    good = [answer for answer in answers if answer[0] != 503]
    assert len(good) >= 2
    assert all(answer[2] == ask(desk, "GET", target)[2] for answer in good)
    assert good[-1][1]["Idempotency-Replayed"] == "true"
    assert good[-1][2]["version"] == booking["version"] + 1
    other = {**RELEASE, "reason": "outage"}
    assert ask(desk, "PATCH", target, other, Idempotency_Key="key-00001", If_Match=tag)[0] == 422


def test_the_gateway_loses_answers_not_writes(desk, patience):
    """Among seven writes one is answered 503 though accepted; under its key the answer can be had."""
    booking, _ = live_booking(desk)
    status = []
    for number in range(7):
        patience[0] += 1
        body = dict.fromkeys(("kind", "recipient", "local_start"), "moved") | {
            "booking_id": booking["id"],
            "booking_version": booking["version"],
            "suite_id": None,
        }
        answer = ask(desk, "POST", "/notices", body, Idempotency_Key=f"notice-{number}")
        status.append(answer[0])
        if answer[0] == 503:
            assert ask(desk, "POST", "/notices", body, Idempotency_Key=f"notice-{number}")[0] == 201
    assert sorted(status) == [201] * 6 + [503]
    assert desk.database.execute("SELECT count(*) FROM notices").fetchone()[0] == 7


def test_calls_beyond_the_rate_have_no_effect(desk, patience):
    """Who spends the bucket is told to wait; after the wait calls are answered again."""
    answers = [ask(desk, "GET", "/people")[0] for _ in range(30)]
    assert answers == [200] * 20 + [429] * 10
    patience[0] += float(ask(desk, "GET", "/people")[1]["Retry-After"])
    assert ask(desk, "GET", "/people")[0] == 200


def test_pages_give_every_row_once(desk, patience):
    """Followed to the end, pages of any limit give the same rows; some are short, some empty."""
    for limit in (3, 25):
        rows, sizes = follow(desk, patience, "/bookings", f"limit={limit}")
        names = [row["id"] for row in rows]
        listed = desk.database.execute("SELECT count(*) FROM listing").fetchone()[0]
        assert len(names) == len(set(names)) == listed
        assert 0 in sizes[:-1]
        assert max(sizes) <= limit


def test_filters_look_at_the_listing(desk, patience):
    """`from` and `to` compare the listed start, without an offset taken for UTC; other filters its text."""
    first, last = "2025-10-26T01:00:00Z", "2025-10-28T01:00:00Z"
    found, _ = follow(desk, patience, "/bookings", f"from={first}&to={last}&state=pencil")
    starts = [x["starts_at"] + ("" if x["starts_at"][16:] else "+00:00") for x in found]
    assert any(len(x["starts_at"]) == 16 for x in found)
    assert all(
        datetime.fromisoformat(first) <= datetime.fromisoformat(x) < datetime.fromisoformat(last)
        for x in starts
    )
    assert {x["state"] for x in found} == {"pencil"}


def test_restore_forgets_what_a_killed_service_left(service, built, tmp_path):
    """A rollback journal beside the old database does not get into the new one."""
    path = tmp_path / "desk.db"
    journal = tmp_path / "desk.db-journal"
    path.write_bytes(b"old")
    journal.write_bytes(b"half a write")
    folder = SDC_TASK / "environment" / "desk"
    service.build(path, *((folder / name).read_text(encoding="utf-8") for name in ("schema.sql", "seed.sql")))
    assert path.read_bytes() == built
    assert [x.name for x in tmp_path.iterdir()] == ["desk.db"]


def test_changes_name_all_that_the_listing_has_wrong(desk, patience):
    """Whatever differs between the listing and the bookings is named by the changes."""
    listed = {
        row[0]: json.loads(row[1]) for row in desk.database.execute("SELECT booking_id, body FROM listing")
    }
    names = {x["booking_id"] for x in follow(desk, patience, "/changes", "limit=25")[0]}
    differing = set()
    for (name,) in desk.database.execute("SELECT id FROM bookings").fetchall():
        patience[0] += 1
        if ask(desk, "GET", f"/bookings/{name}")[2] != listed.get(name):
            differing.add(name)
    assert differing == names


BAD_CALLS = {
    "no such table": ("GET", "/nothing", None, 404),
    "no such booking": ("GET", "/bookings/BK-0", None, 404),
    "no such method": ("DELETE", "/bookings/BK-0", None, 404),
    "cursor made up": ("GET", "/bookings?cursor=abc", None, 422),
    "cursor of another kind": ("GET", f"/bookings?cursor={base64.b64encode(b'[[],{}]').decode()}", None, 422),
    "limit of zero": ("GET", "/bookings?limit=0", None, 422),
    "limit in words": ("GET", "/bookings?limit=all", None, 422),
    "time in words": ("GET", "/bookings?from=today", None, 422),
    "no object": ("POST", "/notices", [], 400),
    "keys missing": ("POST", "/notices", {}, 422),
    "wrong type": (
        "POST",
        "/notices",
        dict.fromkeys(("booking_id", "booking_version", "kind", "recipient", "suite_id", "local_start"), 1),
        422,
    ),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_calls_are_refused_in_words(name, desk):
    """A call that makes no sense gets its status and a sentence."""
    method, target, body, status = BAD_CALLS[name]
    answer = ask(desk, method, target, body, Idempotency_Key="key-00001")
    assert answer[0] == status
    assert answer[2]["error"]


def test_oracle_speaks_to_the_service_over_http(service, verifier, right, desk, tmp_path, monkeypatch):
    """Over a real socket on loopback the reference solution leaves what the verifier wants."""
    desk.bucket.pay = lambda cost: None
    server = service.serve(desk, 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    out = tmp_path / "report.json"
    monkeypatch.setattr(
        sys, "argv", ["resolve.py", "--port", str(server.server_address[1]), "--out", str(out)]
    )
    try:
        sdc_oracle().main()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert failing(verifier, right, where(desk), verifier.read_report(out)) == set()


# -- the data ----------------------------------------------------------------------


def test_committed_data_is_what_the_generator_writes(generator):
    """First state of the image and of the verifier are the generator's output, with the same schema."""
    text = generator.Diary().sql()
    for folder in ("environment/desk", "verifier/pristine"):
        assert (SDC_TASK / folder / "seed.sql").read_text(encoding="utf-8") == text
    schema = [
        (SDC_TASK / folder / "schema.sql").read_bytes()
        for folder in ("environment/desk", "verifier/pristine")
    ]
    assert schema[0] == schema[1]


def test_policy_settles_every_case(generator, right):
    """What the policy leaves open does not occur: blocks in two suites, or clashing with themselves."""
    diary = generator.Diary()
    blocks = {}
    for booking in diary.bookings:
        if booking.block:
            blocks.setdefault(booking.block, []).append(booking)
    assert len(blocks) >= 8
    by_id = {x.id: x for x in diary.bookings}
    assert all(
        len({x.suite for x in block}) == 1 and len({x.project for x in block}) == 1
        for block in blocks.values()
    )
    pairs = [{by_id[name].block or name for name in pair} for pair in right.report["clashes"]]
    assert all(len(pair) == 2 for pair in pairs)
    assert all(x.start < x.end for x in diary.bookings)


def test_all_outcomes_occur(right):
    """Each action occurs with each reason that it can have, several times."""
    found = {}
    for row in right.report["changes"]:
        found[row["action"], row["reason"]] = found.get((row["action"], row["reason"]), 0) + 1
    assert {pair: number for pair, number in found.items() if number < 2} == {}
    assert set(found) == {
        *(("released", x) for x in ("project_closed", "pencil_expired", "duplicate", "clash", "outage")),
        *((x, y) for x in ("moved", "waitlisted") for y in ("clash", "outage")),
    }


def test_image_holds_service_and_documents_only():
    """Neither the generator nor the verifier nor the oracle is in the build context."""
    context = SDC_TASK / "environment"
    found = {path.relative_to(context).as_posix() for path in context.rglob("*") if path.is_file()}
    desk = {f"desk/{name}" for name in ("desk.py", "schema.sql", "seed.sql")}
    assert found == {"Dockerfile", "docs/API.md", "docs/clash-policy.md", *desk}


def test_prompt_shows_nothing_of_the_result(right):
    """No id, address or time that the checks compare stands in the prompt or in the documents."""
    texts = [SDC_TASK / "task.md", *(SDC_TASK / "environment" / "docs").iterdir()]
    shown = "".join(path.read_text(encoding="utf-8") for path in texts)
    secret = {row[key] for row in right.report["changes"] for key in ("booking_id", "start_utc", "recipient")}
    assert [x for x in secret if x in shown] == []
