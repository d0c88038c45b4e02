"""Every bad task under `bad_tasks/` gives exactly the codes that its `case.toml` expects.

A case starts from a good task (`base`) and spoils it: `remove`, `write`,
`append`, `replace`, `hex`, `link`, `sparse` (a size in bytes), `fifo`, `mode`, in
this order. `expect` is the exact set of codes of the arena profile,
`expect_benchflow` that of the other one.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from seatrials.rules import ALL_RULES, CREDIT_RULES
from seatrials.rules.model import Profile
from seatrials.rules.run import check
from seatrials.task.collection import select

HERE = Path(__file__).parent
CASES = sorted(path.parent for path in (HERE / "bad_tasks").glob("*/case.toml"))


def load(case: Path) -> dict[str, Any]:
    """Return what a case's file says."""
    return tomllib.loads((case / "case.toml").read_text("utf-8"))


def build(case: Path, folder: Path) -> Path:
    """Write the spoilt task of a case and return its folder."""
    spec = load(case)
    root = folder / spec.get("name", "sum-column")
    shutil.copytree(HERE / "good_tasks" / spec["base"], root)
    for path in spec.get("remove", ()):
        target = root / path
        shutil.rmtree(target) if target.is_dir() else target.unlink()
    for path, text in spec.get("write", {}).items():
        _put(root / path, text.encode())
    for path, text in spec.get("append", {}).items():
        _put(root / path, (root / path).read_bytes() + text.encode())
    for path, pairs in spec.get("replace", {}).items():
        data = (root / path).read_bytes()
        for old, new in pairs:
            assert old.encode() in data, f"{case.name}: {path} does not hold {old!r}"
            data = data.replace(old.encode(), new.encode())
        _put(root / path, data)
    for path, digits in spec.get("hex", {}).items():
        _put(root / path, bytes.fromhex(digits))
    for path, target in spec.get("link", {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).unlink(missing_ok=True)
        (root / path).symlink_to(target)
    for path, size in spec.get("sparse", {}).items():
        with (root / path).open("wb") as stream:
            stream.truncate(size)
    for path, mode in spec.get("fifo", {}).items():
        os.mkfifo(root / path, mode)
    for path, mode in spec.get("mode", {}).items():
        (root / path).chmod(int(mode, 8))
    return root


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    if path.suffix == ".sh":
        path.chmod(0o755)


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
