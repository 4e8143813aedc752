"""Turns and summaries of every scope, random callers: nobody hears or touches what is not theirs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.record.caller import Call, Caller
from minutebook.record.records import Role, Summary, Turn
from tests.examples import examples
from tests.features.governance.contract.governed import ACME, ONE, OTHER, TWO, UNKNOWN
from tests.features.journal.contract.journaled import Client
from tests.serve.contracts.requirements import requirement
from tests.world import everything, hears, worlds

ORGANIZATIONS = (ACME, OTHER)
SCOPES = tuple(product(ORGANIZATIONS, (None, ONE, TWO), (None, "ana", "ben")))
SESSIONS = ("session_1", "session_2")
WORDS = ("tea", "cat", "boiler")

callers = st.builds(
    Caller,
    name=st.sampled_from(["agent", "other"]),
    role=st.sampled_from(Role),
    organization=st.sampled_from([None, ACME, OTHER, UNKNOWN]),
    repositories=st.none() | st.frozensets(st.sampled_from([ONE, TWO, UNKNOWN])),
    user=st.sampled_from([None, "ana", "ben", "cleo"]),
    call=st.just(Call(session="session_3")),
)


@dataclass(frozen=True, repr=False)
class Population:
    """A client of any scope, and every turn and summary."""

    client: Client
    turns: list[Turn]
    summaries: list[Summary]

    def of(self, caller: Caller) -> Client:
        return Client(replace(self.client.world, caller=caller))


def settle(client: Client, chance: Random) -> Population:
    """Write sessions of the same names in every scope, and summarise them."""
    for organization, repository, user in SCOPES:
        held = None if repository is None else frozenset({repository})
        teller = client.by(organization=organization, repositories=held, user=user)
        for session in chance.choices(SESSIONS, k=3):
            teller.add(" ".join(chance.choices(WORDS, k=3)), session)
    client.call("summarize_sessions")
    store = client.world.store
    turns = [each for name in ORGANIZATIONS for each in store.find(Turn, everything(name))]
    summaries = [each for name in ORGANIZATIONS for each in store.find(Summary, everything(name))]
    return Population(
        client,
        [each for each in turns if isinstance(each, Turn)],
        [each for each in summaries if isinstance(each, Summary)],
    )


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.slow)])
def population(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Population]:
    with worlds(tmp_path_factory.mktemp("isolation")) as open_one:
        world = open_one(role=Role.ADMIN).by(session="session_3")
        made = settle(Client(world), Random(request.param))
        assert len(made.turns) == 3 * len(SCOPES)
        assert len(made.summaries) > len(SCOPES)
        yield made


@requirement("policy/read")
@given(callers, st.sampled_from(SESSIONS))
def test_a_session_is_read_as_far_as_it_concerns_the_caller(
    population: Population, caller: Caller, session: str
) -> None:
    page = population.of(caller).call("get_session_memories", sessionId=session, limit=1000)
    theirs = [
        each.id for each in population.turns if hears(caller, each) and each.session == session
    ]
    assert sorted(each["id"] for each in page["memories"]) == sorted(theirs)
    assert page["total"] == len(theirs)


@given(callers, st.sampled_from(WORDS), st.none() | st.sampled_from(SESSIONS))
@settings(max_examples=examples(40))
def test_no_query_finds_what_the_caller_may_not_hear(
    population: Population, caller: Caller, word: str, session: str | None
) -> None:
    client = population.of(caller)
    turns = client.call("query_raw_memories", query=word, nResults=100, sessionId=session)
    theirs = {each.id for each in population.turns if hears(caller, each)}
    assert {each["id"] for each in turns["results"]} <= theirs
    summaries = client.call("query_summaries", query=word, nResults=100)["results"]
    heard = [each for each in population.summaries if hears(caller, each)]
    assert len(summaries) <= len(heard)
    assert {each["summary"] for each in summaries} <= {each.summary for each in heard}


@given(callers)
def test_summaries_are_listed_and_counted_for_whom_they_concern(
    population: Population, caller: Caller
) -> None:
    client = population.of(caller)
    heard = [each for each in population.summaries if hears(caller, each)]
    page = client.call("get_all_summaries", limit=1000)
    assert page["total"] == page["count"] == len(heard)
    assert sorted(each["summary"] for each in page["summaries"]) == sorted(
        each.summary for each in heard
    )
    collections = client.call("healthcheck")["database"]["connection"]["collections"]
    turns = [each for each in population.turns if hears(caller, each)]
    assert collections["memories"]["count"] == len(turns)
    assert collections["summaries"]["count"] == len(heard)


@given(callers, st.sampled_from(SESSIONS))
@settings(max_examples=examples(30))
def test_a_summary_is_of_what_its_caller_may_hear_and_no_more(
    population: Population, caller: Caller, session: str
) -> None:
    client = population.of(replace(caller, role=Role.ADMIN))
    before = client.world.kept()
    theirs = [each for each in population.turns if hears(caller, each) and each.session == session]
    if not theirs:
        assert client.refused("summarize_sessions", sessionId=session)[0] == "Session not found"
        assert client.world.kept() == before
        return
    done = client.call("summarize_sessions", sessionId=session)
    assert sum(each["memoryCount"] for each in done["sessions"]) == len(theirs)
    changed = {key: each for key, each in client.world.kept().items() if before.get(key) != each}
    assert all(isinstance(each, Summary) and hears(caller, each) for each in changed.values())


@given(callers)
@settings(max_examples=examples(20))
def test_an_export_holds_what_concerns_the_caller(population: Population, caller: Caller) -> None:
    client = population.of(replace(caller, role=Role.ADMIN))
    done = client.call("export_database")
    heard = [each for each in population.turns if hears(caller, each)]
    assert done["counts"]["memories"] == len(heard)
    (file,) = done["files"]
    text = Path(file).read_text(encoding="utf-8")
    for each in population.turns:
        assert (f'"{each.id}"' in text) is hears(caller, each)
    Path(file).unlink()
