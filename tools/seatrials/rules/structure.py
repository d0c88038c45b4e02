"""STR: the files and keys that the arena's validation and BenchFlow ask for, per format.

Source: the arena's guide, "Submit an environment collection"; BenchFlow 0.7.11,
``check_task``.
"""

from collections.abc import Iterator
from typing import Final

from seatrials.rules.model import Hit, TaskRule
from seatrials.task.package import CONFIG, DOCUMENT, INSTRUCTION, TaskPackage

DOCKERFILE: Final = "environment/Dockerfile"

_NATIVE_KEYS: Final = ("task", "metadata", "agent", "verifier", "sandbox")
_POSTTRAIN_KEYS: Final = ("version", "metadata", "agent", "verifier", "environment")
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
    if DOCUMENT in files:
        return
    if CONFIG not in files:
        yield Hit(message=f"no `{DOCUMENT}` and no `{CONFIG}`; a task needs one of them")
    elif INSTRUCTION not in files and not is_multi_step(task):
        yield Hit(
            path=CONFIG, message=f"`{CONFIG}` has no `{INSTRUCTION}` beside it; a Harbor task needs both"
        )


def both_layouts(task: TaskPackage) -> Iterator[Hit]:
    """A task is written in one format.

    Why: with both a `task.md` and Harbor's files, `task.md` wins and the
    others drift unseen; BenchFlow refuses such a task once they differ or
    when one of Harbor's two files is missing.

    Fix: keep `task.md`, and delete `task.toml` and `instruction.md`.
    """
    if DOCUMENT in task.files:
        for name in (CONFIG, INSTRUCTION):
            if name in task.files:
                yield Hit(path=name, message=f"`{name}` stands beside `{DOCUMENT}`, which wins; delete it")


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
    text = file.read().decode("utf-8", errors="replace").lstrip("\ufeff")
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

    Fix: make it native: rename `version` to `schema_version` (with "1.3") and
    `environment` to `sandbox`, and add `task` with a `name: org/name`.
    """
    if task.format == "posttrain":
        keys = task.document.frontmatter if task.document is not None else {}
        lacking = " and ".join(f"`{key}`" for key in ("schema_version", "task") if key not in keys)
        refused = "; BenchFlow refuses its `environment`" if "environment" in keys else ""
        yield Hit(
            path=DOCUMENT,
            line=1,
            message=f"without {lacking} the arena takes this for a PostTrain task{refused}; make it native",
        )


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
    return any(key in keys for key in ("schema_version", "task", "sandbox"))


RULES: Final = (
    TaskRule("STR101", "error", not_a_task),
    TaskRule("STR102", "error", both_layouts),
    TaskRule("STR103", "error", missing_keys, requires=("DOC101",), profiles=("arena",)),
    TaskRule("STR104", "error", no_prompt_section, requires=("DOC101",), profiles=("arena",)),
    TaskRule("STR105", "error", no_dockerfile, requires=("STR101",)),
    TaskRule("STR106", "error", dockerfile_without_from, profiles=("arena",)),
    TaskRule("STR107", "error", no_test_script, requires=("STR101",), profiles=("arena",)),
    TaskRule("STR108", "error", posttrain_format, requires=("DOC101",)),
    TaskRule("STR109", "error", posttrain_files, requires=("DOC101",), profiles=("arena",)),
)
