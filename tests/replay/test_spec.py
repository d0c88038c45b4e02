"""What a trial is told of a task, for the three formats."""

from collections.abc import Callable
from pathlib import Path

import pytest

from seatrials.replay.reading import spec_of
from seatrials.replay.spec import (
    UnsetVariable,
    fill_env,
    script_command,
)
from seatrials.task.package import TaskPackage

Write = Callable[[Path, dict[str, str | bytes]], Path]

HARBOR = {
    "instruction.md": "Sum.\n",
    "environment/Dockerfile": "FROM debian:bookworm-slim\n",
    "tests/test.sh": "exit 0\n",
    "solution/solve.sh": "exit 0\n",
}
NATIVE = {
    "environment/Dockerfile": "FROM debian:bookworm-slim\n",
    "verifier/test.sh": "exit 0\n",
    "oracle/solve.sh": "exit 0\n",
}


def native(frontmatter: str) -> dict[str, str | bytes]:
    """Return the files of a native task with more frontmatter."""
    return {
        **NATIVE,
        "task.md": f'---\nschema_version: "1.3"\ntask: {{name: a/b}}\n{frontmatter}---\n\nSum.\n',
    }


def test_harbor_task(tmp_path: Path, write: Write) -> None:
    """A Harbor task runs its scripts directly, without limits that it did not set."""
    spec = spec_of(TaskPackage(write(tmp_path / "sums", {**HARBOR, "task.toml": ""})))
    step = spec.steps[0]
    assert (spec.format, spec.cpus, spec.memory, spec.network) == ("harbor", None, None, "public")
    assert step.oracle is not None
    assert (step.oracle.folder.target, step.oracle.command) == ("/solution", "/solution/solve.sh")
    assert (step.verifier.folder.target, step.verifier.command) == ("/tests", "/tests/test.sh")
    assert not step.verifier.link_tests
    assert (step.verifier.timeout, spec.build_timeout) == (600.0, 600.0)
    assert spec.faults == spec.blockers == ()


def test_native_task(tmp_path: Path, write: Write) -> None:
    """A native task gives the oracle to bash, links `/tests`, and has BenchFlow's default limits."""
    text = (
        "agent: {timeout_sec: 90, user: worker}\n"
        "verifier: {timeout_sec: '30', user: 1000, env: {MODE: strict}, reward_range: [-1, 1]}\n"
        "sandbox: {network_mode: no-network, env: {A: b}, workdir: /work}\n"
        "oracle: {env: {KEY: '${KEY:-none}'}}\n"
    )
    spec = spec_of(TaskPackage(write(tmp_path / "sums", native(text))))
    step = spec.steps[0]
    assert (spec.cpus, spec.memory, spec.network, spec.workdir) == (
        1.0,
        2048 * 1024**2,
        "no-network",
        "/work",
    )
    assert step.oracle is not None
    assert (step.oracle.command, step.oracle.env) == ("bash /oracle/solve.sh", {"KEY": "${KEY:-none}"})
    assert step.verifier.link_tests
    assert (step.verifier.user, step.verifier.timeout, step.verifier.env) == (
        "1000",
        30.0,
        {"MODE": "strict"},
    )
    assert (step.agent_user, step.agent_timeout) == ("worker", 90.0)
    assert (spec.reward.low, spec.reward.high, spec.reward.style) == (-1.0, 1.0, "benchflow")
    assert spec.faults == spec.blockers == ()


def test_posttrain_task(tmp_path: Path, write: Write) -> None:
    """A PostTrain task's `environment` table is read as the sandbox that it became."""
    table = "environment: {memory: 1G, cpus: 2, allow_internet: false}"
    text = f"---\nversion: '1.0'\n{table}\n---\n## prompt\n\nSum.\n"
    spec = spec_of(TaskPackage(write(tmp_path / "sums", {**NATIVE, "task.md": text})))
    assert (spec.format, spec.memory, spec.cpus, spec.network) == ("posttrain", 1024**3, 2.0, "no-network")


