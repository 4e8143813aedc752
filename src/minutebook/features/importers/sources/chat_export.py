"""The data export of ChatGPT or Claude: conversations.json, alone or in a zip."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from minutebook.features.importers.sources.reading.conversation import Conversation, Message
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
        yield from _of_tree(session, place, item, title)
    elif isinstance(item.get("chat_messages"), list):
        session.program = "claude"
        yield from _of_list(session, place, item, title)
    else:
        yield UnreadPart(place, "the conversation holds no messages")
    yield from session.found()


def _of_tree(
    session: Conversation, place: SourcePlace, item: Mapping[str, Any], title: str
) -> Iterator[Found]:
    """Hear ChatGPT's tree, from its root to its current node, or to the newest if it names none; yield the parts left out."""
    nodes = object_at(item, "mapping")
    path: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    named = item.get("current_node")
    at = named if isinstance(named, str) and named in nodes else _newest_leaf(nodes)
    while isinstance(at, str) and at in nodes and at not in seen:
        seen.add(at)
        node = object_at(nodes, at)
        path.append(object_at(node, "message"))
        at = node.get("parent")
    for message in reversed(path):
        where = Message(text_at(message, "id"), place, instant_of(message.get("create_time")))
        if not where.key:
            continue
        _hear(session, where, message)
        model = text_at(object_at(message, "metadata"), "model_slug")
        session.context({"title": title, "model": model} if model else {"title": title})
    if any(object_at(object_at(nodes, id), "message") for id in nodes.keys() - seen):
        yield UnreadPart(place, "messages that were edited or answered anew since")


def _newest_leaf(nodes: Mapping[str, Any]) -> str | None:
    """Return the node without children whose message is the newest, of several the last; None if there is none."""
    parents = [object_at(nodes, id).get("parent") for id in nodes]
    leaves = nodes.keys() - {parent for parent in parents if isinstance(parent, str)}
    at = {id: object_at(object_at(nodes, id), "message").get("create_time") for id in nodes}
    times = [(instant_of(at[id]) or _BEGINNING, number, id) for number, id in enumerate(nodes)]
    return max((each for each in times if each[2] in leaves), default=(None, 0, None))[2]


def _hear(session: Conversation, where: Message, message: Mapping[str, Any]) -> None:
    content = object_at(message, "content")
    text = _text(content)
    recipient = text_at(message, "recipient") or "all"
    match text_at(object_at(message, "author"), "role"):
        case "user" if text:
            session.prompt(where, text)
        case "assistant" if recipient != "all":
            session.use(where, recipient, text)
        case "assistant" if content.get("content_type") in ("thoughts", "reasoning_recap"):
            session.think(where, text)
        case "assistant":
            session.say(where, text)
        case "tool":
            session.result(text)


def _text(content: Mapping[str, Any]) -> str:
    """Return the text of a message of ChatGPT: its parts, an image or a file named only."""
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


def _of_list(
    session: Conversation, place: SourcePlace, item: Mapping[str, Any], title: str
) -> Iterator[Found]:
    """Hear Claude's list of messages; yield those left out."""
    for message in objects_at(item, "chat_messages"):
        where = Message(text_at(message, "uuid"), place, instant_of(message.get("created_at")))
        if not where.key:
            yield UnreadPart(place, "the message has no uuid")
            continue
        if message.get("sender") == "human":
            text = "\n\n".join(filter(None, (_said(message), *_attached(message))))
            session.prompt(where, text)
        else:
            _add_answer(session, where, message)
        session.context({"title": title})


def _add_answer(session: Conversation, where: Message, message: Mapping[str, Any]) -> None:
    blocks = list(objects_at(message, "content"))
    if not blocks:
        session.say(where, text_at(message, "text"))
    for block in blocks:
        match block.get("type"):
            case "thinking":
                session.think(where, text_at(block, "thinking"))
            case "tool_use":
                session.use(where, text_at(block, "name"), shown(block.get("input", "")))
            case "tool_result":
                session.result("\n".join(text_at(e, "text") for e in objects_at(block, "content")))
            case _:
                session.say(where, text_at(block, "text"))


def _said(message: Mapping[str, Any]) -> str:
    texts = [text_at(each, "text") for each in objects_at(message, "content")]
    return "\n\n".join(filter(None, texts)) or text_at(message, "text")


def _attached(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the attachments: a file's name, and its text if there is one."""
    for field in ("attachments", "files"):
        for each in objects_at(message, field):
            text = text_at(each, "extracted_content")
            name = text_at(each, "file_name") or "file"
            yield f"[{name}]\n{text}" if text else f"[{name}]"
