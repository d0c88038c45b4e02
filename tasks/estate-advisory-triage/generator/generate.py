#!/usr/bin/env python3
"""Write the inputs of this task, from one seed: `python3 generator/generate.py`.

Company, packages, versions and advisories are invented. Most of the estate is drawn at random; the cases
that `planted` sets up on purpose come with what they are meant to give (`Estate.meant`), which the tests
compare with what the verifier concludes from the files alone. Nothing here reaches the image: the build
context is `environment/`.
"""

from __future__ import annotations

import argparse
import json
import random
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

SEED = 20250915
REVIEW = date(2025, 9, 15)
PSIRT = "psirt@kestrel-rail.example"
SERVICES = {
    # service: owner, exposure, state, ecosystems
    "booking-portal": ("ana.reyes@kestrel-rail.example", "internet", "active", ("npm", "Debian")),
    "crew-roster": ("mira.osei@kestrel-rail.example", "internal", "active", ("Debian",)),
    "depot-terminal": ("jonas.holt@kestrel-rail.example", "isolated", "active", ("npm",)),
    "fare-engine": ("mira.osei@kestrel-rail.example", "internal", "active", ("PyPI", "Debian")),
    "gate-controller": ("jonas.holt@kestrel-rail.example", "isolated", "active", ("PyPI", "Debian")),
    "kiosk-legacy": ("ana.reyes@kestrel-rail.example", "internet", "retired", ("npm", "PyPI")),
    "signal-log": ("jonas.holt@kestrel-rail.example", "isolated", "active", ("PyPI",)),
    "timetable-api": ("tom.varga@kestrel-rail.example", "internet", "active", ("PyPI", "npm")),
    "yard-display": ("tom.varga@kestrel-rail.example", "internal", "active", ("npm",)),
}
LOCKS = {"npm": "package-lock.json", "PyPI": "poetry.lock", "Debian": "dpkg.status"}
DATABASE = {"npm": "NJV", "PyPI": "PYV", "Debian": "DBV"}
FREEZES = (
    ("2025-08-29", "2025-09-02", "network migration"),
    ("2025-09-03", "2025-09-07", "timetable change"),
    ("2025-10-13", "2025-10-20", "autumn holidays"),
    ("2025-12-15", "2026-01-04", "Christmas traffic"),
)
VECTORS = (
    "AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H",
    "AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:H",
    "AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N",
    "AV:N/AC:L/PR:L/UI:N/S:C/C:H/I:H/A:H",
    "AV:N/AC:H/PR:N/UI:N/S:U/C:L/I:N/A:N",
    "AV:N/AC:L/PR:N/UI:N/S:U/C:L/I:N/A:N",
    "AV:L/AC:L/PR:L/UI:N/S:U/C:H/I:H/A:H",
    "AV:L/AC:L/PR:N/UI:R/S:U/C:H/I:H/A:H",
    "AV:N/AC:H/PR:N/UI:N/S:C/C:N/I:H/A:N",
    "AV:N/AC:L/PR:H/UI:R/S:C/C:L/I:L/A:N",
    "AV:L/AC:L/PR:L/UI:N/S:U/C:L/I:N/A:N",
    "AV:P/AC:H/PR:L/UI:R/S:U/C:L/I:N/A:N",
    "AV:A/AC:L/PR:N/UI:N/S:U/C:N/I:L/A:N",
    "AV:N/AC:H/PR:L/UI:N/S:U/C:N/I:L/A:L",
    "AV:N/AC:L/PR:L/UI:R/S:C/C:L/I:L/A:L",
    "AV:L/AC:H/PR:H/UI:N/S:C/C:H/I:L/A:N",
)
FIRST = [
    "amber",
    "basalt",
    "cobble",
    "drift",
    "ember",
    "fathom",
    "gannet",
    "harrow",
    "inlet",
    "juniper",
    "kelp",
    "lantern",
    "marl",
    "nettle",
    "osprey",
    "pebble",
    "quarry",
    "reed",
    "saddle",
    "tansy",
    "umber",
    "vole",
    "willow",
    "yarrow",
]
LAST = {
    "npm": ["wire", "gate", "parse", "mux", "stream", "table", "hook", "pack", "glob", "view"],
    "PyPI": ["queue", "schema", "cast", "models", "codec", "ledger", "graph", "sync"],
    "Debian": ["tls", "core", "db", "zip", "net", "fs"],
}
STATUSES = ("not_affected", "not_affected", "not_affected", "fixed", "affected", "under_investigation")
JUSTIFICATIONS = (
    "component_not_present",
    "vulnerable_code_not_present",
    "vulnerable_code_not_in_execute_path",
    "vulnerable_code_not_in_execute_path",
    "inline_mitigations_already_exist",
)


