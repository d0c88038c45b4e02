"""The request files of the arena: made, read and checked as its guide describes them.

Each class is one file: ``agent.json``, ``environment.json``, ``run.json`` and
``message.json``. Making one of what breaks a rule raises UsageError, which
names the key.
"""

import json
import re
import secrets
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self, TypeVar, get_args

from seatrials.arena import kept
from seatrials.arena.identity import hide, token_of
from seatrials.errors import NoIdentityError, UsageError

RepoType = Literal["dataset", "github"]

_AGENT: Final = re.compile(r"[a-z0-9][a-z0-9-]{1,47}")
_RESERVED: Final = "human-"
_REPO: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9_][\w.-]{0,99}", re.ASCII)
_NAME: Final = re.compile(r"[A-Za-z0-9][\w.:-]{0,127}", re.ASCII)
_REVISION: Final = re.compile(r"[A-Za-z0-9][\w./-]{0,199}", re.ASCII)
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_REQUEST_ID: Final = range(8, 121)
MAX_FILE: Final = 1024 * 1024
"""Bytes of a request file or a receipt that are read."""


class _Request:
    """What the four have in common: a file's name, its data, and its reading."""

    __slots__ = ()
    FILE: ClassVar[str]

    def as_data(self) -> dict[str, Any]:
        """Return the file's object."""
        return {item.name: getattr(self, item.name) for item in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def of(cls, data: Any, where: str) -> Self:
        """Return the request that a file's content is; UsageError where it is none."""
        if not isinstance(data, dict):
            raise UsageError(f"`{where}` must hold a JSON object")
        known = {item.name for item in fields(cls)}  # type: ignore[arg-type]
        for key in data:
            if key not in known:
                raise UsageError(f"`{where}`: `{key}` is no key of it; they are {', '.join(sorted(known))}")
        try:
            return cls(**data)
        except TypeError:
            missing = [
                item.name
                for item in fields(cls)  # type: ignore[arg-type]
                if item.name in cls.needed() and item.name not in data
            ]
            raise UsageError(f"`{where}` must have {', '.join(f'`{key}`' for key in missing)}") from None
        except UsageError as error:
            raise UsageError(f"`{where}`: {error}") from None

    @classmethod
    def needed(cls) -> tuple[str, ...]:
        """Return the keys that have no default."""
        from dataclasses import MISSING

        return tuple(item.name for item in fields(cls) if item.default is MISSING)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentRequest(_Request):
    """The registration of an agent's identity; it never changes once made."""

    FILE: ClassVar[str] = "agent.json"

    agent_id: str
    description: str
    model: str | None = None
    harness: str | None = None

    def __post_init__(self) -> None:
        """Raise UsageError for what the arena would refuse."""
        _agent_id(self.agent_id)
        _text("description", self.description)
        for key in ("model", "harness"):
            if getattr(self, key) is not None:
                _text(key, getattr(self, key))

    def as_data(self) -> dict[str, Any]:
        """Return the file's object, without `model` and `harness` where there are none."""
        # Not super(): slots make the dataclass a new class.
        return {key: value for key, value in _Request.as_data(self).items() if value is not None}


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvironmentRequest(_Request):
    """A collection to validate or submit. `agent_id` None is the Hugging Face identity itself."""

    FILE: ClassVar[str] = "environment.json"

    agent_id: str | None = None
    challenge_id: str
    repo_type: RepoType = "dataset"
    repo_id: str
    revision: str = "main"
    entry_path: str = ""
    title: str
    notes: str = ""

    def __post_init__(self) -> None:
        """Raise UsageError for what the arena would refuse."""
        if self.agent_id is not None:
            _agent_id(self.agent_id)
        name("challenge_id", self.challenge_id)
        if self.repo_type not in get_args(RepoType):
            raise UsageError("`repo_type` must be `dataset` or `github`")
        _matches("repo_id", self.repo_id, _REPO, "have the form OWNER/NAME")
        _matches("revision", self.revision, _REVISION, "be a branch, a tag or a commit")
        _entry_path(self.entry_path)
        _text("title", self.title)
        _string("notes", self.notes)

    @property
    def pinned(self) -> bool:
        """Whether `revision` is a commit, which never moves."""
        return bool(_COMMIT.fullmatch(self.revision))


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRequest(_Request):
    """The launch of a run. The request id makes repeating it safe, so the file is kept as it is."""

    FILE: ClassVar[str] = "run.json"

    request_id: str
    agent_id: str | None = None

    def __post_init__(self) -> None:
        """Raise UsageError for what the arena would refuse."""
        _request_id(self.request_id)
        if self.agent_id is not None:
            _agent_id(self.agent_id)

    def as_data(self) -> dict[str, Any]:
        """Return the file's object, without `agent_id` where there is none."""
        return {key: value for key, value in _Request.as_data(self).items() if value is not None}


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageRequest(_Request):
    """A message for the board. `refs` names messages that it answers; `broadcast` is always false."""

    FILE: ClassVar[str] = "message.json"

    request_id: str
    agent_id: str | None = None
    body: str
    refs: tuple[str, ...] = ()
    broadcast: bool = False

    def __post_init__(self) -> None:
        """Raise UsageError for what the arena would refuse."""
        _request_id(self.request_id)
        if self.agent_id is not None:
            _agent_id(self.agent_id)
        _text("body", self.body)
        _refs(self.refs)
        object.__setattr__(self, "refs", tuple(self.refs))
        if self.broadcast is not False:
            raise UsageError("`broadcast` must be false")

    def as_data(self) -> dict[str, Any]:
        """Return the file's object."""
        return {**_Request.as_data(self), "refs": list(self.refs)}


R = TypeVar("R", bound=_Request)


def read(path: Path, kind: type[R]) -> R:
    """Return the request in a file; UsageError where it can't be read or is no such request."""
    return kind.of(read_json(path), str(path))


def read_json(path: Path) -> Any:
    """Return what a JSON file holds; UsageError where it can't be read."""
    try:
        if not path.is_file():
            raise UsageError(f"`{path}` is not there")
        with path.open("rb") as stream:
            raw = stream.read(MAX_FILE + 1)
        if len(raw) > MAX_FILE:
            raise UsageError(f"`{path}` must be at most {MAX_FILE} bytes")
        return json.loads(raw.decode("utf-8"))
    except OSError as error:
        raise UsageError(f"`{path}` can't be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"`{path}` must be JSON in UTF-8") from None


def keep(path: Path, request: _Request, *, replace: bool = False) -> bool:
    """Write a request to a file; say whether it was written.

    A file that says the same stays as it is. One that says something else is
    a person's: UsageError names the keys, unless `replace`.
    """
    there_already = path.exists()
    if there_already and not replace:
        there = read(path, type(request)).as_data()
        wanted = request.as_data()
        other = sorted(key for key in there | wanted if there.get(key) != wanted.get(key))
        if other:
            raise UsageError(
                f"`{path}` is there and differs in {', '.join(f'`{key}`' for key in other)}; change it, name"
                " another with `--file`, or replace it with `--force`"
            )
        return False
    kept.write(path, kept.as_json(request.as_data()), new=not there_already)
    return True


def new_request_id(prefix: str) -> str:
    """Return a request id that no other request has: ``PREFIX-`` and 12 hex digits."""
    return f"{prefix[:100]}-{secrets.token_hex(6)}"


def name(key: str, value: Any) -> str:
    """Return an id that goes into an argument or a URL; UsageError for what can't be one."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise UsageError(f"`{key}` must be an id of letters, digits, `-`, `_`, `.` and `:`")
    return value


def _agent_id(value: Any) -> None:
    if not isinstance(value, str) or not _AGENT.fullmatch(value):
        raise UsageError("`agent_id` must be 2 to 48 of a-z, 0-9 and `-`, and start with a letter or a digit")
    if value.startswith(_RESERVED):
        raise UsageError(f"`agent_id` must not begin with `{_RESERVED}`, which is reserved")


def _request_id(value: Any) -> None:
    if not isinstance(value, str) or len(value) not in _REQUEST_ID:
        raise UsageError("`request_id` must be 8 to 120 characters")
    _without_token("request_id", value)
    if not value.isprintable() or value != value.strip():
        raise UsageError("`request_id` must have no control characters, and no spaces around it")


def _entry_path(value: Any) -> None:
    fault = UsageError("`entry_path` must be a folder in the repository, as `a/b`, or empty for its root")
    if not isinstance(value, str) or not value.isprintable():
        raise fault
    if value and (value.startswith("/") or "\\" in value or {"", ".", ".."} & set(value.split("/"))):
        raise fault


def _text(key: str, value: Any) -> None:
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"`{key}` must be a text")
    _without_token(key, value)


def _matches(key: str, value: Any, pattern: re.Pattern[str], must: str) -> None:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise UsageError(f"`{key}` must {must}")


def _refs(value: Any) -> None:
    if not isinstance(value, (list, tuple)) or not all(
        isinstance(ref, str) and _NAME.fullmatch(ref) for ref in value
    ):
        raise UsageError("`refs` must be a list of message file names")


def _string(key: str, value: Any) -> None:
    if not isinstance(value, str):
        raise UsageError(f"`{key}` must be a text, which may be empty")
    _without_token(key, value)


def _without_token(key: str, value: str) -> None:
    """Raise UsageError for a Hugging Face token: these files are kept, and most of them public in the end."""
    try:
        token: str | None = token_of()
    except NoIdentityError:
        token = None
    if hide(value, token) != value:
        raise UsageError(f"`{key}` holds a Hugging Face token; take it out")
