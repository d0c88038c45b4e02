# ruff: noqa: D103 - the name of a wrong solution says what is wrong with it
"""The task `fjord-core-lead-210` outside Docker: its data, its answer and the mistakes its grader catches."""

import functools
import math
import re
import sys
from pathlib import Path

import pytest
import task_module

FJORD_TASK = Path(__file__).resolve().parents[2] / "tasks" / "fjord-core-lead-210"
FJORD_CORE = FJORD_TASK / "environment" / "core"


def fjord_module(relative, name):
    """A fresh copy of a module of the task, so that one case's changes never reach another."""
    return task_module.load(FJORD_TASK, relative, f"fjord_{name}_under_test")


@pytest.fixture(scope="module", autouse=True)
def no_bytecode_in_the_task():
    """Loading the task's modules must leave no `__pycache__` in its folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        yield


@pytest.fixture(scope="module")
def truth():
    """The five figures as the verifier recomputes them."""
    recompute = fjord_module("verifier/recompute.py", "recompute")
    return [float(x) for x in recompute.figures(FJORD_TASK / "verifier" / "pristine")]


@pytest.fixture(scope="module")
def grader():
    """The template's grader."""
    return fjord_module("verifier/grader.py", "grader")


@pytest.fixture(scope="module")
def tolerance():
    """Tolerance of the verifier's test, read from its source: importing it would change `sys.path`."""
    source = (FJORD_TASK / "verifier" / "test_outputs.py").read_text()
    return {"abs_tol": float(re.search(r'^TOLERANCE = \{"abs_tol": ([\d.]+)\}$', source, re.MULTILINE)[1])}


@pytest.fixture(scope="module")
def generated():
    """The generator's core, with what it meant."""
    return fjord_module("generator/generate.py", "generate").Core()


def fjord_oracle():
    """The reference solution as a module of its own."""
    return fjord_module("oracle/chronology.py", "chronology")


# --- plausible wrong solutions: the reference with one thing done as a careless person would ---


def calibration_of_the_file_header(o):
    o.energy_scale = lambda spectrum, entry: spectrum["header"]


def newest_calibration_for_everything(o):
    def careless(log, spectrum):
        return max((e for e in log if e["detector"] == spectrum["detector"]), key=lambda e: e["valid_from"])

    o.in_force = careless


def backgrounds_read_with_the_calibration_of_the_count(o):
    net = o.net

    def careless(count, background, *rest):
        return net(count, background | {"start": count["start"]}, *rest)

    o.net = careless


def whole_spectrum_without_windows(o):
    o.WINDOW_209, o.WINDOW_210 = (0, 5080), (5080, 9000)


def background_ignored(o):
    o.background_of = lambda count, backgrounds: backgrounds[0] | {"data": [0] * 512}


def background_not_scaled_by_time(o):
    background = o.background_of
    o.background_of = lambda count, all_: background(count, all_) | {"live": count["live"]}


def background_nearest_in_time(o):
    def careless(count, backgrounds):
        own = [b for b in backgrounds if b["detector"] == count["detector"]]
        return min(own, key=lambda b: abs(b["start"] - count["start"]))

    o.background_of = careless


def newest_background_for_everything(o):
    def careless(count, backgrounds):
        return max((b for b in backgrounds if b["detector"] == count["detector"]), key=lambda b: b["start"])

    o.background_of = careless


def first_background_for_everything(o):
    def careless(count, backgrounds):
        return min((b for b in backgrounds if b["detector"] == count["detector"]), key=lambda b: b["start"])

    o.background_of = careless


def tail_ignored(o):
    net = o.net
    o.net = lambda count, background, log, tail: net(count, background, log, 0)


def tracer_half_life_of_the_certificate(o):
    o.T_PO209 = 102 * o.YEAR


def tracer_not_decayed(o):
    o.tracer_activity = lambda bottle, t: o.diluted(bottle)


