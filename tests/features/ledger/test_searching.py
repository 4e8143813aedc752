import json
from dataclasses import replace
from pathlib import Path

import pytest

from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.proposals import Proposals
from minutebook.features.ledger.search import DecisionHit, DecisionMode, DecisionSearch
from minutebook.model import Embedding
from minutebook.record.caller import with_call
from minutebook.record.records import Decision, DecisionStatus
from minutebook.record.writing.decision_drafts import DecisionDraft
from minutebook.text.fusion import Signal
from tests.features.ledger.decided import AGENT, PERSON, committed, draft, written
from tests.serve.contracts.requirements import requirement
from tests.world import Opener, World, failed

KEPT = "ducks geese swans"
NEW = "lorries trams trains"

QUESTIONS = Path(__file__).parents[3] / "benchmarks" / "decision_questions.jsonl"
"""Decisions, paraphrases of what each answers, and questions that none answers."""


def search(
    world: World, query: str, mode: DecisionMode = DecisionMode.BALANCED
) -> list[DecisionHit]:
    return world.app.get(DecisionSearch).search(AGENT, query, mode, 20)


@pytest.fixture
def chain(world: World) -> list[Decision]:
    """Three decisions on one target, each in the place of the one before."""
    made = [
        world.app.get(DecisionActs).record(AGENT, draft(title=KEPT, rationale=f"{KEPT} for ever"))
    ]
    for title in ("apples pears plums", NEW):
        world.clock.turn()
        made.append(
            world.app.get(DecisionActs).supersede(
                AGENT,
                [made[-1].id],
                draft(title=title, rationale=f"{title} from now on", consequences=()),
            )
        )
    world.app.get(DecisionActs).record(
        AGENT, draft("wire", title="copper", rationale="copper is cheap")
    )
    return made


@requirement("ledger/search/graph-decides")
@pytest.mark.parametrize("mode", [DecisionMode.STRICT, DecisionMode.BALANCED])
def test_whoever_asks_in_old_words_gets_what_holds_now(
    world: World, chain: list[Decision], mode: DecisionMode
) -> None:
    first, middle, last = chain
    found = search(world, KEPT, mode)[0]
    assert found.record == world.app.get(DecisionActs).read(AGENT, last.id)
    assert found.followed == (first.id, middle.id)
    assert found.score > 1.0


def test_the_truth_needs_no_way_where_it_matched_itself(
    world: World, chain: list[Decision]
) -> None:
    found = search(world, NEW)[0]
    assert (found.record.id, found.followed) == (chain[-1].id, ())


def test_where_perhaps_no_decision_is_about_the_question_it_says_so(
    world: World, chain: list[Decision]
) -> None:
    for query, is_told in (("zebra", True), (NEW, False), ("copper", False)):
        caller = with_call(AGENT, notes={})
        found = world.app.get(DecisionSearch).search(caller, query, DecisionMode.BALANCED, 20)
        assert found
        assert ("relevance" in caller.call.notes) is is_told


@pytest.mark.slow
def test_paraphrases_find_decisions_and_strangers_are_told(
    opener: Opener, built_in: Embedding
) -> None:
    world = opener(built_in, wait=60.0)
    lines = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    made = {
        world.app.get(DecisionActs).record(AGENT, DecisionDraft(**line["decision"])).id: line[
            "questions"
        ]
        for line in lines
        if "decision" in line
    }

    def asked(query: str) -> tuple[str, bool]:
        caller = with_call(AGENT, notes={})
        best = world.app.get(DecisionSearch).search(caller, query, DecisionMode.BALANCED, 1)
        return "".join(each.record.id for each in best), "relevance" in caller.call.notes

    answers = [(id, *asked(query)) for id, queries in made.items() for query in queries]
    assert sum(id == best for id, best, _ in answers) >= 23
    assert sum(is_told for _, _, is_told in answers) <= 7
    assert sum(asked(query)[1] for query in lines[-1]["strangers"]) >= 6


