"""The five figures, recomputed from `pristine/` in decimal arithmetic of 40 digits.

Written apart from `oracle/chronology.py`: times are decimal days since 2000, masses grams,
lengths cm, and the model is summed from the bottom of the core upwards. Section numbers
are those of P-12.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, getcontext
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

getcontext().prec = 40
ZERO = Decimal(0)
PI = Decimal("3.14159265358979323846264338327950288419717")
LN2 = Decimal(2).ln()
YEAR = Decimal("365.25")
MEAN_LIFE = {
    "Pb-210": Decimal("22.23") * YEAR / LN2,
    "Po-210": Decimal("138.376") / LN2,
    "Po-209": Decimal("125.2") * YEAR / LN2,
}

# What the field sheet and the lab book say, by hand.
EVENT_LAYER = range(12, 15)
RELABELLED = {"D-103": "FJ3-16", "D-104": "FJ3-05"}
LOST_BEFORE_TRACER = "D-106"
CHAMBERS_MIXED = ("D-305", "D-306")


def days(text: str, form: str = "%Y-%m-%d %H:%M") -> Decimal:
    if len(text) == len("2000-01-01"):
        text += " 12:00"
    gone = datetime.strptime(text, form) - datetime(2000, 1, 1)
    return gone.days + Decimal(gone.seconds) / 86400


CORED = days("2022-06-14")


def later(amount: Decimal, nuclide: str, elapsed: Decimal) -> Decimal:
    """The amount after `elapsed` days; before, where they are negative."""
    return amount * (-elapsed / MEAN_LIFE[nuclide]).exp()


@dataclass(kw_only=True)
class Value:
    value: Decimal
    variance: Decimal


def pooled(values: list[Value]) -> Value:
    total = sum(1 / v.variance for v in values)
    return Value(value=sum(v.value / v.variance for v in values) / total, variance=1 / total)


@dataclass(kw_only=True)
class Layer:
    """A slice of the core that counts: mass of sediment in g/m2, share of salt, lead-210 in Bq/kg."""

    name: str
    mass: Decimal
    salt_share: Decimal
    bottom: Decimal = ZERO
    lead: Value | None = None
    excess: Decimal = ZERO

    @property
    def middle(self) -> Decimal:
        return self.bottom - self.mass / 2


@dataclass(kw_only=True)
class Spectrum:
    label: str
    detector: str
    start: Decimal
    live: int
    real: int
    channels: list[int]


@dataclass(kw_only=True)
class Disc:
    row: dict[str, str]
    counts: list[Value] = field(default_factory=list)

    def grams(self, key: str) -> Decimal:
        return Decimal(self.row[key].replace(",", "."))

    @property
    def tracer(self) -> Decimal:
        return self.grams("bottle_before_g") - self.grams("bottle_after_g")

    @property
    def plated(self) -> Decimal:
        return days(self.row["plated"])


def rows(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    with path.open(encoding="ascii", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def layers(folder: Path) -> list[Layer]:
    """2: from the top down."""
    final: dict[int, dict[str, str]] = {}
    for row in rows(folder / "slices.csv"):
        top = int(row["top_cm"])
        if top not in final or final[top]["weighed_on"] < row["weighed_on"]:
            final[top] = row
    found, depth = [], ZERO
    for top in sorted(final):
        if top in EVENT_LAYER:
            continue
        row = final[top]
        per_kilogram = Decimal("32.6") if top < 20 else Decimal("31.4") if top < 40 else Decimal("29.8")
        dry = Decimal(row["dry_g"]) - Decimal(row["tare_g"])
        salt = (Decimal(row["wet_g"]) - Decimal(row["dry_g"])) * per_kilogram / (1000 - per_kilogram)
        bagged = Decimal(1)
        if " of slice" in row["remark"]:
            part, whole = row["remark"].split(" of slice")[0].split("/")
            bagged = Decimal(part) / Decimal(whole)
        radius = Decimal("3.9")
        mass = (dry - salt) / bagged / (PI * radius**2) * 10_000
        depth += mass
        found.append(Layer(name=row["slice"], mass=mass, salt_share=salt / dry, bottom=depth))
    return found


def spectra(folder: Path) -> list[Spectrum]:
    """4.1: without intermediate saves."""
    longest: dict[tuple[str, Decimal], Spectrum] = {}
    for path in sorted(folder.glob("*.Spe")):
        section, parts = "", {}
        for line in path.read_text(encoding="ascii").splitlines():
            if line.startswith("$"):
                section = line.rstrip(":")
                parts[section] = []
            else:
                parts[section].append(line.strip())
        live, real = map(int, parts["$MEAS_TIM"][0].split())
        spectrum = Spectrum(
            label=parts["$SPEC_ID"][0],
            detector=parts["$SPEC_REM"][0].removeprefix("DET# "),
            start=days(parts["$DATE_MEA"][0], "%m/%d/%Y %H:%M:%S"),
            live=live,
            real=real,
            channels=[int(n) for n in parts["$DATA"][1:]],
        )
        key = spectrum.detector, spectrum.start
        if key not in longest or longest[key].real < real:
            longest[key] = spectrum
    return list(longest.values())


class Laboratory:
    """3 and 4: from discs and spectra to lead-210 of the layers."""

    def __init__(self, folder: Path) -> None:
        self.log = sorted(rows(folder / "detectors.csv"), key=lambda e: days(e["valid_from"]))
        self.bottles = {r["bottle"]: r for r in rows(folder / "tracer.csv")}
        self.discs = {r["digest"]: Disc(row=r) for r in rows(folder / "digests.csv", ";")}
        for name, slice_name in RELABELLED.items():
            self.discs[name].row["slice"] = slice_name
        del self.discs[LOST_BEFORE_TRACER]
        everything = spectra(folder / "spectra")
        self.empty = sorted((s for s in everything if s.label == "BACKGROUND"), key=lambda s: s.start)
        for s in everything:
            label = s.label
            if label in CHAMBERS_MIXED:
                label = CHAMBERS_MIXED[1 - CHAMBERS_MIXED.index(label)]
            if label in self.discs:
                self.count(s, self.discs[label])

    def entry(self, s: Spectrum) -> dict[str, str]:
        return [e for e in self.log if e["detector"] == s.detector and days(e["valid_from"]) <= s.start][-1]

    def contents(self, s: Spectrum, low: int, high: int) -> int:
        entry = self.entry(s)
        offset, gain = Decimal(entry["offset_kev"]), Decimal(entry["gain_kev"])
        first, last = (low - offset) / gain, (high - offset) / gain
        return sum(n for channel, n in enumerate(s.channels) if first <= channel <= last)

    def tracer_activity(self, disc: Disc, time: Decimal) -> Decimal:
        bottle = self.bottles[disc.row["bottle"]]
        mixed = Decimal(bottle["stock_taken_g"]) / Decimal(bottle["made_up_to_g"])
        certified = Decimal(bottle["certified_bq_per_g"]) * mixed * disc.tracer
        return later(certified, "Po-209", time - days(bottle["reference_date"]))

    def count(self, s: Spectrum, disc: Disc) -> None:
        empty = [b for b in self.empty if b.detector == s.detector and b.start < s.start][-1]
        entry, ratio = self.entry(s), Decimal(s.live) / empty.live
        net, variance = {}, {}
        for nuclide, limits in (("Po-210", (5080, 5350)), ("Po-209", (4660, 4930))):
            gross, behind = self.contents(s, *limits), self.contents(empty, *limits)
            net[nuclide] = gross - ratio * behind
            variance[nuclide] = gross + ratio**2 * behind
        net["Po-209"] -= Decimal(entry["tail"]) * net["Po-210"]
        middle = s.start + Decimal(s.real) / 86400 / 2
        added = self.tracer_activity(disc, middle)
        expected = added * s.live * Decimal(entry["efficiency"])
        if net["Po-209"] < 600 or net["Po-209"] < Decimal("0.15") * expected:
            return
        activity = later(net["Po-210"] / net["Po-209"] * added, "Po-210", disc.plated - middle)
        relative = sum(variance[n] / net[n] ** 2 for n in net)
        disc.counts.append(Value(value=activity, variance=activity**2 * relative))

    def blanks(self) -> dict[str, Decimal]:
        found: dict[str, list[Decimal]] = {}
        for disc in self.discs.values():
            if disc.row["slice"] == "BLANK" and disc.counts:
                found.setdefault(disc.row["batch"], []).append(pooled(disc.counts).value)
        return {batch: sum(values) / len(values) for batch, values in found.items()}

    def lead(self, layer: Layer) -> Value | None:
        blanks, found = self.blanks(), []
        for disc in self.discs.values():
            if disc.row["slice"] != layer.name or not disc.counts:
                continue
            a = pooled(disc.counts)
            sediment = disc.grams("aliquot_g") * (1 - layer.salt_share) / 1000
            scale = later(1 / sediment, "Pb-210", CORED - disc.plated)
            value = (a.value - blanks[disc.row["batch"]]) * scale
            found.append(Value(value=value, variance=a.variance * scale**2))
        if len(found) == 2:
            first, second = found
            if (first.value - second.value) ** 2 > 4 * (first.variance + second.variance):
                return min(found, key=lambda v: v.variance)
        return pooled(found) if found else None


def set_excess(core: list[Layer]) -> int:
    """5: number of layers of the dated part, whose excess is filled in."""
    measured = [i for i, layer in enumerate(core) if layer.lead]
    size = 3
    while size < len(measured):
        level, above = pooled([core[i].lead for i in measured[-size:]]), core[measured[-size - 1]].lead
        over = above.value - level.value
        if over > 0 and over**2 > 4 * (above.variance + level.variance):
            break
        size += 1
    supported = pooled([core[i].lead for i in measured[-size:]]).value
    dated = measured[:-size]
    for i in dated:
        core[i].excess = max(core[i].lead.value - supported, Decimal("0.1"))
    for i in range(dated[0]):
        core[i].excess = core[dated[0]].excess
    for upper, lower in pairwise(dated):
        a, b = core[upper], core[lower]
        slope = (b.excess / a.excess).ln() / (b.middle - a.middle)
        for layer in core[upper + 1 : lower]:
            layer.excess = a.excess * (slope * (layer.middle - a.middle)).exp()
    return dated[-1] + 1


def figures(folder: Path) -> list[Decimal]:
    """Ages of the bottoms of FJ3-09, FJ3-17 and FJ3-22, rate between the first two, supply."""
    core, laboratory = layers(folder), Laboratory(folder)
    for layer in core:
        layer.lead = laboratory.lead(layer)
    below = {}
    inventory = ZERO
    for layer in reversed(core[: set_excess(core)]):
        below[layer.name] = inventory
        inventory += layer.excess * layer.mass / 1000
    mean_life = MEAN_LIFE["Pb-210"] / YEAR
    ages = [mean_life * (inventory / below[name]).ln() for name in ("FJ3-09", "FJ3-17", "FJ3-22")]
    bottom = {layer.name: layer.bottom for layer in core}
    rate = (bottom["FJ3-17"] - bottom["FJ3-09"]) / (ages[1] - ages[0])
    return [*ages, rate, inventory / mean_life]
