"""What a verifier's Python relies on beside its own files: code it loads, programs it starts, clock, hosts.

Nothing is run. Each fact looks at the text first: most files need no parsing
to know that there is nothing to tell.
"""

import ast
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from seatrials.parse.pytest import PythonFacts
from seatrials.parse.python_tree import DEPTH, Function, Scope, Tree, called

_MOST_CALLS: Final = 8
_MOST_NAMES: Final = 3
_LONGEST_COMMAND: Final = 2000


@dataclass(frozen=True, kw_only=True, slots=True)
class Loaded:
    """A file whose content becomes code in the process of the test."""

    path: str
    line: int
    how: Literal["imports", "runs", "evaluates", "unpickles"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Started:
    """A command that a test starts, and where; words that are not known are empty."""

    words: tuple[str, ...]
    line: int
    cwd: str = ""


# Code that is loaded

_MAY_LOAD: Final = re.compile(
    rb"spec_from_file|SourceFileLoader|(?<![.\w])(?:exec|eval)\(|pickle|runpy|joblib|dill|weights_only|unsafe_load|Loader="
)
_PICKLES: Final = frozenset({"cPickle", "cloudpickle", "dill", "joblib", "pickle"})


def loaded(facts: PythonFacts) -> tuple[Loaded, ...]:
    """Return the files that are imported by path, run, evaluated or unpickled, where the path is known."""
    source = facts.source
    may = (
        b"importlib" in source or b"pickle" in source or b"exec(" in source or b"eval(" in source
        or b"runpy" in source or b"joblib" in source or b"dill" in source or b"weights_only" in source
        or b"unsafe_load" in source or b"Loader=" in source
    )  # fmt: skip
    return facts.all(_loaded) if may and _MAY_LOAD.search(source) else ()


def _loaded(tree: Tree) -> Iterator[Loaded]:
    for node, scope in tree.calls():
        if (found := _load(node)) is not None:
            how, target = found
            for path in origins(tree, target, scope):
                yield Loaded(path=path, line=node.lineno, how=how)


def _load(node: ast.Call) -> tuple[Literal["imports", "runs", "evaluates", "unpickles"], ast.expr] | None:
    name = called(node)
    match node:
        case ast.Call(args=[_, where, *_]) if name in {
            "spec_from_file_location",
            "SourceFileLoader",
        }:
            return "imports", where
        case ast.Call(args=[where, *_]) if name == "run_path":
            return "runs", where
        case ast.Call(func=ast.Name(id="exec" | "eval"), args=[what, *_]):
            return ("runs" if name == "exec" else "evaluates"), what
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module)), args=[what, *_]) if (
            module in _PICKLES and name in {"load", "loads", "Unpickler"}
        ):
            return "unpickles", what
        case ast.Call(args=[what, *_]) if name in {"read_pickle", "unsafe_load"} or (
            name == "load" and any(map(_is_unsafe, node.keywords))
        ):
            return "unpickles", what
        case _:
            return None


def _is_unsafe(keyword: ast.keyword) -> bool:
    match keyword:
        case ast.keyword(arg="allow_pickle", value=ast.Constant(value=True)):
            return True
        case ast.keyword(arg="weights_only", value=ast.Constant(value=False)):
            return True
        case ast.keyword(arg="Loader", value=ast.Attribute(attr="Loader" | "UnsafeLoader")):
            return True
        case _:
            return False


def origins(tree: Tree, node: ast.expr, scope: Scope) -> list[str]:
    """Return the paths that a value may come from, also through what a helper's parameter is given."""
    if found := tree.origin(node, scope):
        return [found]
    if not isinstance(scope, Function):
        return []
    name = _first_name(node)
    for _ in range(_MOST_NAMES):
        # `with open(path) as stream: exec(stream.read())`: go from the name to what it is made of.
        if (place := _parameter(scope, name)) is not None:
            calls = tree.calls_of(scope.name)[:_MOST_CALLS]
            given = [(arg, where) for call, where in calls if (arg := _given(call, place, name)) is not None]
            return [path for arg, where in given if (path := tree.origin(arg, where))]
        bound = tree.bound[scope].get(name)
        if not bound:
            return []
        name = _first_name(bound[0].node)
    return []


