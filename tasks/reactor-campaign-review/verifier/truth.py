"""The review of campaign C24-11, recomputed from the pristine records in exact arithmetic.

Written apart from the reference solution. A signal becomes a list of known pieces
(t0, v0, t1, v1, questionable) with exact fractions; a measure is a sum over the pieces
clipped to a window. Only the mean kinetic temperature, which needs exp and log, is a float.
Section numbers are those of SP-417.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from fractions import Fraction
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

REACTOR = "R401"
PHASES = ("CHARGE", "HEAT", "DOSE", "REACT", "COOL")
CLASSES = ("minor", "major", "critical")


class Piece(NamedTuple):
    """A stretch with a known value, linear from (t0, v0) to (t1, v1); step values are equal at both ends."""

    t0: Fraction
    v0: Any
    t1: Fraction
    v1: Any
    questionable: bool


def table(path: Path, separator: str = ",") -> list[dict[str, str]]:
    head, *body = path.read_text(encoding="utf-8").splitlines()
    return [dict(zip(head.split(separator), line.split(separator), strict=True)) for line in body]


def seconds(text: str, layout: str = "%Y-%m-%dT%H:%M:%SZ") -> int:
    """Epoch seconds of a clock reading taken as UTC."""
    return int(datetime.strptime(text, layout).replace(tzinfo=UTC).timestamp())


CHANGE = seconds("2024-10-27T01:00:00Z")


# --- signals ---------------------------------------------------------------------------------


def recorder_times(rows: list[dict[str, str]]) -> dict[int, int]:
    """seq -> UTC. Of the two readings a clock can mean, only one lies on the right side of the change;
    where both do (the repeated hour), the earliest that keeps the recording order holds (1.1, 1.2)."""
    out: dict[int, int] = {}
    latest = 0
    for seq, clock in sorted({(int(r["seq"]), r["time"]) for r in rows}):
        wall = seconds(clock, "%d-%m-%Y %H:%M:%S")
        summer, winter = wall - 7200, wall - 3600
        possible = [t for t in (summer,) if t < CHANGE] + [t for t in (winter,) if t >= CHANGE]
        latest = out[seq] = min(t for t in possible if t >= latest)
    return out


def rows_by_tag(folder: Path) -> dict[str, list[tuple[int, int, str, str]]]:
    """tag -> (time, precedence, quality, value text)."""
    found: dict[str, list[tuple[int, int, str, str]]] = {}
    for r in table(folder / "historian.csv"):
        found.setdefault(r["tag"], []).append(
            (seconds(r["time"]), int(r["ingest_id"]), r["quality"], r["value"])
        )
    recorder = table(folder / "recorder_cal4.csv", ";")
    times = recorder_times(recorder)
    for r in recorder:
        seq = int(r["seq"])
        quality = {"0": "Good", "1": "Questionable", "2": "Bad"}[r["st"]]
        found.setdefault(r["ch"], []).append((times[seq], seq, quality, r["value"].replace(",", ".")))
    return found


def outages(folder: Path, instrument: str) -> list[tuple[int, int]]:
    """UTC (start, return to service) of work carried out on an instrument, all of it in summer time."""
    pattern = (
        rf"^WO \d+\s+{re.escape(instrument)} (?:(?!^WO ).)*?carried out\s+(\S+) (\d\d:\d\d) - (\d\d:\d\d)"
    )
    text = (folder / "maintenance.txt").read_text(encoding="utf-8")
    hours = [
        (seconds(f"{d} {a}", "%d-%m-%Y %H:%M"), seconds(f"{d} {b}", "%d-%m-%Y %H:%M"))
        for d, a, b in re.findall(pattern, text, re.M | re.S)
    ]
    return [(a - 7200, b - 7200) for a, b in hours]


def pieces(folder: Path, signal: str) -> list[Piece]:
    register = [
        r for r in table(folder / "tag_register.csv") if r["unit"] == REACTOR and r["signal"] == signal
    ]
    everything = rows_by_tag(folder)
    rows = []
    for entry in register:
        since = seconds(entry["valid_from"]) if entry["valid_from"] else -math.inf
        until = seconds(entry["valid_to"]) if entry["valid_to"] else math.inf
        rows += [r for r in everything[entry["tag"]] if since <= r[0] < until]
    away = outages(folder, register[0]["instrument"])
    # The one change of unit of the campaign: TT-101 sent degF until its return to service (2.5).
    fahrenheit_until = away[0][1] if signal == "reactor_temp" else -math.inf

    kept: list[tuple[int, Any, bool]] = []  # time, value or None, questionable
    for t, same in groupby(sorted(rows, key=itemgetter(0, 1)), key=itemgetter(0)):
        *_, (_, _, quality, text) = same
        if quality == "Bad" or any(a <= t < b for a, b in away):
            kept.append((t, None, False))
            continue
        value: Any = text if signal == "agitator" else Fraction(text)
        if t < fahrenheit_until:
            value = (value - 32) * Fraction(5, 9)
        kept.append((t, value, quality == "Questionable"))

    out = []
    for (t0, v0, q0), (t1, v1, q1) in zip(kept, [*kept[1:], (10**11, None, False)], strict=True):
        if v0 is None:
            continue
        if register[0]["step"] == "ON":
            out.append(Piece(Fraction(t0), v0, Fraction(t1), v0, q0))
        elif v1 is not None and t1 - t0 <= 600:
            out.append(Piece(Fraction(t0), v0, Fraction(t1), v1, q0 or q1))
    return out


def clip(known: list[Piece], start: int, end: int) -> list[Piece]:
    out = []
    for p in known:
        a, b = max(p.t0, Fraction(start)), min(p.t1, Fraction(end))
        if a < b:
            if p.v0 == p.v1:
                out.append(p._replace(t0=a, t1=b))
            else:
                slope = (p.v1 - p.v0) / (p.t1 - p.t0)
                out.append(p._replace(t0=a, v0=p.v0 + slope * (a - p.t0), t1=b, v1=p.v0 + slope * (b - p.t0)))
    return out


# --- phases ----------------------------------------------------------------------------------


class Run(NamedTuple):
    start: int
    end: int
    complete: bool
    active: int


def journal(folder: Path) -> list[tuple[int, str, str, str]]:
    rows = [
        (seconds(r["time"]), r["server"], r["batch"], r["phase"], r["event"])
        for r in table(folder / "batch_journal.csv")
        if r["unit"] == REACTOR
    ]
    first = {(t, *what) for t, server, *what in rows if server == "A"}
    second = {
        (t, *what)
        for t, server, *what in rows
        if server == "B" and first.isdisjoint({(t + d, *what) for d in range(-5, 6)})
    }
    return sorted(first | second)


def runs_of(events: list[tuple[int, str, str, str]], batch: str, phase: str) -> list[Run]:
    own = [(t, event) for t, b, p, event in events if (b, p) == (batch, phase)]
    out = []
    for i, (start, event) in enumerate(own):
        if event != "START":
            continue
        j = next(j for j in range(i, len(own)) if own[j][1] in ("COMPLETE", "ABORT"))
        end = own[j][0]
        inside = own[i : j + 1]
        stops = [t for t, e in inside if e == "HOLD"]
        goes = [t for t, e in inside if e == "RESTART"]
        goes += [end] * (len(stops) - len(goes))
        out.append(Run(start, end, own[j][1] == "COMPLETE", end - start - sum(goes) + sum(stops)))
    return out


# --- measures --------------------------------------------------------------------------------


def excursions(known: list[Piece], limit: Fraction) -> list[Fraction]:
    """Lengths, in order (4.1); spans above the limit that meet are one excursion."""
    spans: list[list[Fraction]] = []
    for p in known:
        if max(p.v0, p.v1) <= limit:
            continue
        cross = None if p.v0 == p.v1 else p.t0 + (limit - p.v0) * (p.t1 - p.t0) / (p.v1 - p.v0)
        a = p.t0 if p.v0 > limit or cross is None else cross
        b = p.t1 if p.v1 > limit or cross is None else cross
        if spans and spans[-1][1] == a:
            spans[-1][1] = b
        else:
            spans.append([a, b])
    return [b - a for a, b in spans]


def length(known: list[Piece]) -> Fraction:
    return sum((p.t1 - p.t0 for p in known), Fraction(0))


def area(known: list[Piece]) -> Fraction:
    """Integral in value-hours."""
    return sum(((p.t1 - p.t0) * (p.v0 + p.v1) for p in known), Fraction(0)) / 7200


def kinetic_mean(known: list[Piece]) -> float:
    rate = [
        math.exp(-10000 / (float(p.v0) + 273.15)) + math.exp(-10000 / (float(p.v1) + 273.15)) for p in known
    ]
    whole = math.fsum(float(p.t1 - p.t0) * k / 2 for p, k in zip(known, rate, strict=True))
    return -10000 / math.log(whole / float(length(known))) - 273.15


def deviations(m: dict[str, Any], limits: dict[str, str], target: Fraction) -> dict[str, str]:
    off = abs(m["dosed_kg"] - target) / target
    too_long = not Fraction(limits["react_min_s"]) <= m["react"] <= Fraction(limits["react_max_s"])
    reached = {  # minor, major, critical
        "DATA": (m["questionable_s"] * 10 > m["exposure_s"], m["unknown_s"] * 20 > m["exposure_s"], False),
        "FEED": (off > Fraction("0.005"), off > Fraction("0.02"), False),
        "MKT": (False, m["mkt_c"] > float(limits["mkt_max_c"]), False),
        "STIR": (m["agitator_stopped_s"] > 0, m["agitator_stopped_s"] > 120, False),
        "TEMP": (m["over_limit_s"] > 0, m["longest_excursion_s"] >= 60, m["longest_excursion_s"] >= 300),
        "TIME": (False, too_long, False),
    }
    return {
        code: [c for c, yes in zip(CLASSES, steps, strict=True) if yes][-1]
        for code, steps in reached.items()
        if any(steps)
    }


def disposition(found: dict[str, str]) -> str:
    majors = list(found.values()).count("major")
    if "critical" in found.values() or majors > 2:
        return "reject"
    return "review" if majors else "release"


def review(folder: Path) -> dict[str, dict[str, Any]]:
    """batch -> the fields of the report, unrounded, with deviations as {code: class}."""
    events = journal(folder)
    signals = {s: pieces(folder, s) for s in ("reactor_temp", "monomer_feed", "agitator", "heat_removal")}
    grades = sorted(table(folder / "grades.csv"), key=lambda r: seconds(r["effective_from"]))
    out = {}
    for entry in table(folder / "batches.csv"):
        if entry["unit"] != REACTOR:
            continue
        name = entry["batch"]
        runs = {p: runs_of(events, name, p) for p in PHASES}
        valid = {p: ([r for r in runs[p] if r.complete] or [None])[-1] for p in PHASES}
        begun = min(t for t, b, _, event in events if b == name and event == "START")
        limits = [
            r for r in grades if r["grade"] == entry["grade"] and seconds(r["effective_from"]) <= begun
        ][-1]
        m: dict[str, Any] = {
            "grade": entry["grade"],
            "revision": int(limits["revision"]),
            "phases": {p: valid[p] and valid[p].active for p in PHASES},
            "aborted_runs": sum(not r.complete for p in PHASES for r in runs[p]),
            "dosed_kg": sum(
                (area(clip(signals["monomer_feed"], r.start, r.end)) for r in runs["DOSE"]), Fraction(0)
            ),
        }
        react = valid["REACT"]
        if react is None:
            m |= dict.fromkeys(
                (
                    "exposure_s",
                    "over_limit_s",
                    "excursions",
                    "longest_excursion_s",
                    "unknown_s",
                    "questionable_s",
                    "mkt_c",
                    "heat_kwh",
                    "agitator_stopped_s",
                )
            )
            out[name] = m | {"deviations": {}, "disposition": "scrap"}
            continue
        begin, end = runs["DOSE"][0].start, react.end
        exposed = clip(signals["reactor_temp"], begin, end)
        hot = excursions(exposed, Fraction(limits["t_max_c"]))
        m |= {
            "react": react.active,
            "exposure_s": end - begin,
            "over_limit_s": sum(hot, Fraction(0)),
            "excursions": len(hot),
            "longest_excursion_s": max(hot, default=Fraction(0)),
            "unknown_s": end - begin - length(exposed),
            "questionable_s": length([p for p in exposed if p.questionable]),
            "mkt_c": kinetic_mean(clip(signals["reactor_temp"], react.start, react.end)),
            "heat_kwh": area(clip(signals["heat_removal"], react.start, react.end)),
            "agitator_stopped_s": length(
                [p for p in clip(signals["agitator"], begin, end) if p.v0 == "Stopped"]
            ),
        }
        m["deviations"] = deviations(m, limits, Fraction(entry["target_kg"]))
        out[name] = m | {"disposition": disposition(m["deviations"])}
    return out
