"""What `verifier/test.sh` makes of tests, and of what an agent left behind."""

import pytest

pytestmark = pytest.mark.docker

PASSING = "def test_a():\n    pass\n"
"""A test that passes."""

UNSOLVED = """
import json, wave
from pathlib import Path

def test_answer():
    assert Path("/app/answer").exists(), "`/app/answer` was not written"
"""
"""A test that fails as long as nobody did the work."""

STEER = "open('/tmp/steered', 'w').close()\n"
FORGE = STEER + "import os\nos._exit(0)\n"
"""Code that ends the process at once, with success."""

PLUGIN = (
    STEER
    + """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
"""
)
"""A pytest plugin that turns every failure into a pass."""

FORGE_REWARD = "touch /tmp/steered; echo 1 > /logs/verifier/reward.txt; exit 0"

BASH = "bash /verifier/test.sh"
PYTEST = "/opt/verifier/bin/python -m pytest /verifier/test_outputs.py"


def plant(path, content):
    """Write a file in the container, its folders too."""
    return f"/bin/mkdir -p $(dirname {path})\n/bin/cat > {path} <<'PLANTED'\n{content}\nPLANTED\n"


# Judging

JUDGED = {
    "one passes": (PASSING, 1.0),
    "unittest": ("import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n", 1.0),
    "parametrized": ("@pytest.mark.parametrize('n', [1, 2])\ndef test_b(n): pass\n", 1.0),
    "one fails": (PASSING + "def test_b(): assert False\n", 0.0),
    "one is skipped": (PASSING + "@pytest.mark.skip\ndef test_b(): pass\n", 0.0),
    "all are skipped": ("@pytest.mark.skip\ndef test_a(): pass\n", 0.0),
    "one skips itself": ("def test_a(): pytest.skip('no')\n", 0.0),
    "module is skipped": ("pytest.skip('no', allow_module_level=True)\n" + PASSING, 0.0),
    "fails as expected": ("@pytest.mark.xfail\ndef test_a(): assert False\n", 0.0),
    "expected failure passes": ("@pytest.mark.xfail\ndef test_a(): pass\n", 0.0),
    "no parameter": ("@pytest.mark.parametrize('n', [])\ndef test_a(n): pass\n", 0.0),
    "no test": ("", 0.0),
    "syntax error": (PASSING + "def test_b(:\n", 0.0),
    "import error": (PASSING + "import nothing_of_that_name\n", 0.0),
    "error before": ("@pytest.fixture\ndef f(): raise OSError\ndef test_a(f): pass\n", 0.0),
    "error after": ("@pytest.fixture\ndef f():\n    yield\n    raise OSError\ndef test_a(f): pass\n", 0.0),
    "ended early": (PASSING + "def test_b(): pytest.exit('end', returncode=0)\n", 0.0),
}


@pytest.mark.parametrize("name", JUDGED)
def test_reward_is_1_only_where_every_test_ran_and_passed(sandbox, name):
    """Skipped, erring and expected failures are no pass, and CTRF then names something that did not pass."""
    tests, reward = JUDGED[name]
    (run,) = sandbox.verify("import pytest\n" + tests, BASH)
    assert (run.exit_code, run.reward) == (0, reward), run.output
    assert bool(run.failed) == (reward == 0.0)


EARLY = {
    "exit on import": "raise SystemExit(0)\n",
    "exit status 0": "import os\ndef test_a(): os._exit(0)\n",
    "signal": "import os\ndef test_a(): os.abort()\n",
    "another program": "import os\ndef test_a(): os.execv('/bin/true', ['true'])\n",
    "a claim": "import os\ndef test_a(): os.system('printf pass >&3; kill -9 $PPID')\n",
}


@pytest.mark.parametrize("name", EARLY)
def test_a_process_that_ends_early_has_not_passed(sandbox, name):
    """Exit status 0, a signal, or a program that claims success gives 0 in the middle of a test."""
    (run,) = sandbox.verify(EARLY[name], BASH)
    assert (run.exit_code, run.reward) == (1, 0.0), run.output
    assert "did not run to their end" in run.failed[0]["message"]


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("rm -rf /opt/verifier", id="everything"),
        pytest.param("rm /opt/verifier/bin/python", id="interpreter"),
        pytest.param("rm -r /opt/verifier/lib/python3*/site-packages/pytest", id="pytest"),
        pytest.param("rm -r /opt/verifier/lib/python3*/site-packages/ctrf", id="CTRF plugin"),
        pytest.param("ln -sf /bin/true /opt/verifier/bin/python", id="interpreter that does nothing"),
    ],
)
def test_breaking_the_toolchain_gains_nothing(sandbox, before):
    """An agent that breaks what the image installed for the verifier gets 0, with the reason in CTRF."""
    (run,) = sandbox.verify(PASSING, BASH, before=before)
    assert (run.exit_code, run.reward) == (1, 0.0), run.output
    assert "did not run to their end" in run.failed[0]["message"]


