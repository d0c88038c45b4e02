"""Reference solution: read the sources, follow the policy, write the result."""

from __future__ import annotations

import argparse
import csv
import json
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

START, END = date(2025, 4, 1), date(2025, 6, 30)
CENT = Decimal("0.01")
ZERO = Decimal("0.00")


@dataclass(eq=False, kw_only=True)
class Line:
    id: str
    account: str
    booked: date
    amount: Decimal
    kind: str
    partner: str
    text: str
    charge: Decimal
    mark: str = ""
    bank_ref: str = ""
    state: str = "open"

    def names(self, reference: str) -> bool:
        return reference != "" and squeeze(reference) in squeeze(self.text)


@dataclass(eq=False, kw_only=True)
class Entry:
    id: str
    account: str
    posted: date
    amount: Decimal
    eur: Decimal
    partner: str
    doc_ref: str
    batch_id: str
    reverses: str
    state: str = "open"


@dataclass(kw_only=True)
class Match:
    account: str
    rule: str
    lines: list[Line]
    entries: list[Entry]
    reason: str | None = None

    @property
    def difference(self) -> Decimal:
        return total(self.lines) - total(self.entries)


def squeeze(text: str) -> str:
    return re.sub("[^A-Z0-9]", "", text.upper())


def total(items: list[Line] | list[Entry]) -> Decimal:
    return sum((item.amount for item in items), ZERO)


def cents(value: Decimal) -> Decimal:
    return value.quantize(CENT, rounding=ROUND_HALF_UP)


def show(value: Decimal) -> str:
    text = str(cents(value))
    return "0.00" if text == "-0.00" else text


def comma_amount(text: str) -> Decimal:
    return cents(Decimal(text.replace(".", "").replace(",", ".").rstrip(".")))


# -- sources ----------------------------------------------------------------


def read_rkb(paths: list[Path]) -> tuple[Decimal, list[Line]]:
    found: dict[str, Line] = {}
    opening = None
    for path in paths:
        with path.open(encoding="latin-1", newline="") as handle:
            columns: list[str] | None = None
            for row in csv.reader(handle, delimiter=";"):
                if row and row[0] == f"Anfangssaldo {START:%d.%m.%Y}":
                    opening = comma_amount(row[1])
                if row and row[0] == "Umsatz-ID":
                    columns = row
                elif columns and len(row) == len(columns):
                    cell = dict(zip(columns, row, strict=True))
                    charge = re.search(r"GEBUEHR\s*([\d.]+,\d\d)", cell["Verwendungszweck"])
                    found[cell["Umsatz-ID"]] = Line(
                        id=cell["Umsatz-ID"],
                        account="1810",
                        booked=datetime.strptime(cell["Buchungstag"], "%d.%m.%Y").date(),
                        amount=comma_amount(cell["Betrag"]),
                        kind=cell["Buchungstext"],
                        partner=cell["Auftraggeber/Empfänger"],
                        text=cell["Verwendungszweck"],
                        charge=comma_amount(charge[1]) if charge else ZERO,
                    )
    if opening is None:
        raise SystemExit("no opening balance on 1 April in the Rheinkreditbank files")
    return opening, list(found.values())


FIELD_61 = re.compile(r"(\d{6})(\d{4})?(RC|RD|C|D)([\d,]+)N(...)(.*?)//(.*)")


