"""What reads a released set: `datasets`, Harbor and OpenEnv, each where it is installed."""

import os
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

# Read when the packages are imported: nothing here may ask the network.
os.environ.setdefault("HF_HUB_DISABLE_XET", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

REQUIRED = frozenset(filter(None, os.environ.get("SEATRIALS_REQUIRE_LOADERS", "").split(",")))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip a test whose package is missing, unless `nox -s loaders` says that it must be there.

    `@pytest.mark.loader("harbor", "datasets")` names the packages. The session has two halves,
    since not all of them can be installed together: each runs the tests of its own packages.
    """
    here = Path(__file__).parent
    others: list[pytest.Item] = []
    for item in items:
        if not item.path.is_relative_to(here):
            continue
        needed = {name for mark in item.iter_markers("loader") for name in mark.args}
        if not needed:
            pytest.exit(f"{item.nodeid} must name what it loads with, as `loader`", returncode=1)
        missing = sorted(name for name in needed if find_spec(name) is None)
        if REQUIRED and not needed <= REQUIRED:
            others.append(item)
        elif REQUIRED and missing:
            pytest.exit(f"{missing[0]} is not installed, and the tests of loaders need it", returncode=1)
        elif missing:
            item.add_marker(pytest.mark.skip(reason=f"{missing[0]} is not installed (`nox -s loaders`)"))
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]


@pytest.fixture(autouse=True)
def _warnings_are_theirs() -> None:
    """These packages warn of one another's changes; only what they load is of interest here."""
    warnings.simplefilter("ignore")


@pytest.fixture(autouse=True, scope="session")
def _caches_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests neither use nor fill the user's caches; the packages read the places when imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HOME", str(tmp_path_factory.mktemp("hf-home")))
        patch.setenv("OPENENV_DATASET_CACHE", str(tmp_path_factory.mktemp("openenv")))
        yield
