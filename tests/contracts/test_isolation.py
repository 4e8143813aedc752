"""Random memories of many scopes, random callers: nobody hears what is not theirs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.domain.policy import Caller
from minutebook.domain.records import SYSTEM_ORGANIZATION, Edge, Entity, Kind, Memory, Role
from tests.world import NOON, World, bare, worlds

ORGANIZATIONS = ("acme", "other", SYSTEM_ORGANIZATION)
REPOSITORIES = (None, "one", "two")
USERS = (None, "ana", "ben")
WORDS = ("tea", "cat", "boiler", "harbour", "Falcon")
SCOPES = tuple(product(ORGANIZATIONS, REPOSITORIES, USERS))


@dataclass(frozen=True)
class Population:
    """A world, and everything that is kept in it."""

    world: World
    memories: dict[str, Memory]
    entities: dict[str, Entity]


def settle(world: World, chance: Random) -> Population:
    """Fill a world: entities and memories of every scope, joined at random across scopes."""
    memories: dict[str, Memory] = {}
    entities: dict[str, Entity] = {}
    for organization, repository, user in SCOPES:
        held = None if repository is None else frozenset({repository})
        teller = world.by(organization=organization, repositories=held, user=user)
        for word in chance.sample(WORDS, 2):
            id = teller.entity(word)
            found = world.app.store.get(Kind.ENTITY, organization, id)
            assert isinstance(found, Entity)
            entities[id] = found
        for _ in range(2):
            id = teller.remember(" ".join(chance.choices(WORDS, k=3)))
            memories[id] = world.memory(id, organization)
        if chance.random() < 0.5:
            teller.call("invalidate", id=id)
            memories[id] = world.memory(id, organization)
    for organization in ORGANIZATIONS:
        here = sorted(id for id, each in entities.items() if each.organization == organization)
        for source, target in zip(here, chance.sample(here, len(here)), strict=True):
            world.by(writes_system=True).relate(source, target, "near")
        _supersede(world, memories, organization, chance)
    return Population(world, memories, entities)


def _supersede(
    world: World, memories: dict[str, Memory], organization: str, chance: Random
) -> None:
    """End some memories in favour of others, whatever their repository or user."""
    here = sorted(id for id, each in memories.items() if each.organization == organization)
    for old, new in (chance.sample(here, 2) for _ in range(4)):
        answer = world.contract.call(
            world.app, world.caller, "invalidate", {"id": old, "superseded_by": new}
        )
        if answer.error is None:
            memories[old] = world.memory(old, organization)
    world.app.store.put(
        Edge(
            organization=organization,
            id=f"{here[0]}.{here[-1]}",
            kind=Kind.LINK,
            source=here[0],
            target=here[-1],
            type="related",
            created_at=world.clock.now,
        )
    )


@pytest.fixture(scope="module", params=[1, 2, 3])
def population(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Population]:
    with worlds(tmp_path_factory.mktemp("isolation")) as open_one:
        yield settle(open_one(), Random(request.param))


callers = st.builds(
    Caller,
    name=st.sampled_from(["agent", "other"]),
    role=st.sampled_from(Role),
    organization=st.sampled_from([None, "acme", "other", "unknown", SYSTEM_ORGANIZATION]),
    repositories=st.none() | st.frozensets(st.sampled_from(["one", "two", "three"])),
    user=st.sampled_from([None, "ana", "ben", "cleo"]),
)
queries = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
limits = st.sampled_from([1, 5, 50])


def hears(caller: Caller, record: Memory | Entity) -> bool:
    """Tell whether a record is the caller's to hear, worked out once more, the plain way."""
    organization = caller.organization is None or record.organization in (
        caller.organization,
        SYSTEM_ORGANIZATION,
    )
    repository = (
        caller.repositories is None
        or record.repository is None
        or record.repository in caller.repositories
    )
    return (
        organization and repository and (caller.user is None or record.user in (None, caller.user))
    )


def holds(memory: Memory, world: World) -> bool:
    return memory.valid_until is None or world.clock.now < memory.valid_until


