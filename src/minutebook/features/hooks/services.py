"""Composes what clients are told without their asking."""

from typing import TYPE_CHECKING

from minutebook.app import FeatureServices
from minutebook.composing import service
from minutebook.features.ledger.services import LedgerServices
from minutebook.features.recall_log.services import RecallLogServices

if TYPE_CHECKING:
    from minutebook.features.hooks.contexts import HookContexts


class HookServices(FeatureServices):
    """What the hooks of clients answer with."""

    @service
    def hook_contexts(self) -> "HookContexts":
        """Choose what sessions of clients are told without their asking."""
        from minutebook.features.hooks.contexts import HookContexts

        app = self.app
        return HookContexts(
            app.memories,
            app.get(LedgerServices).decisions,
            app.get(LedgerServices).proposals,
            app.sessions,
            app.summaries,
            app.combined,
            app.get(RecallLogServices).recalls,
            app.doors,
            app.embedding,
            app.clock,
        )
