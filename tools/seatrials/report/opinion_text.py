"""The arena's second opinion, in words and as JSON data."""

from collections.abc import Iterator
from typing import Any, Final

from seatrials.arena.beside import Difference, counts
from seatrials.arena.opinion import Opinion, SecondOpinion
from seatrials.report.plain import plain

_SHOWN: Final = 20


def render(second: SecondOpinion, *, verbose: bool = False) -> str:
    """Return the text for people: the scripts with their hashes, then each difference."""
    return "".join(f"{plain(line)}\n" for line in _lines(second, verbose=verbose))


def _lines(second: SecondOpinion, *, verbose: bool) -> Iterator[str]:
    yield f"second opinion of {second.url}"
    for opinion in second.opinions:
        yield f"  {opinion.script:<20} sha256 {opinion.sha256}: {_said(opinion)}"
        if opinion.findings is None:
            yield from (f"    | {line}" for line in opinion.output.splitlines())
    shown = second.differences if verbose else second.differences[:_SHOWN]
    for difference in shown:
        yield f"  {difference}"
    if left := len(second.differences) - len(shown):
        yield f"  and {left} more; `-v` shows all"
    if not second.complete:
        yield "  nothing is concluded from what could not be read"
    elif not second.differences:
        yield f"  it agrees by task and severity about all {second.tasks} tasks"


def _said(opinion: Opinion) -> str:
    if opinion.findings is None:
        return f"ended with {opinion.code}, and what it printed can't be read as findings"
    return counts(opinion.findings)


def data(second: SecondOpinion) -> dict[str, Any]:
    """Return the opinion as in ``docs/check.schema.json``, under `arena`."""
    return {
        "url": second.url,
        "scripts": [
            {
                "name": opinion.script,
                "sha256": opinion.sha256,
                "exit_code": opinion.code,
                "findings": len(opinion.findings) if opinion.findings is not None else None,
            }
            for opinion in second.opinions
        ],
        "differences": [_difference(difference) for difference in second.differences],
    }


def _difference(difference: Difference) -> dict[str, Any]:
    return {
        "task": plain(difference.task),
        "severity": difference.severity,
        "by": "arena" if difference.by_arena else "seatrials",
        "findings": [
            {"code": plain(found.code), "path": plain(found.path), "message": plain(found.message)}
            for found in difference.findings
        ],
    }
