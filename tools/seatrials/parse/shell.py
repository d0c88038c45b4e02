"""A shell script as a small tree, by tree-sitter's grammar of bash.

The tree keeps what the rules reason about: commands with their words and
redirections, lists, pipelines, conditions, loops, cases and functions, each
with its line. What is nested too deeply, or isn't understood, is `Opaque`.
"""

import re
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from tree_sitter import Node as Tree
    from tree_sitter import Parser

MAX_SOURCE: Final = 256 * 1024
"""Bytes that are parsed; of a larger script nothing is said but that it is large."""

MAX_SECONDS: Final = 3.0
"""Seconds of the processor that the grammar may take over one script; a real one of 256 KiB takes 0.2."""

_TIMED: Final = 8 * 1024
"""Bytes up to which a script is parsed without a clock: none of that size takes half a second."""

_PIECE: Final = 64 * 1024

MAX_DEPTH: Final = 60
"""How deep compound commands are followed."""

MAX_NODES: Final = 20_000
"""How many commands are followed; the rest of the script is `Opaque`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Word:
    """A word as written, quotes and variables in it."""

    raw: str

    def resolve(self, variables: Mapping[str, str]) -> str:
        """Return the word without quotes, variables replaced; an unknown one stays as ``$NAME``.

        ``${NAME:-word}`` of an unknown variable gives the word; a command
        substitution stays as ``$(…)``.
        """
        return _resolve(self.raw, variables, 0)

    @property
    def literal(self) -> str | None:
        """The word's text where nothing in it depends on anything, else None."""
        if "$" in self.raw.replace("\\$", "") and not self.raw.startswith("'"):
            return None
        return None if "`" in self.raw else _resolve(self.raw, {}, 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Redirect:
    """One redirection; for a here-document `operator` is ``<<`` and `text` what it says."""

    operator: str
    target: Word
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """A simple command, an assignment, or a declaration such as ``export A=b`` (whose `words` start with it).

    `substitutions` are the commands in ``$(…)`` and backticks, in order.
    """

    line: int
    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    substitutions: tuple["Body", ...] = ()

    @property
    def name(self) -> str:
        """The command's name without its folder; empty for an assignment or a computed name."""
        if not self.words:
            return ""
        first = self.words[0].resolve({})
        return first.rpartition("/")[2]


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """A comparison in ``[ … ]`` or ``[[ … ]]``; a file test has no `left`."""

    left: Word | None
    operator: str
    right: Word


@dataclass(frozen=True, kw_only=True, slots=True)
class Test:
    """A ``[ … ]``, ``[[ … ]]`` or ``(( … ))``."""

    line: int
    text: str
    comparisons: tuple[Comparison, ...] = ()
    substitutions: tuple["Body", ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Pipeline:
    """Commands joined by ``|``."""

    line: int
    items: "Body"


@dataclass(frozen=True, kw_only=True, slots=True)
class AndOr:
    """Commands joined by ``&&`` and ``||``; ``operators[i]`` stands before ``items[i + 1]``."""

    line: int
    items: "Body"
    operators: tuple[Literal["&&", "||"], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Not:
    """A command with ``!`` before it."""

    line: int
    item: "Node"


@dataclass(frozen=True, kw_only=True, slots=True)
class Background:
    """A command with ``&`` after it."""

    line: int
    item: "Node"


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """A list in braces or, with `subshell`, in parentheses; also a compound command with redirections."""

    line: int
    body: "Body"
    subshell: bool = False
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class If:
    """Pairs of condition and body, and what follows ``else`` (None without one)."""

    line: int
    branches: tuple[tuple["Body", "Body"], ...]
    otherwise: "Body | None"


@dataclass(frozen=True, kw_only=True, slots=True)
class Loop:
    """A loop; `condition` is empty for ``for`` and ``select``."""

    line: int
    kind: Literal["for", "while", "until"]
    condition: "Body"
    body: "Body"


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A ``case``: the word and, for each item, its patterns and body."""

    line: int
    word: Word
    items: tuple[tuple[tuple[Word, ...], "Body"], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Function:
    """A function's definition."""

    line: int
    name: str
    body: "Body"


@dataclass(frozen=True, kw_only=True, slots=True)
class Opaque:
    """Something that is not followed."""

    line: int
    text: str


Node = Command | Test | Pipeline | AndOr | Not | Background | Group | If | Loop | Case | Function | Opaque
Body = tuple[Node, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Script:
    """A parsed script.

    `interpreter` is the shebang's program without its folder (``bash`` for
    ``#!/usr/bin/env bash``), empty without one; `options` its letters, such as
    ``e``; `bad_line` the first line that the grammar does not accept; `crlf`
    the first line that ends in a carriage return; `too_large` says that
    nothing was parsed: it is over `MAX_SOURCE`, or took over `MAX_SECONDS`.
    """

    interpreter: str
    options: str
    body: Body
    bad_line: int | None = None
    crlf: int | None = None
    too_large: bool = False

    def commands(self) -> Iterator[Command]:
        """Yield every simple command, those in substitutions and functions too."""
        for node in walk(self.body):
            if isinstance(node, Command):
                yield node


def children(node: Node) -> Iterator[Body]:
    """Yield the lists of commands in a node."""
    match node:
        case Command() | Test():
            yield from node.substitutions
        case Pipeline() | AndOr():
            yield node.items
        case Not() | Background():
            yield (node.item,)
        case Group() | Function():
            yield node.body
        case If():
            for condition, body in node.branches:
                yield condition
                yield body
            yield node.otherwise or ()
        case Loop():
            yield node.condition
            yield node.body
        case Case():
            for _, body in node.items:
                yield body
        case Opaque():
            pass


def walk(body: Body) -> Iterator[Node]:
    """Yield every node below a list, each before what it holds, in the order of the source."""
    pending = list(reversed(body))
    while pending:
        node = pending.pop()
        yield node
        for part in reversed(list(children(node))):
            pending.extend(reversed(part))


_SHEBANG: Final = re.compile(r"#!\s*(?:\S*/)?env\s+(?:-S\s+)?(\S+)(.*)|#!\s*(\S+)(.*)")


def shebang(source: bytes) -> tuple[str, str]:
    """Return the program that a shebang names, without its folder, and its option letters."""
    first = source[:200].split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    match = _SHEBANG.match(first)
    if match is None:
        return "", ""
    program = (match[1] or match[3]).rpartition("/")[2]
    words = (match[2] or match[4] or "").split()
    letters = "".join(word[1:] for word in words if word.startswith("-") and not word.startswith("--"))
    return program, letters


@lru_cache(maxsize=64)
def parse_shell(source: bytes) -> Script:
    """Parse a script. Never raises; equal sources are parsed once."""
    program, options = shebang(source)
    crlf = source.count(b"\n", 0, source.find(b"\r\n")) + 1 if b"\r\n" in source else None
    if len(source) > MAX_SOURCE:
        return Script(interpreter=program, options=options, body=(), crlf=crlf, too_large=True)
    text = source.replace(b"\r\n", b"\n")
    if len(text) > _TIMED and not _is_parsed_in_time(_narrow(text)):
        return Script(interpreter=program, options=options, body=(), crlf=crlf, too_large=True)
    root = _parser().parse(_narrow(text)).root_node
    bad = _bad_line(root) if root.has_error else None
    return Script(
        interpreter=program,
        options=options,
        body=_Reader(text).body(root.children, 0),
        bad_line=bad,
        crlf=crlf,
    )


_WIDE: Final = re.compile(rb"[\xc4-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf7][\x80-\xbf]{3}")
_STAND_INS: Final = {2: "é".encode(), 3: "éx".encode(), 4: "éé".encode()}


def _narrow(text: bytes) -> bytes:
    """Replace characters beyond Latin-1 by letters of as many bytes.

    The grammar's scanner asks C's ``isalpha`` and the like about a character,
    whatever its number, and beyond their table that reads other memory, or
    none: the process ends.
    """
    return text if text.isascii() else _WIDE.sub(lambda found: _STAND_INS[len(found[0])], text)


def _is_parsed_in_time(text: bytes) -> bool:
    """Say whether the grammar gets through a script: over some signs it takes the square of their number."""
    start = time.process_time()
    parser = _parser()
    with _signals_held():
        try:
            # Only a source that is asked for piece by piece can be given up.
            parser.parse(
                lambda at, _: text[at : at + _PIECE],
                progress_callback=lambda _, __: time.process_time() - start > MAX_SECONDS,
            )
        except ValueError:
            parser.reset()
            return False
    return True


@contextmanager
def _signals_held() -> Iterator[None]:
    """Put off what a signal's handler does: what it raised in the parser's callback would be lost there."""
    held = (signal.SIGALRM, signal.SIGINT)
    before = [signal.getsignal(number) for number in held]
    if threading.current_thread() is not threading.main_thread() or None in before:
        yield
        return
    came: list[int] = []
    for number in held:
        signal.signal(number, lambda one, _: came.append(one))
    try:
        yield
    finally:
        for number, handler in zip(held, before, strict=True):
            signal.signal(number, handler)
        for one in dict.fromkeys(came):
            signal.raise_signal(one)


@lru_cache(maxsize=1)
def _parser() -> "Parser":
    # Loaded when the first script is parsed: many commands need none.
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def _bad_line(root: "Tree") -> int:
    pending = [root]
    while pending:
        node = pending.pop()
        if node.is_error or node.is_missing:
            return node.start_point.row + 1
        pending.extend(child for child in reversed(node.children) if child.has_error or child.is_missing)
    return root.start_point.row + 1


_COMPOUND: Final = frozenset({"compound_statement", "subshell", "do_group"})
_SKIPPED: Final = frozenset({"comment", "heredoc_body", "heredoc_end"})


class _Reader:
    """Turns tree-sitter's tree into ours; `source` is the script, which the tree's places are of."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.left = MAX_NODES

    def body(self, nodes: "list[Tree]", depth: int) -> Body:
        out: list[Node] = []
        for node in nodes:
            if node.type == "&" and out:
                out[-1] = Background(line=out[-1].line, item=out[-1])
            elif node.is_named and node.type not in _SKIPPED:
                out.append(self.node(node, depth))
        return tuple(out)

    def node(self, node: "Tree", depth: int) -> Node:  # noqa: PLR0912 - one case for each kind
        line = node.start_point.row + 1
        self.left -= 1
        if depth > MAX_DEPTH or self.left < 0:
            return Opaque(line=line, text=self._text(node)[:200])
        match node.type:
            case "command" | "declaration_command" | "unset_command":
                return self._command(node, depth)
            case "variable_assignment" | "variable_assignments":
                return self._assignments(node, depth)
            case "redirected_statement":
                return self._redirected(node, depth)
            case "pipeline":
                return Pipeline(line=line, items=self.body(node.children, depth + 1))
            case "list":
                return self._list(node, depth)
            case "negated_command":
                return Not(line=line, item=self._only(node.named_children, line, depth))
            case "test_command":
                return self._test(node, depth)
            case "compound_statement" if self._text(node).startswith("(("):
                return Test(line=line, text=self._text(node), substitutions=self._substitutions(node, depth))
            case "compound_statement" | "subshell" | "do_group":
                body = self.body(node.children, depth + 1)
                return Group(line=line, body=body, subshell=node.type == "subshell")
            case "if_statement":
                return self._if(node, depth)
            case "while_statement" | "for_statement" | "c_style_for_statement" | "select_statement":
                return self._loop(node, depth)
            case "case_statement":
                return self._case(node, depth)
            case "function_definition":
                inner = node.child_by_field_name("body")
                name = node.child_by_field_name("name")
                return Function(
                    line=line,
                    name=self._text(name) if name else "",
                    body=self.body([inner], depth + 1) if inner else (),
                )
            case _:
                return Opaque(line=line, text=self._text(node)[:200])

    def _only(self, nodes: "list[Tree]", line: int, depth: int) -> Node:
        body = self.body(nodes, depth + 1)
        return body[0] if len(body) == 1 else Group(line=line, body=body)

    def _command(self, node: "Tree", depth: int) -> Command:
        words: list[Word] = []
        assignments: list[tuple[str, Word]] = []
        redirects: list[Redirect] = []
        for child in node.children:
            match child.type:
                case "variable_assignment":
                    assignments.append(self._assignment(child))
                    if node.type == "declaration_command":
                        words.append(Word(raw=self._text(child)))
                case "file_redirect" | "heredoc_redirect" | "herestring_redirect":
                    redirects.append(self._redirect(child))
                case kind if kind not in _SKIPPED:
                    words.append(Word(raw=self._text(child)))
        return Command(
            line=node.start_point.row + 1,
            words=tuple(words),
            assignments=tuple(assignments),
            redirects=tuple(redirects),
            substitutions=self._substitutions(node, depth),
        )

    def _assignments(self, node: "Tree", depth: int) -> Command:
        each = [node] if node.type == "variable_assignment" else node.named_children
        return Command(
            line=node.start_point.row + 1,
            words=(),
            assignments=tuple(
                self._assignment(child) for child in each if child.type == "variable_assignment"
            ),
            substitutions=self._substitutions(node, depth),
        )

    def _redirected(self, node: "Tree", depth: int) -> Node:
        line = node.start_point.row + 1
        inner = node.child_by_field_name("body")
        redirects: list[Redirect] = []
        more: list[Tree] = []
        operator = ""
        for child in node.children_by_field_name("redirect"):
            redirects.append(self._redirect(child))
            redirects += [
                self._redirect(part) for part in child.named_children if part.type == "file_redirect"
            ]
            if right := child.child_by_field_name("right"):
                sign = child.child_by_field_name("operator")
                operator, more = self._text(sign) if sign else "", [right]
            elif pipes := [part for part in child.named_children if part.type == "pipeline"]:
                operator, more = "|", pipes
        done = self._with_redirects(inner, tuple(redirects), line, depth)
        if not more:
            return done
        right_items = self.body(more[0].children if operator == "|" else more, depth + 1)
        if operator == "|":
            return Pipeline(line=line, items=(done, *right_items))
        signs: tuple[Literal["&&", "||"], ...] = ("&&",) if operator == "&&" else ("||",)
        return AndOr(line=line, items=(done, *right_items[:1]), operators=signs)

    def _with_redirects(
        self, inner: "Tree | None", redirects: tuple[Redirect, ...], line: int, depth: int
    ) -> Node:
        if inner is None:
            return Command(line=line, words=(), redirects=redirects)
        node = self.node(inner, depth + 1)
        if isinstance(node, Command):
            return Command(
                line=node.line,
                words=node.words,
                assignments=node.assignments,
                redirects=(*node.redirects, *redirects),
                substitutions=node.substitutions,
            )
        if isinstance(node, AndOr | Pipeline) and node.items:
            # The grammar hangs the redirection on the list; the shell, on its last command.
            *first, last = node.items
            body = (*first, Group(line=last.line, body=(last,), redirects=redirects))
            if isinstance(last, Command):
                whole = (*last.redirects, *redirects)
                last = Command(
                    line=last.line,
                    words=last.words,
                    assignments=last.assignments,
                    redirects=whole,
                    substitutions=last.substitutions,
                )
                body = (*first, last)
            if isinstance(node, AndOr):
                return AndOr(line=node.line, items=body, operators=node.operators)
            return Pipeline(line=node.line, items=body)
        return Group(line=line, body=(node,), redirects=redirects)

    def _list(self, node: "Tree", depth: int) -> Node:
        # `a && b && c` nests to the left: go down that side in a loop.
        items: list[Tree] = []
        signs: list[Literal["&&", "||"]] = []
        at = node
        while at.type == "list":
            named = [child for child in at.children if child.is_named and child.type not in _SKIPPED]
            sign = next((child.type for child in at.children if child.type in {"&&", "||"}), "&&")
            if len(named) != 2:  # noqa: PLR2004 - left and right
                break
            items.append(named[1])
            signs.append("||" if sign == "||" else "&&")
            at = named[0]
        items.append(at)
        if len(items) == 1:
            return Opaque(line=node.start_point.row + 1, text=self._text(node)[:200])
        nodes = [self.node(item, depth + 1) for item in reversed(items)]
        return AndOr(line=node.start_point.row + 1, items=tuple(nodes), operators=tuple(reversed(signs)))

    def _test(self, node: "Tree", depth: int) -> Test:
        comparisons: list[Comparison] = []
        pending = list(node.named_children)
        while pending:
            child = pending.pop()
            left, right = child.child_by_field_name("left"), child.child_by_field_name("right")
            sign = child.child_by_field_name("operator")
            if child.type == "binary_expression" and left and right and sign:
                if sign.type in {"&&", "||"}:
                    pending.extend((left, right))
                    continue
                comparisons.append(
                    Comparison(
                        left=Word(raw=self._text(left)),
                        operator=self._text(sign),
                        right=Word(raw=self._text(right)),
                    )
                )
            elif child.type == "unary_expression" and sign and child.named_children:
                operand = child.named_children[-1]
                if sign.type == "test_operator":
                    word = Word(raw=self._text(operand))
                    comparisons.append(Comparison(left=None, operator=self._text(sign), right=word))
                else:
                    pending.append(operand)
            elif child.type in {"parenthesized_expression", "negation_expression"}:
                pending.extend(child.named_children)
        return Test(
            line=node.start_point.row + 1,
            text=self._text(node),
            comparisons=tuple(comparisons),
            substitutions=self._substitutions(node, depth),
        )

    def _if(self, node: "Tree", depth: int) -> If:
        branches: list[tuple[Body, Body]] = []
        otherwise: Body | None = None
        branches.append(self._branch(node, depth))
        for child in node.named_children:
            if child.type == "elif_clause":
                branches.append(self._branch(child, depth))
            elif child.type == "else_clause":
                otherwise = self.body(child.children, depth + 1)
        return If(line=node.start_point.row + 1, branches=tuple(branches), otherwise=otherwise)

    def _branch(self, node: "Tree", depth: int) -> tuple[Body, Body]:
        condition: list[Tree] = []
        body: list[Tree] = []
        into = condition
        for child in node.children:
            if child.type == "then":
                into = body
            elif child.type not in {"elif_clause", "else_clause", "if", "elif", "fi"}:
                into.append(child)
        return self.body(condition, depth + 1), self.body(body, depth + 1)

    def _loop(self, node: "Tree", depth: int) -> Loop:
        body = node.child_by_field_name("body")
        inside = self.body(body.children if body else [], depth + 1)
        condition: Body = ()
        kind: Literal["for", "while", "until"] = "for"
        if node.type == "while_statement":
            kind = "until" if node.children[0].type == "until" else "while"
            parts = node.children_by_field_name("condition")
            condition = self.body(list(parts), depth + 1)
        return Loop(line=node.start_point.row + 1, kind=kind, condition=condition, body=inside)

    def _case(self, node: "Tree", depth: int) -> Case:
        word = node.child_by_field_name("value")
        items: list[tuple[tuple[Word, ...], Body]] = []
        for item in node.named_children:
            if item.type == "case_item":
                values = {value.id for value in item.children_by_field_name("value")}
                patterns = tuple(Word(raw=self._text(part)) for part in item.children if part.id in values)
                rest = [part for part in item.children if part.id not in values]
                items.append((patterns, self.body(rest, depth + 1)))
        text = Word(raw=self._text(word) if word else "")
        return Case(line=node.start_point.row + 1, word=text, items=tuple(items))

    def _substitutions(self, node: "Tree", depth: int) -> tuple[Body, ...]:
        """Read the outermost substitutions in a node's words; a here-document's are left out."""
        found: list[Body] = []
        pending = list(reversed(node.children))
        while pending:
            child = pending.pop()
            if child.type in {"command_substitution", "process_substitution"}:
                found.append(self.body(child.children, depth + 1))
            elif child.child_count and child.type not in {"heredoc_redirect", "file_redirect"}:
                pending.extend(reversed(child.children))
        return tuple(found)

    def _text(self, node: "Tree") -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _assignment(self, node: "Tree") -> tuple[str, Word]:
        name, _, value = self._text(node).partition("=")
        return name.removesuffix("+"), Word(raw=value)

    def _redirect(self, node: "Tree") -> Redirect:
        if node.type == "heredoc_redirect":
            start = next((part for part in node.named_children if part.type == "heredoc_start"), None)
            body = next((part for part in node.named_children if part.type == "heredoc_body"), None)
            name = Word(raw=self._text(start) if start else "")
            return Redirect(operator="<<", target=name, text=self._text(body) if body else "")
        if node.type == "herestring_redirect":
            text = Word(raw=self._text(node)[3:].strip())
            return Redirect(operator="<<<", target=text)
        target = node.child_by_field_name("destination")
        sign = next((part for part in node.children if not part.is_named), None)
        return Redirect(
            operator=self._text(sign) if sign else ">", target=Word(raw=self._text(target) if target else "")
        )


_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?!$-]")
_QUOTED: Final = re.compile(r"[\\\"'$]")
_MAX_NESTING: Final = 8
_MAX_WORD: Final = 20_000


def _resolve(raw: str, variables: Mapping[str, str], depth: int) -> str:
    if raw.isalnum() or not _QUOTED.search(raw) or len(raw) > _MAX_WORD or depth > _MAX_NESTING:
        return raw
    out: list[str] = []
    quote = ""
    size = 0
    at = 0
    while at < len(raw):
        char = raw[at]
        at += 1
        if char == "\\" and quote != "'":
            out.append(raw[at : at + 1])
            at += 1
        elif char == quote:
            quote = ""
        elif char in "\"'" and not quote:
            quote = char
        elif char == "$" and quote != "'":
            text, at = _expansion(raw, at, variables, depth)
            size += len(text)
            if size > _MAX_WORD:
                return raw
            out.append(text)
        else:
            out.append(char)
    return "".join(out)


def _expansion(raw: str, at: int, variables: Mapping[str, str], depth: int) -> tuple[str, int]:
    if raw.startswith("(", at):
        return "$(…)", _closing(raw, at, "(", ")")
    if not raw.startswith("{", at):
        match = _VARIABLE.match(raw, at)
        return (variables.get(match[0], f"${match[0]}"), match.end()) if match else ("$", at)
    end = _closing(raw, at, "{", "}")
    inside = raw[at + 1 : end - 1]
    match = _VARIABLE.match(inside)
    if match is None:
        return f"${{{inside}}}", end
    rest = inside[match.end() :]
    if rest.startswith((":-", "-", ":=", "=")) and not variables.get(match[0], "").strip("$"):
        word = rest[2:] if rest.startswith(":") else rest[1:]
        return _resolve(word, variables, depth + 1), end
    return variables.get(match[0], f"${match[0]}"), end


def _closing(raw: str, at: int, opening: str, closing: str) -> int:
    """Return where what opens at `at` has closed; the text's end where it does not."""
    depth = 0
    quote = ""
    while at < len(raw):
        char = raw[at]
        if char == "\\":
            at += 1
        elif char == quote:
            quote = ""
        elif quote == "'":
            pass
        elif char in "\"'" and not quote:
            quote = char
        elif char == opening:
            depth += 1
        elif char == closing:
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return len(raw)
