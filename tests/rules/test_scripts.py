"""The rules about verifier scripts find the ways to no reward, and leave sound scripts alone."""

from pathlib import Path

import pytest

from seatrials.rules.scripts import RULES
from seatrials.task.package import TaskPackage

CASES: dict[str, tuple[str, set[str]]] = {
    "installs-first": (
        """\
#!/bin/bash
if [ "$PWD" = "/" ]; then echo "nowhere to work" >&2; exit 1; fi
apt-get install -y curl && curl -LsSf https://example.org/uv.sh | sh
source "$HOME/.local/bin/env"
uv venv /tmp/checks && source /tmp/checks/bin/activate
uv pip install pytest
uv run pytest "$TEST_DIR"
if [ $? -eq 0 ]; then r=1; else r=0; fi
echo "$r" > /logs/verifier/reward.txt
""",
        {"VER108"},
    ),
    "set-e-pipe": (
        """\
#!/bin/bash
set -e
OUT=$(pytest /tests/t.py 2>&1) && S=0 || S=$?
echo "$OUT"
[ $S -eq 0 ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt
""",
        set(),
    ),
    "py-helper-arg": (
        """\
#!/bin/bash
set -euo pipefail
python3 /verifier/grade.py --out "${LOGS_DIR:-/logs/verifier}/reward.json"
""",
        set(),
    ),
    "assign-under-e": (
        """\
#!/bin/bash
set -e
OUT=$(pytest /tests/t.py 2>&1)
echo 1 > /logs/verifier/reward.txt
""",
        {"VER102"},
    ),
    "write-first": (
        """\
#!/bin/bash
set -e
echo 0 > /logs/verifier/reward.txt
pytest /tests/t.py
echo 1 > /logs/verifier/reward.txt
""",
        set(),
    ),
    "trap": (
        """\
#!/bin/bash
set -e
R=0
finish() { echo "$R" > /logs/verifier/reward.txt; }
trap finish EXIT
pytest /tests/t.py
R=1
""",
        set(),
    ),
    "node": (
        """\
#!/usr/bin/env bash
cd /app && npm test
code=$?
mkdir -p "$(dirname "$REWARD")"
printf '%s' "$(( code == 0 ))" > "$REWARD_PATH"
""",
        set(),
    ),
    "cargo-e": (
        """\
#!/bin/bash
set -eo pipefail
cd /app
cargo test --release 2>&1 | tee /logs/verifier/out.txt
echo 1 > /logs/verifier/reward.txt
""",
        {"VER102"},
    ),
    "tee": (
        """\
#!/bin/bash
if python3 -m pytest -q /tests; then r=1; else r=0; fi
echo $r | tee /logs/verifier/reward.txt
""",
        set(),
    ),
    "json-cat": (
        """\
#!/bin/bash
pytest /tests
cat > /logs/verifier/reward.json <<EOF
{"reward": $?}
EOF
""",
        set(),
    ),
    "mv": (
        """\
#!/bin/bash
pytest /tests; r=$?
echo $((1-r)) > /tmp/r
mv /tmp/r /logs/verifier/reward.txt
""",
        set(),
    ),
    "python-c": (
        """\
#!/bin/bash
pytest /tests
python3 -c "import json;json.dump({'reward':1},open('/logs/verifier/reward.json','w'))"
""",
        set(),
    ),
    "missing-out-exit": (
        """\
#!/bin/bash
if [ ! -f /app/out.json ]; then
  echo "missing"
  exit 1
fi
R=/logs/verifier/reward.txt
python3 /verifier/check.py && echo 1 > $R || echo 0 > $R
""",
        {"VER103"},
    ),
    "missing-out-zero": (
        """\
#!/bin/bash
if [ ! -f /app/out.json ]; then
  echo 0 > /logs/verifier/reward.txt
  exit 0
fi
echo 1 > /logs/verifier/reward.txt
""",
        set(),
    ),
    "loop": (
        """\
#!/bin/bash
score=0
for t in a b c; do
  if diff -q /app/$t /verifier/$t; then score=$((score+1)); fi
done
echo "scale=2; $score/3" | bc > /logs/verifier/reward.txt
""",
        set(),
    ),
    "func-return": (
        """\
#!/bin/bash
check() { [ -f /app/x ] || return 1; grep -qx done /app/x || return 1; }
if check; then r=1; else r=0; fi
echo $r > /logs/verifier/reward.txt
""",
        set(),
    ),
    "exec-image": (
        """\
#!/bin/bash
exec /opt/grader/run --tests /tests
""",
        set(),
    ),
    "delegates": (
        """\
#!/bin/bash
cd "$(dirname "$0")"
bash run_all.sh
""",
        set(),
    ),
    "versions": (
        """\
#!/bin/bash
ver=$(python3 --version)
case $ver in 3*) ;; esac
if [[ $ver == 3* ]]; then echo ok; fi
grep -q "^1" /etc/debian_version
echo 1 > /logs/verifier/reward.txt
""",
        set(),
    ),
    "e-grep": (
        """\
#!/bin/bash
set -e
grep -qx done /app/x
echo 1 > /logs/verifier/reward.txt
""",
        {"VER102"},
    ),
    "subshell": (
        """\
#!/bin/bash
set -e
(
cd /app
pytest /tests
) || true
echo 1 > /logs/verifier/reward.txt
""",
        set(),
    ),
    "rc-pattern": (
        """\
#!/bin/bash
set -e
set +e; pytest /tests; rc=$?; set -e
echo $rc
if [ "$rc" -eq 0 ]; then r=1; else r=0; fi
echo "$r" > /logs/verifier/reward.txt
exit $rc
""",
        set(),
    ),
    "elif-hole": (
        """\
#!/bin/bash
pytest /tests
rc=$?
if [ $rc -eq 0 ]; then echo 1 > /logs/verifier/reward.txt
elif [ $rc -eq 1 ]; then echo 0 > /logs/verifier/reward.txt
fi
""",
        {"VER104"},
    ),
    "unless-env": (
        """\
#!/bin/bash
LOG=${LOGDIR:-/logs/verifier}
R=$LOG/reward.txt
pytest /tests && echo 1 >"$R" || echo 0 >"$R"
""",
        set(),
    ),
    "command-v": (
        """\
#!/bin/bash
command -v uv >/dev/null 2>&1 || curl -LsSf https://astral.sh/uv/install.sh | sh
if ! command -v pytest; then pip install pytest; fi
python3 -c "import numpy" || pip install numpy
curl -s http://localhost:8000/health
pytest /tests && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt
""",
        set(),
    ),
}
"""Scripts of the kinds that authors write, and the codes that they should give."""

