"""Compare the kit's rewards with those of BenchFlow and Harbor on the same tasks, as a Markdown table.

    python benchmarks/replay_agreement.py TASKS --bench-jobs DIR [--harbor-jobs DIR]

Runs the oracle of every task in the folder TASKS in the kit, and reads the
job folders of `bench eval run --agent oracle --sandbox docker` and `harbor run
--agent oracle` over the same folder. Exits with 1 where a reward differs.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from seatrials.replay import bench, jobs
from seatrials.replay.model import Trial
from seatrials.replay.runner import ReplayOptions, replay
from seatrials.report.replay_progress import Lines
from seatrials.task.collection import select_tasks

NOTHING = "none"


def told(trials: Sequence[Trial]) -> str:
    """Return the rewards of some trials in words."""
    rewards = {NOTHING if trial.reward is None else f"{trial.reward:g}" for trial in trials}
    return " and ".join(sorted(rewards)) or "not run"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tasks", type=Path)
    parser.add_argument("--bench-jobs", type=Path, required=True)
    parser.add_argument("--harbor-jobs", type=Path)
    args = parser.parse_args()
    tasks = select_tasks([str(args.tasks)])
    targets = bench.targets_of(tasks)
    with tempfile.TemporaryDirectory() as root:
        options = ReplayOptions(kinds=("oracle",), root=Path(root))
        report = replay(tasks, options, Lines(sys.stderr))
    others = {"BenchFlow": list(jobs.collect(args.bench_jobs, targets))}
    if args.harbor_jobs is not None:
        others["Harbor"] = list(jobs.collect(args.harbor_jobs, targets))
    print("| task | kit | " + " | ".join(others) + " | the same |")
    print("|---" * (len(others) + 3) + "|")
    differ = compared = 0
    for task in report.tasks:
        kit = told(task.of("oracle"))
        cells = [
            told([one for one in found if one.content_hash == task.content_hash and one.kind == "oracle"])
            for found in others.values()
        ]
        ran = [cell for cell in cells if cell != "not run"]
        same = all(cell == kit for cell in ran)
        compared += bool(ran)
        differ += not same
        mark = "-" if not ran else "yes" if same else "**no**"
        print(f"| {task.name} | {kit} | {' | '.join(cells)} | {mark} |")
    print(f"\n{compared} of {len(tasks)} tasks compared, {differ} differ.")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
