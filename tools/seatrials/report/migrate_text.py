"""A migration as text for people: what was not turned, then the notes by kind, then the counts."""

from typing import Final

from seatrials.migrate.credit import Proposal
from seatrials.migrate.model import NOTE_KINDS
from seatrials.migrate.run import MigrationReport
from seatrials.report.migrate_groups import groups
from seatrials.report.plain import plain
from seatrials.report.words import counted

_SHOWN: Final = 20
"""Tasks that are named one by one where the whole is not asked for."""


def render(report: MigrationReport, *, verbose: bool = False) -> str:
    """Return the report as text; `verbose` names every task."""
    lines: list[str] = []
    bad = [task for task in report.tasks if task.problem]
    shown = bad if verbose else bad[:_SHOWN]
    lines += [f"{task.status:<12} {plain(task.source)}: {plain(task.problem)}" for task in shown]
    if len(bad) > len(shown):
        lines.append(f"... and {counted(len(bad) - len(shown), 'more task')}; `-v` shows all")
    if len(report.tasks) == 1 or verbose:
        for task in report.tasks:
            if not task.problem:
                lines.append(f"{plain(task.source)}: {status_of(task.status, report)}")
                lines += [
                    f"  {note.kind:<9} {plain(note.message)}{_look(look=note.look)}" for note in task.notes
                ]
    else:
        lines += _grouped(report)
    lines += [f"\n{plain(task.source)}\n{task.diff}" for task in report.tasks if task.diff]
    lines += [f"proposed: {proposed(one)}" for one in report.proposed]
    lines += _replays(report)
    lines.append(_counts(report))
    return "\n".join(lines) + "\n"


def _grouped(report: MigrationReport) -> list[str]:
    lines: list[str] = []
    kind = ""
    for group in groups(report.tasks):
        if group.kind != kind:
            kind = group.kind
            lines.append(f"{kind}: {NOTE_KINDS[group.kind]}")
        such = f" (such as {plain(group.example)})" if group.tasks > 1 else f" ({plain(group.example)})"
        lines.append(f"  {group.tasks:>5,}  {plain(group.said)}{such}{_look(look=group.look)}")
    return lines


def proposed(one: Proposal) -> str:
    """Return a proposal as a clause: the option that takes it up, and why it may be right."""
    said = counted(one.tasks, "task")
    return f"`{one.option} {plain(one.value)}` ({plain(one.reason)}), which {said} would get"


def status_of(status: str, report: MigrationReport) -> str:
    """Return a status in the words of the direction; the data has one set of words for both."""
    return status if report.direction == "native" else status.replace("migrated", "exported")


def _look(*, look: bool) -> str:
    return "  <- look" if look else ""


def _replays(report: MigrationReport) -> list[str]:
    lines: list[str] = []
    for one in report.replays:
        if one.equal and one.judged:
            lines.append(f"replayed the same: {plain(one.name)}: {', '.join(map(plain, one.after))}")
        else:
            said = "replayed differently" if one.judged else "not comparable"
            lines.append(f"{said}: {plain(one.name)}")
            lines += [f"  before  {plain(line)}" for line in one.before]
            lines += [f"  after   {plain(line)}" for line in one.after]
    return lines


def _counts(report: MigrationReport) -> str:
    counts = report.counts().items()
    said = ", ".join(f"{count:,} {status_of(status, report)}" for status, count in counts if count)
    done = "" if report.wrote else "; nothing written: add `--out DIR` or `--in-place`"
    if report.direction == "harbor" and not report.wrote:
        done = "; nothing written: add `--out DIR`"
    return f"{counted(len(report.tasks), 'task')}: {said or 'none'}{done}"
