"""What `try` shows before it runs anything."""

from dataclasses import replace

from seatrials.fetch.card import CardSays
from seatrials.findings import Finding
from seatrials.replay.outlook import Outlook
from seatrials.report.terminal import Terminal
from seatrials.report.try_text import needs, plan, size

TASK = Outlook(
    name="one",
    images=("debian:bookworm-slim",),
    services=(),
    steps=1,
    cpus=1.0,
    memory=512 * 2**20,
    build_timeout=60.0,
    agent_timeout=90.0,
    verifier_timeout=30.0,
    networks=(),
    variables=(),
    oracle=True,
    open=(),
)


def shown(tasks: list[Outlook], *, verbose: bool = False, given: tuple[str, ...] = ()) -> str:
    """Return what is shown of tasks."""
    lines = plan(
        tasks, {}, kinds=("oracle", "noop"), reruns=2, given=given, terminal=Terminal(), verbose=verbose
    )
    return "\n".join(lines)


def test_few_tasks_are_told_one_by_one() -> None:
    """Each task has its images, limits, network and shape, and what keeps it from being run."""
    two = replace(
        TASK, name="two", images=("a:1", "b:2"), cpus=None, memory=None, networks=("verifier",),
        services=("main", "db"), steps=3, oracle=False, open=("it asks for an accelerator",),
    )  # fmt: skip
    said = shown([TASK, two])
    assert "one  FROM debian:bookworm-slim\n" in said
    assert "1 CPU, 512 MB; build 60 s, agent 90 s, verifier 30 s; no network\n" in said
    assert "two  FROM a:1, b:2\n" in said
    assert "all CPUs, no memory limit; " in said
    assert "network for the verifier only; services main, db; 3 steps; no oracle" in said
    assert "can't be run here: it asks for an accelerator" in said
    # Two reruns of oracle and no-op of the one, of the no-op of the other.
    assert "In all 2 tasks, 6 trials, at most 512 MB each" in said
    assert "Run with a network: 1 task; builds" in said


def test_many_tasks_are_told_together_where_they_are_alike() -> None:
    """Groups come by number, with two names each; `verbose` tells each task."""
    tasks = [replace(TASK, name=f"t{number}") for number in range(40)]
    tasks.append(replace(TASK, name="odd", images=("a:1",), open=("no engine for it",)))
    said = shown(tasks)
    assert "  40 tasks, such as t0 and t1\n    FROM debian:bookworm-slim\n" in said
    assert "\n  odd\n    FROM a:1\n" in said
    assert "can't be run here: odd: no engine for it" in said
    assert "t7" not in said
    assert "t7" in shown(tasks, verbose=True)
    assert "FROM debian:bookworm-slim (40), a:1 (1)" in said


def test_variables_are_told_unless_given() -> None:
    """What tasks ask for of this machine is counted."""
    tasks = [replace(TASK, variables=("HF_TOKEN", "KEY")), replace(TASK, name="two", variables=("KEY",))]
    assert "don't get: `HF_TOKEN` (1), `KEY` (2); `--env NAME`" in shown(tasks)
    assert "don't get: `HF_TOKEN` (1);" in shown(tasks, given=("KEY",))


def test_refused_tasks_and_needs_are_told_safely() -> None:
    """Text of others is spelt where it would not print."""
    finding = Finding(code="STR107", severity="error", path="", line=None, message="no \x1b[2Jfile")
    lines = plan([], {"t/\x07": finding}, kinds=(), reruns=1, given=(), terminal=Terminal())
    assert lines[1] == "  t/\\x07  STR107  no \\x1b[2Jfile"
    assert needs(CardSays(), Terminal()) == []
    assert needs(CardSays(requires=("a\x1b",), setup=("b",)), Terminal())[1:] == [
        "  requires  a\\x1b", "  setup     b"
    ]  # fmt: skip


def test_sizes_are_for_people() -> None:
    """Bytes are told in units of a thousand."""
    assert [size(0), size(999), size(1500), size(2_000_000), size(3_500_000_000)] == [
        "0 bytes", "999 bytes", "1.5 kB", "2.0 MB", "3.5 GB"
    ]  # fmt: skip


def test_a_card_can_not_flood_the_terminal() -> None:
    """Of long needs the beginning is shown, and of many the first, and both are told."""
    said = needs(CardSays(requires=("x" * 10_000,), setup=tuple("y" * 1000)), Terminal())
    assert len("\n".join(said)) < 3000
    assert "10,000 characters" in said[1]
    assert "970 more" in said[-1]
