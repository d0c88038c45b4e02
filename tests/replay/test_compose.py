"""Tasks of several containers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from replay_helpers import files, spec

from seatrials.replay import compose, owner
from seatrials.replay import engine as engines
from seatrials.replay.engine import LABEL
from seatrials.replay.runner import ReplayOptions, replay
from seatrials.replay.spec import Files
from seatrials.task.files import TaskFile
from seatrials.task.package import TaskPackage

ME = owner.this_process()
Write = Callable[[Path, dict[str, str | bytes]], Path]


def context(text: str, *more: tuple[str, str]) -> Files:
    """Return an environment with a compose file, an `other.yaml`, and more files."""
    contents = {compose.COMPOSE_FILE: text, "other.yaml": "", "a.yaml": "", **dict(more)}
    return {
        path: TaskFile(path=path, kind="file", size=len(said), mode=0o644, place="", _data=said.encode())
        for path, said in contents.items()
    }


def last(config: dict[str, Any], *, offline: bool = False) -> dict[str, Any]:
    """Return our file after the task's."""
    return compose.last_file(config, key="k", owner=ME, labels={LABEL: "trial"}, offline=offline)


def test_first_file_gives_main_what_it_lacks() -> None:
    """`main` is built from the environment, idles, and has the declared limits."""
    main = compose.first_file(spec(), cpus=1.0, memory=512 * 1024**2)["services"]["main"]
    assert main["build"] == {"context": "."}
    assert main["command"][0] == "sh"
    assert (main["cpus"], main["mem_limit"]) == (1.0, 512 * 1024**2)
    named = compose.first_file(spec(image="debian:bookworm-slim"), cpus=None, memory=None)
    assert named["services"]["main"]["image"] == "debian:bookworm-slim"
    bare = compose.first_file(spec(context=files(compose="x")), cpus=None, memory=None)
    assert not {"build", "image"} & set(bare["services"]["main"])


def test_last_file_labels_everything() -> None:
    """Every service and network of the project carries our labels; what is built gets a tag of ours."""
    config = {
        "services": {"main": {"build": {"context": "."}}, "db": {"image": "x"}},
        "networks": {"back": {}, "shared": {"external": True}},
    }
    data = last(config, offline=True)
    assert {name: service["labels"] for name, service in data["services"].items()} == {
        "main": {LABEL: "trial"},
        "db": {LABEL: "trial"},
    }
    assert set(data["networks"]) == {"default", "back"}
    assert data["services"]["main"]["image"].startswith("seatrials/task:")
    assert data["services"]["main"]["network_mode"] == "none"
    assert "image" not in data["services"]["db"]
    assert "network_mode" not in last(config)["services"]["main"]


def test_log_mounts_become_volumes() -> None:
    """The runtimes' own log folders are mounted from nowhere on this machine."""
    mounts = [{"type": "bind", "source": "/x", "target": "/logs/verifier"}]
    config = {"services": {"main": {"volumes": mounts}}}
    assert compose.reaches_host(config) == ()
    assert last(config)["services"]["main"]["volumes"] == [{"type": "volume", "target": "/logs/verifier"}]


@pytest.mark.parametrize(
    ("service", "words"),
    [
        ({"volumes": [{"type": "bind", "source": "/var/run/docker.sock", "target": "/s"}]}, "docker.sock"),
        ({"privileged": True}, "`privileged: true`"),
        ({"network_mode": "host"}, "`network_mode: host`"),
        ({"pid": "host"}, "`pid: host`"),
        ({"devices": ["/dev/kvm"]}, "`devices`"),
        ({"cap_add": ["SYS_ADMIN"]}, "`cap_add`"),
        ({"provider": {"type": "sh"}}, "`provider`"),
        ({"use_api_socket": True}, "`use_api_socket: true`"),
        ({"network_mode": "container:mine"}, "`network_mode: container:mine`"),
        ({"build": {"context": "/x", "secrets": [{"source": "key"}]}}, "`build.secrets`"),
        ({"build": {"context": "/x", "network": "host"}}, "`build.network: host`"),
        ({"build": {"context": "/x", "tags": ["python:3.12-slim"]}}, "`build.tags`"),
        ({"build": {"context": "/x", "cache_to": ["type=local,dest=/root"]}}, "`build.cache_to`"),
        ({"device_cgroup_rules": ["a *:* rwm"]}, "`device_cgroup_rules`"),
        ({"network_mode": "another_default"}, "`network_mode: another_default`"),
        ({"pid": "container:mine"}, "`pid: container:mine`"),
        ({"ipc": "container:mine"}, "`ipc: container:mine`"),
        ({"security_opt": ["no-new-privileges:true", "seccomp=unconfined"]}, "seccomp=unconfined"),
        ({"logging": {"driver": "syslog"}}, "`logging.driver: syslog`"),
        ({"post_start": [{"command": ["id"], "privileged": True}]}, "`post_start.privileged: true`"),
    ],
)
def test_reaching_for_this_machine_is_seen(service: dict[str, Any], words: str) -> None:
    """A service that asks for something of this machine is named with what it asks for."""
    found = compose.reaches_host({"services": {"db": service, "main": {"image": "x"}}})
    assert len(found) == 1
    assert "`db`" in found[0]
    assert words in found[0]