def tracer_decayed_from_the_dilution(o):
    tracer = o.tracer_activity
    o.tracer_activity = lambda bottle, t: tracer(bottle | {"reference_date": bottle["made_up_on"]}, t)


def tracer_of_one_gram_each(o):
    digests = o.read_digests
    o.read_digests = lambda core: {k: d | {"tracer": 1.0} for k, d in digests(core).items()}


def polonium_not_decayed_to_plating(o):
    o.at_plating = lambda activity, middle, digest: activity


def polonium_decayed_to_the_digestion(o):
    def careless(activity, middle, digest):
        return activity / o.left(middle - o.datetime.strptime(digest["digested"], "%Y-%m-%d"), o.T_PO210)

    o.at_plating = careless


def polonium_decayed_from_the_start_of_the_count(o):
    o.middle_of = lambda count: count["start"]


def polonium_decayed_to_the_coring(o):
    o.at_plating = lambda activity, middle, digest: activity / o.left(middle - o.CORED, o.T_PO210)


def lead_not_decayed_to_the_coring(o):
    o.at_coring = lambda concentration, plated: concentration


def dates_read_day_first(o):
    def careless(text):
        try:
            return o.datetime.strptime(text, "%d/%m/%Y %H:%M:%S")
        except ValueError:
            return o.datetime.strptime(text, "%m/%d/%Y %H:%M:%S")

    o.read_date = careless


def counts_of_few_pulses_used(o):
    o.MIN_COUNTS = 0


def counts_of_low_yield_used(o):
    o.MIN_YIELD = 0


def intermediate_saves_used(o):
    o.final_saves = lambda spectra: spectra


def intermediate_saves_instead_of_the_last(o):
    def careless(spectra):
        longest_first = sorted(spectra, key=lambda s: -s["real"])
        return list({(s["detector"], s["start"]): s for s in longest_first}.values())

    o.final_saves = careless


def first_count_of_a_disc_only(o):
    o.combine_counts = lambda values: values[0]


def counts_of_a_disc_plainly_averaged(o):
    weighted = o.weighted
    o.combine_counts = lambda values: (sum(v for v, _ in values) / len(values), weighted(values)[1])


def blanks_ignored(o):
    o.blank_of = lambda batch, digests, activities: 0


def blanks_of_all_batches_averaged(o):
    blank = o.blank_of
    o.blank_of = lambda batch, digests, activities: sum(blank(b, digests, activities) for b in "123") / 3


def digests_of_a_slice_plainly_averaged(o):
    combine = o.combine_digests
    o.combine_digests = lambda values: (sum(v for v, _ in values) / len(values), combine(values)[1])


def digests_that_differ_averaged_all_the_same(o):
    o.combine_digests = o.weighted


def first_digest_of_a_slice_only(o):
    o.combine_digests = lambda values: values[0]


def loss_after_the_tracer_taken_for_one(o):
    o.VOID = {"D-106", "D-110"}


def loss_before_the_tracer_overlooked(o):
    o.VOID = set()


def bags_left_with_the_wrong_labels(o):
    o.TRUE_SLICE = {}


def labels_put_right_in_every_batch(o):
    o.TRUE_SLICE = {(b, k): v for (_, k), v in o.TRUE_SLICE.items() for b in "123"}


def discs_left_in_the_wrong_chambers(o):
    o.TRUE_DISC = {}


def salt_left_in(o):
    o.salt_of = lambda water, s: 0


def salt_left_in_the_aliquots(o):
    measure = o.measure
    o.measure = lambda core, slices: measure(core, [s | {"salt": 0} for s in slices])


def salt_per_kilogram_of_pure_water(o):
    o.salt_of = lambda water, s: water * s / 1000


def salinity_of_the_top_everywhere(o):
    o.PORE_WATER = ((56, 32.6),)


