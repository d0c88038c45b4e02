"""The arena, driven through its own client ``arena_cli.py``.

The client's commands, the JSON on its standard output, the summary on its
standard error and its exit codes are the arena's only documented interface.
It runs as a program of its own, in an environment built from scratch; the
token is in that only for commands which need an identity::

    arena = Arena(ask=ask)                       # ARENA_URL, else the public Space
    arena.challenges().data                      # reads need no token
    found = arena.validate(Path("environment.json"))
    if found.valid and found.eligible:
        sent = arena.submit(Path("environment.json"))
        arena.preflight("openenv-9b", sent.environment_id)

What each call raises: NoIdentityError before anything is started where a token
is needed and there is none; `refusals.ArenaRefusedError` for the arena's no
(4xx), `refusals.ArenaUnavailableError` where there is no answer to go by;
RefusedError where the client is not trusted; UsageError for a bad argument.
"""

import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final

from seatrials import proc
from seatrials.arena import kept
from seatrials.arena.answer import Answer, command_of, parsed, words_of
from seatrials.arena.calls import COMMANDS
from seatrials.arena.identity import hide, token_of
from seatrials.arena.refusals import ArenaRefusedError, ArenaUnavailableError, again, duration, refusal
from seatrials.arena.requests import AgentRequest, EnvironmentRequest, MessageRequest, name, read, read_json
from seatrials.arena.results import Preflight, Submission, Validation, commit_of, rows_of
from seatrials.arena.site import Site, site_of
from seatrials.arena.trust import Ask, Trust
from seatrials.errors import CannotJudgeError, UsageError

CLIENT: Final = "arena_cli.py"

RECEIPT: Final = "environment-receipt.json"
PINNED: Final = ".pinned.json"
VALIDATION: Final = "validation.json"

WAIT: Final = 120.0
"""Seconds that one call waits in all on a `Retry-After`; a longer one is told, not waited for."""


_TOO_MANY: Final = 429
_PROXIES: Final = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy")
_CERTIFICATES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def argv_of(client: Path, words: Collection[str]) -> tuple[str, ...]:
    """Return how the client is started: by this Python, without folders and variables of the user's."""
    return (sys.executable, "-I", "-X", "utf8", str(client), *words)


def environment_of(site: Site, *, home: Path, token: str | None, outer: Mapping[str, str]) -> dict[str, str]:
    """Return all of the client's environment. Without a token nothing in it leads to one.

    `home` is an empty folder; of `outer` only the search path, and for an arena
    elsewhere its proxies and certificates, are passed on.
    """
    own = {
        "PATH": outer.get("PATH", os.defpath),
        "LC_ALL": "C.UTF-8",
        "HOME": str(home),
        "TMPDIR": str(home),
        "XDG_CACHE_HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "HF_HOME": str(home / "none"),
        "HF_TOKEN_PATH": str(home / "none" / "token"),
        "ARENA_URL": site.url,
    }
    if site.loopback:
        own["NO_PROXY"] = own["no_proxy"] = "127.0.0.1,localhost,::1"
    else:
        own |= {key: outer[key] for key in (*_PROXIES, *_CERTIFICATES) if key in outer}
    if token is not None:
        own["HF_TOKEN"] = token
    return own


