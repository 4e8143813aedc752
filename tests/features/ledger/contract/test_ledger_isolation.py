"""Decisions of every scope, random callers: nobody hears or touches what is not theirs."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.proposals import Proposals
from minutebook.record.caller import Caller
from minutebook.record.records import Decision, Proposal, Role
from tests.examples import examples
from tests.features.governance.contract.governed import ACME, ONE, OTHER, TWO, UNKNOWN
from tests.features.ledger.contract.ledgered import CONTRACT, SECRET, WHY, WINDOW, Client
from tests.serve.contracts.requirements import requirement
from tests.world import everything, hears, worlds

ORGANIZATIONS = (ACME, OTHER)
REPOSITORIES = (None, ONE, TWO)
USERS = (None, "ana", "ben")
WORDS = ("tea", "cat", "boiler")

callers = st.builds(
    Caller,
    name=st.sampled_from(["agent", "other"]),
    role=st.sampled_from(Role),
    organization=st.sampled_from([None, ACME, OTHER, UNKNOWN]),
    repositories=st.none() | st.frozensets(st.sampled_from([ONE, TWO, UNKNOWN])),
    user=st.sampled_from([None, "ana", "ben", "cleo"]),
)


@dataclass(frozen=True, repr=False)
class Population:
    """A client of any scope, and everything that was decided and proposed."""

    client: Client
    records: dict[str, Decision | Proposal]

    def of(self, caller: Caller) -> Client:
        return Client(replace(self.client.world, caller=caller))


def settle(client: Client, chance: Random) -> Population:
    """Decide on the same targets in every scope; replace some, propose some."""
    for organization in ORGANIZATIONS:
        for repository in REPOSITORIES:
            for user in USERS:
                held = None if repository is None else frozenset({repository})
                teller = client.by(organization=organization, repositories=held, user=user)
                for target in chance.sample(WORDS, 2):
                    id = teller.record(target, " ".join(chance.choices(WORDS, k=3)))
                    if chance.random() < 0.4:
                        teller.supersede(target, id, title=" ".join(chance.choices(WORDS, k=3)))
                    if chance.random() < 0.4:
                        teller.propose(target, " ".join(chance.choices(WORDS, k=3)))
    client.world.clock.turn(WINDOW)
    store = client.world.store
    records: dict[str, Decision | Proposal] = {}
    for organization in ORGANIZATIONS:
        for of in (Decision, Proposal):
            for each in store.find(of, everything(organization)):
                assert isinstance(each, Decision | Proposal)
                records[each.id] = each
    return Population(client, records)


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.slow)])
def population(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Population]:
    with worlds(tmp_path_factory.mktemp("isolation")) as open_one:
        world = open_one(role=Role.ADMIN, agent_memory_secret=SECRET)
        yield settle(Client(world), Random(request.param))


@requirement("policy/read")
@given(callers, st.sampled_from(WORDS), st.sampled_from(["strict", "balanced", "audit"]))
@settings(max_examples=examples(60))
def test_no_search_finds_what_the_caller_may_not_hear(
    population: Population, caller: Caller, word: str, mode: str
) -> None:
    found = population.of(caller).ids(word, mode)
    assert all(hears(caller, population.records[id]) for id in found)


@requirement("ledger/resources/scopes")
@given(callers, st.data())
def test_no_resource_shows_what_the_caller_may_not_hear(
    population: Population, caller: Caller, data: st.DataObject
) -> None:
    app, records = population.client.world.app, population.records

    def read(uri: str) -> Any:
        answer = CONTRACT.read(app, caller, uri)
        return None if answer.error is not None else json.loads(answer.text)

    theirs = {id for id, each in records.items() if hears(caller, each)}
    index = read("decision://index")
    active = {id for id in theirs if records[id].status == "active"}
    assert {each["id"] for each in index["decisions"]} == active
    id = data.draw(st.sampled_from(sorted(records)))
    whole, history = read(f"decision://{id}"), read(f"decision://{id}/history")
    assert (whole is not None) is (history is not None) is (id in theirs)
    if whole is not None:
        assert set(whole.get("holds_now", [])) <= theirs
        assert {each["id"] for each in history["decisions"]} <= theirs
    for each in (id, records[id].target):
        assert set(CONTRACT.complete(app, caller, "decision://{id}", "id", each)) <= theirs


@given(callers)
def test_truths_histories_and_proposals_are_the_callers_own(
    population: Population, caller: Caller
) -> None:
    app = population.client.world.app
    theirs = {id for id, each in population.records.items() if hears(caller, each)}
    decisions = {id for id in theirs if isinstance(population.records[id], Decision)}
    assert {each.id for each in app.get(DecisionActs).everything(caller)} == decisions
    active = {id for id in decisions if population.records[id].status == "active"}
    assert {each.id for each in app.get(DecisionActs).active_by_target(caller)} == active
    for target in WORDS:
        told = {each.id for each in app.get(DecisionActs).history(caller, target)}
        assert told == {id for id in decisions if population.records[id].target == target}
    assert {each.id for each in app.get(Proposals).pending(caller)} == theirs - decisions


@given(callers, st.data())
@settings(max_examples=examples(60))
def test_what_the_caller_may_not_hear_is_to_them_as_what_is_not_there(
    population: Population, caller: Caller, data: st.DataObject
) -> None:
    caller = replace(caller, role=Role.ADMIN)
    hidden = sorted(id for id, each in population.records.items() if not hears(caller, each))
    if not hidden:
        return
    client, before = population.of(caller), population.client.world.kept()
    id = data.draw(st.sampled_from(hidden))
    record = population.records[id]
    told = {"target": record.target, "title": "Taken", "rationale": WHY}
    if isinstance(record, Proposal):
        refusal = client.refused("accept_proposal", proposal_id=id)
    else:
        refusal = client.refused("supersede_decision", old_decision_ids=[id], **told)
        assert client.refused("propose_decision", supersedes=[id], **told) == refusal
    assert refusal == (-32000, f"there is no {record.kind} {id}", [id])
    assert population.client.world.kept() == before
