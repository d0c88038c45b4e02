"""The command line: help, exit codes, and one line for what goes wrong."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from seatrials import __version__
from seatrials.cli import COMMANDS, main, module_name
from seatrials.errors import CannotJudgeError, NoIdentityError, PreflightRefusedError, RefusedError


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` names each command with its line."""
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    out = capsys.readouterr().out
    for name, said in COMMANDS:
        assert name in out
        assert said in out


@pytest.mark.parametrize("name", [name for name, _ in COMMANDS])
def test_each_command_says_the_same_of_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A command's module has the help line that the list shows, and a --help of its own."""
    module = importlib.import_module(module_name(name))
    assert dict(COMMANDS)[name] == module.HELP
    with pytest.raises(SystemExit) as stopped:
        main([name, "--help"])
    assert stopped.value.code == 0
    assert f"seatrials {name}" in capsys.readouterr().out


def test_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` prints the version."""
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"seatrials {__version__}\n"


@pytest.mark.parametrize("words", [["bogus"], ["check", "--bogus"], []])
def test_wrong_words_are_a_usage_error(words: list[str]) -> None:
    """An unknown command or option exits with 2."""
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 2


def test_missing_target_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A target that is not there is one line on stderr and exit code 2."""
    assert main(["check", "no/such/task"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("seatrials: `no/such/task`")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RefusedError("no"), 1),
        (PreflightRefusedError("no"), 3),
        (NoIdentityError("no"), 4),
        (CannotJudgeError("no"), 5),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("ours"), 70),
    ],
)
def test_errors_become_their_exit_codes(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each kind of error has its exit code and one line, never a traceback."""
    monkeypatch.delenv("SEATRIALS_DEBUG", raising=False)

    def fail(_: object) -> int:
        raise error

    monkeypatch.setattr("seatrials.commands.rules.run", fail)
    assert main(["rules"]) == code
    captured = capsys.readouterr().err
    assert captured.startswith("seatrials: ")
    assert "Traceback" not in captured


def test_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    """Output into a pipe that is closed ends quietly."""
    done = subprocess.run(
        f"{sys.executable} -m seatrials rules --format markdown | head -n 1",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.stdout == "# Rules\n"
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "code"),
    [("rules >&-", 0), ("rules 2>&-", 0), ("check nope >&- 2>&-", 2), ("check nope <&-", 2)],
)
def test_closed_stream_changes_no_exit_code(words: str, code: int, tmp_path: Path) -> None:
    """A command whose standard stream was closed runs as ever, and ends without a traceback."""
    done = subprocess.run(
        f"{sys.executable} -m seatrials {words}",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == code
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize(
    "words", ["rules", "rules --format markdown", "--help", "check --help", "explain DOC101"]
)
def test_full_disk_is_one_line_and_not_our_fault(words: str, tmp_path: Path) -> None:
    """Where the output finds no room, that is said once, and the code is that of a bad place to write to."""
    done = subprocess.run(
        f"{sys.executable} -m seatrials {words} > /dev/full",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (
        2,
        "seatrials: the output can't be written: No space left on device\n",
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_where_nothing_can_be_said_the_code_still_tells(tmp_path: Path) -> None:
    """With both streams on a full disk the command ends with its code and without a traceback anywhere."""
    done = subprocess.run(
        f"{sys.executable} -m seatrials check nope > /dev/full 2> /dev/full",
        shell=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 2
