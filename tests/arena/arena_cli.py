"""A stand-in for the arena's client, for tests: written from the arena's agent guide, not from the client.

Standard library only, Python 3.9 or later. Commands, files, exit codes, the
JSON on standard output and the summary on standard error are as the guide
tells them; where the guide is silent, the wording is this file's own. It
speaks to `server.py` of this folder, whose routes are not the arena's.
"""

import argparse
import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

PAUSES = (1, 2, 4)
TIMEOUT = 60
BRIEFLY = "the Space is briefly unavailable; try again in a minute"


class RefusedError(Exception):
    """An error answer, or none; `body` is the JSON of one that had any."""

    def __init__(self, message, body=None, status=None, retry_after=None):
        super().__init__(message)
        self.body = body
        self.status = status
        self.retry_after = retry_after


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """The token must not follow a redirect to another host."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        """Follow none."""
        return


def say(line):
    """Print a line for people."""
    print(line, file=sys.stderr)


def base_url():
    """Return the Space's URL: HTTPS, or plain HTTP on loopback."""
    url = os.environ.get("ARENA_URL", "https://openenvarena-arena.hf.space").rstrip("/")
    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in {"127.0.0.1", "localhost", "::1"}:
        say("arena_cli: plain http is only for 127.0.0.1, localhost and ::1")
        sys.exit(2)
    return url


def token():
    """Return HF_TOKEN, else the token that `hf auth login` saved; exit code 4 without either."""
    value = os.environ.get("HF_TOKEN", "").strip()
    if not value:
        home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
        path = Path(os.environ.get("HF_TOKEN_PATH") or home / "token")
        value = path.read_text("utf-8").strip() if path.is_file() else ""
    if not value:
        say("arena_cli: no Hugging Face token; run `hf auth login` or set HF_TOKEN")
        sys.exit(4)
    return value


def once(method, path, body, identity):
    """Send a request once; return the answer's JSON."""
    request = urllib.request.Request(base_url() + path, method=method)
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    if identity:
        request.add_header("Authorization", "Bearer " + token())
    opener = urllib.request.build_opener(NoRedirects(), urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=TIMEOUT) as response:
            raw = response.read()
    except urllib.error.HTTPError as error:
        raw = error.read()
        after = error.headers.get("Retry-After")
        try:
            answer = json.loads(raw)
        except ValueError:
            answer = None
        if 300 <= error.code < 400:
            raise RefusedError(f"refused a redirect ({error.code})", status=error.code) from None
        if answer is None:
            raise RefusedError(
                f"HTTP {error.code}: {BRIEFLY}", status=error.code, retry_after=after
            ) from None
        raise RefusedError(f"HTTP {error.code}", body=answer, status=error.code, retry_after=after) from None
    except (urllib.error.URLError, OSError, http.client.HTTPException) as error:
        raise RefusedError(f"network failure: {error}") from None
    try:
        return json.loads(raw)
    except ValueError:
        raise RefusedError("the Space's answer is not JSON") from None


def ask(method, path, body=None, identity=False, again=True):
    """Send a request; reads and idempotent writes again after 1, 2 and 4 s where the proxy answers."""
    pauses = list(PAUSES) if again else []
    answers = []
    while True:
        try:
            return once(method, path, body, identity)
        except RefusedError as error:
            answers.append((error.status, error.body))
            proxy = error.body is None and error.status in {502, 503, 504}
            busy = error.status == 503 and error.retry_after is None
            if not (proxy or busy) or not pauses:
                if busy and len(answers) > 1 and all(answer == answers[0] for answer in answers):
                    say("the same 503 on every try: persistent, stop and ask an organizer")
                raise
            time.sleep(pauses.pop(0))


def show(answer):
    """Print the API's JSON."""
    print(json.dumps(answer, indent=2))


def read_file(path):
    """Return a request file's content; exit code 2 where there is none."""
    try:
        return json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        say(f"arena_cli: {path}: {error}")
        sys.exit(2)


def quoted(value):
    """Return a value for a path."""
    return urllib.parse.quote(value, safe="")


def whoami(args):
    """Show who the Space sees."""
    answer = ask("GET", "/api/whoami", identity=True)
    show(answer)
    say("signed in as {}".format(answer["name"]))
    return 0


def register_agent(args):
    """Register an agent id."""
    show(ask("POST", "/api/agents", read_file(args.file), identity=True, again=False))
    return 0


def listing(path):
    """Make a command that shows a public read."""

    def command(args):
        show(ask("GET", path))
        return 0

    return command


def benchmarks(args):
    """Show the held-out suites, or one."""
    show(ask("GET", "/api/benchmarks" + ("/" + quoted(args.benchmark) if args.benchmark else "")))
    return 0


def validate(args):
    """Validate a collection; stores nothing."""
    answer = ask("POST", "/api/validate", read_file(args.file), identity=True)
    show(answer)
    say("valid: {}, eligible tasks: {}".format(answer["valid"], answer["eligible_tasks"]))
    return 0


def submit(args):
    """Validate, save the pinned request, and register it."""
    request = read_file(args.file)
    found = ask("POST", "/api/validate", request, identity=True)
    if not found["valid"]:
        show(found)
        say("HTTP 422: the collection is not valid; nothing was stored")
        return 1
    pinned = dict(request, revision=found["revision"])
    Path(args.file + ".pinned.json").write_text(json.dumps(pinned, indent=2) + "\n", "utf-8")
    answer = ask("POST", "/api/environments", pinned, identity=True)
    show(answer)
    if answer.get("existing"):
        say("this collection was submitted before; its first title, notes and agent stay")
    say("ENVIRONMENT_ID: {}".format(answer["environment_id"]))
    return 0


