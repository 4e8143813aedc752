"""Composes the services of decisions."""

from datetime import timedelta
from typing import TYPE_CHECKING

from minutebook.composing.foundation import Foundation
from minutebook.composing.service import service
from minutebook.places import ledger_key_place_of, repos_of, secret_place_of

if TYPE_CHECKING:
    from minutebook.services.ledger.approval_secret import Secret
    from minutebook.services.ledger.decisions import Decisions
    from minutebook.services.ledger.ledger_texts import LedgerTexts
    from minutebook.services.ledger.proposals import Proposals
    from minutebook.services.ledger.rebuilding import Rebuilds
    from minutebook.services.ledger.recording import DecisionWriter
    from minutebook.services.ledger.repositories import Ledgers


class LedgerServices(Foundation):
    """Decisions and proposals, and the ledgers that keep them."""

    @service
    def ledgers(self) -> "Ledgers":
        """Keep decisions in Git."""
        from minutebook.services.ledger.repositories import Ledgers
        from minutebook.services.ledger.trust import LedgerTrust

        trust = LedgerTrust(
            ledger_key_place_of(self._settings, self._store),
            self._locks,
            self.clock,
            of_everyone=self._settings.ledger_trust == "everyone",
        )
        folders, shared = repos_of(self._settings), self._store.shared_values
        return Ledgers(self.infrastructure, folders, shared, trust)

    @service
    def rebuilds(self) -> "Rebuilds":
        """Bring tables and Git together again."""
        from minutebook.services.ledger.rebuilding import Rebuilds

        return Rebuilds(self.ledgers, self.trail, self.embeddings)

    @service
    def ledger_texts(self) -> "LedgerTexts":
        """Erase what decisions said."""
        from minutebook.services.ledger.ledger_texts import LedgerTexts

        return LedgerTexts(self.infrastructure, self.ledgers)

    @service
    def _decision_writer(self) -> "DecisionWriter":
        from minutebook.services.ledger.recording import DecisionWriter

        return DecisionWriter(self.infrastructure, self.ledgers)

    @service
    def secret(self) -> "Secret":
        """Keep the secret that accepts proposals."""
        from minutebook.services.ledger.approval_secret import Secret

        return Secret(
            secret_place_of(self._settings, self._store),
            self._locks,
            self.trail,
            self.clock,
            self._settings.agent_memory_secret,
        )

    @service
    def decisions(self) -> "Decisions":
        """Record decisions."""
        from minutebook.services.ledger.decisions import Decisions

        return Decisions(self.infrastructure, self._decision_writer)

    @service
    def proposals(self) -> "Proposals":
        """Take and settle proposals."""
        from minutebook.services.ledger.proposals import Proposals

        return Proposals(
            self.infrastructure,
            self._decision_writer,
            self.secret,
            timedelta(seconds=self._settings.review_window),
        )
