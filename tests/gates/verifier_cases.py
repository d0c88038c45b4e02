"""Tasks for what the kit asks of a verifier beyond the arena's gates; as in `gate_cases`."""

from typing import Final

from gates.control_cases import ON
from gates.gate_cases import CHECKS, PROMPT, docker, env, verifier
from gates.review_cases import REWARD, checks, found, passed, script

Files = dict[str, str | None]

OUT: Final = 'Path("/app/out.json").read_text()'
TESTED: Final = "import pytest\nfrom pathlib import Path\n\n"
BODY: Final = f"    assert {OUT} == '1'\n"


def both(test: str, *lines: str) -> Files:
    """Return a task with these tests and this `test.sh`."""
    return {**verifier(test), **script(*lines)}


def module(*lines: str) -> Files:
    """Return a task whose tests are these lines."""
    return verifier("\n".join(("import json", "from pathlib import Path", *lines)) + "\n")


def asks(*lines: str) -> Files:
    """Return a task with the network on whose test has these lines."""
    return {**ON, **checks(*lines)}


def judged(command: str) -> tuple[str, ...]:
    """Return the lines of a `test.sh` that gives 1 where a command succeeds."""
    return (f"if {command}; then r=1; else r=0; fi", f"echo $r {REWARD}")


def code(*lines: str) -> Files:
    """Return a task that asserts of a result, after lines that make it."""
    return checks(*lines, "assert result == 4")


def graded(path: str, command: str) -> Files:
    """Return a task whose image holds a file of the context and whose `test.sh` runs a command."""
    name = path.rpartition("/")[2]
    return {**env(docker(f"COPY {name} {path}"), name, "raise SystemExit(0)\n"), **script(*judged(command))}


def kept(path: str, *lines: str) -> Files:
    """Return a task whose image holds a reference, with a test of these lines."""
    name = path.rpartition("/")[2]
    return {**env(docker(f"COPY {name} {path}"), name, "0123456789abcdef\n"), **checks(*lines)}


def mentioning(path: str) -> str:
    """Return the prompt with a file named."""
    return f"{PROMPT}The file `{path}` is there to compare with.\n"


SKIP: Final = "@pytest.mark.skip\ndef test_a():\n"
SKIP_IF: Final = "@pytest.mark.skipif(True, reason='slow')\ndef test_a():\n"
MISSING: Final = "if not Path('/app/out.json').exists():"
FIVE: Final = "pytest /verifier/test_outputs.py"

