"""The data export of ChatGPT or Claude: conversations.json, alone or in a zip."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from minutebook.features.importers.sources.reading.conversation import Conversation, MessageRef
from minutebook.features.importers.sources.reading.files import ImportSource, SourceFile
from minutebook.features.importers.sources.reading.json_arrays import elements_of
from minutebook.features.importers.sources.reading.values import (
    instant_of,
    object_at,
    objects_at,
    shown,
    text_at,
)
from minutebook.record.writing.source_drafts import Found, SourcePlace, UnreadPart

NAME = "chat-export"

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_CONVERSATIONS = re.compile(r"conversations(-\d+)?\.json")


def is_wanted(path: PurePath) -> bool:
    """Tell whether a file is an export, or the conversations of one."""
    return path.suffix.lower() == ".zip" or _is_conversations(path)


def read(source: ImportSource) -> Iterator[Found]:
    """Yield the turns of the conversations, as they stand on the branch that the person saw last."""
    for file in source.files:
        for each in elements_of(source, file, _is_conversations):
            if isinstance(each, UnreadPart):
                yield each
            else:
                yield from _turns(file, *each)


def _is_conversations(path: PurePath) -> bool:
    return _CONVERSATIONS.fullmatch(path.name) is not None


def _turns(file: SourceFile, place: SourcePlace, item: Any) -> Iterator[Found]:
    """Yield the turns of a conversation of ChatGPT or Claude, and the parts that cannot be read."""
    if not isinstance(item, dict):
        yield UnreadPart(place, "the conversation is no object")
        return
    id = text_at(item, "uuid", "conversation_id", "id")
    if not id:
        yield UnreadPart(place, "the conversation has no id")
        return
    undated = instant_of(item.get("create_time", item.get("created_at")))
    session = Conversation("", id, file, undated)
    title = text_at(item, "title", "name")
    if isinstance(item.get("mapping"), dict):
        session.program = "chatgpt"
        yield from _add_tree(session, place, item, title)
    elif isinstance(item.get("chat_messages"), list):
        session.program = "claude"
        yield from _add_list(session, place, item, title)
    else:
        yield UnreadPart(place, "the conversation holds no messages")
    yield from session.remaining()


def _add_tree(
    session: Conversation, place: SourcePlace, item: Mapping[str, Any], title: str
) -> Iterator[Found]:
    """Add the messages of ChatGPT's tree, from the root to the current node, else the newest; yield the parts left out."""
    nodes = object_at(item, "mapping")
    path: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    current = item.get("current_node")
    id = current if isinstance(current, str) and current in nodes else _newest_leaf(nodes)
    while isinstance(id, str) and id in nodes and id not in seen:
        seen.add(id)
        node = object_at(nodes, id)
        path.append(object_at(node, "message"))
        id = node.get("parent")
    for message in reversed(path):
        ref = MessageRef(text_at(message, "id"), place, instant_of(message.get("create_time")))
        if not ref.key:
            continue
        _add_message(session, ref, message)
        model = text_at(object_at(message, "metadata"), "model_slug")
        session.note_context({"title": title, "model": model} if model else {"title": title})
    if any(object_at(object_at(nodes, id), "message") for id in nodes.keys() - seen):
        yield UnreadPart(place, "messages that were edited or answered anew since")


def _newest_leaf(nodes: Mapping[str, Any]) -> str | None:
    """Return the node without children that has the newest message, the last of several; None if there is none."""
    parents = [object_at(nodes, id).get("parent") for id in nodes]
    inner = {parent for parent in parents if isinstance(parent, str)}

    def written_at(id: str) -> datetime:
        message = object_at(object_at(nodes, id), "message")
        return instant_of(message.get("create_time")) or _BEGINNING

    leaves = [id for id in nodes if id not in inner]
    return max(reversed(leaves), key=written_at, default=None)


def _add_message(session: Conversation, ref: MessageRef, message: Mapping[str, Any]) -> None:
    """Add a message of ChatGPT."""
    content = object_at(message, "content")
    text = _text(content)
    recipient = text_at(message, "recipient") or "all"
    match text_at(object_at(message, "author"), "role"):
        case "user" if text:
            session.add_prompt(ref, text)
        case "assistant" if recipient != "all":
            session.add_tool_use(ref, recipient, text)
        case "assistant" if content.get("content_type") in ("thoughts", "reasoning_recap"):
            session.add_reasoning(ref, text)
        case "assistant":
            session.add_answer(ref, text)
        case "tool":
            session.add_tool_result(text)


def _text(content: Mapping[str, Any]) -> str:
    """Return the text of a message of ChatGPT: its parts, for an image or a file only the kind."""
    pieces = [text_at(content, "text", "result", "content")]
    for thought in objects_at(content, "thoughts"):
        pieces.append(text_at(thought, "content", "summary"))
    parts = content.get("parts")
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, str):
            pieces.append(shown(part))
        elif isinstance(part, dict):
            kind = text_at(part, "content_type").removesuffix("_asset_pointer")
            pieces.append(text_at(part, "text") or f"[{kind or 'part'}]")
    return "\n\n".join(piece for piece in pieces if piece.strip())


def _add_list(
    session: Conversation, place: SourcePlace, item: Mapping[str, Any], title: str
) -> Iterator[Found]:
    """Add the messages of Claude's list; yield those left out."""
    for message in objects_at(item, "chat_messages"):
        ref = MessageRef(text_at(message, "uuid"), place, instant_of(message.get("created_at")))
        if not ref.key:
            yield UnreadPart(place, "the message has no uuid")
            continue
        if message.get("sender") == "human":
            text = "\n\n".join(filter(None, (_text_of_person(message), *_attachments(message))))
            session.add_prompt(ref, text)
        else:
            _add_answer(session, ref, message)
        session.note_context({"title": title})


def _add_answer(session: Conversation, ref: MessageRef, message: Mapping[str, Any]) -> None:
    """Add a message of Claude's to a conversation, block by block."""
    blocks = list(objects_at(message, "content"))
    if not blocks:
        session.add_answer(ref, text_at(message, "text"))
    for block in blocks:
        match block.get("type"):
            case "thinking":
                session.add_reasoning(ref, text_at(block, "thinking"))
            case "tool_use":
                session.add_tool_use(ref, text_at(block, "name"), shown(block.get("input", "")))
            case "tool_result":
                session.add_tool_result(
                    "\n".join(text_at(e, "text") for e in objects_at(block, "content"))
                )
            case _:
                session.add_answer(ref, text_at(block, "text"))


def _text_of_person(message: Mapping[str, Any]) -> str:
    texts = [text_at(each, "text") for each in objects_at(message, "content")]
    return "\n\n".join(filter(None, texts)) or text_at(message, "text")


def _attachments(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield a text for each attachment: the file's name, and its text if there is one."""
    for field in ("attachments", "files"):
        for each in objects_at(message, field):
            text = text_at(each, "extracted_content")
            name = text_at(each, "file_name") or "file"
            yield f"[{name}]\n{text}" if text else f"[{name}]"
