"""A question for what happened on days that it names gets what was kept then first, and hears so."""

from datetime import timedelta

import pytest

from minutebook.model import Embedding
from minutebook.serve.contracts.answers import Answer
from tests.world import NOON, Opener, World

LAST_FRIDAY = "The invoice job runs with ten workers since the load test."
SUNDAY = "Refunds above 500 euros need a second approval."
MONDAY = "The search page loads its results while one types."


@pytest.fixture
def world(opener: Opener, built_in: Embedding) -> World:
    """Memories of Friday, Sunday and Monday; it is Tuesday."""
    world = opener(built_in, wait=60.0)
    for back, text in ((4, LAST_FRIDAY), (2, SUNDAY), (1, MONDAY)):
        world.clock.now = NOON - timedelta(days=back)
        world.remember(text)
    world.clock.now = NOON
    return world


def asked(world: World, query: str, **given: object) -> Answer:
    contract = world.contract
    return contract.call(world.app, world.caller, "recall", {"query": query, **given})


def found(answer: Answer) -> list[str]:
    assert answer.content is not None
    return [str(each["content"]) for each in answer.content["results"]]


@pytest.mark.parametrize(
    "query",
    ["What changed since Sunday?", "Was ist seit Sonntag neu?", "自从星期天以来有什么变化?"],
)
def test_what_was_kept_since_a_day_comes_first_the_newest_before_others(
    world: World, query: str
) -> None:
    answer = asked(world, query)
    assert found(answer) == [MONDAY, SUNDAY, LAST_FRIDAY]
    note = answer.notes["days"]
    assert note.text == (
        "What was kept on the days that the question names comes first: 2026-01-04 – 2026-01-06."
    )
    assert note.facts == {
        "since": "2026-01-04T00:00:00.000000Z",
        "until": "2026-01-07T00:00:00.000000Z",
    }
    assert "relevance" not in answer.notes


def test_a_day_is_that_day_alone_and_nothing_is_hidden(world: World) -> None:
    answer = asked(world, "What did we learn on Friday?")
    assert found(answer)[0] == LAST_FRIDAY
    assert set(found(answer)) == {LAST_FRIDAY, SUNDAY, MONDAY}
    assert answer.notes["days"].text.endswith(": 2026-01-02.")
    assert found(asked(world, "What did we learn on Friday?", limit=1)) == [LAST_FRIDAY]


def test_a_day_on_which_nothing_was_kept_is_said(world: World) -> None:
    answer = asked(world, "What did we decide about refunds on Saturday?")
    assert answer.notes["days"].text == (
        "Nothing was kept on the days that the question names: 2026-01-03."
    )
    assert found(answer)[0] == SUNDAY


@pytest.mark.parametrize(
    "query", ["Who reviews refunds on Friday?", "When does the invoice job run on Monday?"]
)
def test_a_question_for_a_plan_or_a_duty_is_no_question_for_what_happened(
    world: World, query: str
) -> None:
    assert "days" not in asked(world, query).notes


def test_no_day_is_read_without_a_model(opener: Opener) -> None:
    world = opener(None)
    world.remember(MONDAY)
    assert "days" not in asked(world, "What changed since Sunday about the search page?").notes
