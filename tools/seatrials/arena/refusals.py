"""What it means when the arena or its client says no, and what to do about it, as the arena's guide tells."""

from collections.abc import Sequence
from typing import Final

from seatrials.arena.answer import Answer, command_of
from seatrials.arena.calls import COMMANDS
from seatrials.errors import (
    CannotJudgeError,
    NoIdentityError,
    PreflightRefusedError,
    RefusedError,
    SeatrialsError,
    UsageError,
)

_USAGE: Final = 2
_PREFLIGHT: Final = 3
_NO_TOKEN: Final = 4
_SERVER: Final = 500
_TOO_MANY: Final = 429
_BUSY: Final = 503


class ArenaRefusedError(RefusedError):
    """A definite no of the arena's (4xx): nothing was stored or started. `status` is HTTP's."""

    def __init__(self, message: str, answer: Answer) -> None:
        super().__init__(message)
        self.answer = answer
        self.status = answer.status
        self.retry_after = answer.retry_after


class ArenaUnavailableError(CannotJudgeError):
    """No answer to go by: the arena has an error, is not reached, or its answer is cut off.

    What a command was to change may have been changed all the same. `answer`
    is None where the client was ended at its time limit.
    """

    def __init__(self, message: str, answer: Answer | None = None) -> None:
        super().__init__(message)
        self.answer = answer
        self.status = answer.status if answer is not None else None
        self.retry_after = answer.retry_after if answer is not None else None

    @property
    def may_repeat(self) -> bool:
        """Whether the exact same call may be sent again: neither the answer nor the client says to stop."""
        if self.answer is None:
            return True
        return (
            self.answer.fields.get("retry_with_same_request_id") is not False and not self.answer.persistent
        )


def refusal(answer: Answer) -> SeatrialsError:
    """Return the exception for an answer whose exit code says that the command did not succeed."""
    match answer.code:
        case c if c == _USAGE:
            return UsageError(
                f"`arena_cli.py` does not take `{answer.command}` as it was called"
                f"{_because(answer)}; it may be of another version than this kit knows"
            )
        case c if c == _PREFLIGHT:
            return PreflightRefusedError(
                f"the preflight does not allow the run{_because(answer)}; nothing was reserved or started"
            )
        case c if c == _NO_TOKEN:
            return NoIdentityError(
                "the arena's client finds no Hugging Face token; use `hf auth login`, or set `HF_TOKEN`"
            )
        case _:
            return _error(answer)


def _error(answer: Answer) -> SeatrialsError:
    status = answer.status
    if answer.fields.get("valid") is False:
        return ArenaRefusedError(
            f"the collection is not valid{_because(answer)}; `seatrials arena validate` tells all: mend"
            " it, upload, and submit again",
            answer,
        )
    if status is None or status >= _SERVER:
        return _unavailable(answer, status)
    if status == 401 and _is_public(answer):  # noqa: PLR2004 - Unauthorized
        return ArenaRefusedError(
            f"the arena wants an identity for `{answer.command}` (401), public by its guide; no token"
            " was sent",
            answer,
        )
    if status == 401:  # noqa: PLR2004 - as above
        return NoIdentityError(
            "the arena does not accept the Hugging Face token (401); log in anew with `hf auth login`"
        )
    text = f"the arena refuses `{answer.command}` ({status}){_because(answer)}; {_advice(answer, status)}"
    return ArenaRefusedError(text, answer)


def _is_public(answer: Answer) -> bool:
    command = COMMANDS.get(answer.command)
    return command is not None and not command.identity


def _unavailable(answer: Answer, status: int | None) -> ArenaUnavailableError:
    if answer.is_html or (status is not None and not answer.reason):
        what = f"the arena is briefly unavailable ({f'{status}, ' if status else ''}its proxy answered)"
    elif status is not None:
        what = f"the arena failed at `{answer.command}` ({status}){_because(answer)}"
    else:
        what = f"`{answer.command}` got no answer from the arena{_because(answer)}"
    if answer.persistent:
        return ArenaUnavailableError(f"{what}; each try failed alike: stop, and ask an organizer", answer)
    wait = answer.retry_after
    when = f"in {duration(wait)}" if wait is not None else "later"
    match answer.fields.get("launched"):
        case False:
            told = f"nothing was started: run the exact same command again {when}"
        case True:
            told = "the run was started: `seatrials arena runs` shows it"
        case _:
            told = again(answer.words, when)
    return ArenaUnavailableError(f"{what}; {told}", answer)


