"""How long `seatrials check` takes over a set of tasks, and how much memory.

    python benchmarks/check.py SET [--harbor PYTHON] [--rounds N]

SET is a folder of tasks, best of some thousands; PYTHON an interpreter that has
Harbor installed, whose `lint_task` then runs over the same tasks, in one
process, with the rules that `harbor lint` runs by default. All is measured in
one run: each round measures everything once, and the shortest time of the
rounds counts, so that what else the machine does disturbs least. Times of
`seatrials` are of the whole command, from its start to its end. The seconds of
the processors beside them, of all processes together, tell more than the clock
where the machine is busy with other work.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from seatrials import __version__
from seatrials.proc import processors
from seatrials.task.collection import select

FEW = 500
COLLECTION = 200
"""Tasks in the largest collection that the arena takes."""

HASH = """
import sys
from seatrials.task.collection import select
for task in select(sys.argv[1:]).tasks:
    task.content_hash
    task.forget()
"""
LINT = """
import sys, time
from pathlib import Path
from importlib.metadata import version
from harbor.lint import lint_task
from harbor.lint.models import DEFAULT_RULES
roots = [Path(line) for line in sys.stdin.read().splitlines()]
start, used = time.perf_counter(), time.process_time()
for root in roots:
    lint_task(root, selected_rules=set(DEFAULT_RULES))
print(time.perf_counter() - start, time.process_time() - used, version("harbor"))
"""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a program took: seconds by the clock and of the processors, and its peak of memory."""

    wall: float
    cpu: float
    kilobytes: int = 0


def run(*argv: str, **env: str) -> Cost:
    """Run a program and return what it took, its own child processes included."""
    # Modules are compiled once, as in any installation, whatever this environment says.
    env["PYTHONDONTWRITEBYTECODE"] = ""
    start = time.perf_counter()
    with Path(os.devnull).open("wb") as nowhere:
        process = subprocess.Popen(argv, stdout=nowhere, env=os.environ | env)
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    code = process.returncode = os.waitstatus_to_exitcode(status)
    if code not in {0, 1}:
        raise SystemExit(f"`{' '.join(argv)[:200]}` ended with {code}")
    unit = 1 if sys.platform == "linux" else 1024
    return Cost(wall=wall, cpu=usage.ru_utime + usage.ru_stime, kilobytes=usage.ru_maxrss // unit)


def lint(python: str, folders: list[str]) -> tuple[Cost, str]:
    """Return what Harbor's lint took in one process, imports not counted, and its version."""
    done = subprocess.run(
        [python, "-c", LINT], input="\n".join(folders), text=True, capture_output=True, check=True
    )
    wall, cpu, version = done.stdout.split()
    return Cost(wall=float(wall), cpu=float(cpu)), version


@contextmanager
def linked(folders: list[str]) -> Iterator[str]:
    """Give a folder with links to some tasks in its `tasks/`, which makes it a collection."""
    with tempfile.TemporaryDirectory() as room:
        tasks = Path(room) / "tasks"
        tasks.mkdir()
        for number, folder in enumerate(folders):
            (tasks / f"{number:05d}").symlink_to(folder)
        yield room


def main() -> None:
    """Measure and print a table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", metavar="SET")
    parser.add_argument("--harbor", metavar="PYTHON", help="an interpreter that has Harbor installed")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="default: 3")
    args = parser.parse_args()

    folders = [str(task.root.resolve()) for task in select([args.set]).tasks]
    costs: dict[str, list[Cost]] = defaultdict(list)
    harbor = ""
    check = (sys.executable, "-m", "seatrials", "check", "--format", "json")
    with linked(folders[:FEW]) as few, linked(folders[:COLLECTION]) as collection:
        for _ in range(args.rounds):
            # A fresh store a round: its second run finds what its first one left.
            with tempfile.TemporaryDirectory() as store:
                for name, argv in {
                    "help": (sys.executable, "-m", "seatrials", "--help"),
                    "cold": (*check, "--no-cache", args.set),
                    "again": (*check, "--no-cache", "--no-reuse", args.set),
                    "one": (*check, "--no-cache", "--jobs", "1", args.set),
                    "few": (*check, "--no-cache", f"{few}/tasks"),
                    "collection": (*check, "--no-cache", collection),
                    "store": (*check, args.set),
                    "warm": (*check, args.set),
                    "hash": (sys.executable, "-c", HASH, args.set),
                }.items():
                    costs[name].append(run(*argv, XDG_CACHE_HOME=store))
            if args.harbor:
                cost, harbor = lint(args.harbor, folders)
                costs["lint"].append(cost)

    wall = {name: min(cost.wall for cost in measured) for name, measured in costs.items()}
    cpu = {name: min(cost.cpu for cost in measured) for name, measured in costs.items()}
    count = len(folders)
    print(
        f"seatrials {__version__}, Python {platform.python_version()}, {processors()} processors, "
        f"{count:,} tasks, best of {args.rounds}\n"
    )
    print("| what | seconds | ms a task | of processors |\n| --- | ---: | ---: | ---: |")
    for name, said in (
        ("lint", f"Harbor {harbor}, `lint_task` in one process"),
        ("cold", "`check`, nothing stored"),
        ("again", "the same, nothing kept of files that tasks share (`--no-reuse`)"),
        ("one", "`check`, nothing stored, one worker (`--jobs 1`)"),
        ("store", "`check`, nothing stored yet, results kept"),
        ("warm", "`check` again, nothing changed"),
        ("hash", "reading and hashing the files only, one process"),
        ("collection", f"`check` of a collection of {min(COLLECTION, count)}, nothing stored"),
        ("help", "`seatrials --help`"),
    ):
        if name in wall:
            tasks = min(COLLECTION, count) if name == "collection" else count
            each = "" if name == "help" else f"{wall[name] / tasks * 1000:.2f}"
            print(f"| {said} | {wall[name]:.2f} | {each} | {cpu[name]:.2f} |")
    print("\n| ratio | measured | of processors | wanted |\n| --- | ---: | ---: | ---: |")
    for name, to, said, wanted in (
        ("cold", "lint", "`check` to Harbor's lint", "at most 0.33"),
        ("again", "lint", "the same with `--no-reuse`", ""),
        ("warm", "hash", "nothing changed to reading and hashing", "at most 2"),
    ):
        if name in wall and to in wall:
            print(f"| {said} | {wall[name] / wall[to]:.2f} | {cpu[name] / cpu[to]:.2f} | {wanted} |")
    few_tasks = f"a collection of {min(COLLECTION, count)}, seconds"
    print(f"| {few_tasks} | {wall['collection']:.2f} | {cpu['collection']:.2f} | under 3 |")
    print(f"| `seatrials --help`, seconds | {wall['help']:.2f} | {cpu['help']:.2f} | under 0.25 |")
    small, large = (min(cost.kilobytes for cost in costs[name]) / 1024 for name in ("few", "cold"))
    print(
        f"| peak memory, {count:,} to {min(FEW, count)} tasks | "
        f"{large:.0f} MB / {small:.0f} MB = {large / small:.2f} | | flat |"
    )


if __name__ == "__main__":
    main()
