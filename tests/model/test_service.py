import threading
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.model import CacheStats, Embedded, Embedder, Embedding, Model
from minutebook.record.errors import EmbeddingNotReady, ModelUnavailable
from tests.examples import examples

EXPECTED = Model("expected", "", 2)


class Lengths:
    """Embeds a text by its length: a small embedder with a life of its own."""

    model = Model("lengths", "d", 2)

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed_query(self, text: str) -> Embedded:
        self.asked.append(text)
        angle = float(len(text))
        return Embedded(np.array([[np.cos(angle), np.sin(angle)]], np.float32))

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        return [self.embed_query(text) for text in texts]


class Gate:
    """Opens an embedder when told to, or fails as told."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.failures: list[Exception] = []
        self.opened = 0
        self.embedder = Lengths()

    def __call__(self) -> Embedder:
        assert self.go.wait(60)
        self.opened += 1
        if self.failures:
            raise self.failures.pop()
        return self.embedder


@pytest.fixture
def gate() -> Gate:
    return Gate()


def test_a_model_is_loading_until_it_is_ready(gate: Gate) -> None:
    embedding = Embedding(gate, EXPECTED)
    assert (embedding.state, embedding.model, embedding.reason) == ("loading", EXPECTED, "")
    embedding.start()
    embedding.start()
    assert embedding.state == "loading"
    with pytest.raises(EmbeddingNotReady) as refusal:
        embedding.wait(0.01)
    assert refusal.value.state == "loading"
    with pytest.raises(EmbeddingNotReady):
        embedding.embed_query("too early")
    with pytest.raises(EmbeddingNotReady):
        embedding.embed_passages(["too early"])
    gate.go.set()
    embedding.wait(60)
    assert (embedding.state, embedding.model) == ("ready", Lengths.model)
    embedding.start()
    assert (
        embedding.embed_query("now").vector.tolist()
        == gate.embedder.embed_query("now").vector.tolist()
    )
    assert gate.opened == 1


def test_waiting_begins_the_load(gate: Gate) -> None:
    gate.go.set()
    embedding = Embedding(gate, EXPECTED)
    assert embedding.settle(60) == "ready"


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (ModelUnavailable("no weights", "run this"), "no weights; run this"),
        (OSError("disk gone"), "OSError: disk gone"),
        (ValueError(), "ValueError: "),
    ],
)
def test_a_failed_load_is_told_and_can_be_tried_again(
    failure: Exception, reason: str, gate: Gate
) -> None:
    gate.failures.append(failure)
    gate.go.set()
    embedding = Embedding(gate, EXPECTED)
    embedding.start()
    for _ in range(2):
        with pytest.raises(EmbeddingNotReady) as refusal:
            embedding.wait(60)
        assert (refusal.value.state, refusal.value.reason) == ("error", reason)
    assert (embedding.state, embedding.reason, embedding.model) == ("error", reason, EXPECTED)
    assert gate.opened == 1
    embedding.start()
    embedding.wait(60)
    assert (embedding.state, embedding.reason, gate.opened) == ("ready", "", 2)


def test_a_failed_load_is_loading_again_while_it_is_tried_again(gate: Gate) -> None:
    gate.failures.append(OSError("disk gone"))
    gate.go.set()
    embedding = Embedding(gate, EXPECTED)
    assert embedding.settle(60) == "error"
    gate.go.clear()
    embedding.start()
    assert (embedding.state, embedding.reason) == ("loading", "")
    gate.go.set()
    assert embedding.settle(60) == "ready"


def opened(size: int) -> tuple[Embedding, Lengths]:
    embedder = Lengths()
    embedding = Embedding(lambda: embedder, EXPECTED, size)
    embedding.wait(60)
    return embedding, embedder


@settings(max_examples=examples(60), deadline=None)
@given(asked=st.lists(st.sampled_from(["a", "bb", "ccc", "\ud800", "?"]), max_size=20))
@pytest.mark.parametrize("size", [1, 3, 8])
def test_cache_statistics_are_those_of_a_list_of_the_last_asked(
    size: int, asked: list[str]
) -> None:
    embedding, embedder = opened(size)
    recent: list[str] = []
    hits = 0
    for text in asked:
        assert embedding.embed_query(text).vector[0] == np.float32(np.cos(len(text)))
        if text in recent:
            hits += 1
            recent.remove(text)
        recent = [*recent, text][-size:]
        assert embedding.cache_stats == CacheStats(hits, len(embedder.asked), len(recent))


def test_passages_leave_the_statistics_alone() -> None:
    embedding, _ = opened(4)
    embedding.embed_query("a")
    assert [made.rows.shape for made in embedding.embed_passages(["a", "b"])] == [(1, 2)] * 2
    assert embedding.cache_stats == CacheStats(0, 1, 1)


def test_a_cached_vector_cannot_be_changed_by_who_asked() -> None:
    embedding, _ = opened(4)
    with pytest.raises(ValueError, match="read-only"):
        embedding.embed_query("a").vector[0] = 7


def test_threads_lose_no_count() -> None:
    embedding, embedder = opened(64)
    texts = ["x" * (n % 8) for n in range(400)]
    threads = [
        threading.Thread(target=lambda: [embedding.embed_query(text) for text in texts])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stats = embedding.cache_stats
    assert stats.hits + stats.misses == 4 * len(texts)
    assert (stats.misses, stats.size) == (len(embedder.asked), 8)
