"""The review recomputed from the pristine inputs; written apart from the oracle."""

from __future__ import annotations

import csv
import datetime as dt
import functools
import io
import itertools
import json
import string
import tomllib
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any, NamedTuple

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

TODAY = dt.date(2025, 9, 15)
DATABASES = (("KSA",), ("NJV", "PYV", "DBV"), ("CVE",))
ENVIRONMENT = {"sys_platform": "linux", "python_version": "3.11"}


def sign(a: Any, b: Any) -> int:
    return (a > b) - (a < b)


# -- order of versions, each as a comparison -1, 0, 1 ---------------------------


def compare_semver(a: str, b: str) -> int:
    (core_a, _, pre_a), (core_b, _, pre_b) = (x.split("+")[0].partition("-") for x in (a, b))
    by_core = sign([int(x) for x in core_a.split(".")], [int(x) for x in core_b.split(".")])
    if by_core or pre_a == pre_b:
        return by_core
    if not pre_a or not pre_b:
        return 1 if not pre_a else -1
    for x, y in itertools.zip_longest(pre_a.split("."), pre_b.split(".")):
        if x is None or y is None:
            return -1 if x is None else 1
        if x.isdigit() and y.isdigit():
            found = sign(int(x), int(y))
        elif x.isdigit() or y.isdigit():
            found = -1 if x.isdigit() else 1
        else:
            found = sign(x, y)
        if found:
            return found
    return 0


def compare_pep440(a: str, b: str) -> int:
    return sign(Version(a), Version(b))


def weight(char: str) -> int:
    if not char or char.isdigit():
        return 0
    if char == "~":
        return -1
    return ord(char) if char in string.ascii_letters else ord(char) + 256


def compare_debian_part(a: str, b: str) -> int:
    """Walk both strings in step, as dpkg does."""
    i = j = 0
    while i < len(a) or j < len(b):
        while (i < len(a) and not a[i].isdigit()) or (j < len(b) and not b[j].isdigit()):
            found = sign(weight(a[i : i + 1]), weight(b[j : j + 1]))
            if found:
                return found
            i, j = i + 1, j + 1
        start_i, start_j = i, j
        while i < len(a) and a[i].isdigit():
            i += 1
        while j < len(b) and b[j].isdigit():
            j += 1
        found = sign(int(a[start_i:i] or 0), int(b[start_j:j] or 0))
        if found:
            return found
    return 0


def split_debian(version: str) -> tuple[int, str, str]:
    epoch, rest = version.split(":", 1) if ":" in version else ("0", version)
    upstream, revision = rest.rsplit("-", 1) if "-" in rest else (rest, "")
    return int(epoch), upstream, revision


def compare_debian(a: str, b: str) -> int:
    (epoch_a, up_a, rev_a), (epoch_b, up_b, rev_b) = split_debian(a), split_debian(b)
    return sign(epoch_a, epoch_b) or compare_debian_part(up_a, up_b) or compare_debian_part(rev_a, rev_b)


@functools.cache
def compare(ecosystem: str, a: str, b: str) -> int:
    order = {"npm": compare_semver, "PyPI": compare_pep440, "Debian": compare_debian}
    return order[ecosystem](a, b)


def prerelease(ecosystem: str, version: str) -> bool:
    return "-" in version.split("+", maxsplit=1)[0] if ecosystem == "npm" else Version(version).is_prerelease


def own_name(ecosystem: str, name: str) -> str:
    return canonicalize_name(name) if ecosystem == "PyPI" else name


# -- what a dependent admits -------------------------------------------------------


def span(comparator: str) -> list[tuple[str, str]]:
    """Return a comparator as bounds: (operator, version)."""
    mark = comparator[:1]
    if comparator == "*":
        return []
    if mark in "~^":
        numbers = [
            int(x) for x in comparator[1:].split("-", maxsplit=1)[0].split("+", maxsplit=1)[0].split(".")
        ]
        keep = 1 if mark == "~" else next((n for n, x in enumerate(numbers) if x), 2)
        top = [*numbers[:keep], numbers[keep] + 1, *([0] * (2 - keep))]
        return [(">=", comparator[1:]), ("<", ".".join(map(str, top)) + "-0")]
    for operator in (">=", "<=", ">", "<"):
        if comparator.startswith(operator):
            return [(operator, comparator[len(operator) :])]
    return [("=", comparator)]


