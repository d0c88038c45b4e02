"""What a verifier's Python relies on: the code it loads, the programs it starts, hosts, files it compares."""

import pytest

from seatrials.parse.pytest import python_facts
from seatrials.parse.trust import Started, equal_files, hosts, imports, loaded, started


def paths(source: str) -> list[tuple[str, str]]:
    """Return how each file is loaded, and its path."""
    return [(item.how, item.path) for item in loaded(python_facts(source.encode()))]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            "with open('/app/a') as f:\n    x = f.read()\nwith open('/app/b') as f:\n    exec(f.read())",
            ("runs", "/app/b"),
        ),
        (
            "p = Path('/app') / 'm.py'\nimportlib.util.spec_from_file_location('m', p)",
            ("imports", "/app/m.py"),
        ),
        ("def load(p):\n    return runpy.run_path(p)\n\n\nload('/app/x.py')", ("runs", "/app/x.py")),
        ("def load(n, p):\n    exec(open(p).read())\n\n\nload(1, p='/app/x.py')", ("runs", "/app/x.py")),
        ("pickle.loads(Path('/app/m').read_bytes())", ("unpickles", "/app/m")),
        ("torch.load('/app/m.pt', weights_only=False)", ("unpickles", "/app/m.pt")),
        ("yaml.load(open('/app/c.yml'), Loader=yaml.Loader)", ("unpickles", "/app/c.yml")),
    ],
)
def test_loaded_follows_names_streams_and_helpers(lines: str, expected: tuple[str, str]) -> None:
    """The path is found through names, the nearest `with`, and what a helper is given."""
    assert paths(f"import importlib.util, pickle, runpy\nfrom pathlib import Path\n{lines}\n") == [expected]


@pytest.mark.parametrize(
    "line", ["model.eval()", "torch.load('/app/m.pt')", "yaml.safe_load('/app/a')", "re.compile('exec(x)')"]
)
def test_loaded_passes_over_what_runs_no_code(line: str) -> None:
    """Methods of that name, safe loaders and words in a text are none."""
    assert paths(f"{line}\n") == []


def test_imports_gives_the_first_line_of_each() -> None:
    """Each module once, by the first part of its name; those that are imported by a text too."""
    source = b"import os\n\nfrom app.core import x\nimport app.other\nimportlib.import_module('late')\n"
    assert imports(python_facts(source)) == {"os": 1, "app": 3, "late": 5}


def test_started_gives_words_and_folder() -> None:
    """Lists, texts and the interpreter's path become words; a word that is not known is empty."""
    source = b"""import os, subprocess, sys
command = ["bash", "run.sh"]
subprocess.run([sys.executable, "-m", "pytest", name], cwd="/app")
subprocess.run(command)
os.system("python3 '/app/a b.py'")
"""
    assert started(python_facts(source)) == (
        Started(words=("python3", "-m", "pytest", ""), line=3, cwd="/app"),
        Started(words=("bash", "run.sh"), line=4),
        Started(words=("python3", "/app/a b.py"), line=5),
    )


def test_hosts_are_those_that_are_asked() -> None:
    """A URL that is only compared with, or belongs to another object's `get`, is none."""
    source = b"""import requests
BASE = "https://api.github.com"
requests.get(BASE + "/x")
assert data.get("https://pypi.org") == "https://crates.io"
"""
    assert hosts(python_facts(source)) == (("api.github.com", 3),)


def test_equal_files_goes_through_digests() -> None:
    """Both sides are followed to the files that they come from."""
    source = b"""from pathlib import Path
import hashlib
digest = hashlib.sha256(Path("/app/a").read_bytes()).hexdigest()
assert digest == Path("/app/a.sha256").read_text().split()[0]
assert digest == "00"
"""
    assert equal_files(python_facts(source)) == (("/app/a", "/app/a.sha256", 4),)
