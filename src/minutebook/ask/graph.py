"""Operations on entities and the relations between them."""

from dataclasses import replace
from typing import TYPE_CHECKING

from minutebook.ask.memories import as_seen
from minutebook.ask.operation import check_filled, check_page, check_range, operation
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput
from minutebook.record.listed import Direction, EntityNeighbourhood, Surrounded
from minutebook.record.records import Edge, Entity

if TYPE_CHECKING:
    from minutebook.app import App


@operation("knowledge", writes=True)
def create_entity(
    app: "App",
    caller: Caller,
    name: str,
    type: str,
    description: str | None = None,
    user: str | None = None,
) -> Entity:
    """Create an entity, or return the one with this name, type and user."""
    check_filled(name=name, type=type)
    return app.entities.create_entity(caller, name, type, description, user)


@operation("knowledge")
def find_entities(app: "App", caller: Caller, name: str, limit: int, offset: int) -> list[Entity]:
    """List the entities with names that begin with `name`, sorted by name."""
    check_page(limit, offset)
    return app.surroundings.entities(caller, name, limit, offset)[0]


@operation("knowledge", writes=True)
def relate(app: "App", caller: Caller, source: str, target: str, type: str, weight: float) -> Edge:
    """Relate two entities. Raises InvalidInput for a weight outside [0, 1]."""
    check_filled(type=type)
    if not 0 <= weight <= 1:
        raise InvalidInput("weight", "must be 0 to 1")
    return app.entities.create_relation(caller, source, target, type, weight)


@operation("knowledge")
def related(
    app: "App", caller: Caller, id: str, depth: int, direction: Direction
) -> EntityNeighbourhood:
    """Return the entities and relations within `depth` steps from an entity."""
    check_range("depth", depth, 3)
    return app.entities.related(caller, id, depth, direction)


@operation("knowledge")
def around_entity(app: "App", caller: Caller, id: str, limit: int) -> Surrounded:
    """Read an entity with its relations and the memories that name it, the heaviest first."""
    check_range("limit", limit, 1000)
    found = app.surroundings.around(caller, app.entities.read(caller, id), limit)
    steps = [replace(each, node=as_seen(app, caller, each.node)) for each in found.steps]
    return replace(found, steps=steps)


OPERATIONS = (create_entity, find_entities, relate, related, around_entity)
