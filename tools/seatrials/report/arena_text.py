"""The arena's answers for people: tables of its listings, and what validation and preflight say.

The arena's API is not public, so a column names the keys under which its value
may stand, and one without any value is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from seatrials.arena.results import Preflight, Submission, Validation, rows_of
from seatrials.report.plain import plain
from seatrials.report.terminal import Style, Terminal

Column = tuple[str, tuple[str, ...]]

COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "challenges": (
        ("challenge", ("id", "challenge_id")),
        ("status", ("status",)),
        ("base model", ("base_model", "model")),
        ("recipe", ("recipe",)),
        ("suite", ("eval_suite", "eval_suites", "suite", "benchmark")),
        ("runs", ("runs_paused", "health")),
    ),
    "benchmarks": (
        ("benchmark", ("id", "benchmark_id", "name")),
        ("tasks", ("tasks", "task_count")),
        ("sealed", ("sealed",)),
        ("domains", ("domains",)),
        ("challenges", ("challenges",)),
    ),
    "environments list": (
        ("collection", ("environment_id", "id")),
        ("title", ("title",)),
        ("repository", ("repo_id",)),
        ("commit", ("revision", "commit")),
        ("author", ("author", "owner", "submitted_by")),
        ("agent", ("agent_id",)),
        ("eligible", ("eligible_tasks",)),
        ("challenge", ("target_challenge_id", "challenge_id", "track")),
    ),
    "runs": (
        ("run", ("run_id", "id")),
        ("request id", ("request_key", "request_id")),
        ("collection", ("environment_id",)),
        ("state", ("state",)),
        ("stage", ("stage",)),
        ("job", ("status", "job_status")),
        ("reason", ("reason",)),
    ),
    "leaderboard": (
        ("rank", ("rank",)),
        ("collection", ("environment_id", "id")),
        ("title", ("title",)),
        ("author", ("author", "owner")),
        ("mean Δ (pp)", ("delta_pp",)),
        ("± (pp)", ("stderr_pp",)),
        ("runs", ("verified_runs",)),
    ),
    "discover": (
        ("agent", ("agent_id", "id")),
        ("owner", ("owner",)),
        ("description", ("description",)),
        ("model", ("model",)),
        ("harness", ("harness",)),
    ),
}
"""The columns of each listing, and the keys of their values."""

LISTS: Final[Mapping[str, tuple[str, ...]]] = {
    "challenges": ("challenges",),
    "benchmarks": ("benchmarks",),
    "environments list": ("environments", "submissions"),
    "runs": ("runs", "requests"),
    "leaderboard": ("rows", "leaderboard", "entries"),
    "board list": ("messages",),
    "discover": ("agents",),
}
"""The keys under which each listing may have its rows."""

_WHEN: Final = ("created_at", "timestamp", "date")
_COMMIT: Final = 40
_SHORT: Final = 12
_NARROWEST: Final = 8
_MARKS: Final[Mapping[str, Style]] = {"ok": "faint", "FAIL": "error", "skip": "warning"}
_DEPTH: Final = 3


def listing(command: str, data: Any, *, terminal: Terminal | None = None) -> str:
    """Return a listing as a table, with what stands beside its rows as facts below."""
    rows = rows_of(data, *LISTS[command])
    terminal = terminal or Terminal()
    match command:
        case "board list":
            lines = [line for row in rows for line in _message(row, terminal)]
        case "challenges":
            lines = [*_table(COLUMNS[command], [_challenge(row) for row in rows], terminal)]
            lines += [line for row in rows for line in _notes(row, terminal)]
        case _:
            lines = [*_table(COLUMNS[command], rows, terminal)]
    if not rows:
        lines = ["none"]
    if isinstance(data, dict):
        beside = {key: value for key, value in data.items() if not isinstance(value, list)}
        lines += _facts(beside) if beside else []
    return "\n".join(lines) + "\n"


def facts(data: Any) -> str:
    """Return an answer that is no listing as lines of keys and values."""
    lines = list(_facts(data)) if isinstance(data, dict) else [_cell(data)]
    return "\n".join(lines) + "\n"


def preflight(found: Preflight, *, terminal: Terminal | None = None) -> str:
    """Return every check of a preflight, each with the arena's own mark, and what a run would reserve."""
    paint = (terminal or Terminal()).paint
    width = max((len(plain(check.name)) for check in found.checks), default=0)
    lines = []
    for check in found.checks:
        told = f"  {plain(check.name):<{width}}  {plain(check.detail)}"
        lines.append(paint(_MARKS[check.mark], f"{check.mark:<4}") + told.rstrip())
    if found.max_compute_usd is not None:
        lines.append(f"a run reserves up to {found.max_compute_usd:g} USD of the challenge's cap")
    if found.eligible is not None:
        lines.append(f"eligible tasks: {found.eligible}")
    lines.append("allowed" if found.allowed else "not allowed; nothing was reserved or started")
    return "\n".join(lines) + "\n"


