"""Composes the services of tidying."""

import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING

from minutebook.app import App, FeatureServices
from minutebook.composing import service
from minutebook.domain.caller import Caller
from minutebook.domain.counts import count_of
from minutebook.features.citations.services import CitationServices
from minutebook.features.ledger.services import LedgerServices
from minutebook.features.tidying.findings import parse_rules
from minutebook.features.tidying.settings import TidyingSettings
from minutebook.features.undo.undo import Undo
from minutebook.services.jobs import Job

if TYPE_CHECKING:
    from minutebook.features.tidying.changing import Changing
    from minutebook.features.tidying.inbox import Inbox
    from minutebook.features.tidying.looking.candidates import MemoryNeighbours
    from minutebook.features.tidying.looking.examining import Examining
    from minutebook.features.tidying.looking.rounds import Rounds
    from minutebook.features.tidying.looking.state import TidyStatus
    from minutebook.features.tidying.review import Review
    from minutebook.features.tidying.rows import TidyRows

log = logging.getLogger(__name__)


class TidyingServices(FeatureServices):
    """The services that find disorder, suggest changes and make them."""

    @service
    def _rows(self) -> "TidyRows":
        from minutebook.features.tidying.rows import TidyRows

        return TidyRows(self.infrastructure.store.database)

    @service
    def _examining(self) -> "Examining":
        from minutebook.features.tidying.looking.examining import Examining

        citations = self.app.get(CitationServices).citations
        return Examining(self.infrastructure, self._candidates, citations)

    @service
    def _candidates(self) -> "MemoryNeighbours":
        from minutebook.features.tidying.looking.candidates import MemoryNeighbours

        return MemoryNeighbours(
            self.infrastructure.store, self.app.similar, self.app.embedding, self.app.clock
        )

    @service
    def _changing(self) -> "Changing":
        from minutebook.features.tidying.changing import Changing

        return Changing(
            self.infrastructure,
            self.app.memories,
            self.app.status,
            self.app.links,
            self.app.get(CitationServices).confirmations,
        )

    @service
    def inbox(self) -> "Inbox":
        """Show, apply and refuse suggestions."""
        from minutebook.features.tidying.inbox import Inbox

        undo = self.app.get(Undo)
        return Inbox(self.infrastructure, self._rows, self._examining, self._changing, undo)

    @service
    def review(self) -> "Review":
        """List all that waits for a person, and settle it."""
        from minutebook.features.tidying.review import Review

        return Review(
            self.inbox,
            self.app.memories,
            self.app.status,
            self.app.get(LedgerServices).proposals,
            self.app.get(LedgerServices).decisions,
            self.app.doors,
            self.app.clock,
        )

    @service
    def rounds(self) -> "Rounds":
        """Find disorder among the records."""
        from minutebook.features.tidying.looking.rounds import Rounds

        return Rounds(
            self.infrastructure,
            self._rows,
            self._candidates,
            self.app.get(CitationServices).citations,
            self._examining,
            self.inbox,
            parse_rules(self.settings.of(TidyingSettings).tidy_rules),
            self._every,
        )

    @service
    def tidy_status(self) -> "TidyStatus":
        """Tell of the last round, and of one that did not run."""
        from minutebook.features.tidying.looking.state import TidyStatus

        return TidyStatus(self.infrastructure, self._rows, self._every)

    @property
    def _every(self) -> timedelta | None:
        hours = self.settings.of(TidyingSettings).tidy_every
        return timedelta(hours=hours) if hours else None


def note_status(app: App, caller: Caller) -> None:
    """Note beside an answer how tidying is."""
    app.get(TidyingServices).tidy_status.tell(caller)


RETRY = 3600.0
"""Seconds after a failed round before the next is tried."""


def jobs(app: App) -> Iterable[Job]:
    """Yield the job of the tidying rounds, if they are made by schedule."""
    rounds = app.get(TidyingServices).rounds

    def tidy(caller: Caller) -> None:
        if (done := rounds.run_if_due(caller)) is not None:
            log.info("tidied: %s", count_of(done.found.total(), "new suggestion"))

    if rounds.every is not None:
        yield Job("tidying", tidy, "tidying by schedule failed", retry=RETRY)
