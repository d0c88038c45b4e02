"""Reference solution: review the estate under `policy.md` and write the report."""

from __future__ import annotations

import argparse
import csv
import functools
import json
import math
import re
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

REVIEW = date(2025, 9, 15)
COOLING = 7
PSIRT = "psirt@kestrel-rail.example"
RANK = {"KSA": 0, "NJV": 1, "PYV": 1, "DBV": 1, "CVE": 2}
DAYS = {1: 7, 2: 30, 3: 90, 4: 180}


@functools.cache
def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def utc_date(text: str) -> date:
    return instant(text).astimezone(UTC).date()


def database(record: dict) -> int:
    return RANK[record["id"].split("-")[0]]


def canonical(ecosystem: str, name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower() if ecosystem == "PyPI" else name


# -- versions, as keys that sort ----------------------------------------------


def npm_key(text: str) -> tuple:
    core, _, pre = text.partition("+")[0].partition("-")
    numbers = tuple(int(x) for x in core.split("."))
    if not pre:
        return (numbers, 1, ())
    return (numbers, 0, tuple((0, int(x), "") if x.isdigit() else (1, 0, x) for x in pre.split(".")))


PEP440 = re.compile(
    r"v?(?:(\d+)!)?(\d+(?:\.\d+)*)"
    r"(?:[-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?(\d*))?"
    r"(?:-(\d+)|[-_.]?(post|rev|r)[-_.]?(\d*))?"
    r"(?:[-_.]?(dev)[-_.]?(\d*))?"
    r"(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?"
)
LETTERS = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}


