# ruff: noqa: D103 - the name of a wrong solution says what is wrong with it
"""The task `reactor-campaign-review` outside Docker: its data, its truth and what its checks catch."""

import copy
import inspect
import json
import math
import os
import runpy
import sys
from pathlib import Path

import pytest
import task_module

TASK = Path(__file__).resolve().parents[2] / "tasks" / "reactor-campaign-review"
PLANT = TASK / "environment" / "plant"


def reactor_module(path):
    """A fresh copy of a module of the task, so that one case's changes never reach another."""
    return task_module.load(path.parent, path.name, f"reactor_{path.stem}_under_test")


@pytest.fixture(scope="module", autouse=True)
def no_bytecode_in_the_task():
    """Loading the task's modules must leave no `__pycache__` in its folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        yield


@pytest.fixture(scope="module")
def checks():
    """The verifier's tests as a module."""
    return reactor_module(TASK / "verifier" / "test_outputs.py")


@pytest.fixture(scope="module")
def truth(checks):
    """What the verifier recomputes from the pristine records."""
    return checks.load_truth()


@pytest.fixture(scope="module")
def solved():
    """The reference solution's report; never changed in place."""
    return reactor_module(TASK / "oracle" / "review.py").review(PLANT)


def reactor_failures(checks, truth, report):
    """Names of the verifier's tests that a report, passed through JSON, fails."""
    report = json.loads(json.dumps(report))
    failed = {}
    for name, test in inspect.getmembers(checks, inspect.isfunction):
        if name.startswith("test_"):
            wanted = inspect.signature(test).parameters
            try:
                test(**{k: v for k, v in {"report": report, "truth": truth}.items() if k in wanted})
            except (AssertionError, pytest.fail.Exception) as error:
                failed[name.removeprefix("test_")] = str(error)
    assert all(failed.values()), "a check failed without a message"
    return set(failed)


# --- plausible wrong solutions: the reference with one thing done as a careless person would ---


def read_recorder_by(o, clock):
    """Let the recorder's times be what `clock` makes of a reading taken as summer time."""
    read_rows, summer = o.recorder_rows, o.from_plant_time
    readings = {int(r["seq"]): r["time"] for r in o.read_csv(PLANT / "recorder_cal4.csv", ";")}
    o.recorder_rows = lambda plant: [
        (ch, clock(summer(readings[seq], "%d-%m-%Y %H:%M:%S")), value, quality, seq)
        for ch, _, value, quality, seq in read_rows(plant)
    ]


def summer_time_all_week(o):
    read_recorder_by(o, lambda t: t)


def winter_time_all_week(o):
    read_recorder_by(o, lambda t: t + 3600)


def recorder_clock_taken_as_utc(o):
    read_recorder_by(o, lambda t: t + 7200)


def repeated_hour_all_summer(o):
    """What a time zone library gives without `fold`."""
    read_recorder_by(o, lambda t: t if t < o.CLOCK_BACK else t + 3600)


def repeated_hour_all_winter(o):
    read_recorder_by(o, lambda t: t if t < o.CLOCK_BACK - 3600 else t + 3600)


def recorder_failures_kept(o):
    rows = o.recorder_rows
    o.recorder_rows = lambda plant: [(ch, t, value, "Good", seq) for ch, t, value, _, seq in rows(plant)]


def work_orders_taken_as_utc(o):
    orders = o.work_orders
    o.work_orders = lambda plant: {
        k: [(a + 7200, b + 7200, s) for a, b, s in v] for k, v in orders(plant).items()
    }


def planned_times_of_work_orders(o):
    orders = o.work_orders
    planned_to_done = o.epoch("2024-10-24T17:48:00Z") - o.epoch("2024-10-24T07:45:00Z")
    o.work_orders = lambda plant: {
        k: [(a - planned_to_done * s, b - planned_to_done * s, s) for a, b, s in v]
        for k, v in orders(plant).items()
    }


def unit_of_the_register_believed(o):
    o.converted = lambda value, t, orders: value