def npm_admits(spec: str, version: str) -> bool:
    spec = spec.rsplit("@", maxsplit=1)[-1] if spec.startswith("npm:") else spec
    for side in spec.split("||"):
        bounds = [x for comparator in side.split() for x in span(comparator)]
        allowed = {">=": (0, 1), "<=": (-1, 0), ">": (1,), "<": (-1,), "=": (0,)}
        if all(compare("npm", version, bound) in allowed[operator] for operator, bound in bounds):
            return True
    return False


def pypi_admits(spec: str, version: str) -> bool:
    return SpecifierSet(spec).contains(version, prereleases=True)


def installed_here(markers: str | None) -> bool:
    return markers is None or Marker(markers).evaluate(ENVIRONMENT)


# -- components -----------------------------------------------------------------------


class Ident(NamedTuple):
    """What names a component."""

    service: str
    ecosystem: str
    package: str
    version: str


class Locks:
    """Scope of each component and the dependents that ask for it."""

    def __init__(self) -> None:
        self.scope: dict[Ident, str] = {}
        self.dependents: dict[Ident, list[tuple[str, str]]] = {}

    def add(self, ident: Ident, *, dev: bool) -> None:
        self.scope[ident] = "dev" if dev and self.scope.get(ident, "dev") == "dev" else "runtime"

    def npm(self, service: str, text: str) -> None:
        tree = {
            tuple(where.split("/")) if where else (): row
            for where, row in json.loads(text)["packages"].items()
        }

        def folder_name(where: tuple[str, ...]) -> str:
            last = max(n for n, part in enumerate(where) if part == "node_modules")
            return "/".join(where[last + 1 :])

        copies = {
            where: Ident(service, "npm", row.get("name", folder_name(where)), row["version"])
            for where, row in tree.items()
            if "node_modules" in where and not row.get("link")
        }
        for where, ident in copies.items():
            self.add(ident, dev=bool(tree[where].get("dev")))
        for where, row in tree.items():
            if row.get("link"):
                continue
            label = f"{copies[where].package if where in copies else row['name']}@{row['version']}"
            for kind in ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies"):
                for folder, spec in row.get(kind, {}).items():
                    for depth in range(len(where), -1, -1):
                        place = (*where[:depth], "node_modules", *folder.split("/"))
                        if place in tree:
                            if place in copies:
                                self.dependents.setdefault(copies[place], []).append((label, spec))
                            break

    def pypi(self, service: str, text: str) -> None:
        here = [x for x in tomllib.loads(text)["package"] if installed_here(x.get("markers"))]
        idents = {canonicalize_name(x["name"]): Ident(
            service, "PyPI", canonicalize_name(x["name"]), x["version"]) for x in here}  # fmt: skip
        for row in here:
            own = idents[canonicalize_name(row["name"])]
            self.add(own, dev="main" not in row["groups"])
            for name, given in row.get("dependencies", {}).items():
                wanted = given if isinstance(given, dict) else {"version": given}
                target = idents.get(canonicalize_name(name))
                if target is not None and installed_here(wanted.get("markers")):
                    asked = self.dependents.setdefault(target, [])
                    asked.append((f"{own.package}@{own.version}", wanted["version"]))

    def debian(self, service: str, text: str) -> None:
        package: dict[str, str] = {}
        for line in [*text.splitlines(), ""]:
            if line[:1] == " ":
                continue
            if line:
                field, _, value = line.partition(":")
                package[field] = value.strip()
                continue
            if package.get("Status") == "install ok installed":
                source, _, bracket = package.get("Source", package["Package"]).partition(" ")
                version = bracket.strip("()") or package["Version"]
                self.add(Ident(service, "Debian", source, version), dev=False)
            package = {}


# -- vulnerabilities --------------------------------------------------------------------


def moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).astimezone(dt.UTC)


