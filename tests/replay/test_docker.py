"""Real trials in real containers: the contract, and what can go wrong."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from seatrials.replay import buildkit, owner
from seatrials.replay import engine as engines
from seatrials.replay.model import TaskReplay
from seatrials.replay.runner import ReplayOptions, replay
from seatrials.task.package import TaskPackage

pytestmark = pytest.mark.docker

Write = Callable[[Path, dict[str, str | bytes]], Path]
Replay = Callable[..., TaskReplay]

FROM = "FROM debian:bookworm-slim\n"
PASS_IF_DONE = (
    "#!/bin/sh\nif [ -f /root/done ]; then r=1; else r=0; fi\necho $r > /logs/verifier/reward.txt\n"
)


@pytest.fixture
def engine() -> Iterator[engines.DockerEngine]:
    """The engine, which must have nothing of this test left when the test ends."""
    found = engines.connect()
    yield found
    found.close()


@pytest.fixture
def native(tmp_path: Path, write: Write) -> Callable[..., Path]:
    """Return a function that writes a native task."""

    def make(
        frontmatter: str = "",
        *,
        solve: str = "touch /root/done\n",
        test: str = PASS_IF_DONE,
        dockerfile: str = FROM,
        name: str = "sums",
        **more: str,
    ) -> Path:
        head = f'---\nschema_version: "1.3"\ntask: {{name: a/{name}}}\n{frontmatter}---\nSum.\n'
        content: dict[str, str | bytes] = {
            "task.md": head,
            "environment/Dockerfile": dockerfile,
            "verifier/test.sh": test,
            "oracle/solve.sh": solve,
        }
        return write(
            tmp_path / "tasks" / name, {**content, **{k.replace("__", "/"): v for k, v in more.items()}}
        )

    return make


@pytest.fixture
def run(tmp_path: Path) -> Replay:
    """Return a function that replays one task."""

    def one(task: Path, **options: Any) -> TaskReplay:
        return run_all(tmp_path, task, **options)[0]

    return one


def run_all(root: Path, *tasks: Path, **options: Any) -> list[TaskReplay]:
    """Replay tasks, two trials at a time."""
    values: dict[str, Any] = {"root": root, "buildkit": False, "jobs": 2, **options}
    return list(replay([TaskPackage(task) for task in tasks], ReplayOptions(**values)).tasks)


def mine(engine: engines.DockerEngine) -> list[str]:
    """Return the containers and tags on the engine that this process owns."""
    me = owner.this_process().text
    boxes = [box for box, labels in engine.containers(engines.LABEL) if labels.get(owner.OWNER_LABEL) == me]
    return boxes + [tag for tag in engine.images() if tag.endswith(me)]


def test_native_contract(native: Callable[..., Path], run: Replay, engine: engines.DockerEngine) -> None:
    """A native trial has what the contract promises: folders, users, variables, links, working directory."""
    solve = (
        "set -eu\n"
        '[ "$0" = /oracle/solve.sh ]\n[ "$PWD" = /work ]\n[ "$DEBIAN_FRONTEND" = noninteractive ]\n'
        '[ "$KEY" = none ]\n[ "$ALL" = yes ]\n[ ! -e /verifier ]\n[ ! -e /tests ]\n'
        "[ ! -S /var/run/docker.sock ]\n"
        "for d in agent verifier artifacts; do [ -w /logs/$d ]; done\n"
        "echo 1 > /logs/verifier/reward.txt\necho '{}' > /logs/verifier/reward.json\n"
        "touch /root/done\nexit 3\n"
    )
    test = (
        "#!/bin/sh\nset -eu\n"
        '[ "$PWD" = /work ]\n[ ! -e /logs/verifier/reward.txt ]\n[ ! -e /logs/verifier/reward.json ]\n'
        '[ -f /tests/data ]\n[ "$(readlink /tests)" = /verifier ]\n'
        '[ "$MODE" = strict ]\n[ "$ALL" = yes ]\n'
        "r=0; [ ! -f /root/done ] || r=1\n"
        'echo "{\\"reward\\": $r}" > /logs/verifier/reward.json\necho $r > /logs/verifier/reward.txt\n'
        'printf \'{"results": {"tests": [{"name": "done", "status": "passed"}]}}\''
        " > /logs/verifier/ctrf.json\n"
        "exit 1\n"
    )
    task = native(
        'oracle: {env: {KEY: "${NOT_SET_HERE:-none}"}}\nverifier: {env: {MODE: strict}}\n'
        "sandbox: {env: {ALL: 'yes'}, network_mode: no-network}\n",
        solve=solve,
        test=test,
        dockerfile=FROM + "WORKDIR /work\n",
        verifier__data="x",
    )
    found = run(task)
    assert found.reasons == ()
    assert found.verdict == "passing"
    oracle = found.of("oracle")[0]
    assert (oracle.oracle_exit, oracle.verifier_exit, oracle.reward) == (3, 1, 1.0)
    assert [check.name for check in oracle.checks] == ["done"]
    assert oracle.peak_memory
    assert set(oracle.timings) == {"start", "agent", "verifier", "collect"}
    assert found.of("noop")[0].oracle_exit is None
    assert mine(engine) == []


def test_harbor_contract(tmp_path: Path, write: Write, run: Replay) -> None:
    """A Harbor task's scripts run directly, without their run bit, in the declared working directory."""
    task = write(
        tmp_path / "tasks" / "sums",
        {
            "task.toml": "[environment]\nworkdir = '/srv'\nallow_internet = false\n[solution.env]\nA = 'b'\n",
            "instruction.md": "x",
            "environment/Dockerfile": FROM,
            "solution/solve.sh": '#!/bin/sh\n[ "$PWD$A$0" = /srvb/solution/solve.sh ] && touch /root/done\n',
            "tests/test.sh": '#!/bin/sh\n[ "$PWD" = /srv ] || exit 1\n[ ! -e /verifier ] || exit 1\n'
            + PASS_IF_DONE,
        },
    )
    for script in ("solution/solve.sh", "tests/test.sh"):
        (task / script).chmod(0o644)
    found = run(task)
    assert (found.verdict, found.reasons) == ("passing", ())


