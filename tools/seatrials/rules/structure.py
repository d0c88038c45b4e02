"""STR: the files and keys that the arena's validation and BenchFlow ask for, per format.

Source: the arena's guide, "Submit an environment collection"; BenchFlow 0.7.11,
``check_task``.
"""

from collections.abc import Iterator
from typing import Final

from seatrials.rules.drift import TWIN_FOLDERS, drift
from seatrials.rules.model import Hit, TaskRule
from seatrials.rules.rubric import review_rubric_faults
from seatrials.task.document import dotted
from seatrials.task.package import CONFIG, DOCUMENT, INSTRUCTION, VERIFIER_DOCUMENT, TaskPackage
from seatrials.task.schema import DOCUMENT_KEYS, SHORTHAND_KEYS
from seatrials.task.verifier_document import Strategy, relative, strategy_files

DOCKERFILE: Final = "environment/Dockerfile"

_NATIVE_KEYS: Final = ("task", "metadata", "agent", "verifier", "sandbox")
_POSTTRAIN_KEYS: Final = ("version", "metadata", "agent", "verifier", "environment")
_NATIVE_ONLY: Final = frozenset({"schema_version", "task", "sandbox"}) | SHORTHAND_KEYS | DOCUMENT_KEYS
_POSTTRAIN_FILES: Final = (
    "verifier/test_outputs.py",
    "verifier/verifier.md",
    "oracle/solve.sh",
)


def is_multi_step(task: TaskPackage) -> bool:
    """Say whether a task declares steps, each with files of its own under ``steps/``."""
    steps = task.native.get("steps")
    return isinstance(steps, list) and bool(steps)


def not_a_task(task: TaskPackage) -> Iterator[Hit]:
    """A task has a `task.md`, or a `task.toml` with an `instruction.md`.

    Why: the arena and the runtimes tell a task by these files; a folder
    without them is passed over in silence or fails validation.

    Fix: write a `task.md` (`nox -s new -- NAME` makes one), or add the file
    of the Harbor pair that is missing.
    """
    files = task.files
    for name in (DOCUMENT, CONFIG, INSTRUCTION):
        if name in task.listing.folders or (name in files and task.resolve(name) is None):
            yield Hit(path=name, message=f"`{name}` must be a file, or a link to one inside the task")
            return
        if name == DOCUMENT and name in files:
            return
    if CONFIG not in files:
        yield Hit(message=f"no `{DOCUMENT}` and no `{CONFIG}`; a task needs one of them")
    elif INSTRUCTION not in files and not is_multi_step(task):
        yield Hit(
            path=CONFIG, message=f"`{CONFIG}` has no `{INSTRUCTION}` beside it; a Harbor task needs both"
        )


def drifted_layouts(task: TaskPackage) -> Iterator[Hit]:
    """Two layouts of one task say the same.

    Why: with both a `task.md` and Harbor's files, or `verifier/` and `tests/`,
    or `oracle/` and `solution/`, BenchFlow refuses the task once they differ,
    or when one of Harbor's two files is missing.

    Fix: keep `task.md`, `verifier/` and `oracle/`; delete the others.
    """
    yield from drift(task)


def both_layouts(task: TaskPackage) -> Iterator[Hit]:
    """A task is written in one format.

    Why: with both a `task.md` and Harbor's files, `task.md` wins. The others
    say the same today and will drift unseen.

    Fix: keep `task.md`, `verifier/` and `oracle/`; delete the others.
    """
    if DOCUMENT not in task.files:
        return
    for name in (CONFIG, INSTRUCTION):
        if name in task.files:
            yield Hit(path=name, message=f"`{name}` stands beside `{DOCUMENT}`, which wins; delete it")
    for native, legacy in TWIN_FOLDERS:
        if native in task.listing.folders and legacy in task.listing.folders:
            yield Hit(path=legacy, message=f"`{legacy}/` stands beside `{native}/`, which wins; delete it")


