"""Composes what every service stands on: the open store, the models, the audit trail, the clock."""

import threading
from typing import TYPE_CHECKING

from minutebook.composing.service import service
from minutebook.config import Settings
from minutebook.domain.filters import default_organization
from minutebook.models import Models
from minutebook.services.access.tokens import Tokens
from minutebook.services.infrastructure import Infrastructure

if TYPE_CHECKING:
    from minutebook.services.access.doors import Doors
    from minutebook.services.access.recall_log import RecallLog
    from minutebook.services.access.signing import HeadSigning


class Foundation:
    """What services of every subject are composed from: an open store's infrastructure, and settings.

    `infrastructure` is for services alone. Nothing is opened or asked to make one.
    """

    def __init__(
        self, settings: Settings, infrastructure: Infrastructure, models: Models, tokens: Tokens
    ) -> None:
        self.infrastructure = infrastructure
        self.embedding, self.embeddings = models.embedding, infrastructure.embeddings
        self.trail, self.tokens = infrastructure.trail, tokens
        self.screening = infrastructure.screening
        self.clock, self.rules = infrastructure.clock, infrastructure.rules
        self.recall_sources = settings.recall_sources
        self.recall_tokens = settings.recall_tokens
        self.composing = threading.RLock()
        self._settings = settings
        self._store, self._locks = infrastructure.store, infrastructure.locks
        self._summarizer = models.summarizer
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
            self.infrastructure.randbits,
            self.screening.captured,
            settings.recall_log,
            settings.recall_log_days,
            settings.recall_log_most,
        )

    @service
    def doors(self) -> "Doors":
        """Tell through which door a record is told."""
        from minutebook.services.access.doors import Doors

        return Doors(self._store, self.clock)

    @service
    def signing(self) -> "HeadSigning":
        """Sign where trails end."""
        from minutebook.services.access.signing import HeadSigning

        return HeadSigning(self._store, self.trail, self._settings.audit_key)
