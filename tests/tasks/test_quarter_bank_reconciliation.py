"""The task `quarter-bank-reconciliation` outside Docker: its data, its checks and the mistakes they catch."""

import copy
import functools
import json
import os
import sys
import types
from pathlib import Path

import pytest
import task_module

QBR_TASK = Path(__file__).resolve().parents[2] / "tasks" / "quarter-bank-reconciliation"
load_qbr = functools.partial(task_module.load, QBR_TASK)


@pytest.fixture(scope="module")
def verifier():
    """The verifier's checks as a module."""
    return load_qbr("verifier/test_outputs.py", "qbr_test_outputs")


@pytest.fixture(scope="module")
def books(verifier):
    """What the verifier recomputes from the pristine inputs; never changed in place."""
    return verifier.recompute.read_books(QBR_TASK / "verifier" / "inputs")


@pytest.fixture(scope="module")
def generated():
    """The generator's data before it is written to files."""
    generated = load_qbr("generator/generate.py", "qbr_generate").Books()
    generated.build()
    return generated


def solve_qbr(out, changes=()):
    """Run the reference solution, its source changed by (old, new) pairs, and return its result."""
    source = (QBR_TASK / "oracle" / "reconcile.py").read_text()
    for old, new in changes:
        assert source.count(old) == 1, f"`{old}` occurs {source.count(old)} times in the oracle"
        source = source.replace(old, new)
    module = types.ModuleType("qbr_reconcile")
    sys.modules[module.__name__] = module
    exec(compile(source, "reconcile.py", "exec"), module.__dict__)
    argv, sys.argv = sys.argv, ["reconcile.py", "--app", str(QBR_TASK / "environment"), "--out", str(out)]
    try:
        module.main()
    finally:
        sys.argv = argv
    return json.loads(out.read_text())


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """The reference solution's result; never changed in place."""
    return solve_qbr(tmp_path_factory.mktemp("qbr") / "result.json")


def failing(verifier, books, doc):
    """Return the names of the checks that find something in `doc`."""
    if verifier.check_shape(doc):
        return {"shape"}
    return {
        name.removeprefix("check_")
        for name, check in vars(verifier).items()
        if name.startswith("check_") and (check(doc) if name in ALONE else check(doc, books))
    }


ALONE = {"check_shape", "check_order"}


def test_committed_data_is_what_the_generator_writes(generated):
    """The image's data and the verifier's pristine copy are both the generator's output, byte for byte."""
    for folder in ("environment/data", "verifier/inputs"):
        found = {path.name: path.read_bytes() for path in (QBR_TASK / folder).iterdir()}
        assert found == generated.files()


def test_verifier_reaches_what_the_generator_meant(books, generated):
    """The verifier concludes from the files alone what the generator meant each item to be."""
    assert {m.lines + m.entries: m.rule for m in books.matches} == generated.meant.matches
    assert books.line_classes == generated.meant.lines
    assert books.entry_classes == generated.meant.entries


def test_oracle_passes_every_check(verifier, books, solved):
    """The reference solution, written apart from the verifier, passes all of its checks."""
    assert failing(verifier, books, solved) == set()


def test_every_check_has_a_test_in_the_verifier(verifier):
    """Pytest collects every check, and besides them only the reading."""
    checks = [name for name in vars(verifier) if name.startswith("check_")]
    tests = [value for name, value in vars(verifier).items() if name.startswith("test_")]
    used = [name for name in checks if any(name in test.__code__.co_names for test in tests)]
    assert used == checks
    assert len(tests) == len(checks) + 1


# Lines of the oracle that more than one careless solution changes.
NAMES = 'return reference != "" and squeeze(reference) in squeeze(self.text)'
CARRIED = 'row["entry_id"] in carried'
FOUND = 'found[cell["Umsatz-ID"]] ='
PAIR = "if other and other.amount + entry.amount == 0:"
CANCELS = "if linked and line.amount + other_line.amount == 0:"
WINDOW = "and -3 <= (line.booked - entry.posted).days <= 12"
DISCOUNT = 'line.amount == cents(entry.amount * Decimal("0.98"))'
NEARBY = "if line.amount == entry.amount and abs((line.booked - entry.posted).days) <= 3"
JUNE_21 = "entry.posted > END - timedelta(days=10)"
SKIPPED = ('raise SystemExit(f"cannot read :61:{value}")', "continue")
NO_PROOF = ("if bank_closing - ledger_closing != proof:", "if False:")

