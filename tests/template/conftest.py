"""A rendering of the template, and containers that run its verifier."""

import base64
import io
import json
import re
import subprocess
import tarfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import copier
import pytest

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "template"
LABEL = "seatrials-test"


@pytest.fixture
def render(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that renders the template with the answers given, into a folder of its own."""

    def render_task(folder: str | None = None, /, **answers: Any) -> Path:
        target = tmp_path / (folder or f"task-{uuid.uuid4().hex[:12]}")
        copier.run_copy(str(TEMPLATE), target, data=answers, defaults=True, quiet=True)
        return target

    return render_task


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of `test.sh`: exit code, result files by name, output, and whether planted code was run."""

    exit_code: int
    files: dict[str, str]
    output: str
    steered: bool

    @property
    def reward(self) -> float | None:
        """The reward on which both files agree, or None where neither was written."""
        text, data = self.files.get("reward.txt"), self.files.get("reward.json")
        if text is None and data is None:
            return None
        assert text is not None, "no reward.txt beside reward.json"
        assert data is not None, "no reward.json beside reward.txt"
        assert json.loads(data) == {"reward": float(text)}
        return float(text)

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The tests that CTRF calls anything but passed."""
        report = json.loads(self.files["ctrf.json"])["results"]
        assert report["summary"]["tests"] == len(report["tests"])
        return [test for test in report["tests"] if test["status"] != "passed"]


class Sandbox:
    """Runs shell scripts, each in a fresh container of one image, without a network."""

    def __init__(self, image: str, task: Path) -> None:
        self.image = image
        self.task = task

    def verify_task(self, *runs: str, before: str = "") -> list[Run]:
        """Like `verify`, with the task's own verifier, and its oracle as `/staged/solve.sh`."""
        verifier = self.task / "verifier"
        beside = {path.name: path.read_bytes() for path in verifier.iterdir() if path.is_file()}
        beside["solve.sh"] = (self.task / "oracle/solve.sh").read_bytes()
        return self.verify(None, *runs, before=before, beside=beside)

    def shell(self, script: str, files: dict[str, bytes]) -> str:
        """Run a script as root in the working directory, with files in `/staged`; return its output."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            for name, content in files.items():
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(content), 0o755
                tar.addfile(entry, io.BytesIO(content))
        staged = base64.b64encode(archive.getvalue()).decode()
        head = (
            f"exec 2>&1\nmkdir -p /staged /logs/verifier\nbase64 -d <<'E' | tar -x -C /staged\n{staged}\nE\n"
        )
        done = subprocess.run(
            ["docker", "run", "--rm", "-i", "--network=none", "--label", LABEL, self.image, "bash", "-s"],
            input=(head + script).encode(),
            capture_output=True,
            check=False,
            timeout=900,  # guards against a hang only; a busy machine is slow
        )
        assert not done.stderr, done.stderr.decode(errors="replace")
        return done.stdout.decode(errors="replace")

    def verify(
        self,
        tests: str | None,
        *runs: str,
        before: str = "",
        logs: str = "/logs/verifier",
        beside: dict[str, bytes] | None = None,
    ) -> list[Run]:
        """Let an agent do `before`, upload the verifier, and read back what each of `runs` did in turn.

        `beside` are files of the verifier. Planted code says that it ran by making `/tmp/steered`.
        Results are removed between the runs.
        """
        files = {"test.sh": (TEMPLATE / "task/verifier/test.sh").read_bytes(), **(beside or {})}
        if tests is not None:
            files["test_outputs.py"] = tests.encode()
        script = f"{before}\n/bin/mkdir -p /verifier; /bin/cp -p /staged/* /verifier/\n"
        for run in runs:
            script += (
                f"{run}\ncode=$?\n"
                f"for file in reward.txt reward.json ctrf.json; do if [ -e {logs}/$file ]; then "
                f'echo "@@$file"; /bin/cat {logs}/$file; echo; fi; done\n'
                "if [ -e /tmp/steered ]; then echo @@steered; fi; echo @@exit $code\n"
                f"/bin/rm -rf {logs}/* /tmp/steered\n"
            )
        output = self.shell(script, files)
        parts = re.findall(r"(.*?)^@@exit (\d+)\n", output, flags=re.MULTILINE | re.DOTALL)
        return [_read(*part) for part in parts]


def _read(output: str, exit_code: str) -> Run:
    said, *found = re.split(r"^@@", output, flags=re.MULTILINE)
    files = dict(item.split("\n", 1) for item in found)
    steered = files.pop("steered", None) is not None
    return Run(exit_code=int(exit_code), steered=steered, files=files, output=said)


@pytest.fixture(scope="session")
def sandboxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Sandbox]]:
    """Return a function that gives the sandbox of the template's rendering with a kind of verifier."""
    made: dict[str, Sandbox] = {}

    def sandbox_of(kind: str) -> Sandbox:
        if kind not in made:
            task = tmp_path_factory.mktemp("image") / "task"
            copier.run_copy(str(TEMPLATE), task, data={"verifier": kind}, defaults=True, quiet=True)
            made[kind] = Sandbox(_build(task / "environment"), task)
        return made[kind]

    yield sandbox_of
    for sandbox in made.values():
        subprocess.run(["docker", "image", "rm", "--force", sandbox.image], capture_output=True, check=False)


def _build(context: Path) -> str:
    image = f"seatrials-test:template-{uuid.uuid4().hex[:12]}"
    built = subprocess.run(
        ["docker", "build", "--label", LABEL, "--tag", image, str(context)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout[-2000:] + built.stderr[-2000:]
    return image


@pytest.fixture
def sandbox(sandboxes: Callable[[str], Sandbox]) -> Sandbox:
    """The sandbox of the template's own rendering."""
    return sandboxes("checks")
