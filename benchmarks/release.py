"""How long `seatrials release` takes for 200 tasks, and what it sends after one of them changed.

    python benchmarks/release.py [--tasks N] [--rounds N]

Two sets are made: copies of a small task (tests/good_tasks), and copies of this
repository's own tasks, each under a name of its own. All is measured in one
run: each round measures everything once, and the shortest time of the rounds
counts, so that what else the machine does disturbs least. Times are of whole
commands, from their start to their end; `cp -r` of the same files is the floor,
and the ratios say more than the seconds where the machine is busy. The Hub is
the tests' stand-in on loopback.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from seatrials import __version__

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from hub import TOKEN, serving  # noqa: E402 - found on the line above

REPO = "ada/bench"


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a program took: seconds by the clock and of the processors."""

    wall: float
    cpu: float


def run(*argv: str, **env: str) -> Cost:
    """Run a program and return what it took, its own child processes included."""
    # Modules are compiled once, as in any installation, whatever this environment says.
    env["PYTHONDONTWRITEBYTECODE"] = ""
    start = time.perf_counter()
    with Path(os.devnull).open("wb") as nowhere:
        process = subprocess.Popen(argv, stdout=nowhere, stderr=nowhere, env=os.environ | env)
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    code = process.returncode = os.waitstatus_to_exitcode(status)
    if code:
        raise SystemExit(f"`{' '.join(argv)[:200]}` ended with {code}")
    return Cost(wall=wall, cpu=usage.ru_utime + usage.ru_stime)


def make(folder: Path, origin: Path, number: int) -> int:
    """Make a collection of copies of the tasks of another, and return the number of its files."""
    folder.mkdir()
    shutil.copyfile(origin / "submission.yaml", folder / "submission.yaml")
    sources = sorted(path.parent for path in (origin / "tasks").glob("*/task.md"))
    files = 0
    for index in range(number):
        source = sources[index % len(sources)]
        target = folder / "tasks" / f"{source.name}-{index:03d}"
        shutil.copytree(source, target)
        document = target / "task.md"
        text = document.read_text("utf-8")
        document.write_text(text.replace(f"/{source.name}\n", f"/{target.name}\n", 1), "utf-8")
        files += sum(path.is_file() for path in target.rglob("*"))
    return files


def measure(folder: Path, room: Path, costs: dict[str, list[Cost]], sent: dict[str, int]) -> None:
    """Measure everything once."""
    seatrials = (sys.executable, "-m", "seatrials")
    (store := room / "store").mkdir()
    env = {"XDG_CACHE_HOME": str(store)}
    # The detectors' rules are compiled once on a machine; that is none of a release's own.
    code = "from seatrials.release import detectors; list(detectors.known_tokens(b'x'))"
    costs["the first scan on a machine"].append(run(sys.executable, "-c", code, **env))
    costs["`cp -r`"].append(run("cp", "-r", str(folder), str(room / "copy")))
    stage = (*seatrials, "release", str(folder), "--without-replays")
    costs["stage, nothing checked before"].append(run(*stage, "--out", str(room / "a"), **env))
    costs["`check`"].append(run(*seatrials, "check", "--fail-on", "error", str(folder), **env))
    costs["stage"].append(run(*stage, "--out", str(room / "b"), **env))
    with serving() as hub:
        env |= {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN, "HF_HOME": str(room / "hf"),
                "HF_HUB_DISABLE_XET": "1"}  # fmt: skip
        script = next((folder / "tasks").glob("*/verifier/test.sh"))
        before = script.read_bytes()
        for what in ("publish", "publish, nothing changed", "publish, one task changed"):
            if what.endswith("one task changed"):
                script.write_bytes(before + b"# changed\n")
            hub.sent.clear()
            costs[what].append(run(*stage, "--repo", REPO, "--no-arena", **env))
            sent[what] = len(hub.sent)
        script.write_bytes(before)
        sent["commits"] = len(hub.repos[REPO].commits) - 1


def main() -> None:
    """Measure and print a table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=200, metavar="N", help="default: 200")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="default: 5")
    args = parser.parse_args()

    print(f"seatrials {__version__}, Python {platform.python_version()}, {os.cpu_count()} processors,"
          f" best of {args.rounds} rounds")  # fmt: skip
    for what, origin in (("small tasks", ROOT / "tests" / "good_tasks" / "collection"), ("own tasks", ROOT)):
        costs: dict[str, list[Cost]] = defaultdict(list)
        sent: dict[str, int] = {}
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place, "set")
            files = make(folder, origin, args.tasks)
            for number in range(args.rounds):
                (room := Path(place, str(number))).mkdir()
                measure(folder, room, costs, sent)
                shutil.rmtree(room)
        print(f"\n{args.tasks} {what}, {files} files:\n")
        report(costs, sent)


def report(costs: dict[str, list[Cost]], sent: dict[str, int]) -> None:
    """Print a table."""
    floor = min(cost.wall for cost in costs["`cp -r`"])
    print("| what | seconds | of processors | times `cp -r` | files sent |")
    print("|---|---|---|---|---|")
    for what, found in costs.items():
        wall, cpu = (min(getattr(cost, name) for cost in found) for name in ("wall", "cpu"))
        print(f"| {what} | {wall:.2f} | {cpu:.2f} | {wall / floor:.1f} | {sent.get(what, '')} |")
    print(f"\nCommits of the three: {sent['commits']}")


if __name__ == "__main__":
    main()