def _first_name(node: ast.expr) -> str:
    names = (part.id for part in ast.walk(node) if isinstance(part, ast.Name))
    return next((name for name in names if name not in _COMMON), "")


_COMMON: Final = frozenset({"Path", "codecs", "io", "json", "open", "os", "pathlib", "str"})


def _parameter(function: Function, name: str) -> int | None:
    names = [part.arg for part in (*function.args.posonlyargs, *function.args.args)]
    return names.index(name) if name in names else None


def _given(call: ast.Call, place: int, name: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[place] if place < len(call.args) else None


_IMPORT: Final = re.compile(
    rb"^[ \t]*(?:from[ \t]+([A-Za-z_]\w{0,99})(?:\.[\w.]{0,400})?[ \t]+import\b"
    rb"|import[ \t]+([A-Za-z_]\w{0,99})\b)",
    re.MULTILINE,
)
_BY_NAME: Final = re.compile(rb"(?:import_module|__import__)\([ \t]{0,9}[\"']([A-Za-z_]\w{0,99})()")


def imports(facts: PythonFacts) -> dict[str, int]:
    """Return the first part of the name of each module that is imported, and the first line that does."""
    source = facts.source
    found: dict[str, int] = {}
    for pattern in (_IMPORT, _BY_NAME):
        line, end = 1, 0
        for match in pattern.finditer(source):
            start = match.start(match.lastindex or 0)
            line += source.count(b"\n", end, start)
            end = start
            found.setdefault((match[1] or match[2]).decode(), line)
    return found


def added_folders(facts: PythonFacts) -> tuple[str, ...]:
    """Return the folders that the file adds to `sys.path`, where they are known."""
    return facts.all(_added) if b"sys.path." in facts.source else ()


def _added(tree: Tree) -> Iterator[str]:
    for node, _, scope in tree.nodes:
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="sys"), attr="path"), attr="insert"),
                args=[_, what],
            ):
                pass
            case ast.Call(
                func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="sys"), attr="path"), attr="append"),
                args=[what],
            ):
                pass
            case _:
                continue
        yield from origins(tree, what, scope)


# Programs that are started

_STARTS: Final = frozenset(
    {"run", "Popen", "check_output", "check_call", "call", "getoutput", "getstatusoutput"}
)


def starts_any(facts: PythonFacts) -> bool:
    """Say whether a file may start a program."""
    source = facts.source
    return b"subprocess" in source or b"os.system" in source or b"os.popen" in source


def started(facts: PythonFacts) -> tuple[Started, ...]:
    """Return the commands that it starts."""
    return facts.all(_started) if starts_any(facts) else ()


def _started(tree: Tree) -> Iterator[Started]:
    for node, scope in tree.calls():
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="subprocess"), attr=attr), args=[what, *_]
            ) if attr in _STARTS:
                pass
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="os"), attr="system" | "popen"), args=[what, *_]
            ):
                pass
            case _:
                continue
        if words := _words(tree, what, scope):
            where = next((keyword.value for keyword in node.keywords if keyword.arg == "cwd"), None)
            cwd = tree.path(where, scope) if where is not None else None
            yield Started(words=words, line=node.lineno, cwd=cwd or "")


def _words(tree: Tree, node: ast.expr, scope: Scope) -> tuple[str, ...]:
    if isinstance(node, ast.Name):
        lists = [
            bound.node
            for bound, _ in tree.values_of(node.id, scope)
            if isinstance(bound.node, ast.List | ast.Tuple)
        ]
        node = lists[0] if len(lists) == 1 else node
    if isinstance(node, ast.List | ast.Tuple):
        return tuple(_word(tree, part, scope) for part in node.elts[:40])
    text = tree.text(node, scope)
    if text is None or len(text) > _LONGEST_COMMAND:
        return ()
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return ()


