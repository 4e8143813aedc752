"""One answer from memories, decisions and sessions, as passages within a budget."""

from dataclasses import replace

import pytest

from minutebook.features.ledger.decisions import DecisionActs
from minutebook.memory.search.combined import Ranking
from minutebook.memory.search.recall import WEIGHTS, Selection
from minutebook.model.service import Embedding
from minutebook.record.caller import with_call
from minutebook.record.filters import MemoryQuery
from minutebook.record.origin import Origin
from minutebook.record.records import Kind, MemoryType
from minutebook.record.sources import TEXTS, Source
from minutebook.record.writing.drafts import Draft
from minutebook.text.passages import count_tokens
from tests.features.ledger.decided import AGENT, draft
from tests.world import Opener, World, failed


@pytest.fixture
def world(opener: Opener, built_in: Embedding) -> World:
    return opener(built_in, wait=60.0)


def recall(world: World, query: str, *sources: Source, limit: int = 10, tokens: int = 0) -> Ranking:
    return world.app.combined.recall(AGENT, query, limit, WEIGHTS, sources or TEXTS, tokens=tokens)


def sources(ranking: Ranking) -> set[str]:
    return {each.record.kind for each in ranking.results}


def say(world: World, session: str, prompt: str, response: str) -> str:
    return world.app.sessions.add(AGENT, session, prompt, "", response).id


def test_memories_decisions_and_sessions_stand_in_one_answer(world: World) -> None:
    world.remember("The harbour cranes unload copper at night.")
    world.app.get(DecisionActs).record(
        AGENT, draft("cranes", "Cranes unload copper", rationale="The harbour is quiet at night.")
    )
    say(world, "s1", "When do the harbour cranes unload copper?", "At night, after ten.")
    assert sources(recall(world, "when is copper unloaded")) == {"memory", "decision", "turn"}
    assert sources(recall(world, "when is copper unloaded", Source.SESSION)) == {"turn"}


def test_a_time_chooses_among_all_that_say_when_they_were_kept(world: World) -> None:
    for name in ("before", "since"):
        world.remember(f"The harbour cranes unload copper, {name}.")
        world.app.get(DecisionActs).record(
            AGENT,
            draft(f"cranes {name}", "Cranes unload copper", rationale="The harbour is quiet."),
        )
        say(world, name, "Do the harbour cranes unload copper?", f"They do, {name}.")
        if name == "before":
            world.clock.turn()
            noon = world.clock.now
    kinds = []
    for query in (MemoryQuery(since=noon), MemoryQuery(until=noon)):
        found = world.app.combined.recall(
            AGENT, "cranes unload copper", 10, WEIGHTS, TEXTS, selection=Selection(query)
        ).results
        kinds.append(sorted(each.record.kind for each in found))
        assert {
            name for name in ("before", "since") for each in found if name in each.record.text
        } == {"since" if query.since else "before"}
    assert kinds == [["decision", "memory", "turn"]] * 2


def test_a_model_is_told_that_perhaps_no_hit_is_about_the_question(world: World) -> None:
    say(world, "s1", "What about make?", "Run make seed before the integration tests.")

    def noted(query: str) -> list[str]:
        caller = with_call(AGENT, notes={}, in_lines=True)
        # A hook asks twice in one call.
        for _ in range(2):
            assert world.app.combined.recall(caller, query, 5, WEIGHTS, TEXTS).results
        return [str(each.text) for each in caller.call.notes.values() if each.text]

    assert noted("What must run before the integration tests?") == []
    assert noted("a recipe for tomato soup with basil") == [
        "Perhaps nothing here is about that; these are the nearest."
    ]


def test_each_session_says_one_thing_before_another_says_its_second(world: World) -> None:
    for asks, answers in (
        ("Who paints the copper cranes in the harbour?", "The harbour crew paints them."),
        ("Are copper cranes in the harbour loud?", "Only while they turn."),
        ("How high are the copper cranes in the harbour?", "Forty metres."),
    ):
        say(world, "loud", asks, answers)
    quiet = say(world, "quiet", "What about cranes?", "They unload copper in the harbour.")
    found = recall(world, "copper cranes in the harbour").results
    assert {each.record.session for each in found[:2]} == {"loud", "quiet"}  # type: ignore[union-attr]
    assert quiet in [each.record.id for each in found[:2]]
    assert len(found) == 4


def test_a_long_memory_is_told_by_the_passage_that_answers(world: World) -> None:
    filler = "The committee met and spoke about the weather and the garden for a long time. " * 40
    world.remember(f"{filler}The vault opens with the code word marzipan. {filler}")
    (whole,) = recall(world, "what is the code word of the vault").results
    (told,) = recall(world, "what is the code word of the vault", tokens=400).results
    assert len(whole.text) > 3000
    assert "marzipan" in told.text
    assert count_tokens(told.text) < 160


def test_without_a_model_words_choose_the_passage(opener: Opener) -> None:
    world = opener(failed())
    filler = "The committee met and spoke about the weather. " * 60
    world.remember(f"{filler}The vault opens with the code word marzipan. {filler}")
    (told,) = recall(world, "marzipan vault", tokens=400).results
    assert "marzipan" in told.text


def test_passages_shrink_before_a_hit_falls_away(world: World) -> None:
    for number in range(6):
        world.remember(f"Report {number}: " + "the cranes of the harbour unload copper. " * 20)
    wide, narrow = (recall(world, "cranes", tokens=tokens).results for tokens in (1500, 500))
    assert len(wide) == len(narrow) == 6
    assert max(len(each.text) for each in narrow) < max(len(each.text) for each in wide)
    assert sum(count_tokens(each.text) for each in narrow) <= 400
    assert 0 < len(recall(world, "cranes", tokens=100).results) < 6


