"""The page of rules is generated, complete and current."""

from pathlib import Path

import pytest

from seatrials.cli import main
from seatrials.report.rules_table import markdown
from seatrials.rules import RULES_BY_CODE
from seatrials.rules.model import explain

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"


def test_page_is_current() -> None:
    """The page says what the rules do: `nox -s rules -- --format markdown --output docs/rules.md`."""
    assert PAGE.read_text("utf-8") == markdown(RULES_BY_CODE.values())


def test_page_links_every_rule_to_its_section() -> None:
    """Each code is in the table once, and has a section with why and how."""
    page = markdown(RULES_BY_CODE.values())
    for code, rule in RULES_BY_CODE.items():
        said = explain(rule)
        assert page.count(f"| [{code}](#{code.lower()}) | {rule.severity} |") == 1
        assert page.count(f"\n## {code}\n") == 1
        assert said.why in page
        assert f"Fix: {said.fix}\n" in page


def test_list_is_sorted_by_code(capsys: pytest.CaptureFixture[str]) -> None:
    """`seatrials rules` prints each code once, in order."""
    assert main(["rules"]) == 0
    assert [line[:6] for line in capsys.readouterr().out.splitlines()] == sorted(RULES_BY_CODE)


def test_page_can_be_written_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--output writes the page and prints nothing."""
    assert main(["rules", "--format", "markdown", "--output", str(tmp_path / "rules.md")]) == 0
    assert (tmp_path / "rules.md").read_text("utf-8") == markdown(RULES_BY_CODE.values())
    assert capsys.readouterr().out == ""