def test_network_is_off_where_declared(native: Callable[..., Path], run: Replay) -> None:
    """Without a network there is the loopback device alone; with one there are more."""
    test = '#!/bin/sh\nset -- /sys/class/net/*\necho "$# $*"\n'
    test += "[ $# = 1 ]; n=$?\n[ ! -f /root/done ] || n=$((1-n))\n"
    off = test + "echo $n > /logs/verifier/reward.txt\n"
    assert run(native("sandbox: {network_mode: no-network}\n", test=off)).verdict == "passing"
    assert run(native("sandbox: {network_mode: public}\n", test=off)).verdict == "rejected"


def test_users(native: Callable[..., Path], run: Replay) -> None:
    """The verifier runs as its declared user, and a reward that root left before is gone all the same."""
    task = native(
        "verifier: {user: nobody}\nagent: {user: '33'}\n",
        solve="[ $(id -u) = 33 ] || exit 1\ntouch /tmp/done\necho 1 > /logs/verifier/reward.json\n",
        test='#!/bin/sh\n[ "$(id -un)" = nobody ] || exit 1\n[ ! -e /logs/verifier/reward.json ] || exit 1\n'
        "[ -f /tmp/done ] && r=1 || r=0\necho $r > /logs/verifier/reward.txt\n",
    )
    assert (run(task).reasons, run(task).verdict) == ((), "passing")


def test_as_model(native: Callable[..., Path], run: Replay) -> None:
    """As a model's user, an oracle that needs root fails, and one that works in its folder passes."""
    needs_root = native(solve="touch /etc/done\n", test=PASS_IF_DONE.replace("/root/done", "/etc/done"))
    assert run(needs_root).verdict == "passing"
    assert run(needs_root, as_model=True).verdict == "rejected"
    fits = native(
        solve='[ "$(id -un):$HOME" = agent:/home/agent ] && touch done\n',
        test=PASS_IF_DONE.replace("/root/done", "/srv/work/done"),
        dockerfile=FROM + "WORKDIR /srv/work\n",
        name="fits",
    )
    assert (run(fits, as_model=True).reasons, run(fits, as_model=True).verdict) == ((), "passing")


def test_setup_and_healthcheck(native: Callable[..., Path], run: Replay) -> None:
    """Setup commands run before the agent's phase, and a healthcheck that fails rejects the task."""
    setup = "sandbox: {setup_commands: [{command: 'echo $X > /seed', env: {X: seeded}}]}\n"
    task = native(setup, solve="[ $(cat /seed) = seeded ] && touch /root/done\n")
    assert (run(task).reasons, run(task).verdict) == ((), "passing")
    sick = native(
        "sandbox: {healthcheck: {command: 'test -f /no', retries: 2, interval_sec: 0.1}}\n", name="sick"
    )
    found = run(sick)
    assert found.verdict == "rejected"
    assert "the healthcheck failed 2 times: `test -f /no`" in found.reasons[0]


