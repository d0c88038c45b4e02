"""Date core FJ3 as P-12 says and write the five figures asked for. Section numbers are those of P-12.

Usage: `python3 chronology.py CORE_DIR ANSWER_TXT`

Times are datetimes, activities Bq, masses g, masses per area g per m2, excess Bq per kg.
"""

import csv
import math
import re
import sys
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path

DAY = timedelta(days=1)
YEAR = 365.25 * DAY
T_PB210, T_PO210, T_PO209 = 22.23 * YEAR, 138.376 * DAY, 125.2 * YEAR
LAMBDA = math.log(2) / 22.23
WINDOW_209, WINDOW_210 = (4660, 4930), (5080, 5350)
MIN_COUNTS, MIN_YIELD = 600, 0.15
LEAST_EXCESS = 0.1

# field_sheet.txt
CORED = datetime(2022, 6, 14, 12)
CUT_DIAMETER_M = (86 - 2 * 4) / 1000
PORE_WATER = ((20, 32.6), (40, 31.4), (56, 29.8))
EVENT_CM = (12, 15)
# lab_book.txt
VOID = {"D-106"}
TRUE_SLICE = {("1", "FJ3-05"): "FJ3-16", ("1", "FJ3-16"): "FJ3-05"}
TRUE_DISC = {"D-305": "D-306", "D-306": "D-305"}


def read_csv(path, delimiter=","):
    with path.open(newline="") as f:
        return list(csv.DictReader(f, delimiter=delimiter))


def left(elapsed, half_life):
    """Share that decay leaves."""
    return 2 ** -(elapsed / half_life)


def weighted(values):
    """Mean and uncertainty of (value, uncertainty) pairs, weighted by 1/u^2 (4.7)."""
    weights = [1 / u**2 for _, u in values]
    mean = sum(v * w for (v, _), w in zip(values, weights, strict=True)) / sum(weights)
    return mean, sum(weights) ** -0.5


# --- 2 slices ---


def last_weighings(rows):
    """2.1"""
    return {r["slice"]: r for r in sorted(rows, key=lambda r: r["weighed_on"])}


def salinity(top):
    return next(s for bottom, s in PORE_WATER if top < bottom)


def salt_of(water, s):
    """2.2"""
    return water * s / (1000 - s)


def share_bagged(remark):
    """2.3"""
    found = re.match(r"(\d)/(\d) of slice", remark)
    return int(found[1]) / int(found[2]) if found else 1.0


def is_event(top, bottom):
    """2.4"""
    return EVENT_CM[0] <= top and bottom <= EVENT_CM[1]


def read_slices(core):
    """[{name, mass, salt, base, middle}] from the top down, without event layers."""
    slices = []
    for row in last_weighings(read_csv(core / "slices.csv")).values():
        top, bottom = float(row["top_cm"]), float(row["bottom_cm"])
        wet, dry = (float(row[k]) - float(row["tare_g"]) for k in ("wet_g", "dry_g"))
        salt = salt_of(wet - dry, salinity(top))
        area = math.pi / 4 * CUT_DIAMETER_M**2
        if not is_event(top, bottom):
            mass = (dry - salt) / share_bagged(row["remark"]) / area
            slices.append({"name": row["slice"], "top": top, "mass": mass, "salt": salt / dry})
    slices.sort(key=lambda s: s["top"])
    base = 0.0
    for s in slices:
        s["middle"] = base + s["mass"] / 2
        base += s["mass"]
        s["base"] = base
    return slices


# --- 3 digests ---


def read_digests(core):
    digests = {}
    for row in read_csv(core / "digests.csv", ";"):
        number = {k: float(row[k].replace(",", ".") or 0) for k in row if k.endswith("_g")}
        row["tracer"] = number["bottle_before_g"] - number["bottle_after_g"]
        row["aliquot"] = number["aliquot_g"]
        row["plated"] = datetime.strptime(row["plated"], "%Y-%m-%d %H:%M")
        row["slice"] = TRUE_SLICE.get((row["batch"], row["slice"]), row["slice"])
        if row["digest"] not in VOID:
            digests[row["digest"]] = row
    return digests


def diluted(bottle):
    """3.1"""
    certified, stock, made_up = (
        float(bottle[k]) for k in ("certified_bq_per_g", "stock_taken_g", "made_up_to_g")
    )
    return certified * stock / made_up


