"""``task.md``: YAML frontmatter with the line of every key, and a body of sections.

Parsing follows BenchFlow 0.7.11 (``benchflow.task._document_parse``): the same
fences, the same section headings, the same prompt. What BenchFlow refuses
becomes a `Problem` here, never an exception.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import yaml

KeyPath = tuple[str | int, ...]
"""Where a value lives in a config: keys, and indexes of lists."""

ProblemKind = Literal["encoding", "bom", "fence", "yaml", "toml", "duplicate-key", "duplicate-section"]

MAX_FRONTMATTER: Final = 256 * 1024
"""Bytes of frontmatter that are parsed; the largest in 3,700 public tasks has under 8 KiB."""

MAX_DEPTH: Final = 64
"""Levels of nesting that are parsed, so that a crafted file can't exhaust the stack."""

MAX_NODES: Final = 50_000
"""Values in one file with its aliases expanded, so that a few lines can't unfold into gigabytes."""

MAX_MERGED_ALIASES: Final = 20
"""Aliases in a file that uses merge keys (``<<``), which PyYAML expands while it builds the data."""

_SECTION: Final = re.compile(
    r"^##\s+(prompt|role:[A-Za-z0-9_.-]+|scene:[A-Za-z0-9_.-]+|user-persona)\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_ESCAPED: Final = re.compile(
    r"^\\(##\s+(?:prompt|role:[A-Za-z0-9_.-]+|scene:[A-Za-z0-9_.-]+|user-persona)\s*)$",
    re.IGNORECASE | re.MULTILINE,
)
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """Why a file could not be read as what it should be. `line` counts from 1."""

    kind: ProblemKind
    path: str
    line: int | None
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """One section of the body: its text as BenchFlow gives it to a model, and its heading's line."""

    text: str
    line: int


@dataclass(frozen=True, kw_only=True)
class YamlData:
    """A parsed YAML mapping with the line of each key, and what was wrong with it."""

    data: dict[str, Any]
    lines: Mapping[KeyPath, int]
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TaskDocument:
    """A parsed ``task.md``.

    `lines` maps the path of every key of the frontmatter to its line in the
    file. `prompt` is the text a model is given: the ``## prompt`` section, or
    without one the body before the first section. `sections` is keyed as
    BenchFlow does: ``prompt``, ``role:NAME``, ``scene:NAME``, ``user-persona``.
    """

    frontmatter: dict[str, Any]
    lines: Mapping[KeyPath, int]
    prompt: str
    sections: Mapping[str, Section]
    body_line: int
    problems: tuple[Problem, ...]


def parse_document(raw: bytes, *, path: str = "task.md") -> TaskDocument:
    """Parse the bytes of a ``task.md``. Never raises on their content."""
    problems: list[Problem] = []
    text = decode(raw, path, problems)
    head, body, body_line = _split(text, path, problems)
    frontmatter = parse_yaml(head, path=path, first_line=2) if head is not None else _NOTHING
    problems.extend(frontmatter.problems)
    prompt, sections = _sections(body, body_line, path, problems)
    return TaskDocument(
        frontmatter=frontmatter.data,
        lines=frontmatter.lines,
        prompt=prompt,
        sections=sections,
        body_line=body_line,
        problems=tuple(problems),
    )


