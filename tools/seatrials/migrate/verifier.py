"""``verifier/verifier.md`` and a rubric for a verifier that came without. Pure."""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final

from seatrials.migrate.model import MARK, Action, Note, Unsupported
from seatrials.migrate.yaml_text import dump
from seatrials.task.files import TaskFile

VERIFIER_DOCUMENT: Final = "verifier.md"
RUBRIC: Final = "rubrics/verifier.md"

_CTRF: Final = "/logs/verifier/ctrf.json"
_CHECK: Final = re.compile(
    r"^[ \t]*(?:async[ \t]+)?def[ \t]+(test\w*)[ \t]*\([^\n]*:[ \t]*\n"
    r'(?:[ \t]*(?:"""|\'\'\')[ \t]*([^\n]*))?',
    re.MULTILINE,
)
_MAX_CHECKS: Final = 60
_DEFAULT_RUBRIC: Final = "tests/rubric.toml"
"""BenchFlow's default of `verifier.judge.rubric_path`."""
_LOOKED_AT: Final = 512 * 1024


def script_command(script: TaskFile) -> str:
    """Return the strategy's command for ``verifier/test.sh``.

    BenchFlow runs a strategy's command in the verifier's folder, but a plain
    ``test.sh`` (as Harbor does) in the image's working directory. The command
    goes back there and runs the script by its full path, so that relative
    paths and ``$0`` mean what they meant. It names ``./test.sh`` because
    BenchFlow asks for a packaged file in it, and the script's own interpreter
    because a strategy that starts with another word gets no run bit.
    """
    first = script.head()[:256].split(b"\n", 1)[0].strip()
    words = ["bash"]
    if first.startswith(b"#!"):
        words = first[2:].decode("utf-8", "replace").split() or words
    return f'test -f ./test.sh && cd "$OLDPWD" && {shlex.join(words)} /verifier/test.sh'


def verifier_files(
    name: str, config: Mapping[str, Any], files: Mapping[str, TaskFile], *, oracle: bool
) -> tuple[tuple[Action, ...], tuple[Note, ...]]:
    """Return what is written into ``verifier/``, where `files` are its own by path below it.

    A verifier that has a ``verifier.md`` gets nothing. Raises `Unsupported`
    where a judge's rubric is not among the files.
    """
    if VERIFIER_DOCUMENT in files:
        return (), ()
    verifier: Mapping[str, Any] = config["verifier"]
    judge = verifier.get("type") == "llm-judge"
    strategy = _judge(verifier.get("judge", {}), files) if judge else _script(files)
    text = _document(name, strategy, files)
    actions = [_write(VERIFIER_DOCUMENT, text)]
    if not any(path.startswith("rubrics/") for path in files):
        actions.append(_write(RUBRIC, _rubric(name, files)))
    said = "`verifier/verifier.md` and a rubric are written"
    if not oracle:
        said += "; without a reference solution the task is not of publication grade"
    notes = [Note(kind="verifier", message=said)]
    marked = ", ".join(f"`{action.target}`" for action in actions if MARK.encode() in (action.content or b""))
    todo = f"say in {marked} what a passing trial looks like, and take `{MARK}` out"
    notes.append(Note(kind="person", message=todo, look=True))
    return tuple(actions), tuple(notes)


def _write(path: str, text: str) -> Action:
    return Action(verb="write", source="", target=f"verifier/{path}", content=text.encode())


def _script(files: Mapping[str, TaskFile]) -> dict[str, Any]:
    return {"type": "script", "command": script_command(files["test.sh"])}


def _judge(judge: Mapping[str, Any], files: Mapping[str, TaskFile]) -> dict[str, Any]:
    declared = "rubric_path" in judge
    path = str(judge.get("rubric_path", _DEFAULT_RUBRIC))
    rubric = path.removeprefix("verifier/" if declared else "tests/")
    if rubric not in files:
        raise Unsupported(
            f"`verifier.judge.rubric_path` is `{path}`; BenchFlow needs the rubric in the verifier's folder"
            if declared
            else f"`{path}` is missing, the default of `verifier.judge.rubric_path`, which is not declared;"
            " a judge needs its rubric"
        )
    kept = {key: judge[key] for key in ("model", "input_dir", "context") if judge.get(key)}
    return {"type": "llm-judge", "rubric": rubric, **kept}


def _document(name: str, strategy: Mapping[str, Any], files: Mapping[str, TaskFile]) -> str:
    kind = "script" if strategy["type"] == "script" else "judge"
    outputs = {"reward_text": "/logs/verifier/reward.txt", "reward_json": "/logs/verifier/reward.json"}
    script = files.get("test.sh")
    if script is not None and _CTRF in (script.text or ""):
        outputs["details_json"] = _CTRF
    frontmatter = {
        "document_version": "0.3",
        "verifier": {
            "name": name,
            "default_strategy": kind,
            "strategies": {kind: dict(strategy)},
            "rubric": {
                "combine": "weighted_mean",
                "dimensions": {"task_success": {"weight": 1.0, "source": kind}},
            },
            "outputs": outputs,
        },
    }
    if kind == "script":
        how = (
            "`test.sh` judges the trial and writes the reward. The command goes back to the image's working\n"
            "directory first, which is where the script ran before it had this document."
        )
    else:
        how = "A model judges the deliverables by the rubric that the strategy names."
    todo = f"{MARK} say in plain words what the verifier measures."
    return f"---\n{dump(frontmatter)}---\n\n## verifier intent\n\n{how}\n\n{todo}\n"


def _rubric(name: str, files: Mapping[str, TaskFile]) -> str:
    lines = [f"# Rubric of {name}", "", "- `task_success`: the reward that the verifier gives.", ""]
    checks = list(_checks(files))
    if checks:
        lines += ["The verifier's checks:", ""]
        lines += [f"- `{check}`" + (f": {said}" if said else "") for check, said in checks[:_MAX_CHECKS]]
        if len(checks) > _MAX_CHECKS:
            lines.append(f"- and {len(checks) - _MAX_CHECKS} more")
        lines.append("")
    lines.append(f"{MARK} say what a passing trial looks like, for a person who judges a case at the edge.")
    return "\n".join(lines) + "\n"


def _checks(files: Mapping[str, TaskFile]) -> Iterator[tuple[str, str]]:
    """Yield the names of the tests in the verifier's pytest files, with the first line of each docstring."""
    for path, file in files.items():
        own = path.rpartition("/")[2]
        if own.startswith("test") and own.endswith(".py") and file.size <= _LOOKED_AT:
            for match in _CHECK.finditer(file.text or ""):
                said = (match.group(2) or "").partition('"""')[0].strip().rstrip("'\"").strip()
                # BenchFlow refuses a verifier with its scaffold's marker, in quoted text too.
                yield match.group(1), "" if "[REPLACE:" in said else said
