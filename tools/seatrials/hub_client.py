"""The Hugging Face Hub's client: who speaks, and its exceptions as ours. None carries a request's headers."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal

from seatrials.errors import CannotJudgeError, NoIdentityError, RefusedError, SeatrialsError

if TYPE_CHECKING:
    from huggingface_hub import HfApi

DATASET: Final[Literal["dataset"]] = "dataset"
PAGES: Final = "https://huggingface.co"

_NAME: Final = r"[A-Za-z0-9](?:[\w.-]{0,94}\w)?"
_REPO: Final = re.compile(rf"(?!.*(?:--|\.\.)){_NAME}/{_NAME}(?<!\.git)", re.ASCII)


def is_repo(text: str) -> bool:
    """Say whether a text has the form OWNER/NAME, as the Hub takes it."""
    return _REPO.fullmatch(text) is not None


def connect(*, anonymous: bool = False) -> "HfApi":
    """Return the client of this machine's identity.

    Without one, NoIdentityError; with `anonymous`, a client that reads what is public.
    """
    from huggingface_hub import HfApi, get_token
    from huggingface_hub.utils import disable_progress_bars  # type: ignore[attr-defined]

    if not sys.stderr.isatty():
        disable_progress_bars()
    token = get_token()
    if not token and not anonymous:
        raise NoIdentityError("no Hugging Face token; log in with `hf auth login`, or set `HF_TOKEN`")
    # The client reads HF_ENDPOINT when it is imported, which may have been before it was set.
    return HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None, token=token or False)


def status_of(error: BaseException) -> int | None:
    """Return the status of the answer that an exception stands for, if any came."""
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    return status if isinstance(status, int) else None


@contextmanager
def explained(repo: str, *, again: str, reading: bool = False) -> Iterator[None]:
    """Turn the client's exceptions into ours.

    `again` is what the same command does when it is run again; `reading` says
    that nothing is written.
    """
    from huggingface_hub.errors import (
        HfHubHTTPError,
        LocalEntryNotFoundError,
    )
    from huggingface_hub.errors import HTTPError as TransportError  # type: ignore[attr-defined]

    try:
        yield
    except LocalEntryNotFoundError as error:
        # The client's word for "not here, and not to be had": what went wrong is its cause.
        cause = error.__cause__ or error
        raise _ours(cause, repo, again=again, reading=reading) from None
    except HfHubHTTPError as error:
        raise _ours(error, repo, again=again, reading=reading) from None
    except (TransportError, OSError, RuntimeError) as error:
        # A file of this machine is no matter of the Hub's; what spoilt an upload comes wrapped.
        if isinstance(error, OSError) and error.filename is not None:
            raise
        if isinstance(error, RuntimeError) and not isinstance(error.__cause__, (TransportError, OSError)):
            raise
        raise _ours(error, repo, again=again, reading=reading) from None


def _ours(error: BaseException, repo: str, *, again: str, reading: bool) -> SeatrialsError:
    status = status_of(error)
    if reading and (said := _unreadable(error, repo)) is not None:
        return said
    match status:
        case 401:
            return NoIdentityError("the Hub does not accept the token; log in anew with `hf auth login`")
        case 403 if reading:
            return RefusedError(f"`{repo}` may not be read with this token (403)")
        case 403:
            return RefusedError(
                f"the token may not write to `{repo}`: it needs write access to the data sets of"
                f" `{repo.partition('/')[0]}` (huggingface.co/settings/tokens), and an organisation may have"
                " to admit it"
            )
        case 404:
            return RefusedError(f"`{repo}` is not there, or not for this token")
        case 429:
            return CannotJudgeError("the Hub asks to wait (429, too many requests); try again later")
        case None:
            return CannotJudgeError(
                f"the Hub can't be reached ({type(error).__name__}); run the same command again, {again}"
            )
        case _:
            return CannotJudgeError(f"the Hub answered {status}; run the same command again, {again}")


def _unreadable(error: BaseException, repo: str) -> SeatrialsError | None:
    """Return why a data set, or one of its revisions, can't be read; None where it is something else."""
    from huggingface_hub import get_token
    from huggingface_hub.errors import (
        DisabledRepoError,
        GatedRepoError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    token = get_token()
    match error:
        case GatedRepoError() if not token:
            return NoIdentityError(f"`{repo}` is gated: log in with `hf auth login`, and ask for access at"
                                   f" {PAGES}/datasets/{repo}")  # fmt: skip
        case GatedRepoError():
            return RefusedError(f"`{repo}` is gated, and not for this token: ask for access at"
                                f" {PAGES}/datasets/{repo}")  # fmt: skip
        case RepositoryNotFoundError():
            who = "not for this token" if token else "only for those who log in (`hf auth login`)"
            return RefusedError(f"there is no data set `{repo}` on the Hub, or it is private and {who}")
        case RevisionNotFoundError():
            return RefusedError(f"`{repo}` has no such branch, tag or commit")
        case DisabledRepoError():
            return RefusedError(f"the Hub has disabled `{repo}`")
        case _:
            return None