def first_weighing_of_a_bag(o):
    o.last_weighings = lambda rows: {
        r["slice"]: r for r in sorted(rows, key=lambda r: r["weighed_on"], reverse=True)
    }


def last_weighing_in_the_file(o):
    o.last_weighings = lambda rows: {r["slice"]: r for r in rows}


def bagged_share_overlooked(o):
    o.share_bagged = lambda remark: 1


def cross_section_of_the_tube(o):
    o.CUT_DIAMETER_M = 0.086


def rim_taken_off_once(o):
    o.CUT_DIAMETER_M = 0.082


def event_layer_kept(o):
    o.is_event = lambda top, bottom: False


def event_layer_kept_as_mass(o):
    """Its inventory is taken out, its mass depth is not."""
    date = o.read_slices

    def careless(core):
        kept = date(core)
        o.is_event = lambda top, bottom: False
        base = {s["name"]: (s["base"], s["middle"]) for s in date(core)}
        return [s | {"base": base[s["name"]][0], "middle": base[s["name"]][1]} for s in kept]

    o.read_slices = careless


def supported_from_the_three_deepest(o):
    o.supported_set = lambda order, measured: [name for name in reversed(order) if name in measured][:3]


def supported_from_the_deepest_slice(o):
    o.supported_set = lambda order, measured: [name for name in reversed(order) if name in measured][:1]


def supported_as_a_plain_mean(o):
    o.supported_level = lambda chosen, measured: sum(measured[n][0] for n in chosen) / len(chosen)


def supported_not_subtracted(o):
    o.supported_level = lambda chosen, measured: 0


def slices_between_ignored(o):
    excess = o.excess_of

    def careless(slices, measured):
        return [
            e if s["name"] in measured else 0 for s, e in zip(slices, excess(slices, measured), strict=False)
        ]

    o.excess_of = careless


def slices_above_the_first_ignored(o):
    excess = o.excess_of
    o.excess_of = lambda slices, measured: [
        0 if s["name"] == "FJ3-01" else e for s, e in zip(slices, excess(slices, measured), strict=False)
    ]


def straight_line_through_the_excess_itself(o):
    o.between = lambda a, b, x0, x1, x: a + (b - a) * (x - x0) / (x1 - x0)


def interpolated_over_depth_in_centimetres(o):
    o.coordinate = lambda s: s["top"] + (0.5 if s["top"] < 20 else 1)


def interpolated_over_the_number_of_slices(o):
    o.coordinate = lambda s: int(s["name"][-2:])


def ages_of_the_middles(o):
    ages = o.ages_of

    def careless(slices, excess):
        bottoms, total = ages(slices, excess)
        above = {"FJ3-09": "FJ3-08", "FJ3-17": "FJ3-16", "FJ3-22": "FJ3-21"}
        return {name: (bottoms[name] + bottoms[other]) / 2 for name, other in above.items()}, total

    o.ages_of = careless


def constant_concentration_model(o):
    def careless(slices, excess):
        _, total = honest(slices, excess)
        return {
            s["name"]: math.log(excess[0] / e) / o.LAMBDA for s, e in zip(slices, excess, strict=False)
        }, total

    honest = o.ages_of
    o.ages_of = careless


def older_half_life_of_lead(o):
    o.T_PB210, o.LAMBDA = 22.3 * o.YEAR, math.log(2) / 22.3


