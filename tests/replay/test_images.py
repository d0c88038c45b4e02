"""Which builds there are, and whose doing a failed one is."""

from pathlib import Path

import pytest
from replay_helpers import FakeEngine, FakeFile, failed_build, files, spec

from seatrials.parse.dockerfile import parse_dockerfile
from seatrials.replay import buildkit, owner
from seatrials.replay.engine import BuildFailed
from seatrials.replay.images import Images, base_images, classify_build, environment_key, unmet_needs


def images(engine: FakeEngine) -> Images:
    """Return the images of a run of this process."""
    return Images(engine, owner=owner.this_process(), architecture="amd64", version="1.0")


@pytest.mark.parametrize(
    ("message", "log", "blame"),
    [
        ("The command '/bin/sh -c false' returned a non-zero code: 1", "", "task"),
        ("COPY failed: file not found in build context: stat a: file does not exist", "", "task"),
        ("dockerfile parse error line 3: unknown instruction: FORM", "", "task"),
        ("write /var/lib/docker/tmp: no space left on device", "", "machine"),
        ("failed to create endpoint x on network bridge: could not find bridge docker0", "", "machine"),
        ('OCI runtime create failed: exec: "make": executable file not found in $PATH', "", "task"),
        ("returned a non-zero code: 100", "Temporary failure resolving 'deb.example'", "machine"),
        ("returned a non-zero code: 1", "SSL: CERTIFICATE_VERIFY_FAILED", "machine"),
        ("returned a non-zero code: 1", "OSError: [Errno 28] No space left on device", "machine"),
        ("pull access denied for nobody/nothing, repository does not exist", "", "machine"),
        ("manifest for debian:none not found: manifest unknown", "", "machine"),
        ("toomanyrequests: You have reached your pull rate limit", "toomanyrequests: x", "machine"),
    ],
)
def test_blame_of_a_failed_build(message: str, log: str, blame: str) -> None:
    """A full disk, a registry or a network out of reach is the machine's doing; anything else the task's."""
    assert classify_build(failed_build(message, log + message), 600).blame == blame


def test_build_past_its_time_is_the_tasks() -> None:
    """A build past `build_timeout_sec` is told with the limit that it passed."""
    failure = classify_build(BuildFailed("x", timed_out=True), 30)
    assert (failure.blame, failure.message) == ("task", "the build ran past `build_timeout_sec` (30 s)")


def test_same_environment_is_built_once(tmp_path: Path) -> None:
    """Tasks that share an environment share a build; its tag goes when asked."""
    engine = FakeEngine()
    made = images(engine)
    first = made.get(spec(name="a"), log=tmp_path / "a.log")
    second = made.get(spec(name="b", content_hash="sha256:b"), log=tmp_path / "b.log")
    assert first.image == second.image
    assert engine.calls.count("build") == 1
    assert (tmp_path / "a.log").read_text() == "Step 1/1\n"
    made.release(spec())
    assert engine.tags == set()


def test_environment_key_sees_content_mode_and_image() -> None:
    """Another content, mode or base image is another environment; an ignored file is not."""
    base = files(Dockerfile="FROM x\n", _dot_dockerignore="notes\n", data="1")
    keys = {
        environment_key(spec(context=base)),
        environment_key(spec(context={**base, "data": FakeFile(data=b"2")})),
        environment_key(spec(context={**base, "data": FakeFile(data=b"1", mode=0o755)})),
        environment_key(spec(context=base, image="debian:bookworm-slim")),
    }
    assert len(keys) == 4
    assert environment_key(spec(context={**base, "notes": FakeFile(data=b"x")})) in keys


def test_base_image_out_of_reach(tmp_path: Path) -> None:
    """An image that can't be had is told before the build and not blamed on the task."""
    engine = FakeEngine(present=set())
    built = images(engine).get(spec(), log=tmp_path / "log")
    assert built.failure is not None
    assert built.failure.blame == "machine"
    assert "pull access denied" in built.failure.message
    assert "build" not in engine.calls


def test_full_disk_in_a_build(tmp_path: Path) -> None:
    """A disk that is full in the middle of a build leaves the verdict open."""
    engine = FakeEngine(build_error=failed_build("write /layer.tar: no space left on device"))
    built = images(engine).get(spec(), log=tmp_path / "log")
    assert built.failure is not None
    assert (built.failure.blame, built.failure.phase) == ("machine", "build")
    assert "disk space" in built.failure.message


def test_base_images() -> None:
    """Every image that a build starts or copies from is known; its own stages are none."""
    text = (
        b"ARG V=3\nFROM python:${V} AS build\nFROM scratch\nFROM build AS next\n"
        b"COPY --from=busybox:1 /bin/x /x\nCOPY --from=build /a /b\nCOPY --from=0 /a /b\n"
    )
    assert base_images(parse_dockerfile(text)) == ("python:3", "busybox:1")


@pytest.mark.parametrize(
    ("lines", "without", "old"),
    [
        ("FROM x\nRUN --mount=type=cache,target=/c true", "`RUN --mount`", ""),
        ("FROM x\nRUN <<EOF\ntrue\nEOF", "heredoc in `RUN`", "heredoc in `RUN`"),
        ("# syntax=docker/dockerfile:1\nFROM x\nRUN <<EOF\ntrue\nEOF", "heredoc in `RUN`", ""),
        ("FROM x\nCOPY --chmod=755 a b", "`COPY --chmod`", ""),
        ("FROM x\nCOPY --link a b", "`COPY --link`", "`COPY --link`"),
        ("FROM x\nCOPY --chown=1:1 a b", "", ""),
        ("FROM x\nRUN echo '<<EOF'", "", ""),
    ],
)
def test_needs_of_buildkit(lines: str, without: str, old: str) -> None:
    """What only BuildKit, or only a newer one, knows is told before the build where it is missing."""
    task = spec(context=files(Dockerfile=lines + "\n"))
    for words, found in (
        (without, unmet_needs(task, buildx=False, engine="28.1.0")),
        (old, unmet_needs(task, buildx=True, engine="20.10.24+dfsg1")),
        ("", unmet_needs(task, buildx=True, engine="28.1.0")),
    ):
        assert (words in found[0]) if words else found == ()


def test_buildx_command() -> None:
    """The command names tag and label, reads the context from standard input, and loads the image."""
    command = buildkit.argv("seatrials/task:x")
    assert command[:3] == ("docker", "buildx", "build")
    assert {"--load", "--tag=seatrials/task:x", "--label=seatrials=image"} <= set(command)
    assert command[-1] == "-"
