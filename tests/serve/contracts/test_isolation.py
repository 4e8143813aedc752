"""Random memories of many scopes, random callers: nobody hears what is not theirs."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.features.catalog.contract import catalog
from minutebook.record.caller import Caller
from minutebook.record.filters import Filter
from minutebook.record.ids import id_of
from minutebook.record.records import (
    SYSTEM_ORGANIZATION,
    Entity,
    Link,
    Memory,
    MemoryType,
    Relation,
    Role,
    ScopeLevel,
)
from minutebook.record.writing.drafts import Draft
from minutebook.serve.contracts.contract import Contract
from tests.examples import examples
from tests.features.governance.contract.governed import ACME, ONE, OTHER, TWO, UNKNOWN, Client
from tests.serve.contracts.requirements import requirement
from tests.world import NOON, World, bare, hears, worlds

ORGANIZATIONS = (ACME, OTHER, SYSTEM_ORGANIZATION)
REPOSITORIES = (None, ONE, TWO)
USERS = (None, "ana", "ben")
WORDS = ("tea", "cat", "boiler", "harbour", "Falcon")
SCOPES = tuple(product(ORGANIZATIONS, REPOSITORIES, USERS))


@dataclass(frozen=True, repr=False)
class Population:
    """A world, and everything that is kept in it."""

    world: World
    memories: dict[str, Memory]
    entities: dict[str, Entity]
    relations: dict[str, Relation]


def settle(world: World, chance: Random) -> Population:
    """Fill a world: entities and memories of every scope, joined at random across scopes."""
    memories: dict[str, Memory] = {}
    entities: dict[str, Entity] = {}
    for organization, repository, user in SCOPES:
        held = None if repository is None else frozenset({repository})
        teller = world.by(organization=organization, repositories=held, user=user)
        for word in chance.sample(WORDS, 2):
            id = teller.entity(word)
            found = world.store.get(Entity, organization, id)
            assert isinstance(found, Entity)
            entities[id] = found
        for _ in range(2):
            id = teller.remember(" ".join(chance.choices(WORDS, k=3)))
            memories[id] = world.memory(id, organization)
        if chance.random() < 0.5:
            teller.call("invalidate", id=id)
            memories[id] = world.memory(id, organization)
        told = _tell(teller, chance)
        memories[told.id] = told
    for organization in ORGANIZATIONS:
        here = sorted(id for id, each in entities.items() if each.organization == organization)
        for source, target in zip(here, chance.sample(here, len(here)), strict=True):
            world.by(writes_system=True).relate(source, target, "near")
        _supersede(world, memories, organization, chance)
    relations = {
        each.id: each
        for organization in ORGANIZATIONS
        for each in world.store.find(Relation, Filter(organization=organization))
    }
    return Population(world, memories, entities, relations)


def _tell(teller: World, chance: Random) -> Memory:
    """Keep a memory of a type and, where there is a choice, a scope of its own; delete some."""
    caller, app = teller.caller, teller.app
    levels = [ScopeLevel.ORGANIZATION, ScopeLevel.USER]
    levels += [ScopeLevel.REPOSITORY] if caller.repositories else []
    draft = Draft(
        content=" ".join(chance.choices(WORDS, k=3)),
        type=chance.choice(list(MemoryType)),
        scope=None if caller.organization == SYSTEM_ORGANIZATION else chance.choice(levels),
        title=chance.choice(WORDS),
    )
    teller.clock.turn()
    told = app.memories.store(caller, draft)
    if chance.random() < 0.3:
        return app.memories.remove(replace(caller, role=Role.ADMIN), told.id)
    return told


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
    world.store.put(
        Link(
            organization=organization,
            id=f"{here[0]}.{here[-1]}",
            source=here[0],
            target=here[-1],
            type="related",
            created_at=world.clock.now,
        )
    )


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.slow)])
def population(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Population]:
    with worlds(tmp_path_factory.mktemp("isolation")) as open_one:
        yield settle(open_one(), Random(request.param))


callers = st.builds(
    Caller,
    name=st.sampled_from(["agent", "other"]),
    role=st.sampled_from(Role),
    organization=st.sampled_from([None, ACME, OTHER, UNKNOWN, SYSTEM_ORGANIZATION]),
    repositories=st.none() | st.frozensets(st.sampled_from([ONE, TWO, UNKNOWN])),
    user=st.sampled_from([None, "ana", "ben", "cleo"]),
)
queries = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
limits = st.sampled_from([1, 5, 50])


def is_shown(caller: Caller, record: Memory | Entity) -> bool:
    """Tell whether a record is the caller's to hear, and not deleted."""
    is_deleted = isinstance(record, Memory) and record.deleted_at is not None
    return not is_deleted and hears(caller, record)