CARELESS = (
    calibration_of_the_file_header,
    newest_calibration_for_everything,
    backgrounds_read_with_the_calibration_of_the_count,
    whole_spectrum_without_windows,
    background_ignored,
    background_not_scaled_by_time,
    background_nearest_in_time,
    newest_background_for_everything,
    first_background_for_everything,
    tail_ignored,
    tracer_half_life_of_the_certificate,
    tracer_not_decayed,
    tracer_decayed_from_the_dilution,
    tracer_of_one_gram_each,
    polonium_not_decayed_to_plating,
    polonium_decayed_to_the_digestion,
    polonium_decayed_from_the_start_of_the_count,
    polonium_decayed_to_the_coring,
    lead_not_decayed_to_the_coring,
    dates_read_day_first,
    counts_of_few_pulses_used,
    counts_of_low_yield_used,
    intermediate_saves_used,
    intermediate_saves_instead_of_the_last,
    first_count_of_a_disc_only,
    counts_of_a_disc_plainly_averaged,
    blanks_ignored,
    blanks_of_all_batches_averaged,
    digests_of_a_slice_plainly_averaged,
    digests_that_differ_averaged_all_the_same,
    first_digest_of_a_slice_only,
    loss_after_the_tracer_taken_for_one,
    loss_before_the_tracer_overlooked,
    bags_left_with_the_wrong_labels,
    labels_put_right_in_every_batch,
    discs_left_in_the_wrong_chambers,
    salt_left_in,
    salt_left_in_the_aliquots,
    salt_per_kilogram_of_pure_water,
    salinity_of_the_top_everywhere,
    first_weighing_of_a_bag,
    last_weighing_in_the_file,
    bagged_share_overlooked,
    cross_section_of_the_tube,
    rim_taken_off_once,
    event_layer_kept,
    event_layer_kept_as_mass,
    supported_from_the_three_deepest,
    supported_from_the_deepest_slice,
    supported_as_a_plain_mean,
    supported_not_subtracted,
    slices_between_ignored,
    slices_above_the_first_ignored,
    straight_line_through_the_excess_itself,
    interpolated_over_depth_in_centimetres,
    interpolated_over_the_number_of_slices,
    ages_of_the_middles,
    constant_concentration_model,
    older_half_life_of_lead,
)
FAR = 25  # tolerances


@functools.cache
def figures_with(mistake):
    """The five figures of the reference with one mistake made."""
    oracle = fjord_oracle()
    mistake(oracle)
    return oracle.date_core(FJORD_CORE)


def off_by(mistake, truth):
    """(what, how much) of the figure that a mistake moves most."""
    moved = [abs(a - b) for a, b in zip(figures_with(mistake), truth, strict=True)]
    return max(zip(moved, ("age", "age", "age", "rate", "supply"), strict=True))[::-1]


def graded(grader, figures, truth, tolerance):
    """Grade figures written as the task asks for them."""
    return grader.grade("".join(f"{x:.2f}\n" for x in figures), truth, **tolerance)


def test_committed_records_are_what_the_generator_writes(generated):
    """The image's records and the verifier's pristine copy are both the generator's output, byte for byte."""
    files, by_hand = generated.files(), {"P-12.md", "field_sheet.txt", "lab_book.txt"}
    for folder, more in ((FJORD_CORE, by_hand), (FJORD_TASK / "verifier" / "pristine", set())):
        found = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        assert {name: content for name, content in found.items() if name not in more} == files


def test_generated_core_is_dated_near_its_true_ages(generated):
    """The protocol recovers what the generator made the core of, within what counting statistics allow."""
    figures = fjord_oracle().date_core(FJORD_CORE)
    for figure, number in zip(figures, (9, 17, 22), strict=False):
        assert figure == pytest.approx(generated.slices[number].base_age, rel=0.1)
    assert figures[4] == pytest.approx(182, rel=0.1)


def test_oracle_agrees_with_the_verifier(truth):
    """Two implementations, in floats and in decimals, give the same figures to nine digits."""
    assert fjord_oracle().date_core(FJORD_CORE) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("seed", [203, 210, 1012])
def test_oracle_agrees_with_the_verifier_on_other_cores(seed, tmp_path):
    """The two agree on cores whose supported set and discordant digests turn out otherwise, too."""
    generator = fjord_module("generator/generate.py", "other_generate")
    generator.SEED = seed
    for name, content in generator.Core().files().items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    recompute = fjord_module("verifier/recompute.py", "other_recompute")
    figures = [float(x) for x in recompute.figures(tmp_path)]
    assert fjord_oracle().date_core(tmp_path) == pytest.approx(figures, rel=1e-9)


