#!/bin/bash -p
# Runs test_outputs.py and writes the reward: 1.0 when at least one test ran and every test passed, else 0.0.
# A test that is skipped, deselected or expected to fail has not passed. The same file serves every task:
# a task's own checks belong in test_outputs.py, its own tools in /opt/verifier (see environment/Dockerfile).
#
# Nothing the agent leaves behind may steer the verdict: environment, PATH, shell functions, earlier reward files,
# conftest.py, pytest and Python configuration, plugins, bytecode, modules that shadow others. Out of reach here:
# an agent that was root and replaced Python or /opt/verifier, or that left a process running.
#
# Exit 0: judged, reward and CTRF written. Exit 1: the tests did not run to their end; reward 0.0 and CTRF are
# written, because the image holds all they need, so an agent that breaks it must not fare better than a failure.
# Exit 2: a fault of the task or the harness (no test_outputs.py, nowhere to write); no reward, as nothing was judged.

# `bash test.sh` has already taken over exported functions. In POSIX mode none can stand in for `exec`, and the new
# shell reads neither functions nor $BASH_ENV (-p).
case ${1-} in
  --clean) ;;
  *) POSIXLY_CORRECT=1; exec /bin/bash -p -- "$0" --clean ;;
esac
unset -v BASH_ENV ENV POSIXLY_CORRECT TMPDIR ${!LD_@} ${!PYTHON@} ${!PYTEST@}
PATH=/usr/bin:/bin
umask 022

give_up() { printf 'test.sh: %s\n' "$1" >&2; exit 2; }

here=$(cd -- "$(dirname -- "$0")" && pwd -P) || give_up "cannot enter the folder of \`$0\`"
cd /
reward_txt=${BENCHFLOW_REWARD_TEXT:-/logs/verifier/reward.txt}
reward_json=${BENCHFLOW_REWARD_JSON:-/logs/verifier/reward.json}
ctrf_json=${BENCHFLOW_REWARD_DETAILS_JSON:-${BENCHFLOW_CTRF_JSON:-/logs/verifier/ctrf.json}}

mkdir -p -- "$(dirname -- "$reward_txt")" "$(dirname -- "$reward_json")" "$(dirname -- "$ctrf_json")"
rm -rf -- "$reward_txt" "$reward_json" "$ctrf_json" || give_up "cannot remove the earlier reward files"
[[ -f $here/test_outputs.py ]] || give_up "\`$here/test_outputs.py\` is missing"
# Beside the results, so that moving them into place is atomic.
work=$(mktemp -d -- "$(dirname -- "$reward_json")/.verifier.XXXXXX") || give_up "cannot write beside \`$reward_json\`"
trap 'rm -rf -- "$work"' EXIT

# The verdict goes to a pipe that no process started by a test inherits, so an early exit with status 0 proves nothing.
runner='
import json, os, sys
ctrf, *arguments = sys.argv[1:]
os.set_inheritable(3, False)
for name in [name for name in os.environ if name.startswith("BASH_FUNC_")]:
    del os.environ[name]
sys.path.append("/opt/verifier/lib/python%d.%d/site-packages" % sys.version_info[:2])
import pytest

class Count:
    collected, passed = set(), set()
    def pytest_itemcollected(self, item):
        self.collected.add(item.nodeid)
    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed and not hasattr(report, "wasxfail"):
            self.passed.add(report.nodeid)

code = pytest.main(["--ctrf", ctrf, *arguments], plugins=[Count()])
said = f"{len(Count.passed)} of {len(Count.collected)} tests passed, pytest exit code {int(code)}"
print(f"test.sh: {said}", flush=True)
if code in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):
    sys.exit(code)
good = code == 0 and Count.passed and Count.passed == Count.collected
with open(ctrf) as file:
    report = json.load(file)
tests, summary = report["results"]["tests"], report["results"]["summary"]
if not good and summary["passed"] == len(tests):
    tests.append({"name": "every test ran and passed", "status": "failed", "duration": 0, "message": said})
    summary.update(tests=summary["tests"] + 1, failed=summary["failed"] + 1)
    with open(ctrf, "w") as file:
        json.dump(report, file)
os.write(3, b"pass" if good else b"fail")
'
exec 4>&1
# -I -S: no environment, user site, current folder, sitecustomize or .pth; pycache_prefix: no bytecode from elsewhere;
# importlib: nothing beside the tests can shadow a module, so load a helper there by its path (importlib.util).
verdict=$(
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    /opt/verifier/bin/python -I -S -B -X pycache_prefix="$work/none" -c "$runner" "$work/ctrf.json" \
    -c /dev/null --rootdir="$here" --noconftest --import-mode=importlib --disable-plugin-autoload \
    -p no:cacheprovider -p ctrf.main -v --tb=short "$here/test_outputs.py" \
    3>&1 1>&4 4>&- </dev/null
)
status=$?
reward=0.0
case $verdict in
  pass) reward=1.0 status=0 ;;
  fail) status=0 ;;
  *)
    message="the tests did not run to their end (exit status $status)" status=1
    printf 'test.sh: %s\n' "$message" >&2
    printf '{"results": {"tool": {"name": "pytest"}, "summary": {"tests": 1, "passed": 0, "failed": 1, "pending": 0,
      "skipped": 0, "other": 0, "start": %s000, "stop": %s000}, "tests": [{"name": "test_outputs.py",
      "status": "failed", "duration": 0, "message": "%s"}]}}\n' \
      "$EPOCHSECONDS" "$EPOCHSECONDS" "$message" > "$work/ctrf.json"
    ;;
esac
printf '%s\n' "$reward" > "$work/reward.txt"
printf '{"reward": %s}\n' "$reward" > "$work/reward.json"
mv -fT -- "$work/ctrf.json" "$ctrf_json" && mv -fT -- "$work/reward.txt" "$reward_txt" \
  && mv -fT -- "$work/reward.json" "$reward_json" || give_up "cannot write the reward files"
exit "$status"
