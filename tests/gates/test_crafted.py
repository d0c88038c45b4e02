"""What is built to keep the gates busy, or to make them fail, ends in a report."""

import pytest
from gates.gate_cases import CHECKS, HEAD, Case

from seatrials.judge.run import check_task
from seatrials.parse.copies import Context
from seatrials.parse.dockerfile import parse_dockerfile
from seatrials.parse.image import MAX_CONTENT, image_of
from seatrials.parse.pytest import MAX_SOURCE, python_facts
from seatrials.task.package import TaskPackage

NAMES = "\n".join(f"n{number} = [{', '.join([f'n{number + 1}'] * 40)}]" for number in range(30))
BINARY = "\n".join(f"RUN cat {' '.join(['/x'] * 50)} > /x" for _ in range(20))

CRAFTED = {
    "lists of lists of names": {"verifier/test_outputs.py": f"{NAMES}\n{CHECKS}\n\nassert load() == n0\n"},
    "nested brackets": {"verifier/test_outputs.py": f"x = {'[' * 5000}{']' * 5000}\n"},
    "a long sum": {"verifier/test_outputs.py": "x = " + " + ".join(["'/a'"] * 9000) + "\nopen(x)\n"},
    "a chain of attributes": {"verifier/test_outputs.py": f"x = a{'.b' * 4000}.get('k')\n"},
    "blank lines": {
        "environment/Dockerfile": HEAD + "COPY answer.txt /opt/\n",
        "environment/answer.txt": "\n" * 400_000,
    },
    "files that double": {"environment/Dockerfile": f"{HEAD}RUN echo 12345678 > /x\n{BINARY}\n"},
    "printf of a long form": {
        "environment/Dockerfile": f"{HEAD}RUN printf '{'y' * 9000}%s' {'z ' * 9000} > /opt/answer.txt\n"
    },
    "texts that double": {
        "verifier/test_outputs.py": "a0 = '/app/x'\n"
        + "".join(f"a{n + 1} = a{n} + a{n}\n" for n in range(60))
        + "open(a60)\n",
        "environment/Dockerfile": f"{HEAD}COPY gen.py /\nRUN python3 /gen.py\n",
        "environment/gen.py": "a0 = '/app/x'\n"
        + "".join(f"a{n + 1} = a{n} + a{n}\n" for n in range(60))
        + "open('/out', 'w').write(a60)\n",
    },
    "a long text, again and again": {
        "environment/Dockerfile": f"{HEAD}COPY gen.py /\nRUN python3 /gen.py\n",
        "environment/gen.py": f"a = '{'x' * 300_000}'\nf = open('/out', 'w')\n"
        "f.write(''.join([" + "a, " * 9000 + "]))\n" + "f.write(a)\n" * 9000,
    },
    "variables of the shell that double": {
        "environment/Dockerfile": HEAD
        + "".join(f"ENV V{n + 1}=$V{n}$V{n}x\n" for n in range(60))
        + "RUN "
        + " && ".join(f"A{n + 1}=$A{n}${{A{n}}}x" for n in range(200))
        + " && echo $A200$V60 > /x\n",
    },
    "names that call each other": {"verifier/test_outputs.py": "a = b\nb = a\nopen(a)\nassert a\n"},
    "functions that call each other": {
        "verifier/test_outputs.py": "def a():\n    return b()\n\n\ndef b():\n    return a()['x']\n\n"
        "\nassert a() == 1\n"
    },
    "scripts that call each other": {
        "environment/Dockerfile": f"{HEAD}COPY a.sh b.sh /\nRUN bash /a.sh\n",
        "environment/a.sh": "bash /b.sh\nbash /b.sh\n",
        "environment/b.sh": "bash /a.sh\nbash /a.sh\n",
    },
    "a helper that runs what it is given": {
        "verifier/test_outputs.py": "def f(a):\n    exec(a)\n\n\n" + "f(f)\n" * 20_000
    },
    "streams of one name": {
        "verifier/test_outputs.py": "def test_a():\n"
        + "".join(f"    with open('/app/{n}') as f:\n        exec(f.read())\n" for n in range(3000))
    },
    "imports from the agent's folder": {
        "verifier/test_outputs.py": "import sys\nsys.path.append('/app')\n"
        + "".join(f"import m{number}\n" for number in range(20_000))
    },
    "assertions on one line": {"verifier/test_outputs.py": f"x = '{'assert (,' * 40_000}'\n"},
    "files that are compared": {
        "environment/Dockerfile": f"{HEAD}RUN echo 1 > /app/expected.txt\n",
        "verifier/test_outputs.py": "from pathlib import Path\n"
        + "assert Path('/app/a').read_text() == Path('/app/expected.txt').read_text()\n" * 2000,
    },
    "many runs of pytest": {
        "verifier/test.sh": "".join(f"pytest /verifier/test_outputs.py -k k{n}\n" for n in range(3000))
    },
}


@pytest.mark.parametrize("name", CRAFTED)
def test_crafted_input_ends_in_a_report(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No rule fails, and none takes all of a task's time."""
    folder = Case(code="", name=name, found=True, files=CRAFTED[name]).build(
        tmp_path_factory.mktemp("crafted")
    )
    codes = {finding.code for finding in check_task(TaskPackage(folder), limited=True).findings}
    assert not codes & {"KIT101", "KIT102"}


def test_what_is_too_large_is_not_parsed() -> None:
    """A file beyond the limit has no facts, and says so."""
    assert not python_facts(b"x = 1\n" * (MAX_SOURCE // 5)).parsed
    assert python_facts(b"x = 1\n").parsed


def test_what_is_written_is_kept_up_to_a_size() -> None:
    """Of a longer file only the path is known."""
    source = f"FROM debian\nRUN echo {'x' * 900} > /x\n{BINARY}\n".encode()
    files = image_of(parse_dockerfile(source), Context(files={}), ()).files
    assert files["/x"].content is None or len(files["/x"].content) <= MAX_CONTENT


def test_a_text_that_doubles_is_followed_to_the_length_of_a_path() -> None:
    """Twenty names, each twice the one before, give no path of six million characters."""
    source = (
        "a0 = '/app/x'\n" + "".join(f"a{n + 1} = a{n} + a{n}\n" for n in range(20)) + "open(a20)\nopen(a2)\n"
    )
    assert {len(use.path) for use in python_facts(source.encode()).paths} <= set(range(4096))
    assert "/app/x/app/x/app/x/app/x" in {use.path for use in python_facts(source.encode()).paths}


def test_what_a_program_writes_again_and_again_is_kept_once_or_twice() -> None:
    """Nine thousand times 300,000 characters are more than is kept of one program."""
    source = f"a = '{'x' * 300_000}'\nf = open('/out', 'w')\n" + "f.write(a)\n" * 9000
    kept = sum(len(written.text) for written in python_facts(source.encode()).written)
    assert 300_000 <= kept <= 2 * MAX_SOURCE
    joined = f"a = '{'x' * 300_000}'\nopen('/out', 'w').write(''.join([{'a, ' * 9000}]))\n"
    assert [len(written.text) for written in python_facts(joined.encode()).written] == [300_000]
