"""Compare one answer with one expected value, by a ladder of deterministic rungs.

1. exact: the same text, apart from white space around and within it;
2. numeric: the same number, within an absolute or a relative tolerance;
3. normalised: lists item by item, and percentages as the fractions they stand for;
4. symbolic: the same expression, as in `2*(x + 1)` for `2*x + 2`.

Nothing of the answer is ever evaluated: an expression is read by a parser that
knows numbers, names and a few functions, within limits of length, depth and size,
and compared by SymPy in a process of its own with limits of time and memory.
"""

import ast
import json
import re
import subprocess
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

MAX_ANSWER = 4_000
MAX_ITEMS = 500
MAX_EXPRESSION = 300
MAX_NODES = 120
MAX_DEPTH = 25
MAX_DIGITS = 30
MAX_NUMBER = 100
MAX_EXPONENT = 20
CPU_SECONDS = 20
WALL_SECONDS = 200
MEMORY = 2**30

FUNCTIONS = ("sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")
CONSTANTS = ("pi", "E")

_NUMBER = re.compile(r"[+-]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,19}")

Expected = str | int | float | Fraction | Sequence["str | int | float | Fraction"]


@dataclass(frozen=True)
class Grade:
    """The rung that the answer reached, empty when none; and what was compared, for the log."""

    rung: str
    message: str

    def __bool__(self) -> bool:
        return bool(self.rung)


def grade(
    answer: str,
    expected: Expected,
    *,
    abs_tol: float = 0.0,
    rel_tol: float = 0.0,
    ordered: bool = True,
    symbolic: bool = False,
) -> Grade:
    """Grade the text of an answer.

    A number is right when it is at most `abs_tol` away, or `rel_tol` times the
    expected value. A list must have the same number of items, in the same
    order unless `ordered` is false. `symbolic` allows the fourth rung.
    """
    if len(answer) > MAX_ANSWER:
        return Grade("", f"the answer has {len(answer)} characters; at most {MAX_ANSWER} are read")
    if not answer.strip():
        return Grade("", "the answer is empty")
    if not isinstance(expected, str) and isinstance(expected, Sequence):
        return _grade_list(answer, list(expected), abs_tol, rel_tol, ordered=ordered)
    rung = _grade_one(answer, expected, abs_tol, rel_tol)
    if not rung and symbolic and isinstance(expected, str) and _equivalent(answer, expected):
        rung = "symbolic"
    return Grade(rung, f"{rung or 'wrong'}: {_shown(answer)}")


def _grade_one(answer: str, expected: str | int | float | Fraction, abs_tol: float, rel_tol: float) -> str:
    text = _tidy(answer)
    wanted_text = _tidy(expected) if isinstance(expected, str) else None
    if not text:
        return ""
    if text == wanted_text:
        return "exact"
    wanted = number(wanted_text) if wanted_text is not None else Fraction(expected)
    value = number(text)
    if value is not None and wanted is not None:
        return "numeric" if _close(value, wanted, abs_tol, rel_tol) else ""
    # One side at least has a per cent sign: both are taken as fractions.
    value = value if value is not None else _percentage(text)
    if wanted is None and wanted_text is not None:
        wanted = _percentage(wanted_text)
    if value is not None and wanted is not None and _close(value, wanted, abs_tol, rel_tol):
        return "normalised"
    return ""


def _grade_list(
    answer: str,
    expected: list[str | int | float | Fraction],
    abs_tol: float,
    rel_tol: float,
    *,
    ordered: bool,
) -> Grade:
    items = split_list(answer)
    if len(items) != len(expected):
        return Grade("", f"wrong: {len(items)} items where {len(expected)} are expected: {_shown(answer)}")
    taken: dict[int, int] = {}
    fits: list[list[int]] = []
    for position, item in enumerate(items):
        places = (position,) if ordered else range(len(expected))
        fits.append([place for place in places if _grade_one(item, expected[place], abs_tol, rel_tol)])
        if not _seated(position, fits, taken, set()):
            return Grade("", f"wrong: item {position + 1} of {len(items)}, {_shown(item)}")
    return Grade("normalised", f"normalised: {_shown(answer)}")


def _seated(item: int, fits: list[list[int]], taken: dict[int, int], tried: set[int]) -> bool:
    """Give an item an expected value of its own; one that fits several makes room where it can."""
    for free in (True, False):
        for place in fits[item]:
            if (place not in taken) is free and place not in tried:
                tried.add(place)
                if free or _seated(taken[place], fits, taken, tried):
                    taken[place] = item
                    return True
    return False


