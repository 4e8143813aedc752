"""Entities, relations and the provenance of hits as the `knowledge` contract shows them."""

from typing import Any

from minutebook.memory.access.provenance import provenance_of
from minutebook.memory.search.combined import Ranked
from minutebook.record.instants import to_the_second
from minutebook.record.records import CodeChunk, Edge, Entity, TextRecord
from minutebook.record.sources import SOURCES

Shape = dict[str, Any]


def entity(entity: Entity) -> Shape:
    """Show an entity, without its empty fields."""
    shape: Shape = {"id": entity.id, "name": entity.name, "entity_type": entity.type}
    further = {"description": entity.description, "user_id": entity.user}
    return shape | {name: value for name, value in further.items() if value is not None}


def relation(relation: Edge) -> Shape:
    """Show a relation between two entities."""
    return {
        "id": relation.id,
        "from_entity": relation.source,
        "to_entity": relation.target,
        "relation_type": relation.type,
        "weight": relation.weight,
    }


def provenance(record: TextRecord) -> Shape:
    """Return a record's time, author, session, and status unless it is active; {} if nothing is known of them."""
    known = provenance_of(record)
    if known is None:
        return {}
    shape: Shape = {"at": to_the_second(known.at), "by": known.by}
    further = {"status": known.status, "session": known.session}
    return shape | {name: value for name, value in further.items() if value is not None}


def hit(ranked: Ranked) -> Shape:
    """Show a hit without its scores."""
    source = SOURCES[ranked.record.kind]
    return {"id": ranked.record.id, "content": ranked.text, "source": source, **hit_details(ranked)}


def hit_details(ranked: Ranked) -> Shape:
    """Return a hit's relevance, provenance, possible revision, notes of features and, for code, its file and lines."""
    record = ranked.record
    shape: Shape = {"relevance": round(ranked.relevance, 2), **provenance(record)}
    if (revised := ranked.revised_by) is not None:
        shape["revised_by"] = {"id": revised.id, "at": to_the_second(revised.at)}
    shape |= {name: note.text for name, note in ranked.notes.items()}
    if isinstance(record, CodeChunk):
        location = {"file_path": record.path, "start_line": record.start_line}
        shape |= location | {"end_line": record.end_line}
    return shape