def holds(memory: Memory, world: World) -> bool:
    return memory.valid_until is None or world.clock.now < memory.valid_until


def heard(population: Population, caller: Caller) -> dict[str, Memory]:
    return {id: each for id, each in population.memories.items() if is_shown(caller, each)}


@given(callers, queries, limits)
@settings(max_examples=examples(40))
def test_no_search_finds_what_the_caller_may_not_hear(
    population: Population, caller: Caller, query: str, limit: int
) -> None:
    world = replace(population.world, caller=caller)
    theirs = {id for id, each in heard(population, caller).items() if holds(each, world)}
    seen = {id for id, each in population.entities.items() if is_shown(caller, each)}
    related = {
        id for id, each in population.relations.items() if {each.source, each.target} <= seen
    }
    for tool in ("search", "search_text"):
        assert set(world.ids(tool, query=query, limit=limit)) <= theirs
    assert set(world.ids("recall", query=query, limit=limit)) <= theirs | related


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
    if is_shown(caller, population.memories[id]):
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
    if not is_shown(caller, population.entities[id]):
        assert answer.text == f"Entity not found: {id}"
        return
    assert answer.content is not None
    for each in answer.content["entities"]:
        assert is_shown(caller, population.entities[each["id"]])
    for each in answer.content["relations"]:
        for end in (each["from_entity"], each["to_entity"]):
            assert is_shown(caller, population.entities[end])


@given(callers)
def test_the_status_counts_what_the_caller_may_hear(population: Population, caller: Caller) -> None:
    world = replace(population.world, caller=caller)
    answer = world.call("get_status")
    assert answer["memories_count"] == len(heard(population, caller))
    entities = [each for each in population.entities.values() if is_shown(caller, each)]
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


def catalogued(population: Population, caller: Caller) -> World:
    return replace(population.world, caller=caller, contract=CATALOG)


def shown(told: list[dict[str, object]]) -> set[str]:
    """The ids of the memories that an answer of the catalog shows."""
    return {id_of(str(each["id"])) or "" for each in told}


CATALOG: Contract = catalog()
FILTERS: dict[str, list[str]] = {
    "organization": [ACME, OTHER, UNKNOWN, SYSTEM_ORGANIZATION],
    "repository": [ONE, TWO, UNKNOWN],
    "scope_type": [*ScopeLevel],
    "memory_type": ["fact", "risk"],
    "status": ["active", "deprecated", "draft"],
}
narrowings = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from(values) for name, values in FILTERS.items()}
)


@given(callers, st.none() | queries, narrowings)
@settings(max_examples=examples(60))
def test_no_search_of_the_catalog_finds_what_the_caller_may_not_hear(
    population: Population, caller: Caller, query: str | None, narrowing: dict[str, str]
) -> None:
    world, theirs = catalogued(population, caller), heard(population, caller)
    asked = {"filters": narrowing} if query is None else {"query": query, "filters": narrowing}
    found = shown(world.told("memory-search", **asked))
    assert found <= set(theirs)
    if query is None and not narrowing:
        assert found == set(theirs)
    if "repository" in narrowing:
        owners = {theirs[id].repository for id in found}
        assert owners <= {None, narrowing["repository"]}


