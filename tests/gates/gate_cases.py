"""Tasks for the gates: each case changes files of one good task; None in place of a text removes one."""

import base64
import shlex
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROMPT: Final = """\
Read `/app/data.csv` and write `/app/out.json` with the fields `mean` and `spread` of the column `amount`.
"""

SOLVE: Final = """\
#!/bin/bash
set -euo pipefail
python3 - <<'PY'
import csv, json, statistics
rows = [float(row["amount"]) for row in csv.DictReader(open("/app/data.csv"))]
result = {"mean": statistics.mean(rows), "spread": statistics.pstdev(rows)}
with open("/app/out.json", "w") as out:
    json.dump(result, out)
PY
"""

CHECKS: Final = """\
import json
from pathlib import Path

OUT = Path("/app/out.json")


def load():
    return json.loads(OUT.read_text())


def test_mean():
    assert abs(load()["mean"] - 48.625) < 1e-9


def test_spread():
    data = load()
    assert data["spread"] == 7.125
"""

TEST: Final = """\
#!/bin/bash
if pytest /verifier/test_outputs.py; then reward=1; else reward=0; fi
echo "$reward" > /logs/verifier/reward.txt
"""

EXPECTED: Final = '{"mean": 48.625, "spread": 7.125}\n'
HEAD: Final = "FROM debian:bookworm-slim\nWORKDIR /app\nCOPY data.csv /app/data.csv\n"

BASE: Final[Mapping[str, str]] = {
    "environment/Dockerfile": HEAD,
    "environment/data.csv": "amount\n41.5\n55.75\n",
    "oracle/solve.sh": SOLVE,
    "verifier/test.sh": TEST,
    "verifier/test_outputs.py": CHECKS,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One task: what differs from the good one, the prompt, and the code that is or isn't found in it."""

    code: str
    name: str
    found: bool
    files: Mapping[str, str | None]
    prompt: str = PROMPT

    def build(self, root: Path) -> Path:
        """Write the task and return its folder."""
        files = {**BASE, "task.md": _document(self.prompt), **self.files}
        for path, text in files.items():
            if text is not None:
                target = root / "task" / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, "utf-8")
        return root / "task"


def _document(prompt: str) -> str:
    head = 'schema_version: "1.3"\ntask:\n  name: gates/case\nmetadata:\n  author_hub: gates\n'
    rest = "agent:\n  timeout_sec: 300\nverifier:\n  timeout_sec: 60\nsandbox:\n  network_mode: no-network\n"
    return f"---\n{head}{rest}---\n\n## prompt\n\n{prompt}"


def b64(text: str) -> str:
    """Return a text in base64."""
    return base64.b64encode(text.encode()).decode()


def docker(*lines: str) -> dict[str, str | None]:
    """Return the good Dockerfile with lines added."""
    return {"environment/Dockerfile": HEAD + "\n".join(lines) + "\n"}


def env(files: Mapping[str, str | None], path: str, text: str) -> dict[str, str | None]:
    """Return files with one in the build context added."""
    return {**files, f"environment/{path}": text}


def verifier(text: str) -> dict[str, str | None]:
    """Return a verifier of these checks."""
    return {"verifier/test_outputs.py": text}


def reading(name: str) -> str:
    """Return checks that read a file of the image."""
    return CHECKS + f'\n\ndef test_key():\n    assert load() == json.loads(Path("{name}").read_text())\n'


OTHER: Final = '{"alpha": 1, "beta": 2}\n'
INNER: Final = CHECKS.replace("48.625", "12.5")

DOLLARS: Final = r"""#!/bin/bash
total=$(awk -F, 'NR > 1 { s += $2 } END { printf "%.3f\n", s }' /app/data.csv)
count=$(awk 'END { print NR - 1 }' /app/data.csv)
printf '{"mean": %s, "spread": %s}\n' "$total" "$count" > /app/out.json
test -s /app/out.json
"""

ESCAPED: Final = DOLLARS.replace("\\", r"\\").replace("$", r"\$")

STAGE: Final = "FROM debian AS build\nCOPY s /w/s\n"

