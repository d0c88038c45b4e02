"""The ways through a shell script: where each ends, and what had happened by then.

An abstract run: conditions go both ways, a loop's body runs once, functions are
entered, `set -e` ends the script where the shell would. What a command does
is for the caller to say.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final, Literal

from seatrials.parse.shell import (
    AndOr,
    Background,
    Body,
    Case,
    Command,
    Function,
    Group,
    If,
    Loop,
    Node,
    Not,
    Opaque,
    Pipeline,
    Redirect,
    Script,
    Test,
    parse_shell,
    walk,
)

Mark = Literal["writes", "checks", "fails", "succeeds"]
"""What a command does: writes the result; tells good from bad work; can only fail, or only succeed."""

MAX_STEPS: Final = 20_000
"""Commands that are run in one analysis; a script with more ways than that gives no endings."""

_MAX_CALLS: Final = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """What has happened on a way: the result is written, the work is checked; and the shell's options."""

    written: bool = False
    checked: bool = False
    errexit: bool = False
    pipefail: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """Where a way ends: at the script's end, at `exit` or `exec`, or by `set -e` at a failing command."""

    line: int
    kind: Literal["end", "exit", "errexit"]
    state: State
    status: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Meaning:
    """What the caller says of commands, of tests, and of where a redirection leads."""

    command: Callable[[Command], frozenset[Mark]]
    test: Callable[[Test], bool]
    redirect: Callable[[Redirect], bool]


States = frozenset[State]
_NONE: Final[States] = frozenset()


@dataclass(frozen=True, slots=True)
class _Outcome:
    good: States
    bad: States

    @property
    def both(self) -> States:
        return self.good | self.bad


class _TooManyWaysError(Exception):
    pass


def endings(script: Script, meaning: Meaning) -> tuple[Ending, ...]:
    """Return every ending, in the order of the lines; none where there are too many ways to follow."""
    run = _Run(script, meaning)
    start = State(errexit="e" in script.options)
    try:
        out = run.body(script.body, frozenset({start}), tested=False)
    except (_TooManyWaysError, RecursionError):
        return ()
    line = max((node.line for node in script.body), default=1)
    run.found.extend(Ending(line=line, kind="end", state=state) for state in out.both)
    kept = [ending for ending in run.found if ending.state.written or not run.is_trapped(ending)]
    return tuple(sorted(dict.fromkeys(kept), key=lambda ending: (ending.line, ending.kind)))