def test_as_of_a_moment_what_held_then_is_found(world: World) -> None:
    old = world.remember("The cranes unload copper.")
    then = world.clock.now
    world.clock.turn(60)
    say(world, "s1", "What do the cranes unload?", "Copper, since today.")
    new = world.remember("The cranes unload tin.")
    world.app.memories.invalidate(AGENT, old, "changed", new)
    decided = world.app.get(DecisionActs).record(AGENT, draft("cranes", "Cranes unload tin"))
    found = world.app.combined.recall(
        AGENT, "what do the cranes unload", 10, WEIGHTS, TEXTS, selection=Selection(at=then)
    )
    assert [each.record.id for each in found.results] == [old]
    now = {each.record.id for each in recall(world, "what do the cranes unload").results}
    assert {new, decided.id} < now
    assert old not in now


def test_what_came_later_is_not_given_as_of_a_moment(world: World) -> None:
    world.remember("The cranes unload copper.")
    say(world, "s1", "What do the cranes unload?", "Copper, since today.")
    then = world.clock.now
    world.clock.turn(60)
    world.remember("The cranes unload tin.")
    say(world, "s2", "What do the cranes unload?", "Tin, since today.")
    world.app.get(DecisionActs).record(AGENT, draft("cranes", "Cranes unload tin"))
    caller = with_call(AGENT, notes={})
    found = world.app.combined.recall(
        caller, "a recipe for tomato soup", 10, WEIGHTS, TEXTS, selection=Selection(at=then)
    )
    assert {each.record.kind for each in found.results} == {Kind.MEMORY, Kind.TURN}
    assert len(found.results) == 2


def test_a_decision_held_until_another_took_its_place(world: World) -> None:
    old = world.app.get(DecisionActs).record(AGENT, draft("cranes", "Cranes unload copper"))
    then = world.clock.now
    world.clock.turn(60)
    new = world.app.get(DecisionActs).supersede(
        AGENT, [old.id], draft("cranes", "Cranes unload tin")
    )
    held = Selection(at=then)
    found = world.app.combined.recall(
        AGENT, "what do cranes unload", 5, WEIGHTS, (Source.DECISION,), selection=held
    )
    assert [each.record.id for each in found.results] == [old.id]
    later = recall(world, "what do cranes unload", Source.DECISION).results
    assert [each.record.id for each in later] == [new.id]


def test_who_may_not_see_a_turn_finds_none_of_it(world: World) -> None:
    ana, ben = (replace(AGENT, user=name) for name in ("ana", "ben"))
    world.app.sessions.add(ana, "s1", "Where is the marzipan?", "", "In the vault.")
    for caller, count in ((ana, 1), (ben, 0)):
        found = world.app.combined.recall(caller, "marzipan vault", 10, WEIGHTS, TEXTS)
        assert len(found.results) == len(found.order) == count


def test_a_short_turn_is_told_with_what_stands_beside_it_in_its_session(world: World) -> None:
    say(world, "s1", "Whom shall we ask first?", "The keeper of the lighthouse.")
    say(world, "s1", "What else is on the list?", "Only the loft.")
    turn = say(world, "s1", "Do pigeons carry copper?", "Never.")
    say(world, "s1", "Then what do they bring?", "Letters from the mayor.")
    say(world, "s2", "Is the mayor fond of birds?", "So they say.")
    first = recall(world, "do pigeons carry copper", limit=1, tokens=400).results[0]
    assert first.record.id == turn
    assert first.text == (
        "What else is on the list?\nOnly the loft.\n"
        "Do pigeons carry copper?\nNever.\n"
        "Then what do they bring?\nLetters from the mayor."
    )
    # What is a hit itself is told there; as of a moment what was said later is not.
    both = recall(world, "do pigeons carry copper, and the loft of the list", limit=2, tokens=400)
    assert turn in {each.record.id for each in both.results}
    assert sum("Only the loft." in each.text for each in both.results) == 1
    then = Selection(at=world.app.sessions.page(AGENT, "s1", 10, 0).turns[2].at)
    found = world.app.combined.recall(
        AGENT, "do pigeons carry copper", 1, WEIGHTS, TEXTS, selection=then, tokens=400
    )
    assert "Letters" not in found.results[0].text


def test_no_neighbour_is_told_where_there_is_no_room(world: World) -> None:
    say(world, "s1", "What else is on the list?", "Only the loft.")
    say(world, "s1", "Do pigeons carry copper?", "Never.")
    (first,) = recall(world, "do pigeons carry copper", limit=1, tokens=60).results
    assert first.text == "Do pigeons carry copper?\nNever."


def test_a_note_does_not_lift_others_of_its_session(world: World) -> None:
    caller = with_call(AGENT, session="s", origin=Origin(client="a program", session="s"))
    for text in (
        "Pigeons carry letters from the mayor to the lighthouse.",
        "Invoices for Vienna are due on the fifteenth of April.",
        "The staging certificate is renewed every June.",
    ):
        world.app.memories.store(caller, Draft(content=text, type=MemoryType.SEMANTIC))
    found = recall(world, "What do pigeons carry to the lighthouse?").results
    assert found[0].text.startswith("Pigeons")
    assert all(each.relevance < found[0].relevance / 4 for each in found[1:])
