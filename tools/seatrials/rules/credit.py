"""CRD: the credit that the arena reads off each task.

Source: the arena's guide, "Task credit metadata". The arena counts: its
warning names a field and the number of tasks that lack it, and so does the
check of a collection. `license` and `origin` of `submission.yaml` hold for
tasks that leave them out.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from seatrials.rules.model import CreditRule
from seatrials.task.credit import CATEGORIES, ORIGINS, Credit
from seatrials.task.native import Format

# What huggingface_hub's validate_repo_id takes for the part before the slash.
_HANDLE: Final = re.compile(r"(?!.*(?:--|\.\.))[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?")
_URL: Final = re.compile(r"https?://[^\s/?#]+\.[^\s/?#]+(?:[/?#]\S*)?", re.IGNORECASE)

Defaults = Mapping[str, str]


def author(credit: Credit, _: Defaults, form: Format) -> Iterator[str]:
    """The task names its author's Hub account.

    Why: it is how contributors are credited. `author_name` is a legacy field
    that no account belongs to.

    Fix: write `author_hub: HANDLE` under `metadata`; keep the real author's for an adapted task.
    """
    handle = credit.fields.get("author_hub")
    if handle is not None:
        if not is_handle(handle):
            yield f"`{handle[:60]}` is no Hub handle; it must be the name after `huggingface.co/`"
    elif "author_name" in credit.fields:
        yield "is missing, and the legacy `author_name` names no account"
    elif form != "posttrain":  # STR103 says so
        yield "is missing"


def license_(credit: Credit, defaults: Defaults, _: Format) -> Iterator[str]:
    """The task names its licence as an SPDX expression.

    Why: without one nobody knows what may be done with the task.

    Fix: write `license: Apache-2.0` (or another identifier of spdx.org/licenses)
    under `metadata`, or once in `submission.yaml`.
    """
    declared = credit.fields.get("license") or defaults.get("license")
    if declared is None:
        yield "is missing"
    elif not is_spdx(declared):
        yield f"`{declared[:60]}` is no SPDX expression"


def is_handle(text: str) -> bool:
    """Say whether a text could be the name of an account of the Hub."""
    return _HANDLE.fullmatch(text) is not None


def is_address(text: str) -> bool:
    """Say whether a text is an `http` or `https` address."""
    return _URL.fullmatch(text) is not None


def is_spdx(text: str) -> bool:
    """Say whether a text is an SPDX licence expression."""
    try:
        canonicalize_license_expression(text)
    except InvalidLicenseExpression:
        return False
    return True


def category(credit: Credit, _: Defaults, form: Format) -> Iterator[str]:
    """The task has one of the arena's categories.

    Why: results are analysed by category.

    Fix: write `category` under `metadata`: one of software-engineering,
    system-administration, security, scientific-computing, data-science,
    data-processing, data-querying, file-operations, debugging,
    machine-learning, model-training, mathematics, optimization, games,
    personal-assistant, video-processing, tool-use, other.
    """
    declared = credit.fields.get("category")
    if declared is None:
        if form != "posttrain":  # STR103 says so
            yield "is missing"
    elif declared not in CATEGORIES:
        yield f"`{declared[:60]}` is none of the arena's categories"


def origin(credit: Credit, defaults: Defaults, _: Format) -> Iterator[str]:
    """The task says where it comes from.

    Why: an adapted task must be told from an original or a generated one.

    Fix: write `origin: original`, `adapted` or `generated` under `metadata`,
    or once in `submission.yaml`.
    """
    declared = credit.fields.get("origin") or defaults.get("origin")
    if declared is None:
        yield "is missing"
    elif declared not in ORIGINS:
        yield f"`{declared[:60]}` must be `original`, `adapted` or `generated`"


def origin_url(credit: Credit, defaults: Defaults, _: Format) -> Iterator[str]:
    """An adapted task names its source.

    Why: the arena asks for `origin_url` when `origin` is `adapted`.

    Fix: write the source's address under `metadata`, as in `origin_url: https://github.com/...`.
    """
    url = credit.fields.get("origin_url")
    if url is None:
        if (credit.fields.get("origin") or defaults.get("origin")) == "adapted":
            yield "is missing, and `origin` is `adapted`"
    elif not is_address(url):
        yield f"`{url[:60]}` is no `http` or `https` address"


def email(credit: Credit, _: Defaults, __: Format) -> Iterator[str]:
    """No e-mail address is published with the task.

    Why: the arena neither needs nor shows one, and a published one is there for good.

    Fix: delete it; the Hub account is the contact.
    """
    for name in credit.emails:
        yield f"`{name}` is not needed; the Hub account is the contact"


RULES: Final = (
    CreditRule("CRD101", "warning", author, field="author_hub"),
    CreditRule("CRD102", "warning", license_, field="license"),
    CreditRule("CRD103", "warning", category, field="category"),
    CreditRule("CRD104", "warning", origin, field="origin"),
    CreditRule("CRD105", "warning", origin_url, field="origin_url"),
    CreditRule("CRD106", "warning", email, field=""),
)
