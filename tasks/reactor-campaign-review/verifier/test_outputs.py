"""Checks of `/app/out/batch_review.json` against the review recomputed from `pristine/`.

Tolerance: whole seconds, counts and words must match; a rounded figure may be one unit of
its last place off, which covers a tie rounded either way. Every mistake that the rubric
lists moves at least one figure or word by more than that.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import stat
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
OUTPUT = Path("/app/out/batch_review.json")
MAX_BYTES = 1_000_000

PHASES = ("CHARGE", "HEAT", "DOSE", "REACT", "COOL")
KEYS = (
    "batch", "grade", "revision", "phases", "aborted_runs", "exposure_s", "over_limit_s", "excursions",
    "longest_excursion_s", "unknown_s", "questionable_s", "mkt_c", "heat_kwh", "dosed_kg",
    "agitator_stopped_s", "deviations", "disposition",
)  # fmt: skip
DECIMALS = {"over_limit_s": 1, "longest_excursion_s": 1, "mkt_c": 3, "heat_kwh": 2, "dosed_kg": 2}
WHOLE = (
    "revision",
    "aborted_runs",
    "exposure_s",
    "excursions",
    "unknown_s",
    "questionable_s",
    "agitator_stopped_s",
)


def load_truth() -> dict[str, dict[str, Any]]:
    # By path: test.sh leaves this folder off sys.path.
    spec = importlib.util.spec_from_file_location("reactor_campaign_truth", HERE / "truth.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.review(HERE / "pristine")


def refuse_constant(name: str) -> Any:
    raise ValueError(f"`{name}` is not a JSON number")


def refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise ValueError(f"key `{key}` appears twice in one object")
    return dict(pairs)


def read_report(path: Path) -> Any:
    """The parsed file. Fails the test where it is missing, no regular file, too large or not strict JSON."""
    for parent in (path.parent.parent, path.parent):
        if parent.is_symlink():
            pytest.fail(
                f"`{parent}` is a symbolic link; the report must lie in a real directory", pytrace=False
            )
    fd, problem = -1, ""
    try:
        # O_NONBLOCK: opening a FIFO must not hang.
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        problem = "it is a symbolic link" if path.is_symlink() else str(error.strerror)
    if problem:
        pytest.fail(f"`{path}` cannot be opened: {problem}", pytrace=False)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        pytest.fail(f"`{path}` is not a regular file", pytrace=False)
    with os.fdopen(fd, "rb") as f:
        raw = f.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        pytest.fail(f"`{path}` is larger than {MAX_BYTES} bytes", pytrace=False)
    try:
        return json.loads(
            raw.decode("utf-8"), parse_constant=refuse_constant, object_pairs_hook=refuse_repeats
        )
    except (ValueError, RecursionError) as error:
        problem = f"{type(error).__name__}: {str(error)[:200]}"
    pytest.fail(f"`{path}` is not valid JSON: {problem}", pytrace=False)


def is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e12 and math.isfinite(value)


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def rows_of(report: Any) -> dict[str, dict[str, Any]]:
    """batch -> entry, of whatever is well-formed enough to be looked at."""
    batches = report.get("batches") if isinstance(report, dict) else None
    if not isinstance(batches, list):
        pytest.fail("the report has no list `batches`", pytrace=False)
    return {e["batch"]: e for e in batches if isinstance(e, dict) and isinstance(e.get("batch"), str)}


def compare(report: Any, truth: dict[str, dict[str, Any]], key: str) -> None:
    """Every batch's `key` against the truth; one line per batch that differs."""
    rows, wrong = rows_of(report), []
    for batch, expected in truth.items():
        got, want = rows.get(batch, {}).get(key, "missing"), expected[key]
        if want is None or isinstance(want, str):
            good = got == want
        elif not is_number(got):
            good = False
        elif key in DECIMALS:
            good = abs(got - float(want)) <= 1.01 * 10 ** -DECIMALS[key]
        else:
            good = got == want
        if not good:
            want_text = (
                want if want is None or isinstance(want, str) else f"{float(want):.{DECIMALS.get(key, 0)}f}"
            )
            wrong.append(f"{batch}: `{key}` is {shown(got)}, SP-417 gives {want_text}")
    assert not wrong, "\n".join(wrong)


@pytest.fixture(scope="module")
def truth() -> dict[str, dict[str, Any]]:
    return load_truth()


@pytest.fixture(scope="module")
def report() -> Any:
    return read_report(OUTPUT)


def test_report_names_campaign_reactor_and_every_batch_once(report: Any, truth: dict[str, Any]) -> None:
    """The top level has the three stated keys and the reactor's batches, sorted."""
    assert isinstance(report, dict), "the report must be a JSON object"
    assert set(report) == {"campaign", "reactor", "batches"}, f"top-level keys are {shown(sorted(report))}"
    assert (report["campaign"], report["reactor"]) == ("C24-11", "R401"), "`campaign` or `reactor` is wrong"
    assert isinstance(report["batches"], list), "`batches` must be a list"
    got = [e.get("batch") if isinstance(e, dict) else e for e in report["batches"]]
    assert got == sorted(truth), (
        f"`batches` must be the batches of R401 sorted by `batch`, found {shown(got)}"
    )


