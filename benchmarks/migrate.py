"""How long a migration takes beside BenchFlow's own, and whether both mean the same.

    python benchmarks/migrate.py SET [SET ...] [--benchflow PYTHON] [--tasks N] [--rounds N] [--room DIR]

SET is a folder of Harbor tasks; PYTHON an interpreter that has BenchFlow
installed, whose ``migrate_task_to_task_md`` then turns copies of the same
tasks, in one process that has imported it and turned some tasks before. Each
round measures everything once, one after the other, and ratios are taken within
a round, so that what else the machine does disturbs both sides; the median of
the rounds counts. The reference works in place, on copies: its times are given
of its function alone, which leaves most of the files where they are, and with
the copies. Those of `seatrials` are of planning, proof and writing, and with all
processors of the whole command, from its start to its end.

Where DIR lies decides what making a file costs: /dev/shm shows the programs, a
disk shows itself as well (ext4 is slow for minutes after a large removal).
What both made in the last round is then compared task by task, read with
BenchFlow's own model: configuration, prompt, and files by their content.
Over all of some thousand tasks (`--tasks 0`) the command's start counts for
little; three rounds of 3,566 take a minute and a half where nothing else runs.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from seatrials import __version__
from seatrials.migrate.run import Options, turn
from seatrials.proc import processors
from seatrials.task.collection import select
from seatrials.task.package import TaskPackage

WARM = 20
REFERENCE = """
import json, shutil, sys, time
from importlib.metadata import version
from pathlib import Path
from benchflow._utils.task_authoring import migrate_task_to_task_md
print(version("benchflow"), flush=True)
for line in sys.stdin:
    pairs, failed = json.loads(line), 0
    begin, first = time.perf_counter(), time.process_time()
    for source, place in pairs:
        shutil.copytree(source, place, symlinks=True)
    start, used = time.perf_counter(), time.process_time()
    for _, place in pairs:
        try:
            migrate_task_to_task_md(Path(place), remove_legacy=True)
        except Exception:
            failed += 1
    end, last = time.perf_counter(), time.process_time()
    print(json.dumps([end - begin, last - first, end - start, last - used, failed]), flush=True)
"""
COMPARE = """
import collections, hashlib, json, sys, warnings
from pathlib import Path
from benchflow.task.document import TaskDocument
from benchflow._utils.task_authoring import check_task
warnings.simplefilter("ignore")
counts = collections.Counter()
examples = {}
def tell(what, name):
    counts[what] += 1
    examples.setdefault(what, name)
def files(root):
    return {p.relative_to(root).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in root.rglob("*") if p.is_file() and p.name != "task.md"}
for line in sys.stdin.read().splitlines():
    ours, theirs = map(Path, line.split("\\t"))
    name = ours.name
    passes = not check_task(ours, validation_level="publication-grade", sandbox_type="docker")
    counts["publication grade, ours"] += passes
    counts["publication grade, reference"] += not check_task(theirs, validation_level="publication-grade")
    if not (theirs / "task.md").exists():
        tell("only ours succeeds", name)
        continue
    counts["both succeed"] += 1
    left, right = TaskDocument.from_path(ours / "task.md"), TaskDocument.from_path(theirs / "task.md")
    a, b = left.config.model_dump(mode="json"), right.config.model_dump(mode="json")
    if a == b:
        counts["configuration equal"] += 1
    else:
        keys = sorted(key for key in a if a[key] != b[key])
        if keys == ["task"] and not right.frontmatter.get("task"):
            tell("configuration equal but for task.name, which the source lacks", name)
        else:
            tell("configuration differs: " + ", ".join(keys), name)
    if left.benchflow.get("compat") == right.benchflow.get("compat"):
        counts["keys set aside equal"] += 1
    else:
        tell("keys set aside differ", name)
    if left.instruction == right.instruction:
        counts["prompt equal"] += 1
    else:
        tell("prompt differs", name)
    a, b = files(ours), files(theirs)
    for path in sorted(a.keys() | b.keys()):
        if path not in b:
            tell("file only ours: " + path, name)
        elif path not in a:
            tell("file only the reference's: " + path, name)
        elif a[path] != b[path]:
            tell("file differs: " + path.partition("/")[0] + "/", name)
for what, count in counts.items():
    print(f"{count:>6,}  {what}" + (f" (such as {examples[what]})" if what in examples else ""))
"""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Seconds by the clock, and of the processors."""

    wall: float
    cpu: float


def used() -> float:
    """Return the processor time of this process and of those it waited for, in seconds."""
    return sum(os.times()[:4])


def in_process(tasks: list[TaskPackage], out: Path) -> Cost:
    """Return what turning the tasks into `out` takes in this process."""
    start, before = time.perf_counter(), used()
    report = turn(tasks, Options(out=out))
    cost = Cost(wall=time.perf_counter() - start, cpu=used() - before)
    for task in tasks:
        task.forget()
    if (counts := report.counts())["failed"]:
        print(f"  {counts['failed']} failed")
    return cost


def command(room: Path, out: Path) -> Cost:
    """Return what the whole command takes over the tasks that `room` links to, on all processors."""
    argv = [sys.executable, "-m", "seatrials", "migrate", str(room), "--out", str(out)]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    start, before = time.perf_counter(), used()
    done = subprocess.run(argv, check=False, stdout=subprocess.DEVNULL, env=env)
    if done.returncode > 1:
        raise SystemExit(f"`seatrials migrate` ended with {done.returncode}")
    return Cost(wall=time.perf_counter() - start, cpu=used() - before)


