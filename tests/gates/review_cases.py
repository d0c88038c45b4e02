"""Tasks for the gates that ask for controls or a look; as in `gate_cases`."""

from collections.abc import Mapping
from typing import Final

from gates.gate_cases import CHECKS, HEAD, PROMPT, TEST, Case, docker, env, reading, verifier

X: Final = "x\n"


def found(code: str, name: str, files: Mapping[str, str | None], prompt: str = PROMPT) -> Case:
    """Return a true case."""
    return Case(code=code, name=name, found=True, files=files, prompt=prompt)


def passed(code: str, name: str, files: Mapping[str, str | None], prompt: str = PROMPT) -> Case:
    """Return a false case."""
    return Case(code=code, name=name, found=False, files=files, prompt=prompt)


def image(path: str, target: str, text: str = X) -> dict[str, str | None]:
    """Return a task whose image holds a file of the context."""
    return env(docker(f"COPY {path} {target}"), path, text)


def solve(*lines: str) -> dict[str, str | None]:
    """Return a task with this reference solution."""
    return {"oracle/solve.sh": "#!/bin/bash\n" + "\n".join(lines) + "\n"}


def checks(*lines: str) -> dict[str, str | None]:
    """Return a task with one test of these lines."""
    head = "import os\nfrom pathlib import Path\n\n\ndef test_it():\n"
    return verifier(head + "".join(f"    {line}\n" for line in lines))


def script(*lines: str) -> dict[str, str | None]:
    """Return a task whose `test.sh` has these lines."""
    return {"verifier/test.sh": "#!/bin/bash\n" + "\n".join(lines) + "\n"}


REWARD: Final = "> /logs/verifier/reward.txt"
OUT: Final = 'Path("/app/out.json")'

