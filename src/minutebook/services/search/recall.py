"""Find memories: by meaning, by words, and by both together with the graph."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from heapq import nsmallest

from minutebook.domain.caller import Caller
from minutebook.domain.errors import InvalidInput
from minutebook.domain.filters import Filter, MemoryQuery
from minutebook.domain.records import (
    Decision,
    Memory,
    RelationText,
    Status,
    Summary,
    TextRecord,
    Turn,
)
from minutebook.domain.sources import Source
from minutebook.search.answerability import Judgement
from minutebook.search.fusion import TEXT_WEIGHTS, Hit, Signal, fuse
from minutebook.search.text import TextQuery, parse_query
from minutebook.services.access.provenance import attribute
from minutebook.services.access.visibility import Clock, filters, narrowed
from minutebook.services.embeddings import Embeddings, QueryEmbedding
from minutebook.services.search.nothing import found_nothing
from minutebook.services.search.relations import RelationSearch
from minutebook.services.search.signals import COMPARED, Asked, Key, Retriever, Signals
from minutebook.services.search.sources import Candidates, TextSource
from minutebook.services.search.walk import GraphWalk
from minutebook.store.protocol import Candidate, Store

CANDIDATES = 150
"""How many each of the vector and the lexical signal propose."""

MOST_SELECTED = 16_384
"""How many memories may fit the metadata that a question asks for: SQLite names that many in a statement."""

LEADS = 0.5
"""The graph signal from which on what it leads to is perhaps an answer, whatever the words say."""

WEIGHTS = {**TEXT_WEIGHTS, Signal.GRAPH: 0.45}
"""How much each signal says where the caller does not choose."""


_CLASSES: Mapping[Source, tuple[type[TextRecord], ...]] = {
    Source.MEMORY: (Memory,),
    Source.SESSION: (Turn, Summary),
}

_ENDED = (Status.DEPRECATED, Status.SUPERSEDED)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which memories are ranked: what a query narrows them to, and when they hold; `at` None: now.

    A query for a status in which memories have ended selects them whenever they held.
    """

    query: MemoryQuery = field(default_factory=MemoryQuery)
    at: datetime | None = None


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
    hit: Hit[Key]
    relevance: float
    """How likely it is about the question, in [0, 1], by its own signals."""
    details: Mapping[str, float] = field(default_factory=dict)
    """What the vector signal was made of, by name."""
    followed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recollection:
    """The records recalled, best first, the size of the graph that was walked, and the question as it was asked.

    `order` has the keys of all that was ranked, those that were not read too.
    """

    hits: list[Recalled]
    subgraph_nodes: int
    asked: Asked
    order: tuple[Key, ...] = ()

    @property
    def memories(self) -> list[Memory]:
        """The memories among the hits."""
        return [each.record for each in self.hits if isinstance(each.record, Memory)]


@dataclass(slots=True)
class _Gathered:
    """The signals of all candidates, how records of each class are read, and what other sources have."""

    signals: Signals
    wheres: dict[type[TextRecord], list[Filter]] = field(default_factory=dict)
    classes: dict[Key, type[TextRecord]] = field(default_factory=dict)
    others: list[Candidates] = field(default_factory=list)
    relations: dict[Key, RelationText] = field(default_factory=dict)
    nodes: int = 0

    def add(self, of: type[TextRecord], signals: Signals) -> None:
        """Add the signals of records of a class."""
        self.signals.add(signals)
        self.classes |= dict.fromkeys(signals.keys(), of)