class Reference:
    """BenchFlow's function, in a process of its own."""

    def __init__(self, python: str) -> None:
        argv = [python, "-W", "ignore", "-c", REFERENCE]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.version = self.pipe(self.process.stdout).readline().strip()

    @staticmethod
    def pipe(found: IO[str] | None) -> IO[str]:
        """Return a pipe of the process."""
        if found is None:
            raise SystemExit("the reference has no pipes")
        return found

    def measured(self, tasks: list[TaskPackage], out: Path) -> tuple[Cost, Cost]:
        """Return what copying the tasks and turning them takes, and what turning them takes."""
        out.mkdir()
        pairs = [(str(task.root.resolve()), str(out / task.name)) for task in tasks]
        print(json.dumps(pairs), file=self.pipe(self.process.stdin), flush=True)
        line = self.pipe(self.process.stdout).readline()
        if not line:
            raise SystemExit("the reference ended; what it said is above")
        copied, whole, own, part, failed = json.loads(line)
        if failed:
            print(f"  the reference: {failed} failed")
        return Cost(wall=copied, cpu=whole), Cost(wall=own, cpu=part)

    def close(self) -> None:
        """End the process."""
        self.pipe(self.process.stdin).close()
        self.process.wait()


RATIOS = (
    ("one", "alone", "one process, to the reference's function alone", "at most 1"),
    ("one", "copies", "one process, to the reference with its copies", ""),
    ("all", "alone", "the command on {cores} processors, to the function alone", "at most 0.5"),
    ("all", "copies", "the command on {cores} processors, to the reference with its copies", ""),
)


def show(costs: dict[str, list[Cost]], count: int, version: str, cores: int) -> None:
    """Print what was measured: two tables in Markdown."""
    print("| what | ms a task, median | lowest | of processors, median |\n| --- | ---: | ---: | ---: |")
    for name, said in (
        ("one", "planning, proof and writing in one process"),
        ("all", f"`seatrials migrate` on {cores} processors, from its start to its end"),
        ("alone", f"BenchFlow {version}, its function alone"),
        ("copies", f"BenchFlow {version}, with the copies it works on"),
    ):
        if found := costs.get(name):
            wall, cpu = ([getattr(cost, what) * 1000 / count for cost in found] for what in ("wall", "cpu"))
            middle, other = statistics.median(wall), statistics.median(cpu)
            print(f"| {said} | {middle:.2f} | {min(wall):.2f} | {other:.2f} |")
    if "alone" in costs:
        print("\n| ratio within a round | median | lowest | highest | of processors | wanted |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, to, said, wanted in RATIOS:
        if name in costs and to in costs:
            pairs = list(zip(costs[name], costs[to], strict=True))
            wall = [ours.wall / theirs.wall for ours, theirs in pairs]
            cpu = statistics.median(ours.cpu / theirs.cpu for ours, theirs in pairs)
            middle = statistics.median(wall)
            text = said.format(cores=cores)
            print(f"| {text} | {middle:.2f} | {min(wall):.2f} | {max(wall):.2f} | {cpu:.2f} | {wanted} |")


def main() -> None:
    """Measure, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="SET")
    parser.add_argument("--benchflow", metavar="PYTHON", help="an interpreter that has BenchFlow installed")
    parser.add_argument("--tasks", type=int, default=1200, metavar="N",
        help="so many, evenly out of the sets; 0: all (default: 1200)")  # fmt: skip
    parser.add_argument("--compare", type=int, default=1200, metavar="N",
        help="hold so many results of both against each other afterwards (default: 1200)")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="default: 5")
    parser.add_argument("--room", metavar="DIR", help="where results are written (default: the system's)")
    args = parser.parse_args()
    found = [task for task in select(args.sets).tasks if task.format == "harbor"]
    tasks = found[:: max(1, -(-len(found) // args.tasks))] if args.tasks else found
    for task in found:
        task.forget()
    cores = processors()
    python = platform.python_version()
    theirs = Reference(args.benchflow) if args.benchflow else None
    costs: dict[str, list[Cost]] = defaultdict(list)
    print(
        f"seatrials {__version__}, Python {python}, {cores} processors, {len(tasks):,} of {len(found):,}"
        f" tasks, {args.rounds} rounds, in {args.room or tempfile.gettempdir()}\n"
    )
    with tempfile.TemporaryDirectory(dir=args.room) as place:
        room, links = Path(place), Path(place) / "links"
        links.mkdir()
        for task in tasks:
            (links / task.name).symlink_to(task.root.resolve())
        in_process(tasks[:WARM], room / "warm")
        if theirs is not None:
            theirs.measured(tasks[:WARM], room / "warm-theirs")
        # Each in a new folder: what a file system does after a large removal would count otherwise.
        for number in range(args.rounds):
            costs["one"].append(in_process(tasks, room / f"one{number}"))
            if theirs is not None:
                copies, alone = theirs.measured(tasks, room / f"theirs{number}")
                costs["copies"].append(copies)
                costs["alone"].append(alone)
            costs["all"].append(command(links, room / f"all{number}"))
        show(costs, len(tasks), theirs.version if theirs is not None else "", cores)
        if theirs is not None:
            theirs.close()
            last = args.rounds - 1
            some = tasks[:: max(1, -(-len(tasks) // args.compare))] if args.compare else []
            pairs = [
                f"{room / f'one{last}' / 'tasks' / task.name}\t{room / f'theirs{last}' / task.name}"
                for task in some
                if (room / f"one{last}" / "tasks" / task.name).is_dir()
            ]
            print(f"\nWhat both made of {len(some):,} of them, as BenchFlow reads it:\n", flush=True)
            argv = [args.benchflow, "-W", "ignore", "-c", COMPARE]
            subprocess.run(argv, input="\n".join(pairs), text=True, check=True)


if __name__ == "__main__":
    main()
