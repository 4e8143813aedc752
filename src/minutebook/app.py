"""The composition root: gives the services their collaborators.

A command composes the services that it uses and imports no others, for most of what a short one
costs is imports; a server composes all of them before its first call (`App.start`). What each
service gets stands in `composing/`, a module for each folder of services.
"""

import secrets
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from minutebook.composing.erasure import ErasureServices
from minutebook.composing.journal import JournalServices
from minutebook.composing.search import SearchServices
from minutebook.composing.service import service, service_names
from minutebook.composing.sync import SyncServices
from minutebook.composing.tidying import TidyingServices
from minutebook.config import Settings
from minutebook.disk.filelock import FileLock
from minutebook.domain.ids import RandomBits
from minutebook.domain.policy import rules_of
from minutebook.models import Models, models_of
from minutebook.places import data_directory
from minutebook.services.access.audit import Trail
from minutebook.services.access.tokens import Tokens
from minutebook.services.access.visibility import Clock
from minutebook.services.embeddings import Embeddings
from minutebook.services.infrastructure import Infrastructure
from minutebook.services.screening import Screening
from minutebook.stores import locks_of, open_store

if TYPE_CHECKING:
    from minutebook.services.background import BackgroundWork
    from minutebook.services.hooks import HookContexts


def now() -> datetime:
    """Return the present instant, in UTC."""
    return datetime.now(UTC)


class App(ErasureServices, SearchServices, SyncServices, TidyingServices, JournalServices):
    """The services on one open store, each given the collaborators that it needs."""

    def __init__(
        self,
        settings: Settings,
        infrastructure: Infrastructure,
        models: Models,
        tokens: Tokens,
        presence: FileLock,
    ) -> None:
        super().__init__(settings, infrastructure, models, tokens)
        self._presence = presence

    @service
    def background(self) -> "BackgroundWork":
        """Work without being asked."""
        from minutebook.services.background import BackgroundWork

        return BackgroundWork(
            self.embedding,
            self.embeddings,
            self.ledgers,
            self.projects,
            self.scheduled_backups,
            self.rounds,
            self.signing,
            self._settings.caller(),
            self._stop,
        )

    @service
    def hook_contexts(self) -> "HookContexts":
        """Choose what sessions of clients are told without their asking."""
        from minutebook.services.hooks import HookContexts

        return HookContexts(
            self.memories,
            self.decisions,
            self.proposals,
            self.sessions,
            self.summaries,
            self.combined,
            self.recalls,
            self.doors,
            self.embedding,
            self.clock,
        )

    def start(self) -> None:
        """Compose every service, load the model and begin the work in the background."""
        for name in service_names(App):
            getattr(self, name)
        self.background.start()

    def close(self) -> None:
        """Have the work in the background end soon, and close the store."""
        self._stop.set()
        self.embeddings.notify()
        with self.composing:
            if "recalls" in vars(self):
                self.recalls.close()
        self._store.close()
        self._presence.close()


def open_app(
    settings: Settings,
    *,
    models: Models | None = None,
    clock: Clock = now,
    randbits: RandomBits = secrets.randbits,
) -> App:
    """Open the store of these settings, made if it is missing, and build the app on it.

    Raises StoreError if the store cannot be opened, InvalidInput if settings do not fit together. A
    failure leaves nothing open. A start by an admin pins the first secret.
    """
    models = models or models_of(settings)
    with ExitStack() as opened:
        presence = opened.enter_context(closing(data_directory(settings).use()))
        store = opened.enter_context(closing(open_store(settings)))
        trail = Trail(store, clock)
        tokens = Tokens(store, trail, clock, randbits, trusts_issuer=settings.trusts_issuer)
        locks = locks_of(settings, store)
        infrastructure = Infrastructure(
            store=store,
            locks=locks,
            embeddings=Embeddings(
                store,
                models.embedding,
                settings.embedding_wait,
                locks,
                keeps_states=settings.token_states,
            ),
            trail=trail,
            screening=Screening(settings.redact),
            # How strict the store is changes with its tokens.
            rules=lambda: rules_of(settings.policy, is_shared=tokens.is_shared()),
            clock=clock,
            randbits=randbits,
        )
        app = App(settings, infrastructure, models, tokens, presence)
        app.secret.pin(settings.caller())
        opened.pop_all()
    return app
