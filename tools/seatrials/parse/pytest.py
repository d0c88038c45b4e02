"""What a verifier's Python says: paths that it uses, fields it reads, what it compares and asserts.

Drawn from the syntax tree, nothing is run. A path or a value counts where it
follows from constants: through names, `Path` and `os.path.join`, through
loops over literals, and through the functions and fixtures of the same file.
"""

import ast
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, Literal, TypeVar

MAX_SOURCE: Final = 512 * 1024
"""Bytes that are parsed; of a larger file nothing is said."""

MAX_NODES: Final = 100_000
"""Nodes of the syntax tree that are looked at."""

VERIFIER: Final = "/verifier"
"""What a path that is built on `__file__` starts with."""

MAX_STEPS: Final = 200_000
"""Expressions that are followed for the constants in them; lists of lists of names grow without end."""

_DEPTH: Final = 12
_MOST_VALUES: Final = 500

How = Literal["reads", "asks", "writes", "names"]
"""What is done with a path: it is read, asked for (is it there?), written, or only named."""

Kind = Literal["exists", "always", "value"]
"""What an assertion looks at: only whether paths exist, nothing (it always holds), or a value."""

Value = str | int | float


@dataclass(frozen=True, kw_only=True, slots=True)
class PathUse:
    """One use of a path that is known in full."""

    path: str
    line: int
    how: How


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldRead:
    """One field by name; `path` is the file it comes from, empty where that is not known."""

    name: str
    path: str
    line: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """A constant that a check compares with; `path` is the file that the other side comes from, if known."""

    value: Value
    path: str
    line: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Assertion:
    """One assertion, `pytest.fail` or raised error."""

    kind: Kind
    line: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """A text, given in the source, that is written to a path."""

    path: str
    text: str


_Fact = TypeVar("_Fact")
_PASSES: Final = re.compile(
    rb"except\b[^\n]{0,200}:[ \t]*(?:(?:#[^\n]*)?\r?\n[ \t]*)*pass\b",
)
"""What a handler that only passes looks like: where it is not, nothing need be parsed to know."""
_COMPARES: Final = re.compile(
    rb"^[ \t]*assert (?![^\n]*(?:exists|is_file|is_dir|isfile|isdir|size|True|False))"
    rb"(?:(?!, f?[\"'])[^\n#]){1,200}?(?:==| in )",
    re.MULTILINE,
)
"""What an assertion about a value looks like in most files: such a line is enough, unparsed."""


def _may_swallow(source: bytes) -> bool:
    """Say whether an assertion stands between an `except` that only passes and the `try` of its indent."""
    for match in _PASSES.finditer(source):
        start = source.rfind(b"\n", 0, match.start()) + 1
        indent = source[start : match.start()]
        opened = source.rfind(b"\n" + indent + b"try", 0, start)
        if indent.strip() or opened < 0 or source.find(b"assert", opened, start) >= 0:
            return True
    return False


