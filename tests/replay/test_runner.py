"""A whole run, against an engine that is not there."""

import errno
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from replay_helpers import FakeEngine, FakeRunning, failed_build

from seatrials.cli import main
from seatrials.replay import archive, runner
from seatrials.replay import trial as trial_module
from seatrials.replay.engine import LABEL, EngineGone, EngineRefused
from seatrials.replay.model import ReplayReport
from seatrials.replay.runner import ReplayOptions, replay
from seatrials.replay.store import Store
from seatrials.report import replay_github, replay_json, replay_text
from seatrials.report.replay_progress import Lines, Live
from seatrials.report.terminal import Terminal
from seatrials.task.package import TaskPackage

ROOT = Path(__file__).parents[2]

Write = Callable[[Path, dict[str, str | bytes]], Path]


@pytest.fixture
def task(tmp_path: Path, write: Write) -> Path:
    """A native task on disk that takes a variable from the host."""
    return write(
        tmp_path / "tasks" / "sums",
        {
            "task.md": '---\nschema_version: "1.3"\ntask: {name: a/b}\n'
            'sandbox: {env: {MODE: "${MODE:-x}"}}\n---\nSum.\n',
            "environment/Dockerfile": "FROM debian:bookworm-slim\n",
            "verifier/test.sh": "exit 0\n",
            "oracle/solve.sh": "exit 0\n",
        },
    )


def run(engine: FakeEngine, *tasks: Path, root: Path, **options: Any) -> ReplayReport:
    """Replay tasks on an engine."""
    values: dict[str, Any] = {"root": root, "buildkit": False, "host_env": {}, **options}
    return replay([TaskPackage(one) for one in tasks], ReplayOptions(**values), connect_engine=lambda: engine)


def test_oracle_and_noop(task: Path, tmp_path: Path) -> None:
    """Both kinds run in containers of their own, and nothing of ours is left on the engine."""
    engine = FakeEngine()
    report = run(engine, task, root=tmp_path)
    found = report.tasks[0]
    assert (found.verdict, report.exit_code) == ("passing", 0)
    assert len(engine.plans) == 2
    assert engine.alive == {}
    assert engine.tags == set()
    oracle = found.of("oracle")[0]
    assert (oracle.reward, oracle.peak_memory, oracle.image.architecture) == (1.0, 1048576, "amd64")
    assert oracle.image.base == ("debian:bookworm-slim@sha256:debian:bookworm-slim",)


def test_nothing_is_there_before_its_phase(task: Path, tmp_path: Path) -> None:
    """The no-op's container never holds the oracle, and the oracle's phase begins without the verifier."""
    engine = FakeEngine()
    seen: dict[str, list[str]] = {}

    def behave(script: str) -> int:
        if "oracle/solve.sh" in script:
            seen["oracle"] = next(names[:] for names in engine.uploads.values() if "oracle/solve.sh" in names)
        return 0

    engine.behave = behave
    run(engine, task, root=tmp_path, jobs=1)
    assert not any("verifier/test.sh" in name for name in seen["oracle"])
    noop = [names for names in engine.uploads.values() if "oracle/solve.sh" not in names]
    assert len(noop) == 1
    assert "verifier/test.sh" in noop[0]


def test_container_has_limits_and_no_mounts(task: Path, tmp_path: Path) -> None:
    """A container gets the declared limits, a process limit, our labels, and its variables filled in."""
    engine = FakeEngine()
    run(engine, task, root=tmp_path, host_env={"MODE": "strict"})
    plan = engine.plans[0]
    assert (plan.cpus, plan.memory, plan.env) == (1.0, 2048 * 1024**2, {"MODE": "strict"})
    assert plan.pids > 0
    assert LABEL in plan.labels
    assert not {"volumes", "mounts", "binds", "privileged"} & set(vars(plan))


