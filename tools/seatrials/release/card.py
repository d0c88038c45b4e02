"""The data set's card: ``README.md`` with the YAML header that the Hub reads.

Ours are the sections between marks and the keys of the header that `_merged`
names; all else in a card that is there already stays as it is.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml

from seatrials.errors import RefusedError
from seatrials.release.layout import Layout
from seatrials.release.needs import with_needs
from seatrials.release.replays import Replayed
from seatrials.release.rows import TaskRow

TAGS: Final = ("rl-environment", "agent", "benchflow", "harbor", "openenv")
"""Tags under which the Hub lists RL environments (see the cards of the Harbor data sets there)."""

_SIZES: Final = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))
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


def render_card(
    options: CardOptions,
    layout: Layout,
    rows: Sequence[TaskRow],
    *,
    trials: int,
    replays: Mapping[str, Replayed] | None,
) -> str:
    """Return the card of a staged collection; `trials` is the number of rows of its replays' table.

    Raises RefusedError for an existing card whose header can't be read, since
    what is in it could not be kept.
    """
    before, text = _split(options.existing)
    header = _merged(before, _header(options, layout, rows, trials))
    header = with_needs(header, layout, requires=options.requires, setup=options.setup)
    body = _body(options, layout, rows, trials, replays)
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
    except yaml.YAMLError as error:
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
        theirs = before.get(key)
        if isinstance(theirs, list):
            header[key] = list(dict.fromkeys((*theirs, *ours[key])))
    theirs = before.get("configs")
    if isinstance(theirs, list):
        # A config of the same table is ours of an earlier release, whatever its split was called.
        own = {config["config_name"] for config in ours["configs"]}
        gone = {name.removesuffix("tasks") + "replays" for name in own if name.endswith("tasks")}
        kept = [
            item for item in theirs if not (isinstance(item, dict) and item.get("config_name") in own | gone)
        ]
        header["configs"] = kept + ours["configs"]
    return header


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
        header["license"] = options.license.lower()
    elif len(licenses) == 1 and all(row.license for row in rows) and " " not in licenses[0]:
        header["license"] = licenses[0].lower()
    elif not licenses:
        header["license"] = "unknown"
    else:
        header["license"] = "other"
        header["license_name"] = "per-task"
    size = next((name for limit, name in _SIZES if len(rows) < limit), "100K<n<1M")
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


def _body(
    options: CardOptions,
    layout: Layout,
    rows: Sequence[TaskRow],
    trials: int,
    replays: Mapping[str, Replayed] | None,
) -> str:
    sections = [
        [
            *([f"## {options.title}", ""] if layout.name else []),
            f"{_number(len(rows), 'RL task')} for agents, each with a sandbox and a verifier.",
        ],
        _inside(layout, trials),
        _tasks(layout, rows, replays),
        _origin(rows),
        _needs(options),
        _load(options, layout),
        _run(options, layout),
        _cite(options),
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
    ]
    return [
        "## What is inside",
        "",
        "| path | holds |",
        "| --- | --- |",
        *(f"| `{path}` | {what} |" for path, what, there in files if there),
    ]


def _tasks(layout: Layout, rows: Sequence[TaskRow], replays: Mapping[str, Replayed] | None) -> list[str]:
    told = replays or {}
    lines = [
        "## Tasks",
        "",
        "| task | category | difficulty | network | license | replay |",
        "| --- | --- | --- | --- | --- | --- |",
        *(_table_row(layout, row, told[row.folder].label if row.folder in told else "none") for row in rows),
        "",
        _spread("Difficulty", (row.difficulty_tier for row in rows)),
        _spread("Category", (row.category for row in rows)),
        "",
    ]
    if any(replayed.verdict for replayed in told.values()):
        lines.append(
            "Replay: on the author's machine the reference solution scored 1 and doing nothing 0, each so"
            " many times; `accepted` is eight times or more."
        )
    else:
        lines.append("No local replay of these tasks is published.")
    return lines


def _table_row(layout: Layout, row: TaskRow, replay: str) -> str:
    cells = (row.title, row.category, row.difficulty_tier, row.network, row.license, replay)
    first, *others = (_cell(cell) for cell in cells)
    return f"| [{first}]({layout.tasks}/{row.folder}) | {' | '.join(others)} |"


def _number(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"


def _cell(value: object) -> str:
    return str(value or "").replace("|", "\\|").replace("\n", " ")


def _spread(label: str, values: Iterable[str | None]) -> str:
    counts = Counter(value or "not declared" for value in values)
    return f"- {label}: " + " · ".join(f"{value} **{number}**" for value, number in sorted(counts.items()))


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


def _load(options: CardOptions, layout: Layout) -> list[str]:
    return [
        "## Load",
        "",
        "```python",
        "from datasets import load_dataset",
        "",
        f'tasks = load_dataset("{options.repo}", "{layout.config("tasks")}", split="{options.split}")',
        "```",
    ]


def _run(options: CardOptions, layout: Layout) -> list[str]:
    folder = f"set/{layout.name}" if layout.name else "set"
    lines = [
        "## Run",
        "",
        "```sh",
        f"hf download {options.repo} --repo-type dataset --local-dir set",
        f"seatrials replay {folder}",
    ]
    if layout.harbor and not layout.name:
        lines.append(
            f"openenv harbor serve --dataset {options.repo} --llm-url http://127.0.0.1:8000/v1 --model MODEL"
        )
    return [*lines, "```"]


def _cite(options: CardOptions) -> list[str]:
    key = re.sub(r"\W+", "-", options.title.lower()).strip("-") or "tasks"
    title = options.title.replace("{", "").replace("}", "")
    return [
        "## Cite",
        "",
        "```bibtex",
        f"@misc{{{key},",
        f"  title = {{{title}}},",
        f"  howpublished = {{\\url{{https://huggingface.co/datasets/{options.repo}}}}}",
        "}",
        "```",
    ]