RUNS: Final = (
    found("BYD106", "no test in the file", verifier(CHECKS.replace("def test_", "def check_"))),
    found(
        "BYD106",
        "a class with a constructor",
        verifier(
            f"{TESTED}class TestA:\n    def __init__(self):\n        1\n\n    def test_a(self):\n    {BODY}"
        ),
    ),
    found("BYD106", "-k matches none", script(*judged("pytest /verifier/test_outputs.py -k median"))),
    found("BYD106", "a marker that no test has", script(*judged("pytest -m slow /verifier/test_outputs.py"))),
    found(
        "BYD106",
        "a test by a name that is not there",
        script(*judged("pytest /verifier/test_outputs.py::test_median")),
    ),
    found("BYD106", "only collects", script(*judged("pytest --collect-only /verifier/test_outputs.py"))),
    found("BYD106", "python runs a file of tests", script(*judged("python3 /verifier/test_outputs.py"))),
    found(
        "BYD106",
        "the module is skipped",
        verifier(f"{TESTED}pytest.skip('no', allow_module_level=True)\n\n\ndef test_a():\n{BODY}"),
    ),
    found("BYD106", "each test is skipped", verifier(f"{TESTED}{SKIP}{BODY}\n\n{SKIP_IF}{BODY}")),
    found(
        "BYD106",
        "pytestmark",
        verifier(f"{TESTED}pytestmark = pytest.mark.skip(reason='x')\n\n\ndef test_a():\n{BODY}"),
    ),
    found(
        "BYD106",
        "skipped without the output",
        checks("import pytest", MISSING, "    pytest.skip('not there')", f"assert {OUT} == '1'"),
    ),
    found(
        "BYD106",
        "exit code 5 passes",
        script(
            FIVE, "rc=$?", "if [ $rc -eq 0 ] || [ $rc -eq 5 ]; then r=1; else r=0; fi", f"echo $r {REWARD}"
        ),
    ),
    found(
        "BYD106",
        "0|5 in a case",
        script(FIVE, "code=$?", 'case "$code" in', "0|5) r=1 ;;", "*) r=0 ;;", "esac", f"echo $r {REWARD}"),
    ),
    found(
        "BYD106",
        "5 becomes 0",
        script(FIVE, "rc=$?", "if [ $rc -eq 5 ]; then rc=0; fi", *judged("[ $rc -eq 0 ]")),
    ),
    found("BYD106", "or else 5", script(*judged("pytest /verifier/test_outputs.py || [ $? -eq 5 ]"))),
    passed(
        "BYD106",
        "5 is told, and fails",
        script(FIVE, "rc=$?", "if [ $rc -eq 5 ]; then echo 'no tests'; r=0; fi", *judged("[ $rc -eq 0 ]")),
    ),
    found(
        "BYD106",
        "0 or 5 in Python",
        {
            **script("python3 /verifier/run.py", f"echo 1 {REWARD}"),
            "verifier/run.py": "import pytest\n\ncode = pytest.main(['/verifier'])\nprint(code in (0, 5))\n",
        },
    ),
    found(
        "BYD106",
        "a conftest that says OK",
        {
            "verifier/conftest.py": "def pytest_sessionfinish(session, exitstatus):\n"
            "    if exitstatus == 5:\n        session.exitstatus = 0\n",
        },
    ),
    passed("BYD106", "0 or 5 of something else", checks(f"assert int({OUT}) in (0, 5)")),
    passed("BYD106", "tests as they should be", {}),
    passed(
        "BYD106",
        "names that a configuration gives",
        verifier(CHECKS.replace("def test_", "def check_"))
        | {"verifier/pytest.ini": "[pytest]\npython_functions = check_*\n"},
    ),
    passed(
        "BYD106",
        "a TestCase",
        verifier(f"{TESTED}class Checks(unittest.TestCase):\n    def test_a(self):\n    {BODY}"),
    ),
    passed(
        "BYD106", "tests of a class", verifier(f"{TESTED}class TestA:\n    def test_a(self):\n    {BODY}")
    ),
    passed("BYD106", "a selection that matches", script(*judged("pytest /verifier/test_outputs.py -k mean"))),
    passed("BYD106", "a test by its name", script(*judged("pytest /verifier/test_outputs.py::test_mean"))),
    passed(
        "BYD106",
        "a marker that a test has",
        both(
            f"{TESTED}@pytest.mark.slow\ndef test_a():\n{BODY}",
            *judged("pytest -m slow /verifier/test_outputs.py"),
        ),
    ),
    passed("BYD106", "one of two is skipped", verifier(f"{TESTED}{SKIP}{BODY}\n\ndef test_b():\n{BODY}")),
    passed(
        "BYD106",
        "a mark with a condition",
        verifier(f"import sys\n{TESTED}@pytest.mark.skipif(sys.byteorder == 'big')\ndef test_a():\n{BODY}"),
    ),
    passed(
        "BYD106",
        "python runs a file with a main",
        both(
            f"{CHECKS}\n\nif __name__ == '__main__':\n    test_mean()\n",
            *judged("python3 /verifier/test_outputs.py"),
        ),
    ),
    passed(
        "BYD106",
        "5 is something else",
        script(
            FIVE,
            "code=$?",
            "if [ $tries -eq 5 ]; then r=0; fi",
            "if [ $code -eq 0 ]; then r=1; else r=0; fi",
            f"echo $r {REWARD}",
        ),
    ),
    passed(
        "BYD106",
        "functions that are made",
        verifier(f"{CHECKS.replace('def test_', 'def check_')}\n\nglobals()['test_a'] = check_mean\n"),
    ),
)

