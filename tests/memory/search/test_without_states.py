"""A model that names token states may give none for a text: its cosine stands."""

from minutebook.model.protocol import Model
from tests.world import DIMENSIONS, Opener, WordEmbedder, ready


class Stateless(WordEmbedder):
    """Names a form of token states and gives none."""

    model = Model("words", "1", DIMENSIONS, "1")


def test_texts_without_token_states_are_stored_and_found(opener: Opener) -> None:
    world = opener(ready(Stateless()))
    world.app.embedding.start()
    world.app.embedding.wait(60)
    first = world.remember("the boiler hums")
    world.remember("the boiler is green")
    assert world.ids("recall", query="boiler hums")[0] == first
    assert world.ids("search", query="boiler hums")[0] == first
