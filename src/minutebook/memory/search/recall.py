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
"""How many each of the vector and the lexical signal propose."""

MOST_SELECTED = 16_384
"""How many memories may fit the metadata that a question asks for: SQLite names that many in a statement."""

LEADS = 0.5
"""The graph signal from which on what it leads to is perhaps an answer, whatever the words say."""

SETTLING = 1.0
"""What a turn gains of its score where it settles something and the question tells of something that happened."""

WEIGHTS = {**TEXT_WEIGHTS, Signal.GRAPH: 0.45}
"""How much each signal says where the caller does not choose."""


_CLASSES: Mapping[Source, tuple[type[TextRecord], ...]] = {
    Source.MEMORY: (Memory,),
    Source.SESSION: (Turn, Summary),
}

_ENDED = (Status.DEPRECATED, Status.SUPERSEDED)


@dataclass(frozen=True, slots=True)
class Selection:
    """The selection of memories to rank: a query's narrowing, and when they hold; `at` None: now.

    A query for a status in which memories have ended selects them whenever they held.
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
    """A memory and how well it answers."""

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
    """How likely it is about the question, in [0, 1], by its own signals."""
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
    """The signals of all candidates, the reader of each class of records, and the hits of other sources."""

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
        asked, total = Asked(query, TextQuery(), embedding), self._signals.nothing(embedding)
        views = self._current(caller)
        for view in views:
            found = self._signals.nothing(embedding)
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

        `ranked` is how many are ranked, if more than `limit`: of these each session says one thing before another says its
        second.

        Of memories those selected, of decisions those that hold at the selection's instant, of turns and summaries
        those from before it. Weights are relative; a signal that has nothing to say costs the others nothing. Without
        a model the other two answer. No edge leads to a decision or a turn: the graph signal says nothing of these.
        """
        others = [each for each in self._others if each.source in sources]
        classes = [of for source in sources for of in _CLASSES.get(source, ())]
        classes += [each.of for each in others]
        asked = self._signals.ask(query, caller, *classes)
        found = _Gathered(self._signals.nothing(asked.embedding))
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
                found.add(of, self._said(of, found.views[of], asked, selection.at))
        judged = self._judged(asked, found)
        fused = Fused(found.signals.found(), weights, found.signals.strengths())
        keys = fused.best(max(limit, ranked))
        read = self._read_some(found, keys, (Turn, Summary))
        relevance = {key: judged.relevance(key) for key in keys}
        if ranked:
            scores = _weighed({key: fused.scores[key] for key in keys}, read, query)
            keys = _in_turn(_by_session(scores, read), relevance)
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
        """Judge whether the question is answered; where the graph leads to an answer, it possibly is."""
        judged = self._signals.judged(asked.query, found.signals, found.views)
        leads = max((found.signals.graph or {}).values(), default=0.0) >= LEADS
        return judged.at_least_possible() if leads else judged

    def _said(
        self,
        of: type[Turn] | type[Summary],
        views: Sequence[View],
        asked: Asked,
        at: datetime | None,
    ) -> Signals:
        """Return the signals of turns or of summaries, up to an instant; their neighbours count."""
        held = [view for view in views if view.count(of)]
        if not held:
            return self._signals.nothing(asked.embedding)
        found = self._signals.gather(of, held, asked, CANDIDATES)
        self._signals.lift(of, held, asked.query, found, found.best(COMPARED), at)
        return found

    def _read_some(
        self, found: _Gathered, keys: Iterable[Key], classes: Iterable[type[TextRecord]]
    ) -> dict[Key, Answering]:
        """Read the records of some classes among those found."""
        read: dict[Key, Answering] = {}
        for of in classes:
            if its := [key for key in keys if found.classes.get(key) is of]:
                read |= self._signals.read(of, found.views[of], its)  # type: ignore[arg-type]
        return read

    def _read(
        self,
        found: _Gathered,
        hits: Sequence[FusedHit[Key]],
        said: Mapping[Key, Answering],
        relevance: Mapping[Key, float],
    ) -> list[Recalled]:
        """Read the rest of the records of hits; return all without those that were removed meanwhile."""
        read: dict[Key, Answering] = {**found.relations, **said}
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
    """Return those candidates that were kept in the time that is asked for."""
    if not selection.query.is_timed:
        return found
    held = {key: each for key, each in found.records.items() if selection.is_timely(each)}
    return replace(found, records=held, signals=found.signals.among(held))


def _entities_named(view: View, query: str) -> list[str]:
    """Return the ids of the entities that a question names, whatever narrows the memories that are sought."""
    around = view.where(equal={}, client=None, since=None, until=None, valid_at=None)
    return around.entities_named(words(query))


def _fitting(view: View, query: MemoryQuery) -> View:
    """Return the filter for those memories alone that match by metadata; no engine selects by that.

    Raises InvalidInput if they are more than a statement can name.
    """
    each = view.each(Memory)
    ids = frozenset(memory.id for memory in each if query.fits_metadata(memory))
    if len(ids) > MOST_SELECTED:
        raise InvalidInput(
            "metadata", "fits more than {most:,} memories: add a condition", most=MOST_SELECTED
        )
    return view.where(ids=ids)


def _credit_successors(view: View, past: Signals, found: Signals) -> None:
    """Add the score that a superseded memory would have had to that of its successor."""
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


def _weighed(
    scores: Mapping[Key, float], said: Mapping[Key, Answering], query: str
) -> Mapping[Key, float]:
    """Weigh scores: where the query tells of something, a turn that settles how it is done gains."""
    if not reports(query):
        return scores
    return {
        key: score * (1 + SETTLING * settling(record.prompt, record.response))
        if isinstance(record := said.get(key), Turn)
        else score
        for key, score in scores.items()
    }


def _by_session(scores: Mapping[Key, float], said: Mapping[Key, Answering]) -> list[list[Key]]:
    """Group records by session, best first, in a session and among them; every other record stands by itself."""
    groups: dict[tuple[object, ...], list[Key]] = {}
    for key in sorted(scores, key=scores.__getitem__, reverse=True):
        record = said.get(key)
        session: tuple[object, ...] = key
        if isinstance(record, Turn | Summary):
            session = (record.organization, record.session, record.repository, record.user)
        groups.setdefault(session, []).append(key)
    return list(groups.values())


def _in_turn(sessions: Sequence[Sequence[Key]], relevance: dict[Key, float]) -> list[Key]:
    """Order records so that each session says one thing, with the relevance of its best, before another says its second."""
    for keys in sessions:
        relevance[keys[0]] = max(relevance[key] for key in keys)
    return [key for each in zip_longest(*sessions) for key in each if key is not None]