@pytest.mark.parametrize(
    ("toml", "network", "blocked", "fault"),
    [
        ("", "public", False, False),
        ("[environment]\nallow_internet = false\n", "no-network", False, False),
        ("[environment]\nallow_internet = true\n", "public", False, False),
        ("[environment]\nallow_internet = false\nnetwork_mode = 'public'\n", "public", False, False),
        ("[environment]\nallow_internet = true\nnetwork_mode = 'no-network'\n", "no-network", False, False),
        ("[environment]\nnetwork_mode = 'allowlist'\nallowed_hosts = ['a.org']\n", "public", True, False),
        ("[environment]\nnetwork_mode = 'denylist'\n", "public", True, False),
        ("[environment]\nnetwork_mode = 'off'\n", "public", False, True),
    ],
)
def test_network(tmp_path: Path, write: Write, toml: str, network: str, blocked: bool, fault: bool) -> None:
    """An unset network is public, a declared mode wins, and a list of hosts is a blocker."""
    spec = spec_of(TaskPackage(write(tmp_path / "sums", {**HARBOR, "task.toml": toml})))
    assert spec.network == network
    assert (bool(spec.blockers), bool(spec.faults)) == (blocked, fault)


def test_native_network_contradiction(tmp_path: Path, write: Write) -> None:
    """BenchFlow refuses `allow_internet: false` beside `public`, so it is the task's fault."""
    text = "sandbox: {allow_internet: false, network_mode: public}\n"
    spec = spec_of(TaskPackage(write(tmp_path / "sums", native(text))))
    assert any("refuses both" in fault for fault in spec.faults)


def test_script_strategy_runs_in_the_verifier_folder(tmp_path: Path, write: Write) -> None:
    """A script strategy's command runs from `/verifier`, with its aggregate policy at hand."""
    document = (
        "---\nverifier:\n  default_strategy: main\n  strategies:\n"
        "    other: {type: llm-judge, rubric: r.md}\n"
        "    main: {type: script, command: './test.sh --all'}\n"
        "  outputs: {aggregate_policy: {method: mean}}\n---\n"
    )
    task = write(tmp_path / "sums", {**native(""), "verifier/verifier.md": document})
    spec = spec_of(TaskPackage(task))
    assert spec.steps[0].verifier.command == "cd /verifier && ./test.sh --all"
    assert spec.reward.aggregate == {"method": "mean"}
    assert spec.faults == spec.blockers == ()


@pytest.mark.parametrize("command", ["/bin/true", "../test.sh", "'", ""])
def test_script_command_stays_inside(command: str) -> None:
    """A command that BenchFlow refuses gives no line to run."""
    assert script_command("/verifier", command) is None


@pytest.mark.parametrize(
    ("frontmatter", "files", "words"),
    [
        ("agent: {timeout_sec: -1}\n", {}, "`agent.timeout_sec` must be a number above 0"),
        ("agent: {timeout_sec: soon}\n", {}, "`agent.timeout_sec` must be a number above 0"),
        ("agent: 3\n", {}, "`agent` must be a table"),
        ("sandbox: {memory: lots}\n", {}, "`sandbox.memory` must be a size"),
        ("verifier: {reward_range: [0.2, 1]}\n", {}, "`verifier.reward_range`"),
        ("verifier: {user: [a]}\n", {}, "`verifier.user` must be a user"),
        ("verifier: {env: [a]}\n", {}, "`verifier.env` must be a table"),
        ("verifier: {service: db}\n", {}, "`verifier.service`"),
        ("", {"verifier/verifier.md": "---\nverifier: {}\n---\n"}, "`verifier.strategies`"),
        (
            "",
            {
                "verifier/verifier.md": "---\nverifier: {strategies:"
                " {a: {type: script, command: ./x.sh}}}\n---\n"
            },
            "`verifier/x.sh`",
        ),
    ],
)
def test_fault(tmp_path: Path, write: Write, frontmatter: str, files: dict[str, str], words: str) -> None:
    """A value that the runtimes refuse is named as the task's fault, and reading goes on."""
    spec = spec_of(TaskPackage(write(tmp_path / "sums", {**native(frontmatter), **files})))
    assert any(words in fault for fault in spec.faults), spec.faults


@pytest.mark.parametrize(
    ("frontmatter", "words"),
    [
        ("sandbox: {gpus: 1}\n", "`sandbox.gpus`"),
        ("sandbox: {os: windows}\n", "`sandbox.os`"),
        ("verifier: {sandbox_mode: separate}\n", "`verifier.sandbox`"),
        ("verifier: {type: llm-judge}\n", "`verifier.type`"),
        ("agent: {network_mode: allowlist, allowed_hosts: [a.org]}\n", "`agent.network_mode`"),
        ("steps: [{name: one}]\n", "`steps`"),
    ],
)
def test_blocker(tmp_path: Path, write: Write, frontmatter: str, words: str) -> None:
    """A shape that can't be run here is a blocker that names its key."""
    spec = spec_of(TaskPackage(write(tmp_path / "sums", native(frontmatter))))
    assert any(words in blocker for blocker in spec.blockers), spec.blockers


