"""Whatever a task's own files contain, reading and judging it gives findings, never an exception."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatrials.judge.run import check_task, report_on
from seatrials.rules.limits import FAILED
from seatrials.task.document import parse_document
from seatrials.task.harbor import parse_toml
from seatrials.task.package import TaskPackage
from seatrials.task.schema import DOCUMENT_KEYS, SHORTHAND_KEYS, TABLES
from seatrials.task.verifier_document import parse_verifier_document

GOOD = Path(__file__).parents[1] / "good_tasks"
QUICK = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

OWN = ("seatrials", "waivers", "code", "reason", "author_hub", "origin_url", "environment", "roles", "turns")
KEYS = st.sampled_from(
    sorted({*OWN, *DOCUMENT_KEYS, *SHORTHAND_KEYS, *(key for table in TABLES.values() for key in table)})
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.dates(), st.binary(max_size=4),
    st.text(max_size=12),
    st.sampled_from(["", "no-network", "allowlist", "a/b", "1.3", "512M", "script", "./test.sh", "FIL106"]),
)  # fmt: skip
NAMES = st.none() | st.booleans() | st.integers() | st.text(max_size=6)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | NAMES, inner, max_size=4),
    max_leaves=12,
)


def judged(task: Path) -> None:
    """Check a task in both profiles; no rule may fail, and the report can be put together."""
    for profile in ("arena", "benchflow"):
        report = check_task(TaskPackage(task), profile=profile)
        assert not [finding for finding in report.findings if finding.code == FAILED.code]
        report_on(None, [report], profile=profile)
        for finding in report.findings:
            finding.message.encode()


@given(data=st.dictionaries(KEYS, VALUES, max_size=8), body=st.text(max_size=60))
@QUICK
def test_any_frontmatter(native_task: Path, data: dict[str, Any], body: str) -> None:
    """Any YAML as frontmatter is judged."""
    try:
        text = f"---\n{yaml.safe_dump(data)}---\n\n{body}\n"
    except yaml.YAMLError:
        return
    (native_task / "task.md").write_bytes(text.encode("utf-8", "surrogatepass"))
    judged(native_task)


@given(data=st.dictionaries(KEYS, VALUES, max_size=6))
@QUICK
def test_any_verifier_document(native_task: Path, data: dict[str, Any]) -> None:
    """Any YAML in verifier.md is judged."""
    (native_task / "verifier" / "verifier.md").write_text(f"---\n{yaml.safe_dump({'verifier': data})}---\n")
    judged(native_task)


PIECES = (
    b"", b"\n", b"---\n", b": ", b"[", b"{", b"&a", b"*a", b"\t", b"\xff", b"\x00", b"'", b'"', b"|", b"- ",
    b"<<: *a", b"!!set ", b"[[steps]]\n", b"= ", b"\r\n", b"\xef\xbb\xbf",
)  # fmt: skip


@st.composite
def mangled(draw: Callable[..., Any], path: str) -> bytes:
    """The bytes of a good file with pieces cut, doubled, swapped and replaced."""
    raw = (GOOD / path).read_bytes()
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(raw)))
        end = draw(st.integers(start, min(len(raw), start + 40)))
        piece = draw(st.sampled_from(PIECES) | st.just(raw[start:end] * 2) | st.binary(max_size=6))
        raw = raw[:start] + piece + raw[end:]
    return raw


@given(raw=mangled("native/task.md"))
@QUICK
def test_mangled_document(native_task: Path, raw: bytes) -> None:
    """A task.md with its bytes mangled is judged."""
    (native_task / "task.md").write_bytes(raw)
    judged(native_task)


@given(raw=mangled("harbor/task.toml"))
@QUICK
def test_mangled_toml(harbor_task: Path, raw: bytes) -> None:
    """A task.toml with its bytes mangled is judged."""
    (harbor_task / "task.toml").write_bytes(raw)
    judged(harbor_task)


@given(raw=st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_bytes(raw: bytes) -> None:
    """Any bytes at all are parsed: as a document, as TOML, as a verifier's document."""
    parse_document(raw)
    parse_document(b"---\n" + raw)
    parse_toml(raw)
    parse_verifier_document(b"---\n" + raw + b"\n---\n", path="verifier/verifier.md")


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 5_000,
        "a: " + "{a: " * 500 + "}" * 500,
        "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
            f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)
        ),
        "a: " + "9" * 10_000,
        "a: 0x" + "f" * 10_000,
        "- " * 3_000,
        "a: !!python/object/apply:os.system [x]",
        "x: " + "y" * 300_000,
    ],
    ids=["brackets", "braces", "laughs", "digits", "hex", "dashes", "objects", "long"],
)  # fmt: skip
def test_enormous_frontmatter(native_task: Path, text: str) -> None:
    """Frontmatter made to exhaust stack, memory or time ends in a finding."""
    (native_task / "task.md").write_text(f"---\n{text}\n---\n\n## prompt\n\nx\n")
    judged(native_task)
    assert any(finding.severity == "error" for finding in check_task(TaskPackage(native_task)).findings)


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 5_000, "a." * 5_000 + "b = 1", "a = " + "9" * 10_000, "[" * 5_000, "a" * 300_000]
)
def test_enormous_toml(harbor_task: Path, text: str) -> None:
    """TOML made to exhaust the stack ends in a finding."""
    (harbor_task / "task.toml").write_text(text)
    judged(harbor_task)
    assert any(finding.severity == "error" for finding in check_task(TaskPackage(harbor_task)).findings)