def test_strict_shows_nothing_that_is_not_active(world: World, chain: list[Decision]) -> None:
    for query in (KEPT, "apples", NEW, "copper"):
        for found in search(world, query, DecisionMode.STRICT):
            assert found.record.status is DecisionStatus.ACTIVE


@requirement("ledger/search/superseded")
def test_balanced_shows_one_a_target_and_audit_shows_all_as_they_are(
    world: World, chain: list[Decision]
) -> None:
    balanced = [each.record.target for each in search(world, KEPT)]
    assert sorted(balanced) == ["store", "wire"]
    audited = search(world, KEPT, DecisionMode.AUDIT)
    assert {each.record.id for each in audited} >= {each.id for each in chain}
    by_id = {each.record.id: each for each in audited}
    assert by_id[chain[0].id].record.status is DecisionStatus.SUPERSEDED
    assert by_id[chain[0].id].score == pytest.approx(0.1 * by_id[chain[0].id].hit.score)
    assert by_id[chain[-1].id].score == pytest.approx(1.0 + by_id[chain[-1].id].hit.score)
    assert [each.score for each in audited] == sorted((e.score for e in audited), reverse=True)


def test_what_was_withdrawn_shows_in_balanced_after_all_that_holds(opener: Opener) -> None:
    world = opener(ledger_trust="everyone")
    world.app.get(DecisionActs).record(
        AGENT, draft("wire", title="copper", rationale="copper is cheap")
    )
    committed(world.app, written(1, title=KEPT, status=DecisionStatus.WITHDRAWN))
    assert [each.record.target for each in search(world, KEPT)] == ["wire", "store"]
    assert [each.record.target for each in search(world, KEPT, DecisionMode.STRICT)] == ["wire"]


def test_proposals_show_in_audit_only(world: World) -> None:
    made = world.app.get(Proposals).propose(AGENT, draft(title=KEPT))
    assert search(world, KEPT) == []
    assert [each.record for each in search(world, KEPT, DecisionMode.AUDIT)] == [made]


@requirement("ledger/search/candidates")
def test_both_signals_find_and_tell_their_parts(world: World, chain: list[Decision]) -> None:
    hit = search(world, "copper")[0].hit
    assert {each.signal for each in hit.shares} == {Signal.VECTOR, Signal.LEXICAL}
    assert sum(each.share for each in hit.shares) == pytest.approx(1.0)


def test_without_a_model_words_find_the_truth_too(opener: Opener) -> None:
    world = opener(failed())
    old = world.app.get(DecisionActs).record(AGENT, draft(title=KEPT))
    new = world.app.get(DecisionActs).supersede(AGENT, [old.id], draft(title=NEW))
    found = search(world, "geese", DecisionMode.STRICT)[0]
    assert (found.record.id, found.followed) == (new.id, (old.id,))


@pytest.mark.thorough
def test_a_long_past_does_not_crowd_out_what_holds_elsewhere(world: World) -> None:
    one = world.app.get(DecisionActs).record(AGENT, draft(title=KEPT))
    for _ in range(60):
        one = world.app.get(DecisionActs).supersede(AGENT, [one.id], draft(title=KEPT))
    other = world.app.get(DecisionActs).record(
        AGENT, draft("wire", title="ducks and other things", rationale="nothing to add here")
    )
    found = {each.record.id for each in search(world, KEPT, DecisionMode.STRICT)}
    assert found == {one.id, other.id}


def test_nobody_finds_what_concerns_others(world: World) -> None:
    ana, ben = (replace(PERSON, organization="default", user=name) for name in ("ana", "ben"))
    old = world.app.get(DecisionActs).record(ana, draft(title=KEPT))
    world.app.get(DecisionActs).supersede(ana, [old.id], draft(title=NEW))
    for mode in DecisionMode:
        assert world.app.get(DecisionSearch).search(ben, KEPT, mode, 20) == []
        assert world.app.get(DecisionSearch).search(ana, KEPT, mode, 20) != []


def test_what_is_decided_has_vectors_of_its_own(world: World, chain: list[Decision]) -> None:
    where = [world.store.vectors(Decision, "default", each.id) for each in chain]
    assert all(each is not None for each in where)
