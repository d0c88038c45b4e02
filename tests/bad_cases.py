"""Build the bad tasks of `bad_tasks/`.

A case starts from a good task (`base`) and spoils it: `remove`, `write`,
`append`, `replace`, `hex`, `link`, `sparse` (a size in bytes), `fifo`, `mode`, in
this order. `expect` is the exact set of codes of the arena profile,
`expect_benchflow` that of the other one.
"""

import os
import shutil
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CASES = sorted(path.parent for path in (HERE / "bad_tasks").glob("*/case.toml"))


def load(case: Path) -> dict[str, Any]:
    """Return what a case's file says."""
    return tomllib.loads((case / "case.toml").read_text("utf-8"))


def build(case: Path, folder: Path) -> Path:
    """Write the spoilt task of a case and return its folder."""
    spec = load(case)
    root = folder / spec.get("name", "sum-column")
    shutil.copytree(HERE / "good_tasks" / spec["base"], root)
    for path in spec.get("remove", ()):
        target = root / path
        shutil.rmtree(target) if target.is_dir() else target.unlink()
    for path, text in spec.get("write", {}).items():
        _put(root / path, text.encode())
    for path, text in spec.get("append", {}).items():
        _put(root / path, (root / path).read_bytes() + text.encode())
    for path, pairs in spec.get("replace", {}).items():
        data = (root / path).read_bytes()
        for old, new in pairs:
            assert old.encode() in data, f"{case.name}: {path} does not hold {old!r}"
            data = data.replace(old.encode(), new.encode())
        _put(root / path, data)
    for path, digits in spec.get("hex", {}).items():
        _put(root / path, bytes.fromhex(digits))
    for path, target in spec.get("link", {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).unlink(missing_ok=True)
        (root / path).symlink_to(target)
    for path, size in spec.get("sparse", {}).items():
        with (root / path).open("wb") as stream:
            stream.truncate(size)
    for path, mode in spec.get("fifo", {}).items():
        os.mkfifo(root / path, mode)
    for path, mode in spec.get("mode", {}).items():
        (root / path).chmod(int(mode, 8))
    return root


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    if path.suffix == ".sh":
        path.chmod(0o755)