LINE_BY_LINE = """
        every = self.open_lines()
        for line in every:
            self.open_lines = lambda line=line: [line] if line.state == "open" else []
            self.exact()
            self.batch()
            self.collective()
            self.deduction()
        del self.open_lines
        self.split()
        self.amount_only()
"""
STEP_BY_STEP = """
        self.exact()
        self.batch()
        self.collective()
        self.split()
        self.deduction()
        self.amount_only()
"""
CREDIT_NOTES = """
            members = self.named(line)
            if len(members) >= 2"""
NO_CREDIT_NOTES = """
            members = [e for e in self.named(line) if e.amount * line.amount > 0]
            if len(members) >= 2"""
LEGS = """
        for match in account.matches:
            for entry in match.entries:
                if entry.doc_ref"""
LEGS_UNDER_WAY = """
        way = [Line(id="", account="1820", booked=END, amount=e.amount, kind="", partner="", text="",
                    charge=ZERO) for e in account.open_entries()]
        under_way = [Match(account=account.number, rule="", lines=[x], entries=[e])
                     for x, e in zip(way, account.open_entries())]
        for match in account.matches + under_way:
            for entry in match.entries:
                if entry.doc_ref"""
ENTRIES = """
    opening: dict[str, Decimal] = {}
    entries = []"""
ENTRIES_ONCE = """
    opening = {}
    class Once(list):
        def append(self, new):
            if not new.doc_ref or all((x.doc_ref, x.amount) != (new.doc_ref, new.amount) for x in self):
                super().append(new)
    entries = Once()"""

JULY_REVERSALS = """
    with export.open(encoding="utf-8-sig") as again:
        late = {row["reverses"] for row in csv.DictReader(again) if row["posting_date"] > "2025-06-30"}
    for entry in entries:
        if entry.id in late:
            entry.state = "reversed"
    return opening, entries"""

