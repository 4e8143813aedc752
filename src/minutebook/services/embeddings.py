"""Vectors for texts: made with the record where the model is ready, caught up where it was not."""

import logging
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import cast

from minutebook.domain.caller import Progress, no_progress
from minutebook.domain.errors import EmbeddingNotReady, MinutebookError, ModelUnavailable
from minutebook.domain.filters import Filter
from minutebook.domain.records import Kind, TextRecord
from minutebook.embedding.protocol import Rows
from minutebook.embedding.service import Embedding, State
from minutebook.search.text import MAX_TEXT, check_query
from minutebook.store.named_locks import NamedLocks
from minutebook.store.protocol import Store, Vectors, VectorSpace

log = logging.getLogger(__name__)

BATCH = 32
"""How many records are embedded before their vectors are written, at most."""

BATCH_CHARACTERS = 200_000
"""After how many characters no further record joins them: what a kill undoes is done again."""

TEXT_KINDS = (
    Kind.MEMORY,
    Kind.DECISION,
    Kind.PROPOSAL,
    Kind.SUMMARY,
    Kind.TURN,
    Kind.CHUNK,
)
"""The kinds whose texts have vectors; the first is served first."""

PRIORITY = 10
"""How far the thread that embeds in the background stands back, as `nice` counts.

Without it a search takes 2.5 times as long meanwhile, with it 1.5 (docs/decisions/0015).
"""

TELL_EVERY = 0.5
"""Seconds between two reports that the model is still loading."""

MOST_TOLD = 0.1
"""The part of an act that waiting for the model may seem to be, so that the rest has room."""

_CLAIM = "vectors"


