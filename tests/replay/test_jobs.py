"""Finished jobs of other runners, and plans for BenchFlow."""

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seatrials.cli import main
from seatrials.errors import CannotJudgeError, UsageError
from seatrials.replay import bench, jobs
from seatrials.replay.store import Store
from seatrials.task.package import TaskPackage

Write = Callable[[Path, dict[str, str | bytes]], Path]


@pytest.fixture
def task(tmp_path: Path, write: Write) -> TaskPackage:
    """A native task on disk."""
    folder = write(
        tmp_path / "tasks" / "sums",
        {
            "task.md": '---\nschema_version: "1.3"\ntask: {name: a/sums}\n---\nSum.\n',
            "environment/Dockerfile": "FROM debian:bookworm-slim\n",
            "verifier/test.sh": "exit 0\n",
            "oracle/solve.sh": "exit 0\n",
            "oracle/notes.txt": "x\n",
        },
    )
    (folder / "link").symlink_to("task.md")
    past = time.time() - 1000
    for path in folder.rglob("*"):
        os.utime(path, (past, past), follow_symlinks=False)
    return TaskPackage(folder)


def bench_result(folder: Path, digest: str, **changes: Any) -> None:
    """Write one finished rollout of BenchFlow."""
    data = {
        "task_name": "sums",
        "rollout_name": folder.name,
        "rewards": {"reward": 1.0},
        "agent": "oracle",
        "error": None,
        "verifier_error": None,
        "timing": {"environment_setup": 2.0, "verifier": 3.0, "total": 9.0},
        "started_at": "2026-01-02 03:04:05.000006",
        "task_digest": digest,
        **changes,
    }
    (folder / "verifier").mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps(data))
    ctrf = {"results": {"tests": [{"name": "total", "status": "passed"}]}}
    (folder / "verifier" / "ctrf.json").write_text(json.dumps(ctrf))


def harbor_result(folder: Path, agent: str, reward: float | None, **changes: Any) -> None:
    """Write one finished trial of Harbor."""
    data = {
        "trial_name": folder.name,
        "task_name": "a/sums",
        "task_id": {"path": "/somewhere/sums"},
        "agent_info": {"name": agent, "version": "1"},
        "verifier_result": None if reward is None else {"rewards": {"reward": reward}},
        "exception_info": None,
        "started_at": "2099-01-01T00:00:00Z",
        "verifier": {"started_at": "2099-01-01T00:00:10Z", "finished_at": "2099-01-01T00:00:12Z"},
        **changes,
    }
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps(data))


