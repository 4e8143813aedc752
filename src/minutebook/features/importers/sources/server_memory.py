"""The reference memory server's file: JSON of an entity with its observations, or a relation, on each line; or a list of them."""

import itertools
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from minutebook.features.importers.sources.reading.files import ImportSource
from minutebook.features.importers.sources.reading.values import (
    entity_draft,
    relation_draft,
    text_at,
)
from minutebook.record.control_characters import cleaned
from minutebook.record.records import MemoryType
from minutebook.record.writing.source_drafts import Found, MemoryDraft, SourcePlace, UnreadPart

NAME = "server-memory"

_LISTS = ("entities", "relations")
"""The lists of a graph that stands in one object."""


def is_wanted(path: PurePath) -> bool:
    """Tell whether a file may be a memory; earlier versions named it `.json`."""
    return path.suffix in (".jsonl", ".json")


def read(source: ImportSource) -> Iterator[Found]:
    """Yield entities, their observations as memories with the entity's name as title, and relations."""
    for file in source.files:
        for number, value in source.values(file):
            place = SourcePlace(str(file.path), number)
            for each in _listed(value):
                yield from [each] if isinstance(each, UnreadPart) else _drafts_of(place, each)


def _listed(value: Any) -> Iterator[Any]:
    """Yield the elements of a list, or of the lists of a graph; any other value as the only one."""
    lists = [value.get(name) for name in _LISTS] if isinstance(value, dict) else [value]
    known = [each for each in lists if isinstance(each, list)]
    yield from itertools.chain(*known) if known else [value]


def _drafts_of(place: SourcePlace, item: Any) -> Iterator[Found]:
    """Yield the drafts of an object for an entity or a relation; of another the part that is left out."""
    line: Mapping[str, Any] = item if isinstance(item, dict) else {}
    if line.get("type") == "entity" or "entityType" in line:
        yield from _entity(place, line)
    elif line.get("type") == "relation" or "relationType" in line:
        source, target, type = (text_at(line, name) for name in ("from", "to", "relationType"))
        if source and target and type:
            yield relation_draft(NAME, place, source, type, target)
        else:
            yield UnreadPart(place, "the relation lacks from, to or relationType")
    else:
        yield UnreadPart(place, "the line is neither an entity nor a relation")


def _entity(place: SourcePlace, line: Mapping[str, Any]) -> Iterator[Found]:
    name, type = text_at(line, "name"), text_at(line, "entityType")
    if not name:
        yield UnreadPart(place, "the entity has no name")
        return
    yield entity_draft(NAME, place, name, type or "thing")
    observations = line.get("observations")
    for each in observations if isinstance(observations, list) else ():
        if isinstance(each, str) and each:
            text = cleaned(each)
            yield MemoryDraft(
                key=f"observation\0{name}\0{text}",
                place=place,
                program=NAME,
                content=text,
                type=MemoryType.FACT,
                title=name,
            )
        else:
            yield UnreadPart(place, "the observation is not a text")