class PythonFacts:
    """What one file says. Each fact is worked out when it is asked for; none raises.

    `parsed` is false for what is not Python or too large; `tests` counts its
    tests; `swallowed` has the lines of assertions whose failure is caught and
    passed over, `unseeded` those that draw random numbers where nothing in the
    file sets a seed.
    """

    def __init__(self, source: bytes, name: str) -> None:
        self._source = source
        self._name = name

    @cached_property
    def _module(self) -> "_Module | None":
        if len(self._source) > MAX_SOURCE:
            return None
        try:
            return _Module(ast.parse(self._source), self._name)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def _all(self, found: Callable[["_Module"], Iterable[_Fact]]) -> tuple[_Fact, ...]:
        if self._module is None:
            return ()
        try:
            return tuple(dict.fromkeys(found(self._module)))
        except (RecursionError, MemoryError):
            return ()

    @cached_property
    def parsed(self) -> bool:
        """Whether the file is Python and small enough to be read."""
        return self._module is not None

    @cached_property
    def paths(self) -> tuple[PathUse, ...]:
        """The paths in the container that it uses, and how."""
        return self._all(_Module.uses)

    @cached_property
    def fields(self) -> tuple[FieldRead, ...]:
        """The fields that it reads, and from which path."""
        return self._all(_Module.fields)

    @cached_property
    def compared(self) -> tuple[Compared, ...]:
        """The constants that it compares with."""
        return self._all(_Module.compared)

    @cached_property
    def assertions(self) -> tuple[Assertion, ...]:
        """Its assertions."""
        return self._all(_Module.assertions)

    @cached_property
    def asserts_values(self) -> bool:
        """Whether some assertion is about a value; the first one found is enough."""
        if _COMPARES.search(self._source):
            return True
        try:
            return self._module is not None and any(
                item.kind == "value" for item in self._module.assertions()
            )
        except (RecursionError, MemoryError):
            return False

    @cached_property
    def written(self) -> tuple[Written, ...]:
        """The texts that it writes to paths."""
        return self._all(_Module.written)

    @cached_property
    def swallowed(self) -> tuple[int, ...]:
        """Lines of assertions whose failure is passed over."""
        return self._all(_Module.swallowed) if _may_swallow(self._source) else ()

    @cached_property
    def unseeded(self) -> tuple[int, ...]:
        """Lines that draw random numbers without a seed."""
        return self._all(_Module.unseeded) if b"random" in self._source else ()

    @cached_property
    def tests(self) -> int:
        """How many functions are named as pytest's tests are."""
        return sum(name.startswith("test") for name in self._module.functions) if self._module else 0


@lru_cache(maxsize=8)
def python_facts(source: bytes, name: str = "test_outputs.py") -> PythonFacts:
    """Read a file of the verifier; `name` is its path in the verifier's folder. Never raises."""
    return PythonFacts(source, name)


_Function = ast.FunctionDef | ast.AsyncFunctionDef
_MAYBE_PATH: Final = (ast.Constant, ast.Name, ast.BinOp, ast.JoinedStr, ast.Call, ast.Attribute)
_Scope = ast.Module | _Function


@dataclass(frozen=True, slots=True)
class _Bound:
    """What a name is bound to: an expression, or (`item`) each item of one."""

    node: ast.expr
    item: bool = False


_ASKS: Final = frozenset(
    {"exists", "is_file", "is_dir", "isfile", "isdir", "lexists", "is_symlink", "islink"}
)
_SIZES: Final = frozenset({"getsize", "stat", "getmtime", "access", "chmod"})
_CHANGES: Final = frozenset({"makedirs", "mkdir", "remove", "rename", "rmtree", "touch", "unlink"})
_SAVES: Final = frozenset(
    {"dump", "imwrite", "save", "savemat", "savetxt", "savez", "savez_compressed", "to_csv", "to_excel",
     "to_json", "to_parquet", "to_pickle", "write_bytes", "write_text"}
)  # fmt: skip
_NOT_READING: Final = frozenset(
    {"print", "fail", "skip", "format", "len", "str", "repr", "append", "add", "startswith", "endswith",
     "error", "info", "warning", "debug", "replace", "strip", "insert", "chdir", "get", "setenv",
     "isinstance"}
)  # fmt: skip
_RUNS: Final = frozenset({"run", "Popen", "check_output", "check_call", "call", "system"})
_SAME_PATH: Final = frozenset({"resolve", "absolute", "expanduser", "as_posix", "strip", "rstrip"})
_PATHS: Final = frozenset(
    {"Path", "PurePath", "PosixPath", "PurePosixPath", "str", "abspath", "realpath", "fspath"}
)
_WRAPPERS: Final = frozenset(
    {"approx", "Decimal", "Fraction", "float", "frozenset", "int", "list", "round", "set", "sorted", "str",
     "tuple"}
)  # fmt: skip
_GENERATORS: Final = frozenset({"Generator", "Random", "RandomState", "default_rng"})
_DRAWS: Final = frozenset(
    {"choice", "choices", "gauss", "getrandbits", "integers", "normal", "normalvariate", "permutation",
     "rand", "randint", "randn", "random", "randrange", "sample", "shuffle", "standard_normal", "uniform"}
)  # fmt: skip
_CLOSE: Final = frozenset(
    {"isclose", "allclose", "array_equal", "assert_allclose", "assert_array_equal", "assertEqual",
     "assertEquals", "assertAlmostEqual", "assertDictEqual", "assertListEqual", "assertIn", "assertNotEqual"}
)  # fmt: skip


