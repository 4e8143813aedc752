"""Two organizations may hold one id: whoever sees both finds both, each with its own score."""

import threading
from dataclasses import replace

import pytest

from minutebook.features.code.search import CodeSearch
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.search import DecisionMode, DecisionSearch
from minutebook.memory.search.recall import WEIGHTS
from minutebook.memory.search.signals import Asked
from minutebook.record.caller import Caller
from minutebook.record.filters import MemoryQuery
from minutebook.record.records import CodeChunk, MemoryType, Role, ScopeLevel
from minutebook.record.writing.drafts import Draft
from minutebook.text.words import parse_query
from tests.features.ledger.decided import draft
from tests.world import World

ID = "0123456789abcdefghij"
BETTER, WORSE = "copper cranes unload the harbour", "the harbour cranes sleep"
QUERY = "copper cranes harbour"
ORGANIZATIONS = ("acme", "zoo")
ANYONE = Caller(name="root", role=Role.ADMIN)


@pytest.fixture(params=[ORGANIZATIONS, ORGANIZATIONS[::-1]])
def twins(request: pytest.FixtureRequest, world: World) -> World:
    """A world in which one organization knows better than the other, under one id."""
    for organization, text in zip(request.param, (BETTER, WORSE), strict=True):
        caller = replace(ANYONE, organization=organization)
        told = Draft(content=text, type=MemoryType.FACT, id=ID, scope=ScopeLevel.ORGANIZATION)
        world.app.memories.store(caller, told)
        world.app.memories.store(caller, Draft(content="Ana likes tea", type=MemoryType.FACT))
        world.store.put(
            CodeChunk(
                organization=organization,
                id=ID,
                project="p",
                path="a.py",
                language="python",
                type="function",
                name=organization,
                signature="",
                start_line=1,
                end_line=1,
                content=text,
            )
        )
        world.app.sessions.add(caller, organization, text, "", "Done.")
    world.app.embeddings.backfill(threading.Event())
    return world


def test_memories(twins: World) -> None:
    app = twins.app
    everywhere, vector = MemoryQuery(), app.embeddings.require_query(QUERY).vector.tolist()
    for memories in (
        app.recall.recall(ANYONE, QUERY, 10, WEIGHTS).memories,
        [each.memory for each in app.recall.by_meaning(ANYONE, QUERY, 10)],
        [each.memory for each in app.recall.by_words(ANYONE, QUERY, 10)],
        [each.memory for each in app.filtered_search.rank_all(ANYONE, QUERY, everywhere)],
        [each.memory for each in app.filtered_search.governed(ANYONE, QUERY, None, 10)],
        [each.memory for each in app.filtered_search.by_vector(ANYONE, vector, everywhere, -1.0)],
    ):
        assert [each.content for each in memories if each.id == ID] == [BETTER, WORSE]


def test_recall_through_the_contract(twins: World) -> None:
    results = twins.call("recall", query=QUERY, include_code=True)["results"]
    for source in ("memory", "code"):
        found = [each for each in results if (each["id"], each["source"]) == (ID, source)]
        assert [each["content"] for each in found] == [BETTER, WORSE]
        assert found[0]["score"] > found[1]["score"]


def test_code(twins: World) -> None:
    found = twins.app.get(CodeSearch).search(ANYONE, QUERY, 10)
    assert [each.chunk.content for each in found] == [BETTER, WORSE]


def test_turns(twins: World) -> None:
    turns = [each.record for each in twins.app.journal_search.turns(ANYONE, QUERY, 10)]
    assert len({each.id for each in turns}) == 1
    assert [each.prompt for each in turns] == [BETTER, WORSE]


def test_decisions(world: World) -> None:
    app = world.app
    made = app.get(DecisionActs).record(replace(ANYONE, organization="acme"), draft(BETTER))
    app.infrastructure.store.put(replace(made, organization="zoo", target=WORSE))
    found = app.get(DecisionSearch).search(ANYONE, QUERY, DecisionMode.BALANCED, 10)
    assert [each.record.target for each in found] == [BETTER, WORSE]
    truths = app.get(DecisionSearch).candidates(
        ANYONE, Asked(QUERY, parse_query(QUERY), None), None
    )
    assert set(truths.records) == {("acme", made.id), ("zoo", made.id)}
