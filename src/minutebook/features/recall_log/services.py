"""Composes the recall log."""

from collections import Counter
from typing import TYPE_CHECKING

from minutebook.app import App, FeatureServices
from minutebook.composing import service
from minutebook.domain.caller import Caller
from minutebook.features.recall_log.settings import RecallLogSettings
from minutebook.services.reset import Reset

if TYPE_CHECKING:
    from minutebook.app import AnswerListener
    from minutebook.features.recall_log.recall_log import RecallLog


class RecallLogServices(FeatureServices):
    """The log of what questions got."""

    @service
    def recalls(self) -> "RecallLog":
        """Note what questions got, and tell it."""
        from minutebook.features.recall_log.recall_log import RecallLog

        settings = self.settings
        return RecallLog(
            self.infrastructure.store,
            self.app.clock,
            self.infrastructure.randbits,
            self.app.screening.captured,
            settings.of(RecallLogSettings).recall_log,
            settings.of(RecallLogSettings).recall_log_days,
            settings.of(RecallLogSettings).recall_log_most,
        )

    def close(self) -> None:
        """Write what the log has gathered."""
        if "recalls" in vars(self):
            self.recalls.close()


def listener(app: App) -> "AnswerListener | None":
    """Return what notes the answers to questions, None if nothing is to be noted."""
    if app.settings.of(RecallLogSettings).recall_log == "off":
        return None
    return lambda *noted: app.get(RecallLogServices).recalls.note(*noted)


def removed(app: App, caller: Caller, organization: str) -> Reset:
    """Remove what the caller may read of an organization's log."""
    app.get(RecallLogServices).recalls.clear(caller, organization)
    return Reset(Counter())