class _Module:
    def __init__(self, tree: ast.Module, name: str) -> None:
        self.tree = tree
        self.file = f"{VERIFIER}/{name}"
        self.nodes: list[tuple[ast.AST, ast.AST | None, _Scope]] = []
        self.parents: dict[ast.AST, ast.AST | None] = {}
        self.bound: dict[_Scope, dict[str, list[_Bound]]] = {tree: {}}
        self.functions: dict[str, _Function] = {}
        self.returns: dict[_Function, list[ast.expr]] = {}
        self.origins: dict[tuple[ast.AST, _Scope], str] = {}
        self.texts: dict[tuple[ast.AST, _Scope], str | None] = {}
        self.left = MAX_STEPS
        self._walk()

    def _walk(self) -> None:
        pending: list[tuple[ast.AST, ast.AST | None, _Scope]] = [(self.tree, None, self.tree)]
        while pending and len(self.nodes) < MAX_NODES:
            node, parent, scope = pending.pop()
            self.nodes.append((node, parent, scope))
            self.parents[node] = parent
            self._bind(node, scope)
            inner = scope
            if isinstance(node, _Function):
                self.functions.setdefault(node.name, node)
                self.bound[node] = {}
                inner = node
            pending += [(child, node, inner) for child in reversed(_children(node))]

    def _bind(self, node: ast.AST, scope: _Scope) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._name(target, _Bound(value), scope)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._name(target, _Bound(value), scope)
            case ast.NamedExpr(target=target, value=value):
                self._name(target, _Bound(value), scope)
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                self._name(target, _Bound(value), scope)
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                self._name(target, _Bound(value, item=True), scope)
            case ast.Return(value=ast.expr() as value) if isinstance(scope, _Function):
                self.returns.setdefault(scope, []).append(value)
            case ast.Yield(value=ast.expr() as value) if isinstance(scope, _Function):
                self.returns.setdefault(scope, []).append(value)
            case _:
                pass

    def _name(self, target: ast.expr, bound: _Bound, scope: _Scope) -> None:
        match target:
            case ast.Name(id=name):
                self.bound[scope].setdefault(name, []).append(bound)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    # What is unpacked is one of the items; of a pair in a loop, one of either.
                    self._name(part, _Bound(bound.node, item=True), scope)
            case _:
                pass

    def values_of(self, name: str, scope: _Scope) -> list[tuple[_Bound, _Scope]]:
        """Return what a name is bound to, in its function or else in the module."""
        for where in (scope, self.tree):
            if found := self.bound[where].get(name):
                return [(bound, where) for bound in found[:8]]
        return []

    # Paths

    def text(self, node: ast.AST, scope: _Scope, depth: int = 0) -> str | None:
        """Return the string or path that an expression stands for; None where it is not known."""
        key = (node, scope)
        if key not in self.texts:
            if depth > _DEPTH:
                return None
            self.texts[key] = None
            self.texts[key] = self._text(node, scope, depth + 1)
        return self.texts[key]

    def _text(self, node: ast.AST, scope: _Scope, depth: int) -> str | None:  # noqa: PLR0912 - one case each
        match node:
            case ast.Constant(value=str(value)):
                return value if len(value) < 4096 else None  # noqa: PLR2004 - the longest path
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

    def _call_text(self, node: ast.Call, scope: _Scope, depth: int) -> str | None:
        name = _called(node)
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

    def path(self, node: ast.AST, scope: _Scope) -> str | None:
        """Return the absolute path that an expression stands for."""
        if not isinstance(node, ast.expr):
            return None
        text = self.text(node, scope)
        if text is None or not text.startswith("/") or "\n" in text or " " in text or len(text) < 3:  # noqa: PLR2004
            return None
        return posixpath.normpath(text)

    def uses(self) -> Iterator[PathUse]:
        for node, parent, scope in self.nodes:
            if not isinstance(node, _MAYBE_PATH):
                continue
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                continue
            path = self.path(node, scope)
            if path is None or parent is None or self._is_part(parent, scope):
                continue
            how = self._how(node, parent)
            if how is not None:
                yield PathUse(path=path, line=node.lineno, how=how)

    def _is_part(self, parent: ast.AST, scope: _Scope) -> bool:
        """Say whether the expression above stands for a path or a text itself."""
        if isinstance(parent, ast.Attribute):
            above = self.parents.get(parent)
            return self.text(parent, scope) is not None or (
                isinstance(above, ast.Call) and above.func is parent and self.text(above, scope) is not None
            )
        return isinstance(parent, ast.expr) and self.text(parent, scope) is not None

    def _how(self, node: ast.expr, parent: ast.AST) -> How | None:
        match parent:
            case ast.Attribute(attr=attr):
                return _by_method(attr, self.parents.get(parent))
            case ast.Call() if parent.func is not node:
                return _by_call(parent)
            case ast.keyword():
                return "names"
            case ast.Assign() | ast.AnnAssign() | ast.Expr() | ast.JoinedStr() | ast.FormattedValue():
                return None
            case ast.withitem() | ast.Return():
                return "names"
            case _:
                return "names"

    # Where a value comes from

    def origin(self, node: ast.AST, scope: _Scope, depth: int = 0) -> str:
        """Return the path of the file that a value was read from; empty where it is not known."""
        key = (node, scope)
        if key in self.origins:
            return self.origins[key]
        if depth > _DEPTH:
            return ""
        self.origins[key] = ""
        self.origins[key] = self._origin(node, scope, depth + 1)
        return self.origins[key]

    def _origin(self, node: ast.AST, scope: _Scope, depth: int) -> str:  # noqa: PLR0912 - one case each
        path = self.path(node, scope)
        if path is not None:
            return path
        match node:
            case ast.Name(id=name):
                for bound, where in self.values_of(name, scope):
                    if found := self.origin(bound.node, where, depth):
                        return found
                # A parameter of a test is the fixture of that name.
                if isinstance(scope, _Function) and name in self.functions:
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

    def _first(self, nodes: list[ast.expr], scope: _Scope, depth: int) -> str:
        return next((found for node in nodes if (found := self.origin(node, scope, depth))), "")

    def _returned(self, function: _Function, depth: int) -> str:
        return self._first(self.returns.get(function, []), function, depth)

    # Fields and values

    def fields(self) -> Iterator[FieldRead]:
        for node, _, scope in self.nodes:
            match node:
                case ast.Subscript(value=value, slice=key, ctx=ast.Load()):
                    names = [name for name in self.constants(key, scope) if isinstance(name, str)]
                case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[key, *_]):
                    names = [name for name in self.constants(key, scope) if isinstance(name, str)]
                case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[value]):
                    names = [name for name in self.constants(key, scope) if isinstance(name, str)]
                    if self.constants(value, scope):
                        continue
                case _:
                    continue
            for name in names:
                yield FieldRead(name=name, path=self.origin(value, scope), line=node.lineno)

    def constants(self, node: ast.AST, scope: _Scope, depth: int = 0) -> list[Value]:
        """Return the constants that an expression is made of; none where it is made of anything else too."""
        self.left -= 1
        if depth > _DEPTH or self.left < 0:
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
            case ast.Call(args=[first, *_]) if _called(node) in _WRAPPERS:
                return self.constants(first, scope, deeper)
            case _:
                return []

    def _at(self, node: ast.expr, key: object, scope: _Scope, depth: int) -> list[Value]:
        if isinstance(node, ast.Name):
            for bound, where in self.values_of(node.id, scope):
                if isinstance(bound.node, ast.Dict):
                    for name, value in zip(bound.node.keys, bound.node.values, strict=True):
                        if isinstance(name, ast.Constant) and name.value == key:
                            return self.constants(value, where, depth)
        return []

    def compared(self) -> Iterator[Compared]:
        for node, _, scope in self.nodes:
            match node:
                case ast.Compare(left=left, ops=[op], comparators=[right]):
                    sides = _sides(left, op, right)
                case ast.Call(args=[first, second, *_]) if _called(node) in _CLOSE:
                    sides = [(first, second), (second, first)]
                case _:
                    continue
            for constant, other in sides:
                if self.constants(other, scope):
                    continue
                for value in self.constants(constant, scope):
                    yield Compared(value=value, path=self.origin(other, scope), line=node.lineno)

    def written(self) -> Iterator[Written]:
        for node, _, scope in self.nodes:
            match node:
                case ast.Call(func=ast.Attribute(value=target, attr="write" | "write_text"), args=[what, *_]):
                    text = self.text(what, scope)
                case ast.Call(func=ast.Attribute(attr="dump"), args=[what, target, *_]):
                    literal = self._literal(what, scope)
                    text = ast.unparse(literal) if literal is not None else None
                case _:
                    continue
            path = self.origin(target, scope)
            if path and text:
                yield Written(path=path, text=text)

    def _literal(self, node: ast.expr, scope: _Scope) -> ast.expr | None:
        if isinstance(node, ast.Name):
            found = self.values_of(node.id, scope)
            return found[0][0].node if found and isinstance(found[0][0].node, ast.Dict | ast.List) else None
        return node if isinstance(node, ast.Dict | ast.List) else None

    # Assertions

    def assertions(self) -> Iterator[Assertion]:
        for node, _, scope in self.nodes:
            match node:
                case ast.Assert(test=test):
                    yield Assertion(kind=self._kind(test, scope), line=node.lineno)
                case ast.Call(func=ast.Attribute(attr=attr), args=args) if attr.startswith(
                    ("assert", "expect")
                ):
                    kind = (
                        self._kind(args[0], scope)
                        if attr in {"assertTrue", "assertFalse"} and args
                        else "value"
                    )
                    yield Assertion(kind=kind, line=node.lineno)
                case ast.Call() if _called(node) in {"fail", "exit", "_exit"}:
                    yield Assertion(kind=self._guard(node, scope), line=node.lineno)
                case ast.Call(func=ast.Name(id=name)) if name.startswith(("assert_", "check_", "expect_")):
                    if name not in self.functions:
                        yield Assertion(kind="value", line=node.lineno)
                case ast.Raise():
                    yield Assertion(kind=self._guard(node, scope), line=node.lineno)
                case ast.With(items=items) if any("raises" in ast.unparse(item) for item in items):
                    yield Assertion(kind="value", line=node.lineno)
                case _:
                    pass

    def swallowed(self) -> Iterator[int]:
        for node, _, _ in self.nodes:
            if isinstance(node, ast.Assert) and self._is_caught(node):
                yield node.lineno

    def unseeded(self) -> list[int]:
        lines: list[int] = []
        for node, _, _ in self.nodes:
            if not isinstance(node, ast.Call):
                continue
            name = _called(node)
            if "seed" in name or (name in _GENERATORS and (node.args or node.keywords)):
                return []
            match node.func:
                case ast.Attribute(value=ast.Name(id="random")):
                    drawn = name in _DRAWS
                case ast.Attribute(value=ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="random")):
                    drawn = name in _DRAWS or name in _GENERATORS
                case _:
                    drawn = False
            if drawn:
                lines.append(node.lineno)
        return lines

    def _is_caught(self, node: ast.AST) -> bool:
        """Say whether the nearest `try` around an assertion goes on in silence when it fails."""
        inner, above = node, self.parents.get(node)
        while above is not None and not isinstance(above, ast.Try | _Function):
            inner, above = above, self.parents.get(above)
        if not isinstance(above, ast.Try) or inner not in above.body:
            return False
        handler = next((part for part in above.handlers if _catches_assertions(part)), None)
        return handler is not None and all(isinstance(part, ast.Pass) for part in handler.body)

    def _guard(self, node: ast.AST, scope: _Scope) -> Kind:
        """Return what the condition above a failing statement looks at."""
        above = self.parents.get(node)
        while above is not None and not isinstance(above, ast.If | ast.Try | _Function):
            above = self.parents.get(above)
        return self._kind(above.test, scope) if isinstance(above, ast.If) else "value"

    def _kind(self, test: ast.expr, scope: _Scope, depth: int = 0) -> Kind:
        self.left -= 1
        if depth > _DEPTH or self.left < 0:
            return "value"
        match test:
            case ast.Constant(value=value):
                return "always" if value else "value"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                # `assert not path.exists()` says that something is gone: work that may have been asked for.
                return (
                    "value"
                    if isinstance(self.parents.get(test), ast.Assert)
                    else self._kind(operand, scope, depth)
                )
            case ast.BoolOp(op=ast.And(), values=parts):
                kinds = {self._kind(part, scope, depth + 1) for part in parts}
                return "value" if "value" in kinds else "exists" if "exists" in kinds else "always"
            case ast.BoolOp(values=parts):
                kinds = {self._kind(part, scope, depth + 1) for part in parts}
                return "always" if "always" in kinds else "value" if "value" in kinds else "exists"
            case ast.Call() if _called(test) in _ASKS:
                return "exists"
            case ast.Call(func=ast.Name(id="all" | "any"), args=[ast.GeneratorExp(elt=part)]):
                return self._kind(part, scope, depth + 1)
            case ast.Name(id=name):
                found = self.values_of(name, scope)
                kinds = {self._kind(bound.node, where, depth + 1) for bound, where in found if not bound.item}
                return "exists" if kinds == {"exists"} and len(found) == 1 else "value"
            case _:
                return "value"


