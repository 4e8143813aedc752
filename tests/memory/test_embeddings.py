import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from minutebook.memory.access.visibility import everything_in
from minutebook.memory.embeddings import PRIORITY, QueryEmbedding
from minutebook.model import Embedded, Model, TokenStates
from minutebook.record.errors import EmbeddingNotReady, ModelUnavailable
from minutebook.record.records import CodeChunk, Kind, Memory
from minutebook.record.records.code import MAX_PASSAGE
from minutebook.text.words import words
from tests.packed import packed_of
from tests.store.samples import chunk
from tests.world import DIMENSIONS, Opener, WordEmbedder, World, failed, loading, ready, wait_until


class OtherEmbedder(WordEmbedder):
    """Words again, under another name."""

    model = Model("other words", "2", DIMENSIONS)


class StateEmbedder(WordEmbedder):
    """An embedder whose token states are the directions of the words, but for a text about silence."""

    model = replace(WordEmbedder.model, states="1")

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        made = super().embed_passages(texts)
        return [
            each if "silence" in text else replace(each, packed=packed_of(states_of(text)))
            for text, each in zip(texts, made, strict=True)
        ]


def states_of(text: str) -> TokenStates:
    told = words(text)
    rows = [WordEmbedder().embed_query(word).vector for word in told]
    pieces = np.array([len(word) for word in told], np.int32)
    return TokenStates(pieces, np.ones(len(told), np.float32), np.stack(rows))


class TwofoldEmbedder(WordEmbedder):
    """Says all twice, but for code; earlier releases said it once."""

    alone = replace(WordEmbedder.model, states="2")
    model = Model("twofold", "two", 2 * DIMENSIONS, "3", code=alone, earlier=(alone,))

    def embed_query(self, text: str) -> Embedded:
        vector = super().embed_query(text).vector
        return replace(_twice(vector[None]), others={self.alone.digest: vector})

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        return [_twice(each.rows) for each in super().embed_passages(texts)]

    def embed_code(self, texts: Sequence[str]) -> list[Embedded]:
        return super().embed_passages(texts)


def _twice(rows: np.ndarray) -> Embedded:
    return Embedded((np.hstack([rows, rows]) / np.sqrt(2)).astype(np.float32))


class UnreachableEmbedder(WordEmbedder):
    """Opens, and then cannot be reached, as a service on the network may."""

    def embed_query(self, text: str) -> Embedded:
        raise ModelUnavailable("http://localhost:1 does not answer", "start the service")

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        raise ModelUnavailable("http://localhost:1 does not answer", "start the service")


class NotingEmbedder(WordEmbedder):
    """Notes how far the thread that embeds stands back."""

    def __init__(self) -> None:
        super().__init__()
        self.priorities: list[int] = []

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        self.priorities.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        return super().embed_passages(texts)


class BrokenEmbedder(WordEmbedder):
    """Fails as nobody foresaw."""

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        raise ZeroDivisionError


def pending(world: World) -> int:
    return world.app.embeddings.pending(Memory, everything_in(world.store, "default"))


def space_of(world: World, id: str) -> str | None:
    kept = world.store.vectors(Memory, "default", id)
    return None if kept is None else kept[0].name


def test_what_was_stored_without_a_model_gets_its_vectors_once_there_is_one(
    opener: Opener,
) -> None:
    broken = opener(failed(), name="same", wait=10)
    made = [broken.remember(f"Ana likes tea {number}") for number in range(70)]
    assert {space_of(broken, id) for id in made} == {None}
    world = opener(name="same")
    assert pending(world) == 70
    assert world.ids("search", query="tea") == []
    assert world.app.embeddings.backfill(threading.Event()) == 70
    assert {space_of(world, id) for id in made} == {"words"}
    assert pending(world) == 0
    assert len(world.ids("search", query="tea", limit=50)) == 50


def states_in(world: World, *ids: str) -> dict[str, bytes]:
    space = world.app.embeddings.space_of(Memory)
    return world.store.token_states(Memory, "default", ids, space)


def test_a_memory_is_kept_with_the_states_of_its_tokens(opener: Opener) -> None:
    world = opener(ready(StateEmbedder()))
    id = world.remember("Ana likes tea")
    assert states_in(world, id) == {id: packed_of(states_of("Ana likes tea"))}
    world.call("update_memory", id=id, content="Ana likes coffee")
    assert states_in(world, id) == {id: packed_of(states_of("Ana likes coffee"))}
    assert pending(world) == 0


def test_states_that_a_store_lacks_are_made_in_the_background(opener: Opener) -> None:
    before = opener(name="same")
    ids = [before.remember(f"Ana likes tea {number}") for number in range(40)]
    assert states_in(before, *ids) == {}
    silent = before.remember("silence")
    world = opener(ready(StateEmbedder()), name="same")
    assert pending(world) == 41
    assert world.app.overview.to_embed(world.caller) == 41
    assert set(world.ids("search", query="tea", limit=50)) >= set(ids)
    assert world.app.embeddings.backfill(threading.Event()) == 41
    assert set(states_in(world, *ids)) == set(ids)
    assert states_in(world, silent) == {silent: b""}
    assert pending(world) == 0
    held = sum(map(len, states_in(world, *ids).values()))
    assert world.app.overview.token_states(world.caller)[Kind.MEMORY] == held


