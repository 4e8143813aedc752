"""Transcripts of Claude Code: a line of JSON a message, a file a session or one of its subagents."""

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
    objects_at,
    shown,
    text_at,
)

NAME = "claude-code"
USUAL_PLACE = UsualPlace("CLAUDE_CONFIG_DIR", (".claude",), ("projects",))


_HINT = "(disable recaps in /config)"
"""The end of a recap, which Claude Code writes for a person who was away for some minutes."""


def is_wanted(path: PurePath) -> bool:
    """Tell whether a file is a transcript."""
    return path.suffix == ".jsonl"


def read(source: ImportSource) -> Iterator[Found]:
    """Yield the turns of the transcripts, file by file."""
    for file in source.files:
        yield from _Transcript(source, file).turns()


class _Transcript:
    """One file. Messages of subagents, which older versions wrote among the others, stay apart."""

    def __init__(self, source: ImportSource, file: SourceFile) -> None:
        self._source = source
        self._file = file
        self._sessions: dict[str, Conversation] = {}

    def turns(self) -> Iterator[Found]:
        for each in self._source.objects(self._file):
            if isinstance(each, UnreadPart):
                yield each
            elif (turn := self._heard(*each)) is not None:
                yield turn
        for session in self._sessions.values():
            if (turn := session.end()) is not None:
                yield turn

    def _heard(self, number: int, line: Mapping[str, Any]) -> Found | None:
        kind, message = line.get("type"), line.get("message")
        if line.get("subtype") == "away_summary" and (session := self._session(line)) is not None:
            session.recap(text_at(line, "content").removesuffix(_HINT))
        if kind not in ("user", "assistant") or not isinstance(message, dict):
            # Summaries, snapshots of files and queue operations say nothing that messages do not.
            return None
        place = SourcePlace(str(self._file.path), number)
        key = text_at(line, "uuid")
        session = self._session(line)
        if not key or session is None:
            return UnreadPart(
                place, "the message has no uuid" if session else "it names no session"
            )
        session.version = text_at(line, "version") or session.version
        blocks = _blocks(message)
        where = Message(key, place, instant_of(line.get("timestamp")))
        ended = None
        if kind == "assistant":
            _add_answer(session, where, blocks)
            session.context(_context(line, message))
            return None
        results = [each for each in blocks if each.get("type") == "tool_result"]
        for each in results:
            session.result(_result(each))
        text = "\n\n".join(filter(None, map(_text, blocks)))
        if text and (line.get("isMeta") is True or line.get("isCompactSummary") is True):
            # Not the person's words, but what hooks and compaction said to the model.
            session.think(where, text)
        elif text:
            ended = session.prompt(where, text)
        return ended

    def _session(self, line: Mapping[str, Any]) -> Conversation | None:
        name = session_name(text_at(line, "sessionId") or self._file.path.stem)
        if line.get("isSidechain") is True:
            name = session_name(f"{name} subagent {text_at(line, 'agentId')}")
        if not name:
            return None
        if name not in self._sessions:
            self._sessions[name] = Conversation(NAME, name, modified(self._file.modified))
        return self._sessions[name]


def _add_answer(session: Conversation, where: Message, blocks: list[dict[str, Any]]) -> None:
    for block in blocks:
        match block.get("type"):
            case "thinking":
                session.think(where, text_at(block, "thinking"))
            case "tool_use" | "server_tool_use":
                session.use(where, text_at(block, "name"), shown(block.get("input", "")))
            case _:
                session.say(where, _text(block))


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks of a message; a text alone is one."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(objects_at(message, "content"))


def _text(block: Mapping[str, Any]) -> str:
    """Return the text of a block; of an image or a document only that there was one."""
    match block.get("type"):
        case "text":
            return text_at(block, "text")
        case "image" | "document":
            return f"[{block['type']}]"
        case _:
            return ""


def _result(block: Mapping[str, Any]) -> str:
    content = block.get("content")
    text = (
        content if isinstance(content, str) else "\n".join(map(_text, objects_at(block, "content")))
    )
    return f"error: {shown(text)}" if block.get("is_error") is True else shown(text)


def _context(line: Mapping[str, Any], message: Mapping[str, Any]) -> dict[str, str]:
    return {
        "model": text_at(message, "model"),
        "folder": text_at(line, "cwd"),
        "branch": text_at(line, "gitBranch"),
    }