def pypi_key(text: str) -> tuple:
    found = PEP440.fullmatch(text.strip().lower())
    if found is None:
        raise SystemExit(f"not a PEP 440 version: `{text}`")
    epoch, release, letter, number, post_a, post, post_b, dev, dev_number, local = found.groups()
    numbers = [int(x) for x in release.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    has_post = post_a is not None or post is not None
    pre = (-1, 0) if dev and not has_post else (9, 0)
    if letter:
        pre = (LETTERS[letter], int(number or 0))
    after = int(post_a or post_b or 0) if has_post else -1
    before = int(dev_number or 0) if dev else math.inf
    tail = [(1, int(x), "") if x.isdigit() else (0, 0, x) for x in re.split(r"[-_.]", local)] if local else []
    return (int(epoch or 0), tuple(numbers), pre, after, before, bool(local), tuple(tail))


def debian_part(text: str) -> tuple:
    """Alternate runs of other characters and of digits: `~` before the end, the end before letters."""
    found: list = []
    for number, run in enumerate(re.split(r"(\d+)", text)):
        if number % 2:
            found.append(int(run))
        else:
            weights = [-1 if c == "~" else ord(c) if c.isalpha() else ord(c) + 256 for c in run]
            found.append((*weights, 0))
    if len(found) % 2:
        found.append(0)
    # What ends here compares as an empty run followed by zero.
    return (*found, (0,))


def debian_key(text: str) -> tuple:
    epoch, colon, rest = text.partition(":")
    if not colon:
        epoch, rest = "0", text
    upstream, _, revision = rest.rpartition("-")
    if not upstream:
        upstream, revision = rest, "0"
    return (int(epoch), debian_part(upstream), debian_part(revision))


KEYS = {"npm": npm_key, "PyPI": pypi_key, "Debian": debian_key}


@functools.cache
def key(ecosystem: str, version: str) -> tuple:
    return KEYS[ecosystem](version)


def is_prerelease(ecosystem: str, version: str) -> bool:
    if ecosystem == "npm":
        return "-" in version.partition("+")[0]
    if ecosystem == "PyPI":
        found = key("PyPI", version)
        return found[2] != (9, 0) or found[4] != math.inf
    return True


# -- ranges of dependents ---------------------------------------------------------


def npm_admits(wanted: str, version: str) -> bool:
    if wanted.startswith("npm:"):
        wanted = wanted.rpartition("@")[2]
    return any(all(npm_holds(x, version) for x in side.split()) for side in wanted.split("||"))


def npm_holds(comparator: str, version: str) -> bool:
    found = key("npm", version)
    operator, bound = re.fullmatch(r"(\^|~|>=|<=|>|<|)(.*)", comparator).groups()
    if bound == "*":
        return True
    low = key("npm", bound)
    match operator:
        case ">=":
            return found >= low
        case ">":
            return found > low
        case "<":
            return found < low
        case "<=":
            return found <= low
        case "":
            return found == low
    major, minor, patch = low[0]
    if operator == "~":
        high = f"{major}.{minor + 1}.0-0"
    elif major:
        high = f"{major + 1}.0.0-0"
    elif minor:
        high = f"0.{minor + 1}.0-0"
    else:
        high = f"0.0.{patch + 1}-0"
    return low <= found < key("npm", high)


def pypi_admits(wanted: str, version: str) -> bool:
    return all(pypi_holds(x.strip(), version) for x in wanted.split(",") if x.strip())


def release(found: tuple, length: int) -> tuple:
    return (found[0], (found[1] + (0,) * length)[:length])


def pypi_holds(specifier: str, version: str) -> bool:
    operator, bound = re.fullmatch(r"(~=|==|!=|>=|<=|>|<)\s*(.*)", specifier).groups()
    found = key("PyPI", version)
    if bound.endswith(".*"):
        prefix = bound[:-2].rpartition("!")[2]
        same = release(found, prefix.count(".") + 1) == release(
            key("PyPI", bound[:-2]), prefix.count(".") + 1
        )
        return same if operator == "==" else not same
    low = key("PyPI", bound)
    match operator:
        case "~=":
            length = re.match(r"[\d.]+", bound.rpartition("!")[2])[0].strip(".").count(".")
            return found >= low and release(found, length) == release(low, length)
        case "==":
            return found[:5] == low[:5] if not low[5] else found == low
        case "!=":
            return found[:5] != low[:5] if not low[5] else found != low
        case ">=":
            return found[:5] >= low[:5]
        case "<=":
            return found[:5] <= low[:5]
        case "<":
            # PEP 440: not a pre-release of the bound, unless the bound is one itself.
            return found < low and (is_prerelease("PyPI", bound) or not (
                is_prerelease("PyPI", version) and found[:2] == low[:2]))  # fmt: skip
        case _:
            return found[:5] > low[:5] and (low[3] >= 0 or not (found[3] >= 0 and found[:3] == low[:3]))


def marker_holds(text: str) -> bool:
    """Evaluate comparisons of `sys_platform` and `python_version`, joined by `and` and `or`."""
    return any(all(clause_holds(x) for x in side.split(" and ")) for side in text.split(" or "))


def clause_holds(text: str) -> bool:
    name, operator, value = re.fullmatch(
        r"""\(?(\w+)\s*(==|!=|>=|<=|<|>)\s*["']([^"']*)["']\)?""", text.strip()
    ).groups()
    if name == "sys_platform":
        return (value == "linux") == (operator == "==")
    return pypi_holds(operator + value, "3.11")


# -- components -----------------------------------------------------------------------


@dataclass(eq=False)
class Component:
    service: str
    ecosystem: str
    package: str
    version: str
    scope: str
    findings: list[Finding] = field(default_factory=list)
    # Dependents that ask for it: what to call them and the range they give.
    asked: list[tuple[str, str]] = field(default_factory=list)

    @property
    def key(self) -> tuple:
        return key(self.ecosystem, self.version)


@dataclass(eq=False)
class Finding:
    component: Component
    vulnerability: Vulnerability
    status: str = "open"
    reachability: str = "unknown"
    priority: int | None = None
    due: date | None = None


def read_npm(service: str, path: Path) -> list[Component]:
    entries = json.loads(path.read_text())["packages"]
    found: dict[tuple[str, str], Component] = {}
    copies: dict[str, Component] = {}
    for where, entry in entries.items():
        if "node_modules/" not in where or entry.get("link"):
            continue
        name = entry.get("name") or where.rpartition("node_modules/")[2]
        component = Component(service, "npm", name, entry["version"], "dev")
        component = found.setdefault((name, entry["version"]), component)
        if not entry.get("dev"):
            component.scope = "runtime"
        copies[where] = component
    kinds = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
    for where, entry in entries.items():
        if entry.get("link"):
            continue
        name = entry.get("name") or where.rpartition("node_modules/")[2]
        label = f"{name}@{entry['version']}"
        for kind in kinds:
            for wanted, spec in entry.get(kind, {}).items():
                got = resolve(entries, where, wanted)
                if got in copies:
                    copies[got].asked.append((label, spec))
    return list(found.values())


def resolve(entries: dict, where: str, wanted: str) -> str | None:
    folder = where
    while True:
        if not folder.endswith("node_modules"):
            path = f"{folder}/node_modules/{wanted}".lstrip("/")
            if path in entries:
                return path
        if not folder:
            return None
        folder = folder.rpartition("/")[0]


def read_pypi(service: str, path: Path) -> list[Component]:
    packages = tomllib.loads(path.read_text())["package"]
    found, rows = {}, []
    for row in packages:
        if not marker_holds(row.get("markers", 'sys_platform == "linux"')):
            continue
        name = canonical("PyPI", row["name"])
        scope = "runtime" if "main" in row["groups"] else "dev"
        found[name] = Component(service, "PyPI", name, row["version"], scope)
        rows.append(row)
    for row in rows:
        own = found[canonical("PyPI", row["name"])]
        for wanted, given in row.get("dependencies", {}).items():
            spec = given if isinstance(given, dict) else {"version": given}
            target = found.get(canonical("PyPI", wanted))
            if target and marker_holds(spec.get("markers", 'sys_platform == "linux"')):
                target.asked.append((f"{own.package}@{own.version}", spec["version"]))
    return list(found.values())


def read_debian(service: str, path: Path) -> list[Component]:
    found = {}
    for paragraph in path.read_text().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in paragraph.splitlines() if line and line[0] != " ")
        if fields.get("Status") != "install ok installed":
            continue
        name, version = fields["Package"], fields["Version"]
        if "Source" in fields:
            name, given = re.fullmatch(r"(\S+)(?: \((.*)\))?", fields["Source"]).groups()
            version = given or version
        found[name, version] = Component(service, "Debian", name, version, "runtime")
    return list(found.values())


