"""The plan: what a native package holds, and what each note says."""

import stat
from pathlib import Path

import pytest

from seatrials.migrate.model import Fill, Plan
from seatrials.migrate.plan import plan
from seatrials.migrate.proof import disagreement, result
from seatrials.task.document import parse_document
from seatrials.task.files import TaskFile
from seatrials.task.package import TaskPackage

from .conftest import HARBOR, TOML, Make


def planned(folder: Path, fill: Fill | None = None) -> tuple[Plan, dict[str, TaskFile]]:
    """Plan a task that can be migrated, prove it, and return the plan and the new files."""
    task = TaskPackage(folder)
    made = plan(task, fill)
    assert not made.problem
    files = result(task, made)
    assert disagreement(task, made, files) == ""
    return made, files


def document(files: dict[str, TaskFile]) -> dict[str, object]:
    """Return the frontmatter of the new task."""
    parsed = parse_document(files["task.md"].read())
    assert not parsed.problems
    return parsed.frontmatter


def notes(made: Plan, kind: str) -> list[str]:
    """Return the messages of one kind."""
    return [note.message for note in made.notes if note.kind == kind]


def test_files_go_to_their_native_folders(make: Make) -> None:
    """`tests/` becomes `verifier/`, `solution/` becomes `oracle/`, and two files `task.md`."""
    _, files = planned(make({"README.md": "hello\n"}))
    assert set(files) == {
        "task.md", "README.md", "environment/Dockerfile", "oracle/solve.sh", "verifier/test.sh",
        "verifier/verifier.md", "verifier/rubrics/verifier.md",
    }  # fmt: skip


def test_run_bits_are_kept(make: Make) -> None:
    """A script with a run bit keeps it, one without gets none."""
    folder = make()
    (folder / "tests/test.sh").chmod(0o644)
    _, files = planned(folder)
    assert not files["verifier/test.sh"].mode & stat.S_IXUSR
    assert files["oracle/solve.sh"].mode & stat.S_IXUSR


def test_config_keeps_the_author_s_order_and_adds_nothing_but_what_is_told(make: Make) -> None:
    """Keys stand as declared, under native names; only what the arena needs is added, with a note."""
    made, files = planned(make())
    found = document(files)
    assert list(found) == ["schema_version", "task", "metadata", "agent", "verifier", "sandbox"]
    assert found["sandbox"] == {"cpus": 1, "network_mode": "no-network"}
    assert found["agent"] == {"timeout_sec": 300.0}
    assert notes(made, "added") == ["`task.name` is `your-org/answer`"]
    assert made.added == {("task",), ("task", "name")}


def test_placeholder_organisation_is_listed_as_a_person_s_work(make: Make) -> None:
    """Where nobody names an organisation, the placeholder is told; a given one stands and is not."""
    made, _ = planned(make())
    assert any("`your-org`" in said for said in notes(made, "person"))
    made, files = planned(make(), Fill(org="acme"))
    assert document(files)["task"] == {"name": "acme/answer"}
    assert not any("your-org" in said for said in notes(made, "person"))


def test_declared_name_wins_over_the_given_organisation(make: Make) -> None:
    """What the author declared is never changed by what is filled in."""
    _, files = planned(make({"task.toml": TOML + '[task]\nname = "us/other"\n'}), Fill(org="acme"))
    assert document(files)["task"] == {"name": "us/other"}


def test_credit_is_filled_where_it_is_missing_only(make: Make) -> None:
    """An origin's address makes a task adapted; a declared license stays; what is missing is listed."""
    text = TOML.replace("[agent]", 'license = "MIT"\n\n[agent]')
    fill = Fill(license="Apache-2.0", origin_url="https://example.com/set")
    made, files = planned(make({"task.toml": text}), fill)
    metadata = document(files)["metadata"]
    assert isinstance(metadata, dict)
    assert (metadata["license"], metadata["origin"]) == ("MIT", "adapted")
    assert metadata["origin_url"] == "https://example.com/set"
    assert "not declared: `metadata.author_hub`" in notes(made, "credit")


