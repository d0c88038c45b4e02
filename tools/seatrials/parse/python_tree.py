"""The syntax tree of a Python file, walked once: what names are bound to, and what follows from constants.

Nothing is run. A text or a path is known where it follows from constants:
through names, `Path` and `os.path.join`, through loops over literals, and
through the functions and fixtures of the same file.
"""

import ast
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MAX_NODES: Final = 100_000
"""Nodes of the syntax tree that are looked at."""

VERIFIER: Final = "/verifier"
"""What a path that is built on `__file__` starts with."""

MAX_STEPS: Final = 200_000
"""Expressions that are followed for the constants in them; lists of lists of names grow without end."""

DEPTH: Final = 12
_LONGEST: Final = 4096
"""Characters of a text that is followed: the longest path, and more."""

_HIGHEST: Final = 300
_MOST_VALUES: Final = 500

Value = str | int | float
Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.Module | Function
Place = tuple[ast.AST, ast.AST | None, Scope]
"""A node, what is above it, and the function (or the module) that it stands in."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What a name is bound to: an expression, or (`item`) each item of one."""

    node: ast.expr
    item: bool = False


_SAME_PATH: Final = frozenset({"resolve", "absolute", "expanduser", "as_posix", "strip", "rstrip"})
_PATHS: Final = frozenset(
    {"Path", "PurePath", "PosixPath", "PurePosixPath", "str", "abspath", "realpath", "fspath"}
)
_WRAPPERS: Final = frozenset(
    {"approx", "Decimal", "Fraction", "float", "frozenset", "int", "list", "round", "set", "sorted", "str",
     "tuple"}
)  # fmt: skip


_BELOW: Final = re.compile(r"(?:\./)?[\w.-]{1,100}(?:/[\w.-]{1,100}){0,9}")