@given(callers, queries, narrowings, st.none() | st.sampled_from([ONE, TWO]))
def test_no_vector_search_finds_what_the_caller_may_not_hear(
    population: Population,
    caller: Caller,
    query: str,
    narrowing: dict[str, str],
    repository: str | None,
) -> None:
    world = catalogued(population, caller)
    if narrowing.get("repository", repository) != repository:
        del narrowing["repository"]
    asked = {"query": query, "filters": narrowing, "threshold": -1, "repository": repository}
    found = shown(world.told("memory-vector-search", **asked))
    assert found <= set(heard(population, caller))


@given(callers, st.sampled_from(WORDS), st.integers(0, 3))
def test_the_index_and_the_completions_hold_the_callers_own(
    population: Population, caller: Caller, word: str, length: int
) -> None:
    world, theirs = catalogued(population, caller), heard(population, caller)
    answer = CATALOG.read(world.app, caller, "memory://index")
    index = json.loads(answer.text)
    assert shown(index) <= set(theirs)
    assert len(index) == min(50, len(theirs))
    listed = [str(each["uri"]) for each in CATALOG.listing(world.app, caller)]
    there = {id_of(uri.removeprefix("memory://")) for uri in listed}
    assert there - {None} == shown(index)
    typed = word[:length]
    completed = CATALOG.complete(world.app, caller, "memory://{id}", "id", typed)
    expected = {
        id for id, each in theirs.items() if (each.title or "-").lower().startswith(typed.lower())
    }
    assert {id_of(each) for each in completed} == expected - {
        id for id in expected if theirs[id].title is None
    }


@given(callers, st.data())
def test_a_memory_its_history_and_its_links_are_shown_to_whom_they_concern(
    population: Population, caller: Caller, data: st.DataObject
) -> None:
    world, theirs = catalogued(population, caller), heard(population, caller)
    memory = population.memories[data.draw(st.sampled_from(sorted(population.memories)))]
    whole = CATALOG.read(world.app, caller, f"memory://{memory.uuid}")
    history = CATALOG.read(world.app, caller, f"memory://{memory.uuid}/history")
    if memory.id not in theirs:
        assert whole.error is not None
        assert history.error is not None
        assert whole.error.code == history.error.code == 404
        assert memory.content not in whole.text + history.text
        return
    told = json.loads(whole.text)
    assert told["current_content"] == memory.content
    assert shown(told["links"]) <= set(theirs)
    (version,) = json.loads(history.text)["versions"]
    assert version["current_content"] == memory.content


@given(callers)
@settings(max_examples=examples(40))
def test_no_write_of_the_catalog_touches_what_the_caller_may_not_hear(
    population: Population, caller: Caller
) -> None:
    caller = replace(caller, role=Role.ADMIN)
    world, theirs = catalogued(population, caller), heard(population, caller)
    known = [m for m in population.memories.values() if m.deleted_at is None]
    hidden = [m for m in known if m.id not in theirs][:4]
    before = world.kept()
    own = next(iter(theirs.values()), None)
    for memory in hidden:
        id = memory.uuid
        whole = {
            "id": id,
            "organization": memory.organization,
            "scope_type": "organization",
            "memory_type": "fact",
            "current_content": "taken",
        }
        new = {key: value for key, value in whole.items() if key != "id"}
        for tool, said in (
            ("memory-write", whole),
            ("memory-batch-write", {"items": [new, whole]}),
        ):
            answer = world.contract.call(world.app, world.caller, tool, said)
            if answer.error is not None:
                assert answer.error.code in {-32602, -32003}
                continue
            # The id behaves as an unknown one: what is written is a memory of the caller's own.
            written = json.loads(answer.text)
            for made in written if isinstance(written, list) else [written]:
                own_id = world.app.memories.resolved_id(world.caller, id_of(made["id"]) or "")
                assert own_id != memory.id
                assert world.app.memories.delete(world.caller, own_id)
        assert world.failure("memory-update", id=id, title="taken").code == 404
        assert world.failure("memory-delete", id=id).code == 404
        if own is not None:
            for ends in ((own.uuid, id), (id, own.uuid)):
                told = dict(zip(("source_id", "target_id"), ends, strict=True))
                assert world.failure("memory-link", **told).code == 404
    assert world.kept() == before