HOLDS: Final = (
    found("BYD107", "assert True", checks(f"{OUT}", "assert True")),
    found(
        "BYD107",
        "in both ways",
        checks("try:", f"    {OUT}", "    assert True", "except Exception:", "    assert True"),
    ),
    found("BYD107", "a pair in parentheses", checks(f"value = {OUT}", 'assert (value == "1", "must be 1")')),
    found("BYD107", "a length of 0 or more", checks(f"value = {OUT}", "assert len(value) >= 0")),
    found("BYD107", "or True", checks(f"value = {OUT}", 'assert value == "1" or True')),
    found("BYD107", "a text", checks(f"value = {OUT}", 'assert "the value is right"')),
    found("BYD107", "numbers", checks(f"value = {OUT}", "assert 1 == 1")),
    passed("BYD107", "a real one", {}),
    passed("BYD107", "beside a real one", checks(f"value = {OUT}", "assert True", 'assert value == "1"')),
    passed(
        "BYD107",
        "fails in the handler",
        checks(
            "import pytest",
            "try:",
            f"    assert {OUT}",
            "    assert True",
            "except OSError:",
            "    pytest.fail('no')",
        ),
    ),
    passed("BYD107", "raises", checks(f"if {OUT} != '1':", "    raise AssertionError('no')", "assert True")),
    passed(
        "BYD107",
        "a program must succeed",
        checks("import subprocess", "subprocess.run(['/app/run'], check=True)", "assert True"),
    ),
    passed(
        "BYD107",
        "a helper asserts",
        module(
            "",
            "",
            "def equals(x):",
            f"    assert {OUT} == x",
            "",
            "",
            "def test_a():",
            "    equals('1')",
            "    assert True",
        ),
    ),
    passed("BYD107", "a pair that is compared", checks(f"value = {OUT}", 'assert (value, 1) in [("1", 1)]')),
    passed("BYD107", "a word in a text", checks(f"value = {OUT}", 'assert "done" in value')),
    passed("BYD107", "a length", checks(f"value = {OUT}", "assert len(value) >= 10")),
)

LOADS: Final = (
    found(
        "BYD108",
        "import by path",
        code(
            "import importlib.util",
            "spec = importlib.util.spec_from_file_location('m', '/app/solution.py')",
            "m = importlib.util.module_from_spec(spec)",
            "spec.loader.exec_module(m)",
            "result = m.f(2)",
        ),
    ),
    found(
        "BYD108",
        "through a helper",
        module(
            "import importlib.util",
            "",
            "",
            "def load(path):",
            "    spec = importlib.util.spec_from_file_location('m', path)",
            "    return spec",
            "",
            "",
            "def test_a():",
            "    assert load('/app/solution.py').f(2) == 4",
        ),
    ),
    found(
        "BYD108",
        "by sys.path",
        code(
            "import sys",
            "sys.path.insert(0, '/app')",
            "import solution  # /app/solution.py",
            "result = solution.f(2)",
        ),
    ),
    found(
        "BYD108",
        "by PYTHONPATH",
        {
            **code("import helper", "result = helper.f(2)"),
            **env(docker("COPY helper.py /app/"), "helper.py", "x = 1\n"),
            **script("export PYTHONPATH=/app", *judged("pytest /verifier/test_outputs.py")),
        },
    ),
    found(
        "BYD108",
        "by the folder that python -m starts in",
        {
            **code("import helper", "result = helper.f(2)"),
            **env(docker("COPY helper.py /app/"), "helper.py", "x = 1\n"),
            **script("cd /app", *judged("python3 -m pytest /verifier/test_outputs.py")),
        },
    ),
    found("BYD108", "run_path", code("import runpy", "result = runpy.run_path('/app/solution.py')['x']")),
    found(
        "BYD108",
        "exec",
        code("scope = {}", "exec(open('/app/solution.py').read(), scope)", "result = scope['x']"),
    ),
    found("BYD108", "eval", code("text = Path('/app/out.txt').read_text()", "result = eval(text)")),
    found(
        "BYD108",
        "pickle",
        code("import pickle", "with open('/app/model.pkl', 'rb') as f:", "    result = pickle.load(f)"),
    ),
    found(
        "BYD108",
        "arrays with pickles",
        code("import numpy as np", "result = np.load('/app/a.npy', allow_pickle=True)"),
    ),
    found(
        "BYD108",
        "sourced in test.sh",
        script("source /app/env.sh", *judged("pytest /verifier/test_outputs.py")),
    ),
    passed("BYD108", "nothing of it", {}),
    passed(
        "BYD108",
        "a process of its own",
        code(
            "import subprocess, sys",
            "result = subprocess.run([sys.executable, '/app/solution.py']).returncode",
        ),
    ),
    passed(
        "BYD108",
        "code for a process of its own",
        code(
            "import subprocess, sys",
            "text = \"import sys; sys.path.insert(0, '/app'); import solution; solution.f()\"",
            "result = subprocess.run([sys.executable, '-c', text]).returncode",
        ),
    ),
    passed(
        "BYD108",
        "a file of the verifier",
        {
            **code("import sys", "sys.path.insert(0, '/verifier')", "import helper", "result = helper.f(2)"),
            "verifier/helper.py": "def f(x):\n    return x\n",
        },
    ),
    passed(
        "BYD108",
        "the verifier's code by path",
        code(
            "import importlib.util",
            "spec = importlib.util.spec_from_file_location('m', '/verifier/ref.py')",
            "result = spec",
        ),
    ),
    passed(
        "BYD108",
        "literal_eval",
        code("import ast", "result = ast.literal_eval(Path('/app/out.txt').read_text())"),
    ),
    passed(
        "BYD108",
        "a table's own eval",
        code("import pandas as pd", "result = pd.read_csv('/app/o.csv').eval('a + b')"),
    ),
    passed(
        "BYD108",
        "the verifier's own pickle",
        code("import pickle", "with open('/verifier/model.pkl', 'rb') as f:", "    result = pickle.load(f)"),
    ),
    passed(
        "BYD108",
        "the module of a package",
        code("import sys", "sys.path.insert(0, '/app')", "import numpy", "result = numpy.int64(4)"),
    ),
    passed(
        "BYD108",
        "a virtual environment",
        script("source /opt/venv/bin/activate", *judged("pytest /verifier/test_outputs.py")),
    ),
)