def again(words: Sequence[str], when: str) -> str:
    """Return what to do after a call whose outcome is unknown."""
    match command_of(words):
        case "submit":
            return (
                f"it may have been stored all the same: run the same command again {when}, which sends the"
                " saved `.pinned.json` and gives the same record"
            )
        case "run" if "--execute" in words:
            return (
                "the run may have been started all the same: run the exact same command again"
                f" {when}, never with a new request id"
            )
        case "board post":
            return (
                "it may have been posted all the same: look with `seatrials arena board list`, then post the"
                f" same file again {when}, never with a new request id"
            )
        case _:
            return f"run the same command again {when}"


def _advice(answer: Answer, status: int) -> str:
    command = answer.command
    wait = answer.retry_after
    if status == _TOO_MANY:
        when = f"the arena asks to wait {duration(wait)}" if wait is not None else "wait"
        if command == "run":
            return f"one counted run per collection and challenge in 24 hours; nothing was started; {when}"
        return f"{when}, then run the same command again"
    return _ADVICE.get((command, status)) or _ADVICE.get(("", status)) or "nothing was stored or started"


_ADVICE: Final[dict[tuple[str, int], str]] = {
    **{
        (command, status): advice
        for command in ("validate", "submit")
        for status, advice in (
            (403, "make the data set public and ungated, and use an agent id of your own or null"),
            (404, "repository, revision, folder or challenge is not there, or the repository is not public"),
            (409, "the challenge may be closed; `seatrials arena challenges` lists the open one"),
        )
    },
    ("validate", 422): "mend the request or the collection, upload, and validate again",
    ("submit", 422): "mend the request or the collection, upload, validate, and submit again",
    ("register-agent", 409): (
        "another user has this id, or you registered it with other words: a registration never changes; add"
        " a digit and register that"
    ),
    ("register-agent", 422): "mend `agent.json`",
    ("run", 403): "only the collection's author and BenchFlow editors may run it; nothing was started",
    ("run", 409): (
        "another run is active, the cap is too low, the challenge is closed, or the request id belongs to"
        " another run; nothing was started: wait or ask an organizer, and never change the request id to get"
        " past this"
    ),
    (
        "run",
        422,
    ): "the collection can't run as it was submitted; nothing was started: mend and submit it again",
    ("result collect", 403): "only the collection's author and BenchFlow editors may collect the result",
    (
        "result collect",
        409,
    ): "the run is not scored yet, or its report differs; `seatrials arena runs` shows it",
    ("gates plan", 403): "only the collection's author and BenchFlow editors may ask for its plan",
    ("board post", 403): "post under an agent id of your own, or under null",
    ("board post", 409): "this request id stands for another message; never post changed words under it",
    ("board post", 422): "mend `message.json`",
    ("", 403): "this identity may not do that; `seatrials arena whoami` shows who the arena sees",
    ("", 404): "it is not there; `challenges`, `environments list` and `runs` list what is",
    ("", 409): "it is in another state than this command needs; nothing was stored or started",
    ("", 410): "the arena has retired this",
    ("", 422): "mend the request; nothing was stored or started",
}


def _because(answer: Answer) -> str:
    reason = answer.reason
    return f": {reason.rstrip('.;')}" if reason else ""


def duration(seconds: float) -> str:
    """Return a length of time as people say it: ``40 s``, ``5 min``, ``23 h 5 min``."""
    whole = round(seconds)
    if whole < 120:  # noqa: PLR2004 - seconds that are easier than minutes
        return f"{whole} s"
    minutes, hours = -(-whole // 60), 0
    hours, minutes = divmod(minutes, 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
