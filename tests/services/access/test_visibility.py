import pytest

from minutebook.domain.errors import NotFound
from minutebook.domain.records import SYSTEM_ORGANIZATION, Entity, Memory
from minutebook.services.access.visibility import filters, narrowed, page_of, read
from tests.world import World


def test_every_page_over_organizations_tells_the_total(world: World) -> None:
    for name in ("acme", "other", "acme", "third", "other"):
        world.by(organization=name).remember(name)
    store = world.store
    wheres = filters(store, world.by(organization=None).caller)
    newest = page_of(store, Memory, wheres, "-ingestion_time", 9, 0)[0]
    assert [each.organization for each in newest] == ["other", "third", "acme", "other", "acme"]
    for offset in range(7):
        for limit in range(7):
            page = page_of(store, Memory, wheres, "-ingestion_time", limit, offset)
            assert page == (newest[offset : offset + limit], 5)


def test_a_caller_reaches_their_organization_and_the_system_wide_one(world: World) -> None:
    for name in ("acme", "other", SYSTEM_ORGANIZATION):
        world.by(organization=name).remember("a")
    store = world.store

    def reached(organization: str | None) -> list[str]:
        caller = world.by(organization=organization).caller
        return sorted(each.organization for each in filters(store, caller))

    assert reached(None) == ["acme", "other", SYSTEM_ORGANIZATION]
    assert reached("acme") == ["acme", SYSTEM_ORGANIZATION]
    assert reached("unknown") == [SYSTEM_ORGANIZATION]


def test_a_filter_is_narrowed_further_each_time(world: World) -> None:
    world.remember("a")
    (where,) = filters(world.store, world.caller)
    assert narrowed(narrowed(where, user="ana"), version=1).equal == {"user": "ana", "version": 1}


def test_a_record_of_another_kind_is_not_found(world: World) -> None:
    memory, entity = world.remember("a"), world.entity("a")
    store = world.store
    assert read(store, world.caller, Memory, memory).content == "a"
    assert read(store, world.caller, Entity, entity).name == "a"
    with pytest.raises(NotFound) as missing:
        read(store, world.caller, Memory, entity)
    assert (missing.value.kind, missing.value.id) == ("memory", entity)
    with pytest.raises(NotFound):
        read(store, world.caller, Entity, memory)
