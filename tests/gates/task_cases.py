"""Tasks for what prompt, solution and verifier say of each other (BYD117 to BYD119); as in `gate_cases`."""

from typing import Final

from gates.gate_cases import CHECKS, EXPECTED, PROMPT, SOLVE, TEST, docker, env, reading, verifier
from gates.review_cases import checks, found, passed, script, solve

READY: Final = {"oracle/out.json": '{"mean": 48.6, "spread": 7.1}\n'}
NEW: Final = 'assert Path("/app/summary.txt").read_text() == "7"'
OTHER: Final = PROMPT + "\nSave the chart's points to `/app/points.csv`, one a line.\n"


def also(text: str) -> str:
    """Return the prompt with a paragraph more."""
    return f"{PROMPT}\n{text}\n"


SOLUTIONS: Final = (
    found("BYD117", "the tests", solve("grep -o '48[.0-9]*' /tests/test_outputs.py > /app/out.json")),
    found("BYD117", "the expected output", solve("cp /verifier/expected.json /app/out.json")),
    found("BYD117", "the reward", solve("cat /app/data.csv > /app/x", "echo 1 > /logs/verifier/reward.txt")),
    found(
        "BYD117",
        "the verifier's folder by its variable",
        solve('jq . "$BENCHFLOW_VERIFIER_DIR/e.json" > /app/o'),
    ),
    found(
        "BYD117",
        "in a script that it runs",
        {**solve("python3 /oracle/run.py"), "oracle/run.py": 'print(open("/tests/expected.json").read())\n'},
    ),
    found("BYD117", "a finished result", {**solve("cp /oracle/out.json /app/out.json"), **READY}),
    found(
        "BYD117",
        "a finished result by its folder",
        {
            **solve(
                "set -e", "mkdir -p /app", 'cp "$(dirname "$0")/out.json" /app/', "chmod 644 /app/out.json"
            ),
            **READY,
        },
    ),
    found("BYD117", "with cat", {**solve("cd /oracle", "cat ./out.json > /app/out.json"), **READY}),
    found(
        "BYD117",
        "what the verifier expects, after some work",
        {
            **solve("python3 -m json.tool /app/data.csv", "cp /oracle/out.json /app/out.json"),
            "oracle/out.json": EXPECTED,
            "verifier/expected.json": EXPECTED,
        },
    ),
    passed("BYD117", "computes", {}),
    passed("BYD117", "source code", {**solve("cp /oracle/app.py /app/app.py"), "oracle/app.py": "x = 1\n"}),
    passed("BYD117", "settings", {**solve("cp /oracle/app.yaml /app/"), "oracle/app.yaml": "x: 1\n"}),
    passed(
        "BYD117",
        "a part of the work",
        {**solve("cp /oracle/codes.csv /tmp/", "python3 /app/run.py"), "oracle/codes.csv": "a,b\n"},
    ),
    passed(
        "BYD117",
        "a broken file that is mended",
        {
            **env(docker("COPY broken.json /app/"), "broken.json", "{"),
            **solve("cp /oracle/broken.json /app/broken.json"),
            "oracle/broken.json": '{"a": 1}\n',
        },
    ),
    passed("BYD117", "in a comment", solve("# not /tests/expected.json", SOLVE)),
    passed("BYD117", "tests of its own", solve("mkdir -p /app/tests && cp /app/data.csv /app/tests/x.csv")),
    passed(
        "BYD117",
        "tests that the image has",
        {**docker("RUN echo 1 > /tests/a.py"), **solve("python3 /tests/a.py")},
    ),
    passed(
        "BYD117",
        "tests that the prompt names",
        solve("python3 /tests/a.py > /app/o"),
        also("Mend `/tests/a.py`."),
    ),
)

