"""The scan for what must not be published, over the very files that would be.

Looked for are the values of this machine's tokens, tokens by their shape, and
this machine's home folder. A hit names the file and the line, never the
secret. What a person has looked at and lets pass stands, with a reason, in the
collection's ``pyproject.toml``::

    [tool.seatrials.release.allow]
    "envs/find-the-keys/environment/*" = "made-up tokens, which the task is about"
    "envs/x/*" = { reason = "a test key", kinds = ["private-key"] }

A pattern's `*` stands for any characters, slashes too. Values of this
machine pass only where `kinds` names them.
"""

import base64
import json
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import accumulate
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from seatrials.errors import RefusedError, UsageError
from seatrials.release.contents import Data, pieces
from seatrials.release.detectors import TOKEN, known_tokens
from seatrials.release.settings import PYPROJECT, TABLE, table_at

_TABLE: Final = f"{TABLE}.allow"

MACHINE: Final = "machine-secret"
HOME: Final = "home-path"


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """How a kind of token looks: one of `marks` is in it, and `pattern` is all of it."""

    kind: str
    name: str
    marks: tuple[bytes, ...]
    pattern: re.Pattern[bytes]


def _shape(kind: str, name: str, marks: Sequence[bytes], pattern: bytes) -> Shape:
    return Shape(kind=kind, name=name, marks=tuple(marks), pattern=re.compile(pattern))


_START: Final = rb"(?<![A-Za-z0-9])"
_END: Final = rb"(?![A-Za-z0-9])"

