"""Embeds texts: when a record is written if the model is ready, otherwise in the background."""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import groupby

import numpy as np

from minutebook.memory.access.visibility import View
from minutebook.model.protocol import Model
from minutebook.model.service import Embedding, State
from minutebook.record.caller import Note, Progress, no_progress
from minutebook.record.errors import EmbeddingNotReady, MinutebookError, ModelUnavailable
from minutebook.record.filters import Filter
from minutebook.record.reason import Reason, counted
from minutebook.record.records import (
    PASSAGE,
    CodeChunk,
    Decision,
    Memory,
    ProjectCommit,
    Proposal,
    Summary,
    TextRecord,
    Turn,
)
from minutebook.store.named_locks import NamedLocks
from minutebook.store.protocol import Store
from minutebook.store.values import Vectors, VectorSpace
from minutebook.text.calibration import rescaled_cosine
from minutebook.text.judged_vectors import Judgement, chances
from minutebook.text.late_interaction import EARLIER_FORM, FORM, Question, whole
from minutebook.text.words import MAX_TEXT, check_query

log = logging.getLogger(__name__)

EMBEDDING_WAIT = 10.0
"""Seconds that a call waits for a model that is still loading."""

BATCH = 32
"""The most records that are embedded before their vectors are written."""

BATCH_CHARACTERS = 60_000
"""The most characters of a batch, for a killed process loses the work of one batch.

A longer text is a batch of its own, so that short ones before it need not wait for it.
"""

IN_ORDER: tuple[type[TextRecord], ...] = (
    *(Memory, Decision, Proposal, Summary, Turn, ProjectCommit, CodeChunk),
)
"""The records whose texts have vectors; the first are embedded first."""

PRIORITY = 10
"""Niceness of the thread that embeds in the background.

Without it a search takes 2.5 times as long meanwhile, with it 1.5 (docs/decisions/0015).
"""

RATE_WEIGHT = 0.2
"""The weight of the latest batch in the estimate of the time that a text takes."""

REPORT_EVERY = 0.5
"""Seconds between two reports that the model is still loading."""

QUERY_WAIT = 1.0
"""Seconds that a search which words can answer waits for a model that is loading."""

WAIT_SHARE = 0.1
"""The share of an act's progress that is reported for waiting for the model."""

_LOCK = "vectors"


@dataclass(frozen=True, slots=True)
class TextEmbedding:
    """The stored embedding of a text."""

    vectors: Vectors
    states: bytes | None
    """Packed token states; None if the model makes none or they are not kept."""


@dataclass(frozen=True, slots=True)
class QueryEmbedding:
    """The embedding of a query: its vector, shape (dimensions,), and its token states if those of records are kept.

    `code` is its vector by the model for code, None if there is no such model; `mean` is the mean vector of questions
    about code, None if the model has none. `earlier` has its vectors by the models of earlier
    releases, by their digest.
    """

    vector: Vectors
    question: Question | None = None
    mean: Vectors | None = None
    code: Vectors | None = None
    earlier: Mapping[str, Vectors] = field(default_factory=dict)

    def vector_of(self, of: type[TextRecord]) -> Vectors:
        """Return the vector to compare with those of records of a class."""
        return self.vector if of is not CodeChunk or self.code is None else self.code

    def without_mean(self, part: float) -> "QueryEmbedding":
        """Return the query with a part of the mean question subtracted from its vector for code.

        So texts that are near every question are less near to this one.
        """
        if self.mean is None:
            return self
        rest = self.vector_of(CodeChunk) - np.float32(part) * self.mean
        return replace(self, code=rest / np.linalg.norm(rest))