def test_steps(tmp_path: Path, write: Write, run: Replay) -> None:
    """Steps run one after another, each with its own tests, and their rewards are averaged."""
    script = "#!/bin/sh\n[ -f /root/{0} ] && r=1 || r=0\necho $r > /logs/verifier/reward.txt\n"
    task = write(
        tmp_path / "tasks" / "sums",
        {
            "task.toml": "[[steps]]\nname = 'one'\n[[steps]]\nname = 'two'\n",
            "instruction.md": "x",
            "environment/Dockerfile": FROM + "WORKDIR /work\n",
            "steps/one/tests/test.sh": script.replace("{0}", "one"),
            "steps/one/solution/solve.sh": "#!/bin/sh\ntouch /root/one\n",
            "steps/two/workdir/setup.sh": "echo ready > /work/state\n",
            "steps/two/tests/test.sh": script.replace("{0}", "two"),
            "steps/two/solution/solve.sh": "#!/bin/sh\n[ -f /root/one ] && [ $(cat state) = ready ]"
            " && [ ! -e /tests/test.sh ] && touch /root/two\n",
        },
    )
    found = run(task)
    assert (found.reasons, found.verdict) == ((), "passing")
    assert found.of("oracle")[0].steps == {"one": 1.0, "two": 1.0}


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ("exit 0\n", "no reward file"),
        (
            "exit 137\n",
            "was written (the verifier exited with 137)",
        ),
        ("rm -rf /logs\n", "no reward file"),
        (
            "echo '{\"reward\": 1}' > /logs/verifier/reward.json; echo 0 > /logs/verifier/reward.txt\n",
            "must agree",
        ),
        ("ln -s /etc/hostname /logs/verifier/reward.txt\n", "no reward file"),
        ("kill -9 -1\nsleep 5\n", "no reward file"),
    ],
)
def test_verifier_without_a_reward(native: Callable[..., Path], run: Replay, test: str, words: str) -> None:
    """A verifier that ends without one clear reward rejects the task; it never counts as 0."""
    found = run(native(test="#!/bin/sh\n" + test), kinds=("noop",))
    assert found.verdict == "rejected"
    assert words in found.reasons[0]


def test_verifier_that_hangs(native: Callable[..., Path], run: Replay, engine: engines.DockerEngine) -> None:
    """A verifier that hangs is ended at its limit, what it wrote does not count, and its log is there."""
    test = "#!/bin/sh\necho 0 > /logs/verifier/reward.txt\necho waiting\ntrap '' TERM\nsleep 300\n"
    found = run(native("verifier: {timeout_sec: 1}\n", test=test), kinds=("noop",))
    assert found.reasons == ("no-op: the verifier ran past `verifier.timeout_sec` (1 s)",)
    assert found.trials[0].tail == ("waiting",)
    assert found.trials[0].seconds < 30
    assert mine(engine) == []


def test_verifier_that_forks_without_end(native: Callable[..., Path], run: Replay) -> None:
    """A fork bomb stays within its process limit and ends with the time limit; other tasks go on."""
    bomb = "#!/bin/sh\nf() { f | f & }\nf\nwhile :; do :; done\n"
    found = run(native("verifier: {timeout_sec: 2}\n", test=bomb), kinds=("noop",))
    assert found.verdict == "rejected"
    assert "`verifier.timeout_sec`" in found.reasons[0]
    assert run(native(name="next")).verdict == "passing"


def test_verifier_that_writes_a_huge_log(native: Callable[..., Path], run: Replay) -> None:
    """Of a log of 1 GB the ends are kept, and the reward counts."""
    test = "#!/bin/sh\necho begin\ndd if=/dev/zero bs=1M count=1024 2>/dev/null\necho end\n"
    test += "echo 0 > /logs/verifier/reward.txt\n"
    found = run(native(test=test), kinds=("noop",))
    assert found.verdict == "passing"
    log = Path(found.trials[0].log) / "verifier" / "test-stdout.txt"
    assert log.stat().st_size < 300_000
    assert log.read_bytes().startswith(b"begin\n")
    assert log.read_bytes().endswith(b"end\n")


def test_verifier_that_leaves_a_writer(
    native: Callable[..., Path], run: Replay, engine: engines.DockerEngine
) -> None:
    """A process that still writes after the verifier ended holds nothing up and changes nothing."""
    test = (
        "#!/bin/sh\n(while :; do echo more; echo more >> /logs/verifier/extra; done) &\n"
        "echo 0 > /logs/verifier/reward.txt\n"
    )
    found = run(native(test=test), kinds=("noop",))
    assert (found.verdict, found.reasons) == ("passing", ())
    assert mine(engine) == []