def test_without_tests_there_is_no_verdict(sandbox):
    """A verifier without `test_outputs.py` is the task's fault: no reward, also not an earlier one."""
    (run,) = sandbox.verify(None, BASH, before="echo 1 > /logs/verifier/reward.txt")
    assert (run.exit_code, run.files) == (2, {}), run.output
    assert "test.sh: `/verifier/test_outputs.py` is missing" in run.output


def test_nowhere_to_write_is_no_verdict(sandbox):
    """A log folder that cannot be written is the harness's fault: exit 2 with a line that names it."""
    (run,) = sandbox.verify(PASSING, BASH, before="rm -r /logs/verifier; touch /logs/verifier")
    assert (run.exit_code, run.files) == (2, {})
    assert "test.sh: cannot write beside `/logs/verifier/reward.json`" in run.output


# Harnesses


HARNESSES = {
    "bash, through the link /tests": "ln -sfn /verifier /tests; bash /tests/test.sh",
    "as a program in /tests": "[ -e /tests ] || mv /verifier /tests; /tests/test.sh",
    "in its own folder": "(cd /verifier && ./test.sh)",
    "bash, in its own folder": "(cd /verifier && bash test.sh)",
    "from sh, without input": "(cd /verifier && sh -c 'exec ./test.sh') </dev/null",
    "not root": (
        "chmod 777 /logs/verifier; setpriv --reuid=1234 --regid=1234 --clear-groups bash /verifier/test.sh"
    ),
    "as BenchFlow hardens it": (
        "env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root PYTHONPATH= "
        "PYTEST_ADDOPTS='-c /dev/null --confcutdir=/verifier -p no:cacheprovider --rootdir=/app -p ctrf' "
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONDONTWRITEBYTECODE=1 PYTHONPYCACHEPREFIX=/nonexistent "
        "PYTHONSTARTUP= PYTHONNOUSERSITE=1 PYTHONBREAKPOINT=0 LD_PRELOAD= LD_LIBRARY_PATH= "
        "bash -c 'cd /verifier && ./test.sh'"
    ),
}


@pytest.mark.parametrize("name", HARNESSES)
def test_runs_as_each_harness_runs_it(sandbox, name):
    """The verdict does not depend on how the script is started, or by whom."""
    unsolved, solved = sandbox.verify(UNSOLVED, HARNESSES[name], f">/app/answer; {HARNESSES[name]}")
    assert (unsolved.exit_code, unsolved.reward, len(unsolved.failed)) == (0, 0.0, 1), unsolved.output
    assert (solved.exit_code, solved.reward, solved.failed) == (0, 1.0, []), solved.output


def test_results_go_where_the_harness_says(sandbox):
    """The paths that BenchFlow passes replace the default ones."""
    results = {"REWARD_TEXT": "reward.txt", "REWARD_JSON": "reward.json", "CTRF_JSON": "ctrf.json"}
    variables = " ".join(f"BENCHFLOW_{name}=/elsewhere/{file}" for name, file in results.items())
    (run,) = sandbox.verify(PASSING, f"env {variables} {BASH}; ls -A /logs/verifier", logs="/elsewhere")
    assert (run.reward, run.failed) == (1.0, [])
    assert not run.output.rstrip().endswith(".json")


def test_nothing_but_the_results_is_left(sandbox):
    """The script removes its working folder."""
    (run,) = sandbox.verify(PASSING, f"{BASH} >/dev/null; ls -A /logs/verifier; echo; ls -A /verifier")
    assert run.output.split() == ["ctrf.json", "reward.json", "reward.txt", "test.sh", "test_outputs.py"]