@pytest.mark.parametrize(
    ("declared", "becomes"),
    [
        ("allow_internet = true", {"network_mode": "public"}),
        ("allow_internet = false", {"network_mode": "no-network"}),
        ('memory = "1.5G"\nstorage = "512M"', {"memory_mb": 1536, "storage_mb": 512}),
    ],
)
def test_deprecated_keys_get_their_modern_form(make: Make, declared: str, becomes: dict[str, object]) -> None:
    """A deprecated key is replaced where BenchFlow reads the same from the modern one, and that is told."""
    made, files = planned(make({"task.toml": f'version = "1.0"\n[environment]\n{declared}\n'}))
    assert document(files)["sandbox"] == becomes
    assert len(notes(made, "modern")) == len(becomes)


@pytest.mark.parametrize(
    "declared",
    ['allow_internet = true\nnetwork_mode = "no-network"', 'memory = "2G"\nmemory_mb = 100'],
)
def test_deprecated_keys_beside_modern_ones_stay(make: Make, declared: str) -> None:
    """Where both forms are declared the meaning may differ, so nothing is replaced."""
    made, files = planned(make({"task.toml": f'version = "1.0"\n[environment]\n{declared}\n'}))
    sandbox = document(files)["sandbox"]
    assert isinstance(sandbox, dict)
    assert len(sandbox) == 2
    assert notes(made, "modern") == []
    assert len(notes(made, "kept")) == 1


def test_unknown_keys_at_every_depth_are_set_aside(make: Make) -> None:
    """What BenchFlow does not model is under `benchflow.compat`, with its value and its path."""
    text = TOML + (
        'odd = 1\n[agent.deep.er]\nx = [1, { y = 2 }]\n[[environment.mcp_servers]]\nname = "a"\nurl = "http://a"\n'
        "odd = true\n[extra.table]\nwhen = 2024-01-02T03:04:05Z\n"
    )
    made, files = planned(make({"task.toml": text}))
    benchflow = document(files)["benchflow"]
    assert isinstance(benchflow, dict)
    extra = benchflow["compat"]["extra"]
    assert extra["sandbox"]["odd"] == 1
    assert extra["agent"]["deep"] == {"er": {"x": [1, {"y": 2}]}}
    assert extra["sandbox"]["mcp_servers"] == [{"odd": True}]
    assert "extra" in extra
    assert "`agent.deep`" in notes(made, "compat")[0]


def test_comments_go_over(make: Make) -> None:
    """Each comment of `task.toml` stands in the frontmatter, at the key that it stood at."""
    text = (
        '# top\nversion = "1.0" # old\n\n# about the agent\n[agent]\n# seconds # really\n'
        'timeout_sec = 300 # long\nname = "a # no comment"\n'
        "[environment]\nallow_internet = false # offline\n# the end\n"
    )
    _, files = planned(make({"task.toml": text}))
    lines = (files["task.md"].text or "").partition("\n---\n")[0].splitlines()
    assert lines[1] == "# top"
    assert lines[2].endswith("# old")
    assert lines.index("# about the agent") == lines.index("agent:") - 1
    assert "  # seconds # really" in lines
    assert "  timeout_sec: 300  # long" in lines
    assert "  network_mode: no-network  # offline" in lines
    assert lines[-1] == "# the end"
    assert sum("no comment" in line for line in lines) == 1


@pytest.mark.parametrize(
    "prompt",
    [
        "---\nnot frontmatter\n---\n",
        "## prompt\n\nDo it.\n\n## role:solver\n\ntext\n",
        "BENCHMARK DATA canary GUID 12345\n\n  Do it.  \n",
        "# Title\r\n\r\nDo it.\r\n",
        "ünïcode  \u2028 line\n",
    ],
)
def test_prompt_reads_back_equal(make: Make, prompt: str) -> None:
    """Whatever the instruction holds, BenchFlow's parser gives it back, stripped at its ends."""
    folder = make({"instruction.md": prompt.encode()})
    _, files = planned(folder)
    expected = prompt.replace("\r\n", "\n").strip()
    assert parse_document(files["task.md"].read()).prompt == expected


