"""Embed texts: with the record if the model is ready, in the background otherwise."""

import logging
import os
import sys
import threading
from collections.abc import Iterator, Sequence

from minutebook.domain.caller import Progress, no_progress
from minutebook.domain.errors import EmbeddingNotReady, MinutebookError, ModelUnavailable
from minutebook.domain.filters import Filter
from minutebook.domain.records import (
    CodeChunk,
    Decision,
    Memory,
    Proposal,
    Summary,
    TextRecord,
    Turn,
)
from minutebook.embedding.protocol import Embedded
from minutebook.embedding.service import Embedding, State
from minutebook.search.text import MAX_TEXT, check_query
from minutebook.store.named_locks import NamedLocks
from minutebook.store.protocol import Store, Vectors, VectorSpace

log = logging.getLogger(__name__)

BATCH = 32
"""How many records are embedded before their vectors are written, at most."""

BATCH_CHARACTERS = 200_000
"""Characters after which a batch ends; a killed process loses the work of one batch."""

IN_ORDER: tuple[type[TextRecord], ...] = (Memory, Decision, Proposal, Summary, Turn, CodeChunk)
"""The records whose texts have vectors; the first are embedded first."""

PRIORITY = 10
"""Niceness of the thread that embeds in the background.

Without it a search takes 2.5 times as long meanwhile, with it 1.5 (docs/decisions/0015).
"""

REPORT_EVERY = 0.5
"""Seconds between two reports that the model is still loading."""

WAIT_SHARE = 0.1
"""The share of an act's progress that waiting for the model is reported as."""

_LOCK = "vectors"


class Embeddings:
    """Embed texts and keep their vectors in the store."""

    def __init__(self, store: Store, embedding: Embedding, wait: float, locks: NamedLocks) -> None:
        self._store = store
        self._embedding = embedding
        self._timeout = wait
        self._locks = locks
        self._pending = threading.Event()

    @property
    def space(self) -> VectorSpace:
        """The space of the model in use."""
        model = self._embedding.model
        return VectorSpace(model.name, model.digest, model.dimensions)

    @property
    def state(self) -> State:
        """Whether the model is loading, ready or failed."""
        return self._embedding.state

    def check_known(self) -> None:
        """Wait until the dimensions of the model's vectors are known. Raises EmbeddingNotReady if it failed."""
        if self.space.dimensions == 0 and self._is_unavailable(no_progress):
            raise EmbeddingNotReady("error", self._embedding.reason)

    def embed_passage(self, text: str, progress: Progress = no_progress) -> Vectors | None:
        """Return the vectors of a text to keep, shape (parts, dimensions); None if the model failed.

        Waits while the model loads. Raises EmbeddingNotReady if it is still loading after that.
        """
        if self._is_unavailable(progress):
            return None
        return self._embedding.embed_passages([text[:MAX_TEXT]])[0].rows

    def try_embed_passage(self, text: str) -> Vectors | None:
        """Return the vectors of a text to keep if the model is ready now; None leaves it to `backfill`."""
        if self.state != "ready":
            return None
        try:
            return self._embedding.embed_passages([text[:MAX_TEXT]])[0].rows
        except (EmbeddingNotReady, ModelUnavailable) as error:
            log.warning("a text is kept without its meaning for now: %s", error)
            return None

    def require_query_vector(self, text: str, progress: Progress = no_progress) -> Vectors:
        """Return the vector of a query, shape (dimensions,).

        Raises EmbeddingNotReady if the model is loading or failed, InvalidInput for an unfit query.
        """
        check_query(text)
        if self._is_unavailable(progress):
            raise EmbeddingNotReady("error", self._embedding.reason)
        return self._embedding.embed_query(text).vector

    def embed_query(self, text: str, progress: Progress = no_progress) -> Vectors | None:
        """Return the vector of a query, None if the model failed. Raises EmbeddingNotReady while it loads."""
        try:
            return self.require_query_vector(text, progress)
        except EmbeddingNotReady as error:
            if error.state == "loading":
                raise
        except ModelUnavailable as error:
            log.warning("a question is answered without its meaning: %s", error)
        return None

    def try_embed_query(self, text: str, progress: Progress = no_progress) -> Vectors | None:
        """Return the vector of a query, None if the model is loading or failed."""
        try:
            return self.embed_query(text, progress)
        except EmbeddingNotReady:
            return None

    def put_vectors(self, record: TextRecord, vectors: Vectors | None) -> None:
        """Put the vectors of a record that was just put; None leaves it to `backfill`."""
        if vectors is not None:
            self._store.put_vectors(
                type(record), record.organization, record.id, self.space, vectors
            )

    def pending(self, of: type[TextRecord], where: Filter) -> int:
        """Count the selected records without vectors of the model in use."""
        return self._store.count(of, where) - self._store.count_vectors(of, where, self.space)

    def notify(self) -> None:
        """Wake the thread in `wait`: there are records without vectors."""
        self._pending.set()

    def wait(self, timeout: float) -> None:
        """Wait for `notify`, at most `timeout` seconds."""
        self._pending.wait(timeout)
        self._pending.clear()

    def backfill(self, stop: threading.Event) -> int:
        """Embed every record without vectors of the model in use; return how many.

        Returns at once if another process is embedding. Raises EmbeddingError if the model fails.
        """
        done = 0
        while not stop.is_set() and (more := self.backfill_batch()):
            done += more
        return done

    def backfill_batch(self) -> int:
        """Embed one batch of records without vectors of the model in use; return how many.

        Returns 0 if another process is embedding. Raises EmbeddingError if the model fails.
        """
        with self._locks.hold(_LOCK) as is_held:
            return self._embed(self._next()) if is_held else 0

    def _next(self) -> Sequence[TextRecord]:
        for of in IN_ORDER:
            for organization in self._store.organizations():
                found = self._store.without_vectors(of, organization, self.space, BATCH)
                if found:
                    return list(_first_texts(found))
        return []

    def _embed(self, records: Sequence[TextRecord]) -> int:
        if not records:
            return 0
        made = _embed_at_low_priority(
            self._embedding, [record.text[:MAX_TEXT] for record in records]
        )
        with self._store.transaction():
            for record, embedded in zip(records, made, strict=True):
                current = self._store.get(type(record), record.organization, record.id)
                if current is not None and current.text == record.text:
                    self.put_vectors(record, embedded.rows)
        return len(records)

    def _is_unavailable(self, progress: Progress) -> bool:
        """Wait while the model loads; tell whether it failed. Raises EmbeddingNotReady at the timeout."""
        waited = 0.0
        while True:
            step = min(REPORT_EVERY, self._timeout - waited)
            try:
                self._embedding.wait(step)
            except EmbeddingNotReady as error:
                if error.state != "loading":
                    return True
                waited += step
                if waited >= self._timeout:
                    raise
                # How much of the load is done is not known; how much of the wait is over is.
                what = "loading" if self._embedding.prepared is None else "being prepared, once"
                progress(waited / self._timeout * WAIT_SHARE, f"the embedding model is {what}")
            except ModelUnavailable:
                return True
            else:
                return False


