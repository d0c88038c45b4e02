"""Many tasks: names that collide, subsets, and that nothing is lost, by a walk of its own."""

import datetime
import os
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from harbor_tasks import drawn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatrials.migrate import toml_text
from seatrials.migrate.run import Options, choose, turn, turn_one
from seatrials.task.collection import select
from seatrials.task.document import parse_document
from seatrials.task.package import TaskPackage

from .conftest import HARBOR, TOML, Make

PUBLIC_SETS = [path for path in os.environ.get("SEATRIALS_PUBLIC_SETS", "").split(os.pathsep) if path]
MODERN = {True: "public", False: "no-network", "1G": 1024, "2G": 2048, "4G": 4096, "512M": 512}
NATIVE_NAMES = {"environment": "sandbox", "solution": "oracle", "version": "schema_version"}


def test_names_that_differ_by_case_are_refused(make: Make, tmp_path: Path) -> None:
    """Of two tasks whose folders would be one on some disks, the second is refused and named."""
    (tmp_path / "other").mkdir()
    first, second = make(name="one"), make(name="x")
    second = second.rename(tmp_path / "other" / "ONE")
    report = turn([TaskPackage(first), TaskPackage(second)], Options(out=tmp_path / "out"))
    assert [task.status for task in report.tasks] == ["migrated with notes", "failed"]
    assert "but for case" in report.tasks[1].problem


def test_name_of_a_folder_that_is_there_but_for_case_is_refused(make: Make, tmp_path: Path) -> None:
    """A task does not go beside a folder that is the same one on some disks, not even by force."""
    there = tmp_path / "out/tasks/Answer"
    there.mkdir(parents=True)
    report = turn([TaskPackage(make())], Options(out=tmp_path / "out", force=True))
    assert "but for case" in report.tasks[0].problem
    assert list((tmp_path / "out/tasks").iterdir()) == [there]


def test_equal_task_names_are_told(make: Make, tmp_path: Path) -> None:
    """Of two tasks that declare one `task.name`, but for case, the second is to be looked at."""
    folders = [
        make({"task.toml": f'{TOML}[task]\nname = "{name}"\n'}, name=name[2:]) for name in ("a/b", "A/Bx")
    ]
    (folders[1] / "task.toml").write_text(f'{TOML}[task]\nname = "A/B"\n')
    report = turn([TaskPackage(path) for path in folders], Options())
    assert any("is that of `b`" in note.message for note in report.tasks[1].notes)
    assert not any("is that of" in note.message for note in report.tasks[0].notes)