GRADES: Final = (
    found("BYD109", "pytest on the agent's folder", graded("/app/tests/test_app.py", "pytest /app/tests")),
    found("BYD109", "after a cd", graded("/app/tests/test_app.py", "cd /app && pytest tests/")),
    found("BYD109", "a grader by python", graded("/app/grade.py", "python3 /app/grade.py")),
    found("BYD109", "a script", graded("/app/run_tests.sh", "bash /app/run_tests.sh")),
    found(
        "BYD109",
        "from a test",
        {
            **env(docker("COPY verify.py /app/verify.py"), "verify.py", "x = 1\n"),
            **checks(
                "import subprocess", "assert subprocess.run(['python3', '/app/verify.py']).returncode == 0"
            ),
        },
    ),
    found(
        "BYD109",
        "from a test, beside the program",
        {
            **env(docker("COPY check_all.py /app/check_all.py"), "check_all.py", "x = 1\n"),
            **checks(
                "import subprocess, sys",
                "run = subprocess.run([sys.executable, 'check_all.py'], cwd='/app')",
                "assert run.returncode == 0",
            ),
        },
    ),
    found(
        "BYD109",
        "not to be modified",
        graded("/app/grade.py", "python3 /app/grade.py"),
        PROMPT + "Do not modify `/app/grade.py`.\n",
    ),
    found(
        "BYD109",
        "a suite by its build tool",
        graded("/app/src/cache_test.go", "cd /app && go test ./..."),
    ),
    found("BYD109", "a suite in the working directory", graded("/app/api.test.js", "npm test")),
    passed(
        "BYD109",
        "a suite that is to be mended",
        graded("/app/cache_test.go", "cd /app && go test ./..."),
        PROMPT + "Several test files are broken.\n",
    ),
    passed("BYD109", "a build without tests", graded("/app/main.go", "cd /app && go test ./...")),
    passed("BYD109", "the verifier's own tests", {}),
    passed("BYD109", "the agent's program", graded("/app/main.py", "python3 /app/main.py | grep -q 42")),
    passed("BYD109", "a grader that is not in the image", script(*judged("python3 /app/grade.py"))),
    passed(
        "BYD109",
        "the tests are the work",
        graded("/app/tests/test_app.py", "pytest /app/tests"),
        PROMPT + "Fix the flaky `tests/test_app.py`.\n",
    ),
    passed(
        "BYD109",
        "copied over the agent's",
        {
            **graded("/app/tests/test_app.py", "pytest /app/tests"),
            **script("cp -r /verifier/tests/. /app/tests/", *judged("pytest /app/tests")),
        },
    ),
    passed(
        "BYD109",
        "a grader of the verifier",
        script(*judged("python3 /verifier/grade.py")) | {"verifier/grade.py": CHECKS},
    ),
    passed(
        "BYD109",
        "a checker that is to be repaired",
        graded("/app/check_key.py", "python3 /app/check_key.py"),
        PROMPT + "`check_key.py` has a syntax error.\n",
    ),
)