class Arena:
    """An arena. Its client is fetched, and trusted or refused, at the first call.

    `ask` asks a person whether the client may run (None: nobody to ask);
    `accept` names hashes that may run without asking, and no other; `say`
    takes lines for people, as of a wait; `wait` bounds the seconds that a call
    waits on the arena's `Retry-After`; `seconds` replaces every command's own
    time limit; `folder` is where the trusted client is kept.
    """

    def __init__(
        self,
        site: Site | None = None,
        *,
        ask: Ask | None = None,
        accept: Collection[str] = (),
        say: Callable[[str], None] | None = None,
        wait: float = WAIT,
        seconds: float | None = None,
        folder: Path | None = None,
    ) -> None:
        self.site = site if site is not None else site_of()
        self._ask = ask
        self._accept = accept
        self._say = say
        self.wait = wait
        self._seconds = seconds
        self._trust = Trust(folder)
        self._client: Path | None = None

    # Reads, which need no token.

    def challenges(self) -> Answer:
        """Return all challenges, open ones first."""
        return self.call("challenges")

    def open_challenge(self, told: Answer | None = None) -> str:
        """Return the id of the one open challenge; UsageError where none or several are open.

        `told` is the answer of `challenges`, where that was asked for already.
        """
        rows = rows_of((told or self.challenges()).data, "challenges")
        ids = [(row.get("id") or row.get("challenge_id"), row.get("status")) for row in rows]
        match [str(found) for found, status in ids if status == "open" and isinstance(found, str)]:
            case [one]:
                return one
            case []:
                raise UsageError("no challenge is open; `seatrials arena challenges` lists them all")
            case several:
                raise UsageError(f"name one open challenge with `--challenge`: {', '.join(several)}")

    def benchmarks(self, benchmark: str | None = None) -> Answer:
        """Return the held-out suites, or one with its challenges' leaderboards."""
        return self.call("benchmarks", *_option("--benchmark", benchmark))

    def discover(self) -> Answer:
        """Return what the arena has, registered agents among it."""
        return self.call("discover")

    def budget(self) -> Answer:
        """Return the shared cap and what remains of it."""
        return self.call("budget")

    def environments(self) -> Answer:
        """Return the submitted collections."""
        return self.call("environments", "list")

    def runs(self, challenge: str, run_id: str | None = None) -> Answer:
        """Return a challenge's run requests, or one run."""
        name("challenge", challenge)
        return self.call("runs", "--challenge", challenge, *_option("--run-id", run_id))

    def leaderboard(self, challenge: str, benchmark: str | None = None) -> Answer:
        """Return a challenge's ranking, on one benchmark where that is named."""
        name("challenge", challenge)
        return self.call("leaderboard", "--challenge", challenge, *_option("--benchmark", benchmark))

    def gates(self, challenge: str, environment_id: str) -> Answer:
        """Return the stored static summary of a collection, and any attached verdict."""
        return self.call("gates", "get", *_pair(challenge, environment_id))

    def board(self) -> Answer:
        """Return the messages on the board."""
        return self.call("board", "list")

    # What needs an identity.

    def whoami(self) -> Answer:
        """Return who the arena sees."""
        return self.call("whoami")

    def register_agent(self, file: Path) -> Answer:
        """Register the agent of an ``agent.json``. Doing it again with the same words is safe."""
        read(file, AgentRequest)
        return self._call_with(file, "register-agent")

    def validate(self, file: Path) -> Validation:
        """Validate the collection of an ``environment.json``, storing nothing at the arena.

        The answer is kept beside it as ``validation.json``, an unfavourable one too.
        """
        read(file, EnvironmentRequest)
        kept.check_folder(file.absolute().parent)
        answer = self._call_with(file, "validate", judged="valid")
        kept.write(file.with_name(VALIDATION), kept.as_json(answer.data))
        return Validation.of(answer)

    def submit(self, file: Path) -> Submission:
        """Submit the collection of an ``environment.json``; the arena validates it once more.

        Kept beside it: the client's ``environment.json.pinned.json``, the same
        request at the commit that was read, and ``environment-receipt.json``,
        the answer. A collection that is there already gives its record, with
        `existing`. After an uncertain answer the same call sends the pinned
        request again, not what a branch has become meanwhile.
        """
        request = read(file, EnvironmentRequest)
        kept.check_folder(file.absolute().parent)
        pinned = pinned_path(file)
        sent_file = file
        if not request.pinned and (commit := _unfinished(file, request)) is not None:
            sent_file = pinned
            self._tell(
                f"an earlier submission has no receipt: sending its commit {commit} again, not the newest"
            )
        try:
            answer = self._call_with(sent_file, "submit")
        except ArenaRefusedError as error:
            # A no to this collection leaves nothing to be repeated; a rate limit is none.
            if error.status != _TOO_MANY:
                pinned.unlink(missing_ok=True)
            raise
        finally:
            if sent_file.name.endswith(PINNED):
                # The client pins a pinned request once more.
                pinned_path(sent_file).unlink(missing_ok=True)
            _hide_in(pinned)
        sent = Submission.of(answer)
        if request.pinned and not file.name.endswith(PINNED) and not pinned.exists():
            # It pins itself, should the client have seen no need to.
            kept.write(pinned, kept.as_json(request.as_data()))
        try:
            kept.write(file.with_name(RECEIPT), kept.as_json(answer.data))
        except UsageError as error:
            raise UsageError(f"submitted as `{sent.environment_id}`, but {error}") from None
        return sent

    def preflight(self, challenge: str, environment_id: str) -> Preflight:
        """Return every check that the arena makes before a run. It reserves and starts nothing.

        A preflight that says no is an answer, not an error.
        """
        return Preflight.of(self.call("run", *_pair(challenge, environment_id), accept=(0, 3)))

    def launch(self, challenge: str, environment_id: str, file: Path) -> Answer:
        """Ask for a run with the request id of a ``run.json``; `launch.launch` does so with care."""
        words = (*_pair(challenge, environment_id), "--file", str(file.absolute()), "--execute")
        return self.call("run", *words, cwd=file.absolute().parent, patient=False)

    def collect(self, challenge: str, run_id: str) -> Answer:
        """Have the arena compute a scored run's result and store it for review."""
        name("challenge", challenge)
        return self.call("result", "collect", "--challenge", challenge, "--run-id", name("run_id", run_id))

    def gates_plan(self, challenge: str, environment_id: str, *options: str) -> Answer:
        """Return the plan of a collection's dynamic gates. It starts nothing."""
        return self.call("gates", "plan", *_pair(challenge, environment_id), *options)

    def post(self, file: Path) -> Answer:
        """Post the message of a ``message.json``; `launch.post` does so with care."""
        read(file, MessageRequest)
        path = file.absolute()
        return self.call("board", "post", "--file", str(path), cwd=path.parent, patient=False)

    # How.

    def _call_with(self, file: Path, *words: str, judged: str | None = None) -> Answer:
        """Call a command with a request file, in that file's folder: the client leaves its own there."""
        path = file.absolute()
        return self.call(*words, "--file", str(path), cwd=path.parent, judged=judged)

    def call(
        self,
        *words: str,
        cwd: Path | None = None,
        accept: Collection[int] = (0,),
        judged: str | None = None,
        patient: bool = True,
    ) -> Answer:
        """Run one command of the client and return its answer.

        An exit code out of `accept` raises, unless the answer has the key
        `judged`: it then is a judgement, whatever the code. If `patient`, a
        `Retry-After` is waited for within the bound, and the exact same call
        made again.
        """
        command = COMMANDS[command_of(words)]
        token = token_of() if command.identity else None
        client = self.client()
        waited = 0.0
        while True:
            answer = self._run(client, words, token=token, cwd=cwd, seconds=self._seconds or command.seconds)
            if answer.code in accept or (judged is not None and judged in answer.fields):
                if answer.data is None and answer.code == 0:
                    raise ArenaUnavailableError(
                        f"`{answer.command}` answered nothing; try again later", answer
                    )
                return answer
            wait = answer.retry_after
            if not patient or wait is None or answer.persistent or waited + wait > self.wait:
                raise refusal(answer)
            wait = max(wait, 1.0)
            self._tell(
                f"the arena asks to wait {duration(wait)} ({answer.status or 'busy'}); the same call follows"
            )
            self.pause(wait)
            waited += wait

    def pause(self, seconds: float) -> None:
        """Wait before the arena is asked again."""
        time.sleep(seconds)

    def client(self) -> Path:
        """Return the trusted client; fetched, and asked about, once."""
        if self._client is None:
            self._client = self._trust.trusted(
                self.site, CLIENT, ask=self._ask, accept=self._accept, say=self._say
            )
        return self._client

    def _run(
        self, client: Path, words: tuple[str, ...], *, token: str | None, cwd: Path | None, seconds: float
    ) -> Answer:
        command = command_of(words)
        with tempfile.TemporaryDirectory(prefix="seatrials-arena-") as room:
            home = Path(room)
            try:
                done = proc.run_apart(
                    argv_of(self._trust.verified(client), words),
                    timeout=seconds,
                    env=environment_of(self.site, home=home, token=token, outer=os.environ),
                    cwd=cwd if cwd is not None else home,
                )
            except proc.ProgramTimedOut:
                raise ArenaUnavailableError(
                    f"`{command}` took over {duration(seconds)} and was ended; {again(words, 'later')}"
                ) from None
            except (proc.ProgramMissing, proc.TooMuchOutput) as error:
                raise CannotJudgeError(f"`{command}`: {error}") from None
        said = words_of(done.errors, token)
        try:
            data = parsed(done.output, token)
        except ValueError:
            page = re.match(rb"\s*<", done.output) is not None
            unread = Answer(
                words=words, code=done.code or 1, data=None, said=f"{said}\n<html>" if page else said
            )
            if done.code == 0:
                what = "a web page" if page else "no JSON, or cut off"
                raise ArenaUnavailableError(
                    f"the arena's answer to `{command}` is {what}; {again(words, 'later')}", unread
                ) from None
            return unread
        return Answer(words=words, code=done.code, data=data, said=said)

    def _tell(self, line: str) -> None:
        if self._say is not None:
            self._say(line)


