"""A store that an earlier release embedded is searched by meaning at every stage of its way to the models in use."""

import json
import struct
from collections.abc import Sequence

import numpy as np
import pytest

from minutebook.contracts.answers import texts_of
from minutebook.domain.filters import Filter
from minutebook.domain.records import Memory, Turn
from minutebook.embedding import Embedding
from minutebook.features.models.built_in.builtin import ALONE, SHARE
from minutebook.services.embeddings import BATCH
from minutebook.store.values import VectorSpace
from tests.features.catalog.contract.cataloged import facts_of, found
from tests.features.journal.contract import journaled
from tests.world import Opener, World

ANSWER = "Friday deploys are forbidden since the outage in May."
ASKED = "can I ship on the last day of the week"
FILL = [f"The shelf number {number} in the warehouse holds spare parts." for number in range(39)]
BEFORE = VectorSpace(ALONE.name, ALONE.digest, ALONE.dimensions, f"{ALONE.states} signs 1")


@pytest.fixture
def world(opener: Opener, built_in: Embedding) -> World:
    """A store as the release before left it: the vectors and token states of one model."""
    made = opener(built_in, wait=60.0, name="before")
    journal = journaled.Client(made)
    # The oldest is embedded anew last.
    for text in (ANSWER, *FILL):
        made.remember(text)
        journal.add(text, session="before")
    with made.store.transaction("default"):
        for of in (Memory, Turn):
            texts = made.store.find(of, Filter(organization="default"))
            embedded = built_in.embed_passages([each.passage for each in texts])
            for record, each in zip(texts, embedded, strict=True):
                rows = each.rows[:, : ALONE.dimensions] / np.sqrt(np.float32(SHARE))
                states = in_earlier_form(each.packed or b"")
                made.store.put_vectors(of, "default", record.id, BEFORE, rows, states)
    return opener(built_in, wait=60.0, name="before")


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
    first, *others = texts_of(answer)
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