def test_tests_see_a_clean_environment(sandbox):
    """What could steer Python, pytest, the loader or a shell is gone; the author's own variables stay."""
    tests = """
import os, subprocess, sys

def test_environment():
    steering = ("PYTHON", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "LD_", "BASH_", "ENV")
    assert not [name for name in os.environ if name.startswith(steering)], os.environ
    assert os.environ["PATH"] == "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    assert os.environ["OF_THE_TASK"] == "kept"
    assert os.getcwd() == "/"
    assert not {"", "/", "/app", "/verifier"}.intersection(sys.path), sys.path
    assert subprocess.check_output(["bash", "-c", "printf mine"]) == b"mine"
"""
    variables = (
        "PYTHONPATH=/app PYTHONHOME=/app PYTHONSTARTUP=/app/x PYTEST_ADDOPTS=--co PYTEST_PLUGINS=x PATH=/app "
        "LD_PRELOAD= LD_LIBRARY_PATH=/app BASH_ENV=/dev/null ENV=/dev/null OF_THE_TASK=kept "
        "'BASH_FUNC_printf%%=() { echo theirs; }'"
    )
    (run,) = sandbox.verify(tests, f"(cd /app; /usr/bin/env {variables} /bin/bash /verifier/test.sh)")
    assert run.reward == 1.0, run.output


# Attacks: what is planted, variables of the verifier's process, and a careless verifier that they steer.

SITE = "/opt/verifier/lib/python3.11/site-packages"
USER_SITE = "/root/.local/lib/python3.11/site-packages"
NO_TEST = "[pytest]\naddopts = --collect-only\n"
PTH = "import os; open('/tmp/steered', 'w'); os._exit(0)"
PROGRAMS = ("pytest", "python3", "python", "mktemp", "mv", "rm", "mkdir", "dirname", "env", "bash")
FUNCTIONS = ("exec", "unset", "cd", "pwd", "printf", "umask", "trap", "test", "export", *PROGRAMS)


def fake_programs(folder):
    """Plant programs that forge a reward."""
    return "".join(plant(f"{folder}/{name}", f"#!/bin/sh\n{FORGE_REWARD}") for name in PROGRAMS) + (
        f"chmod +x {folder}/*\n"
    )