class Embeddings:
    """Embeds texts and stores their vectors and token states."""

    def __init__(self, store: Store, embedding: Embedding, wait: float, locks: NamedLocks) -> None:
        self._store = store
        self._embedding = embedding
        self._timeout = wait
        self._locks = locks
        self._pending = threading.Event()
        self._without_earlier: dict[tuple[type[TextRecord], str, str], int] = {}
        self._complete: dict[tuple[type[TextRecord], str], tuple[VectorSpace, int]] = {}
        self._seconds_each: float | None = None
        self.after_batches: list[Callable[[], None]] = []
        """Called after each batch that the background embeds."""

    @property
    def space(self) -> VectorSpace:
        """The space of the model in use, with the form of its token states if they are kept."""
        model = self._embedding.model
        form = f"{model.states} {FORM}" if model.states else ""
        return VectorSpace(model.name, model.digest, model.dimensions, form)

    @property
    def spell(self) -> Callable[[Sequence[int]], Sequence[str]] | None:
        """The function that writes word pieces by their ids, for `text.revisions`; None if no loaded model can."""
        speller = self._embedding.speller
        return None if speller is None else speller.spell

    def chance(self, judgement: Judgement, query: QueryEmbedding | None) -> float:
        """Return the chance that a judgement applies to a query, by its vector; 0 without one."""
        if query is None:
            return 0.0
        return float(chances(judgement, query.vector[None], self.space.name)[0])

    def unrelated(self, of: type[TextRecord]) -> float:
        """Return the cosine of unrelated texts by the model for records of a class."""
        return self._model_of(of).unrelated

    def _model_of(self, of: type[TextRecord]) -> Model:
        model = self._embedding.model
        return model if of is not CodeChunk else model.code or model

    def space_of(self, of: type[TextRecord]) -> VectorSpace:
        """Return the space for records of a class.

        That of code has no token states, and its digest names the rule by which passages are cut: when
        the rule changes, the vectors are made again.
        """
        if of is not CodeChunk:
            return self.space
        model = self._model_of(of)
        return VectorSpace(model.name, f"{model.digest} {PASSAGE}", model.dimensions)

    def earlier_spaces(
        self, of: type[TextRecord], organization: str
    ) -> Iterator[tuple[VectorSpace, float]]:
        """Yield the spaces of earlier releases in which records of a class still have vectors, with the cosine of unrelated texts.

        A query has vectors in these spaces, too (`QueryEmbedding.earlier`).
        """
        models = self._embedding.model.earlier if of is not CodeChunk else ()
        everything, sequence = Filter(organization=organization), 0
        for model in models:
            # Asked again after each change, because another machine, or an archive, may bring such vectors.
            sequence = sequence or self._store.sequence(organization)
            if self._without_earlier.get((of, organization, model.digest)) == sequence:
                continue
            space = VectorSpace(model.name, model.digest, model.dimensions)
            if self._store.count_vectors(of, everything, space):
                yield replace(space, states=f"{model.states} {EARLIER_FORM}"), model.unrelated
            else:
                self._without_earlier[of, organization, model.digest] = sequence

    def nearest(
        self,
        of: type[TextRecord],
        view: View,
        embedding: QueryEmbedding,
        limit: int,
        also: Collection[str] = (),
    ) -> dict[tuple[str, str], float]:
        """Return the cosines, by organization and id, of the records in a view nearest to a query, and of those in `also`.

        Records that only an earlier release embedded are compared by its model, and their cosines rescaled to
        the model in use.
        """
        organization, unrelated = view.organization, self.unrelated(of)
        before: dict[tuple[str, str], float] = {}
        for space, unrelated_there in self.earlier_spaces(of, organization):
            # A query whose vector a caller gives has none in earlier spaces.
            if (vector := embedding.earlier.get(space.digest)) is not None:
                for each in view.nearest(of, space, vector, limit, also):
                    score = rescaled_cosine(each.score, unrelated_there, unrelated)
                    before[organization, each.id] = score
        # The space in use last, so that a record which is embedded anew meanwhile is not missed.
        found = view.nearest(of, self.space_of(of), embedding.vector_of(of), limit, also)
        own = {(organization, each.id): each.score for each in found}
        if not before:
            return own
        scores = before | own
        best = nsmallest(limit, scores, key=lambda key: (-scores[key], key))
        named = ((organization, id) for id in also)
        return {key: scores[key] for key in (*best, *named) if key in scores}

    def token_states(
        self, of: type[TextRecord], organization: str, ids: Sequence[str]
    ) -> dict[str, bytes]:
        """Return the packed token states, by id, of records that have any which can be compared with the model's in use."""
        own = self.space_of(of)
        found: dict[str, bytes] = {}
        if own.states and ids:
            # The space in use last, so that a record which is embedded anew meanwhile is not missed.
            for space in (*(each for each, _ in self.earlier_spaces(of, organization)), own):
                found |= self._store.token_states(of, organization, ids, space)
        return found

    def states_of(self, records: Iterable[TextRecord]) -> dict[tuple[str, str], bytes]:
        """Return the undamaged token states of those records that have any, by organization and id."""
        ids: dict[tuple[type[TextRecord], str], list[str]] = {}
        for each in records:
            ids.setdefault((type(each), each.organization), []).append(each.id)
        return {
            (organization, id): packed
            for (of, organization), some in ids.items()
            for id, packed in whole(self.token_states(of, organization, some)).items()
        }

    @property
    def state(self) -> State:
        """Whether the model is loading, ready or failed."""
        return self._embedding.state

    @property
    def is_expected(self) -> bool:
        """Whether the background will embed texts: the user wants a model, and it has not failed."""
        return not self._embedding.is_off and self.state != "error"

    def check_known(self) -> None:
        """Wait until the dimensions of the model's vectors are known. Raises EmbeddingNotReady if it failed."""
        if self.space.dimensions == 0 and self._is_unavailable(no_progress):
            raise EmbeddingNotReady("error", self._embedding.reason)

    def embed_passage(self, text: str, progress: Progress = no_progress) -> TextEmbedding | None:
        """Return the embedding to store for a text; None if the model failed.

        Waits while the model loads. Raises EmbeddingNotReady if it is still loading after that.
        """
        if self._is_unavailable(progress):
            return None
        return self._embed_texts([text])[0]

    def try_embed_passage(self, text: str) -> TextEmbedding | None:
        """Return the embedding to store for a text if the model is ready now; None leaves it to `backfill`."""
        if self.state != "ready":
            return None
        try:
            return self._embed_texts([text])[0]
        except (EmbeddingNotReady, ModelUnavailable) as error:
            log.warning("a text is kept without its meaning for now: %s", error)
            return None

    def require_query(self, text: str, progress: Progress = no_progress) -> QueryEmbedding:
        """Embed a query.

        Raises EmbeddingNotReady if the model is loading or failed, InvalidInput for an unfit query.
        """
        check_query(text)
        if self._is_unavailable(progress):
            raise EmbeddingNotReady("error", self._embedding.reason)
        return self._embed_query(text)

    def embed_query(self, text: str, progress: Progress = no_progress) -> QueryEmbedding | None:
        """Embed a query; None if the model failed or does not load within QUERY_WAIT.

        It is for searches that words can answer. Raises InvalidInput for an unfit query.
        """
        check_query(text)
        try:
            if self._is_unavailable(progress, min(self._timeout, QUERY_WAIT)):
                return None
            return self._embed_query(text)
        except EmbeddingNotReady:
            return None
        except ModelUnavailable as error:
            log.warning("a question is answered without its meaning: %s", error)
            return None

    def _is_complete(
        self, of: type[TextRecord], organization: str, sequence: int, space: VectorSpace
    ) -> bool:
        """Tell whether all of an organization's records of a class have vectors of a space; cached until `sequence` changes."""
        if self._complete.get((of, organization)) == (space, sequence):
            return True
        if self._store.without_vectors([of], space, 1, [organization]):
            return False
        self._complete[of, organization] = space, sequence
        return True

    def _embed_query(self, text: str) -> QueryEmbedding:
        embedded = self._embedding.embed_query(text)
        question = None
        if embedded.tokens is not None and self.space.states:
            question = Question(embedded.tokens, embedded.english)
        model = self._embedding.model
        code = None if model.code is None else embedded.others[model.code.digest]
        earlier = {each.digest: embedded.others[each.digest] for each in model.earlier}
        return QueryEmbedding(embedded.vector, question, embedded.mean_question, code, earlier)

    def note_of_words_alone(self) -> Note | None:
        """Return the note on an answer without vectors; None if the user chose no model."""
        if self._embedding.is_off:
            return None
        state = self.state
        text = Reason(
            "Found by words alone: the embedding model is still loading; ask again soon to find by meaning too."
        )
        if state == "error":
            text = Reason(
                "Found by words alone: the embedding model cannot be used ({reason}).",
                reason=self._embedding.reason,
            )
        return Note({"state": state}, text)

    def note_of_pending(
        self, classes: Iterable[type[TextRecord]], views: Sequence[View]
    ) -> Note | None:
        """Return the note on records in the views that have no vectors of the model in use yet; None if all have them."""
        pending = earlier = 0
        spaces = {of: replace(self.space_of(of), states="") for of in classes}
        for view in views:
            sequence = self._store.sequence(view.organization)
            for of, space in spaces.items():
                # First this check, because counting reads an index entry for each record.
                if not self._is_complete(of, view.organization, sequence, space):
                    pending += view.count(of) - view.count_vectors(of, space)
                    earlier += sum(
                        view.count_vectors(of, replace(before, states=""))
                        for before, _ in self.earlier_spaces(of, view.organization)
                    )
        if not pending:
            return None
        by_words = counted(
            "{count:,} record was compared by words alone: its vectors are still to come.",
            "{count:,} records were compared by words alone: their vectors are still to come.",
            pending - earlier,
        )
        if not earlier:
            return Note({"state": "ready", "pending": pending}, by_words)
        as_before = counted(
            "{count:,} record was compared by the model of the release before: its new vectors are still to come.",
            "{count:,} records were compared by the model of the release before: their new vectors are still to come.",
            earlier,
        )
        text = Reason("{before} {words}", before=as_before, words=by_words)
        facts = {"state": "ready", "pending": pending, "earlier": earlier}
        return Note(facts, text if pending > earlier else as_before)

    def put(self, record: TextRecord, embedded: TextEmbedding | None) -> None:
        """Store the embedding of a record that was just written; None leaves it to `backfill`."""
        if embedded is not None:
            of = type(record)
            space = self.space_of(of)
            states = embedded.states if space.states else None
            self._store.put_vectors(
                of, record.organization, record.id, space, embedded.vectors, states
            )

    def pending(self, of: type[TextRecord], view: View) -> int:
        """Return the number of records in a view that lack vectors or token states of the model in use."""
        space = self.space_of(of)
        # First this check, because usually none lacks any, and counting all takes long.
        if not self._store.without_vectors((of,), space, 1, (view.organization,)):
            return 0
        return view.count(of) - view.count_vectors(of, space)

    @property
    def is_notified(self) -> bool:
        """Whether records without vectors were written since the last `wait`."""
        return self._pending.is_set()

    def notify(self) -> None:
        """Wake the thread that waits in `wait`, because there are records without vectors."""
        self._pending.set()

    def wait(self, timeout: float) -> None:
        """Wait for `notify`, at most `timeout` seconds."""
        self._pending.wait(timeout)
        self._pending.clear()

    def backfill(self, stop: threading.Event) -> int:
        """Embed every record that lacks vectors or token states of the model in use; return the number.

        Calls the functions in `after_batches` after each batch, and at the end. Returns at once if another process is
        embedding. Raises EmbeddingError if the model fails.
        """
        done = 0
        while not stop.is_set():
            embedded = self.backfill_batch()
            done += embedded
            for call in self.after_batches:
                call()
            if not embedded:
                break
        return done

    def backfill_batch(self) -> int:
        """Embed one batch of the records that `backfill` embeds; return the number.

        Returns 0 if another process is embedding. Raises EmbeddingError if the model fails.
        """
        with self._locks.hold(_LOCK) as is_held:
            return self._embed(self._next_batch()) if is_held else 0

    def _next_batch(self) -> Sequence[TextRecord]:
        """Return the next records to embed.

        Records without any vectors come first, then those with vectors of an earlier release, then those that lack
        only token states.
        """
        spaces = groupby(IN_ORDER, lambda of: replace(self.space_of(of), states=""))
        lacking = [
            [*self._store.without_vectors(list(kinds), space, BATCH)] for space, kinds in spaces
        ]
        found = min(
            filter(None, lacking), key=lambda records: self._has_any(records[0]), default=[]
        )
        if not found and self.space.states:
            stateful = [of for of in IN_ORDER if self.space_of(of).states]
            found += self._store.without_vectors(stateful, self.space, BATCH)
        return list(_first_texts(found))

    def _has_any(self, record: TextRecord) -> bool:
        return self._store.vectors(type(record), record.organization, record.id) is not None

    def remaining(self, texts: int) -> float | None:
        """Return the estimated seconds to embed a number of texts; None if none were embedded yet."""
        return None if self._seconds_each is None else texts * self._seconds_each

    def _embed(self, records: Sequence[TextRecord]) -> int:
        if not records:
            return 0
        started = time.monotonic()
        texts = [record.passage for record in records]
        embed = self._embed_code if isinstance(records[0], CodeChunk) else self._embed_texts
        embeddings = _at_low_priority(lambda: embed(texts))
        for organization in sorted({record.organization for record in records}):
            # One organization at a time, so that writers to the others do not wait.
            with self._store.transaction(organization):
                for record, embedded in zip(records, embeddings, strict=True):
                    if record.organization == organization and self._is_current(record):
                        self.put(record, embedded)
        each = (time.monotonic() - started) / len(records)
        earlier = each if self._seconds_each is None else self._seconds_each
        self._seconds_each = earlier + RATE_WEIGHT * (each - earlier)
        return len(records)

    def _is_current(self, record: TextRecord) -> bool:
        """Tell whether a record still has the text that was embedded."""
        current = self._store.get(type(record), record.organization, record.id)
        return current is not None and current.text == record.text

    def _embed_code(self, texts: Sequence[str]) -> list[TextEmbedding]:
        embedded = self._embedding.embed_code([text[:MAX_TEXT] for text in texts])
        return [TextEmbedding(each.rows, None) for each in embedded]

    def _embed_texts(self, texts: Sequence[str]) -> list[TextEmbedding]:
        embedded = self._embedding.embed_passages([text[:MAX_TEXT] for text in texts])
        if not self.space.states:
            return [TextEmbedding(each.rows, None) for each in embedded]
        return [TextEmbedding(each.rows, each.packed or b"") for each in embedded]

    def _is_unavailable(self, progress: Progress, timeout: float | None = None) -> bool:
        """Wait while the model loads; tell whether it failed. Raises EmbeddingNotReady at the timeout."""
        waited, timeout = 0.0, self._timeout if timeout is None else timeout
        while True:
            step = min(REPORT_EVERY, timeout - waited)
            try:
                self._embedding.wait(step)
            except EmbeddingNotReady as error:
                if error.state != "loading":
                    return True
                waited += step
                if waited >= timeout:
                    raise
                # The progress of the load is unknown, so that of the wait is reported.
                progress(waited / timeout * WAIT_SHARE, "the embedding model is loading")
            except ModelUnavailable:
                return True
            else:
                return False


