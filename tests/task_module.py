"""Import a file of a task in `tasks/` or `template/`, for the tests of what stands there."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def load(folder: Path, relative: str, name: str) -> ModuleType:
    """Import a file below a task's folder afresh, under a name of its own."""
    spec = importlib.util.spec_from_file_location(name, folder / relative)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name.
    sys.modules[name] = module
    with pytest.MonkeyPatch.context() as patch:
        # A `__pycache__` in the task's folder would become part of the task.
        patch.setattr(sys, "dont_write_bytecode", True)
        spec.loader.exec_module(module)
    return module