def unit_changed_with_the_name(o):
    renamed = o.epoch("2024-10-25T14:00:00Z")
    orders = o.work_orders
    o.work_orders = lambda plant: {
        k: [*v, (0, renamed, True)] if k == "TT-101" else v for k, v in orders(plant).items()
    }
    service = o.out_of_service
    o.out_of_service = lambda t, work: service(t, [w for w in work if w[0]])


def calibrator_values_kept(o):
    o.out_of_service = lambda t, orders: False


def out_of_service_rows_removed(o):
    """Left out instead of Bad: the neighbours get joined where the gap is short."""
    build, one_row = o.build_signal, o.one_row_per_time
    instruments = {
        r["signal"]: r["instrument"] for r in o.read_csv(PLANT / "tag_register.csv") if r["unit"] == "R401"
    }

    def careless(name, plant, sources, orders):
        away = orders.get(instruments[name], [])
        o.one_row_per_time = lambda rows: one_row(
            [r for r in rows if not any(a <= r[0] < b for a, b, _ in away)]
        )
        return build(name, plant, sources, orders)

    o.build_signal = careless


def commissioning_rows_of_the_new_tag(o):
    o.in_force = lambda t, tag: not tag["valid_to"] or t < o.epoch(tag["valid_to"])


def frozen_rows_of_the_old_tag(o):
    o.in_force = lambda t, tag: not tag["valid_from"] or o.epoch(tag["valid_from"]) <= t


def first_row_of_a_time_kept(o):
    def careless(rows):
        best = {}
        for row in rows:
            best.setdefault(row[0], row)
        return [best[t] for t in sorted(best)]

    o.one_row_per_time = careless


def last_row_in_the_file_kept(o):
    o.one_row_per_time = lambda rows: [row for _, row in sorted({row[0]: row for row in rows}.items())]


def bad_rows_dropped_before_superseding(o):
    build = o.one_row_per_time
    o.one_row_per_time = lambda rows: build([r for r in rows if r[2] != "Bad"] or rows)


def bad_rows_dropped_after_superseding(o):
    build = o.one_row_per_time
    o.one_row_per_time = lambda rows: [r for r in build(rows) if r[2] != "Bad"]


def questionable_taken_as_bad(o):
    o.USABLE = ("Good",)


def gaps_bridged(o):
    o.MAX_GAP = math.inf


def gap_rule_on_step_signals(o):
    stretches = o.Signal.stretches

    def careless(self, start, end):
        for t0, t1, v0, v1, doubtful in stretches(self, start, end):
            i = o.bisect_right(self.times, t0) - 1
            too_long = self.step and i + 1 < len(self.times) and self.times[i + 1] - self.times[i] > 600
            yield (t0, t1, None, None, False) if too_long else (t0, t1, v0, v1, doubtful)

    o.Signal.stretches = careless


def feed_as_straight_lines(o):
    build = o.build_signal

    def careless(name, *rest):
        signal = build(name, *rest)
        signal.step = name == "agitator"
        return signal

    o.build_signal = careless


def analog_values_held(o):
    build = o.Signal.line

    def careless(self, i, t0, t1):
        _, _, v0, _, doubtful = build(self, i, t0, t1)
        return (
            (t0, t1, None, None, False) if v0 is None else (t0, t1, self.values[i], self.values[i], doubtful)
        )

    o.Signal.line = careless


def agitator_held_through_bad(o):
    build = o.build_signal

    def careless(name, *rest):
        signal = build(name, *rest)
        if name == "agitator":
            rows = list(zip(signal.times, signal.values, signal.flags, strict=True))
            return o.Signal([r for r in rows if r[1] is not None], step=True)
        return signal

    o.build_signal = careless


def limit_crossed_at_samples_only(o):
    def careless(signal, limit, start, end):
        lengths, running = [], False
        for t0, t1, v0, _, _ in signal.stretches(start, end):
            above = v0 is not None and v0 > limit
            if above and running:
                lengths[-1] += t1 - t0
            elif above:
                lengths.append(t1 - t0)
            running = above
        return lengths

    o.excursions = careless


