"""Collections told by the paths of a data set, and what its card says of them."""

import json

import pytest

from seatrials.errors import RefusedError, UsageError
from seatrials.fetch.card import default_in, header_of, needs_in
from seatrials.fetch.listing import Address, RemoteFile, Snapshot, address_of, leads_out, refuse_hostile
from seatrials.fetch.sets import Found, choose, collections_in, with_registry


def chosen(found: list[Found], name: str | None = None, default: str | None = None) -> str:
    """Return the name of the chosen collection."""
    return choose(found, name=name, default=default, repo="a/b").name


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["envs/x/task.md", "envs/y/task.md", "data/tasks.parquet"], {"envs": ["envs/x", "envs/y"]}),
        (["tasks/x/task.toml", "tasks/x/instruction.md"], {"tasks": ["tasks/x"]}),
        (["tasks/field/x/task.toml", "tasks/y/task.toml"], {"tasks": ["tasks/field/x", "tasks/y"]}),
        (["a/envs/x/task.md", "b/envs/y/task.md"], {"a": ["a/envs/x"], "b": ["b/envs/y"]}),
        (["submissions/t/envs/x/task.md"], {"submissions/t": ["submissions/t/envs/x"]}),
        (["x/task.toml", "y/task.toml"], {".": ["x", "y"]}),
        (["envs/x/task.md", "tasks/x/task.toml"], {"envs": ["envs/x"], "tasks": ["tasks/x"]}),
        # A task inside a task is part of it; what is hidden, or left by tools, holds none.
        (["envs/x/task.md", "envs/x/verifier/tasks/y/task.md"], {"envs": ["envs/x"]}),
        ([".cache/tasks/x/task.md", "envs/.git/x/task.md", "task.md"], {}),
    ],
)
def test_collections_are_told_by_paths(paths: list[str], expected: dict[str, list[str]]) -> None:
    """Each layout gives its collections with their tasks."""
    assert {one.name: list(one.tasks) for one in collections_in(paths)} == expected


def test_choice_of_a_collection() -> None:
    """The named one, the only one, else the card's default; else the names are told."""
    two = collections_in(["a/envs/x/task.md", "sub/b/envs/y/task.md"])
    assert chosen(two, name="a") == "a"
    assert chosen(two, name="b") == "sub/b"
    assert chosen(two, default="a") == "a"
    with pytest.raises(UsageError, match="`a`, `sub/b`"):
        chosen(two)
    with pytest.raises(UsageError, match="no collection `c`"):
        chosen(two, name="c", default="a")
    with pytest.raises(UsageError, match="2 collections"):
        chosen(two, default="gone")
    assert chosen(two[:1], default="gone") == "a"
    with pytest.raises(UsageError, match=r"x1b\[2J") as odd:
        chosen(collections_in(["\x1b[2J/envs/x/task.md", "b/envs/x/task.md"]))
    assert "\x1b" not in str(odd.value)
    with pytest.raises(RefusedError, match="holds no task"):
        chosen([])


def test_harbors_registry_names_the_sets() -> None:
    """The sets of a registry are the collections, without tasks that lie elsewhere or are missing."""
    (found,) = collections_in([f"tasks/{name}/task.toml" for name in "wxyz"])
    registry = [
        {"name": "one", "version": "1", "tasks": [{"name": "x", "path": "tasks/x"}, {"path": "tasks/gone"}]},
        {"name": "two", "version": "1", "tasks": [{"path": "tasks/y"}, {"path": "o/z", "git_url": "u"}]},
        {"name": "two", "version": "2", "tasks": [{"path": "./tasks/z"}]},
        {"name": "far", "version": "2", "tasks": [{"path": "tasks/x", "git_url": "https://x"}]},
    ]
    sets = with_registry(found, json.dumps(registry).encode())
    assert {one.name: one.tasks for one in sets} == {
        "one": ("tasks/x",),
        "two@1": ("tasks/y",),
        "two@2": ("tasks/z",),
    }
    assert sets[0].missing == ("tasks/gone",)


@pytest.mark.parametrize("raw", [b"{", b"{}", b"[1]", b'[{"name": 1}]', b"[" * 100_000, b"\xff"])
def test_registry_that_is_none_changes_nothing(raw: bytes) -> None:
    """A file that is no registry leaves the tasks of the folder."""
    (found,) = collections_in(["tasks/x/task.toml"])
    assert with_registry(found, raw) == [found]


