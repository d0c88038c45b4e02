"""How long a migration takes beside BenchFlow's own, and whether both mean the same.

    python benchmarks/migrate.py SET [SET ...] [--benchflow PYTHON] [--rounds N]

SET is a folder of Harbor tasks; PYTHON an interpreter that has BenchFlow
installed, whose ``migrate_task_to_task_md`` then turns copies of the same
tasks, in one process. All is measured in one run, and the shortest time of the
rounds counts. Times of `seatrials` are of planning, proof and writing. The
reference works in place, so a user who wants to keep the source copies it
first: its times are given with the copies and of its function alone. Times are
the wall clock's; those in brackets are the processor's, which what else the
machine does disturbs less.
With PYTHON the results are compared task by task, read with
BenchFlow's own model: configuration, prompt, and files by their content.
"""

import argparse
import json
import os
import platform
import subprocess
import tempfile
import time
from pathlib import Path

from seatrials import __version__
from seatrials.migrate.run import Options, turn
from seatrials.rules.pool import processors
from seatrials.task.collection import select
from seatrials.task.package import TaskPackage

REFERENCE = """
import shutil, sys, time
from importlib.metadata import version
from pathlib import Path
from benchflow._utils.task_authoring import migrate_task_to_task_md
failed = 0
pairs = [line.split("\\t") for line in sys.stdin.read().splitlines()]
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
print(end - begin, last - first, end - start, last - used, failed, version("benchflow"))
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


Times = tuple[float, float]
"""Seconds of the wall clock and of the processors."""


def used() -> float:
    """Return the processor time of this process and of those it waited for, in seconds."""
    return sum(os.times()[:4])


def measured(tasks: list[TaskPackage], out: Path, jobs: int) -> Times:
    """Return the times in which `seatrials` turns the tasks into `out`."""
    start, before = time.perf_counter(), used()
    report = turn(tasks, Options(out=out), jobs=jobs)
    seconds, processor = time.perf_counter() - start, used() - before
    for task in tasks:
        task.forget()
    said = json.dumps(report.counts())
    print(f"  {jobs} process{'es' if jobs > 1 else ''}: {seconds:.2f} s ({processor:.2f}); {said}")
    return seconds, processor


def reference(python: str, tasks: list[TaskPackage], out: Path) -> tuple[Times, Times, str]:
    """Return the reference's times with the copies and without, and how it names itself."""
    out.mkdir()
    places = [f"{task.root}\t{out / task.name}" for task in tasks]
    done = subprocess.run(
        [python, "-c", REFERENCE], input="\n".join(places), capture_output=True, text=True, check=True
    )
    *numbers, failed, version = done.stdout.split()
    copied, whole, own, part = map(float, numbers)
    print(
        f"  reference: {copied:.2f} s ({whole:.2f}), without copies {own:.2f} ({part:.2f}); {failed} failed"
    )
    return (copied, whole), (own, part), f"BenchFlow {version}"


def main() -> None:
    """Measure, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="SET")
    parser.add_argument("--benchflow", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    args = parser.parse_args()
    tasks = [task for task in select(args.sets).tasks if task.format == "harbor"]
    for task in tasks:
        task.forget()
    cores = processors()
    print(f"{len(tasks):,} tasks; seatrials {__version__}, Python {platform.python_version()}, {cores} CPUs")
    with tempfile.TemporaryDirectory() as room:
        ours = theirs = Path(room)
        one: list[Times] = []
        all_: list[Times] = []
        other: list[Times] = []
        alone: list[Times] = []
        named = ""
        for number in range(args.rounds):
            # Each in a new folder: what a file system does after a large removal would count otherwise.
            ours = Path(room) / f"ours{number}"
            one.append(measured(tasks, ours, 1))
            if args.benchflow:
                theirs = Path(room) / f"theirs{number}"
                times, without, named = reference(args.benchflow, tasks, theirs)
                other.append(times)
                alone.append(without)
            if cores > 1:
                all_.append(measured(tasks, Path(room) / f"all{number}", cores))
        for what, found in (
            ("seatrials, 1 process", one), (f"seatrials, {cores} processes", all_),
            (f"{named}, with copies", other), (f"{named}, its function", alone),
        ):  # fmt: skip
            if found:
                wall, processor = (min(column) * 1000 / len(tasks) for column in zip(*found, strict=True))
                print(f"{what:<32} {wall:6.2f} ms a task ({processor:.2f})")
        if args.benchflow:
            pairs = "\n".join(
                f"{ours / 'tasks' / task.name}\t{theirs / task.name}"
                for task in tasks
                if (ours / "tasks" / task.name).is_dir()
            )
            env = {**os.environ, "PYTHONWARNINGS": "ignore"}
            subprocess.run([args.benchflow, "-c", COMPARE], input=pairs, text=True, check=True, env=env)


if __name__ == "__main__":
    main()
