"""What only a ``task.md`` has: shorthands, authoring profiles, roles, scenes and the simulated user.

Follows BenchFlow 0.7.11 (``benchflow.task._document_normalize`` and
``_document_parse``): the same expansion before the configuration is
validated, and the same refusals.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Any, Final

from seatrials.task.document import KeyPath
from seatrials.task.schema import DOCUMENT_KEYS, PROFILES, SHORTHAND_KEYS
from seatrials.task.validate import Fault, load

_PROMPT_PARTS: Final = ("base", "role", "scene", "turn")


def expand(frontmatter: Mapping[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    """Return the frontmatter with profiles and shorthands expanded, and what BenchFlow refuses there."""
    faults: list[Fault] = []
    raw = {key: value for key, value in frontmatter.items() if key not in SHORTHAND_KEYS}
    paths = {key: raw.pop(key) for key in ("verifier", "oracle") if _is_path_form(raw.get(key), key, faults)}
    out: dict[str, Any] = {}
    names = list(_profiles(frontmatter, faults))
    for name in names:
        out = _merged(out, PROFILES[name])
    out = _merged(out, raw) if names else raw
    if frontmatter.get("name") is not None and not _has(raw, "task", "name"):
        name = _text(frontmatter["name"], ("name",), faults)
        _put(out, ("task", "name"), name if "/" in name else f"benchflow/{name}", ("name",), faults)
    if frontmatter.get("image") is not None and not _has(raw, "sandbox", "docker_image"):
        image = _text(frontmatter["image"], ("image",), faults)
        _put(out, ("sandbox", "docker_image"), image, ("image",), faults)
    for key, path in paths.items():
        pure = PurePosixPath(path.strip())
        if pure.is_absolute() or ".." in pure.parts:
            faults.append(_fault((key,), "must be a mapping, or a path inside the task"))
        _put(out, ("benchflow", key, "path"), f"{pure}/", (key,), faults, over=False)
    if names:
        _put(out, ("benchflow", "authoring", "normalized"), True, ("profile",), faults, over=False)
    return out, faults


def document_faults(frontmatter: Mapping[str, Any]) -> list[Fault]:
    """Return everything that BenchFlow refuses in the frontmatter of a ``task.md``."""
    expanded, faults = expand(frontmatter)
    config = {key: value for key, value in expanded.items() if key not in DOCUMENT_KEYS}
    faults += load(config).faults
    roles: dict[str, None] = {}
    faults += _role_faults(expanded.get("agents"), roles)
    faults += _scene_faults(expanded.get("scenes"), roles)
    for key in ("user", "benchflow"):
        if not isinstance(expanded.get(key, {}), dict | None):
            faults.append(_fault((key,), "must be a mapping"))
    faults += _prompt_faults(expanded.get("benchflow"))
    return faults


def config_of(frontmatter: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration that BenchFlow would validate: expanded, without document keys."""
    return {key: value for key, value in expand(frontmatter)[0].items() if key not in DOCUMENT_KEYS}


def _fault(path: KeyPath, says: str) -> Fault:
    return Fault(kind="document", path=path, says=says)


def _profiles(frontmatter: Mapping[str, Any], faults: list[Fault]) -> Iterator[str]:
    seen: set[str] = set()
    for key in ("profile", "profiles"):
        value = frontmatter.get(key)
        if value is None:
            continue
        for item in value if isinstance(value, list) else [value]:
            name = item.strip() if isinstance(item, str) else ""
            if name in PROFILES:
                if name not in seen:
                    seen.add(name)
                    yield name
                continue
            near = get_close_matches(name, PROFILES, n=1)
            known = f"`{near[0]}` is one" if near else ", ".join(f"`{one}`" for one in sorted(PROFILES))
            faults.append(_fault((key,), f"must name a profile of BenchFlow's: {known}"))


def _is_path_form(value: Any, key: str, faults: list[Fault]) -> bool:
    if value is None or isinstance(value, dict):
        return False
    if isinstance(value, str) and value.strip():
        return True
    faults.append(_fault((key,), "must be a mapping, or a path inside the task"))
    return False


def _text(value: Any, path: KeyPath, faults: list[Fault]) -> str:
    if isinstance(value, str) and value.strip():
        return value.strip()
    faults.append(_fault(path, "must be a string that is not empty"))
    return "unnamed/unnamed"


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    out = deepcopy(dict(base))
    for key, value in over.items():
        below = out.get(key)
        out[key] = _merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return out


def _has(data: Any, *path: str) -> bool:
    for part in path:
        if not isinstance(data, dict) or part not in data:
            return False
        data = data[part]
    return True