def split_list(text: str) -> list[str]:
    """Return the items of a list as JSON has it, or separated by semicolons, lines or commas."""
    tidy = text.strip()
    try:
        data = json.loads(tidy, parse_constant=str)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, list):
        if any(not isinstance(item, str | int | float) or isinstance(item, bool) for item in data):
            return []
        return [str(item) for item in data][: MAX_ITEMS + 1]
    inner = tidy[1:-1] if tidy[:1] + tidy[-1:] in ("[]", "()", "{}") else tidy
    separator = next((sign for sign in (";", "\n", ",") if sign in inner), ",")
    items = [item.strip().strip("\"'") for item in inner.split(separator, MAX_ITEMS)]
    return items if any(items) else []


def number(text: str) -> Fraction | None:
    """Return the number that a text is, such as `-1,234.5` or `2e-3`; None for anything else."""
    text = text.replace("\u2212", "-")
    if len(text) > MAX_NUMBER or not text.isascii() or not _NUMBER.fullmatch(text):
        return None
    return Fraction(text.replace(",", ""))


def _percentage(text: str) -> Fraction | None:
    value = number(text[:-1].rstrip()) if text.endswith("%") else None
    return value / 100 if value is not None else None


def _close(value: Fraction, wanted: Fraction, abs_tol: float, rel_tol: float) -> bool:
    return abs(value - wanted) <= max(Fraction(abs_tol), Fraction(rel_tol) * abs(wanted))


def _tidy(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _shown(text: str) -> str:
    tidy = _tidy(text)
    return repr(tidy if len(tidy) <= 80 else tidy[:77] + "...")


def _equivalent(answer: str, expected: str) -> bool:
    """Say whether two expressions are the same, in a process that can be stopped."""
    trees = [parse_expression(text) for text in (answer, expected)]
    if None in trees:
        return False
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-B", __file__],
            input=json.dumps([_tidy(answer), _tidy(expected)]),
            capture_output=True,
            text=True,
            timeout=WALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0 and done.stdout == "equivalent\n"


def parse_expression(text: str) -> ast.expr | None:
    """Return the syntax tree of an expression that holds nothing but arithmetic; None for any other text."""
    source = _tidy(text).replace("^", "**").replace("\u2212", "-")
    if not source or len(source) > MAX_EXPRESSION or not source.isascii():
        return None
    try:
        tree = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    allowed = sum(1 for _ in ast.walk(tree)) <= MAX_NODES and _allowed(tree, 0)
    return tree if allowed else None


def _allowed(node: ast.expr, depth: int) -> bool:
    if depth > MAX_DEPTH:
        return False
    match node:
        case ast.Constant(value=bool()):
            return False
        case ast.Constant(value=int() as value):
            return abs(value) < 10**MAX_DIGITS
        case ast.Constant(value=float() as value):
            return abs(value) < 10.0**MAX_DIGITS
        case ast.Name(id=name):
            return _NAME.fullmatch(name) is not None
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return _allowed(operand, depth + 1)
        case ast.BinOp(op=ast.Pow(), left=base, right=power):
            return _small(power) and _allowed(base, depth + 1) and _allowed(power, depth + 1)
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), left=left, right=right):
            return _allowed(left, depth + 1) and _allowed(right, depth + 1)
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS:
            return _allowed(argument, depth + 1)
        case _:
            return False


def _small(power: ast.expr) -> bool:
    """Allow `x**20`, `x**(1/2)` and `x**n`; not towers, whose size explodes."""
    if any(isinstance(node, ast.Pow) for node in ast.walk(power)):
        return False
    numbers = [node.value for node in ast.walk(power) if isinstance(node, ast.Constant)]
    many = sum(isinstance(node, ast.Mult) for node in ast.walk(power))
    return many <= 1 and all(not isinstance(value, str) and abs(value) <= MAX_EXPONENT for value in numbers)


def _to_sympy(node: ast.expr):
    import sympy

    match node:
        case ast.Constant(value=int() as value):
            return sympy.Integer(value)
        case ast.Constant(value=value):
            return sympy.Rational(repr(value))
        case ast.Name(id=name):
            return getattr(sympy, name) if name in CONSTANTS else sympy.Symbol(name, real=True)
        case ast.UnaryOp(op=op, operand=operand):
            return -_to_sympy(operand) if isinstance(op, ast.USub) else _to_sympy(operand)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _to_sympy(left), _to_sympy(right)
            match op:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.Div():
                    return a / b
                case _:
                    return a**b
        case ast.Call(func=ast.Name(id=name), args=[argument]):
            return getattr(sympy, name)(_to_sympy(argument))
    raise AssertionError("parse_expression lets nothing else through")


def _compare() -> int:
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    import sympy

    answer, expected = (_to_sympy(parse_expression(text)) for text in json.load(sys.stdin))
    undefined = (sympy.zoo, sympy.nan, sympy.oo, -sympy.oo)
    if any(value in undefined or value.has(*undefined) for value in (answer, expected)):
        return 1
    if sympy.simplify(answer - expected) != 0:
        return 1
    print("equivalent")
    return 0


if __name__ == "__main__":
    sys.exit(_compare())
