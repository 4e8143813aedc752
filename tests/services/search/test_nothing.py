"""Where nothing here is about a question, every search says so, with nothing beside it."""

import pytest

from minutebook.contracts.answers import Answer, texts_of
from minutebook.domain.caller import Note
from minutebook.embedding import Embedding
from tests.features.catalog.contract.cataloged import facts_of, found, write
from tests.features.journal.contract import journaled
from tests.world import Opener, World

NOTES = (
    "The payment service retries failed webhooks five times with exponential backoff.",
    "Staging runs PostgreSQL 16; production is still on 15.",
    "Feature flags live in the settings table so that support can flip them.",
    "Anna reviews every change to the billing module before it is merged.",
    "The nightly backup is copied to a bucket in another region.",
    "Log lines never hold the e-mail address of a customer.",
    "We build the front end with Vite and serve it from a CDN.",
    "A release needs two approvals and a green pipeline.",
    "The search index is rebuilt every Sunday at four in the morning.",
    "Rate limits are 100 requests a minute for each token.",
    "Error budgets are looked at on the first Monday of a month.",
    "The mobile app talks to version 3 of the interface.",
)
ANSWERED = (
    "How often do we try a webhook again?",
    "Which database version does production use?",
    "who reviews billing changes",
    "PostgreSQL",
    "Wohin wird die nächtliche Sicherung kopiert?",
)
FAR = (
    "a recipe for tomato soup",
    "Wer hat die Zauberflöte komponiert?",
    "best opening against the Sicilian defence",
    "¿Cuántos huesos tiene el cuerpo humano?",
    "وصفة حساء الطماطم",
    "рецепт томатного супа",
)


@pytest.fixture
def world(opener: Opener, built_in: Embedding) -> World:
    return opener(built_in, wait=60.0)


def searched(world: World, query: str) -> Answer:
    fresh = world.by(request=query)
    return fresh.contract.call(fresh.app, fresh.caller, "search", {"query": query})


def test_strangers_are_told_nothing_and_what_was_looked_through(world: World) -> None:
    for text in NOTES:
        world.remember(text)
    for query in FAR:
        answer = searched(world, query)
        assert answer.content is not None
        assert answer.content["results"] == [], query
        assert texts_of(answer)[0] == (
            f"Nothing here is about that. Looked through: memories {len(NOTES)}."
        )
    for query in ANSWERED:
        answer = searched(world, query)
        assert answer.content is not None
        assert answer.content["results"], query
        assert "relevance" not in answer.notes


@pytest.mark.parametrize(
    "query",
    [
        "متى يعاد بناء فهرس البحث؟",
        "Πόσες εγκρίσεις χρειάζεται μια έκδοση;",
        "Sürüm için kaç onay gerekir?",
        "bản phát hành cần bao nhiêu phê duyệt",
    ],
)
def test_a_question_in_another_language_is_answered_from_a_lower_chance_on(
    world: World, query: str
) -> None:
    for text in NOTES:
        world.remember(text)
    answer = searched(world, query)
    assert answer.content is not None
    assert answer.content["results"]


@pytest.mark.parametrize("text", NOTES[:3])
def test_an_answer_alone_in_its_store_is_not_lost(world: World, text: str) -> None:
    world.remember(text)
    query = dict(
        zip(NOTES, ("webhook retries", ANSWERED[1], "Where are our flags kept?"), strict=False)
    )[text]
    assert world.ids("search", query=query)
    assert searched(world, "a recipe for tomato soup").content == {
        "results": [],
        "count": 0,
        "query": "a recipe for tomato soup",
    }


def test_the_catalog_finds_nothing_either(world: World) -> None:
    facts = facts_of(world)
    for text in NOTES:
        write(facts, text)
    for query in FAR:
        assert found(facts, query) == [], query
    for query in ANSWERED:
        assert found(facts, query), query


def test_turns_that_are_not_about_a_question_are_not_given(world: World) -> None:
    client = journaled.Client(world)
    for number, text in enumerate(NOTES):
        client.add(text, session=f"day {number}")
    for query in FAR:
        assert client.call("query_raw_memories", query=query)["results"] == [], query
    for query in ANSWERED:
        assert client.call("query_raw_memories", query=query)["results"], query


def test_what_another_may_see_is_not_counted(world: World) -> None:
    world.remember(NOTES[0])
    other = world.by(organization="other")
    answer = searched(other, FAR[0])
    assert answer.notes["relevance"].facts == {"about": 0, "looked_through": {}}


def test_a_note_that_leads_is_read_before_the_answer() -> None:
    notes = {"a": Note({}, "after"), "b": Note({}, "before", leads=True), "c": Note({}, "")}
    assert texts_of(Answer("[]", None, None, notes)) == ["before", "[]", "after"]


def test_words_that_no_memory_has_find_nothing(world: World) -> None:
    for text in NOTES:
        world.remember(text)
    fresh = world.by(request="words")
    answer = fresh.contract.call(fresh.app, fresh.caller, "search_text", {"query": "zebra"})
    assert answer.content is not None
    assert answer.content["results"] == []
    assert texts_of(answer)[0] == (
        f"Nothing here is about that. Looked through: memories {len(NOTES)}."
    )


def test_the_catalog_says_that_nothing_is_near_enough(world: World) -> None:
    facts = facts_of(world)
    for text in NOTES:
        write(facts, text)
    answer = facts.contract.call(
        facts.app, facts.caller, "memory-vector-search", {"query": FAR[0], "threshold": 0.5}
    )
    assert texts_of(answer)[0].startswith("Nothing here is about that. Looked through: memories ")
