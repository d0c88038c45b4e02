"""Options in the collection's pyproject.toml."""

from pathlib import Path

import pytest
from hub import Hub

from seatrials.cli import main
from seatrials.errors import UsageError
from seatrials.release.settings import settings_at

HEAD = "[tool.seatrials.release]\n"

# How the client hands a file to its HTTP library is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


def test_settings_stand_in_for_options(collection: Path, tmp_path: Path) -> None:
    """What is set there is used, the note is found from the collection, and the command line goes before."""
    (collection / "note.md").write_text("A note of the set.")
    (collection / "pyproject.toml").write_text(
        HEAD
        + 'repo = "ada/sums"\ntitle = "Set"\nname = "sums"\nrequires = ["a GPU"]\ncard-note = "note.md"\n'
    )
    out = tmp_path / "out"
    assert main(["release", str(collection), "--out", str(out), "--title", "Given"]) == 0
    card = (out / "README.md").read_text()
    assert "# Given" in card
    assert "- `a GPU`" in card
    assert "A note of the set." in card
    assert 'load_dataset("ada/sums"' in card
    assert (out / "sums" / "envs").is_dir()


def test_repository_of_the_settings_is_published_to(collection: Path, hub: Hub) -> None:
    """Without a word on the command line the set goes where the settings say."""
    (collection / "pyproject.toml").write_text(
        HEAD + 'repo = "ada/sums"\nprivate = true\nwithout-replays = true\n'
    )
    assert main(["release", str(collection), "--dry-run"]) == 0
    assert hub.repos == {}
    assert main(["release", str(collection), "--no-arena"]) == 0
    assert hub.repos["ada/sums"].private


def test_somewhere_must_be_named(collection: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither a folder nor a repository is a usage error."""
    assert main(["release", str(collection)]) == 2
    assert "--out DIR" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        "titel = 'x'",
        "title = 3",
        "private = 'yes'",
        "requires = 'a GPU'",
        "layout = 'flat'",
        "title = ''",
        "tag = 'v1'",
    ],
)
def test_faulty_setting_is_named(line: str, tmp_path: Path) -> None:
    """A key that is no option, or a value of another kind, is a usage error that names the key."""
    (tmp_path / "pyproject.toml").write_text(HEAD + line)
    with pytest.raises(UsageError, match=f"`tool.seatrials.release.{line.split(maxsplit=1)[0]}`"):
        settings_at(tmp_path)


def test_file_that_is_no_toml_is_said(tmp_path: Path) -> None:
    """Settings that can't be read are never passed over."""
    (tmp_path / "pyproject.toml").write_text(HEAD + "title = ")
    with pytest.raises(UsageError, match="can't be read"):
        settings_at(tmp_path)
