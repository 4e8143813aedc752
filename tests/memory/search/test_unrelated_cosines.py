"""A model that finds all texts alike to a degree: relevance counts from there."""

from collections.abc import Sequence

import numpy as np

from minutebook.model.protocol import Embedded, Model, Rows
from minutebook.record.filters import MemoryQuery
from tests.world import DIMENSIONS, Opener, WordEmbedder, ready

LIFT = 0.7


class LiftedEmbedder(WordEmbedder):
    """Gives any two texts a cosine of LIFT or more, as some models behind an endpoint do."""

    model = Model("lifted words", "1", DIMENSIONS + 1, unrelated=LIFT)

    def embed_query(self, text: str) -> Embedded:
        return Embedded(_lifted(super().embed_query(text).rows))

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        return [Embedded(_lifted(each.rows)) for each in super().embed_passages(texts)]


def _lifted(rows: Rows) -> Rows:
    alike = np.full((len(rows), 1), LIFT**0.5, np.float32)
    return np.hstack([alike, rows * np.float32((1 - LIFT) ** 0.5)])


def test_a_threshold_cuts_what_is_as_near_as_unrelated_texts_are(opener: Opener) -> None:
    world = opener(ready(LiftedEmbedder()))
    world.app.embedding.start()
    world.app.embedding.wait(60)
    for text in ("the kettle leaks", "quarterly invoices were sent", "Anna plays chess in spring"):
        world.remember(text)
    near = world.app.filtered_search.by_vector(
        world.caller, "why does the kettle leak", MemoryQuery(), threshold=0.5
    )
    assert [each.memory.content for each in near] == ["the kettle leaks"]
