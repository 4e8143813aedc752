"""When each token was used last: kept beside the records, since it is written by reading callers."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol


class TokenUses(Protocol):
    """Where an engine keeps the last use of each token; each member may be called from any thread.

    It is no record: no organization's writers wait for it, and nobody is told that it changed.
    """

    def note(self, token: str, at: datetime) -> None:
        """Note that a token was used at an instant, unless a later use is noted."""

    def latest(self) -> Mapping[str, datetime]:
        """Return when each token was used last, by its id; of one never used there is nothing."""
