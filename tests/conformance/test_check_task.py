"""`seatrials check --profile benchflow` against BenchFlow's `check_task`, over whole tasks on disk.

Whatever BenchFlow rejects must be an error here. Where the kit is stricter,
`docs/conformance.md` has a line for the code.
"""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import copier
import pytest
from bad_cases import CASES, HERE, build

from seatrials.findings import at_least
from seatrials.judge.run import check_task
from seatrials.task.collection import find_tasks
from seatrials.task.package import TaskPackage

ROOT = Path(__file__).parents[2]
DOCUMENTED = frozenset(
    re.findall(
        r"^\| `([A-Z]{3}\d{3})` \|", (ROOT / "docs" / "conformance.md").read_text("utf-8"), re.MULTILINE
    )
)
PUBLIC_SETS = [path for path in os.environ.get("SEATRIALS_PUBLIC_SETS", "").split(os.pathsep) if path]
VARIANTS = 1_500


def errors(folder: Path) -> frozenset[str]:
    """Return the codes of the kit's errors about a task."""
    report = check_task(TaskPackage(folder), profile="benchflow")
    return frozenset(found.code for found in report.findings if at_least(found.severity, "error"))


def issues(folder: Path) -> list[str]:
    """Return BenchFlow's issues; what it raises is one, since its command ends there too."""
    from benchflow._utils.task_authoring import check_task as theirs

    try:
        return theirs(folder)
    except Exception as error:  # noqa: BLE001 - whatever stops BenchFlow is a refusal
        return [repr(error)]


def compare(folder: Path, name: str) -> frozenset[str]:
    """Hold both against each other; return the codes by which the kit alone rejects the task."""
    ours, theirs = errors(folder), issues(folder)
    assert ours or not theirs, f"{name}: BenchFlow rejects it and the kit does not: {theirs}"
    if theirs:
        return frozenset()
    assert ours <= DOCUMENTED, (
        f"{name}: the kit alone rejects it; docs/conformance.md needs {ours - DOCUMENTED}"
    )
    return ours


@pytest.mark.parametrize("name", ["native", "harbor", "collection/tasks/sum-column"])
def test_good_tasks_pass_both(name: str) -> None:
    """Neither side has anything against the good tasks."""
    folder = HERE / "good_tasks" / name
    assert (errors(folder), issues(folder)) == (frozenset(), [])


def test_posttrain_task_fails_both() -> None:
    """BenchFlow refuses the PostTrain format, and so does the kit."""
    folder = HERE / "good_tasks" / "posttrain"
    assert errors(folder)
    assert issues(folder)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bad_tasks(case: Path, tmp_path: Path) -> None:
    """Each bad task that BenchFlow rejects is an error here."""
    for folder in find_tasks(build(case, tmp_path)):
        compare(folder, case.name)


@pytest.mark.parametrize(
    "answers",
    [{}, {"verifier": "answer"}, {"origin": "adapted", "origin_url": "https://example.org/x"}],
    ids=["defaults", "answer", "adapted"],
)
def test_renderings_of_the_template(answers: dict[str, str], tmp_path: Path) -> None:
    """A fresh task still has its markers, and is rejected by both; without them it passes both."""
    folder = tmp_path / "fresh-task"
    data = {"author_hub": "seatrials", **answers}
    copier.run_copy(str(ROOT / "template"), folder, data=data, defaults=True, quiet=True)
    assert errors(folder)
    assert issues(folder)
    for path in folder.rglob("*"):
        if path.is_file():
            path.write_text(re.sub(r"\[REPLACE:[^\]]*\]", "text", path.read_text("utf-8")), "utf-8")
    assert (errors(folder), issues(folder)) == (frozenset(), [])


def test_benchflows_own_tasks() -> None:
    """The tasks in BenchFlow's package pass both, or fail both."""
    import benchflow

    found = [*find_tasks(Path(benchflow.__file__).parent)]
    assert found
    for folder in found:
        compare(folder, folder.name)


@pytest.mark.parametrize("root", PUBLIC_SETS or ["none named"])
def test_public_sets(root: str) -> None:
    """Each task below the folders of SEATRIALS_PUBLIC_SETS gets BenchFlow's verdict or a stricter one."""
    if not PUBLIC_SETS:
        pytest.skip("SEATRIALS_PUBLIC_SETS names no folder")
    found = [*find_tasks(Path(root))]
    assert found, f"no task in {root}"
    for folder in found:
        compare(folder, str(folder))


