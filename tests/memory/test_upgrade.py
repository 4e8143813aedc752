"""A store that an earlier release embedded is searched by meaning at every stage of its way to the models in use."""

import json
import struct
from collections.abc import Sequence
from threading import Event

import numpy as np
import pytest

from minutebook.features.models.built_in.builtin import E5_ALONE, SHARE
from minutebook.memory.access.visibility import everything_in
from minutebook.memory.embeddings import BATCH
from minutebook.model import Embedding
from minutebook.record.filters import Filter, MemoryQuery
from minutebook.record.records import CodeChunk, Memory, Turn
from minutebook.serve.contracts.answers import readable_parts
from minutebook.store.values import VectorSpace
from tests.features.catalog.contract.cataloged import facts_of, found
from tests.features.journal.contract import journaled
from tests.store.samples import chunk
from tests.world import Opener, World

ANSWER = "Friday deploys are forbidden since the outage in May."
ASKED = "can I ship on the last day of the week"
FILL = [f"The shelf number {number} in the warehouse holds spare parts." for number in range(39)]
BEFORE = VectorSpace(
    E5_ALONE.name, E5_ALONE.digest, E5_ALONE.dimensions, f"{E5_ALONE.states} signs 1"
)


@pytest.fixture
def world(opener: Opener, built_in: Embedding) -> World:
    """A store as the release before left it: the vectors and token states of one model."""
    made = opener(built_in, wait=60.0, name="before")
    journal = journaled.Client(made)
    # The oldest is embedded anew last.
    for text in (ANSWER, *FILL):
        made.remember(text)
        journal.add(text, session="before")
    embed_as_before(made, built_in)
    return opener(built_in, wait=60.0, name="before")


def embed_as_before(world: World, built_in: Embedding) -> None:
    """Put the vectors and token states of the release before in place of those of each memory and turn."""
    with world.store.transaction("default"):
        for of in (Memory, Turn):
            texts = world.store.find(of, Filter(organization="default"))
            embedded = built_in.embed_passages([each.passage for each in texts])
            for record, each in zip(texts, embedded, strict=True):
                rows = each.rows[:, : E5_ALONE.dimensions] / np.sqrt(np.float32(SHARE))
                states = in_earlier_form(each.packed or b"")
                world.store.put_vectors(of, "default", record.id, BEFORE, rows, states)


def in_earlier_form(packed: bytes) -> bytes:
    """Return packed token states as the release before kept them: those of one model, behind a shorter header."""
    _, width, count, _ = struct.unpack_from("<BHII", packed)
    size = count * (3 + width)
    start = struct.calcsize("<BHII")
    return struct.pack("<BHI", 1, width, count) + packed[start : start + size]


def answers(world: World) -> Sequence[str]:
    """Return the first answer of each search."""
    by_tool = [world.call(tool, query=ASKED)["results"][0] for tool in ("recall", "search")]
    turn = journaled.Client(world).call("query_raw_memories", query=ASKED)["results"][0]
    facts = found(facts_of(world), ASKED)
    return [*(each["content"] for each in by_tool), facts[0], turn["prompt"]]


def notes(world: World) -> list[str]:
    fresh = world.by(request="note")
    answer = fresh.contract.call(fresh.app, fresh.caller, "recall", {"query": ASKED})
    first, *others = readable_parts(answer)
    assert json.loads(first)["results"]
    return [each for each in others if "compared by" in each]


def test_an_upgrade_leaves_no_stage_unsearchable_and_says_how_far_it_is(world: World) -> None:
    left = 2 * (1 + len(FILL))
    while left > 0:
        assert answers(world) == [ANSWER] * 4, left
        assert notes(world) == [
            f"{left} records were compared by the model of the release before: their new vectors are still to come."
        ]
        assert world.app.overview.to_embed(world.caller) == left
        done = world.app.embeddings.backfill_batch()
        assert done == min(BATCH, left)
        left -= done
    assert list(world.app.embeddings.earlier_spaces(Memory, "default")) == []
    assert answers(world) == [ANSWER] * 4
    assert notes(world) == []
    assert world.app.overview.to_embed(world.caller) == 0


def test_code_without_vectors_does_not_wait_for_what_the_release_before_embedded(
    world: World,
) -> None:
    world.store.put(chunk("c", organization="default"))
    assert world.app.embeddings.backfill_batch() == 1
    assert world.store.vectors(CodeChunk, "default", "c") is not None


def test_a_vector_that_a_caller_gives_is_compared_with_those_of_the_model_in_use_alone(
    world: World, built_in: Embedding
) -> None:
    new = world.remember("No release on weekends.")
    vector = built_in.embed_query(ASKED).vector.tolist()
    found = world.app.filtered_search.by_vector(world.caller, vector, MemoryQuery(), None)
    assert [each.memory.id for each in found] == [new]


def test_the_nearest_by_both_models_are_as_many_as_are_asked_for(world: World) -> None:
    world.app.embeddings.backfill_batch()
    view, query = (
        everything_in(world.store, "default"),
        world.app.embeddings.require_query(ASKED),
    )
    every = world.app.embeddings.nearest(Memory, view, query, 1 + len(FILL))
    best, *_, last = every
    assert len(every) == 1 + len(FILL)
    assert list(world.app.embeddings.nearest(Memory, view, query, 3)) == list(every)[:3]
    assert list(world.app.embeddings.nearest(Memory, view, query, 1, [last[1]])) == [best, last]


def test_vectors_of_the_release_before_that_arrive_later_are_compared(
    world: World, built_in: Embedding
) -> None:
    world.app.embeddings.backfill(Event())
    assert answers(world) == [ANSWER] * 4
    embed_as_before(world, built_in)
    assert answers(world) == [ANSWER] * 4


def test_another_model_leaves_words_that_answer_and_says_what_is_to_come(
    opener: Opener, built_in: Embedding
) -> None:
    before = opener(name="same")
    before.remember(ANSWER)
    world = opener(built_in, wait=60.0, name="same")
    assert world.call("recall", query="Friday deploys")["results"][0]["content"] == ANSWER
    fresh = world.by(request="note")
    answer = fresh.contract.call(fresh.app, fresh.caller, "recall", {"query": "Friday deploys"})
    assert answer.notes["meaning"].facts == {"state": "ready", "pending": 1}