def test_the_time_that_the_rest_takes_is_estimated_once_some_were_embedded(
    opener: Opener,
) -> None:
    before = opener(failed(), name="same", wait=10)
    for number in range(40):
        before.remember(f"Ana likes tea {number}")
    embeddings = opener(ready(), name="same").app.embeddings
    left: list[float | None] = []
    assert embeddings.remaining(8) is None
    embeddings.after_batches.append(lambda: left.append(embeddings.remaining(8)))
    assert embeddings.backfill(threading.Event()) == 40
    assert [each is not None and 0 < each < 60 for each in left] == [True, True, True]


def test_what_has_no_vectors_comes_before_what_lacks_only_states(opener: Opener) -> None:
    opener(name="same").remember("Ana likes tea")
    late = opener(failed(), name="same", wait=10).remember("Ben likes coffee")
    embedder = StateEmbedder()
    world = opener(ready(embedder), name="same")
    code = chunk(organization="default")
    world.store.put(code)
    done = [world.app.embeddings.backfill_batch() for _ in range(4)]
    assert done == [1, 1, 1, 0]
    assert embedder.embedded == ["Ben likes coffee", code.text, "Ana likes tea"]
    assert set(states_in(world, late)) == {late}
    assert world.store.upkeep.states_size(CodeChunk, "default") == 0


def test_catching_up_stops_when_it_is_told(opener: Opener) -> None:
    opener(failed(), name="same", wait=10).remember("a")
    world = opener(name="same")
    stop = threading.Event()
    stop.set()
    assert world.app.embeddings.backfill(stop) == 0
    assert pending(world) == 1


def test_another_model_embeds_everything_anew_and_never_mixes(opener: Opener) -> None:
    id = opener(name="same").remember("Ana likes tea")
    world = opener(ready(OtherEmbedder()), name="same", wait=10)
    assert world.ids("search", query="tea") == []
    assert world.ids("search_text", query="tea") == [id]
    assert world.app.embeddings.backfill(threading.Event()) == 1
    assert space_of(world, id) == "other words"
    assert world.ids("search", query="tea") == [id]


def test_the_background_catches_up_by_itself(opener: Opener) -> None:
    id = opener(failed(), name="same", wait=10).remember("a")
    world = opener(ready(), name="same")
    world.app.start()
    wait_until(lambda: space_of(world, id) == "words")


def test_a_long_text_is_found_by_any_of_its_parts(world: World) -> None:
    id = world.remember(" ".join([*["tea"] * 100, *["boiler"] * 40]))
    world.remember("the cat sleeps")
    kept = world.store.vectors(Memory, "default", id)
    assert kept is not None
    assert kept[1].shape == (4, DIMENSIONS)
    (first, *_) = world.call("search", query="boiler")["results"]
    assert first["id"] == id
    assert first["score"] > 0.99


def test_a_model_that_loads_in_time_is_waited_for(opener: Opener) -> None:
    release = threading.Event()
    world = opener(loading(release), wait=30)
    world.app.embedding.start()
    threading.Timer(0.05, release.set).start()
    assert space_of(world, world.remember("a")) == "words"


def test_who_waits_for_the_model_is_told_so(opener: Opener) -> None:
    release = threading.Event()
    world = opener(loading(release), wait=30)
    world.app.embedding.start()
    heard: list[tuple[float, str]] = []

    def progress(part: float, what: str) -> None:
        heard.append((part, what))
        release.set()

    world.by(progress=progress).remember("a")
    ((part, what),) = heard
    assert 0 < part < 1
    assert what == "the embedding model is loading"


def test_a_question_without_a_model_says_why(opener: Opener) -> None:
    world = opener(failed("no such file"), wait=10)
    assert world.app.embeddings.embed_passage("a") is None
    with pytest.raises(EmbeddingNotReady) as refusal:
        world.app.embeddings.require_query("a")
    assert refusal.value.state == "error"
    assert "no such file" in refusal.value.reason


def test_a_service_that_does_not_answer_stores_nothing_and_says_so(opener: Opener) -> None:
    id = opener(name="same").remember("Ana likes tea")
    world = opener(ready(UnreachableEmbedder()), name="same", wait=10)
    before = world.contents()
    for tool, arguments in (
        ("store_memory", {"content": "a"}),
        ("update_memory", {"id": id, "content": "a"}),
        ("search", {"query": "tea"}),
    ):
        text = world.refused(tool, **arguments)
        assert text.startswith("Embedding service not ready. Please try again.")
        assert "start the service" in text
    assert world.contents() == before


