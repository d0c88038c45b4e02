"""What `try` shows before it runs anything: what the card says, and what a replay would do."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from seatrials.fetch.card import CardSays
from seatrials.findings import Finding
from seatrials.replay.outlook import Outlook
from seatrials.report.plain import plain
from seatrials.report.terminal import Terminal
from seatrials.report.words import counted

_MB: Final = 2**20
_FEW: Final = 30
"""Tasks that are told one by one, and needs of a card that are."""
_LONG: Final = 500
"""Characters of one need."""


def size(number: int) -> str:
    """Return a number of bytes for people."""
    value = float(number)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:  # noqa: PLR2004 - units of a thousand, as the Hub shows them
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def needs(says: CardSays, terminal: Terminal) -> list[str]:
    """Return what the card says that the collection needs; nothing of it is ever run."""
    if not says.requires and not says.setup:
        return []
    lines = [terminal.paint("heading", "The card says it needs (shown only, nothing of it is run):")]
    for what, items in (("requires", says.requires), ("setup", says.setup)):
        lines += [f"  {what:<8}  {_short(plain(item))}" for item in items[:_FEW]]
        if len(items) > _FEW:
            lines.append(f"  {what:<8}  and {len(items) - _FEW:,} more, which the card has")
    return lines


def _short(text: str) -> str:
    """Return a text of somebody's, cut where it would flood the terminal, which is told."""
    return text if len(text) <= _LONG else f"{text[:_LONG]}... ({len(text):,} characters; the card has all)"


def plan(
    tasks: Sequence[Outlook],
    refused: Mapping[str, Finding],
    *,
    kinds: Sequence[str],
    reruns: int,
    given: Iterable[str],
    terminal: Terminal,
    verbose: bool = False,
) -> list[str]:
    """Return what a replay would build and run, and the sums.

    A few tasks are told one by one, and with `verbose` all; of many, those
    that are alike together.
    """
    lines: list[str] = []
    if refused:
        lines.append(terminal.paint("heading", "Not run, since check finds an error:"))
        lines += [f"  {plain(path)}  {found.code}  {plain(found.message)}" for path, found in refused.items()]
    if not tasks:
        return lines
    lines.append(terminal.paint("heading", "A replay would build and run in Docker:"))
    lines += _one_by_one(tasks) if verbose or len(tasks) <= _FEW else _alike(tasks)
    lines += _sums(tasks, kinds=kinds, reruns=reruns)
    wanted = Counter(name for task in tasks for name in task.variables)
    withheld = sorted(set(wanted) - set(given))
    if withheld:
        named = ", ".join(f"`{plain(name)}` ({wanted[name]})" for name in withheld)
        lines.append(f"Variables of this machine that they ask for and don't get: {named};"
                     " `--env NAME` gives one")  # fmt: skip
    return lines


def _one_by_one(tasks: Sequence[Outlook]) -> Iterator[str]:
    wide = max(len(plain(task.name)) for task in tasks)
    for task in tasks:
        yield f"  {plain(task.name):<{wide}}  FROM {_images(task)}"
        yield f"  {'':<{wide}}  {_limits(task)}; {_network(task)}{_shape(task)}"
        yield from (f"  {'':<{wide}}  can't be run here: {plain(why)}" for why in task.open)


def _alike(tasks: Sequence[Outlook]) -> Iterator[str]:
    """Yield the tasks in groups that start from the same images with the same limits, the largest first."""
    groups: dict[tuple[str, str], list[Outlook]] = {}
    for task in tasks:
        said = f"{_limits(task)}; {_network(task)}{_shape(task)}"
        groups.setdefault((_images(task), said), []).append(task)
    for (images, said), group in sorted(groups.items(), key=lambda item: -len(item[1])):
        named = " and ".join(plain(task.name) for task in group[:2])
        yield f"  {counted(len(group), 'task')}, such as {named}" if len(group) > 1 else f"  {named}"
        yield f"    FROM {images}"
        yield f"    {said}"
    open_ = [task for task in tasks if task.open]
    for task in open_[:_FEW]:
        yield f"  can't be run here: {plain(task.name)}: {plain(task.open[0])}"
    if len(open_) > _FEW:
        yield f"  and {len(open_) - _FEW:,} more that can't be run here"
    yield "  `-v` tells each task"


def _images(task: Outlook) -> str:
    return plain(", ".join(task.images) or "nothing named")


def _limits(task: Outlook) -> str:
    cpus = "all CPUs" if task.cpus is None else f"{task.cpus:g} CPU{'' if task.cpus == 1 else 's'}"
    memory = "no memory limit" if task.memory is None else f"{task.memory / _MB:,.0f} MB"
    phases = {"build": task.build_timeout, "agent": task.agent_timeout, "verifier": task.verifier_timeout}
    times = ", ".join(f"{phase} {seconds:g} s" for phase, seconds in phases.items())
    return f"{cpus}, {memory}; {times}"


def _network(task: Outlook) -> str:
    if not task.networks:
        return "no network"
    return "network" if len(task.networks) > 1 else f"network for the {task.networks[0]} only"


def _shape(task: Outlook) -> str:
    said = f"; services {plain(', '.join(task.services))}" if task.services else ""
    said += f"; {task.steps} steps" if task.steps > 1 else ""
    return said + ("" if task.oracle else "; no oracle")


def _sums(tasks: Sequence[Outlook], *, kinds: Sequence[str], reruns: int) -> list[str]:
    runs = sum(len([kind for kind in kinds if kind != "oracle" or task.oracle]) for task in tasks) * reruns
    images = Counter(image for task in tasks for image in task.images)
    named = ", ".join(f"{plain(image)} ({number})" for image, number in images.most_common())
    online = sum(bool(task.networks) for task in tasks)
    memory = max((task.memory or 0 for task in tasks), default=0)
    most = f", at most {memory / _MB:,.0f} MB each" if memory else ""
    return [
        f"In all {counted(len(tasks), 'task')}, {counted(runs, 'trial')}{most}; FROM {named or '-'}",
        f"Run with a network: {counted(online, 'task')}; builds run the Dockerfile's commands, with one",
    ]
