"""The commands of the arena's client that the kit calls."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """A command of the client: whether it needs an identity, and the seconds it may take.

    The client itself sends a request up to four times with 7 s of pauses, and
    validation reads a whole collection.
    """

    identity: bool
    seconds: float = 120.0


COMMANDS: Final[Mapping[str, Command]] = {
    "whoami": Command(identity=True),
    "register-agent": Command(identity=True),
    "challenges": Command(identity=False),
    "benchmarks": Command(identity=False),
    "discover": Command(identity=False),
    "budget": Command(identity=False),
    "environments list": Command(identity=False),
    "validate": Command(identity=True, seconds=900.0),
    "submit": Command(identity=True, seconds=900.0),
    "run": Command(identity=True, seconds=600.0),
    "runs": Command(identity=False),
    "result collect": Command(identity=True, seconds=600.0),
    "leaderboard": Command(identity=False),
    "gates plan": Command(identity=True, seconds=600.0),
    "gates get": Command(identity=False),
    "board list": Command(identity=False),
    "board post": Command(identity=True),
}
"""The client's commands as the arena's guide has them. Which need an identity: its section "Access"."""
