"""The graph signal, with the real model: what is joined to what a question names, and answers it."""

import pytest

from minutebook.model import Embedding
from tests.world import Opener, World


@pytest.fixture
def world(opener: Opener, built_in: Embedding) -> World:
    return opener(built_in, wait=60.0)


def graph_scores(world: World, query: str) -> dict[str, float]:
    """What the graph gives each memory, best first as recalled."""
    return {
        each["content"]: each["ppr_score"] for each in world.call("recall", query=query)["results"]
    }


TEAM = "The payments team is reached in the channel #money-talk."
PRINTER = "The printer on floor two is out of toner; ask at the front desk."
REWRITTEN = "Falcon was rewritten in the spring of 2022."
CUP = "The payments team won the table football cup."


def falcon(world: World) -> None:
    team, service = world.entity("payments team"), world.entity("Falcon")
    world.relate(team, service, "owns")
    for text in (TEAM, PRINTER, REWRITTEN, CUP):
        world.remember(text)


def test_who_is_asked_about_a_service_is_found_through_its_owner(world: World) -> None:
    falcon(world)
    found = graph_scores(world, "Who should be asked about Falcon?")
    ranked = list(found)
    assert ranked.index(TEAM) < min(ranked.index(PRINTER), ranked.index(CUP))
    # How far it is above differs between processors: their last bits turn signs of states.
    assert found[TEAM] > 1.1 * max(found[CUP], found[REWRITTEN])
    assert found[PRINTER] == 0


def test_what_is_said_of_a_service_itself_stays_first(world: World) -> None:
    falcon(world)
    found = graph_scores(world, "When was Falcon built anew?")
    assert next(iter(found)) == REWRITTEN
    assert found[REWRITTEN] == max(found.values()) > 0.7


def test_the_graph_says_less_where_nothing_that_it_leads_to_answers(world: World) -> None:
    falcon(world)
    answered = max(graph_scores(world, "When was Falcon built anew?").values())
    unanswered = max(
        graph_scores(world, "Which soup does Falcon cook for Brazilian guests?").values()
    )
    assert unanswered < 0.8 * answered


def test_weak_memories_lead_nowhere_if_the_question_names_no_entity(world: World) -> None:
    falcon(world)
    permits = "The parking permits are handed out at the front desk from Monday on."
    world.remember(permits)
    found = graph_scores(world, "Where do I get permission to leave my car here?")
    assert next(iter(found)) == permits
    assert max(found.values()) < 0.1


def test_a_memory_that_is_joined_to_nothing_lends_weight_to_nothing(world: World) -> None:
    falcon(world)
    staging = "The staging database listens on port 6543."
    world.remember(staging)
    found = graph_scores(world, "On which port does the staging database listen?")
    assert next(iter(found)) == staging
    assert max(found.values()) < 0.1


def test_a_memory_that_names_no_entity_gets_nothing(world: World) -> None:
    falcon(world)
    found = graph_scores(world, "Who repairs the printer?")
    assert next(iter(found)) == PRINTER
    assert found[PRINTER] == 0


def test_a_candidate_that_leads_only_to_itself_gets_nothing(world: World) -> None:
    world.entity("Osprey")
    world.remember("Osprey prints the labels for heavy parcels.")
    world.remember("The cat sleeps on the boiler.")
    found = graph_scores(world, "Which labels go on heavy parcels?")
    assert set(found.values()) == {0}


def test_a_question_that_names_no_entity_is_led_on_by_its_best_memories(world: World) -> None:
    service, host = world.entity("Osprey"), world.entity("Marlow Hosting")
    world.relate(service, host, "hosted_by")
    world.remember("The parcels of the 2nd carried the wrong postcode; Osprey had an old table.")
    maintenance, drill = "Marlow Hosting stops every second Sunday.", "The fire drill is at ten."
    for text in (maintenance, drill):
        world.remember(text)
    found = graph_scores(world, "The parcels were wrong: when is their host not available?")
    assert found[drill] == 0
    assert 0 < found[maintenance] <= 0.15
