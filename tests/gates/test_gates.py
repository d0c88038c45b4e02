"""Each gate finds what it should and passes what only looks like it."""

from collections import Counter
from pathlib import Path

import pytest
from gates.beyond_cases import BEYOND
from gates.control_cases import CONTROLS
from gates.gate_cases import LEAKED, Case
from gates.overlap_cases import HELD
from gates.pair_cases import PAIRS
from gates.pin_cases import PINS
from gates.review_cases import REVIEWED
from gates.task_cases import OUTPUTS, SOLUTIONS
from gates.verifier_cases import OF_VERIFIERS

from seatrials.judge.gates import is_gate
from seatrials.judge.run import check_task
from seatrials.rules import RULES_BY_CODE
from seatrials.task.package import TaskPackage

CASES = (*LEAKED, *CONTROLS, *REVIEWED, *BEYOND, *PINS, *SOLUTIONS, *OUTPUTS, *OF_VERIFIERS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.code} {case.name}")
def test_gate_finds_just_what_it_should(case: Case, tmp_path: Path) -> None:
    """A true case gives its code, a false one does not, and no rule fails on either."""
    report = check_task(TaskPackage(case.build(tmp_path)))
    codes = {finding.code for finding in report.findings}
    assert "KIT102" not in codes
    assert (case.code in codes) is case.found, report.findings


def test_each_gate_has_five_cases_of_each_kind() -> None:
    """Every gate, the kit's own among them, is held by at least five true and five false cases."""
    counts = Counter((case.code, case.found) for case in (*CASES, *HELD, *PAIRS))
    gates = {code for code in RULES_BY_CODE if is_gate(code) or code.startswith("BYD")}
    assert {key for code in gates for key in ((code, True), (code, False)) if counts[key] < 5} == set()
    assert {code for code, _ in counts} == gates