@pytest.mark.parametrize(
    "volume", [{"external": True}, {"driver_opts": {"type": "none", "o": "bind", "device": "/etc"}}]
)
def test_volume_of_this_machine_is_seen(volume: dict[str, Any]) -> None:
    """A volume that is there already, or is a folder of this machine in disguise, is named."""
    assert len(compose.reaches_host({"services": {}, "volumes": {"v": volume, "own": None}})) == 1


@pytest.mark.parametrize("kind", ["volumes", "networks"])
def test_what_is_not_the_projects_own_is_seen(kind: str) -> None:
    """A volume or network that is there already, as `host`, is named; one of the project is not."""
    own = {"name": "p", "services": {}, kind: {"a": {"name": "p_a"}, "b": None}}
    assert compose.reaches_host(own) == ()
    assert len(compose.reaches_host(own | {kind: {"a": {"name": "host", "external": True}}})) == 1
    assert len(compose.reaches_host(own | {kind: {"a": {"name": "other_data"}}})) == 1


@pytest.mark.parametrize(
    "text",
    [
        "services: {main: {env_file: /home/me/.env}}",
        "services: {main: {env_file: [{path: ../.env}]}}",
        "services: {main: {env_file: '${HOME}/.env'}}",
        "services: {main: {extends: {service: x, file: ~/c.yaml}}}",
        "services: {main: {build: ../..}}",
        "services: {main: {build: {context: ., additional_contexts: {home: /home}}}}",
        "services: {main: {build: {context: ., additional_contexts: ['home=/home']}}}",
        "include: [/home/me/c.yaml]",
        "include: [{path: [a.yaml, ../b.yaml]}]",
        "secrets: {key: {file: /home/me/.ssh/id}}",
        "configs: {c: {file: x/../../c}}",
    ],
)
def test_path_out_of_the_folder_is_seen(text: str) -> None:
    """What compose would read of this machine before its answer tells is found in the file itself."""
    assert len(compose.reads_outside(context(text))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "services: {main: {env_file: .env, build: .}}",
        "services: {main: {build: {context: '${CONTEXT_DIR}', dockerfile: a/Dockerfile}}}",
        "services: {main: {build: {context: ., additional_contexts: {b: 'docker-image://alpine'}}}}",
        "services: {db: {image: x, extends: {service: y}}}",
        "include: [other.yaml]",
        "include: [{path: ['${CONTEXT_DIR}/other.yaml']}]",
        "[]",
    ],
)
def test_path_in_the_folder_is_none(text: str) -> None:
    """What lies in the folder may be read."""
    assert compose.reads_outside(context(text)) == ()


@pytest.mark.parametrize(
    "text",
    [
        "services: {main: {env_file: /home/me/.env, labels: !override {a: b}}}",
        "services: {main: {env_file: /home/me/.env, environment: {WHEN: 2020-99-99}}}",
        "services: {main: {env_file: /home/me/.env}}\n---\nservices: {}",
        "services: {main: !reset {env_file: /home/me/.env}}",
        "x-a: &a {env_file: /home/me/.env}\nservices: {main: {<<: *a}}",
        "services: {main: {extends: {file: sub/evil.yaml, service: x}}}",
        "include: [sub/evil.yaml]",
        "include: [{path: sub/more.yaml}]",
        "include: ['https://example.org/c.git']",
        "services: {main: {extends: {file: 'oci://example.org/c', service: x}}}",
    ],
)
def test_no_spelling_hides_a_path_out_of_the_folder(text: str) -> None:
    """Tags, dates, further documents and files that compose reads too are looked at."""
    found = compose.reads_outside(
        context(
            text,
            ("sub/evil.yaml", "services: {x: {env_file: /home/me/.env}}"),
            ("sub/more.yaml", "include: [evil.yaml]"),
        )
    )
    assert len(found) == 1