class Recall:
    """Ranks what the caller may see and what is true now."""

    def __init__(
        self,
        store: Store,
        embeddings: Embeddings,
        clock: Clock,
        others: Sequence[TextSource] = (),
    ) -> None:
        self._store = store
        self._embeddings = embeddings
        self._signals = Retriever(store, embeddings)
        self._graph = GraphWalk(store, embeddings, self._signals)
        self._relations = RelationSearch(store, embeddings)
        self._clock = clock
        self._others = others

    def by_meaning(self, caller: Caller, query: str, limit: int) -> list[Found]:
        """Rank memories by how likely they are about the query, in [0, 1], by meaning alone.

        Where nothing is about it the call notes so. Raises EmbeddingNotReady.
        """
        embedding = self._embeddings.require_query(query, caller.call.progress)
        total = self._signals.nothing(embedding)
        wheres = self._current_filters(caller)
        for where in wheres:
            found = self._signals.nothing(embedding)
            found.vector = self._signals.nearest(Memory, where, embedding, max(limit, CANDIDATES))
            self._signals.complete(Memory, where, embedding, found)
            total.add(found)
        judged = self._signals.judged(query, parse_query(query), total, {Memory: wheres})
        if found_nothing(caller, judged, self._store, {Memory: wheres}):
            if (pending := self._embeddings.note_of_pending([Memory], wheres)) is not None:
                caller.call.notes["meaning"] = pending
            return []
        scores = {key: judged.relevance(key) for key in judged.merits if not judged.is_filler(key)}
        best = nsmallest(limit, scores, key=lambda key: (-scores[key], key))
        read = self._signals.read(Memory, wheres, best)
        ranked = [Found(read[key], scores[key]) for key in best if key in read]
        attribute(caller, (each.memory for each in ranked))
        return ranked

    def by_words(self, caller: Caller, query: str, limit: int) -> list[Found]:
        """Rank memories by BM25 over the words and quoted phrases of the query."""
        parsed = parse_query(query)
        found = self._found(
            [
                (where, self._store.match(Memory, where, parsed, limit))
                for where in self._current_filters(caller)
            ],
            limit,
        )
        attribute(caller, (each.memory for each in found))
        return found

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
        embedding = self._signals.embed(query, caller, *classes)
        asked = Asked(query, parse_query(query), embedding)
        found = _Gathered(self._signals.nothing(embedding))
        if Source.MEMORY in sources:
            found.wheres[Memory] = self._selected(caller, selection)
            for where in found.wheres[Memory]:
                signals, walked = self._scored(where, asked, weights)
                if weights[Signal.GRAPH] > 0:
                    found.relations |= self._relations.add(where, asked, selection.at, signals)
                found.add(Memory, signals)
                found.nodes += walked
        for each in others:
            candidates = each.candidates(caller, asked, selection.at)
            found.wheres[each.of] = filters(self._store, caller)
            found.add(each.of, candidates.signals)
            found.others.append(candidates)
        if Source.SESSION in sources:
            found.wheres |= dict.fromkeys((Turn, Summary), filters(self._store, caller))
            for of in (Turn, Summary):
                found.add(of, self._said(of, found.wheres[of], asked, selection.at))
        judged = self._judged(asked, found)
        if found_nothing(caller, judged, self._store, found.wheres):
            return Recollection([], found.nodes, asked)
        most = max(limit, ranked)
        fused = fuse(found.signals.found(), weights, most, found.signals.strengths())
        hits = [hit for hit in fused if _is_lifted(hit, found) or not judged.is_filler(hit.id)]
        read = self._read_said(found, hits)
        ordered = _by_turns(hits, read) if ranked else hits
        best = self._read(found, ordered[:limit], read, judged)
        return Recollection(best, found.nodes, asked, tuple(hit.id for hit in ordered))

    def _judged(self, asked: Asked, found: _Gathered) -> Judgement[Key]:
        """Judge whether the question is answered; where the graph leads to an answer, it perhaps is."""
        judged = self._signals.judged(asked.query, asked.parsed, found.signals, found.wheres)
        leads = max((found.signals.graph or {}).values(), default=0.0) >= LEADS
        return judged.at_least_perhaps() if leads else judged

    def _said(
        self,
        of: type[Turn] | type[Summary],
        wheres: Sequence[Filter],
        asked: Asked,
        at: datetime | None,
    ) -> Signals:
        """Return what the signals say of turns or of summaries, up to an instant; their neighbours count."""
        held = [where for where in wheres if self._store.ids(of, where, (), 1)]
        found = self._signals.gather(of, held, asked.embedding, asked.parsed, CANDIDATES)
        found.keep(found.best(COMPARED))
        standings = self._signals.standings(of, held, found.keys())
        if at is not None:
            standings = {key: each for key, each in standings.items() if each.at <= at}
        found.keep(standings)
        found.lift(standings, asked.query)
        return found

    def _read_said(self, found: _Gathered, hits: Sequence[Hit[Key]]) -> dict[Key, Answering]:
        """Read the turns and summaries among hits."""
        read: dict[Key, Answering] = {}
        for of in (Turn, Summary):
            if of in found.wheres:
                keys = [hit.id for hit in hits if found.classes.get(hit.id) is of]
                read |= self._signals.read(of, found.wheres[of], keys)
        return read

    def _read(
        self,
        found: _Gathered,
        hits: Sequence[Hit[Key]],
        said: Mapping[Key, Answering],
        judged: Judgement[Key],
    ) -> list[Recalled]:
        """Read the rest of the records of hits; return all without those that were removed meanwhile."""
        read: dict[Key, Answering] = {**found.relations, **said}
        followed: dict[Key, tuple[str, ...]] = {}
        for each in found.others:
            read |= each.records
            followed |= each.followed
        for of, wheres in found.wheres.items():
            keys = [h.id for h in hits if found.classes.get(h.id) is of and h.id not in read]
            read |= self._signals.read(of, wheres, keys)  # type: ignore[arg-type]
        return [
            Recalled(
                read[hit.id],
                hit,
                judged.relevance(hit.id),
                found.signals.details(hit.id),
                followed.get(hit.id, ()),
            )
            for hit in hits
            if hit.id in read
        ]

    def _scored(
        self, where: Filter, asked: Asked, weights: Mapping[Signal, float]
    ) -> tuple[Signals, int]:
        """Return the best candidates with the scores of all signals, and how many nodes the walk passed."""
        found, nodes = self._candidates(where, asked.embedding, asked.parsed), 0
        if weights[Signal.GRAPH] > 0:
            nodes = self._graph.add(where, asked.query, found)
            self._signals.complete(Memory, where, asked.embedding, found)
        found.keep(found.best(COMPARED, weights))
        standings = self._signals.standings(Memory, [where], found.keys())
        found.keep(standings)
        found.lift(standings, asked.query)
        return found, nodes

    def _selected(self, caller: Caller, selection: Selection) -> list[Filter]:
        query = selection.query
        at = selection.at
        if at is None and query.status not in _ENDED:
            at = self._clock()
        wheres = [
            query.narrow(replace(where, valid_at=at)) for where in filters(self._store, caller)
        ]
        return [self._fitting(where, query) for where in wheres] if query.asks_metadata else wheres

    def _fitting(self, where: Filter, query: MemoryQuery) -> Filter:
        """Return the filter for those memories alone whose metadata fits; no engine selects by that.

        Raises InvalidInput if they are more than a statement can name.
        """
        each = self._store.each(Memory, where, ())
        ids = frozenset(memory.id for memory in each if query.fits_metadata(memory))
        if len(ids) > MOST_SELECTED:
            raise InvalidInput(
                "metadata", "fits more than {most:,} memories: add a condition", most=MOST_SELECTED
            )
        return replace(where, ids=ids)

    def _current_filters(self, caller: Caller) -> list[Filter]:
        now = self._clock()
        return [replace(where, valid_at=now) for where in filters(self._store, caller)]

    def _found(self, parts: list[tuple[Filter, list[Candidate]]], limit: int) -> list[Found]:
        ranked = sorted(
            ((-c.score, c.id, where) for where, candidates in parts for c in candidates),
            key=lambda found: found[:2],
        )
        return [
            Found(memory, -negative)
            for negative, id, where in ranked[:limit]
            if (memory := self._visible_memory(where, id)) is not None
        ]

    def _candidates(
        self, where: Filter, embedding: QueryEmbedding | None, query: TextQuery
    ) -> Signals:
        found = self._signals.propose(Memory, where, embedding, query, CANDIDATES)
        past = replace(narrowed(where, status=Status.SUPERSEDED), valid_at=None)
        if self._store.count(Memory, past):
            earlier = self._signals.propose(Memory, past, embedding, query, CANDIDATES)
            self._signals.complete(Memory, past, embedding, earlier)
            self._signals.complete(Memory, where, embedding, found)
            self._credit_successors(where, earlier, found)
        self._signals.complete(Memory, where, embedding, found)
        return found

    def _credit_successors(self, where: Filter, past: Signals, found: Signals) -> None:
        """Let what a superseded memory would have scored count for the one in its place."""
        for earlier, scores in (
            (past.vector, found.vector),
            (past.lexical, found.lexical),
            (past.late, found.late),
            (past.covered, found.covered),
        ):
            if earlier is None or scores is None:
                continue
            for (organization, id), score in earlier.items():
                successor = self._successor(where, id)
                if successor is not None:
                    key = (organization, successor)
                    scores[key] = max(score, scores.get(key, score))

    def _successor(self, where: Filter, id: str) -> str | None:
        """Follow supersessions to the memory that holds now, if the caller may see it."""
        following: str | None = id
        seen: set[str] = set()
        while following is not None and following not in seen:
            seen.add(following)
            memory = self._store.get(Memory, where.organization, following)
            if memory is None:
                return None
            if where.passes(memory):
                return memory.id
            following = memory.superseded_by
        return None

    def _visible_memory(self, where: Filter, id: str) -> Memory | None:
        memory = self._store.get(Memory, where.organization, id)
        return memory if memory is not None and where.passes(memory) else None


def _by_turns(hits: Sequence[Hit[Key]], said: Mapping[Key, Answering]) -> list[Hit[Key]]:
    """Order hits so that each session says one thing before another says its second."""
    count: Counter[tuple[object, ...]] = Counter()
    turns = []
    for hit in hits:
        record = said.get(hit.id)
        # Every other record stands by itself.
        session: tuple[object, ...] = hit.id
        if isinstance(record, Turn | Summary):
            session = (record.organization, record.session, record.repository, record.user)
        turns.append(count[session])
        count[session] += 1
    order = sorted(range(len(hits)), key=lambda at: (turns[at], at))
    return [hits[at] for at in order]


def _is_lifted(hit: Hit[Key], found: _Gathered) -> bool:
    """Tell whether a hit stands beside an answer in its session, or the graph leads to it."""
    graph = (found.signals.graph or {}).get(hit.id, 0.0)
    return graph > 0 or "with context" in found.signals.details(hit.id)
