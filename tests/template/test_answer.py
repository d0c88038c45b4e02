"""The `answer` kind of verifier: each rung of its ladder, what must not pass, and hostile answers."""

import importlib.util
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

SOURCE = (
    Path(__file__).parents[2] / "template/task/verifier/{% if verifier == 'answer' %}grader.py{% endif %}"
)


@pytest.fixture(scope="module")
def grader(tmp_path_factory):
    """The grader as a task has it."""
    path = tmp_path_factory.mktemp("grader") / "grader.py"
    path.write_bytes(SOURCE.read_bytes())
    spec = importlib.util.spec_from_file_location("template_grader", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.parametrize(
    ("answer", "expected", "options", "rung"),
    [
        ("Paris", "Paris", {}, "exact"),
        ("  New \n York ", "New York", {}, "exact"),
        ("e\u0301te\u0301", "\u00e9t\u00e9", {}, "exact"),
        ("42.0", 42, {}, "numeric"),
        ("1,234.50", "1234.5", {}, "numeric"),
        ("-2e3", -2000, {}, "numeric"),
        ("\u22125", -5, {}, "numeric"),
        ("3.1416", 3.14159, {"abs_tol": 1e-4}, "numeric"),
        ("1010", 1000, {"rel_tol": 0.01}, "numeric"),
        ("12.5%", 0.125, {}, "normalised"),
        ("12.5 %", "12.50%", {}, "normalised"),
        ("0.125", "12.5%", {}, "normalised"),
        ("[1, 2.0, 3]", [1, 2, 3], {}, "normalised"),
        ("1; 2; 3", [1, 2, 3], {}, "normalised"),
        ("a\nb", ["a", "b"], {}, "normalised"),
        ('["a, b", "c"]', ["a, b", "c"], {}, "normalised"),
        ("3, 1, 2", [1, 2, 3], {"ordered": False}, "normalised"),
        ("1.05, 0.95", [1.0, 1.1], {"ordered": False, "abs_tol": 0.1}, "normalised"),
        ("2, 1, 0", [1, 2, 3], {"ordered": False, "abs_tol": 1}, "normalised"),
        ("2*(x + 1)", "2*x + 2", {"symbolic": True}, "symbolic"),
        ("(x-1)*(x+1)", "x^2 - 1", {"symbolic": True}, "symbolic"),
        ("sin(t)^2 + cos(t)^2", "1", {"symbolic": True}, "symbolic"),
        ("2/6", "1/3", {"symbolic": True}, "symbolic"),
    ],
)
def test_right_answer_reaches_its_rung(grader, answer, expected, options, rung):
    """Each form of a right answer passes, by the lowest rung that takes it."""
    assert grader.grade(answer, expected, **options).rung == rung


@pytest.mark.parametrize(
    ("answer", "expected", "options"),
    [
        ("", 0, {}),
        (" \n", "x", {}),
        ("paris", "Paris", {}),
        ("100", 1, {"abs_tol": 0.5}),
        ("1", "100", {}),
        ("42 or 43", 42, {}),
        ("the answer is 42", 42, {}),
        ("1,23", 123, {}),
        ("1_000", 1000, {}),
        ("nan", float(1), {"abs_tol": 1e9}),
        ("inf", 1, {"rel_tol": 1.0}),
        ("1e999", 1, {}),
        ("1011", 1000, {"rel_tol": 0.01}),
        ("12.5%", 12.5, {}),
        ("12.5", "12.5%", {}),
        ("1, 2", [1, 2, 3], {}),
        ("1, 2, 3, 4", [1, 2, 3], {}),
        ("3, 1, 2", [1, 2, 3], {}),
        ("1, 1, 2", [1, 2, 2], {"ordered": False}),
        ("1.05, 1.05, 0.8", [1.0, 1.1, 1.1], {"ordered": False, "abs_tol": 0.1}),
        ("[true]", [1], {}),
        ("[[1]]", [1], {}),
        ("", [], {}),
        ("2*x + 2", "2*(x + 1)", {}),
        ("x + 1", "x + 2", {"symbolic": True}),
        ("sqrt(x^2)", "x", {"symbolic": True}),
        ("x/0", "x/0 + 1", {"symbolic": True}),
        ("0.3333", "1/3", {"symbolic": True}),
        ("y", "x", {"symbolic": True}),
    ],
)
def test_wrong_answer_reaches_no_rung(grader, answer, expected, options):
    """What is not the expected value does not pass, and the reason says what was given."""
    found = grader.grade(answer, expected, **options)
    assert not found
    assert found.message


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch /tmp/x')",
        "x.__class__",
        "(lambda: 1)()",
        "[x for x in (1,)]",
        "f'{x}'",
        "sqrt(x, y)",
        "sqrt(*x)",
        "eval(x)",
        "x if y else z",
        "x := 1",
        "2**(2**20)",
        "x**9999",
        "x**(19*19*19)",
        "9" * 40,
        "1e300*x",
        "(" * 200 + "x" + ")" * 200,
        "-" * 60 + "x",
        "+".join("x" * 200),
        "True + x",
        "'x' + 'y'",
        "x < y",
        "x; y",
        "\0",
        "\ud800",
        "\u1d4d9",
    ],
)
def test_expression_outside_the_grammar_is_not_read(grader, text):
    """The parser knows arithmetic only, within its limits; nothing else gets to SymPy."""
    assert grader.parse_expression(text) is None