CONTENTS = (
    b"", b" \n", b"\xff\xfe", b"# [REPLACE: x]\n", b"{}", b"x = 1\n", b"#!/bin/sh\necho 0\n",
    b"%YAML 1.1\n---\n", b'{"criteria": []}',
    b'{"criteria": [{"name": "a", "description": "b", "guidance": "c"}]}',
    b"---\nverifier:\n  strategies:\n    a: {type: script, command: ./test.sh}\n---\n",
    b"---\nschema_version: '1.3'\ntask: {name: a/b}\n---\nDo /x\n",
    b"\xef\xbb\xbf---\nname: x\n---\nhello\n", b"---\nname: x\nverifier: checks\n---\nhello\n",
    b"---\n--- \n\n## prompt\n## prompt\n", b"---\r\nname: y\r\n---\r\nbody\r\n",
    b"--- \nname: a\n ---\nhm\n", b"---\nname: q\n---\n\\## prompt\nz", b"---\n# c\n---\nq",
    b"---\n- a\n---\nq", b"---\nname: [\n---\n", b"---\nname: a\nname: b\n---\nq", b"---\n---\n",
    b"---\n1: 2\n---\nq", b"---\nmetadata: {1: 2}\n---\nq", b"---\nmetadata: {a: &x [*x]}\n---\nq",
    b"---\na: 2024-13-45\n---\nq", b"---\n...\n---\nq", b"---\nname: a\n...\nfoo: bar\n---\nq",
    b"---\n\tname: a\n---\nq", b"---\nname: !!python/object:os.system x\n---\nq",
    b'---\nname: "\\ud800"\n---\nq', b"---\nname: a\x0bb\n---\nq", b"---\nname: a\xe2\x80\xa8b: c\n---\nq",
    b"---\nname: a\x85\n---\nq", b"---\nname: a\xc2\x85 b: c\n---\nq", b"---\n<<: {name: a}\n---\nq",
    b"---\n? [a]\n: b\n---\nq", b"---\nname: a\x00\n---\nq", b"---\nname: \xf0\x9f\x98\x80\n---\nq",
    b"---\nmetadata: !!set {a, b}\n---\nq",
    b"---\nmetadata: {x: 0o17, y: 1_0, z: 12:30:45, w: 0b1, v: .inf}\nname: b\n---\nq",
    b"---\nsandbox: {allowed_hosts: !!set {a}}\n---\nq", b"---\nsandbox: {env: !!omap [a: b]}\n---\nq",
)  # fmt: skip
PATHS = (
    "task.md", "task.toml", "instruction.md", "environment/Dockerfile", "environment", "verifier", "tests",
    "verifier/test.sh", "tests/test.sh", "verifier/verifier.md", "tests/verifier.md", "oracle/solve.sh",
    "solution/solve.sh", "oracle", "solution", "verifier/rubric.json", "tests/rubric.json",
    "tests/rubric.toml", "verifier/__pycache__/x.pyc", "tests/.DS_Store", "solution/.DS_Store",
    "prompts/role.a.md", "prompts/user-persona.md",
)  # fmt: skip
TWINS = (("verifier", "tests"), ("oracle", "solution"), ("tests", "verifier"), ("solution", "oracle"))


def spoil(folder: Path, random: Random) -> Iterator[str]:
    """Change a task at a few random places; yield what was done."""
    for _ in range(random.choice((1, 1, 2, 3, 4))):
        place = random.choice(PATHS)
        target = folder / place
        done = random.choice(("write", "write", "write", "remove", "folder", "link", "twin"))
        if done == "twin":
            source, other = random.choice(TWINS)
            if (folder / source).is_dir() and not (folder / other).exists():
                shutil.copytree(folder / source, folder / other, symlinks=True)
                yield f"copied {source} to {other}"
            continue
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        elif target.is_symlink() or target.exists():
            target.unlink()
        if done == "remove" or not _has_room(target.parent):
            yield f"removed {place}"
        elif done == "write":
            content = random.choice(CONTENTS)
            target.write_bytes(content)
            yield f"wrote {content!r} to {place}"
        elif done == "folder":
            target.mkdir()
            yield f"made the folder {place}"
        else:
            end = random.choice(
                (*("../" * place.count("/") + other for other in PATHS), "/etc/hostname", "no")
            )
            target.symlink_to(end)
            yield f"linked {place} to {end}"


