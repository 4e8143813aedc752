"""Events of clients' sessions in one form, and the outputs in each client's own form."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from minutebook.features.importers.sources.reading.values import text_at

PRIVATE = "[private]"
"""The replacement of a private part of a text."""

_MARKED = re.compile(r"<private>.*?(?:</private>|\Z)", re.DOTALL | re.IGNORECASE)


def without_private(text: str) -> str:
    """Return a text with each private part replaced; a part without an end tag goes to the end of the text."""
    return _MARKED.sub(PRIVATE, text)


class HookMoment(StrEnum):
    """The moments of a session at which events come."""

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
"""The moments of events, by the names that clients give the events."""

BRIEF_TOKENS = 600
"""Tokens, of four characters each, of the brief at a session's start; Cursor fails for more than 10,000 characters."""

SHOW_MESSAGES = frozenset({"claude-code", "codex", "gemini"})
"""The clients with captured sessions that show a hook's `systemMessage` to the person."""

_FLAT = frozenset({"copilot", "opencode"})
_INJECTED = re.compile(r"<hook_context>.*?</hook_context>\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HookEvent:
    """An event of a client's session; `name` is the client's, `moment` None if that is unknown, `fields` the whole message."""

    name: str
    moment: HookMoment | None
    session: str
    folder: Path
    prompt: str
    fields: Mapping[str, Any]


def read_event(fields: Mapping[str, Any]) -> HookEvent:
    """Return the event in a client's message."""
    name = text_at(fields, "hook_event_name", "hookEventName")
    roots = fields.get("workspace_roots")
    root = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else "/"
    return HookEvent(
        name=name,
        moment=MOMENTS.get(name),
        session=text_at(fields, "session_id", "sessionId", "conversation_id"),
        folder=Path(text_at(fields, "cwd") or root),
        # Without a terminal, Gemini CLI puts the output of the session's first hook before the prompt.
        prompt=_INJECTED.sub("", text_at(fields, "prompt")),
        fields=fields,
    )


def output_of(client: str, event: str, text: str | None, notice: str = "") -> Mapping[str, Any]:
    """Return the output with which a client gives its agent a text, and shows the person a notice."""
    shown = {"systemMessage": notice} if notice else {}
    if text is None:
        return shown
    if client == "cursor":
        return {"additional_context": text}
    nested = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}, **shown}
    # Copilot CLI reads the first field; VS Code, which runs the same hook, reads the nested one.
    return {"additionalContext": text, **nested} if client in _FLAT else nested
