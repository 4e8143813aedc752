"""Composes the services of sessions."""

from typing import TYPE_CHECKING

from minutebook.composing.foundation import Foundation
from minutebook.composing.service import service

if TYPE_CHECKING:
    from minutebook.services.journal.sessions import Sessions
    from minutebook.services.journal.summaries import Summaries


class JournalServices(Foundation):
    """Sessions and their summaries."""

    @service
    def sessions(self) -> "Sessions":
        """Keep the turns of sessions."""
        from minutebook.services.journal.sessions import Sessions

        return Sessions(self.infrastructure)

    @service
    def summaries(self) -> "Summaries":
        """Summarize sessions."""
        from minutebook.services.journal.summaries import Summaries

        return Summaries(self.infrastructure, self.sessions, self._summarizer)
