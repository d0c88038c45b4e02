"""What is told of a task before its replay."""

from collections.abc import Callable
from pathlib import Path

from seatrials.replay.outlook import Outlook, outlook
from seatrials.replay.reading import spec_of
from seatrials.task.package import TaskPackage

Write = Callable[[Path, dict[str, str | bytes]], Path]


def told(tmp_path: Path, write: Write, head: str, **files: str) -> Outlook:
    """Return the outlook of a native task with this frontmatter and environment."""
    text = f'---\nschema_version: "1.3"\ntask: {{name: a/b}}\n{head}---\nDo it.\n'
    environment = {f"environment/{name.replace('_', '.')}": body for name, body in files.items()}
    return outlook(
        spec_of(TaskPackage(write(tmp_path / "t", {"task.md": text, "verifier/test.sh": "", **environment})))
    )


def test_images_and_limits(tmp_path: Path, write: Write) -> None:
    """Every image that a build starts or copies from is told, with limits and network."""
    head = (
        "agent: {timeout_sec: 90}\nverifier: {timeout_sec: 30, network_mode: public}\n"
        "sandbox: {cpus: 2, memory_mb: 512, network_mode: no-network, build_timeout_sec: 60}\n"
    )
    dockerfile = "ARG B=alpine:3\nARG C\nFROM $B AS one\nFROM $C\nCOPY --from=busybox:1 /x /x\nFROM scratch\n"
    found = told(tmp_path, write, head, Dockerfile=dockerfile)
    assert set(found.images) == {"alpine:3", "$C", "busybox:1", "scratch"}
    assert (found.cpus, found.memory, found.build_timeout) == (2.0, 512 * 2**20, 60.0)
    assert (found.agent_timeout, found.verifier_timeout) == (90.0, 30.0)
    assert found.networks == ("verifier",)
    assert not found.oracle
    assert found.variables == ()


def test_services_and_variables(tmp_path: Path, write: Write) -> None:
    """Images of services are told, and every variable of this machine that a file asks for."""
    compose = (
        "services:\n  main: {build: '${CONTEXT_DIR}'}\n  db:\n    image: redis:7\n"
        "    environment: {A: '${HF_TOKEN}', B: '$AWS_KEY', C: '$$HOME', D: '${WORD}'}\n"
        "    volumes: ['${HOST_AGENT_LOGS_PATH}:/logs/agent']\n"
    )
    head = "sandbox: {env: {WORD: sea, KEY: '${OPENAI_KEY:-none}'}}\noracle: {env: {X: '${NOT_RUN}'}}\n"
    found = told(tmp_path, write, head, Dockerfile="FROM alpine:3\n", **{"docker-compose_yaml": compose})
    assert found.services == ("main", "db")
    assert found.images == ("alpine:3", "redis:7")
    assert found.variables == ("AWS_KEY", "HF_TOKEN", "OPENAI_KEY")
    assert found.networks == ("agent", "verifier")


def test_what_cannot_be_run_is_told(tmp_path: Path, write: Write) -> None:
    """Faults and blockers come with the outlook; a compose file of any shape stops nothing."""
    found = told(tmp_path, write, "sandbox: {gpus: 1}\n", Dockerfile="FROM alpine:3\n")
    assert any("accelerator" in why for why in found.open)
    for text in ("[", "services: 3\n", "services: [1]\n", "services: {a: }\n"):
        told(tmp_path, write, "", **{"docker-compose_yaml": text})


def test_compose_file_that_will_be_refused_is_told(tmp_path: Path, write: Write) -> None:
    """What a replay would not start is told before it is asked about; a file without end is not followed."""
    bomb = "x-0: &a0 {k: v}\n" + "".join(
        f"x-{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 12)
    )
    for text, words in (
        ("services: {main: {build: ., privileged: true}}", "`privileged: true`"),
        ("services: {main: {build: ., env_file: /home/me/.env}}", "`/home/me/.env`, out of its folder"),
        (bomb + "services: {main: {build: .}}", "fewer aliases"),
    ):
        found = told(tmp_path, write, "", Dockerfile="FROM alpine:3\n", **{"docker-compose_yaml": text})
        assert len(found.open) == 1
        assert words in found.open[0]