def _set(make: Make) -> list[TaskPackage]:
    tasks = []
    for number in range(60):
        category, difficulty = ("a", "b", "c")[min(number // 20, number % 3)], ("easy", "hard")[number % 2]
        text = TOML.replace("data-processing", category).replace('"easy"', f'"{difficulty}"')
        tasks.append(TaskPackage(make({"task.toml": text}, name=f"t{number:02}")))
    return tasks


def test_subset_is_balanced_and_repeatable(make: Make) -> None:
    """A subset takes evenly from each category and difficulty, the same for one seed, in the set's order."""
    tasks = _set(make)
    chosen = choose(tasks, 12, seed=3)
    groups = Counter(
        (task.native.get("metadata", "category"), task.native.get("metadata", "difficulty"))
        for task in chosen
    )
    assert len(chosen) == 12
    assert max(groups.values()) - min(groups.values()) <= 1
    assert [task.name for task in chosen] == sorted(task.name for task in chosen)
    assert choose(tasks, 12, seed=3) == chosen
    assert choose(tasks, 12, seed=4) != chosen
    assert choose(tasks, 100, seed=0) == tasks


def test_subset_has_no_task_that_can_not_be_read_while_others_are_left(make: Make) -> None:
    """A broken task has no category, and is no category of its own; the last ones are taken with it."""
    tasks = [*_set(make), TaskPackage(make({"task.toml": "[metadata"}, name="u"))]
    assert all("u" not in {task.name for task in choose(tasks, 4, seed)} for seed in range(5))
    assert "u" in {task.name for task in choose(tasks, 61, seed=0)}


def _counts(tasks: list[TaskPackage], key: str) -> list[int]:
    return sorted(Counter(task.native.get("metadata", key) for task in tasks).values())


def test_small_subset_is_spread_over_categories(make: Make) -> None:
    """Fewer tasks than there are groups still come from all categories, and from all difficulties."""
    tasks = _set(make)
    for seed in range(5):
        chosen = choose(tasks, 4, seed)
        assert _counts(chosen, "category") == [1, 1, 2]
        assert _counts(chosen, "difficulty") == [2, 2]


def test_rare_category_is_not_crowded_out(make: Make) -> None:
    """A category of one difficulty gets as many as one of three, while it has tasks."""
    tasks = []
    for number in range(24):
        category, difficulty = ("many", "few")[number % 2], ("easy", "medium", "hard")[number % 3]
        text = TOML.replace("data-processing", category)
        text = text.replace('"easy"', f'"{difficulty if category == "many" else "easy"}"')
        tasks.append(TaskPackage(make({"task.toml": text}, name=f"t{number:02}")))
    assert _counts(choose(tasks, 10, seed=1), "category") == [5, 5]
    assert _counts(choose(tasks, 10, seed=1), "difficulty") == [2, 3, 5]


ODD = """\
version = "1.0"
odd = 1
[task]
name = "a/b"
version = "2"
workstream = "w"
authors = [{ name = "N", email = "e", orcid = "0" }]
[metadata]
environment = "kept"
solution = { version = 3 }
list = [[1, 2], [{ deep = [true, 1.5] }]]
day = 2024-02-03
[agent]
timeout_sec = 3
[agent.more]
environment = "x"
[verifier]
environment_mode = "separate"
[verifier.environment]
allow_internet = true
oddity = "y"
[[verifier.environment.mcp_servers]]
name = "m"
url = "http://m"
why = "z"
[environment]
memory = "1G"
[environment.env]
A = "${A:-b}"
[solution]
FOO = "bar"
stray = 2
[environment_mode]
stray = 1
"""


def leaves(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield every value of a file with its path; the test's own walk, not the migrator's."""
    children = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    empty = True
    for key, value in children:
        empty = False
        yield from leaves(value, (*path, key))
    if empty:
        yield path, data


def lookup(data: Any, path: tuple[str | int, ...]) -> Any:
    """Return the value at a path, or None."""
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def lost(source: dict[str, Any], native: dict[str, Any]) -> list[tuple[str | int, ...]]:
    """Return the paths of the source that the native frontmatter does not have."""
    extra = lookup(native, ("benchflow", "compat", "extra")) or {}
    missing = []
    for path, value in leaves(source) if source else ():
        parts: list[str | int] = list(path)
        parts[0] = NATIVE_NAMES.get(str(parts[0]), parts[0])
        if parts[0] == "verifier" and len(parts) > 1:
            parts[1] = {"environment": "sandbox", "environment_mode": "sandbox_mode"}.get(
                str(parts[1]), parts[1]
            )
        modern = {"allow_internet": "network_mode", "memory": "memory_mb", "storage": "storage_mb"}
        # BenchFlow's import calls the table of the solution `solution` among what it sets aside.
        found = [(lookup(native, tuple(parts)), value), (lookup(extra, tuple(parts)), value),
                 (lookup(extra, (*path[:1], *parts[1:])), value)]  # fmt: skip
        if parts[-1] in modern and "sandbox" in parts:
            found.append((lookup(native, (*parts[:-1], modern[str(parts[-1])])), MODERN.get(value, value)))
        grown = value == {} and isinstance(found[0][0], dict)  # an empty table may have got something
        if not grown and not any(one == wanted and one is not None for one, wanted in found):
            missing.append(path)
    return missing


@pytest.mark.parametrize("text", [TOML, ODD])
def test_no_value_is_lost(make: Make, tmp_path: Path, text: str) -> None:
    """A walk of the test's own finds every value of the source in the new task, keys at every depth."""
    outcome = turn_one(TaskPackage(make({"task.toml": text})), Options(out=tmp_path / "out"))
    assert outcome.problem == ""
    written = (tmp_path / "out/tasks/answer/task.md").read_text().split("---\n")[1]
    native = yaml.safe_load(written)
    assert lost(tomllib.loads(text), native) == []


@pytest.mark.parametrize("seed", range(4))
def test_no_value_of_a_drawn_configuration_is_lost(make: Make, tmp_path: Path, seed: int) -> None:
    """The same walk over configurations drawn from BenchFlow's schema, with strange keys strewn in."""
    random = Random(seed)
    turned = 0
    for number in range(40):
        text = toml_text.dump(drawn(random))
        outcome = turn_one(TaskPackage(make({"task.toml": text}, name=f"t{number}")), Options(out=tmp_path))
        if outcome.problem == "":
            written = (Path(outcome.target) / "task.md").read_text(encoding="utf-8")
            native = parse_document(written.encode()).frontmatter
            assert lost(tomllib.loads(text), native) == []
            turned += 1
    assert turned > 15


@pytest.mark.parametrize("public", PUBLIC_SETS)
def test_no_value_of_a_public_set_is_lost(public: str, tmp_path: Path) -> None:
    """Every Harbor task of the public sets named by SEATRIALS_PUBLIC_SETS is migrated, and whole."""
    for task in select([public]).tasks:
        if task.format == "harbor":
            outcome = turn_one(task, Options(out=tmp_path))
            assert outcome.problem == ""
            written = (tmp_path / "tasks" / task.name / "task.md").read_text().split("---\n")[1]
            source = tomllib.loads((task.root / "task.toml").read_text())
            assert lost(source, yaml.load(written, Loader=yaml.CSafeLoader)) == []
            task.forget()


def test_the_walk_notices_a_loss() -> None:
    """The walk above is no rubber stamp: a value that goes missing is named."""
    assert lost({"metadata": {"a": 1, "b": [2]}}, {"metadata": {"a": 1}}) == [("metadata", "b", 0)]


@pytest.mark.parametrize("file", sorted(HARBOR))
def test_truncated_files_end_in_one_line(make: Make, file: str) -> None:
    """Cut any of the task's files anywhere: the result is a status, never an exception."""
    whole = HARBOR[file]
    assert isinstance(whole, str)
    for end in range(0, len(whole), 7):
        outcome = turn_one(TaskPackage(make({file: whole[:end]})), Options())
        assert "\n" not in outcome.problem
        assert "fault of seatrials" not in outcome.problem


def test_times_of_day_become_text(make: Make) -> None:
    """YAML has no time of day; its text is kept, and the proof takes it for the same."""
    text = TOML.replace("[agent]", "at = 07:30:00\n[agent]")
    assert datetime.time(7, 30) in tomllib.loads(text)["metadata"].values()
    assert turn_one(TaskPackage(make({"task.toml": text})), Options()).problem == ""


KEYS = st.sampled_from(
    ["task", "name", "metadata", "agent", "verifier", "environment", "sandbox", "solution", "oracle", "steps",
     "env", "allow_internet", "network_mode", "memory", "memory_mb", "timeout_sec", "mcp_servers", "version",
     "schema_version", "benchflow", "compat", "agents", "judge", "type", "artifacts", "x", "a b", "é"]
)  # fmt: skip
VALUES = st.recursive(
    st.one_of(
        st.booleans(), st.integers(-5, 5000), st.floats(allow_nan=False), st.dates(),
        st.sampled_from(["", "a/b", "1G", "public", "no-network", "# x", "---", "a\nb: c", "llm-judge"]),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=6))
def test_any_configuration_is_migrated_whole_or_refused(make: Make, data: dict[str, Any]) -> None:
    """Known keys in unknown places, wrong types, empty tables: proven equal, or refused in one line."""
    outcome = turn_one(TaskPackage(make({"task.toml": toml_text.dump(data)})), Options())
    assert "fault of seatrials" not in outcome.problem
    assert "would not mean the same" not in outcome.problem
    assert "\n" not in outcome.problem


def test_in_place_takes_equal_names_from_different_folders(make: Make, tmp_path: Path) -> None:
    """Where each task stays in its own folder, no name can collide."""
    (tmp_path / "a").mkdir()
    first = make(name="same").rename(tmp_path / "a" / "same")
    report = turn([TaskPackage(first), TaskPackage(make(name="same"))], Options(in_place=True))
    assert [task.problem for task in report.tasks] == ["", ""]


def test_in_place_refuses_a_link(make: Make, tmp_path: Path) -> None:
    """A link to a task is not swapped for a folder."""
    (tmp_path / "link").symlink_to(make())
    outcome = turn_one(TaskPackage(tmp_path / "link"), Options(in_place=True))
    assert "it is a link" in outcome.problem
    assert (tmp_path / "link").is_symlink()