def excursions_joined_across_gaps(o):
    split = o.excursions

    def careless(signal, limit, start, end):
        known = [s for s in signal.stretches(start, end) if s[2] is not None]
        joined = o.Signal([], step=False)
        shift, previous, moved = 0, start, []
        for t0, t1, v0, v1, doubtful in known:
            shift += t0 - previous
            moved.append((t0 - shift, t1 - shift, v0, v1, doubtful))
            previous = t1
        joined.stretches = lambda *_: iter(moved)
        return split(joined, limit, start, end)

    o.excursions = careless


def exposure_from_the_valid_dose_run(o):
    def careless(phases):
        dose, react = o.valid_run(phases["DOSE"]), o.valid_run(phases["REACT"])
        return (dose["start"], react["end"]) if dose and react else None

    o.exposure_window = careless


def exposure_is_the_react_run(o):
    def careless(phases):
        react = o.valid_run(phases["REACT"])
        return (react["start"], react["end"]) if react else None

    o.exposure_window = careless


def time_over_limit_without_holds(o):
    split = o.excursions
    rows = [r for r in o.read_csv(PLANT / "batch_journal.csv") if r["unit"] == "R401" and r["server"] == "A"]
    times = {e: sorted(o.epoch(r["time"]) for r in rows if r["event"] == e) for e in ("HOLD", "RESTART")}
    holds = [(a, next((b for b in times["RESTART"] if b > a), a)) for a in times["HOLD"]]

    def careless(signal, limit, start, end):
        edges = [start, *(t for hold in holds for t in hold if start < hold[0] and hold[1] < end), end]
        return [x for a, b in zip(edges[::2], edges[1::2], strict=True) for x in split(signal, limit, a, b)]

    o.excursions = careless


def server_a_only(o):
    merge = o.merge_servers

    def careless(rows):
        own = merge([r for r in rows if r[0] == "A"])
        begun = {tuple(what[:2]) for _, *what in own if what[2] == "START"}
        return [e for e in own if e[1:3] in begun]

    o.merge_servers = careless


def earlier_server_counts(o):
    def careless(rows):
        kept = []
        for _, t, *what in sorted(rows, key=lambda r: r[1]):
            if not any(abs(t - other) <= 5 and what == list(w) for other, *w in kept):
                kept.append((t, *what))
        return kept

    o.merge_servers = careless


def holds_not_taken_off(o):
    runs = o.read_runs

    def careless(plant):
        found = runs(plant)
        for phases in found.values():
            for run in (run for runs in phases.values() for run in runs):
                run["active"] = run["end"] - run["start"]
        return found

    o.read_runs = careless


def first_complete_run_is_valid(o):
    o.valid_run = lambda runs: next((run for run in runs if run["how"] == "COMPLETE"), None)


def last_run_is_valid_however_it_ended(o):
    o.valid_run = lambda runs: runs[-1] if runs else None


def dosed_in_the_valid_run_only(o):
    dosed = o.dosed
    o.dosed = lambda signal, runs: dosed(signal, [r for r in runs if r["how"] == "COMPLETE"])


def dosed_from_rows_inside_the_run(o):
    """The feed is taken to begin with the first row after START."""

    def careless(signal, runs):
        total = 0.0
        for run in runs:
            first = next(t for t in signal.times if t >= run["start"])
            total += o.integral_per_hour(signal, first, run["end"])
        return total

    o.dosed = careless


def dosed_until_the_feed_is_zero(o):
    def careless(signal, runs):
        total = 0.0
        for run in runs:
            stopped = next(
                t for t, v in zip(signal.times, signal.values, strict=True) if t >= run["end"] and v == 0
            )
            total += o.integral_per_hour(signal, run["start"], stopped)
        return total

    o.dosed = careless


def mkt_as_mean_temperature(o):
    def careless(signal, start, end):
        known = [s for s in signal.stretches(start, end) if s[2] is not None]
        return sum((t1 - t0) * (v0 + v1) / 2 for t0, t1, v0, v1, _ in known) / sum(s[1] - s[0] for s in known)

    o.mean_kinetic_temperature = careless


def mkt_of_samples_unweighted(o):
    def careless(signal, start, end):
        inside = [
            v for t, v in zip(signal.times, signal.values, strict=True) if start <= t <= end and v is not None
        ]
        return 10000 / -math.log(sum(math.exp(-10000 / (v + 273.15)) for v in inside) / len(inside)) - 273.15

    o.mean_kinetic_temperature = careless