def test_digest_is_benchflows(task: TaskPackage) -> None:
    """The digest is sha256 over path, NUL and the hash of each regular file, in path order."""
    digest = hashlib.sha256()
    for path in sorted(p for p in task.root.rglob("*") if p.is_file() and not p.is_symlink()):
        digest.update(path.relative_to(task.root).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    assert jobs.benchflow_digest(task.files) == f"sha256:{digest.hexdigest()}"


def test_benchflow_jobs(task: TaskPackage, tmp_path: Path) -> None:
    """Oracles and no-ops are told apart by the task they ran, attempts by their agent."""
    target = bench.targets_of([task])[0]
    done = tmp_path / "jobs"
    bench_result(done / "a" / "sums__1", target.digest)
    bench_result(done / "b" / "sums__2", target.noop_digest, rewards={"reward": 0.0})
    bench_result(done / "c" / "sums__3", target.digest, agent="claude", rewards={"reward": 0.0})
    bench_result(done / "d" / "sums__4", "sha256:other")
    failed = {"rewards": None, "verifier_error": "no reward file", "verifier_error_category": "verifier"}
    bench_result(done / "e" / "sums__5", target.digest, started_at="2026-02-02 03:04:05", **failed)
    found = list(jobs.collect(done, [target]))
    told = {(trial.kind, trial.rerun, trial.reward) for trial in found}
    assert told == {("oracle", 1, 1.0), ("noop", 1, 0.0), ("agent", 1, 0.0), ("oracle", 2, None)}
    last = next(trial for trial in found if trial.rerun == 2)
    assert last.failure is not None
    assert (last.failure.blame, last.failure.message) == ("task", "bench: no reward file")
    assert found[0].timings["verifier"] == 3.0
    assert found[0].checks[0].name == "total"


def test_harbor_jobs(task: TaskPackage, tmp_path: Path) -> None:
    """Harbor's trials are matched by name; one from before the task's last change is left out."""
    done = tmp_path / "jobs"
    harbor_result(done / "sums__a", "oracle", 1.0)
    harbor_result(done / "sums__b", "nop", 0.0)
    harbor_result(done / "sums__c", "oracle", 1.0, started_at="2001-01-01T00:00:00Z")
    crash = {"exception_type": "DaytonaError", "exception_message": "quota"}
    harbor_result(done / "sums__d", "terminus", None, exception_info=crash)
    (done / "sums__e").mkdir()
    (done / "sums__e" / "result.json").write_text("[" * 50_000)
    found = list(jobs.collect(done, bench.targets_of([task])))
    assert [(trial.kind, trial.reward) for trial in found] == [
        ("oracle", 1.0),
        ("noop", 0.0),
        ("agent", None),
    ]
    assert found[0].timings == {"verifier": 2.0}
    assert found[2].failure is not None
    assert found[2].failure.blame == "machine"


def test_collect_gives_verdict_and_band(task: TaskPackage, tmp_path: Path) -> None:
    """Collected trials give a verdict and a band, and are stored once however often they are read."""
    target = bench.targets_of([task])[0]
    done = tmp_path / "jobs"
    for n in range(8):
        bench_result(done / f"o{n}" / "s", target.digest)
        bench_result(done / f"n{n}" / "s", target.noop_digest, rewards={"reward": 0.0})
    for n in range(4):
        bench_result(done / f"m{n}" / "s", target.digest, agent="m", rewards={"reward": float(n == 0)})
    report = bench.report_jobs([task], done, root=tmp_path)
    assert (report.tasks[0].verdict, report.tasks[0].band) == ("accepted", (1, 4))
    bench.report_jobs([task], done, root=tmp_path)
    assert len(Store(tmp_path).load()) == 20


def test_nothing_to_collect(task: TaskPackage, tmp_path: Path) -> None:
    """A task without finished trials stays open; a folder that is not there is a usage error."""
    (tmp_path / "jobs").mkdir()
    report = bench.report_jobs([task], tmp_path / "jobs", root=tmp_path)
    assert (report.tasks[0].verdict, report.exit_code) == ("inconclusive", 5)
    with pytest.raises(UsageError, match="not a folder"):
        bench.report_jobs([task], tmp_path / "none", root=tmp_path)


def test_plan(task: TaskPackage, tmp_path: Path) -> None:
    """A plan holds the task as it is and as a no-op, and one command for each kind and rerun."""
    plan = bench.lay_out(
        [task], tmp_path / "plan", kinds=("oracle", "noop"), reruns=2, sandbox="daytona", concurrency=3
    )
    assert len(plan.commands) == 4
    assert plan.commands[0] == (
        "bench", "eval", "run", "--tasks-dir", "oracle", "--agent", "oracle",
        "--sandbox", "daytona", "--concurrency", "3", "--jobs-dir", "jobs/oracle-1",
    )  # fmt: skip
    noop = TaskPackage(plan.folder / "noop" / "sums")
    assert set(noop.files) == {*task.files} - {"oracle/notes.txt"}
    assert noop.files["oracle/solve.sh"].read() == jobs.NOOP_SCRIPT
    target = bench.targets_of([task])[0]
    assert jobs.benchflow_digest(noop.files) == target.noop_digest
    assert jobs.benchflow_digest(TaskPackage(plan.folder / "oracle" / "sums").files) == target.digest
    assert "bench eval run" in (plan.folder / "run.sh").read_text()
    with pytest.raises(UsageError, match="already"):
        bench.lay_out([task], tmp_path / "plan", kinds=("noop",), reruns=1, sandbox="docker", concurrency=1)


@pytest.mark.parametrize(("said", "good"), [("benchflow 0.7.11\n", True), ("benchflow 0.8.0\n", False)])
def test_only_the_pinned_benchflow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, good: bool
) -> None:
    """Another BenchFlow than the one whose results are known is refused, and so is none."""
    program = tmp_path / "bench"
    program.write_text(f"#!/bin/sh\nprintf '{said.strip()}\\n'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    if good:
        bench.check_version()
    else:
        with pytest.raises(CannotJudgeError, match=r"0\.7\.11"):
            bench.check_version()
    program.unlink()
    with pytest.raises(CannotJudgeError, match=r"0\.7\.11"):
        bench.check_version()


def test_bench_engine_runs_and_reads_back(
    task: TaskPackage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--engine bench` runs the plan by the command on PATH and judges on what it wrote."""
    program = tmp_path / "bin" / "bench"
    program.parent.mkdir()
    target = bench.targets_of([task])[0]
    result = {"rollout_name": "x", "agent": "oracle", "started_at": "2026-01-01 00:00:00"}
    program.write_text(
        "#!/bin/sh\n[ $1 = --version ] && { echo benchflow 0.7.11; exit; }\n"
        f"digest={target.digest} reward=1\n[ $4 = noop ] && digest={target.noop_digest} reward=0\n"
        'mkdir -p ${12}/x && printf \'{%s, "task_digest": "%s", "rewards": {"reward": %s}}\''
        f" '{json.dumps(result)[1:-1]}' $digest $reward > ${{12}}/x/result.json\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    assert main(["replay", "sums", "--engine", "bench", "--reruns", "8"]) == 0
    assert "accepted     sums  oracle 8 of 8, no-op 8 of 8" in capsys.readouterr().out
    left = {path.name for path in (tmp_path / ".seatrials" / "bench").glob("*/*")}
    assert left == {"jobs", "run.sh"}
    program.write_text("#!/bin/sh\necho benchflow 0.7.11\necho no such sandbox\n")
    assert main(["replay", "sums", "--engine", "bench"]) == 5
    assert "no such sandbox" in capsys.readouterr().err


def test_plan_option_runs_nothing(
    task: TaskPackage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--plan` leaves commands and needs no BenchFlow; without `--engine bench` it is a usage error."""
    monkeypatch.chdir(tmp_path)
    assert main(["replay", "sums", "--engine", "bench", "--plan", "out", "--only", "noop"]) == 0
    assert "commands: 1, in" in capsys.readouterr().out
    assert (tmp_path / "out" / "run.sh").exists()
    assert main(["replay", "sums", "--plan", "out2"]) == 2
