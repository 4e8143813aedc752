"""Chats of Gemini CLI: a JSON document a session or, since 2026, a line of JSON a message."""

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from minutebook.features.importers.sources.reading.conversation import (
    Conversation,
    MessageRef,
    session_name,
)
from minutebook.features.importers.sources.reading.files import (
    ImportSource,
    SourceFile,
    UsualPlace,
    opened,
)
from minutebook.features.importers.sources.reading.program_texts import ProgramTexts
from minutebook.features.importers.sources.reading.values import (
    instant_of,
    objects_at,
    shown,
    text_at,
)
from minutebook.record.writing.source_drafts import Found, SourcePlace, UnreadPart

NAME = "gemini-cli"
USUAL_PLACE = UsualPlace("GEMINI_CLI_HOME", (), (".gemini", "tmp"))

_PROGRAMS = ProgramTexts(asides=("hook_context", "session_context"))
"""Texts that the program and hooks put before the person's words; they are dropped."""

_Line = tuple[int, Mapping[str, Any]]
"""The number of a line, and the message on it."""


def is_wanted(path: PurePath) -> bool:
    """Tell whether a file is a chat."""
    return path.suffix in (".json", ".jsonl") and "chats" in path.parts


def read(source: ImportSource) -> Iterator[Found]:
    """Yield the turns of the chats, file by file."""
    source.fields = ("id", "type")
    for file in source.files:
        document: dict[str, Any] = {}
        messages: list[_Line] = []
        gone: dict[str, int] = {}
        for each in _messages(source, file, document, gone):
            if isinstance(each, UnreadPart):
                yield each
            else:
                messages.append(each)
        name = session_name(text_at(document, "sessionId"))
        if name:
            yield from _turns(file, name, messages, gone)
        else:
            yield UnreadPart(file.place, "it names no session")


def _messages(
    source: ImportSource, file: SourceFile, document: dict[str, Any], gone: dict[str, int]
) -> Iterator[_Line | UnreadPart]:
    """Yield the messages of a chat, without those taken back; add their ids and lines to `gone`, the chat's fields to `document`."""
    if file.path.suffix == ".json":
        whole = source.document(file)
        if isinstance(whole, UnreadPart):
            yield whole
        elif isinstance(whole, dict):
            document.update(whole)
            yield from ((0, each) for each in objects_at(whole, "messages"))
        return
    # A message that is written again replaces the first; a rewind removes the message that it names and all later ones.
    kept: dict[str, _Line] = {}
    for each in source.objects(file):
        if isinstance(each, UnreadPart):
            yield each
            continue
        number, line = each
        rewound, id, changes = line.get("$rewindTo"), line.get("id"), line.get("$set")
        if isinstance(rewound, str):
            ids = list(kept)
            for removed in ids[ids.index(rewound) if rewound in kept else 0 :]:
                gone[removed] = kept.pop(removed)[0]
        elif isinstance(id, str):
            kept[id] = (kept[id][0] if id in kept else number, line)
        else:
            fields = changes if isinstance(changes, dict) else line
            document.update(fields)
            if isinstance(document.pop("messages", None), list):
                # All messages so far, written again.
                messages = enumerate(objects_at(fields, "messages"))
                kept = {
                    text_at(each, "id") or f"{number}/{index}": (number, each)
                    for index, each in messages
                }
    yield from kept.values()


def _turns(
    file: SourceFile, name: str, messages: list[_Line], gone: Mapping[str, int]
) -> Iterator[Found]:
    """Yield the turns of a session's messages; `gone` has the ids of messages taken back, with their lines."""
    session = Conversation(NAME, name, file)
    session.folder = _project_of(file)
    for id, number in gone.items():
        session.note_taken_back(MessageRef(id, SourcePlace(str(file.path), number), None))
    for index, (number, message) in enumerate(messages):
        key = text_at(message, "id") or f"{name}/{index}"
        place = SourcePlace(str(file.path), number)
        ref = MessageRef(key, place, instant_of(message.get("timestamp")))
        text = _text(message.get("content"))
        match message.get("type"):
            case "user":
                said, _ = _PROGRAMS.split(text)
                if said or not text:
                    session.add_prompt(ref, said)
            case "gemini":
                _add_answer(session, ref, message, text)
            case "info" | "error" | "warning" as kind:
                session.add_tool_result(f"{kind}: {text}")
    yield from session.remaining()


def _project_of(file: SourceFile) -> str:
    """Return the project's folder, from a file that newer versions write beside the folder of its chats; else empty."""
    try:
        with opened(file.path.parent.parent / ".project_root") as stream:
            return stream.read(4096).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _add_answer(
    session: Conversation, ref: MessageRef, message: Mapping[str, Any], text: str
) -> None:
    """Add a message of the model to a conversation: its thoughts, its text, then its uses of tools with their results."""
    for thought in objects_at(message, "thoughts"):
        pieces = (text_at(thought, "subject"), text_at(thought, "description"))
        session.add_reasoning(ref, "\n".join(filter(None, pieces)))
    session.add_answer(ref, text)
    for tool in objects_at(message, "toolCalls"):
        session.add_tool_use(ref, text_at(tool, "name"), shown(tool.get("args", "")))
        session.add_tool_result(_result(tool))
    session.note_context({"model": text_at(message, "model")})


def _result(tool: Mapping[str, Any]) -> str:
    """Return the result of a tool: the output of its response, else the text displayed for it."""
    pieces = []
    for part in objects_at(tool, "result"):
        response = part.get("functionResponse")
        given = response.get("response") if isinstance(response, dict) else None
        if isinstance(given, dict):
            pieces.append(text_at(given, "output", "error") or shown(given))
        elif text := text_at(part, "text"):
            pieces.append(text)
    text = "\n".join(pieces) or text_at(tool, "resultDisplay")
    return f"error: {text}" if tool.get("status") == "error" else text


def _text(content: object) -> str:
    """Return the text of a message's content: a text, a part, or a list of both."""
    if isinstance(content, str):
        return shown(content)
    parts = content if isinstance(content, list) else [content]
    texts = [
        each if isinstance(each, str) else text_at(each, "text")
        for each in parts
        if isinstance(each, str | dict)
    ]
    return shown("\n".join(filter(None, texts)))