LEAKED: Final = (
    # The reference solution, written in five ways.
    Case(
        code="LEK101", name="solution by a folder", found=True,
        files=env(docker("COPY kit/ /opt/kit/"), "kit/deep/run.txt", SOLVE),
    ),
    Case(
        code="LEK101", name="solution by a wildcard", found=True,
        files=env(docker("COPY *.txt /app/"), "notes.txt", SOLVE),
    ),
    Case(
        code="LEK101", name="solution by COPY .", found=True,
        files=env(docker("COPY . /app/"), "solve.sh", SOLVE),
    ),
    Case(
        code="LEK101", name="solution by a heredoc", found=True,
        files=docker("COPY <<'EOF' /app/notes", SOLVE.rstrip(), "EOF"),
    ),
    Case(
        code="LEK101", name="solution by base64", found=True,
        files=docker(f"RUN echo {b64(SOLVE)} | base64 -d > /opt/cache.bin"),
    ),
    Case(
        code="LEK101", name="solution that stays in base64", found=True,
        files=env(docker("COPY cache.bin /opt/"), "cache.bin", "\n".join(textwrap.wrap(b64(SOLVE), 76))),
    ),
    Case(
        code="LEK101", name="solution in base64 within another text", found=True,
        files=env(docker("COPY a.json /opt/"), "a.json", f'{{"blob": "{b64(SOLVE)}"}}\n'),
    ),
    Case(
        code="LEK101", name="solution by a heredoc with escapes", found=True,
        files={
            **docker("COPY <<EOF /app/notes", ESCAPED.rstrip(), "EOF"),
            "oracle/solve.sh": DOLLARS,
        },
    ),
    Case(
        code="LEK101", name="solution by a heredoc with escapes, of the shell", found=True,
        files={
            **docker("RUN cat <<EOF > /app/notes", ESCAPED.rstrip(), "EOF"),
            "oracle/solve.sh": DOLLARS,
        },
    ),
    Case(
        code="LEK101", name="solution by printf, line by line", found=True,
        files={
            **docker("RUN printf '%s\\n' " + " ".join(map(shlex.quote, DOLLARS.splitlines())) + " > /opt/x"),
            "oracle/solve.sh": DOLLARS,
        },
    ),
    Case(
        code="LEK101", name="another text in base64", found=False,
        files=env(docker("COPY cache.bin /opt/"), "cache.bin", b64(SOLVE.replace("amount", "count"))),
    ),
    Case(
        code="LEK101", name="solution by a variable of the image", found=True,
        files=docker(f'ENV BLOB="{b64(SOLVE)}"', 'RUN echo "$BLOB" | base64 -d > /opt/cache.bin'),
    ),
    Case(
        code="LEK101", name="solution by a build argument", found=True,
        files=docker(f"ARG BLOB={b64(SOLVE)}", "RUN echo $BLOB | base64 -d > /opt/cache.bin"),
    ),
    Case(
        code="LEK101", name="solution by Python out of base64", found=True,
        files=docker(
            "RUN python3 <<'PY'", "import base64", "from pathlib import Path", f"DATA = '{b64(SOLVE)}'",
            "Path('/opt/t').write_bytes(base64.b64decode(DATA))", "PY",
        ),
    ),
    Case(
        code="LEK101", name="solution by Python, below the working directory", found=True,
        files=env(
            docker("COPY gen.py /tmp/", "RUN python3 /tmp/gen.py"),
            "gen.py", f"with open('notes', 'w') as out:\n    out.write({SOLVE!r})\n",
        ),
    ),
    Case(
        code="LEK101", name="expected output laid out otherwise", found=True,
        files={
            **env(docker("COPY o.json /opt/"), "o.json", '{\n  "spread": 7.125,\n  "mean": 48.625\n}\n'),
            "verifier/expected.json": EXPECTED,
        },
    ),
    Case(
        code="LEK101", name="the form of an expected output, with other values", found=False,
        files={
            **env(docker("COPY o.json /opt/"), "o.json", '{"spread": 1.5, "mean": 2.5}\n'),
            "verifier/expected.json": EXPECTED,
        },
    ),
    Case(
        code="LEK102", name="the output's name, in a folder of its own", found=True,
        files={
            **env(docker("COPY o /opt/expected/out.json"), "o", OTHER),
            **verifier(reading("/opt/expected/out.json")),
        },
    ),
    Case(
        code="LEK102", name="made by a program that is told where", found=True,
        files={
            **env(docker("COPY g.py /g.py", "RUN python3 /g.py --out /opt/truth.json"), "g.py", "x = 1\n"),
            **verifier(reading("/opt/truth.json")),
        },
    ),
    *(
        Case(
            code="LEK102", name=f"made with {line.partition(' ')[0]}", found=True,
            files={**docker(f"RUN {line}"), **verifier(reading("/opt/labels.json"))},
        )
        for line in (
            "wget -qO /opt/labels.json https://example.org/x", "curl -sLo /opt/labels.json https://example.org/x",
            "dd if=/app/data.csv of=/opt/labels.json", "ln -s /app/data.csv /opt/labels.json",
            "sqlite3 /opt/labels.json 'create table a(b)'",
        )
    ),
    Case(
        code="LEK102", name="fetched under its own name", found=True,
        files={
            **docker("RUN cd /opt && wget -q https://example.org/a/labels.json?x=1"),
            **verifier(reading("/opt/labels.json")),
        },
    ),
    Case(
        code="LEK102", name="fetched to be printed", found=False,
        files={
            **docker("RUN cd /opt && wget -qO- https://example.org/labels.json | wc -l"),
            **verifier(reading("/opt/labels.json")),
        },
    ),
    Case(
        code="LEK102", name="named by a part of its path", found=False,
        files={
            **env(docker("COPY o /app/expected/day.json"), "o", OTHER),
            **verifier(reading("/app/expected/day.json")),
        },
        prompt=PROMPT + "Be sure to match `expected/day.json`.\n",
    ),
    Case(
        code="LEK102", name="named in a folder that is a variable", found=False,
        files={
            **env(docker("COPY o /app/expected/day.json"), "o", OTHER),
            **verifier(reading("/app/expected/day.json")),
        },
        prompt=PROMPT + "Be sure to match `$DATA/day.json`.\n",
    ),
    Case(
        code="LEK103", name="that stays in base64", found=True,
        files=docker(f"RUN echo {b64(EXPECTED)} > /opt/answer.bin"),
    ),
    Case(
        code="LEK101", name="solution by cat in RUN", found=True,
        files=docker("RUN cat > /opt/x.sh <<'EOF'", SOLVE.rstrip(), "EOF"),
    ),
    Case(
        code="LEK101", name="tests in a larger file", found=True,
        files=env(docker("COPY hints.md /app/"), "hints.md", "# Notes\n" + CHECKS + "\nThat is all.\n"),
    ),
    Case(
        code="LEK101", name="expected output of the verifier", found=True,
        files={
            **env(docker("COPY cache.dat /app/"), "cache.dat", EXPECTED),
            "verifier/expected.json": EXPECTED,
        },
    ),
    Case(
        code="LEK101", name="from another stage", found=True,
        files={
            "environment/Dockerfile": STAGE + HEAD + "COPY --from=build /w /opt/w\n",
            "environment/s": SOLVE,
        },
    ),
    Case(
        code="LEK101", name="mounted by the compose file", found=True,
        files={
            "environment/docker-compose.yaml": "services:\n  main:\n    volumes:\n"
            "      - ../oracle:/opt/o:ro\n",
        },
    ),
    Case(
        code="LEK101", name="the task's folder as the context", found=True,
        files={
            "environment/docker-compose.yaml": "services:\n  main:\n    build:\n      context: ..\n"
            "      dockerfile: environment/Dockerfile\n",
            "environment/Dockerfile": "FROM debian\nCOPY . /app/\n",
        },
    ),
    Case(code="LEK101", name="nothing of it", found=False, files={}),
    Case(
        code="LEK101", name="left out by .dockerignore", found=False,
        files=env(env(docker("COPY . /app/"), "solve.sh", SOLVE), ".dockerignore", "solve.sh\n"),
    ),
    Case(
        code="LEK101", name="in the context, not copied", found=False,
        files=env({}, "solve.sh", SOLVE),
    ),
    Case(
        code="LEK101", name="removed again", found=False,
        files=env(docker("COPY solve.sh /tmp/s.sh", "RUN rm -f /tmp/s.sh"), "solve.sh", SOLVE),
    ),
    Case(
        code="LEK101", name="only in a stage that is left behind", found=False,
        files={
            "environment/Dockerfile": STAGE + HEAD,
            "environment/s": SOLVE,
        },
    ),
    Case(
        code="LEK101", name="an input that the verifier holds too", found=False,
        files={"verifier/data.csv": BASE["environment/data.csv"]},
    ),
    Case(
        code="LEK101", name="the agent's own tests, which the verifier does not run", found=False,
        files={
            **env(docker("COPY test_app.py /app/tests/"), "test_app.py", INNER),
            "verifier/test_app.py": INNER,
        },
    ),
    Case(
        code="LEK101", name="a broken script that the solution rewrites", found=False,
        files=env(docker("COPY fix.sh /app/"), "fix.sh", SOLVE.replace(".mean(", ".median(")),
    ),
    # Grading data in the image.
    Case(
        code="LEK102", name="truth copied", found=True,
        files={
            **env(docker("COPY truth.json /app/"), "truth.json", OTHER),
            **verifier(reading("/app/truth.json")),
        },
    ),
    Case(
        code="LEK102", name="expected written", found=True,
        files={**docker("RUN echo '{}' > /opt/expected.json"), **verifier(reading("/opt/expected.json"))},
    ),
    Case(
        code="LEK102", name="labels generated by a program", found=True,
        files={
            **env(
                docker("COPY gen.py /tmp/", "RUN python3 /tmp/gen.py && rm /tmp/gen.py"),
                "gen.py",
                "import json, random\njson.dump([random.random()], open('/var/lib/labels.json', 'w'))\n",
            ),
            **verifier(reading("/var/lib/labels.json")),
        },
    ),
    Case(
        code="LEK102", name="a folder of answers, joined", found=True,
        files={
            **env(docker("COPY answers /srv/answers"), "answers/one.json", OTHER),
            **verifier(
                CHECKS + '\n\nROOT = Path("/srv")\n\n\ndef test_key():\n'
                '    with open(ROOT / "answers" / "one.json") as file:\n'
                "        assert json.load(file) == load()\n"
            ),
        },
    ),
    Case(
        code="LEK102", name="read by the shell", found=True,
        files={
            **docker("RUN echo 7 > /opt/answer_key.txt"),
            "verifier/test.sh": "#!/bin/bash\n"
            "if diff /opt/answer_key.txt /app/out.txt; then r=1; else r=0; fi\n"
            'echo "$r" > /logs/verifier/reward.txt\n',
        },
    ),
    Case(code="LEK102", name="nothing of it", found=False, files={}),
    Case(
        code="LEK102", name="named in the prompt", found=False,
        prompt=PROMPT + "Compare with `/app/truth.json`.\n",
        files={
            **env(docker("COPY truth.json /app/"), "truth.json", OTHER),
            **verifier(reading("/app/truth.json")),
        },
    ),
    Case(
        code="LEK102", name="read from the verifier's folder", found=False,
        files={**verifier(reading("/verifier/expected.json")), "verifier/expected.json": EXPECTED},
    ),
    Case(
        code="LEK102", name="made by the agent, not by the build", found=False,
        files=verifier(reading("/app/labels.json")),
    ),
    Case(
        code="LEK102", name="in the image, never read", found=False,
        files=env(docker("COPY labels.json /app/"), "labels.json", OTHER),
    ),
    Case(
        code="LEK102", name="no answer by its name", found=False,
        files={
            **env(docker("COPY base.json /app/"), "base.json", OTHER),
            **verifier(reading("/app/base.json")),
        },
    ),
    Case(
        code="LEK102", name="told in words", found=False,
        prompt=PROMPT + "Use the ground truth labels beside the data.\n",
        files={
            **env(docker("COPY ground_truth.json /app/"), "ground_truth.json", OTHER),
            **verifier(reading("/app/ground_truth.json")),
        },
    ),
    # Answers by name and content.
    Case(
        code="LEK103", name="two fields", found=True,
        files=env(docker("COPY expected.json /app/"), "expected.json", '{"mean": 1, "spread": 2}\n'),
    ),
    Case(
        code="LEK103", name="a value", found=True,
        files=docker("RUN printf 'm = %s\\n' 48.625 > /opt/answer.txt"),
    ),
    Case(
        code="LEK103", name="the head of a table", found=True,
        files=env(docker("COPY labels.csv /opt/"), "labels.csv", "mean,spread\n1,2\n"),
    ),
    Case(
        code="LEK103", name="a value in base64", found=True,
        files=docker(f"RUN echo {b64('x: 7.125')} | base64 --decode > /opt/solution.yaml"),
    ),
    Case(
        code="LEK103", name="written by Python", found=True,
        files=docker(
            "RUN python3 - <<'PY'", "import json", "with open('/opt/ground_truth.json', 'w') as f:",
            "    json.dump({'mean': 3, 'spread': 4}, f)", "PY",
        ),
    ),
    Case(
        code="LEK103", name="a value that is looked up in a table", found=True,
        files={
            **docker("RUN echo 91824 > /opt/answers.txt"),
            **verifier(CHECKS + '\n\nWANTED = {"total": 91824}\n\n\ndef test_total():\n'
                       '    assert load()["total"] == WANTED["total"]\n'),
        },
    ),
    Case(code="LEK103", name="nothing of it", found=False, files={}),
    Case(
        code="LEK103", name="named in the prompt", found=False,
        prompt=PROMPT + "`expected.json` shows the form.\n",
        files=env(docker("COPY expected.json /app/"), "expected.json", '{"mean": 1, "spread": 2}\n'),
    ),
    Case(
        code="LEK103", name="one field only", found=False,
        files=env(docker("COPY labels.json /app/"), "labels.json", '{"mean": 1}\n'),
    ),
    Case(
        code="LEK103", name="a value that the prompt shows", found=False,
        prompt=PROMPT + "The mean of the first year was 48.625.\n",
        files=docker("RUN echo 48.625 > /opt/answer.txt"),
    ),
    Case(
        code="LEK103", name="part of a longer number", found=False,
        files=docker("RUN echo 148.6251 > /opt/answer.txt"),
    ),
    Case(
        code="LEK103", name="no answer by its name", found=False,
        files=docker("RUN echo 48.625 > /opt/notes.txt"),
    ),
    Case(
        code="LEK103", name="no answer but unlabeled", found=False,
        files=env(docker("COPY unlabeled.csv /app/"), "unlabeled.csv", "mean,spread\n1,2\n"),
    ),
)  # fmt: skip