def test_text_that_looks_like_a_fence_stays_in_the_frontmatter(make: Make) -> None:
    """A multi-line value with a line of dashes does not end the frontmatter."""
    text = TOML.replace('"Somebody"', '"""a\n---\nb"""')
    _, files = planned(make({"task.toml": text}))
    metadata = document(files)["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["author_name"] == "a\n---\nb"


def test_verifier_keeps_its_working_directory(make: Make) -> None:
    """The strategy's command goes back to where Harbor runs the script, with the script's interpreter."""
    _, files = planned(make())
    text = files["verifier/verifier.md"].text or ""
    assert 'command: test -f ./test.sh && cd "$OLDPWD" && /bin/bash /verifier/test.sh' in text


def test_own_verifier_document_is_left_alone(make: Make) -> None:
    """A verifier that has its document gets no other."""
    own = "---\nverifier:\n  strategies:\n    s:\n      type: script\n      command: ./test.sh\n---\n"
    made, files = planned(make({"tests/verifier.md": own}))
    assert files["verifier/verifier.md"].text == own
    assert notes(made, "verifier") == []


def test_rubric_lists_the_checks(make: Make) -> None:
    """The rubric names the verifier's tests with their docstrings, and marks what a person must write."""
    tests = 'def test_one():\n    """The sum is right."""\n\n\nasync def test_two(tmp_path):\n    assert 1\n'
    _, files = planned(make({"tests/test_outputs.py": tests}))
    text = files["verifier/rubrics/verifier.md"].text or ""
    assert "- `test_one`: The sum is right." in text
    assert "- `test_two`\n" in text
    assert "TODO(author):" in text
    assert "[REPLACE:" not in text


def test_judge_gets_a_judge_s_strategy(make: Make) -> None:
    """A verifier that is a model's judgement gets a strategy of that type, and its rubric's path follows."""
    judge = 'type = "llm-judge"\n[verifier.judge]\nrubric_path = "tests/rubric.toml"\nmodel = "m"\n'
    text = TOML.replace("[environment]", f"{judge}[environment]")
    _, files = planned(make({"task.toml": text, "tests/test.sh": None, "tests/rubric.toml": "x = 1\n"}))
    assert "type: llm-judge\n      rubric: rubric.toml\n      model: m" in (
        files["verifier/verifier.md"].text or ""
    )
    verifier = document(files)["verifier"]
    assert isinstance(verifier, dict)
    assert verifier["judge"]["rubric_path"] == "verifier/rubric.toml"


def test_default_rubric_is_not_said_to_be_declared(make: Make) -> None:
    """Without `rubric_path` the rubric is at BenchFlow's default; where it is missing, that is said."""
    text = TOML.replace("[environment]", 'type = "llm-judge"\n[environment]')
    _, files = planned(make({"task.toml": text, "tests/rubric.toml": "x = 1\n"}, name="whole"))
    assert "rubric: rubric.toml" in (files["verifier/verifier.md"].text or "")
    assert document(files)["verifier"] == {"timeout_sec": 60.0, "type": "llm-judge"}
    made = plan(TaskPackage(make({"task.toml": text})))
    assert made.status == "unsupported"
    assert made.problem.startswith("`tests/rubric.toml` is missing, the default of")
    text = text.replace("[environment]", '[verifier.judge]\nrubric_path = "tests/mine.toml"\n[environment]')
    made = plan(TaskPackage(make({"task.toml": text}, name="mine")))
    assert made.problem.startswith("`verifier.judge.rubric_path` is `tests/mine.toml`;")


def test_missing_verifier_script_is_a_person_s_work(make: Make) -> None:
    """A task without `tests/test.sh` is migrated all the same, and the report says what it lacks."""
    made, files = planned(make({"tests/test.sh": None, "tests/test_outputs.py": "x = 1\n"}))
    assert "verifier/verifier.md" not in files
    assert any("`tests/test.sh` is missing" in said for said in notes(made, "person"))


def test_image_without_dockerfile_gets_one(make: Make) -> None:
    """A task that names an image only gets the Dockerfile that starts from it."""
    text = TOML + 'docker_image = "ghcr.io/a/b:1"\n'
    _, files = planned(make({"task.toml": text, "environment/Dockerfile": None}))
    assert files["environment/Dockerfile"].text == "FROM ghcr.io/a/b:1\n"


def test_dockerfile_at_the_root_moves_where_it_takes_nothing_along(make: Make) -> None:
    """A Dockerfile at the task's root moves into `environment/`, unless it copies files from the root."""
    folder = make({"environment/Dockerfile": None, "Dockerfile": "FROM a\nRUN true\n"})
    _, files = planned(folder)
    assert files["environment/Dockerfile"].text == "FROM a\nRUN true\n"
    assert "Dockerfile" not in files
    (folder / "Dockerfile").write_text("FROM a\nCOPY data /data\n")
    made = plan(TaskPackage(folder))
    assert made.status == "unsupported"
    assert "copies files from there" in made.problem


def test_ignored_files_stay_behind(make: Make) -> None:
    """What `.harborignore` keeps from Harbor's containers is left out, with the reason."""
    made, files = planned(make({"tests/.harborignore": "*.log\n", "tests/a.log": "x", "tests/b.txt": "y"}))
    assert "verifier/b.txt" in files
    assert not {"verifier/a.log", "verifier/.harborignore"} & set(files)
    assert len(notes(made, "left-out")) == 2


def test_compose_mounts_follow_the_folders(make: Make) -> None:
    """A compose file that mounts the task's folders mounts them under their new names."""
    compose = "services:\n  main:\n    volumes:\n      - ../tests:/tests\n      - ../tests-data:/d\n"
    _, files = planned(make({"environment/docker-compose.yaml": compose}))
    assert files["environment/docker-compose.yaml"].text == compose.replace("../tests:", "../verifier:")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"task.toml": TOML + '[[steps]]\nname = "one"\n'}, "several steps"),
        ({"task.toml": TOML + 'os = "windows"\n'}, "Windows"),
        ({"task.toml": TOML.replace("cpus = 1", "cpus = 0.5")}, "`environment.cpus` must be an integer"),
        ({"instruction.md": "Do it.\n\n\\## prompt\n"}, "drops the backslash"),
        ({"environment/Dockerfile": None}, "neither `environment/Dockerfile` nor"),
        ({"tests/test.sh": None, "tests/test.bat": "x"}, "for Windows only"),
    ],
)
def test_no_native_equivalent(make: Make, changes: dict[str, str | None], reason: str) -> None:
    """What BenchFlow can't run is unsupported, with the reason, and nothing is planned."""
    made = plan(TaskPackage(make(changes)))
    assert made.status == "unsupported"
    assert reason in made.problem
    assert made.actions == ()


