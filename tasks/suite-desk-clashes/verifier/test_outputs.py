"""Checks of the desk's database and of `/app/report.json` against what `truth.py` makes of `pristine/`."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import sqlite3
import stat
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DATABASE = Path("/app/desk/desk.db")
REPORT = Path("/app/report.json")
MAX_DATABASE, MAX_REPORT = 32_000_000, 4_000_000
MAX_ROWS, MAX_TEXT, MAX_SECONDS = 20_000, 100_000, 30

_spec = importlib.util.spec_from_file_location("suite_desk_truth", HERE / "truth.py")
truth = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = truth
_spec.loader.exec_module(truth)

# Tables that no call changes; the journal of the first state and its bookings are looked at below.
STILL = ("meta", "sites", "suites", "people", "projects", "listing")
BOOKING = [
    "id",
    "suite_id",
    "project_id",
    "kind",
    "needs",
    "crew",
    "starts_at",
    "ends_at",
    "state",
    "hold_until",
    "locked",
    "block_id",
    "created_at",
    "deleted_at",
    "reason",
    "version",
]
NOTICE = ("booking_id", "booking_version", "kind", "recipient", "suite_id", "local_start")
TEXT = "a string"
SHAPES = {
    "changes": {
        "booking_id": TEXT,
        "action": ("moved", "released", "waitlisted"),
        "reason": ("project_closed", "pencil_expired", "duplicate", "outage", "clash"),
        "from_suite": TEXT,
        "to_suite": "a string or null",
        "start_utc": TEXT,
        "recipient": TEXT,
    },
    "suites": {"suite_id": TEXT, "bookings": "an integer", "minutes": "an integer"},
}


# -- reading what the agent left ---------------------------------------------


class UnusableError(AssertionError):
    """What was left cannot be read; the message says why."""


def read_file(path: Path, limit: int) -> bytes:
    """Return the bytes of a plain file, or raise `UnusableError`; follows no link and reads no device."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise UnusableError(f"`{path}` cannot be opened as a plain file: {error.strerror}") from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise UnusableError(f"`{path}` is not a regular file")
        with os.fdopen(handle, "rb", closefd=False) as stream:
            data = stream.read(limit + 1)
    finally:
        os.close(handle)
    if len(data) > limit:
        raise UnusableError(f"`{path}` is larger than {limit} bytes")
    return data


def read_report(path: Path = REPORT) -> Any:
    """Return the parsed report, or raise `UnusableError`."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
        if twice:
            raise UnusableError(f"`{path}` has the key `{twice[0]}` twice in one object")
        return dict(pairs)

    def no_constant(name: str) -> None:
        raise UnusableError(f"`{path}` holds `{name}`, which is not JSON")

    data = read_file(path, MAX_REPORT)
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=unique, parse_constant=no_constant)
    except UnicodeDecodeError:
        raise UnusableError(f"`{path}` is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise UnusableError(f"`{path}` is not valid JSON: {str(error)[:200]}") from None


@dataclass(frozen=True, kw_only=True)
class Left:
    """The tables of the database that was left, rows sorted by their first column."""

    tables: dict[str, list[tuple[Any, ...]]]

    def calls(self) -> list[tuple[Any, ...]]:
        """The journal's rows, each with its change parsed, or None where that is no JSON object."""
        rows = []
        for row in self.tables["journal"]:
            try:
                change = json.loads(row[4])
            except (ValueError, TypeError, RecursionError):
                change = None
            rows.append((*row[:4], change if isinstance(change, dict) else None, row[5]))
        return rows


def read_database(path: Path = DATABASE, pristine: Path = HERE / "pristine") -> Left:
    """Return the tables of a copy of the database, or raise `UnusableError`.

    The copy takes the rollback journal along, which lies beside the database when the service was killed in
    the middle of a write. The schema must be that of the service, so no trigger or view can be run into.
    """
    with tempfile.TemporaryDirectory(prefix="desk") as folder:
        copy = Path(folder) / "desk.db"
        copy.write_bytes(read_file(path, MAX_DATABASE))
        journal = path.with_name(path.name + "-journal")
        if os.path.lexists(journal):
            copy.with_name("desk.db-journal").write_bytes(read_file(journal, MAX_DATABASE))
        return read_copy(copy, path, pristine)