def test_unset_variable_stops_before_anything_starts(task: Path, tmp_path: Path) -> None:
    """A variable that this machine lacks is told before a build, and is not blamed on the task."""
    text = (task / "task.md").read_text().replace("${MODE:-x}", "${MODE}")
    (task / "task.md").write_text(text)
    engine = FakeEngine()
    report = run(engine, task, root=tmp_path)
    assert report.exit_code == 5
    assert report.tasks[0].reasons == ("`sandbox.env.MODE` needs `MODE`, which is not set on this machine",)
    assert "build" not in engine.calls


def test_second_run_repeats_only_what_did_not_pass(task: Path, tmp_path: Path) -> None:
    """What passed is taken from the store; what changed, or was asked for by force, runs again."""
    run(FakeEngine(), task, root=tmp_path, reruns=2)
    again = FakeEngine()
    report = run(again, task, root=tmp_path, reruns=3)
    assert len(again.plans) == 2
    assert report.reused == 4
    assert [trial.rerun for trial in report.tasks[0].of("oracle")] == [1, 2, 3]
    none = FakeEngine()
    assert run(none, task, root=tmp_path, reruns=3).tasks[0].verdict == "passing"
    assert none.plans == []
    forced = FakeEngine()
    run(forced, task, root=tmp_path, force=True)
    assert len(forced.plans) == 2
    (task / "verifier" / "test.sh").write_text("exit 1\n")
    changed = FakeEngine()
    run(changed, task, root=tmp_path)
    assert len(changed.plans) == 2


def test_engine_gone_in_a_trial(task: Path, tmp_path: Path) -> None:
    """An engine that stops answering in a trial leaves the verdict open, with one reason."""
    engine = FakeEngine()

    def behave(script: str) -> int:
        engine.gone = True
        raise EngineGone("the Docker engine stopped answering (connection refused)")

    engine.behave = behave
    report = run(engine, task, root=tmp_path, jobs=1)
    assert (report.tasks[0].verdict, report.exit_code) == ("inconclusive", 5)
    assert any("stopped answering" in reason for reason in report.tasks[0].reasons)


