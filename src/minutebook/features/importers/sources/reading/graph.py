"""Entities and relations of a source, as drafts with the keys that all sources give them."""

from typing import Any

from minutebook.domain.writing.source_drafts import EntityDraft, RelationDraft, SourcePlace


def entity_draft(
    program: str, place: SourcePlace, name: str, type: str, **more: Any
) -> EntityDraft:
    """Return the draft of an entity, with `more` fields as the source has them."""
    key = f"entity\0{type}\0{name}"
    return EntityDraft(key=key, place=place, program=program, name=name, type=type, **more)


def relation_draft(
    program: str, place: SourcePlace, source: str, type: str, target: str, **more: Any
) -> RelationDraft:
    """Return the draft of a relation between two entities, by their names."""
    more |= {"key": f"relation\0{source}\0{type}\0{target}", "place": place, "program": program}
    return RelationDraft(source=source, target=target, type=type, **more)