def pinned_path(file: Path) -> Path:
    """Return where the client keeps the pinned request of a request file."""
    return file.with_name(file.name + PINNED)


def _hide_in(path: Path) -> None:
    """Take the token out of a file that the client wrote, should it be in there."""
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:
        return
    hidden = hide(text, token_of())
    if hidden != text:
        kept.write(path, hidden.encode())


def _unfinished(file: Path, request: EnvironmentRequest) -> str | None:
    """Return the commit of an earlier submission of the same request whose answer never came."""
    pinned, receipt = pinned_path(file), file.with_name(RECEIPT)
    try:
        before = read_json(pinned)
        at = commit_of(before) if isinstance(before, dict) else None
        wanted = {**request.as_data(), "revision": at}
        if at is None or {key: before.get(key) for key in wanted} != wanted:
            return None
        if not receipt.exists():
            return at
        told = read_json(receipt)
        commit = commit_of(told) if isinstance(told, dict) else None
        if commit is None:
            # A receipt is written after the pinned request.
            return at if receipt.stat().st_mtime_ns < pinned.stat().st_mtime_ns else None
    except (OSError, UsageError):
        return None
    return at if commit != at else None


def _pair(challenge: str, environment_id: str) -> tuple[str, ...]:
    return ("--challenge", name("challenge", challenge), "--id", name("id", environment_id))


def _option(option: str, value: Any) -> tuple[str, ...]:
    return (option, name(option.removeprefix("--"), value)) if value is not None else ()
