"""Sessions for authors and maintainers; each calls the `seatrials` command of its own name."""

import hashlib
import os
import shutil
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["check", "tests"]
nox.options.reuse_venv = "yes"
nox.options.error_on_missing_interpreters = True

ROOT = Path(__file__).parent
KIT = ROOT / ".nox" / "kit"
BENCHFLOW = "benchflow==0.7.11"
MODERN = None if sys.version_info >= (3, 12) else "3.12"
"""What BenchFlow, Harbor and OpenEnv run on: this Python where it is new enough."""
LOADERS = {
    "harbor": ("datasets==5.2.0", "harbor==0.26.0"),
    "openenv": ("datasets==5.2.0", "harbor==0.25.0", "openenv==0.10.0"),
}
"""What reads released sets. OpenEnv 0.10.0 and Harbor 0.26.0 ask for different versions of fastmcp."""


def is_installed(environment: Path, *groups: str) -> tuple[bool, Path]:
    """Say whether what pyproject.toml asks for is installed there, and the stamp that tells."""
    wanted = "\0".join([(ROOT / "pyproject.toml").read_text("utf-8"), str(ROOT), *groups])
    stamp = environment / f"installed-{hashlib.sha256(wanted.encode()).hexdigest()[:16]}"
    return stamp.exists(), stamp


def install(session: nox.Session, *groups: str) -> None:
    """Install the kit and dependency groups, unless they are there already: it takes seconds."""
    done, stamp = is_installed(Path(session.virtualenv.location), *groups)
    if not done:
        words = [word for group in groups for word in ("--group", group)]
        session.install("--quiet", "--editable", str(ROOT), *words)
        stamp.touch()


def kit(session: nox.Session) -> None:
    """Call the command of the session's name, in the one environment that such sessions share."""
    scripts = KIT / ("Scripts" if os.name == "nt" else "bin")
    done, stamp = is_installed(KIT)
    if not done:
        session.log("installing the kit; only the first time, and when pyproject.toml changes")
        shutil.rmtree(KIT, ignore_errors=True)
        session.run(sys.executable, "-m", "virtualenv", "--quiet", str(KIT), external=True)
        session.run(str(scripts / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                    "--editable", str(ROOT), external=True)  # fmt: skip
        stamp.touch()
    session.run(str(scripts / "seatrials"), session.name, *session.posargs, external=True)


@nox.session(python=False)
def new(session: nox.Session) -> None:
    """Make a new task from the template: nox -s new -- my-task."""
    kit(session)


@nox.session(python=False)
def check(session: nox.Session) -> None:
    """Check tasks without running anything: nox -s check -- [TASK ...]."""
    kit(session)


@nox.session(python=False, default=False)
def fingerprint(session: nox.Session) -> None:
    """Fingerprint a held-out suite: nox -s fingerprint -- DIR|OWNER/NAME@REV --sealed."""
    kit(session)


@nox.session(python=False, default=False)
def replay(session: nox.Session) -> None:
    """Run the oracle and a no-op of tasks in Docker: nox -s replay -- [TASK ...]."""
    kit(session)


@nox.session(python=False, default=False)
def migrate(session: nox.Session) -> None:
    """Turn Harbor and PostTrain tasks into native packages: nox -s migrate -- SRC --out DIR."""
    kit(session)


@nox.session(python=False, default=False)
def export(session: nox.Session) -> None:
    """Write packages as Harbor tasks: nox -s export -- SRC --out DIR."""
    kit(session)


@nox.session(python=False, default=False)
def release(session: nox.Session) -> None:
    """Publish the collection as a data set: nox -s release -- --repo OWNER/NAME (or --out DIR)."""
    kit(session)


@nox.session(name="try", python=False, default=False)
def try_(session: nox.Session) -> None:
    """Download a collection from the Hub, and replay it: nox -s try -- OWNER/NAME[@REV]."""
    kit(session)


@nox.session(python=False, default=False)
def arena(session: nox.Session) -> None:
    """Talk to the arena: nox -s arena -- whoami | challenges | validate | submit | run | runs | ..."""
    kit(session)


@nox.session(python=False)
def rules(session: nox.Session) -> None:
    """List the rules of check."""
    kit(session)


@nox.session(python=False, default=False)
def explain(session: nox.Session) -> None:
    """Explain a finding's code: nox -s explain -- CODE."""
    kit(session)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the kit's own tests: nox -s tests -- [pytest arguments]."""
    install(session, "test")
    session.run("pytest", *(session.posargs or ("-n", "auto")))


@nox.session(default=False)
def rehearsal(session: nox.Session) -> None:
    """Rehearse a release with a stand-in Hub and arena, without a token: nox -s rehearsal -- [--task NAME].

    Docker replays what comes back; --dry-run leaves that out.
    """
    install(session, "test")
    session.run("python", "tests/rehearsal.py", *session.posargs)


@nox.session(python=MODERN, default=False)
def conformance(session: nox.Session) -> None:
    """Hold check against BenchFlow's own, also over SEATRIALS_PUBLIC_SETS: nox -s conformance."""
    done, stamp = is_installed(Path(session.virtualenv.location), "test", BENCHFLOW)
    if not done:
        session.install("--quiet", BENCHFLOW)
        install(session, "test")
        stamp.touch()
    # BenchFlow reads files in the locale's encoding.
    env = {"SEATRIALS_REQUIRE_BENCHFLOW": "1", "PYTHONUTF8": "1"}
    session.run("pytest", *(session.posargs or ("-n", "auto")), "tests/conformance", env=env)


@nox.session(python=MODERN, default=False)
@nox.parametrize("which", list(LOADERS), ids=list(LOADERS))
def loaders(session: nox.Session, which: str) -> None:
    """Load released and exported sets with `datasets`, Harbor and OpenEnv: nox -s loaders."""
    packages = LOADERS[which]
    done, stamp = is_installed(Path(session.virtualenv.location), "test", *packages)
    if not done:
        session.install("--quiet", *packages)
        install(session, "test")
        stamp.touch()
    env = {"SEATRIALS_REQUIRE_LOADERS": ",".join(package.partition("==")[0] for package in packages)}
    session.run("pytest", *session.posargs, "tests/loaders", env=env)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and format: nox -s lint -- [--fix]."""
    done, stamp = is_installed(Path(session.virtualenv.location), "lint")
    if not done:
        session.install("--quiet", *nox.project.dependency_groups(nox.project.load_toml(), "lint"))
        stamp.touch()
    session.run("ruff", "check", *session.posargs)
    session.run("ruff", "format", *(() if "--fix" in session.posargs else ("--check",)))


@nox.session
def types(session: nox.Session) -> None:
    """Check types: mypy --strict."""
    install(session, "types")
    session.run("mypy", *session.posargs)