def test_full_disk_of_this_machine(task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What this machine's disk refuses to keep is noted; the verdict stands all the same."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "trials.jsonl")

    monkeypatch.setattr(Store, "append", full)
    monkeypatch.setattr(trial_module, "_write_logs", full)
    report = run(FakeEngine(), task, root=tmp_path)
    assert (report.tasks[0].verdict, report.exit_code) == ("passing", 0)
    notes = report.tasks[0].of("oracle")[0].notes
    assert [note.partition(":")[0] for note in notes] == [
        "the logs could not be written",
        "not kept in the store",
    ]


def test_output_that_cannot_be_written_is_one_line(
    task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A report for a folder that is not there is told with exit code 2, and the trials stay in the store."""
    monkeypatch.chdir(tmp_path)

    def pretended(*words: Any) -> ReplayReport:
        return replay(*words, connect_engine=FakeEngine)

    monkeypatch.setattr(runner, "replay", pretended)
    place = tmp_path / "no" / "report.json"
    assert main(["replay", str(task), "--format", "json", "--output", str(place)]) == 2
    assert f"`{place}` can't be written" in capsys.readouterr().err
    assert len(Store(tmp_path).load()) == 2


@pytest.mark.parametrize("what", ["build", "put"])
def test_full_disk_where_files_are_gathered(
    task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """A disk that is full where files for the engine are gathered leaves the verdict open, in one reason."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(archive, "write_context" if what == "build" else "write_folders", full)
    report = run(FakeEngine(), task, root=tmp_path)
    assert (report.tasks[0].verdict, report.exit_code) == ("inconclusive", 5)
    assert any("No space left on device" in reason for reason in report.tasks[0].reasons)


def test_other_tasks_go_on_after_a_failed_build(task: Path, tmp_path: Path, write: Write) -> None:
    """A build that fails rejects its own task only."""
    other = write(
        tmp_path / "tasks" / "broken",
        {
            "task.toml": "",
            "instruction.md": "x",
            "tests/test.sh": "x",
            "solution/solve.sh": "x",
            "environment/Dockerfile": "FROM debian:bookworm-slim\nRUN false\n",
        },
    )

    class Engine(FakeEngine):
        def build(self, context: Any, **rest: Any) -> Any:
            if b"RUN false" in context.read():
                raise failed_build("The command '/bin/sh -c false' returned a non-zero code: 1")
            return super().build(io.BytesIO(), **rest)

    report = run(Engine(), other, task, root=tmp_path)
    assert [found.verdict for found in report.tasks] == ["rejected", "passing"]
    assert report.exit_code == 1


@pytest.mark.parametrize(("jobs", "limit"), [(1, 1), (2, 2), ("auto", 2)])
def test_results_do_not_depend_on_jobs(task: Path, tmp_path: Path, jobs: Any, limit: int) -> None:
    """However many run at a time, the verdict is the same, and no more run at a time than asked."""
    engine = FakeEngine()
    most = 0
    create = engine.create

    def count(plan: Any) -> str:
        nonlocal most
        name = create(plan)
        most = max(most, len(engine.alive))
        return name

    engine.create = count  # type: ignore[method-assign]
    report = run(engine, task, root=tmp_path, reruns=8, jobs=jobs)
    assert report.tasks[0].verdict == "accepted"
    assert most <= limit


def test_oracle_past_its_time(task: Path, tmp_path: Path) -> None:
    """An oracle that never ends is ended, verified all the same, and rejected for the limit."""
    engine = FakeEngine(behave=lambda script: None if "solve.sh" in script else 0)
    report = run(engine, task, root=tmp_path)
    assert report.tasks[0].verdict == "rejected"
    assert report.tasks[0].reasons == ("oracle: the oracle ran past `agent.timeout_sec` (3600 s)",)
    assert any("kill -9 -1" in script for script, _, _ in engine.scripts)


def test_verifier_past_its_time(task: Path, tmp_path: Path) -> None:
    """A verifier that hangs is ended with its container and gives no reward, whatever file is there."""
    engine = FakeEngine(behave=lambda script: None if "test.sh" in script else 0)
    report = run(engine, task, root=tmp_path)
    assert report.tasks[0].verdict == "rejected"
    assert all("`verifier.timeout_sec` (600 s)" in reason for reason in report.tasks[0].reasons)
    assert "kill" in engine.calls


def test_interrupt_leaves_nothing(task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends the run with every container and tag removed; ended trials stay in the store."""
    engine = FakeEngine()
    monkeypatch.setattr(runner, "_LAST_SWEEP", 2.0)

    class Observer(runner.Silent):
        def ended(self, trial: Any) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay(
            [TaskPackage(task)],
            ReplayOptions(root=tmp_path, buildkit=False, reruns=8, jobs=1),
            Observer(),
            connect_engine=lambda: engine,
        )
    assert engine.alive == {}
    assert engine.tags == set()
    assert "abort" in engine.calls
    assert len(Store(tmp_path).load()) >= 1


def test_start_refused_is_the_machines(task: Path, tmp_path: Path) -> None:
    """A container that the engine will not start is not the task's fault; an image without `sh` is."""
    for message, verdict in (
        ("failed to create shim task: out of memory", "inconclusive"),
        ('exec: "sh": executable file not found in $PATH', "rejected"),
    ):
        engine = FakeEngine()

        def refuse(container: str, message: str = message) -> None:
            raise EngineRefused(message, 500)

        engine.start = refuse  # type: ignore[method-assign]
        assert run(engine, task, root=tmp_path, force=True).tasks[0].verdict == verdict
        assert engine.alive == {}


def test_report_names_phase_log_and_last_lines(task: Path, tmp_path: Path) -> None:
    """A failing trial shows its phase, the end of its log and where the whole log is."""
    log = b"".join(b"line %d\n" % n for n in range(30))
    engine = FakeEngine(logs=lambda oracle: {"verifier/reward.txt": b"0", "verifier/test-stdout.txt": log})
    report = run(engine, task, root=tmp_path)
    text = replay_text.render(report)
    assert "local replay" in text.splitlines()[0]
    assert "oracle scored 0, not 1, on 1 of 1" in text
    assert "| line 29" in text
    assert "| line 9\n" not in text
    folder = text.split("log in `")[1].split("`")[0]
    assert (Path(folder) / "verifier" / "test-stdout.txt").read_bytes() == log


def test_lines_tell_each_event(task: Path, tmp_path: Path) -> None:
    """Off a terminal there is one line per event."""
    stream = io.StringIO()
    replay(
        [TaskPackage(task)],
        ReplayOptions(root=tmp_path, buildkit=False),
        Lines(stream),
        connect_engine=FakeEngine,
    )
    text = stream.getvalue()
    assert "1 task, 2 trials to run" in text
    assert "sums: oracle 1: reward 1" in text
    assert "sums: no-op 1: reward 0" in text


@pytest.mark.parametrize("reward", [b"0", b"1"])
def test_json_report_keeps_to_its_schema(task: Path, tmp_path: Path, reward: bytes) -> None:
    """The JSON report of passing and failing tasks is what the published schema says."""
    ctrf = b'{"results": {"tests": [{"name": "total\\u001b", "status": "passed"}]}}'
    engine = FakeEngine(
        logs=lambda oracle: {
            "verifier/reward.txt": reward if oracle else b"0",
            "verifier/ctrf.json": ctrf,
        }
    )
    broken = tmp_path / "tasks" / "broken"
    broken.mkdir()
    (broken / "task.toml").write_text("")
    data = json.loads(replay_json.render(run(engine, task, broken, root=tmp_path)))
    schema = json.loads((ROOT / "docs" / "replay.schema.json").read_text("utf-8"))
    jsonschema.validate(data, schema)
    first, second = data["tasks"]
    assert (first["oracle"], first["noop"]) == (
        {"runs": 1, "passed": int(reward)},
        {"runs": 1, "passed": 1},
    )
    assert first["checks"] == {"total\\x1b": {"runs": 1, "passed": 1}}
    assert (second["verdict"], data["summary"]["rejected"]) == ("rejected", 2 - int(reward))


def test_github_report(task: Path, tmp_path: Path) -> None:
    """A rejection is an error at the task's own file, escaped as GitHub reads it; a pass is none."""
    engine = FakeEngine(logs=lambda oracle: {"verifier/reward.txt": b"50%,"})
    text = replay_github.render(run(engine, task, root=tmp_path), root=tmp_path)
    assert text.startswith("::error file=tasks/sums/task.md,title=local replay%3A sums rejected::")
    assert "50%25," in text
    passing = replay_github.render(run(FakeEngine(), task, root=tmp_path, force=True), root=tmp_path)
    assert "::" not in passing


def test_live_table_wipes_itself(task: Path, tmp_path: Path) -> None:
    """On a terminal the table shows what runs, leaves verdicts above it, and is gone in the end."""
    stream = io.StringIO()
    live = Live(stream, Terminal(width=60))
    replay([TaskPackage(task)], ReplayOptions(root=tmp_path, buildkit=False), live, connect_engine=FakeEngine)
    live.close()
    text = stream.getvalue()
    assert "sums  oracle 1" in text
    assert "passing      sums\n" in text
    assert text.endswith("\x1b[J")
    assert all(len(line) < 60 for line in text.splitlines() if "\x1b" not in line)


def test_image_without_tar(task: Path, tmp_path: Path) -> None:
    """Where an image has no `tar`, files go in and out by the engine, with the same result."""
    engine = FakeEngine(has_tar=False)
    report = run(engine, task, root=tmp_path)
    assert (report.tasks[0].verdict, report.tasks[0].reasons) == ("passing", ())
    assert {"put", "get"} <= set(engine.calls)


def test_container_that_takes_no_files(task: Path, tmp_path: Path) -> None:
    """A container that can't take a phase's files, its disk being full say, is not the task's fault."""

    class Engine(FakeEngine):
        def open(self, *args: Any, **more: Any) -> FakeRunning:
            return FakeRunning([b"seatrials stuck\n"], 0)

    report = run(Engine(), task, root=tmp_path)
    assert report.tasks[0].verdict == "inconclusive"
    assert "could not take the files" in report.tasks[0].reasons[0]
