"""Composes the services of decisions."""

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING

from minutebook.app import App, FeatureServices
from minutebook.composing import service
from minutebook.domain.caller import Caller
from minutebook.features.ledger.places import ledger_key_place_of, repos_of, secret_place_of
from minutebook.features.ledger.settings import LedgerSettings
from minutebook.services.jobs import Job

if TYPE_CHECKING:
    from minutebook.features.ledger.decisions import DecisionActs
    from minutebook.features.ledger.keys.approval_secret import ApprovalSecret
    from minutebook.features.ledger.mirror.ledger_texts import LedgerTexts
    from minutebook.features.ledger.mirror.rebuilding import Rebuilds
    from minutebook.features.ledger.proposals import Proposals
    from minutebook.features.ledger.recording import DecisionWriter
    from minutebook.features.ledger.repositories import Ledgers
    from minutebook.features.ledger.search import DecisionSearch
    from minutebook.services.search.sources import TextSource


class LedgerServices(FeatureServices):
    """Decisions and proposals, and the ledgers that keep them."""

    @service
    def ledgers(self) -> "Ledgers":
        """Keep decisions in Git."""
        from minutebook.features.ledger.keys.trust import LedgerTrust
        from minutebook.features.ledger.repositories import Ledgers

        trust = LedgerTrust(
            ledger_key_place_of(self.settings, self.infrastructure.store),
            self.infrastructure.locks,
            self.app.clock,
            of_everyone=self.settings.of(LedgerSettings).ledger_trust == "everyone",
        )
        folders, shared = repos_of(self.settings), self.infrastructure.store.database.shared_values
        return Ledgers(self.infrastructure, folders, shared, trust)

    @service
    def rebuilds(self) -> "Rebuilds":
        """Bring tables and Git together again."""
        from minutebook.features.ledger.mirror.rebuilding import Rebuilds

        return Rebuilds(self.ledgers, self.app.trail, self.app.embeddings)

    @service
    def ledger_texts(self) -> "LedgerTexts":
        """Erase the texts of decisions."""
        from minutebook.features.ledger.mirror.ledger_texts import LedgerTexts

        return LedgerTexts(self.infrastructure, self.ledgers)

    @service
    def _decision_writer(self) -> "DecisionWriter":
        from minutebook.features.ledger.recording import DecisionWriter

        return DecisionWriter(self.infrastructure, self.ledgers)

    @service
    def secret(self) -> "ApprovalSecret":
        """Keep the secret that accepts proposals."""
        from minutebook.features.ledger.keys.approval_secret import ApprovalSecret

        return ApprovalSecret(
            secret_place_of(self.settings, self.infrastructure.store),
            self.infrastructure.locks,
            self.app.trail,
            self.app.clock,
            self.settings.of(LedgerSettings).agent_memory_secret,
        )

    @service
    def decisions(self) -> "DecisionActs":
        """Record decisions."""
        from minutebook.features.ledger.decisions import DecisionActs

        return DecisionActs(self.infrastructure, self._decision_writer)

    @service
    def proposals(self) -> "Proposals":
        """Take and settle proposals."""
        from minutebook.features.ledger.proposals import Proposals

        return Proposals(
            self.infrastructure,
            self._decision_writer,
            self.secret,
            timedelta(seconds=self.settings.of(LedgerSettings).review_window),
        )

    @service
    def decision_search(self) -> "DecisionSearch":
        """Search decisions."""
        from minutebook.features.ledger.search import DecisionSearch

        return DecisionSearch(self.infrastructure.records, self.app.embeddings, self.ledgers)


def jobs(app: App) -> Iterable[Job]:
    """Yield the job that ends, once, the unfinished work of an earlier process in the ledgers."""
    ledgers = app.get(LedgerServices).ledgers
    failing = "cannot go on with what was left half done"
    yield Job("ledgers", lambda caller: ledgers.recover(), failing, every=None)


def text_source(app: App) -> "TextSource":
    """Return the decisions that hold, as a source of answers."""
    return app.get(LedgerServices).decision_search


def pin_first(app: App) -> None:
    """Pin the secret that accepts proposals, if an admin opens the store and none is pinned yet."""
    pin_secret(app, app.settings.caller(), "")


def pin_secret(app: App, caller: Caller, folder: str) -> None:
    """Pin the secret, if the caller is an admin and none is pinned yet; the daemon's own start is no admin's."""
    app.get(LedgerServices).secret.pin(caller)
