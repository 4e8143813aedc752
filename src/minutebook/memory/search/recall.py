"""Find memories: by meaning, by words, and by both together with the graph."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time
from heapq import nsmallest
from itertools import zip_longest
from typing import Protocol

from minutebook.memory.access.provenance import attribute
from minutebook.memory.access.visibility import Clock, Records, View
from minutebook.memory.embeddings import Embeddings
from minutebook.memory.search.doubt import NO_WORD, LookedThrough, note_doubt, note_empty
from minutebook.memory.search.relations import RelationSearch
from minutebook.memory.search.signals import COMPARED, Asked, Key, Retriever, Scores, Signals
from minutebook.memory.search.walk import GraphWalk
from minutebook.record.caller import Caller
from minutebook.record.day import DaySpan
from minutebook.record.errors import InvalidInput
from minutebook.record.filters import Filter, MemoryQuery
from minutebook.record.records import (
    Decision,
    Memory,
    RelationText,
    Status,
    Summary,
    TextRecord,
    Turn,
)
from minutebook.record.sources import Source
from minutebook.text.answerability import Judgement
from minutebook.text.dates import named_days
from minutebook.text.fusion import TEXT_WEIGHTS, Fused, FusedHit, Signal
from minutebook.text.judged_vectors import LIKELY
from minutebook.text.settling import reports, settling
from minutebook.text.words import TextQuery, parse_query, words


@dataclass(frozen=True, slots=True)
class Candidates:
    """Records that may answer, the signals of each, and how they were reached.

    `followed` names, by key, the records, now superseded, that matched before this one.
    """

    signals: Signals
    records: Mapping[Key, Decision]
    followed: Mapping[Key, tuple[str, ...]] = field(default_factory=dict)


class TextSource(Protocol):
    """A source of records that compete with memories in one list, by their signals."""

    @property
    def source(self) -> Source:
        """The source as which the records are asked for."""

    @property
    def of(self) -> type[Decision]:
        """The class of the records."""

    def candidates(self, caller: Caller, asked: Asked, at: datetime | None) -> Candidates:
        """Return the records that hold at an instant (None: now) and that the caller may see."""


CANDIDATES = 150
"""How many candidates the vector signal and the lexical signal propose each."""

MOST_SELECTED = 16_384
"""The most memories that may match the metadata asked for: SQLite takes that many ids in a statement."""

LEADS_FROM = 0.5
"""The least graph signal at which a memory possibly answers, whatever its words."""

SETTLING = 1.0
"""The share of its score that a turn gains at most if it settles something and the question reports an event."""

WEIGHTS = {**TEXT_WEIGHTS, Signal.GRAPH: 0.45}
"""The weights of the signals if the caller does not choose them."""


_CLASSES: Mapping[Source, tuple[type[TextRecord], ...]] = {
    Source.MEMORY: (Memory,),
    Source.SESSION: (Turn, Summary),
}

_ENDED = (Status.DEPRECATED, Status.SUPERSEDED)


@dataclass(frozen=True, slots=True)
class Selection:
    """The selection of memories to rank: a query's narrowing, and when they hold; `at` None: now.

    A query for a status in which memories have ended selects them whenever they were valid.
    """

    query: MemoryQuery = field(default_factory=MemoryQuery)
    at: datetime | None = None

    def is_timely(self, record: TextRecord) -> bool:
        """Whether a record was kept in the time that the query names, if it names one."""
        span = Filter(
            organization=record.organization, since=self.query.since, until=self.query.until
        )
        return span.passes(record)


WHAT_HOLDS = Selection()


@dataclass(frozen=True, slots=True)
class Found:
    """A memory and the score of its answer."""

    memory: Memory
    score: float


Answering = Memory | Decision | Turn | Summary | RelationText
"""A record that can answer a question."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """A record, its fused score and the part of each signal in it.

    `followed` names the decisions, now superseded, that matched before this one; empty where it did itself.
    """

    record: Answering
    hit: FusedHit[Key]
    relevance: float
    """The probability that the record is about the question, by its own signals."""
    details: Mapping[str, float] = field(default_factory=dict)
    """What the vector signal was made of, by name."""
    followed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recollection:
    """The records recalled, best first, the size of the graph that was walked, and the question as it was asked.

    `chance` is how likely one of them answers, in [0, 1], `looked_through` what was searched. `order` has the keys of
    all that was ranked, those that were not read too.
    """

    hits: list[Recalled]
    subgraph_nodes: int
    asked: Asked
    chance: float
    looked_through: LookedThrough
    order: tuple[Key, ...] = ()

    @property
    def memories(self) -> list[Memory]:
        """The memories among the hits."""
        return [each.record for each in self.hits if isinstance(each.record, Memory)]


@dataclass(slots=True)
class _Gathered:
    """The signals of all candidates, the views of each class of records, and the candidates of other sources."""

    signals: Signals
    views: dict[type[TextRecord], list[View]] = field(default_factory=dict)
    classes: dict[Key, type[TextRecord]] = field(default_factory=dict)
    others: list[Candidates] = field(default_factory=list)
    relations: dict[Key, RelationText] = field(default_factory=dict)
    nodes: int = 0

    def add(self, of: type[TextRecord], signals: Signals) -> None:
        """Add the signals of records of a class."""
        self.signals.add(signals)
        self.classes |= dict.fromkeys(signals.keys(), of)


class Recall:
    """Ranks the true memories of now that the caller may see."""

    def __init__(
        self,
        store: Records,
        embeddings: Embeddings,
        clock: Clock,
        others: Sequence[TextSource] = (),
    ) -> None:
        self._store = store
        self._embeddings = embeddings
        self._signals = Retriever(store, embeddings)
        self._graph = GraphWalk(embeddings, self._signals)
        self._relations = RelationSearch(store, embeddings)
        self._clock = clock
        self._others = others

    def by_meaning(self, caller: Caller, query: str, limit: int) -> list[Found]:
        """Rank memories by how likely they are about the query, in [0, 1], by meaning alone.

        The call notes doubt, and an empty answer. Raises EmbeddingNotReady.
        """
        embedding = self._embeddings.require_query(query, caller.call.progress)
        asked, total = Asked(query, TextQuery(), embedding), self._signals.empty(embedding)
        views = self._current(caller)
        for view in views:
            found = self._signals.empty(embedding)
            found.vector = self._embeddings.nearest(Memory, view, embedding, max(limit, CANDIDATES))
            self._signals.complete(Memory, view, asked, found)
            total.add(found)
        judged = self._signals.judged(query, total, {Memory: views})
        if (pending := self._embeddings.note_of_pending([Memory], views)) is not None:
            caller.call.notes["meaning"] = pending
        scores = {key: judged.relevance(key) for key in judged.merits}
        if scores:
            note_doubt(caller, judged.chance)
        else:
            note_empty(caller, {Memory: views})
        return self._best(caller, views, scores, limit)

    def days_asked_for(self, caller: Caller, query: str, selection: Selection) -> DaySpan | None:
        """Return the days of a question for past events; None of another question, or if the selection names a time."""
        now = selection.at or self._clock()
        if selection.query.is_timed or (days := named_days(query, now)) is None:
            return None
        asked = self._embeddings.embed_query(query, caller.call.progress)
        if self._embeddings.chance("happened", asked) < LIKELY:
            return None
        return DaySpan(*(datetime.combine(each, time()).astimezone(UTC) for each in days))

    def by_words(self, caller: Caller, query: str, limit: int) -> list[Found]:
        """Rank memories by BM25 over the words and quoted phrases of the query. The call notes an empty answer."""
        parsed = parse_query(query)
        views = self._current(caller)
        scores: Scores = {}
        for view in views:
            scores |= self._signals.matches(Memory, view, parsed, limit)
        if not scores:
            note_empty(caller, {Memory: views}, NO_WORD)
        return self._best(caller, views, scores, limit)

    def recall(
        self,
        caller: Caller,
        query: str,
        limit: int,
        weights: Mapping[Signal, float],
        selection: Selection = WHAT_HOLDS,
        sources: Collection[Source] = (Source.MEMORY,),
        *,
        ranked: int = 0,
    ) -> Recollection:
        """Rank the records of some sources by vector, lexical and graph signals together; read the best.

        `ranked` is how many are ranked, if more than `limit`: these are interleaved by session, so that the first record of
        each session comes before the second of any.

        Of memories those selected, of decisions those that hold at the selection's instant, of turns and summaries
        those from before it. Weights are relative; a signal that has nothing to say costs the others nothing. Without
        a model the other two answer. No edge leads to a decision or a turn: the graph signal says nothing of these.
        """
        others = [each for each in self._others if each.source in sources]
        classes = [of for source in sources for of in _CLASSES.get(source, ())]
        classes += [each.of for each in others]
        asked = self._signals.ask(query, caller, *classes)
        found = _Gathered(self._signals.empty(asked.embedding))
        asked = replace(asked, rivals=found.signals)
        if Source.MEMORY in sources:
            self._add_memories(caller, asked, weights, selection, found)
        span = selection.query
        seen = self._store.seen_by(caller).where(since=span.since, until=span.until)
        for each in others:
            candidates = _of_its_time(each.candidates(caller, asked, selection.at), selection)
            found.views[each.of] = list(seen)
            found.add(each.of, candidates.signals)
            found.others.append(candidates)
        if Source.SESSION in sources:
            for of in (Turn, Summary):
                found.views[of] = list(seen)
                found.add(of, self._session_signals(of, found.views[of], asked, selection.at))
        judged = self._judged(asked, found)
        fused = Fused(found.signals.found(), weights, found.signals.strengths())
        keys = fused.best(max(limit, ranked))
        read = self._read_some(found, keys, (Turn, Summary))
        relevance = {key: judged.relevance(key) for key in keys}
        if ranked:
            scores = _settled({key: fused.scores[key] for key in keys}, read, query)
            keys = _interleaved(_by_session(scores, read), relevance)
        hits = self._read(found, fused.hits(keys[:limit]), read, relevance)
        return Recollection(hits, found.nodes, asked, judged.chance, found.views, tuple(keys))

    def _add_memories(
        self,
        caller: Caller,
        asked: Asked,
        weights: Mapping[Signal, float],
        selection: Selection,
        found: _Gathered,
    ) -> None:
        """Add the signals of the selected memories, and of the relations of entities that the question names."""
        found.views[Memory] = self._selected(caller, selection)
        for view in found.views[Memory]:
            named = _entities_named(view, asked.query) if weights[Signal.GRAPH] > 0 else []
            signals, walked = self._scored(view, asked, weights, named)
            if not (selection.query.is_narrow or selection.query.is_timed):
                relations = self._relations.add(view, asked, named, selection.at, signals)
                found.relations |= relations
            found.add(Memory, signals)
            found.nodes += walked

    def _judged(self, asked: Asked, found: _Gathered) -> Judgement[Key]:
        """Judge whether the question is answered; if the graph leads to an answer, it possibly is."""
        judged = self._signals.judged(asked.query, found.signals, found.views)
        leads = max((found.signals.graph or {}).values(), default=0.0) >= LEADS_FROM
        return judged.at_least_possible() if leads else judged

    def _session_signals(
        self,
        of: type[Turn] | type[Summary],
        views: Sequence[View],
        asked: Asked,
        at: datetime | None,
    ) -> Signals:
        """Return the signals of turns or of summaries up to an instant, lifted by their neighbours."""
        present = [view for view in views if view.count(of)]
        if not present:
            return self._signals.empty(asked.embedding)
        found = self._signals.gather(of, present, asked, CANDIDATES)
        self._signals.lift(of, present, asked.query, found, found.best(COMPARED), at)
        return found

    def _read_some(
        self, found: _Gathered, keys: Iterable[Key], classes: Iterable[type[TextRecord]]
    ) -> dict[Key, Answering]:
        """Read the records of some classes among those found."""
        read: dict[Key, Answering] = {}
        for of in classes:
            if own := [key for key in keys if found.classes.get(key) is of]:
                read |= self._signals.read(of, found.views[of], own)  # type: ignore[arg-type]
        return read

    def _read(
        self,
        found: _Gathered,
        hits: Sequence[FusedHit[Key]],
        known: Mapping[Key, Answering],
        relevance: Mapping[Key, float],
    ) -> list[Recalled]:
        """Read the records of hits that are not read yet; return all but those removed meanwhile."""
        read: dict[Key, Answering] = {**found.relations, **known}
        followed: dict[Key, tuple[str, ...]] = {}
        for each in found.others:
            read |= each.records
            followed |= each.followed
        keys = [each.id for each in hits if each.id not in read]
        read |= self._read_some(found, keys, found.views)
        return [
            Recalled(
                read[hit.id],
                hit,
                relevance[hit.id],
                found.signals.details(hit.id),
                followed.get(hit.id, ()),
            )
            for hit in hits
            if hit.id in read
        ]

    def _scored(
        self, view: View, asked: Asked, weights: Mapping[Signal, float], named: Collection[str]
    ) -> tuple[Signals, int]:
        """Return the best candidates with the scores of all signals, and how many nodes the walk passed."""
        found, nodes = self._candidates(view, asked), 0
        if weights[Signal.GRAPH] > 0:
            nodes = self._graph.add(view, asked.query, named, found)
            self._signals.complete(Memory, view, asked, found)
        best = found.best(COMPARED, weights)
        self._signals.lift(Memory, [view], asked.query, found, best)
        return found, nodes

    def _selected(self, caller: Caller, selection: Selection) -> list[View]:
        query = selection.query
        at = selection.at
        if at is None and query.status not in _ENDED:
            at = self._clock()
        seen = self._store.seen_by(caller).where(valid_at=at).matching(query)
        return [_fitting(view, query) if query.asks_metadata else view for view in seen]

    def _current(self, caller: Caller) -> list[View]:
        return list(self._store.seen_by(caller).where(valid_at=self._clock()))

    def _best(
        self, caller: Caller, views: Sequence[View], scores: Scores, limit: int
    ) -> list[Found]:
        """Read the memories of the best scores, and note their authors in the call."""
        best = nsmallest(limit, scores, key=lambda key: (-scores[key], key))
        read = self._signals.read(Memory, views, best)
        found = [Found(read[key], scores[key]) for key in best if key in read]
        attribute(caller, (each.memory for each in found))
        return found

    def _candidates(self, view: View, asked: Asked) -> Signals:
        found = self._signals.propose(Memory, view, asked, CANDIDATES)
        past = view.narrowed(status=Status.SUPERSEDED).where(valid_at=None)
        if past.count(Memory):
            earlier = self._signals.propose(Memory, past, asked, CANDIDATES)
            self._signals.complete(Memory, past, asked, earlier)
            self._signals.complete(Memory, view, asked, found)
            _credit_successors(view, earlier, found)
        self._signals.complete(Memory, view, asked, found)
        return found


def _of_its_time(found: Candidates, selection: Selection) -> Candidates:
    """Return the candidates that were kept in the time asked for."""
    if not selection.query.is_timed:
        return found
    present = {key: each for key, each in found.records.items() if selection.is_timely(each)}
    return replace(found, records=present, signals=found.signals.among(present))


def _entities_named(view: View, query: str) -> list[str]:
    """Return the ids of the entities that a question names; the narrowing of memories does not apply to them."""
    around = view.where(equal={}, client=None, since=None, until=None, valid_at=None)
    return around.entities_named(words(query))


def _fitting(view: View, query: MemoryQuery) -> View:
    """Return a view of only the memories that match by metadata, which no engine can select by.

    Raises InvalidInput if they are more than MOST_SELECTED.
    """
    each = view.each(Memory)
    ids = frozenset(memory.id for memory in each if query.fits_metadata(memory))
    if len(ids) > MOST_SELECTED:
        raise InvalidInput(
            "metadata", "fits more than {most:,} memories: add a condition", most=MOST_SELECTED
        )
    return view.where(ids=ids)


def _credit_successors(view: View, past: Signals, found: Signals) -> None:
    """Raise the score of a successor to that of the superseded memory, if that is higher."""
    for earlier, scores in (
        (past.vector, found.vector),
        (past.lexical, found.lexical),
        (past.late, found.late),
        (past.covered, found.covered),
    ):
        if earlier is None or scores is None:
            continue
        for (organization, id), score in earlier.items():
            successor = view.successor(id)
            if successor is not None:
                key = (organization, successor)
                scores[key] = max(score, scores.get(key, score))


def _settled(
    scores: Mapping[Key, float], read: Mapping[Key, Answering], query: str
) -> Mapping[Key, float]:
    """Return the scores, raised for turns that settle how something is done if the query reports an event."""
    if not reports(query):
        return scores
    return {
        key: score * (1 + SETTLING * settling(record.prompt, record.response))
        if isinstance(record := read.get(key), Turn)
        else score
        for key, score in scores.items()
    }


def _by_session(scores: Mapping[Key, float], read: Mapping[Key, Answering]) -> list[list[Key]]:
    """Group records by session, best first in each group and among the groups; a record without a session is a group of its own."""
    groups: dict[tuple[object, ...], list[Key]] = {}
    for key in sorted(scores, key=scores.__getitem__, reverse=True):
        record = read.get(key)
        session: tuple[object, ...] = key
        if isinstance(record, Turn | Summary):
            session = (record.organization, record.session, record.repository, record.user)
        groups.setdefault(session, []).append(key)
    return list(groups.values())


def _interleaved(sessions: Sequence[Sequence[Key]], relevance: dict[Key, float]) -> list[Key]:
    """Interleave the records of sessions: the first of each, with the highest relevance of its session, before the second of any."""
    for keys in sessions:
        relevance[keys[0]] = max(relevance[key] for key in keys)
    return [key for each in zip_longest(*sessions) for key in each if key is not None]
