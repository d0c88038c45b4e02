"""The data set's card: ``README.md`` with the YAML header that the Hub reads.

Ours are the sections between marks and the keys of the header that `_merged`
names; all else in a card that is there already stays as it is.
"""

import html
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import yaml

from seatrials.errors import RefusedError, UsageError
from seatrials.release.layout import Layout
from seatrials.release.licenses import header_of
from seatrials.release.needs import with_needs
from seatrials.release.pictures import Chart
from seatrials.release.replays import Replayed
from seatrials.release.rows import LEVELS, TaskRow

TAGS: Final = ("rl-environment", "agent", "benchflow", "harbor", "openenv")
"""Tags under which the Hub lists RL environments (see the cards of the Harbor data sets there)."""

MARK: Final = "<!-- seatrials"
"""What each mark around a section of ours begins with."""

_SIZES: Final = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))
_LARGEST: Final = "100K<n<1M"
_SPLIT: Final = re.compile(r"\w+(?:\.\w+)*")
_AUTHORS: Final = 20
_HERE: Final = "set"
_LISTED: Final = 200
"""Tasks that the card lists: as many as the arena takes; a page of thousands is of no use to anyone."""
_HEADER: Final = re.compile(r"\A---[ \t]*\r?\n(.*?\r?\n)??---[ \t]*(?:\r?\n|\Z)", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class CardOptions:
    """What a person says for the card.

    `existing` is the card that is there already. `note` is a section of theirs,
    in Markdown; without one, an earlier note stays. `license` is for a card
    that has none. `repo` is the data set's address, where it is known.
    """

    title: str
    split: str = "train"
    repo: str = "OWNER/NAME"
    license: str | None = None
    note: str | None = None
    requires: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    existing: str = ""

    def __post_init__(self) -> None:
        """Raise UsageError for a split that `datasets` does not take."""
        if not _SPLIT.fullmatch(self.split):
            raise UsageError(f"the split `{self.split}` must be letters, digits and `_`, as `train`")


def render_card(
    options: CardOptions,
    layout: Layout,
    rows: Sequence[TaskRow],
    *,
    trials: int,
    replays: Mapping[str, Replayed] | None,
    pictures: Sequence[Chart] = (),
) -> str:
    """Return the card of a staged collection; `trials` is the number of rows of its replays' table.

    `pictures` are in the layout's folder.

    Raises RefusedError for an existing card whose header can't be read, since
    what is in it could not be kept.
    """
    before, text = _split(options.existing)
    header = _merged(before, _header(options, layout, rows, trials))
    header = with_needs(header, layout, requires=options.requires, setup=options.setup)
    body = _body(options, layout, rows, _Shown(trials=trials, replays=replays or {}, pictures=pictures))
    if not text.strip():
        text = f"# {options.title}\n"
    text = _place(text, f"seatrials {layout.name}".strip(), body)
    if options.note is not None:
        text = _place(text, f"seatrials-note {layout.name}".strip(), options.note.strip())
    return f"---\n{yaml.safe_dump(header, sort_keys=False, allow_unicode=True)}---\n\n{text.strip()}\n"


def _split(card: str) -> tuple[dict[str, Any], str]:
    match = _HEADER.match(card)
    if match is None:
        return {}, card
    try:
        header = yaml.safe_load(match.group(1) or "")
    # The constructor raises the others on values such as `2024-13-45`, or ones that nest without end.
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise RefusedError("the header of the card that is there can't be read as YAML; mend it") from error
    if header is not None and not isinstance(header, dict):
        raise RefusedError("the header of the card that is there is no table of keys; mend it")
    return header or {}, card[match.end() :]


def _merged(before: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """Add ours to an existing header: theirs goes first in all but our own configs."""
    header = {**ours, **before}
    if "license" in before:
        for key in ("license_name", "license_link"):
            if key not in before:
                header.pop(key, None)
    for key in ("tags", "task_categories"):
        theirs = [before[key]] if isinstance(before.get(key), str) else before.get(key)
        if isinstance(theirs, list):
            header[key] = [*theirs, *(one for one in ours[key] if one not in theirs)]
    theirs = before.get("configs")
    shared = False
    if isinstance(theirs, list):
        # A config of the same table is ours of an earlier release, whatever its split was called.
        own = {config["config_name"] for config in ours["configs"]}
        gone = {name.removesuffix("tasks") + "replays" for name in own if name.endswith("tasks")}
        names = [*own, *gone]  # a name of theirs may be of any type
        kept = [item for item in theirs if not (isinstance(item, dict) and item.get("config_name") in names)]
        header["configs"] = kept + ours["configs"]
        shared = bool(kept)
    header["size_categories"] = _size(before.get("size_categories"), ours["size_categories"], shared=shared)
    return header


def _size(before: Any, ours: list[str], *, shared: bool) -> list[str]:
    """Return ours, or, where others have tables in the data set too, the larger of both."""
    order = (*(name for _, name in _SIZES), _LARGEST)
    theirs = before[0] if isinstance(before, list) and len(before) == 1 else before
    if not shared or theirs is None:
        return ours
    if theirs not in order:
        return before if isinstance(before, list) else [before]
    return [max(theirs, ours[0], key=order.index)]


def _place(text: str, mark: str, section: str) -> str:
    """Put a section between its marks: where they are, else at the end."""
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    block = f"{begin}\n{section}\n{end}"
    start, stop = text.find(begin), text.find(end)
    if start >= 0 and stop > start:
        return text[:start] + block + text[stop + len(end) :]
    return f"{text.rstrip()}\n\n{block}\n"


def _header(options: CardOptions, layout: Layout, rows: Sequence[TaskRow], trials: int) -> dict[str, Any]:
    header: dict[str, Any] = {"pretty_name": options.title}
    licenses = sorted({row.license for row in rows if row.license})
    if options.license is not None:
        header.update(header_of(options.license))
    elif len(licenses) == 1 and all(row.license for row in rows):
        header.update(header_of(licenses[0]))
    elif not licenses:
        header["license"] = "unknown"
    else:
        header["license"] = "other"
        header["license_name"] = "per-task"
    size = next((name for limit, name in _SIZES if len(rows) < limit), _LARGEST)
    header["task_categories"] = ["other"]
    header["size_categories"] = [size]
    header["tags"] = list(TAGS)
    header["configs"] = [
        {
            "config_name": layout.config(which),
            "data_files": [{"split": options.split, "path": layout.table(which)}],
        }
        for which in ("tasks", "replays")
        if which == "tasks" or trials
    ]
    return header


@dataclass(frozen=True, kw_only=True, slots=True)
class _Shown:
    trials: int
    replays: Mapping[str, Replayed]
    pictures: Sequence[Chart]


def _body(options: CardOptions, layout: Layout, rows: Sequence[TaskRow], shown: _Shown) -> str:
    sections = [
        [
            *([f"## {options.title}", ""] if layout.name else []),
            f"{_number(len(rows), 'RL task')} for agents, each with a sandbox and a verifier.",
        ],
        _inside(layout, shown.trials),
        _tasks(layout, rows, shown),
        _origin(rows),
        _needs(options),
        _load(options, layout, trials=shown.trials),
        _serve(options, layout),
        _replay(options, layout),
        _cite(options, layout, rows),
    ]
    return "\n\n".join("\n".join(section) for section in sections if section)


def _inside(layout: Layout, trials: int) -> list[str]:
    files = [
        (layout.manifest, "the collection's manifest", not layout.harbor),
        (f"{layout.tasks}/NAME/", "one task: prompt, sandbox, verifier, reference solution", True),
        (layout.table("tasks"), "one row per task", True),
        (layout.table("replays"), "one row per recorded trial of a replay", bool(trials)),
        (layout.registry, "the list of tasks that Harbor reads", layout.harbor),
        (layout.summary, "one short row per task, to choose by", layout.harbor),
        (f"{layout.pictures}/", "the pictures of this page", True),
    ]
    return [
        "## What is inside",
        "",
        "| path | holds |",
        "| --- | --- |",
        *(f"| `{path}` | {what} |" for path, what, there in files if there),
    ]


def _tasks(layout: Layout, rows: Sequence[TaskRow], shown: _Shown) -> list[str]:
    told = shown.replays
    lines = [
        "## Tasks",
        "",
        _spread("Difficulty", (row.difficulty_tier for row in rows)),
        *_levels(rows),
        _spread("Category", (row.category for row in rows)),
        "",
    ]
    for picture in shown.pictures:
        alt = html.escape(picture.alt)
        lines += [f'<img src="{layout.pictures}/{picture.file}" alt="{alt}" width="560">', ""]
    lines += [
        "| task | category | difficulty | network | license | replay |",
        "| --- | --- | --- | --- | --- | --- |",
        *(
            _table_row(layout, row, told[row.folder].label if row.folder in told else "none")
            for row in rows[:_LISTED]
        ),
        "",
    ]
    if len(rows) > _LISTED:
        lines += [f"And {len(rows) - _LISTED:,} more, which `{layout.table('tasks')}` lists.", ""]
    if any(replayed.verdict for replayed in told.values()):
        lines.append(
            "Replay: on the author's machine the reference solution scored 1 and doing nothing 0, each so"
            " many times; `accepted` is eight times or more."
        )
    else:
        lines.append("No local replay of these tasks is published.")
    return lines


def _levels(rows: Sequence[TaskRow]) -> list[str]:
    """Say how many tasks there are of each level, where the levels say more than the tiers."""
    if all(row.difficulty_level == LEVELS.get(row.difficulty_tier or "") for row in rows):
        return []
    levels = (str(row.difficulty_level) if row.difficulty_level is not None else None for row in rows)
    return [_spread("Level, 1 to 5", levels)]


def _table_row(layout: Layout, row: TaskRow, replay: str) -> str:
    cells = (row.title, row.category, row.difficulty_tier, row.network, row.license, replay)
    first, *others = (_cell(cell) for cell in cells)
    return f"| [{first}]({layout.tasks}/{quote(row.folder)}) | {' | '.join(others)} |"


def _number(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"


def _cell(value: object) -> str:
    return re.sub(r"([|`<\[\]])", r"\\\1", " ".join(str(value or "").split()))


def _spread(label: str, values: Iterable[str | None]) -> str:
    counts = Counter(value or "not declared" for value in values)
    return f"- {label}: " + " · ".join(
        f"{_cell(value)} **{number}**" for value, number in sorted(counts.items())
    )


def _origin(rows: Sequence[TaskRow]) -> list[str]:
    authors = sorted({row.author for row in rows if row.author})
    sources = sorted({row.origin_url for row in rows if row.origin_url})
    return [
        "## Where it comes from",
        "",
        _spread("Origin", (row.origin for row in rows)),
        *([f"- Authors: {', '.join(map(_cell, authors))}"] if authors else []),
        *(f"- Source: <{url}>" for url in sources if " " not in url),
    ]


def _needs(options: CardOptions) -> list[str]:
    if not options.requires and not options.setup:
        return []
    return [
        "## What it needs",
        "",
        *(f"- `{one}`" for one in options.requires),
        *(["", "Once, before the first run:", "", "```sh", *options.setup, "```"] if options.setup else []),
    ]


def _load(options: CardOptions, layout: Layout, *, trials: int) -> list[str]:
    return [
        "## Load",
        "",
        "```python",
        "from datasets import load_dataset",
        "",
        *(
            f'{which} = load_dataset("{options.repo}", "{layout.config(which)}", split="{options.split}")'
            for which in ("tasks", "replays")
            if which == "tasks" or trials
        ),
        "```",
        "",
        "The tasks themselves are folders:",
        "",
        "```sh",
        _download(options, layout),
        "```",
    ]


def _download(options: CardOptions, layout: Layout) -> str:
    only = f' --include "{layout.prefix}*"' if layout.name else ""
    return f"hf download {options.repo} --repo-type dataset{only} --local-dir {_HERE}"


def _serve(options: CardOptions, layout: Layout) -> list[str]:
    """Say how OpenEnv 0.10.0 serves it: it finds Harbor tasks, and at the top of a data set only."""
    at = f"{_HERE}/{layout.name}" if layout.name else _HERE
    if not layout.harbor:
        source = f"./{_HERE}-harbor"
        before = [_download(options, layout), f"seatrials export {at} --out {source}"]
    elif layout.name:
        source, before = f"./{at}", [_download(options, layout)]
    else:
        source, before = options.repo, []
    return [
        "## Serve with OpenEnv",
        "",
        *(
            []
            if layout.harbor
            else ["OpenEnv reads Harbor tasks; `seatrials export` writes these as such.", ""]
        ),
        "```sh",
        'pip install "openenv[harbor]"',
        *before,
        f"openenv harbor serve --dataset {source} \\",
        "    --llm-url http://127.0.0.1:8000/v1 --model MODEL --port 8001",
        "```",
    ]


def _replay(options: CardOptions, layout: Layout) -> list[str]:
    at = f"{_HERE}/{layout.name}" if layout.name else _HERE
    return [
        "## Replay",
        "",
        "In Docker, the reference solution and doing nothing, each in a fresh container:",
        "",
        "```sh",
        _download(options, layout),
        f"seatrials replay {at}",
        "```",
    ]


def _cite(options: CardOptions, layout: Layout, rows: Sequence[TaskRow]) -> list[str]:
    names = "-".join(filter(None, (layout.name, options.title)))
    key = re.sub(r"\W+", "-", names.lower()).strip("-") or "tasks"
    authors = sorted({row.author for row in rows if row.author})
    listed = [*authors[:_AUTHORS], *(["others"] if len(authors) > _AUTHORS else [])]
    lines = [f"title = {{{_bibtex(options.title)}}}"]
    if listed:
        lines.insert(0, f"author = {{{' and '.join(f'{{{_bibtex(name)}}}' for name in listed)}}}")
    lines += ["publisher = {Hugging Face}", f"url = {{https://huggingface.co/datasets/{options.repo}}}"]
    return [
        "## Cite",
        "",
        "```bibtex",
        f"@misc{{{key},",
        *(f"  {line}," for line in lines),
        "}",
        "```",
    ]


def _bibtex(text: str) -> str:
    return re.sub(r"([&%$#_])", r"\\\1", re.sub(r"[{}\\]", "", text))