def missing_keys(task: TaskPackage) -> Iterator[Hit]:
    """The frontmatter has every top-level key that the arena asks for.

    Why: the arena's structural validation fails a task that lacks one: a
    BenchFlow-native task needs `task`, `metadata`, `agent`, `verifier` and
    `sandbox`; a PostTrain task `version`, `metadata` (with `author_hub` or
    `author_name`, and `category`), `agent`, `verifier` and `environment`.

    Fix: add the key; an empty mapping is enough where you have nothing to say.
    """
    document = task.document
    if document is None or (task.format == "posttrain" and _half_native(task)):
        return
    keys = _NATIVE_KEYS if task.format == "native" else _POSTTRAIN_KEYS
    for key in keys:
        if key not in document.frontmatter:
            yield Hit(path=DOCUMENT, line=1, message=f"the frontmatter has no `{key}`; it is required")
    metadata = document.frontmatter.get("metadata")
    if task.format == "posttrain" and isinstance(metadata, dict):
        line = document.lines.get(("metadata",))
        if not metadata.get("author_hub") and not metadata.get("author_name"):
            yield Hit(path=DOCUMENT, line=line, message="`metadata` has no `author_hub`; it is required")
        if not metadata.get("category"):
            yield Hit(path=DOCUMENT, line=line, message="`metadata` has no `category`; it is required")


def no_prompt_section(task: TaskPackage) -> Iterator[Hit]:
    """The body of `task.md` has a `## prompt` section.

    Why: the arena takes the prompt from that section and fails a task
    without it, though BenchFlow alone would take the bare body.

    Fix: put a line `## prompt` above the prompt.
    """
    document = task.document
    if document is not None and "prompt" not in document.sections:
        yield Hit(path=DOCUMENT, line=document.body_line, message=f"`{DOCUMENT}` has no `## prompt` section")


def no_dockerfile(task: TaskPackage) -> Iterator[Hit]:
    """The sandbox has an `environment/Dockerfile`.

    Why: the arena builds it, and BenchFlow's check refuses a task without
    one, even where `docker_image` names a ready image.

    Fix: add `environment/Dockerfile`; for a ready image, `FROM` and its name is all.
    """
    if task.resolve(DOCKERFILE) is None:
        image = task.native.get("sandbox", "docker_image")
        hint = f"; `FROM {image}` would do" if isinstance(image, str) else ""
        yield Hit(path=DOCKERFILE, message=f"no `{DOCKERFILE}`; it is required{hint}")


def dockerfile_without_from(task: TaskPackage) -> Iterator[Hit]:
    """The first instruction of the Dockerfile is `FROM`.

    Why: the arena's validation asks for it; an `ARG` before `FROM`, which
    Docker allows, fails there.

    Fix: start with `FROM`; write the image's tag out instead of taking it from an `ARG`.
    """
    file = task.resolve(DOCKERFILE)
    if file is None:
        return
    text = file.head().decode("utf-8", errors="replace").lstrip("\ufeff")
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0].upper() != "FROM":
            message = f"`{DOCKERFILE}` starts with `{words[0][:40]}`; its first instruction must be `FROM`"
            yield Hit(path=DOCKERFILE, line=number, message=message)
        return
    yield Hit(path=DOCKERFILE, message=f"`{DOCKERFILE}` has no instruction; it must start with `FROM`")


def no_test_script(task: TaskPackage) -> Iterator[Hit]:
    """The verifier has a `test.sh`.

    Why: it is what a trial runs to get the reward: `verifier/test.sh`, or
    `tests/test.sh` in a Harbor task. The arena fails a task without it.

    Fix: add the script; it must write `/logs/verifier/reward.txt` or `reward.json` on every path.
    """
    if is_multi_step(task):
        return
    folder = "tests" if task.format == "harbor" else "verifier"
    if task.resolve(f"{folder}/test.sh") is None:
        yield Hit(path=f"{folder}/test.sh", message=f"no `{folder}/test.sh`; it is required")


def posttrain_format(task: TaskPackage) -> Iterator[Hit]:
    """A task is in a format that BenchFlow runs.

    Why: the arena accepts PostTrain frontmatter, but the BenchFlow that it
    runs refuses it since 0.6.8 (`environment` was renamed to `sandbox`), so
    no trial of such a task can start.

    Fix: run `seatrials migrate`. By hand: rename `version` to `schema_version`
    (with "1.3") and `environment` to `sandbox`, and add `task` with a `name: org/name`.
    """
    if task.format != "posttrain":
        return
    keys = task.document.frontmatter if task.document is not None else {}
    lacking = " and ".join(f"`{key}`" for key in ("schema_version", "task") if key not in keys)
    message = f"without {lacking} the arena takes this for a PostTrain task"
    if "environment" in keys:
        message += "; it accepts that, but BenchFlow refuses `environment`: `seatrials migrate` mends it"
    yield Hit(path=DOCUMENT, line=1, message=message)


