"""Sessions of Copilot CLI: a folder a session, with an `events.jsonl` of one JSON event a line."""

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from minutebook.domain.writing.source_drafts import Found, SourcePlace, UnreadPart
from minutebook.features.importers.sources.reading.conversation import (
    Conversation,
    Message,
    modified,
    session_name,
)
from minutebook.features.importers.sources.reading.files import ImportSource, SourceFile, UsualPlace
from minutebook.features.importers.sources.reading.values import (
    instant_of,
    object_at,
    objects_at,
    shown,
    text_at,
)

NAME = "copilot-cli"
USUAL_PLACE = UsualPlace("COPILOT_HOME", (".copilot",), ("session-state",))

EVENTS = "events.jsonl"
"""The file of a session, in a folder that is named for it."""


def is_wanted(path: PurePath) -> bool:
    """Tell whether a file is a session's."""
    return path.name == EVENTS


def read(source: ImportSource) -> Iterator[Found]:
    """Yield the turns of the sessions, file by file."""
    for file in source.files:
        yield from _turns(source, file)


def _turns(source: ImportSource, file: SourceFile) -> Iterator[Found]:
    name = session_name(file.path.parent.name)
    session = Conversation(NAME, name, modified(file.modified))
    for each in source.objects(file):
        if isinstance(each, UnreadPart):
            yield each
            continue
        number, line = each
        data = object_at(line, "data")
        key = text_at(line, "id") or f"{name}#{number}"
        where = Message(key, SourcePlace(str(file.path), number), instant_of(line.get("timestamp")))
        kind = text_at(line, "type")
        if text_at(line, "agentId") or text_at(data, "parentToolCallId"):
            # A subagent's; what it came to is what the tool that ran it answered.
            continue
        if kind == "user.message":
            if (turn := session.prompt(where, text_at(data, "content"))) is not None:
                yield turn
        else:
            _hear(session, where, kind, data)
    if (turn := session.end()) is not None:
        yield turn


def _hear(session: Conversation, where: Message, kind: str, data: Mapping[str, Any]) -> None:
    match kind:
        case "session.start":
            session.session = session_name(text_at(data, "sessionId")) or session.session
            session.version = text_at(data, "copilotVersion")
            session.folder = text_at(object_at(data, "context"), "cwd")
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
