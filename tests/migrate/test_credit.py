"""Credit that a set's surroundings tell: proposed, and filled in only where somebody asks."""

import subprocess
from pathlib import Path

import pytest

from seatrials.cli import main
from seatrials.migrate.credit import address_of, hub_account, license_named, license_of
from seatrials.task.package import TaskPackage

from .conftest import TOML, Make

MIT = """MIT License

Copyright (c) 2026 Somebody

Permission is hereby granted, free of charge, to any person obtaining a copy of this software, to deal
in the Software without restriction.

THE SOFTWARE IS PROVIDED "AS IS",
WITHOUT WARRANTY OF ANY KIND.
"""


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (MIT, "MIT"),
        ("        Apache License\n    Version 2.0, January 2004\n", "Apache-2.0"),
        ("Attribution 4.0 International\n=====\n", "CC-BY-4.0"),
        ("Creative Commons Attribution-ShareAlike 4.0\nInternational Public License", "CC-BY-SA-4.0"),
        ("Redistribution and use in source and binary forms, with", "BSD-2-Clause"),
        ("Redistribution and use in source and binary forms\nNeither the name of", "BSD-3-Clause"),
        ("GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007", None),
        ("All rights reserved.", None),
        ("", None),
    ],
)
def test_license_is_told_by_its_text(text: str, name: str | None) -> None:
    """A license is named only where its text is certain; the GNU ones don't say whether a later one holds."""
    assert license_of(text) == name


def test_license_of_a_card() -> None:
    """The header of a data set's card names licenses in small letters; what is no license there is none."""
    assert license_named("apache-2.0") == "Apache-2.0"
    assert [license_named(name) for name in ("other", None, ["mit"])] == [None, None, None]


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://github.com/a/b.git", "https://github.com/a/b"),
        ("https://user:secret@github.com/a/b", "https://github.com/a/b"),
        ("git@github.com:a/b.git", "https://github.com/a/b"),
        ("ssh://git@example.org:2222/a/b.git", "https://example.org/a/b"),
        ("https://huggingface.co/datasets/a/b", "https://huggingface.co/datasets/a/b"),
        ("/srv/git/b.git", None),
        ("../b", None),
        ("file:///srv/b", None),
        ("", None),
    ],
)
def test_address_of_a_remote(remote: str, address: str | None) -> None:
    """A remote that others can open is an address, without what logs in; a folder is none."""
    assert address_of(remote) == address


def test_account_of_the_hub() -> None:
    """A data set's address of the Hub names whose it is; another address does not."""
    assert hub_account("https://huggingface.co/datasets/ada/set") == "ada"
    assert hub_account("https://github.com/ada/set") is None


def _cloned(folder: Path, remote: str) -> None:
    for words in (("init", "-q"), ("remote", "add", "origin", remote)):
        subprocess.run(["git", "-C", str(folder), *words], check=True)


def test_surroundings_are_proposed_and_not_filled_in(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """License and address of the repository are named with their options; the tasks stay without them."""
    make(name="one")
    make({"task.toml": TOML.replace("[metadata]", '[metadata]\nlicense = "MIT"')}, name="two")
    (tmp_path / "src" / "LICENSE").write_text(MIT, encoding="utf-8")
    _cloned(tmp_path / "src", "https://me:secret@huggingface.co/datasets/ada/set")
    assert main(["migrate", str(tmp_path / "src"), "--out", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "proposed: `--license MIT`" in out
    assert "which 1 task would get" in out
    assert "proposed: `--origin-url https://huggingface.co/datasets/ada/set`" in out
    assert "proposed: `--author-hub ada`" in out
    assert "secret" not in out
    written = TaskPackage(tmp_path / "out/tasks/one").native.table("metadata")
    assert not {"license", "origin", "origin_url", "author_hub"} & written.keys()


def test_what_is_given_is_not_proposed(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where every task has the field, by its author or by an option, nothing is proposed for it."""
    make()
    (tmp_path / "src" / "LICENSE").write_text(MIT, encoding="utf-8")
    main(["migrate", str(tmp_path / "src"), "--license", "Apache-2.0"])
    assert "proposed" not in capsys.readouterr().out


def test_sets_that_disagree_get_no_proposal(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An option fills the field of all tasks alike, so it is proposed only where all agree."""
    for place, text in (("a", MIT), ("b", "Apache License\nVersion 2.0")):
        (tmp_path / place / "tasks").mkdir(parents=True)
        make(name=place).rename(tmp_path / place / "tasks" / place)
        (tmp_path / place / "LICENSE").write_text(text, encoding="utf-8")
    main(["migrate", str(tmp_path / "a"), str(tmp_path / "b")])
    assert "proposed" not in capsys.readouterr().out
    main(["migrate", str(tmp_path / "b")])
    assert "proposed: `--license Apache-2.0`" in capsys.readouterr().out