def test_registry_of_a_named_release_keeps_the_name() -> None:
    """In a folder of its own, the collection keeps the folder's name, with paths from either root."""
    (found,) = collections_in(["sea/tasks/x/task.toml", "sea/tasks/y/task.toml"])
    tasks = [{"path": "sea/tasks/x"}, {"path": "tasks/y"}]
    (one,) = with_registry(found, json.dumps([{"name": "s", "version": "h", "tasks": tasks}]).encode())
    assert (one.name, one.tasks) == ("sea", found.tasks)


def test_tasks_are_picked_by_name() -> None:
    """A task is named by its folder's name or path; one that is not there is told with those that are."""
    (found,) = collections_in(["tasks/f/x/task.toml", "tasks/y/task.toml"])
    assert found.pick(["x", "tasks/y"]) == ("tasks/f/x", "tasks/y")
    assert found.pick([]) == found.tasks
    with pytest.raises(UsageError, match="no task `z`; it has `x`, `y`"):
        found.pick(["z"])


def test_card_tells_default_and_needs() -> None:
    """The card's own table goes before the Hub's default config."""
    (found,) = collections_in(["a/envs/x/task.md"])
    card = b"""---
license: mit
configs: [{config_name: b_tasks, default: true}, {config_name: a_tasks}]
seatrials: {default: a, collections: {a: {requires: [a GPU], setup: make data}}}
---
text
"""
    header = header_of(card)
    assert default_in(header) == "a"
    says = needs_in(header, found)
    assert (says.license, says.requires, says.setup) == ("mit", ("a GPU",), ("make data",))
    del header["seatrials"]
    assert default_in(header) == "b"
    assert needs_in(header, found).requires == ()


@pytest.mark.parametrize(
    "card",
    [b"", b"no header", b"---\n[\n---\n", b"---\n- a\n---\n", b"---\nseatrials: [1]\nconfigs: 3\n---\n",
     b"---\nseatrials: {collections: {a: 3}, default: [x]}\nlicense: []\n---\n", b"\xff\xfe"],
)  # fmt: skip
def test_card_of_any_shape_is_read(card: bytes) -> None:
    """A card that is broken or says other things says nothing, and stops nothing."""
    (found,) = collections_in(["a/envs/x/task.md"])
    header = header_of(card)
    assert default_in(header) is None
    assert needs_in(header, found).requires == ()


def test_addresses() -> None:
    """OWNER/NAME stands for the main branch; a revision comes after the first `@`."""
    assert address_of("ada/sums") == Address(repo="ada/sums", revision="main")
    assert address_of("ada/sums@refs/pr/1") == Address(repo="ada/sums", revision="refs/pr/1")


@pytest.mark.parametrize(
    "text",
    ["sums", "a/b/c", "../x", "a/..", "a/b@", "a/b@../x", "a/b@x y", "-a/b", "a/b--c", "a/b.git", "a b/c",
     "a/b@-x", "", "/a/b", "a/b@x\n"],
)  # fmt: skip
def test_address_that_is_none(text: str) -> None:
    """What could be a path, an option or no name at all is a usage error."""
    with pytest.raises(UsageError):
        address_of(text)


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/x", "..\\x", "C:\\x", "C:x", "\\x", ""])
def test_paths_that_lead_out(path: str) -> None:
    """A path that leaves its folder on any system is seen."""
    assert leads_out(path)


@pytest.mark.parametrize(
    "path",
    ["t/.git/config", "t/.GIT/hooks/x", "t//x", "t/./x", "t/a\nb", "t/\x1b[2Jx", "t/a\\b", "t/" + "x" * 256,
     "/".join(["x" * 200] * 6), "t/\u202ex"],
)  # fmt: skip
def test_hostile_names_are_refused(path: str) -> None:
    """A name that can't be written as it is, that a terminal would obey or git act upon is refused."""
    files = {path: RemoteFile(path=path, size=1, digest="0", in_lfs=False)}
    with pytest.raises(RefusedError, match="nothing of it is downloaded"):
        refuse_hostile(Snapshot(repo="a/b", commit="0" * 40, files=files), files)


def test_file_below_a_file_is_refused() -> None:
    """A list that has a file where another has a folder is refused."""
    files = {path: RemoteFile(path=path, size=1, digest="0", in_lfs=False) for path in ("t/a", "t/a/b")}
    with pytest.raises(RefusedError, match="below a file"):
        refuse_hostile(Snapshot(repo="a/b", commit="0" * 40, files=files), files)
