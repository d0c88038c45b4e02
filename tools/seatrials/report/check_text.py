"""A check's report as text for people: worst first, counts last, at most a screen unless all is asked for."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from seatrials.findings import SEVERITIES, Finding, Severity
from seatrials.judge.gates import VERSION, GateSummary
from seatrials.judge.run import CheckReport
from seatrials.report.plain import plain
from seatrials.report.terminal import Terminal
from seatrials.report.words import counted
from seatrials.rules.model import Skip, Waived

_MANY: Final = 4
"""Tasks from which a shared code is told once for all of them, where the whole does not fit a screen."""

_SAME: Final = 3
"""Findings of one code in one task that the first look tells one by one, where the whole does not fit."""

_RANK: Final = {severity: rank for rank, severity in enumerate(SEVERITIES)}
_COLUMNS: Final = max(map(len, SEVERITIES))
_PLAIN: Final = Terminal()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Group:
    """A task or the collection, under the path that the user knows it by."""

    name: str
    path: str
    findings: tuple[Finding, ...]
    waived: tuple[Waived, ...] = ()
    skipped: tuple[Skip, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Block:
    """Lines that stay together, and how many findings they tell."""

    lines: tuple[str, ...]
    findings: int


def render(report: CheckReport, *, verbose: bool = False, terminal: Terminal = _PLAIN) -> str:
    """Return the report as text."""
    groups = [
        _Group(
            name=task.name,
            path=task.path,
            findings=task.findings,
            waived=task.waived if verbose else (),
            skipped=task.skipped if verbose else (),
        )
        for task in report.tasks
    ]
    if (path := report.collection_path) is not None:
        waived = report.collection_waived if verbose else ()
        groups.append(_Group(name=path, path=path, findings=report.collection_findings, waived=waived))
    groups = sorted((group for group in groups if group.findings or group.waived), key=_badness)
    total = sum(len(group.findings) for group in groups)
    if verbose or total <= terminal.rows:
        blocks = [_block(group, terminal) for group in groups]
        if verbose or sum(len(block.lines) for block in blocks) <= terminal.rows:
            return _page([line for block in blocks for line in block.lines], report, terminal)
    lines, told = _first_look(groups, terminal)
    if told < total:
        lines += [f"... and {counted(total - told, 'more finding')}; `-v` shows all"]
    return _page(lines, report, terminal)


def summary_line(report: CheckReport) -> str:
    """Return the line of counts that ends the report."""
    counts = report.counts()
    clean = sum(not task.findings for task in report.tasks)
    said = ", ".join(_count(counts[severity], severity) for severity in SEVERITIES if counts[severity])
    waived = sum(1 for _ in report.waived())
    said = (said or "no findings") + (f"; {waived:,} waived" if waived else "")
    return f"{counted(len(report.tasks), 'task')} checked, {clean:,} clean: {said}"


def gates_line(gates: GateSummary) -> str:
    """Return the arena's summary in a line; it always says whether held-out suites were compared with."""
    said = (
        f"{VERSION}: {gates.blocked:,} blocked + {gates.rejected:,} rejected + {gates.eligible:,} eligible "
        f"= {counted(gates.tasks, 'task')}"
    )
    said += f"; {gates.needs_controls:,} needs_controls, {gates.review:,} review, {gates.clean:,} clean"
    if gates.by_code:
        said += f"; by code: {', '.join(f'{code} {number:,}' for code, number in gates.by_code.items())}"
    return f"{said}; held-out overlap: {plain(gates.overlap)}"


def _page(lines: list[str], report: CheckReport, terminal: Terminal) -> str:
    if lines:
        hint = "`seatrials explain CODE` says why and how to fix it"
        lines = [*lines, "", terminal.paint("faint", hint)]
    last = [*([gates_line(report.gates)] if report.gates is not None else []), summary_line(report)]
    return "\n".join([*lines, *(part for line in last for part in terminal.wrapped(line, indent=0))]) + "\n"


def _first_look(groups: list[_Group], terminal: Terminal) -> tuple[list[str], int]:
    """Return at most a screen of lines and the number of findings they tell."""
    shared = _shared(groups)
    lines: list[str] = []
    told = 0

    def room() -> int:
        return terminal.rows - 1 - len(lines)

    for places in shared.values():
        block = _shared_block(places, terminal)
        if len(block.lines) > room():
            return lines, told
        lines += block.lines
        told += block.findings
    for group in groups:
        own = tuple(finding for finding in group.findings if finding.code not in shared)
        if own:
            block = _block(replace(group, findings=own), terminal, room=room(), same=_SAME)
            if block.findings:
                lines += block.lines
                told += block.findings
            if block.findings < len(own):
                break
    return lines, told


