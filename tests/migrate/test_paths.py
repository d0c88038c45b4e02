"""`/solution` in scripts: rewritten where certain, told where not, and back again."""

from pathlib import Path

import pytest

from seatrials.migrate.paths import Rename, rewrite_mounts, rewrite_oracle
from seatrials.task.files import list_files

from .conftest import Make

FORWARD = Rename(old="solution", new="oracle")
BACK = Rename(old="oracle", new="solution")


def rewritten(folder: Path, prompt: str = "Do it.") -> tuple[dict[str, str], list[tuple[str, int]]]:
    """Return the changed scripts and the places left, for a task on disk."""
    found = rewrite_oracle(list_files(folder).files, "solution", FORWARD, prompt)
    return dict(found.texts), list(found.unsure)


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("cp /solution/solve.py /app/", "cp /oracle/solve.py /app/"),
        ('python "/solution/solve.py"', 'python "/oracle/solve.py"'),
        ("gcc -I/solution -o x /solution/solve.py", "gcc -I/oracle -o x /oracle/solve.py"),
        ("cd /solution && ls", "cd /oracle && ls"),
        ("export P=/solution:/bin", "export P=/oracle:/bin"),
        ("ls /app/solution /solutions /solution.txt", None),
        ('cat "$ROOT/solution/x" "$ROOT"/solution ${R}/solution $(pwd)/solution', None),
        ("echo a/solution ../solution ~/solution", None),
    ],
)
def test_only_the_folder_itself_is_rewritten(make: Make, line: str, becomes: str | None) -> None:
    """A path that starts at the oracle's folder follows it; one that only ends like it stays."""
    folder = make({"solution/solve.sh": f"#!/bin/bash\n{line}\n", "solution/solve.py": "x = 1\n"})
    texts, unsure = rewritten(folder)
    assert texts == ({} if becomes is None else {"solution/solve.sh": f"#!/bin/bash\n{becomes}\n"})
    assert unsure == []


def test_nothing_is_certain_where_the_image_has_such_a_folder(make: Make) -> None:
    """Where the image or the prompt speaks of `/solution`, only what lies in the oracle follows it."""
    script = "cp /solution/solve.py /app\ncp out /solution/answer\n"
    dockerfile = "FROM a\nRUN mkdir /solution\n"
    folder = make(
        {"solution/solve.sh": script, "solution/solve.py": "", "environment/Dockerfile": dockerfile}
    )
    texts, unsure = rewritten(folder)
    assert texts == {"solution/solve.sh": "cp /oracle/solve.py /app\ncp out /solution/answer\n"}
    assert unsure == [("solution/solve.sh", 2)]


def test_a_compose_mount_keeps_the_path(make: Make) -> None:
    """Where a compose file puts something at `/solution`, the scripts that read it stay."""
    compose = "services:\n  main:\n    volumes: ['../solution:/solution']\n"
    folder = make(
        {
            "solution/solve.sh": "cp /solution/x /app\n",
            "solution/x": "",
            "environment/docker-compose.yaml": compose,
        }
    )
    texts, unsure = rewritten(folder)
    assert texts == {}
    assert unsure == [("solution/solve.sh", 1)]


def test_a_verifier_that_names_it_is_told(make: Make) -> None:
    """A verifier is never rewritten; the report says where it names the folder."""
    folder = make({"tests/test.sh": "true\ntest -e /solution/solve.sh\n"})
    texts, unsure = rewritten(folder)
    assert texts == {}
    assert unsure == [("tests/test.sh", 2)]


def test_a_task_without_oracle_is_left_alone(make: Make) -> None:
    """Without a reference solution `/solution` is the task's own folder, and nobody's concern."""
    folder = make({"solution/solve.sh": None, "tests/test.sh": "cat /solution/answer\n"})
    assert rewritten(folder) == ({}, [])


def test_rewriting_back_gives_the_old_text(make: Make, tmp_path: Path) -> None:
    """The same rule run backwards undoes exactly what was rewritten, also where some places were left."""
    script = "cp /solution/solve.py /app\ncp out /solution/answer\n"
    for dockerfile in ("FROM a\n", "FROM a\nRUN mkdir /solution\n"):
        folder = make(
            {"solution/solve.sh": script, "solution/solve.py": "", "environment/Dockerfile": dockerfile}
        )
        texts, _ = rewritten(folder)
        new = tmp_path / f"new{len(dockerfile)}"
        (new / "oracle").mkdir(parents=True)
        (new / "environment").mkdir()
        (new / "environment/Dockerfile").write_text(dockerfile)
        (new / "oracle/solve.py").write_text("")
        (new / "oracle/solve.sh").write_text(texts["solution/solve.sh"])
        back = rewrite_oracle(list_files(new).files, "oracle", BACK, "Do it.")
        assert back.texts == {"oracle/solve.sh": script}


def test_mounts_of_other_folders_stay() -> None:
    """Only the task's own folders are renamed in a compose file."""
    text = "- ../tests:/tests\n- ../../tests:/x\n- ./tests:/y\n- ../tests-old:/z\n"
    assert rewrite_mounts(text, {"tests": "verifier"}) == text.replace("- ../tests:", "- ../verifier:")