def _word(tree: Tree, node: ast.expr, scope: Scope) -> str:
    if isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.executable":
        return "python3"
    return tree.text(node, scope) or ""


# The clock

_CLOCK: Final = re.compile(rb"time\.time\(|(?:gm|local)time\(|time\.strftime\(")
_READS_CLOCK: Final = frozenset({"now", "utcnow", "today", "gmtime", "localtime"})
_AGES: Final = re.compile(r"mtime|ctime|birthtime|\bstat\b|elapsed|duration")


def clock_compared(facts: PythonFacts) -> tuple[int, ...]:
    """Return the lines that compare a value with the time of day or the date; durations are none."""
    source = facts.source
    asks = b"now(" in source or b"today(" in source or (b"time(" in source and _CLOCK.search(source))
    return facts.all(_clock_compared) if asks else ()


def _clock_compared(tree: Tree) -> Iterator[int]:
    clock = _Clock(tree)
    for node, parent, scope in tree.comparisons():
        if isinstance(parent, ast.While):
            continue
        sides = [node.left, *node.comparators]
        told = [clock.tells(side, scope) for side in sides]
        if not any(told) or all(told) or _AGES.search(ast.unparse(node)):
            continue
        if not (isinstance(parent, ast.Assert) and _is_past(node, told)):
            yield node.lineno


def _is_past(node: ast.Compare, told: list[bool]) -> bool:
    """Say whether a comparison holds the longer the later it is: that a time lies before now."""
    match node.ops:
        case [ast.Lt() | ast.LtE()]:
            return told[1]
        case [ast.Gt() | ast.GtE()]:
            return told[0]
        case _:
            return False


