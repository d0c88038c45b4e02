# ruff: noqa: E501 - the table of mistakes quotes lines of the oracle
"""The task `estate-advisory-triage` outside Docker: its data, its checks and the mistakes they catch."""

import copy
import functools
import itertools
import json
import os
import sys
import types
from pathlib import Path

import pytest
import task_module

EAT_TASK = Path(__file__).resolve().parents[2] / "tasks" / "estate-advisory-triage"
load_eat = functools.partial(task_module.load, EAT_TASK)


@pytest.fixture(scope="module")
def verifier():
    """The verifier's checks as a module."""
    return load_eat("verifier/test_outputs.py", "eat_test_outputs")


@pytest.fixture(scope="module")
def truth(verifier):
    """What the verifier recomputes from the pristine inputs; never changed in place."""
    return verifier.truth_module.Truth(EAT_TASK / "verifier" / "pristine")


@pytest.fixture(scope="module")
def generated():
    """The generator's data before it is written to files."""
    generated = load_eat("generator/generate.py", "eat_generate").Estate()
    generated.build()
    return generated


def oracle_with(changes=()):
    """Return the reference solution as a module, its source changed by (old, new) pairs."""
    source = (EAT_TASK / "oracle" / "triage.py").read_text()
    for old, new in changes:
        assert source.count(old) == 1, f"`{old}` occurs {source.count(old)} times in the oracle"
        source = source.replace(old, new)
    module = types.ModuleType("eat_triage")
    sys.modules[module.__name__] = module
    exec(compile(source, "triage.py", "exec"), module.__dict__)
    return module


def solve_eat(changes=()):
    """Return the report of the reference solution, changed by (old, new) pairs, as JSON gives it back."""
    return json.loads(json.dumps(oracle_with(changes).Review(EAT_TASK / "environment" / "estate").report()))


@pytest.fixture(scope="module")
def solved():
    """The reference solution's result; never changed in place."""
    return solve_eat()


ALONE = {"check_shape", "check_order"}


def failing(verifier, truth, doc):
    """Return the names of the checks that find something in `doc`."""
    if verifier.check_shape(doc):
        return {"shape"}
    return {
        name.removeprefix("check_")
        for name, check in vars(verifier).items()
        if name.startswith("check_") and (check(doc) if name in ALONE else check(doc, truth))
    }


def tree(folder):
    """Return path below a folder -> content of its files."""
    return {x.relative_to(folder).as_posix(): x.read_bytes() for x in folder.rglob("*") if x.is_file()}


def test_committed_data_is_what_the_generator_writes(generated):
    """The image's data and the verifier's pristine copy are both the generator's output, byte for byte."""
    image = tree(EAT_TASK / "environment" / "estate")
    del image["policy.md"]
    assert image == generated.files()
    assert tree(EAT_TASK / "verifier" / "pristine") == generated.files()


def test_verifier_reaches_what_the_generator_meant(truth, generated):
    """The verifier concludes from the files alone what the generator planted."""
    found = {
        (ident.service, ident.package, ident.version, name): row["status"]
        for (ident, name), row in truth.findings.items()
    }
    assert generated.meant == {key: found.get(key) for key in generated.meant}
    targets = {(x.service, x.package, x.version): row["target"] for x, row in truth.upgrades.items()}
    assert generated.targets == {key: targets[key] for key in generated.targets}


def test_oracle_passes_every_check(verifier, truth, solved):
    """The reference solution, written apart from the verifier, passes all of its checks."""
    assert failing(verifier, truth, solved) == set()


def test_every_check_has_a_test_in_the_verifier(verifier):
    """Pytest collects every check, and besides them only the reading."""
    checks = [name for name in vars(verifier) if name.startswith("check_")]
    tests = [value for name, value in vars(verifier).items() if name.startswith("test_")]
    used = [name for name in checks if any(name in test.__code__.co_names for test in tests)]
    assert used == checks
    assert len(tests) == len(checks) + 1


