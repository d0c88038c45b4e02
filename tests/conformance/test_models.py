"""The kit's reading of configurations and documents against the models of the installed BenchFlow."""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import samples
import yaml

from seatrials.rules.rubric import review_rubric_faults
from seatrials.task.authoring import document_faults
from seatrials.task.schema import PROFILES, TABLES
from seatrials.task.validate import load
from seatrials.task.verifier_document import parse_verifier_document, strategy_files

NUMBER = 4_000


def same(ours: Any, theirs: Any) -> bool:
    """Compare values; NaN is NaN, and a tuple may be a list."""
    match ours, theirs:
        case dict(), dict():
            return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
        case list() | tuple(), list() | tuple():
            return len(ours) == len(theirs) and all(map(same, ours, theirs))
        case float(), float() if ours != ours or theirs != theirs:  # noqa: PLR0124 - NaN
            return ours != ours and theirs != theirs  # noqa: PLR0124
        case _:
            return bool(ours == theirs)


def dumped(model: Any) -> dict[str, Any]:
    """Return a model's values in the kit's names."""
    values: dict[str, Any] = model.model_dump()
    values["oracle"] = values.pop("solution")
    return values


def without_sizes(values: dict[str, Any]) -> dict[str, Any]:
    """Drop `memory` and `storage`, which BenchFlow settles into other keys and does not give out."""
    sandboxes = [values["sandbox"], values["verifier"]["sandbox"]]
    sandboxes += [step["verifier"]["sandbox"] for step in values["steps"] or ()]
    for sandbox in sandboxes:
        for key in ("memory", "storage"):
            (sandbox or {}).pop(key, None)
    return values


def attempt(call: Callable[[], Any]) -> tuple[Any, str]:
    """Return what BenchFlow makes of something, or None and why it refuses it."""
    try:
        return call(), ""
    except Exception as error:  # noqa: BLE001 - whatever stops BenchFlow is a refusal
        return None, repr(error)


def compare_config(name: str, config: dict[str, Any]) -> bool:
    """Compare verdict and values for one configuration; return the verdict."""
    from benchflow.task.config import TaskConfig

    ours = load(deepcopy(config))
    theirs, refusal = attempt(lambda: TaskConfig.model_validate(deepcopy(config)))
    assert bool(ours.faults) == bool(refusal), f"{name}: {config}: {refusal=}, {ours.faults=}"
    if refusal:
        return False
    assert same(without_sizes(ours.values), dumped(theirs)), f"{name}: {config}"
    return True


def test_random_configurations_are_read_alike() -> None:
    """Verdict and values agree on configurations of several keys, right and wrong."""
    verdicts = [compare_config(f"seed {seed}", samples.config(Random(seed))) for seed in range(NUMBER)]
    assert 0.1 < sum(verdicts) / NUMBER < 0.9, "the samples must show both verdicts"


def test_every_key_takes_the_same_values() -> None:
    """Verdict and values agree on every key of the schema with every sample value alone."""
    verdicts = [compare_config(name, config) for name, config in samples.single_values()]
    assert 0.1 < sum(verdicts) / len(verdicts) < 0.9


def test_the_schema_has_every_key_of_benchflows() -> None:
    """No key of BenchFlow's models is unknown to the kit, and none of the kit's to BenchFlow."""
    from benchflow.task import config as theirs

    models = {
        "": theirs.TaskConfig, "task": theirs.PackageInfo, "author": theirs.Author,
        "agent": theirs.AgentConfig, "verifier": theirs.VerifierConfig, "judge": theirs.JudgeVerifierConfig,
        "memory": theirs.MemoryVerifierConfig, "hardening": theirs.VerifierHardeningConfig,
        "sandbox": theirs.SandboxConfig, "tpu": theirs.TpuSpec, "healthcheck": theirs.HealthcheckConfig,
        "setup_command": theirs.SetupCommandConfig, "mcp_server": theirs.MCPServerConfig,
        "oracle": theirs.SolutionConfig, "artifact": theirs.ArtifactConfig, "step": theirs.StepConfig,
    }  # fmt: skip
    aliases = {"": {"oracle", "version"}, "sandbox": {"image"}}
    for table, model in models.items():
        assert set(TABLES[table]) - aliases.get(table, set()) == set(model.model_fields), table
    assert set(TABLES) == set(models)


def test_profiles_are_benchflows() -> None:
    """The authoring profiles declare what BenchFlow's do, in the configuration and in roles and scenes."""
    from benchflow.task import _document_profiles

    theirs = _document_profiles._TASK_AUTHORING_PROFILES
    assert PROFILES.keys() == theirs.keys()
    for name, ours in PROFILES.items():
        for key in {*ours, *theirs[name]} - {"benchflow", "agents"}:
            assert ours[key] == theirs[name][key], f"{name}: {key}"
        roles = theirs[name].get("agents", {}).get("roles", {})
        kept = {role: {"agent": data["agent"]} for role, data in roles.items()}
        assert ours.get("agents", {}).get("roles", {}) == kept


