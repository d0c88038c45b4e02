"""Every bad task under `bad_tasks/` gives exactly the codes that its `case.toml` expects.

`bad_cases` says how a case is written.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bad_cases import CASES, HERE, build, load

from seatrials.judge.run import check
from seatrials.rules import ALL_RULES, CREDIT_RULES
from seatrials.rules.model import Profile
from seatrials.task.collection import select


def codes(folder: Path, profile: Profile = "arena") -> set[str]:
    """Return the codes of all findings about a folder."""
    return {finding.code for finding in check(select([str(folder)]), profile=profile).findings()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bad_task_gives_exactly_its_codes(case: Path, tmp_path: Path) -> None:
    """The rules find what was spoilt and nothing else."""
    spec = load(case)
    folder = build(case, tmp_path)
    assert codes(folder) == set(spec["expect"]), spec["about"]
    if "expect_benchflow" in spec:
        assert codes(folder, "benchflow") == set(spec["expect_benchflow"]), spec["about"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_is_named_after_a_code_it_expects(case: Path) -> None:
    """A folder's name starts with one of its codes."""
    assert case.name.partition("-")[0] in wanted_of(case)


def wanted_of(case: Path) -> set[str]:
    """Return the codes that a case expects in either profile."""
    spec = load(case)
    return {*spec["expect"], *spec.get("expect_benchflow", ())}


def test_command_line_gives_the_same_codes(tmp_path: Path) -> None:
    """`seatrials check` over all bad tasks prints the codes that each case expects.

    Those about credit are counted over all tasks instead.
    """
    on_credit = {rule.code for rule in CREDIT_RULES}
    expected: dict[str, set[str]] = {}
    for case in CASES:
        spec = load(case)
        if spec["base"] != "collection":
            build(case, tmp_path / case.name)
            expected[case.name] = set(spec["expect"]) - on_credit
    done = subprocess.run(
        [sys.executable, "-m", "seatrials", "check", "--format", "json", *sorted(expected)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    found = {name: set[str]() for name in expected}
    report = json.loads(done.stdout)
    for task in report["tasks"]:
        found[Path(task["path"]).parts[0]] |= {finding["code"] for finding in task["findings"]}
    assert found == expected
    assert {finding["code"] for finding in report["collection"]["findings"]} == on_credit


def test_every_rule_has_a_failing_and_a_passing_case() -> None:
    """Each code is expected by some bad task, and absent from the good ones."""
    wanted = {code for case in CASES for code in wanted_of(case)}
    all_codes = {rule.code for rule in ALL_RULES}
    assert wanted == all_codes
    good = {code for name in ("native", "harbor", "collection") for code in codes(HERE / "good_tasks" / name)}
    assert good == set()
    assert codes(HERE / "good_tasks" / "posttrain") == {"STR108"}
