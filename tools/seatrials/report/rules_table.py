"""The rules themselves, as text and as the page ``docs/rules.md``."""

from collections.abc import Iterable
from textwrap import fill

from seatrials.rules.model import CollectionRule, KitRule, Rule, explain

_HEAD = """# Rules

What `check` looks for. This page is generated: `nox -s rules -- --format markdown --output docs/rules.md`.

Severities, from worst to mildest: `block`, `error`, `reject`, `controls`, `review`, `warning`.
An `error` is what the arena's validation or BenchFlow refuses. `check` fails from `reject` on,
unless `--fail-on` says otherwise.

"""


def text(rules: Iterable[Rule]) -> str:
    """Return one line for each rule, sorted by code."""
    ordered = sorted(rules, key=lambda rule: rule.code)
    return "".join(f"{rule.code}  {rule.severity:<8}  {explain(rule).title}\n" for rule in ordered)


def markdown(rules: Iterable[Rule]) -> str:
    """Return the page of rules, sorted by code."""
    ordered = sorted(rules, key=lambda rule: rule.code)
    table = ["| code | severity | what must hold |", "| --- | --- | --- |"]
    table += [
        f"| [{rule.code}](#{rule.code.lower()}) | {rule.severity} | {explain(rule).title} |"
        for rule in ordered
    ]
    sections: list[str] = []
    for rule in ordered:
        said = explain(rule)
        profiles = " and ".join(rule.profiles)
        sections.append(
            f"## {rule.code}\n\n**{said.title}.** Severity `{rule.severity}`; profile {profiles}.\n\n"
            f"Why: {said.why}\n\nFix: {said.fix}\n"
        )
    return _HEAD + "\n".join(table) + "\n\n" + "\n".join(sections)


def _about(rule: Rule) -> str:
    match rule:
        case CollectionRule():
            return "a collection"
        case KitRule():
            return "the check itself"
        case _:
            return "a task"


def explanation(rule: Rule) -> str:
    """Return what a rule wants, why, and how to fix what it finds, as text."""
    said = explain(rule)
    head = f"{rule.code}, {rule.severity}, about {_about(rule)}: {said.title}"
    return "\n\n".join([head, fill(f"Why: {said.why}", 88), fill(f"Fix: {said.fix}", 88)]) + "\n"