def test_documents_are_refused_alike() -> None:
    """The frontmatter of a task.md, with everything that only documents have, gets BenchFlow's verdict."""
    from benchflow.task.document import TaskDocument
    from benchflow.task.prompts import compile_task_prompt_plan

    verdicts = []
    for seed in range(NUMBER):
        data = samples.frontmatter(Random(seed))
        try:
            text = f"---\n{yaml.safe_dump(data)}---\n\nDo it.\n"
            data = yaml.safe_load(text.split("---\n")[1])
        except ValueError:
            continue  # an integer too long to be written
        ours = document_faults(deepcopy({str(key): value for key, value in data.items()}))
        document, refusal = attempt(lambda text=text: TaskDocument.from_text(text))
        if not refusal:
            plan = partial(compile_task_prompt_plan, document, fallback_prompt="", scenes=document.scenes)
            refusal = attempt(plan)[1]
        assert bool(ours) == bool(refusal), f"seed {seed}: {data}: {refusal=}, {ours=}"
        verdicts.append(not ours)
    assert 0.1 < sum(verdicts) / len(verdicts) < 0.9


def test_verifier_documents_are_read_alike(tmp_path: Path) -> None:
    """A verifier.md gets BenchFlow's verdict, selects its strategy and names the same files."""
    from benchflow.task.paths import TaskPaths
    from benchflow.task.verifier_document import VerifierDocument

    folder = tmp_path / "verifier"
    folder.mkdir()
    bodies = ("", "## role:judge\nx\n", "##  Role:Judge\n", "b\n\n## role:judge \n\n## role:judge\n")
    verdicts = []
    for seed in range(NUMBER):
        random = Random(seed)
        data = samples.verifier_frontmatter(random)
        text = f"---\n{yaml.safe_dump(data)}---\n{random.choice(bodies)}"
        ours = parse_verifier_document(text.encode(), path="verifier/verifier.md")
        theirs, refusal = attempt(lambda text=text: VerifierDocument.from_text(text))
        verdicts.append(not refusal)
        assert bool(ours.faults) == bool(refusal), f"seed {seed}: {text}: {refusal=}, {ours.faults=}"
        assert (ours.selected is None) == bool(refusal)
        if ours.selected is None:
            continue
        assert ours.selected.name == theirs.selected_strategy.name
        (folder / "verifier.md").write_text(text, encoding="utf-8")
        for name in ("test.sh", "reward.py", "q.md", "x.sh"):
            (folder / name).unlink(missing_ok=True)
            if random.random() < 0.6:
                (folder / name).write_text("x", encoding="utf-8")
        paths = [path for _, path in strategy_files(ours.selected)]
        complete = all(path is not None and (folder / path).is_file() for path in paths)
        assert complete == TaskPaths(tmp_path).has_verifier_entrypoint(), f"seed {seed}: {text}"
    assert 0.05 < sum(verdicts) / NUMBER < 0.9


def test_review_rubrics_are_refused_alike(tmp_path: Path) -> None:
    """A rubric.json gets BenchFlow's verdict."""
    from benchflow.review.config import is_review_rubric_file, load_rubric

    path = tmp_path / "rubric.json"
    names = ('"a"', '"b"', '"class"', '"_a"', '"model_x"', '"copy"', '"x-y"', "1", "null")
    scores = ('"blocker": 0, "weight": 5', '"blocker": 1, "weight": 1', '"blocker": 0', '"weight": 11',
              '"blocker": true, "weight": 1', '"blocker": null, "weight": null', '"blocker": 0, "weight": 0',
              '"extra": 1', '"id": 1, "match_criteria": []')  # fmt: skip
    verdicts = []
    for seed in range(1_000):
        random = Random(seed)
        criteria = []
        for _ in range(random.choice((0, 1, 1, 2, 2, 3))):
            name = random.choice(names[:2] if random.random() < 0.7 else names)
            score = random.choice(scores[:2] if random.random() < 0.5 else scores)
            parts = [f'"name": {name}', '"description": "d"', '"guidance": "g"']
            parts += [score] if random.random() < 0.5 else []
            criteria.append("{" + ", ".join(parts) + "}" if random.random() < 0.95 else "[]")
        text = '{"criteria": [' + ", ".join(criteria) + "]}"
        text = random.choice((text, text, text, text, text[:-1], text[12:-1], '{"criteria": 1}', "NaN"))
        path.write_text(text, encoding="utf-8")
        ours = list(review_rubric_faults(path.read_bytes()))
        refusal = attempt(lambda: load_rubric(path))[1] if is_review_rubric_file(path) else ""
        assert bool(ours) == bool(refusal), f"{text}: {refusal=}, {ours=}"
        verdicts.append(not ours)
    assert 0.1 < sum(verdicts) / len(verdicts) < 0.9