def mkt_without_the_ends_of_the_run(o):
    mkt = o.mean_kinetic_temperature

    def careless(signal, start, end):
        inside = [t for t in signal.times if start <= t <= end]
        return mkt(signal, inside[0], inside[-1])

    o.mean_kinetic_temperature = careless


def mkt_over_the_exposure_window(o):
    review, mkt = o.review_batch, o.mean_kinetic_temperature

    def careless(entry, phases, signals, plant):
        window = o.exposure_window(phases)
        o.mean_kinetic_temperature = lambda signal, start, end: mkt(signal, *window)
        return review(entry, phases, signals, plant)

    o.review_batch = careless


def newest_revision_of_the_limits(o):
    limits = o.limits_for
    o.limits_for = lambda grade, start, plant: limits(grade, start + 10**8, plant)


def revision_at_the_react_phase(o):
    limits = o.limits_for
    o.limits_for = lambda grade, start, plant: limits(grade, start + 4 * 3600, plant)


def temp_class_by_total_time(o):
    classify = o.classify
    o.classify = lambda m, *rest: classify(m | {"longest": m["over"]}, *rest)


def data_class_by_questionable_as_unknown(o):
    classify = o.classify
    o.classify = lambda m, *rest: classify(m | {"unknown": m["unknown"] + m["questionable"]}, *rest)


def time_class_with_holds(o):
    review, classify = o.review_batch, o.classify

    def careless(entry, phases, signals, plant):
        run = o.valid_run(phases["REACT"])
        o.classify = lambda m, *rest: classify(m | {"react": run["end"] - run["start"]}, *rest)
        return review(entry, phases, signals, plant)

    o.review_batch = careless


def three_majors_not_counted(o):
    o.disposition = lambda classes: (
        "reject" if "critical" in classes else "review" if "major" in classes else "release"
    )


HEAT, FEED, STIR, MKT = "heat_removed", "monomer_dosed", "agitator_stopped", "mean_kinetic_temperature"
OVER, UNKNOWN, PHASE, WINDOW = (
    "time_over_limit",
    "unknown_and_questionable_time",
    "phase_times",
    "exposure_window",
)
JUDGED = "deviations_and_disposition"

WRONG = (
    (summer_time_all_week, {HEAT}),
    (winter_time_all_week, {HEAT}),
    (recorder_clock_taken_as_utc, {HEAT}),
    (repeated_hour_all_summer, {HEAT}),
    (repeated_hour_all_winter, {HEAT}),
    (recorder_failures_kept, {HEAT}),
    (work_orders_taken_as_utc, {HEAT, OVER, UNKNOWN, MKT}),
    (planned_times_of_work_orders, {OVER, UNKNOWN, MKT}),
    (unit_of_the_register_believed, {OVER, MKT, JUDGED}),
    (unit_changed_with_the_name, {OVER, MKT}),
    (calibrator_values_kept, {OVER, UNKNOWN, MKT, HEAT}),
    (out_of_service_rows_removed, {HEAT}),
    (commissioning_rows_of_the_new_tag, {OVER, MKT}),
    (frozen_rows_of_the_old_tag, {MKT}),
    (first_row_of_a_time_kept, {OVER, MKT}),
    (last_row_in_the_file_kept, {OVER, MKT}),
    (bad_rows_dropped_before_superseding, {OVER, UNKNOWN, MKT}),
    (bad_rows_dropped_after_superseding, {UNKNOWN, MKT, FEED, STIR}),
    (questionable_taken_as_bad, {UNKNOWN, JUDGED}),
    (gaps_bridged, {OVER, UNKNOWN, HEAT}),
    (gap_rule_on_step_signals, {FEED}),
    (feed_as_straight_lines, {FEED}),
    (analog_values_held, {OVER, MKT, HEAT}),
    (agitator_held_through_bad, {STIR, JUDGED}),
    (limit_crossed_at_samples_only, {OVER, JUDGED}),
    (excursions_joined_across_gaps, {OVER}),
    (exposure_from_the_valid_dose_run, {WINDOW, OVER, STIR, JUDGED}),
    (exposure_is_the_react_run, {WINDOW, OVER}),
    (time_over_limit_without_holds, {OVER}),
    (server_a_only, {PHASE, JUDGED}),
    (earlier_server_counts, {PHASE}),
    (holds_not_taken_off, {PHASE, JUDGED}),
    (first_complete_run_is_valid, {PHASE}),
    (last_run_is_valid_however_it_ended, {PHASE}),
    (dosed_in_the_valid_run_only, {FEED, JUDGED}),
    (dosed_from_rows_inside_the_run, {FEED}),
    (dosed_until_the_feed_is_zero, {FEED}),
    (mkt_as_mean_temperature, {MKT, JUDGED}),
    (mkt_of_samples_unweighted, {MKT}),
    (mkt_without_the_ends_of_the_run, {MKT}),
    (mkt_over_the_exposure_window, {MKT}),
    (newest_revision_of_the_limits, {"grade_revision_in_force", OVER}),
    (revision_at_the_react_phase, {"grade_revision_in_force", OVER}),
    (temp_class_by_total_time, {JUDGED}),
    (data_class_by_questionable_as_unknown, {JUDGED}),
    (time_class_with_holds, {JUDGED}),
    (three_majors_not_counted, {JUDGED}),
)


