"""Checks of `/app/reconciliation.json` against the pristine inputs in `inputs/`."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import re
import stat
import sys
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULT = Path("/app/reconciliation.json")
MAX_BYTES = 4_000_000

_spec = importlib.util.spec_from_file_location("reconciliation_recompute", HERE / "recompute.py")
recompute = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = recompute
_spec.loader.exec_module(recompute)

RULES = ("exact", "batch", "collective", "split", "deduction", "amount_only")
LINE_CLASSES = ("cancelled", "bank_fee", "interest", "double_payment", "not_in_ledger")
ENTRY_CLASSES = ("reversed", "double_posting", "in_transit", "investigate")

MONEY = re.compile(r"-?(0|[1-9][0-9]{0,11})\.[0-9]{2}")
SHAPES = {
    "matches": {
        "account": recompute.ACCOUNTS,
        "rule": RULES,
        "lines": "ids",
        "entries": "ids",
        "difference": "money",
        "reason": ("fee", "discount", None),
        "exchange_difference_eur": "money or null",
    },
    "unmatched_lines": {
        "account": recompute.ACCOUNTS,
        "id": "text",
        "amount": "money",
        "class": LINE_CLASSES,
    },
    "unmatched_entries": {
        "account": recompute.ACCOUNTS,
        "id": "text",
        "amount": "money",
        "class": ENTRY_CLASSES,
    },
    "usd_purchases": {
        "doc_ref": "text",
        "usd_amount": "money",
        "eur_cost": "money",
        "rate_date": "text",
        "rate": "text",
        "reference_eur": "money",
        "margin_eur": "money",
    },
    "accounts": {
        "account": recompute.ACCOUNTS,
        "currency": ("EUR", "USD"),
        "bank_opening": "money",
        "bank_closing": "money",
        "ledger_opening": "money",
        "ledger_closing": "money",
        "unmatched_lines": "money",
        "unmatched_entries": "money",
        "match_differences": "money",
        "exchange_difference_eur": "money or null",
    },
}


# -- reading what the agent left ---------------------------------------------


class UnusableError(AssertionError):
    """The result cannot be read; the message says why."""


def read_result(path: Path = RESULT) -> Any:
    """Return the parsed result, or raise `UnusableError`; follows no link and reads no device."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise UnusableError(f"`{path}` cannot be opened as a plain file: {error.strerror}") from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise UnusableError(f"`{path}` is not a regular file")
        with os.fdopen(handle, "rb", closefd=False) as stream:
            data = stream.read(MAX_BYTES + 1)
    finally:
        os.close(handle)
    if len(data) > MAX_BYTES:
        raise UnusableError(f"`{path}` is larger than {MAX_BYTES} bytes")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
        if twice:
            raise UnusableError(f"`{path}` has the key `{twice[0]}` twice in one object")
        return dict(pairs)

    def no_constant(name: str) -> None:
        raise UnusableError(f"`{path}` holds `{name}`, which is not JSON")

    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=unique, parse_constant=no_constant)
    except UnicodeDecodeError:
        raise UnusableError(f"`{path}` is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise UnusableError(f"`{path}` is not valid JSON: {str(error)[:200]}") from None


def fits(value: Any, wanted: Any) -> bool:
    """Say whether a value has the kind that `SHAPES` asks for."""
    match wanted:
        case "ids":
            return isinstance(value, list) and bool(value) and all(isinstance(x, str) for x in value)
        case "text":
            return isinstance(value, str)
        case "money":
            return isinstance(value, str) and MONEY.fullmatch(value) is not None and value != "-0.00"
        case "money or null":
            return value is None or fits(value, "money")
        case _:
            return (value is None or isinstance(value, str)) and value in wanted


def show(value: Any) -> str:
    """Quote a value of the agent's, cut short."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def describe(wanted: Any) -> str:
    """Say in words what `SHAPES` asks for."""
    if isinstance(wanted, tuple):
        return "one of " + ", ".join("null" if x is None else x for x in wanted)
    return {
        "ids": "a list of at least one id",
        "text": "a string",
        "money": 'an amount such as "-12.50"',
        "money or null": 'an amount such as "-12.50", or null',
    }[wanted]


def short(problems: list[str]) -> list[str]:
    """Keep the first ten problems and say how many more there are."""
    more = len(problems) - 10
    return problems if more <= 0 else [*problems[:10], f"... and {more} more"]


# -- the checks; each returns what is wrong ------------------------------------


def check_shape(doc: Any) -> list[str]:
    """Keys, types, amounts and words are those of the prompt."""
    if not isinstance(doc, dict):
        return ["the top level must be a JSON object"]
    keys = {"quarter", *SHAPES}
    if set(doc) != keys:
        return [
            (
                f"top-level keys: missing {sorted(keys - set(doc))}, "
                f"not asked for {show(sorted(set(doc) - keys))}"
            )
        ]
    problems = []
    if doc["quarter"] != "2025-Q2":
        problems.append('`quarter` must be "2025-Q2"')
    for section, shape in SHAPES.items():
        if not isinstance(doc[section], list):
            problems.append(f"`{section}` must be a list")
            continue
        for number, row in enumerate(doc[section]):
            where = f"`{section}[{number}]`"
            if not isinstance(row, dict) or set(row) != set(shape):
                problems.append(f"{where} must be an object with exactly the keys {', '.join(shape)}")
                continue
            problems += [
                f"{where}: `{key}` is {show(row[key])}, must be {describe(wanted)}"
                for key, wanted in shape.items()
                if not fits(row[key], wanted)
            ]
    return problems


def check_order(doc: Any) -> list[str]:
    """Lists are sorted as the prompt says."""
    keys = {
        "matches": lambda x: (x["account"], x["lines"][0]),
        "unmatched_lines": lambda x: (x["account"], x["id"]),
        "unmatched_entries": lambda x: (x["account"], x["id"]),
        "usd_purchases": lambda x: x["doc_ref"],
        "accounts": lambda x: x["account"],
    }
    problems = [
        f"`{section}` is not in the order asked for"
        for section, key in keys.items()
        if doc[section] != sorted(doc[section], key=key)
    ]
    problems += [
        f"`matches[{number}]`: `{part}` is not sorted"
        for number, row in enumerate(doc["matches"])
        for part in ("lines", "entries")
        if row[part] != sorted(row[part])
    ]
    return problems


def _covered(doc: Any, part: str, section: str, items: dict[str, Any]) -> list[str]:
    used = [(x, row["account"]) for row in doc["matches"] for x in row[part]]
    used += [(row["id"], row["account"]) for row in doc[section]]
    count = Counter(x for x, _ in used)
    problems = [f"{x} takes part but appears nowhere" for x in items if x not in count]
    problems += [f"{show(x)} appears {n} times" for x, n in count.items() if n > 1]
    problems += [f"{show(x)} does not take part in this quarter" for x in count if x not in items]
    problems += [
        f"{x} is on account {items[x].account}, not {account}"
        for x, account in used
        if x in items and items[x].account != account
    ]
    return problems


def check_lines_covered(doc: Any, books: Any) -> list[str]:
    """Every bank line that takes part appears once, and no other does."""
    return _covered(doc, "lines", "unmatched_lines", books.lines)


def check_entries_covered(doc: Any, books: Any) -> list[str]:
    """Every ledger entry that takes part appears once, and no other does."""
    return _covered(doc, "entries", "unmatched_entries", books.entries)


def money(cents: int) -> str:
    """Write cents as an amount."""
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02d}"


def check_amounts(doc: Any, books: Any) -> list[str]:
    """Amounts and differences are those of the items named beside them."""
    problems = []
    for section, items in (("unmatched_lines", books.lines), ("unmatched_entries", books.entries)):
        for row in doc[section]:
            item = items.get(row["id"])
            if item is not None and row["amount"] != money(item.cents):
                problems.append(
                    f"`{section}`: amount of {row['id']} is {money(item.cents)}, not {row['amount']}"
                )
    for row in doc["matches"]:
        if set(row["lines"]) <= set(books.lines) and set(row["entries"]) <= set(books.entries):
            cents = sum(books.lines[x].cents for x in row["lines"]) - sum(
                books.entries[x].cents for x in row["entries"]
            )
            if row["difference"] != money(cents):
                problems.append(
                    f"the match of {row['lines'][0]}: lines minus entries is "
                    f"{money(cents)}, not {row['difference']}"
                )
            if (cents == 0) != (row["reason"] is None):
                problems.append(
                    f"the match of {row['lines'][0]}: a reason belongs to a difference, and to nothing else"
                )
    return problems


def _matches(doc: Any, books: Any, *rules: str) -> list[str]:
    """Compare the matches made by some rules, as sets."""
    given = {
        (row["rule"], tuple(row["lines"]), tuple(row["entries"]), row["reason"])
        for row in doc["matches"]
        if row["rule"] in rules
    }
    right = {(m.rule, m.lines, m.entries, m.reason) for m in books.matches if m.rule in rules}

    def tell(match: tuple[str, tuple[str, ...], tuple[str, ...], str | None]) -> str:
        rule, lines, entries, reason = match
        because = f" ({reason})" if reason else ""
        return show(f"{rule}{because}: {'+'.join(lines)} = {'+'.join(entries)}")

    return [f"missing: {tell(m)}" for m in sorted(right - given, key=str)] + [
        f"against the policy: {tell(m)}" for m in sorted(given - right, key=str)
    ]


def check_exact(doc: Any, books: Any) -> list[str]:
    """Step 1: one line and one entry by reference, amount and date."""
    return _matches(doc, books, "exact")


def check_groups(doc: Any, books: Any) -> list[str]:
    """Steps 2 and 3: one line for a batch or for several entries."""
    return _matches(doc, books, "batch", "collective")


def check_split(doc: Any, books: Any) -> list[str]:
    """Step 4: one entry paid in parts."""
    return _matches(doc, books, "split")


def check_deductions(doc: Any, books: Any) -> list[str]:
    """Step 5: stated charges and cash discount."""
    return _matches(doc, books, "deduction")


def check_amount_only(doc: Any, books: Any) -> list[str]:
    """Step 6: by amount alone, where there is only one pair."""
    return _matches(doc, books, "amount_only")


def _classes(rows: list[dict[str, Any]], right: dict[str, str]) -> list[str]:
    given = {row["id"]: row["class"] for row in rows}
    problems = [f"{x} is left over and has to be listed" for x in right if x not in given]
    problems += [f"{show(x)} is not left over" for x in given if x not in right]
    problems += [
        f"{x} is `{right[x]}`, not `{what}`" for x, what in given.items() if x in right and right[x] != what
    ]
    return problems


def check_line_classes(doc: Any, books: Any) -> list[str]:
    """Bank lines left over have the right class."""
    return _classes(doc["unmatched_lines"], books.line_classes)


def check_entry_classes(doc: Any, books: Any) -> list[str]:
    """Ledger entries left over have the right class."""
    return _classes(doc["unmatched_entries"], books.entry_classes)


def check_exchange(doc: Any, books: Any) -> list[str]:
    """Exchange differences on 1820, none on 1810."""
    given = {tuple(row["lines"]): row["exchange_difference_eur"] for row in doc["matches"]}
    problems = []
    for match in books.matches:
        right = None if match.fx is None else money(match.fx)
        if match.lines not in given:
            if right is not None:
                problems.append(f"no match of {match.lines[0]}, so no exchange difference")
        elif given[match.lines] != right:
            problems.append(
                f"the match of {match.lines[0]}: exchange difference is "
                f"{right or 'null'}, not {given[match.lines] or 'null'}"
            )
    return problems


def check_purchases(doc: Any, books: Any) -> list[str]:
    """Purchases of dollars, with the rate that holds on the day of delivery."""
    right = {
        p.ref: {
            "doc_ref": p.ref,
            "usd_amount": money(p.usd),
            "eur_cost": money(p.cost),
            "rate_date": p.rate_day,
            "rate": p.rate,
            "reference_eur": money(p.reference),
            "margin_eur": money(p.cost - p.reference),
        }
        for p in books.purchases
    }
    given = {row["doc_ref"]: row for row in doc["usd_purchases"]}
    problems = [f"{ref} is missing" for ref in right if ref not in given]
    problems += [f"{show(ref)} is not to be reported" for ref in given if ref not in right]
    problems += [
        f"{ref}: `{key}` is {value}, not {show(given[ref][key])}"
        for ref, row in right.items()
        if ref in given
        for key, value in row.items()
        if given[ref][key] != value
    ]
    if len(given) != len(doc["usd_purchases"]):
        problems.append("a purchase is listed more than once")
    return problems


def check_accounts(doc: Any, books: Any) -> list[str]:
    """Balances, totals and the proof of both accounts."""
    if [row["account"] for row in doc["accounts"]] != list(recompute.ACCOUNTS):
        return ["`accounts` must hold one object for 1810 and one for 1820"]
    problems = []
    for row in doc["accounts"]:
        account = row["account"]
        lines = [x for x in books.lines.values() if x.account == account]
        entries = [x for x in books.entries.values() if x.account == account]
        matches = [m for m in books.matches if m.account == account]
        bank, ledger = books.bank_opening[account], books.ledger_opening[account]
        fx = [m.fx for m in matches if m.fx is not None]
        right = {
            "currency": "EUR" if account == "1810" else "USD",
            "bank_opening": money(bank),
            "bank_closing": money(bank + sum(x.cents for x in lines)),
            "ledger_opening": money(ledger),
            "ledger_closing": money(ledger + sum(x.cents for x in entries if recompute.in_quarter(x.day))),
            "unmatched_lines": money(sum(x.cents for x in lines if x.id in books.line_classes)),
            "unmatched_entries": money(sum(x.cents for x in entries if x.id in books.entry_classes)),
            "match_differences": money(sum(m.difference for m in matches)),
            "exchange_difference_eur": money(sum(fx)) if account == "1820" else None,
        }
        problems += [
            f"account {account}: `{key}` is {value or 'null'}, not {row[key] or 'null'}"
            for key, value in right.items()
            if row[key] != value
        ]
    return problems


# -- pytest ------------------------------------------------------------------


@functools.cache
def books() -> Any:
    """Reconcile the pristine inputs once."""
    return recompute.read_books(HERE / "inputs")


@functools.cache
def _usable() -> Any:
    doc = read_result()
    if check_shape(doc):
        raise UnusableError("not judged: the shape of the result is wrong, see test_shape")
    return doc


def test_readable() -> None:
    """The result is one plain JSON file."""
    assert isinstance(read_result(), dict), "the top level must be a JSON object"


def test_shape() -> None:
    """The result has the keys, types and words that the prompt asks for."""
    problems = check_shape(read_result())
    assert not problems, "\n".join(short(problems))


def test_order() -> None:
    """The lists are sorted."""
    problems = check_order(_usable())
    assert not problems, "\n".join(short(problems))


def test_every_bank_line_once() -> None:
    """Bank lines that take part appear exactly once."""
    problems = check_lines_covered(_usable(), books())
    assert not problems, "\n".join(short(problems))


def test_every_ledger_entry_once() -> None:
    """Ledger entries that take part appear exactly once."""
    problems = check_entries_covered(_usable(), books())
    assert not problems, "\n".join(short(problems))


def test_amounts() -> None:
    """Amounts and differences agree with the sources."""
    problems = check_amounts(_usable(), books())
    assert not problems, "\n".join(short(problems))


def test_exact_matches() -> None:
    """Step 1 of the policy."""
    problems = check_exact(_usable(), books())
    assert not problems, "\n".join(short(problems))


def test_batch_and_collective_matches() -> None:
    """Steps 2 and 3 of the policy."""
    problems = check_groups(_usable(), books())
    assert not problems, "\n".join(short(problems))


def test_split_matches() -> None:
    """Step 4 of the policy."""
    problems = check_split(_usable(), books())
    assert not problems, "\n".join(short(problems))


def test_deductions() -> None:
    """Step 5 of the policy."""
    problems = check_deductions(_usable(), books())
    assert not problems, "\n".join(short(problems))


def test_amount_only_matches() -> None:
    """Step 6 of the policy."""
    problems = check_amount_only(_usable(), books())
    assert not problems, "\n".join(short(problems))


def test_classes_of_bank_lines() -> None:
    """Section 5 of the policy, bank lines."""
    problems = check_line_classes(_usable(), books())
    assert not problems, "\n".join(short(problems))


def test_classes_of_ledger_entries() -> None:
    """Section 5 of the policy, ledger entries."""
    problems = check_entry_classes(_usable(), books())
    assert not problems, "\n".join(short(problems))


def test_exchange_differences() -> None:
    """Section 6 of the policy, exchange differences."""
    problems = check_exchange(_usable(), books())
    assert not problems, "\n".join(short(problems))


def test_usd_purchases() -> None:
    """Section 6 of the policy, purchases of dollars."""
    problems = check_purchases(_usable(), books())
    assert not problems, "\n".join(short(problems))


def test_accounts() -> None:
    """Section 7 of the policy."""
    problems = check_accounts(_usable(), books())
    assert not problems, "\n".join(short(problems))
