"""Make this folder's helpers importable, and say what can't run: BenchFlow needs Python 3.12 or later."""

import os
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

INSTALLED = find_spec("benchflow") is not None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip without BenchFlow, unless `nox -s conformance` says that it must be there."""
    here = Path(__file__).parent
    ours = [item for item in items if item.path.is_relative_to(here)]
    if ours and not INSTALLED:
        if os.environ.get("SEATRIALS_REQUIRE_BENCHFLOW"):
            pytest.exit("benchflow is not installed, and the conformance tests need it", returncode=1)
        for item in ours:
            item.add_marker(pytest.mark.skip(reason="benchflow is not installed (`nox -s conformance`)"))


@pytest.fixture(autouse=True)
def _deprecations_are_benchflows_own() -> None:
    """BenchFlow warns of deprecated keys while it reads them; only its verdict is of interest here."""
    warnings.simplefilter("ignore")