def heard(population: Population, caller: Caller) -> dict[str, Memory]:
    return {id: each for id, each in population.memories.items() if hears(caller, each)}


@given(callers, queries, limits)
@settings(max_examples=40)
def test_no_search_finds_what_the_caller_may_not_hear(
    population: Population, caller: Caller, query: str, limit: int
) -> None:
    world = replace(population.world, caller=caller)
    theirs = {id for id, each in heard(population, caller).items() if holds(each, world)}
    for tool in ("search", "search_text", "recall"):
        assert set(world.ids(tool, query=query, limit=limit)) <= theirs


@given(callers)
def test_a_list_holds_all_that_the_caller_may_hear_and_no_more(
    population: Population, caller: Caller
) -> None:
    world = replace(population.world, caller=caller)
    theirs = heard(population, caller)
    answer = world.call("list_memories", limit=100)
    assert {bare(each["id"]) for each in answer["memories"]} == set(theirs)
    assert answer["total"] == len(theirs)
    valid = {id for id, each in theirs.items() if holds(each, world)}
    assert set(world.ids("get_valid", limit=100)) == valid


@given(callers, st.integers(0, 60), st.sampled_from([None, "ana", "ben"]))
def test_what_was_valid_is_told_of_the_callers_own_only(
    population: Population, caller: Caller, second: int, user: str | None
) -> None:
    world = replace(population.world, caller=caller)
    at = NOON + timedelta(seconds=second)
    expected = {
        id
        for id, each in heard(population, caller).items()
        if each.valid_from <= at
        and (each.valid_until is None or at < each.valid_until)
        and (user is None or each.user == user)
    }
    told = world.ids("get_valid_at", timestamp=at.isoformat(), user_id=user, limit=100)
    assert set(told) == expected


@given(callers, st.data())
def test_one_memory_is_shown_to_whom_it_concerns_and_unknown_to_others(
    population: Population, caller: Caller, data: st.DataObject
) -> None:
    world = replace(population.world, caller=caller)
    id = data.draw(st.sampled_from(sorted(population.memories)))
    answer = world.contract.call(world.app, world.caller, "get_memory", {"id": id})
    if hears(caller, population.memories[id]):
        assert answer.error is None
    else:
        assert answer.text == f"Memory not found: {id}"


@given(callers, st.data(), st.integers(1, 3), st.sampled_from(["outgoing", "incoming", "both"]))
def test_no_walk_comes_to_an_entity_that_the_caller_may_not_see(
    population: Population, caller: Caller, data: st.DataObject, depth: int, direction: str
) -> None:
    world = replace(population.world, caller=caller)
    id = data.draw(st.sampled_from(sorted(population.entities)))
    asked = {"entity_id": id, "depth": depth, "direction": direction}
    answer = world.contract.call(world.app, world.caller, "get_related", asked)
    if not hears(caller, population.entities[id]):
        assert answer.text == f"Entity not found: {id}"
        return
    assert answer.content is not None
    for each in answer.content["entities"]:
        assert hears(caller, population.entities[each["id"]])
    for each in answer.content["relations"]:
        for end in (each["from_entity"], each["to_entity"]):
            assert hears(caller, population.entities[end])


@given(callers)
def test_the_status_counts_what_the_caller_may_hear(population: Population, caller: Caller) -> None:
    world = replace(population.world, caller=caller)
    answer = world.call("get_status")
    assert answer["memories_count"] == len(heard(population, caller))
    entities = [each for each in population.entities.values() if hears(caller, each)]
    assert answer["entities_count"] == len(entities)


@given(callers)
def test_no_act_touches_what_the_caller_may_not_hear(
    population: Population, caller: Caller
) -> None:
    world = replace(population.world, caller=replace(caller, role=Role.ADMIN))
    hidden = sorted(set(population.memories) - set(heard(population, caller)))[:3]
    before = world.contents()
    for id in hidden:
        unknown = f"Memory not found: {id}"
        assert world.refused("update_memory", id=id, content="x") == unknown
        assert world.refused("invalidate", id=id) == unknown
        assert world.call("delete_memory", id=id) == {"deleted": False}
    assert world.contents() == before
