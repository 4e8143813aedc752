"""Sessions of Copilot CLI: a folder a session, with an `events.jsonl` of one JSON event a line."""

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from minutebook.features.importers.sources.reading.conversation import (
    Conversation,
    Hear,
    Message,
    read_lines,
    session_name,
)
from minutebook.features.importers.sources.reading.files import ImportSource, SourceFile, UsualPlace
from minutebook.features.importers.sources.reading.values import (
    object_at,
    objects_at,
    shown,
    text_at,
)
from minutebook.record.writing.source_drafts import Found

NAME = "copilot-cli"
USUAL_PLACE = UsualPlace("COPILOT_HOME", (".copilot",), ("session-state",))

EVENTS = "events.jsonl"
"""The file of a session, in a folder that is named for it."""


def is_wanted(path: PurePath) -> bool:
    """Tell whether a file is a session's."""
    return path.name == EVENTS


def read(source: ImportSource) -> Iterator[Found]:
    """Yield the turns of the sessions, file by file."""
    source.fields = ("type", "data")
    return read_lines(source, _hearer)


def _hearer(file: SourceFile) -> Hear:
    session = Conversation(NAME, file.path.parent.name, file)

    def hear(where: Message, line: Mapping[str, Any]) -> Conversation:
        data, key = object_at(line, "data"), text_at(line, "id")
        where = where._replace(key=key or f"{session.session}#{where.key}")
        if not text_at(line, "agentId") and not text_at(data, "parentToolCallId"):
            # Of a subagent, what it came to is what the tool that ran it answered.
            _hear(session, where, text_at(line, "type"), data)
        return session

    return hear


def _hear(session: Conversation, where: Message, kind: str, data: Mapping[str, Any]) -> None:
    match kind:
        case "session.start":
            session.session = session_name(text_at(data, "sessionId")) or session.session
            session.version = text_at(data, "copilotVersion")
            session.folder = text_at(object_at(data, "context"), "cwd")
        case "user.message" if text_at(data, "source") in ("", "user"):
            session.prompt(where, text_at(data, "content"))
        case "user.message":
            session.tell(where, text_at(data, "content"))
        case "assistant.message":
            session.think(where, text_at(data, "reasoningText"))
            session.say(where, text_at(data, "content"))
            for tool in objects_at(data, "toolRequests"):
                session.use(where, text_at(tool, "name"), shown(tool.get("arguments", "")))
            session.context({"model": text_at(data, "model")})
        case "tool.execution_complete":
            result = text_at(object_at(data, "result"), "content")
            failed = text_at(object_at(data, "error"), "message")
            session.result(f"error: {failed}" if failed else result)