class Estate:
    """Everything that goes into the files."""

    def __init__(self) -> None:
        self.rng = random.Random(SEED)
        self.histories: dict[tuple[str, str], list[dict]] = {}
        self.npm: dict[str, dict[str, dict]] = {}
        self.pypi: dict[str, list[dict]] = {}
        self.debian: dict[str, list[dict]] = {}
        self.installed: list[
            tuple[str, str, str, int]
        ] = []  # service, ecosystem, package, index in its history
        self.records: list[dict] = []
        self.known: list[tuple[str, str, list[str]]] = []  # ecosystem, package, names of a vulnerability
        self.statements: list[dict] = []
        self.notes: list[list[str]] = []
        self.exploited: list[tuple[str, str]] = []
        # service, package, version, vulnerability: "open", "suppressed" or None (no finding)
        self.meant: dict[tuple[str, str, str, str], str | None] = {}
        # service, package, version: target
        self.targets: dict[tuple[str, str, str], str | None] = {}
        self.numbers = iter(range(99700, 99900))
        self.long_numbers = iter(range(100200, 100900))
        self.serial = iter(range(41, 9000))

    # -- packages and their histories -----------------------------------------

    def history(
        self, ecosystem: str, name: str, versions: list[str], suites: list[str] | None = None
    ) -> None:
        """Publish versions in this order, the last of them shortly before the review."""
        rng = self.rng
        day = REVIEW - timedelta(days=rng.choice([1, 3, 6, 7, 9, 20, 45, 80]))
        rows = []
        for number in range(len(versions) - 1, -1, -1):
            row: dict = {"version": versions[number], "published": f"{day}"}
            if suites:
                row["suite"] = suites[number]
            else:
                row["yanked"] = rng.random() < 0.08
            rows.insert(0, row)
            day -= timedelta(days=rng.randint(2, 60))
        self.histories[ecosystem, name] = rows

    def npm_versions(self) -> list[str]:
        rng = self.rng
        major, minor, patch = rng.choice([(0, 3, 0), (1, 0, 0), (1, 0, 0), (2, 4, 0)])
        found = [f"{major}.{minor}.{patch}"]
        for _ in range(rng.randint(9, 15)):
            step = rng.random()
            if step < 0.5:
                patch += 1
            elif step < 0.8:
                minor, patch = minor + 1, 0
            else:
                major, minor, patch = major + 1, 0, 0
            core = f"{major}.{minor}.{patch}"
            if patch == 0 and rng.random() < 0.35:
                found += [
                    f"{core}-{x}" for x in ("alpha.3", "beta.2", "beta.11", "rc.1") if rng.random() < 0.6
                ]
            found.append(core)
        return found

    def pypi_versions(self) -> list[str]:
        rng = self.rng
        major, minor = rng.choice([(0, 9), (1, 0), (2, 3), (2023, 4)])
        epoch, micro = "", 0
        found = [f"{major}.{minor}"]
        for _ in range(rng.randint(8, 13)):
            step = rng.random()
            if major > 2000 and step > 0.8:
                epoch, major, minor, micro = "1!", 1, 0, 0
            elif step < 0.45:
                micro += 1
            elif step < 0.8:
                minor, micro = minor + 1, 0
            else:
                major, minor, micro = major + 1, 0, 0
            core = f"{epoch}{major}.{minor}" + (f".{micro}" if micro else "")
            if micro == 0 and rng.random() < 0.4:
                found += [core + x for x in (".dev4", "a2", "b1", "rc9", "rc10") if rng.random() < 0.5]
            found.append(core)
            if rng.random() < 0.2:
                found.append(core + ".post1")
        return found

    def debian_versions(self) -> tuple[list[str], list[str]]:
        rng = self.rng
        epoch = rng.choice(["", "", "1:", "2:"])
        up = f"{epoch}{rng.randint(0, 9)}.{rng.randint(0, 30)}"
        found, suites = [], []
        if rng.random() < 0.3:
            found, suites = [f"{up}~rc{rng.randint(1, 3)}-1"], ["bookworm"]
        base = f"{up}{rng.choice(['', '.2', 'p1', '+dfsg'])}-{rng.randint(1, 9)}"
        found, suites = [*found, base], [*suites, "bookworm"]
        for number in range(1, rng.choice([3, 4, 6, 12])):
            found.append(f"{base}+deb12u{number}")
            suites.append(rng.choice(["bookworm", "bookworm-security", "bookworm-security"]))
        if rng.random() < 0.6:
            after = f"{up}.9-1"
            found += [f"{after}~bpo12+1", after]
            suites += ["bookworm-backports", "trixie"]
        return found, suites

    def catalog(self) -> None:
        for ecosystem, count in (("npm", 58), ("PyPI", 46), ("Debian", 30)):
            pairs = [(a, b) for a in FIRST for b in LAST[ecosystem]]
            for first, last in sorted(self.rng.sample(pairs, count)):
                if ecosystem == "npm":
                    name = f"@{first}/{last}" if self.rng.random() < 0.2 else f"{first}-{last}"
                    self.history(ecosystem, name, self.npm_versions())
                elif ecosystem == "PyPI":
                    self.history(ecosystem, f"{first}-{last}", self.pypi_versions())
                else:
                    self.history(ecosystem, f"{first}{last}", *self.debian_versions())

    def names(self, ecosystem: str) -> list[str]:
        return [name for found, name in self.histories if found == ecosystem]

    def pick(self, ecosystem: str, name: str) -> int:
        """Pick an installed version: mostly of the later ones, not always the last."""
        rows = self.histories[ecosystem, name]
        usable = [n for n, x in enumerate(rows) if x.get("suite", "bookworm").startswith("bookworm")]
        usable = [n for n in usable if not rows[n].get("suite", "").endswith("backports")]
        return usable[int(len(usable) * self.rng.triangular(0, 0.999, 0.6))]

    # -- lock files --------------------------------------------------------------

    def npm_range(self, name: str, k: int) -> str:
        """Return a range that admits version `k` of a package."""
        rng, rows = self.rng, [x["version"] for x in self.histories["npm", name]]
        version = rows[k]
        if "-" in version:
            return rng.choice([f"^{version}", version])
        core = parts(version)
        block = core[:1] if core[0] else core[:2] if core[1] else core
        same_block = [v for v in rows[: k + 1] if "-" not in v and parts(v)[: len(block)] == block]
        same_minor = [v for v in same_block if parts(v)[:2] == core[:2]]
        low = rng.choice(same_block)
        return rng.choice(
            [
                f"^{low}",
                f"^{low}",
                f"~{rng.choice(same_minor)}",
                f">={low} <{core[0] + 1}.0.0",
                f"^{max(core[0] - 1, 0)}.1.0 || ^{low}",
                f">={low}",
                version,
                "*",
            ]
        )

    def npm_service(self, service: str, count: int, workspaces: bool) -> None:
        rng = self.rng
        names = sorted(rng.sample(self.names("npm"), count))
        entries: dict[str, dict] = {}
        where: dict[str, tuple[str, int]] = {}

        def put(path: str, name: str, k: int) -> None:
            version = self.histories["npm", name][k]["version"]
            row: dict = {"version": version, "integrity": "sha512-" + f"{rng.getrandbits(160):040x}"}
            if rng.random() < 0.05:
                row["version"] += "+build.7"
            if rng.random() < 0.18:
                row["dev"] = True
            if rng.random() < 0.06:
                row["optional"] = True
            row["dependencies"] = {}
            entries[path], where[path] = row, (name, k)
            self.installed.append((service, "npm", name, k))

        for name in names:
            put(f"node_modules/{name}", name, self.pick("npm", name))
        for parent, child in zip(rng.sample(names, 6), rng.sample(names, 6), strict=True):
            if parent != child:
                k = self.pick("npm", child)
                put(f"node_modules/{parent}/node_modules/{child}", child, k)
                entries[f"node_modules/{parent}"]["dependencies"][child] = self.npm_range(child, k)
        for path in list(entries):
            for child in rng.sample(names, rng.choice([0, 0, 1, 2, 3])):
                nested = f"{path}/node_modules/{child}"
                beside = f"{path.rpartition('/node_modules/')[0]}/node_modules/{child}"
                got = next(p for p in (nested, beside, f"node_modules/{child}") if p in where)
                if where[path][0] != child:
                    kind = rng.choice(["dependencies"] * 5 + ["peerDependencies", "optionalDependencies"])
                    entries[path].setdefault(kind, {}).setdefault(child, self.npm_range(*where[got]))
        root: dict = {"name": service, "version": "4.2.0", "dependencies": {}, "devDependencies": {}}
        for name in rng.sample(names, count // 3):
            got = where[f"node_modules/{name}"]
            kind = "devDependencies" if "dev" in entries[f"node_modules/{name}"] else "dependencies"
            root[kind][name] = self.npm_range(*got)
        if workspaces:
            root["workspaces"] = ["packages/*"]
            child = rng.choice(names)
            entries["node_modules/@booking/ui"] = {"resolved": "packages/ui", "link": True}
            entries["packages/ui"] = {
                "name": "@booking/ui",
                "version": "1.0.0",
                "dependencies": {
                    name: self.npm_range(*where[f"node_modules/{name}"]) for name in rng.sample(names, 8)
                },
            }
            k = self.pick("npm", child)
            put(f"packages/ui/node_modules/{child}", child, k)
            entries["packages/ui"]["dependencies"][child] = self.npm_range(child, k)
        self.npm[service] = {"": root, **entries}

    def pypi_range(self, name: str, k: int) -> str:
        rng, rows = self.rng, [x["version"] for x in self.histories["PyPI", name]]
        version = rows[k]
        low = rng.choice([v for v in rows[: k + 1] if final(v)] or [version])
        if not final(version):
            return rng.choice([f">={low}", f">={low}" if low == rows[0] else f">={low},!={rows[0]}"])
        low_parts, own = low.split("."), version.split(".")
        later = [v for v in rows[k + 1 :] if final(v)]
        choices = [f">={low}", f"=={own[0]}.*", f"=={version}"]
        if low_parts[:-1] == own[: len(low_parts) - 1]:
            choices.append(f"~={low}")
        if later:
            choices += [
                f">={low},<{rng.choice(later)}",
                f">={low},!={rng.choice(later)}",
                f"<{later[-1]},>={low}",
            ]
        return rng.choice(choices)

    def pypi_service(self, service: str, count: int) -> None:
        rng = self.rng
        names = sorted(rng.sample(self.names("PyPI"), count))
        chosen = {name: self.pick("PyPI", name) for name in names}
        rows = []
        for name, k in chosen.items():
            version = self.histories["PyPI", name][k]["version"]
            row: dict = {
                "name": self.spelled(name, 0.25),
                "version": self.respelled(version, 0.3),
                "optional": rng.random() < 0.1,
                "groups": rng.choice([["main"]] * 4 + [["main", "dev"], ["dev"], ["dev", "docs"]]),
                "dependencies": {},
            }
            if rng.random() < 0.12:
                row["markers"] = rng.choice(
                    [
                        'sys_platform == "win32"',
                        'python_version < "3.11"',
                        'python_version >= "3.9"',
                        'python_version >= "3.9" and sys_platform != "darwin"',
                        'sys_platform != "win32"',
                    ]
                )
            for child in rng.sample(names, rng.choice([0, 1, 1, 2, 3])):
                if child == name:
                    continue
                wanted = self.pypi_range(child, chosen[child])
                value: object = wanted
                if rng.random() < 0.15:
                    value = {
                        "version": wanted,
                        "markers": rng.choice(['python_version < "3.9"', 'sys_platform == "linux"']),
                    }
                row["dependencies"][self.spelled(child, 0.3)] = value
            rows.append(row)
            self.installed.append((service, "PyPI", name, k))
        self.pypi[service] = rows

    def debian_service(self, service: str, count: int) -> None:
        rng = self.rng
        rows = []
        for name in sorted(rng.sample(self.names("Debian"), count)):
            k = self.pick("Debian", name)
            version = self.histories["Debian", name][k]["version"]
            self.installed.append((service, "Debian", name, k))
            rows += self.binaries(name, version)
        self.debian[service] = rows

    def binaries(self, name: str, version: str) -> list[dict]:
        """Return the binary packages that a source package gives."""
        rng = self.rng
        style = rng.random()
        if style < 0.3:
            return [{"Package": name, "Version": version}]
        if style < 0.7:
            binaries = [f"lib{name}{rng.randint(1, 6)}", f"{name}-bin"][: rng.randint(1, 2)]
            return [{"Package": x, "Source": name, "Version": version} for x in binaries]
        rebuilt = version + "+b1" if rng.random() < 0.5 else f"3:20.{rng.randint(1, 9)}-2"
        return [
            {"Package": f"lib{name}{rng.randint(1, 6)}", "Source": f"{name} ({version})", "Version": rebuilt},
            {"Package": f"{name}-common", "Source": name, "Version": version},
        ]

    # -- advisories ----------------------------------------------------------------

    def spelled(self, name: str, chance: float) -> str:
        if self.rng.random() >= chance:
            return name
        return self.rng.choice([name.replace("-", "_"), name.replace("-", "."), name.title()])

    def respelled(self, version: str, chance: float) -> str:
        """Return another spelling of a PEP 440 version."""
        if self.rng.random() >= chance:
            return version
        for mark in ("rc", ".post", ".dev", "a", "b"):
            if mark in version:
                release, number = version.split(mark)
                return f"{release}-{mark.strip('.')}.{number}"
        return version + ".0"

    def stamp(self, day: date) -> str:
        """Return an instant of a day in UTC, written with some offset."""
        rng = self.rng
        hours = rng.choice([0, 0, 2, -5, 9])
        moment = datetime(day.year, day.month, day.day, rng.randint(0, 23), rng.randint(0, 59), tzinfo=UTC)
        moment = moment.astimezone(timezone(timedelta(hours=hours)))
        return moment.isoformat().replace("+00:00", "Z") if hours == 0 else moment.isoformat()

    def cve(self) -> str:
        return f"CVE-2025-{next(self.numbers if self.rng.random() < 0.4 else self.long_numbers)}"

    def number(self, database: str) -> str:
        return f"{database}-2025-{next(self.serial):04d}"

    def severity(self, vector: str | None) -> list[dict]:
        rng = self.rng
        found = []
        if vector is not None:
            metrics = vector.split("/")
            if rng.random() < 0.3:
                rng.shuffle(metrics)
            if rng.random() < 0.2:
                metrics += ["E:P", "RL:O"]
            found.append({"type": "CVSS_V3", "score": "CVSS:3.1/" + "/".join(metrics)})
        if vector is None or rng.random() < 0.2:
            four = "CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N"
            found.insert(0, {"type": "CVSS_V4", "score": four})
        return found

    def record(
        self,
        key: str,
        *,
        aliases: list[str],
        affected: list[dict],
        vector: str | None,
        published: str,
        modified: str,
        withdrawn: str | None = None,
    ) -> dict:
        found: dict = {
            "id": key,
            "aliases": aliases,
            "published": published,
            "modified": modified,
            "summary": self.rng.choice(
                [
                    "Out-of-bounds read",
                    "Prototype pollution",
                    "Path traversal",
                    "Denial of service",
                    "Injection",
                ]
            ),
            "affected": affected,
            "severity": self.severity(vector),
        }
        if withdrawn:
            found["withdrawn"] = withdrawn
        self.records.append(found)
        return found

    def entry(self, ecosystem: str, name: str, events: list[dict], versions: list[str] | None = None) -> dict:
        rng = self.rng
        found: dict = {
            "package": {
                "ecosystem": "Debian:12" if ecosystem == "Debian" else ecosystem,
                "name": self.spelled(name, 0.3) if ecosystem == "PyPI" else name,
            },
            "ranges": [],
        }
        if events:
            kind = "SEMVER" if ecosystem == "npm" else "ECOSYSTEM"
            found["ranges"].append({"type": kind, "events": events})
        if rng.random() < 0.15:
            commits = [{"introduced": "0"}, {"fixed": f"{rng.getrandbits(160):040x}"}]
            found["ranges"].append({"type": "GIT", "events": commits})
        if versions:
            found["versions"] = versions
        return found

    def events(self, ecosystem: str, rows: list[str], i: int, j: int) -> list[dict]:
        """Return events that take in the versions from `i` up to but not including `j`."""
        rng = self.rng
        write = (lambda v: self.respelled(v, 0.3)) if ecosystem == "PyPI" else (lambda v: v)
        events: list[dict] = [{"introduced": "0" if i == 0 else write(rows[i])}]
        if j >= len(rows):
            if rng.random() < 0.5:
                events.append({"last_affected": write(rows[-1])})
        elif rng.random() < 0.25:
            events.append({"last_affected": write(rows[j - 1])})
        else:
            events.append({"fixed": write(rows[j])})
        if i >= 3 and rng.random() < 0.5:
            events = [{"introduced": "0"}, {"fixed": write(rows[i - 1])}, *events]
        if rng.random() < 0.4:
            rng.shuffle(events)
        return events

    def vulnerability(self, ecosystem: str, name: str, k: int) -> None:
        """Describe one vulnerability of a package, by one database or several."""
        rng = self.rng
        rows = [x["version"] for x in self.histories[ecosystem, name]]

        def span() -> tuple[int, int]:
            chance = rng.random()
            if chance < 0.7 or k == 0:
                i, j = rng.randint(0, k), min(k + 1 + int(rng.expovariate(0.5)), len(rows))
            elif chance < 0.9:
                j = rng.randint(1, k)
                i = rng.randint(0, j - 1)
            else:
                i = min(k + 1, len(rows) - 1)
                j = len(rows)
            return i, max(j, i + 1)

        def affected() -> list[dict]:
            i, j = span()
            if rng.random() < 0.12:
                return [self.entry(ecosystem, name, [], rows[i:j])]
            extra = [rows[k]] if rng.random() < 0.05 else None
            found = [self.entry(ecosystem, name, self.events(ecosystem, rows, i, j), extra)]
            if ecosystem == "Debian" and rng.random() < 0.5:
                found.append(self.entry(ecosystem, name, [{"introduced": "0"}]))
                found[-1]["package"]["ecosystem"] = "Debian:11"
            return found

        day = REVIEW - timedelta(days=int(rng.triangular(4, 200, 12)))
        primary, cve = self.number(DATABASE[ecosystem]), self.cve()
        named = rng.random() < 0.75
        vector = rng.choice(VECTORS) if rng.random() < 0.92 else None
        group = [self.record(
            primary, aliases=[cve] if named else [], affected=affected(), vector=vector,
            published=self.stamp(day), modified=self.stamp(day + timedelta(days=rng.randint(3, 4))),
        )]  # fmt: skip
        if named and rng.random() < 0.5:
            before = day - timedelta(days=rng.randint(0, 9))
            group.append(self.record(
                cve, aliases=[], affected=affected() if rng.random() < 0.7 else [],
                vector=rng.choice(VECTORS), published=self.stamp(before),
                modified=self.stamp(day + timedelta(days=3)),
            ))  # fmt: skip
        if rng.random() < 0.3:
            group.append(self.record(
                self.number("KSA"), aliases=[rng.choice([cve, primary]) if named else primary],
                affected=affected() if rng.random() < 0.6 else [],
                vector=rng.choice(VECTORS) if rng.random() < 0.5 else None,
                published=self.stamp(day), modified=self.stamp(day + timedelta(days=3)),
            ))  # fmt: skip
        if rng.random() < 0.1:
            group[-1]["withdrawn"] = self.stamp(REVIEW - timedelta(days=rng.randint(1, 3)))
        for new in group:
            if rng.random() < 0.2:
                self.record(
                    new["id"], aliases=new["aliases"], affected=affected(), vector=rng.choice(VECTORS),
                    published=new["published"], modified=self.stamp(day + timedelta(days=rng.randint(1, 2))),
                )  # fmt: skip
        names = sorted({name for x in group for name in (x["id"], *x["aliases"])})
        self.known.append((ecosystem, name, names))
        if rng.random() < 0.12:
            added = REVIEW + timedelta(days=rng.choice([-40, -12, -6, -3, -1, 0, 1, 3]))
            self.exploited.append((rng.choice(names), f"{added}"))

    # -- statements and notes ---------------------------------------------------------

    def state(self, vulnerability: str, ecosystem: str, package: str, **more: object) -> None:
        number = f"VEX-{len(self.statements) + 301}"
        found = {"id": number, "vulnerability": vulnerability, "ecosystem": ecosystem, "package": package}
        defaults = {"issuer": PSIRT, "timestamp": "2025-09-01T08:00:00Z", "expires": None}
        self.statements.append({**found, **defaults, **more})

    def note(
        self, service: str, ecosystem: str, package: str, version: str, key: str, what: str, day: str
    ) -> None:
        self.notes.append([service, ecosystem, package, version, key, what, day])

    def opinions(self) -> None:
        """Scatter statements and notes over what is installed."""
        rng = self.rng
        owners = [x[0] for x in SERVICES.values()]
        for ecosystem, name, names in self.known:
            for service, _, _, k in [x for x in self.installed if x[1:3] == (ecosystem, name)]:
                rows = [x["version"] for x in self.histories[ecosystem, name]]
                write = (lambda v: self.respelled(v, 0.3)) if ecosystem == "PyPI" else (lambda v: v)
                for _ in range(rng.choice([0, 0, 1, 2])):
                    version = write(rows[k] if rng.random() < 0.75 else rng.choice(rows))
                    day = REVIEW + timedelta(days=rng.choice([-170, -100, -91, -90, -60, -30, -9, -2, 0, 1]))
                    what = rng.choice(["reachable", "unreachable", "unreachable"])
                    package = self.spelled(name, 0.2) if ecosystem == "PyPI" else name
                    self.note(service, ecosystem, package, version, rng.choice(names), what, f"{day}")
                for _ in range(rng.choice([0, 0, 0, 1, 2])):
                    status = rng.choice(STATUSES)
                    more: dict = {"status": status}
                    if status == "not_affected" and rng.random() < 0.93:
                        more["justification"] = rng.choice(JUSTIFICATIONS)
                    if rng.random() < 0.6:
                        more["versions"] = sorted(
                            {write(rows[k]), rng.choice(rows)} if rng.random() < 0.8 else {rng.choice(rows)}
                        )
                    if rng.random() < 0.4:
                        more["services"] = sorted(
                            {service if rng.random() < 0.8 else rng.choice(list(SERVICES))}
                        )
                    more["issuer"] = rng.choice(
                        [PSIRT, PSIRT, SERVICES[service][0], rng.choice(owners), "security@upstream.example"]
                    )
                    more["timestamp"] = self.stamp(REVIEW - timedelta(days=rng.randint(-2, 80)))
                    expires = rng.choice([None, None, -5, -1, 0, 1, 60])
                    more["expires"] = None if expires is None else f"{REVIEW + timedelta(days=expires)}"
                    package = self.spelled(name, 0.2) if ecosystem == "PyPI" else name
                    self.state(rng.choice(names), ecosystem, package, **more)

    # -- cases on purpose ----------------------------------------------------------------

    def plant(
        self, service: str, ecosystem: str, package: str, version: str, versions: str, **more: object
    ) -> None:
        """Install a version of a package with a history of `VERSION[@published][!]` (`!`: yanked)."""
        rows = []
        for number, text in enumerate(versions.split()):
            bare, _, rest = text.partition("@")
            yanked = text.endswith("!")
            day = rest.rstrip("!") or f"{date(2024, 1, 8) + timedelta(days=20 * number)}"
            rows.append(
                {"version": bare.rstrip("!") if not rest else bare, "published": day, "yanked": yanked}
            )
        if ecosystem == "Debian":
            for row in rows:
                del row["yanked"]
                row["suite"] = "bookworm-security" if "+deb12u" in row["version"] else "bookworm"
                if "~bpo12" in row["version"]:
                    row["suite"] = "bookworm-backports"
            self.debian[service].append({"Package": package, "Version": version, **more})
        elif ecosystem == "npm":
            path = more.pop("path", f"node_modules/{package}")
            self.npm[service][path] = {"version": version, **more}
        else:
            self.pypi[service].append(
                {
                    "name": package,
                    "version": version,
                    "optional": False,
                    "groups": ["main"],
                    "dependencies": {},
                    **more,
                }
            )
        key = package.lower().replace("_", "-") if ecosystem == "PyPI" else package
        self.histories.setdefault((ecosystem, key), rows)

    def advise(self, key: str, ecosystem: str, name: str, events: str, **more: object) -> str:
        """Record an advisory: events such as `introduced=0 fixed=1.2.0`."""
        pairs = [dict([x.split("=")]) for x in events.split()]
        fields: dict = {
            "aliases": [],
            "affected": [self.entry(ecosystem, name, pairs)],
            "vector": VECTORS[5],
            "published": "2025-08-20T10:00:00Z",
            "modified": "2025-08-21T10:00:00Z",
        }
        self.record(key, **{**fields, **more})
        return key

    def planted(self) -> None:
        meant, targets = self.meant, self.targets
        web, fares, gates, api = "booking-portal", "fare-engine", "gate-controller", "timetable-api"

        # Pre-releases below `fixed` are in, whatever a range library says of them.
        self.plant(web, "npm", "tidewire", "2.0.0-rc.1", "1.4.0 2.0.0-rc.1 2.0.0-rc.2 2.0.0 2.0.1")
        self.advise("NJV-2025-0301", "npm", "tidewire", "introduced=1.0.0 fixed=2.0.0")
        meant[web, "tidewire", "2.0.0-rc.1", "NJV-2025-0301"] = "open"
        targets[web, "tidewire", "2.0.0-rc.1"] = "2.0.0"
        # Numeric identifiers of pre-releases are numbers.
        self.plant(web, "npm", "mossgate", "3.0.0-beta.2", "3.0.0-beta.2 3.0.0-beta.11 3.0.0")
        self.advise("NJV-2025-0302", "npm", "mossgate", "introduced=0 fixed=3.0.0-beta.11")
        targets[web, "mossgate", "3.0.0-beta.2"] = "3.0.0-beta.11"
        # A package installed under another package's name.
        self.plant(web, "npm", "fastline-fork", "1.2.0", "1.1.0 1.2.0 1.3.0", path="node_modules/fastline",
                   name="fastline-fork")  # fmt: skip
        self.npm[web][""]["dependencies"]["fastline"] = "npm:fastline-fork@~1.2.0"
        self.advise("NJV-2025-0303", "npm", "fastline", "introduced=0 fixed=9.0.0")
        self.advise("NJV-2025-0304", "npm", "fastline-fork", "introduced=1.2.0 fixed=1.3.0")
        meant[web, "fastline-fork", "1.2.0", "NJV-2025-0303"] = None
        meant[web, "fastline-fork", "1.2.0", "NJV-2025-0304"] = "open"
        # A void record's aliases join nothing; the lower CVE by number, not by text.
        self.plant(api, "npm", "saltmarsh", "1.0.0", "1.0.0 1.1.0 1.2.0")
        self.advise("NJV-2025-0305", "npm", "saltmarsh", "introduced=0 fixed=1.1.0",
                    aliases=["CVE-2025-100934", "CVE-2025-99871"])  # fmt: skip
        self.advise(
            "NJV-2025-0306", "npm", "saltmarsh", "introduced=0 fixed=1.2.0", aliases=["CVE-2025-100999"]
        )
        self.advise("KSA-2025-0307", "npm", "saltmarsh", "introduced=0 fixed=1.1.0",
                    aliases=["CVE-2025-99871", "CVE-2025-100999"],
                    withdrawn="2025-08-22T00:00:00Z")  # fmt: skip
        meant[api, "saltmarsh", "1.0.0", "CVE-2025-99871"] = "open"
        meant[api, "saltmarsh", "1.0.0", "CVE-2025-100999"] = "open"
        # Two records that share an alias; our own team's range is the one that counts.
        self.plant(api, "npm", "curlew", "5.1.0", "5.0.0 5.1.0 5.2.0")
        self.advise("NJV-2025-0308", "npm", "curlew", "introduced=0 fixed=5.2.0", aliases=["CVE-2025-99890"])
        self.advise("KSA-2025-0309", "npm", "curlew", "introduced=0 fixed=5.1.0", aliases=["CVE-2025-99890"])
        meant[api, "curlew", "5.1.0", "CVE-2025-99890"] = None
        # The later revision by instant is the earlier one by text.
        self.plant(api, "npm", "dunlin", "2.2.0", "2.1.0 2.2.0 2.3.0")
        self.advise(
            "NJV-2025-0310", "npm", "dunlin", "introduced=0 fixed=2.2.0", modified="2025-08-30T23:30:00-05:00"
        )
        self.advise(
            "NJV-2025-0310", "npm", "dunlin", "introduced=0 fixed=2.3.0", modified="2025-08-31T03:00:00+02:00"
        )
        meant[api, "dunlin", "2.2.0", "NJV-2025-0310"] = None
        # Branches with events out of order, last_affected included.
        self.plant(api, "npm", "knot-tree", "4.1.2", "3.9.0 4.0.0 4.1.2 4.1.3")
        self.advise("NJV-2025-0311", "npm", "knot-tree",
                    "last_affected=4.1.2 introduced=4.1.0 fixed=4.0.5 introduced=0")  # fmt: skip
        meant[api, "knot-tree", "4.1.2", "NJV-2025-0311"] = "open"
        # A fix too young, unless the vulnerability is exploited; yanked fixes; a flaw in the target itself.
        self.plant(web, "npm", "plover", "1.0.0", "1.0.0 1.0.1@2025-09-09 1.0.2@2025-09-08 1.1.0")
        self.advise("NJV-2025-0312", "npm", "plover", "introduced=0 fixed=1.0.1")
        targets[web, "plover", "1.0.0"] = "1.0.2"
        self.plant(api, "npm", "pipit", "1.0.0", "1.0.0 1.0.1@2025-09-09 1.0.2@2025-09-08 1.1.0")
        self.advise("NJV-2025-0313", "npm", "pipit", "introduced=0 fixed=1.0.1", aliases=["CVE-2025-100777"])
        self.exploited.append(("CVE-2025-100777", "2025-09-11"))
        targets[api, "pipit", "1.0.0"] = "1.0.1"
        self.plant(web, "npm", "avocet", "1.0.0", "1.0.0 1.1.0 1.2.0! 1.3.0 1.4.0")
        self.advise("NJV-2025-0314", "npm", "avocet", "introduced=0 fixed=1.1.0")
        self.advise("NJV-2025-0315", "npm", "avocet", "introduced=1.0.0 fixed=1.4.0", vector=VECTORS[0])
        self.state(
            "NJV-2025-0315", "npm", "avocet", status="not_affected", justification="component_not_present"
        )
        targets[web, "avocet", "1.0.0"] = "1.4.0"
        meant[web, "avocet", "1.0.0", "NJV-2025-0315"] = "suppressed"

        # PEP 440: post releases, development releases, epochs, local versions, rc10 after rc9.
        self.plant(fares, "PyPI", "Sanderling", "1.4", "1.3 1.4 1.4.post1 1.5")
        self.advise("PYV-2025-0316", "PyPI", "sanderling", "introduced=1.3 fixed=1.4-1")
        meant[fares, "sanderling", "1.4", "PYV-2025-0316"] = "open"
        targets[fares, "sanderling", "1.4"] = "1.4.post1"
        self.plant(fares, "PyPI", "turnstone", "1!1.0", "2024.1 2024.5 1!1.0 1!1.1")
        self.advise("PYV-2025-0317", "PyPI", "turnstone", "introduced=2024.1 fixed=1!1.1")
        self.advise("PYV-2025-0318", "PyPI", "turnstone", "introduced=0 fixed=2024.5")
        meant[fares, "turnstone", "1!1.0", "PYV-2025-0317"] = "open"
        meant[fares, "turnstone", "1!1.0", "PYV-2025-0318"] = None
        self.plant(fares, "PyPI", "whimbrel", "3.1+kestrel.2", "3.0 3.1 3.2")
        self.advise("PYV-2025-0319", "PyPI", "whimbrel", "introduced=0 fixed=3.1")
        self.advise("PYV-2025-0320", "PyPI", "whimbrel", "introduced=0 last_affected=3.1")
        meant[fares, "whimbrel", "3.1+kestrel.2", "PYV-2025-0319"] = None
        meant[fares, "whimbrel", "3.1+kestrel.2", "PYV-2025-0320"] = None
        self.plant(gates, "PyPI", "ring_Ouzel", "2.0.dev3", "1.9 2.0.dev3 2.0a1 2.0rc9 2.0rc10 2.0")
        self.advise("PYV-2025-0321", "PyPI", "ring-ouzel", "introduced=2.0.dev1 fixed=2.0rc10")
        meant[gates, "ring-ouzel", "2.0.dev3", "PYV-2025-0321"] = "open"
        targets[gates, "ring-ouzel", "2.0.dev3"] = "2.0rc10"
        self.plant(gates, "PyPI", "win-console", "1.0", "1.0 1.1", markers='sys_platform == "win32"')
        self.advise("PYV-2025-0322", "PyPI", "win-console", "introduced=0 fixed=1.1")
        meant[gates, "win-console", "1.0", "PYV-2025-0322"] = None
        self.plant(gates, "PyPI", "ancient-compat", "1.0", "1.0 1.1", markers='python_version >= "3.9"')
        self.advise("PYV-2025-0323", "PyPI", "ancient-compat", "introduced=0 fixed=1.1")
        meant[gates, "ancient-compat", "1.0", "PYV-2025-0323"] = "open"

        # Debian: tilde, u10 after u9, source and binary versions, another release, removed packages.
        self.plant(web, "Debian", "heronssl", "1:3.0~rc1-1", "1:3.0~rc1-1 1:3.0-1 1:3.0-1+deb12u1")
        self.advise("DBV-2025-0324", "Debian", "heronssl", "introduced=0 fixed=1:3.0-1")
        targets[web, "heronssl", "1:3.0~rc1-1"] = "1:3.0-1"
        history = " ".join(["2.36-9", *(f"2.36-9+deb12u{n}" for n in range(1, 12))])
        self.plant(
            web, "Debian", "bitternc", "2.36-9+deb12u9", history, Package="libbitternc6", Source="bitternc"
        )
        self.advise("DBV-2025-0325", "Debian", "bitternc", "introduced=0 fixed=2.36-9+deb12u10")
        targets[web, "bitternc", "2.36-9+deb12u9"] = "2.36-9+deb12u10"
        self.plant(web, "Debian", "grebe", "5:9.1-1+b2", "1.8-2 1.8-2+deb12u1", Package="libgrebe3",
                   Source="grebe (1.8-2)")  # fmt: skip
        self.advise("DBV-2025-0326", "Debian", "grebe", "introduced=0 fixed=1.8-2+deb12u1")
        meant[web, "grebe", "1.8-2", "DBV-2025-0326"] = "open"
        self.plant(fares, "Debian", "smewdb", "1.0-1", "1.0-1 1.0-1+deb12u1")
        eleven = self.entry("Debian", "smewdb", [{"introduced": "0"}, {"fixed": "1.1-1"}])
        eleven["package"]["ecosystem"] = "Debian:11"
        twelve = self.entry("Debian", "smewdb", [{"introduced": "0"}, {"fixed": "1.0-1"}])
        self.advise("DBV-2025-0327", "Debian", "smewdb", "introduced=0", affected=[eleven, twelve])
        meant[fares, "smewdb", "1.0-1", "DBV-2025-0327"] = None
        self.plant(
            fares, "Debian", "pochard", "0.9-1", "0.9-1 0.9-1+deb12u1", Status="deinstall ok config-files"
        )
        self.advise("DBV-2025-0328", "Debian", "pochard", "introduced=0 fixed=0.9-1+deb12u1")
        meant[fares, "pochard", "0.9-1", "DBV-2025-0328"] = None

        # Statements: last day, day too late, reopened, a stranger, an owner elsewhere, a fix of no version.
        unreachable = "vulnerable_code_not_in_execute_path"
        cases: list[tuple[str, str, list[dict]]] = [
            ("last-day", "suppressed", [{"expires": "2025-09-15"}]),
            ("day-late", "open", [{"expires": "2025-09-14"}]),
            ("reopened", "open", [
                {"timestamp": "2025-09-02T01:00:00+02:00"},
                {"timestamp": "2025-09-01T23:30:00Z", "status": "under_investigation"},
            ]),
            ("stranger", "open", [{"issuer": "security@upstream.example"}]),
            ("elsewhere", "open", [{"issuer": "tom.varga@kestrel-rail.example"}]),
            ("owner", "suppressed", [{"issuer": "mira.osei@kestrel-rail.example"}]),
            ("fix-any", "open", [{"status": "fixed", "justification": None}]),
            ("fix-here", "suppressed", [{"status": "fixed", "versions": ["1.0.0"]}]),
            ("no-reason", "open", [{"justification": None}]),
            ("stale-note", "open", [{"justification": unreachable}]),
            ("fresh-note", "suppressed", [{"justification": unreachable}]),
            ("tomorrow", "open", [{"timestamp": "2025-09-15T22:00:00-05:00"}]),
            ("expired-doubt", "suppressed", [
                {}, {"timestamp": "2025-09-10T00:00:00Z", "status": "affected", "expires": "2025-09-12"},
            ]),
            ("same-day-notes", "open", [{"justification": unreachable}]),
        ]  # fmt: skip
        ducks = "wigeon gadwall shoveler pintail eider scoter goldeneye garrot "
        others = "hobby buzzard harrier kite linnet twite"
        birds = (ducks + others).split()
        named = {case: f"{bird}-cache" for (case, *_), bird in zip(cases, birds, strict=True)}
        for number, (case, status, statements) in enumerate(cases, 340):
            name = named[case]
            key = f"PYV-2025-{number:04d}"
            self.plant(fares, "PyPI", name, "1.0", "1.0 1.1", **({"groups": ["dev"]} if number % 3 else {}))
            self.advise(key, "PyPI", name, "introduced=0 fixed=1.1", aliases=[f"CVE-2025-{number + 99700}"],
                        vector=VECTORS[number % 9])  # fmt: skip
            for more in statements:
                defaults = {"status": "not_affected", "justification": "inline_mitigations_already_exist"}
                fields = {k: v for k, v in {**defaults, **more}.items() if k != "justification" or v}
                self.state(key, "PyPI", name, **fields)
            meant[fares, name, "1.0", f"CVE-2025-{number + 99700}"] = status
        for case, day, what in (
            ("stale-note", "2025-06-16", "unreachable"),
            ("fresh-note", "2025-06-17", "unreachable"),
            ("same-day-notes", "2025-09-01", "reachable"),
            ("same-day-notes", "2025-09-01", "unreachable"),
        ):
            key = f"PYV-2025-{340 + list(named).index(case):04d}"
            self.note(fares, "PyPI", named[case], "1.0.0", key, what, day)

        # Services that pass, or almost; days counted in UTC; a due date that moves over two freezes.
        self.pypi["signal-log"] = []
        self.npm["yard-display"] = {"": {"name": "yard-display", "version": "4.2.0", "dependencies": {}}}
        self.plant("signal-log", "PyPI", "brambling", "2.1", "2.0 2.1 2.2")
        self.plant("signal-log", "PyPI", "siskin", "1.0", "0.9 1.0 1.1")
        self.plant("signal-log", "PyPI", "redpoll", "0.7", "0.7 0.8")
        self.advise("PYV-2025-0360", "PyPI", "brambling", "introduced=0 fixed=2.2",
                    aliases=["CVE-2025-100888"], published="2025-04-03T04:00:00+02:00")  # fmt: skip
        self.exploited.append(("CVE-2025-100888", "2025-09-16"))
        self.advise("PYV-2025-0361", "PyPI", "siskin", "introduced=0 fixed=1.1", vector=VECTORS[0])
        self.state("PYV-2025-0361", "PyPI", "siskin", status="fixed", versions=["1.0"])
        self.plant("yard-display", "npm", "shingle-bar", "6.0.2", "6.0.1 6.0.2 6.0.3")
        self.plant("yard-display", "npm", "groyne", "0.3.1", "0.3.0 0.3.1 0.4.0",
                   dependencies={"shingle-bar": "6.0.2"})  # fmt: skip
        self.npm["yard-display"][""]["dependencies"]["shingle-bar"] = "^6.0.0"
        self.advise("NJV-2025-0362", "npm", "shingle-bar", "introduced=0 fixed=6.0.3",
                    published="2025-06-30T22:00:00-05:00")  # fmt: skip
        self.plant(fares, "PyPI", "dotterel", "1.0", "1.0 1.1")
        self.advise("PYV-2025-0363", "PyPI", "dotterel", "introduced=0 fixed=1.1", vector=VECTORS[1],
                    published="2025-08-06T10:00:00Z")  # fmt: skip

        self.advise("NJV-2025-0364", "npm", "bollard", "introduced=0 fixed=6.2.0",
                    published="2025-06-17T12:00:00Z")  # fmt: skip
        self.plant("yard-display", "npm", "bollard", "6.1.0", "6.1.0 6.2.0")
        self.npm["yard-display"][""]["dependencies"]["bollard"] = "^6.0.0"
        # Held back for want of a target alone: the fix is in backports only.
        self.debian["crew-roster"] = []
        self.plant("crew-roster", "Debian", "garganey", "3.1-1", "3.1-1 3.1-1+deb12u1 3.2-1~bpo12+1")
        self.advise("DBV-2025-0365", "Debian", "garganey", "introduced=0 fixed=3.2-1~bpo12+1",
                    vector=VECTORS[0], published="2025-09-12T12:00:00Z",
                    modified="2025-09-12T12:00:00Z")  # fmt: skip
        targets["crew-roster", "garganey", "3.1-1"] = None
        # One copy for development only, the other not; P1 goes up to P1 and from there down.
        self.plant(web, "npm", "sandpiper", "1.0.0", "1.0.0 1.1.0", dev=True)
        self.npm[web]["node_modules/tidewire/node_modules/sandpiper"] = {"version": "1.0.0"}
        self.npm[web]["node_modules/tidewire"]["dependencies"] = {"sandpiper": "1.0.0"}
        self.advise("NJV-2025-0366", "npm", "sandpiper", "introduced=0 fixed=1.1.0")
        self.plant(api, "npm", "stint", "1.0.0", "1.0.0 1.1.0", dev=True)
        self.advise("NJV-2025-0367", "npm", "stint", "introduced=0 fixed=1.1.0", vector=VECTORS[0])
        # Dependents that exclude one version, or that ask only on other Pythons.
        self.plant(
            fares, "PyPI", "tide-tables", "2.0", "2.0", dependencies={"sanderling": ">=1.3,!=1.4.post1"}
        )
        only_old = {"version": "<1.4.post1", "markers": 'python_version < "3.11"'}
        self.plant(fares, "PyPI", "tide-charts", "2.0", "2.0", dependencies={"Sanderling": only_old})

        # One vulnerability of two packages: our own team judged only one of them.
        self.plant(api, "npm", "merganser", "1.6.0", "1.5.0 1.6.0 2.0.0")
        self.plant(api, "PyPI", "merganser-client", "1.6", "1.5 1.6 2.0")
        shared = {"aliases": ["CVE-2025-99895"]}
        self.advise(
            "NJV-2025-0368", "npm", "merganser", "introduced=0 fixed=2.0.0", vector=VECTORS[4], **shared
        )
        self.advise("PYV-2025-0369", "PyPI", "merganser_client", "introduced=0 fixed=2.0", vector=VECTORS[3],
                    **shared)  # fmt: skip
        self.advise("KSA-2025-0370", "npm", "merganser", "introduced=0 fixed=1.5.0", vector=None, **shared)
        meant[api, "merganser", "1.6.0", "CVE-2025-99895"] = None
        meant[api, "merganser-client", "1.6", "CVE-2025-99895"] = "open"

        # Withdrawn by its last revision: the one before it does not come back.
        self.plant(api, "npm", "godwit", "1.0.0", "1.0.0 1.1.0")
        self.advise("NJV-2025-0371", "npm", "godwit", "introduced=0 fixed=1.1.0")
        self.advise("NJV-2025-0371", "npm", "godwit", "introduced=0 fixed=1.1.0",
                    modified="2025-08-25T07:30:00Z", withdrawn="2025-08-25T07:30:00Z")  # fmt: skip
        meant[api, "godwit", "1.0.0", "NJV-2025-0371"] = None
        self.quiet("crew-roster", "Debian", 11)
        self.quiet("signal-log", "PyPI", 8)
        self.quiet("yard-display", "npm", 9)

    def quiet(self, service: str, ecosystem: str, count: int) -> None:
        """Install packages of which no advisory speaks."""
        for first in sorted(self.rng.sample(FIRST, count)):
            name = {"npm": f"{first}-kit", "PyPI": f"{first}-tools", "Debian": f"{first}util"}[ecosystem]
            if ecosystem == "npm":
                self.history(ecosystem, name, self.npm_versions())
            elif ecosystem == "PyPI":
                self.history(ecosystem, name, self.pypi_versions())
            else:
                self.history(ecosystem, name, *self.debian_versions())
            k = self.pick(ecosystem, name)
            version = self.histories[ecosystem, name][k]["version"]
            if ecosystem == "npm":
                self.npm[service][f"node_modules/{name}"] = {"version": version}
                self.npm[service][""]["dependencies"][name] = self.npm_range(name, k)
            elif ecosystem == "PyPI":
                row = {"name": name, "version": version, "optional": False, "groups": ["main"]}
                self.pypi[service].append({**row, "dependencies": {}})
            else:
                self.debian[service] += self.binaries(name, version)

    # -- all of it -------------------------------------------------------------------------

    def build(self) -> None:
        self.catalog()
        self.npm_service("booking-portal", 34, workspaces=True)
        self.npm_service("depot-terminal", 9, workspaces=False)
        self.npm_service("kiosk-legacy", 20, workspaces=False)
        self.npm_service("timetable-api", 22, workspaces=False)
        for service, count in (
            ("fare-engine", 30),
            ("gate-controller", 18),
            ("kiosk-legacy", 9),
            ("timetable-api", 14),
        ):
            self.pypi_service(service, count)
        for service, count in (("booking-portal", 18), ("fare-engine", 15), ("gate-controller", 13)):
            self.debian_service(service, count)
        for _, ecosystem, name, k in self.rng.sample(self.installed, 84):
            self.vulnerability(ecosystem, name, k)
        self.opinions()
        self.planted()
        self.rng.shuffle(self.records)
        self.rng.shuffle(self.statements)
        self.rng.shuffle(self.notes)

    def files(self) -> dict[str, bytes]:
        """Return path below the estate -> content."""
        lines = ["service,owner,exposure,state,locks"]
        found: dict[str, str] = {}
        for service, (owner, exposure, state, ecosystems) in SERVICES.items():
            paths = [f"locks/{service}/{LOCKS[x]}" for x in ecosystems]
            lines.append(f"{service},{owner},{exposure},{state},{' '.join(paths)}")
            for ecosystem, path in zip(ecosystems, paths, strict=True):
                write = {"npm": self.package_lock, "PyPI": self.poetry_lock, "Debian": self.dpkg_status}
                found[path] = write[ecosystem](service)
        shuffler = random.Random(SEED)
        found["services.csv"] = rows(lines)
        found["advisories.jsonl"] = rows([json.dumps(x) for x in self.records])
        found["exploited.csv"] = rows(["id,added", *(f"{a},{b}" for a, b in sorted(self.exploited))])
        found["vex.json"] = json.dumps({"statements": self.statements}, indent=1) + "\n"
        head = "service,ecosystem,package,version,vulnerability,verdict,date"
        found["reachability.csv"] = rows([head, *(",".join(x) for x in self.notes)])
        found["freezes.csv"] = rows(["first,last,reason", *(",".join(x) for x in FREEZES)])
        for ecosystem in LOCKS:
            packages = {name: self.histories[ecosystem, name] for name in sorted(self.names(ecosystem))}
            packages = {name: shuffler.sample(history, len(history)) for name, history in packages.items()}
            text = ",\n".join(
                f" {json.dumps(name)}: [\n  " + ",\n  ".join(map(json.dumps, history)) + "\n ]"
                for name, history in packages.items()
            )
            found[f"registry/{ecosystem.lower()}.json"] = "{\n" + text + "\n}\n"
        return {path: text.encode() for path, text in found.items()}

    def package_lock(self, service: str) -> str:
        entries = self.npm[service]
        packages = {"": entries[""], **{path: entries[path] for path in sorted(entries) if path}}
        packages = {path: {k: v for k, v in row.items() if v != {}} for path, row in packages.items()}
        lock = {
            "name": service,
            "version": "4.2.0",
            "lockfileVersion": 3,
            "requires": True,
            "packages": packages,
        }
        return json.dumps(lock, indent=1) + "\n"

    def poetry_lock(self, service: str) -> str:
        out = ["# Lock file of the service. Do not edit by hand."]
        for row in sorted(self.pypi[service], key=lambda x: x["name"].lower()):
            out += ["", "[[package]]"]
            for key in ("name", "version", "optional", "groups"):
                out.append(f"{key} = {json.dumps(row[key])}")
            if "markers" in row:
                out.append(f"markers = '{row['markers']}'")
            if row["dependencies"]:
                out += ["", "[package.dependencies]"]
                for name, value in row["dependencies"].items():
                    wanted = json.dumps(value)
                    if isinstance(value, dict):
                        wanted = f"{{version = \"{value['version']}\", markers = '{value['markers']}'}}"
                    out.append(f"{json.dumps(name)} = {wanted}")
        out += ["", "[metadata]", 'lock-version = "2.1"', 'python-versions = ">=3.9"']
        return rows(out)

    def dpkg_status(self, service: str) -> str:
        out = []
        for row in sorted(self.debian[service], key=lambda x: x["Package"]):
            fields = {"Package": row["Package"], "Status": row.get("Status", "install ok installed")}
            fields |= {"Priority": "optional", "Architecture": "amd64"}
            if "Source" in row:
                fields["Source"] = row["Source"]
            fields["Version"] = row["Version"]
            fields["Description"] = f"part of {row['Package']}\n Version: see the changelog."
            out.append("".join(f"{key}: {value}\n" for key, value in fields.items()))
        return "\n".join(out)


def rows(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def parts(version: str) -> tuple[int, ...]:
    return tuple(int(x) for x in version.partition("-")[0].split("."))


def final(version: str) -> bool:
    return version.partition("!")[2].replace(".", "").isdigit() or version.replace(".", "").isdigit()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--task", type=Path, default=Path(__file__).resolve().parents[1], help="the task's folder"
    )
    task = parser.parse_args().task
    estate = Estate()
    estate.build()
    for name, data in estate.files().items():
        for folder in ("environment/estate", "verifier/pristine"):
            path = task / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


if __name__ == "__main__":
    main()
