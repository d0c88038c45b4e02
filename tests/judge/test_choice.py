"""--select and --ignore: codes or the start of codes, and nothing unknown."""

import pytest

from seatrials.errors import UsageError
from seatrials.judge.choice import choice


@pytest.mark.parametrize(
    ("select", "ignore", "kept"),
    [
        ([], [], {"DOC101", "DOC102", "STR101", "KIT101"}),
        (["DOC"], [], {"DOC101", "DOC102", "KIT101"}),
        (["doc101, STR"], [], {"DOC101", "STR101", "KIT101"}),
        (["DOC", "STR101"], ["DOC102"], {"DOC101", "STR101", "KIT101"}),
        ([], ["DOC,STR"], {"KIT101"}),
        (["DOC101"], ["KIT"], {"DOC101"}),
        (["DOC101"], ["DOC101"], {"KIT101"}),
        ([" , "], [""], {"DOC101", "DOC102", "STR101", "KIT101"}),
    ],
)
def test_choice_keeps_what_was_asked_for(select: list[str], ignore: list[str], kept: set[str]) -> None:
    """Codes and starts are taken; what is ignored wins, and only that hides a check that did not happen."""
    wanted = choice(select, ignore)
    assert {code for code in ("DOC101", "DOC102", "STR101", "KIT101") if wanted.keeps(code)} == kept


def test_unknown_code_is_told_with_the_nearest() -> None:
    """A code that no rule has is a usage error, with the code that may be meant."""
    with pytest.raises(UsageError, match="`--select`: no rule has the code `DOC1O1`; did you mean `DOC1"):
        choice(["DOC1O1"], [])
    with pytest.raises(UsageError, match="`--select`: no rule has the code `DOX`; did you mean `DOC`"):
        choice(["DOX"], [])
    with pytest.raises(UsageError, match="`--ignore`: no rule has the code `Q`; `seatrials rules` lists all"):
        choice([], ["q"])
