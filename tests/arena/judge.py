"""What the stand-in arena says of a collection: the guide's structure checks and some of its static gates.

A stand-in, written from the arena's agent guide. It reads the files of a
commit and runs nothing. The codes but `D-FILE-COPY` are its own, and so is
how a content hash joins paths and blob ids, of which the guide doesn't speak.
"""

import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

CATEGORIES = frozenset(
    {
        "software-engineering", "system-administration", "security", "scientific-computing", "data-science",
        "data-processing", "data-querying", "file-operations", "debugging", "machine-learning",
        "model-training", "mathematics", "optimization", "games", "personal-assistant", "video-processing",
        "tool-use", "other",
    }
)  # fmt: skip
ORIGINS = frozenset({"original", "adapted", "generated"})
MAX_TASKS = 200
KEYS = {
    "native": ("task", "metadata", "agent", "verifier", "sandbox"),
    "posttrain": ("version", "metadata", "agent", "verifier", "environment"),
    "harbor": (),
}
FILES = {
    "native": ("environment/Dockerfile", "verifier/test.sh"),
    "posttrain": (
        "environment/Dockerfile",
        "verifier/test.sh",
        "verifier/test_outputs.py",
        "verifier/verifier.md",
        "oracle/solve.sh",
    ),
    "harbor": ("environment/Dockerfile", "tests/test.sh"),
}


@dataclass
class HeldOut:
    """A task of the private suite: its prompt, and the blob ids of its verifier and solution."""

    prompt: str
    blobs: frozenset[str] = frozenset()


@dataclass
class Verdict:
    """The answer's parts."""

    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    findings: list[dict[str, str]] = field(default_factory=list)
    identity: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def summary(self) -> dict[str, Any]:
        """The guide's counts: blocked + rejected + eligible = tasks."""
        per_task = {
            task: {f["severity"] for f in self.findings if f["task"] == task} for task in self.identity
        }
        blocked = {task for task, found in per_task.items() if "block" in found}
        rejected = {task for task, found in per_task.items() if "reject" in found} - blocked
        eligible = set(per_task) - blocked - rejected
        return {
            "tasks": len(per_task),
            "blocked": len(blocked),
            "rejected": len(rejected),
            "eligible": len(eligible),
            "needs_controls": sum("controls" in per_task[task] for task in eligible),
            "review": sum("review" in per_task[task] for task in eligible),
            "clean": sum(not per_task[task] for task in eligible),
            "by_code": dict(sorted(Counter(f["code"] for f in self.findings).items())),
        }

    @property
    def valid(self) -> bool:
        """Sound structure, and no blocking gate."""
        return not self.errors and not any(found["severity"] == "block" for found in self.findings)

    def as_data(self) -> dict[str, Any]:
        """Return what `validate` answers of it."""
        summary = self.summary
        static = {"version": "gates-v4", "summary": summary, "findings": self.findings}
        return {
            "valid": self.valid,
            "eligible_tasks": summary["eligible"] if self.valid else 0,
            "errors": self.errors,
            "warnings": self.warnings,
            "quality_gates": {"static": {**static, "task_identity": self.identity}},
        }


def judge(files: Mapping[str, bytes], blobs: Mapping[str, str], held_out: Mapping[str, HeldOut]) -> Verdict:
    """Judge the files below a collection's folder, by path; `blobs` has their ids in the listing."""
    verdict = Verdict()
    folder = next(
        (name for name in ("envs", "tasks") if any(path.startswith(f"{name}/") for path in files)), ""
    )
    manifest = read_yaml(files.get("submission.yaml", b""))
    if "submission.yaml" not in files:
        if folder != "tasks":
            verdict.errors.append("submission.yaml is missing")
    elif not isinstance(manifest.get("team_name"), str) or manifest.get("track") != "environments":
        verdict.errors.append("submission.yaml: team_name and `track: environments` are required")
    tasks = sorted({path.split("/")[1] for path in files if path.startswith(f"{folder}/")} if folder else ())
    if not 1 <= len(tasks) <= MAX_TASKS:
        verdict.errors.append(f"a collection holds 1 to {MAX_TASKS} tasks, not {len(tasks)}")
    lacking: Counter[str] = Counter()
    for task in tasks:
        base = f"{folder}/{task}/"
        own = {path.removeprefix(base): data for path, data in files.items() if path.startswith(base)}
        ids = {path.removeprefix(base): blob for path, blob in blobs.items() if path.startswith(base)}
        judge_task(task, own, ids, held_out, verdict)
        credit = verdict.identity[task]
        for key in ("author_hub", "license", "category", "origin"):
            if not credit[key]:
                credit[key] = manifest.get(key) if key in {"license", "origin"} else None
            good = {"category": CATEGORIES, "origin": ORIGINS}.get(key)
            if not credit[key] or (good is not None and credit[key] not in good):
                lacking[key] += 1
    verdict.warnings += [
        f"{key} is missing or invalid in {number} tasks" for key, number in sorted(lacking.items())
    ]
    return verdict