ATTACKS = {
    "conftest.py in the verifier's folder": (plant("/verifier/conftest.py", PLUGIN), "", PYTEST),
    "conftest.py at the root": (plant("/conftest.py", PLUGIN) + plant("/pytest.ini", "[pytest]"), "", PYTEST),
    "pytest.ini beside the tests": (plant("/verifier/pytest.ini", NO_TEST), "", PYTEST),
    "pytest.ini at the root": (plant("/pytest.ini", NO_TEST), "", PYTEST),
    "tox.ini at the root": (plant("/tox.ini", NO_TEST), "", PYTEST),
    "setup.cfg at the root": (plant("/setup.cfg", NO_TEST.replace("pytest", "tool:pytest")), "", PYTEST),
    "pyproject.toml at the root": (
        plant("/pyproject.toml", "[tool.pytest.ini_options]\naddopts = '--collect-only'"),
        "",
        PYTEST,
    ),
    "PYTEST_ADDOPTS": ("", "PYTEST_ADDOPTS=--collect-only", PYTEST),
    "PYTEST_ADDOPTS with a plugin": (
        plant("/app/steer.py", PLUGIN),
        "PYTHONPATH=/app PYTEST_ADDOPTS='-p steer'",
        PYTEST,
    ),
    "PYTEST_PLUGINS": (plant("/app/steer.py", PLUGIN), "PYTHONPATH=/app PYTEST_PLUGINS=steer", PYTEST),
    "plugin among the verifier's packages": (
        plant(f"{SITE}/steer.py", PLUGIN)
        + plant(f"{SITE}/steer-1.dist-info/METADATA", "Name: steer\nVersion: 1")
        + plant(f"{SITE}/steer-1.dist-info/entry_points.txt", "[pytest11]\nsteer = steer"),
        "",
        PYTEST,
    ),
    "pytest.py in the working directory": (plant("/app/pytest.py", FORGE), "", PYTEST),
    "json.py in the working directory": (plant("/app/json.py", FORGE), "", PYTEST),
    "json.py at the root": (plant("/json.py", FORGE), "", f"bash -c 'cd / && {PYTEST}'"),
    "wave.py beside the tests": (plant("/verifier/wave.py", FORGE), "", PYTEST),
    "json.py on PYTHONPATH": (plant("/app/lib/json.py", FORGE), "PYTHONPATH=/app/lib", PYTEST),
    "sitecustomize.py on PYTHONPATH": (
        plant("/app/lib/sitecustomize.py", FORGE),
        "PYTHONPATH=/app/lib",
        PYTEST,
    ),
    "sitecustomize.py of the system": (plant("/etc/python3.11/sitecustomize.py", FORGE), "", PYTEST),
    "usercustomize.py": (plant(f"{USER_SITE}/usercustomize.py", FORGE), "", "/usr/bin/python3 -m pytest"),
    ".pth in the user site": (plant(f"{USER_SITE}/x.pth", PTH), "", "/usr/bin/python3 -m pytest"),
    ".pth among the verifier's packages": (plant(f"{SITE}/x.pth", PTH), "", PYTEST),
    # Compiled from a source of the same size and time as the one that will be uploaded.
    "bytecode beside the tests": (
        f"""
        mkdir /verifier
        sed 's/assert Path/Path       /' /staged/test_outputs.py > /verifier/test_outputs.py
        touch -r /staged/test_outputs.py /verifier/test_outputs.py
        {PYTEST} >/dev/null
        rm /verifier/test_outputs.py
        """,
        "",
        PYTEST,
    ),
    "fake programs on PATH": (fake_programs("/app/bin"), "PATH=/app/bin:/usr/bin:/bin", "python3 -m pytest"),
    "fake programs in /usr/local/bin": (fake_programs("/usr/local/bin"), "", "python3 -m pytest"),
    "exported shell functions": (
        "",
        " ".join(f"'BASH_FUNC_{name}%%=() {{ {FORGE_REWARD}; }}'" for name in FUNCTIONS),
        "/bin/bash -c 'cd /app; exit 1'",
    ),
    "BASH_ENV with functions": (
        plant("/app/env.sh", "".join(f"{name}() {{ {FORGE_REWARD}; }}\n" for name in FUNCTIONS)),
        "BASH_ENV=/app/env.sh ENV=/app/env.sh",
        "/bin/bash -c 'cd /app; exit 1'",
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_does_not_steer_the_verdict(sandbox, name):
    """What an agent plants makes a careless verifier succeed; here it is not run and changes no verdict."""
    before, variables, careless = ATTACKS[name]
    with_attack = f"cd /app; /usr/bin/env {variables}"
    ours, live = sandbox.verify(
        UNSOLVED,
        f"({with_attack} /bin/bash /verifier/test.sh)",
        f"({with_attack} {careless})",
        before=before,
    )
    assert live.exit_code == 0, f"the attack is a dud: {live.output}"
    assert (ours.exit_code, ours.reward, ours.steered) == (0, 0.0, False), ours.output
    assert [test["message"].partition("\n")[0] for test in ours.failed] == [
        "AssertionError: `/app/answer` was not written"
    ]


def test_script_run_as_a_program_does_not_read_bash_env(sandbox):
    """Started by its own first line, the script runs nothing that BASH_ENV names."""
    (run,) = sandbox.verify(
        UNSOLVED,
        "(cd /verifier && BASH_ENV=/app/env.sh ./test.sh)",
        before=plant("/app/env.sh", FORGE_REWARD),
    )
    assert (run.exit_code, run.reward, run.steered) == (0, 0.0, False), run.output


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("echo 1 > reward.txt; echo '{\"reward\": 1}' > reward.json", id="files"),
        pytest.param("mkdir -p reward.json/x reward.txt ctrf.json", id="folders"),
        pytest.param("echo 1 > reward.txt; chmod 0 reward.txt .", id="modes"),
        pytest.param("mkfifo reward.txt reward.json ctrf.json", id="pipes"),
    ],
)
def test_earlier_reward_files_are_replaced(sandbox, before):
    """Whatever lies where the results belong is removed first."""
    (run,) = sandbox.verify(UNSOLVED, BASH, before=f"cd /logs/verifier; {before}; cd /app")
    assert (run.exit_code, run.reward) == (0, 0.0), run.output
    assert run.failed


def test_links_at_the_results_are_not_followed(sandbox):
    """A link where a result belongs is replaced, and its target stays as it was."""
    results = "reward.txt reward.json ctrf.json"
    (run,) = sandbox.verify(
        PASSING,
        f"{BASH} >/dev/null; cat {results}; find /logs/verifier -type l",
        before=f"for f in {results}; do echo mine > $f; ln -s /app/$f /logs/verifier/$f; done",
    )
    assert run.reward == 1.0
    assert run.output.split() == ["mine"] * 3