@given(text=st.text(max_size=400) | st.text("x0123456789.+-*/^() eE,%[]", max_size=120))
@settings(deadline=None)
def test_any_answer_is_graded_without_an_exception(grader, text):
    """Whatever the agent writes is graded right or wrong."""
    for expected in ("2*x + 2", 12.5, [1, "a"], "12%"):
        assert grader.grade(text, expected).rung in {"", "exact", "numeric", "normalised"}
    grader.parse_expression(text)


@given(value=st.fractions(min_value=-(10**12), max_value=10**12), digits=st.integers(0, 9))
def test_decimal_within_tolerance_is_right_and_beyond_it_wrong(grader, value, digits):
    """A value written with n decimals is half a unit of the last place off at most."""
    scale = 10**digits
    units = round(value * scale)
    whole, part = divmod(abs(units), scale)
    text = f"{'-' if units < 0 else ''}{whole}" + (f".{part:0{digits}d}" if digits else "")
    assert grader.number(text) == Fraction(units, scale)
    half = 0.5 / scale
    assert grader.grade(text, value, abs_tol=half * 1.000001)
    far = f"{units + 2}e-{digits}"
    assert not grader.grade(far, value, abs_tol=half)


def test_slow_comparison_is_stopped_and_wrong(grader, monkeypatch):
    """An expression that SymPy can't compare in time is not right."""
    monkeypatch.setattr(grader, "WALL_SECONDS", 0.01)
    assert not grader.grade("2*(x + 1)", "2*x + 2", symbolic=True)


@pytest.mark.docker
def test_oracle_scores_1_and_anything_else_0(sandboxes):
    """The rendered task is solved by its oracle and by an equal number, not by other answers."""
    test = "bash /verifier/test.sh"
    answers = ("echo 1", "printf ''", "echo nan", "cat deliveries.csv", "seq 100000")
    runs = sandboxes("answer").verify_task(
        test,
        f"bash /staged/solve.sh; {test}",
        f"sed -i 's/$/0/' answer.txt; {test}",
        *(f"rm -f answer.txt; {answer} > answer.txt; {test}" for answer in answers),
        f"rm -f answer.txt; ln -s /staged/solve.sh answer.txt; {test}",
        f"rm -f answer.txt; mkdir answer.txt; {test}",
    )
    assert [run.reward for run in runs] == [0.0, 1.0, 1.0, *[0.0] * (len(answers) + 2)]


@pytest.mark.docker
def test_symbolic_rung_works_in_the_image(sandboxes):
    """SymPy is there, and compares under the verifier's own Python."""
    sandbox = sandboxes("answer")
    grader = (sandbox.task / "verifier/grader.py").read_bytes()
    tests = (
        "import sys\nfrom pathlib import Path\nsys.path.append(str(Path(__file__).parent))\n"
        "from grader import grade\n\n"
        "def test_equal():\n    assert grade('2*(x + 1)', '2*x + 2', symbolic=True).rung == 'symbolic'\n\n"
        "def test_unequal():\n    assert not grade('2*x', '3*x', symbolic=True)\n"
    )
    (run,) = sandbox.verify(tests, "bash /verifier/test.sh", beside={"grader.py": grader})
    assert run.reward == 1.0, run.output
