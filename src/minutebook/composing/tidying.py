"""Composes what puts the records in order."""

from datetime import timedelta
from typing import TYPE_CHECKING

from minutebook.composing.journal import JournalServices
from minutebook.composing.knowledge import KnowledgeServices
from minutebook.composing.ledger import LedgerServices
from minutebook.composing.service import service
from minutebook.domain.tidying import Finding, parse_rules

if TYPE_CHECKING:
    from minutebook.services.knowledge.merging import EntityMerging
    from minutebook.services.tidying.candidates import Candidates
    from minutebook.services.tidying.changing import Changing
    from minutebook.services.tidying.examining import Examining
    from minutebook.services.tidying.inbox import Inbox
    from minutebook.services.tidying.review import Review
    from minutebook.services.tidying.rounds import Rounds
    from minutebook.services.tidying.state import TidyStatus


class TidyingServices(KnowledgeServices, LedgerServices, JournalServices):
    """What finds disorder, suggests changes and makes them."""

    @service
    def entity_merging(self) -> "EntityMerging":
        """Make one entity of two."""
        from minutebook.services.knowledge.merging import EntityMerging

        return EntityMerging(self.infrastructure, self.mentions)

    @service
    def _examining(self) -> "Examining":
        from minutebook.services.tidying.examining import Examining

        return Examining(self._store, self._candidates, self.clock)

    @service
    def _candidates(self) -> "Candidates":
        from minutebook.services.tidying.candidates import Candidates

        return Candidates(self._store, self.similar, self.embedding, self.clock)

    @service
    def _changing(self) -> "Changing":
        from minutebook.services.tidying.changing import Changing

        return Changing(
            self.infrastructure,
            self._writer,
            self.supersession,
            self.memories,
            self.status,
            self.entity_merging,
            self.summaries,
        )

    @service
    def inbox(self) -> "Inbox":
        """Show what is suggested, apply and refuse it."""
        from minutebook.services.tidying.inbox import Inbox

        return Inbox(self.infrastructure, self._examining, self._changing)

    @service
    def review(self) -> "Review":
        """List all that waits for a person, and settle it."""
        from minutebook.services.tidying.review import Review

        return Review(
            self.inbox,
            self.memories,
            self.links,
            self.status,
            self.proposals,
            self.decisions,
            self.doors,
            self.clock,
        )

    @service
    def rounds(self) -> "Rounds":
        """Find what is to be tidied."""
        from minutebook.services.tidying.rounds import Rounds

        return Rounds(
            self.infrastructure,
            self._candidates,
            self.recalls,
            self._examining,
            self.inbox,
            parse_rules(self._settings.tidy_rules),
            frozenset(Finding(each) for each in self._settings.tidy_kinds),
            self._every,
        )

    @service
    def tidy_status(self) -> "TidyStatus":
        """Tell of the last round, and of one that did not run."""
        from minutebook.services.tidying.state import TidyStatus

        return TidyStatus(self._store, self.clock, self._every)

    @property
    def _every(self) -> timedelta | None:
        hours = self._settings.tidy_every
        return timedelta(hours=hours) if hours else None
