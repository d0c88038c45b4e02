"""What the template renders."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatrials.judge import run
from seatrials.task.package import TaskPackage

MARKER = re.compile(r"\[REPLACE:[^\]]*\]")


PRINTED = st.characters(
    exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="\ufeff\ufffe\uffff"
) | st.sampled_from("#:-&*!|>%@`\\,? ")
TITLES = st.text(PRINTED | st.sampled_from("'\"[]{}"), min_size=1, max_size=100).map(str.strip).filter(bool)
TAGS = st.lists(st.text(PRINTED, max_size=8).filter(lambda tag: not set(tag) & set("'\"[]{}")), max_size=4)


def frontmatter(document: Path) -> dict:
    """The YAML between the first two fences of a Markdown file."""
    return yaml.safe_load(document.read_text(encoding="utf-8").split("---\n")[1])


def test_defaults_make_a_native_task(render):
    """Without an answer the task has every block that the arena asks for, and strict limits."""
    assert frontmatter(render("clean-readings") / "task.md") == {
        "schema_version": "1.3",
        "task": {"name": "your-hub-handle/clean-readings"},
        "metadata": {
            "title": "Clean readings",
            "author_hub": "your-hub-handle",
            "license": "Apache-2.0",
            "category": "data-processing",
            "difficulty": "medium",
            "origin": "original",
            "tags": [],
        },
        "agent": {"timeout_sec": 1800},
        "verifier": {"timeout_sec": 300},
        "sandbox": {"network_mode": "no-network", "cpus": 1, "memory_mb": 2048, "build_timeout_sec": 600},
        "oracle": {"env": {}},
    }


def test_answers_reach_the_frontmatter(render):
    """Every answer is where the formats say."""
    task = render(
        name="a-task",
        title="A: task",
        author_hub="org",
        license="NO",
        category="games",
        difficulty="hard",
        origin="adapted",
        origin_url="https://example.org/x",
        base_image="ubuntu:24.04",
        network="public",
        cpus=2,
        memory_mb=512,
        agent_timeout_sec=10,
        verifier_timeout_sec=20,
        build_timeout_sec=30,
        tags="no, 1.0, größe,,c++ ",
    )
    assert frontmatter(task / "task.md") == {
        "schema_version": "1.3",
        "task": {"name": "org/a-task"},
        "metadata": {
            "title": "A: task",
            "author_hub": "org",
            "license": "NO",
            "category": "games",
            "difficulty": "hard",
            "origin": "adapted",
            "origin_url": "https://example.org/x",
            "tags": ["no", "1.0", "größe", "c++"],
        },
        "agent": {"timeout_sec": 10},
        "verifier": {"timeout_sec": 20},
        "sandbox": {"network_mode": "public", "cpus": 2, "memory_mb": 512, "build_timeout_sec": 30},
        "oracle": {"env": {}},
    }
    assert (task / "environment/Dockerfile").read_text().startswith("FROM ubuntu:24.04\n")
    assert "[REPLACE: your handle" not in (task / "task.md").read_text()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(title=TITLES, tags=TAGS)
def test_accepted_text_comes_back_unchanged(render, title, tags):
    """No title or tag that is accepted can break or change the YAML."""
    task = render(title=title, tags=",".join(tags))
    document = frontmatter(task / "task.md")
    assert document["metadata"]["title"] == title
    assert document["metadata"]["tags"] == [tag.strip() for tag in ",".join(tags).split(",") if tag.strip()]
    answers = yaml.safe_load((task / ".copier-answers.yml").read_text(encoding="utf-8"))
    assert (answers["title"], answers["tags"]) == (title, ",".join(tags))


@pytest.mark.parametrize(
    ("folder", "name"),
    [("3d-mesh", "3d-mesh"), ("My Task!", "my-task"), ("a__b", "a-b"), ("x", "my-task"), ("数据", "my-task")],
)
def test_name_comes_from_the_folder(render, folder, name):
    """The folder's name is made to fit; where nothing fits, the name is `my-task`."""
    assert frontmatter(render(folder) / "task.md")["task"]["name"] == f"your-hub-handle/{name}"


def test_files_of_a_task(render):
    """The task has the parts of the native profile, publication grade included, and runnable scripts."""
    task = render()
    assert {path.relative_to(task).as_posix() for path in task.rglob("*") if path.is_file()} == {
        ".copier-answers.yml",
        "task.md",
        "environment/Dockerfile",
        "environment/deliveries.csv",
        "oracle/solve.sh",
        "verifier/deliveries.csv",
        "verifier/rubrics/verifier.md",
        "verifier/test.sh",
        "verifier/test_outputs.py",
        "verifier/verifier.md",
    }
    for script in ("oracle/solve.sh", "verifier/test.sh"):
        assert (task / script).stat().st_mode & 0o111 == 0o111
    assert (task / "environment/deliveries.csv").read_bytes() == (
        task / "verifier/deliveries.csv"
    ).read_bytes()


def test_verifier_document_is_publication_grade(render):
    """`verifier.md` declares what BenchFlow's publication-grade check asks for."""
    verifier = frontmatter(render(name="a-task") / "verifier/verifier.md")["verifier"]
    assert verifier["name"] == "a-task"
    assert verifier["strategies"][verifier["default_strategy"]] == {"type": "script", "command": "./test.sh"}
    assert verifier["rubric"]["dimensions"]
    assert verifier["outputs"]["reward_json"] == "/logs/verifier/reward.json"


def check(task: Path) -> set[tuple[str, str]]:
    """Codes and paths of what the rules find."""
    package = TaskPackage(task)
    return {(finding.code, finding.path) for finding in run.check_task(package).findings}


@pytest.mark.parametrize("kind", ["checks", "answer"])
def test_check_finds_nothing_but_the_markers(render, kind):
    """A fresh task is sound in every respect, except that its markers are still there."""
    marked = {
        "task.md",
        "environment/Dockerfile",
        "oracle/solve.sh",
        "verifier/test_outputs.py",
        "verifier/verifier.md",
        "verifier/rubrics/verifier.md",
    }
    found = check(render(verifier=kind))
    assert {code for code, _ in found} == {"DOC107", "DOC108"}
    assert {path for _, path in found} == marked


@pytest.mark.parametrize("kind", ["checks", "answer"])
def test_check_finds_nothing_once_the_markers_are_replaced(render, kind):
    """Replacing the markers is all that is left to do."""
    task = render(verifier=kind)
    for path in (path for path in task.rglob("*") if path.is_file()):
        path.write_text(MARKER.sub("text", path.read_text(encoding="utf-8")), encoding="utf-8")
    assert check(task) == set()


def test_toolchain_lines_do_not_depend_on_the_answers(render):
    """Tasks share image layers, so the lines that install the verifier's tools are the same in each."""
    dockerfiles = [
        (render(**answers) / "environment/Dockerfile").read_text().partition("\n")[2]
        for answers in ({}, {"base_image": "python:3.12-slim", "name": "other", "title": "Other"})
    ]
    assert dockerfiles[0] == dockerfiles[1]
    assert re.findall(r"[a-z-]+==[0-9.]+", dockerfiles[0])[:2] == ["pytest==8.4.2", "pytest-json-ctrf==0.6.1"]
