"""The MANIFEST: which segments make up the store. See section 4.2 of docs/SPEC.md."""

import json
import os
from dataclasses import asdict, dataclass

from .errors import CorruptionError

NAME = "MANIFEST"
FORMAT = 2


@dataclass(frozen=True, slots=True)
class Manifest:
    segments: tuple
    active: int
    next_id: int
    next_seq: int


def load(folder):
    """The manifest of a store, None where there is none."""
    path = folder / NAME
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        data = json.loads(raw)
        if data["format"] != FORMAT:
            raise CorruptionError(path, 0, f"format {data['format']} is unknown")
        manifest = Manifest(tuple(data["segments"]), data["active"], data["next_id"], data["next_seq"])
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptionError(path, 0, f"not a manifest: {error}") from None
    if manifest.active not in manifest.segments:
        raise CorruptionError(path, 0, "the active segment is not among the segments")
    return manifest


def save(folder, manifest):
    """Put a manifest into place, whole or not at all."""
    temporary = folder / (NAME + ".tmp")
    with temporary.open("w", encoding="utf-8") as file:
        json.dump({"format": FORMAT, **asdict(manifest)}, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(folder / NAME)
    sync_folder(folder)


def sync_folder(folder):
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