def _has_room(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return folder.is_dir()


def test_spoilt_tasks(tmp_path: Path) -> None:
    """Tasks with files missing, emptied, garbled, linked or doubled at random get no milder verdict here."""
    rejected = 0
    for seed in range(VARIANTS):
        random = Random(seed)
        folder = tmp_path / f"task-{seed}"
        base = random.choice(("native", "harbor", "posttrain", "native"))
        shutil.copytree(HERE / "good_tasks" / base, folder, symlinks=True)
        done = "; ".join(spoil(folder, random))
        compare(folder, f"seed {seed}, {base}: {done}")
        rejected += bool(errors(folder))
        shutil.rmtree(folder)
    assert 0.2 < rejected / VARIANTS < 0.95


def write(folder: Path, path: str, text: str) -> None:
    """Write a file of a task."""
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text, "utf-8")


def replace(folder: Path, path: str, old: str, new: str) -> None:
    """Replace a text that is there in a file of a task."""
    text = (folder / path).read_text("utf-8")
    assert old in text
    (folder / path).write_text(text.replace(old, new), "utf-8")


def test_each_documented_code_is_stricter_somewhere(tmp_path: Path) -> None:
    """Each line of docs/conformance.md is shown by a task that BenchFlow takes and the kit does not."""
    shown: set[str] = set()

    def stricter(base: str) -> Iterator[Path]:
        folder = tmp_path / f"case-{len(list(tmp_path.iterdir()))}"
        shutil.copytree(HERE / "good_tasks" / base, folder)
        yield folder
        shown.update(compare(folder, folder.name))

    for folder in stricter("native"):
        replace(folder, "task.md", "metadata:\n", "metadata:\n  own: &loop [*loop]\n")
    for folder in stricter("native"):
        replace(folder, "task.md", "sandbox:\n", "benchflow: {prompt: {order: [last]}}\nsandbox:\n")
    for folder in stricter("native"):
        (folder / "environment/Dockerfile").unlink()
        (folder / "environment/Dockerfile").mkdir()
    for folder in stricter("native"):
        (folder / "task.md").rename(tmp_path / "elsewhere.md")
        (folder / "task.md").symlink_to("../elsewhere.md")
    (tmp_path / "elsewhere.md").unlink()
    for folder in stricter("native"):
        (folder / "verifier/test.sh").unlink()
        (folder / "verifier/test.sh").mkdir()
    for folder in stricter("native"):
        write(tmp_path, "rubric.md", "x")
        text = (
            f"---\nverifier: {{strategies: {{a: {{type: llm-judge, rubric: {tmp_path}/rubric.md}}}}}}\n---\n"
        )
        write(folder, "verifier/verifier.md", text)
    for path, text in (
        ("verifier.md", "---\nverifier: {strategies: {a: {type: script, command: ./test.sh}}}\n---\n"),
        ("rubric.json", '{"criteria": [{"name": "a", "description": "b", "guidance": "c"}]}'),
    ):
        for folder in stricter("native"):
            write(tmp_path, f"outside/{path}", text)
            (folder / "verifier" / path).symlink_to(f"../../outside/{path}")
    for folder in stricter("harbor"):
        write(folder, "instruction.md", " \n")
    for old, new in (
        ("cpus = 1", 'cpus = "many"'),
        ("cpus = 1", "[sandbox]"),
        ("timeout_sec = 60.0", "timeout_sec = 0"),
        ("allow_internet = false", 'allow_internet = false\nnetwork_mode = "public"'),
        ("timeout_sec = 60.0", "reward_range = [0.5, 1]"),
        ('version = "1.0"', 'version = "2.0"'),
        ('version = "1.0"', 'version = "1.0"\nartifacts = [{source = "/a", mode = 1}]'),
        ('version = "1.0"', 'version = "1.0"\n[task]\nname = "without-org"'),
    ):
        for folder in stricter("harbor"):
            replace(folder, "task.toml", old, new)
    assert shown == DOCUMENTED