def test_oracle_that_never_ends(
    native: Callable[..., Path], run: Replay, engine: engines.DockerEngine
) -> None:
    """An oracle that never ends is ended at its limit with its children, and rejected for it."""
    found = run(
        native("agent: {timeout_sec: 1}\n", solve="touch /root/done\ntrap '' TERM\nsleep 300 & wait\n"),
        kinds=("oracle",),
    )
    assert found.verdict == "rejected"
    assert found.reasons == ("oracle: the oracle ran past `agent.timeout_sec` (1 s)",)
    assert found.trials[0].seconds < 30
    assert mine(engine) == []


def test_memory_limit(native: Callable[..., Path], run: Replay) -> None:
    """A verifier that is killed at the memory limit is rejected for that limit."""
    test = (
        "#!/bin/sh\nsh -c 'a=x; while :; do a=$a$a; done' || exit 137\necho 0 > /logs/verifier/reward.txt\n"
    )
    found = run(native("sandbox: {memory_mb: 64}\n", test=test), kinds=("noop",))
    assert found.verdict == "rejected"
    assert any("`memory_mb` (64 MB)" in reason for reason in found.reasons)


def test_oracle_at_the_memory_limit(native: Callable[..., Path], run: Replay) -> None:
    """An oracle that is killed at the memory limit and scores 0 is told the limit, not the score alone."""
    solve = "sh -c 'a=x; while :; do a=$a$a; done' && touch /root/done\n"
    found = run(native("sandbox: {memory_mb: 64}\n", solve=solve), kinds=("oracle",))
    assert any("`memory_mb` (64 MB)" in reason for reason in found.reasons)
    assert found.trials[0].reward == 0


def test_failed_build(native: Callable[..., Path], run: Replay, engine: engines.DockerEngine) -> None:
    """A build that fails rejects the task with the end of its log, and leaves nothing."""
    found = run(native(dockerfile=FROM + "RUN echo before && exit 7\n"))
    assert found.verdict == "rejected"
    assert "exit 7" in found.reasons[0]
    assert "before" in found.build_tail
    assert mine(engine) == []


def test_build_past_its_time(native: Callable[..., Path], run: Replay) -> None:
    """A build is ended at its limit."""
    began = time.monotonic()
    found = run(native("sandbox: {build_timeout_sec: 2}\n", dockerfile=FROM + "RUN sleep 300\n"))
    assert found.reasons == ("the build ran past `build_timeout_sec` (2 s)",)
    assert time.monotonic() - began < 60


def test_image_that_cannot_be_had(native: Callable[..., Path], run: Replay) -> None:
    """An image that is nowhere to be had leaves the verdict open, and the other tasks go on."""
    missing = native(dockerfile="FROM localhost:9/nothing:none\n", name="missing")
    found = run(missing)
    assert found.verdict == "inconclusive"
    assert "an image can't be had" in found.reasons[0]
    assert run(native()).verdict == "passing"