def test_policy_decides_every_case_that_the_data_holds(truth, generated):
    """No two revisions or statements of one instant, no version in two spellings, no range that opens and closes."""
    moment, compare = truth_functions(truth)
    revisions = [(x["id"], moment(x["modified"])) for x in generated.records]
    assert len(set(revisions)) == len(revisions)
    instants = [(x["ecosystem"], x["package"].lower(), moment(x["timestamp"])) for x in generated.statements]
    shared = {x for x in instants if instants.count(x) > 1}
    for key in shared:
        same = [s for s, i in zip(generated.statements, instants, strict=True) if i == key]
        assert len({s["vulnerability"] for s in same}) == len(same), f"statements of one instant: {same}"
    for a, b in itertools.combinations(sorted(truth.locks.scope), 2):
        if a[:3] == b[:3]:
            assert compare(a.ecosystem, a.version, b.version) != 0, f"{a} and {b} are the same version"
    for record in generated.records:
        for entry in record["affected"]:
            ecosystem = entry["package"]["ecosystem"].partition(":")[0]
            for events in [x["events"] for x in entry["ranges"] if x["type"] != "GIT"]:
                (opened, closed) = (
                    [
                        v
                        for event in events
                        for k, v in event.items()
                        if (k == "introduced") == wanted and v != "0"
                    ]
                    for wanted in (True, False)
                )
                fixed = [v for event in events for k, v in event.items() if k == "fixed"]
                assert all(compare(ecosystem, a, b) for a, b in itertools.product(opened, fixed))
                assert all(compare(ecosystem, a, b) for a, b in itertools.combinations(closed, 2))


def truth_functions(truth):
    """Return the functions of the verifier that read an instant and compare two versions."""
    module = sys.modules[type(truth).__module__]
    return module.moment, module.compare


DEBIAN_ORDER = "1.0~~ 1.0~~a 1.0~ 1.0 1.0-0.1 1.0-1~bpo12+1 1.0-1 1.0-1+b1 1.0-1+deb12u9 1.0-1+deb12u10 1.0-1.1 1.0a 1.0+dfsg-1 1.0.1 1.2 1.10 1:0.1"
SEMVER_ORDER = "1.0.0-0 1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0 1.0.1 1.2.0 1.10.0"
PYPI_ORDER = "1.dev0 1.0.dev456 1.0a1 1.0a2.dev456 1.0a12.dev456 1.0a12 1.0b1.dev456 1.0b2 1.0b2.post345.dev456 1.0b2.post345 1.0rc1 1.0-rc.2 1.0 1.0+abc.5 1.0+abc.7 1.0+5 1.0.post456.dev34 1.0-456 1.0.15 1.1.dev1 1!0.1"


@pytest.mark.parametrize(
    ("ecosystem", "order"), [("Debian", DEBIAN_ORDER), ("npm", SEMVER_ORDER), ("PyPI", PYPI_ORDER)]
)
def test_versions_are_ordered_as_their_specifications_say(ecosystem, order, truth):
    """Oracle and verifier both put a published order of versions into that order."""
    _, compare = truth_functions(truth)
    key = oracle_with().key
    versions = list(enumerate(order.split()))
    for (i, a), (j, b) in itertools.product(versions, versions):
        wanted = (i > j) - (i < j)
        given = (key(ecosystem, a) > key(ecosystem, b)) - (key(ecosystem, a) < key(ecosystem, b))
        assert (compare(ecosystem, a, b), given) == (wanted, wanted), f"{a} and {b}"


def test_scores_agree_for_every_vector(truth):
    """Oracle (floats) and verifier (decimals) give the same base score for all 2,592 vectors."""
    ours = oracle_with().base_score
    theirs = sys.modules[type(truth).__module__].base_score
    metrics = (
        ("AV", "NALP"),
        ("AC", "LH"),
        ("PR", "NLH"),
        ("UI", "NR"),
        ("S", "UC"),
        *((x, "HLN") for x in "CIA"),
    )
    for values in itertools.product(*(x for _, x in metrics)):
        vector = "CVSS:3.1/" + "/".join(f"{k}:{v}" for (k, _), v in zip(metrics, values, strict=True))
        assert f"{ours(vector):.1f}" == str(theirs(vector)), vector