_BOMB = "\n".join(
    ["x-0: &a0 [x]", *(f"x-{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10))]
)


@pytest.mark.parametrize(
    "text",
    [
        "services: [",
        "services: {main: {env_file: absent.yaml, extends: {file: absent.yaml}}}",
        f"{_BOMB}\nservices: {{main: {{env_file: *a9}}}}",
        "[" * 5000,
        "services: {main: {image: '" + "x" * 300_000 + "'}}",
    ],
)
def test_compose_file_that_can_not_be_read_here_is_refused(text: str) -> None:
    """What can't be looked at is not handed to compose, which may read it all the same."""
    with pytest.raises(compose.Refused):
        compose.reads_outside(context(text))


def test_links_that_lead_out_are_seen(tmp_path: Path) -> None:
    """A link is followed as compose would follow it, through other links too."""
    (tmp_path / "secret").write_text("s")
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    (folder / "file").write_text("f")
    (folder / "sub" / "good").symlink_to("../file")
    (folder / "sub" / "up").symlink_to("..")
    (folder / "loop").symlink_to("loop")
    assert compose.links_outside(folder) == ()
    (folder / "plain").symlink_to(tmp_path / "secret")
    (folder / "winding").symlink_to("sub/up/../secret")
    assert sorted(compose.links_outside(folder)) == ["plain", "winding"]


def test_variables_of_this_machine_are_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compose gets what Docker's programs need and what was given to the replay, nothing else."""
    monkeypatch.setenv("SEATRIALS_SECRET", "s")
    monkeypatch.setenv("SEATRIALS_GIVEN", "g")
    monkeypatch.setenv("DOCKER_HOST", "unix:///x")
    withheld = compose._withheld({"SEATRIALS_GIVEN": "g"})
    assert withheld["SEATRIALS_SECRET"] is None
    assert not {"SEATRIALS_GIVEN", "DOCKER_HOST", "PATH", "HOME"} & set(withheld)


def test_argv(tmp_path: Path) -> None:
    """Compose reads our first file, the task's, then our last, under the project's name."""
    for name in ("first.json", compose.COMPOSE_FILE, "last.json"):
        (tmp_path / name).write_text("{}")
    argv = compose.Project(folder=tmp_path, name="p").argv("up")
    assert argv == (
        "docker", "compose", "--project-name", "p",
        "-f", "first.json", "-f", "docker-compose.yaml", "-f", "last.json", "up",
    )  # fmt: skip


@pytest.fixture
def service_task(tmp_path: Path, write: Write) -> Path:
    """A task whose answer lies in another service, where its verifier runs."""
    return write(
        tmp_path / "tasks" / "service",
        {
            "task.md": '---\nschema_version: "1.3"\ntask: {name: a/service}\nverifier: {service: store}\n'
            "sandbox: {env: {WORD: tide}}\n---\nPut the word into the shared folder.\n",
            "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /work\n",
            "environment/docker-compose.yaml": "services:\n"
            "  main:\n    volumes: ['shared:/shared', '${HOST_AGENT_LOGS_PATH}:${ENV_AGENT_LOGS_PATH}']\n"
            "    depends_on: [store]\n"
            "  store:\n    image: debian:bookworm-slim\n    command: sleep 3600\n"
            "    environment: {WORD: '${WORD}'}\n    volumes: ['shared:/data']\n"
            "volumes: {shared: {}}\n",
            "verifier/test.sh": "#!/bin/sh\n"
            'if [ "$(cat /data/answer)" = "$WORD" ]; then r=1; else r=0; fi\n'
            "echo $r > /logs/verifier/reward.txt\n",
            "oracle/solve.sh": "echo tide > /shared/answer\n",
        },
    )


@pytest.mark.docker
@pytest.mark.skipif(not compose.installed(), reason="`docker compose` is not installed")
def test_compose_task(service_task: Path, tmp_path: Path) -> None:
    """The agent works in `main`, the verifier judges in its service, and nothing is left of either."""
    report = replay([TaskPackage(service_task)], ReplayOptions(root=tmp_path, jobs=2))
    found = report.tasks[0]
    assert (found.reasons, found.verdict) == ((), "passing")
    engine = engines.connect()
    try:
        me = ME.text
        assert [box for box, labels in engine.containers(LABEL) if labels.get(owner.OWNER_LABEL) == me] == []
        assert [net for net, labels in engine.networks(LABEL) if labels.get(owner.OWNER_LABEL) == me] == []
        assert [tag for tag in engine.images() if tag.endswith(me)] == []
    finally:
        engine.close()


@pytest.mark.docker
@pytest.mark.skipif(not compose.installed(), reason="`docker compose` is not installed")
def test_compose_task_that_takes_the_socket(service_task: Path, tmp_path: Path) -> None:
    """A task that mounts the engine's socket is not run, and that is no verdict on it."""
    file = service_task / "environment" / "docker-compose.yaml"
    file.write_text(file.read_text().replace("'shared:/data'", "'/var/run/docker.sock:/s'"))
    found = replay([TaskPackage(service_task)], ReplayOptions(root=tmp_path)).tasks[0]
    assert found.verdict == "inconclusive"
    assert "docker.sock" in found.reasons[0]


def test_without_compose_it_is_told_before(service_task: Path, tmp_path: Path) -> None:
    """Without the plugin the verdict stays open, and nothing is built."""
    from replay_helpers import FakeEngine

    engine = FakeEngine()
    options = ReplayOptions(root=tmp_path, compose=False, buildkit=False)
    found = replay([TaskPackage(service_task)], options, connect_engine=lambda: engine).tasks[0]
    assert found.verdict == "inconclusive"
    assert "`docker compose`" in found.reasons[0]
    assert "build" not in engine.calls