def validation(found: Validation, *, terminal: Terminal | None = None) -> str:
    """Return what validation says: the counts, then errors, findings and warnings."""
    paint = (terminal or Terminal()).paint
    of = found.summary.get("tasks")
    total = f" of {of}" if isinstance(of, int) else ""
    at = f" at {found.commit[:_SHORT]}" if found.commit is not None else ""
    tasks = "task" if (of if total else found.eligible) == 1 else "tasks"
    lines = [f"{'valid' if found.valid else 'not valid'}: {found.eligible}{total} {tasks} eligible{at}"]
    counts = [
        f"{key} {value}" for key, value in found.summary.items() if isinstance(value, int) and key != "tasks"
    ]
    if counts:
        lines.append(f"  {', '.join(counts)}")
    lines += [f"{paint('error', 'error')}  {plain(error)}" for error in found.errors]
    for finding in found.findings:
        where = "/".join(part for part in (finding.task, finding.path) if part)
        lines.append(plain(f"{finding.severity}  {finding.code}  {where}: {finding.message}"))
    lines += [f"{paint('warning', 'warning')}  {plain(warning)}" for warning in found.warnings]
    return "\n".join(lines) + "\n"


def submission(sent: Submission) -> str:
    """Return what became of a submission, in a line or two."""
    at = f" at {sent.commit}" if sent.commit is not None else ""
    if sent.existing:
        return f"{sent.environment_id} was there already{at}; it keeps its first title, notes and agent\n"
    return f"submitted as {sent.environment_id}{at}\n"


def _challenge(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a challenge with the runs in one word; `_notes` tells why."""
    health = row.get("health")
    if row.get("runs_paused"):
        word = "paused"
    elif isinstance(health, dict) and isinstance(accepting := health.get("accepting_runs"), bool):
        word = "accepted" if accepting else "not now"
    else:
        word = ""
    return {**row, "runs_paused": word, "health": None}


def _notes(row: Mapping[str, Any], terminal: Terminal) -> Iterator[str]:
    """Yield what the arena's guide says to read of a challenge before entering it."""
    health, recipe = row.get("health"), row.get("recipe")
    reason = row.get("runs_paused") or (health.get("reason") if isinstance(health, dict) else None)
    note = recipe.get("note") if isinstance(recipe, dict) else None
    for what, text in (("runs", reason), ("status", row.get("status_note")), ("recipe", note)):
        if isinstance(text, str) and text.strip():
            head = f"{_first(row, ('id', 'challenge_id'))}, {what}: "
            told = terminal.wrapped(head + plain(" ".join(text.split())), indent=2)
            yield from (f"  {line}" if number == 0 else line for number, line in enumerate(told))


def _message(row: Mapping[str, Any], terminal: Terminal) -> Iterator[str]:
    """Yield a message: whose and when, then its text whole."""
    head = [_first(row, keys) for keys in (("filename", "file", "id"), ("agent_id", "author"), _WHEN)]
    yield terminal.paint("heading", "  ".join(part for part in head if part))
    refs = _cell(row.get("refs"))
    if refs:
        yield f"  answers {refs}"
    for line in str(row.get("body") or row.get("text") or "").splitlines():
        told = terminal.wrapped(plain(line), indent=2)
        yield from (f"  {part}" if number == 0 else part for number, part in enumerate(told))


def _table(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]], terminal: Terminal) -> Iterator[str]:
    names = [name for name, _ in columns]
    cells = [[_first(row, keys) for _, keys in columns] for row in rows]
    filled = [number for number in range(len(names)) if any(line[number] for line in cells)]
    if not filled:
        for row in rows:
            yield ", ".join(f"{plain(str(key))}: {_cell(value)}" for key, value in row.items())
        return
    widths = [max(len(names[number]), *(len(line[number]) for line in cells)) for number in filled]
    _fit(widths, terminal.width)
    yield terminal.paint("heading", _line([names[number] for number in filled], widths))
    for line in cells:
        yield _line([line[number] for number in filled], widths)


def _fit(widths: list[int], room: int | None) -> None:
    """Take from the widest columns until the line fits."""
    while room is not None and sum(widths) + 2 * (len(widths) - 1) > room:
        widest = max(range(len(widths)), key=widths.__getitem__)
        if widths[widest] <= _NARROWEST:
            return
        widths[widest] -= 1


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    cut = [
        cell if len(cell) <= width else cell[: width - 1] + "…"
        for cell, width in zip(cells, widths, strict=True)
    ]
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(cut, widths, strict=True)).rstrip()


def _first(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((cell for key in keys if (cell := _cell(row.get(key)))), "")


def _cell(value: Any) -> str:
    """Return a value in one short line."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case str():
            text = " ".join(value.split())
            is_commit = len(text) == _COMMIT and set(text) <= set("0123456789abcdef")
            return plain(text[:_SHORT] if is_commit else text)
        case int() | float():
            return f"{value:g}" if isinstance(value, float) else str(value)
        case {"id": inner} | {"name": inner} | {"repo_id": inner}:
            return _cell(inner)
        case list() if all(isinstance(item, str) for item in value):
            return plain(", ".join(value))
        case list() | dict():
            return str(len(value)) if value else ""
        case _:
            return plain(str(value))


def _facts(data: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for key, value in data.items():
        name = f"{above}{plain(str(key))}"
        if isinstance(value, dict) and value and name.count(".") < _DEPTH - 1:
            yield from _facts(value, f"{name}.")
        elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            yield f"{name}: {len(value)}"
            for item in value:
                yield "  " + ", ".join(
                    f"{plain(str(inner))}: {_cell(cell)}" for inner, cell in item.items() if _cell(cell)
                )
        elif isinstance(value, list) and len(value) > 1 and all(isinstance(item, str) for item in value):
            yield f"{name}: {len(value)}"
            yield from (f"  {plain(item)}" for item in value)
        elif isinstance(value, dict) and value:
            yield f"{name}: {len(value)} keys"
        else:
            yield f"{name}: {_cell(value) or 'none'}"
