"""What is done with care since its answer may be lost: the launch of a run, and a message on the board.

Both have a request id, under which the arena does a thing once. After an
uncertain answer the id is looked for before the exact same call is made
again. A new id would be a second run.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from seatrials.arena import kept
from seatrials.arena.answer import Answer
from seatrials.arena.client import Arena
from seatrials.arena.refusals import ArenaRefusedError, ArenaUnavailableError, duration
from seatrials.arena.requests import MessageRequest, RunRequest, read, read_json
from seatrials.arena.results import rows_of
from seatrials.errors import RefusedError, UsageError

RECEIPT: Final = "run-receipt.json"
TRIES: Final = 3
"""How often the exact same call is made; the client itself sends a request up to four times within each."""

PAUSE: Final = 5.0
"""Seconds before a look, where the arena names none: a request that is under way gets time to show."""

_NOT_LAUNCHED: Final = "not launched"

Say = Callable[[str], None]


def quiet(_: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """What was asked for is there. `found` says that a look found it, from an earlier call."""

    record: Mapping[str, Any]
    found: bool
    answer: Answer

    @property
    def run_id(self) -> str | None:
        """The run's id, where the record has one."""
        return _text(self.record, "run_id", "id")


def find_run(arena: Arena, challenge: str, request_id: str) -> Done | None:
    """Return the run with a request id (`request_key` in the arena's list); None where none was launched."""
    answer = arena.runs(challenge)
    for row in rows_of(answer.data, "runs", "requests"):
        if _text(row, "request_key", "request_id") == request_id and row.get("status") != _NOT_LAUNCHED:
            return Done(record=row, found=True, answer=answer)
    return None


def check_receipt(file: Path, challenge: str, environment_id: str) -> None:
    """Raise UsageError where the receipt beside a ``run.json`` is of another collection or challenge."""
    receipt = file.with_name(RECEIPT)
    if not receipt.is_file():
        return
    request = read(file, RunRequest)
    told = read_json(receipt)
    if not isinstance(told, dict) or _text(told, "request_key", "request_id") != request.request_id:
        return
    _same_run(told, file, challenge, environment_id)


def launch(
    arena: Arena,
    challenge: str,
    environment_id: str,
    file: Path,
    *,
    look_first: bool = True,
    say: Say = quiet,
) -> Done:
    """Start the run of a ``run.json``, once; keep the answer beside it as ``run-receipt.json``.

    With `look_first` (the file is not new) an earlier launch is looked for
    before anything. Raises ArenaRefusedError for a definite no, and
    ArenaUnavailableError where the outcome stays unknown: the same call with
    the same file is safe later.
    """
    request = read(file, RunRequest)
    kept.check_folder(file.absolute().parent)
    check_receipt(file, challenge, environment_id)

    def look() -> Done | None:
        return find_run(arena, challenge, request.request_id)

    def call() -> Answer:
        return arena.launch(challenge, environment_id, file)

    done = look() if look_first else None
    if done is None:
        done = _once(arena, "run", call, look, say=say)
    return adopt(done, challenge, environment_id, file)


def adopt(done: Done, challenge: str, environment_id: str, file: Path) -> Done:
    """Keep a run's record as the receipt; UsageError where it is of another collection or challenge."""
    _same_run(done.record, file, challenge, environment_id)
    try:
        kept.write(file.with_name(RECEIPT), kept.as_json(done.record))
    except UsageError as error:
        raise UsageError(f"the run is started as `{done.run_id}`, but {error}") from None
    return done


def post(arena: Arena, file: Path, *, say: Say = quiet) -> Done:
    """Post the message of a ``message.json``, once. Raises as `launch` does."""
    request = read(file, MessageRequest)

    def look() -> Done | None:
        answer = arena.board()
        for row in rows_of(answer.data, "messages"):
            if _text(row, "request_id", "request_key") == request.request_id:
                return Done(record=row, found=True, answer=answer)
        return None

    return _once(arena, "board post", lambda: arena.post(file), look, say=say)


def _once(
    arena: Arena, what: str, call: Callable[[], Answer], look: Callable[[], Done | None], *, say: Say
) -> Done:
    left = arena.wait
    number = 0
    while True:
        number += 1
        try:
            answer = call()
        except ArenaRefusedError as error:
            # Definite: nothing to look for. A rate limit that ends soon is waited for.
            wait = error.retry_after
            if wait is None or wait > left or number == TRIES:
                raise
            say(f"{error}; waiting")
        except ArenaUnavailableError as error:
            asked = error.retry_after
            again = error.may_repeat and number < TRIES and (asked is None or asked <= left)
            wait = asked if asked is not None and again else PAUSE
            say(f"{error}")
            say(f"looking for the request id in {duration(wait)}, before anything is sent again")
            arena.pause(wait)
            left -= wait
            found = _looked(look, error)
            if found is not None:
                return found
            if not again:
                raise
            say(f"`{what}` did not arrive: the exact same call once more")
            continue
        else:
            record = answer.data if isinstance(answer.data, dict) else {}
            return Done(record=record, found=record.get("existing") is True, answer=answer)
        arena.pause(max(wait, 1.0))
        left -= wait


def _looked(look: Callable[[], Done | None], error: ArenaUnavailableError) -> Done | None:
    """Return what a look finds. Where one can't look, the first error stands: the outcome is unknown."""
    try:
        return look()
    except (ArenaUnavailableError, RefusedError):
        raise error from None


def _same_run(record: Mapping[str, Any], file: Path, challenge: str, environment_id: str) -> None:
    for keys, wanted in ((("environment_id",), environment_id), (("challenge_id", "challenge"), challenge)):
        told = _text(record, *keys)
        if told is not None and told != wanted:
            raise UsageError(
                f"the request id in `{file}` belongs to a run of `{told}`, not `{wanted}`; keep it, and"
                " name another with `--file`"
            )


def _text(row: Mapping[str, Any], *keys: str) -> str | None:
    return next((value for key in keys if isinstance(value := row.get(key), str)), None)
