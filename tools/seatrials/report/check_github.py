"""A check's report as GitHub's workflow commands, which become annotations of a pull request.

Source: GitHub's documentation, "Workflow commands for GitHub Actions".
"""

from pathlib import Path

from seatrials.judge.run import CheckReport
from seatrials.report.check_text import summary_line
from seatrials.report.place import Place, places
from seatrials.report.plain import plain


def render(report: CheckReport, *, root: Path) -> str:
    """Return one command a finding, worst first, and the counts. `root` is the repository's."""
    found = (place for place in places(report, root=root) if place.waived is None)
    ordered = sorted(found, key=lambda place: place.rank)
    return "".join(f"{_command(place)}\n" for place in ordered) + summary_line(report) + "\n"


def _command(place: Place) -> str:
    finding = place.finding
    properties = {"file": place.path}
    if finding.line:
        properties["line"] = str(finding.line)
    properties["title"] = f"{finding.code} {finding.severity}"
    said = ",".join(f"{name}={_property(plain(value))}" for name, value in properties.items() if value)
    return f"::{place.level} {said}::{_data(plain(finding.message))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