def test_every_entry_has_the_stated_keys_and_types(report: Any) -> None:
    """No key is missing, added or of another type; `null` only stands in a scrapped batch."""
    wrong = []
    for batch, entry in rows_of(report).items():
        if set(entry) != set(KEYS):
            missing, added = sorted(set(KEYS) - set(entry)), sorted(set(entry) - set(KEYS))
            wrong.append(f"{batch}: keys missing {missing}, keys not asked for {shown(added)}")
            continue
        for key in (*DECIMALS, *WHOLE):
            value, empty = entry[key], entry["disposition"] == "scrap" and entry[key] is None
            if not empty and not is_number(value):
                wrong.append(f"{batch}: `{key}` must be a number, found {shown(value)}")
            elif not empty and key in WHOLE and value != int(value):
                wrong.append(f"{batch}: `{key}` must be whole, found {value!r}")
        if not isinstance(entry["phases"], dict) or set(entry["phases"]) != set(PHASES):
            wrong.append(f"{batch}: `phases` must have exactly the keys {', '.join(PHASES)}")
        found = entry["deviations"]
        if not isinstance(found, list) or not all(
            isinstance(d, dict) and set(d) == {"code", "class"} for d in found
        ):
            wrong.append(f"{batch}: `deviations` must be a list of objects with `code` and `class`")
    assert rows_of(report), "`batches` holds no object with a `batch`"
    assert not wrong, "\n".join(wrong)


def test_figures_are_rounded_as_stated(report: Any) -> None:
    """No figure carries more decimals than asked for."""
    wrong = []
    for batch, entry in rows_of(report).items():
        for key, places in DECIMALS.items():
            value = entry.get(key)
            if is_number(value) and round(value, places) != value:
                wrong.append(f"{batch}: `{key}` is {value!r}, {places} decimals are asked for")
    numbers = [e.get(k) for e in rows_of(report).values() for k in DECIMALS if is_number(e.get(k))]
    assert numbers, "no figure to look at"
    assert not wrong, "\n".join(wrong)


def test_grade_revision_in_force(report: Any, truth: dict[str, Any]) -> None:
    """Grade and limit revision follow the batch's first START (5.1)."""
    compare(report, truth, "grade")
    compare(report, truth, "revision")


def test_phase_times(report: Any, truth: dict[str, Any]) -> None:
    """Active times of the valid runs, holds taken off, both journal servers merged (3.1 to 3.4)."""
    rows, wrong = rows_of(report), []
    for batch, expected in truth.items():
        got = rows.get(batch, {}).get("phases")
        for phase in PHASES:
            value, want = (
                got.get(phase, "missing") if isinstance(got, dict) else "missing",
                expected["phases"][phase],
            )
            if (want is None and value is not None) or (
                want is not None and (not is_number(value) or value != want)
            ):
                wrong.append(f"{batch}: `phases.{phase}` is {shown(value)}, SP-417 gives {want}")
    assert not wrong, "\n".join(wrong)


def test_aborted_runs(report: Any, truth: dict[str, Any]) -> None:
    """Runs of any phase that ended with ABORT (3.2)."""
    compare(report, truth, "aborted_runs")


def test_exposure_window(report: Any, truth: dict[str, Any]) -> None:
    """From the first DOSE run, aborted or not, to the end of the valid REACT run (3.5)."""
    compare(report, truth, "exposure_s")


def test_time_over_limit(report: Any, truth: dict[str, Any]) -> None:
    """Total, number and longest of the excursions, crossings on the straight line (4.1)."""
    compare(report, truth, "over_limit_s")
    compare(report, truth, "excursions")
    compare(report, truth, "longest_excursion_s")


def test_unknown_and_questionable_time(report: Any, truth: dict[str, Any]) -> None:
    """Gaps, Bad rows, out-of-service rows and lines with a Questionable end (4.2)."""
    compare(report, truth, "unknown_s")
    compare(report, truth, "questionable_s")


def test_mean_kinetic_temperature(report: Any, truth: dict[str, Any]) -> None:
    """Trapezoid on k over the known parts of the valid REACT run (4.3)."""
    compare(report, truth, "mkt_c")


def test_heat_removed(report: Any, truth: dict[str, Any]) -> None:
    """Recorder in plant time brought to UTC, known parts of the valid REACT run (4.4)."""
    compare(report, truth, "heat_kwh")


def test_monomer_dosed(report: Any, truth: dict[str, Any]) -> None:
    """Step signal over all DOSE runs, aborted ones included (4.5)."""
    compare(report, truth, "dosed_kg")


def test_agitator_stopped(report: Any, truth: dict[str, Any]) -> None:
    """Known and stopped in the exposure window (4.6)."""
    compare(report, truth, "agitator_stopped_s")


def test_deviations_and_disposition(report: Any, truth: dict[str, Any]) -> None:
    """Codes sorted, the highest class each, and what follows for the batch (5.2, 5.3)."""
    rows, wrong = rows_of(report), []
    for batch, expected in truth.items():
        want = [
            {"code": code, "class": expected["deviations"][code]} for code in sorted(expected["deviations"])
        ]
        got = rows.get(batch, {}).get("deviations", "missing")
        if got != want:
            wrong.append(
                f"{batch}: `deviations` is {got if len(repr(got)) < 400 else shown(got)}, SP-417 gives {want}"
            )
    assert not wrong, "\n".join(wrong)
    compare(report, truth, "disposition")