# A careless solution each: what it does, how the oracle's source becomes it, checks that must fail.
CARELESS = {
    "value date for booking date on 1810": (
        [('cell["Buchungstag"]', 'cell["Valuta"]')],
        {"lines_covered", "accounts"},
    ),
    "value date for booking date on 1820": (
        [("if parts[2]:", "if False:")],
        {"lines_covered", "exchange", "accounts"},
    ),
    "overlapping downloads counted twice": (
        [(FOUND, 'found[cell["Umsatz-ID"] + path.name] =')],
        {"lines_covered"},
    ),
    "lines that look alike taken for one": (
        [(FOUND, "found[tuple(row[1:7])] =")],
        {"lines_covered", "accounts"},
    ),
    "RC and RD read by the last letter": (
        [('in ("C", "RD")', 'in ("C", "RC")')],
        {"amounts", "line_classes", "accounts"},
    ),
    "lines without a booking date skipped": (
        [(r"(\d{4})?(RC", r"(\d{4})(RC"), SKIPPED, NO_PROOF],
        {"lines_covered", "accounts"},
    ),
    "amounts without decimals skipped": (
        [(r"([\d,]+)N", r"(\d+,\d\d)N"), SKIPPED, NO_PROOF],
        {"lines_covered", "accounts"},
    ),
    "reversal of july taken for one of the quarter": (
        [("\n    return opening, entries", JULY_REVERSALS)],
        {"entry_classes"},
    ),
    "continuation lines joined with a blank": (
        [("fields[-1][1] += row", 'fields[-1][1] += " " + row')],
        {"deductions"},
    ),
    "march entries all taken in": (
        [(CARRIED, "posted < START"), NO_PROOF],
        {"entries_covered", "entry_classes"},
    ),
    "open items left out": (
        [(CARRIED, "False"), NO_PROOF],
        {"entries_covered", "line_classes"},
    ),
    "booked in july taken in": (
        [("if START <= line.booked <= END]", "if START <= line.booked]")],
        {"lines_covered", "accounts"},
    ),
    "posted in july taken in": (
        [("START <= posted <= END", "START <= posted")],
        {"entries_covered", "entry_classes", "accounts"},
    ),
    "opening balance taken for an entry": (
        [("= amount\n            elif row", "= amount\n            if row")],
        {"entries_covered"},
    ),
    "negative debits and credits read without their sign": (
        [
            ('Decimal(row["debit"] or "0")', 'abs(Decimal(row["debit"] or "0"))'),
            ('Decimal(row["credit"] or "0")', 'abs(Decimal(row["credit"] or "0"))'),
        ],
        {"amounts", "entry_classes"},
    ),
    "reversed entries left in": ([(PAIR, "if False:")], {"groups", "entry_classes"}),
    "partial reversal taken for a pair": ([(PAIR, "if other:")], {"groups", "entry_classes"}),
    "cancelled bank lines left in": ([(CANCELS, "if False:")], {"exact", "line_classes"}),
    "returned debit with costs taken for a pair": ([(CANCELS, "if linked:")], {"exact", "line_classes"}),
    "reference looked for as written": (
        [(NAMES, 'return reference != "" and reference in self.text')],
        {"exact", "groups", "split"},
    ),
    "empty reference found everywhere": (
        [(NAMES, "return squeeze(reference) in squeeze(self.text)")],
        {"amount_only", "line_classes"},
    ),
    "exact match without a date limit": ([(WINDOW, "")], {"exact"}),
    "exact match one day too generous": (
        [(WINDOW, "and -4 <= (line.booked - entry.posted).days <= 13")],
        {"exact"},
    ),
    "exact match one day too strict": (
        [(WINDOW, "and -3 < (line.booked - entry.posted).days < 12")],
        {"exact"},
    ),
    "first entry instead of the nearest": (
        [("(abs((line.booked - e.posted).days), e.id)", "(e.posted, e.id)")],
        {"exact", "entry_classes"},
    ),
    "second posting dropped before matching": (
        [(ENTRIES, ENTRIES_ONCE)],
        {"entries_covered", "entry_classes"},
    ),
    "charges ignored": (
        [
            ("if charge else ZERO,\n                    )", "if False else ZERO)"),
            ("if charge else ZERO,\n                    mark", "if False else ZERO, mark"),
        ],
        {"groups", "deductions"},
    ),
    "any charge accepted": (
        [
            (
                "if line.names(batch_id) and line.amount == total(members) - line.charge:",
                "if line.names(batch_id):",
            )
        ],
        {"groups", "line_classes"},
    ),
    "collective without its credit notes": ([(CREDIT_NOTES, NO_CREDIT_NOTES)], {"groups"}),
    "banker's rounding": ([("rounding=ROUND_HALF_UP", 'rounding="ROUND_HALF_EVEN"')], {"deductions"}),
    "cash discount by floats": (
        [(DISCOUNT, "line.amount == Decimal(str(round(float(entry.amount) * 0.98, 2)))")],
        {"deductions"},
    ),
    "cash discount taken late": ([("days <= 14", "days <= 15")], {"deductions", "entry_classes"}),
    "cash discount cut a day short": ([("days <= 14", "days < 14")], {"deductions"}),
    "cash discount of any size": (
        [(DISCOUNT, 'line.amount >= entry.amount * Decimal("0.9")')],
        {"deductions"},
    ),
    "by amount, whoever comes first": (
        [("== sum(p[1] is entry for p in pairs) == 1:", "and line.state == entry.state == 'open':")],
        {"amount_only", "line_classes", "entry_classes"},
    ),
    "by amount, days not limited": ([(NEARBY, "if line.amount == entry.amount")], {"amount_only"}),
    "by amount only without a known reference": (
        [(NEARBY, NEARBY + " and not any(line.names(e.doc_ref) for e in self.entries)")],
        {"amount_only"},
    ),
    "by amount before all else": (
        [(STEP_BY_STEP, "\n        self.amount_only()" + STEP_BY_STEP)],
        {"exact", "amount_only"},
    ),
    "every step for one line, then the next line": ([(STEP_BY_STEP, LINE_BY_LINE)], {"groups"}),
    "monthly rate taken for a double payment": (
        [("abs((x.booked - line.booked).days) <= 7", "True")],
        {"line_classes"},
    ),
    "monthly rate taken for a double posting": (
        [("abs((other.posted - entry.posted).days) <= 7", "True")],
        {"entry_classes"},
    ),
    "double payments not looked for": (
        [('return "double_payment"', 'return "not_in_ledger"')],
        {"line_classes"},
    ),
    "fees not told from other lines": (
        [('if line.kind in ("ENTGELT", "NCHG"):', "if False:")],
        {"line_classes"},
    ),
    "in transit from 20 June": (
        [(JUNE_21, "entry.posted >= END - timedelta(days=10)")],
        {"entry_classes"},
    ),
    "in transit from 22 June": (
        [(JUNE_21, "entry.posted > END - timedelta(days=9)")],
        {"entry_classes"},
    ),
    "next rate where one is missing": (
        [("wanted -= timedelta(days=1)", "wanted += timedelta(days=1)")],
        {"exchange", "purchases"},
    ),
    "rate of the posting date": (
        [("ZERO), line.booked)", "ZERO), match.entries[0].posted)")],
        {"exchange", "accounts"},
    ),
    "multiplied by the rate": (
        [("usd / Decimal(self.table", "usd * Decimal(self.table")],
        {"exchange", "purchases"},
    ),
    "charges not added back": (
        [('line.charge if match.reason == "fee" else ZERO', "ZERO")],
        {"exchange", "accounts"},
    ),
    "rounded once at the end": (
        [
            (
                "cents(usd / Decimal(self.table[self.day(booked)]))",
                "(usd / Decimal(self.table[self.day(booked)]))",
            )
        ],
        {"accounts"},
    ),
    "purchase whose dollars are under way": ([(LEGS, LEGS_UNDER_WAY)], {"purchases"}),
    "closing ledger balance with march": (
        [("if entry.posted >= START]", "]"), NO_PROOF],
        {"accounts"},
    ),
    "closing bank balance of july": (
        [
            ("    lines = [line for line", "    every = lines\n    lines = [line for line"),
            ("+ total(account.lines)", "+ total([x for x in every if x.account == account.number])"),
            NO_PROOF,
        ],
        {"accounts"},
    ),
}


