"""The card: what it says, what of it is ours, and its pictures."""

import io
import re
import shlex
import struct
import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from hub import Hub

from seatrials.cli import main
from seatrials.errors import RefusedError
from seatrials.release.card import CardOptions, render_card
from seatrials.release.layout import Layout
from seatrials.release.licenses import header_of
from seatrials.release.pictures import Chart, charts
from seatrials.release.rows import TaskRow, row_of
from seatrials.task.collection import Collection
from seatrials.task.package import TaskPackage

# How the client hands a file to its HTTP library is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


@pytest.fixture
def collection(collection: Path) -> Path:
    """The collection, with a task whose author says how hard it is."""
    file = collection / "tasks" / "sum-column" / "task.md"
    file.write_text(file.read_text().replace("metadata:\n", "metadata:\n  difficulty: easy\n"))
    return collection


@pytest.fixture
def row(collection: Path) -> TaskRow:
    """The row of the collection's task."""
    task = TaskPackage(collection / "tasks" / "sum-column")
    return row_of(task, Collection(root=collection), ())


def card_of(rows: list[TaskRow], layout: Layout = Layout(), **options: Any) -> str:  # noqa: B008 - frozen
    """Return the card of some rows."""
    options = {"title": "Sums", "repo": "ada/sums", **options}
    return render_card(CardOptions(**options), layout, rows, trials=0, replays=None, pictures=charts(rows))


def header(card: str) -> dict[str, Any]:
    """Return the YAML header of a card."""
    found = yaml.safe_load(card.split("---\n")[1])
    assert isinstance(found, dict)
    return found


