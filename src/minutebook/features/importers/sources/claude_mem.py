"""The records of claude-mem: observations, summaries of sessions, prompts and directives of its SQLite file."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from minutebook.features.archives.notes.front_matter import plain
from minutebook.features.importers.sources.reading.conversation import Conversation, MessageRef
from minutebook.features.importers.sources.reading.files import ImportSource, SourceFile, UsualPlace
from minutebook.features.importers.sources.reading.values import instant_of, text_at, unpacked
from minutebook.record.errors import StoreError
from minutebook.record.records import MemoryType
from minutebook.record.writing.source_drafts import Found, MemoryDraft, SourcePlace, UnreadPart
from minutebook.store.foreign_sqlite import ForeignDatabase

NAME = "claude-mem"
USUAL_PLACE = UsualPlace("CLAUDE_MEM_DATA_DIR", (".claude-mem",), ("claude-mem.db",))

_OBSERVATION = (
    *("id", "memory_session_id", "sdk_session_id", "project", "type", "text", "title", "subtitle"),
    *("facts", "narrative", "concepts", "files_read", "files_modified", "prompt_number"),
    *("content_hash", "generated_by_model", "agent_type", "metadata", "created_at_epoch"),
)
_SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_SUMMARY_ROW = (
    *("id", "memory_session_id", "sdk_session_id", "project", *_SUMMARY),
    *("files_read", "files_edited", "created_at_epoch"),
)
_PROMPT = ("id", "content_session_id", "claude_session_id", "prompt_text", "created_at_epoch")
_DIRECTIVE = ("id", "scope", "project", "content", "status", "source", "created_at_epoch")

_TYPES = {"decision": MemoryType.DECISION_LOG, "discovery": MemoryType.FACT}
"""Our types of memories by claude-mem's types of observations; the others are episodic."""


def is_wanted(path: PurePath) -> bool:
    """Tell whether a file is its database."""
    return path.name == "claude-mem.db"


def read(source: ImportSource) -> Iterator[Found]:
    """Yield observations, summaries and directives as memories, prompts as turns."""
    for file in source.files:
        try:
            with closing(ForeignDatabase(file.path)) as database:
                if not database.columns("observations"):
                    yield UnreadPart(file.place, "the file holds no observations of this program")
                yield from _drafts_in(database, file)
        except StoreError as error:
            yield UnreadPart(file.place, error.reason)
        source.read += file.size


def _drafts_in(database: ForeignDatabase, file: SourceFile) -> Iterator[Found]:
    """Yield a memory for each observation, summary of a session and active directive, then the turns of the prompts."""
    for row in database.rows("observations", _OBSERVATION, order="id"):
        content = "\n\n".join(
            each
            for each in (
                text_at(row, "subtitle"),
                text_at(row, "narrative") or text_at(row, "text"),
                "\n".join(f"- {fact}" for fact in _listed(row.get("facts"))),
            )
            if each
        )
        type = _TYPES.get(text_at(row, "type"), MemoryType.EPISODIC)
        yield _memory(file.place, "observation", row, type, text_at(row, "title"), content)
    for row in database.rows("session_summaries", _SUMMARY_ROW, order="id"):
        content = "\n\n".join(
            f"{name.replace('_', ' ').capitalize()}: {text}"
            for name in _SUMMARY
            if (text := text_at(row, name))
        )
        title = text_at(row, "request")[:100]
        yield _memory(file.place, "summary", row, MemoryType.EPISODIC, title, content)
    for row in database.rows("directives", _DIRECTIVE, order="id"):
        content, status = text_at(row, "content"), text_at(row, "status")
        if status not in ("", "active"):
            yield UnreadPart(file.place, f"the directive is {status} there")
            continue
        yield _memory(file.place, "directive", row, MemoryType.CONVENTION, "", content)
    yield from _prompts(database, file)


def _memory(
    place: SourcePlace,
    kind: str,
    row: Mapping[str, Any],
    type: MemoryType,
    title: str,
    content: str,
) -> Found:
    if not content and not title:
        return UnreadPart(place, f"the {kind} is empty")
    metadata = {
        name: _listed(value) or plain(value)
        for name, value in row.items()
        if value not in (None, "", "[]") and name not in _IN_TEXT
    }
    return MemoryDraft(
        key=f"{kind}\0{row.get('id')}\0{row.get('created_at_epoch')}",
        place=place,
        program=NAME,
        content=content or title,
        type=type,
        title=title if content and title else None,
        at=_at(row),
        metadata={**metadata, "kind": kind},
    )


_IN_TEXT = frozenset({"title", "subtitle", "narrative", "text", "facts", "content", *_SUMMARY})
"""The columns that a memory's text is made of."""


def _prompts(database: ForeignDatabase, file: SourceFile) -> Iterator[Found]:
    """Yield a turn for each prompt, in sessions of their own: the answers are in the client's transcripts."""
    sessions: dict[str, Conversation] = {}
    for row in database.rows("user_prompts", _PROMPT, order="id"):
        name = text_at(row, "content_session_id", "claude_session_id")
        text = text_at(row, "prompt_text")
        if not name or not text:
            yield UnreadPart(file.place, "the prompt is empty, or names no session")
            continue
        session = sessions.setdefault(name, Conversation(NAME, f"{NAME} {name}", file))
        session.add_prompt(
            MessageRef(f"prompt\0{row.get('id')}\0{name}", file.place, _at(row)), text
        )
    for session in sessions.values():
        yield from session.remaining()


def _at(row: Mapping[str, Any]) -> datetime | None:
    """Return the instant at which a row was written, which it has in milliseconds."""
    value = row.get("created_at_epoch")
    if isinstance(value, int) and abs(value) < 2**46:
        return instant_of(datetime.fromtimestamp(value / 1000, UTC).isoformat())
    return None


def _listed(value: object) -> list[str]:
    """Return the texts of a column that holds a JSON list of them."""
    read = unpacked(value)
    return [str(plain(each)) for each in read] if isinstance(read, list) else []
