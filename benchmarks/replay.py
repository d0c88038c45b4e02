"""How long a replay's trial takes, beside the least that Docker's own command line needs for the same work.

    python benchmarks/replay.py tasks/NAME [--rounds 5] [--harbor PATH] [--bench PATH]

Floor: `docker run` of the task's image with the oracle and the verifier baked
in, run one after the other. Kit: one oracle trial of the kit, and eight of
them two at a time, in a process that is up and with the image built; start-up
and build are told apart. Peers, where their command is given: one warm
`harbor run` and `bench eval run` of the oracle. Times are the wall clock's, in
seconds: the median and the range over the rounds.
"""

import argparse
import functools
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from seatrials import proc
from seatrials.replay import archive, bench, jobs, owner
from seatrials.replay.container import LOG_FOLDERS, MAX_PROCESSES
from seatrials.replay.engine import PUBLIC_NETWORK, DockerEngine, connect
from seatrials.replay.images import Images
from seatrials.replay.reading import spec_of
from seatrials.replay.spec import VERIFIER_LOGS, Files, TrialSpec
from seatrials.replay.trial import Room, networks, run_trial
from seatrials.task.package import TaskPackage

MANY = 8
AT_A_TIME = 2
TIMEOUT = 3600.0


def timed(act: Callable[[], object], rounds: int) -> list[float]:
    """Return the seconds that each of several rounds took."""
    found = []
    for _ in range(rounds):
        clock = time.perf_counter()
        act()
        found.append(time.perf_counter() - clock)
    return found


def many(act: Callable[[], object]) -> None:
    """Do something eight times, two at a time."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        for future in [pool.submit(act) for _ in range(MANY)]:
            future.result()


def bake(engine: DockerEngine, spec: TrialSpec, base: str, tag: str) -> None:
    """Build an image that holds what the kit uploads, so that the floor has no uploads."""
    step = spec.steps[0]
    if step.oracle is None:
        sys.exit("the task has no oracle")
    with tempfile.TemporaryFile() as stream:
        files: dict[str, object] = {}
        layout = [step.oracle.folder, step.verifier.folder]
        with tempfile.TemporaryDirectory() as room:
            content = Path(room) / "content.tar"
            with content.open("w+b") as tar:
                archive.write_folders(layout, empty=LOG_FOLDERS, into=tar)
            dockerfile = Path(room) / "Dockerfile"
            link = "RUN [ -e /tests ] || ln -s /verifier /tests\n" if step.verifier.link_tests else ""
            dockerfile.write_text(f"FROM {base}\nUSER root\nADD content.tar /\n{link}")
            listing = TaskPackage(Path(room)).files
            files.update(listing)
            archive.write_context(_files(files), stream)
        engine.build(stream, tag=tag, timeout=TIMEOUT, log=lambda _: None)


def _files(found: dict[str, object]) -> Files:
    return found  # type: ignore[return-value]


def floor_argv(spec: TrialSpec, tag: str) -> tuple[str, ...]:
    """Return the `docker run` that does the oracle's and the verifier's work."""
    step = spec.steps[0]
    network = PUBLIC_NETWORK if "public" in networks(spec) else "none"
    script = (
        f"({step.oracle.command if step.oracle else 'true'}) > /logs/agent/oracle.txt 2>&1;"
        f" ({step.verifier.command}) > {VERIFIER_LOGS}/test-stdout.txt 2>&1; cat {VERIFIER_LOGS}/reward.txt"
    )
    limits = (*(("--cpus", f"{spec.cpus:g}") if spec.cpus else ()), "--pids-limit", str(MAX_PROCESSES))
    return ("docker", "run", "--rm", "--network", network, *limits, "--entrypoint", "sh", tag, "-c", script)


def checked(argv: tuple[str, ...]) -> None:
    """Run a program and stop where it fails."""
    done = proc.run(argv, timeout=TIMEOUT)
    if not done.ok:
        sys.exit(f"`{' '.join(argv[:3])}` failed: {done.output[-2000:]}")


def peer(argv: tuple[str, ...], task: Path) -> None:
    """Run another runner's oracle, and stop where it does not score 1."""
    # A folder of its own: BenchFlow would take up what it finds in one, and run nothing.
    with tempfile.TemporaryDirectory() as folder:
        checked((*argv, "--agent", "oracle", "--jobs-dir", folder))
        rewards = [
            trial.reward for trial in jobs.collect(Path(folder), bench.targets_of([TaskPackage(task)]))
        ]
    if rewards != [1]:
        sys.exit(f"`{argv[0]}` did not score 1: {rewards}")


def main() -> None:
    """Measure and print a table, and the numbers as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("task", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--harbor", help="the path of Harbor's command")
    parser.add_argument("--bench", help="the path of BenchFlow's command")
    args = parser.parse_args()

    clock = time.perf_counter()
    engine = connect()
    info = engine.info()
    spec = spec_of(TaskPackage(args.task))
    start_up = time.perf_counter() - clock
    me = owner.this_process()
    images = Images(engine, owner=me, architecture=info.architecture, version=info.version)
    results: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as logs:
        try:
            built = images.get(spec, log=Path(logs) / "build.log")
            if built.image is None:
                sys.exit(built.failure.message if built.failure else "no image")
            floor_tag = owner.image_tag("f" * 64, me)
            bake(engine, spec, images.tag_of(spec), floor_tag)
            room = Room(
                engine=engine,
                image=built.image,
                facts=built.facts,
                labels=owner.labels(me, run=owner.new_run(), task=spec.name, kept=False),
                host_env={},
                log_dir=Path(logs) / "trial",
                cpus=min(spec.cpus, info.cpus) if spec.cpus else None,
                memory=spec.memory,
            )

            def kit() -> None:
                trial = run_trial(spec, "oracle", 1, room)
                if trial.reward != 1:
                    sys.exit(f"the oracle did not score 1: {trial.failure or trial.reward}")

            floor = floor_argv(spec, floor_tag)
            # Alternating, so that a change of the machine's mood hits both alike.
            for name, act in (
                ("floor, 1", lambda: checked(floor)),
                ("kit, 1", kit),
                ("floor, 8", lambda: many(lambda: checked(floor))),
                ("kit, 8", lambda: many(kit)),
            ):
                act()
                results[name] = timed(act, args.rounds)
            engine.remove_image(floor_tag)
        finally:
            images.remove()
            engine.close()
    peers: dict[str, tuple[str, ...]] = {}
    if args.harbor:
        peers["harbor run, 1"] = (args.harbor, "run", "--path", str(args.task))
    if args.bench:
        peers["bench eval run, 1"] = (
            args.bench, "eval", "run", "--sandbox", "docker", "--tasks-dir", str(args.task)
        )  # fmt: skip
    for name, argv in peers.items():
        peer(argv, args.task)
        results[name] = timed(functools.partial(peer, argv, args.task), args.rounds)
    print(f"engine {info.version}, {info.cpus} CPUs, start-up {start_up:.2f} s, build {built.seconds:.2f} s")
    medians = {name: statistics.median(found) for name, found in results.items()}
    for name, found in results.items():
        base = medians["floor, 8" if name.endswith("8") else "floor, 1"]
        spread = f"{min(found):.2f} to {max(found):.2f}"
        print(f"{name:<20} {medians[name]:6.2f} s  ({spread})  {medians[name] / base:.2f} times the floor")
    print(json.dumps({"start_up": start_up, "build": built.seconds, "seconds": results}))


if __name__ == "__main__":
    main()
