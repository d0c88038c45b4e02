"""Whether a file of tests compares what the agent wrote with nothing but what the agent wrote.

Nothing is run. Whatever is not understood counts as a comparison with something
else, so that only what is sure is told.
"""

import ast
import builtins
import re
from collections.abc import Iterator
from typing import Final, Literal

from seatrials.parse.pytest import PythonFacts
from seatrials.parse.python_tree import Function, Scope, Tree, called

Look = Literal["form", "itself", "other"]
"""What an assertion looks at: only the form, a file against itself, or something else."""

_OTHER: Final = (
    b"subprocess", b"startswith(", b"re.match", b"re.search", b"importlib", b"endswith(", b"os.system",
    b"re.fullmatch", b"assertEqual", b"parametrize",
)  # fmt: skip
_CONSTANT: Final = re.compile(rb"[=!<>]= *(?:[\"'\[({-]|[1-9]|True\b|False\b)|in (?:allowed|valid)_")
"""What shows at once that a file compares with something else; where it stands nothing is parsed."""

_FORM: Final = frozenset(
    {"isinstance", "hasattr", "exists", "is_file", "is_dir", "isfile", "isdir", "callable", "isdigit"}
)


def only_itself(facts: PythonFacts) -> tuple[int, str, bool] | None:
    """Return where a file is compared with itself and nothing else: line, path, and if it is compared at all.

    None where it is compared with something else, or that is not known.
    """
    source = facts.source
    if any(sign in source for sign in _OTHER) or _CONSTANT.search(source) or b"assert" not in source:
        return None
    found = facts.all(_looks)
    if any(look == "other" for look, _, _ in found):
        return None
    itself = next(((line, path, True) for look, line, path in found if look == "itself"), None)
    return itself or next(((line, path, False) for _, line, path in found if path), None)


def compares_nothing(facts: PythonFacts) -> bool:
    """Say whether a file has no assertion at all, as a helper has."""
    return b"assert" not in facts.source and b"raise" not in facts.source and b"fail(" not in facts.source


def _looks(tree: Tree) -> Iterator[tuple[Look, int, str]]:
    for node, _, scope in tree.nodes:
        match node:
            case ast.Assert(test=ast.Constant()):
                yield ("form" if _in_handler(tree, node) else "other"), node.lineno, ""
            case ast.Assert(test=test):
                look, path = _look(tree, test, scope)
                yield look, node.lineno, path
            case ast.Raise():
                yield ("form" if _in_handler(tree, node) else "other"), node.lineno, ""
            case ast.With(items=[item, *_]) if "raises" in ast.unparse(item):
                yield "other", node.lineno, ""
            case ast.Call() if called(node) in {"fail", "exit", "check_call"}:
                yield ("form" if _in_handler(tree, node) else "other"), node.lineno, ""
            case _:
                pass


def _in_handler(tree: Tree, node: ast.AST) -> bool:
    """Say whether a statement stands in an `except`: it then tells that a file could not be read."""
    return any(isinstance(above, ast.ExceptHandler) for above in tree.above(node))


def _look(tree: Tree, test: ast.expr, scope: Scope) -> tuple[Look, str]:
    match test:
        case ast.BoolOp(values=parts):
            looks = [_look(tree, part, scope) for part in parts]
            if any(look == "other" for look, _ in looks):
                return "other", ""
            return next(((look, path) for look, path in looks if look == "itself"), ("form", ""))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _look(tree, operand, scope)
        case ast.Call() if called(test) in _FORM:
            return "form", ""
        case ast.Compare(left=key, ops=[ast.In()], comparators=[value]) if keys := tree.constants(key, scope):
            is_key = all(isinstance(item, str) and _KEY.fullmatch(item) for item in keys)
            return (
                ("form", tree.origin(value, scope))
                if is_key and not _is_text(tree, value, scope)
                else ("other", "")
            )
        case ast.Compare(ops=[ast.IsNot() | ast.Is()], comparators=[ast.Constant(value=None)]):
            return "form", ""
        case ast.Compare(ops=[ast.Gt() | ast.GtE() | ast.NotEq()], comparators=[ast.Constant(value=0)]):
            return "form", ""
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="abs"), args=[ast.BinOp(left=left, op=ast.Sub(), right=right)]),
            comparators=[_],
        ):
            return _pair(tree, left, right, scope)
        case ast.Compare(left=left, ops=[_], comparators=[ast.Call(args=[right, *_]) as call]) if (
            called(call) == "approx"
        ):
            return _pair(tree, left, right, scope)
        case ast.Call(args=[left, right, *_]) if called(test) in {"isclose", "allclose"}:
            return _pair(tree, left, right, scope)
        case ast.Compare(left=left, ops=[_], comparators=[right]):
            return _pair(tree, left, right, scope)
        case _:
            return "other", ""


_KEY: Final = re.compile(r"\w+|\W")
_TEXTS: Final = frozenset({"lower", "read", "read_text", "strip", "upper"})


def _is_text(tree: Tree, node: ast.expr, scope: Scope) -> bool:
    """Say whether a value is the text of a file, in which a word is looked for: not the keys of an object."""
    if isinstance(node, ast.Name):
        return any(
            _is_text(tree, bound.node, where)
            for bound, where in tree.values_of(node.id, scope)
            if bound.node is not node and not isinstance(bound.node, ast.Name)
        )
    return isinstance(node, ast.Call) and called(node) in _TEXTS


def _pair(tree: Tree, left: ast.expr, right: ast.expr, scope: Scope) -> tuple[Look, str]:
    first, second = _origins(tree, left, scope, 0), _origins(tree, right, scope, 0)
    if first is not None and second is not None and first == second and len(first) == 1:
        return "itself", next(iter(first))
    return "other", ""


def _origins(tree: Tree, node: ast.expr, scope: Scope, depth: int) -> frozenset[str] | None:
    """Return the files that an expression is made of; None where it is made of anything else too."""
    found: set[str] = set()
    for part in ast.walk(node):
        tree.left -= 1
        if tree.left < 0:
            return None
        if (
            isinstance(part, ast.Constant)
            and isinstance(part.value, int | float)
            and part.value not in {0, 1, 2, 100}
        ):
            return None
        if not isinstance(part, ast.Name) or hasattr(builtins, part.id) or part.id in {"math", "json", "np"}:
            continue
        if part.id in tree.functions:
            return None
        origins = _of_name(tree, part, scope, depth)
        if origins is None:
            return None
        found |= origins
    return frozenset(found)


def _of_name(tree: Tree, name: ast.Name, scope: Scope, depth: int) -> frozenset[str] | None:
    if (path := tree.path(name, scope)) is not None:
        return frozenset({path})
    bound = tree.values_of(name.id, scope)
    if isinstance(scope, Function) and not bound and name.id in tree.functions:
        return None
    if not bound or depth > 6:  # noqa: PLR2004 - names that are made of names
        return None
    found: set[str] = set()
    for item, where in bound:
        if isinstance(item.node, ast.Constant):
            continue
        path = tree.origin(item.node, where)
        if path and not isinstance(item.node, ast.BinOp | ast.Compare):
            found.add(path)
            continue
        deeper = _origins(tree, item.node, where, depth + 1)
        if deeper is None:
            return None
        found |= deeper
    return frozenset(found)
