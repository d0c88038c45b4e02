"""The small task that the template renders: what its oracle earns, and what its checks refuse."""

import pytest

pytestmark = pytest.mark.docker

BASH = "bash /verifier/test.sh"
ORACLE = "bash /staged/solve.sh"
ALL = {
    "test_report_has_the_two_keys",
    "test_sites_are_those_that_received_something",
    "test_deliveries_are_counted_once_each",
    "test_weights_are_totals_in_kilograms",
    "test_rejected_rows_are_counted",
}

WRONG = {
    "nothing done": ("rm report.json", ALL),
    "a link": ("mv report.json r; ln -s r report.json", ALL),
    "a folder": ("rm report.json; mkdir report.json", ALL),
    "not JSON": ("echo text > report.json", ALL),
    "a list": ("echo [] > report.json", ALL),
    "empty": ("echo {} > report.json", ALL),
    "another key": ("edit 'r[\"x\"] = 1'", {"test_report_has_the_two_keys"}),
    "a site too many": ('edit \'s["depot"] = s["mill"]\'', {"test_sites_are_those_that_received_something"}),
    "a name in capitals": (
        'edit \'s["Mill"] = s.pop("mill")\'',
        ALL - {"test_report_has_the_two_keys", "test_rejected_rows_are_counted"},
    ),
    "a duplicate counted": (
        'edit \'s["mill"]["deliveries"] += 1\'',
        {"test_deliveries_are_counted_once_each"},
    ),
    "a count in words": (
        'edit \'s["mill"]["deliveries"] = "3"\'',
        {"test_deliveries_are_counted_once_each"},
    ),
    "a weight off by 10 g": (
        'edit \'s["mill"]["weight_kg"] = round(s["mill"]["weight_kg"] + 0.01, 2)\'',
        {"test_weights_are_totals_in_kilograms"},
    ),
    "a weight not rounded": (
        'edit \'s["mill"]["weight_kg"] += 0.001\'',
        {"test_weights_are_totals_in_kilograms"},
    ),
    "a weight that is no number": (
        'edit \'s["mill"]["weight_kg"] = float("nan")\'',
        {"test_weights_are_totals_in_kilograms"},
    ),
    "a rejected row too many": ("edit 'r[\"rejected\"] += 1'", {"test_rejected_rows_are_counted"}),
    "a rejected row that is true": ("edit 'r[\"rejected\"] = True'", {"test_rejected_rows_are_counted"}),
}

EDIT = """
edit() {
  python3 -c '
import json, sys
r = json.load(open("report.json"))
s = r["sites"]
exec(sys.argv[1])
json.dump(r, open("report.json", "w"))' "$1"
}
"""


def test_oracle_scores_1_and_no_op_0(sandbox):
    """As it is rendered, the task is solved by its oracle and not by doing nothing."""
    nothing, oracle = sandbox.verify_task(BASH, f"{ORACLE}; {BASH}")
    assert (nothing.exit_code, nothing.reward) == (0, 0.0), nothing.output
    assert (oracle.exit_code, oracle.reward, oracle.failed) == (0, 1.0, []), oracle.output


def test_each_fault_is_found_by_the_check_it_concerns(sandbox):
    """One fault in an otherwise right report fails the check of that requirement, and no other."""
    runs = sandbox.verify_task(
        *(f"rm -rf report.json; {ORACLE}; {fault}; {BASH}" for fault, _ in WRONG.values()), before=EDIT
    )
    found = {
        name: (run.reward, {test["name"].partition("::")[2] for test in run.failed})
        for name, run in zip(WRONG, runs, strict=True)
    }
    assert found == {name: (0.0, checks) for name, (_, checks) in WRONG.items()}


def test_truth_does_not_come_from_files_the_agent_can_change(sandbox):
    """A report that fits a changed input is wrong all the same."""
    (run,) = sandbox.verify_task(f"sed -i 3,9d deliveries.csv; {ORACLE}; {BASH}")
    assert run.reward == 0.0, run.output