def read_hnb(path: Path) -> tuple[Decimal, list[Line]]:
    fields: list[list[str]] = []
    for row in path.read_bytes().decode("ascii").split("\r\n"):
        if tag := re.match(r":(\d\d[A-Z]?):(.*)", row):
            fields.append([tag[1], tag[2]])
        elif row == "-":
            fields.append(["-", ""])
        elif row:
            fields[-1][1] += row
    opening, lines = None, []
    page, position = "", 0
    for number, (tag_name, value) in enumerate(fields):
        if tag_name == "28C":
            page, position = value.replace("/", "-"), 0
        elif tag_name == "60F" and opening is None:
            sign = -1 if value[0] == "D" else 1
            opening = sign * comma_amount(value[10:])
        elif tag_name == "61":
            position += 1
            parts = FIELD_61.fullmatch(value)
            if parts is None or fields[number + 1][0] != "86":
                raise SystemExit(f"cannot read :61:{value}")
            text = fields[number + 1][1]
            day = datetime.strptime(parts[1], "%y%m%d").date()
            if parts[2]:
                day = date(day.year, int(parts[2][:2]), int(parts[2][2:]))
            sign = 1 if parts[3] in ("C", "RD") else -1
            charge = re.search(r"/CHGS/USD(\d+,\d*)", text)
            partner = re.search(r"/NAME/([^/]*)/", text)
            lines.append(
                Line(
                    id=f"HNB-{page}-{position:03d}",
                    account="1820",
                    booked=day,
                    amount=sign * comma_amount(parts[4]),
                    kind="N" + parts[5],
                    partner=partner[1] if partner else "",
                    text=text,
                    charge=comma_amount(charge[1]) if charge else ZERO,
                    mark=parts[3],
                    bank_ref=parts[7],
                )
            )
    if opening is None:
        raise SystemExit("no opening balance in the Harbor National Bank file")
    return opening, lines


def read_ledger(export: Path, open_items: Path) -> tuple[dict[str, Decimal], list[Entry]]:
    with open_items.open(encoding="utf-8-sig", newline="") as handle:
        carried = {row["entry_id"] for row in csv.DictReader(handle)}
    opening: dict[str, Decimal] = {}
    entries = []
    with export.open(encoding="utf-8-sig", newline="") as handle:
        for row in csv.DictReader(handle):
            amount = Decimal(row["debit"] or "0") - Decimal(row["credit"] or "0")
            posted = date.fromisoformat(row["posting_date"])
            if row["entry_id"].startswith("EB-"):
                opening[row["account"]] = amount
            elif row["account"] in ("1810", "1820") and (
                START <= posted <= END or row["entry_id"] in carried
            ):
                entries.append(
                    Entry(
                        id=row["entry_id"],
                        account=row["account"],
                        posted=posted,
                        amount=amount,
                        eur=Decimal(row["eur_amount"]),
                        partner=row["partner"],
                        doc_ref=row["doc_ref"],
                        batch_id=row["batch_id"],
                        reverses=row["reverses"],
                    )
                )
    return opening, entries


class Rates:
    def __init__(self, path: Path) -> None:
        with path.open(encoding="utf-8", newline="") as handle:
            self.table = {
                date.fromisoformat(row["date"]): row["usd_per_eur"]
                for row in csv.DictReader(handle)
                if row["usd_per_eur"]
            }

    def day(self, wanted: date) -> date:
        while wanted not in self.table:
            wanted -= timedelta(days=1)
        return wanted

    def eur(self, usd: Decimal, booked: date) -> Decimal:
        return cents(usd / Decimal(self.table[self.day(booked)]))


# -- matching ---------------------------------------------------------------