REVIEWED: Final = (
    found("LEK104", "an answer of nothing known", image("answer.bin", "/opt/answer.bin")),
    found("LEK104", "expected values that nothing compares", image("expected.txt", "/opt/expected.txt")),
    found("LEK104", "a solution by its folder", image("answers/a.txt", "/opt/answers/")),
    found("LEK104", "labels in camel case", image("trueLabels.txt", "/opt/trueLabels.txt")),
    found("LEK104", "made by a program", docker("RUN make-it > /opt/oracle.dat")),
    passed("LEK104", "nothing of it", {}),
    passed("LEK104", "named in the prompt", image("labels.csv", "/app/"), PROMPT + "See `labels.csv`.\n"),
    passed(
        "LEK104",
        "its folder named",
        image("labels.csv", "/app/set/"),
        PROMPT + "The data is in `/app/set`.\n",
    ),
    passed("LEK104", "removed again", env(docker("COPY answer.txt /x", "RUN rm /x"), "answer.txt", X)),
    passed("LEK104", "preferences are no references", image("preferences.json", "/opt/preferences.json")),
    passed("LEK104", "in the context only", env({}, "answer.txt", X)),
    found("LEK105", "test_outputs.py", image("test_outputs.py", "/opt/x/")),
    found(
        "LEK105",
        "a name of its own",
        {**image("check_all.py", "/opt/x/"), "verifier/check_all.py": "y = 1\n"},
    ),
    found("LEK105", "written by a heredoc", docker("COPY <<E /opt/test_outputs.py", "x = 1", "E")),
    found("LEK105", "verifier.md", image("verifier.md", "/opt/x/")),
    found("LEK105", "by a folder", env(docker("COPY t /opt/t"), "t/grader.py", X)),
    passed("LEK105", "nothing of it", {}),
    found(
        "CTL102",
        "an address in a variable",
        solve("URL=https://example.org/x", 'curl -o /app/out.json "$URL"'),
    ),
    found(
        "CTL102",
        "a program beside it",
        {
            **solve("python3 /oracle/get.py"),
            "oracle/get.py": "from urllib.request import urlopen\nprint(urlopen('https://example.org/x').read())\n",
        },
    ),
    passed(
        "CTL102",
        "a program beside it, of this host",
        {
            **solve("python3 /oracle/get.py"),
            "oracle/get.py": "from urllib.request import urlopen\nprint(urlopen('http://localhost:80/x').read())\n",
        },
    ),
    found("CTL104", "by tee", script("pytest /verifier/x.py", "echo 1 | tee /logs/verifier/reward.txt")),
    passed(
        "CTL104", "by tee, what is counted", script("grep -c x /app/out.json | tee /logs/verifier/reward.txt")
    ),
    found(
        "CTL104",
        "a variable that is always 1",
        script("reward=1", "pytest /verifier/x.py", 'echo "$reward" > /logs/verifier/reward.txt'),
    ),
    passed(
        "CTL104",
        "a variable that may be 0",
        script("reward=1", "pytest /verifier/x.py || reward=0", 'echo "$reward" > /logs/verifier/reward.txt'),
    ),
    found("CTL101", "an exit first", solve("exit 0", "cp /app/data.csv /app/out.json")),
    found("CTL101", "a function that nothing calls", solve("main() { cp /app/data.csv /app/out.json; }")),
    found("CTL101", "a branch that is never taken", solve("if false; then cp /app/a /app/out.json; fi")),
    found("CTL101", "Python that passes", solve("python3 - <<'PY'", "pass", "PY")),
    passed(
        "CTL101",
        "an exit within a condition",
        solve("[ -f /app/data.csv ] || exit 1", "cp /app/a /app/out.json"),
    ),
    passed("CTL101", "a function that is called", solve("main() { cp /app/a /app/out.json; }", "main")),
    passed("CTL101", "the other branch", solve("if false; then :; else cp /app/a /app/out.json; fi")),
    found(
        "CTL104",
        "with a rubric that tells of the reward",
        {
            **script("pytest /verifier/test_outputs.py", "echo 1 > /logs/verifier/reward.txt"),
            "verifier/verifier.md": "outputs: {reward_text: /logs/verifier/reward.txt}\n",
        },
    ),
    passed(
        "LEK105", "named in the prompt", image("test_outputs.py", "/app/"), PROMPT + "Run test_outputs.py.\n"
    ),
    passed("LEK105", "in the context only", env({}, "test_outputs.py", X)),
    passed("LEK105", "the agent's own tests", image("test_app.py", "/opt/x/")),
    passed(
        "LEK105",
        "left out",
        env(env(docker("COPY . /opt/x"), "test_outputs.py", X), ".dockerignore", "*.py\n"),
    ),
    found("LEK106", "bytecode", env(docker("COPY lib /opt/lib"), "lib/__pycache__/a.pyc", X)),
    found("LEK106", "a cache, by COPY .", env(docker("COPY . /app"), ".pytest_cache/v", X)),
    found("LEK106", "a repository", env(docker("COPY src /app/src"), "src/.git/HEAD", X)),
    found("LEK106", "a commit", docker("RUN git init . && git add -A && git commit -m one")),
    found("LEK106", "a clone", docker("RUN git clone https://example.org/it.git /app/it")),
    passed("LEK106", "nothing of it", {}),
    passed(
        "LEK106",
        "not copied",
        env(docker("COPY lib/a.py /opt/"), "lib/__pycache__/a.pyc", X) | {"environment/lib/a.py": X},
    ),
    passed(
        "LEK106", "ignored", env(env(docker("COPY . /app"), ".pytest_cache/v", X), ".dockerignore", "**/.*\n")
    ),
    passed("LEK106", "a tool", docker("RUN git clone --depth 1 https://example.org/it.git /opt/it")),
    passed(
        "LEK106",
        "history removed",
        docker("RUN git clone https://example.org/it.git /app/it && rm -rf /app/it/.git"),
    ),
    passed(
        "LEK106", "a task about git", docker("RUN git init . && git commit -m one"), PROMPT + "Use git.\n"
    ),
    found("LEK107", "https", docker("ADD https://example.org/x.csv /opt/x")),
    found("LEK107", "http in JSON form", docker('ADD ["http://example.org/x.csv", "/opt/x"]')),
    found("LEK107", "git", docker("ADD git@example.org:a/b.git /opt/x")),
    found("LEK107", "with a variable", docker("ARG V=1", "ADD https://example.org/$V.csv /opt/x")),
    found("LEK107", "beside a file", env(docker("ADD f https://example.org/x /opt/x/"), "f", X)),
    passed("LEK107", "nothing of it", {}),
    passed("LEK107", "a local file", env(docker("ADD f /opt/x"), "f", X)),
    passed("LEK107", "a label", docker('LABEL source="https://example.org/x"')),
    passed("LEK107", "in a comment", docker("# ADD https://example.org/x /opt/x")),
    passed("LEK107", "a local archive", env(docker("ADD f.tar /opt/x"), "f.tar", X)),
    found(
        "LEK108", "copied", {**image("base.json", "/opt/base.json"), **verifier(reading("/opt/base.json"))}
    ),
    found(
        "LEK108", "written", {**docker("RUN echo 1 > /opt/base.json"), **verifier(reading("/opt/base.json"))}
    ),
    found(
        "LEK108",
        "from a stage",
        {
            "environment/Dockerfile": f"FROM debian AS s\nRUN echo 1 > /k\n{HEAD}COPY --from=s /k /opt/k\n",
            **verifier(reading("/opt/k")),
        },
    ),
    found(
        "LEK108",
        "read by the shell",
        {
            **docker("RUN echo 1 > /opt/base"),
            **script("diff /opt/base /app/out; r=$((1 - $?))", f"echo $r {REWARD}"),
        },
    ),
    found(
        "LEK108",
        "opened",
        {**image("base.txt", "/opt/base.txt"), **verifier(CHECKS + "\n\nX = open('/opt/base.txt').read()\n")},
    ),
    passed("LEK108", "nothing of it", {}),
    passed("LEK108", "an input that the prompt names", verifier(reading("/app/data.csv"))),
    passed(
        "LEK108",
        "its folder named",
        {**image("base.json", "/opt/in/"), **verifier(reading("/opt/in/base.json"))},
        PROMPT + "Look into `/opt/in`.\n",
    ),
    passed("LEK108", "of the verifier", verifier(reading("/verifier/base.json"))),
    passed("LEK108", "made by the agent", verifier(reading("/opt/base.json"))),
    passed(
        "LEK108",
        "only asked for",
        {
            **image("base.json", "/opt/base.json"),
            **verifier(CHECKS + "\n\nassert Path('/opt/base.json').exists()\n"),
        },
    ),
    found("CTL101", "prints", solve("echo done")),
    found("CTL101", "only comments", solve("# to be written")),
    found("CTL101", "leaves", solve("set -euo pipefail", "cd /app", "exit 0")),
    found("CTL101", "empty", {"oracle/solve.sh": ""}),
    found("CTL101", "prints into the log", solve("echo hello > /dev/stderr", "mkdir -p /app", "true")),
    found(
        "CTL101", "python that prints", {"oracle/solve.sh": "#!/usr/bin/env python3\nimport os\nprint('x')\n"}
    ),
    passed("CTL101", "computes", {}),
    passed("CTL101", "writes", solve("echo 42 > /app/out.json")),
    passed("CTL101", "appends from a here-document", solve("cat >> /app/out.json <<E", "42", "E")),
    passed("CTL101", "calls a script", solve("bash /oracle/steps.sh")),
    passed("CTL101", "in a group", solve("{ echo a; echo b; } > /app/out.json")),
    passed(
        "CTL101",
        "python that writes",
        {"oracle/solve.sh": "#!/usr/bin/env python3\nopen('/app/out.json', 'w').write('1')\n"},
    ),
    found("CTL102", "curl", solve("curl -fsS https://example.org/a -o /app/out.json")),
    found("CTL102", "wget", solve("wget -O /app/out.json http://example.org/a")),
    found("CTL102", "git clone", solve("git clone https://example.org/a /app/a")),
    found(
        "CTL102",
        "urllib",
        solve(
            "python3 - <<'PY'",
            "import urllib.request",
            "urllib.request.urlopen('https://example.org/a')",
            "PY",
        ),
    ),
    found("CTL102", "in a pipe", solve("curl https://example.org/a | sh")),
    passed("CTL102", "computes", {}),
    passed("CTL102", "its own server", solve("curl http://localhost:8080/x > /app/out.json")),
    passed("CTL102", "its own address", solve("curl http://127.0.0.1/x > /app/out.json")),
    passed("CTL102", "says an address", solve("echo https://example.org/a > /app/out.json")),
    passed("CTL102", "a commit", solve("git commit -m 'see https://example.org/a' > /app/out.json")),
    found("CTL103", "exists", checks(f"assert {OUT}.exists()")),
    found("CTL103", "by os.path", checks("assert os.path.isfile('/app/out.json'), 'missing'")),
    found("CTL103", "through a name", checks(f"here = {OUT}.is_file()", "assert here")),
    found("CTL103", "a guard", checks(f"if not {OUT}.exists():", "    raise AssertionError('missing')")),
    found("CTL103", "nothing asserted", checks(f"print({OUT}.read_text())")),
    found("CTL103", "always true", checks("assert True")),
    passed("CTL103", "values", {}),
    passed(
        "CTL103", "exists, and a value", checks(f"assert {OUT}.exists()", f"assert {OUT}.read_text() == '1'")
    ),
    passed("CTL103", "gone", checks("assert not os.path.exists('/app/data.csv')")),
    passed("CTL103", "a size", checks(f"assert {OUT}.stat().st_size > 10")),
    passed(
        "CTL103",
        "compared by the shell too",
        {
            **checks(f"assert {OUT}.exists()"),
            **script(
                "diff /app/out.json /verifier/wanted && pytest /verifier/test_outputs.py",
                f"echo $((1 - $?)) {REWARD}",
            ),
        },
    ),
    passed(
        "CTL103",
        "a helper of the verifier",
        {
            "verifier/helper.py": "def same(a):\n    assert a == 1\n",
            "verifier/test_outputs.py": "from helper import same\n\n\ndef test_it():\n    same(3)\n",
        },
    ),
    found("CTL104", "always 1", script("pytest /verifier/test_outputs.py", f"echo 1 {REWARD}")),
    found("CTL104", "1.0", script("pytest /verifier/test_outputs.py", f"printf '1.0\\n' {REWARD}")),
    found(
        "CTL104",
        "only where it passes",
        script(f"if pytest /verifier/test_outputs.py; then echo 1 {REWARD}; fi"),
    ),
    found("CTL104", "in JSON", script("""echo '{"reward": 1}' > /logs/verifier/reward.json""")),
    found(
        "CTL104",
        "both ways",
        script(f"if pytest /verifier/test_outputs.py; then echo 1 {REWARD}; else echo 1 {REWARD}; fi"),
    ),
    passed("CTL104", "a variable", {"verifier/test.sh": TEST}),
    passed(
        "CTL104",
        "1 or 0",
        script(f"if pytest /verifier/test_outputs.py; then echo 1 {REWARD}; else echo 0 {REWARD}; fi"),
    ),
    passed(
        "CTL104",
        "0 from a trap",
        script(
            "set -e", f"trap 'echo 0 {REWARD}' ERR", "pytest /verifier/test_outputs.py", f"echo 1 {REWARD}"
        ),
    ),
    passed(
        "CTL104",
        "0 before the checks",
        script(f"echo 0 {REWARD}", f"pytest /verifier/test_outputs.py && echo 1 {REWARD}"),
    ),
    passed(
        "CTL104",
        "written by Python",
        {
            "verifier/test_outputs.py": CHECKS + "\n\nopen('/logs/verifier/reward.txt', 'w').write('0')\n",
            **script(f"echo 1 {REWARD}", "python3 /verifier/test_outputs.py"),
        },
    ),
    passed("CTL104", "counted", script("n=$(grep -c x /app/out.json)", f'echo "$n" {REWARD}')),
)