FILES = {
    "delegates": ("run_all.sh", "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n"),
    "py-helper-arg": ("grade.py", "import sys\n"),
    "missing-out-exit": ("check.py", "import sys\n"),
}


def task(root: Path, script: str, **files: str) -> TaskPackage:
    """Return a task without network, with a `test.sh` and other files of the verifier."""
    (root / "verifier").mkdir()
    (root / "verifier" / "test.sh").write_text(script)
    for name, text in files.items():
        (root / "verifier" / name).write_text(text)
    front = 'schema_version: "1.3"\ntask: {name: a/b}\nsandbox: {network_mode: no-network}'
    (root / "task.md").write_text(f"---\n{front}\n---\n\n## prompt\n\nDo it.\n")
    return TaskPackage(root)


def codes(package: TaskPackage) -> set[str]:
    """Return the codes of the rules about scripts that find something."""
    return {rule.code for rule in RULES for _ in rule.check(package)}


@pytest.mark.parametrize("name", CASES)
def test_scripts(name: str, tmp_path: Path) -> None:
    """Each script gives exactly its codes."""
    script, expected = CASES[name]
    helper = dict([FILES[name]]) if name in FILES else {}
    assert codes(task(tmp_path, script, **helper)) == expected


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("out = open('x').read()\nassert '42' in out\n", True),
        ("output = f()\nassert '42' in output.strip()\n", True),
        ("def t(result):\n    assert result.startswith('1.0')\n", True),
        ("result = {}\nassert '42' in result\n", False),
        ("def t(output):\n    assert '42' in output\n", False),
        ("output = open('x').read()\nassert 'sum 42' in output\n", False),
        ("output = open('x').read()\nassert '8080' in output\n", False),
        ("output = open('x').read()\nassert '42' in output or '43' in output\n", False),
        ("lines = open('x').read().split()\nassert '42' in lines\n", False),
        ("assert line.startswith('1')\n", False),
        ("output = open('x').read(\nassert '42' in output\n", False),
    ],
)
def test_numbers_in_python(source: str, found: bool, tmp_path: Path) -> None:
    """A number within a text is found; one among keys, lines or alternatives is not."""
    package = task(tmp_path, "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n", **{"test_x.py": source})
    assert ("VER105" in codes(package)) == found


