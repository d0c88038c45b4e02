#!/usr/bin/env python3
"""Write the inputs of this task, from one seed: `python3 generator/generate.py`.

Company, banks, partners and rates are invented. The script also knows what it
meant each item to be (`Books.meant`); the tests compare that with what the
verifier and the oracle conclude from the files alone. Nothing here reaches the
image: the build context is `environment/`.
"""

from __future__ import annotations

import argparse
import csv
import io
import random
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

SEED = 20250630
Q_START, Q_END = date(2025, 4, 1), date(2025, 6, 30)
LAST_BOOKING = date(2025, 7, 4)
EUR, USD = "1810", "1820"
OPENING = {EUR: 48211307, USD: 31784519}  # cents at the banks on 1 April
GERMAN_BANK_CLOSED = {date(2025, 4, 18), date(2025, 4, 21), date(2025, 5, 1)}
US_BANK_CLOSED = {date(2025, 5, 26), date(2025, 6, 19), date(2025, 7, 4)}
NO_RATE = GERMAN_BANK_CLOSED
EMPTY_RATE = {date(2025, 5, 29), date(2025, 6, 10)}

CUSTOMERS = (
    "Aalborg Marine Sensorik ApS",
    "Bergmann & Söhne Anlagenbau GmbH",
    "Ciel Optique SARL",
    "Dresdner Prüftechnik AG",
    "Eberle Laborbedarf KG",
    "Fabbrica Strumenti Torino S.r.l.",
    "Grünwald Medizintechnik GmbH",
    "Hüttenwerke Saar AG",
    "Instituto Óptico Vigo S.A.",
    "Jansen Procesautomatisering B.V.",
    "Kölner Waagenbau GmbH",
    "Lindqvist Mätteknik AB",
    "Müller-Thurau Sensoren GmbH",
    "Nordlicht Windservice GmbH",
    "Österreichische Pegelnetz GmbH",
)
SUPPLIERS = (
    "Alpen Feinmechanik GmbH",
    "Böhm Kabelwerke GmbH",
    "Czech Precision Glass s.r.o.",
    "Delta Logistik Süd GmbH",
    "Elektro-Großhandel Weiß KG",
    "Fischer Gehäusebau GmbH",
    "Gießerei Hohenlohe GmbH",
    "Helvetia Quarz AG",
    "Industriegase Rhein GmbH",
)
US_CUSTOMERS = (
    "Blue Ridge Metrology Inc",
    "Cascadia Instruments LLC",
    "Dunmore Process Controls Corp",
    "Eastlake Biotech Inc",
    "Fort Mercer Gauge Company",
    "Great Basin Drilling LLC",
    "Halcyon Aerospace Corp",
    "Ironwood Test Labs Inc",
    "Juniper Water District",
)
US_SUPPLIERS = (
    "Keystone Photonics Inc",
    "Lakeshore Crystal Corp",
    "Mesa Semiconductor LLC",
    "Northgate Freight Forwarding Inc",
    "Orchard Software Corp",
)


@dataclass(eq=False)
class Line:
    """A bank line before it has an id: cents, and what the bank prints."""

    account: str
    booked: date
    cents: int
    partner: str
    text: str
    kind: str
    value: date | None = None
    bank_ref: str = ""
    customer_ref: str = ""
    mark: str = ""
    show_booking: bool = True
    cancels: Line | None = None
    order: float = 0.0
    id: str = ""


@dataclass(eq=False)
class Entry:
    """A ledger entry before it has an id."""

    account: str
    posted: date
    cents: int
    partner: str
    ref: str = ""
    batch: str = ""
    memo: str = ""
    eur_cents: int | None = None
    reverses: Entry | None = None
    odd_sign: bool = False
    open_item: bool = False
    order: float = 0.0
    id: str = ""


@dataclass
class Meant:
    """What the author of the data had in mind, by id."""

    matches: dict[tuple[str, ...], str] = field(default_factory=dict)
    lines: dict[str, str] = field(default_factory=dict)
    entries: dict[str, str] = field(default_factory=dict)


def half_up(value: Decimal, places: str = "1") -> Decimal:
    return value.quantize(Decimal(places), ROUND_HALF_UP)


def is_open(account: str, day: date) -> bool:
    closed = GERMAN_BANK_CLOSED if account == EUR else US_BANK_CLOSED
    return day.weekday() < 5 and day not in closed


def german(cents: int) -> str:
    whole, rest = divmod(abs(cents), 100)
    return f"{'-' if cents < 0 else ''}{whole:,}".replace(",", ".") + f",{rest:02d}"