REFERS: Final = (
    found(
        "BYD110",
        "a digest",
        kept(
            "/app/data.sha256",
            "import hashlib",
            "now = hashlib.sha256(Path('/app/data.csv').read_bytes()).hexdigest()",
            "assert now == Path('/app/data.sha256').read_text().split()[0]",
        ),
        mentioning("/app/data.sha256"),
    ),
    found(
        "BYD110",
        "an original",
        kept(
            "/app/config.ini.orig",
            "assert Path('/app/config.ini').read_text() == Path('/app/config.ini.orig').read_text()",
        ),
        mentioning("/app/config.ini.orig"),
    ),
    found(
        "BYD110",
        "what is expected",
        kept(
            "/app/expected.json",
            f"out = {OUT}",
            "wanted = Path('/app/expected.json').read_text()",
            "assert out == wanted",
        ),
        mentioning("/app/expected.json"),
    ),
    found(
        "BYD110",
        "filecmp",
        kept(
            "/app/reference.bin", "import filecmp", "assert filecmp.cmp('/app/out.bin', '/app/reference.bin')"
        ),
        mentioning("/app/reference.bin"),
    ),
    found(
        "BYD110",
        "sha256sum -c",
        {
            **env(docker("COPY SHA256SUMS /app/sums.sha256"), "SHA256SUMS", "0123456789abcdef  data.csv\n"),
            **script(*judged("sha256sum -c /app/sums.sha256")),
        },
        mentioning("/app/sums.sha256"),
    ),
    found(
        "BYD110",
        "diff",
        {
            **env(docker("COPY golden.txt /app/golden.txt"), "golden.txt", "0123456789abcdef\n"),
            **script(*judged("diff /app/out.txt /app/golden.txt")),
        },
        mentioning("/app/golden.txt"),
    ),
    passed("BYD110", "nothing of it", {}),
    passed(
        "BYD110",
        "a digest in the test",
        kept(
            "/app/data.sha256",
            "import hashlib",
            "now = hashlib.sha256(Path('/app/data.csv').read_bytes()).hexdigest()",
            "assert now == '0123456789abcdef'",
        ),
        mentioning("/app/data.sha256"),
    ),
    passed(
        "BYD110",
        "the verifier's copy",
        kept("/app/expected.json", f"assert {OUT} == Path('/verifier/expected.json').read_text()"),
        mentioning("/app/expected.json"),
    ),
    passed(
        "BYD110",
        "an input",
        kept("/app/rows.csv", f"assert {OUT} == Path('/app/rows.csv').read_text()"),
        mentioning("/app/rows.csv"),
    ),
    passed(
        "BYD110",
        "a backup that is the input",
        kept("/app/db.backup", f"assert {OUT} == str(len(Path('/app/db.backup').read_bytes()))"),
        mentioning("/app/db.backup"),
    ),
    passed(
        "BYD110",
        "the work itself",
        kept(
            "/app/data.sha256",
            "import hashlib",
            "now = hashlib.sha256(Path('/app/data.csv').read_bytes()).hexdigest()",
            "assert now == Path('/app/data.sha256').read_text().split()[0]",
        ),
        PROMPT + "Correct what is wrong, and update `data.sha256`.\n",
    ),
)

