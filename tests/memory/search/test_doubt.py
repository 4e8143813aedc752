"""Doubt stands beside an answer, and takes nothing away from whoever asked."""

import json

import pytest

from minutebook.model import Embedding
from minutebook.record.caller import Note
from minutebook.serve.contracts.answers import Answer, readable_parts
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
DOUBT = "Perhaps nothing here is about that; these are the nearest."


@pytest.fixture
def world(opener: Opener, built_in: Embedding) -> World:
    return opener(built_in, wait=60.0)


def asked(world: World, tool: str, query: str, *, in_lines: bool = False) -> Answer:
    fresh = world.by(request=query)
    contract = fresh.contract.in_lines() if in_lines else fresh.contract
    return contract.call(fresh.app, fresh.caller, tool, {"query": query})


@pytest.mark.parametrize("tool", ["search", "recall"])
def test_a_stranger_gets_the_nearest_and_the_doubt_beside_them(world: World, tool: str) -> None:
    for text in NOTES:
        world.remember(text)
    for query in FAR:
        answer = asked(world, tool, query)
        first, *others = readable_parts(answer)
        assert len(json.loads(first)["results"]) == 10
        assert others[0] == DOUBT, query
    for query in ANSWERED:
        answer = asked(world, tool, query)
        assert len(json.loads(answer.text)["results"]) == 10
        assert "relevance" not in answer.notes, query


def test_in_lines_the_doubt_is_the_first_line_and_three_hits_follow(world: World) -> None:
    for text in NOTES:
        world.remember(text)
    (doubtful,) = readable_parts(asked(world, "recall", FAR[0], in_lines=True))
    first, *hits = doubtful.splitlines()
    assert first == DOUBT
    assert len(hits) == 3
    certain = readable_parts(asked(world, "recall", ANSWERED[0], in_lines=True))[0].splitlines()
    assert len(certain) == 10
    assert certain[0].startswith(f"- {NOTES[0]}")


@pytest.mark.parametrize(
    "query",
    [
        "متى يعاد بناء فهرس البحث؟",
        "Πόσες εγκρίσεις χρειάζεται μια έκδοση;",
        "Sürüm için kaç onay gerekir?",
        "bản phát hành cần bao nhiêu phê duyệt",
    ],
)
def test_a_question_in_another_language_is_not_doubted_from_a_lower_chance_on(
    world: World, query: str
) -> None:
    for text in NOTES:
        world.remember(text)
    assert "relevance" not in asked(world, "search", query).notes


def test_where_a_text_in_its_language_is_among_the_best_a_question_is_doubted_as_any_other(
    world: World,
) -> None:
    for text in (*NOTES, "Ο φούρνος της γωνίας ανοίγει στις επτά το πρωί."):
        world.remember(text)
    assert "relevance" in asked(world, "search", "Ποιος ποτίζει τα λουλούδια;").notes
    assert "relevance" in asked(world, "search", "Πόσες εγκρίσεις χρειάζεται μια έκδοση;").notes


@pytest.mark.parametrize(
    ("text", "query"),
    [
        (NOTES[0], "webhook retries"),
        (NOTES[1], ANSWERED[1]),
        (NOTES[2], "Where are our flags kept?"),
    ],
)
def test_an_answer_alone_in_its_store_is_not_doubted(world: World, text: str, query: str) -> None:
    world.remember(text)
    assert "relevance" not in asked(world, "search", query).notes
    assert asked(world, "search", FAR[0]).notes["relevance"].text == DOUBT


def test_the_catalog_gives_the_three_nearest_of_what_does_not_match(world: World) -> None:
    facts = facts_of(world)
    for text in NOTES:
        write(facts, text)
    for query in FAR:
        assert len(found(facts, query)) == 3, query
        for tool in ("memory-search", "memory-vector-search"):
            answer = facts.contract.call(
                facts.app, facts.by(request=query).caller, tool, {"query": query}
            )
            assert len(json.loads(readable_parts(answer)[0])) == 3
            assert readable_parts(answer)[1] == DOUBT
    for query in ANSWERED:
        assert found(facts, query), query


def test_a_threshold_that_is_given_holds(world: World) -> None:
    facts = facts_of(world)
    for text in NOTES:
        write(facts, text)
    answer = facts.contract.call(
        facts.app, facts.caller, "memory-vector-search", {"query": FAR[0], "threshold": 0.5}
    )
    assert readable_parts(answer) == [
        "[]",
        f"Nothing was found. Looked through: memories {len(NOTES)}.",
    ]


def test_turns_are_given_up_to_the_limit(world: World) -> None:
    client = journaled.Client(world)
    for number, text in enumerate(NOTES):
        client.add(text, session=f"day {number}")
    for query in (*FAR, *ANSWERED):
        told = client.call("query_raw_memories", query=query, nResults=5)
        assert len(told["results"]) == 5, query


def test_what_another_may_see_is_not_counted(world: World) -> None:
    world.remember(NOTES[0])
    answer = asked(world.by(organization="other"), "search", FAR[0])
    assert answer.notes["relevance"].facts == {"looked_through": {}}
    assert readable_parts(answer)[1] == "Nothing was found. There is nothing to look through."


def test_notes_stand_behind_the_answer_but_for_those_that_are_lines_of_it() -> None:
    notes = {"a": Note({}, "after"), "b": Note({}, "a line of it", leads=True), "c": Note({}, "")}
    assert readable_parts(Answer("[]", None, None, notes)) == ["[]", "after", "a line of it"]
    assert readable_parts(Answer("lines", None, None, notes, in_lines=True)) == ["lines", "after"]


def test_words_that_no_memory_has_find_nothing_and_say_so(world: World) -> None:
    for text in NOTES:
        world.remember(text)
    answer = asked(world, "search_text", "zebra")
    assert readable_parts(answer) == [
        json.dumps({"results": [], "count": 0, "query": "zebra"}),
        f"No text here has one of these words. Looked through: memories {len(NOTES)}.",
    ]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("strasse", "Größe und Straße"),
        ("ISTANBUL", "Das Büro in İstanbul"),
        ("thor", "Þór lives in Reykjavík"),
    ],
)
def test_what_alone_holds_every_word_comes_first_also_where_it_is_written_otherwise(
    world: World, query: str, wanted: str
) -> None:
    for text in (*NOTES, "The office is at 12 Harbour Road.", wanted, "Street and house number"):
        world.remember(text)
    for tool in ("recall", "search_text"):
        results = json.loads(asked(world, tool, query).text)["results"]
        assert results[0]["content"] == wanted
        assert results[0]["score"] > 0
