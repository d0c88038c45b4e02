"""A migration as a Markdown page, for the description of a pull request."""

from seatrials.migrate.model import NOTE_KINDS
from seatrials.migrate.run import MigrationReport
from seatrials.report.migrate_groups import groups
from seatrials.report.migrate_text import proposed, status_of
from seatrials.report.plain import plain
from seatrials.report.words import counted


def render(report: MigrationReport) -> str:
    """Return the page: counts, what was not turned, what somebody should look at, what was done."""
    target = "BenchFlow-native packages" if report.direction == "native" else "Harbor tasks"
    lines = [f"# {counted(len(report.tasks), 'task')} as {target}", "", "| status | tasks |", "|---|---:|"]
    counts = report.counts().items()
    lines += [f"| {status_of(status, report)} | {count:,} |" for status, count in counts if count]
    bad = [task for task in report.tasks if task.problem]
    if bad:
        lines += ["", "## Not turned", "", "| task | status | why |", "|---|---|---|"]
        lines += [f"| `{_cell(task.name)}` | {task.status} | {_cell(task.problem)} |" for task in bad]
    lines += _replays(report)
    found = groups(report.tasks)
    for title, look in (("To look at", True), ("Done", False)):
        some = [group for group in found if group.look is look]
        if some:
            lines += ["", f"## {title}", "", "| tasks | kind | what | example |", "|---:|---|---|---|"]
            lines += [
                f"| {group.tasks:,} | {group.kind} | {_cell(group.said)} | `{_cell(group.example)}` |"
                for group in some
            ]
    if report.proposed:
        lines += ["", "## Proposed credit", "", *(f"- {proposed(one)}" for one in report.proposed)]
    used = {group.kind for group in found}
    if used:
        kinds = "; ".join(f"{kind}: {said}" for kind, said in NOTE_KINDS.items() if kind in used)
        lines += ["", f"Kinds: {kinds}."]
    return "\n".join(lines) + "\n"


def _replays(report: MigrationReport) -> list[str]:
    if not report.replays:
        return []
    lines = ["", "## Replayed before and after", "", "| task | before | after | |", "|---|---|---|---|"]
    for one in report.replays:
        said = "not comparable" if not one.judged else "same" if one.equal else "differs"
        before, after = "<br>".join(map(_cell, one.before)), "<br>".join(map(_cell, one.after))
        lines.append(f"| `{_cell(one.name)}` | {before} | {after} | {said} |")
    return lines


def _cell(text: str) -> str:
    return plain(text).replace("|", "\\|")
