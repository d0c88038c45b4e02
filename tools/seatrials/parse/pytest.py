"""What a verifier's Python says: paths that it uses, fields it reads, what it compares and asserts.

Drawn from the syntax tree, nothing is run. A path or a value counts where it
follows from constants: through names, `Path` and `os.path.join`, through
loops over literals, and through the functions and fixtures of the same file.
"""

import ast
import base64
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, Literal, TypeVar

from seatrials.parse.python_tree import DEPTH, Function, Scope, Tree, Value, called

MAX_SOURCE: Final = 512 * 1024
"""Bytes that are parsed; of a larger file nothing is said."""

_MOST_WRITTEN: Final = 2 * MAX_SOURCE
"""Characters of all that a file is seen to write."""

How = Literal["reads", "asks", "writes", "names"]
"""What is done with a path: it is read, asked for (is it there?), written, or only named."""

Kind = Literal["exists", "always", "value"]
"""What an assertion looks at: only whether paths exist, nothing (it always holds), or a value."""


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
    """A constant that a check compares with; `path` is the file that the other side comes from, if known.

    `asserted` says that an assertion holds it to be equal or among others: the rest are
    conditions, such as that by which a row is found.
    """

    value: Value
    path: str
    line: int
    asserted: bool


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
    rb"except\b[^\n]{0,200}:[ \t]*(?:(?:#[^\n]*)?\r?\n[ \t]*)*(?:pass\b|return\b|print\(|\.\.\.)",
)
"""What a handler that only passes looks like: where it is not, nothing need be parsed to know."""

_SUPPRESSES: Final = re.compile(rb"suppress\([^)\n]{0,200}(?:Exception|AssertionError)\b")
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

    def __init__(self, source: bytes, name: str, folder: str = "") -> None:
        self.source = source
        self.name = name
        self.folder = folder

    @cached_property
    def tree(self) -> "_Module | None":
        """The syntax tree with its names, walked once; None for what is not Python or too large."""
        if len(self.source) > MAX_SOURCE:
            return None
        try:
            return _Module(ast.parse(self.source), self.name, self.folder)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def all(self, found: Callable[["_Module"], Iterable[_Fact]]) -> tuple[_Fact, ...]:
        """Return the facts of one kind, each once; none where the tree is too deep or not to be had."""
        if self.tree is None:
            return ()
        try:
            return tuple(dict.fromkeys(found(self.tree)))
        except (RecursionError, MemoryError):
            return ()

    @cached_property
    def parsed(self) -> bool:
        """Whether the file is Python and small enough to be read."""
        return self.tree is not None

    @cached_property
    def paths(self) -> tuple[PathUse, ...]:
        """The paths in the container that it uses, and how."""
        return self.all(_Module.uses)

    @cached_property
    def fields(self) -> tuple[FieldRead, ...]:
        """The fields that it reads, and from which path."""
        return self.all(_Module.fields)

    @cached_property
    def compared(self) -> tuple[Compared, ...]:
        """The constants that it compares with."""
        return self.all(_Module.compared)

    @cached_property
    def assertions(self) -> tuple[Assertion, ...]:
        """Its assertions."""
        return self.all(_Module.assertions)

    @cached_property
    def asserts_values(self) -> bool:
        """Whether some assertion is about a value; the first one found is enough."""
        if _COMPARES.search(self.source):
            return True
        try:
            return self.tree is not None and any(item.kind == "value" for item in self.tree.assertions())
        except (RecursionError, MemoryError):
            return False

    @cached_property
    def written(self) -> tuple[Written, ...]:
        """The texts that it writes to paths."""
        return self.all(_Module.written)

    @cached_property
    def swallowed(self) -> tuple[int, ...]:
        """Lines of assertions whose failure is passed over."""
        source = self.source
        may = _may_swallow(source) or _SUPPRESSES.search(source)
        return self.all(_Module.swallowed) if may else ()

    @cached_property
    def unseeded(self) -> tuple[int, ...]:
        """Lines that draw random numbers without a seed."""
        return self.all(_Module.unseeded) if b"random" in self.source else ()

    @cached_property
    def tests(self) -> int:
        """How many functions are named as pytest's tests are."""
        return sum(name.startswith("test") for name in self.tree.functions) if self.tree else 0


@lru_cache(maxsize=8)
def python_facts(source: bytes, name: str = "test_outputs.py", folder: str = "") -> PythonFacts:
    """Read a file of the verifier; `name` is its path in the verifier's folder. Never raises.

    Of a program elsewhere `name` is absolute, and `folder` the one that it runs in.
    """
    return PythonFacts(source, name, folder)