def test_container_ended_from_outside(
    native: Callable[..., Path], tmp_path: Path, engine: engines.DockerEngine
) -> None:
    """A container that is ended from outside in a trial is not the task's fault."""
    task = native(solve="sleep 60\n")

    def end_it() -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            for box in mine(engine):
                if not box.startswith("seatrials/"):
                    time.sleep(1.0)
                    other = engines.connect()
                    other.remove(box)
                    other.close()
                    return
            time.sleep(0.1)

    thread = threading.Thread(target=end_it)
    thread.start()
    found = run_all(tmp_path, task, kinds=("oracle",))[0]
    thread.join()
    assert found.verdict == "inconclusive", found.reasons
    assert "ended from outside" in found.reasons[0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_leaves_nothing(
    native: Callable[..., Path], tmp_path: Path, engine: engines.DockerEngine, number: int
) -> None:
    """Ctrl-C, SIGTERM and a closed terminal end a run at once, with exit code 130 and nothing left."""
    task = native(solve="sleep 120\n")
    child = _start(task, tmp_path)
    _wait_for_container(engine, child.pid)
    child.send_signal(number)
    output, _ = child.communicate(timeout=60)
    assert child.returncode == 130, output
    assert _of(engine, child.pid) == []


def test_leftovers_of_a_killed_run_go_at_the_next_start(
    native: Callable[..., Path], tmp_path: Path, engine: engines.DockerEngine
) -> None:
    """What a run that was killed left behind goes when the next one starts."""
    child = _start(native(solve="sleep 120\n"), tmp_path)
    _wait_for_container(engine, child.pid)
    child.kill()
    child.communicate(timeout=60)
    assert _of(engine, child.pid)
    run_all(tmp_path, native(name="next"), kinds=("noop",))
    assert _of(engine, child.pid) == []


def test_no_engine(native: Callable[..., Path], tmp_path: Path) -> None:
    """Without an engine there is one line and exit code 5."""
    done = subprocess.run(
        [sys.executable, "-m", "seatrials", "replay", str(native())],
        cwd=tmp_path,
        env={**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/no.sock"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 5
    assert done.stderr.count("\n") == 1
    assert "no Docker engine answers" in done.stderr


def test_keep(native: Callable[..., Path], run: Replay, engine: engines.DockerEngine) -> None:
    """With --keep the container stays, and the result says which one it is."""
    found = run(native(), keep=True, kinds=("noop",))
    box = found.trials[0].container
    try:
        assert engine.running(box)
    finally:
        engine.remove(box)
        for name in mine(engine):
            engine.remove_image(name)


def _start(task: Path, root: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "seatrials", "replay", str(task), "--only", "oracle"],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _of(engine: engines.DockerEngine, pid: int) -> list[str]:
    def owned(text: str) -> bool:
        found = owner.parse(text)
        return found is not None and found.pid == pid

    boxes = [
        box for box, labels in engine.containers(engines.LABEL) if owned(labels.get(owner.OWNER_LABEL, ""))
    ]
    return boxes + [tag for tag in engine.images() if owned(tag.partition(":")[2].partition("-")[2])]


def _wait_for_container(engine: engines.DockerEngine, pid: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if any(engine.running(box) for box in _of(engine, pid) if not box.startswith("seatrials/")):
            time.sleep(0.5)
            return
        time.sleep(0.1)
    raise AssertionError("the run started no container")


def test_shell_and_verify(
    native: Callable[..., Path], tmp_path: Path, engine: engines.DockerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person works as the model's user without verifier or oracle, and is judged by the verifier."""
    monkeypatch.chdir(tmp_path)
    task = native(
        test=PASS_IF_DONE.replace("/root/done", "/srv/work/done"), dockerfile=FROM + "WORKDIR /srv/work\n"
    )

    def command(*words: str, typed: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "seatrials", *words],
            input=typed, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip

    try:
        look = command("shell", str(task), typed="id -un; pwd; echo $HOME; ls -d /oracle /verifier /tests\n")
        assert look.stdout.split() == ["agent", "/srv/work", "/home/agent"]
        again = command("shell", str(task), typed="touch done\n")
        assert again.returncode == 0
        judged = command("verify", str(task))
        assert (judged.returncode, judged.stdout) == (0, "sums: reward 1\n")
        assert command("verify", str(task)).returncode == 2
        fresh = command("shell", str(task), "--root", typed="id -un; ls\n")
        assert fresh.stdout.split() == ["root"]
        assert command("verify", str(task)).returncode == 1
    finally:
        command("shell", str(task), "--close")
    left = [labels for _, labels in engine.containers(engines.LABEL) if str(task) in labels.values()]
    assert left == []


def test_network_of_a_phase(tmp_path: Path, write: Write, run: Replay) -> None:
    """A phase with a network of its own has that one, and the next phase its own again."""
    count = 'set -- /sys/class/net/*\necho "$# $*"\n'
    task = write(
        tmp_path / "tasks" / "sums",
        {
            "task.toml": "[agent]\nnetwork_mode = 'no-network'\n",
            "instruction.md": "x",
            "environment/Dockerfile": FROM,
            "solution/solve.sh": f"#!/bin/sh\n{count}[ $# = 1 ] && touch /root/done\n",
            "tests/test.sh": f"#!/bin/sh\n{count}[ $# -gt 1 ] || exit 1\n" + PASS_IF_DONE,
        },
    )
    found = run(task)
    assert (found.reasons, found.verdict) == ((), "passing")


@pytest.mark.parametrize("builder", ["classic", "buildx"])
def test_interrupt_in_a_build(native: Callable[..., Path], tmp_path: Path, builder: str) -> None:
    """Ctrl-C in the middle of a build ends the run at once, by either builder."""
    if builder == "buildx" and not buildkit.installed():
        pytest.skip("`docker buildx` is not installed")
    task = native(dockerfile=FROM + "RUN echo building && sleep 120\n")
    hide = {"DOCKER_CONFIG": str(tmp_path)} if builder == "classic" else {}
    child = subprocess.Popen(
        [sys.executable, "-m", "seatrials", "replay", str(task)],
        cwd=tmp_path,
        env={**os.environ, **hide},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    time.sleep(6)
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    output, _ = child.communicate(timeout=90)
    assert child.returncode == 130, output
    assert time.monotonic() - began < 60
