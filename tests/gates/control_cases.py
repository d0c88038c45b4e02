"""Tasks for two gates that the kit's own profile has too (ORA101, VER108); as in `gate_cases`."""

from typing import Final

from gates.gate_cases import SOLVE, TEST
from gates.review_cases import checks, found, passed, script, solve

NATIVE: Final = """\
---
schema_version: "1.3"
task: {{name: gates/case}}
metadata: {{author_hub: gates}}
agent: {{timeout_sec: 300}}
verifier: {{{}}}
sandbox: {{{}}}
{}---

## prompt

Read `/app/data.csv` and write `/app/out.json`.
"""
HARBOR: Final[dict[str, str | None]] = {
    "task.md": None,
    "task.toml": 'version = "1.0"\n[metadata]\nauthor_hub = "gates"\n[verifier]\ntimeout_sec = 60\n',
    "instruction.md": "Read `/app/data.csv` and write `/app/out.json`.\n",
    "tests/test.sh": TEST,
}
GONE: Final[dict[str, str | None]] = {"oracle/solve.sh": None}


def native(verifier: str = "", sandbox: str = "", more: str = "") -> dict[str, str | None]:
    """Return a document whose verifier and sandbox have these keys."""
    return {"task.md": NATIVE.format(verifier, sandbox, more)}


ON: Final = native(sandbox="network_mode: public")
UVX: Final = script("uvx --with pytest==8.4.1 pytest /verifier/test_outputs.py", TEST)

CONTROLS: Final = (
    found("ORA101", "none", GONE),
    found(
        "VER108",
        "a test that asks another host",
        checks("import requests", "assert requests.get('https://pypi.org/x').ok"),
    ),
    passed(
        "VER108",
        "a test that asks this host",
        checks("import requests", "assert requests.get('http://localhost/x').ok"),
    ),
    found("ORA101", "notes in its place", {**GONE, "oracle/README.md": "It is easy.\n"}),
    found("ORA101", "in another language", {**GONE, "oracle/solve.py": "print(1)\n"}),
    found("ORA101", "beside the folder", {**GONE, "solve.sh": SOLVE}),
    found("ORA101", "of a Harbor task", {**HARBOR, **GONE}),
    found("ORA101", "deeper", {**GONE, "oracle/bin/solve.sh": SOLVE}),
    passed("ORA101", "there", {}),
    passed("ORA101", "in `solution/`", {**GONE, "solution/solve.sh": SOLVE}),
    passed("ORA101", "with other files", {"oracle/run.py": "print(1)\n"}),
    passed("ORA101", "of a Harbor task", {**HARBOR, **GONE, "solution/solve.sh": SOLVE}),
    passed("ORA101", "one that does nothing, which is another gate's", solve("true")),
    passed(
        "ORA101",
        "of a task in steps",
        {
            **native(more="steps:\n  - name: one\n"),
            **GONE,
            "steps/one/instruction.md": "Write `/app/out.json`.\n",
            "steps/one/oracle/solve.sh": SOLVE,
            "steps/one/verifier/test.sh": TEST,
        },
    ),
    found("VER108", "uvx", UVX),
    found("VER108", "apt-get", script("apt-get update && apt-get install -y jq", TEST)),
    found("VER108", "pip", script("pip install pytest==8.4.1", TEST)),
    found("VER108", "curl", script("curl -LsSf https://example.org/install.sh | sh", TEST)),
    found("VER108", "off for the verifier alone", {**native("network_mode: no-network"), **UVX}),
    found("VER108", "in its deprecated form", {**native(sandbox="allow_internet: false"), **UVX}),
    passed("VER108", "nothing", {}),
    passed("VER108", "where the network is on", {**ON, **UVX}),
    passed("VER108", "where nothing is said", {**native(), **UVX}),
    passed(
        "VER108",
        "on for the verifier alone",
        {**native("network_mode: public", "network_mode: no-network"), **UVX},
    ),
    passed("VER108", "only where a tool is missing", script("command -v jq || apt-get install -y jq", TEST)),
    passed("VER108", "the sandbox's own server", script("curl -s http://localhost:8000/health", TEST)),
)
