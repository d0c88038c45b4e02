"""What BenchFlow 0.7.11 (``benchflow.review.config``) refuses in ``verifier/rubric.json``."""

import json
import keyword
from collections.abc import Iterator, Mapping
from typing import Any, Final

_TEXTS: Final = ("name", "description", "guidance")
_SCORES: Final[Mapping[str, tuple[int, int]]] = {"blocker": (0, 1), "weight": (1, 10)}
# Names that pydantic's BaseModel has itself, which BenchFlow therefore refuses.
_RESERVED: Final = frozenset(
    {"construct", "copy", "dict", "from_orm", "json", "parse_file", "parse_obj", "parse_raw", "schema",
     "schema_json", "update_forward_refs", "validate"}
)  # fmt: skip


def review_rubric_faults(raw: bytes) -> Iterator[str]:
    """Yield what is wrong with a rubric, one phrase each."""
    try:
        data = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        yield "must be JSON in UTF-8"
        return
    criteria = data.get("criteria") if isinstance(data, dict) else None
    if not isinstance(criteria, list) or not criteria:
        yield "must be an object with a list of `criteria` that is not empty"
        return
    if all(isinstance(one, dict) and {"id", "match_criteria"} <= one.keys() for one in criteria):
        return  # a judge's rubric
    for key in data:
        if key != "criteria":
            yield f"`{key[:60]}` is not a key of a rubric; `criteria` is"
    for index, one in enumerate(criteria):
        yield from _criterion(one, f"criteria[{index}]")
    yield from _together([one for one in criteria if isinstance(one, dict)])


def _criterion(data: Any, where: str) -> Iterator[str]:
    if not isinstance(data, dict):
        yield f"`{where}` must be an object"
        return
    for key in data:
        if key not in _TEXTS and key not in _SCORES:
            yield f"`{where}.{key[:60]}` is not a key of a criterion"
    for key in _TEXTS:
        if not isinstance(data.get(key), str):
            yield f"`{where}.{key}` must be a string"
    name = data.get("name")
    if isinstance(name, str) and not _is_usable(name):
        yield f"`{where}.name` must be a plain Python name, not `{name[:60]}`"
    for key, (least, most) in _SCORES.items():
        value = data.get(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            yield f"`{where}.{key}` must be an integer"
        elif isinstance(value, int) and not least <= value <= most:
            yield f"`{where}.{key}` must be from {least} to {most}"
    given = [key for key in _SCORES if key in data]
    if len(given) == 1 or any(data[key] is None for key in given):
        yield f"`{where}` must have both `blocker` and `weight`, or neither"


def _is_usable(name: str) -> bool:
    return (
        name.isidentifier()
        and not keyword.iskeyword(name)
        and not name.startswith(("_", "model_"))
        and name not in _RESERVED
    )


def _together(criteria: list[dict[str, Any]]) -> Iterator[str]:
    names = [one["name"] for one in criteria if isinstance(one.get("name"), str)]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        yield f"two criteria are named `{doubled[0][:60]}`; names must be unique"
    weighted = [one for one in criteria if one.get("blocker") is not None]
    if weighted and len(weighted) != len(criteria):
        yield "all criteria must have `blocker` and `weight`, or none"
    elif weighted and all(one.get("blocker") == 1 for one in weighted):
        yield "at least one criterion must be scored, with `blocker: 0`"