class _Run:
    def __init__(self, script: Script, meaning: Meaning) -> None:
        self.meaning = meaning
        self.found: list[Ending] = []
        self.returned: list[list[tuple[States, bool]]] = []
        self.inner: list[list[States]] = []
        self.functions = {node.name: node.body for node in walk(script.body) if isinstance(node, Function)}
        self.steps = 0
        self.calls = 0
        self.watched = False
        commands = tuple(script.commands())
        self.on_exit = any(self._traps(command, {"EXIT", "0"}) for command in commands)
        self.on_error = any(self._traps(command, {"ERR"}) for command in commands)

    def is_trapped(self, ending: Ending) -> bool:
        """Say whether a trap writes the result at an ending; one of `ERR` does where a failure is the end."""
        return self.on_exit or (self.on_error and ending.kind == "errexit")

    def _traps(self, command: Command, when: Set[str]) -> bool:
        """Say whether a command sets a trap that writes the result at one of these events."""
        if command.name != "trap" or not any(word.raw in when for word in command.words[1:]):
            return False
        what = command.words[1].resolve({}) if len(command.words) > 1 else ""
        body = self.functions.get(what.split(" ", 1)[0].strip(";"))
        if body is not None:
            return any(
                isinstance(node, Command) and "writes" in self.meaning.command(node) for node in walk(body)
            )
        # The trap's text is a script of its own.
        inner = parse_shell(what.encode("utf-8", "replace"))
        return any("writes" in self.meaning.command(node) for node in inner.commands())

    def body(self, body: Body, states: States, *, tested: bool) -> _Outcome:
        out = _Outcome(states, _NONE)
        outer = self.watched
        for node, following in zip_longest(body, body[1:]):
            going = out.both
            if not going:
                break
            # Whoever asks for `$?` next thinks of a failure here.
            self.watched = isinstance(node, Command | Pipeline) and _asks_for_status(following)
            out = self.node(node, going, tested=tested)
        self.watched = outer
        return out

    def node(self, node: Node, states: States, *, tested: bool) -> _Outcome:  # noqa: PLR0912 - one case each
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise _TooManyWaysError
        match node:
            case Command():
                return self._command(node, states, tested=tested)
            case Test():
                return self._test(node, states, tested=tested)
            case Pipeline():
                return self._pipeline(node, states, tested=tested)
            case AndOr():
                return self._list(node, states, tested=tested)
            case Not():
                out = self.node(node.item, states, tested=True)
                return _Outcome(out.bad, out.good)
            case Background():
                out = self.node(node.item, states, tested=True)
                return _Outcome(out.both, _NONE)
            case Group():
                return self._group(node, states, tested=tested)
            case If():
                return self._if(node, states, tested=tested)
            case Case():
                return self._case(node, states, tested=tested)
            case Loop():
                return self._loop(node, states, tested=tested)
            case Function():
                return _Outcome(states, _NONE)
            case Opaque():
                return _Outcome(states, states)

    def _failing(self, line: int, states: States, *, checks: bool, tested: bool) -> States:
        """Return the states in which the script goes on after a failure; record where it ends."""
        if tested:
            return states
        if (checks or self.watched) and not self.inner:
            self.found.extend(
                Ending(line=line, kind="errexit", state=state) for state in states if state.errexit
            )
        return frozenset(state for state in states if not state.errexit)

    def _command(self, node: Command, states: States, *, tested: bool) -> _Outcome:
        marks = self.meaning.command(node)
        if "writes" in marks:
            states = frozenset(replace(state, written=True) for state in states)
        if "checks" in marks:
            states = frozenset(replace(state, checked=True) for state in states)
        match node.name:
            case "exit":
                return self._exit(node, states)
            case "exec" if len(node.words) > 1:
                return self._exit(node, states)
            case "return":
                return self._return(node, states)
            case "set":
                return _Outcome(frozenset(_options(state, node) for state in states), _NONE)
            case name if name in self.functions and self.calls < _MAX_CALLS:
                return self._call(name, states, tested=tested)
            case _:
                bad = self._failing(node.line, states, checks="checks" in marks, tested=tested)
                if "succeeds" in marks:
                    bad = _NONE
                return _Outcome(_NONE if "fails" in marks else states, bad)

    def _exit(self, node: Command, states: States) -> _Outcome:
        if self.inner:
            self.inner[-1].append(states)
        else:
            status = node.words[1].resolve({}) if node.name == "exit" and len(node.words) > 1 else ""
            self.found.extend(
                Ending(line=node.line, kind="exit", state=state, status=status) for state in states
            )
        return _Outcome(_NONE, _NONE)

    def _return(self, node: Command, states: States) -> _Outcome:
        good = len(node.words) > 1 and node.words[1].raw == "0"
        bad = len(node.words) > 1 and node.words[1].raw.isdigit() and not good
        if self.returned:
            if not bad:
                self.returned[-1].append((states, True))
            if not good:
                self.returned[-1].append((states, False))
        return _Outcome(_NONE, _NONE)

    def _call(self, name: str, states: States, *, tested: bool) -> _Outcome:
        self.calls += 1
        self.returned.append([])
        out = self.body(self.functions[name], states, tested=tested)
        good, bad = out.good, out.bad
        for left, fine in self.returned.pop():
            good, bad = (good | left, bad) if fine else (good, bad | left)
        self.calls -= 1
        return _Outcome(good, bad)

    def _test(self, node: Test, states: States, *, tested: bool) -> _Outcome:
        checks = self.meaning.test(node)
        if checks:
            states = frozenset(replace(state, checked=True) for state in states)
        return _Outcome(states, self._failing(node.line, states, checks=checks, tested=tested))

    def _pipeline(self, node: Pipeline, states: States, *, tested: bool) -> _Outcome:
        out = _Outcome(states, _NONE)
        lost = _NONE
        for position, item in enumerate(node.items):
            last = position == len(node.items) - 1
            # Each part runs in a shell of its own, and only the last one's status counts.
            self.inner.append([])
            part = self.node(item, out.both, tested=True)
            ended = frozenset(state for left in self.inner.pop() for state in left)
            if not last:
                lost |= frozenset(state for state in part.bad if state.pipefail)
                out = _Outcome(part.both | ended, _NONE)
            else:
                out = _Outcome(part.good | ended, part.bad | ended)
        after = out.good | out.bad
        lost = frozenset(state for state in after if state.pipefail) if lost else _NONE
        checks = any(state.checked for state in out.bad) and self._last_checks(node)
        bad = self._failing(node.line, out.bad, checks=checks, tested=tested)
        if lost:
            bad |= self._failing(node.line, lost, checks=any(s.checked for s in lost), tested=tested)
        return _Outcome(out.good, bad)

    def _last_checks(self, node: Pipeline) -> bool:
        last = node.items[-1] if node.items else None
        return isinstance(last, Command) and "checks" in self.meaning.command(last)

    def _list(self, node: AndOr, states: States, *, tested: bool) -> _Outcome:
        last = len(node.items) - 1
        out = self.node(node.items[0], states, tested=True)
        for position, (sign, item) in enumerate(zip(node.operators, node.items[1:], strict=False), start=1):
            held = tested or position < last
            if sign == "&&":
                more = self.node(item, out.good, tested=held) if out.good else _Outcome(_NONE, _NONE)
                out = _Outcome(more.good, out.bad | more.bad)
            else:
                more = self.node(item, out.bad, tested=held) if out.bad else _Outcome(_NONE, _NONE)
                out = _Outcome(out.good | more.good, more.bad)
        # A list that fails before its last part does not end the script.
        return out if tested else _Outcome(out.both, _NONE)

    def _group(self, node: Group, states: States, *, tested: bool) -> _Outcome:
        if any(self.meaning.redirect(redirect) for redirect in node.redirects):
            states = frozenset(replace(state, written=True) for state in states)
        if not node.subshell:
            return self.body(node.body, states, tested=tested)
        self.inner.append([])
        out = self.body(node.body, states, tested=True)
        ended = frozenset(state for left in self.inner.pop() for state in left)
        bad = self._failing(node.line, out.bad | ended, checks=any(s.checked for s in out.bad), tested=tested)
        return _Outcome(out.good | ended, bad)

    def _if(self, node: If, states: States, *, tested: bool) -> _Outcome:
        good, bad, going = _NONE, _NONE, states
        for condition, body in node.branches:
            if not going:
                break
            out = self.body(condition, going, tested=True)
            inside = self.body(body, out.good, tested=tested) if out.good else _Outcome(_NONE, _NONE)
            good, bad, going = good | inside.good, bad | inside.bad, out.bad
        if node.otherwise is None or not going:
            return _Outcome(good | going, bad)
        out = self.body(node.otherwise, going, tested=tested)
        return _Outcome(good | out.good, bad | out.bad)

    def _case(self, node: Case, states: States, *, tested: bool) -> _Outcome:
        good, bad = _NONE, _NONE
        always = False
        for patterns, body in node.items:
            out = self.body(body, states, tested=tested)
            good, bad = good | out.good, bad | out.bad
            always = always or any(pattern.raw == "*" for pattern in patterns)
        return _Outcome(good if always else good | states, bad)

    def _loop(self, node: Loop, states: States, *, tested: bool) -> _Outcome:
        if node.kind == "for":
            return _Outcome(self.body(node.body, states, tested=tested).both, _NONE)
        out = self.body(node.condition, states, tested=True)
        enter, leave = (out.good, out.bad) if node.kind == "while" else (out.bad, out.good)
        after = self.body(node.body, enter, tested=tested).both if enter else _NONE
        return _Outcome(leave | after, _NONE)


def _asks_for_status(node: Node | None) -> bool:
    """Say whether a node looks at `$?`."""
    match node:
        case Test():
            return "$?" in node.text
        case Command():
            return any("$?" in word.raw for word in (*node.words, *(value for _, value in node.assignments)))
        case Case():
            return "$?" in node.word.raw
        case If():
            return any(_asks_for_status(part) for part in node.branches[0][0][:1])
        case _:
            return False


def _options(state: State, node: Command) -> State:
    """Apply `set -e`, `set +o pipefail` and the like."""
    words = [word.raw for word in node.words[1:]]
    values: Mapping[str, bool | None] = {"errexit": None, "pipefail": None}
    changed = dict(values)
    for position, word in enumerate(words):
        if word[:1] not in {"-", "+"} or word == "--":
            continue
        on = word.startswith("-")
        if "e" in word[1:]:
            changed["errexit"] = on
        if word.endswith("o") and position + 1 < len(words) and words[position + 1] in changed:
            changed[words[position + 1]] = on
    return replace(
        state,
        errexit=state.errexit if changed["errexit"] is None else changed["errexit"],
        pipefail=state.pipefail if changed["pipefail"] is None else changed["pipefail"],
    )
