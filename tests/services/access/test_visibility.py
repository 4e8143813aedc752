from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.domain.errors import NotFound
from minutebook.domain.records import SYSTEM_ORGANIZATION
from minutebook.services.access.visibility import (
    filters,
    merged,
    narrowed,
    read_entity,
    read_memory,
)
from tests.world import World


@dataclass(frozen=True)
class Thing:
    """As much of a record as an order needs."""

    id: str
    time: int


things = st.lists(
    st.builds(Thing, st.sampled_from("abcdef"), st.integers(0, 2)),
    unique_by=lambda each: each.id,
)


@given(things, st.data(), st.integers(0, 7), st.integers(0, 7))
def test_a_page_of_merged_parts_is_a_page_of_the_whole(
    whole: list[Thing], data: st.DataObject, offset: int, limit: int
) -> None:
    cut = data.draw(st.integers(0, len(whole)))
    ordered = sorted(whole, key=lambda each: (each.time, each.id), reverse=True)
    parts = [
        [each for each in ordered if each in part][: offset + limit]
        for part in (whole[:cut], whole[cut:])
    ]
    page = merged(parts, ("-time",), offset, limit)  # type: ignore[type-var]
    assert page == ordered[offset : offset + limit]


def test_a_caller_reaches_their_organization_and_the_system_wide_one(world: World) -> None:
    for name in ("acme", "other", SYSTEM_ORGANIZATION):
        world.by(organization=name).remember("a")
    store = world.app.store

    def reached(organization: str | None) -> list[str]:
        caller = world.by(organization=organization).caller
        return sorted(each.organization for each in filters(store, caller))

    assert reached(None) == ["acme", "other", SYSTEM_ORGANIZATION]
    assert reached("acme") == ["acme", SYSTEM_ORGANIZATION]
    assert reached("unknown") == [SYSTEM_ORGANIZATION]


def test_a_filter_is_narrowed_further_each_time(world: World) -> None:
    world.remember("a")
    (where,) = filters(world.app.store, world.caller)
    assert narrowed(narrowed(where, user="ana"), version=1).equal == {"user": "ana", "version": 1}


def test_a_record_of_another_kind_is_not_found(world: World) -> None:
    memory, entity = world.remember("a"), world.entity("a")
    store = world.app.store
    assert read_memory(store, world.caller, memory).content == "a"
    assert read_entity(store, world.caller, entity).name == "a"
    with pytest.raises(NotFound) as missing:
        read_memory(store, world.caller, entity)
    assert (missing.value.kind, missing.value.id) == ("memory", entity)
    with pytest.raises(NotFound):
        read_entity(store, world.caller, memory)