def posttrain_files(task: TaskPackage) -> Iterator[Hit]:
    """A PostTrain task has every file that its format requires.

    Why: the arena requires `verifier/test_outputs.py`, `verifier/verifier.md`,
    at least one `verifier/rubrics/*.md` and `oracle/solve.sh` of PostTrain
    tasks only.

    Fix: add the file, or migrate the task: a BenchFlow-native one needs less.
    """
    if task.format != "posttrain" or _half_native(task):
        return
    for path in _POSTTRAIN_FILES:
        if task.resolve(path) is None:
            yield Hit(path=path, message=f"no `{path}`; a PostTrain task requires it")
    rubrics = (path for path in task.files if path.startswith("verifier/rubrics/") and path.endswith(".md"))
    if next(rubrics, None) is None:
        yield Hit(
            path="verifier/rubrics", message="no `verifier/rubrics/*.md`; a PostTrain task requires one"
        )


def _half_native(task: TaskPackage) -> bool:
    """Say whether the author meant a native task and left a key out: one finding says so."""
    keys = task.document.frontmatter if task.document is not None else {}
    return not _NATIVE_ONLY.isdisjoint(keys)


def bad_verifier_document(task: TaskPackage) -> Iterator[Hit]:
    """`verifier.md`, where there is one, is a document that BenchFlow takes.

    Why: BenchFlow reads it before `test.sh` and refuses the task when it can't.

    Fix: correct the key named. `verifier.strategies` needs one entry with a
    `type`, say `script` and a `command: ./test.sh`.
    """
    document = task.verifier_document
    path = _verifier_path(task)
    if _is_no_file(task, path):
        yield Hit(path=path, message=f"`{path}` must be a file, or a link to one inside the task")
    for fault in document.faults if document is not None else ():
        where = f"`{dotted(fault.path)}` " if fault.path else ""
        line = document.line(fault.path) if document is not None else None
        yield Hit(path=path, line=line, message=f"{where}{fault.says}")


def _is_no_file(task: TaskPackage, path: str) -> bool:
    """Say whether something stands at a path, and it is no file of the task."""
    file = task.files.get(path)
    return path in task.listing.folders or (
        file is not None and task.resolve(path) is None and file.location.exists()
    )


def _verifier_path(task: TaskPackage) -> str:
    return f"{task.native.verifier_dir}/{VERIFIER_DOCUMENT}"


def _missing_files(task: TaskPackage, strategy: Strategy) -> Iterator[Hit]:
    document = task.verifier_document
    folder = task.native.verifier_dir
    for key, path in strategy_files(strategy):
        at = ("verifier", "strategies", strategy.name, key)
        line = document.line(at) if document is not None else None
        said = f"`{dotted(at)}` names"
        if path is None:
            message = f"{said} no file below `{folder}/`; a `{strategy.type}` strategy needs one"
            yield Hit(path=_verifier_path(task), line=line, message=message)
        elif task.resolve(f"{folder}/{path}") is None:
            message = f"{said} `{path}`, and there is no `{folder}/{path}`"
            yield Hit(path=_verifier_path(task), line=line, message=message)


def missing_strategy_files(task: TaskPackage) -> Iterator[Hit]:
    """Every file that the selected strategy of `verifier.md` names exists.

    Why: BenchFlow runs that strategy, and refuses the task without its files.

    Fix: add the file, or correct the path, which starts in the verifier's folder.
    """
    document = task.verifier_document
    if document is not None and document.selected is not None:
        yield from _missing_files(task, document.selected)


def missing_files_of_other_strategies(task: TaskPackage) -> Iterator[Hit]:
    """Every file that another strategy of `verifier.md` names exists.

    Why: a strategy that is not selected does not run today, and fails the day
    that it is.

    Fix: add the file, or delete the strategy.
    """
    document = task.verifier_document
    if document is not None:
        for strategy in document.strategies.values():
            if strategy is not document.selected:
                yield from _missing_files(task, strategy)


def no_verifier(task: TaskPackage) -> Iterator[Hit]:
    """The verifier has something to run.

    Why: BenchFlow needs a `test.sh`, a strategy in `verifier.md`, or in a
    Harbor task `type = "llm-judge"` with its rubric.

    Fix: add `test.sh` to the verifier's folder.
    """
    link = task.files.get("verifier")
    if link is not None and link.location.exists():
        yield Hit(path="verifier", message="`verifier` must be a folder, not a link or a file")
    elif task.verifier_document is None and task.resolve(f"{task.native.verifier_dir}/test.sh") is None:
        if (rubric := _judge_rubric(task)) is not None and task.resolve(rubric) is not None:
            return
        folder = task.native.verifier_dir
        yield Hit(path=folder, message=f"`{folder}/` has neither `test.sh` nor `{VERIFIER_DOCUMENT}`")