def test_committed_records_are_what_the_generator_writes(tmp_path):
    """The agent's and the verifier's records are both the generator's output, byte for byte."""
    write_all = runpy.run_path(str(TASK / "generator" / "generate.py"))["write_all"]
    write_all(tmp_path)
    written = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert {p.name: p.read_bytes() for p in (TASK / "verifier" / "pristine").iterdir()} == written
    assert {p.name: p.read_bytes() for p in PLANT.iterdir() if p.name != "SP-417.md"} == written


def test_records_leave_no_tie_undecided(truth):
    """Where SP-417 has no rule for a tie, the records have none; rounding first changes no class."""
    o = reactor_module(TASK / "oracle" / "review.py")
    recorder = {(ch, t, seq) for ch, t, _, _, seq in o.recorder_rows(PLANT)}
    assert len({(ch, t) for ch, t, _ in recorder}) == len(recorder)
    historian = set(o.historian_rows(PLANT))
    assert len({(tag, t, ingest) for tag, t, _, _, ingest in historian}) == len(historian)
    sources = {"historian.csv": historian, "recorder_cal4.csv": []}
    temp = o.build_signal("reactor_temp", PLANT, sources, o.work_orders(PLANT))
    limits = {float(r["t_max_c"]) for r in o.read_csv(PLANT / "grades.csv")}
    assert min(abs(v - limit) for v in temp.values if v is not None for limit in limits) > 1e-4
    targets = {r["batch"]: float(r["target_kg"]) for r in o.read_csv(PLANT / "batches.csv")}
    mkt_limits = {float(r["mkt_max_c"]) for r in o.read_csv(PLANT / "grades.csv")}
    for batch, m in truth.items():
        if m["disposition"] != "scrap":
            assert min(abs(m["longest_excursion_s"] - x) for x in (60, 300)) > 0.1
            assert min(abs(m["mkt_c"] - x) for x in mkt_limits) > 0.002
            off, target = abs(float(m["dosed_kg"]) - targets[batch]), targets[batch]
            assert min(abs(off - share * target) for share in (0.005, 0.02)) > 0.02


def test_reference_solution_passes_every_check(checks, truth, solved):
    """Two independent implementations of SP-417 agree, and the checks accept what they agree on."""
    assert reactor_failures(checks, truth, solved) == set()


@pytest.mark.parametrize(("mistake", "caught_by"), WRONG, ids=[w[0].__name__ for w in WRONG])
def test_plausible_wrong_solution_is_caught(checks, truth, mistake, caught_by):
    """One careless step makes at least the named checks fail."""
    oracle = reactor_module(TASK / "oracle" / "review.py")
    mistake(oracle)
    assert caught_by <= reactor_failures(checks, truth, oracle.review(PLANT))