def judge_task(  # noqa: PLR0912 - one branch for each thing that the guide asks for
    task: str,
    files: Mapping[str, bytes],
    blobs: Mapping[str, str],
    held_out: Mapping[str, HeldOut],
    verdict: Verdict,
) -> None:
    """Judge one task's files, by path in its folder."""
    document = files.get("task.md", b"").decode("utf-8", "replace")
    front, _, body = document.removeprefix("---\n").partition("\n---\n")
    keys = read_yaml(front.encode()) if document.startswith("---\n") else {}
    if "task.md" in files:
        kind = "native" if "schema_version" in keys and "task" in keys else "posttrain"
    else:
        kind = "harbor"
        try:
            keys = tomllib.loads(files.get("task.toml", b"").decode("utf-8", "replace"))
        except tomllib.TOMLDecodeError:
            verdict.errors.append(f"{task}: task.toml is not TOML")
    needed = (*FILES[kind], *(("task.toml", "instruction.md") if kind == "harbor" else ()))
    verdict.errors += [f"{task}: {path} is missing" for path in needed if path not in files]
    verdict.errors += [f"{task}: frontmatter has no `{key}`" for key in KEYS[kind] if key not in keys]
    prompt = files.get("instruction.md", b"").decode("utf-8", "replace") if kind == "harbor" else body
    if kind != "harbor" and not re.search(r"^## prompt\s*$", body, re.MULTILINE):
        verdict.errors.append(f"{task}: no `## prompt` section")
    if kind == "posttrain" and not any(path.startswith("verifier/rubrics/") for path in files):
        verdict.errors.append(f"{task}: verifier/rubrics/*.md is missing")
    image = files.get("environment/Dockerfile", b"").decode("utf-8", "replace")
    steps = [line.strip() for line in image.splitlines() if line.strip() and not line.strip().startswith("#")]
    if steps and steps[0].split()[0].upper() not in {"FROM", "ARG"}:
        verdict.errors.append(f"{task}: environment/Dockerfile must start with FROM")
    metadata = keys.get("metadata") if isinstance(keys.get("metadata"), dict) else {}
    verdict.identity[task] = {
        "content_hash": content_hash(blobs),
        "format": kind,
        **{key: metadata.get(key) for key in ("author_hub", "license", "category", "origin")},
    }

    def find(severity: str, code: str, path: str, detail: str) -> None:
        found = {"task": task, "severity": severity, "code": code, "path": path, "detail": detail}
        verdict.findings.append(found)

    for step in steps:
        words = step.split()
        if words[0].upper() in {"COPY", "ADD"} and re.search(
            r"solve\.sh|oracle/|solution/|test_outputs", step
        ):
            find("reject", "S-ANSWER-COPY", "environment/Dockerfile", "copies the solution or the tests")
        if words[0].upper() == "ADD" and "://" in step:
            find("review", "S-REMOTE-ADD", "environment/Dockerfile", "a remote ADD")
    if not {"oracle/solve.sh", "solution/solve.sh"} & set(files):
        find("controls", "S-NO-ORACLE", "", "no reference solution")
    if task in held_out:
        find("block", "S-NAME", "", "a held-out task has this name")
    grams = ngrams(prompt)
    for other in held_out.values():
        if grams and len(grams & ngrams(other.prompt)) >= len(grams) / 2:
            find("block", "S-PROMPT-COPY", "task.md", "a near-copy of a held-out prompt")
        for path, blob in blobs.items():
            if blob in other.blobs:
                find("block", "D-FILE-COPY", path, "identical to a held-out task's file")


def ngrams(text: str) -> set[tuple[str, ...]]:
    """Return the 13-grams of a text's words."""
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[at : at + 13]) for at in range(len(words) - 12)}


def content_hash(blobs: Mapping[str, str]) -> str:
    """Return `sha256:` over sorted paths and blob ids."""
    lines = (
        f"{path}\0{blob}\n".encode()
        for path, blob in sorted(blobs.items(), key=lambda item: item[0].encode())
    )
    return "sha256:" + hashlib.sha256(b"".join(lines)).hexdigest()


def read_yaml(data: bytes) -> dict[str, Any]:
    """Return a mapping; an empty one for anything else."""
    try:
        found = yaml.safe_load(data)
    except yaml.YAMLError:
        return {}
    return found if isinstance(found, dict) else {}
