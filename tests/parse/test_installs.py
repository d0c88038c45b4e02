"""What a script installs, as it asks for it."""

import pytest

from seatrials.parse.installs import Install, bare_name, installs


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("pip install a b==1", Install(manager="pip", line=1, packages=("a", "b==1"))),
        ("\npip3 install -q --index-url u --retries=3 a", Install(manager="pip", line=2, packages=("a",))),
        ("sudo python3.12 -m pip install -ra.txt", Install(manager="pip", line=1, lists=("a.txt",))),
        ("pip install -c c.txt a", Install(manager="pip", line=1, packages=("a",), bounded=True)),
        ("pip install -e . -e git+u://x", Install(manager="pip", line=1, packages=("git+u://x",))),
        ("P='a<2'\npip install \"$P\"", Install(manager="pip", line=2, packages=("a<2",))),
        ("uvx --with a==1,b -p 3.13 b --flag c", Install(manager="pip", line=1, packages=("a==1", "b"))),
        ("uvx --from a==1 b", Install(manager="pip", line=1, packages=("a==1",))),
        ("uv run --with a x.py --with b", Install(manager="pip", line=1, packages=("a",))),
        ("cd /srv && cd web && npm ci", Install(manager="npm", line=1, bounded=True, folder="/srv/web")),
        ("npm --version\nnpm i", Install(manager="npm", line=2, lists=("package.json",))),
        ("gem install a -v 1.2", Install(manager="gem", line=1, packages=("a",), version="1.2")),
        (
            "cargo install --git https://example.org/a --rev 0a1b",
            Install(manager="cargo", line=1, packages=("https://example.org/a",), version="0a1b"),
        ),
        ("go get example.org/a@v1 ./...", Install(manager="go", line=1, packages=("example.org/a@v1",))),
        ("conda install -n e -c f a=1", Install(manager="conda", line=1, packages=("a=1",))),
        ("if true; then FOO=1 pipx install a; fi", Install(manager="pip", line=1, packages=("a",))),
    ],
)
def test_one_installation(script: str, expected: Install) -> None:
    """Options and their values, addresses, lists and folders are told apart."""
    assert installs(script) == (expected,)


@pytest.mark.parametrize(
    "script",
    ["", "pip --version", "echo pip install a", "npm run build", "cargo build", "go build ./...", "uv sync",
     "cargo install --path .", "apt-get install -y python3-pip npm", "cat <<E\npip install a\nE\n"],
)  # fmt: skip
def test_what_installs_nothing(script: str) -> None:
    """Other commands of a manager, and text that only names one, are no installations."""
    assert installs(script) == ()


def test_names_are_compared_as_the_index_does() -> None:
    """Case, marks, extras and versions don't make another package."""
    assert {
        bare_name(name) for name in ("Flask_SQLAlchemy", "flask-sqlalchemy[x]>=2", "flask.sqlalchemy")
    } == {"flask-sqlalchemy"}