def test_link_inside_the_task_still_points_to_the_same_file(make: Make) -> None:
    """A link between folders that are renamed is rewritten to where its target went."""
    folder = make({"environment/data.csv": "1\n"})
    (folder / "solution/same.csv").symlink_to("../environment/data.csv")
    (folder / "environment/check.sh").symlink_to("../tests/test.sh")
    _, files = planned(folder)
    assert files["oracle/same.csv"].read() == b"../environment/data.csv"
    assert files["environment/check.sh"].read() == b"../verifier/test.sh"


def test_task_inside_a_task_is_carried_over_and_told(make: Make) -> None:
    """An inner folder that looks like a task stays with the outer one, and the report says so."""
    made, files = planned(make({"other/task.toml": TOML, "other/instruction.md": "x"}))
    assert {"other/task.toml", "other/instruction.md"} <= set(files)
    assert any("`other/` looks like a task of its own" in said for said in notes(made, "files"))


def test_native_task_is_kept(tmp_path: Path, make: Make) -> None:
    """A package that is native already comes out as it went in."""
    native = Path(__file__).parents[1] / "good_tasks" / "native"
    task = TaskPackage(native)
    made = plan(task)
    files = result(task, made)
    assert {path: file.blob_id for path, file in files.items()} == {
        path: file.blob_id for path, file in task.files.items()
    }
    assert disagreement(task, made, files) == ""


POSTTRAIN = """\
---
# who
version: "1.0"
metadata:
  author_hub: somebody # handle
  license: MIT
  category: other
  origin: original
agent: {timeout_sec: 300}
verifier:
  timeout_sec: 60
environment:
  # offline
  allow_internet: false
  odd: 'a # b'
---

# Heading

Write it.
"""


def test_posttrain_becomes_native_with_its_comments_and_body(make: Make) -> None:
    """The frontmatter of a PostTrain task is renamed, its comments and its text stay."""
    folder = make(
        {
            "task.toml": None, "instruction.md": None, "task.md": POSTTRAIN,
            "tests/test.sh": None, "solution/solve.sh": None,
            "verifier/test.sh": "true\n", "oracle/solve.sh": "true\n",
        }
    )  # fmt: skip
    _, files = planned(folder, Fill(org="acme"))
    text = files["task.md"].text or ""
    found = document(files)
    assert found["schema_version"] == "1.0"
    assert found["sandbox"] == {"network_mode": "no-network"}
    assert found["task"] == {"name": "acme/answer"}
    for comment in ("# who", "# handle", "# offline"):
        assert comment in text
    assert text.endswith("## prompt\n\n# Heading\n\nWrite it.\n")
    assert HARBOR["instruction.md"] not in text