def _shared(groups: Iterable[_Group]) -> dict[str, list[tuple[_Group, Finding]]]:
    """Return the findings, with their tasks, of the codes that many tasks have; worst first."""
    places: dict[str, list[tuple[_Group, Finding]]] = defaultdict(list)
    for group in groups:
        for finding in group.findings:
            places[finding.code].append((group, finding))
    many = [code for code, found in places.items() if len({group.path for group, _ in found}) >= _MANY]
    many.sort(key=lambda code: (_RANK[places[code][0][1].severity], -len(places[code]), code))
    return {code: places[code] for code in many}


def _shared_block(places: list[tuple[_Group, Finding]], terminal: Terminal) -> _Block:
    names = list({group.path: group.name for group, _ in places}.values())
    finding = places[0][1]
    number = counted(len(names), "task")
    if len(places) != len(names):
        number += f" ({len(places):,} times)"
    head, indent = _head(finding, terminal)
    said = f"in {number}, such as {plain(names[0])} and {plain(names[1])}"
    first, *rest = terminal.wrapped(said, indent=indent)
    example = terminal.wrapped(f"{_place(finding)}{plain(finding.message)}", indent=indent)
    # Both parts may have wrapped; the example starts on a line of its own.
    lines = [head + first, *rest, " " * indent + example[0], *example[1:]]
    return _Block(lines=tuple(lines), findings=len(places))


def _block(group: _Group, terminal: Terminal, *, room: int | None = None, same: int | None = None) -> _Block:
    """Return what there is to tell of a task, in at most `room` lines.

    Of one code at most `same` findings are told one by one, and the number of the others.
    """
    lines = [terminal.paint("heading", plain(group.path))]
    told = 0
    each = Counter(finding.code for finding in group.findings)
    seen: Counter[str] = Counter()
    for finding in sorted(group.findings, key=lambda item: (_RANK[item.severity], item.path, item.line or 0)):
        number = 1
        said = f"{_place(finding)}{plain(finding.message)}"
        seen[finding.code] += 1
        if same is not None and each[finding.code] > same + 1 and seen[finding.code] > same:
            if seen[finding.code] > same + 1:
                continue
            number = each[finding.code] - same
            said = f"and {number:,} more in this task"
        head, indent = _head(finding, terminal, margin=2)
        first, *rest = terminal.wrapped(said, indent=indent)
        if room is not None and len(lines) + 1 + len(rest) > room:
            return _Block(lines=tuple(lines), findings=told)
        lines += [head + first, *rest]
        told += number
    for item in group.waived:
        indent = 2 + _COLUMNS + 1 + len(item.finding.code) + 2
        said = f"{_place(item.finding)}{plain(item.finding.message)} (waived: {plain(item.reason)})"
        first, *rest = terminal.wrapped(said, indent=indent)
        head = terminal.paint("faint", f"  {'waived':<{_COLUMNS}}")
        lines += [f"{head} {item.finding.code}  {first}", *rest]
    lines += [
        terminal.paint("faint", f"  {'skipped':<{_COLUMNS}} {skip.code}  {skip.reason}")
        for skip in group.skipped
    ]
    return _Block(lines=tuple(lines), findings=told)


def _head(finding: Finding, terminal: Terminal, *, margin: int = 0) -> tuple[str, int]:
    """Return the columns before a message and their width."""
    severity = terminal.paint(finding.severity, f"{finding.severity:<{_COLUMNS}}")
    return f"{' ' * margin}{severity} {finding.code}  ", margin + _COLUMNS + 1 + len(finding.code) + 2


def _place(finding: Finding) -> str:
    if not finding.path:
        return ""
    return plain(finding.path) + (f":{finding.line}" if finding.line else "") + ": "


def _badness(group: _Group) -> tuple[int, int]:
    worst = min((_RANK[finding.severity] for finding in group.findings), default=len(_RANK))
    return worst, -len(group.findings)


def _count(number: int, severity: Severity) -> str:
    if severity in {"error", "warning"}:
        return counted(number, severity)
    return f"{number:,} {severity}"
