"""A set of Harbor's layout, and its registry, in Harbor's own models."""

import json
import shutil
from pathlib import Path

import pytest

from seatrials.cli import main

pytestmark = pytest.mark.loader("harbor")


@pytest.fixture
def released(harbor_task: Path, tmp_path: Path) -> Path:
    """A released Harbor set of two tasks."""
    for name in ("alpha", "beta"):
        shutil.copytree(harbor_task, tmp_path / "set" / "tasks" / name)
    toml = tmp_path / "set" / "tasks" / "beta" / "task.toml"
    toml.write_text(toml.read_text().replace('name = "seatrials/', 'name = "seatrials/beta-'))
    out = tmp_path / "out"
    words = ["release", str(tmp_path / "set"), "--out", str(out), "--layout", "harbor", "--title", "Sums"]
    assert main([*words, "--without-replays"]) == 0
    return out


def test_registry_is_harbors(released: Path) -> None:
    """Harbor's model of a registry reads ours, and each of its paths is a valid task."""
    from harbor.models.registry import Registry
    from harbor.models.task.task import Task

    registry = Registry.from_path(released / "registry.json")
    (spec,) = registry.datasets
    assert spec.description == "Sums"
    assert [task.name for task in spec.tasks] == ["alpha", "beta"]
    for task in spec.tasks:
        assert Task(released / task.path).instruction.startswith("Write the sum")


def test_registry_has_no_key_that_harbor_does_not_know(released: Path) -> None:
    """What Harbor reads is all there is: nothing of it is dropped in silence."""
    from harbor.models.registry import DatasetSpec

    (ours,) = json.loads((released / "registry.json").read_text())
    theirs = DatasetSpec.model_validate(ours).model_dump(mode="json", exclude_unset=True)
    assert theirs == ours