def run(args):
    """Preflight a run, or start it."""
    base = f"/api/challenges/{quoted(args.challenge)}/runs"
    if not args.execute or args.dry_run:
        answer = ask("GET", base + "/preflight?environment_id=" + quoted(args.id), identity=True)
        show(answer)
        for check in answer["checks"]:
            mark = {True: "ok", False: "FAIL", None: "skip"}[check["ok"]]
            say(f"{mark:<4}  {check['name']}: {check['detail']}")
        say("allowed" if answer["allowed"] else "not allowed")
        return 0 if answer["allowed"] else 3
    if not args.file:
        say("arena_cli: --execute needs --file run.json")
        return 2
    body = dict(read_file(args.file), environment_id=args.id)
    answer = ask("POST", base, body, identity=True)
    show(answer)
    say("run {}: {}".format(answer["run_id"], answer["state"]))
    return 0


def runs(args):
    """Show a challenge's runs, or one."""
    path = f"/api/challenges/{quoted(args.challenge)}/runs"
    answer = ask("GET", path + ("/" + quoted(args.run_id) if args.run_id else ""))
    show(answer)
    if args.run_id:
        say("{}: {}, stage {}".format(args.run_id, answer["state"], answer.get("stage")))
    return 0


def collect(args):
    """Collect a scored run's result."""
    path = f"/api/challenges/{quoted(args.challenge)}/runs/{quoted(args.run_id)}/collect"
    answer = ask("POST", path, {}, identity=True)
    show(answer)
    say("delta {:+.1f} pp, pending review".format(answer["delta_pp"]))
    return 0


def leaderboard(args):
    """Show a ranking."""
    path = f"/api/challenges/{quoted(args.challenge)}/leaderboard"
    show(ask("GET", path + ("?benchmark=" + quoted(args.benchmark) if args.benchmark else "")))
    return 0


def gates_plan(args):
    """Show a plan of the dynamic gates."""
    numbers = {"controls_reruns": args.controls_reruns, "band_attempts": args.band_attempts}
    asked = {key: int(value) for key, value in numbers.items() if value is not None}
    if args.require_oracle or args.allow_no_oracle:
        asked["require_oracle"] = args.require_oracle
    path = f"/api/challenges/{quoted(args.challenge)}/environments/{quoted(args.id)}/gates/plan"
    show(ask("POST", path, asked, identity=True))
    return 0


def gates_get(args):
    """Show the stored static summary and any verdict."""
    show(ask("GET", f"/api/challenges/{quoted(args.challenge)}/environments/{quoted(args.id)}/gates"))
    return 0


def board_post(args):
    """Post a message."""
    show(ask("POST", "/api/messages", read_file(args.file), identity=True))
    return 0


def parser():
    """Return the command line."""
    top = argparse.ArgumentParser(prog="arena_cli.py")
    commands = top.add_subparsers(dest="command", required=True)

    def add(group, name, call, *options):
        own = group.add_parser(name)
        own.set_defaults(call=call)
        for option in options:
            if option.startswith("?"):
                own.add_argument(option[1:], action="store_true")
            else:
                own.add_argument(option.rstrip("!"), required=option.endswith("!"))

    add(commands, "whoami", whoami)
    add(commands, "register-agent", register_agent, "--file!")
    add(commands, "challenges", listing("/api/challenges"))
    add(commands, "benchmarks", benchmarks, "--benchmark")
    add(commands, "discover", listing("/api/discover"))
    add(commands, "budget", listing("/api/arena/budget"))
    add(commands, "validate", validate, "--file!")
    add(commands, "submit", submit, "--file!")
    add(commands, "run", run, "--challenge!", "--id!", "--file", "?--execute", "?--dry-run")
    add(commands, "runs", runs, "--challenge!", "--run-id")
    add(commands, "leaderboard", leaderboard, "--challenge!", "--benchmark")
    groups = {
        name: commands.add_parser(name).add_subparsers(dest="action", required=True)
        for name in ("environments", "result", "gates", "board")
    }
    add(groups["environments"], "list", listing("/api/environments"))
    add(groups["result"], "collect", collect, "--challenge!", "--run-id!")
    add(groups["gates"], "plan", gates_plan, "--challenge!", "--id!", "--controls-reruns",
        "--band-attempts", "?--require-oracle", "?--allow-no-oracle")  # fmt: skip
    add(groups["gates"], "get", gates_get, "--challenge!", "--id!")
    add(groups["board"], "list", listing("/api/messages"))
    add(groups["board"], "post", board_post, "--file!")
    return top


def main():
    """Run a command and return the guide's exit code."""
    args = parser().parse_args()
    try:
        return args.call(args)
    except RefusedError as error:
        if error.body is not None:
            show(error.body)
            detail = error.body.get("detail") if isinstance(error.body, dict) else None
            say(f"{error}: {detail}" if isinstance(detail, str) else str(error))
        else:
            say(str(error))
        if error.retry_after:
            say(f"Retry-After: {error.retry_after}")
        if isinstance(error.body, dict) and error.body.get("retry_with_same_request_id"):
            say("the outcome is unknown: run the same command with the same file again")
        return 1


if __name__ == "__main__":
    sys.exit(main())
