"""The data set's card: ``README.md`` with the YAML header that the Hub reads."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import yaml

from seatrials.release.rows import TaskRow

TAGS: Final = ("rl-environment", "agent", "benchflow", "harbor", "openenv")
"""Tags under which the Hub lists RL environments (see the cards of the Harbor data sets there)."""

_SIZES: Final = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))


def render_card(title: str, rows: Sequence[TaskRow], *, split: str = "train") -> str:
    """Return the card of a staged collection."""
    header = yaml.safe_dump(_header(title, rows, split), sort_keys=False, allow_unicode=True)
    lines = [
        f"# {title}",
        "",
        f"{len(rows)} RL task{'s' if len(rows) != 1 else ''} for agents, each with a sandbox and a verifier.",
        "",
        "## What is inside",
        "",
        "| path | holds |",
        "| --- | --- |",
        "| `submission.yaml` | the collection's manifest |",
        "| `envs/NAME/` | one task: prompt, sandbox, verifier, reference solution |",
        "| `data/tasks.parquet` | one row per task |",
        "",
        "## Tasks",
        "",
        "| task | category | difficulty | network | license |",
        "| --- | --- | --- | --- | --- |",
        *(_table_row(row) for row in rows),
        "",
        _spread("Difficulty", (row.difficulty_tier for row in rows)),
        _spread("Category", (row.category for row in rows)),
        "",
        "## Load",
        "",
        "```python",
        "from datasets import load_dataset",
        "",
        f'tasks = load_dataset("OWNER/NAME", "tasks", split="{split}")',
        "```",
        "",
    ]
    return f"---\n{header}---\n\n" + "\n".join(lines)


def _header(title: str, rows: Sequence[TaskRow], split: str) -> dict[str, Any]:
    header: dict[str, Any] = {"pretty_name": title}
    licenses = sorted({row.license for row in rows if row.license})
    if len(licenses) == 1 and all(row.license for row in rows) and " " not in licenses[0]:
        header["license"] = licenses[0].lower()
    else:
        header["license"] = "other"
        header["license_name"] = "per-task"
    size = next((name for limit, name in _SIZES if len(rows) < limit), "100K<n<1M")
    header["task_categories"] = ["other"]
    header["size_categories"] = [size]
    header["tags"] = list(TAGS)
    header["configs"] = [
        {"config_name": "tasks", "data_files": [{"split": split, "path": "data/tasks.parquet"}]}
    ]
    return header


def _table_row(row: TaskRow) -> str:
    cells = (row.title, row.category, row.difficulty_tier, row.network, row.license)
    first, *others = (str(cell or "").replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| [{first}](envs/{row.folder}) | {' | '.join(others)} |"


def _spread(label: str, values: Any) -> str:
    counts = Counter(value or "not declared" for value in values)
    return f"- {label}: " + " · ".join(f"{value} **{number}**" for value, number in sorted(counts.items()))
