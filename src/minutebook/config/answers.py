"""What a question is answered from, and how much of it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from minutebook.config.kinds import MOMENT, Kind, at_least, one_of, separated, setting
from minutebook.domain.reason import Reason
from minutebook.domain.sources import TEXTS, Source

AnswerForm = Literal["json", "lines"]

_NAMES = separated(",", Reason(""))


def _sources(value: Any, folder: str) -> tuple[Source, ...]:
    """Read a list of sources of texts."""
    named = tuple(Source(name) for name in _NAMES.parse(value, folder))
    if not named or Source.CODE in named:
        raise ValueError(value)
    return named


@dataclass(frozen=True, kw_only=True)
class AnswerSettings:
    """What a question is answered from, and how much of it."""

    answers: AnswerForm = setting(
        "json",
        one_of(AnswerForm),
        "`json`: tools answer with the objects that their contract publishes; `lines`: with lines of text for a model, "
        "one for each hit, dated, without output schemas.",
    )
    recall_sources: tuple[Source, ...] = setting(
        TEXTS,
        Kind(_sources, Reason("a list of {names}", names=", ".join(TEXTS))),
        "What `recall` of the knowledge contract and `minutebook search` look through. "
        "`decision`: decisions that hold; `session`: turns and summaries of sessions.",
    )
    recall_at: datetime | None = setting(
        None,
        MOMENT,
        "Answer `recall` and `minutebook search` as of then: what held and had been said at that time; of a day, at its "
        "end. Not set: now.",
    )
    recall_tokens: int = setting(
        1500,
        at_least(0),
        "Tokens, of about four characters each, of an answer of `recall`: long texts are told by the passage that "
        "answers. 0: texts are told whole.",
    )