def test_a_service_that_does_not_answer_leaves_recall_by_words(opener: Opener) -> None:
    id = opener(name="same").remember("Ana likes tea")
    world = opener(ready(UnreachableEmbedder()), name="same", wait=10)
    assert world.ids("recall", query="tea") == [id]


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priority of their own")
def test_vectors_made_in_the_background_stand_back_and_those_of_a_call_do_not(
    opener: Opener,
) -> None:
    opener(failed(), name="same", wait=10).remember("Ana likes tea")
    embedder = NotingEmbedder()
    world = opener(ready(embedder), name="same")
    stands = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    assert world.app.embeddings.backfill(threading.Event()) == 1
    world.remember("Ben likes coffee")
    assert embedder.priorities == [max(stands, PRIORITY), stands]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_error_that_nobody_foresaw_is_no_result(opener: Opener) -> None:
    opener(failed(), name="same", wait=10).remember("Ana likes tea")
    world = opener(ready(BrokenEmbedder()), name="same")
    with pytest.raises(RuntimeError, match="reported"):
        world.app.embeddings.backfill(threading.Event())


def test_of_code_the_beginning_is_embedded(opener: Opener) -> None:
    embedder = WordEmbedder()
    world = opener(ready(embedder))
    code = chunk(organization="default", content="bread " * 400)
    world.store.put(code)
    world.app.embeddings.backfill(threading.Event())
    assert embedder.embedded == [code.text[:MAX_PASSAGE]]
    assert len(code.text) > 2 * MAX_PASSAGE


def test_chunks_whose_vectors_were_made_of_another_passage_are_embedded_again(
    opener: Opener,
) -> None:
    world = opener(ready())
    store, embeddings = world.store, world.app.embeddings
    store.put(chunk(organization="default"))
    earlier = np.zeros((1, DIMENSIONS), np.float32)
    earlier[0, 0] = 1
    # As they were made when all of a chunk was embedded, in the space of every other text.
    store.put_vectors(CodeChunk, "default", "a", replace(embeddings.space, states=""), earlier)
    everything = everything_in(store, "default")
    assert embeddings.pending(CodeChunk, everything) == 1
    assert embeddings.backfill(threading.Event()) == 1
    assert embeddings.pending(CodeChunk, everything) == 0
    kept = store.vectors(CodeChunk, "default", "a")
    assert kept is not None
    assert kept[0] == embeddings.space_of(CodeChunk)
    assert not np.allclose(kept[1], earlier)


def test_what_is_near_every_question_is_less_near_without_their_mean() -> None:
    usual, own = np.eye(2, 3, dtype=np.float32)
    vector = (0.9 * usual + 0.44 * own).astype(np.float32)
    query = QueryEmbedding(vector / np.linalg.norm(vector), mean=0.9 * usual)
    assert query.vector @ usual > query.vector @ own
    less = query.without_mean(0.5).vector_of(CodeChunk)
    assert np.linalg.norm(less) == pytest.approx(1)
    assert less @ usual < query.vector @ usual
    assert less @ own > query.vector @ own
    assert query.without_mean(0.5).vector_of(Memory) is query.vector
    # A model whose mean is not known asks as it did.
    alone = QueryEmbedding(query.vector)
    assert alone.without_mean(0.5) is alone


def test_code_is_embedded_by_the_model_of_code_in_its_own_space(opener: Opener) -> None:
    world = opener(ready(TwofoldEmbedder()))
    embeddings, code = world.app.embeddings, chunk(organization="default")
    world.store.put(code)
    memory = world.remember("Ana likes tea")
    assert embeddings.backfill(threading.Event()) == 1
    space, asked = embeddings.space_of(CodeChunk), embeddings.require_query(code.text)
    assert (space.dimensions, embeddings.space.dimensions) == (DIMENSIONS, 2 * DIMENSIONS)
    for of, id in ((CodeChunk, code.id), (Memory, memory)):
        (found,) = everything_in(world.store, "default").nearest(
            of, embeddings.space_of(of), asked.vector_of(of), 5
        )
        assert found.id == id


def test_a_query_has_a_vector_in_the_space_of_earlier_releases(opener: Opener) -> None:
    before = opener(ready(StateEmbedder()), name="same")
    id = before.remember("Ana likes tea")
    world = opener(ready(TwofoldEmbedder()), name="same")
    embeddings, view = world.app.embeddings, everything_in(world.store, "default")
    ((space, unrelated),) = embeddings.earlier_spaces(Memory, "default")
    assert (space, space.states) == (before.app.embeddings.space, "2 signs 1")
    assert unrelated == before.app.embeddings.unrelated(Memory)
    asked = embeddings.require_query("tea")
    assert view.nearest(Memory, embeddings.space, asked.vector, 5) == []
    (found,) = view.nearest(Memory, space, asked.earlier[space.digest], 5)
    assert found.id == id
    assert list(embeddings.earlier_spaces(CodeChunk, "default")) == []
    embeddings.backfill(threading.Event())
    assert list(embeddings.earlier_spaces(Memory, "default")) == []