class _LowPriorityEmbedding(threading.Thread):
    """Embeds texts at low priority and keeps the vectors or the error.

    A daemon thread, because a process that ends does not wait for vectors.
    """

    def __init__(self, embedding: Embedding, texts: Sequence[str]) -> None:
        super().__init__(name="passages", daemon=True)
        self._embedding = embedding
        self._texts = texts
        self.made: list[Embedded] | None = None
        self.refused: MinutebookError | None = None

    def run(self) -> None:
        if sys.platform == "linux":
            # A thread has a priority of its own there. It cannot be raised again, so it ends with this.
            own = threading.get_native_id()
            niceness = os.getpriority(os.PRIO_PROCESS, own)
            os.setpriority(os.PRIO_PROCESS, own, max(niceness, PRIORITY))
        try:
            self.made = self._embedding.embed_passages(self._texts)
        except MinutebookError as error:
            self.refused = error


def _first_texts(records: Sequence[TextRecord]) -> Iterator[TextRecord]:
    """Yield records up to and including the one that reaches BATCH_CHARACTERS."""
    characters = 0
    for record in records:
        yield record
        characters += len(record.text)
        if characters >= BATCH_CHARACTERS:
            return


def _embed_at_low_priority(embedding: Embedding, texts: Sequence[str]) -> list[Embedded]:
    """Embed texts in a thread that leaves the processor to queries. Raises what the embedder raises."""
    worker = _LowPriorityEmbedding(embedding, texts)
    worker.start()
    worker.join()
    if worker.refused is not None:
        raise worker.refused
    if worker.made is None:
        raise RuntimeError("embedding ended with an error, which its thread reported")
    return worker.made