class _LowPriorityEmbedding(threading.Thread):
    """Embeds texts at low priority and keeps the embeddings or the error.

    A daemon thread, because a process that ends does not wait for vectors.
    """

    def __init__(self, embed: Callable[[], list[TextEmbedding]]) -> None:
        super().__init__(name="passages", daemon=True)
        self._embed = embed
        self.made: list[TextEmbedding] | None = None
        self.refused: MinutebookError | None = None

    def run(self) -> None:
        if sys.platform == "linux":
            # On Linux each thread has its own priority. It cannot be raised again, so the thread is not reused.
            own = threading.get_native_id()
            niceness = os.getpriority(os.PRIO_PROCESS, own)
            os.setpriority(os.PRIO_PROCESS, own, max(niceness, PRIORITY))
        try:
            self.made = self._embed()
        except MinutebookError as error:
            self.refused = error


def _first_texts(records: Sequence[TextRecord]) -> Iterator[TextRecord]:
    """Yield the first records with together at most BATCH_CHARACTERS, or a longer one alone."""
    characters = 0
    for record in records:
        characters += len(record.passage)
        if characters > BATCH_CHARACTERS and characters > len(record.passage):
            return
        yield record


def _at_low_priority(embed: Callable[[], list[TextEmbedding]]) -> list[TextEmbedding]:
    """Embed texts in a thread that leaves the processor to queries. Raises the errors of the embedder."""
    worker = _LowPriorityEmbedding(embed)
    worker.start()
    worker.join()
    if worker.refused is not None:
        raise worker.refused
    if worker.made is None:
        raise RuntimeError("embedding ended with an error, which its thread reported")
    return worker.made
