"""Sessions of Copilot CLI: a folder a session, with an `events.jsonl` of one JSON event a line."""

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from minutebook.features.importers.sources.reading.conversation import (
    Conversation,
    LineReader,
    MessageRef,
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
    return read_lines(source, _reader_of)


def _reader_of(file: SourceFile) -> LineReader:
    """Return the reader of a file's lines, which adds each to the file's conversation."""
    session = Conversation(NAME, file.path.parent.name, file)

    def read_line(ref: MessageRef, line: Mapping[str, Any]) -> Conversation:
        data, key = object_at(line, "data"), text_at(line, "id")
        ref = ref._replace(key=key or f"{session.session}#{ref.key}")
        if not text_at(line, "agentId") and not text_at(data, "parentToolCallId"):
            # The result of a subagent is that of the tool that ran it; its own messages are left out.
            _add_message(session, ref, text_at(line, "type"), data)
        return session

    return read_line


def _add_message(
    session: Conversation, ref: MessageRef, kind: str, data: Mapping[str, Any]
) -> None:
    """Add the data of an event of some kind to a conversation."""
    match kind:
        case "session.start":
            session.session = session_name(text_at(data, "sessionId")) or session.session
            session.version = text_at(data, "copilotVersion")
            session.folder = text_at(object_at(data, "context"), "cwd")
        case "user.message" if text_at(data, "source") in ("", "user"):
            session.add_prompt(ref, text_at(data, "content"))
        case "user.message":
            session.add_program_text(ref, text_at(data, "content"))
        case "assistant.message":
            session.add_reasoning(ref, text_at(data, "reasoningText"))
            session.add_answer(ref, text_at(data, "content"))
            for tool in objects_at(data, "toolRequests"):
                session.add_tool_use(ref, text_at(tool, "name"), shown(tool.get("arguments", "")))
            session.note_context({"model": text_at(data, "model")})
        case "tool.execution_complete":
            result = text_at(object_at(data, "result"), "content")
            failed = text_at(object_at(data, "error"), "message")
            session.add_tool_result(f"error: {failed}" if failed else result)
