"""The arena's content hashes beside ours, whichever way it joins paths and blob ids."""

import hashlib

import pytest

from seatrials.arena.identity_hashes import JOINS, Join, Listing, compare

TASKS = {
    name: Listing(
        folder=f"sea/envs/{name}",
        listed={"task.md": name * 10, "environment/x.bin": "b" * 40, "a b.txt": "a" * 40},
        content={"task.md": name * 10, "environment/x.bin": "c" * 40, "a b.txt": "a" * 40},
    )
    for name in ("wind", "wave")
}


def hashed(name: str, join: Join, before: str = "", *, content: bool = False) -> str:
    """Return a task's hash, as an arena that joins so would take it."""
    blobs = TASKS[name].content if content else TASKS[name].listed
    text = join([(before + path, blob) for path, blob in sorted(blobs.items())])
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(("name", "join"), JOINS, ids=[name for name, _ in JOINS])
def test_each_way_is_recognized(name: str, join: Join) -> None:
    """Each way to join is found out by itself, and told apart from the others."""
    found = compare({task: hashed(task, join) for task in TASKS}, TASKS, entry_path="sea")
    assert found.same == ("wave", "wind")
    assert found.other == ()
    assert found.way == f"{name}, paths from the task, ids as listed"


@pytest.mark.parametrize(
    ("base", "prefix"), [("collection", "envs/{}/"), ("repository", "sea/envs/{}/"), ("task", "")]
)
@pytest.mark.parametrize("content", [False, True], ids=["listed", "content"])
def test_paths_may_count_from_elsewhere(base: str, prefix: str, content: bool) -> None:
    """Paths from the task, the collection or the repository, with ids of pointers or of files."""
    join = JOINS[0][1]
    theirs = {task: hashed(task, join, prefix.format(task), content=content) for task in TASKS}
    found = compare(theirs, TASKS, entry_path="sea")
    assert found.way is not None
    assert f"from the {base}" in found.way
    assert ("ids of the content" if content else "ids as listed") in found.way
    assert found.same == ("wave", "wind")


def test_other_content_is_told_only_where_the_way_is_known() -> None:
    """One hash that fits shows the way, and then the other is of other content; none shows nothing."""
    right = hashed("wind", JOINS[2][1])
    found = compare({"wind": right, "wave": "sha256:" + "0" * 64}, TASKS)
    assert (found.same, found.other) == (("wind",), ("wave",))
    found = compare({"wind": "sha256:1", "wave": "?"}, TASKS)
    assert (found.way, found.same, found.other, found.compared) == (None, (), (), 2)


def test_tasks_of_one_side_are_named() -> None:
    """A task without a hash, and a hash without a task, are no difference of content."""
    found = compare({"wind": hashed("wind", JOINS[0][1]), "fog": "sha256:2"}, TASKS)
    assert (found.same, found.other, found.absent, found.more) == (("wind",), (), ("wave",), ("fog",))
    assert compare({}, TASKS).compared == 0
