"""Composes the briefs that clients get unasked."""

from typing import TYPE_CHECKING

from minutebook.app import FeatureServices
from minutebook.composing import service
from minutebook.domain.sources import Source
from minutebook.features.ledger.services import LedgerServices
from minutebook.features.recall_log.services import RecallLogServices

if TYPE_CHECKING:
    from minutebook.features.hooks.contexts import HookContexts


class HookServices(FeatureServices):
    """The services behind the hooks of clients."""

    @service
    def hook_contexts(self) -> "HookContexts":
        """Choose the briefs that sessions of clients get unasked."""
        from minutebook.features.hooks.contexts import HookContexts

        app = self.app
        return HookContexts(
            app.memories,
            app.get(LedgerServices).decisions,
            app.get(LedgerServices).proposals,
            app.sessions,
            app.summaries,
            app.combined,
            app.hit_notes,
            [each for each in app.recall_sources if each is not Source.COMMIT],
            app.get(RecallLogServices).recalls,
            app.doors,
            app.embedding,
            app.infrastructure.records,
            app.clock,
        )
