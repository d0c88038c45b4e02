"""Write the plant records of campaign C24-11, always the same bytes.

Usage: `python generate.py [TASK_DIR]` writes the six record files to
`environment/plant/` (what the agent sees) and to `verifier/pristine/` (what the
verifier recomputes from). The procedure `SP-417.md` is written by hand.

Times are UTC epoch seconds inside this script. Temperatures are degC, feeds
kg/h, heat flows kW, until a writer turns them into what a logger exports.
"""

from __future__ import annotations

import math
import random
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 2411
CLOCK_BACK = int(datetime(2024, 10, 27, 1, tzinfo=UTC).timestamp())


def at(text: str) -> int:
    """Epoch seconds of "MM-DD HH:MM" in 2024, UTC."""
    moment = datetime.strptime("2024-" + text, "%Y-%m-%d %H:%M")
    return int(moment.replace(tzinfo=UTC).timestamp())


def utc(t: int) -> str:
    return datetime.fromtimestamp(t, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def plant_time(t: int) -> datetime:
    offset = 2 if t < CLOCK_BACK else 1
    return datetime.fromtimestamp(t, UTC) + timedelta(hours=offset)


FIRST, LAST = at("10-23 05:00"), at("10-27 16:30")
RANGE_CHANGE_OUT, RANGE_CHANGE_BACK = at("10-24 17:05"), at("10-24 17:48")
RENAMED, NEW_TAG_FROM, OLD_TAG_UNTIL = at("10-25 14:00"), at("10-25 12:20"), at("10-25 17:30")
LOOP_CHECK = (at("10-26 06:10"), at("10-26 06:16"))
SERVER_A_DOWN = (at("10-25 11:30"), at("10-25 15:00"))
OLD_TAG, NEW_TAG = "R401.TT101.PV", "U40.R401.TI101.PV"


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of a phase: waiting time before it, parts that alternate run and hold, its end."""

    phase: str
    wait: int
    parts: tuple[int, ...]
    end: str = "COMPLETE"


@dataclass(frozen=True, kw_only=True)
class Bump:
    """A temperature excursion `after` s into run number `run`: half-sine of `height` and `width`."""

    run: int
    after: int
    height: float
    width: int


@dataclass(frozen=True, kw_only=True)
class Stop:
    """An agitator stop; with `lost` the state goes Bad that long after the stop."""

    run: int
    after: int
    seconds: int
    lost: int | None = None


@dataclass(frozen=True, kw_only=True)
class Batch:
    batch: str
    grade: str
    start: int
    target: float
    runs: tuple[Run, ...]
    bumps: tuple[Bump, ...] = ()
    stops: tuple[Stop, ...] = ()
    feed_early: int = 0
    feed_late: int = 0
    spans: list[tuple[int, int]] = field(default_factory=list)

    def placed(self) -> Iterator[tuple[Run, int, int]]:
        t = self.start
        for run in self.runs:
            t += run.wait
            yield run, t, t + sum(run.parts)
            t += sum(run.parts)


def usual(dose: int, react: tuple[int, ...], *, heat: int = 3720) -> tuple[Run, ...]:
    return (
        Run(phase="CHARGE", wait=0, parts=(1805,)),
        Run(phase="HEAT", wait=140, parts=(heat,)),
        Run(phase="DOSE", wait=95, parts=(dose,)),
        Run(phase="REACT", wait=210, parts=react),
        Run(phase="COOL", wait=60, parts=(4510,)),
    )


BATCHES = (
    Batch(
        batch="B2410-31",
        grade="AR210",
        start=at("10-23 05:30") + 17,
        target=301.0,
        runs=usual(9013, (10824,)),
        bumps=(Bump(run=2, after=5200, height=8.55, width=400),),
        feed_early=6,
    ),
    Batch(
        batch="B2410-32",
        grade="AR210",
        start=at("10-23 15:20") + 41,
        target=302.0,
        runs=(
            Run(phase="CHARGE", wait=0, parts=(1771,)),
            Run(phase="HEAT", wait=133, parts=(3655,)),
            Run(phase="DOSE", wait=88, parts=(2118,), end="ABORT"),
            Run(phase="DOSE", wait=1335, parts=(7012,)),
            Run(phase="REACT", wait=190, parts=(10690,)),
            Run(phase="COOL", wait=75, parts=(4388,)),
        ),
        bumps=(Bump(run=2, after=1700, height=9.6, width=640),),
        stops=(Stop(run=2, after=2500, seconds=171),),
        feed_late=230,
    ),
    Batch(
        batch="B2410-33",
        grade="AR245",
        start=at("10-24 01:30") + 5,
        target=292.0,
        runs=(
            Run(phase="CHARGE", wait=0, parts=(1890,)),
            Run(phase="HEAT", wait=120, parts=(3301,)),
            Run(phase="HEAT", wait=905, parts=(1263,)),
            Run(phase="DOSE", wait=70, parts=(4200, 640, 4475)),
            Run(phase="REACT", wait=240, parts=(11390,)),
            Run(phase="COOL", wait=66, parts=(4700,)),
        ),
        bumps=(Bump(run=4, after=1150, height=6.5, width=330),),
        stops=(
            Stop(run=2, after=300, seconds=410),
            Stop(run=3, after=2600, seconds=190, lost=44),
        ),
    ),
    Batch(
        batch="B2410-34",
        grade="AR245",
        start=at("10-24 11:20") + 33,
        target=305.0,
        runs=usual(9127, (4460, 3960, 6903)),
        bumps=(
            Bump(run=3, after=3700, height=6.5, width=500),
            Bump(run=3, after=4640, height=6.1, width=380),
        ),
    ),
    Batch(
        batch="B2410-35",
        grade="AR210",
        start=at("10-24 21:30") + 52,
        target=298.0,
        runs=usual(8850, (10411,)),
        bumps=(
            Bump(run=3, after=2600, height=3.6, width=700),
            Bump(run=3, after=6800, height=5.3, width=330),
        ),
        feed_late=95,
    ),
    Batch(
        batch="B2410-36",
        grade="AR210",
        start=at("10-25 08:10") + 11,
        target=306.0,
        runs=usual(9241, (9988,)),
        bumps=(Bump(run=3, after=6500, height=4.35, width=900),),
        stops=(Stop(run=3, after=1200, seconds=75),),
    ),
    Batch(
        batch="B2410-37",
        grade="AR245",
        start=at("10-25 18:10") + 29,
        target=310.0,
        runs=(
            Run(phase="CHARGE", wait=0, parts=(1822,)),
            Run(phase="HEAT", wait=150, parts=(3560,)),
            Run(phase="DOSE", wait=101, parts=(3105, 780), end="ABORT"),
        ),
        stops=(Stop(run=2, after=3400, seconds=1600),),
    ),
    Batch(
        batch="B2410-38",
        grade="AR245",
        start=at("10-26 01:05") + 8,
        target=307.8,
        runs=usual(9090, (11205,)),
        bumps=(
            Bump(run=3, after=2300, height=6.4, width=1500),
            Bump(run=3, after=8400, height=5.2, width=260),
        ),
    ),
    Batch(
        batch="B2410-39",
        grade="AR210",
        start=at("10-26 19:30") + 44,
        target=300.0,
        runs=usual(9030, (3310, 520, 7600)),
        bumps=(Bump(run=3, after=1900, height=3.9, width=420),),
    ),
    Batch(
        batch="B2410-40",
        grade="AR210",
        start=at("10-27 06:05") + 2,
        target=301.0,
        runs=usual(9060, (10755,)),
        bumps=(Bump(run=3, after=4000, height=3.4, width=500),),
    ),
)

# R402 shares the journal and the recorder; nothing of it belongs into the review.
OTHER = tuple(
    Batch(
        batch=f"B2410-{61 + i}",
        grade="AR210",
        start=at("10-23 07:10") + i * 43_200 + 977 * i,
        target=300.0,
        runs=usual(9000 + 61 * i, (10700 + 37 * i,)),
    )
    for i in range(8)
)

DOSE_TEMP = {"AR210": 84.0, "AR245": 90.0}
REACT_TEMP = {"AR210": 88.4, "AR245": 94.3}


# --- what the plant really did -------------------------------------------------------------


def temperature_targets() -> list[tuple[int, float, float]]:
    """(time, target in degC, time constant in s), ascending."""
    out = [(FIRST, 26.0, 3000.0)]
    for b in BATCHES:
        for run, start, end in b.placed():
            if run.phase == "CHARGE":
                out.append((start, 24.0, 2500.0))
            elif run.phase == "HEAT":
                out += [(start, DOSE_TEMP[b.grade] + 1.5, 1250.0), (end, DOSE_TEMP[b.grade] - 2.0, 4000.0)]
            elif run.phase == "DOSE":
                out.append((start, DOSE_TEMP[b.grade], 700.0))
            elif run.phase == "REACT":
                out.append((start, REACT_TEMP[b.grade], 900.0))
            elif run.phase == "COOL":
                out += [(start, 33.0, 2200.0), (end, 28.0, 6000.0)]
        if b.runs[-1].end == "ABORT":
            out.append((end, 30.0, 3800.0))
    return sorted(out)


def simulate_temperature(rng: random.Random, step: int = 5) -> list[float]:
    targets = temperature_targets()
    bumps = []
    for b in BATCHES:
        placed = list(b.placed())
        for bump in b.bumps:
            t = placed[bump.run][1] + bump.after
            bumps.append((t, t + bump.width, bump.height))
    values, noise, slow, value, i = [], 0.0, 0.0, 25.0, 0
    for t in range(FIRST, LAST, step):
        while i + 1 < len(targets) and targets[i + 1][0] <= t:
            i += 1
        _, target, tau = targets[i]
        value += (target - value) * step / tau
        noise += -noise * step / 90 + rng.gauss(0, 0.030)
        slow += -slow * step / 1500 + rng.gauss(0, 0.022)
        extra = sum(h * math.sin(math.pi * (t - a) / (z - a)) for a, z, h in bumps if a <= t <= z)
        values.append(value + noise + slow + extra)
    return values


def simulate_heat(rng: random.Random, step: int = 5) -> list[float]:
    spans = [(run, s, e) for b in BATCHES for run, s, e in b.placed()]
    values, value, noise = [], 1.0, 0.0
    for t in range(FIRST, LAST, step):
        target, tau = 0.8, 500.0
        for run, s, e in spans:
            if s <= t < e:
                if run.phase == "DOSE":
                    target, tau = 33.0, 900.0
                elif run.phase == "REACT":
                    target, tau = 4.0 + 27.0 * math.exp(-(t - s) / 5200), 400.0
                elif run.phase == "COOL":
                    target, tau = 21.0, 1500.0
                break
        value += (target - value) * step / tau
        noise += -noise * step / 200 + rng.gauss(0, 0.10)
        values.append(max(0.0, value + noise))
    return values


def excepted(
    rng: random.Random, values: list[float], *, dead: float, least: int, most: int, step: int = 5
) -> list[tuple[int, float]]:
    """Exception reporting: a row when the value moved by `dead`, or after about `most` s."""
    rows, last_t, last_v, limit = [(FIRST, values[0])], FIRST, values[0], most
    for i, v in enumerate(values[1:], 1):
        t = FIRST + i * step
        waited = t - last_t
        if (waited >= least and abs(v - last_v) >= dead) or waited >= limit:
            stamp = t + rng.randrange(step)
            if stamp > last_t:
                rows.append((stamp, v))
                last_t, last_v, limit = stamp, v, most - rng.randrange(most // 4)
    return rows


# --- historian rows ------------------------------------------------------------------------


@dataclass(kw_only=True)
class Row:
    tag: str
    t: int
    value: str
    quality: str = "Good"
    late: int = 0
    ingest: int = 0


def in_run(number: int, run: int, after: int) -> int:
    return list(BATCHES[number - 31].placed())[run][1] + after


def temperature_rows(rng: random.Random) -> list[Row]:
    points = excepted(rng, simulate_temperature(rng), dead=1.15, least=10, most=390)
    rows: list[Row] = []
    gap = (in_run(38, 3, 2760), in_run(38, 3, 3480))
    bad = (in_run(38, 3, 5000), in_run(38, 3, 5420))
    doubtful = (in_run(39, 2, 4000), in_run(39, 2, 6000))
    backfilled = (in_run(35, 3, 2500), in_run(35, 3, 3400))
    corrected = (in_run(31, 3, 3000), in_run(31, 3, 4300))
    for t, v in points:
        if gap[0] < t < gap[1]:
            continue
        tag = OLD_TAG if t < RENAMED else NEW_TAG
        shown = v if t >= RANGE_CHANGE_BACK else v * 9 / 5 + 32
        row = Row(tag=tag, t=t, value=f"{shown:.2f}")
        if RANGE_CHANGE_OUT <= t < RANGE_CHANGE_BACK:
            continue
        if bad[0] <= t < bad[1]:
            row.value, row.quality = "I/O Timeout", "Bad"
        elif doubtful[0] <= t < doubtful[1]:
            row.quality = "Questionable"
        elif backfilled[0] <= t < backfilled[1]:
            rows.append(Row(tag=tag, t=t, value="Bad Input", quality="Bad"))
            row.late = 5400
        elif corrected[0] <= t < corrected[1]:
            rows.append(Row(tag=tag, t=t, value=f"{shown + 7.4:.2f}"))
            row.late = 7200
        elif rng.random() < 0.006:
            row.quality = "Questionable"
        rows.append(row)
    # Spikes that were first taken as Good and later re-sent as Bad.
    for number, run, after in ((38, 3, 9200), (33, 4, 6000), (40, 3, 7000)):
        t = in_run(number, run, after)
        spike = 131.4 if t >= RANGE_CHANGE_BACK else 131.4 * 9 / 5 + 32
        tag = OLD_TAG if t < RENAMED else NEW_TAG
        rows += [
            Row(tag=tag, t=t, value=f"{spike:.2f}"),
            Row(tag=tag, t=t, value="Over Range", quality="Bad", late=3600),
        ]
    # Calibrator values during the work on the transmitter, half of them flagged Good.
    t, level = RANGE_CHANGE_OUT, 0
    while t < RANGE_CHANGE_BACK:
        simulated = (32.0, 122.0, 212.0, 0.0, 50.0, 100.0)[level * 6 // 14 % 6]
        good = level % 3 != 2
        rows.append(
            Row(
                tag=OLD_TAG,
                t=t,
                value=f"{simulated + rng.uniform(-0.1, 0.1):.2f}" if good else "Bad Input",
                quality="Good" if good else "Bad",
            )
        )
        t, level = t + rng.randrange(120, 240), level + 1
    # The new tag during commissioning, and the old one frozen after the change.
    for t in range(NEW_TAG_FROM, RENAMED, 420):
        rows.append(Row(tag=NEW_TAG, t=t + rng.randrange(200), value=f"{99.5 + rng.gauss(0, 0.6):.2f}"))
    frozen = max((r.t, r.value) for r in rows if r.tag == OLD_TAG)[1]
    rows += [Row(tag=OLD_TAG, t=t, value=frozen) for t in range(RENAMED + 45, OLD_TAG_UNTIL, 600)]
    return rows


def feed_rows(rng: random.Random) -> list[Row]:
    rows = [Row(tag="R401.FT110.PV", t=FIRST + 12, value="0.0")]
    for b in BATCHES:
        for run, start, _ in b.placed():
            if run.phase != "DOSE":
                continue
            t = start
            for i, part in enumerate(run.parts):
                stop = t + part
                if i % 2:
                    t = stop
                    continue
                now = t - b.feed_early if i == 0 else t + 4
                nominal = 120.0
                while now < stop - 60:
                    rows.append(Row(tag="R401.FT110.PV", t=now, value=f"{nominal + rng.gauss(0, 1.6):.1f}"))
                    now += rng.randrange(420, 1500)
                late = b.feed_late if i == len(run.parts) - 1 and run.end == "COMPLETE" else 3
                rows.append(Row(tag="R401.FT110.PV", t=stop + late, value="0.0"))
                t = stop
    t = in_run(36, 2, 5100)
    rows += [
        Row(tag="R401.FT110.PV", t=t, value="Bad Input", quality="Bad"),
        Row(tag="R401.FT110.PV", t=t + 95, value="118.9"),
    ]
    return [r for r in rows if not t < r.t < t + 95]


def agitator_rows() -> list[Row]:
    rows = [Row(tag="R401.AG101.RUN", t=FIRST + 7, value="Stopped")]
    for b in BATCHES:
        placed = list(b.placed())
        rows.append(Row(tag="R401.AG101.RUN", t=placed[0][1] + 301, value="Running"))
        for stop in b.stops:
            t = placed[stop.run][1] + stop.after
            rows.append(Row(tag="R401.AG101.RUN", t=t, value="Stopped"))
            if stop.lost is not None:
                rows.append(Row(tag="R401.AG101.RUN", t=t + stop.lost, value="Comm Fail", quality="Bad"))
            rows.append(Row(tag="R401.AG101.RUN", t=t + stop.seconds, value="Running"))
        rows.append(Row(tag="R401.AG101.RUN", t=placed[-1][2] + 1300, value="Stopped"))
    return rows


def jacket_rows(rng: random.Random) -> list[Row]:
    return [
        Row(
            tag="R401.TT102.PV",
            t=t + rng.randrange(90),
            value=f"{62 + 14 * math.sin(t / 9000) + rng.gauss(0, 0.8):.1f}",
        )
        for t in range(FIRST, LAST, 1500)
    ]


def write_historian(path: Path) -> None:
    rows = temperature_rows(random.Random(SEED)) + feed_rows(random.Random(SEED + 1))
    rows += agitator_rows() + jacket_rows(random.Random(SEED + 2))
    rng = random.Random(SEED + 3)
    for row in rows:
        if not row.late and rng.random() < 0.03:
            row.late = rng.randrange(600, 7200)
    rows.sort(key=lambda r: (r.t + r.late, r.tag, r.quality))
    for i, row in enumerate(rows):
        row.ingest = 7_310_044 + 3 * i
    # The export walks the archive file by file: the order is neither time nor ingest.
    keyed = [
        (
            row.t // 21_600,
            row.t + (rng.randrange(-5000, 5000) if rng.random() < 0.2 else 0),
            rng.random(),
            row,
        )
        for row in rows
    ]
    keyed += [(a, b + 40, c, row) for a, b, c, row in keyed if rng.random() < 0.015]
    keyed.sort(key=lambda k: k[:3])
    lines = ["tag,time,value,quality,ingest_id"]
    lines += [f"{r.tag},{utc(r.t)},{r.value},{r.quality},{r.ingest}" for *_, r in keyed]
    path.write_text("\n".join(lines) + "\n")


# --- the other records ---------------------------------------------------------------------


def write_recorder(path: Path) -> None:
    rng = random.Random(SEED + 4)
    points = excepted(rng, simulate_heat(rng), dead=2.2, least=20, most=480)
    rows: list[tuple[int, str, float, int]] = []
    failed = (in_run(32, 4, 4000), in_run(32, 4, 4900))
    silent = (in_run(36, 3, 900), in_run(36, 3, 1750))
    for t, v in points:
        if silent[0] < t < silent[1] or LOOP_CHECK[0] <= t < LOOP_CHECK[1]:
            continue
        state = 1 if rng.random() < 0.02 else 0
        if failed[0] <= t < failed[1]:
            state = 2
        rows.append((t, "CH3", -1.0 if state == 2 else v, state))
    rows += [
        (t, "CH3", v, 0)
        for t, v in zip(
            range(LOOP_CHECK[0] + 20, LOOP_CHECK[1], 130), (0.0, 30.0, 60.0, 60.0, 30.0), strict=False
        )
    ]
    rows += [
        (t + rng.randrange(60), "CH5", 14 + 10 * math.sin(t / 11_000), 0) for t in range(FIRST, LAST, 1800)
    ]
    rows.sort(key=lambda r: r[:2])
    numbered = [(i, *row) for i, row in enumerate(rows, 120_411)]
    keyed = [
        (i + (rng.randrange(-40, 40) if rng.random() < 0.08 else 0), rng.random(), row)
        for i, row in enumerate(numbered)
    ]
    keyed += [(a + rng.randrange(5, 60), b, row) for a, b, row in keyed if rng.random() < 0.02]
    keyed.sort(key=lambda k: k[:2])
    lines = ["seq;time;ch;value;st"]
    for *_, (seq, t, ch, v, state) in keyed:
        lines.append(f"{seq};{plant_time(t):%d-%m-%Y %H:%M:%S};{ch};{v:.1f};{state}".replace(".", ","))
    path.write_text("\n".join(lines) + "\n")


def journal_events() -> list[tuple[int, str, str, str, str]]:
    events = []
    for unit, batches in (("R401", BATCHES), ("R402", OTHER)):
        for b in batches:
            for run, start, end in b.placed():
                events.append((start, unit, b.batch, run.phase, "START"))
                t = start
                for i, part in enumerate(run.parts[:-1]):
                    t += part
                    events.append((t, unit, b.batch, run.phase, ("HOLD", "RESTART")[i % 2]))
                events.append((end, unit, b.batch, run.phase, run.end))
                if run.phase in ("DOSE", "REACT"):
                    events.append((start + 2, unit, b.batch, run.phase, "PARAM"))
    return sorted(events)


def write_journal(path: Path) -> None:
    rng = random.Random(SEED + 5)
    rows = []
    for t, *rest in journal_events():
        if not SERVER_A_DOWN[0] <= t < SERVER_A_DOWN[1]:
            rows.append((t // 43_200, "A", t, rest))
            if rng.random() < 0.45:
                continue
        rows.append((t // 43_200, "B", t + rng.choice((-1, 1, 1, 2, 3, 4)), rest))
    rows.sort(key=lambda r: r[:3])
    lines = ["server,time,unit,batch,phase,event"]
    lines += [",".join((server, utc(t), *rest)) for _, server, t, rest in rows]
    path.write_text("\n".join(lines) + "\n")


def hours(start: int, end: int) -> str:
    return f"{plant_time(start):%d-%m-%Y %H:%M} - {plant_time(end):%H:%M}"


def write_lists(folder: Path) -> None:
    lines = ["batch,unit,grade,target_kg"]
    for unit, batches in (("R401", BATCHES), ("R402", OTHER)):
        lines += [f"{b.batch},{unit},{b.grade},{b.target:.1f}" for b in batches]
    (folder / "batches.csv").write_text("\n".join(lines) + "\n")
    (folder / "grades.csv").write_text(
        "grade,revision,effective_from,t_max_c,mkt_max_c,react_min_s,react_max_s\n"
        "AR210,5,2023-03-01T00:00:00Z,92.005,88.3,10200,11400\n"
        "AR210,6,2024-10-25T00:00:00Z,91.005,88.2,10200,11400\n"
        "AR210,7,2024-11-04T00:00:00Z,90.505,88.4,10200,11400\n"
        "AR245,3,2023-03-01T00:00:00Z,98.505,94.4,10800,12000\n"
        "AR245,4,2024-10-25T22:00:00Z,98.005,94.6,10800,11100\n"
    )
    changed = utc(RENAMED)
    (folder / "tag_register.csv").write_text(
        "unit,signal,tag,source,instrument,step,eng_unit,valid_from,valid_to\n"
        f"R401,reactor_temp,{OLD_TAG},historian.csv,TT-101,OFF,degC,,{changed}\n"
        f"R401,reactor_temp,{NEW_TAG},historian.csv,TT-101,OFF,degC,{changed},\n"
        "R401,jacket_temp,R401.TT102.PV,historian.csv,TT-102,OFF,degC,,\n"
        "R401,monomer_feed,R401.FT110.PV,historian.csv,FT-110,ON,kg/h,,\n"
        "R401,agitator,R401.AG101.RUN,historian.csv,AG-101,ON,,,\n"
        "R401,heat_removal,CH3,recorder_cal4.csv,JT-105,OFF,kW,,\n"
        "R402,heat_removal,CH5,recorder_cal4.csv,JT-205,OFF,kW,,\n"
    )
    (folder / "maintenance.txt").write_text(
        f"""Instrument work orders, building 4, week 43 of 2024
All times are plant time.

WO 88207  FT-110 (R401 monomer feed)
  planned      23-10-2024 11:00 - 12:00
  cancelled    no spare part; carried over to week 45

WO 88213  TT-101 (R401 reactor temperature)
  planned      24-10-2024 09:00 - 09:45, put off by the shift lead
  carried out  {hours(RANGE_CHANGE_OUT, RANGE_CHANGE_BACK)} (return to service)
  Transmitter head replaced with the batch on hold. The old head sent degF,
  the new head sends degC. Checked with the calibrator at three points before
  and three after the exchange. Historian point not changed.

WO 88219  TT-102 (R401 jacket temperature)
  planned      25-10-2024 07:30 - 08:00
  carried out  25-10-2024 07:40 - 08:05 (return to service)
  Sensor cleaned. The old head had been changed from degF to degC in week 12.

WO 88226  JT-105 (R401 heat removal)
  planned      26-10-2024 08:00 - 08:30
  carried out  {hours(*LOOP_CHECK)} (return to service)
  Loop check with simulated signal, 0 / 50 / 100 %. No adjustment.

WO 88231  TT-101 (R401 reactor temperature)
  carried out  without interruption of service
  Point renamed to the site standard, see tag register.
"""
    )


def write_all(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_historian(folder / "historian.csv")
    write_recorder(folder / "recorder_cal4.csv")
    write_journal(folder / "batch_journal.csv")
    write_lists(folder)


def main() -> None:
    task = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    write_all(task / "environment" / "plant")
    write_all(task / "verifier" / "pristine")


if __name__ == "__main__":
    main()