@pytest.mark.parametrize("name", CARELESS)
def test_careless_solution_fails(name, verifier, books, tmp_path):
    """Each trap bites: the reference solution with one plausible mistake fails the checks named for it."""
    changes, expected = CARELESS[name]
    assert expected <= failing(verifier, books, solve_qbr(tmp_path / "result.json", changes))


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
    "nothing done": (lambda doc: [doc[key].clear() for key in doc if key != "quarter"], "lines_covered"),
    "a match left out": (lambda doc: doc["matches"].pop(), "entries_covered"),
    "a match twice": (lambda doc: doc["matches"].insert(0, doc["matches"][0]), "lines_covered"),
    "a line on the other account": (edit(["unmatched_lines", 0, "account"], "1820"), "lines_covered"),
    "an entry that does not exist": (edit(["unmatched_entries", 0, "id"], "GL-0000000"), "entries_covered"),
    "matches out of order": (swap_first_two("matches"), "order"),
    "accounts out of order": (swap_first_two("accounts"), "order"),
    "a wrong amount": (edit(["unmatched_lines", 0, "amount"], "1.00"), "amounts"),
    "a difference that is none": (edit(["matches", 0, "difference"], "0.01"), "amounts"),
    "a reason without a difference": (edit(["matches", 0, "reason"], "fee"), "amounts"),
    "a wrong margin": (edit(["usd_purchases", 0, "margin_eur"], "0.00"), "purchases"),
    "a purchase left out": (lambda doc: doc["usd_purchases"].pop(), "purchases"),
    "a purchase twice": (lambda doc: doc["usd_purchases"].append(doc["usd_purchases"][-1]), "purchases"),
    "a wrong total": (edit(["accounts", 1, "exchange_difference_eur"], "0.00"), "accounts"),
    "an exchange difference on 1810": (edit(["matches", 0, "exchange_difference_eur"], "0.00"), "exchange"),
    "an account left out": (lambda doc: doc["accounts"].pop(), "accounts"),
    "minus zero": (edit(["matches", 0, "difference"], "-0.00"), "shape"),
    "a number for an amount": (edit(["matches", 0, "difference"], 0), "shape"),
    "three decimals": (edit(["accounts", 0, "bank_opening"], "1.000"), "shape"),
    "other digits": (edit(["accounts", 0, "bank_opening"], "\u0661.\u0660\u0660"), "shape"),
    "a thousands separator": (edit(["accounts", 0, "bank_opening"], "482,113.07"), "shape"),
    "an unknown class": (edit(["unmatched_lines", 0, "class"], "other"), "shape"),
    "a list for a class": (edit(["unmatched_lines", 0, "class"], ["cancelled"]), "shape"),
    "a missing section": (lambda doc: doc.pop("accounts"), "shape"),
    "a section that is no list": (edit(["accounts"], {}), "shape"),
    "an extra key": (edit(["matches", 0, "note"], ""), "shape"),
    "a match of nothing": (edit(["matches", 0, "lines"], []), "shape"),
    "another quarter": (edit(["quarter"], "2025-Q1"), "shape"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_tampered_result_fails(name, verifier, books, solved):
    """A right result with one thing changed fails the check for that thing."""
    change, expected = TAMPERED[name]
    doc = copy.deepcopy(solved)
    change(doc)
    assert expected in failing(verifier, books, doc)


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
    "link": (lambda path: path.symlink_to(QBR_TASK / "task.md"), "cannot be opened"),
    "folder": (lambda path: path.mkdir(), "not a regular file"),
    "pipe": (os.mkfifo, "not a regular file"),
    "huge": (lambda path: path.write_bytes(b" " * 4_000_001), "larger than"),
    "binary": (lambda path: path.write_bytes(b"\xff\xfe{}"), "not UTF-8"),
    "empty": (lambda path: path.write_bytes(b""), "not valid JSON"),
    "cut short": (lambda path: path.write_text('{"quarter": '), "not valid JSON"),
    "deep": (lambda path: path.write_text("[" * 200_000), "not valid JSON"),
    "long number": (lambda path: path.write_text("9" * 10_000), "not valid JSON"),
    "NaN": (lambda path: path.write_text('{"quarter": NaN}'), "not JSON"),
    "key twice": (lambda path: path.write_text('{"quarter": "a", "quarter": "b"}'), "twice"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_result_fails_in_words(name, verifier, tmp_path):
    """Whatever stands where the result should be, the verifier fails with one clear sentence."""
    make, words = UNREADABLE[name]
    path = tmp_path / "reconciliation.json"
    make(path)
    with pytest.raises(verifier.UnusableError, match=words):
        verifier.read_result(path)


def test_image_holds_inputs_and_policy_only():
    """Neither the generator nor the verifier nor the oracle is in the build context."""
    context = QBR_TASK / "environment"
    found = {path.relative_to(context).as_posix() for path in context.rglob("*") if path.is_file()}
    inputs = {f"data/{path.name}" for path in (QBR_TASK / "verifier" / "inputs").iterdir()}
    assert found == {"Dockerfile", "docs/reconciliation-policy.md", *inputs}


def test_prompt_shows_no_figure_of_the_result(solved):
    """No amount that the checks compare stands in the prompt, but for the formats it explains."""
    prompt = (QBR_TASK / "task.md").read_text()
    amounts = {row["amount"] for key in ("unmatched_lines", "unmatched_entries") for row in solved[key]}
    amounts |= {value for row in solved["accounts"] for value in row.values() if value and "." in value}
    amounts |= {row["margin_eur"] for row in solved["usd_purchases"]}
    assert {amount for amount in amounts if f'"{amount}"' in prompt} <= {"0.00"}
