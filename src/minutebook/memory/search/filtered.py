"""Find every memory that matches a question, or the few best of a governed answer."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import dataclass
from itertools import groupby, islice

import numpy as np

from minutebook.memory.access.provenance import attribute
from minutebook.memory.access.visibility import Clock, Records, View
from minutebook.memory.embeddings import Embeddings, QueryEmbedding
from minutebook.memory.search.doubt import note_doubt, note_empty
from minutebook.memory.search.recall import CANDIDATES, Found
from minutebook.memory.search.signals import Asked, Key, Retriever, Scores, Signals
from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput, ScopeViolation
from minutebook.record.filters import ANY_MEMORY, MemoryQuery
from minutebook.record.records import Memory, MemoryType, Status
from minutebook.record.writing.validity import holds_at
from minutebook.store.values import Vectors
from minutebook.text.answerability import POSSIBLE_FROM
from minutebook.text.calibration import CUT, rank_score, relevance, strength_of_cosine
from minutebook.text.words import TextQuery, word_terms

CHUNK = 500
"""How many records are read at once."""

FIRST_LOOK = 256
"""How many of the nearest memories are read first; each further read takes four times as many."""

STANDS_OUT_FROM = 0.05
"""The least relevance relative to the others at which a memory that by itself is about a question matches it."""

NEAREST = 3
"""How many of the nearest memories are returned if none matches."""

VERIFIED = frozenset({Status.VERIFIED, Status.LOCKED})
"""The statuses by which a governed answer prefers memories: a person has confirmed these."""


@dataclass(frozen=True, slots=True)
class SimilarMemory:
    """A memory, its cosine with the question, and its rank with importance and freshness."""

    memory: Memory
    similarity: float
    score: float


class FilteredSearch:
    """Finds all matches of a question, however many.

    A memory matches by words if it has one of the question's terms, and by meaning if by itself it is about the question
    and it stands out from the others. If none matches, the NEAREST are returned, and doubt is noted in the call.
    """

    def __init__(self, store: Records, embeddings: Embeddings, clock: Clock) -> None:
        self._store = store
        self._embeddings = embeddings
        self._signals = Retriever(store, embeddings)
        self._clock = clock

    def rank_all(
        self, caller: Caller, query: str | None, narrowing: MemoryQuery
    ) -> Iterator[Found]:
        """Yield each memory that matches, ended ones last, by relevance in [0, 1], then importance.

        The latest comes first of equals. Without a query every memory matches, with relevance 0.
        Records are read lazily. A scope that is not the caller's has no records.
        """
        views = self._narrowed(caller, narrowing)
        if query is None:
            found = self._by_importance(views)
        else:
            scores, matching = self._relevance(caller, views, query, narrowing)
            chosen = {key: scores[key] for key in matching} or dict(_best(scores, NEAREST))
            found = self._ranked(views, chosen)
        return _attributed(caller, self._current_first(views, narrowing, found))

    def by_vector(
        self,
        caller: Caller,
        question: str | Sequence[float],
        narrowing: MemoryQuery,
        threshold: float | None,
        limit: int | None = None,
    ) -> list[SimilarMemory]:
        """Return the memories with a relevance to a text or vector of at least a threshold, best first.

        Without a threshold it is CUT, and the NEAREST are returned if none reaches it. Doubt or an empty answer is noted in the call.
        Raises EmbeddingNotReady, InvalidInput for a vector that fits no model.
        """
        if isinstance(question, str):
            embedding = self._embeddings.require_query(question, caller.call.progress)
        else:
            embedding = QueryEmbedding(self._unit(question))
        views, now = self._narrowed(caller, narrowing), self._clock()
        least = CUT if threshold is None else threshold
        near: Scores = {}
        for view in views:
            found = self._nearest(view, Asked("", TextQuery(), embedding), least)
            near |= {key: relevance(found.likeness(key)) for key in found.vector or ()}
        near = self._fitting(views, near, narrowing)
        similarity = {key: chance for key, chance in near.items() if chance >= least}
        if threshold is None and not similarity:
            similarity = dict(_best(near, NEAREST))
        scored = [
            (rank_score(similarity[key], memory.importance, now - memory.updated_at), key)
            for key, memory in self._read(views, similarity)
        ]
        best = {key: score for score, key in sorted(scored, key=lambda n: (-n[0], n[1]))[:limit]}
        nearest = [
            SimilarMemory(memory, similarity[key], best[key])
            for key, memory in self._read(views, best)
        ]
        if nearest:
            note_doubt(caller, max(similarity.values()), CUT)
        else:
            note_empty(caller, {Memory: views})
        attribute(caller, (each.memory for each in nearest))
        return nearest

    def governed(
        self, caller: Caller, query: str, types: AbstractSet[MemoryType] | None, limit: int
    ) -> list[Found]:
        """Return the valid memories that answer best, a repository's own first.

        The tiers in order: memories of a repository that have every word of the query; other memories of a repository;
        verified memories of a whole organization or of everyone; the other ones of these; memories that do not match.
        Inside a tier they are ordered by relevance to two decimals, then verified ones come first.
        """
        views = [
            each
            for view in self._store.seen_by(caller)
            for each in _by_place(view.where(valid_at=self._clock()), caller, types)
        ]
        scores, matching = self._relevance(caller, views, query, room=CANDIDATES)
        query_terms = set(word_terms(query))
        found = [
            (
                _tier(memory, query_terms) if key in matching else _UNMATCHED,
                Found(memory, scores[key]),
            )
            for key, memory in self._read(views, scores)
        ]
        found.sort(key=lambda each: (each[0], *_governed_order(each[1])))
        return [each for _, each in found[:limit]]

    def _narrowed(self, caller: Caller, narrowing: MemoryQuery) -> list[View]:
        try:
            narrowed = policy.narrowed_to(
                caller, organization=narrowing.organization, repository=narrowing.repository
            )
        except ScopeViolation:
            # For a search, the scopes of others do not exist.
            return []
        return list(self._store.seen_by(narrowed).matching(narrowing))

    def _relevance(
        self,
        caller: Caller,
        views: Sequence[View],
        query: str,
        narrowing: MemoryQuery = ANY_MEMORY,
        room: int | None = None,
    ) -> tuple[Scores, AbstractSet[Key]]:
        """Score the memories that words or meaning find, all or `room` of each in each view; also return the keys of those that match.

        Doubt or an empty answer is noted in the call.
        """
        asked = self._signals.ask(query, caller, Memory)
        total = self._signals.empty(asked.embedding)
        for view in views:
            most = view.count(Memory) if room is None else room
            if asked.embedding is None:
                total.add(self._signals.propose(Memory, view, asked, most))
            else:
                total.add(self._nearest(view, asked, CUT, most))
        judged = self._signals.judged(query, total, {Memory: views})
        every = total.keys()
        scores = {key: round(judged.relevance(key), 2) for key in every}
        scores = self._fitting(views, scores, narrowing)
        about = {
            key
            for key in total.vector or ()
            if total.is_about(key) and judged.relevance(key) >= STANDS_OUT_FROM
        }
        matching = scores.keys() & (about | total.lexical.keys())
        if scores:
            note_doubt(caller, judged.chance, POSSIBLE_FROM if matching else 1.0)
        else:
            note_empty(caller, {Memory: views})
        return scores, matching

    def _fitting(self, views: Sequence[View], scores: Scores, narrowing: MemoryQuery) -> Scores:
        """Return the scores of the memories that have the metadata asked for."""
        if not narrowing.asks_metadata:
            return scores
        read = self._read(views, scores)
        return {key: scores[key] for key, memory in read if narrowing.fits_metadata(memory)}

    def _nearest(self, view: View, asked: Asked, least: float, room: int = 0) -> Signals:
        """Return the signals of the memories that have a word of the question or are nearest; the best are compared token by token.

        Reads ever farther memories until their cosine means a relevance below `least`.
        """
        unrelated, look, embedding = self._embeddings.unrelated(Memory), FIRST_LOOK, asked.embedding
        assert embedding is not None
        while True:
            found = self._signals.empty(embedding)
            found.vector = self._embeddings.nearest(Memory, view, embedding, look)
            last = min(found.vector.values(), default=0.0)
            if len(found.vector) < look or relevance(strength_of_cosine(last, unrelated)) < least:
                break
            look *= 4
        found.lexical = self._signals.matches(Memory, view, asked.parsed, room) if room else {}
        self._signals.compare_words(Memory, view, asked.parsed, found)
        others = copy(found)
        self._signals.complete(Memory, view, asked, found)
        found.add(others.among(others.keys() - found.keys()))
        return found

    def _ranked(self, views: Sequence[View], scores: dict[Key, float]) -> Iterator[Found]:
        """Read the scored memories, best first."""
        ordered = sorted(scores, key=lambda key: (-scores[key], key))
        keys = (
            key
            for _, equals in groupby(ordered, key=scores.__getitem__)
            for key in self._break_ties(views, list(equals))
        )
        for key, memory in self._read(views, keys):
            yield Found(memory, scores[key])

    def _break_ties(self, views: Sequence[View], equals: list[Key]) -> list[Key]:
        """Order the keys of equally relevant memories by importance and time; their records are read only for that."""
        if len(equals) == 1:
            return equals
        read = [(_weight(memory), key) for key, memory in self._read(views, equals)]
        return [key for _, key in sorted(read)]

    def _by_importance(self, views: Sequence[View]) -> Iterator[Found]:
        """Yield all memories, the most important first."""
        parts = [self._all_of(view) for view in views]
        for _, memory in heapq.merge(*parts, key=lambda read: _weight(read[1])):
            yield Found(memory, 0.0)

    def _all_of(self, view: View) -> Iterator[tuple[Key, Memory]]:
        order = ("-importance", "-ingestion_time")
        ids = view.read_ids(Memory, order)
        return self._read([view], ((view.organization, id) for id in ids))

    def _current_first(
        self, views: Sequence[View], narrowing: MemoryQuery, found: Iterable[Found]
    ) -> Iterator[Found]:
        """Yield the memories with the metadata asked for, those that are no longer valid last."""
        now = self._clock()
        ended: Scores = {}
        for each in found:
            if not narrowing.fits_metadata(each.memory):
                continue
            if holds_at(each.memory, now):
                yield each
            else:
                ended[each.memory.organization, each.memory.id] = each.score
        for key, memory in self._read(views, ended):
            yield Found(memory, ended[key])

    def _read(self, views: Sequence[View], keys: Iterable[Key]) -> Iterator[tuple[Key, Memory]]:
        """Yield memories in the order of their keys, CHUNK read at a time, without removed ones."""
        waiting = iter(keys)
        while chunk := list(islice(waiting, CHUNK)):
            known = self._signals.read(Memory, views, chunk)
            yield from ((key, known[key]) for key in chunk if key in known)

    def _unit(self, vector: Sequence[float]) -> Vectors:
        self._embeddings.check_known()
        dimensions = self._embeddings.space.dimensions
        if len(vector) != dimensions:
            remedy = "must have {wanted} numbers as the model's do, not {count}"
            raise InvalidInput("vector", remedy, wanted=dimensions, count=len(vector))
        given = np.asarray(vector, dtype=np.float64)
        length = float(np.linalg.norm(given))
        if not np.isfinite(length) or length == 0.0:
            raise InvalidInput("vector", "must have a length that is finite and not 0")
        return np.asarray(given / length, dtype=np.float32)


def _attributed(caller: Caller, found: Iterator[Found]) -> Iterator[Found]:
    """Yield memories and note the author of each in the call."""
    for each in found:
        attribute(caller, [each.memory])
        yield each


def _by_place(view: View, caller: Caller, types: AbstractSet[MemoryType] | None) -> Iterator[View]:
    """Yield views of each repository and of the wider scopes, by type if types are given, so that none crowds out another."""
    owners = None if caller.repositories is None else (None, *sorted(caller.repositories))
    places = [view] if owners is None else [view.narrowed(repository=each) for each in owners]
    for place in places:
        if types is None:
            yield place
        else:
            yield from (place.narrowed(type=each) for each in sorted(types))


def _best(scores: Scores, limit: int) -> list[tuple[Key, float]]:
    """Return the best of scored memories, ties by key."""
    return heapq.nsmallest(limit, scores.items(), key=lambda each: (-each[1], each[0]))


_UNMATCHED = 4
"""The tier of memories that do not match, in a governed answer."""


def _tier(memory: Memory, query_terms: AbstractSet[str]) -> int:
    """Return the tier of a memory in a governed answer; 0 comes first."""
    if memory.repository is not None:
        return 0 if query_terms <= set(word_terms(memory.text)) else 1
    return 2 if memory.status in VERIFIED else 3


def _governed_order(found: Found) -> tuple[object, ...]:
    memory = found.memory
    is_unverified = memory.status not in VERIFIED
    return -round(found.score, 2), is_unverified, -found.score, *_weight(memory), memory.id


def _weight(memory: Memory) -> tuple[float, float]:
    return -memory.importance, -memory.ingestion_time.timestamp()