READERS = {"package-lock.json": read_npm, "poetry.lock": read_pypi, "dpkg.status": read_debian}


# -- vulnerabilities ---------------------------------------------------------------------


@dataclass(eq=False)
class Vulnerability:
    records: list[dict]
    names: set[str]

    @functools.cached_property
    def id(self) -> str:
        cves = [x for x in self.names if x.startswith("CVE-")]
        return min(cves, key=lambda x: [int(n) for n in x.split("-")[1:]]) if cves else min(self.names)

    @functools.cached_property
    def score(self) -> float | None:
        scores = defaultdict(list)
        for record in self.records:
            for entry in record["severity"]:
                if entry["type"] == "CVSS_V3":
                    scores[database(record)].append(base_score(entry["score"]))
        return max(scores[min(scores)]) if scores else None

    @property
    def severity(self) -> str:
        if self.score is None:
            return "unrated"
        bands = ((9, "critical"), (7, "high"), (4, "medium"))
        return next((word for low, word in bands if self.score >= low), "low")

    @property
    def published(self) -> date:
        return min(utc_date(x["published"]) for x in self.records)

    @functools.cached_property
    def entries(self) -> dict[tuple[str, str], dict[int, list[dict]]]:
        """Ecosystem and package -> database -> entries."""
        found: dict = defaultdict(lambda: defaultdict(list))
        for record in self.records:
            for entry in record["affected"]:
                ecosystem, _, distribution = entry["package"]["ecosystem"].partition(":")
                if ecosystem == "Debian" and distribution != "12":
                    continue
                package = canonical(ecosystem, entry["package"]["name"])
                found[ecosystem, package][database(record)].append(entry)
        return found

    def affects(self, ecosystem: str, package: str, version: str) -> bool:
        entries = self.entries.get((ecosystem, package))
        return bool(entries) and any(takes_in(x, ecosystem, version) for x in entries[min(entries)])


