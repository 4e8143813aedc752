"""Records beside memories and sessions that one search goes through: features bring them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from minutebook.domain.caller import Caller
from minutebook.domain.records import Decision
from minutebook.domain.sources import Source
from minutebook.services.search.signals import Asked, Key, Signals


@dataclass(frozen=True, slots=True)
class Candidates:
    """Records that may answer, the signals of each, and how they were reached.

    `followed` names, by key, the records, now superseded, that matched before this one.
    """

    signals: Signals
    records: Mapping[Key, Decision]
    followed: Mapping[Key, tuple[str, ...]] = field(default_factory=dict)


class TextSource(Protocol):
    """A source of records that compete with memories in one list, by their signals."""

    @property
    def source(self) -> Source:
        """The source as which the records are asked for."""

    @property
    def of(self) -> type[Decision]:
        """The class of the records."""

    def candidates(self, caller: Caller, asked: Asked, at: datetime | None) -> Candidates:
        """Return the records that hold at an instant (None: now) and that the caller may see."""