def chunks(png: bytes) -> dict[bytes, bytes]:
    """Return the chunks of a PNG file by type; those of one type together."""
    stream, found = io.BytesIO(png[8:]), dict[bytes, bytes]()
    while head := stream.read(8):
        size, kind = struct.unpack(">I4s", head)
        data = stream.read(size)
        assert zlib.crc32(kind + data) == struct.unpack(">I", stream.read(4))[0]
        found[kind] = found.get(kind, b"") + data
    return found


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour (WCAG 2.2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_pictures_are_on_the_card_with_their_words(collection: Path, tmp_path: Path) -> None:
    """Each picture that the card shows is there, and its alternative text says all that it shows."""
    out = tmp_path / "out"
    assert main(["release", str(collection), "--out", str(out)]) == 0
    shown = re.findall(r'<img src="([^"]+)" alt="([^"]+)"', (out / "README.md").read_text())
    assert [alt for _, alt in shown] == [
        "Tasks by difficulty: easy 1",
        "Tasks by category: data-processing 1",
    ]
    assert sorted(path for path, _ in shown) == sorted(
        path.relative_to(out).as_posix() for path in (out / "pictures").iterdir()
    )


def test_picture_is_png_that_tells_nothing_of_the_machine() -> None:
    """It is opaque RGB of a size for sharp screens, with no text chunk, and the same each time."""
    chart = Chart(name="category", title="Tasks", bars=(("a", 3), ("$b_x$ \u6570 " + "w" * 60, 1)))
    data = chart.draw()
    assert data == chart.draw()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    found = chunks(data)
    width, height = struct.unpack(">II", found[b"IHDR"][:8])
    assert width == 1120
    assert height > 100
    assert set(found) <= {b"IHDR", b"pHYs", b"IDAT", b"IEND"}


def test_picture_reads_on_any_page() -> None:
    """It has a background of its own, against which text and bars have the contrast that WCAG asks for."""
    from seatrials.release import pictures

    page = luminance(pictures._PAGE)
    for colour, least in ((pictures._INK, 7), (pictures._BAR, 3)):
        light, dark = sorted((page, luminance(colour)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= least


def test_picture_does_not_heed_settings_of_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """What somebody set for their own plots changes nothing, and stays as it is."""
    import matplotlib as mpl

    chart = Chart(name="category", title="Tasks", bars=(("a", 3),))
    plain = chart.draw()
    monkeypatch.setitem(mpl.rcParams, "axes.facecolor", "red")
    monkeypatch.setitem(mpl.rcParams, "savefig.dpi", 30)
    assert chart.draw() == plain
    assert mpl.rcParams["savefig.dpi"] == 30


def test_charts_are_ordered_and_bounded(row: TaskRow) -> None:
    """Tiers go from easy to hard, categories by size, what is over is one bar, and nothing is lost."""
    rows = [replace(row, difficulty_tier=tier) for tier in ("hard", "easy", None, "brutal", "easy")]
    rows += [replace(row, category=f"c{number:02d}") for number in range(20) for _ in range(number + 1)]
    difficulty, category = charts(rows)
    assert difficulty.bars == (("easy", 212), ("hard", 1), ("brutal", 1), ("not declared", 1))
    assert len(category.bars) == 12
    assert category.bars[0] == ("c19", 20)
    assert category.bars[-1][0] == "10 others"
    assert sum(number for _, number in category.bars) == len(rows)


def test_nothing_declared_gives_no_picture(row: TaskRow) -> None:
    """A picture of one bar, `not declared`, is left out."""
    assert charts([replace(row, difficulty_tier=None, category=None)]) == ()
    assert "<img" not in card_of([replace(row, difficulty_tier=None, category=None)])


def test_picture_is_sent_once_and_goes_with_its_numbers(collection: Path, hub: Hub) -> None:
    """An unchanged picture is not sent, even if drawn otherwise; one with other numbers replaces it."""
    words = ["release", str(collection), "--repo", "ada/sums", "--without-replays", "--no-arena"]
    assert main(words) == 0
    repo = hub.repos["ada/sums"]
    (path,) = (path for path in repo.files if path.startswith("pictures/difficulty-"))
    theirs = {"pictures/mine.png": b"mine", "difficulty-000000000000.png": b"mine"}
    repo.add({**repo.files, **theirs, path: b"drawn by another version"})
    hub.sent.clear()
    assert main(words) == 0
    assert hub.sent == []
    file = collection / "tasks" / "sum-column" / "task.md"
    file.write_text(file.read_text().replace("difficulty: easy", "difficulty: hard"))
    assert main(words) == 0
    assert path not in repo.files
    assert theirs.items() <= repo.files.items()
    assert len([path for path in hub.sent if path.startswith("pictures/")]) == 1


def test_named_collections_have_pictures_of_their_own(collection: Path, tmp_path: Path) -> None:
    """With a name the pictures are in its folder, and the card finds them there."""
    out = tmp_path / "out"
    assert main(["release", str(collection), "--out", str(out), "--name", "sums"]) == 0
    for path in re.findall(r'<img src="([^"]+)"', (out / "README.md").read_text()):
        assert path.startswith("sums/pictures/")
        assert (out / path).is_file()


@pytest.mark.parametrize(
    ("number", "size"), [(1, "n<1K"), (999, "n<1K"), (1_000, "1K<n<10K"), (10_000, "10K<n<100K")]
)
def test_size_is_kept_up_to_date(number: int, size: str, row: TaskRow) -> None:
    """The size on an existing card of ours is that of the set as it is now."""
    before = card_of([row] * (1 if number > 1 else 2_000))
    card = card_of([row] * number, existing=before)
    assert header(card)["size_categories"] == [size]


@pytest.mark.parametrize(
    ("theirs", "number", "size"),
    [
        ("[1K<n<10K]", 1, ["1K<n<10K"]),
        ("1K<n<10K", 1, ["1K<n<10K"]),
        ("[n<1K]", 2_000, ["1K<n<10K"]),
        ("[1M<n<10M]", 1, ["1M<n<10M"]),
        ("[n<1K, 1K<n<10K]", 1, ["n<1K", "1K<n<10K"]),
    ],
)
def test_size_with_tables_of_others_is_the_larger(
    theirs: str, number: int, size: list[str], row: TaskRow
) -> None:
    """Beside configs of others, their size stays unless ours is larger."""
    other = "configs: [{config_name: other, data_files: other.csv}]"
    existing = f"---\nsize_categories: {theirs}\n{other}\n---\n# Theirs\n"
    assert header(card_of([row] * number, existing=existing))["size_categories"] == size


@pytest.mark.parametrize(
    ("spdx", "expected"),
    [
        ("Apache-2.0", {"license": "apache-2.0"}),
        ("AGPL-3.0-only", {"license": "agpl-3.0"}),
        ("GPL-3.0-or-later", {"license": "gpl-3.0"}),
        ("ODbL-1.0", {"license": "odbl"}),
        ("0BSD", {"license": "other", "license_name": "0bsd",
                  "license_link": "https://spdx.org/licenses/0BSD.html"}),
        ("MIT OR Apache-2.0", {"license": "other", "license_name": "mit-or-apache-2.0"}),
    ],
)  # fmt: skip
def test_license_is_named_as_the_hub_does(spdx: str, expected: dict[str, str], row: TaskRow) -> None:
    """A license of the Hub's list has its name there; another one is `other` with its own name."""
    assert header_of(spdx) == expected
    found = header(card_of([replace(row, license=spdx)]))
    assert {key: found.get(key) for key in expected} == expected


def test_header_that_the_hub_refuses_is_said(
    collection: Path, hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """A card of theirs that the Hub does not take ends in one line that says why."""
    repo = hub.seed("ada/sums", {"README.md": b"---\nlicense: mine\n---\n# Theirs\n"})
    assert main(["release", str(collection), "--repo", "ada/sums", "--without-replays", "--no-arena"]) == 1
    said = capsys.readouterr().err
    assert '"license" must be one of' in said
    assert "Traceback" not in said
    assert len(repo.commits) == 1


def test_large_set_lists_its_first_tasks(row: TaskRow) -> None:
    """The card lists 200 tasks and says how many more there are."""
    rows = [replace(row, title=f"Task {number}") for number in range(1_500)]
    card = card_of(rows)
    assert "[Task 199]" in card
    assert "[Task 200]" not in card
    assert "And 1,300 more, which `data/tasks.parquet` lists." in card


def test_titles_break_no_table(row: TaskRow) -> None:
    """What stands in a title cannot end its cell, link elsewhere, or begin a tag."""
    card = card_of([replace(row, title="a | b](http://x) <img src=x>\n`c`", category="x|y")])
    line = next(line for line in card.splitlines() if "http://x" in line)
    assert r"| [a \| b\](http://x) \<img src=x> \`c\`](envs/sum-column) | x\|y |" in line


def test_levels_that_say_more_than_tiers_are_shown(row: TaskRow) -> None:
    """Levels are told where somebody declared them; those that follow from the tier say nothing new."""
    assert "Level, 1 to 5" not in card_of([row])
    assert "- Level, 1 to 5: 1 **1** · 2 **1**" in card_of([row, replace(row, difficulty_level=2)])


def commands(card: str) -> list[str]:
    """Return the lines of the card's shell blocks."""
    blocks = re.findall(r"```sh\n(.*?)```", card, re.DOTALL)
    return [line for block in blocks for line in block.replace("\\\n", "").splitlines()]


@pytest.mark.parametrize(
    ("layout", "served"),
    [
        (Layout(), "./set-harbor"),
        (Layout(name="sums"), "./set-harbor"),
        (Layout(harbor=True), "ada/sums"),
        (Layout(name="sums", harbor=True), "./set/sums"),
    ],
)
def test_card_says_how_to_load_serve_replay_and_cite(layout: Layout, served: str, row: TaskRow) -> None:
    """Each layout has its own way to be served; all are loaded, replayed and cited alike."""
    card = card_of([row], layout)
    config = "sums_tasks" if layout.name else "tasks"
    assert f'load_dataset("ada/sums", "{config}", split="train")' in card
    at = "set/sums" if layout.name else "set"
    lines = commands(card)
    assert f"seatrials replay {at}" in lines
    (serve,) = (line for line in lines if line.startswith("openenv"))
    assert f"--dataset {served} " in serve
    assert (f"seatrials export {at} --out ./set-harbor" in lines) is not layout.harbor
    assert "url = {https://huggingface.co/datasets/ada/sums}" in card


@pytest.mark.parametrize("name", ["", "sums"])
def test_commands_of_the_card_work(
    name: str, collection: Path, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the card says to download, to export and to replay is what is there."""
    words = ["release", str(collection), "--repo", "ada/sums", "--without-replays", "--no-arena"]
    assert main([*words, *(["--name", name] if name else [])]) == 0
    monkeypatch.chdir(tmp_path)
    lines = commands(hub.repos["ada/sums"].files["README.md"].decode())
    (download,) = {line for line in lines if line.startswith("hf ")}
    hf = [sys.executable, "-m", "huggingface_hub.cli.hf", *shlex.split(download)[1:]]
    done = subprocess.run(hf, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    (export,) = (line for line in lines if line.startswith("seatrials export"))
    assert main(shlex.split(export)[1:]) == 0
    assert (tmp_path / "set-harbor" / "tasks" / "sum-column" / "task.toml").is_file()
    (replay,) = (line for line in lines if line.startswith("seatrials replay"))
    assert main(["check", *shlex.split(replay)[2:]]) == 0


def test_entry_to_cite_has_authors_and_no_loose_braces(row: TaskRow) -> None:
    """Names and titles are made safe for BibTeX, and a long list of authors ends in others."""
    card = card_of([replace(row, author="Ada & Co")], title="50% {of} it_all")
    entry = card[card.index("@misc") : card.index("<!-- seatrials: end")]
    assert r"author = {{Ada \& Co}}," in entry
    assert r"title = {50\% of it\_all}," in entry
    assert entry.count("{") == entry.count("}")
    many = card_of([replace(row, author=f"a{number:02d}") for number in range(30)])
    assert "{a19} and {others}}," in many


def test_card_lists_what_is_there(collection: Path, tmp_path: Path) -> None:
    """Each path that the card names under `What is inside` is in the set."""
    out = tmp_path / "out"
    assert main(["release", str(collection), "--out", str(out)]) == 0
    inside = (out / "README.md").read_text().split("## What is inside")[1].split("##")[0]
    for path in re.findall(r"^\| `([^`]+)`", inside, re.MULTILINE):
        assert (out / path.replace("NAME", "sum-column")).exists()
    assert pq.read_table(out / "data" / "tasks.parquet").num_rows == 1


@pytest.mark.parametrize(
    "existing", ["date: 2020-99-99", "a: " + "[" * 3000, "a: !foo 1", "- a list", "? [a]\n: 4"]
)
def test_header_that_can_not_be_read_is_a_refusal(row: TaskRow, existing: str) -> None:
    """A card whose header can't be kept is for a person to mend, whatever is wrong with it."""
    with pytest.raises(RefusedError, match="mend it"):
        card_of([row], existing=f"---\n{existing}\n---\nx")


def test_header_of_any_shape_is_kept(row: TaskRow) -> None:
    """Values that no card should have stay as they are; a single tag becomes the first of the list."""
    found = header(
        card_of(
            [row],
            existing="---\ntags: mine\ntask_categories: [{a: 1}, other]\nseatrials: [1]\n"
            "configs: [1, {config_name: [a]}, {config_name: {b: 1}}]\n---\nx",
        )
    )
    assert found["tags"][:2] == ["mine", "rl-environment"]
    assert found["task_categories"] == [{"a": 1}, "other"]
    assert found["configs"][:3] == [1, {"config_name": ["a"]}, {"config_name": {"b": 1}}]


def test_link_to_a_folder_with_any_name_holds(row: TaskRow) -> None:
    """Spaces and brackets in a folder's name don't end the link in the table."""
    assert "](envs/a%20%28b%29%20%5Bc%5D) |" in card_of([replace(row, folder="a (b) [c]")])


def test_note_with_our_marks_is_refused(
    collection: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A note that would end its own section can't be replaced by the next release."""
    (tmp_path / "note.md").write_text("a\n<!-- seatrials-note: end -->\nb")
    words = ["release", str(collection), "--out", str(tmp_path / "out")]
    assert main([*words, "--card-note", str(tmp_path / "note.md")]) == 2
    assert "note.md` must not have" in capsys.readouterr().err
