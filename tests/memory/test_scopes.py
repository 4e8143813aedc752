"""Whatever is asked of the services, by whomever: nothing comes that is not theirs to hear."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.app import App
from minutebook.memory.search.recall import WEIGHTS
from minutebook.record.caller import Caller
from minutebook.record.errors import MinutebookError, NotFound
from minutebook.record.filters import MemoryQuery
from minutebook.record.policy import narrowed_to
from minutebook.record.records import (
    SYSTEM_ORGANIZATION,
    Memory,
    MemoryType,
    Role,
    ScopeLevel,
    Status,
)
from minutebook.record.writing.drafts import Draft
from tests.examples import examples
from tests.world import World, hears, worlds

ORGANIZATIONS = ("acme", "other")
REPOSITORIES = (None, "one", "two")
USERS = ("ana", "ben")
WORDS = ("tea", "cat", "boiler", "harbour")
TYPES = (MemoryType.FACT, MemoryType.BUSINESS_RULE)


@dataclass(frozen=True)
class Population:
    """An app and every memory in it, as it is kept."""

    app: App
    memories: dict[str, Memory]


def drafts(chance: Random) -> Iterator[tuple[str, Draft]]:
    """Draw memories of every scope, some of two kinds at once, each with its organization."""

    def one(scope: ScopeLevel, repository: str | None, user: str | None) -> Draft:
        return Draft(
            content=" ".join(chance.choices(WORDS, k=3)),
            title=chance.choice([None, *WORDS]),
            type=chance.choice(TYPES),
            scope=scope,
            repository=repository,
            user=user,
            importance=float(chance.randrange(1, 4)),
        )

    for organization, repository in product(ORGANIZATIONS, REPOSITORIES):
        yield organization, one(ScopeLevel.ORGANIZATION, repository, None)
        if repository is not None:
            yield organization, one(ScopeLevel.REPOSITORY, repository, None)
        for user in USERS:
            yield organization, one(ScopeLevel.USER, repository, user)
    for repository in REPOSITORIES:
        yield "acme", one(ScopeLevel.SYSTEM, repository, None)


def settle(world: World, chance: Random) -> Population:
    """Keep memories of all scopes; end, hide, lock, change and link some, whosever they are."""
    app, anyone = world.app, replace(world.caller, role=Role.ADMIN, writes_system=True)
    ids: list[str] = []
    for organization, draft in drafts(chance):
        world.clock.turn()
        ids.append(app.memories.store(narrowed_to(anyone, organization=organization), draft).id)
    acts: tuple[Callable[[str, str], object], ...] = (
        lambda one, _: app.memories.remove(anyone, one),
        lambda one, _: app.status.deprecate(anyone, one, "old"),
        lambda one, _: app.status.lock(anyone, one),
        lambda one, _: app.status.verify(anyone, one),
        lambda one, _: app.memories.update(anyone, one, {"content": "tea and more"}),
        lambda one, other: app.memories.invalidate(anyone, one, None, other),
        lambda one, other: app.links.link(anyone, one, other),
        lambda one, other: app.links.link(anyone, one, other, "needs"),
    )
    for _ in range(60):
        world.clock.turn()
        try:
            chance.choice(acts)(*chance.sample(ids, 2))
        except MinutebookError:
            continue
    return Population(app, {id: app.memories.read_any(anyone, id) for id in ids})


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.slow)])
def population(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Population]:
    with worlds(tmp_path_factory.mktemp("scopes")) as open_one:
        yield settle(open_one(), Random(request.param))


callers = st.builds(
    Caller,
    name=st.just("someone"),
    role=st.sampled_from(Role),
    organization=st.sampled_from([None, "acme", "other", "unknown"]),
    repositories=st.none() | st.frozensets(st.sampled_from(["one", "two", "three"])),
    user=st.sampled_from([None, "ana", "ben", "cleo"]),
    writes_system=st.booleans(),
    sets_status=st.booleans(),
    governed=st.booleans(),
)
queries = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
narrowings = st.builds(
    MemoryQuery,
    organization=st.sampled_from([None, None, "acme", "other", SYSTEM_ORGANIZATION]),
    repository=st.sampled_from([None, None, "one", "two"]),
    scope=st.none() | st.sampled_from(ScopeLevel),
    type=st.none() | st.sampled_from(TYPES),
    status=st.none() | st.sampled_from(Status),
)


def fits(narrowing: MemoryQuery, memory: Memory) -> bool:
    pairs = (
        (narrowing.scope, memory.scope),
        (narrowing.type, memory.type),
        (narrowing.status, memory.status),
    )
    return all(asked in (None, there) for asked, there in pairs)


@given(callers, queries, narrowings)
@settings(max_examples=examples(60))
def test_searches_give_what_the_caller_may_hear_and_asked_for(
    population: Population, caller: Caller, query: str, narrowing: MemoryQuery
) -> None:
    app = population.app
    vector = app.embeddings.require_query(query).vector.tolist()
    found = [
        *(each.memory for each in app.filtered_search.rank_all(caller, query, narrowing)),
        *(each.memory for each in app.filtered_search.by_vector(caller, vector, narrowing, -1.0)),
    ]
    for memory in found:
        assert hears(caller, memory)
        assert fits(narrowing, memory)
        assert narrowing.organization in (None, memory.organization) or (
            memory.organization == SYSTEM_ORGANIZATION
        )
        assert narrowing.repository is None or memory.repository in (None, narrowing.repository)
        assert memory.deleted_at is None


@given(callers, narrowings)
@settings(max_examples=examples(60))
def test_without_a_question_comes_all_of_it_and_no_more(
    population: Population, caller: Caller, narrowing: MemoryQuery
) -> None:
    narrowing = replace(narrowing, organization=None, repository=None)
    found = [
        each.memory.id for each in population.app.filtered_search.rank_all(caller, None, narrowing)
    ]
    assert sorted(found) == sorted(
        id
        for id, memory in population.memories.items()
        if hears(caller, memory) and fits(narrowing, memory) and memory.deleted_at is None
    )


@given(callers, queries)
@settings(max_examples=examples(60))
def test_recalling_and_governed_searching_give_what_the_caller_may_hear_and_holds(
    population: Population, caller: Caller, query: str
) -> None:
    app = population.app
    found = [
        *(each.memory for each in app.filtered_search.governed(caller, query, None, 10)),
        *app.recall.recall(caller, query, 10, WEIGHTS).memories,
        *(each.memory for each in app.recall.by_meaning(caller, query, 10)),
        *(each.memory for each in app.recall.by_words(caller, query, 10)),
    ]
    for memory in found:
        assert hears(caller, memory)
        assert memory.deleted_at is None
        assert memory.valid_until is None
        assert memory.status not in (Status.DEPRECATED, Status.SUPERSEDED)


@given(callers, st.sampled_from(WORDS))
def test_looking_around_shows_what_the_caller_may_hear(
    population: Population, caller: Caller, start: str
) -> None:
    app = population.app
    for memory in (
        *app.browsing.latest(caller, 50),
        *app.browsing.titled(caller, start[:2], 50),
        *app.memories.page(caller, 100, 0).memories,
        *app.memories.valid_at(caller, None, None, 100),
    ):
        assert hears(caller, memory)
        for link in app.browsing.links(caller, memory):
            assert hears(caller, link.memory)
        for edge in app.memories.history(caller, memory).edges:
            assert all(
                hears(caller, population.memories[end]) for end in (edge.source, edge.target)
            )


@given(callers, st.data())
def test_one_memory_is_read_with_its_versions_or_is_not_there(
    population: Population, caller: Caller, data: st.DataObject
) -> None:
    id = data.draw(st.sampled_from(sorted(population.memories)))
    memories, kept = population.app.memories, population.memories[id]
    if hears(caller, kept):
        assert memories.read_any(caller, id) == kept
        assert memories.version(caller, id, 1).memory == id
        return
    for read in (memories.read, memories.read_any):
        with pytest.raises(NotFound):
            read(caller, id)
    with pytest.raises(NotFound):
        memories.version(caller, id, 1)


@given(callers, st.data())
def test_nothing_is_done_to_what_the_caller_may_not_hear(
    population: Population, caller: Caller, data: st.DataObject
) -> None:
    app, memories = population.app, population.memories
    hidden = [id for id, memory in memories.items() if not hears(caller, memory)]
    heard = [id for id, memory in memories.items() if hears(caller, memory)]
    if not hidden or not heard:
        return
    id, other = data.draw(st.sampled_from(hidden)), data.draw(st.sampled_from(heard))
    before = [
        app.infrastructure.store.sequence(name) for name in app.infrastructure.store.organizations()
    ]
    acts: tuple[Callable[[], object], ...] = (
        lambda: app.memories.update(caller, id, {"content": "x"}),
        lambda: app.memories.remove(caller, id),
        lambda: app.memories.restore(caller, id, 1),
        lambda: app.memories.invalidate(caller, id, None, None),
        lambda: app.status.unlock(caller, id),
        lambda: app.status.verify(caller, id),
        lambda: app.status.deprecate(caller, id, "r"),
        lambda: app.links.link(caller, id, other),
    )
    for act in acts:
        with pytest.raises(NotFound):
            act()
    assert not app.memories.delete(caller, id)
    assert [
        app.infrastructure.store.sequence(name) for name in app.infrastructure.store.organizations()
    ] == before
    assert app.memories.read_any(Caller(name="all", role=Role.ADMIN), id) == memories[id]
