"""The recall log hears of answers, and of a reset."""

from collections import Counter
from typing import TYPE_CHECKING

from minutebook.app import App
from minutebook.features.recall_log.settings import RecallLogSettings
from minutebook.memory.reset import Reset
from minutebook.record.caller import Caller

if TYPE_CHECKING:
    from minutebook.app import AnswerListener


def listener(app: App) -> "AnswerListener | None":
    """Return the listener that notes the answers to questions, None if nothing is to be noted."""
    if app.settings.of(RecallLogSettings).recall_log == "off":
        return None
    from minutebook.features.recall_log.recall_log import RecallLog

    return lambda *noted: app.get(RecallLog).note(*noted)


def removed(app: App, caller: Caller, organization: str) -> Reset:
    """Remove the entries that the caller may read of an organization's log."""
    from minutebook.features.recall_log.recall_log import RecallLog

    app.get(RecallLog).clear(caller, organization)
    return Reset(Counter())