def tracer_activity(bottle, t):
    """3.1: Bq per gram of the bottle's solution at `t`."""
    reference = datetime.strptime(bottle["reference_date"] + " 12", "%Y-%m-%d %H")
    diluted = (
        float(bottle["certified_bq_per_g"]) * float(bottle["stock_taken_g"]) / float(bottle["made_up_to_g"])
    )
    return diluted * left(t - reference, T_PO209)


# --- 4 counts ---


def read_date(text):
    return datetime.strptime(text, "%m/%d/%Y %H:%M:%S")


def read_spectrum(path):
    text = path.read_text()
    live, real = re.search(r"\$MEAS_TIM:\s+(\d+) (\d+)", text).groups()
    data = re.search(r"\$DATA:\s+\d+ \d+\s([\d\s]+)", text)[1].split()
    header = re.search(r"\$ENER_FIT:\s+(\S+) (\S+)", text).groups()
    return {
        "id": re.search(r"\$SPEC_ID:\s+(\S+)", text)[1],
        "detector": re.search(r"DET# (\S+)", text)[1],
        "start": read_date(re.search(r"\$DATE_MEA:\s+(.+?)\s*\n", text)[1]),
        "live": int(live),
        "real": int(real),
        "data": [int(n) for n in data],
        "header": tuple(map(float, header)),
    }


def final_saves(spectra):
    """4.1"""
    best = {}
    for s in sorted(spectra, key=lambda s: s["real"]):
        best[s["detector"], s["start"]] = s
    return list(best.values())


def in_force(log, spectrum):
    """4.2"""
    entries = [
        e
        for e in log
        if e["detector"] == spectrum["detector"]
        and datetime.strptime(e["valid_from"], "%Y-%m-%d %H:%M") <= spectrum["start"]
    ]
    return max(entries, key=lambda e: e["valid_from"])


def energy_scale(_spectrum, entry):
    """4.2"""
    return float(entry["offset_kev"]), float(entry["gain_kev"])


def window(spectrum, log, limits):
    """4.3"""
    offset, gain = energy_scale(spectrum, in_force(log, spectrum))
    return sum(n for i, n in enumerate(spectrum["data"]) if limits[0] <= offset + gain * i <= limits[1])


def background_of(count, backgrounds):
    """4.4"""
    own = [b for b in backgrounds if b["detector"] == count["detector"] and b["start"] < count["start"]]
    return max(own, key=lambda b: b["start"])


def net(count, background, log, tail):
    """4.4: (N, u) of polonium-209 and polonium-210."""
    r = count["live"] / background["live"]
    gross = {w: window(count, log, w) for w in (WINDOW_209, WINDOW_210)}
    back = {w: window(background, log, w) for w in (WINDOW_209, WINDOW_210)}
    u209, u210 = (math.sqrt(gross[w] + r * r * back[w]) for w in (WINDOW_209, WINDOW_210))
    n210 = gross[WINDOW_210] - r * back[WINDOW_210]
    n209 = gross[WINDOW_209] - r * back[WINDOW_209] - tail * n210
    return (n209, u209), (n210, u210)


def middle_of(count):
    return count["start"] + timedelta(seconds=count["real"]) / 2


def is_used(n209, yielded):
    """4.5"""
    return n209 >= MIN_COUNTS and yielded >= MIN_YIELD


def at_plating(activity, middle, digest):
    """4.6"""
    return activity / left(middle - digest["plated"], T_PO210)


def judge(count, digest, bottle, backgrounds, log):
    """4.4 to 4.6: (A, u) of one count, None when it is not used."""
    entry, middle = in_force(log, count), middle_of(count)
    background = background_of(count, backgrounds)
    (n209, u209), (n210, u210) = net(count, background, log, float(entry["tail"]))
    tracer = digest["tracer"] * tracer_activity(bottle, middle)
    if not is_used(n209, n209 / (count["live"] * float(entry["efficiency"]) * tracer)):
        return None
    activity = at_plating(n210 / n209 * tracer, middle, digest)
    return activity, abs(activity) * math.hypot(u210 / n210, u209 / n209)


def combine_counts(values):
    """4.7"""
    return weighted(values)


def blank_of(batch, digests, activities):
    """4.8"""
    blanks = [
        activities[d][0]
        for d in activities
        if digests[d]["slice"] == "BLANK" and digests[d]["batch"] == batch
    ]
    return sum(blanks) / len(blanks)