def read_copy(copy: Path, path: Path, pristine: Path) -> Left:
    """Read the copy of the database left at `path`."""
    first = truth.load(pristine)
    wanted = dict(first.execute("SELECT name, sql FROM sqlite_schema"))
    database = sqlite3.connect(copy)
    deadline = time.monotonic() + MAX_SECONDS
    database.set_progress_handler(lambda: time.monotonic() > deadline, 100_000)
    try:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_DATABASE)
        database.execute("PRAGMA trusted_schema = OFF")
        found = dict(database.execute("SELECT name, sql FROM sqlite_schema LIMIT 100").fetchall())
        if found != wanted:
            names = sorted(str(x) for x in set(found.items()) ^ set(wanted.items()))
            raise UnusableError(f"`{path}` has another schema than the service gave it: {show(names)}")
        state = database.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if state != "ok":
            raise UnusableError(f"`{path}` is damaged: {show(state)}")
        tables = {}
        for name in sorted(x for x in wanted if not x.startswith("sqlite_")):
            columns = [x[1] for x in first.execute(f"PRAGMA table_info({name})")]
            size = " + ".join(f"coalesce(length({x}), 0)" for x in columns)
            count, longest = database.execute(f"SELECT count(*), max({size}) FROM {name}").fetchone()
            if count > MAX_ROWS or (longest or 0) > MAX_TEXT:
                raise UnusableError(
                    f"`{path}`: table `{name}` has {count} rows of up to {longest} characters"
                )
            tables[name] = database.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall()
    except sqlite3.Error as error:
        raise UnusableError(f"`{path}` cannot be read as an SQLite database: {str(error)[:200]}") from None
    finally:
        database.close()
        first.close()
    return Left(tables=tables)


def show(value: Any) -> str:
    """Quote a value of the agent's, cut short."""
    text = repr(value)
    return text if len(text) <= 90 else text[:87] + "..."


def short(problems: list[str]) -> list[str]:
    """Keep the first ten problems and say how many more there are."""
    more = len(problems) - 10
    return problems if more <= 0 else [*problems[:10], f"... and {more} more"]


def canonical(value: Any) -> str:
    """JSON as the journal has it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


# -- the checks of the database; each returns what is wrong --------------------


def check_records(left: Left, right: Any) -> list[str]:
    """Sites, suites, people, projects, the listing and the desk's time are as they were."""
    return [
        f"table `{name}` is not as it was at first"
        for name in STILL
        if left.tables[name] != right.first[name]
    ]


def check_journal(left: Left, right: Any) -> list[str]:
    """The journal goes on where it was: no gaps, chained, each call with a new key and the answer kept."""
    before, rows = right.first["journal"], left.tables["journal"]
    if rows[: len(before)] != before:
        return ["the journal of the first state is not as it was"]
    problems, last = [], before[-1]
    keys = {str(row[0]): row for row in left.tables["replies"]}
    for row in rows[len(before) :]:
        seq, key, target, version, change, digest = row
        if seq != last[0] + 1:
            problems.append(f"the journal has {show(seq)} after {last[0]}")
            break
        chain = "\n".join(map(str, (last[5], seq, key, target, version, change)))
        if digest != hashlib.sha256(chain.encode("utf-8", "replace")).hexdigest():
            problems.append(f"row {seq} of the journal does not follow from the row before it")
        reply = keys.pop(str(key), None)
        if reply is None:
            problems.append(f"row {seq} of the journal has no answer kept for its key")
        elif reply[2] != (201 if target == "notices" else 200):
            problems.append(f"the answer kept for row {seq} of the journal is {show(reply[2])}")
        last = row
    problems += [f"an answer is kept for {show(key)}, which the journal lacks" for key in keys]
    return problems


