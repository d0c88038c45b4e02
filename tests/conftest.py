"""What all tests share: the docker marker, and tasks written on the spot."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# importlib mode adds no folder, and tests share helpers of this one.
sys.path.insert(0, str(Path(__file__).parent))


@cache
def no_engine() -> str | None:
    """Return why no Docker engine can be used, or None where one answers."""
    docker = shutil.which("docker")
    if docker is None:
        return "the docker command is not installed"
    asked = subprocess.run([docker, "info"], capture_output=True, text=True, check=False, timeout=60)
    if asked.returncode:
        said = (asked.stderr.strip() or asked.stdout.strip() or "no reason given").splitlines()[-1]
        return f"no Docker engine answers: {said}"
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip Docker tests with the reason, unless SEATRIALS_REQUIRE_DOCKER says that they must run."""
    if os.environ.get("SEATRIALS_REQUIRE_DOCKER"):
        return
    if not any(item.get_closest_marker("docker") for item in items):
        return
    if reason := no_engine():
        for item in items:
            if item.get_closest_marker("docker"):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True, scope="session")
def _results_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests neither use nor fill the user's store of earlier results."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def write() -> Callable[[Path, dict[str, str | bytes]], Path]:
    """Return a function that writes files below a folder and returns the folder."""

    def write_files(folder: Path, files: dict[str, str | bytes]) -> Path:
        for path, content in files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)
            if path.endswith(".sh"):
                target.chmod(0o755)
        return folder

    return write_files


GOOD = ROOT / "tests" / "good_tasks"


@pytest.fixture
def native_task(tmp_path: Path) -> Path:
    """A native task on disk that every rule accepts."""
    return shutil.copytree(GOOD / "native", tmp_path / "sum-column")


@pytest.fixture
def harbor_task(tmp_path: Path) -> Path:
    """A Harbor task on disk that every rule accepts."""
    return shutil.copytree(GOOD / "harbor", tmp_path / "sum-column-harbor")


@pytest.fixture
def posttrain_task(tmp_path: Path) -> Path:
    """A PostTrain task on disk: its format is the only thing that a rule finds."""
    return shutil.copytree(GOOD / "posttrain", tmp_path / "sum-column-posttrain")


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """A collection on disk with a manifest and one native task."""
    return shutil.copytree(GOOD / "collection", tmp_path / "collection")