class Books:
    """One quarter, built scenario by scenario."""

    def __init__(self, seed: int = SEED) -> None:
        self.rng = random.Random(seed)
        self.lines: list[Line] = []
        self.entries: list[Entry] = []
        self.intent: list[tuple[str, list[Line], list[Entry]]] = []
        self.line_class: dict[Line, str] = {}
        self.entry_class: dict[Entry, str] = {}
        self.used: set[int] = set()
        self.numbers = {
            "RE": 250311,
            "KR": 540108,
            "ZL": 118,
            "CP": 2207,
            "CS": 771200,
            "FX": 41,
            "US": 610044,
            "PO": 330205,
        }
        self.rates = self._rates()

    # -- small things -------------------------------------------------------

    def _rates(self) -> dict[date, Decimal | None]:
        rates: dict[date, Decimal | None] = {}
        level = 1.0815
        day = date(2025, 3, 17)
        while day <= LAST_BOOKING:
            level *= 1 + self.rng.gauss(0.0008, 0.0035)
            if day.weekday() < 5 and day not in NO_RATE:
                rates[day] = None if day in EMPTY_RATE else Decimal(f"{level:.4f}")
            day += timedelta(days=1)
        return rates

    def rate(self, day: date) -> Decimal:
        while (found := self.rates.get(day)) is None:
            day -= timedelta(days=1)
        return found

    def to_eur(self, cents: int, day: date) -> int:
        return int(half_up(Decimal(cents) / self.rate(day)))

    def ref(self, kind: str) -> str:
        self.numbers[kind] += self.rng.randint(1, 4)
        return f"{kind}-{self.numbers[kind]:06d}"

    def amount(self, low: int, high: int) -> int:
        """Cents between two whole amounts, never the same twice."""
        while True:
            cents = int(self.rng.triangular(low * 100, high * 100, low * 100 + (high - low) * 20))
            if cents not in self.used:
                self.used.add(cents)
                return cents

    def day(self, account: str, first: date = date(2025, 4, 3), last: date = date(2025, 6, 17)) -> date:
        while True:
            day = first + timedelta(days=self.rng.randrange((last - first).days + 1))
            if is_open(account, day):
                return day

    def bank_day(self, account: str, posted: date, low: int = 0, high: int = 9) -> date:
        days = [posted + timedelta(days=n) for n in range(low, high + 1)]
        return self.rng.choice([day for day in days if is_open(account, day)])

    def shown(self, ref: str) -> str:
        """A reference the way payers type it."""
        kind, number = ref.split("-")
        return self.rng.choice(
            (
                ref,
                ref,
                f"{kind} {number}",
                f"{kind}{number}",
                f"{kind.lower()}-{number}",
                f"{kind}.{number}",
                f"{kind}-{number[:3]} {number[3:]}",
                f"{kind}/{number}" if kind in ("RE", "KR") else ref,
            )
        )

    # -- items --------------------------------------------------------------

    def line(
        self, account: str, booked: date, cents: int, partner: str, text: str, kind: str = "", **more: object
    ) -> Line:
        if not kind:
            transfer = "GUTSCHRIFT" if cents > 0 else "UEBERWEISUNG"
            kind = transfer if account == EUR else "NTRF"
        line = Line(account, booked, cents, partner, text, kind, **more)  # type: ignore[arg-type]
        line.order = self.rng.random()
        if line.value is None:
            line.value = booked
            if self.rng.random() < 0.25 and booked not in (Q_START, Q_END):
                line.value = booked + timedelta(days=self.rng.choice((-1, 1, 2)))
        self.lines.append(line)
        return line

    def entry(
        self, account: str, posted: date, cents: int, partner: str, ref: str = "", **more: object
    ) -> Entry:
        entry = Entry(account, posted, cents, partner, ref, **more)  # type: ignore[arg-type]
        entry.order = self.rng.random()
        if account == USD and entry.eur_cents is None:
            entry.eur_cents = self.to_eur(cents, posted)
        self.entries.append(entry)
        return entry

    def match(self, rule: str, lines: list[Line], entries: list[Entry]) -> None:
        self.intent.append((rule, lines, entries))

    def leave_line(self, line: Line, what: str) -> Line:
        self.line_class[line] = what
        return line

    def leave(self, entry: Entry, what: str) -> Entry:
        self.entry_class[entry] = what
        return entry

    def say(self, account: str, partner: str, words: str) -> str:
        """The remittance text in the dialect of the bank."""
        if account == EUR:
            return words
        return f"/NAME/{partner}/REMI/{words}"

    def customer(self, account: str) -> str:
        return self.rng.choice(CUSTOMERS if account == EUR else US_CUSTOMERS)

    def supplier(self, account: str) -> str:
        return self.rng.choice(SUPPLIERS if account == EUR else US_SUPPLIERS)

    def invoice(self, account: str) -> str:
        return self.ref("RE" if account == EUR else "US")

    def words(self, account: str, ref: str) -> str:
        if account == EUR:
            return self.rng.choice(
                (
                    "Rechnung {}",
                    "RG {} vielen Dank",
                    "{}",
                    "Zahlung {} Kd.-Nr. 40{n}",
                    "RECHNUNGSNR {} V. {d}",
                    "Re. {} ; Lieferung {d}",
                    "EREF+{n} SVWZ+{}",
                )
            ).format(
                self.shown(ref),
                n=self.rng.randint(100, 999),
                d=f"{self.rng.randint(1, 28):02d}.0{self.rng.randint(3, 6)}.",
            )
        return self.rng.choice(
            (
                "INVOICE {}",
                "INV {} CUST 40{n}",
                "{}",
                "PAYMENT OF {} THANK YOU",
                "WIRE REF {n}{n} FOR CALIBRATION SERVICES AND SPARE PARTS INVOICE {}",
            )
        ).format(self.shown(ref), n=self.rng.randint(100, 999))

    # -- scenarios ----------------------------------------------------------

    def plain(self, account: str, receipts: int, payments: int) -> None:
        """One line, one entry, the reference typed in many ways."""
        for sign in [1] * receipts + [-1] * payments:
            partner = self.customer(account) if sign > 0 else self.supplier(account)
            ref = self.invoice(account) if sign > 0 else self.ref("KR" if account == EUR else "PO")
            posted = self.day(account)
            high = 26000 if account == EUR else 9000 if sign > 0 else 30000
            cents = sign * self.amount(180, high)
            self.pair(account, posted, self.bank_day(account, posted), cents, partner, ref)

    def pair(
        self, account: str, posted: date, booked: date, cents: int, partner: str, ref: str
    ) -> tuple[Line, Entry]:
        entry = self.entry(
            account, posted, cents, partner, ref, memo="expected receipt" if cents > 0 else "payment run"
        )
        line = self.line(
            account, booked, cents, partner, self.say(account, partner, self.words(account, ref))
        )
        self.match("exact", [line], [entry])
        return line, entry

    def edges_of_the_window(self) -> None:
        """Distance -3 and 12 are in, -4 and 13 are out."""
        for posted, distance in (
            (date(2025, 5, 22), -3),
            (date(2025, 4, 30), 12),
            (date(2025, 6, 6), -3),
            (date(2025, 5, 7), 12),
        ):
            self.pair(
                EUR,
                posted,
                posted + timedelta(days=distance),
                self.amount(900, 9000),
                self.customer(EUR),
                self.ref("RE"),
            )
        for posted, distance in ((date(2025, 5, 9), -4), (date(2025, 4, 10), 13), (date(2025, 5, 20), 20)):
            partner, ref, cents = self.customer(EUR), self.ref("RE"), self.amount(900, 9000)
            self.leave(self.entry(EUR, posted, cents, partner, ref, memo="expected receipt"), "investigate")
            self.leave_line(
                self.line(EUR, posted + timedelta(days=distance), cents, partner, self.words(EUR, ref)),
                "not_in_ledger",
            )

    def twins(self) -> None:
        """The same amount twice that is right twice."""
        for month, posted in ((4, date(2025, 4, 9)), (5, date(2025, 5, 9)), (6, date(2025, 6, 10))):
            pairs = []
            for device in ("A", "B"):
                entry = self.entry(
                    EUR,
                    posted,
                    -68425,
                    "Alpen Feinmechanik GmbH",
                    "WV-200417",
                    memo=f"maintenance 0{month}, machine {device}",
                )
                line = self.line(
                    EUR,
                    posted + timedelta(days=1),
                    -68425,
                    "Alpen Feinmechanik GmbH",
                    f"Wartung WV-200417 0{month}/2025",
                )
                pairs.append((line, entry))
            self.intent.append(("twins", [p[0] for p in pairs], [p[1] for p in pairs]))
        cents = self.amount(400, 900)
        for partner in ("Eberle Laborbedarf KG", "Kölner Waagenbau GmbH"):
            self.pair(EUR, date(2025, 5, 14), date(2025, 5, 15), cents, partner, self.ref("RE"))

    def lease(self) -> None:
        """A monthly rate under one reference: neither a double posting nor a double payment."""
        rate, lessor, ref = -124950, "Delta Logistik Süd GmbH", "LV-100233"
        text = "Leasing Stapler LV-100233 Rate {:02d}/25"
        self.entry(EUR, date(2025, 3, 28), rate, lessor, ref, memo="lease 03, cleared in March")
        april = self.entry(EUR, date(2025, 4, 29), rate, lessor, ref, memo="lease 04")
        self.match("exact", [self.line(EUR, date(2025, 4, 30), rate, lessor, text.format(4))], [april])
        self.leave_line(self.line(EUR, date(2025, 5, 30), rate, lessor, text.format(5)), "not_in_ledger")
        self.leave(self.entry(EUR, date(2025, 6, 27), rate, lessor, ref, memo="lease 06"), "in_transit")
        self.line(EUR, date(2025, 7, 1), rate, lessor, text.format(6), value=date(2025, 6, 30))

    def batches(self, account: str, count: int) -> None:
        """One debit for a payment run; one run lost a payment before it left."""
        for number in range(count):
            batch, posted = self.ref("ZL"), self.day(account)
            entries = [
                self.entry(
                    account,
                    posted,
                    -self.amount(120, 7000),
                    self.supplier(account),
                    self.ref("KR" if account == EUR else "PO"),
                    batch=batch,
                    memo="payment run",
                )
                for _ in range(self.rng.randint(3, 6))
            ]
            if number in (1, 3):
                pulled = self.entry(
                    account,
                    posted,
                    -self.amount(120, 7000),
                    self.supplier(account),
                    self.ref("KR" if account == EUR else "PO"),
                    batch=batch,
                    memo="payment run",
                )
                self.reverse(pulled, posted + timedelta(days=1), "pulled from payment run")
            words = f"SEPA-Sammelüberweisung {self.shown(batch)} Anzahl {len(entries)}"
            if account == USD:
                words = f"ACH BATCH {self.shown(batch)} COUNT {len(entries)}"
            line = self.line(
                account,
                self.bank_day(account, posted, 0, 3),
                sum(e.cents for e in entries),
                "Falkenhorst Messtechnik GmbH",
                self.say(account, "Falkenhorst Messtechnik GmbH", words),
                kind="SAMMLER" if account == EUR else "NTRF",
            )
            self.match("batch", [line], entries)

    def reverse(self, entry: Entry, posted: date, memo: str) -> Entry:
        back = self.entry(
            entry.account,
            posted,
            -entry.cents,
            entry.partner,
            entry.ref,
            memo=memo,
            reverses=entry,
            odd_sign=self.rng.random() < 0.5,
            eur_cents=None if entry.eur_cents is None else -entry.eur_cents,
        )
        self.leave(entry, "reversed")
        return self.leave(back, "reversed")

    def card_payouts(self) -> None:
        """Payouts net of the acquirer's charge; one whose charge does not add up."""
        for number in range(6):
            batch, posted = self.ref("CP"), self.day(EUR)
            low, high = (18000, 24000) if number == 2 else (300, 5200)
            entries = [
                self.entry(
                    EUR,
                    posted,
                    self.amount(low, high),
                    "Kartenzahlung Süd AG",
                    self.ref("CS"),
                    batch=batch,
                    memo="card sales",
                )
                for _ in range(self.rng.randint(2, 4))
            ]
            gross = sum(e.cents for e in entries)
            fee = int(half_up(Decimal(gross) * Decimal("0.0185")))
            stated = fee + 900 if number == 4 else fee
            text = f"AUSZAHLUNG {self.shown(batch)} BRUTTO {german(gross)} GEBUEHR {german(stated)}"
            line = self.line(EUR, self.bank_day(EUR, posted, 1, 4), gross - fee, "Kartenzahlung Süd AG", text)
            if stated == fee:
                self.match("batch", [line], entries)
            else:
                self.leave_line(line, "not_in_ledger")
                for entry in entries:
                    self.leave(entry, "investigate")

    def collective(self, account: str, count: int, fees: int) -> None:
        """One transfer for several invoices: with a credit note, with one paid before or after."""
        for number in range(count):
            partner, posted = self.customer(account), self.day(account)
            entries = [
                self.entry(
                    account,
                    posted + timedelta(days=n % 2),
                    self.amount(300, 9000),
                    partner,
                    self.invoice(account),
                    memo="expected receipt",
                )
                for n in range(self.rng.randint(2, 4))
            ]
            refs = [e.ref for e in entries]
            if number == 1:
                credit = self.entry(
                    account, posted, -self.amount(40, 200), partner, self.invoice(account), memo="credit note"
                )
                entries.append(credit)
                refs.append(credit.ref)
            if number == 2:
                _, paid = self.pair(
                    account,
                    posted,
                    self.bank_day(account, posted, 0, 2),
                    self.amount(300, 5000),
                    partner,
                    self.invoice(account),
                )
                refs.insert(1, paid.ref)
            later = self.invoice(account) if number == 3 else ""
            if later:
                refs.append(later)
            total, fee = sum(e.cents for e in entries), 0
            words = " ".join(self.shown(ref) for ref in refs)
            if number < fees:
                fee = self.rng.choice((1800, 2250, 3500))
                words += f"/CHGS/USD{fee // 100},{fee % 100:02d}/BANK/CORR"
            line = self.line(
                account,
                self.bank_day(account, posted, 2, 8),
                total - fee,
                partner,
                self.say(account, partner, words),
            )
            self.match("collective", [line], entries)
            if later:  # announced here, paid by a transfer of its own
                self.pair(
                    account,
                    posted,
                    self.bank_day(account, line.booked, 1, 4),
                    self.amount(300, 5000),
                    partner,
                    later,
                )

    def partial_reversal(self) -> None:
        """A reversal of a part is no pair; the two net to what the customer pays."""
        partner, ref, posted = self.customer(EUR), self.ref("RE"), date(2025, 5, 5)
        whole = self.entry(EUR, posted, 641000, partner, ref, memo="expected receipt")
        part = self.entry(
            EUR,
            posted + timedelta(days=3),
            -58550,
            partner,
            ref,
            memo="price corrected",
            reverses=whole,
            odd_sign=True,
        )
        line = self.line(EUR, date(2025, 5, 13), 582450, partner, self.words(EUR, ref))
        self.match("collective", [line], [whole, part])

    def split(self, account: str, count: int) -> None:
        """One invoice paid in two or three parts; the first is posted twice."""
        for number in range(count):
            partner, ref, posted = (
                self.customer(account),
                self.invoice(account),
                self.day(account, last=date(2025, 5, 28)),
            )
            total = self.amount(6000, 30000)
            first = int(total * self.rng.choice((0.3, 0.4, 0.5))) // 100 * 100
            parts = [first, total - first]
            if number % 2:
                parts = [first, (total - first) // 2, total - first - (total - first) // 2]
            entry = self.entry(account, posted, total, partner, ref, memo="expected receipt")
            lines = [
                self.line(
                    account,
                    self.bank_day(account, posted + timedelta(days=7 * n)),
                    part,
                    partner,
                    self.say(account, partner, self.words(account, ref) + f" PART {n + 1}"),
                )
                for n, part in enumerate(parts)
            ]
            self.match("split", lines, [entry])
            if number == 0:
                self.leave(
                    self.entry(
                        account, posted + timedelta(days=2), total, partner, ref, memo="expected receipt"
                    ),
                    "double_posting",
                )

    def wire_charges(self) -> None:
        """Dollar receipts from which a bank on the way took its charge."""
        for number in range(6):
            partner, ref, posted = self.customer(USD), self.ref("US"), self.day(USD)
            cents, fee = self.amount(1500, 30000), self.rng.choice((1500, 1800, 2500, 4250))
            words = self.words(USD, ref) + f"/CHGS/USD{fee // 100},{fee % 100:02d}"
            text = self.say(USD, partner, words)
            if number in (0, 3):  # the bank's cut falls behind the first digit of the charge
                pad = -(text.index("/CHGS/USD") + 10) % 65
                lead = (f"{self.rng.randrange(10**9):09d}" * 8)[: max(pad - 1, 0)] + " " * (pad > 0)
                text = text.replace("/REMI/", f"/REMI/{lead}", 1)
            entry = self.entry(USD, posted, cents, partner, ref, memo="expected receipt")
            line = self.line(USD, self.bank_day(USD, posted, 1, 8), cents - fee, partner, text)
            self.match("deduction", [line], [entry])
        partner, ref = self.customer(USD), self.ref("US")
        cents = self.amount(2000, 9000)
        entry = self.entry(USD, date(2025, 5, 12), cents, partner, ref, memo="expected receipt")
        line = self.line(
            USD,
            date(2025, 5, 15),
            cents - 2750,
            partner,
            self.say(USD, partner, f"INV {ref} LESS OUR CHARGE"),
        )
        self.leave(entry, "investigate")
        self.leave_line(line, "not_in_ledger")

    def discounts(self) -> None:
        """Cash discount, with half cents where banker's rounding and floats go wrong."""
        cases = (
            (123425, date(2025, 4, 7), 5),
            (287475, date(2025, 4, 14), 8),
            (456825, date(2025, 5, 5), 14),
            (91275, date(2025, 5, 19), 9),
            (730125, date(2025, 6, 2), 11),
            (388050, date(2025, 6, 3), 7),
        )
        for gross, posted, wait in cases:
            net = int(half_up(Decimal(gross) * Decimal("0.98")))
            partner, ref = self.customer(EUR), self.ref("RE")
            entry = self.entry(EUR, posted, gross, partner, ref, memo="expected receipt")
            line = self.line(
                EUR, posted + timedelta(days=wait), net, partner, f"{self.words(EUR, ref)} abzgl. 2% Skonto"
            )
            self.match("deduction", [line], [entry])
        for gross, posted, wait in ((512000, date(2025, 4, 29), 15), (264000, date(2025, 5, 12), 3)):
            # Too late; and three per cent where two are allowed.
            net = gross * (98 if wait == 15 else 97) // 100
            partner, ref = self.customer(EUR), self.ref("RE")
            self.leave(self.entry(EUR, posted, gross, partner, ref, memo="expected receipt"), "investigate")
            self.leave_line(
                self.line(
                    EUR, posted + timedelta(days=wait), net, partner, f"{self.words(EUR, ref)} abzgl. Skonto"
                ),
                "not_in_ledger",
            )

    def doubles(self, account: str, postings: int, payments: int) -> None:
        for number in range(postings):
            partner, ref = self.customer(account), self.invoice(account)
            posted = self.day(account, last=date(2025, 6, 2))
            cents = self.amount(500, 12000)
            first = self.entry(account, posted, cents, partner, ref, memo="expected receipt")
            second = self.entry(
                account, posted + timedelta(days=3), cents, partner, ref, memo="expected receipt"
            )
            # The nearest entry is the one that is matched: now the later, now the earlier.
            late = number % 2 == 0
            booked = posted + timedelta(days=3 if late else 1)
            while not is_open(account, booked):
                booked += timedelta(days=1) if late else timedelta(days=-1)
            line = self.line(
                account, booked, cents, partner, self.say(account, partner, self.words(account, ref))
            )
            self.match("exact", [line], [second if late else first])
            self.leave(first if late else second, "double_posting")
        for _ in range(payments):
            partner, ref = self.supplier(account), self.ref("KR" if account == EUR else "PO")
            posted = self.day(account, last=date(2025, 6, 2))
            cents = -self.amount(500, 12000)
            line, _ = self.pair(account, posted, self.bank_day(account, posted, 0, 3), cents, partner, ref)
            self.leave_line(
                self.line(
                    account,
                    self.bank_day(account, line.booked, 2, 6),
                    cents,
                    partner,
                    self.say(account, partner, self.words(account, ref)),
                ),
                "double_payment",
            )

    def returned_debits(self) -> None:
        """Direct debits that came back: reversed in the ledger, forgotten there, or with costs."""
        for number in range(4):
            partner, ref, posted = self.customer(EUR), self.ref("RE"), self.day(EUR, last=date(2025, 6, 3))
            cents = self.amount(200, 3000)
            booked = self.bank_day(EUR, posted, 0, 2)
            back = self.bank_day(EUR, booked, 3, 8)
            entry = self.entry(EUR, posted, cents, partner, ref, memo="direct debit")
            first = self.line(EUR, booked, cents, partner, self.words(EUR, ref), kind="LASTSCHRIFTEINZUG")
            costs = 495 if number == 3 else 0
            second = self.line(
                EUR,
                back,
                -cents - costs,
                partner,
                f"ZU @@ {self.shown(ref)} Rückgabe mangels Deckung",
                kind="RUECKLASTSCHRIFT",
                cancels=first,
            )
            if number == 3:
                self.match("exact", [first], [entry])
                self.leave_line(second, "not_in_ledger")
                continue
            self.leave_line(first, "cancelled")
            self.leave_line(second, "cancelled")
            if number == 0:
                self.reverse(entry, back + timedelta(days=1), "direct debit returned")
            else:
                self.leave(entry, "investigate")
            if number != 2:
                self.leave_line(
                    self.line(
                        EUR, back, -495, "Rheinkreditbank AG", "Entgelt Rücklastschrift", kind="ENTGELT"
                    ),
                    "bank_fee",
                )

    def taken_back(self) -> None:
        """RC and RD on the dollar account; one whose first half lies before the quarter."""
        for number, sign in enumerate((1, 1, -1)):
            partner = self.customer(USD) if sign > 0 else self.supplier(USD)
            ref = self.ref("US" if sign > 0 else "PO")
            posted = self.day(USD, last=date(2025, 6, 3))
            cents = sign * self.amount(800, 9000)
            booked = self.bank_day(USD, posted, 0, 2)
            back = self.bank_day(USD, booked, 2, 7)
            text = self.say(USD, partner, self.words(USD, ref))
            bank_ref = f"HN{self.rng.randint(10**8, 10**9 - 1)}"
            entry = self.entry(
                USD, posted, cents, partner, ref, memo="expected receipt" if sign > 0 else "payment run"
            )
            first = self.line(USD, booked, cents, partner, text, bank_ref=bank_ref)
            second = self.line(
                USD,
                back,
                -cents,
                partner,
                text + " RETURNED",
                bank_ref=bank_ref,
                mark="RC" if sign > 0 else "RD",
                cancels=first,
            )
            self.leave_line(first, "cancelled")
            self.leave_line(second, "cancelled")
            if number == 0:
                self.reverse(entry, back + timedelta(days=1), "wire returned")
            else:
                self.leave(entry, "investigate")
        partner, ref, cents = self.supplier(USD), self.ref("PO"), self.amount(800, 4000)
        entry = self.entry(USD, date(2025, 4, 2), cents, partner, ref, memo="payment of March came back")
        line = self.line(
            USD,
            date(2025, 4, 4),
            cents,
            partner,
            self.say(USD, partner, f"RETURN OF {self.shown(ref)}"),
            mark="RD",
        )
        self.match("exact", [line], [entry])

    def reversed_entries(self, account: str, count: int) -> None:
        for _ in range(count):
            sign = self.rng.choice((1, -1))
            partner = self.customer(account) if sign > 0 else self.supplier(account)
            ref = self.invoice(account) if sign > 0 else self.ref("KR" if account == EUR else "PO")
            posted = self.day(account, last=date(2025, 6, 6))
            cents = sign * self.amount(300, 8000)
            self.reverse(
                self.entry(account, posted, cents, partner, ref, memo="posted in error"),
                posted + timedelta(days=self.rng.randint(1, 9)),
                "reversal",
            )
            # The right posting follows, and the bank books it once.
            again = posted + timedelta(days=2)
            self.pair(account, again, self.bank_day(account, again, 0, 3), cents, partner, ref)

    def july_reversal(self) -> None:
        """Reversed only after the quarter: at its end the entry still stands."""
        partner, ref, cents = self.supplier(EUR), self.ref("KR"), -self.amount(300, 8000)
        entry = self.entry(EUR, date(2025, 6, 12), cents, partner, ref, memo="payment run")
        self.entry(EUR, date(2025, 7, 2), -cents, partner, ref, memo="reversal", reverses=entry)
        self.leave(entry, "investigate")

    def no_reference(self, account: str) -> None:
        """Wages, taxes and the like, matched by amount where there is only one of them."""
        if account == EUR:
            for month, day in ((4, 28), (5, 28), (6, 16)):
                for partner, words, low, high in (
                    ("Belegschaft", "LOHN/GEHALT {:02d}/2025", 61000, 68000),
                    ("Finanzamt Heilbronn", "LOHNSTEUER {:02d}/25 STNR 65200/11111", 14000, 17000),
                ):
                    posted, cents = date(2025, month, day), -self.amount(low, high)
                    entry = self.entry(EUR, posted, cents, partner, memo=words.format(month))
                    line = self.line(
                        EUR,
                        posted + timedelta(days=self.rng.randint(0, 2)),
                        cents,
                        partner,
                        words.format(month),
                    )
                    self.match("amount_only", [line], [entry])
            # Wrong reference in the text, but the only item of its amount.
            partner, cents = "Ciel Optique SARL", self.amount(1000, 4000)
            _, other = self.pair(
                EUR, date(2025, 5, 5), date(2025, 5, 6), self.amount(1000, 4000), partner, self.ref("RE")
            )
            entry = self.entry(
                EUR, date(2025, 5, 20), cents, partner, self.ref("RE"), memo="expected receipt"
            )
            line = self.line(EUR, date(2025, 5, 23), cents, partner, f"FACTURE {other.ref}")
            self.match("amount_only", [line], [entry])
            # Two for two and two for one: nobody can say which.
            for entries in (2, 1):
                cents = -self.amount(100, 400)
                for n in range(2):
                    self.leave_line(
                        self.line(
                            EUR,
                            date(2025, 6, 4),
                            cents,
                            "Stadtwerke Heilbronn",
                            f"ABSCHLAG STROM ZAEHLER {n + 4}",
                        ),
                        "not_in_ledger",
                    )
                for _ in range(entries):
                    self.leave(
                        self.entry(EUR, date(2025, 6, 3), cents, "Stadtwerke Heilbronn", memo="power"),
                        "investigate",
                    )
            # One day too far apart.
            cents = -self.amount(100, 400)
            self.leave(self.entry(EUR, date(2025, 5, 12), cents, "IHK Heilbronn", memo="dues"), "investigate")
            self.leave_line(
                self.line(EUR, date(2025, 5, 16), cents, "IHK Heilbronn", "BEITRAG 2025"), "not_in_ledger"
            )
        else:
            for posted in (date(2025, 4, 15), date(2025, 5, 15), date(2025, 6, 16)):
                cents = -self.amount(900, 1300)
                entry = self.entry(USD, posted, cents, "State of Delaware", memo="sales tax")
                line = self.line(
                    USD,
                    posted + timedelta(days=1),
                    cents,
                    "State of Delaware",
                    self.say(USD, "State of Delaware", "SALES TAX PREPAYMENT"),
                )
                self.match("amount_only", [line], [entry])

    def fees_and_interest(self) -> None:
        for month, last in ((4, date(2025, 4, 30)), (5, date(2025, 5, 30)), (6, date(2025, 6, 30))):
            cents = -(2990 + 5 * month)
            line = self.line(
                EUR, last, cents, "Rheinkreditbank AG", f"Kontoführung {month:02d}/2025", kind="ENTGELT"
            )
            if month != 6:
                self.match(
                    "amount_only",
                    [line],
                    [self.entry(EUR, last, cents, "Rheinkreditbank AG", memo="account fee")],
                )
            else:
                self.leave_line(line, "bank_fee")
            self.leave_line(
                self.line(
                    USD,
                    last,
                    -(3500 + month),
                    "Harbor National Bank",
                    self.say(USD, "Harbor National Bank", "MONTHLY SERVICE CHARGE"),
                    kind="NCHG",
                ),
                "bank_fee",
            )
        self.leave_line(
            self.line(EUR, Q_END, 21844, "Rheinkreditbank AG", "Habenzinsen 2. Quartal 2025", kind="ZINSEN"),
            "interest",
        )
        self.leave_line(
            self.line(
                USD,
                Q_END,
                11207,
                "Harbor National Bank",
                self.say(USD, "Harbor National Bank", "CREDIT INTEREST Q2"),
                kind="NINT",
            ),
            "interest",
        )

    def open_items(self) -> None:
        """Left open at the end of March: cleared, reversed or still open; and some not left open."""
        for account, count in ((EUR, 5), (USD, 3)):
            for n in range(count):
                sign = 1 if n % 2 else -1
                partner = self.customer(account) if sign > 0 else self.supplier(account)
                ref = self.invoice(account) if sign > 0 else self.ref("KR" if account == EUR else "PO")
                posted = date(2025, 3, 26) + timedelta(days=self.rng.choice((0, 1, 2, 5)))
                line, entry = self.pair(
                    account,
                    posted,
                    self.bank_day(account, Q_START, 0, 3),
                    sign * self.amount(400, 9000),
                    partner,
                    ref,
                )
                entry.open_item = True
                if n == 0:
                    line.booked, line.value = Q_START, date(2025, 3, 31)
        stuck = self.entry(
            EUR,
            date(2025, 3, 18),
            self.amount(900, 3000),
            self.customer(EUR),
            self.ref("RE"),
            memo="expected receipt",
            open_item=True,
        )
        self.leave(stuck, "investigate")
        wrong = self.entry(
            EUR,
            date(2025, 3, 27),
            -self.amount(900, 3000),
            self.supplier(EUR),
            self.ref("KR"),
            memo="payment run",
            open_item=True,
        )
        self.reverse(wrong, date(2025, 4, 8), "payment stopped")
        for account in (EUR, USD):
            for _ in range(5):
                self.entry(
                    account,
                    self.day(account, date(2025, 3, 17), date(2025, 3, 28)),
                    self.amount(300, 9000),
                    self.customer(account),
                    self.invoice(account),
                    memo="expected receipt",
                )

    def quarter_end(self) -> None:
        """Posted in June, booked in July; and July business that is nobody's concern."""
        for account, count in ((EUR, 5), (USD, 3)):
            for n in range(count):
                sign = 1 if n % 2 else -1
                partner = self.customer(account) if sign > 0 else self.supplier(account)
                ref = self.invoice(account) if sign > 0 else self.ref("KR" if account == EUR else "PO")
                posted = self.day(account, date(2025, 6, 23), date(2025, 6, 30))
                cents = sign * self.amount(400, 12000)
                self.leave(self.entry(account, posted, cents, partner, ref, memo="advised"), "in_transit")
                # Value before the quarter's end, booking after it.
                self.line(
                    account,
                    date(2025, 7, 1 + n % 3),
                    cents,
                    partner,
                    self.say(account, partner, self.words(account, ref)),
                    value=Q_END if n < 2 else None,
                )
            for _ in range(4):
                posted = date(2025, 7, self.rng.randint(1, 3))
                cents, partner, ref = self.amount(400, 9000), self.customer(account), self.invoice(account)
                self.entry(account, posted, cents, partner, ref, memo="expected receipt")
                self.line(
                    account, posted, cents, partner, self.say(account, partner, self.words(account, ref))
                )
        # The edge of "in transit".
        self.leave(
            self.entry(
                EUR,
                date(2025, 6, 20),
                -self.amount(400, 2000),
                self.supplier(EUR),
                self.ref("KR"),
                memo="payment run",
            ),
            "investigate",
        )
        self.leave(
            self.entry(
                EUR,
                date(2025, 6, 21),
                -self.amount(400, 2000),
                self.supplier(EUR),
                self.ref("KR"),
                memo="payment run",
            ),
            "in_transit",
        )

    def currency_purchases(self) -> None:
        """Dollars bought, some delivered on days without a rate, one after the quarter."""
        for dealt, delivered in (
            (date(2025, 4, 17), date(2025, 4, 21)),
            (date(2025, 4, 29), date(2025, 5, 1)),
            (date(2025, 5, 13), date(2025, 5, 15)),
            (date(2025, 5, 27), date(2025, 5, 29)),
            (date(2025, 6, 5), date(2025, 6, 10)),
            (date(2025, 6, 27), date(2025, 7, 1)),
        ):
            ref, usd = self.ref("FX"), self.rng.choice((4, 5, 6, 8, 10)) * 1000000
            usd += self.rng.randrange(10) * 12500
            price = self.rate(dealt) - Decimal("0.0021")
            eur = int(half_up(Decimal(usd) / price))
            bought = f"{ref} KAUF USD {german(usd)} KURS {str(price).replace('.', ',')}"
            out = self.entry(EUR, dealt, -eur, "Rheinkreditbank AG", ref, memo="USD bought")
            came = self.entry(USD, dealt, usd, "Rheinkreditbank AG", ref, memo="USD bought", eur_cents=eur)
            self.match(
                "exact",
                [self.line(EUR, dealt, -eur, "Rheinkreditbank AG", bought, kind="DEVISENGESCHAEFT")],
                [out],
            )
            line = self.line(
                USD,
                delivered,
                usd,
                "Rheinkreditbank AG",
                self.say(USD, "Rheinkreditbank AG", f"FX DELIVERY {ref}"),
            )
            if delivered <= Q_END:
                self.match("exact", [line], [came])
            else:
                self.leave(came, "in_transit")

    def strangers(self) -> None:
        for account, partner, words in (
            (EUR, "Württembergische Sachversicherung", "Schaden 25/88231 Glasbruch"),
            (EUR, "Hüttenwerke Saar AG", "Überzahlung? bitte klären"),
            (EUR, "Parkhaus am Neckar GmbH", "Dauerparker 06"),
            (USD, "Pacific Trade Show LLC", "BOOTH DEPOSIT REFUND"),
            (USD, "Juniper Water District", "SEE EMAIL"),
        ):
            sign = -1 if "Parkhaus" in partner else 1
            self.leave_line(
                self.line(
                    account,
                    self.day(account),
                    sign * self.amount(80, 2500),
                    partner,
                    self.say(account, partner, words),
                ),
                "not_in_ledger",
            )

    def cash_account(self) -> None:
        """Entries on an account that is not reconciled."""
        for _ in range(14):
            self.entry(
                "1600",
                self.day(EUR),
                self.rng.choice((1, -1)) * self.amount(5, 150),
                "Kasse",
                memo="petty cash",
            )

    # -- assembly -----------------------------------------------------------

    def build(self) -> None:
        self.plain(EUR, 34, 20)
        self.plain(USD, 13, 13)
        self.edges_of_the_window()
        self.twins()
        self.lease()
        self.batches(EUR, 4)
        self.batches(USD, 2)
        self.card_payouts()
        self.collective(EUR, 4, 0)
        self.collective(USD, 3, 2)
        self.partial_reversal()
        self.split(EUR, 3)
        self.split(USD, 2)
        self.wire_charges()
        self.discounts()
        self.doubles(EUR, 3, 2)
        self.doubles(USD, 1, 1)
        self.returned_debits()
        self.taken_back()
        self.reversed_entries(EUR, 4)
        self.reversed_entries(USD, 2)
        self.july_reversal()
        self.no_reference(EUR)
        self.no_reference(USD)
        self.fees_and_interest()
        self.open_items()
        self.quarter_end()
        self.currency_purchases()
        self.strangers()
        self.cash_account()
        self._number()

    def _number(self) -> None:
        eur = sorted((x for x in self.lines if x.account == EUR), key=lambda x: (x.booked, x.order))
        for number, line in enumerate(eur, 611):
            line.id = f"RKB-2025-{number:06d}"
        for line in eur:
            if line.cancels is not None:
                line.text = line.text.replace("@@", line.cancels.id)
        for page in self.mt940_pages():
            number, part, lines = page
            for position, line in enumerate(lines, 1):
                line.id = f"HNB-{number:05d}-{part:03d}-{position:03d}"
        for number, entry in enumerate(sorted(self.entries, key=lambda x: (x.posted, x.order)), 40217):
            entry.id = f"GL-{number:07d}"

    def mt940_pages(self) -> list[tuple[int, int, list[Line]]]:
        """Statement number, page, lines: a statement a month, 24 lines a page."""
        pages = []
        for number, month in enumerate((4, 5, 6, 7), 4):
            lines = sorted(
                (x for x in self.lines if x.account == USD and x.booked.month == month),
                key=lambda x: (x.booked, x.order),
            )
            chunks = [lines[n : n + 24] for n in range(0, len(lines), 24)]
            pages += [(number, part, chunk) for part, chunk in enumerate(chunks, 1)]
        return pages

    @property
    def meant(self) -> Meant:
        """Matches as sorted ids to their rule; classes of what is left, by id."""
        meant = Meant()
        for rule, lines, entries in self.intent:
            if rule == "twins":  # exact, and lowest entry id first
                for line, entry in zip(
                    sorted(lines, key=lambda x: x.id), sorted(entries, key=lambda x: x.id), strict=True
                ):
                    meant.matches[(line.id, entry.id)] = "exact"
                continue
            ids = sorted(x.id for x in lines) + sorted(x.id for x in entries)
            meant.matches[tuple(ids)] = rule
        meant.lines = {line.id: what for line, what in self.line_class.items()}
        meant.entries = {entry.id: what for entry, what in self.entry_class.items()}
        return meant

    # -- files --------------------------------------------------------------

    def files(self) -> dict[str, bytes]:
        return {
            "rkb_2025-04-01_2025-05-16.csv": self._rkb(Q_START, date(2025, 5, 16)),
            "rkb_2025-05-12_2025-07-04.csv": self._rkb(date(2025, 5, 12), LAST_BOOKING),
            "hnb_mt940.sta": self._mt940(),
            "ledger_export.csv": self._ledger(),
            "open_items_2025-03-31.csv": self._open_items(),
            "usd_rates.csv": self._rates_file(),
        }

    def _rkb(self, first: date, last: date) -> bytes:
        lines = sorted((x for x in self.lines if x.account == EUR), key=lambda x: x.id)
        balance = OPENING[EUR] + sum(x.cents for x in lines if x.booked < first)
        opening, rows = balance, []
        for line in lines:
            if first <= line.booked <= last:
                balance += line.cents
                assert line.value is not None
                rows.append(
                    [
                        line.id,
                        f"{line.booked:%d.%m.%Y}",
                        f"{line.value:%d.%m.%Y}",
                        line.kind,
                        line.partner,
                        line.text,
                        german(line.cents),
                        "EUR",
                        german(balance),
                    ]
                )
        out = io.StringIO()
        write = csv.writer(out, delimiter=";", lineterminator="\r\n").writerow
        write(["Rheinkreditbank AG, Filiale Heilbronn", "Kontoumsätze"])
        write(["Kontoinhaber", "Falkenhorst Messtechnik GmbH"])
        write(["IBAN", "DE41 5005 9999 0007 3311 20", "EUR"])
        write(["Zeitraum", f"{first:%d.%m.%Y} - {last:%d.%m.%Y}"])
        write([f"Anfangssaldo {first:%d.%m.%Y}", german(opening), "EUR"])
        write([])
        write(
            [
                "Umsatz-ID",
                "Buchungstag",
                "Valuta",
                "Buchungstext",
                "Auftraggeber/Empfänger",
                "Verwendungszweck",
                "Betrag",
                "Währung",
                "Saldo",
            ]
        )
        for row in reversed(rows):
            write(row)
        write([f"Endsaldo {last:%d.%m.%Y}", german(balance), "EUR"])
        return out.getvalue().encode("latin-1")

    def _mt940(self) -> bytes:
        rng = random.Random(SEED + 1)
        pages = self.mt940_pages()
        balance, out = OPENING[USD], []

        def money(cents: int) -> str:
            whole, rest = divmod(abs(cents), 100)
            return f"{whole},{rest:02d}" if rest else f"{whole},"

        for number, part, lines in pages:
            last_page = not any(p[0] == number and p[1] > part for p in pages)
            first_day = date(2025, number, 1)
            end = lines[-1].booked
            out += [
                f":20:HNB{number:02d}{part:02d}2025",
                ":25:021999990/4400718233",
                f":28C:{number:05d}/{part:03d}",
                (
                    f":60{'F' if part == 1 else 'M'}:{'C' if balance >= 0 else 'D'}"
                    f"{(first_day if part == 1 else lines[0].booked):%y%m%d}USD{money(balance)}"
                ),
            ]
            for line in lines:
                balance += line.cents
                mark = line.mark or ("C" if line.cents > 0 else "D")
                assert line.value is not None
                same = line.value == line.booked
                booking = "" if same and rng.random() < 0.2 else f"{line.booked:%m%d}"
                bank_ref = line.bank_ref or f"HN{rng.randint(10**8, 10**9 - 1)}"
                out.append(
                    f":61:{line.value:%y%m%d}{booking}{mark}{money(line.cents)}{line.kind}"
                    f"{rng.choice(('NONREF', f'FM{rng.randint(1000, 9999)}'))}//{bank_ref}"
                )
                cut = [line.text[n : n + 65] for n in range(0, len(line.text), 65)]
                out += [":86:" + cut[0], *cut[1:]]
            out += [
                (
                    f":62{'F' if last_page else 'M'}:{'C' if balance >= 0 else 'D'}"
                    f"{end:%y%m%d}USD{money(balance)}"
                ),
                "-",
            ]
        return ("\r\n".join(out) + "\r\n").encode("ascii")

    def _ledger(self) -> bytes:
        out = io.StringIO()
        write = csv.writer(out, lineterminator="\n").writerow
        write(
            [
                "entry_id",
                "posting_date",
                "account",
                "partner",
                "doc_ref",
                "batch_id",
                "currency",
                "debit",
                "credit",
                "eur_amount",
                "reverses",
                "memo",
            ]
        )

        def money(cents: int) -> str:
            return str(Decimal(cents).scaleb(-2).quantize(Decimal("0.01")))

        for account, currency in ((EUR, "EUR"), (USD, "USD")):
            opening = OPENING[account] + sum(
                x.cents for x in self.entries if x.account == account and x.open_item
            )
            in_eur = opening if account == EUR else self.to_eur(opening, date(2025, 3, 31))
            write(
                [
                    f"EB-{account}",
                    "2025-04-01",
                    account,
                    "",
                    f"EB-{account}-2025",
                    "",
                    currency,
                    money(opening),
                    "",
                    money(in_eur),
                    "",
                    "Saldenvortrag / opening balance",
                ]
            )
        for x in sorted(self.entries, key=lambda x: x.id):
            debit, credit = (x.cents, 0) if x.cents > 0 else (0, -x.cents)
            if x.odd_sign:
                debit, credit = -credit, -debit
            eur = x.cents if x.eur_cents is None else x.eur_cents
            write(
                [
                    x.id,
                    f"{x.posted:%Y-%m-%d}",
                    x.account,
                    x.partner,
                    x.ref,
                    x.batch,
                    "USD" if x.account == USD else "EUR",
                    money(debit) if debit else "",
                    money(credit) if credit else "",
                    money(eur),
                    x.reverses.id if x.reverses else "",
                    x.memo,
                ]
            )
        return b"\xef\xbb\xbf" + out.getvalue().encode()

    def _open_items(self) -> bytes:
        rows = [
            f"{x.account},{x.id}"
            for x in sorted(self.entries, key=lambda x: (x.account, x.id))
            if x.open_item
        ]
        return b"\xef\xbb\xbf" + ("\n".join(["account,entry_id", *rows]) + "\n").encode()

    def _rates_file(self) -> bytes:
        rows = [
            f"{day:%Y-%m-%d},{'' if rate is None else rate}"
            for day, rate in sorted(self.rates.items(), reverse=True)
        ]
        return ("\n".join(["date,usd_per_eur", *rows]) + "\n").encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--task", type=Path, default=Path(__file__).resolve().parents[1], help="the task's folder"
    )
    task = parser.parse_args().task
    books = Books()
    books.build()
    for name, data in books.files().items():
        for folder in ("environment/data", "verifier/inputs"):
            path = task / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


if __name__ == "__main__":
    main()