def check_accepted_calls(left: Left, right: Any) -> list[str]:
    """The calls in the journal, made anew on the first state, give the bookings and notices found."""
    bookings = {row[0]: dict(zip(BOOKING, row, strict=True)) for row in right.first["bookings"]}
    sites = {row[0]: row[1] for row in right.first["suites"]}
    notices: list[tuple[Any, ...]] = []
    problems = []
    for seq, _, target, version, change, _ in left.calls()[len(right.first["journal"]) :]:
        name = str(target).removeprefix("bookings/")
        if target == "notices" and change is not None and set(change) == set(NOTICE):
            booking = bookings.get(str(change["booking_id"]))
            if booking is None or not version == booking["version"] == change["booking_version"]:
                problems.append(f"row {seq}: a notice for another version than the booking had")
            notices.append((len(notices) + 1, *(change[x] for x in NOTICE)))
        elif str(target).startswith("bookings/") and name in bookings and change is not None:
            booking = bookings[name]
            booking["version"] += 1
            match change:
                case {"reason": str(reason), "state": "released" | "waitlisted" as state, **rest} if not rest:
                    legal = booking["state"] == "confirmed" or (booking["state"], state) == (
                        "pencil",
                        "released",
                    )
                    booking["state"], booking["reason"] = state, reason
                case {"reason": str(reason), "suite_id": str(suite), **rest} if not rest:
                    legal = booking["state"] in ("confirmed", "pencil") and suite != booking["suite_id"]
                    legal = legal and sites.get(suite) == sites[booking["suite_id"]]
                    booking["suite_id"], booking["reason"] = suite, reason
                case _:
                    legal = False
            if not legal or booking["deleted_at"] is not None or version != booking["version"]:
                problems.append(f"row {seq}: the service would not have accepted this change of {name}")
        else:
            problems.append(f"row {seq} of the journal is no call that the service accepts: {show(target)}")
    found = {row[0]: row for row in left.tables["bookings"]}
    problems += [
        f"{name} is not what the accepted calls made of it"
        for name, booking in bookings.items()
        if found.get(name) != tuple(booking.values())
    ]
    problems += [f"{show(name)} is no booking of the desk" for name in found if name not in bookings]
    if left.tables["notices"] != notices:
        problems.append("`notices` does not hold the notices that were accepted")
    return problems


def _bookings(left: Left, right: Any, wanted: Any) -> list[str]:
    """Compare suite, state and reason of the bookings that `wanted` picks by their right change."""
    found = {row[0]: dict(zip(BOOKING, row, strict=True)) for row in left.tables["bookings"]}
    problems = []
    for name, row in right.bookings.items():
        if not wanted(right.changed.get(name)):
            continue
        booking, should = found.get(name), dict(zip(BOOKING, row, strict=True))
        if booking is None:
            problems.append(f"{name} is gone")
            continue
        problems += [
            f"{name}: `{key}` is {show(booking[key])}, the policy wants {show(should[key])}"
            for key in ("suite_id", "state", "reason")
            if booking[key] != should[key]
        ]
    return problems


def check_cleared(left: Left, right: Any) -> list[str]:
    """Section 2: closed projects, expired pencils, duplicates."""
    return _bookings(
        left,
        right,
        lambda x: x is not None and x["reason"] in ("project_closed", "pencil_expired", "duplicate"),
    )


def check_moved(left: Left, right: Any) -> list[str]:
    """Section 4: who moves, and where to."""
    return _bookings(left, right, lambda x: x is not None and "suite_id" in x)


def check_gave_way(left: Left, right: Any) -> list[str]:
    """Section 4: who finds no other suite."""
    return _bookings(
        left, right, lambda x: x is not None and "state" in x and x["reason"] in ("clash", "outage")
    )


def check_unchanged(left: Left, right: Any) -> list[str]:
    """Bookings that the policy leaves alone are as they were."""
    return _bookings(left, right, lambda x: x is None)


