"""Relations that a question asks about are hits of their own, for those alone who see both ends."""

from dataclasses import replace

import pytest

from minutebook.memory.search.combined import Ranked
from minutebook.memory.search.recall import WEIGHTS, Selection
from minutebook.model.service import Embedding
from minutebook.record.sources import TEXTS
from tests.features.ledger.decided import AGENT
from tests.world import Opener, World, failed


@pytest.fixture
def world(opener: Opener, built_in: Embedding) -> World:
    return opener(built_in, wait=60.0)


def graph(world: World) -> None:
    ingrid, ola = (world.entity(name) for name in ("Ingrid Solberg", "Ola Brandt"))
    halcyon, ledger = (world.entity(name) for name in ("Project Halcyon", "Ledger Service"))
    world.relate(ingrid, halcyon, "works_on")
    world.relate(ola, ledger, "maintains")
    world.relate(ola, halcyon, "reviews")
    for text in ("The canteen closes at two.", "Invoices are sent on Fridays."):
        world.remember(text)


def found(world: World, query: str, at: Selection | None = None) -> list[Ranked]:
    selection = at or Selection()
    return world.app.combined.recall(AGENT, query, 10, WEIGHTS, TEXTS, selection=selection).results


def test_a_relation_that_answers_comes_first(world: World) -> None:
    graph(world)
    assert found(world, "Who works on Project Halcyon?")[0].text == (
        "Ingrid Solberg —works_on→ Project Halcyon"
    )
    assert found(world, "Who maintains the Ledger Service?")[0].text == (
        "Ola Brandt —maintains→ Ledger Service"
    )


def test_the_contract_shows_it_as_a_memory_with_its_time(world: World) -> None:
    graph(world)
    first = world.call("recall", query="Who maintains the Ledger Service?")["results"][0]
    assert (first["source"], first["by"]) == ("memory", "agent")
    assert first["at"].endswith("Z")


def test_without_a_model_shared_words_find_it(opener: Opener) -> None:
    world = opener(failed())
    graph(world)
    assert "maintains" in found(world, "who maintains the ledger service")[0].text


def test_a_question_that_names_no_entity_gets_no_relation(world: World) -> None:
    graph(world)
    assert all("→" not in each.text for each in found(world, "when are invoices sent?"))


def test_a_relation_made_later_is_not_told_of_an_earlier_moment(world: World) -> None:
    then = world.clock.now
    world.clock.turn(60)
    graph(world)
    assert found(world, "Who works on Project Halcyon?", Selection(at=then)) == []


def test_who_does_not_see_an_end_is_not_told_the_relation(world: World) -> None:
    ana, ben = (replace(AGENT, user=name) for name in ("ana", "ben"))
    one = world.app.entities.create_entity(ana, "Ingrid Solberg", "person", None, "ana")
    other = world.app.entities.create_entity(ana, "Project Halcyon", "project", None, None)
    world.app.entities.create_relation(ana, one.id, other.id, "works_on", 1.0)
    for caller, count in ((ana, 1), (ben, 0)):
        ranking = world.app.combined.recall(
            caller, "Who works on Project Halcyon?", 10, WEIGHTS, TEXTS
        )
        assert sum("→" in each.text for each in ranking.results) == count


def test_a_relation_is_of_whoever_joined_the_two(world: World) -> None:
    owner = world.by(name="ana")
    ingrid, halcyon = owner.entity("Ingrid Solberg"), owner.entity("Project Halcyon")
    world.by(name="robot").relate(ingrid, halcyon, "works_on")
    first = world.call("recall", query="Who works on Project Halcyon?")["results"][0]
    assert (first["content"], first["by"]) == ("Ingrid Solberg —works_on→ Project Halcyon", "robot")
    owner.relate(ingrid, halcyon, "works_on", weight=0.5)
    assert (
        world.call("recall", query="Who works on Project Halcyon?")["results"][0]["by"] == "robot"
    )
