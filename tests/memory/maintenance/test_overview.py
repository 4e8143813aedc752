"""How much is kept, as each caller may know it."""

from minutebook.record.records import Kind
from tests.world import World


def test_relations_are_counted_where_an_entity_may_be_seen(world: World) -> None:
    one, two = (
        world.by(organization="acme", repositories=frozenset({name})) for name in ("one", "two")
    )
    one.relate(one.entity("Ana"), one.entity("Ben"))
    for held, relations in ((one, 1), (two, 0), (world.by(organization="acme"), 1)):
        told = world.app.overview.counts(held.caller, (Kind.ENTITY, Kind.RELATION))
        assert told == {Kind.ENTITY: 2 * relations, Kind.RELATION: relations}