_BARE: Final = frozenset({"ctx", "op", "ops", "id", "attr", "arg", "name", "type_comment"})
"""Fields that hold no expression or statement."""


def _children(node: ast.AST) -> list[ast.AST]:
    """Return a node's expressions and statements in order, without operators and contexts."""
    out: list[ast.AST] = []
    for name in node._fields:
        if name in _BARE:
            continue
        value = getattr(node, name, None)
        if isinstance(value, list):
            out += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            out.append(value)
    return out


def _catches_assertions(handler: ast.ExceptHandler) -> bool:
    match handler.type:
        case None:
            return True
        case ast.Name(id=name):
            return name in {"AssertionError", "BaseException", "Exception"}
        case ast.Tuple(elts=parts):
            return any(
                isinstance(part, ast.Name) and part.id in {"AssertionError", "Exception"} for part in parts
            )
        case _:
            return False


def _called(node: ast.Call) -> str:
    """Return the last part of a called function's name."""
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _by_method(attr: str, above: ast.AST | None) -> How | None:
    if attr in _ASKS or attr in _SIZES:
        return "asks"
    if attr in _CHANGES:
        return "names"
    if attr in _SAVES:
        return "writes"
    if attr == "open" and isinstance(above, ast.Call):
        return "writes" if _is_writing(above.args[:1], above.keywords) else "reads"
    if attr.startswith("read") or attr in {"glob", "rglob", "iterdir"}:
        return "reads"
    return "names"


def _by_call(call: ast.Call) -> How:
    name = _called(call)
    if name in _ASKS or name in _SIZES:
        return "asks"
    if name in _SAVES:
        return "writes"
    if name == "open":
        return "writes" if _is_writing(call.args[1:2], call.keywords) else "reads"
    return "names" if name in _NOT_READING | _RUNS | _CHANGES else "reads"


def _is_writing(modes: list[ast.expr], keywords: list[ast.keyword]) -> bool:
    given = [*modes, *(keyword.value for keyword in keywords if keyword.arg == "mode")]
    return any(isinstance(mode, ast.Constant) and set(str(mode.value)) & set("wax+") for mode in given)


def _sides(left: ast.expr, op: ast.cmpop, right: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Return the pairs of a constant and what it may be compared with."""
    match op, left:
        case ((ast.Eq() | ast.NotEq()), _):
            return [(left, right), (right, left)]
        case ((ast.In() | ast.NotIn()), _):
            return [(left, right)]
        case (
            (ast.Lt() | ast.LtE()),
            ast.Call(func=ast.Name(id="abs"), args=[ast.BinOp(left=a, op=ast.Sub(), right=b)]),
        ):
            return [(a, b), (b, a)]
        case _:
            return []
