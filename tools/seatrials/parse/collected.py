"""What pytest would collect from a file of tests, what it would skip, and which tests cannot fail.

pytest's own defaults: functions `test*`, classes `Test*` without a constructor,
and `unittest.TestCase`. Nothing is run. Each fact looks at the text first: most
files need no parsing to know that there is nothing to tell.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Final

from seatrials.parse.pytest import PythonFacts
from seatrials.parse.python_tree import Function, Scope, Tree, called

_MADE: Final = re.compile(
    rb"globals\(\)|setattr\(|exec\(|import \*|load_tests|pytest_collect|pytest_pycollect"
)
"""What makes tests that no `def` shows."""

_CONSTANT: Final = re.compile(
    rb"assert *(?:True|[1-9]\d{0,20} *(?:[,#=]|$)|\((?:[^\n]{0,300}\))?[ \t]*$|\["
    rb"|f?[\"'][^\"'\n]{0,300}[\"'] *(?:[,#]|$)|len\([^\n]{0,200}?>= *0\b)",
    re.MULTILINE,
)
"""Where an assertion may hold whatever was done; where none of it stands, nothing need be parsed."""

_FAILS: Final = frozenset(
    {"fail", "exit", "_exit", "raises", "warns", "check_returncode", "raise_for_status"}
)
_SKIPS: Final = frozenset({"skip", "skipTest"})


def collects(facts: PythonFacts) -> bool:
    """Say whether pytest finds a test in the file; true where that is not known."""
    if b"\ndef test" in facts.source or _MADE.search(facts.source) or facts.tree is None:
        return True
    return any(_is_collected(node) for node in _top(facts.tree.tree.body))


def _top(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, those under its conditions too."""
    pending = list(body)
    while pending:
        node = pending.pop()
        match node:
            case ast.If(body=first, orelse=second):
                pending += [*first, *second]
            case ast.Try(body=first, handlers=handlers, orelse=second, finalbody=last):
                pending += [*first, *second, *last, *(part for one in handlers for part in one.body)]
            case ast.With(body=first) | ast.For(body=first):
                pending += first
            case _:
                yield node


def _is_collected(node: ast.stmt) -> bool:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name.startswith("test")
        case ast.ClassDef(name=name, bases=bases, body=body):
            if any(ast.unparse(base) != "object" for base in bases):
                return True  # a TestCase, or tests that are inherited
            names = [part.name for part in body if isinstance(part, Function)]
            return name.startswith("Test") and "__init__" not in names and any(map(_is_test, names))
        case ast.ImportFrom(names=aliases):
            return any(_is_test(alias.asname or alias.name) or _is_suite(alias) for alias in aliases)
        case ast.Assign(targets=targets):
            return any(isinstance(part, ast.Name) and _is_test(part.id) for part in targets)
        case _:
            return False


def _is_test(name: str) -> bool:
    return name.startswith("test")


def _is_suite(alias: ast.alias) -> bool:
    return (alias.asname or alias.name).startswith("Test")


def runs_nothing(facts: PythonFacts) -> bool:
    """Say whether the file, run by `python`, only defines tests and calls none of them."""
    if facts.tree is None or not facts.tests or b"__main__" in facts.source or b"unittest" in facts.source:
        return False
    return all(
        isinstance(node, Function | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in facts.tree.tree.body
    )


def names(facts: PythonFacts) -> frozenset[str]:
    """Return the names of the file's tests and of the classes that hold them."""
    found = re.findall(rb"^[ \t]*(?:(?:async )?def|class) ([Tt]est\w*)", facts.source, re.MULTILINE)
    return frozenset(name.decode() for name in found)


def _may_skip(source: bytes) -> bool:
    return b".skip" in source or b"import skip" in source


def all_skipped(facts: PythonFacts) -> int | None:
    """Return the line that skips every test of the file whatever was done; None where some test may run."""
    if not _may_skip(facts.source) or facts.tree is None:
        return None
    lines: list[int] = []
    for node in facts.tree.tree.body:
        if isinstance(node, ast.Expr) and _is_skip(node.value, module=True):
            return node.lineno
        if isinstance(node, ast.Assign) and any(ast.unparse(part) == "pytestmark" for part in node.targets):
            marks = node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else [node.value]
            if any(map(_skips_always, marks)):
                return node.lineno
        if isinstance(node, ast.ClassDef) and any(map(_skips_always, node.decorator_list)):
            lines.append(node.lineno)
        elif isinstance(node, ast.ClassDef | Function) and _is_collected(node):
            tests = (
                [node]
                if isinstance(node, Function)
                else [part for part in node.body if isinstance(part, Function) and _is_test(part.name)]
            )
            if not tests or not all(map(_is_skipped, tests)):
                return None
            lines.append(tests[0].lineno)
    return lines[0] if lines else None


def _is_skipped(test: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    body = [part for part in test.body if not _is_text(part)]
    first = body[0] if body else None
    return any(map(_skips_always, test.decorator_list)) or (
        isinstance(first, ast.Expr) and _is_skip(first.value, module=False)
    )


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_skip(node: ast.expr, *, module: bool) -> bool:
    if not isinstance(node, ast.Call) or called(node) not in _SKIPS:
        return False
    return not module or any(
        keyword.arg == "allow_module_level"
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value
        for keyword in node.keywords
    )


def _skips_always(mark: ast.expr) -> bool:
    """Say whether a mark or decorator skips without a condition: `skip`, `skipif(True)`."""
    name = ast.unparse(mark.func if isinstance(mark, ast.Call) else mark)
    if not name.startswith(("pytest.mark.", "mark.", "unittest.")):
        return False
    last = name.rpartition(".")[2]
    if last in {"skipif", "skipIf"} and isinstance(mark, ast.Call) and mark.args:
        condition = mark.args[0]
        return isinstance(condition, ast.Constant) and bool(condition.value)
    return last == "skip"


def skips_without_work(facts: PythonFacts) -> tuple[tuple[int, str], ...]:
    """Return line and path of each test that is skipped where a path is not there."""
    if not _may_skip(facts.source):
        return ()
    return facts.all(_skips_on_missing)


def _skips_on_missing(tree: Tree) -> Iterator[tuple[int, str]]:
    for node, scope in tree.calls():
        if called(node) in {"skipif", "skipIf"} and node.args and _skips_if(node):
            if path := _missing(tree, node.args[0], scope):
                yield node.lineno, path
            continue
        if called(node) not in _SKIPS:
            continue
        inner: ast.AST = node
        for above in tree.above(node):
            if isinstance(above, ast.If):
                if inner in above.body and (path := _missing(tree, above.test, scope)):
                    yield node.lineno, path
                break
            inner = above


def _skips_if(mark: ast.Call) -> bool:
    return ast.unparse(mark.func) in {"pytest.mark.skipif", "mark.skipif", "unittest.skipIf", "skipIf"}


def _missing(tree: Tree, condition: ast.expr, scope: Scope) -> str:
    """Return the path whose absence is all that a condition asks for; empty for any other."""
    match condition:
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=func, args=args) as asked) if called(asked) in {
            "exists",
            "is_file",
            "is_dir",
            "isfile",
            "isdir",
        }:
            target = args[0] if args else func.value if isinstance(func, ast.Attribute) else None
            return tree.origin(target, scope) if target is not None else ""
        case _:
            return ""


