"""The setting of the recall log."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from minutebook.config import Settings
from minutebook.config.kinds import one_of, setting

RecallLogMode = Literal["off", "records", "questions"]


@dataclass(frozen=True, kw_only=True)
class RecallLogSettings(Settings):
    """The part of each question and its answer that the log keeps."""

    FORMER: ClassVar[tuple[str, ...]] = ("recall_log_days",)

    recall_log: RecallLogMode = setting(
        "records",
        one_of(RecallLogMode),
        "What is kept of each answered question: the `records` it got, `questions` (its text too), `off`.",
    )