class Account:
    def __init__(self, number: str, lines: list[Line], entries: list[Entry]) -> None:
        self.number = number
        self.lines = sorted((x for x in lines if x.account == number), key=lambda x: (x.booked, x.id))
        self.entries = sorted((x for x in entries if x.account == number), key=lambda x: (x.posted, x.id))
        self.matches: list[Match] = []

    def open_lines(self) -> list[Line]:
        return [line for line in self.lines if line.state == "open"]

    def open_entries(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.state == "open"]

    def named(self, line: Line) -> list[Entry]:
        return [entry for entry in self.open_entries() if line.names(entry.doc_ref)]

    def take(self, rule: str, lines: list[Line], entries: list[Entry], reason: str | None = None) -> None:
        self.matches.append(
            Match(account=self.number, rule=rule, lines=lines, entries=entries, reason=reason)
        )
        for item in (*lines, *entries):
            item.state = "matched"

    def set_aside(self) -> None:
        by_id = {entry.id: entry for entry in self.entries}
        for entry in self.entries:
            other = by_id.get(entry.reverses)
            if other and other.amount + entry.amount == 0:
                entry.state = other.state = "reversed"
        for line in self.lines:
            for other_line in self.lines:
                if self.number == "1810":
                    said = re.search(r"ZU (\S+)", line.text)
                    linked = line.kind == "RUECKLASTSCHRIFT" and said is not None and said[1] == other_line.id
                else:
                    linked = (
                        line.mark in ("RC", "RD")
                        and other_line.mark in ("C", "D")
                        and line.bank_ref == other_line.bank_ref
                    )
                if linked and line.amount + other_line.amount == 0:
                    line.state = other_line.state = "cancelled"

    def run(self) -> None:
        self.set_aside()
        self.exact()
        self.batch()
        self.collective()
        self.split()
        self.deduction()
        self.amount_only()

    def exact(self) -> None:
        for line in self.open_lines():
            fits = [
                entry
                for entry in self.named(line)
                if entry.amount == line.amount and -3 <= (line.booked - entry.posted).days <= 12
            ]
            if fits:
                best = min(fits, key=lambda e: (abs((line.booked - e.posted).days), e.id))
                self.take("exact", [line], [best])

    def batch(self) -> None:
        for line in self.open_lines():
            for batch_id in sorted({entry.batch_id for entry in self.open_entries()}):
                members = [e for e in self.open_entries() if e.batch_id == batch_id]
                if line.names(batch_id) and line.amount == total(members) - line.charge:
                    self.take("batch", [line], members, "fee" if line.charge else None)
                    break

    def collective(self) -> None:
        for line in self.open_lines():
            members = self.named(line)
            if len(members) >= 2 and line.amount == total(members) - line.charge:
                self.take("collective", [line], members, "fee" if line.charge else None)

    def split(self) -> None:
        for entry in self.open_entries():
            parts = [line for line in self.open_lines() if line.names(entry.doc_ref)]
            if len(parts) >= 2 and total(parts) == entry.amount:
                self.take("split", parts, [entry])

    def deduction(self) -> None:
        for line in self.open_lines():
            members = self.named(line)
            if len(members) != 1:
                continue
            entry = members[0]
            if line.charge > 0 and line.amount == entry.amount - line.charge:
                self.take("deduction", [line], [entry], "fee")
            elif (
                self.number == "1810"
                and entry.amount > 0
                and line.amount == cents(entry.amount * Decimal("0.98"))
                and 0 <= (line.booked - entry.posted).days <= 14
            ):
                self.take("deduction", [line], [entry], "discount")

    def amount_only(self) -> None:
        pairs = [
            (line, entry)
            for line in self.open_lines()
            for entry in self.open_entries()
            if line.amount == entry.amount and abs((line.booked - entry.posted).days) <= 3
        ]
        for line, entry in pairs:
            if sum(p[0] is line for p in pairs) == sum(p[1] is entry for p in pairs) == 1:
                self.take("amount_only", [line], [entry])

    # -- what is left -------------------------------------------------------

    def line_class(self, line: Line) -> str:
        if line.state == "cancelled":
            return "cancelled"
        if line.kind in ("ENTGELT", "NCHG"):
            return "bank_fee"
        if line.kind in ("ZINSEN", "NINT"):
            return "interest"
        for match in self.matches:
            same = any(
                x.amount == line.amount
                and x.partner == line.partner
                and abs((x.booked - line.booked).days) <= 7
                for x in match.lines
            )
            if same and any(line.names(entry.doc_ref) for entry in match.entries):
                return "double_payment"
        return "not_in_ledger"

    def entry_class(self, entry: Entry) -> str:
        if entry.state == "reversed":
            return "reversed"
        for match in self.matches:
            for other in match.entries:
                if (
                    entry.doc_ref
                    and other.doc_ref == entry.doc_ref
                    and other.partner == entry.partner
                    and other.amount == entry.amount
                    and abs((other.posted - entry.posted).days) <= 7
                ):
                    return "double_posting"
        return "in_transit" if entry.posted > END - timedelta(days=10) else "investigate"


# -- result -----------------------------------------------------------------


def exchange_difference(match: Match, rates: Rates) -> Decimal | None:
    if match.account != "1820":
        return None
    value = sum(
        (
            rates.eur(line.amount + (line.charge if match.reason == "fee" else ZERO), line.booked)
            for line in match.lines
        ),
        ZERO,
    )
    return value - sum((entry.eur for entry in match.entries), ZERO)