class Tree:
    """A file's syntax tree, walked once: each node with what is above it, and what names are bound to.

    `name` is the file's path, below the verifier's folder where it is not absolute; `folder` the one
    that relative paths stand for, empty where they stand for none.
    """

    def __init__(self, tree: ast.Module, name: str, folder: str = "") -> None:
        self.tree = tree
        self.file = posixpath.join(VERIFIER, name)
        self.folder = folder
        self.nodes: list[Place] = []
        self.parents: dict[ast.AST, ast.AST | None] = {}
        self.bound: dict[Scope, dict[str, list[Bound]]] = {tree: {}}
        self.functions: dict[str, Function] = {}
        self.returns: dict[Function, list[ast.expr]] = {}
        self.origins: dict[tuple[ast.AST, Scope], str] = {}
        self.texts: dict[tuple[ast.AST, Scope], str | None] = {}
        self._kinds: dict[type[ast.AST], list[Place]] = {}
        self._called: dict[str, list[tuple[ast.Call, Scope]]] | None = None
        self.left = MAX_STEPS
        self._walk()

    def _walk(self) -> None:
        nodes, parents, kinds = self.nodes, self.parents, self._kinds
        pending: list[Place] = [(self.tree, None, self.tree)]
        while pending and len(nodes) < MAX_NODES:
            place = pending.pop()
            node, parent, scope = place
            kind = type(node)
            nodes.append(place)
            parents[node] = parent
            kinds.setdefault(kind, []).append(place)
            if kind in _LEAVES:
                continue
            if kind in _BINDING:
                self._bind(node, scope)
            inner = scope
            if isinstance(node, Function):
                self.functions.setdefault(node.name, node)
                self.bound[node] = {}
                inner = node
            for name in _fields(kind):
                value = getattr(node, name, None)
                if isinstance(value, list):
                    pending += [(item, node, inner) for item in reversed(value) if isinstance(item, ast.AST)]
                elif isinstance(value, ast.AST):
                    pending.append((value, node, inner))

    def calls(self) -> Iterator[tuple[ast.Call, Scope]]:
        """Yield each call with the function that it stands in, in order."""
        for node, _, scope in self._kinds.get(ast.Call, ()):
            if isinstance(node, ast.Call):
                yield node, scope

    def comparisons(self) -> Iterator[tuple[ast.Compare, ast.AST | None, Scope]]:
        """Yield each comparison with what is above it and the function that it stands in, in order."""
        for node, parent, scope in self._kinds.get(ast.Compare, ()):
            if isinstance(node, ast.Compare):
                yield node, parent, scope

    def _bind(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._name(target, Bound(value), scope)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._name(target, Bound(value), scope)
            case ast.NamedExpr(target=target, value=value):
                self._name(target, Bound(value), scope)
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                self._name(target, Bound(value), scope)
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                self._name(target, Bound(value, item=True), scope)
            case ast.Return(value=ast.expr() as value) if isinstance(scope, Function):
                self.returns.setdefault(scope, []).append(value)
            case ast.Yield(value=ast.expr() as value) if isinstance(scope, Function):
                self.returns.setdefault(scope, []).append(value)
            case _:
                pass

    def _name(self, target: ast.expr, bound: Bound, scope: Scope) -> None:
        match target:
            case ast.Name(id=name):
                self.bound[scope].setdefault(name, []).append(bound)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    # What is unpacked is one of the items; of a pair in a loop, one of either.
                    self._name(part, Bound(bound.node, item=True), scope)
            case _:
                pass

    def calls_of(self, name: str) -> list[tuple[ast.Call, Scope]]:
        """Return the calls of a function by its name, with the function that each stands in."""
        if self._called is None:
            self._called = {}
            for node, scope in self.calls():
                self._called.setdefault(called(node), []).append((node, scope))
        return self._called.get(name, []) if name else []

    def values_of(self, name: str, scope: Scope) -> list[tuple[Bound, Scope]]:
        """Return what a name is bound to, in its function or else in the module."""
        for where in (scope, self.tree):
            if found := self.bound[where].get(name):
                return [(bound, where) for bound in found[:8]]
        return []

    # Paths

    def text(self, node: ast.AST, scope: Scope, depth: int = 0) -> str | None:
        """Return the string or path that an expression stands for; None where it is not known."""
        key = (node, scope)
        if key not in self.texts:
            if depth > DEPTH:
                return None
            self.texts[key] = None
            found = self._text(node, scope, depth + 1)
            # `b = a + a; c = b + b; ...` doubles with each line.
            self.texts[key] = found if found is not None and len(found) < _LONGEST else None
        return self.texts[key]

    def _text(self, node: ast.AST, scope: Scope, depth: int) -> str | None:  # noqa: PLR0912 - one case each
        match node:
            case ast.Constant(value=str(value)):
                return value
            case ast.Name(id="__file__"):
                return self.file
            case ast.Name(id=name):
                for bound, where in self.values_of(name, scope):
                    if not bound.item and (found := self.text(bound.node, where, depth)) is not None:
                        return found
                return None
            case ast.BinOp(left=left, op=ast.Div() | ast.Add() as op, right=right):
                first, second = self.text(left, scope, depth), self.text(right, scope, depth)
                if first is None or second is None:
                    return None
                return posixpath.join(first, second) if isinstance(op, ast.Div) else first + second
            case ast.JoinedStr(values=parts):
                texts = [self.text(part, scope, depth) for part in parts]
                return None if None in texts else "".join(text for text in texts if text is not None)
            case ast.FormattedValue(value=value):
                return self.text(value, scope, depth)
            case ast.BoolOp(op=ast.Or(), values=parts):
                return next((text for part in parts if (text := self.text(part, scope, depth))), None)
            case ast.Attribute(value=value, attr="parent"):
                text = self.text(value, scope, depth)
                return posixpath.dirname(text) if text is not None else None
            case ast.Call():
                return self._call_text(node, scope, depth)
            case _:
                return None

    def _call_text(self, node: ast.Call, scope: Scope, depth: int) -> str | None:
        name = called(node)
        args = [arg for arg in node.args if not isinstance(arg, ast.Starred)]
        if name in {"get", "getenv"} and "env" in ast.unparse(node.func) and len(args) > 1:
            return self.text(args[1], scope, depth)
        if name == "dirname" and args:
            text = self.text(args[0], scope, depth)
            return posixpath.dirname(text) if text is not None else None
        if name in _SAME_PATH and isinstance(node.func, ast.Attribute) and not args:
            return self.text(node.func.value, scope, depth)
        if name in {"join", "joinpath", *_PATHS} and args:
            texts = [self.text(arg, scope, depth) for arg in args]
            if name == "joinpath" and isinstance(node.func, ast.Attribute):
                texts.insert(0, self.text(node.func.value, scope, depth))
            elif name == "join" and "path" not in ast.unparse(node.func):
                return None
            known = [text for text in texts if text is not None]
            return posixpath.join(*known) if len(known) == len(texts) and known else None
        return None

    def path(self, node: ast.AST, scope: Scope) -> str | None:
        """Return the absolute path that an expression stands for."""
        if not isinstance(node, ast.expr):
            return None
        text = self.text(node, scope)
        if text and self.folder and _BELOW.fullmatch(text):
            text = posixpath.join(self.folder, text)
        if text is None or not text.startswith("/") or "\n" in text or " " in text or len(text) < 3:  # noqa: PLR2004
            return None
        return posixpath.normpath(text)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield what a node lies in, the nearest first, up to its function; a limited number of them."""
        found = self.parents.get(node)
        for _ in range(_HIGHEST):
            if found is None:
                return
            yield found
            if isinstance(found, Function):
                return
            found = self.parents.get(found)

    def opened_as(self, name: ast.Name) -> ast.expr | None:
        """Return what the nearest `with` above opens under a name; None where none does."""
        for above in self.above(name):
            for item in above.items if isinstance(above, ast.With | ast.AsyncWith) else ():
                if isinstance(item.optional_vars, ast.Name) and item.optional_vars.id == name.id:
                    return item.context_expr
        return None

    # Where a value comes from

    def origin(self, node: ast.AST, scope: Scope, depth: int = 0) -> str:
        """Return the path of the file that a value was read from; empty where it is not known."""
        key = (node, scope)
        if key in self.origins:
            return self.origins[key]
        if depth > DEPTH:
            return ""
        self.origins[key] = ""
        self.origins[key] = self._origin(node, scope, depth + 1)
        return self.origins[key]

    def _origin(self, node: ast.AST, scope: Scope, depth: int) -> str:  # noqa: PLR0912 - one case each
        path = self.path(node, scope)
        if path is not None:
            return path
        match node:
            case ast.Name(id=name):
                values = self.values_of(name, scope)
                if len(values) > 1 and (opened := self.opened_as(node)) is not None:
                    return self.origin(opened, scope, depth)
                for bound, where in values:
                    if found := self.origin(bound.node, where, depth):
                        return found
                # A parameter of a test is the fixture of that name.
                if isinstance(scope, Function) and name in self.functions:
                    return self._returned(self.functions[name], depth)
                return ""
            case ast.Call(func=func, args=args):
                if isinstance(func, ast.Name) and func.id in self.functions:
                    function = self.functions[func.id]
                    return self._returned(function, depth) or self._first(args, scope, depth)
                inside = [func.value] if isinstance(func, ast.Attribute) else []
                return self._first([*args, *inside], scope, depth)
            case ast.Attribute(value=value) | ast.Subscript(value=value) | ast.Starred(value=value):
                return self.origin(value, scope, depth)
            case ast.BinOp(left=left, right=right):
                return self._first([left, right], scope, depth)
            case (
                ast.ListComp(generators=parts)
                | ast.SetComp(generators=parts)
                | ast.DictComp(generators=parts)
            ):
                return self._first([part.iter for part in parts], scope, depth)
            case ast.GeneratorExp(generators=parts):
                return self._first([part.iter for part in parts], scope, depth)
            case ast.BoolOp(values=parts) | ast.Tuple(elts=parts):
                return self._first(parts, scope, depth)
            case ast.IfExp(body=body, orelse=orelse):
                return self._first([body, orelse], scope, depth)
            case _:
                return ""

    def _first(self, nodes: list[ast.expr], scope: Scope, depth: int) -> str:
        return next((found for node in nodes if (found := self.origin(node, scope, depth))), "")

    def _returned(self, function: Function, depth: int) -> str:
        return self._first(self.returns.get(function, []), function, depth)

    # Fields and values

    def constants(self, node: ast.AST, scope: Scope, depth: int = 0) -> list[Value]:
        """Return the constants that an expression is made of; none where it is made of anything else too."""
        self.left -= 1
        if depth > DEPTH or self.left < 0:
            return []
        deeper = depth + 1
        match node:
            case ast.Constant(value=bool()):
                return []
            case ast.Constant(value=str() | int() | float() as value):
                return [value]
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return [-value]
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                return [
                    value for part in parts[:_MOST_VALUES] for value in self.constants(part, scope, deeper)
                ]
            case ast.Dict(values=parts):
                return [
                    value for part in parts[:_MOST_VALUES] for value in self.constants(part, scope, deeper)
                ]
            case ast.Name(id=name):
                found = [
                    value
                    for bound, where in self.values_of(name, scope)
                    for value in self.constants(bound.node, where, deeper)
                ]
                return found[:_MOST_VALUES]
            case ast.Subscript(value=value, slice=ast.Constant(value=key)):
                return self._at(value, key, scope, deeper)
            case ast.Call(func=ast.Attribute(value=value, attr="items" | "keys" | "values"), args=[]):
                return self.constants(value, scope, deeper)
            case ast.Call(args=[first, *_]) if called(node) in _WRAPPERS:
                return self.constants(first, scope, deeper)
            case _:
                return []

    def _at(self, node: ast.expr, key: object, scope: Scope, depth: int) -> list[Value]:
        if isinstance(node, ast.Name):
            for bound, where in self.values_of(node.id, scope):
                if isinstance(bound.node, ast.Dict):
                    for name, value in zip(bound.node.keys, bound.node.values, strict=True):
                        if isinstance(name, ast.Constant) and name.value == key:
                            return self.constants(value, where, depth)
        return []


_BARE: Final = frozenset({"ctx", "op", "ops", "id", "attr", "arg", "name", "type_comment"})
"""Fields that hold no expression or statement."""

_LEAVES: Final = frozenset({ast.Constant, ast.Name, ast.Pass, ast.Break, ast.Continue, ast.alias})
_BINDING: Final = frozenset(
    {
        ast.AnnAssign,
        ast.Assign,
        ast.For,
        ast.NamedExpr,
        ast.Return,
        ast.Yield,
        ast.comprehension,
        ast.withitem,
    }
)


_FIELDS: Final[dict[type[ast.AST], tuple[str, ...]]] = {}
"""The fields of each kind of node that hold others, the last first; filled as kinds are met."""


def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    found = _FIELDS.get(kind)
    if found is None:
        found = _FIELDS[kind] = tuple(name for name in reversed(kind._fields) if name not in _BARE)
    return found


def called(node: ast.Call) -> str:
    """Return the last part of a called function's name."""
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""
