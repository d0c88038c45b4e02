"""`seatrials migrate` and `seatrials export` as a user meets them."""

import json
import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml

from seatrials.cli import main
from seatrials.flows import migrate as flow
from seatrials.migrate.run import Options
from seatrials.replay import runner
from seatrials.replay.model import Blame, CheckCount, Failure, ReplayReport, TaskReplay, Trial
from seatrials.replay.runner import ReplayOptions, Silent
from seatrials.task.package import TaskPackage

from .conftest import TOML, Make

SCHEMA = Path(__file__).parents[2] / "docs" / "migrate.schema.json"


def run(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    """Run the command and return its exit code and what it printed."""
    code = main([str(word) for word in words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_without_a_place_nothing_is_written(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither `--out` nor `--in-place`: the report says what would be, and that nothing was."""
    folder = make()
    before = sorted(tmp_path.rglob("*"))
    code, out, _ = run(capsys, "migrate", folder)
    assert code == 0
    assert "nothing written: add `--out DIR` or `--in-place`" in out
    assert "`task.name` is `your-org/answer`" in out
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--org", "a b", "`task.name`"),
        ("--org", "a..b", "`task.name`"),
        ("--author-hub", "ada@example.org", "no Hub handle"),
        ("--license", "Apache 2", "no SPDX expression"),
        ("--origin-url", "example", "no `http` or `https` address"),
    ],
)
def test_credit_for_a_whole_set_is_held_to_the_rules_first(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, value: str, said: str
) -> None:
    """A value that `check` would find in every task is a usage error, and nothing is written."""
    code, _, error = run(capsys, "migrate", make(), "--out", tmp_path / "out", option, value)
    assert code == 2
    assert option in error
    assert said in error
    assert not (tmp_path / "out").exists()


def test_a_prompt_keeps_its_byte_order_mark(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The runtimes read it as a character of the prompt: there and back, the prompt is the same."""
    text = "\ufeffWrite the sum to `/app/sum.txt`.\n"
    folder = make({"instruction.md": text})
    assert run(capsys, "migrate", folder, "--out", tmp_path / "native")[0] == 0
    native = tmp_path / "native/tasks" / folder.name
    assert text in (native / "task.md").read_text("utf-8")
    assert run(capsys, "export", native, "--out", tmp_path / "back")[0] == 0
    assert (tmp_path / "back/tasks" / folder.name / "instruction.md").read_text("utf-8").strip(
        "\n"
    ) == text.strip("\n")


def test_export_says_exported(make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody migrated anything: text and page say what was done."""
    page = tmp_path / "page.md"
    code, out, _ = run(capsys, "export", make(), "--out", tmp_path / "out", "--report", page)
    assert (code, out.splitlines()[-1]) == (0, "1 task: 1 exported")
    assert "| exported | 1 |" in page.read_text("utf-8")


def test_export_onto_its_source_proposes_no_option_that_it_lacks(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`export` has no `--in-place`."""
    folder = make()
    code, _, error = run(capsys, "export", folder, "--out", folder)
    assert (code, "--in-place" in error) == (2, False)


def test_dry_run_shows_each_file_and_the_changes(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    """The plan names every file's fate and shows changed text as a diff."""
    folder = make({"solution/solve.sh": "cp /solution/x /app\n", "solution/x": "1"})
    _, out, _ = run(capsys, "migrate", folder, "--dry-run")
    lines = out.splitlines()
    assert "move       tests/test.sh -> verifier/test.sh" in lines
    assert "rewrite    solution/solve.sh -> oracle/solve.sh" in lines
    assert "-cp /solution/x /app" in lines
    assert "+cp /oracle/x /app" in lines
    assert "+network_mode: no-network" in [line.replace("+  ", "+") for line in lines]
    assert "leave out  task.toml  (its content is in `task.md`)" in lines


def test_report_of_a_set(make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Failures come first, notes are counted by kind, and a Markdown page says the same."""
    for name in ("one", "two", "three"):
        make(name=name)
    make({"task.toml": "= broken"}, name="four")
    page = tmp_path / "report.md"
    code, out, _ = run(
        capsys, "migrate", tmp_path / "src", "--out", tmp_path / "out", "--report", page, "--team-name", "us"
    )
    assert code == 1
    assert out.splitlines()[0].startswith("failed ")
    assert out.splitlines()[-1] == "4 tasks: 3 migrated with notes, 1 failed"
    text = page.read_text()
    assert "| failed | 1 |" in text
    assert "| `four` | failed | `task.toml` is not valid TOML" in text
    assert "| 3 | modern | " in text
    manifest = yaml.safe_load((tmp_path / "out/submission.yaml").read_text())
    assert manifest == {"team_name": "us", "track": "environments"}


def test_json_follows_its_schema(make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON report keeps to `docs/migrate.schema.json`, with and without diffs and failures."""
    make()
    make({"task.toml": TOML + 'os = "windows"\n'}, name="win")
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    for words in (["--dry-run"], ["--out", str(tmp_path / "out")]):
        _, out, _ = run(capsys, "migrate", tmp_path / "src", "--format", "json", *words)
        data = json.loads(out)
        jsonschema.validate(data, schema)
        assert data["summary"]["by_status"]["unsupported"] == 1


def test_limit_takes_some(make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--limit` writes that many tasks, for `export` of a Harbor set, too."""
    for number in range(6):
        make(name=f"t{number}")
    for command in ("migrate", "export"):
        code, _, _ = run(capsys, command, tmp_path / "src", "--limit", "4", "--out", tmp_path / command)
        assert code == 0
        assert len(list((tmp_path / command / "tasks").iterdir())) == 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--team-name", "us"], "`--team-name` needs `--out`"),
        (["--replay"], "`--replay` needs `--out` or `--in-place`"),
        (["--in-place"], "is not under git"),
    ],
)
def test_what_can_t_be_asked(
    make: Make, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    """What makes no sense, or could not be undone, is a usage error in one line."""
    code, _, err = run(capsys, "migrate", make(), *words)
    assert code == 2
    assert said in err
    assert err.count("\n") == 1


def test_out_onto_the_source_is_refused(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--out` never becomes an in-place migration, not with `--force` either."""
    folder = make()
    (tmp_path / "tasks").symlink_to(tmp_path / "src")
    code, _, err = run(capsys, "migrate", folder, "--out", tmp_path, "--force")
    assert code == 2
    assert "would write onto" in err
    assert TaskPackage(folder).format == "harbor"


def test_an_interrupted_run_is_put_right_where_it_wrote(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A task that was away from `--out` when a run was killed is back before anything is written."""
    place = tmp_path / "out/tasks"
    (place / ".answer.seatrials-old").mkdir(parents=True)
    (place / ".answer.seatrials-old" / "mine").write_text("mine")
    (place / ".other.seatrials-new").mkdir()
    code, out, err = run(capsys, "migrate", make(), "--out", tmp_path / "out")
    assert (code, "is there already" in out) == (1, True)
    assert "answer` is whole again" in err
    assert "other" not in err
    assert [path.relative_to(place).as_posix() for path in place.rglob("*")] == ["answer", "answer/mine"]


def test_a_report_that_cannot_be_written_is_one_line(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A `--report` in a folder that is not there is told with exit code 2."""
    code, _, err = run(capsys, "migrate", make(), "--report", tmp_path / "no" / "page.md")
    assert code == 2
    assert "can't be written" in err


def test_in_place_asks_for_a_clean_git_state(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A committed task is replaced; one with a change nobody committed is not, unless forced."""
    folder = make()
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path))
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "x")):
        subprocess.run([*git, *words], check=True)
    (folder / "environment/new").write_text("x")
    code, _, err = run(capsys, "migrate", folder, "--in-place")
    assert code == 2
    assert "is not committed" in err
    (folder / "environment/new").unlink()
    prompt = (folder / "instruction.md").read_bytes()
    (folder / "instruction.md").write_bytes(prompt + b"more\n")
    said = f"`{(folder / 'instruction.md').relative_to(tmp_path)}` is not committed"
    assert said in run(capsys, "migrate", folder, "--in-place")[2]
    (folder / "instruction.md").write_bytes(prompt)
    assert run(capsys, "migrate", folder, "--in-place")[0] == 0
    assert TaskPackage(folder).format == "native"
    (folder / "environment/new").write_text("x")
    assert run(capsys, "migrate", folder, "--in-place", "--force")[0] == 0


def _replay(rewards: dict[str, float | None], blame: Blame = "machine") -> object:
    """Return a stand-in for the replay room: a task's oracle gets the reward of its format."""

    def replay(tasks: list[TaskPackage], *_: object) -> ReplayReport:
        def one(task: TaskPackage) -> TaskReplay:
            reward = rewards[task.format]
            failure = None if reward is not None else Failure(blame=blame, phase="start", message="no")
            trial = Trial(
                task=task.name, content_hash="", kind="oracle", rerun=1, reward=reward, failure=failure
            )
            return TaskReplay(
                name=task.name, content_hash="", verdict="passing", reasons=(), trials=(trial,),
                checks={"a": CheckCount(runs=1, passed=int(reward or 0))},
            )  # fmt: skip

        return ReplayReport(tasks=tuple(one(task) for task in tasks))

    return replay


@pytest.mark.parametrize(
    ("before", "after", "blame", "code"),
    [
        (1.0, 1.0, "machine", 0),
        (1.0, 0.0, "machine", 1),
        (None, None, "task", 5),
        (None, 1.0, "task", 5),
        (1.0, None, "machine", 5),
        (1.0, None, "task", 1),
    ],
)
def test_replays_before_and_after_are_compared(
    make: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: float | None,
    after: float | None,
    blame: Blame,
    code: int,
) -> None:
    """Equal rewards pass, different ones do not; no reward before, or a failed machine, proves nothing."""
    monkeypatch.setattr(runner, "replay", _replay({"harbor": before, "native": after}, blame))
    tasks = [TaskPackage(make())]
    report = flow.replayed(
        tasks,
        lambda: flow.migrate(flow.Sources(tasks=tuple(tasks)), Options(out=tmp_path / "out"), jobs=1),
        ReplayOptions(root=tmp_path),
        Silent(),
    )
    assert [one.equal for one in report.replays] == [before == after]
    assert report.exit_code == code


def test_replayed_tasks_are_shown(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each report shows what the trials gave on both sides."""
    from seatrials.report import migrate_json, migrate_markdown, migrate_text

    monkeypatch.setattr(runner, "replay", _replay({"harbor": 1.0, "native": 0.0}))
    tasks = [TaskPackage(make())]
    report = flow.replayed(
        tasks,
        lambda: flow.migrate(flow.Sources(tasks=tuple(tasks)), Options(out=tmp_path / "out"), jobs=1),
        ReplayOptions(root=tmp_path),
        Silent(),
    )
    assert "replayed differently: answer" in migrate_text.render(report)
    assert "| `answer` | oracle 1: reward 1 | oracle 1: reward 0 | differs |" in migrate_markdown.render(
        report
    )
    data = json.loads(migrate_json.render(report))
    jsonschema.validate(data, json.loads(SCHEMA.read_text()))
    assert data["replays"][0]["after"] == ["oracle 1: reward 0"]


def test_a_terminal_shows_how_far_it_is(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Over many tasks standard error counts them on a terminal, wiped at the end, and is silent elsewhere."""
    for number in range(60):
        make(name=f"t{number}")
    words = ["migrate", tmp_path / "src", "--jobs", "1", "--out"]
    assert run(capsys, *words, tmp_path / "quiet")[2] == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    err = run(capsys, *words, tmp_path / "watched")[2]
    assert " of 60 tasks" in err
    assert err.endswith("\r\033[K")


def _registry(folder: Path, *tasks: dict[str, str]) -> Path:
    path = folder / "registry.json"
    data = [{"name": "set", "version": "1.0", "description": "", "tasks": list(tasks)}]
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_a_registry_names_its_tasks(make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tasks of a registry that are here are turned; each that is elsewhere is told with where it is."""
    for name in ("one", "two", "three"):
        make(name=name)
    url = "https://example.org/set.git"
    registry = _registry(
        tmp_path / "src",
        {"name": "one", "path": "one"},
        {"name": "two", "path": "two", "git_url": url},
        {"name": "far", "path": "tasks/far", "git_url": url},
        {"name": "gone", "path": "gone"},
        {"name": "out", "path": "../../etc"},
    )
    code, out, _ = run(capsys, "migrate", registry, "--out", tmp_path / "out")
    assert code == 1
    assert {path.name for path in (tmp_path / "out/tasks").iterdir()} == {"one", "two"}
    assert f"unsupported  far: `{registry}` has it at `tasks/far` of {url}; clone that" in out
    assert f"unsupported  gone: `{registry}` has it at `gone`, where there is no such folder" in out
    assert f"unsupported  out: `{registry}` has it at `../../etc`, where there is no such folder" in out
    code, out, _ = run(capsys, "export", registry, "--limit", "1", "--format", "json")
    assert json.loads(out)["summary"]["by_status"]["unsupported"] == 3
    assert json.loads(out)["summary"]["tasks"] == 4


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[1]",
        '[{"name": "x"}]',
        '[{"tasks": [1]}]',
        '[{"tasks": [{"name": "x"}]}]',
        "[]",
        "[" * 10**5,
    ],
)
def test_what_is_no_registry_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    """A file that is no registry, or names no task, is a usage error in one line."""
    (tmp_path / "registry.json").write_text(text, encoding="utf-8")
    code, _, err = run(capsys, "migrate", tmp_path / "registry.json")
    assert code == 2
    assert "registry.json` " in err
    assert err.count("\n") == 1
