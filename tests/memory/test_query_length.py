"""However a query comes, one that is too long is refused before any work is done on it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from minutebook.features.code.search import CodeSearch
from minutebook.features.ledger.search import DecisionMode, DecisionSearch
from minutebook.record.caller import with_call
from minutebook.record.errors import InvalidInput
from minutebook.record.filters import Filter, MemoryQuery
from minutebook.record.records import Turn
from minutebook.text.fusion import Signal
from minutebook.text.words import MAX_QUERY, MAX_TEXT, parse_query
from tests.serve.contracts.wrong import OPENED
from tests.world import World, worlds

Search = Callable[[World, str], Any]

SEARCHES: dict[str, Search] = {
    "by meaning": lambda w, q: w.app.recall.by_meaning(w.caller, q, 5),
    "by words": lambda w, q: w.app.recall.by_words(w.caller, q, 5),
    "recall": lambda w, q: w.app.recall.recall(w.caller, q, 5, {Signal.LEXICAL: 1.0}),
    "every match": lambda w, q: list(w.app.filtered_search.rank_all(w.caller, q, MemoryQuery())),
    "by threshold": lambda w, q: w.app.filtered_search.by_vector(w.caller, q, MemoryQuery(), 0.5),
    "governed": lambda w, q: w.app.filtered_search.governed(w.caller, q, None, 5),
    "code": lambda w, q: w.app.get(CodeSearch).search(w.caller, q, 5),
    "decisions": lambda w, q: w.app.get(DecisionSearch).search(w.caller, q, DecisionMode.AUDIT, 5),
    "turns": lambda w, q: w.app.journal_search.turns(w.caller, q, 5),
    "summaries": lambda w, q: w.app.journal_search.summaries(w.caller, q, 5),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with worlds(tmp_path_factory.mktemp("long")) as open_one:
        yield open_one()


@pytest.mark.parametrize("name", SEARCHES)
def test_a_query_that_is_too_long_is_refused_by_every_search(world: World, name: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        SEARCHES[name](world, "a " * (MAX_QUERY // 2) + "b")
    assert refusal.value.argument == "query"
    assert refusal.value.remedy == "must have at most 10,000 characters (it has 10,001)"
    SEARCHES[name](world, "a " * (MAX_QUERY // 2))


def test_each_contract_says_the_same_of_each_query() -> None:
    stated = {
        (contract.name, tool.name): tool.promise["enforce"]["query"]["maxLength"]
        for contract in OPENED.values()
        for tool in contract.tools.values()
        if "query" in tool.promise["inputSchema"]["properties"]
    }
    assert {contract for contract, _ in stated} == set(OPENED)
    assert set(stated.values()) == {MAX_QUERY}


def test_what_follows_the_longest_text_is_kept_and_not_found(world: World) -> None:
    long = "beginning " + "x" * (MAX_TEXT - 10) + " ending"
    caller = with_call(world.caller, session="session_long")
    turn = world.app.sessions.add(caller, None, long, "", "")
    assert turn.prompt == long
    where = Filter(organization=turn.organization)
    match = world.store.match
    assert [each.id for each in match(Turn, where, parse_query("beginning"), 5)] == [turn.id]
    assert not match(Turn, where, parse_query("ending"), 5)
