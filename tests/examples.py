"""How many examples Hypothesis draws: some in `make test`, many in `make test-all`."""

from typing import Final

from hypothesis import settings

SHARE: Final = {"same": 0.2, "minutebook": 0.1, "all": 2.0}
"""Of the number that a test names (100 where it names none), the part that a profile draws."""


def examples(named: int) -> int:
    """Return the number of examples that a test draws in the profile that is loaded."""
    return max(1, round(named * SHARE.get(settings.get_current_profile_name(), 1.0)))


def register() -> None:
    """Make the profiles known; none has a deadline, since machines are busy."""
    for name, share in SHARE.items():
        settings.register_profile(
            name, deadline=None, max_examples=round(100 * share), derandomize=name == "same"
        )
    settings.load_profile("minutebook")
