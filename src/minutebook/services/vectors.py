"""Vectors for texts: made with the record where the model is ready, caught up where it was not."""

import logging
import threading
from collections.abc import Sequence

from minutebook.domain.errors import EmbeddingNotReady, ModelUnavailable
from minutebook.domain.records import Kind, Memory
from minutebook.embedding.service import Embedding
from minutebook.store.protocol import Store, Vectors, VectorSpace

log = logging.getLogger(__name__)

BATCH = 32
"""How many records a round of catching up embeds before it writes."""


class Embedded:
    """Joins the embedding model and the store's vectors."""

    def __init__(self, store: Store, embedding: Embedding, wait: float) -> None:
        self._store = store
        self._embedding = embedding
        self._wait = wait

    @property
    def space(self) -> VectorSpace:
        """The space of the model in use."""
        model = self._embedding.model
        return VectorSpace(model.name, model.digest, model.dimensions)

    def check_known(self) -> None:
        """Wait until it is known what the model's vectors are like; EmbeddingNotReady without one."""
        if self.space.dimensions == 0 and self._is_out_of_order():
            raise EmbeddingNotReady("error", self._embedding.reason)

    def passage(self, text: str) -> Vectors | None:
        """Embed a text to keep, its parts as rows; None where the model cannot be had at all.

        While the model loads this waits, then raises EmbeddingNotReady.
        """
        if self._is_out_of_order():
            return None
        return self._embedding.embed_passages([text])[0]

    def query(self, text: str) -> Vectors:
        """Embed a question, shape (dimensions,); EmbeddingNotReady without a model."""
        if self._is_out_of_order():
            raise EmbeddingNotReady("error", self._embedding.reason)
        return self._embedding.embed_query(text)

    def question(self, text: str) -> Vectors | None:
        """Embed a question, or None where the model cannot be had; EmbeddingNotReady while it loads."""
        try:
            return self.query(text)
        except EmbeddingNotReady as error:
            if error.state == "loading":
                raise
        except ModelUnavailable as error:
            log.warning("a question is answered without its meaning: %s", error)
        return None

    def keep(self, memory: Memory, vectors: Vectors | None) -> None:
        """Keep the vectors of a memory that was just put; None leaves it to `catch_up`."""
        if vectors is not None:
            self._store.put_vectors(
                Kind.MEMORY, memory.organization, memory.id, self.space, vectors
            )

    def pending(self, limit: int) -> int:
        """Count, up to a limit, the memories that still wait for their vectors."""
        if self._embedding.state != "ready":
            return 0
        return sum(
            len(self._store.without_vectors(Kind.MEMORY, name, self.space, limit))
            for name in self._store.organizations()
        )

    def catch_up(self, stop: threading.Event) -> int:
        """Embed every memory that has no vectors of the model in use; give how many."""
        done = 0
        for organization in self._store.organizations():
            while not stop.is_set():
                found = self._store.without_vectors(Kind.MEMORY, organization, self.space, BATCH)
                memories = [record for record in found if isinstance(record, Memory)]
                if not memories:
                    break
                done += self._embed(memories)
        return done

    def _embed(self, memories: Sequence[Memory]) -> int:
        made = self._embedding.embed_passages([memory.text for memory in memories])
        with self._store.transaction():
            for memory, vectors in zip(memories, made, strict=True):
                current = self._store.get(Kind.MEMORY, memory.organization, memory.id)
                if isinstance(current, Memory) and current.text == memory.text:
                    self.keep(memory, vectors)
        return len(memories)

    def _is_out_of_order(self) -> bool:
        """Tell whether the model failed to load; wait first if it is still loading."""
        try:
            self._embedding.wait(self._wait)
        except EmbeddingNotReady as error:
            if error.state == "loading":
                raise
            return True
        except ModelUnavailable:
            return True
        return False
