"""The operation that returns the brief for a session's start or a prompt."""

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
"""The act of the recall log for hits in the brief on a prompt."""

RELEVANCE = 0.58
"""The least relevance, in [0, 1], of a hit in the brief on a prompt."""

_MOST_TOKENS = 10_000
"""The most tokens of a brief that a client may ask for."""


@dataclass(frozen=True, slots=True)
class HookQuestion:
    """A client's question: its session, the prompt (None at the start), and the most tokens of the brief.

    `known` are the ids of the records that the session was told, `began` is when it began or was cleared, if known; `here`
    names the sessions that were captured in its folder. A session that is not `is_briefed` gets the brief of its start
    with the first prompt.
    """

    session: str
    prompt: str | None
    known: frozenset[str]
    is_briefed: bool
    here: frozenset[str]
    tokens: int
    began: datetime | None = None


@dataclass(frozen=True, slots=True)
class Brief:
    """The text of a brief, None if it is empty, its tokens, the ids of its records, and whether it is that of a start."""

    text: str | None
    tokens: int
    ids: tuple[str, ...]
    is_briefing: bool


@dataclass(frozen=True, slots=True)
class FoundBrief:
    """A brief, the prompt that it answers or None, and the hits of the prompt with their relevance."""

    brief: Brief
    question: str | None
    got: tuple[tuple[Record, float], ...]

    def note(self, app: "App", caller: Caller) -> None:
        """Note the hits of the prompt in the recall log."""
        if self.question is not None:
            app.note_answer(caller, ACT, self.question, self.got)


def find(app: "App", caller: Caller, asked: HookQuestion) -> FoundBrief:
    """Return the brief for a session's start or a prompt; nothing is noted in the recall log yet."""
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
            caller, asked.prompt, RELEVANCE, asked.known, session_name(asked.session), asked.began
        )
    question = None if hits is None or asked.prompt is None else without_private(asked.prompt)
    context, got = joined(start, hits), () if hits is None else tuple(hits.got)
    if context is None:
        return FoundBrief(Brief(None, 0, (), is_briefing), question, got)
    return FoundBrief(
        Brief(context.text, context.tokens, tuple(context.ids), is_briefing), question, got
    )


@operation("knowledge")
def brief(
    app: "App", caller: Caller, asked: HookQuestion, folder: FolderScope | None = None
) -> Brief:
    """Return the brief for a session's start or a prompt, and note its hits."""
    check_range("tokens", asked.tokens, _MOST_TOKENS, 0)
    caller = in_folder(caller, folder)
    found = find(app, caller, asked)
    found.note(app, caller)
    return found.brief


OPERATIONS = (brief,)
