"""What the commands of a verifier's script run."""

import pytest

from seatrials.rules.script_runs import Run, python_path, run_of, runs_of, sourced


@pytest.mark.parametrize(
    ("command", "program", "targets"),
    [
        ("pytest /tests/test_a.py -rA", "pytest", ("/tests/test_a.py",)),
        ("timeout 60 python3 -m pytest --ctrf /logs/ctrf.json tests/", "pytest", ("tests/",)),
        (
            "uvx --with pytest==8.4.1 pytest -p no:cacheprovider test_a.py::test_b",
            "pytest",
            ("test_a.py::test_b",),
        ),
        ("python3 -u /app/grade.py /app/out", "python", ("/app/grade.py",)),
        ("bash -e /app/run.sh", "shell", ("/app/run.sh",)),
        ("/app/check --all", "other", ("/app/check",)),
    ],
)
def test_program_and_targets(command: str, program: str, targets: tuple[str, ...]) -> None:
    """Prefixes are taken off, and values of options are no targets."""
    run = run_of(command.split(), 1)
    assert run is not None
    assert (run.program, run.targets) == (program, targets)


@pytest.mark.parametrize(
    "command", ["echo pytest", "python3 -c pass", "bash -c ls", "/usr/bin/env", "grep -q x /app/y"]
)
def test_other_commands_are_no_runs(command: str) -> None:
    """What prints, looks or runs code of its own is none."""
    assert run_of(command.split(), 1) is None


def test_runs_follow_cd_and_variables() -> None:
    """The folder is that of the last `cd`; a variable stands for its value."""
    source = b"T=/tests\ncd /app\npython -m pytest unit/ -k fast\npytest $T/test_a.py\n"
    assert runs_of(source) == (
        Run(
            program="pytest",
            targets=("unit/",),
            line=3,
            cwd="/app",
            options=(("-k", "fast"),),
            as_module=True,
        ),
        Run(program="pytest", targets=("/tests/test_a.py",), line=4, cwd="/app"),
    )
    assert runs_of(source)[0].paths() == ("/app/unit",)


def test_python_path_and_sourced_files() -> None:
    """Folders of `PYTHONPATH`, and the files that are taken into the script's shell."""
    source = b"export PYTHONPATH=/app:/lib:$X\nsource /app/env.sh\n. ~/.profile\nsource $HOME/env\n"
    assert python_path(source) == ("/app", "/lib")
    assert sourced(source) == (("/app/env.sh", 2),)