def base_score(vector: str) -> Decimal:
    metric = dict(part.split(":") for part in vector.split("/"))
    number = {
        "AV": {"N": "0.85", "A": "0.62", "L": "0.55", "P": "0.2"},
        "AC": {"L": "0.77", "H": "0.44"},
        "UI": {"N": "0.85", "R": "0.62"},
        "PRU": {"N": "0.85", "L": "0.62", "H": "0.27"},
        "PRC": {"N": "0.85", "L": "0.68", "H": "0.5"},
    }
    scope = metric["S"]
    left = Decimal(1)
    for name in "CIA":
        left *= 1 - Decimal({"H": "0.56", "L": "0.22", "N": "0"}[metric[name]])
    iss = 1 - left
    if scope == "C":
        impact = Decimal("7.52") * (iss - Decimal("0.029")) - Decimal("3.25") * (iss - Decimal("0.02")) ** 15
    else:
        impact = Decimal("6.42") * iss
    if impact <= 0:
        return Decimal("0.0")
    total = Decimal("8.22")
    for name, table in (("AV", "AV"), ("AC", "AC"), ("PR", f"PR{scope}"), ("UI", "UI")):
        total *= Decimal(number[table][metric[name]])
    total = min((total + impact) * (Decimal("1.08") if scope == "C" else 1), Decimal(10))
    return total.quantize(Decimal("0.00001"), ROUND_HALF_EVEN).quantize(Decimal("0.1"), ROUND_CEILING)


def takes_in(entry: dict[str, Any], ecosystem: str, version: str) -> bool:
    if any(compare(ecosystem, version, x) == 0 for x in entry.get("versions", [])):
        return True
    for found in entry["ranges"]:
        if found["type"] == "GIT":
            continue
        # The last event that the version has reached or, for `last_affected`, passed.
        reached: list[tuple[str, str]] = []
        for event in found["events"]:
            for kind, bound in event.items():
                passed = 1 if bound == "0" else compare(ecosystem, version, bound)
                if passed > 0 or (passed == 0 and kind != "last_affected"):
                    reached.append((kind, bound))

        def later(a: tuple[str, str], b: tuple[str, str]) -> int:
            if "0" in (a[1], b[1]):
                return sign(a[1] != "0", b[1] != "0")
            return compare(ecosystem, a[1], b[1]) or sign(a[0] == "last_affected", b[0] == "last_affected")

        if reached and max(reached, key=functools.cmp_to_key(later))[0] == "introduced":
            return True
    return False