_ZERO_OR_FIVE: Final = re.compile(rb"\bin *[(\[{] *(?:0 *, *5|5 *, *0) *[)\]},]")
_STATUS: Final = re.compile(r"status|code|\brc\b|\bret|exit|result|pytest\.main", re.IGNORECASE)


def empty_run_passes(facts: PythonFacts) -> tuple[int, ...]:
    """Return the lines that take pytest's exit code 5, no test collected, for a success."""
    source = facts.source
    if b"exitstatus" not in source and b"NO_TESTS_COLLECTED" not in source and b", 5" not in source:
        return ()
    if b"exitstatus" in source or b"NO_TESTS_COLLECTED" in source or _ZERO_OR_FIVE.search(source):
        return facts.all(_empty_run_passes)
    return ()


def _empty_run_passes(tree: Tree) -> Iterator[int]:
    for node, _, _ in tree.comparisons():
        if isinstance(node.ops[0], ast.In) and _STATUS.search(ast.unparse(node.left)):
            said = ast.unparse(node.comparators[0])
            if re.search(r"\b0\b.*\b5\b|\b5\b.*\b0\b", said) or ("NO_TESTS" in said and "OK" in said):
                yield node.lineno
    for place, _, _ in tree.nodes:
        match place:
            case ast.Assign(targets=[ast.Attribute(attr="exitstatus")], value=value) if _is_ok(value):
                yield place.lineno
            case _:
                pass


def _is_ok(value: ast.expr) -> bool:
    return ast.unparse(value).rpartition(".")[2] in {"0", "OK"}


# Tests that cannot fail


def always_true(facts: PythonFacts) -> tuple[tuple[int, str], ...]:
    """Return line and text of assertions that always hold.

    Those that are a test's only ones; an assertion of a pair in parentheses,
    `assert (value, "message")`, also beside others.
    """
    if b"or True" not in facts.source and not _CONSTANT.search(facts.source):
        return ()
    return facts.all(_always_true)


def _always_true(tree: Tree) -> Iterator[tuple[int, str]]:
    asserted: dict[Scope, list[ast.Assert]] = {}
    calls: dict[Scope, list[ast.Call]] = {}
    failing: set[Scope] = set()
    for node, _, scope in tree.nodes:
        if isinstance(node, ast.Assert):
            if isinstance(node.test, ast.Tuple) and node.test.elts:
                yield node.lineno, "a pair in parentheses"
            asserted.setdefault(scope, []).append(node)
        elif isinstance(node, ast.Call):
            calls.setdefault(scope, []).append(node)
        elif isinstance(node, ast.Raise):
            failing.add(scope)
    for test, found in asserted.items():
        if not isinstance(test, Function) or not _is_test(test.name) or test in failing:
            continue
        if not all(_holds(item.test) for item in found) or isinstance(found[0].test, ast.Tuple):
            continue
        if not any(
            _may_fail(call) or tree.functions.get(called(call)) in asserted for call in calls.get(test, ())
        ):
            yield found[0].lineno, f"`assert {ast.unparse(found[0].test)[:60]}`"


def _may_fail(call: ast.Call) -> bool:
    """Say whether a call is meant to fail a test, by its name or `check=True`."""
    name = called(call)
    return (
        name in _FAILS
        or name.startswith(("assert", "check", "verify", "validate", "expect"))
        or any(keyword.arg == "check" for keyword in call.keywords)
    )


def _holds(test: ast.expr) -> bool:
    """Say whether a condition holds whatever was done."""
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.JoinedStr(values=parts):
            return any(isinstance(part, ast.Constant) for part in parts)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return bool(parts)
        case ast.BoolOp(op=ast.Or(), values=parts):
            return any(map(_holds, parts))
        case ast.BoolOp(values=parts):
            return all(map(_holds, parts))
        case ast.Compare(left=ast.Constant(), comparators=[ast.Constant()]):
            return True
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="len")), ops=[ast.GtE()], comparators=[ast.Constant(value=0)]
        ):
            return True
        case _:
            return False