def check_written_once(left: Left, right: Any) -> list[str]:
    """Section 5: one write to each booking that changes, none to any other."""
    count = Counter(str(row[2]).removeprefix("bookings/") for row in left.tables["journal"])
    count -= Counter(str(row[2]).removeprefix("bookings/") for row in right.first["journal"])
    count.pop("notices", None)
    return [
        f"{show(name)} was written {count[name]} times, not {int(name in right.changed)} times"
        for name in sorted({*count, *right.changed})
        if count[name] != (name in right.changed)
    ]


def check_notices(left: Left, right: Any) -> list[str]:
    """Section 6: one right notice for each booking that changed, and no others."""
    problems = []
    count: Counter[str] = Counter()
    for row in left.tables["notices"]:
        notice = dict(zip(NOTICE, row[1:], strict=True))
        name = str(notice["booking_id"])
        count[name] += 1
        should = right.notices.get(name)
        if should is None:
            problems.append(f"no notice is due for {show(name)}")
        else:
            problems += [
                f"notice for {name}: `{key}` is {show(notice[key])}, not {show(value)}"
                for key, value in should.items()
                if notice[key] != value
            ]
    problems += [f"{name} has no notice" for name in right.notices if name not in count]
    problems += [f"{show(name)} has {number} notices" for name, number in count.items() if number > 1]
    return problems


# -- the checks of the report --------------------------------------------------


def fits(value: Any, wanted: Any) -> bool:
    """Say whether a value has the kind that `SHAPES` asks for."""
    match wanted:
        case tuple():
            return isinstance(value, str) and value in wanted
        case "an integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "a string or null":
            return value is None or isinstance(value, str)
    return isinstance(value, str)


def check_report_shape(doc: Any) -> list[str]:
    """Keys, types and words are those of the prompt."""
    if not isinstance(doc, dict):
        return ["the top level must be a JSON object"]
    keys = {"desk_time", "clashes", *SHAPES}
    if set(doc) != keys:
        return [
            f"top-level keys: missing {sorted(keys - set(doc))}, too many {show(sorted(set(doc) - keys))}"
        ]
    problems = [] if isinstance(doc["desk_time"], str) else ["`desk_time` must be a string"]
    pairs = doc["clashes"]
    if not isinstance(pairs, list) or not all(
        isinstance(x, list) and len(x) == 2 and all(isinstance(y, str) for y in x) for x in pairs
    ):
        problems.append("`clashes` must be a list of lists of two ids")
    for section, shape in SHAPES.items():
        if not isinstance(doc[section], list):
            problems.append(f"`{section}` must be a list")
            continue
        for number, row in enumerate(doc[section]):
            where = f"`{section}[{number}]`"
            if not isinstance(row, dict) or set(row) != set(shape):
                problems.append(f"{where} must be an object with exactly the keys {', '.join(shape)}")
                continue
            problems += [
                f"{where}: `{key}` is {show(row[key])}, must be "
                f"{'one of ' + ', '.join(wanted) if isinstance(wanted, tuple) else wanted}"
                for key, wanted in shape.items()
                if not fits(row[key], wanted)
            ]
    return problems


def check_report_order(doc: Any) -> list[str]:
    """Lists are sorted as the prompt says."""
    problems = []
    if doc["clashes"] != sorted(doc["clashes"]) or any(x != sorted(x) for x in doc["clashes"]):
        problems.append("`clashes` is not in the order asked for")
    for section, key in (("changes", "booking_id"), ("suites", "suite_id")):
        if doc[section] != sorted(doc[section], key=lambda row, key=key: row[key]):
            problems.append(f"`{section}` is not in the order asked for")
    return problems


