"""A new task from the copier template of a collection, or from the one that the kit ships."""

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from seatrials.errors import UsageError
from seatrials.task.collection import enclosing_task

TEMPLATE: Final = "template"


def template_for(home: Path) -> Path:
    """Return the template folder: the collection's own ``template/``, else the kit's."""
    package = Path(__file__).parent
    for folder in (home / TEMPLATE, package.parents[1] / TEMPLATE, package / "_template"):
        if (folder / "copier.yml").is_file():
            return folder
    raise UsageError(f"no `{TEMPLATE}/copier.yml` in `{home}`, and this install of seatrials has no template")


def scaffold(template: Path, target: Path, answers: Mapping[str, str], *, ask: bool) -> None:
    """Render the template into `target`, which must not exist yet.

    With `ask`, questions without an answer are put on the terminal; else they
    take their defaults. Raises UsageError for an answer that a question's
    validator refuses, for one that no question asks for, and for a folder that
    can't be written; nothing is left behind then.
    """
    try:
        taken = target.is_symlink() or target.exists()
    except OSError as error:
        raise UsageError(f"`{target}` can't be made: {error.strerror}") from None
    if taken:
        raise UsageError(f"`{target}` exists already; choose another name")
    if (around := enclosing_task(target)) is not None:
        raise UsageError(f"`{target}` would lie in the task `{around.name}`; a task can't hold another")
    questions = _questions(template)
    for key in answers:
        if questions and key not in questions:
            near = get_close_matches(key, questions, n=1)
            raise UsageError(
                f"`{key}` is no question of the template; "
                + (f"did you mean `{near[0]}`?" if near else f"it asks for {', '.join(questions)}")
            )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"`{target.parent}` can't be made: {error.strerror}") from None
    from copier import run_copy
    from copier.errors import CopierAnswersInterrupt, CopierError, InteractiveSessionError

    try:
        run_copy(str(template), target, data=dict(answers), defaults=not ask, quiet=True)
    except CopierAnswersInterrupt:
        raise KeyboardInterrupt from None
    except InteractiveSessionError:
        raise UsageError(
            "no terminal to ask on; give answers with `-d KEY=VALUE` or take `--defaults`"
        ) from None
    except (ValueError, CopierError) as error:
        said = " ".join(str(error).split())
        raise UsageError(f"the template refuses an answer: {said}") from None
    except OSError as error:
        raise UsageError(f"`{target}` can't be written: {error.strerror}") from None


def _questions(template: Path) -> tuple[str, ...]:
    """Return the keys that a template asks for; none where its questions are spread over files."""
    import yaml

    try:
        asked = yaml.safe_load((template / "copier.yml").read_text("utf-8"))
    except yaml.YAMLError:  # `!include` is copier's own
        return ()
    if not isinstance(asked, dict):
        return ()
    # One with `when: false` is the template's own.
    return tuple(
        key
        for key, question in asked.items()
        if not key.startswith("_") and not (isinstance(question, dict) and question.get("when") is False)
    )