def _judge_rubric(task: TaskPackage) -> str | None:
    """Return the rubric that BenchFlow takes for a verifier, from `task.toml` alone."""
    verifier = task.toml.data.get("verifier") if task.toml is not None else None
    if not isinstance(verifier, dict) or verifier.get("type") != "llm-judge":
        return None
    judge = verifier.get("judge")
    path = judge.get("rubric_path") if isinstance(judge, dict) else None
    return relative(path if isinstance(path, str) and path else "tests/rubric.toml")


def bad_review_rubric(task: TaskPackage) -> Iterator[Hit]:
    """`rubric.json` in the verifier's folder is a rubric that BenchFlow takes.

    Why: BenchFlow takes a file of this name for the rubric of its reviews
    (unless each criterion has `id` and `match_criteria`), and refuses the
    task when it is not one.

    Fix: correct what the message names, or rename the file.
    """
    path = f"{task.native.verifier_dir}/rubric.json"
    file = task.resolve(path)
    link = task.files.get(path)
    if link is not None and file is None and link.location.is_file():
        yield Hit(path=path, message=f"`{path}` must be a file, or a link to one inside the task")
    if file is not None:
        for says in review_rubric_faults(file.head()):
            yield Hit(path=path, message=says)


def no_common_instruction(task: TaskPackage) -> Iterator[Hit]:
    """A task of several steps has an `instruction.md` for BenchFlow's check.

    Why: Harbor reads each step's own; `bench tasks check` asks for the one at
    the top and refuses the task without it.

    Fix: add one, if the task is meant for BenchFlow.
    """
    if task.document is None and INSTRUCTION not in task.files:
        yield Hit(path=INSTRUCTION, message=f"no `{INSTRUCTION}`; BenchFlow's check requires it")


def missing_step_files(task: TaskPackage) -> Iterator[Hit]:
    """Each step of a Harbor task has its instruction and something that tests it.

    Why: Harbor reads `steps/NAME/instruction.md` and runs
    `steps/NAME/tests/test.sh`, or the common `tests/test.sh`.

    Fix: add the file, or correct the step's `name`.
    """
    steps = task.native.get("steps")
    if task.format != "harbor" or not isinstance(steps, list):
        return
    for index, step in enumerate(steps):
        name = step.get("name") if isinstance(step, dict) else None
        if not isinstance(name, str) or not name:
            continue  # the schema's fault
        line = task.config_line(("steps", index, "name"))
        if task.resolve(f"steps/{name}/{INSTRUCTION}") is None:
            message = f"the step `{name}` has no `steps/{name}/{INSTRUCTION}`"
            yield Hit(path=CONFIG, line=line, message=message)
        if task.resolve(f"steps/{name}/tests/test.sh") is None and task.resolve("tests/test.sh") is None:
            message = f"the step `{name}` has no `steps/{name}/tests/test.sh`, nor is there a `tests/test.sh`"
            yield Hit(path=CONFIG, line=line, message=message)


RULES: Final = (
    TaskRule("STR101", "error", not_a_task),
    TaskRule("STR102", "error", drifted_layouts),
    TaskRule("STR103", "error", missing_keys, requires=("DOC101",), profiles=("arena",)),
    TaskRule("STR104", "error", no_prompt_section, requires=("DOC101",), profiles=("arena",)),
    TaskRule("STR105", "error", no_dockerfile, requires=("STR101",)),
    TaskRule("STR106", "error", dockerfile_without_from, profiles=("arena",)),
    TaskRule("STR107", "error", no_test_script, requires=("STR101",), profiles=("arena",)),
    TaskRule("STR108", "error", posttrain_format, requires=("STR101", "DOC101"), profiles=("arena",)),
    TaskRule("STR109", "error", posttrain_files, requires=("DOC101",), profiles=("arena",)),
    TaskRule("STR110", "error", bad_verifier_document),
    TaskRule("STR111", "error", missing_strategy_files),
    TaskRule("STR112", "warning", missing_files_of_other_strategies),
    TaskRule("STR113", "error", no_verifier, requires=("STR101",), profiles=("benchflow",)),
    TaskRule("STR114", "warning", both_layouts, requires=("STR102",)),
    TaskRule("STR115", "error", bad_review_rubric),
    TaskRule("STR116", "error", no_common_instruction, requires=("STR101",), profiles=("benchflow",)),
    TaskRule("STR117", "warning", missing_step_files, requires=("STR101", "DOC101")),
)