def takes_in(entry: dict, ecosystem: str, version: str) -> bool:
    found = key(ecosystem, version)
    if any(key(ecosystem, x) == found for x in entry.get("versions", ())):
        return True
    return any(
        in_range(x["events"], ecosystem, found)
        for x in entry.get("ranges", ())
        if x["type"] in ("SEMVER", "ECOSYSTEM")
    )


def in_range(events: list[dict], ecosystem: str, found: tuple) -> bool:
    marks = []
    for event in events:
        ((kind, text),) = event.items()
        marks.append(((0,) if text == "0" else (1, key(ecosystem, text)), kind))
    inside = False
    # A version introduced and last affected at once is the only one in.
    for mark, kind in sorted(marks, key=lambda x: (x[0], x[1] == "last_affected")):
        if mark > (1, found):
            break
        if kind == "introduced":
            inside = True
        elif kind == "fixed" or mark < (1, found):
            inside = False
    return inside


def base_score(vector: str) -> float:
    metric = dict(x.split(":") for x in vector.split("/")[1:])
    changed = metric["S"] == "C"
    weight = {"H": 0.56, "L": 0.22, "N": 0.0}
    iss = 1 - (1 - weight[metric["C"]]) * (1 - weight[metric["I"]]) * (1 - weight[metric["A"]])
    impact = 7.52 * (iss - 0.029) - 3.25 * (iss - 0.02) ** 15 if changed else 6.42 * iss
    privileges = {"N": 0.85, "L": 0.68 if changed else 0.62, "H": 0.5 if changed else 0.27}
    exploitability = (
        8.22
        * {"N": 0.85, "A": 0.62, "L": 0.55, "P": 0.2}[metric["AV"]]
        * {"L": 0.77, "H": 0.44}[metric["AC"]]
        * privileges[metric["PR"]]
        * {"N": 0.85, "R": 0.62}[metric["UI"]]
    )
    if impact <= 0:
        return 0.0
    whole = round(min((1.08 if changed else 1) * (impact + exploitability), 10) * 100000)
    return whole / 100000 if whole % 10000 == 0 else (whole // 10000 + 1) / 10


def read_feed(path: Path) -> list[Vulnerability]:
    latest: dict[str, dict] = {}
    for line in path.read_text().splitlines():
        record = json.loads(line)
        held = latest.get(record["id"])
        if held is None or instant(record["modified"]) > instant(held["modified"]):
            latest[record["id"]] = record
    groups: list[Vulnerability] = []
    for record in latest.values():
        if record.get("withdrawn"):
            continue
        names = {record["id"], *record["aliases"]}
        joined = [x for x in groups if x.names & names]
        groups = [x for x in groups if x not in joined]
        groups.append(
            Vulnerability(
                [record, *(r for x in joined for r in x.records)], names.union(*(x.names for x in joined))
            )
        )
    return groups


# -- the review -----------------------------------------------------------------------------


class Review:
    def __init__(self, estate: Path) -> None:
        self.estate = estate
        self.groups = read_feed(estate / "advisories.jsonl")
        self.registry = {
            ecosystem: json.loads((estate / "registry" / f"{ecosystem.lower()}.json").read_text())
            for ecosystem in KEYS
        }
        self.services = [x for x in self.table("services.csv") if x["state"] != "retired"]
        self.exploited = [(x["id"], date.fromisoformat(x["added"])) for x in self.table("exploited.csv")]
        self.notes = self.table("reachability.csv")
        self.freezes = [
            (date.fromisoformat(x["first"]), date.fromisoformat(x["last"])) for x in self.table("freezes.csv")
        ]
        self.statements = json.loads((estate / "vex.json").read_text())["statements"]
        self.components: list[Component] = []
        for service in self.services:
            for lock in service["locks"].split():
                path = estate / lock
                self.components += READERS[path.name](service["service"], path)
        self.owner = {x["service"]: x["owner"] for x in self.services}
        self.exposure = {x["service"]: x["exposure"] for x in self.services}

    def table(self, name: str) -> list[dict[str, str]]:
        with (self.estate / name).open(newline="") as f:
            return list(csv.DictReader(f))

    def exploited_since(self, group: Vulnerability) -> date | None:
        return min(
            (day for name, day in self.exploited if name in group.names and day <= REVIEW), default=None
        )

    def same_component(self, row: dict, component: Component) -> bool:
        return (
            row["ecosystem"] == component.ecosystem
            and canonical(row["ecosystem"], row["package"]) == component.package
        )

    def reachability(self, finding: Finding) -> str:
        component, held = finding.component, []
        for note in self.notes:
            day = date.fromisoformat(note["date"])
            if (
                note["service"] == component.service
                and self.same_component(note, component)
                and key(component.ecosystem, note["version"]) == component.key
                and note["vulnerability"] in finding.vulnerability.names
                and REVIEW - timedelta(days=90) <= day <= REVIEW
            ):
                held.append((day, note["verdict"] == "reachable", note["verdict"]))
        return max(held)[2] if held else "unknown"

    def status(self, finding: Finding) -> str:
        component, deciding = finding.component, []
        for statement in self.statements:
            versions, services = statement.get("versions"), statement.get("services")
            if (
                statement["vulnerability"] not in finding.vulnerability.names
                or not self.same_component(statement, component)
                or (versions and not any(key(component.ecosystem, x) == component.key for x in versions))
                or (services and component.service not in services)
            ):
                continue
            expires = statement["expires"]
            if (
                statement["issuer"] not in (PSIRT, self.owner[component.service])
                or utc_date(statement["timestamp"]) > REVIEW
                or (expires and date.fromisoformat(expires) < REVIEW)
            ):
                continue
            reason = statement.get("justification")
            if statement["status"] == "fixed" and not versions:
                continue
            if statement["status"] == "not_affected":
                if not reason:
                    continue
                if reason == "vulnerable_code_not_in_execute_path" and finding.reachability != "unreachable":
                    continue
            deciding.append((instant(statement["timestamp"]), statement["status"]))
        latest = max(deciding)[1] if deciding else "affected"
        return "suppressed" if latest in ("not_affected", "fixed") else "open"

    def priority(self, finding: Finding) -> int:
        if self.exploited_since(finding.vulnerability):
            return 1
        level = {"critical": 1, "high": 2, "unrated": 2, "medium": 3, "low": 4}[
            finding.vulnerability.severity
        ]
        steps = [{"internet": -1, "isolated": 1}.get(self.exposure[finding.component.service], 0)]
        steps.append(finding.component.scope == "dev")
        steps.append(finding.reachability == "unreachable")
        for step in steps:
            level = min(max(level + step, 1), 4)
        return level

    def due(self, finding: Finding) -> date:
        start = finding.vulnerability.published
        since = self.exploited_since(finding.vulnerability)
        if since:
            start = max(start, since)
        due = start + timedelta(days=DAYS[finding.priority])
        while True:
            freeze = next((x for x in self.freezes if x[0] <= due <= x[1]), None)
            if freeze is None:
                return due
            due = freeze[0] - timedelta(days=1)

    def judge(self) -> None:
        for component in self.components:
            for group in self.groups:
                if group.affects(component.ecosystem, component.package, component.version):
                    finding = Finding(component, group)
                    finding.reachability = self.reachability(finding)
                    finding.status = self.status(finding)
                    if finding.status == "open":
                        finding.priority = self.priority(finding)
                        finding.due = self.due(finding)
                    component.findings.append(finding)

    def target(self, component: Component) -> str | None:
        urgent = any(
            x.status == "open" and self.exploited_since(x.vulnerability) is not None
            for x in component.findings
        )
        newest = REVIEW - timedelta(days=0 if urgent else COOLING)
        ecosystem = component.ecosystem
        usable = []
        for row in self.registry[ecosystem].get(component.package, ()):
            version = row["version"]
            if (
                key(ecosystem, version) > component.key
                and not row.get("yanked")
                and row.get("suite", "bookworm") in ("bookworm", "bookworm-security")
                and (is_prerelease(ecosystem, component.version) or not is_prerelease(ecosystem, version))
                and date.fromisoformat(row["published"]) <= newest
                and not any(x.affects(ecosystem, component.package, version) for x in self.groups)
            ):
                usable.append(version)
        return min(usable, key=lambda x: key(ecosystem, x), default=None)

    def report(self) -> dict[str, Any]:
        self.judge()
        self.components.sort(key=lambda x: (x.service, x.ecosystem, x.package, x.version))
        findings = [x for component in self.components for x in component.findings]
        findings.sort(key=lambda x: (*identity(x.component).values(), x.vulnerability.id))
        upgrades = []
        for component in self.components:
            opened = [x for x in component.findings if x.status == "open"]
            if not opened:
                continue
            target = self.target(component)
            admits = npm_admits if component.ecosystem == "npm" else pypi_admits
            blocked = {label for label, spec in component.asked if target and not admits(spec, target)}
            upgrades.append(
                {
                    **identity(component),
                    "target": target,
                    "blocked_by": sorted(blocked),
                    "resolves": sorted(x.vulnerability.id for x in opened),
                    "due": min(x.due for x in opened).isoformat(),
                }
            )
        stuck = {
            tuple(x[k] for k in ("service", "ecosystem", "package", "version"))
            for x in upgrades
            if not x["target"]
        }
        affecting = {x.vulnerability for x in findings}
        return {
            "review_date": REVIEW.isoformat(),
            "vulnerabilities": [
                {
                    "id": x.id,
                    "aliases": sorted(x.names - {x.id}),
                    "score": None if x.score is None else f"{x.score:.1f}",
                    "severity": x.severity,
                    "exploited": self.exploited_since(x) is not None,
                    "published": x.published.isoformat(),
                }
                for x in sorted(affecting, key=lambda x: x.id)
            ],
            "findings": [
                {
                    **identity(x.component),
                    "vulnerability": x.vulnerability.id,
                    "scope": x.component.scope,
                    "reachability": x.reachability,
                    "status": x.status,
                    "priority": x.priority and f"P{x.priority}",
                    "due": x.due and x.due.isoformat(),
                }
                for x in findings
            ],
            "upgrades": upgrades,
            "services": [
                self.service(x["service"], findings, stuck)
                for x in sorted(self.services, key=lambda x: x["service"])
            ],
        }

    def service(self, name: str, findings: list[Finding], stuck: set[tuple]) -> dict[str, Any]:
        own = [x for x in findings if x.component.service == name]
        opened = [x for x in own if x.status == "open"]
        overdue = [x for x in opened if x.due < REVIEW]
        gate = "pass"
        if any(x.due <= REVIEW + timedelta(days=14) for x in opened):
            gate = "conditional"
        if any(x.priority <= 2 for x in overdue) or any(
            x.priority == 1 and tuple(identity(x.component).values()) in stuck for x in opened
        ):
            gate = "hold"
        return {
            "service": name,
            "components": sum(x.service == name for x in self.components),
            "open": len(opened),
            "suppressed": len(own) - len(opened),
            "overdue": len(overdue),
            "gate": gate,
        }


def identity(component: Component) -> dict[str, str]:
    return {
        "service": component.service,
        "ecosystem": component.ecosystem,
        "package": component.package,
        "version": component.version,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--estate", type=Path, default=Path("/app/estate"))
    parser.add_argument("--out", type=Path, default=Path("/app/triage.json"))
    arguments = parser.parse_args()
    report = Review(arguments.estate).report()
    arguments.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
