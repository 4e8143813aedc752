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
    """The log of questions and their hits."""

    @service
    def recalls(self) -> "RecallLog":
        """Note the hits of questions, and read them back."""
        from minutebook.features.recall_log.recall_log import RecallLog
        from minutebook.features.recall_log.rows import RecallRows

        settings = self.settings
        return RecallLog(
            self.infrastructure.store,
            RecallRows(self.infrastructure.store.database),
            self.app.clock,
            self.infrastructure.randbits,
            self.app.screening.captured_text,
            settings.of(RecallLogSettings).recall_log,
            settings.of(RecallLogSettings).recall_log_days,
            settings.of(RecallLogSettings).recall_log_most,
        )

    def close(self) -> None:
        """Write the gathered entries of the log."""
        if "recalls" in vars(self):
            self.recalls.close()


def listener(app: App) -> "AnswerListener | None":
    """Return the listener that notes the answers to questions, None if nothing is to be noted."""
    if app.settings.of(RecallLogSettings).recall_log == "off":
        return None
    return lambda *noted: app.get(RecallLogServices).recalls.note(*noted)


def removed(app: App, caller: Caller, organization: str) -> Reset:
    """Remove the entries that the caller may read of an organization's log."""
    app.get(RecallLogServices).recalls.clear(caller, organization)
    return Reset(Counter())
