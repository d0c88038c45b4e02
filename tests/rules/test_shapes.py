"""Shapes of tasks that are known and no errors: several services, several steps, no schema version."""

from pathlib import Path

from seatrials.judge.run import check_task
from seatrials.rules.model import Profile
from seatrials.task.package import TaskPackage


def codes(folder: Path, profile: Profile = "arena") -> dict[str, str]:
    """Return the findings' codes with their severities."""
    return {item.code: item.severity for item in check_task(TaskPackage(folder), profile=profile).findings}


COMPOSE = "services:\n  main:\n    build: .\n  db:\n    image: postgres:17\n"


def test_a_compose_task_is_a_known_shape(native_task: Path, harbor_task: Path) -> None:
    """A task of several services has no finding for that."""
    for folder in (native_task, harbor_task):
        (folder / "environment" / "docker-compose.yaml").write_text(COMPOSE, "utf-8")
        assert codes(folder) == {}
        assert codes(folder, "benchflow") == {}


def test_a_native_task_of_several_steps_is_no_error_for_the_arena(native_task: Path) -> None:
    """Only a warning says that BenchFlow does not run steps, with or without a common verifier."""
    text = (native_task / "task.md").read_text("utf-8")
    (native_task / "task.md").write_text(text.replace("agent:\n", "steps: [{name: one}]\nagent:\n"), "utf-8")
    assert codes(native_task) == {"SCH112": "warning"}
    (native_task / "verifier" / "test.sh").unlink()
    assert codes(native_task) == {"SCH112": "warning"}
    assert codes(native_task, "benchflow") == {"SCH112": "warning", "STR113": "error"}


def test_benchflow_alone_needs_less(native_task: Path) -> None:
    """A bare body, shorthands, a strategy instead of test.sh: all that BenchFlow takes without the rest."""
    (native_task / "task.md").write_text(
        "---\nname: sum\nimage: debian:bookworm\nagent: {timeout_sec: 60}\nverifier: {timeout_sec: 60}\n---\n"
        "Write 42 to `/root/sum.txt`.\n",
        "utf-8",
    )
    (native_task / "verifier" / "test.sh").rename(native_task / "verifier" / "grade.sh")
    (native_task / "verifier" / "verifier.md").write_text(
        "---\nverifier:\n  strategies:\n    main: {type: script, command: bash grade.sh}\n---\n", "utf-8"
    )
    assert codes(native_task, "benchflow") == {}
    assert codes(native_task) == {"STR104": "error", "STR107": "error", "STR108": "error"}


def test_a_profile_gives_what_its_author_left_out(native_task: Path) -> None:
    """An authoring profile counts as declared: its limits, and its network against the author's hosts."""
    path = native_task / "task.md"
    text = path.read_text("utf-8").replace("agent:\n  timeout_sec: 300\nverifier:\n  timeout_sec: 60\n", "")
    path.write_text(text, "utf-8")
    assert "DOC114" in codes(native_task, "benchflow")
    path.write_text(text.replace("task:\n", "profile: code-change\ntask:\n"), "utf-8")
    assert "DOC114" not in codes(native_task, "benchflow")
    path.write_text(
        text.replace("task:\n", "profile: code-change\nagent: {allowed_hosts: [example.org]}\ntask:\n"),
        "utf-8",
    )
    assert "SCH105" in codes(native_task, "benchflow")