class Embeddings:
    """Joins the embedding model and the store's vectors."""

    def __init__(self, store: Store, embedding: Embedding, wait: float, claims: NamedLocks) -> None:
        self._store = store
        self._embedding = embedding
        self._wait = wait
        self._claims = claims
        self._wanted = threading.Event()

    @property
    def space(self) -> VectorSpace:
        """The space of the model in use."""
        model = self._embedding.model
        return VectorSpace(model.name, model.digest, model.dimensions)

    @property
    def state(self) -> State:
        """Whether the model is loading, ready, or cannot be had."""
        return self._embedding.state

    def check_known(self) -> None:
        """Wait until it is known what the model's vectors are like; EmbeddingNotReady without one."""
        if self.space.dimensions == 0 and self._is_out_of_order(no_progress):
            raise EmbeddingNotReady("error", self._embedding.reason)

    def passage(self, text: str, progress: Progress = no_progress) -> Vectors | None:
        """Embed a text to keep, its parts as rows; None where the model cannot be had at all.

        While the model loads this waits, and reports so, then raises EmbeddingNotReady.
        """
        if self._is_out_of_order(progress):
            return None
        return self._embedding.embed_passages([text[:MAX_TEXT]])[0]

    def ready_passage(self, text: str) -> Vectors | None:
        """Embed a text to keep if the model is ready now; None leaves it to `catch_up`."""
        if self.state != "ready":
            return None
        try:
            return self._embedding.embed_passages([text[:MAX_TEXT]])[0]
        except (EmbeddingNotReady, ModelUnavailable) as error:
            log.warning("a text is kept without its meaning for now: %s", error)
            return None

    def query(self, text: str, progress: Progress = no_progress) -> Vectors:
        """Embed a question, shape (dimensions,); EmbeddingNotReady without a model, InvalidInput."""
        check_query(text)
        if self._is_out_of_order(progress):
            raise EmbeddingNotReady("error", self._embedding.reason)
        return self._embedding.embed_query(text)

    def question(self, text: str, progress: Progress = no_progress) -> Vectors | None:
        """Embed a question, or None where the model cannot be had; EmbeddingNotReady while it loads."""
        try:
            return self.query(text, progress)
        except EmbeddingNotReady as error:
            if error.state == "loading":
                raise
        except ModelUnavailable as error:
            log.warning("a question is answered without its meaning: %s", error)
        return None

    def question_in_time(self, text: str, progress: Progress = no_progress) -> Vectors | None:
        """Embed a question, or None where no model can in time: for those whom words help, too."""
        try:
            return self.question(text, progress)
        except EmbeddingNotReady:
            return None

    def keep(self, record: TextRecord, vectors: Vectors | None) -> None:
        """Keep the vectors of a record that was just put; None leaves it to `catch_up`."""
        if vectors is not None:
            self._store.put_vectors(
                record.kind, record.organization, record.id, self.space, vectors
            )

    def pending(self, kind: Kind, where: Filter) -> int:
        """Count the selected records that wait for vectors of the model in use."""
        return self._store.count(kind, where) - self._store.count_vectors(kind, where, self.space)

    def want(self) -> None:
        """Say that there are records without vectors."""
        self._wanted.set()

    def await_wish(self, timeout: float) -> None:
        """Wait, at most `timeout` seconds, until someone says so."""
        self._wanted.wait(timeout)
        self._wanted.clear()

    def catch_up(self, stop: threading.Event) -> int:
        """Embed every record that has no vectors of the model in use; give how many.

        Ends at once where another process is at it. Raises EmbeddingError.
        """
        done = 0
        while not stop.is_set() and (more := self.advance()):
            done += more
        return done

    def advance(self) -> int:
        """Embed some records that have no vectors of the model in use; give how many.

        0 also where another is at it: texts are not embedded twice. Raises EmbeddingError.
        """
        with self._claims.taken(_CLAIM) as mine:
            return self._embed(self._next()) if mine else 0

    def _next(self) -> Sequence[TextRecord]:
        for kind in TEXT_KINDS:
            for organization in self._store.organizations():
                found = self._store.without_vectors(kind, organization, self.space, BATCH)
                if found:
                    return list(_first_texts(cast("list[TextRecord]", found)))
        return []

    def _embed(self, records: Sequence[TextRecord]) -> int:
        if not records:
            return 0
        made = _standing_back(self._embedding, [record.text[:MAX_TEXT] for record in records])
        with self._store.transaction():
            for record, vectors in zip(records, made, strict=True):
                current = self._store.get(record.kind, record.organization, record.id)
                if isinstance(current, TextRecord) and current.text == record.text:
                    self._store.put_vectors(
                        record.kind, record.organization, record.id, self.space, vectors
                    )
        return len(records)

    def _is_out_of_order(self, progress: Progress) -> bool:
        """Tell whether the model failed to load; wait first if it is still loading."""
        waited = 0.0
        while True:
            step = min(TELL_EVERY, self._wait - waited)
            try:
                self._embedding.wait(step)
            except EmbeddingNotReady as error:
                if error.state != "loading":
                    return True
                waited += step
                if waited >= self._wait:
                    raise
                # How much of the load is done is not known: what is told is how much of the wait.
                what = "loading" if self._embedding.prepared is None else "being prepared, once"
                progress(waited / self._wait * MOST_TOLD, f"the embedding model is {what}")
            except ModelUnavailable:
                return True
            else:
                return False


class _StandingBack(threading.Thread):
    """Embeds texts at low priority, and keeps what came of it.

    A daemon, because a process that ends does not wait for vectors.
    """

    def __init__(self, embedding: Embedding, texts: Sequence[str]) -> None:
        super().__init__(name="passages", daemon=True)
        self._embedding = embedding
        self._texts = texts
        self.made: list[Rows] | None = None
        self.refused: MinutebookError | None = None

    def run(self) -> None:
        if sys.platform == "linux":
            # A thread has a priority of its own there. It cannot be raised again, so it ends with this.
            own = threading.get_native_id()
            stands = os.getpriority(os.PRIO_PROCESS, own)
            os.setpriority(os.PRIO_PROCESS, own, max(stands, PRIORITY))
        try:
            self.made = self._embedding.embed_passages(self._texts)
        except MinutebookError as error:
            self.refused = error


def _first_texts(records: Sequence[TextRecord]) -> Iterator[TextRecord]:
    """Give at least one record, and further ones until their texts have enough characters."""
    characters = 0
    for record in records:
        yield record
        characters += len(record.text)
        if characters >= BATCH_CHARACTERS:
            return


def _standing_back(embedding: Embedding, texts: Sequence[str]) -> list[Rows]:
    """Embed texts so that questions asked meanwhile come first; raises as the embedding does."""
    worker = _StandingBack(embedding, texts)
    worker.start()
    worker.join()
    if worker.refused is not None:
        raise worker.refused
    if worker.made is None:
        raise RuntimeError("embedding ended with an error, which its thread reported")
    return worker.made
