"""Review campaign C24-11 of reactor R401 as SP-417 says. Section numbers are those of SP-417.

Usage: `python3 review.py PLANT_DIR OUTPUT_JSON`

A signal is a sorted list of rows; a measure walks the nodes of its window
(row times and window edges) and asks for the value and the state between them.
Times are UTC epoch seconds, temperatures degC.
"""

import csv
import json
import math
import re
import sys
from bisect import bisect_right
from collections import defaultdict
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path

UNIT = "R401"
PHASES = ("CHARGE", "HEAT", "DOSE", "REACT", "COOL")
CLOCK_BACK = datetime(2024, 10, 27, 1, tzinfo=UTC).timestamp()
MAX_GAP = 600
SAME_EVENT = 5
USABLE = ("Good", "Questionable")


def epoch(text):
    return int(datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp())


def read_csv(path, delimiter=","):
    with path.open(newline="") as f:
        return list(csv.DictReader(f, delimiter=delimiter))


def from_plant_time(text, fmt, winter=False):
    offset = timedelta(hours=1 if winter else 2)
    return int(datetime.strptime(text, fmt).replace(tzinfo=timezone(offset)).timestamp())


# --- 1 time, 2 signals: every source gives rows (tag, time, value text, quality, precedence) ---


def historian_rows(plant):
    return [
        (r["tag"], epoch(r["time"]), r["value"], r["quality"], int(r["ingest_id"]))
        for r in read_csv(plant / "historian.csv")
    ]


def recorder_rows(plant):
    """Plant time to UTC by walking the rows in recording order (1.2)."""
    by_seq = {int(r["seq"]): r for r in read_csv(plant / "recorder_cal4.csv", ";")}
    rows, winter, before = [], False, 0
    for seq in sorted(by_seq):
        r = by_seq[seq]
        wall = from_plant_time(r["time"], "%d-%m-%Y %H:%M:%S")
        if not winter and (wall < before or wall >= CLOCK_BACK + 3600):
            winter = True  # the wall clock went back, or shows an hour that summer time never reached
        before = wall
        t = wall + 3600 if winter else wall
        quality = ("Good", "Questionable", "Bad")[int(r["st"])]
        rows.append((r["ch"], t, r["value"].replace(",", "."), quality, seq))
    return rows


def work_orders(plant):
    """instrument -> [(start, return to service, left degF behind)] of work carried out (2.4, 2.5)."""
    found = defaultdict(list)
    for block in re.split(r"\n(?=WO )", (plant / "maintenance.txt").read_text()):
        head = re.match(r"WO \d+ +(\S+)", block)
        done = re.search(r"carried out +(\d\d-\d\d-\d{4}) (\d\d:\d\d) - (\d\d:\d\d)", block)
        if head and done:
            day, start, end = done.groups()
            start, end = (from_plant_time(f"{day} {x}", "%d-%m-%Y %H:%M") for x in (start, end))
            swapped = bool(re.search(r"old head sent degF,\s+the new head sends degC", block))
            found[head[1]].append((start, end, swapped))
    return found


def in_force(t, tag):
    """2.1"""
    return (not tag["valid_from"] or epoch(tag["valid_from"]) <= t) and (
        not tag["valid_to"] or t < epoch(tag["valid_to"])
    )


def one_row_per_time(rows):
    """2.3: rows (time, value text, quality, precedence), the highest precedence wins."""
    best = {}
    for row in rows:
        if row[0] not in best or row[3] > best[row[0]][3]:
            best[row[0]] = row
    return [best[t] for t in sorted(best)]


def converted(value, t, orders):
    """2.5"""
    if any(swapped and t < back for _, back, swapped in orders):
        return (value - 32) * 5 / 9
    return value


def out_of_service(t, orders):
    """2.4"""
    return any(start <= t < back for start, back, _ in orders)


class Signal:
    """Rows of one signal: `times`, `values` (None where Bad), `flags`; `step` tells 2.7 from 2.6."""

    def __init__(self, rows, step):
        self.step = step
        self.times = [t for t, _, _ in rows]
        self.values = [v for _, v, _ in rows]
        self.flags = [q for _, _, q in rows]

    def nodes(self, start, end):
        inside = self.times[bisect_right(self.times, start) : bisect_right(self.times, end)]
        nodes = [start, *inside]
        return nodes if nodes[-1] == end else [*nodes, end]

    def stretches(self, start, end):
        """(t0, t1, v0, v1, questionable) between neighbouring nodes; v0 is None where unknown."""
        for t0, t1 in pairwise(self.nodes(start, end)):
            i = bisect_right(self.times, t0) - 1
            if i < 0 or self.values[i] is None:
                yield t0, t1, None, None, False
            elif self.step:
                yield t0, t1, self.values[i], self.values[i], False
            else:
                yield self.line(i, t0, t1)

    def line(self, i, t0, t1):
        unknown = (t0, t1, None, None, False)
        if i + 1 == len(self.times) or self.values[i + 1] is None:
            return unknown
        a, b = self.times[i], self.times[i + 1]
        if b - a > MAX_GAP:
            return unknown
        slope = (self.values[i + 1] - self.values[i]) / (b - a)
        doubtful = "Questionable" in self.flags[i : i + 2]
        return t0, t1, self.values[i] + slope * (t0 - a), self.values[i] + slope * (t1 - a), doubtful


