"""Configurations drawn from BenchFlow's schema, with strange keys strewn in: all proven or refused."""

from random import Random

import pytest
from harbor_tasks import drawn

from seatrials.migrate import toml_text
from seatrials.migrate.run import Options, turn_one
from seatrials.task.package import TaskPackage

from .conftest import Make


@pytest.mark.parametrize("seed", range(8))
def test_configurations_of_the_schema_are_proven(make: Make, seed: int) -> None:
    """No valid configuration fails its proof, whatever stands beside the keys that BenchFlow knows."""
    random = Random(seed)
    folder = make()
    migrated = 0
    for _ in range(60):
        (folder / "task.toml").write_text(toml_text.dump(drawn(random)), encoding="utf-8")
        outcome = turn_one(TaskPackage(folder), Options())
        assert outcome.status != "failed", outcome.problem
        migrated += not outcome.problem
    assert migrated > 20