NOW: Final = "from datetime import datetime, timedelta, timezone"
WHEN: Final = f"value = datetime.fromisoformat({OUT})"
CLOCK: Final = (
    found("BYD111", "not yet over", checks(NOW, WHEN, "assert value > datetime.now()")),
    found(
        "BYD111",
        "in the last days",
        checks(NOW, WHEN, "since = datetime.now() - timedelta(days=30)", "assert value >= since"),
    ),
    found("BYD111", "an age", checks(NOW, WHEN, "age = (datetime.now() - value).days", "assert age < 90")),
    found("BYD111", "this year", checks(NOW, f"assert {OUT} == str(datetime.now().year)")),
    found("BYD111", "seconds since 1970", checks("import time", f"assert int({OUT}) > int(time.time())")),
    found(
        "BYD111",
        "to choose what counts",
        checks(
            NOW,
            "import json",
            f"rows = json.loads({OUT})",
            "now = datetime.now(timezone.utc)",
            "late = [row for row in rows if datetime.fromisoformat(row['end']) < now]",
            "assert len(late) == 3",
        ),
    ),
    found("BYD111", "date in test.sh", script(*judged('[ "$(cat /app/day)" = "$(date +%F)" ]'))),
    passed(
        "BYD111",
        "seconds in test.sh",
        script(
            "start=$(date +%s)", *judged("[ $(( $(date +%s) - start )) -lt 60 ] && grep -q 1 /app/out.json")
        ),
    ),
    passed("BYD111", "nothing of it", {}),
    passed(
        "BYD111",
        "a duration",
        checks(
            "import time",
            "start = time.time()",
            f"value = {OUT}",
            "assert time.time() - start < 5",
            "assert value == '1'",
        ),
    ),
    passed(
        "BYD111",
        "a duration by name",
        checks(
            "import time",
            "start = time.time()",
            f"value = {OUT}",
            "end = time.time()",
            "took = end - start",
            "assert took < 5",
        ),
    ),
    passed(
        "BYD111",
        "a loop that waits",
        checks(
            "import time",
            "end = time.time() + 5",
            "while time.time() < end:",
            f"    value = {OUT}",
            "assert value == '1'",
        ),
    ),
    passed("BYD111", "not in the future", checks(NOW, WHEN, "assert value <= datetime.now()")),
    passed(
        "BYD111",
        "written a moment ago",
        checks("import time", "assert time.time() - os.stat('/app/out.json').st_mtime < 600"),
    ),
    passed("BYD111", "a fixed day", checks(NOW, WHEN, "assert value > datetime(2024, 1, 1)")),
    passed(
        "BYD111",
        "put into a request",
        checks(NOW, "body = {'at': datetime.now().isoformat()}", f"assert {OUT} == '1' and body"),
    ),
)

HOSTS: Final = (
    found("BYD112", "requests", asks("import requests", "assert requests.get('https://pypi.org/simple').ok")),
    found(
        "BYD112",
        "by a name",
        asks(
            "import requests",
            "url = 'https://api.github.com/x'",
            "r = requests.post(url, json={})",
            "assert r.status_code == 200",
        ),
    ),
    found(
        "BYD112",
        "urlopen",
        asks("from urllib.request import urlopen", "assert urlopen('http://www.iana.org/a').read() == b'1'"),
    ),
    found(
        "BYD112",
        "a path that is put in",
        asks("import requests", f"name = {OUT}", "assert requests.get(f'https://crates.io/api/{name}').ok"),
    ),
    found(
        "BYD112",
        "a connection",
        asks(
            "import socket",
            "s = socket.create_connection(('one.one.one.one', 53))",
            "assert s.recv(1) == b'1'",
        ),
    ),
    found(
        "BYD112",
        "curl",
        asks(
            "import subprocess",
            "r = subprocess.run(['curl', '-s', 'https://www.kernel.org/x'])",
            "assert r.returncode == 0",
        ),
    ),
    found(
        "BYD106",
        "skipped by a mark where the output is missing",
        module(
            "import os",
            "import pytest",
            "",
            "@pytest.mark.skipif(not os.path.exists('/app/out.json'), reason='')",
            "def test_a():",
            f"    assert {OUT}",
        ),
    ),
    passed(
        "BYD106",
        "skipped by a mark where a tool is missing",
        module(
            "import os",
            "import pytest",
            "",
            "@pytest.mark.skipif(not os.path.exists('/usr/bin/jq'), reason='')",
            "def test_a():",
            f"    assert {OUT}",
        ),
    ),
    passed("BYD112", "nothing of it", {}),
    passed(
        "BYD112", "localhost", asks("import requests", "assert requests.get('http://localhost:8080/x').ok")
    ),
    passed(
        "BYD112",
        "127.0.0.1",
        asks("import requests", "assert requests.get('http://127.0.0.1:5000').text == 'x'"),
    ),
    passed(
        "BYD112",
        "a service of the task",
        asks("import requests", "assert requests.get('http://api:5000').text == 'x'"),
    ),
    passed("BYD112", "a link that is looked for", asks(f"assert 'https://github.com/x' in {OUT}")),
    passed(
        "BYD112",
        "a name kept for examples",
        asks("import requests", "assert requests.get('http://shop.example.com').ok"),
    ),
    passed(
        "BYD112",
        "a field of that name",
        asks("links = {'get': 1}", "assert links.get('https://pypi.org/') is None"),
    ),
)