def build_signal(name, plant, sources, orders):
    tags = [r for r in read_csv(plant / "tag_register.csv") if (r["unit"], r["signal"]) == (UNIT, name)]
    rows = []
    for tag in tags:
        for found, t, value, quality, precedence in sources[tag["source"]]:
            if found == tag["tag"] and in_force(t, tag):
                rows.append((t, value, quality, precedence))
    work = orders.get(tags[0]["instrument"], [])
    step = tags[0]["step"] == "ON"
    final = []
    for t, text, quality, _ in one_row_per_time(rows):
        if quality not in USABLE or out_of_service(t, work):
            final.append((t, None, "Bad"))
        else:
            value = text if tags[0]["eng_unit"] == "" else converted(float(text), t, work)
            final.append((t, value, quality))
    return Signal(final, step)


# --- 3 phases ---------------------------------------------------------------------------------


def merge_servers(rows):
    """3.1: rows (server, time, batch, phase, event) to sorted (time, batch, phase, event)."""
    primary = defaultdict(list)
    for server, t, *what in rows:
        if server == "A":
            primary[tuple(what)].append(t)
    merged = []
    for server, t, *what in rows:
        if server == "B" and any(abs(t - other) <= SAME_EVENT for other in primary[tuple(what)]):
            continue
        merged.append((t, *what))
    return sorted(merged)


def read_runs(plant):
    """batch -> phase -> [{start, end, how, active}] in order of time (3.2, 3.4)."""
    rows = [
        (r["server"], epoch(r["time"]), r["batch"], r["phase"], r["event"])
        for r in read_csv(plant / "batch_journal.csv")
        if r["unit"] == UNIT
    ]
    runs = defaultdict(lambda: defaultdict(list))
    current, held = {}, {}
    for t, batch, phase, event in merge_servers(rows):
        key = batch, phase
        if event == "START":
            current[key] = {"start": t, "holds": 0}
        elif event == "HOLD":
            held[key] = t
        elif event == "RESTART":
            current[key]["holds"] += t - held.pop(key)
        elif event in ("COMPLETE", "ABORT"):
            run = current.pop(key)
            stopped = t - held.pop(key) if key in held else 0
            run |= {"end": t, "how": event, "active": t - run["start"] - run["holds"] - stopped}
            runs[batch][phase].append(run)
    return runs


def valid_run(runs):
    """3.3"""
    complete = [run for run in runs if run["how"] == "COMPLETE"]
    return complete[-1] if complete else None


def exposure_window(phases):
    """3.5"""
    react = valid_run(phases["REACT"])
    return (phases["DOSE"][0]["start"], react["end"]) if react else None


# --- 4 measures -------------------------------------------------------------------------------


def excursions(signal, limit, start, end):
    """Lengths of the excursions in seconds (4.1)."""
    lengths, running = [], False
    for t0, t1, v0, v1, _ in signal.stretches(start, end):
        if v0 is None or max(v0, v1) <= limit:
            running = False
            continue
        a = t0 if v0 > limit else t0 + (t1 - t0) * (limit - v0) / (v1 - v0)
        b = t1 if v1 > limit else t0 + (t1 - t0) * (limit - v0) / (v1 - v0)
        if running and a == t0:
            lengths[-1] += b - a
        else:
            lengths.append(b - a)
        running = v1 > limit
    return lengths


def unknown_and_questionable(signal, start, end):
    """4.2"""
    unknown = questionable = 0
    for t0, t1, v0, _, doubtful in signal.stretches(start, end):
        unknown += (t1 - t0) * (v0 is None)
        questionable += (t1 - t0) * doubtful
    return unknown, questionable


def mean_kinetic_temperature(signal, start, end):
    """4.3"""

    def k(celsius):
        return math.exp(-10000 / (celsius + 273.15))

    area = known = 0.0
    for t0, t1, v0, v1, _ in signal.stretches(start, end):
        if v0 is not None:
            area += (t1 - t0) * (k(v0) + k(v1)) / 2
            known += t1 - t0
    return 10000 / -math.log(area / known) - 273.15


def integral_per_hour(signal, start, end):
    """4.4, 4.5"""
    return (
        sum((t1 - t0) * (v0 + v1) / 2 for t0, t1, v0, v1, _ in signal.stretches(start, end) if v0 is not None)
        / 3600
    )


