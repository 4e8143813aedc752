"""Events of clients' sessions in one form, and the answers in each client's own."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from minutebook.features.importers.sources.reading.values import text_at

PRIVATE = "[private]"
"""What stands in its place."""

_MARKED = re.compile(r"<private>.*?(?:</private>|\Z)", re.DOTALL | re.IGNORECASE)


def without_private(text: str) -> str:
    """Return a text with each private part replaced; one that nobody closed goes to the end."""
    return _MARKED.sub(PRIVATE, text)


class HookMoment(StrEnum):
    """When in a session an event comes."""

    START = "a session starts"
    PROMPT = "before a prompt"
    TURN = "a turn ended"
    END = "a session ends"


MOMENTS: Mapping[str, HookMoment] = {
    "SessionStart": HookMoment.START,
    "sessionStart": HookMoment.START,
    "UserPromptSubmit": HookMoment.PROMPT,
    "BeforeAgent": HookMoment.PROMPT,
    "beforeSubmitPrompt": HookMoment.PROMPT,
    "TurnEnd": HookMoment.TURN,
    "SessionEnd": HookMoment.END,
}
"""The moments of the events, which the clients name each in its own way."""

BRIEF_TOKENS = 600
"""Tokens, of four characters each, that a session is told at its start; Cursor fails for more than 10,000 characters."""

SHOWS = frozenset({"claude-code", "codex", "gemini"})
"""The clients whose sessions are kept, and which show a hook's `systemMessage` to the person."""

_FLAT = frozenset({"copilot", "opencode"})
_INJECTED = re.compile(r"<hook_context>.*?</hook_context>\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HookEvent:
    """An event: the client's name of it, the moment, None if unknown, the session, its folder, the prompt.

    `fields` are all that the client gave.
    """

    name: str
    moment: HookMoment | None
    session: str
    folder: Path
    prompt: str
    fields: Mapping[str, Any]


def read_event(fields: Mapping[str, Any]) -> HookEvent:
    """Read a client's message about an event."""
    name = text_at(fields, "hook_event_name", "hookEventName")
    roots = fields.get("workspace_roots")
    root = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else "/"
    return HookEvent(
        name=name,
        moment=MOMENTS.get(name),
        session=text_at(fields, "session_id", "sessionId", "conversation_id"),
        folder=Path(text_at(fields, "cwd") or root),
        # Gemini CLI without a terminal puts what a hook said when the session started before the prompt.
        prompt=_INJECTED.sub("", text_at(fields, "prompt")),
        fields=fields,
    )


def output_of(client: str, event: str, text: str | None, notice: str = "") -> Mapping[str, Any]:
    """Return the output that has a client put a text before the person's prompt, and show them a notice."""
    shown = {"systemMessage": notice} if notice else {}
    if text is None:
        return shown
    if client == "cursor":
        return {"additional_context": text}
    nested = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}, **shown}
    # Copilot CLI takes the first, VS Code, which runs the same hook, the second.
    return {"additionalContext": text, **nested} if client in _FLAT else nested
