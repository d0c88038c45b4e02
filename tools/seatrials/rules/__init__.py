"""The rules, over what the read room gives, registered in explicit tuples."""

from collections.abc import Iterable, Iterator
from typing import Final

from seatrials.rules import (
    beyond,
    collection,
    controls,
    credit,
    document,
    duplicates,
    files,
    image,
    leaks,
    limits,
    oracle,
    outputs,
    overlap,
    pins,
    readable,
    schema,
    scripts,
    solutions,
    structure,
    trust,
    vacuous,
    waivers,
)
from seatrials.rules.model import CollectionRule, CreditRule, Rule, TaskRule


def _in_order(rules: Iterable[TaskRule]) -> Iterator[TaskRule]:
    """Yield the rules so that each comes after those it requires; raises ValueError where it can't."""
    waiting = list(rules)
    done: set[str] = set()
    while waiting:
        ready = [rule for rule in waiting if done.issuperset(rule.requires)]
        if not ready:
            raise ValueError(f"rules require each other or one unknown: {[rule.code for rule in waiting]}")
        yield from ready
        done.update(rule.code for rule in ready)
        waiting = [rule for rule in waiting if rule.code not in done]


TASK_RULES: Final = tuple(
    _in_order(
        (
            *structure.RULES,
            *document.RULES,
            *schema.RULES,
            *files.RULES,
            *image.RULES,
            *scripts.RULES,
            *oracle.RULES,
            *leaks.RULES,
            *controls.RULES,
            *beyond.RULES,
            *pins.RULES,
            *solutions.RULES,
            *outputs.RULES,
            *vacuous.RULES,
            *trust.RULES,
            *readable.RULES,
        )
    )
)
CREDIT_RULES: Final[tuple[CreditRule, ...]] = (*credit.RULES,)
COLLECTION_RULES: Final[tuple[CollectionRule, ...]] = (*collection.RULES, *duplicates.RULES)
ALL_RULES: Final[tuple[Rule, ...]] = (*TASK_RULES, *CREDIT_RULES, *COLLECTION_RULES, *waivers.RULES)


def by_code(rules: Iterable[Rule]) -> dict[str, Rule]:
    """Return the rules by code; a code used twice raises ValueError."""
    out: dict[str, Rule] = {}
    for rule in rules:
        if rule.code in out:
            raise ValueError(f"the code {rule.code} is registered twice")
        out[rule.code] = rule
    return out


RULES_BY_CODE: Final = by_code((*ALL_RULES, *overlap.RULES, *limits.RULES))