def _put(
    data: dict[str, Any], path: tuple[str, ...], value: Any, author: KeyPath, faults: list[Fault],
    *, over: bool = True,
) -> None:  # fmt: skip
    """Set a value below tables that may not be there yet; copies what it changes."""
    for part in path[:-1]:
        below = data.get(part)
        if below is not None and not isinstance(below, dict):
            if part in {"benchflow", "authoring"} or len(path) > 2:  # noqa: PLR2004 - deeper than a table's key
                faults.append(_fault(author, f"needs `{part}` to be a mapping"))
            return  # otherwise the table's own type is the fault
        data[part] = dict(below or {})
        data = data[part]
    if over or path[-1] not in data:
        data[path[-1]] = value


def _role_faults(agents: Any, roles: dict[str, None]) -> Iterator[Fault]:
    """Yield what is wrong with ``agents``; the names of its roles go into `roles`."""
    if not isinstance(agents, dict | None):
        yield _fault(("agents",), "must be a mapping")
        return
    declared = (agents or {}).get("roles")
    if not isinstance(declared, dict | None):
        yield _fault(("agents", "roles"), "must be a mapping of names to roles")
        return
    for name, role in (declared or {}).items():
        where: KeyPath = ("agents", "roles", str(name))
        if not isinstance(name, str):
            yield _fault(where, "must be named with a string; quote it")
            continue
        roles[name] = None
        if not isinstance(role, dict):
            yield _fault((*where, "agent") if role is None else where, "is required" if role is None else
                         "must be a mapping")  # fmt: skip
            continue
        yield from _one_role(role, where)


def _one_role(role: Mapping[str, Any], where: KeyPath) -> Iterator[Fault]:
    agent = role.get("agent")
    if not isinstance(agent, str) or not agent:
        yield _fault((*where, "agent"), "is required: the name of an agent")
    for key in ("model", "reasoning_effort", "skills_dir"):
        if not isinstance(role.get(key), str | None):
            yield _fault((*where, key), "must be a string")
    for key in ("timeout_sec", "idle_timeout_sec"):
        if not isinstance(role.get(key), int | None) or isinstance(role.get(key), bool):
            yield _fault((*where, key), "must be an integer")
    if not isinstance(role.get("env"), dict | None):
        yield _fault((*where, "env"), "must be a mapping of names to strings")
    capabilities = role.get("capabilities")
    if capabilities is not None and not _are_strings(capabilities):
        yield _fault((*where, "capabilities"), "must be a list of strings")


def _scene_faults(scenes: Any, roles: Mapping[str, None]) -> Iterator[Fault]:
    if scenes is None:
        return
    if not isinstance(scenes, list):
        yield _fault(("scenes",), "must be a list")
        return
    for index, scene in enumerate(scenes):
        where: KeyPath = ("scenes", index)
        if not isinstance(scene, dict | None):
            yield _fault(where, "must be a mapping")
        else:
            yield from _one_scene(scene or {}, where, roles)


def _one_scene(scene: Mapping[str, Any], where: KeyPath, roles: Mapping[str, None]) -> Iterator[Fault]:
    for key in ("name", "skills_dir"):
        if not isinstance(scene.get(key), str | None):
            yield _fault((*where, key), "must be a string")
    names, turns = scene.get("roles"), scene.get("turns")
    if names is not None and not _are_strings(names):
        yield _fault((*where, "roles"), "must be a list of role names")
        return
    if turns is not None and not isinstance(turns, list):
        yield _fault((*where, "turns"), "must be a list")
        return
    for name in names or ():
        if name not in roles:
            yield _fault((*where, "roles"), f"names the role `{name}`, which `agents.roles` does not have")
    for number, turn in enumerate(turns or ()):
        yield from _one_turn(turn, (*where, "turns", number), roles, names)


def _one_turn(turn: Any, where: KeyPath, roles: Mapping[str, None], names: Any) -> Iterator[Fault]:
    if not isinstance(turn, str | dict | None):
        yield _fault(where, "must be a role's name or a mapping")
        return
    data = {"role": turn} if isinstance(turn, str) else turn or {}
    role = data.get("role")
    if not isinstance(role, str):
        yield _fault((*where, "role"), "is required: the name of a role")
    elif role not in roles:
        yield _fault((*where, "role"), f"names the role `{role}`, which `agents.roles` does not have")
    elif names is not None and role not in names:
        yield _fault((*where, "role"), f"names the role `{role}`, which the scene's `roles` leaves out")
    if not isinstance(data.get("prompt"), str | None):
        yield _fault((*where, "prompt"), "must be a string")


def _prompt_faults(benchflow: Any) -> Iterator[Fault]:
    policy = benchflow.get("prompt") if isinstance(benchflow, dict) else None
    if policy is None:
        return
    where: KeyPath = ("benchflow", "prompt")
    if not isinstance(policy, dict):
        yield _fault(where, "must be a mapping")
        return
    if policy.get("composition", "replace") not in ("append", "replace"):
        yield _fault((*where, "composition"), "must be `append` or `replace`")
    order = policy.get("order", ["base"])
    if not _are_strings(order) or not order or any(part not in _PROMPT_PARTS for part in order):
        yield _fault((*where, "order"), "must be a list of `base`, `role`, `scene` and `turn`")


def _are_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
