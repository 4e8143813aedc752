"""The brief that an agent is given unasked: when its session starts, and before a prompt."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from minutebook.ask.memories import in_folder
from minutebook.ask.operation import check_range, operation
from minutebook.features.hooks.events import without_private
from minutebook.record.caller import Caller, FolderScope
from minutebook.record.records import Record

if TYPE_CHECKING:
    from minutebook.app import App

ACT = "before a prompt"
"""What the recall log calls it when a memory is put before a prompt."""

RELEVANCE = 0.58
"""How relevant (0 to 1) a memory must be to what a person asks an agent, to be put before it."""

_MOST_TOKENS = 10_000
"""Tokens that may be asked for when a session starts."""


@dataclass(frozen=True, slots=True)
class HookQuestion:
    """A client's request: its session, the prompt (None when it starts), the limit of size.

    `known` are the ids of what the session was given already, `began` when it began or was cleared, if that is known, `here` names the sessions that were kept in its
    folder. A session that was not briefed when it started is with its first prompt.
    """

    session: str
    prompt: str | None
    known: frozenset[str]
    is_briefed: bool
    here: frozenset[str]
    tokens: int
    began: datetime | None = None


@dataclass(frozen=True, slots=True)
class Given:
    """A client's brief: a text, its tokens, the ids of the records shown; None where there is none."""

    text: str | None
    tokens: int
    ids: tuple[str, ...]
    is_briefing: bool


@dataclass(frozen=True, slots=True)
class HookBrief:
    """The brief, the question that it answers, if one was asked, and the question's hits."""

    given: Given
    question: str | None
    got: tuple[tuple[Record, float], ...]

    def note(self, app: "App", caller: Caller) -> None:
        """Note in the recall log the hits of the question."""
        if self.question is not None:
            app.note_answer(caller, ACT, self.question, self.got)


def find(app: "App", caller: Caller, asked: HookQuestion) -> HookBrief:
    """Find the records about a session that starts, or a prompt; nothing is noted yet."""
    from minutebook.features.hooks.contexts import HookContexts, joined
    from minutebook.features.importers.sources.reading.conversation import session_name

    start, hits = None, None
    is_briefing = asked.prompt is None or not asked.is_briefed
    if is_briefing:
        start = app.get(HookContexts).at_start(
            caller, asked.here, asked.tokens, session_name(asked.session)
        )
    if asked.prompt is not None:
        hits = app.get(HookContexts).before_prompt(
            caller,
            asked.prompt,
            RELEVANCE,
            asked.known,
            session_name(asked.session),
            asked.began,
        )
    question = None if hits is None or asked.prompt is None else without_private(asked.prompt)
    context, got = joined(start, hits), () if hits is None else tuple(hits.got)
    if context is None:
        return HookBrief(Given(None, 0, (), is_briefing), question, got)
    return HookBrief(
        Given(context.text, context.tokens, tuple(context.ids), is_briefing), question, got
    )


@operation("knowledge")
def brief(
    app: "App", caller: Caller, asked: HookQuestion, folder: FolderScope | None = None
) -> Given:
    """Return the brief for a session that starts, or a prompt."""
    check_range("tokens", asked.tokens, _MOST_TOKENS, 0)
    caller = in_folder(caller, folder)
    found = find(app, caller, asked)
    found.note(app, caller)
    return found.given


OPERATIONS = (brief,)