def stopped_time(signal, start, end):
    """4.6"""
    return sum(t1 - t0 for t0, t1, v0, _, _ in signal.stretches(start, end) if v0 == "Stopped")


def dosed(signal, runs):
    return sum(integral_per_hour(signal, run["start"], run["end"]) for run in runs)


# --- 5 deviations -----------------------------------------------------------------------------


def limits_for(grade, start, plant):
    """5.1"""
    revisions = [
        r
        for r in read_csv(plant / "grades.csv")
        if r["grade"] == grade and epoch(r["effective_from"]) <= start
    ]
    return max(revisions, key=lambda r: epoch(r["effective_from"]))


def classify(m, limits, target):
    """5.2: [(code, class)] sorted by code."""
    out = {}

    def judge(code, *ladder):
        for level, applies in ladder:
            if applies:
                out[code] = level
                return

    off = abs(m["dosed"] - target) / target
    judge("TEMP", ("critical", m["longest"] >= 300), ("major", m["longest"] >= 60), ("minor", m["over"] > 0))
    judge("MKT", ("major", m["mkt"] > float(limits["mkt_max_c"])))
    judge("FEED", ("major", off > 0.02), ("minor", off > 0.005))
    judge("STIR", ("major", m["stopped"] > 120), ("minor", m["stopped"] > 0))
    judge("TIME", ("major", not float(limits["react_min_s"]) <= m["react"] <= float(limits["react_max_s"])))
    judge(
        "DATA",
        ("major", m["unknown"] > 0.05 * m["window"]),
        ("minor", m["questionable"] > 0.10 * m["window"]),
    )
    return sorted(out.items())


def disposition(classes):
    """5.3"""
    if "critical" in classes or classes.count("major") >= 3:
        return "reject"
    return "review" if "major" in classes else "release"


def review_batch(entry, phases, signals, plant):
    limits = limits_for(entry["grade"], min(r["start"] for runs in phases.values() for r in runs), plant)
    valid = {p: valid_run(phases[p]) for p in PHASES}
    result = {
        "batch": entry["batch"],
        "grade": entry["grade"],
        "revision": int(limits["revision"]),
        "phases": {p: run["active"] if run else None for p, run in valid.items()},
        "aborted_runs": sum(run["how"] == "ABORT" for runs in phases.values() for run in runs),
    }
    fed = dosed(signals["monomer_feed"], phases["DOSE"])
    window, react = exposure_window(phases), valid["REACT"]
    if window is None:
        empty = (
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
        return (
            result
            | dict.fromkeys(empty)
            | {"dosed_kg": round(fed, 2), "deviations": [], "disposition": "scrap"}
        )
    temp = signals["reactor_temp"]
    hot = excursions(temp, float(limits["t_max_c"]), *window)
    unknown, questionable = unknown_and_questionable(temp, *window)
    m = {
        "dosed": fed,
        "over": sum(hot),
        "longest": max(hot, default=0),
        "mkt": mean_kinetic_temperature(temp, react["start"], react["end"]),
        "stopped": stopped_time(signals["agitator"], *window),
        "react": react["active"],
        "unknown": unknown,
        "questionable": questionable,
        "window": window[1] - window[0],
    }
    deviations = classify(m, limits, float(entry["target_kg"]))
    return result | {
        "exposure_s": m["window"],
        "over_limit_s": round(m["over"], 1),
        "excursions": len(hot),
        "longest_excursion_s": round(m["longest"], 1),
        "unknown_s": unknown,
        "questionable_s": questionable,
        "mkt_c": round(m["mkt"], 3),
        "heat_kwh": round(integral_per_hour(signals["heat_removal"], react["start"], react["end"]), 2),
        "dosed_kg": round(fed, 2),
        "agitator_stopped_s": m["stopped"],
        "deviations": [{"code": code, "class": level} for code, level in deviations],
        "disposition": disposition([level for _, level in deviations]),
    }


def review(plant):
    sources = {"historian.csv": historian_rows(plant), "recorder_cal4.csv": recorder_rows(plant)}
    orders = work_orders(plant)
    signals = {
        name: build_signal(name, plant, sources, orders)
        for name in ("reactor_temp", "monomer_feed", "agitator", "heat_removal")
    }
    runs = read_runs(plant)
    entries = sorted(
        (r for r in read_csv(plant / "batches.csv") if r["unit"] == UNIT), key=lambda r: r["batch"]
    )
    batches = [review_batch(entry, runs[entry["batch"]], signals, plant) for entry in entries]
    return {"campaign": "C24-11", "reactor": UNIT, "batches": batches}


def main():
    plant, output = Path(sys.argv[1]), Path(sys.argv[2])
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(review(plant), indent=2) + "\n")


if __name__ == "__main__":
    main()