class Vulnerability:
    """A group of records of the same flaw."""

    def __init__(self, records: list[dict[str, Any]], exploited: dict[str, list[dt.date]]) -> None:
        self.records = records
        self.names = {name for record in records for name in (record["id"], *record["aliases"])}
        numbered = []
        for name in self.names:
            head, *tail = name.split("-")
            if head == "CVE":
                numbered.append((int(tail[0]), int(tail[1]), name))
        self.id = min(numbered)[2] if numbered else min(self.names)
        self.published = min(moment(x["published"]).date() for x in records)
        days = [day for name in self.names for day in exploited.get(name, []) if day <= TODAY]
        self.exploited = min(days, default=None)
        self.score: Decimal | None = None
        for tier in self.tiers(records):
            scores = [base_score(s["score"]) for x in tier for s in x["severity"] if s["type"] == "CVSS_V3"]
            if scores:
                self.score = max(scores)
                break

    @staticmethod
    def tiers(records: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
        return [[x for x in records if x["id"].split("-")[0] in names] for names in DATABASES]

    @property
    def severity(self) -> str:
        if self.score is None:
            return "unrated"
        if self.score >= 9:
            return "critical"
        return "high" if self.score >= 7 else "medium" if self.score >= 4 else "low"

    def affects(self, ecosystem: str, package: str, version: str) -> bool:
        wanted = {"Debian": "Debian:12"}.get(ecosystem, ecosystem)
        for tier in self.tiers(self.records):
            entries = [
                entry
                for record in tier
                for entry in record["affected"]
                if entry["package"]["ecosystem"] == wanted
                and own_name(ecosystem, entry["package"]["name"]) == package
            ]
            if entries:
                return any(takes_in(x, ecosystem, version) for x in entries)
        return False


def group(records: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the records in groups connected by ids and aliases."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        parent.setdefault(name, name)
        while parent[name] != name:
            name = parent[name]
        return name

    for record in records:
        for alias in record["aliases"]:
            parent[root(alias)] = root(record["id"])
    groups: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        groups.setdefault(root(record["id"]), []).append(record)
    return list(groups.values())


# -- the report ---------------------------------------------------------------------------


class Truth:
    """The right report, and the tables that the checks look things up in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        exploited: dict[str, list[dt.date]] = {}
        for row in self.rows("exploited.csv"):
            exploited.setdefault(row["id"], []).append(dt.date.fromisoformat(row["added"]))
        newest: dict[str, dict[str, Any]] = {}
        records = [json.loads(x) for x in self.text("advisories.jsonl").splitlines()]
        for record in sorted(records, key=lambda x: moment(x["modified"])):
            newest[record["id"]] = record
        valid = [x for x in newest.values() if not x.get("withdrawn")]
        self.vulnerabilities = [Vulnerability(x, exploited) for x in group(valid)]
        self.services = {x["service"]: x for x in self.rows("services.csv") if x["state"] != "retired"}
        self.locks = Locks()
        readers = {
            "package-lock.json": self.locks.npm,
            "poetry.lock": self.locks.pypi,
            "dpkg.status": self.locks.debian,
        }
        for service, row in self.services.items():
            for path in row["locks"].split():
                readers[Path(path).name](service, self.text(path))
        self.frozen = {
            dt.date.fromisoformat(x["first"]) + dt.timedelta(days=n)
            for x in self.rows("freezes.csv")
            for n in range((dt.date.fromisoformat(x["last"]) - dt.date.fromisoformat(x["first"])).days + 1)
        }
        self.findings: dict[tuple[Ident, str], dict[str, Any]] = {}
        self.affecting: dict[str, Vulnerability] = {}
        for ident, flaw in itertools.product(sorted(self.locks.scope), self.vulnerabilities):
            if flaw.affects(ident.ecosystem, ident.package, ident.version):
                self.affecting[flaw.id] = flaw
                self.findings[ident, flaw.id] = self.judge(ident, flaw)
        self.upgrades = {
            ident: self.upgrade(ident) for ident in sorted(self.locks.scope) if self.opened(ident)
        }
        self.summary = {service: self.summarise(service) for service in sorted(self.services)}

    def text(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def rows(self, name: str) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.text(name))))

    @functools.cached_property
    def notes(self) -> list[dict[str, str]]:
        return self.rows("reachability.csv")

    @functools.cached_property
    def statements(self) -> list[dict[str, Any]]:
        return json.loads(self.text("vex.json"))["statements"]

    @functools.cached_property
    def registry(self) -> dict[str, dict[str, list[dict[str, Any]]]]:
        return {x: json.loads(self.text(f"registry/{x.lower()}.json")) for x in ("npm", "PyPI", "Debian")}

    def about(self, row: dict[str, Any], ident: Ident, flaw: Vulnerability) -> bool:
        return (
            row["vulnerability"] in flaw.names
            and row["ecosystem"] == ident.ecosystem
            and own_name(ident.ecosystem, row["package"]) == ident.package
        )

    def same(self, ident: Ident, version: str) -> bool:
        return compare(ident.ecosystem, ident.version, version) == 0

    def reachability(self, ident: Ident, flaw: Vulnerability) -> str:
        by_day: dict[int, set[str]] = {}
        for row in self.notes:
            age = (TODAY - dt.date.fromisoformat(row["date"])).days
            if row["service"] != ident.service or not 0 <= age <= 90 or not self.about(row, ident, flaw):
                continue
            if self.same(ident, row["version"]):
                by_day.setdefault(age, set()).add(row["verdict"])
        return min(by_day[min(by_day)]) if by_day else "unknown"  # "reachable" sorts first

    def suppressed(self, ident: Ident, flaw: Vulnerability, reachability: str) -> bool:
        for row in sorted(self.statements, key=lambda x: moment(x["timestamp"]), reverse=True):
            given = row.get("versions") or []
            if not self.about(row, ident, flaw) or (given and not any(self.same(ident, x) for x in given)):
                continue
            if row.get("services") and ident.service not in row["services"]:
                continue
            if row["issuer"] not in {"psirt@kestrel-rail.example", self.services[ident.service]["owner"]}:
                continue
            if moment(row["timestamp"]).date() > TODAY:
                continue
            if row["expires"] is not None and row["expires"] < TODAY.isoformat():
                continue
            match row["status"], row.get("justification"):
                case "fixed", _:
                    counts = bool(given)
                case "not_affected", "vulnerable_code_not_in_execute_path":
                    counts = reachability == "unreachable"
                case "not_affected", None | "":
                    counts = False
                case _:
                    counts = True
            if counts:
                return row["status"] in {"fixed", "not_affected"}
        return False

    def judge(self, ident: Ident, flaw: Vulnerability) -> dict[str, Any]:
        scope, reachability = self.locks.scope[ident], self.reachability(ident, flaw)
        found = {"scope": scope, "reachability": reachability}
        if self.suppressed(ident, flaw, reachability):
            return {**found, "status": "suppressed", "priority": None, "due": None}
        level = {"critical": 1, "high": 2, "unrated": 2, "medium": 3, "low": 4}[flaw.severity]
        start = flaw.published
        if flaw.exploited is not None:
            level, start = 1, max(start, flaw.exploited)
        else:
            exposure = self.services[ident.service]["exposure"]
            if exposure == "internet":
                level = max(1, level - 1)
            elif exposure == "isolated":
                level = min(4, level + 1)
            if scope == "dev":
                level = min(4, level + 1)
            if reachability == "unreachable":
                level = min(4, level + 1)
        due = start + dt.timedelta(days=(0, 7, 30, 90, 180)[level])
        while due in self.frozen:
            due -= dt.timedelta(days=1)
        return {**found, "status": "open", "priority": f"P{level}", "due": due.isoformat()}

    def opened(self, ident: Ident) -> list[str]:
        return [key for (own, key), row in self.findings.items() if own == ident and row["status"] == "open"]

    def upgrade(self, ident: Ident) -> dict[str, Any]:
        opened = self.opened(ident)
        urgent = any(self.affecting[x].exploited for x in opened)
        limit = (TODAY if urgent else TODAY - dt.timedelta(days=7)).isoformat()
        ecosystem, target = ident.ecosystem, None
        for row in self.registry[ecosystem].get(ident.package, []):
            version = row["version"]
            if compare(ecosystem, version, ident.version) <= 0 or row["published"] > limit:
                continue
            if ecosystem == "Debian":
                if row["suite"] not in {"bookworm", "bookworm-security"}:
                    continue
            elif row["yanked"] or (
                prerelease(ecosystem, version) and not prerelease(ecosystem, ident.version)
            ):
                continue
            if target is not None and compare(ecosystem, version, target) > 0:
                continue
            if not any(x.affects(ecosystem, ident.package, version) for x in self.vulnerabilities):
                target = version
        admits = {"npm": npm_admits, "PyPI": pypi_admits}
        blocked = set()
        if target is not None:
            blocked = {
                label
                for label, spec in self.locks.dependents.get(ident, [])
                if not admits[ecosystem](spec, target)
            }
        return {
            "target": target,
            "blocked_by": sorted(blocked),
            "resolves": sorted(opened),
            "due": min(self.findings[ident, x]["due"] for x in opened),
        }

    def summarise(self, service: str) -> dict[str, Any]:
        own = [(ident, row) for (ident, _), row in self.findings.items() if ident.service == service]
        opened = [(ident, row) for ident, row in own if row["status"] == "open"]
        overdue = [row for _, row in opened if row["due"] < TODAY.isoformat()]
        soon = (TODAY + dt.timedelta(days=14)).isoformat()
        if any(row["priority"] in {"P1", "P2"} for row in overdue) or any(
            row["priority"] == "P1" and self.upgrades[ident]["target"] is None for ident, row in opened
        ):
            gate = "hold"
        elif any(row["due"] <= soon for _, row in opened):
            gate = "conditional"
        else:
            gate = "pass"
        return {
            "components": sum(ident.service == service for ident in self.locks.scope),
            "open": len(opened),
            "suppressed": len(own) - len(opened),
            "overdue": len(overdue),
            "gate": gate,
        }
