"""Running other programs."""

import sys
import threading
import time
from pathlib import Path

import pytest

from seatrials import proc

PYTHON = sys.executable


def test_output_and_code() -> None:
    """Both streams come back as they came, and a failing exit code is data."""
    code = "import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)"
    done = proc.run((PYTHON, "-c", code), timeout=30)
    assert (done.code, done.ok, done.output) == (3, False, "out\nerr\n")


def test_stdin_is_given(tmp_path: Path) -> None:
    """A program reads what it is given, as bytes or out of a file; without, it reads nothing."""
    argv = (PYTHON, "-c", "import sys; print(len(sys.stdin.buffer.read()))")
    (tmp_path / "file").write_bytes(b"12345")
    with (tmp_path / "file").open("rb") as stream:
        assert proc.run(argv, timeout=30, stdin=stream).output == "5\n"
    assert proc.run(argv, timeout=30, stdin=b"123").output == "3\n"
    assert proc.run(argv, timeout=30).output == "0\n"


def test_env_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables are added to this process's own."""
    monkeypatch.setenv("SEATRIALS_A", "1")
    code = "import os; print(os.environ['SEATRIALS_A'], os.environ['SEATRIALS_B'])"
    assert proc.run((PYTHON, "-c", code), timeout=30, env={"SEATRIALS_B": "2"}).output == "1 2\n"


def test_env_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable whose value is None does not reach the program."""
    monkeypatch.setenv("SEATRIALS_A", "1")
    code = "import os; print('SEATRIALS_A' in os.environ, 'PATH' in os.environ)"
    assert proc.run((PYTHON, "-c", code), timeout=30, env={"SEATRIALS_A": None}).output == "False True\n"


def test_missing_program() -> None:
    """A program that is not installed is told by its name."""
    with pytest.raises(proc.ProgramMissing, match="`no-such-program-here`"):
        proc.run(("no-such-program-here",), timeout=5)


def test_time_limit_ends_the_children_too(tmp_path: Path) -> None:
    """Past its time a program is killed with its children, and what it printed is there."""
    mark = tmp_path / "mark"
    child = f"import time; time.sleep(3); open({str(mark)!r}, 'w')"
    code = (
        "import subprocess, sys, time; print('begun', flush=True);"
        f"subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(60)"
    )
    with pytest.raises(proc.ProgramTimedOut) as caught:
        proc.run((PYTHON, "-c", code), timeout=1.5)
    assert "begun" in caught.value.output
    time.sleep(3)
    assert not mark.exists()


def test_end_all_ends_what_another_thread_waits_for() -> None:
    """A program that another thread runs can be ended from here."""
    found: list[proc.Finished] = []
    argv = (PYTHON, "-c", "import time; print('up', flush=True); time.sleep(60)")
    thread = threading.Thread(target=lambda: found.append(proc.run(argv, timeout=60)))
    thread.start()
    while thread.is_alive():
        proc.end_all()
        thread.join(0.1)
    assert not found[0].ok


def test_streams_apart_and_an_environment_from_scratch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The streams come back apart, and the program finds the given environment and nothing else."""
    monkeypatch.setenv("SEATRIALS_A", "1")
    code = "import os, sys; print(sorted(os.environ)); print('err', file=sys.stderr); sys.exit(3)"
    done = proc.run_apart((PYTHON, "-I", "-c", code), timeout=30, env={"SEATRIALS_B": "2", "LC_ALL": "C"})
    names = done.output.decode()
    assert "SEATRIALS_B" in names
    assert "SEATRIALS_A" not in names
    assert "PATH" not in names
    assert (done.code, done.errors) == (3, b"err\n")


def test_apart_ends_at_its_time_limit_and_says_what_stood_there() -> None:
    """Past its time a program is killed, and its standard error is there."""
    code = "import sys, time; print('begun', file=sys.stderr, flush=True); time.sleep(60)"
    with pytest.raises(proc.ProgramTimedOut) as caught:
        proc.run_apart((PYTHON, "-I", "-c", code), timeout=1.5, env={})
    assert "begun" in caught.value.output


def test_apart_takes_so_much_and_no_more() -> None:
    """A program that prints without end is ended at the limit."""
    code = "import sys\nwhile True: sys.stdout.write('x' * 4096)"
    with pytest.raises(proc.TooMuchOutput):
        proc.run_apart((PYTHON, "-I", "-c", code), timeout=60, env={}, limit=100_000)


def test_apart_missing_program() -> None:
    """A program that is not installed is told by its name."""
    with pytest.raises(proc.ProgramMissing, match="`no-such-program-here`"):
        proc.run_apart(("no-such-program-here",), timeout=5, env={})