def purchases(accounts: list[Account], rates: Rates) -> list[dict[str, str]]:
    legs: dict[str, dict[str, Match]] = {}
    for account in accounts:
        for match in account.matches:
            for entry in match.entries:
                if entry.doc_ref.startswith("FX-"):
                    legs.setdefault(entry.doc_ref, {})[account.number] = match
    result = []
    for doc_ref, pair in sorted(legs.items()):
        if len(pair) == 2:
            cost, usd = -total(pair["1810"].lines), total(pair["1820"].lines)
            booked = pair["1820"].lines[0].booked
            rate_day = rates.day(booked)
            reference = rates.eur(usd, booked)
            result.append(
                {
                    "doc_ref": doc_ref,
                    "usd_amount": show(usd),
                    "eur_cost": show(cost),
                    "rate_date": rate_day.isoformat(),
                    "rate": rates.table[rate_day],
                    "reference_eur": show(reference),
                    "margin_eur": show(cost - reference),
                }
            )
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--app", type=Path, default=Path("/app"))
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    data = args.app / "data"

    bank_opening, lines = {}, []
    bank_opening["1810"], found = read_rkb(sorted(data.glob("rkb_*.csv")))
    lines += found
    bank_opening["1820"], found = read_hnb(data / "hnb_mt940.sta")
    lines += found
    lines = [line for line in lines if START <= line.booked <= END]
    ledger_opening, entries = read_ledger(data / "ledger_export.csv", data / "open_items_2025-03-31.csv")
    rates = Rates(data / "usd_rates.csv")

    accounts = [Account(number, lines, entries) for number in ("1810", "1820")]
    matches, left_lines, left_entries, summary = [], [], [], []
    for account in accounts:
        account.run()
        gains = []
        for match in account.matches:
            gain = exchange_difference(match, rates)
            gains.append(gain or ZERO)
            matches.append(
                {
                    "account": account.number,
                    "rule": match.rule,
                    "lines": sorted(line.id for line in match.lines),
                    "entries": sorted(entry.id for entry in match.entries),
                    "difference": show(match.difference),
                    "reason": match.reason,
                    "exchange_difference_eur": None if gain is None else show(gain),
                }
            )
        rest_lines = [line for line in account.lines if line.state != "matched"]
        rest_entries = [entry for entry in account.entries if entry.state != "matched"]
        left_lines += [
            {
                "account": account.number,
                "id": line.id,
                "amount": show(line.amount),
                "class": account.line_class(line),
            }
            for line in rest_lines
        ]
        left_entries += [
            {
                "account": account.number,
                "id": entry.id,
                "amount": show(entry.amount),
                "class": account.entry_class(entry),
            }
            for entry in rest_entries
        ]
        bank_closing = bank_opening[account.number] + total(account.lines)
        ledger_closing = ledger_opening[account.number] + total(
            [entry for entry in account.entries if entry.posted >= START]
        )
        differences = sum((match.difference for match in account.matches), ZERO)
        proof = total(rest_lines) - total(rest_entries) + differences
        if bank_closing - ledger_closing != proof:
            raise SystemExit(f"the proof of account {account.number} does not close")
        summary.append(
            {
                "account": account.number,
                "currency": "EUR" if account.number == "1810" else "USD",
                "bank_opening": show(bank_opening[account.number]),
                "bank_closing": show(bank_closing),
                "ledger_opening": show(ledger_opening[account.number]),
                "ledger_closing": show(ledger_closing),
                "unmatched_lines": show(total(rest_lines)),
                "unmatched_entries": show(total(rest_entries)),
                "match_differences": show(differences),
                "exchange_difference_eur": show(sum(gains, ZERO)) if account.number == "1820" else None,
            }
        )

    result = {
        "quarter": "2025-Q2",
        "matches": sorted(matches, key=lambda m: (m["account"], m["lines"][0])),
        "unmatched_lines": sorted(left_lines, key=lambda x: (x["account"], x["id"])),
        "unmatched_entries": sorted(left_entries, key=lambda x: (x["account"], x["id"])),
        "usd_purchases": purchases(accounts, rates),
        "accounts": summary,
    }
    target = args.out or args.app / "reconciliation.json"
    target.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
