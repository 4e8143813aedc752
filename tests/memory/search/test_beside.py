"""What stands beside the best in its session is compared with the question, too, however little it shares with it."""

from dataclasses import replace

import pytest

from minutebook.memory.search import signals
from minutebook.model import Embedding
from minutebook.record.caller import with_call
from minutebook.record.origin import Origin
from tests.world import Opener, World

QUESTION = "When does the fish market in the harbour open on Saturdays?"
OTHERS = [f"The fish market in the harbour sells {fish} on Saturdays." for fish in
          ("herring", "cod", "plaice", "mackerel", "eel", "sole")]  # fmt: skip


@pytest.fixture
def few_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "COMPARED", 5)


def in_session(world: World, session: str) -> World:
    origin = Origin(client="c", version="1", contract="knowledge", session=session)
    return replace(world, caller=with_call(replace(world.caller), origin=origin))


@pytest.mark.usefixtures("few_compared")
@pytest.mark.parametrize(("answered_in", "is_found"), [("s", True), ("t", False), ("", False)])
def test_an_answer_beside_the_best_is_found(
    opener: Opener, built_in: Embedding, answered_in: str, is_found: bool
) -> None:
    world = opener(built_in)
    for text in OTHERS:
        world.remember(text)
    asked = in_session(world, "s").remember(f"Ana: {QUESTION}")
    answer = in_session(world, answered_in).remember("Ben: At nine, I think.")
    world.remember("Invoices were sent.")
    found = world.ids("recall", query=QUESTION, limit=50)
    assert asked in found
    assert (answer in found) is is_found
