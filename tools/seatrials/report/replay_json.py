"""A replay's report as JSON; the schema is ``docs/replay.schema.json``."""

import json
from collections.abc import Sequence
from statistics import median
from typing import Any, Final

from seatrials import __version__
from seatrials.replay.model import Kind, ReplayReport, TaskReplay, Trial
from seatrials.replay.verdict import scored
from seatrials.report.plain import plain
from seatrials.report.replay_text import EXPECTED, HEADLINE

VERDICTS: Final = ("accepted", "passing", "rejected", "inconclusive")


def as_data(report: ReplayReport) -> dict[str, Any]:
    """Return the report as plain data."""
    return {
        "tasks": [_task(task) for task in report.tasks],
        "summary": {
            "what": HEADLINE,
            "tasks": len(report.tasks),
            **{verdict: sum(task.verdict == verdict for task in report.tasks) for verdict in VERDICTS},
            "trials": sum(len(task.trials) for task in report.tasks),
            "reused": report.reused,
            "seconds": round(report.seconds, 3),
            "engine": report.engine,
            "architecture": report.architecture,
            "kit": __version__,
        },
    }


def render(report: ReplayReport) -> str:
    """Return the report as JSON text."""
    return json.dumps(as_data(report), indent=2) + "\n"


def _task(task: TaskReplay) -> dict[str, Any]:
    peaks = [trial.peak_memory for trial in task.of("oracle") if trial.peak_memory is not None]
    return {
        "name": plain(task.name),
        "path": plain(task.path),
        "content_hash": task.content_hash,
        "verdict": task.verdict,
        "reasons": [plain(reason) for reason in task.reasons],
        "notes": [plain(note) for note in task.notes],
        "oracle": _runs(task, "oracle"),
        "noop": _runs(task, "noop"),
        "agent": None if task.band is None else {"runs": task.band[1], "passed": task.band[0]},
        "checks": {
            plain(name): {"runs": count.runs, "passed": count.passed} for name, count in task.checks.items()
        },
        "timings": {
            "build": round(task.build_seconds, 3),
            "oracle": _timings(task.of("oracle")),
            "noop": _timings(task.of("noop")),
            "limits": dict(task.time_limits),
        },
        "memory": {"peak": max(peaks, default=None), "limit": task.memory_limit},
        "trials": [_trial(trial) for trial in task.trials],
    }


def _runs(task: TaskReplay, kind: Kind) -> dict[str, int]:
    group = task.of(kind)
    passed = sum(scored(trial, EXPECTED[kind]) and not trial.limits for trial in group)
    return {"runs": len(group), "passed": passed}


def _timings(trials: Sequence[Trial]) -> dict[str, dict[str, float]]:
    phases = dict.fromkeys(phase for trial in trials for phase in trial.timings)
    return {
        phase: {
            "median": round(median(found), 3),
            "max": round(max(found), 3),
        }
        for phase in phases
        if (found := [trial.timings[phase] for trial in trials if phase in trial.timings])
    }


def _trial(trial: Trial) -> dict[str, Any]:
    failure = trial.failure
    return {
        "kind": trial.kind,
        "rerun": trial.rerun,
        "reward": trial.reward,
        "failure": None
        if failure is None
        else {"blame": failure.blame, "phase": failure.phase, "message": plain(failure.message)},
        "limits": [plain(limit) for limit in trial.limits],
        "checks": [{"name": plain(check.name), "status": check.status} for check in trial.checks],
        "seconds": round(trial.seconds, 3),
        "peak_memory": trial.peak_memory,
        "oracle_exit": trial.oracle_exit,
        "verifier_exit": trial.verifier_exit,
        "as_user": trial.as_user,
        "image": {
            "id": trial.image.id,
            "base": list(trial.image.base),
            "architecture": trial.image.architecture,
            "engine": trial.image.engine,
        },
        "kit": trial.kit,
        "started": trial.started,
        "source": trial.source,
        "log": plain(trial.log),
    }
