"""Memories of mcp-memory-service: its SQLite file, or the JSON that it exports."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import PurePath
from typing import Any

from minutebook.features.archives.notes.front_matter import plain, tags_of
from minutebook.features.importers.sources.reading.files import ImportSource, SourceFile
from minutebook.features.importers.sources.reading.values import (
    first_time,
    instant_of,
    objects_at,
    text_at,
    unpacked,
    unread_times,
)
from minutebook.record.errors import StoreError
from minutebook.record.records import MemoryType
from minutebook.record.writing.source_drafts import Found, MemoryDraft, SourcePlace, UnreadPart
from minutebook.store.foreign_sqlite import ForeignDatabase

NAME = "mcp-memory-service"

_COLUMNS = (
    *("content_hash", "content", "tags", "memory_type", "metadata"),
    *("created_at", "updated_at", "created_at_iso", "deleted_at", "store"),
)
_WRITTEN = ("created_at", "created_at_iso")
_TYPES = {
    "decision": MemoryType.DECISION_LOG,
    "architecture": MemoryType.ARCHITECTURE,
    "tool_choice": MemoryType.DECISION_LOG,
    "preference": MemoryType.PREFERENCE,
    "preference_signal": MemoryType.PREFERENCE,
    "best_practice": MemoryType.CONVENTION,
    "workflow": MemoryType.PROCEDURAL,
    "document": MemoryType.DOCUMENTATION,
    "reference": MemoryType.DOCUMENTATION,
}
"""Our types of memories by those of mcp-memory-service; the others are facts."""


def is_wanted(path: PurePath) -> bool:
    """Tell whether a file may hold memories."""
    return path.suffix in (".db", ".sqlite", ".sqlite3", ".json")


def read(source: ImportSource) -> Iterator[Found]:
    """Yield the memories of the files, each with its tags, type and metadata."""
    for file in source.files:
        if file.path.suffix == ".json":
            yield from _read_export(source, file)
        else:
            yield from _read_database(source, file)


def _read_export(source: ImportSource, file: SourceFile) -> Iterator[Found]:
    document = source.document(file)
    if isinstance(document, UnreadPart):
        yield document
    elif isinstance(document, dict) and isinstance(document.get("memories"), list):
        for item in objects_at(document, "memories"):
            yield from unread_times(file.place, item, *_WRITTEN)
            yield _memory(file.place, item)
    else:
        yield UnreadPart(file.place, "the file holds no memories of this program")


def _read_database(source: ImportSource, file: SourceFile) -> Iterator[Found]:
    try:
        with closing(ForeignDatabase(file.path)) as database:
            if "content_hash" not in database.columns("memories"):
                yield UnreadPart(file.place, "the file holds no memories of this program")
                return
            for item in database.rows("memories", _COLUMNS):
                yield from unread_times(file.place, item, *_WRITTEN)
                yield _memory(file.place, item)
    except StoreError as error:
        yield UnreadPart(file.place, error.reason)
    source.read += file.size


def _memory(place: SourcePlace, item: Mapping[str, Any]) -> Found:
    """Return the draft of a memory, or why it is left out."""
    content, digest = text_at(item, "content"), text_at(item, "content_hash")
    if item.get("deleted_at") is not None:
        return UnreadPart(place, "the memory is deleted there")
    if not content or not digest:
        return UnreadPart(place, "the memory has no content or no content_hash")
    type = text_at(item, "memory_type")
    store = text_at(item, "store")
    metadata: dict[str, Any] = {**_metadata(item.get("metadata")), "content_hash": digest}
    metadata |= {"memory_type": type} if type else {}
    metadata |= {"store": store} if store not in ("", "default") else {}
    updated = instant_of(item.get("updated_at"))
    metadata |= {"updated_at": updated.isoformat()} if updated is not None else {}
    if tags := tags_of(item):
        metadata["tags"] = tags
    return MemoryDraft(
        key=f"{store or 'default'}\0{digest}",
        place=place,
        program=NAME,
        content=content,
        type=_TYPES.get(type, MemoryType.FACT),
        at=first_time(item, *_WRITTEN),
        metadata=metadata,
    )


def _metadata(value: object) -> dict[str, Any]:
    """Return metadata, which the database keeps as JSON; a text that is no object becomes the field `metadata`."""
    read = unpacked(value)
    if isinstance(value, str) and value and not isinstance(read, dict):
        read = {"metadata": read}
    return plain(read) if isinstance(read, dict) else {}