_MAYBE_PATH: Final = (ast.Constant, ast.Name, ast.BinOp, ast.JoinedStr, ast.Call, ast.Attribute)

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
_RANDOM: Final = frozenset({"random", "numpy.random"})
_GENERATORS: Final = frozenset({"Generator", "Random", "RandomState", "default_rng"})
_DRAWS: Final = frozenset(
    {"choice", "choices", "gauss", "getrandbits", "integers", "normal", "normalvariate", "permutation",
     "rand", "randint", "randn", "random", "randrange", "sample", "shuffle", "standard_normal", "uniform"}
)  # fmt: skip
_CLOSE: Final = frozenset(
    {"isclose", "allclose", "array_equal", "assert_allclose", "assert_array_equal", "assertEqual",
     "assertEquals", "assertAlmostEqual", "assertDictEqual", "assertListEqual", "assertIn", "assertNotEqual"}
)  # fmt: skip


class _Module(Tree):
    """What the tree says of paths, fields, comparisons and assertions."""

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

    def _is_part(self, parent: ast.AST, scope: Scope) -> bool:
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

    def compared(self) -> Iterator[Compared]:
        for node, _, scope in self.nodes:
            match node:
                case ast.Compare(left=left, ops=[op], comparators=[right]):
                    sides = _sides(left, op, right)
                case ast.Call(args=[first, second, *_]) if called(node) in _CLOSE:
                    sides = [(first, second), (second, first)]
                case _:
                    continue
            for constant, other in sides:
                if self.constants(other, scope):
                    continue
                for value in self.constants(constant, scope):
                    yield Compared(
                        value=value,
                        path=self.origin(other, scope),
                        line=node.lineno,
                        asserted=self._is_asserted(node),
                    )

    def _is_asserted(self, node: ast.expr) -> bool:
        """Say whether an assertion holds the two sides of a comparison to agree."""
        if isinstance(node, ast.Call) and called(node).startswith("assert"):
            return called(node) != "assertNotEqual"
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.NotEq | ast.NotIn):
            return False
        for above in self.above(node):
            if isinstance(above, ast.stmt | ast.comprehension):
                return isinstance(above, ast.Assert)
        return False

    def written(self) -> Iterator[Written]:
        room = _MOST_WRITTEN
        for node, _, scope in self.nodes:
            match node:
                case ast.Call(
                    func=ast.Attribute(value=target, attr="write" | "write_bytes" | "write_text"),
                    args=[what, *_],
                ):
                    text = self.said(what, scope)
                case ast.Call(func=ast.Attribute(attr="dump"), args=[what, target, *_]):
                    literal = self._literal(what, scope)
                    text = ast.unparse(literal) if literal is not None else None
                case _:
                    continue
            path = self.origin(target, scope)
            if path and text:
                room -= len(text)
                if room < 0:
                    return
                yield Written(path=path, text=text)

    def said(self, node: ast.expr, scope: Scope, depth: int = 0) -> str | None:
        """Return the text that an expression stands for, out of base64 too; None where it is not known."""
        self.left -= 1
        if depth > DEPTH or self.left < 0:
            return None
        deeper = depth + 1
        match node:
            case ast.Constant(value=str(value)):
                return value
            case ast.Constant(value=bytes(value)):
                return value.decode("utf-8", "replace")
            case ast.Name(id=name):
                found = self.values_of(name, scope)
                bound = found[0] if len(found) == 1 else None
                return self.said(bound[0].node, bound[1], deeper) if bound and not bound[0].item else None
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                first, second = self.said(left, scope, deeper), self.said(right, scope, deeper)
                # A name that is added to itself, again and again, doubles each time.
                known = first is not None and second is not None
                return f"{first}{second}"[:MAX_SOURCE] if known else None
            case ast.Call(
                func=ast.Attribute(value=ast.Constant(value=str(sign)), attr="join"),
                args=[ast.List(elts=parts) | ast.Tuple(elts=parts)],
            ):
                return self._joined(sign, parts, scope, deeper)
            case ast.Call(func=ast.Attribute(value=value, attr="decode" | "encode" | "lstrip" | "strip")):
                return self.said(value, scope, deeper)
            case ast.Call(args=[what, *_]) if called(node) in {
                "b64decode",
                "decodebytes",
                "standard_b64decode",
            }:
                return _unbase64(self.said(what, scope, deeper))
            case ast.Call(args=[what, *_]) if called(node) == "dedent":
                text = self.said(what, scope, deeper)
                return textwrap.dedent(text) if text is not None else None
            case ast.Call(args=[what, *_]) if called(node) == "dumps":
                literal = self._literal(what, scope)
                return ast.unparse(literal) if literal is not None else None
            case _:
                return self.text(node, scope)

    def _joined(self, sign: str, parts: list[ast.expr], scope: Scope, depth: int) -> str:
        texts: list[str] = []
        room = MAX_SOURCE
        for part in parts:
            text = self.said(part, scope, depth)
            room -= len(text or "") + len(sign)
            if room < 0:
                break
            if text is not None:
                texts.append(text)
        return sign.join(texts)

    def _literal(self, node: ast.expr, scope: Scope) -> ast.expr | None:
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
                case ast.Call() if called(node) in {"fail", "exit", "_exit"}:
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
        modules, functions = self._random_names()
        for node, _, _ in self.nodes:
            if not isinstance(node, ast.Call):
                continue
            name = called(node)
            if "seed" in name or (name in _GENERATORS and (node.args or node.keywords)):
                return []
            match node.func:
                case ast.Attribute(value=ast.Name(id=module)) if module in modules:
                    drawn = name in _DRAWS
                case ast.Name(id=function) if function in functions:
                    drawn = True
                case ast.Attribute(value=ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="random")):
                    drawn = name in _DRAWS or name in _GENERATORS
                case _:
                    drawn = False
            if drawn:
                lines.append(node.lineno)
        return lines

    def _random_names(self) -> tuple[set[str], set[str]]:
        """Return the names under which `random` and its functions that draw are known."""
        modules, functions = {"random"}, set[str]()
        for node, _, _ in self.nodes:
            match node:
                case ast.Import(names=names):
                    modules |= {item.asname for item in names if item.name in _RANDOM and item.asname}
                case ast.ImportFrom(module=module, names=names) if module in _RANDOM:
                    functions |= {item.asname or item.name for item in names if item.name in _DRAWS}
                case _:
                    pass
        return modules, functions

    def _is_caught(self, node: ast.AST) -> bool:
        """Say whether the nearest `try` around an assertion goes on in silence when it fails."""
        inner, above = node, self.parents.get(node)
        while above is not None and not isinstance(above, ast.Try | Function):
            if isinstance(above, ast.With) and any(map(_suppresses, above.items)):
                return True
            inner, above = above, self.parents.get(above)
        if not isinstance(above, ast.Try) or inner not in above.body:
            return False
        handler = next((part for part in above.handlers if _catches_assertions(part)), None)
        if handler is None:
            return False
        # What returns from a test passes; from a helper, or out of a loop that tries again, it may not.
        outer = self.parents.get(above)
        in_test = isinstance(outer, Function) and outer.name.startswith("test") and outer.body[-1] is above
        return all(_is_silent(part, ends=in_test) for part in handler.body)

    def _guard(self, node: ast.AST, scope: Scope) -> Kind:
        """Return what the condition above a failing statement looks at."""
        above = self.parents.get(node)
        while above is not None and not isinstance(above, ast.If | ast.Try | Function):
            above = self.parents.get(above)
        return self._kind(above.test, scope) if isinstance(above, ast.If) else "value"

    def _kind(self, test: ast.expr, scope: Scope, depth: int = 0) -> Kind:
        self.left -= 1
        if depth > DEPTH or self.left < 0:
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
            case ast.Call() if called(test) in _ASKS:
                return "exists"
            case ast.Call(func=ast.Name(id="all" | "any"), args=[ast.GeneratorExp(elt=part)]):
                return self._kind(part, scope, depth + 1)
            case ast.Name(id=name):
                found = self.values_of(name, scope)
                kinds = {self._kind(bound.node, where, depth + 1) for bound, where in found if not bound.item}
                return "exists" if kinds == {"exists"} and len(found) == 1 else "value"
            case _:
                return "value"


def _unbase64(text: str | None) -> str | None:
    try:
        return base64.b64decode(text or "").decode("utf-8", "replace") or None
    except ValueError:
        return None


def _is_silent(part: ast.stmt, *, ends: bool) -> bool:
    """Say whether a statement does nothing about the failure; `ends` where the test ends with it."""
    match part:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Return(value=None | ast.Constant()) | ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
            return ends
        case _:
            return False


def _suppresses(item: ast.withitem) -> bool:
    match item.context_expr:
        case ast.Call(args=args) as call if called(call) == "suppress":
            return any(_is_caught_name(arg) for arg in args)
        case _:
            return False


def _is_caught_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"AssertionError", "BaseException", "Exception"}


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
    name = called(call)
    if name in _ASKS or name in _SIZES:
        return "asks"
    if name in {"write_bytes", "write_text"}:
        return "names"  # what is written, not where
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
