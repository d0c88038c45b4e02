"""Which answers the template's questions accept, and how they say no."""

import pytest

ACCEPTED = {
    "name": ["ab", "a1", "clean-readings", "3d-mesh", "x" * 64],
    "title": [
        "A",
        "Sum: the “daily” readings, part #2 'b'",
        "Überprüfung 数据 🎈",
        "no",
        "- [ ] todo",
        "x" * 100,
    ],
    "author_hub": ["benchflow", "01-ai", "Jean-Baptiste", "user_name", "a.b", "x" * 96],
    "license": [
        "Apache-2.0",
        "MIT OR Apache-2.0",
        "(MIT AND BSD-3-Clause) OR GPL-2.0+",
        "GPL-2.0-only WITH Classpath-exception-2.0",
        "LicenseRef-ours",
        "NO",
    ],
    "category": ["games", "tool-use", "other"],
    "difficulty": ["easy", "medium", "hard"],
    "origin": ["original", "generated"],
    "base_image": [
        "ubuntu:24.04",
        "python:3.12-slim",
        "ghcr.io/org/image:1.0_2",
        "localhost:5000/a/b",
        "debian@sha256:" + "0" * 64,
    ],
    "network": ["no-network", "public"],
    "cpus": [1, "8", 256],
    "memory_mb": [128, 65536],
    "agent_timeout_sec": [1, 604800],
    "verifier_timeout_sec": [1, 604800],
    "build_timeout_sec": [1, 604800],
    "tags": ["", "csv", "c++, c#, größe , a b", ","],
}

REFUSED = {
    "name": ["", "a", "A-task", "a_b", "-a", "a-", "a--b", "a/b", "a b", "ab\n", "é-task", "x" * 65],
    "title": [
        "",
        " ",
        " a",
        "a ",
        "a\nb",
        "a\tb",
        "a\x00b",
        "a\x7fb",
        "a\x85b",
        "a\u2028b",
        "\ufeffa",
        "x" * 101,
    ],
    "author_hub": [
        "",
        "a b",
        "-a",
        "a-",
        "a--b",
        "a..b",
        "@me",
        "https://huggingface.co/me",
        "me/you",
        "a\n",
    ],
    "license": ["", "Apache 2.0", "MIT, BSD", "MIT or BSD-2-Clause", "MIT OR", "see LICENSE", "MIT\n"],
    "category": ["data_science", ""],
    "difficulty": ["impossible"],
    "origin": ["stolen"],
    "base_image": ["", "debian bookworm", "debian:12\nRUN x", "$IMAGE", "debian:12 AS x", "-debian"],
    "network": ["allowlist", "off"],
    "cpus": [0, -1, 257, "1.5", "01", "1\n", "two", ""],
    "memory_mb": [0, 127, 1048577],
    "agent_timeout_sec": [0, 604801],
    "verifier_timeout_sec": [0, 604801],
    "build_timeout_sec": [0, 604801],
    "tags": ["a\nb", '"a"', "'a'", "[a, b]", "{a: b}", "a\x00"],
}

WITHOUT_APT = [
    "alpine",
    "alpine:3.20",
    "python:3.12-alpine",
    "docker.io/library/busybox",
    "gcr.io/distroless/base",
    "scratch",
    "fedora:41",
    "redhat/ubi9",
    "mcr.microsoft.com/windows/nanoserver:ltsc2022",
]


def cases(table):
    """Pair every question with each of its answers."""
    return [(question, answer) for question, answers in table.items() for answer in answers]


@pytest.mark.parametrize(("question", "answer"), cases(ACCEPTED))
def test_answer_is_accepted(render, question, answer):
    """A sound answer makes a task."""
    assert (render(**{question: answer}) / "task.md").is_file()


@pytest.mark.parametrize(("question", "answer"), cases(REFUSED))
def test_answer_is_refused(render, question, answer, tmp_path):
    """An unsound answer is refused before any file is written."""
    with pytest.raises(ValueError, match=f"'{question}'"):
        render("task", **{question: answer})
    assert not (tmp_path / "task").exists()


@pytest.mark.parametrize("image", WITHOUT_APT)
def test_image_without_apt_is_refused(render, image):
    """The Dockerfile's toolchain lines need apt, and the message says so."""
    with pytest.raises(ValueError, match="must have apt"):
        render(base_image=image)


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        ("name", "My_Task", "must be 2 to 64 lowercase letters, digits and single hyphens, such as `clean-"),
        ("title", "a\nb", "must be one line without control characters"),
        ("title", "", "must be 1 to 100 characters, with no space at either end"),
        ("author_hub", "https://huggingface.co/me", "must be a Hub handle"),
        ("license", "Apache 2", "must be an SPDX identifier or expression, such as `Apache-2.0`"),
        ("base_image", "a b", "must be an image reference, such as `debian:bookworm-slim`"),
        ("cpus", "two", "must be a whole number from 1 to 256"),
        ("tags", "[a]", "must be words separated by commas"),
    ],
)  # fmt: skip
def test_refusal_says_what_is_required(render, question, answer, said):
    """The message names the question and states the rule, with an example."""
    with pytest.raises(ValueError, match=f"Validation error for question '{question}'") as refusal:
        render(**{question: answer})
    assert said in str(refusal.value)


@pytest.mark.parametrize(
    "url", ["https://example.org/a?b=c#d", "http://example.org", "https://example.org:8443/ü"[:-1]]
)
def test_adapted_task_names_its_source(render, url):
    """An adapted task carries the address it was given."""
    assert f'origin_url: "{url}"' in (render(origin="adapted", origin_url=url) / "task.md").read_text()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org/a",
        "ftp://example.org",
        "https://",
        "https://exa mple.org",
        "javascript:a()",
        "https://a\n",
    ],
)
def test_adapted_task_needs_an_address(render, url):
    """Anything but an http or https address is refused."""
    with pytest.raises(ValueError, match="must be an address that starts with `http://` or `https://`"):
        render(origin="adapted", origin_url=url)


def test_adapted_task_without_an_address_is_refused(render):
    """There is no default for the address of the source."""
    with pytest.raises(ValueError, match='"origin_url" is required'):
        render(origin="adapted")


def test_address_is_asked_of_adapted_tasks_only(render):
    """An address given for an original task is not recorded as its source."""
    task = render(origin="original", origin_url="https://example.org/a")
    assert "origin_url" not in (task / "task.md").read_text()
