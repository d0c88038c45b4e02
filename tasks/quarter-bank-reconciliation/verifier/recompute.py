"""What the policy makes of the pristine inputs beside this file, in whole cents.

Written apart from the reference solution, from the policy alone, so that each
of the two can show a mistake in the other.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

FIRST, LAST = dt.date(2025, 4, 1), dt.date(2025, 6, 30)
ACCOUNTS = ("1810", "1820")


class Line(NamedTuple):
    """A bank line; `cents` and `charge` in the currency of the account."""

    account: str
    id: str
    day: dt.date
    cents: int
    kind: str
    partner: str
    text: str
    charge: int
    cancels: str  # 1810: a line id; 1820: "taken back" or ""
    bank_ref: str


class Entry(NamedTuple):
    """A ledger entry; `cents` in the currency of the account."""

    account: str
    id: str
    day: dt.date
    cents: int
    eur: int
    partner: str
    ref: str
    batch: str
    reverses: str


class Match(NamedTuple):
    """One match, ids sorted; differences in cents, `fx` in euro cents or None."""

    account: str
    rule: str
    lines: tuple[str, ...]
    entries: tuple[str, ...]
    difference: int
    reason: str | None
    fx: int | None


class Purchase(NamedTuple):
    """One purchase of dollars that is matched on both accounts, in cents."""

    ref: str
    usd: int
    cost: int
    rate_day: str
    rate: str
    reference: int


class Books(NamedTuple):
    """Everything the checks compare with."""

    lines: dict[str, Line]
    entries: dict[str, Entry]
    matches: list[Match]
    line_classes: dict[str, str]
    entry_classes: dict[str, str]
    purchases: list[Purchase]
    bank_opening: dict[str, int]
    ledger_opening: dict[str, int]


def in_quarter(day: dt.date) -> bool:
    """Say whether `day` lies in the quarter."""
    return FIRST <= day <= LAST


def divide(numerator: int, denominator: int) -> int:
    """Divide and round half up on the absolute value; `denominator` is positive."""
    quotient = (2 * abs(numerator) + denominator) // (2 * denominator)
    return quotient if numerator >= 0 else -quotient


def to_cents(text: str, decimal: str) -> int:
    """Read an amount such as `-1.234,5` (`decimal` is `,`) or `-1234.50`."""
    digits = text.replace("." if decimal == "," else ",", "")
    sign = -1 if digits.startswith("-") else 1
    whole, _, rest = digits.lstrip("-").partition(decimal)
    return sign * (int(whole or 0) * 100 + int((rest + "00")[:2]))


def plain(text: str) -> str:
    """Keep the letters A to Z, in upper case, and the digits."""
    return "".join(c for c in text.upper() if "A" <= c <= "Z" or "0" <= c <= "9")


def number_after(text: str, word: str, allowed: str) -> str:
    """Return the characters out of `allowed` that follow `word`, after blanks."""
    _, found, rest = text.partition(word)
    rest = rest.lstrip(" ")
    end = next((n for n, c in enumerate(rest) if c not in allowed), len(rest))
    return rest[:end] if found else ""


# -- reading ----------------------------------------------------------------


def rkb(folder: Path) -> tuple[int, dict[str, Line]]:
    """Read both downloads of Rheinkreditbank: opening balance, lines by id."""
    opening, lines = 0, {}
    for name in ("rkb_2025-04-01_2025-05-16.csv", "rkb_2025-05-12_2025-07-04.csv"):
        text = (folder / name).read_bytes().decode("iso-8859-1")
        for row in csv.reader(io.StringIO(text), delimiter=";"):
            if row[:1] == ["Anfangssaldo 01.04.2025"]:
                opening = to_cents(row[1], ",")
            if len(row) != 9 or not row[0].startswith("RKB-"):
                continue
            ident, booked, _value, kind, partner, words, amount, _currency, _balance = row
            day, month, year = (int(part) for part in booked.split("."))
            back = words.split("ZU ")[1].split()[0] if kind == "RUECKLASTSCHRIFT" else ""
            charge = number_after(words, "GEBUEHR", "0123456789.,")
            lines[ident] = Line(
                "1810",
                ident,
                dt.date(year, month, day),
                to_cents(amount, ","),
                kind,
                partner,
                words,
                to_cents(charge or "0", ","),
                back,
                "",
            )
    return opening, lines


def hnb(folder: Path) -> tuple[int, dict[str, Line]]:
    """Read the MT940 file of Harbor National Bank: opening balance, lines by id."""
    opening, lines = None, {}
    for message in (folder / "hnb_mt940.sta").read_bytes().decode("ascii").split("\r\n-\r\n"):
        page, heads, texts, last = "", [], [], ""
        for row in message.split("\r\n"):
            if row.startswith(":"):
                _, last, value = row.split(":", 2)
                if last == "28C":
                    page = value.replace("/", "-")
                elif last == "60F" and opening is None:
                    opening = to_cents(value[10:], ",") * (1 if value[0] == "C" else -1)
                elif last == "61":
                    heads.append(value)
                elif last == "86":
                    texts.append(value)
            elif last == "86":
                texts[-1] += row
        for position, (head, text) in enumerate(zip(heads, texts, strict=True), 1):
            front, bank_ref = head.split("//")
            year, month, day = 2000 + int(front[:2]), int(front[2:4]), int(front[4:6])
            rest = front[6:]
            if rest[:4].isdigit():
                month, day, rest = int(rest[:2]), int(rest[2:4]), rest[4:]
            mark = rest[: 2 if rest[0] == "R" else 1]
            amount = number_after(rest, mark, "0123456789,")
            kind = rest[len(mark) + len(amount) :][:4]
            charge = number_after(text, "/CHGS/USD", "0123456789,")
            ident = f"HNB-{page}-{position:03d}"
            lines[ident] = Line(
                "1820",
                ident,
                dt.date(year, month, day),
                to_cents(amount, ",") * (1 if mark in {"C", "RD"} else -1),
                kind,
                text.partition("/NAME/")[2].partition("/")[0],
                text,
                to_cents(charge or "0", ","),
                "taken back" if mark[0] == "R" else "",
                bank_ref,
            )
    return opening or 0, lines


def table(path: Path) -> list[dict[str, str]]:
    """Read a comma-separated file with heads."""
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"))))


def ledger(folder: Path) -> tuple[dict[str, int], dict[str, Entry]]:
    """Read the ledger: opening balances by account, the entries that take part by id."""
    carried = {row["entry_id"] for row in table(folder / "open_items_2025-03-31.csv")}
    opening, entries = {}, {}
    for row in table(folder / "ledger_export.csv"):
        account, ident = row["account"], row["entry_id"]
        if account not in ACCOUNTS:
            continue
        cents = to_cents(row["debit"], ".") - to_cents(row["credit"], ".")
        day = dt.date.fromisoformat(row["posting_date"])
        if ident.startswith("EB-"):
            opening[account] = cents
        elif in_quarter(day) or ident in carried:
            entries[ident] = Entry(
                account,
                ident,
                day,
                cents,
                to_cents(row["eur_amount"], "."),
                row["partner"],
                row["doc_ref"],
                row["batch_id"],
                row["reverses"],
            )
    return opening, entries


def rate_on(folder: Path) -> dict[dt.date, tuple[str, str]]:
    """Give every day from the first published one the rate that holds: its day, its text."""
    published = {
        row["date"]: row["usd_per_eur"]
        for row in table(folder / "usd_rates.csv")
        if row["usd_per_eur"].strip()
    }
    day, holds, rates = dt.date.fromisoformat(min(published)), ("", ""), {}
    while day <= LAST:
        if day.isoformat() in published:
            holds = (day.isoformat(), published[day.isoformat()])
        rates[day] = holds
        day += dt.timedelta(days=1)
    return rates


# -- matching ---------------------------------------------------------------


class Matcher:
    """One account: what is open, what each line names, and the six steps."""

    def __init__(self, lines: list[Line], entries: list[Entry]) -> None:
        self.lines = {x.id: x for x in sorted(lines, key=lambda x: (x.day, x.id))}
        self.entries = {x.id: x for x in sorted(entries, key=lambda x: (x.day, x.id))}
        self.cancelled: set[str] = set()
        self.gone: set[str] = set()
        self.found: list[tuple[str, list[str], list[str], str | None]] = []
        said = {ident: plain(x.text) for ident, x in self.lines.items()}
        self.names = {
            line: {e.id for e in self.entries.values() if e.ref and plain(e.ref) in words}
            for line, words in said.items()
        }
        batches = {e.batch for e in self.entries.values()} - {""}
        self.names_batch = {
            line: [b for b in sorted(batches) if plain(b) in words] for line, words in said.items()
        }

    def _cancel(self) -> None:
        for entry in self.entries.values():
            first = self.entries.get(entry.reverses)
            if first is not None and first.cents == -entry.cents:
                self.cancelled |= {entry.id, first.id}
        by_bank_ref = {x.bank_ref: x for x in self.lines.values() if x.bank_ref and not x.cancels}
        for line in self.lines.values():
            if line.cancels == "taken back":
                first_line = by_bank_ref.get(line.bank_ref)
            else:
                first_line = self.lines.get(line.cancels)
            if first_line is not None and first_line.cents == -line.cents:
                self.cancelled |= {line.id, first_line.id}
        self.gone |= self.cancelled

    def _take(self, rule: str, lines: list[str], entries: list[str], reason: str | None = None) -> None:
        self.found.append((rule, sorted(lines), sorted(entries), reason))
        self.gone.update(lines, entries)

    def _apart(self, line: str, entry: str) -> int:
        return (self.lines[line].day - self.entries[entry].day).days

    def _sum(self, entries: list[str]) -> int:
        return sum(self.entries[e].cents for e in entries)

    def _free(self, idents: dict[str, Line] | dict[str, Entry]) -> list[str]:
        return [ident for ident in idents if ident not in self.gone]

    def _named(self, line: str) -> list[str]:
        return sorted(self.names[line] - self.gone)

    def solve(self) -> None:
        """Set aside, then run the steps in their order."""
        self._cancel()
        for line in self._free(self.lines):
            ranked = sorted(
                (abs(self._apart(line, e)), e)
                for e in self._named(line)
                if self.entries[e].cents == self.lines[line].cents and -3 <= self._apart(line, e) <= 12
            )
            if ranked:
                self._take("exact", [line], [ranked[0][1]])
        for line in self._free(self.lines):
            for batch in self.names_batch[line]:
                members = [e for e in self._free(self.entries) if self.entries[e].batch == batch]
                if members and self._explained(line, members):
                    self._take("batch", [line], members, self._fee(line))
                    break
        for line in self._free(self.lines):
            members = self._named(line)
            if len(members) > 1 and self._explained(line, members):
                self._take("collective", [line], members, self._fee(line))
        for entry in self._free(self.entries):
            parts = [x for x in self._free(self.lines) if entry in self.names[x]]
            if len(parts) > 1 and sum(self.lines[x].cents for x in parts) == self._sum([entry]):
                self._take("split", parts, [entry])
        for line in self._free(self.lines):
            members = self._named(line)
            if len(members) == 1:
                self._deduct(line, members[0])
        self._by_amount()

    def _fee(self, line: str) -> str | None:
        return "fee" if self.lines[line].charge else None

    def _explained(self, line: str, entries: list[str]) -> bool:
        return self.lines[line].cents + self.lines[line].charge == self._sum(entries)

    def _deduct(self, line: str, entry: str) -> None:
        gross = self.entries[entry].cents
        if self._fee(line) and self._explained(line, [entry]):
            self._take("deduction", [line], [entry], "fee")
        elif (
            self.entries[entry].account == "1810"
            and gross > 0
            and self.lines[line].cents == divide(98 * gross, 100)
            and 0 <= self._apart(line, entry) <= 14
        ):
            self._take("deduction", [line], [entry], "discount")

    def _by_amount(self) -> None:
        lines, entries = self._free(self.lines), self._free(self.entries)

        def fits(line: str, entry: str) -> bool:
            return self.lines[line].cents == self.entries[entry].cents and -3 <= self._apart(line, entry) <= 3

        of_line = {x: [e for e in entries if fits(x, e)] for x in lines}
        of_entry = {e: [x for x in lines if fits(x, e)] for e in entries}
        for line, mates in of_line.items():
            if len(mates) == 1 and of_entry[mates[0]] == [line]:
                self._take("amount_only", [line], mates)

    # -- what is left -------------------------------------------------------

    def line_class(self, line: Line) -> str:
        """Return the class of an unmatched line."""
        if line.id in self.cancelled:
            return "cancelled"
        by_kind = {"ENTGELT": "bank_fee", "NCHG": "bank_fee", "ZINSEN": "interest", "NINT": "interest"}
        if line.kind in by_kind:
            return by_kind[line.kind]
        for _, lines, entries, _ in self.found:
            if self.names[line.id].intersection(entries):
                for other in (self.lines[x] for x in lines):
                    if (other.cents, other.partner) == (line.cents, line.partner) and abs(
                        (other.day - line.day).days
                    ) <= 7:
                        return "double_payment"
        return "not_in_ledger"

    def entry_class(self, entry: Entry) -> str:
        """Return the class of an unmatched entry."""
        if entry.id in self.cancelled:
            return "reversed"
        matched = [self.entries[e] for _, _, entries, _ in self.found for e in entries]
        for other in matched:
            if (
                entry.ref
                and (other.ref, other.partner, other.cents) == (entry.ref, entry.partner, entry.cents)
                and abs((other.day - entry.day).days) <= 7
            ):
                return "double_posting"
        return "in_transit" if entry.day >= dt.date(2025, 6, 21) else "investigate"


# -- all of it --------------------------------------------------------------


def read_books(folder: Path) -> Books:
    """Read the inputs in `folder` and reconcile both accounts."""
    bank_opening, every_line = {}, {}
    for account, read in zip(ACCOUNTS, (rkb, hnb), strict=True):
        bank_opening[account], found = read(folder)
        every_line.update(found)
    lines = {ident: x for ident, x in every_line.items() if in_quarter(x.day)}
    ledger_opening, entries = ledger(folder)
    rates = rate_on(folder)

    def eur(usd_cents: int, day: dt.date) -> int:
        whole, _, rest = rates[day][1].partition(".")
        return divide(usd_cents * 10 ** len(rest), int(whole + rest))

    matches, line_classes, entry_classes = [], {}, {}
    for account in ACCOUNTS:
        matcher = Matcher(
            [x for x in lines.values() if x.account == account],
            [x for x in entries.values() if x.account == account],
        )
        matcher.solve()
        for rule, ids, entry_ids, reason in matcher.found:
            booked = [lines[x] for x in ids]
            posted = [entries[e] for e in entry_ids]
            fx = None
            if account == "1820":
                fx = sum(eur(x.cents + (x.charge if reason == "fee" else 0), x.day) for x in booked) - sum(
                    e.eur for e in posted
                )
            matches.append(
                Match(
                    account,
                    rule,
                    tuple(ids),
                    tuple(entry_ids),
                    sum(x.cents for x in booked) - sum(e.cents for e in posted),
                    reason,
                    fx,
                )
            )
        line_classes |= {
            x: matcher.line_class(y)
            for x, y in matcher.lines.items()
            if x in matcher.cancelled or x not in matcher.gone
        }
        entry_classes |= {
            x: matcher.entry_class(y)
            for x, y in matcher.entries.items()
            if x in matcher.cancelled or x not in matcher.gone
        }

    legs = {
        (entries[e].ref, m.account): m for m in matches for e in m.entries if entries[e].ref.startswith("FX-")
    }
    purchases = []
    for ref in sorted({ref for ref, account in legs if account == "1810"}):
        if (ref, "1820") in legs:
            [came] = legs[ref, "1820"].lines
            cost = -sum(lines[x].cents for x in legs[ref, "1810"].lines)
            rate_day, rate = rates[lines[came].day]
            purchases.append(
                Purchase(
                    ref, lines[came].cents, cost, rate_day, rate, eur(lines[came].cents, lines[came].day)
                )
            )
    return Books(
        lines, entries, matches, line_classes, entry_classes, purchases, bank_opening, ledger_opening
    )