class _Clock:
    """Follows what is read from the clock, by expression; a difference of two such values is a duration."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.known: dict[tuple[ast.AST, Scope], bool] = {}

    def tells(self, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
        key = (node, scope)
        if key not in self.known:
            self.known[key] = False
            self.known[key] = depth < DEPTH and self._tells(node, scope, depth + 1)
        return self.known[key]

    def _tells(self, node: ast.expr, scope: Scope, depth: int) -> bool:
        match node:
            case ast.Call() if self._reads(node):
                return True
            case ast.Name(id=name):
                bound = self.tree.values_of(name, scope)
                return bool(bound) and all(
                    not item.item and self.tells(item.node, where, depth) for item, where in bound
                )
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                first, second = self.tells(left, scope, depth), self.tells(right, scope, depth)
                return first and not second
            case ast.BinOp(left=left, right=right):
                return self.tells(left, scope, depth) or self.tells(right, scope, depth)
            case ast.Attribute(value=value) | ast.Subscript(value=value):
                return self.tells(value, scope, depth)
            case ast.Call(
                func=ast.Attribute(
                    value=value,
                    attr="replace"
                    | "strftime"
                    | "isoformat"
                    | "date"
                    | "timestamp"
                    | "astimezone"
                    | "total_seconds"
                    | "time",
                )
            ):
                return self.tells(value, scope, depth)
            case ast.Call(func=ast.Name(id="int" | "float" | "str" | "round"), args=[value, *_]):
                return self.tells(value, scope, depth)
            case ast.JoinedStr(values=parts):
                return any(
                    self.tells(part.value, scope, depth)
                    for part in parts
                    if isinstance(part, ast.FormattedValue)
                )
            case _:
                return False

    @staticmethod
    def _reads(node: ast.Call) -> bool:
        match node.func:
            case ast.Attribute(value=ast.Name(id="time"), attr="time" | "gmtime" | "localtime" | "strftime"):
                return True
            case ast.Attribute(
                attr="now" | "utcnow" | "today", value=ast.Name(id=name) | ast.Attribute(attr=name)
            ):
                return name in {"datetime", "date", "dt", "Timestamp", "pendulum", "arrow"}
            case _:
                return False


# Other hosts

_URL: Final = re.compile(r"(?:https?|ftp|wss?)://(?:[\w.-]+@)?([A-Za-z0-9.-]+)")
_OTHER_HOST: Final = re.compile(rb"://(?!localhost\b|127\.|0\.0\.0\.0|[{\[%])")
_ASKS: Final = (
    b"requests.",
    b"urlopen",
    b"urlretrieve",
    b"httpx",
    b"aiohttp",
    b"curl",
    b"wget",
    b"git",
    b"urllib3",
)
_CONNECTS: Final = (b"create_connection(", b"HTTPConnection", b"HTTPSConnection", b".connect((")
"""Where a host may be named that is not this one."""

_FETCHES: Final = frozenset(
    {"HTTPConnection", "HTTPSConnection", "Request", "connect", "create_connection", "delete", "get", "head",
     "post", "put", "request", "stream", "urlopen", "urlretrieve"}
)  # fmt: skip
_CLIENTS: Final = frozenset(
    {"aiohttp", "client", "http", "httpx", "request", "requests", "s", "session", "sock", "socket", "urllib",
     "urllib3"}
)  # fmt: skip
_BY_NAME_ONLY: Final = frozenset({"HTTPConnection", "HTTPSConnection", "connect", "create_connection"})
_FETCHERS: Final = frozenset({"aria2c", "curl", "git", "wget"})


def hosts(facts: PythonFacts) -> tuple[tuple[str, int], ...]:
    """Return host and line of each request, connection or download whose host is given in the source."""
    source = facts.source
    asks = _OTHER_HOST.search(source) and any(sign in source for sign in _ASKS)
    connects = b"onnect" in source and any(sign in source for sign in _CONNECTS)
    return facts.all(_hosts) if asks or connects else ()


def _hosts(tree: Tree) -> Iterator[tuple[str, int]]:
    for node, scope in tree.calls():
        if called(node) in _FETCHES and _is_client(node.func):
            found = (_host(tree, arg, scope, called(node)) for arg in node.args[:2])
            if host := next((host for host in found if host), ""):
                yield host, node.lineno
    for item in _started(tree):
        if item.words[0].rpartition("/")[2] in _FETCHERS:
            for word in item.words[1:]:
                if match := _URL.match(word):
                    yield match[1], item.line


def _is_client(func: ast.expr) -> bool:
    if not isinstance(func, ast.Attribute):
        return True
    base = func.value
    while isinstance(base, ast.Attribute):
        base = base.value
    return isinstance(base, ast.Name) and base.id in _CLIENTS


def _host(tree: Tree, node: ast.expr, scope: Scope, name: str) -> str:
    if isinstance(node, ast.Tuple) and node.elts:
        node = node.elts[0]
    first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else node
    text = tree.text(node, scope) or tree.text(first, scope) or ""
    if match := _URL.match(text):
        return match[1]
    is_host = name in _BY_NAME_ONLY and re.fullmatch(r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+", text)
    return text if is_host else ""


# Files compared with files


def equal_files(facts: PythonFacts) -> tuple[tuple[str, str, int], ...]:
    """Return the two paths and the line of each comparison of what two files hold, or of their digests."""
    return facts.all(_equal_files)


def _equal_files(tree: Tree) -> Iterator[tuple[str, str, int]]:
    pairs = [
        (node.left, node.comparators[0], scope, node.lineno)
        for node, _, scope in tree.comparisons()
        if isinstance(node.ops[0], ast.Eq | ast.NotEq)
    ]
    pairs += [
        (node.args[0], node.args[1], scope, node.lineno)
        for node, scope in tree.calls()
        if len(node.args) > 1 and called(node) in {"array_equal", "assertEqual", "cmp"}
    ]
    for left, right, scope, line in pairs:
        first, second = tree.origin(left, scope), tree.origin(right, scope)
        if first and second and first != second:
            yield first, second, line