@pytest.mark.parametrize(
    ("vector", "score"),
    [
        ("AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", "9.8"),
        ("AV:N/AC:L/PR:N/UI:N/S:C/C:H/I:H/A:H", "10.0"),
        ("AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N", "6.1"),
        ("AV:N/AC:L/PR:L/UI:N/S:C/C:L/I:L/A:N", "6.4"),
        ("AV:L/AC:L/PR:L/UI:N/S:U/C:H/I:H/A:H", "7.8"),
        ("AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:N", "0.0"),
    ],
)
def test_scores_are_those_of_the_specification(vector, score, truth):
    """Well-known vectors have their published scores."""
    assert str(sys.modules[type(truth).__module__].base_score(f"CVSS:3.1/{vector}")) == score


# A careless solution each: what it does, how the oracle's source becomes it, checks that must fail.
CARELESS = {
    "retired service reviewed": (
        [('if x["state"] != "retired"]', "]")],
        {"components", "findings"},
    ),
    "package name from the folder": (
        [
            (
                'name = entry.get("name") or where.rpartition("node_modules/")[2]\n        component',
                'name = where.rpartition("node_modules/")[2]\n        component',
            )
        ],
        {"findings"},
    ),
    "nested copies overlooked": (
        [('if "node_modules/" not in where', 'if where.count("node_modules/") != 1')],
        {"components", "findings"},
    ),
    "dev as soon as one copy is": (
        [('entry["version"], "dev")', 'entry["version"], "dev" if entry.get("dev") else "runtime")'),
         ('if not entry.get("dev"):\n            component.scope = "runtime"',
          'if entry.get("dev"):\n            component.scope = "dev"')],
        {"scope_and_reachability"},
    ),
    "markers not read": (
        [("if not marker_holds(row", "if not row and marker_holds(row")],
        {"components", "findings"},
    ),
    "python versions compared as text": (
        [('return pypi_holds(operator + value, "3.11")', 'return eval(f"\'3.11\' {operator} value")')],
        {"components", "findings"},
    ),
    "removed Debian packages counted": (
        [('if fields.get("Status") != "install ok installed":', 'if "Package" not in fields:')],
        {"components", "findings"},
    ),
    "binary names for source names": (
        [('if "Source" in fields:', "if False:")],
        {"components", "findings"},
    ),
    "binary version for source version": (
        [("version = given or version", "version = version")],
        {"findings"},
    ),
    "pre-releases compared as text": (
        [('(0, int(x), "") if x.isdigit() else (1, 0, x) for x in pre', '(1, 0, x) for x in pre')],
        {"findings"},
    ),
    "pre-releases below no fix": (
        [("    inside = False\n    # A", '    if ecosystem == "npm" and not found[1]:\n        return False\n    inside = False\n    # A')],
        {"findings"},
    ),
    "post releases not told from their release": (
        [("after = int(post_a or post_b or 0) if has_post else -1", "after = -1")],
        {"findings", "targets"},
    ),
    "epochs dropped": ([("return (int(epoch or 0), tuple", "return (0, tuple")], {"findings"}),
    "local versions dropped": ([("bool(local), tuple(tail))", "False, ())")], {"findings"}),
    "Debian tilde like any other character": ([('-1 if c == "~" else ', "")], {"targets"}),
    "Debian revisions compared as text": (
        [("debian_part(upstream), debian_part(revision))", "debian_part(upstream), revision)")],
        {"findings", "targets"},
    ),
    "versions matched as spelled": (
        [("key(component.ecosystem, x) == component.key for x in versions", "x == component.version for x in versions")],
        {"status"},
    ),
    "package names matched as spelled": (
        [('.lower() if ecosystem == "PyPI" else name', ' if ecosystem == "PyPI" else name')],
        {"findings"},
    ),
    "first revision kept": (
        [('instant(record["modified"]) > instant(held["modified"])', "False")],
        {"findings", "scores"},
    ),
    "revisions compared as text": (
        [('instant(record["modified"]) > instant(held["modified"])', 'record["modified"] > held["modified"]')],
        {"findings"},
    ),
    "all revisions used": (
        [('latest[record["id"]] = record', 'latest[record["id"], len(latest)] = record'),
         ('latest.get(record["id"])', "None")],
        {"findings"},
    ),
    "withdrawn records used": ([('if record.get("withdrawn"):', "if False:")], {"vulnerabilities", "findings"}),
    "withdrawn revision passed over for an earlier one": (
        [('held = latest.get(record["id"])\n', 'held = latest.get(record["id"])\n        if record.get("withdrawn"):\n            continue\n')],
        {"vulnerabilities"},
    ),
    "no chain of aliases": (
        [("joined = [x for x in groups if x.names & names]", 'joined = [x for x in groups if record["id"] in x.names]')],
        {"vulnerabilities", "findings"},
    ),
    "lowest CVE by text": ([("key=lambda x: [int(n) for n in x.split(\"-\")[1:]]", "key=str")], {"vulnerabilities"}),
    "last_affected taken for fixed": (
        [('elif kind == "fixed" or mark < (1, found):', "else:")],
        {"findings"},
    ),
    "last_affected overlooked": ([('elif kind == "fixed" or mark < (1, found):', 'elif kind == "fixed":')], {"findings"}),
    "events as they stand": (
        [('in sorted(marks, key=lambda x: (x[0], x[1] == "last_affected")):', "in marks:")],
        {"findings"},
    ),
    "listed versions overlooked": ([("if any(key(ecosystem, x) == found for x in entry", "if any(False for x in entry")], {"findings"}),
    "other Debian releases taken in": (
        [('if ecosystem == "Debian" and distribution != "12":', "if False:")],
        {"findings"},
    ),
    "widest range of all databases": (
        [("for x in entries[min(entries)])", "for e in entries.values() for x in e)")],
        {"findings"},
    ),
    "best database of the group, whatever package it judged": (
        [("for x in entries[min(entries)])", "for x in entries[min(map(database, self.records))])")],
        {"findings"},
    ),
    "databases all equal for the score": (
        [("scores[database(record)].append", "scores[0].append")],
        {"scores"},
    ),
    "changed scope not scored": ([('changed = metric["S"] == "C"', "changed = False")], {"scores", "priorities"}),
    "score rounded to the nearest": (
        [("else (whole // 10000 + 1) / 10", "else round(whole / 100000, 1)")],
        {"scores"},
    ),
    "vector of CVSS 4 taken for lack of a score": (
        [('return "unrated"', 'return "medium"')],
        {"scores", "priorities"},
    ),
    "exploited after the review": ([("if name in group.names and day <= REVIEW", "if name in group.names")], {"vulnerabilities"}),
    "exploited by id only": (
        [("if name in group.names and day", "if name == group.id and day")],
        {"vulnerabilities", "priorities"},
    ),
    "notes of any age": ([("REVIEW - timedelta(days=90) <= day <= REVIEW", "day <= REVIEW")], {"scope_and_reachability", "status"}),
    "notes a day too short": (
        [("REVIEW - timedelta(days=90) <= day <= REVIEW", "REVIEW - timedelta(days=90) < day <= REVIEW")],
        {"scope_and_reachability", "status"},
    ),
    "notes of other versions": (
        [('and key(component.ecosystem, note["version"]) == component.key', "")],
        {"scope_and_reachability"},
    ),
    "unreachable beats reachable": (
        [('note["verdict"] == "reachable", note', 'note["verdict"] != "reachable", note')],
        {"scope_and_reachability"},
    ),
    "anybody may speak": (
        [('statement["issuer"] not in (PSIRT, self.owner[component.service])', "False")],
        {"status"},
    ),
    "owners speak for all services": (
        [("(PSIRT, self.owner[component.service])", "(PSIRT, *self.owner.values())")],
        {"status"},
    ),
    "statements never expire": ([("(expires and date.fromisoformat(expires) < REVIEW)", "False")], {"status"}),
    "statements expire on their last day": ([("date.fromisoformat(expires) < REVIEW", "date.fromisoformat(expires) <= REVIEW")], {"status"}),
    "a fix of no version": ([('if statement["status"] == "fixed" and not versions:', "if False:")], {"status"}),
    "no justification asked for": ([("if not reason:", "if False:")], {"status"}),
    "execute path without a note": (
        [('and finding.reachability != "unreachable":', "and False:")],
        {"status"},
    ),
    "any suppressing statement suffices": (
        [("latest = max(deciding)[1] if deciding", 'latest = min(deciding, key=lambda x: x[1] not in ("not_affected", "fixed"))[1] if deciding')],
        {"status"},
    ),
    "services of a statement overlooked": ([("or (services and component.service not in services)", "")], {"status"}),
    "vulnerability by its id only": (
        [('statement["vulnerability"] not in finding.vulnerability.names', 'statement["vulnerability"] != finding.vulnerability.id')],
        {"status"},
    ),
    "dates by the local day": (
        [("return instant(text).astimezone(UTC).date()", "return instant(text).date()")],
        {"vulnerabilities", "due_dates", "status"},
    ),
    "priority kept in bounds at the end": (
        [("level = min(max(level + step, 1), 4)\n", "level += step\n        level = min(max(level, 1), 4)\n")],
        {"priorities"},
    ),
    "isolated services like the others": ([('"isolated": 1}', '"isolated": 0}')], {"priorities", "due_dates"}),
    "exploited ones graded down": (
        [("            return 1\n", "            pass\n"),
         ("        steps = [{", "        level = 1 if self.exploited_since(finding.vulnerability) else level\n        steps = [{")],
        {"priorities"},
    ),
    "clock of exploited ones from publication": ([("start = max(start, since)", "pass")], {"due_dates"}),
    "freezes overlooked": ([("if freeze is None:", "if True:")], {"due_dates"}),
    "freezes looked at once": (
        [("due = freeze[0] - timedelta(days=1)", "return freeze[0] - timedelta(days=1)")],
        {"due_dates"},
    ),
    "yanked targets": ([('and not row.get("yanked")', "")], {"targets"}),
    "targets from backports": (
        [('in ("bookworm", "bookworm-security")', 'in ("bookworm", "bookworm-security", "bookworm-backports")')],
        {"targets"},
    ),
    "targets too young": ([("COOLING = 7", "COOLING = 0")], {"targets"}),
    "targets a day too old": ([("COOLING = 7", "COOLING = 8")], {"targets"}),
    "no haste for exploited ones": ([("days=0 if urgent else COOLING", "days=COOLING")], {"targets"}),
    "pre-releases as targets": (
        [("and (is_prerelease(ecosystem, component.version) or not is_prerelease(ecosystem, version))", "")],
        {"targets"},
    ),
    "never a pre-release as target": (
        [("(is_prerelease(ecosystem, component.version) or not is_prerelease(ecosystem, version))",
          '(ecosystem == "Debian" or not is_prerelease(ecosystem, version))')],
        {"targets"},
    ),
    "targets clear of the own findings only": (
        [("for x in self.groups)\n            ):", "for x in [f.vulnerability for f in component.findings])\n            ):")],
        {"targets"},
    ),
    "targets with suppressed vulnerabilities": (
        [("for x in self.groups)\n            ):", "for x in set(self.groups) - {f.vulnerability for f in component.findings if f.status == 'suppressed'})\n            ):")],
        {"targets"},
    ),
    "newest instead of the lowest": ([("return min(usable", "return max(usable")], {"targets", "blocked_by"}),
    "dependents of any copy": (
        [("got = resolve(entries, where, wanted)", 'got = f"node_modules/{wanted}"')],
        {"blocked_by"},
    ),
    "peers not asked": ([('"optionalDependencies", "peerDependencies")', '"optionalDependencies")')], {"blocked_by"}),
    "project and workspaces not asked": (
        [('if entry.get("link"):\n            continue\n        name', 'if "node_modules" not in where or entry.get("link"):\n            continue\n        name')],
        {"blocked_by"},
    ),
    "caret below 1.0 like above": (
        [("elif minor:\n        high = f\"0.{minor + 1}.0-0\"", "elif minor:\n        high = \"1.0.0-0\"")],
        {"blocked_by"},
    ),
    "first alternative only": ([('for side in wanted.split("||"))', 'for side in wanted.split("||")[:1])')], {"blocked_by"}),
    "aliased ranges not understood": (
        [('wanted = wanted.rpartition("@")[2]', "return True")],
        {"blocked_by"},
    ),
    "exclusions of PyPI ranges overlooked": (
        [("return found[:5] != low[:5] if not low[5] else found != low", "return True")],
        {"blocked_by"},
    ),
    "compatible release as a lower bound": (
        [("return found >= low and release(found, length) == release(low, length)", "return found >= low")],
        {"blocked_by"},
    ),
    "dependencies whose markers do not hold": (
        [("if target and marker_holds(spec.get(\"markers\", 'sys_platform == \"linux\"')):", "if target:")],
        {"blocked_by"},
    ),
    "due today taken for overdue": ([("if x.due < REVIEW]", "if x.due <= REVIEW]")], {"gates"}),
    "holds without a target overlooked": (
        [("x.priority == 1 and tuple(identity(x.component).values()) in stuck for x in opened", "False for x in opened")],
        {"gates"},
    ),
    "conditional only when overdue": ([("if any(x.due <= REVIEW + timedelta(days=14) for x in opened):", "if overdue:")], {"gates"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CARELESS)
def test_careless_solution_fails(name, verifier, truth):
    """Each trap bites: the reference solution with one plausible mistake fails the checks named for it."""
    changes, expected = CARELESS[name]
    assert expected <= failing(verifier, truth, solve_eat(changes))


def edit(path, value):
    """Return a change that sets the value at a path of keys and indices."""

    def change(doc):
        functools.reduce(lambda node, key: node[key], path[:-1], doc)[path[-1]] = value

    return change


def swap_first_two(section):
    """Return a change that swaps the first two items of a section."""

    def change(doc):
        doc[section][:2] = reversed(doc[section][:2])

    return change


TAMPERED = {
    "nothing done": (lambda doc: [doc[key].clear() for key in doc if key != "review_date"], "findings"),
    "a finding left out": (lambda doc: doc["findings"].pop(), "findings"),
    "a finding twice": (lambda doc: doc["findings"].insert(0, doc["findings"][0]), "order"),
    "an upgrade left out": (lambda doc: doc["upgrades"].pop(), "targets"),
    "a service left out": (lambda doc: doc["services"].pop(), "components"),
    "a vulnerability left out": (lambda doc: doc["vulnerabilities"].pop(), "vulnerabilities"),
    "findings out of order": (swap_first_two("findings"), "order"),
    "services out of order": (swap_first_two("services"), "order"),
    "an unknown package": (edit(["findings", 0, "package"], "a"), "findings"),
    "a wrong total": (edit(["services", 0, "components"], 1), "components"),
    "a wrong gate": (edit(["services", 0, "gate"], "pass"), "gates"),
    "a wrong target": (edit(["upgrades", 0, "target"], "99.0.0"), "targets"),
    "a blocker made up": (edit(["upgrades", 0, "blocked_by"], ["a@1"]), "blocked_by"),
    "the same alias twice": (edit(["vulnerabilities", 0, "aliases"], ["a", "a"]), "order"),
    "a wrong score": (edit(["vulnerabilities", 0, "score"], "0.1"), "scores"),
    "a number for a score": (edit(["vulnerabilities", 0, "score"], 7.5), "shape"),
    "a suppressed finding with a priority": (edit(["findings", -1, "status"], "suppressed"), "shape"),
    "an open finding without a date": (edit(["findings", -1, "due"], None), "shape"),
    "a date that is none": (edit(["upgrades", 0, "due"], "2025-02-30"), "shape"),
    "other digits": (edit(["upgrades", 0, "due"], "2025-0\u0669-01"), "shape"),
    "true for a count": (edit(["services", 0, "open"], True), "shape"),
    "a list for a word": (edit(["services", 0, "gate"], ["hold"]), "shape"),
    "a missing section": (lambda doc: doc.pop("upgrades"), "shape"),
    "a section that is no list": (edit(["upgrades"], {}), "shape"),
    "an extra key": (edit(["findings", 0, "note"], ""), "shape"),
    "another date": (edit(["review_date"], "2025-09-01"), "shape"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_tampered_result_fails(name, verifier, truth, solved):
    """A right result with one thing changed fails the check for that thing."""
    change, expected = TAMPERED[name]
    doc = copy.deepcopy(solved)
    change(doc)
    assert expected in failing(verifier, truth, doc)


def test_every_check_is_bitten(verifier):
    """No check of the verifier is without a wrong solution that it alone or with others rejects."""
    bitten = {check for _, checks in CARELESS.values() for check in checks}
    bitten |= {check for _, check in TAMPERED.values()}
    assert {f"check_{name}" for name in bitten} == {x for x in vars(verifier) if x.startswith("check_")}


@pytest.mark.parametrize("top", [None, [], "text", 3, {}])
def test_other_json_is_refused_in_words(top, verifier):
    """JSON that is no object of the right keys is a finding of the shape check, not an exception."""
    assert all(isinstance(problem, str) for problem in verifier.check_shape(top))
    assert verifier.check_shape(top)


UNREADABLE = {
    "missing": (lambda path: None, "cannot be opened"),
    "link": (lambda path: path.symlink_to(EAT_TASK / "task.md"), "cannot be opened"),
    "folder": (lambda path: path.mkdir(), "not a regular file"),
    "pipe": (os.mkfifo, "not a regular file"),
    "huge": (lambda path: path.write_bytes(b" " * 2_000_001), "larger than"),
    "binary": (lambda path: path.write_bytes(b"\xff\xfe{}"), "not UTF-8"),
    "empty": (lambda path: path.write_bytes(b""), "not valid JSON"),
    "cut short": (lambda path: path.write_text('{"findings": '), "not valid JSON"),
    "deep": (lambda path: path.write_text("[" * 200_000), "not valid JSON"),
    "long number": (lambda path: path.write_text("9" * 10_000), "not valid JSON"),
    "NaN": (lambda path: path.write_text('{"findings": NaN}'), "not JSON"),
    "key twice": (lambda path: path.write_text('{"findings": 1, "findings": 2}'), "twice"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_result_fails_in_words(name, verifier, tmp_path):
    """Whatever stands where the result should be, the verifier fails with one clear sentence."""
    make, words = UNREADABLE[name]
    path = tmp_path / "triage.json"
    make(path)
    with pytest.raises(verifier.UnusableError, match=words):
        verifier.read_result(path)


def test_image_holds_inputs_and_policy_only():
    """Neither the generator nor the verifier nor the oracle is in the build context."""
    found = set(tree(EAT_TASK / "environment"))
    inputs = {f"estate/{path}" for path in tree(EAT_TASK / "verifier" / "pristine")}
    assert found == {"Dockerfile", "estate/policy.md", *inputs}


def test_prompt_and_policy_name_no_package_of_the_estate(generated):
    """Neither text gives an example out of the data that the checks compare."""
    text = (EAT_TASK / "task.md").read_text() + (
        EAT_TASK / "environment" / "estate" / "policy.md"
    ).read_text()
    assert not [name for _, name in generated.histories if name in text]
    assert not [record["id"] for record in generated.records if record["id"] in text]


def test_scaffold_files_are_those_of_the_template():
    """The scripts that every task shares are the template's, byte for byte."""
    template = EAT_TASK.parents[1] / "template" / "task" / "verifier" / "test.sh"
    assert (EAT_TASK / "verifier" / "test.sh").read_bytes() == template.read_bytes()