SHAPES: Final = (
    # huggingface.co/docs/hub/security-tokens; the old organisation tokens began with api_org_.
    _shape("hugging-face", "a Hugging Face token", (b"hf_", b"api_org_"),
           _START + rb"(?:hf|api_org)_[A-Za-z0-9]{34,40}" + _END),
    # Anthropic's keys: a type, a version, 80 characters or more.
    _shape("anthropic", "an Anthropic key", (b"sk-ant-",), _START + rb"sk-ant-[a-z]+\d{2}-[\w-]{80,120}"),
    # OpenAI's keys hold "OpenAI" in base64; OpenRouter's and others of the sk- family have a version.
    _shape("openai", "an OpenAI key", (b"T3BlbkFJ",),
           _START + rb"sk-(?:(?:proj|svcacct|admin|None)-)?[\w-]{16,}T3BlbkFJ[\w-]{16,}"),
    _shape("openai", "an API key of the OpenAI kind", (b"sk-or-v1-",),
           _START + rb"sk-or-v1-[0-9a-f]{64}" + _END),
    # docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html: base32 after the prefix.
    _shape("aws", "an AWS access key", (b"AKIA", b"ASIA"), _START + rb"(?:AKIA|ASIA)[A-Z2-7]{16}" + _END),
    _shape("aws", "an AWS secret key", (b"aws", b"AWS"),
           rb"(?i:aws_?secret_?(?:access_?)?key)[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
           rb"(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"),
    # github.blog/2021-04-05-behind-githubs-new-authentication-token-formats
    _shape("github", "a GitHub token", (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_"),
           _START + rb"gh[pousr]_[A-Za-z0-9]{36,251}" + _END),
    _shape("github", "a GitHub token", (b"github_pat_",),
           _START + rb"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    # docs.gitlab.com/security/tokens, table of prefixes
    _shape("gitlab", "a GitLab token", (b"gl",),
           rb"gl(?<![A-Za-z0-9]gl)(?:pat|dt|rt|rtr|ptt|oas|ft|soat|imt|agent|ffct|cbt)-[\w.-]{20,}"),
    # docs.slack.dev/authentication/tokens
    _shape("slack", "a Slack token", (b"xox", b"xapp-"),
           _START + rb"(?:xox[abeoprs](?:\.xox[bp])?-\d[\w-]{16,}|xapp-\d-[A-Z0-9]+-\d+-[a-z0-9]{32,})"),
    _shape("slack", "a Slack webhook", (b"hooks.slack.com",),
           rb"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{43,}"),
    # cloud.google.com/docs/authentication/api-keys; OAuth client secrets begin with GOCSPX-.
    _shape("google", "a Google API key", (b"AIza",), rb"(?<![\w+/])AIza[\w-]{35}(?![\w+/=-])"),
    _shape("google", "a Google OAuth secret", (b"GOCSPX-",), _START + rb"GOCSPX-[\w-]{28}(?![\w-])"),
    _shape("google", "a Google OAuth token", (b"ya29.",), _START + rb"ya29\.[\w-]{60,}"),
    # RFC 7468 and its kin: the header alone is but text about keys, so its content must follow. In
    # notebooks and source code, quotes and escaped line ends stand between the lines.
    _shape("private-key", "a private key", (b"PRIVATE KEY",),
           rb"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
           rb"(?:[\s\"',+\\nr]{1,80}(?:[A-Za-z-]{2,20}: [^\r\n\\]{0,100}(?:[\s\"',+]|\\[nr])+){0,4})"
           rb"(?P<value>[A-Za-z0-9+/]{40,})"),
)  # fmt: skip
"""Token shapes that are looked for whatever a library does with them. The prefixes and lengths are
their makers' own, as far as those say them; `detectors` adds those of other makers."""

KINDS: Final = tuple(dict.fromkeys((*(shape.kind for shape in SHAPES), TOKEN, HOME, MACHINE)))

_OWNER: Final = re.compile(rb"(?<![\w.+-])[A-Za-z0-9][\w.+-]{0,63}\Z")
_OWNER_SIZE: Final = 65
_HOST: Final = re.compile(rb"(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24}(?![\w-])")
_NOBODY: Final = re.compile(
    r"@(?:.*\.)?(?:example(?:\.\w+)?|test|invalid|localhost|local)$|noreply", re.IGNORECASE
)
"""Addresses of nobody: RFC 2606's reserved names, and senders that take no mail."""

_SECRET_NAME: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_MIN_VALUE: Final = 8
_MIN_WORD: Final = 20
_MIN_DISTINCT: Final = 5
_PUBLIC_NAMES: Final = frozenset({"GPG_KEY"})
"""Variables with public values: Python's images name their release key's fingerprint so."""

_SHARED_HOMES: Final = frozenset(
    {"agent", "app", "circleci", "coder", "jovyan", "node", "runner", "ubuntu", "user", "vscode"}
)
"""Users of images and runners: their homes say nothing of a person, and tasks name them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """Something that must not be published. `line` is None in what has no lines.

    `inside` is the place within an archive or a table, or empty.
    """

    path: str
    inside: str
    line: int | None
    kind: str
    what: str

    def __str__(self) -> str:
        where = self.path + (f":{self.line}" if self.line is not None and not self.inside else "")
        within = (
            f" ({self.inside}{f', line {self.line}' if self.line is not None else ''})" if self.inside else ""
        )
        return f"`{where}`{within}: {self.what} ({self.kind})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Allowance:
    """One exception: a pattern of released paths, why, and for which kinds.

    Without kinds it is for all but the values of this machine.
    """

    pattern: str
    reason: str
    kinds: tuple[str, ...] = ()

    def covers(self, hit: Hit) -> bool:
        """Say whether a hit is let pass."""
        kinds = self.kinds or tuple(kind for kind in KINDS if kind != MACHINE)
        return hit.kind in kinds and fnmatchcase(hit.path, self.pattern)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scan:
    """What a scan came to.

    `mails` has each address with the path where it is first met, `unopened`
    the files that could not be looked into, with the reason, and `unused` the
    exceptions that cover nothing.
    """

    hits: tuple[Hit, ...]
    allowed: tuple[Hit, ...]
    mails: Mapping[str, str]
    unopened: tuple[str, ...]
    unused: tuple[Allowance, ...]


class SecretsFoundError(RefusedError):
    """The scan has hits; nothing was written."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        self.hits = tuple(hits)
        more = f", and {len(hits) - 1} more" if len(hits) > 1 else ""
        super().__init__(
            f"the scan stopped the release: {hits[0]}{more}; remove it, or let it pass with a reason under"
            f" `{_TABLE}` in `{PYPROJECT}`"
        )


@dataclass(frozen=True, kw_only=True)
class Known:
    """What this machine must not give away: (what it is, its spellings), and its home folder."""

    values: tuple[tuple[str, tuple[bytes, ...]], ...] = ()
    home: re.Pattern[bytes] | None = None


def known_here() -> Known:
    """Collect the values of this machine's tokens and secret variables, and its home folder."""
    from huggingface_hub import get_token

    values = {
        value: f"the value of the variable `{name}`"
        for name, value in sorted(os.environ.items())
        if _SECRET_NAME.search(name) and name not in _PUBLIC_NAMES and _telling(name, value)
    }
    token = get_token()
    if token:
        values[token] = "this machine's Hugging Face token"
    return known_of(values, Path.home())


def known_of(values: Mapping[str, str], home: Path | None) -> Known:
    """Return what to look for: `values` by secret, with what each is; `home` unless it is anybody's."""
    folder = str(home) if home is not None else ""
    personal = folder not in {"", "/", "/root", "/nonexistent"} and Path(folder).name not in _SHARED_HOMES
    return Known(
        values=tuple((what, _spellings(value)) for value, what in values.items()),
        home=re.compile(re.escape(folder.encode()) + rb"(?![\w.-])") if personal else None,
    )


def _telling(name: str, value: str) -> bool:
    """Say whether a value is a secret rather than a setting, such as a path, a switch or a word."""
    if len(value) < _MIN_VALUE or len(set(value)) < _MIN_DISTINCT or _is_path(value):
        return False
    if "PASSWORD" in name.upper():
        return value.lower() not in {"password", "changeme", "postgres"}
    return not (value.isdigit() or (value.replace("-", "").replace("_", "").isalpha() and value.islower()
                                    and len(value) < _MIN_WORD))  # fmt: skip


def _is_path(value: str) -> bool:
    try:
        return Path(value).exists()
    except (OSError, ValueError):  # too long for a path, say
        return False


def _spellings(value: str) -> tuple[bytes, ...]:
    """Return a value as it is, as in JSON, in a URL, and in base64 at each of its three offsets."""
    raw = value.encode("utf-8", "surrogateescape")
    # Characters of base64 that hold bits of what is around the value too are cut off at both ends.
    coded = [
        base64.b64encode(b"\0" * shift + raw)[cut : (shift + len(raw)) * 8 // 6]
        for shift, cut in enumerate((0, 2, 3))
    ]
    plain = (raw, json.dumps(value)[1:-1].encode(), quote(value, safe="").encode("ascii", "replace"))
    return tuple(dict.fromkeys((*plain, *(code for code in coded if len(code) >= _MIN_VALUE))))


def allowances(root: Path) -> tuple[Allowance, ...]:
    """Read the exceptions of a collection; UsageError for one that lacks a reason or names no such kind."""
    table = table_at(root).get("allow", {})
    if not isinstance(table, dict):
        raise UsageError(f"`{_TABLE}` in `{PYPROJECT}` must be a table of paths")
    return tuple(_allowance(pattern, value) for pattern, value in table.items())


def _allowance(pattern: str, value: Any) -> Allowance:
    where = f"`{_TABLE}` in `{PYPROJECT}`: `{pattern}`"
    data = {"reason": value} if isinstance(value, str) else value
    match data:
        case {"reason": str(reason), **rest} if reason.strip():
            kinds = rest.pop("kinds", [])
            if rest:
                raise UsageError(f"{where} has `{next(iter(rest))}`; it may have `reason` and `kinds`")
            if not isinstance(kinds, list) or not all(kind in KINDS for kind in kinds):
                raise UsageError(f"{where} must have a list of these in `kinds`: {', '.join(KINDS)}")
            return Allowance(pattern=pattern, reason=reason.strip(), kinds=tuple(kinds))
        case _:
            raise UsageError(f"{where} must have a reason")


def scan(
    root: Path,
    paths: Sequence[str],
    known: Known,
    allowed: Sequence[Allowance] = (),
    *,
    derived: Container[str] = (),
    watch: Callable[[int], None] = lambda _: None,
) -> Scan:
    """Scan files below `root`; `paths` are relative to it, and are scanned too.

    `watch` is told the number of the file that is looked at.

    `derived` are those that the kit made out of the others: what was let pass
    in a source passes there too.
    """
    hits: dict[Hit, None] = {}
    passed: dict[Hit, None] = {}
    copies: list[tuple[Hit, bytes]] = []
    seen: set[tuple[str, bytes]] = set()
    unopened: list[str] = []
    mails: dict[str, str] = {}
    for hit in _in_names(paths, known):
        (passed if any(allowance.covers(hit) for allowance in allowed) else hits)[hit] = None
    for number, path in enumerate(paths, 1):
        watch(number)
        for piece in pieces(root / path):
            place = f"`{path}`" + (f" ({piece.inside})" if piece.inside else "")
            if piece.unopened:
                unopened.append(f"{place}: {piece.unopened}")
                continue
            lines = piece.lines and not _binary(piece.data)
            for kind, what, start, end in _find(piece.data, known):
                line = piece.data[:start].count(b"\n") + 1 if lines else None
                hit = Hit(path=path, inside=piece.inside, line=line, kind=kind, what=what)
                value = piece.data[start:end]
                if any(allowance.covers(hit) for allowance in allowed):
                    passed[hit] = None
                    seen.add((kind, value))
                elif path in derived:
                    copies.append((hit, value))
                else:
                    hits[hit] = None
            for mail in _mails(piece.data):
                mails.setdefault(mail, path)
    hits.update((hit, None) for hit, value in copies if (hit.kind, value) not in seen)
    return Scan(
        hits=tuple(hits),
        allowed=tuple(passed),
        mails=dict(sorted(mails.items())),
        unopened=tuple(unopened),
        unused=tuple(allowance for allowance in allowed if not any(map(allowance.covers, passed))),
    )


def refuse_in_texts(texts: Mapping[str, str], known: Known) -> None:
    """Raise RefusedError where one of some texts, by the option that it is given with, holds a secret."""
    for option, text in texts.items():
        for kind, what, _, _ in _find(text.encode("utf-8", "surrogateescape"), known):
            raise RefusedError(
                f"`{option}` holds {what} ({kind}), and all can read it there; nothing was sent"
            )


def _in_names(paths: Sequence[str], known: Known) -> Iterator[Hit]:
    names = [path.encode("utf-8", "surrogateescape") for path in paths]
    ends = list(accumulate(len(name) + 1 for name in names))
    whole = b"\n".join(names)
    # Some tokens are none after a slash: base64 has slashes.
    for text in (whole, whole.replace(b"/", b"\n")):
        for kind, what, start, end in _find(text, known):
            place = bisect_right(ends, start)
            name, first = names[place], ends[place] - len(names[place]) - 1
            rest = (name[: start - first], name[max(end - first, 0) :])
            shown = "…".join(part.decode("utf-8", "replace") for part in rest)
            yield Hit(path=shown, inside="the path itself", line=None, kind=kind, what=what)


def _find(data: Data, known: Known) -> Iterator[tuple[str, str, int, int]]:
    for what, spellings in known.values:
        for spelling in spellings:
            position = data.find(spelling)
            while position >= 0:
                yield MACHINE, what, position, position + len(spelling)
                position = data.find(spelling, position + len(spelling))
    if known.home is not None:
        for match in known.home.finditer(data):
            yield HOME, "this machine's home folder", *match.span()
    ours: list[tuple[int, int]] = []
    for shape in SHAPES:
        if all(data.find(mark) < 0 for mark in shape.marks):
            continue
        for match in shape.pattern.finditer(data):
            value = match.groupdict().get("value") or match.group()
            if not _made_up(value):
                ours.append(match.span())
                yield shape.kind, shape.name, *match.span()
    for token in known_tokens(data):
        again = any(token.start < end and start < token.end for start, end in ours)
        if not again and not _made_up(token.value):
            yield token.kind, f"what looks like: {token.name}", token.start, token.end


_FILLER: Final = re.compile(
    rb"(?i)example|placeholder|your[-_]?|x{6}|\*{4}|fake|dummy|redacted|sample|notareal|"
    rb"0123456789|1234567890|abcdefghij|abc123|123abc|xyz789|a1b2c3|1a2b3c|[rs]k_test_|(.)\1{7}"
)


def _made_up(value: bytes) -> bool:
    """Say whether a token says of itself that it is none: filler words, runs, alphabets."""
    return _FILLER.search(value) is not None


def _mails(data: Data) -> Iterator[str]:
    position = data.find(b"@")
    if position < 0 or _binary(data):
        return
    while position >= 0:
        # Only around each @: tried at every word, one pattern would take longer than all the others.
        owner = _OWNER.search(data[max(position - _OWNER_SIZE, 0) : position])
        host = _HOST.match(data, position + 1) if owner is not None else None
        if owner is not None and host is not None:
            mail = (owner.group() + b"@" + host.group()).decode("ascii", "replace")
            if not _NOBODY.search(mail):
                yield mail
        position = data.find(b"@", position + 1)


def _binary(data: Data) -> bool:
    return b"\0" in data[:8192]