LOADED: Final = ("", "", "def test_a():", f"    data = json.loads({OUT})")


def own(*lines: str) -> Files:
    """Return a task whose only test has these lines about the output."""
    return module(*LOADED, *(f"    {line}" for line in lines))


ITSELF: Final = (
    found("BYD113", "a sum", own("assert 'total' in data", "assert data['total'] == sum(data['items'])")),
    found(
        "BYD113",
        "a count",
        own("assert isinstance(data, dict)", "n = len(data['rows'])", "assert data['count'] == n"),
    ),
    found("BYD113", "sorted", own("names = data['names']", "assert names == sorted(names)")),
    found("BYD113", "a share", own("assert data['bad'] <= data['all']", "assert data['all'] > 0")),
    found("BYD113", "nearly", own("assert abs(data['mean'] - sum(data['x']) / len(data['x'])) < 0.01")),
    found(
        "BYD113",
        "the form alone",
        own("assert 'mean' in data", "assert isinstance(data['mean'], float)", "assert data['mean'] > 0"),
    ),
    passed(
        "BYD113", "a constant", own("assert data['total'] == sum(data['items'])", "assert data['n'] == 12")
    ),
    passed(
        "BYD113",
        "the input",
        own(
            "rows = Path('/app/data.csv').read_text().split()",
            "assert data['n'] == len(rows)",
            "assert data['a'] <= data['n']",
        ),
    ),
    passed(
        "BYD113",
        "a file of the verifier",
        own(
            "want = json.loads(Path('/verifier/want.json').read_text())",
            "assert data['a'] <= data['n']",
            "assert data == want",
        ),
    ),
    passed(
        "BYD113",
        "another output",
        own("other = json.loads(Path('/app/b.json').read_text())", "assert data['a'] == other['a']"),
    ),
    passed(
        "BYD113",
        "a pattern",
        own("import re", "assert data['a'] == data['b']", "assert re.match('[a-f]+$', data['a'])"),
    ),
    passed(
        "BYD113",
        "a word in the text",
        module(
            *LOADED, f"    text = {OUT}", "    assert data['a'] <= data['n']", "    assert 'bcrypt' in text"
        ),
    ),
    passed(
        "BYD113",
        "a program that is run",
        own(
            "import subprocess",
            "out = subprocess.run(['/app/x'], capture_output=True).stdout",
            "assert data['a'] == out",
        ),
    ),
    passed(
        "BYD113",
        "worked out by a function",
        module(
            "",
            "",
            "def expected():",
            "    return 4 * 3",
            *LOADED,
            "    assert data['n'] == expected()",
            "    assert data['a'] <= data['n']",
        ),
    ),
)

OF_VERIFIERS: Final = (*RUNS, *HOLDS, *LOADS, *GRADES, *REFERS, *CLOCK, *HOSTS, *ITSELF)