def decode(raw: bytes, path: str, problems: list[Problem]) -> str:
    """Decode as Python reads a text file: UTF-8, any line ending; a byte-order mark is a problem."""
    if raw.startswith(b"\xef\xbb\xbf"):
        problems.append(
            Problem(
                kind="bom",
                path=path,
                line=1,
                message=f"`{path}` starts with a byte-order mark; it must start with its first character",
            )
        )
        raw = raw[3:]
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        problems.append(
            Problem(kind="encoding", path=path, line=line, message=f"`{path}` is not UTF-8; it must be")
        )
        text = raw.decode("utf-8", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_yaml(text: str, *, path: str, first_line: int = 1) -> YamlData:
    """Parse a YAML mapping; `first_line` is the line that its first line has in the file."""
    problems: list[Problem] = []

    def problem(kind: ProblemKind, line: int | None, message: str) -> YamlData:
        problems.append(Problem(kind=kind, path=path, line=line, message=message))
        return YamlData(data={}, lines={}, problems=tuple(problems))

    if len(text) > MAX_FRONTMATTER:
        return problem(
            "yaml",
            first_line,
            f"`{path}` has over {MAX_FRONTMATTER // 1024} KiB of YAML; it must have less",
        )
    if _nested_too_deep(text):
        return problem(
            "yaml",
            first_line,
            f"`{path}` nests YAML over {MAX_DEPTH} levels deep; it must be flatter",
        )
    if "<<" in text and text.count("*") > MAX_MERGED_ALIASES:
        return problem("yaml", first_line, f"`{path}` merges too many YAML aliases; write the values out")
    walk = _LineWalk(path, first_line)
    loader = _LOADER(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return YamlData(data={}, lines={})
        if not isinstance(node, yaml.MappingNode):
            return problem("yaml", first_line, f"`{path}` must hold a YAML mapping (`key: value`)")
        if walk.size(node) > MAX_NODES:
            return problem(
                "yaml",
                first_line,
                f"`{path}` holds over {MAX_NODES} YAML values; it must hold fewer",
            )
        data = loader.construct_document(node)
    except yaml.YAMLError as error:
        return problem(
            "yaml",
            _yaml_line(error, first_line),
            f"`{path}` is not valid YAML: {_yaml_reason(error)}",
        )
    # The constructor raises these on values such as `2024-13-45`, an integer of 5,000 digits or `{[]: 1}`.
    except (
        ValueError,
        TypeError,
        OverflowError,
        AttributeError,
        KeyError,
        RecursionError,
    ) as error:
        return problem("yaml", first_line, f"`{path}` holds a YAML value that can't be read: {error}")
    finally:
        loader.dispose()
    return YamlData(data=_string_keys(data), lines=walk.lines, problems=tuple(walk.duplicates))


_NOTHING: Final = YamlData(data={}, lines={})


def _split(text: str, path: str, problems: list[Problem]) -> tuple[str | None, str, int]:
    lines = text.splitlines(keepends=True)
    if not lines or lines[0].strip() != "---":
        message = f"`{path}` must start with YAML frontmatter between two `---` lines"
        problems.append(Problem(kind="fence", path=path, line=1, message=message))
        return None, text, 1
    for index, line in enumerate(lines[1:], start=1):
        if line.strip() == "---":
            rest = "".join(lines[index + 1 :])
            body = rest.lstrip("\n")
            return "".join(lines[1:index]), body, index + 2 + len(rest) - len(body)
    message = f"the frontmatter of `{path}` has no closing `---` line"
    problems.append(Problem(kind="fence", path=path, line=1, message=message))
    return None, "", len(lines) + 1


def _sections(
    body: str, body_line: int, path: str, problems: list[Problem]
) -> tuple[str, dict[str, Section]]:
    matches = list(_SECTION.finditer(body))
    preamble = body[: matches[0].start()] if matches else body
    sections: dict[str, Section] = {}
    for index, match in enumerate(matches):
        prefix, colon, name = match.group(1).strip().partition(":")
        key = prefix.lower() + colon + name
        line = body_line + body.count("\n", 0, match.start())
        if key in sections:
            message = f"`{path}` has the section `## {key}` twice; it must have it once"
            problems.append(Problem(kind="duplicate-section", path=path, line=line, message=message))
            continue
        end = matches[index + 1].start() if index + 1 < len(matches) else len(body)
        text = _ESCAPED.sub(r"\1", body[match.end() : end].strip())
        sections[key] = Section(text=text, line=line)
    prompt = sections["prompt"].text if "prompt" in sections else preamble.strip()
    return prompt, sections


def escape_headings(prompt: str) -> str:
    """Put a backslash before the lines that BenchFlow would read as section headings."""
    return _SECTION.sub(lambda match: "\\" + match.group(0), prompt)


def _nested_too_deep(text: str) -> bool:
    # Nesting needs an opener per level: brackets, or an indented or inline block.
    if (
        text.count("[") + text.count("{") + text.count("- ") + text.count(": ") + text.count(":\n")
        < MAX_DEPTH
    ):
        return False
    depth = 0
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    return True
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.YAMLError:
        return False  # the parse proper reports it
    return False


class _LineWalk:
    """Collect the line of every key, and the size that the data would have with its aliases expanded."""

    def __init__(self, path: str, first_line: int) -> None:
        self.path = path
        self.first_line = first_line
        self.lines: dict[KeyPath, int] = {}
        self.duplicates: list[Problem] = []
        self._sizes: dict[int, int | None] = {}  # by node; None while it is being walked

    def size(self, node: yaml.Node, where: KeyPath = ()) -> int:
        """Return the number of nodes below `node`; raises YAMLError where it holds itself."""
        if id(node) in self._sizes:
            known = self._sizes[id(node)]
            if known is None:
                raise yaml.MarkedYAMLError(problem="an alias refers to itself", problem_mark=node.start_mark)
            return known
        self._sizes[id(node)] = None
        total = 1
        match node:
            case yaml.MappingNode():
                total += sum(self._pair(key, value, where) for key, value in node.value)
            case yaml.SequenceNode():
                for index, value in enumerate(node.value):
                    self.lines[*where, index] = self.first_line + value.start_mark.line
                    total += self.size(value, (*where, index))
            case _:
                pass
        self._sizes[id(node)] = total
        return total

    def _pair(self, key_node: yaml.Node, value: yaml.Node, where: KeyPath) -> int:
        if not isinstance(key_node, yaml.ScalarNode):
            return self.size(key_node) + self.size(value)
        key = (*where, str(key_node.value))
        line = self.first_line + key_node.start_mark.line
        if key in self.lines and key_node.value != "<<":
            message = f"`{dotted(key)}` stands twice (lines {self.lines[key]} and {line}); it must stand once"
            self.duplicates.append(Problem(kind="duplicate-key", path=self.path, line=line, message=message))
        self.lines[key] = line
        # A scalar holds nothing, so it needs no place among the nodes walked.
        return 2 if isinstance(value, yaml.ScalarNode) else 1 + self.size(value, key)


def dotted(path: KeyPath) -> str:
    """Write a key path as people do: ``steps[0].verifier.env``."""
    out = ""
    for part in path:
        out += f"[{part}]" if isinstance(part, int) else f".{part}" if out else part
    return out


def _string_keys(data: dict[Any, Any]) -> dict[str, Any]:
    # YAML reads a bare `on:` or `1:` as a boolean or a number; the top level has names only.
    return {key if isinstance(key, str) else str(key): value for key, value in data.items()}


def _yaml_line(error: yaml.YAMLError, first_line: int) -> int:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    return first_line + int(mark.line) if mark is not None else first_line


def _yaml_reason(error: yaml.YAMLError) -> str:
    parts = (getattr(error, "problem", None), getattr(error, "context", None))
    said = ", ".join(str(part) for part in parts if part)
    return said or str(error).splitlines()[0]
