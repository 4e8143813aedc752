from dataclasses import replace

from minutebook.features.ledger.decisions import DecisionActs
from minutebook.memory.search.recall import WEIGHTS, Recalled, Recollection
from minutebook.record.caller import Call
from minutebook.record.records import Decision
from minutebook.record.sources import Source
from tests.features.ledger.decided import AGENT, PERSON, draft
from tests.world import Opener, World, failed

BOTH = (Source.MEMORY, Source.DECISION)


def recall(world: World, query: str, limit: int = 10) -> Recollection:
    return world.app.recall.recall(AGENT, query, limit, WEIGHTS, sources=BOTH)


def decisions(found: Recollection) -> list[Recalled]:
    return [each for each in found.hits if isinstance(each.record, Decision)]


def ranked(found: Recollection) -> list[str]:
    """The ids of memories and decisions, best first."""
    return [each.record.id for each in found.hits]


def test_decisions_and_memories_stand_in_one_ranking(world: World) -> None:
    near = world.remember("the harbour cranes unload copper at night")
    world.remember("Ana likes tea")
    made = world.app.get(DecisionActs).record(
        AGENT, draft("wire", "copper cranes", rationale="copper cranes unload the harbour")
    )
    found = recall(world, "copper cranes unload")
    assert set(ranked(found)[:2]) == {near, made.id}
    assert [each.record for each in decisions(found)] == [made]


def test_the_limit_is_for_both_together(world: World) -> None:
    for number in range(3):
        world.remember(f"copper {number}")
        world.app.get(DecisionActs).record(
            AGENT, draft(f"wire {number}", "copper", rationale="copper wire")
        )
    for limit in (1, 3, 5):
        found = recall(world, "copper", limit)
        assert len(found.hits) == limit
    everything = ranked(recall(world, "copper", 6))
    assert ranked(recall(world, "copper", 4)) == everything[:4]


def test_only_what_holds_is_told_and_old_words_lead_to_it(world: World) -> None:
    old = world.app.get(DecisionActs).record(PERSON, draft(title="ducks geese swans"))
    new = world.app.get(DecisionActs).supersede(PERSON, [old.id], draft(title="lorries and trams"))
    [found] = decisions(recall(world, "ducks geese swans"))
    assert (found.record, found.followed) == (new, (old.id,))


def test_who_does_not_ask_for_decisions_gets_none(world: World) -> None:
    world.remember("copper")
    world.app.get(DecisionActs).record(AGENT, draft("wire", "copper"))
    found = world.app.recall.recall(AGENT, "copper", 10, WEIGHTS)
    assert (len(found.hits), decisions(found)) == (1, [])


def test_without_a_model_words_rank_both(opener: Opener) -> None:
    world = opener(failed())
    made = world.app.get(DecisionActs).record(AGENT, draft("wire", "copper"))
    id = world.remember("copper pipes")
    assert set(ranked(recall(world, "copper"))) == {made.id, id}


def test_a_decision_that_has_no_vectors_yet_is_spoken_of(opener: Opener) -> None:
    opener(failed(), name="same").app.get(DecisionActs).record(AGENT, draft("wire", "copper"))
    world = opener(name="same")
    world.remember("copper pipes")
    call = Call()
    asks = replace(AGENT, call=call)
    world.app.recall.recall(asks, "copper", 10, WEIGHTS, sources=BOTH)
    assert call.notes["meaning"].facts == {"state": "ready", "pending": 1}
    world.app.recall.recall(replace(AGENT, call=(alone := Call())), "copper", 10, WEIGHTS)
    assert "meaning" not in alone.notes
