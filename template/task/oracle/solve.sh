#!/bin/bash
# [REPLACE: a solution of your own task. It computes the answer from what the agent has, and prints no stored one.]
set -euo pipefail

python3 - <<'PY'
import csv
import json
import re

used, rejected = {}, 0
with open("/app/deliveries.csv", newline="", encoding="utf-8") as file:
    for row in csv.DictReader(file):
        delivery, site, weight, unit = (
            row[key].strip().lower() for key in ("delivery_id", "site", "weight", "unit")
        )
        plain = re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", weight)
        if unit in ("kg", "lb") and plain and float(weight) > 0:
            used[delivery] = site, float(weight) * (0.45359237 if unit == "lb" else 1)
        else:
            rejected += 1

sites = {}
for site, weight in used.values():
    entry = sites.setdefault(site, {"deliveries": 0, "weight_kg": 0.0})
    entry["deliveries"] += 1
    entry["weight_kg"] += weight
for entry in sites.values():
    entry["weight_kg"] = round(entry["weight_kg"], 2)

with open("/app/report.json", "w", encoding="utf-8") as file:
    json.dump({"sites": sites, "rejected": rejected}, file, indent=2)
PY
