"""Composes what every service stands on: the open store, the models, the audit trail, the clock."""

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minutebook.composing.service import service
from minutebook.config import Settings
from minutebook.disk.filelock import FileLock
from minutebook.domain.filters import default_organization
from minutebook.domain.ids import RandomBits
from minutebook.domain.policy import Rules, rules_of
from minutebook.models import Models
from minutebook.services.access.audit import Trail
from minutebook.services.access.tokens import Tokens
from minutebook.services.access.visibility import Clock
from minutebook.services.embeddings import Embeddings
from minutebook.services.screening import Screening
from minutebook.store.named_locks import NamedLocks
from minutebook.store.protocol import Tended

if TYPE_CHECKING:
    from minutebook.services.access.recall_log import RecallLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Infrastructure:
    """What the services of an app stand on: what is open, who may what, chance and time."""

    presence: FileLock
    locks: NamedLocks
    store: Tended
    models: Models
    embeddings: Embeddings
    trail: Trail
    tokens: Tokens
    clock: Clock
    randbits: RandomBits


class Foundation:
    """The collaborators that services of every subject are composed from.

    `infrastructure` is for services alone. Nothing is opened or asked to make one.
    """

    def __init__(self, settings: Settings, infrastructure: Infrastructure) -> None:
        self.infrastructure = infrastructure
        self.embedding, self.embeddings = infrastructure.models.embedding, infrastructure.embeddings
        self.trail, self.tokens = infrastructure.trail, infrastructure.tokens
        self.screening = Screening(settings.redact)
        self.clock = infrastructure.clock
        self.include_decisions = settings.include_decisions
        # How strict the store is changes with its tokens.
        self.rules: Rules = lambda: rules_of(settings.policy, is_shared=self.tokens.is_shared())
        self.composing = threading.RLock()
        self._settings = settings
        self._store, self._locks = infrastructure.store, infrastructure.locks
        self._randbits = infrastructure.randbits
        self._home = default_organization(settings.caller())
        self._stop = threading.Event()

    @service
    def recalls(self) -> "RecallLog":
        """Note what questions got, and tell it."""
        from minutebook.services.access.recall_log import RecallLog

        settings = self._settings
        return RecallLog(
            self._store,
            self.clock,
            self._randbits,
            self.screening.captured,
            settings.recall_log,
            settings.recall_log_days,
            settings.recall_log_most,
        )