def check_report_clashes(doc: Any, right: Any) -> list[str]:
    """The time at the desk, and the pairs that clash after clearing up."""
    given = Counter(tuple(sorted(x)) for x in doc["clashes"])
    should = {tuple(x) for x in right.report["clashes"]}
    problems = [f"{a} and {b} clash, and are missing" for a, b in sorted(should - set(given))]
    problems += [f"{show(x)} do not clash" for x in sorted(set(given) - should)]
    problems += [f"{show(x)} are listed {number} times" for x, number in given.items() if number > 1]
    if doc["desk_time"] != right.report["desk_time"]:
        problems.append(f"`desk_time` is {show(doc['desk_time'])}, not what the service gives")
    return problems


def _rows(doc: Any, right: Any, section: str, name: str) -> list[str]:
    given = Counter(row[name] for row in doc[section])
    should = {row[name]: row for row in right.report[section]}
    problems = [f"`{section}`: {x} is missing" for x in should if x not in given]
    problems += [f"`{section}`: {show(x)} does not belong there" for x in given if x not in should]
    problems += [
        f"`{section}`: {show(x)} is listed {number} times" for x, number in given.items() if number > 1
    ]
    problems += [
        f"`{section}`: {row[name]}: `{key}` is {show(row[key])}, not {show(value)}"
        for row in doc[section]
        if row[name] in should
        for key, value in should[row[name]].items()
        if row[key] != value
    ]
    return problems


def check_report_changes(doc: Any, right: Any) -> list[str]:
    """What was changed, and who was told."""
    return _rows(doc, right, "changes", "booking_id")


def check_report_suites(doc: Any, right: Any) -> list[str]:
    """Bookings and minutes left in each suite."""
    return _rows(doc, right, "suites", "suite_id")


# -- the tests -------------------------------------------------------------------


@functools.cache
def right() -> Any:
    """The truth."""
    return truth.conclude(HERE / "pristine")


@functools.cache
def _left() -> Left:
    return read_database()


@functools.cache
def _report() -> Any:
    return read_report()


def _usable() -> Any:
    doc = _report()
    problems = check_report_shape(doc)
    assert not problems, "the report does not have the shape asked for:\n" + "\n".join(short(problems))
    return doc


def _demand(problems: list[str]) -> None:
    assert not problems, "\n".join(short(problems))


def test_database_readable() -> None:
    """The database is a sound SQLite file with the service's schema."""
    assert _left().tables


def test_records() -> None:
    """Nothing but bookings and notices was changed."""
    _demand(check_records(_left(), right()))


def test_journal() -> None:
    """The journal goes on where it was."""
    _demand(check_journal(_left(), right()))


def test_accepted_calls() -> None:
    """The state found comes from calls that the service accepts."""
    _demand(check_accepted_calls(_left(), right()))


def test_cleared() -> None:
    """Section 2 of the policy."""
    _demand(check_cleared(_left(), right()))


def test_moved() -> None:
    """Section 4 of the policy, moves."""
    _demand(check_moved(_left(), right()))


def test_gave_way() -> None:
    """Section 4 of the policy, who gives way."""
    _demand(check_gave_way(_left(), right()))


def test_unchanged() -> None:
    """Bookings that the policy does not touch. Alone they show no work: others must have changed."""
    _demand(check_unchanged(_left(), right()))
    assert _left().tables["bookings"] != right().first["bookings"], "no booking was changed at all"


def test_written_once() -> None:
    """Section 5 of the policy."""
    _demand(check_written_once(_left(), right()))


def test_notices() -> None:
    """Section 6 of the policy."""
    _demand(check_notices(_left(), right()))


def test_report_readable() -> None:
    """`/app/report.json` is a plain UTF-8 JSON file."""
    _report()


def test_report_shape() -> None:
    """Keys, types and words of the report."""
    _usable()


def test_report_order() -> None:
    """Order of the report's lists."""
    _demand(check_report_order(_usable()))


def test_report_clashes() -> None:
    """The report's clashes."""
    _demand(check_report_clashes(_usable(), right()))


def test_report_changes() -> None:
    """The report's changes."""
    _demand(check_report_changes(_usable(), right()))


def test_report_suites() -> None:
    """The report's suites."""
    _demand(check_report_suites(_usable(), right()))