def at_coring(concentration, plated):
    """4.9"""
    return concentration / left(plated - CORED, T_PB210)


def combine_digests(values):
    """4.10"""
    if len(values) == 1:
        return values[0]
    (a, ua), (b, ub) = values
    if abs(a - b) <= 2 * math.hypot(ua, ub):
        return weighted(values)
    return min(values, key=lambda v: v[1])


def measure(core, slices):
    """slice name -> (C, u)"""
    digests, log = read_digests(core), read_csv(core / "detectors.csv")
    bottles = {r["bottle"]: r for r in read_csv(core / "tracer.csv")}
    spectra = final_saves([read_spectrum(p) for p in sorted((core / "spectra").glob("*.Spe"))])
    backgrounds = [s for s in spectra if s["id"] == "BACKGROUND"]
    results = defaultdict(list)
    for s in spectra:
        digest = digests.get(TRUE_DISC.get(s["id"], s["id"]))
        if digest:
            result = judge(s, digest, bottles[digest["bottle"]], backgrounds, log)
            if result:
                results[digest["digest"]].append(result)
    activities = {d: combine_counts(values) for d, values in results.items()}
    salt = {s["name"]: s["salt"] for s in slices}
    found = defaultdict(list)
    for name, (activity, u) in activities.items():
        d = digests[name]
        if d["slice"] in salt:
            kg = d["aliquot"] * (1 - salt[d["slice"]]) / 1000
            c = (activity - blank_of(d["batch"], digests, activities)) / kg
            found[d["slice"]].append((at_coring(c, d["plated"]), at_coring(u / kg, d["plated"])))
    return {name: combine_digests(values) for name, values in found.items()}


# --- 5 supported and excess ---


def supported_set(order, measured):
    """5.1: names of the slices, from the deepest up; `order` is from the top down."""
    upward = [name for name in reversed(order) if name in measured]
    chosen = upward[:3]
    for name in upward[3:]:
        m, um = weighted([measured[n] for n in chosen])
        c, u = measured[name]
        if c > m + 2 * math.hypot(u, um):
            break
        chosen.append(name)
    return chosen


def supported_level(chosen, measured):
    """5.2"""
    return weighted([measured[n] for n in chosen])[0]


def coordinate(s):
    """What excess is interpolated over (5.4)."""
    return s["middle"]


def between(a, b, x0, x1, x):
    """5.4"""
    return math.exp(math.log(a) + (math.log(b) - math.log(a)) * (x - x0) / (x1 - x0))


def excess_of(slices, measured):
    """5: excess of every slice of the dated part, from the top down."""
    chosen = supported_set([s["name"] for s in slices], measured)
    level = supported_level(chosen, measured)
    known = [
        (coordinate(s), max(measured[s["name"]][0] - level, LEAST_EXCESS))
        for s in slices
        if s["name"] in measured and s["name"] not in chosen
    ]
    dated = [s for s in slices if coordinate(s) <= known[-1][0]]
    excess = []
    for s in dated:
        x = coordinate(s)
        above = max((k for k in known if k[0] <= x), default=None)
        below = min(k for k in known if k[0] >= x)
        excess.append(
            below[1]
            if above is None or above == below
            else between(above[1], below[1], above[0], below[0], x)
        )
    return excess


# --- 6 ages ---


def ages_of(slices, excess):
    """6.1: age of the bottom of each slice but the last, and the inventory in Bq per m2."""
    inventories = [e * s["mass"] / 1000 for s, e in zip(slices, excess, strict=False)]
    total, above, ages = sum(inventories), 0.0, {}
    for s, inventory in list(zip(slices, inventories, strict=False))[:-1]:
        above += inventory
        ages[s["name"]] = math.log(total / (total - above)) / LAMBDA
    return ages, total


def date_core(core):
    slices = read_slices(core)
    ages, inventory = ages_of(slices, excess_of(slices, measure(core, slices)))
    base = {s["name"]: s["base"] for s in slices}
    rate = (base["FJ3-17"] - base["FJ3-09"]) / (ages["FJ3-17"] - ages["FJ3-09"])
    return [ages["FJ3-09"], ages["FJ3-17"], ages["FJ3-22"], rate, LAMBDA * inventory]


def main():
    figures = date_core(Path(sys.argv[1]))
    Path(sys.argv[2]).write_text("".join(f"{x:.2f}\n" for x in figures))


if __name__ == "__main__":
    main()