contexts = st.tuples(st.sampled_from([ACME, OTHER, UNKNOWN]), st.sampled_from([ONE, TWO, UNKNOWN]))


def client_of(
    population: Population, caller: Caller, context: tuple[str, str]
) -> tuple[Client, dict[str, Memory] | None]:
    """A governance client, and what it may hear: None if it may not be where it says it is."""
    organization, repository = context
    client = Client(
        replace(population.world, caller=caller),
        agent=caller.name if caller.name != "agent" else "claude",
        organization=organization,
        repository=repository,
    )
    if caller.organization not in (None, organization) or (
        caller.repositories is not None and repository not in caller.repositories
    ):
        return client, None
    asking = replace(caller, organization=organization, repositories=frozenset({repository}))
    return client, heard(population, asking)


@requirement("governance/memory-search/scopes")
@given(callers, contexts, queries, st.integers(1, 10))
@settings(max_examples=examples(60))
def test_governance_finds_what_the_context_and_the_start_up_identity_both_open(
    population: Population, caller: Caller, context: tuple[str, str], query: str, limit: int
) -> None:
    client, theirs = client_of(population, caller, context)
    if theirs is None:
        error = client.refused("memory-search", query=query, limit=limit)
        assert error["code"] == "SCOPE_VIOLATION"
        return
    answer = client.call("memory-search", query=query, limit=limit)
    found = {id_of(each["memory_id"]) for each in answer["memories"]}
    assert found <= {id for id, each in theirs.items() if holds(each, client.world)}
    assert answer["count"] == len(answer["memories"]) <= limit


@given(callers, contexts, st.data())
def test_governance_shows_and_changes_one_memory_only_to_whom_it_concerns(
    population: Population, caller: Caller, context: tuple[str, str], data: st.DataObject
) -> None:
    client, theirs = client_of(population, replace(caller, role=Role.ADMIN), context)
    memory = population.memories[data.draw(st.sampled_from(sorted(population.memories)))]
    if theirs is not None and memory.id in theirs:
        told = client.call("memory.read", memory_id=memory.uuid)
        assert (told["content"], told["scope_origin"]) == (memory.content, memory.scope)
        return
    before = client.world.kept()
    expected = "SCOPE_VIOLATION" if theirs is None else "MEMORY_NOT_FOUND"
    for tool, arguments in (
        ("memory.read", {}),
        ("memory-write", {"content": "taken", "type": "fact"}),
        ("memory.lock", {}),
        ("memory.deprecate", {"reason": "taken"}),
    ):
        error = client.refused(tool, memory_id=memory.uuid, **arguments)
        assert error["code"] == expected
        assert memory.content not in error["message"]
    assert client.world.kept() == before


def test_the_history_of_a_system_wide_memory_tells_one_organization_nothing_of_another(
    population: Population,
) -> None:
    memory = next(
        each
        for each in population.memories.values()
        if each.scope is ScopeLevel.SYSTEM
        and (each.repository, each.user, each.deleted_at) == (None, None, None)
    )
    spy = Client(population.world, agent="spy").by(organization=ACME)
    write = {"content": "a", "type": "fact"}
    assert spy.refused("memory-write", memory_id=memory.uuid, **write)["code"] == "SCOPE_VIOLATION"
    listing = catalogued(population, Caller(name="b", role=Role.AGENT, organization=OTHER))
    told = CATALOG.read(listing.app, listing.caller, f"memory://{memory.uuid}/history").text
    assert '"spy"' not in told
    assert spy.entries()[-1].subject == memory.id