def test_network_of_the_verifier_wins(tmp_path: Path) -> None:
    """A verifier that has the network of its own may download."""
    package = task(tmp_path, "#!/bin/bash\npip install x\necho 1 > /logs/verifier/reward.txt\n")
    assert codes(package) == {"VER108"}
    text = (tmp_path / "task.md").read_text()
    (tmp_path / "task.md").write_text(text.replace("sandbox:", "verifier: {network_mode: public}\nsandbox:"))
    assert codes(TaskPackage(tmp_path)) == set()


@pytest.mark.parametrize(
    ("prompt", "workdir", "found"),
    [
        ("Write the sum of `/data/a.csv` to `/srv/sum.txt`.", "/app", True),
        ("Save it as /app/sum.txt, please.", "/app", False),
        ("Save it as /app/sum.txt, please.", "/app/work", True),
        ("The report has been saved to `/var/log/report.txt`.", "/app", False),
        ("Create the plan. The data are in `/data/a.csv`.", "/app", False),
        ("Write the result to `/tmp/x.txt`, `/outputs/y.txt`.", "/app", False),
        ("Write it to `/srv/sum.txt`.", "", False),
        ("Write it to `/srv/open/sum.txt`.", "/app\nRUN mkdir -p /srv/open && chmod 1777 /srv/open", False),
    ],
)
def test_where_the_agent_may_write(prompt: str, workdir: str, found: bool, tmp_path: Path) -> None:
    """Only a file that is asked for, where neither BenchFlow nor the image lets the agent write."""
    package = task(tmp_path, "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n")
    (tmp_path / "environment").mkdir()
    line = f"WORKDIR {workdir}\n" if workdir else ""
    (tmp_path / "environment" / "Dockerfile").write_text("FROM debian:bookworm-slim\n" + line)
    (tmp_path / "task.md").write_text((tmp_path / "task.md").read_text().replace("Do it.", prompt))
    assert ("VER109" in codes(TaskPackage(tmp_path))) == found
    assert package.name == tmp_path.name


def test_solution_path_that_is_meant(tmp_path: Path) -> None:
    """A task that asks for its output in `/solution` may name it; so may comments and longer paths."""
    script = "#!/bin/bash\n# /solution\ncat /app/solution/x\necho 1 > /logs/verifier/reward.txt\n"
    package = task(tmp_path, script)
    assert codes(package) == set()
    (tmp_path / "verifier" / "test.sh").write_text(script + "cat /solution/x\n")
    assert codes(TaskPackage(tmp_path)) == {"VER107"}
    (tmp_path / "task.md").write_text((tmp_path / "task.md").read_text().replace("Do it.", "See /solution."))
    assert codes(TaskPackage(tmp_path)) == set()