def test_oracle_passes(truth, grader, tolerance, tmp_path, monkeypatch):
    """What the reference solution writes is graded as right."""
    monkeypatch.setattr(sys, "argv", ["chronology.py", str(FJORD_CORE), str(tmp_path / "answer.txt")])
    fjord_oracle().main()
    assert grader.grade((tmp_path / "answer.txt").read_text(), truth, **tolerance)


@pytest.mark.parametrize("mistake", CARELESS)
def test_mistake_lands_far_outside(mistake, truth, grader, tolerance):
    """A plausible wrong solution is graded as wrong, and is off by many times the tolerance."""
    assert not graded(grader, figures_with(mistake), truth, tolerance)
    assert off_by(mistake, truth)[1] > FAR * tolerance["abs_tol"]


def test_rubric_says_how_far_mistakes_lead(truth):
    """Each figure in the rubric's tables is one that a wrong solution above is off by."""
    rubric = (FJORD_TASK / "verifier" / "rubrics" / "verifier.md").read_text()
    told, what = [], ""
    for row in re.findall(r"^\|.*\| (.*\d.*) \|$", rubric, re.MULTILINE):
        for word, figure in re.findall(r"(age|rate|supply)?,? ?(\d+\.\d\d)", row):
            what = word or what
            told.append((what, figure))
    found = {(what, f"{much:.2f}") for what, much in (off_by(mistake, truth) for mistake in CARELESS)}
    assert len(told) > 40
    assert set(told) <= found


@pytest.mark.parametrize(
    "wrong",
    ["swapped", "missing", "extra", "rounded", "empty", "words"],
)
def test_answers_of_another_form_fail(wrong, truth, grader, tolerance):
    """The right figures in another order, number or precision, and no figures at all, are wrong."""
    lines = [f"{x:.2f}" for x in truth]
    answer = {
        "swapped": [lines[4], *lines[1:4], lines[0]],
        "missing": lines[:4],
        "extra": [*lines, lines[0]],
        "rounded": [f"{x:.1f}" for x in truth],
        "empty": [],
        "words": ["unknown"] * 5,
    }[wrong]
    assert not grader.grade("\n".join(answer), truth, **tolerance)


@pytest.mark.parametrize("form", ["lines", "json", "commas", "more decimals"])
def test_same_figures_in_other_dress_pass(form, truth, grader, tolerance):
    """Lists as JSON or on one line, and more decimals than asked for, are right."""
    lines = [f"{x:.2f}" for x in truth]
    answer = {
        "lines": "\n".join(lines) + "\n",
        "json": f"[{', '.join(lines)}]",
        "commas": ", ".join(lines),
        "more decimals": "\n".join(f"{x:.6f}" for x in truth),
    }[form]
    assert grader.grade(answer, truth, **tolerance)


def test_no_channel_lies_on_the_edge_of_a_window():
    """No channel is so near an edge that the way an energy is computed could move it across."""
    oracle = fjord_oracle()
    for entry in oracle.read_csv(FJORD_CORE / "detectors.csv"):
        for edge in (*oracle.WINDOW_209, *oracle.WINDOW_210):
            channel = (edge - float(entry["offset_kev"])) / float(entry["gain_kev"])
            assert abs(channel - round(channel)) > 1e-6


def test_scripts_are_those_of_the_template():
    """The grader and `test.sh` are the template's, byte for byte."""
    template = FJORD_TASK.parents[1] / "template" / "task" / "verifier"
    assert (FJORD_TASK / "verifier" / "test.sh").read_bytes() == (template / "test.sh").read_bytes()
    graders = [p for p in template.iterdir() if "grader.py" in p.name]
    assert [p.read_bytes() for p in graders] == [(FJORD_TASK / "verifier" / "grader.py").read_bytes()]