OUTPUTS: Final = (
    found("BYD118", "a second file", {}, OTHER),
    found("BYD118", "a script", {}, also("Create a Python script at `/app/run.py` that does it.")),
    found("BYD118", "in a list", {}, also("1. Write the rows to /app/rows.csv, sorted.")),
    found("BYD118", "as a duty", {}, also("The log must be written to `/app/run.log`.")),
    found(
        "BYD118", "after another sentence", {}, also("Be quick. Additionally, save it as `/app/b/copy.json`.")
    ),
    passed("BYD118", "all is read", {}),
    passed("BYD118", "read", checks('assert Path("/app/points.csv").read_text()'), OTHER),
    passed("BYD118", "read by its stem", checks('assert Path(f"/app/points.{1}")'), OTHER),
    passed("BYD118", "read by its folder", checks('assert list(Path("/app").glob("*.csv"))'), OTHER),
    passed("BYD118", "by the shell", script(f"cd /app && wc -l points.csv && {TEST}"), OTHER),
    passed("BYD118", "an input", {}, also("The file `/app/more.csv` was saved by the logger.")),
    passed("BYD118", "what a program does", {}, also("The script `/app/run.py` writes `/app/run.log`.")),
    passed("BYD118", "in the image", docker("RUN touch /app/points.csv"), OTHER),
    passed("BYD118", "where the work starts", {}, also("Write the sum of `/app/a.csv` to `/app/out.json`.")),
    passed("BYD118", "scratch", {}, also("Save what you need to `/tmp/notes.txt`.")),
    passed("BYD118", "a placeholder", {}, also("Write each part to `/app/part_N.csv`.")),
    passed("BYD118", "in an example", {}, also("Thus:\n\n```\nWrite it to /app/like.csv\n```\n")),
    found("BYD119", "an output", checks(NEW)),
    found(
        "BYD119",
        "built from a folder",
        checks('ROOT = Path("/app")', 'assert (ROOT / "sub" / "key.txt").read_text()'),
    ),
    found(
        "BYD119",
        "asked for first",
        checks('p = Path("/app/sum.txt")', "assert p.exists()", "assert p.read_text() == '7'"),
    ),
    found("BYD119", "opened", checks('with open("/app/sum.txt") as file:', "    assert file.read() == '7'")),
    found("BYD119", "by the shell", script("diff /app/sum.txt /verifier/sum.txt", TEST)),
    passed("BYD119", "all is told", {}),
    passed("BYD119", "told by its name", checks(NEW), also("Also write a `summary.txt`.")),
    passed(
        "BYD119",
        "told by its folder",
        checks('assert Path("/app/parts/a.txt").read_text()'),
        also("Fill `/app/parts`."),
    ),
    passed(
        "BYD119",
        "in the image",
        {**env(docker("COPY base.json /app/"), "base.json", "{}"), **verifier(reading("/app/base.json"))},
    ),
    passed(
        "BYD119",
        "written by a program of the image",
        {**env(docker("COPY run.sh /app/"), "run.sh", "echo 7 > summary.txt\n"), **checks(NEW)},
    ),
    passed(
        "BYD119", "written by the verifier", checks('p = Path("/app/summary.txt")', 'p.write_text("7")', NEW)
    ),
    passed(
        "BYD119",
        "written by what it runs",
        checks("import subprocess", 'subprocess.run(["/app/out.json", "/app/summary.txt"])', NEW),
    ),
    passed(
        "BYD119",
        "read where it is there",
        checks('p = Path("/app/summary.txt")', "if p.exists():", "    assert p.read_text() == '7'"),
    ),
    found(
        "BYD119",
        "missed where it is not there",
        checks(
            'p = Path("/app/summary.txt")',
            "if not p.exists():",
            "    raise ValueError",
            "assert p.read_text()",
        ),
    ),
    passed("BYD119", "a build's product", checks('assert Path("/app/main.class").read_bytes()')),
    passed(
        "BYD119",
        "one of several that may be there",
        checks('for name in ("/app/summary.txt", "/app/out.json"):', "    assert Path(name).read_text()"),
    ),
    passed(
        "BYD119", "the verifier's own", {**verifier(reading("/verifier/key.json")), "verifier/key.json": "{}"}
    ),
    passed("BYD119", "the system's", checks('assert Path("/etc/os-release").read_text()')),
    passed("BYD119", "a log below /var", checks('assert Path("/var/log/app.log").read_text()')),
    passed("BYD119", "only asked for", checks('assert Path("/app/x.pid").exists()', *CHECKS[:0])),
)
