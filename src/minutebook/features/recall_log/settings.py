"""The part of questions and their answers that is kept."""

from dataclasses import dataclass
from typing import Literal

from minutebook.config import Settings
from minutebook.config.kinds import at_least, one_of, setting

RecallLogMode = Literal["off", "records", "questions"]


@dataclass(frozen=True, kw_only=True)
class RecallLogSettings(Settings):
    """What is kept of questions and their answers."""

    recall_log: RecallLogMode = setting(
        "records",
        one_of(RecallLogMode),
        "What is kept of each answered question: the `records` it got, `questions` (its text too), `off`.",
    )
    recall_log_days: float = setting(30.0, at_least(0.0), "Days after which that leaves the log.")
