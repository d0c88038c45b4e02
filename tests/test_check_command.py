"""`seatrials check` as a user meets it: formats, selection, exit codes, the store, and being stopped."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seatrials.cli import main
from seatrials.rules import RULES_BY_CODE

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


@pytest.fixture
def bad(collection: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A collection whose only task has no verifier, and the working directory in it."""
    (collection / "tasks" / "sum-column" / "verifier" / "test.sh").unlink()
    monkeypatch.chdir(collection)
    return collection


def check(*words: str) -> int:
    """Run `seatrials check` in this process."""
    return main(["check", *words])


def run_check(*words: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run `seatrials check` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "seatrials", "check", *words],
        cwd=cwd,
        env=os.environ | env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def codes(text: str) -> list[str]:
    """Return the codes of the findings in a JSON report."""
    data = json.loads(text)
    found = [finding for task in data["tasks"] for finding in task["findings"]]
    return [finding["code"] for finding in (*found, *data["collection"]["findings"])]


def test_text_names_the_finding_and_counts(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The default output is text, the exit code 1 where the check fails."""
    assert check() == 1
    out = capsys.readouterr().out
    assert "tasks/sum-column\n  error    STR107  verifier/test.sh: no `verifier/test.sh`" in out
    assert out.endswith("1 task checked, 0 clean: 1 error\n")


def test_json_github_and_sarif_name_it_too(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each format has the same finding."""
    assert check("--format", "json") == 1
    assert codes(capsys.readouterr().out) == ["STR107"]
    assert check("--format", "github") == 1
    out = capsys.readouterr().out
    assert "::error file=" in out
    assert "tasks/sum-column/verifier/test.sh,title=STR107 error::no `verifier/test.sh`" in out
    assert check("--format", "sarif") == 1
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert result["ruleId"] == "STR107"


def test_annotations_start_at_the_workspace(
    bad: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a GitHub workflow files are named from GITHUB_WORKSPACE."""
    monkeypatch.setenv("GITHUB_WORKSPACE", str(bad.parent))
    check("--format", "github")
    assert "::error file=collection/tasks/sum-column/verifier/test.sh," in capsys.readouterr().out


def test_output_writes_the_report_and_prints_text(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--output puts the format into a file, replaces it whole, and people still get text."""
    (bad / "report.json").write_text("old")
    assert check("--format", "json", "--output", "report.json") == 1
    assert codes((bad / "report.json").read_text("utf-8")) == ["STR107"]
    assert capsys.readouterr().out.endswith("1 error\n")
    assert not [path for path in bad.iterdir() if path.name.startswith(".report")]


def test_output_to_a_link_is_written_where_it_leads(bad: Path) -> None:
    """--output never puts a file in the place of a link or a device, such as /dev/stdout."""
    (bad / "end.json").write_text("old")
    (bad / "link.json").symlink_to("end.json")
    assert check("--format", "json", "--output", "link.json") == 1
    assert (bad / "link.json").is_symlink()
    assert codes((bad / "end.json").read_text("utf-8")) == ["STR107"]


def test_output_never_becomes_a_part_of_a_task(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--output into a task's folder is refused: it would replace what the author wrote, or be published."""
    task = next(path for path in (bad / "tasks").iterdir() if (path / "environment").is_dir())
    before = (task / "task.md").read_bytes()
    for name in ("task.md", "environment/report.json"):
        assert check("--output", str(task / name)) == 2
        assert "lies in the task" in capsys.readouterr().err
        assert not (task / "environment/report.json").exists()
    assert (task / "task.md").read_bytes() == before


def test_an_empty_name_is_not_this_folder(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A variable that was not set must not stand for all that lies here."""
    assert check("") == 2
    assert "a name is empty" in capsys.readouterr().err


def test_output_that_can_not_be_written_is_one_line(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that is not there is a usage error."""
    assert check("--output", "no/such/report.json") == 2
    assert capsys.readouterr().err.startswith("seatrials: `no/such/report.json` can't be written")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 1),
        (["--select", "DOC"], 0),
        (["--select", "STR107"], 1),
        (["--ignore", "STR"], 0),
        (["--fail-on", "warning"], 1),
        (["--fail-on", "block"], 0),
        (["--profile", "benchflow", "--select", "STR107"], 0),
        (["--select", "NOP"], 2),
    ],
)
def test_exit_code_follows_what_was_asked_for(words: list[str], code: int, bad: Path) -> None:
    """Findings that were not asked for don't fail the check."""
    assert check(*words) == code


def test_fault_of_a_rule_exits_with_70(
    bad: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule that raises is told loudly, and the exit code is that of a fault, not of findings."""
    from seatrials.judge import pool
    from seatrials.judge.run import check_task
    from seatrials.rules.model import TaskRule

    def broken(task: object, **options: object) -> object:
        rule = TaskRule("STR101", "error", lambda _: iter(1 // 0 for _ in "x"))  # type: ignore[arg-type,misc]
        return check_task(task, rules=(rule,), **options)  # type: ignore[arg-type]

    monkeypatch.setattr(pool, "start_method", lambda: "fork")
    monkeypatch.setattr(pool, "check_task", broken)
    assert check("--no-cache") == 70
    captured = capsys.readouterr()
    assert "KIT102  a fault of seatrials in the rule STR101: ZeroDivisionError" in captured.out
    assert "not complete" in captured.err


def git(folder: Path, *words: str) -> None:
    """Run git in a folder."""
    identity = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org"}
    identity |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}
    subprocess.run(["git", *words], cwd=folder, env=os.environ | identity, check=True, capture_output=True)


def test_changed_checks_only_what_changed(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--changed leaves out what is found in untouched tasks; touching the task or the manifest brings it."""
    shutil.copytree(bad / "tasks" / "sum-column", bad / "tasks" / "twin")
    git(bad, "init", "--quiet")
    git(bad, "add", "--all")
    git(bad, "commit", "--quiet", "-m", "all")

    assert check("--changed", "HEAD") == 0
    assert "no task changed since `HEAD`" in capsys.readouterr().out
    assert check("--changed", "HEAD", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["summary"]["tasks"] == 0

    (bad / "tasks" / "twin" / "notes.txt").write_text("new")
    assert check("--changed", "HEAD", "--format", "json") == 1
    data = json.loads(capsys.readouterr().out)
    assert [task["name"] for task in data["tasks"]] == ["twin"]
    # The two share their `task.name`, which the collection's rules see although only one is shown.
    codes = sorted(finding["code"] for finding in data["collection"]["findings"])
    assert codes == ["COL104"]

    (bad / "submission.yaml").write_text("team_name: [\n")
    assert check("--changed", "HEAD", "--format", "json") == 1
    data = json.loads(capsys.readouterr().out)
    assert [task["name"] for task in data["tasks"]] == ["sum-column", "twin"]
    assert "COL101" in [finding["code"] for finding in data["collection"]["findings"]]


def test_changed_tells_of_credit_where_it_stands(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A changed task's credit is annotated in its file and line; what untouched tasks lack is left out."""
    for name in ("twin", "third"):
        shutil.copytree(bad / "tasks" / "sum-column", bad / "tasks" / name)
        document = bad / "tasks" / name / "task.md"
        text = document.read_text("utf-8").replace("sum-column", name)
        document.write_text(text.replace("license: Apache-2.0", "license: Apache 2"), "utf-8")
    git(bad, "init", "--quiet")
    git(bad, "add", "--all")
    git(bad, "commit", "--quiet", "-m", "all")
    (bad / "tasks" / "twin" / "notes.txt").write_text("new")
    check("--changed", "HEAD", "--format", "github")
    out = capsys.readouterr().out
    lines = (bad / "tasks/twin/task.md").read_text("utf-8").splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "license:" in text)
    assert f"file=tasks/twin/task.md,line={line},title=CRD102" in out
    assert out.count("CRD102") == 1


def test_changed_with_a_bad_revision_is_one_line(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A revision that git does not know is a usage error."""
    git(bad, "init", "--quiet")
    assert check("--changed", "nowhere") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("seatrials: `--changed nowhere`")


@pytest.mark.parametrize("word", ["0", "-1", "many", "1.5"])
def test_jobs_is_a_number_or_auto(word: str, bad: Path) -> None:
    """--jobs takes nothing else."""
    with pytest.raises(SystemExit) as stopped:
        check("--jobs", word)
    assert stopped.value.code == 2
    assert check("--jobs", "auto") == check("--jobs", "3") == 1


def test_results_are_stored_unless_unwanted(bad: Path, tmp_path: Path) -> None:
    """Results go to the user's cache folder; --no-cache writes none, and a spoilt store changes nothing."""
    store = tmp_path / "xdg" / "seatrials" / "check"
    first = run_check("--no-cache", cwd=bad, XDG_CACHE_HOME=str(tmp_path / "xdg"))
    assert not store.exists()
    second = run_check(cwd=bad, XDG_CACHE_HOME=str(tmp_path / "xdg"))
    (file,) = store.iterdir()
    assert file.stat().st_mode & 0o077 == 0
    file.write_bytes(file.read_bytes()[:-10])
    third = run_check(cwd=bad, XDG_CACHE_HOME=str(tmp_path / "xdg"))
    assert first.stdout == second.stdout == third.stdout
    assert first.returncode == second.returncode == third.returncode == 1


def test_stored_result_does_not_outlive_a_change(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After the task is mended, the finding is gone, and back when the mending is undone."""
    assert check() == 1
    script = bad / "tasks" / "sum-column" / "verifier" / "test.sh"
    good = (
        Path(__file__).parent / "good_tasks" / "collection" / "tasks" / "sum-column" / "verifier" / "test.sh"
    )
    shutil.copy(good, script)
    assert check() == 0, capsys.readouterr().out
    script.unlink()
    assert check() == 1


def test_defaults_and_waivers_hold_for_stored_results(
    collection: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A result that was stored before is judged by the manifest and the waivers of now."""
    monkeypatch.chdir(collection)
    document = collection / "tasks" / "sum-column" / "task.md"
    document.write_text(document.read_text("utf-8").replace("  license: Apache-2.0\n", ""), "utf-8")

    def now() -> list[str]:
        check("--format", "json")
        return codes(capsys.readouterr().out)

    assert now() == ["CRD102"]
    manifest = collection / "submission.yaml"
    before = manifest.read_text("utf-8")
    manifest.write_text(f"{before}license: MIT\n", "utf-8")
    assert now() == []
    manifest.write_text(before, "utf-8")
    (collection / "pyproject.toml").write_text(
        '[tool.seatrials.waivers]\nCRD102 = "being settled"\n', "utf-8"
    )
    assert now() == []
    assert check("-v") == 0
    assert "waived" in capsys.readouterr().out
    (collection / "pyproject.toml").unlink()
    assert now() == ["CRD102"]


def test_home_is_not_needed(bad: Path) -> None:
    """Without a home or with one that can't be written, the check is the same, only not stored."""
    assert run_check(cwd=bad, XDG_CACHE_HOME="", HOME="/dev/null").returncode == 1


@pytest.mark.parametrize("name", ["submission.yaml", "pyproject.toml"])
def test_pipe_in_the_place_of_a_collections_file_is_not_read(bad: Path, name: str) -> None:
    """A pipe named as the manifest or as the settings does not keep the check waiting for a writer."""
    (bad / name).unlink(missing_ok=True)
    os.mkfifo(bad / name)
    done = subprocess.run(
        [sys.executable, "-m", "seatrials", "check"],
        cwd=bad,
        timeout=120,
        check=False,
        stdout=subprocess.DEVNULL,
    )
    assert done.returncode == 1


def test_names_that_the_terminal_lacks_are_spelt_out(bad: Path) -> None:
    """A terminal of another encoding gets escapes, not an error."""
    (bad / "tasks" / "sum-column").rename(bad / "tasks" / "süm")
    done = run_check(cwd=bad, PYTHONIOENCODING="ascii")
    assert done.returncode == 1
    assert "tasks/s\\xfcm" in done.stdout


def test_escape_sequences_of_a_task_reach_no_output(bad: Path) -> None:
    """A file named with an escape sequence is spelt out in every format."""
    nasty = bad / "tasks" / "x\x1b]0;owned\x07\n::error::x"
    (bad / "tasks" / "sum-column").rename(nasty)
    for format_ in ("text", "json", "github", "sarif"):
        done = run_check("--format", format_, cwd=bad)
        assert done.returncode == 1
        assert "\x1b" not in done.stdout
        assert "\x07" not in done.stdout
        assert not [line for line in done.stdout.splitlines() if line.startswith("::error::x")]
        assert "owned" in done.stdout


@pytest.fixture
def many(bad: Path) -> Path:
    """A collection of 60 tasks."""
    for number in range(60):
        shutil.copytree(bad / "tasks" / "sum-column", bad / "tasks" / f"copy-{number}")
    return bad


def on_terminal(*words: str, cwd: Path, **env: str) -> tuple[str, str]:
    """Run `seatrials check` with a terminal for both its outputs and return what came out of each."""
    texts = []
    ends = [pty.openpty(), pty.openpty()]
    with subprocess.Popen(
        [sys.executable, "-m", "seatrials", "check", *words],
        cwd=cwd,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "80", "LINES": "24"} | env,
        stdout=ends[0][1],
        stderr=ends[1][1],
    ):
        for ours, theirs in ends:
            os.close(theirs)
            text = b""
            try:
                while chunk := os.read(ours, 65536):
                    text += chunk
            except OSError:  # the other end is closed
                pass
            os.close(ours)
            texts.append(text.decode())
    return texts[0], texts[1]


def test_terminal_gets_a_screen_with_colours(many: Path) -> None:
    """On a terminal the first look fits its height, in colour, and the progress leaves no trace."""
    out, err = on_terminal(cwd=many)
    assert len(out.splitlines()) <= 24
    assert "\x1b[31merror" in out
    assert "in 61 tasks" in out
    if "tasks" in err:
        assert err.endswith("\r\x1b[K")
    plain, _ = on_terminal(cwd=many, NO_COLOR="1")
    assert "\x1b" not in plain


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_interrupt_ends_at_once_and_leaves_nothing(bad: Path) -> None:
    """Ctrl-C in the middle of a check exits with 130, in one line, and no process stays."""
    task = bad / "tasks" / "sum-column"
    # A file that takes long to read keeps the workers busy; sparse, it takes no room.
    for number in range(20):
        copy = shutil.copytree(task, bad / "tasks" / f"copy-{number}")
        with (copy / "big.bin").open("wb") as stream:
            stream.truncate(4 * 1024**3)
    running = subprocess.Popen(
        [sys.executable, "-m", "seatrials", "check", "--jobs", "2"],
        cwd=bad,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    deadline = time.monotonic() + 60
    while len(workers := children.read_text().split()) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(workers) == 2
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert out == ""
    assert err == "seatrials: interrupted\n"
    assert not [pid for pid in workers if Path(f"/proc/{pid}/cmdline").exists()]


def test_every_code_can_be_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """Each rule, the check's own too, says what must hold, why, and what to do."""
    for code in RULES_BY_CODE:
        assert main(["explain", code.lower()]) == 0
        out = capsys.readouterr().out
        assert out.startswith(f"{code}, ")
        title, why, fix = out.rstrip().split("\n\n")
        assert len(title) > 20
        assert len(why) > 20
        assert fix.startswith("Fix: ")


def test_explain_of_an_unknown_code_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    """A mistyped code is a usage error with the code that may be meant."""
    assert main(["explain", "KIT109"]) == 2
    assert "did you mean `KIT10" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--help"], ["check", "--help"]])
def test_start_imports_nothing_heavy(words: list[str]) -> None:
    """Help is printed without loading a parser, a client, the table writer or the template engine."""
    script = (
        "import sys\nfrom seatrials.cli import main\n"
        f"try:\n    main({words!r})\nexcept SystemExit:\n    pass\n"
        "heavy = {'yaml', 'docker', 'pyarrow', 'tree_sitter', 'copier', 'jinja2', 'huggingface_hub'}\n"
        "print('LOADED', sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "LOADED []"


def test_check_needs_no_docker_client(bad: Path) -> None:
    """Checking loads neither the Docker client nor the table writer nor the template engine."""
    script = (
        "import sys\nfrom seatrials.cli import main\nmain(['check', '--no-cache'])\n"
        "heavy = {'docker', 'pyarrow', 'copier', 'jinja2', 'huggingface_hub'}\n"
        "print('LOADED', sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=bad, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "LOADED []"
