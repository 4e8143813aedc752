"""The reference memory server's file: a line of JSON an entity with its observations, or a relation."""

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from minutebook.domain.control_characters import cleaned
from minutebook.domain.records import MemoryType
from minutebook.domain.writing.source_drafts import (
    EntityDraft,
    Found,
    MemoryDraft,
    RelationDraft,
    SourcePlace,
    UnreadPart,
)
from minutebook.features.importers.sources.reading.files import ImportSource
from minutebook.features.importers.sources.reading.values import text_at

NAME = "server-memory"


def is_wanted(path: PurePath) -> bool:
    """Tell whether a file may be a memory; `.json` was its name before it was `.jsonl`."""
    return path.suffix in (".jsonl", ".json")


def read(source: ImportSource) -> Iterator[Found]:
    """Yield entities, their observations as memories that bear their name, and relations."""
    for file in source.files:
        for each in source.objects(file):
            if isinstance(each, UnreadPart):
                yield each
            else:
                yield from _found(SourcePlace(str(file.path), each[0]), each[1])


def _found(place: SourcePlace, line: Mapping[str, Any]) -> Iterator[Found]:
    match line.get("type"):
        case "entity":
            yield from _entity(place, line)
        case "relation":
            source, target, type = (text_at(line, name) for name in ("from", "to", "relationType"))
            if source and target and type:
                key = f"relation\0{source}\0{type}\0{target}"
                yield RelationDraft(
                    key=key, place=place, program=NAME, source=source, target=target, type=type
                )
            else:
                yield UnreadPart(place, "the relation lacks from, to or relationType")
        case _:
            yield UnreadPart(place, "the line is neither an entity nor a relation")


def _entity(place: SourcePlace, line: Mapping[str, Any]) -> Iterator[Found]:
    name, type = text_at(line, "name"), text_at(line, "entityType")
    if not name:
        yield UnreadPart(place, "the entity has no name")
        return
    key = f"entity\0{type}\0{name}"
    yield EntityDraft(key=key, place=place, program=NAME, name=name, type=type or "thing")
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
