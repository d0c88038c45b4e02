"""Check `/app/report.json` against the truth, computed from a copy of the input that the agent cannot change.

[REPLACE: these checks by your own. One check per requirement of the prompt, each with a message that says
what is wrong. Compute what is right from files beside this one, not from files that the agent can change.
Run a program of the agent in a process of its own; never import it here.]
"""

import csv
import json
from collections import defaultdict
from decimal import Decimal, InvalidOperation
from pathlib import Path

import pytest

REPORT = Path("/app/report.json")
KG_PER_UNIT = {"kg": Decimal(1), "lb": Decimal("0.45359237")}


def weight_in_kg(row: dict[str, str]) -> Decimal | None:
    """Weight of a row in kilograms, or None where the row is to be rejected."""
    text = row["weight"].strip()
    factor = KG_PER_UNIT.get(row["unit"].strip().lower())
    if factor is None or not set(text) <= set("0123456789."):
        return None
    try:
        weight = Decimal(text)
    except InvalidOperation:
        return None
    return weight * factor if weight > 0 else None


@pytest.fixture(scope="module")
def truth() -> tuple[dict[str, list[Decimal]], int]:
    """Weights in kilograms by site, and the number of rejected rows."""
    with Path(__file__).with_name("deliveries.csv").open(newline="", encoding="utf-8") as file:
        rows = [(row, weight_in_kg(row)) for row in csv.DictReader(file)]
    used = {
        row["delivery_id"].strip().lower(): (row["site"].strip().lower(), weight)
        for row, weight in rows
        if weight is not None
    }
    sites = defaultdict(list)
    for site, weight in used.values():
        sites[site].append(weight)
    return sites, sum(weight is None for _, weight in rows)


@pytest.fixture(scope="module")
def report() -> dict:
    """The agent's report."""
    assert not REPORT.is_symlink(), f"`{REPORT}` is a symbolic link, not a file"
    assert REPORT.is_file(), f"`{REPORT}` was not written"
    try:
        content = json.loads(REPORT.read_text(encoding="utf-8"))
    except ValueError as error:
        pytest.fail(f"`{REPORT}` is not JSON: {error}")
    assert isinstance(content, dict), f"`{REPORT}` must hold one JSON object"
    return content


def site_entry(report: dict, site: str) -> dict:
    """The report's entry for one site, empty where there is none."""
    sites = report.get("sites")
    entry = sites.get(site) if isinstance(sites, dict) else None
    return entry if isinstance(entry, dict) else {}


def test_report_has_the_two_keys(report):
    assert set(report) == {"sites", "rejected"}, f"keys are {sorted(report)}, not `sites` and `rejected`"


def test_sites_are_those_that_received_something(report, truth):
    sites = report.get("sites")
    assert isinstance(sites, dict), "`sites` must be an object"
    assert set(sites) == set(truth[0]), f"`sites` names {sorted(sites)}, not {sorted(truth[0])}"


def test_deliveries_are_counted_once_each(report, truth):
    for site, weights in truth[0].items():
        count = site_entry(report, site).get("deliveries")
        assert type(count) is int, f"`deliveries` of `{site}` must be a whole number, not {count!r}"
        assert count == len(weights), f"`deliveries` of `{site}` is {count}, not {len(weights)}"


def test_weights_are_totals_in_kilograms(report, truth):
    for site, weights in truth[0].items():
        weight = site_entry(report, site).get("weight_kg")
        assert type(weight) in (int, float), f"`weight_kg` of `{site}` must be a number, not {weight!r}"
        assert round(weight, 2) == weight, f"`weight_kg` of `{site}` is {weight}, not rounded to two decimals"
        total = sum(weights)
        near = abs(Decimal(weight) - total) < Decimal("0.0051")
        assert near, f"`weight_kg` of `{site}` is {weight}, not {total}"


def test_rejected_rows_are_counted(report, truth):
    rejected = report.get("rejected")
    assert type(rejected) is int, f"`rejected` must be a whole number, not {rejected!r}"
    assert rejected == truth[1], f"`rejected` is {rejected}, not {truth[1]}"
