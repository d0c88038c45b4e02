"""Scripts of `RUN` that are not followed word by word, because nothing in them puts a file."""

import pytest

from seatrials.parse.image import _is_idle


@pytest.mark.parametrize(
    ("script", "idle"),
    [
        ("apt-get update && apt-get install -y python3 \\\n  curl && rm -rf /var/lib/apt/lists/*", True),
        ("DEBIAN_FRONTEND=noninteractive apt-get install x", True),
        ("# tools\napt-get update", True),
        ("echo 42 > /truth", False),
        ("pip install pytest==8 && cp a b", False),
        ("mkdir -p /x; sh /run.sh", False),
        ("apt-get update & rm x", False),
        ("chmod +x /x\n/x", False),
        ("rm -rf /var/lib/apt/lists/* /app/x", False),
        ("pip install $(cat x)", False),
    ],
)
def test_only_installing_scripts_are_passed_over(script: str, idle: bool) -> None:
    """A script is idle only if each of its commands installs packages or makes folders and the like."""
    assert _is_idle(script) is idle
