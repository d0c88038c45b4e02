"""Tasks for what the kit asks beyond the arena's gates; as in `gate_cases`."""

from typing import Final

from gates.gate_cases import CHECKS, HEAD, PROMPT, verifier
from gates.review_cases import checks, found, passed


def base(name: str) -> dict[str, str | None]:
    """Return a task whose image starts from another."""
    return {"environment/Dockerfile": HEAD.replace("debian:bookworm-slim", name)}


def example(*lines: str, before: str = "Write it in this form:") -> str:
    """Return the prompt with a fenced block."""
    text = "\n".join(lines)
    return f"{PROMPT}\n{before}\n\n```json\n{text}\n```\n"


LARGE: Final = CHECKS.replace("7.125", "81347")
TEXT: Final = "\n\ndef test_digest():\n    assert load()['digest'] {} '8846f7eaee8f'\n"
VALUE: Final = 'value = Path("/app/out.json").read_text()'

BEYOND: Final = (
    found(
        "BYD101",
        "Exception",
        checks(VALUE, "try:", "    assert value == '1'", "except Exception:", "    pass"),
    ),
    found("BYD101", "bare", checks(VALUE, "try:", "    assert value == '1'", "except:", "    pass")),
    found(
        "BYD101",
        "AssertionError",
        checks(VALUE, "try:", "    assert value", "except AssertionError:", "    pass"),
    ),
    found(
        "BYD101",
        "one of several",
        checks(VALUE, "try:", "    assert value", "except (ValueError, Exception):", "    pass"),
    ),
    found(
        "BYD101",
        "deeper in the try",
        checks(
            VALUE, "try:", "    for x in value:", "        assert x", "except Exception as e:", "    pass"
        ),
    ),
    found("BYD101", "a return", checks(VALUE, "try:", "    assert value", "except Exception:", "    return")),
    found("BYD101", "a line printed", checks(VALUE, "try:", "    assert value", "except:", "    print(1)")),
    found("BYD101", "suppressed", checks(VALUE, "with contextlib.suppress(Exception):", "    assert value")),
    passed("BYD101", "no try", checks(VALUE, "assert value == '1'")),
    passed(
        "BYD101",
        "another error suppressed",
        checks(VALUE, "with suppress(OSError, Exception()):", "    assert value"),
    ),
    passed(
        "BYD101",
        "printed, and checked after",
        checks(VALUE, "try:", "    assert value", "except Exception:", "    print(1)", "assert value == '1'"),
    ),
    passed(
        "BYD101",
        "tried again",
        checks(
            VALUE,
            "for _ in range(3):",
            "    try:",
            "        assert value",
            "        return",
            "    except Exception:",
            "        print(1)",
            "assert False",
        ),
    ),
    passed(
        "BYD101", "another error", checks(VALUE, "try:", "    assert value", "except OSError:", "    pass")
    ),
    passed(
        "BYD101",
        "fails in the handler",
        checks(VALUE, "try:", "    assert value", "except Exception:", "    assert False"),
    ),
    passed(
        "BYD101", "raised again", checks(VALUE, "try:", "    assert value", "except Exception:", "    raise")
    ),
    passed(
        "BYD101",
        "after the try",
        checks(VALUE, "try:", "    x = int(value)", "except ValueError:", "    pass", "assert value"),
    ),
    passed(
        "BYD101",
        "in the else",
        checks(VALUE, "try:", "    int(value)", "except Exception:", "    pass", "else:", "    assert value"),
    ),
    found("BYD103", "random", checks("import random", "assert random.random() < 2")),
    found(
        "BYD105",
        "a text with a digit",
        verifier(CHECKS + TEXT.format("==")),
        example('{"mean": 1.5, "spread": 1, "digest": "8846f7eaee8f"}'),
    ),
    passed(
        "BYD105",
        "a placeholder that must be gone",
        verifier(CHECKS + TEXT.format("!=")),
        example('{"mean": 1.5, "spread": 1, "digest": "8846f7eaee8f"}'),
    ),
    passed(
        "BYD105",
        "a text by which a row is found",
        verifier(
            CHECKS + "\n\ndef test_row():\n    assert [r for r in load() if r['digest'] == '8846f7eaee8f']\n"
        ),
        example('{"mean": 1.5, "spread": 1, "digest": "8846f7eaee8f"}'),
    ),
    passed(
        "BYD105",
        "another text",
        verifier(CHECKS + TEXT.format("==")),
        example('{"mean": 1.5, "spread": 1, "digest": "0000f7eaee8f"}'),
    ),
    found(
        "BYD105",
        "in a line",
        verifier(LARGE),
        PROMPT + 'Write an object such as `{"mean": 1.5, "spread": 81347}`.\n',
    ),
    passed(
        "BYD105",
        "an input in a line",
        verifier(LARGE),
        PROMPT + 'Write the sum.\n\nThe input contains rows like `{"mean": 1.5, "spread": 81347}`.\n',
    ),
    found("BYD103", "by its name", checks("from random import randint as draw", "assert draw(1, 2) < 3")),
    found("BYD103", "under another name", checks("import random as rnd", "assert rnd.random() < 2")),
    passed("BYD103", "another module's", checks("from mine import randint", "assert randint(1, 2) < 3")),
    found("BYD103", "a choice", checks("import random", "assert random.choice('ab')")),
    found("BYD103", "numpy", checks("import numpy as np", "assert np.random.rand(3).size == 3")),
    found("BYD103", "a generator", checks("import numpy", "assert numpy.random.default_rng()")),
    found("BYD103", "shuffled", checks("import random", "x = [1]", "random.shuffle(x)", "assert x")),
    passed("BYD103", "none drawn", {}),
    passed("BYD103", "a seed", checks("import random", "random.seed(7)", "assert random.random() < 2")),
    passed("BYD103", "a seeded generator", checks("import random", "assert random.Random(7).random() < 2")),
    passed(
        "BYD103", "numpy's seed", checks("import numpy as np", "np.random.seed(1)", "assert np.random.rand()")
    ),
    passed(
        "BYD103", "default_rng(7)", checks("import numpy as np", "assert np.random.default_rng(7).normal()")
    ),
    passed("BYD103", "a field of that name", verifier(CHECKS.replace('"mean"', '"random"'))),
    found("BYD104", "latest", base("debian:latest")),
    found("BYD104", "no tag", base("debian")),
    found("BYD104", "of a registry with a port", base("example.org:5000/team/image")),
    found("BYD104", "with a platform", base("--platform=linux/amd64 ubuntu")),
    found("BYD104", "half a version", base("python:3-slim")),
    found("BYD104", "of the library", base("docker.io/library/golang:1")),
    found("BYD104", "a branch", base("node:lts-alpine")),
    found("BYD104", "a variant only", base("debian:slim")),
    found("BYD104", "the distribution only", base("python:bookworm")),
    passed("BYD104", "a minor version", base("python:3.12-slim")),
    passed("BYD104", "a release that gets fixes", base("node:20")),
    passed("BYD104", "a dated build", base("example.org/team/image:nightly-20250624")),
    passed("BYD104", "somebody's own number", base("example.org/team/python:3")),
    found("BYD104", "of another stage", {"environment/Dockerfile": f"FROM golang AS build\n{HEAD}"}),
    passed("BYD104", "a version", {}),
    passed("BYD104", "a digest", base(f"debian@sha256:{'0' * 64}")),
    passed("BYD104", "a stage", {"environment/Dockerfile": f"FROM debian:12 AS base\n{HEAD}FROM base\n"}),
    passed("BYD104", "scratch", {"environment/Dockerfile": f"FROM scratch AS empty\n{HEAD}"}),
    found("BYD105", "in JSON", {}, example('{"mean": 48.625, "spread": 1.0}')),
    found("BYD105", "in YAML", {}, example("mean: 48.625")),
    found("BYD105", "in INI", {}, example("spread=7.125", "mean=1")),
    found("BYD105", "a whole number", verifier(LARGE), example('"spread": 81347')),
    found("BYD105", "for a report", {}, example('"mean" : 48.625', before="Save a report such as:")),
    passed("BYD105", "no example", {}),
    passed("BYD105", "another number", {}, example('{"mean": 48.6251, "spread": 1.0}')),
    passed("BYD105", "of the input", {}, example("mean: 48.625", before="The input file contains lines as:")),
    passed("BYD105", "asked for in words too", {}, example("mean: 48.625") + "The mean must be 48.625.\n"),
    passed("BYD105", "under a key that is not checked", {}, example("price: 48.625")),
    passed("BYD105", "a small number", verifier(CHECKS.replace("7.125", "7")), example("spread: 7")),
    passed("BYD104", "an argument", {"environment/Dockerfile": f"ARG TAG\nFROM debian:$TAG\n{HEAD}"}),
)