def test_missing_parts_are_faults(tmp_path: Path, write: Write) -> None:
    """A task without a Dockerfile or a verifier script is told so, each by its path."""
    spec = spec_of(TaskPackage(write(tmp_path / "sums", {"task.toml": "", "instruction.md": "Sum.\n"})))
    assert "`environment/Dockerfile` is missing; a task needs one" in spec.faults
    assert any("test.sh` is missing" in fault for fault in spec.faults)
    assert not spec.has_oracle


def test_harborignore(tmp_path: Path, write: Write) -> None:
    """What `.harborignore` names is not uploaded; a nearer ignore file can bring it back."""
    task = write(
        tmp_path / "sums",
        {
            **HARBOR,
            "task.toml": "",
            "solution/.harborignore": "*.log\ndrafts/\nkeep/*.md\n",
            "solution/run.log": "x",
            "solution/drafts/a.txt": "x",
            "solution/keep/a.md": "x",
            "solution/keep/.harborignore": "!a.md\n",
            "solution/keep/b.md": "x",
        },
    )
    oracle = spec_of(TaskPackage(task)).steps[0].oracle
    assert oracle is not None
    assert set(oracle.folder.files) == {"solve.sh", "keep/a.md"}


def test_ignored_solution_is_a_fault(tmp_path: Path, write: Write) -> None:
    """A `solve.sh` that `.harborignore` leaves out is not run in silence."""
    task = write(tmp_path / "sums", {**HARBOR, "task.toml": "", "solution/.harborignore": "*.sh\n"})
    assert "`solution/solve.sh` is left out by `.harborignore`" in spec_of(TaskPackage(task)).faults


def test_harbor_steps(tmp_path: Path, write: Write) -> None:
    """A step takes its own tests and solution over the shared ones, and the task's limits as defaults."""
    toml = (
        "multi_step_reward_strategy = 'final'\n[verifier]\ntimeout_sec = 40\nenv = {A = '1'}\n"
        "[agent]\ntimeout_sec = 50\n"
        "[[steps]]\nname = 'one'\nmin_reward = 0.5\n"
        "[[steps]]\nname = 'two'\n[steps.verifier]\ntimeout_sec = 7\nenv = {B = '2'}\n"
        "[steps.agent]\nuser = 'bob'\n"
    )
    task = write(
        tmp_path / "sums",
        {
            **HARBOR,
            "task.toml": toml,
            "tests/shared.py": "",
            "steps/one/instruction.md": "x",
            "steps/one/workdir/setup.sh": "true\n",
            "steps/two/tests/test.sh": "own\n",
            "steps/two/solution/solve.sh": "own\n",
        },
    )
    spec = spec_of(TaskPackage(task))
    one, two = spec.steps
    assert (spec.step_strategy, one.min_reward, one.setup) == ("final", {"reward": 0.5}, True)
    assert (one.verifier.timeout, one.agent_timeout, one.verifier.env) == (40.0, 50.0, {"A": "1"})
    assert (two.verifier.timeout, two.agent_user, two.verifier.env) == (7.0, "bob", {"A": "1", "B": "2"})
    assert set(two.verifier.folder.files) == {"test.sh", "shared.py"}
    assert two.verifier.folder.files["test.sh"].read() == b"own\n"
    assert two.oracle is not None
    assert two.oracle.folder.files["solve.sh"].read() == b"own\n"
    assert spec.faults == ()


def test_fill_env() -> None:
    """A value that is a template as a whole is filled in; anything else stays as it is."""
    declared = {"A": "${HOME_DIR}", "B": "${NOPE:-x:y}", "C": "a ${HOME_DIR}", "D": "${NOPE:-}"}
    assert fill_env(declared, {"HOME_DIR": "/h"}, where="oracle.env") == {
        "A": "/h",
        "B": "x:y",
        "C": "a ${HOME_DIR}",
        "D": "",
    }


def test_fill_env_unset() -> None:
    """An unset variable without a default is an error that names the key and the variable."""
    with pytest.raises(UnsetVariable, match=r"`verifier\.env\.KEY` needs `API_KEY`"):
        fill_env({"KEY": "${API_KEY}"}, {}, where="verifier.env")