def drop_last(report):
    del report["batches"][-1]


def unsorted(report):
    report["batches"].reverse()


def extra_key(report):
    report["batches"][0]["note"] = "x"


def text_figure(report):
    report["batches"][0]["mkt_c"] = str(report["batches"][0]["mkt_c"])


def true_for_one(report):
    report["batches"][1]["aborted_runs"] = True


def unrounded(report):
    report["batches"][0]["heat_kwh"] += 0.0001


def null_figure(report):
    report["batches"][0]["heat_kwh"] = None


def zero_for_null(report):
    report["batches"][6]["mkt_c"] = 0


def unsorted_deviations(report):
    report["batches"][5]["deviations"].reverse()


def no_batches(report):
    report["batches"] = []


def one_abort_less(report):
    report["batches"][1]["aborted_runs"] = 0


def too_far_off(report):
    report["batches"][0]["dosed_kg"] = round(report["batches"][0]["dosed_kg"] + 0.02, 2)


NAMES, KEYS = (
    "report_names_campaign_reactor_and_every_batch_once",
    "every_entry_has_the_stated_keys_and_types",
)
SPOILED = (
    (drop_last, NAMES), (unsorted, NAMES), (no_batches, NAMES), (extra_key, KEYS), (text_figure, KEYS),
    (null_figure, KEYS), (zero_for_null, MKT), (true_for_one, KEYS),
    (unrounded, "figures_are_rounded_as_stated"), (unsorted_deviations, JUDGED),
    (one_abort_less, "aborted_runs"), (too_far_off, FEED),
)  # fmt: skip


@pytest.mark.parametrize(("spoil", "caught_by"), SPOILED, ids=[s[0].__name__ for s in SPOILED])
def test_spoiled_form_is_caught(checks, truth, solved, spoil, caught_by):
    """A right review in a form that was not asked for fails the check of that form."""
    report = copy.deepcopy(solved)
    spoil(report)
    assert caught_by in reactor_failures(checks, truth, report)


def test_every_check_of_the_verifier_can_fail(checks):
    """No test of the verifier is one that nothing above makes fail."""
    named = set().union(*(caught for _, caught in WRONG), {caught for _, caught in SPOILED})
    assert named == {name.removeprefix("test_") for name in vars(checks) if name.startswith("test_")}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"batches": [{"mkt_c": NaN}]}', "`NaN` is not a JSON number"),
        ('{"campaign": 1, "campaign": 2}', "`campaign` appears twice"),
        ("{", "not valid JSON"),
        ("[" * 200_000, "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (" " * 1_000_001, "larger than"),
    ],
    ids=["nan", "repeated-key", "cut-off", "nested", "not-utf8", "huge"],
)
def test_malformed_report_fails_with_its_reason(checks, tmp_path, content, reason):
    """What is no strict JSON of sensible size is a failed check, not a crash."""
    path = tmp_path / "batch_review.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(pytest.fail.Exception, match=reason):
        checks.read_report(path)


@pytest.mark.parametrize("kind", ["missing", "directory", "symlink", "fifo", "linked-folder"])
def test_report_that_is_no_plain_file_fails(checks, tmp_path, kind):
    """Links are not followed, pipes not waited for."""
    real = tmp_path / "real.json"
    real.write_text("{}")
    path = tmp_path / "out" / "batch_review.json"
    if kind == "linked-folder":
        path.parent.symlink_to(tmp_path)
    else:
        path.parent.mkdir()
    match kind:
        case "directory":
            path.mkdir()
        case "symlink":
            path.symlink_to(real)
        case "fifo":
            os.mkfifo(path)
    with pytest.raises(pytest.fail.Exception, match=r"cannot be opened|not a regular file|symbolic link"):
        checks.read_report(path)


@pytest.mark.parametrize(
    "report",
    [None, [], 3, {"batches": 1}, {"batches": [1, {"batch": []}]}, {"batches": [{"batch": "B2410-31"}]}],
)
def test_unexpected_shapes_never_crash_a_check(checks, truth, report):
    """Any JSON value makes checks fail with a message and none of them raise something else."""
    assert len(reactor_failures(checks, truth, report)) >= 10
