"""Memories of mem0, as `get_all` returns them, saved as JSON: results, and relations of its graph."""

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from minutebook.features.archives.notes.front_matter import plain
from minutebook.features.importers.sources.reading.files import ImportSource
from minutebook.features.importers.sources.reading.values import (
    entity_draft,
    first_time,
    instant_of,
    object_at,
    objects_at,
    relation_draft,
    text_at,
    unread_times,
)
from minutebook.record.records import MemoryType
from minutebook.record.writing.source_drafts import Found, MemoryDraft, SourcePlace, UnreadPart

NAME = "mem0"

_OWN = frozenset({"id", "memory", "text", "content", "metadata", "score", "created_at"})
"""The fields of mem0's memories that are not copied to our metadata."""

_ENDS = ("expiration_date", "expires_at")

_GONE = frozenset({"deleted", "paused"})
"""The states of memories that mem0 no longer returns; an archived memory has ended."""


def is_wanted(path: PurePath) -> bool:
    """Tell whether a file may be saved memories."""
    return path.suffix == ".json"


def read(source: ImportSource) -> Iterator[Found]:
    """Yield the memories of each file, with all their fields in mem0, and the relations."""
    count, stated = 0, 0
    for file in source.files:
        document = source.document(file)
        if isinstance(document, UnreadPart):
            yield document
            continue
        whole = {"results": document} if isinstance(document, list) else document
        names = ("results", "memories", "items")
        lists = [
            name for name in names if isinstance(whole, dict) and isinstance(whole.get(name), list)
        ]
        if not lists:
            yield UnreadPart(file.place, "the file holds no list of memories (results)")
            continue
        count += len(whole[lists[0]])
        counts: list[Any] = [whole.get(name) for name in _COUNTS]
        stated = max(stated, *(each for each in counts if type(each) is int), 0)
        if text_at(whole, "next") and not stated:
            yield UnreadPart(file.place, f"{_PAGES} (next is {text_at(whole, 'next')})")
        for item in objects_at(whole, lists[0]):
            yield from unread_times(file.place, item, "created_at")
            yield _memory(file.place, item)
        for item in objects_at(whole, "relations"):
            yield from _relation(file.place, item)
    if stated > count:
        reason = f"{_PAGES}: {count:,} of {stated:,} are here"
        yield UnreadPart(SourcePlace(str(source.root)), reason)


_COUNTS = ("count", "total")
"""The fields with the number of memories on all pages."""

_PAGES = "further pages of memories are missing"


def _memory(place: SourcePlace, item: Mapping[str, Any]) -> Found:
    content, id = text_at(item, "memory", "text", "content"), text_at(item, "id")
    if not content or not id:
        return UnreadPart(place, "the memory has no text or no id")
    state = text_at(item, "state").lower()
    if state in _GONE or item.get("deleted_at") or item.get("is_deleted") is True:
        return UnreadPart(place, f"the memory is {state or 'deleted'} there")
    unread = next(unread_times(place, item, *_ENDS), None)
    if unread is not None:
        return UnreadPart(unread.place, f"{unread.reason}, so the memory may be over")
    until = first_time(item, *_ENDS)
    if state == "archived" and until is None:
        until = first_time(item, "archived_at", "updated_at", "created_at")
    if state == "archived" and until is None:
        return UnreadPart(place, "the memory is archived there, since an unknown day")
    fields = {name: plain(each) for name, each in item.items() if name not in _OWN}
    return MemoryDraft(
        key=id,
        place=place,
        program=NAME,
        content=content,
        type=MemoryType.FACT,
        at=instant_of(item.get("created_at")),
        until=until,
        user=text_at(item, "user_id"),
        metadata={
            **plain(object_at(item, "metadata")),
            **{name: each for name, each in fields.items() if each not in (None, "", [], {})},
            "id": id,
        },
    )


def _relation(place: SourcePlace, item: Mapping[str, Any]) -> Iterator[Found]:
    """Yield the drafts of a relation and of its two entities; of an incomplete one the part that is left out."""
    source, type = text_at(item, "source"), text_at(item, "relationship", "relation")
    target = text_at(item, "target", "destination")
    if not source or not type or not target:
        yield UnreadPart(place, "the relation lacks source, relationship or target")
        return
    for name in (source, target):
        yield entity_draft(NAME, place, name, "thing")
    yield relation_draft(NAME, place, source, type, target)
