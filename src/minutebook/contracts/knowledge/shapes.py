"""Entities and relations as the `knowledge` contract shows them."""

from typing import Any

from minutebook.domain.records import Edge, Entity

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
