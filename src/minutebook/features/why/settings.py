"""How much of the history of projects is found."""

from dataclasses import dataclass

from minutebook.config import Settings
from minutebook.config.kinds import at_least, setting


@dataclass(frozen=True, kw_only=True)
class WhySettings(Settings):
    """How much of the history of projects is found."""

    index_history: int = setting(
        10_000,
        at_least(0),
        "The newest commits of an indexed project, and of the folder an agent works in, whose messages `recall` and "
        "`minutebook search` find. 0: none, and nothing of the folder an agent works in is read.",
    )
