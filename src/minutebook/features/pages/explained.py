"""Recall with the reason for each hit: the words that matched, the way through the graph, the neighbour."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime

from minutebook.app import App
from minutebook.memory.access.visibility import View
from minutebook.memory.search.combined import Ranked
from minutebook.memory.search.hit_notes import Notes
from minutebook.memory.search.newest_first import RevisedBy
from minutebook.memory.search.recall import WEIGHTS, Answering, Selection
from minutebook.memory.search.signals import Key
from minutebook.record.caller import Caller, without_folder_scope
from minutebook.record.records import (
    CodeChunk,
    Decision,
    Entity,
    Memory,
    ProjectCommit,
    Proposal,
    Record,
    Turn,
)
from minutebook.record.sources import Source
from minutebook.text.answerability import Verdict, verdict_of
from minutebook.text.excerpt import Part, excerpt_and_words, sought_terms
from minutebook.text.fusion import FusedHit, Signal
from minutebook.text.words import words

EXCERPT = 280
"""Characters of a hit's text that are shown."""

PAGE_TOKENS = 4_000
"""Tokens of all passages on a page: a person gets longer ones than a model."""

EDGES = 200
"""Edges around the hits that are searched for a way, the heaviest first."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step from a hit towards an entity that the question names: an edge's type, and its other end."""

    type: str
    record: Memory | Entity


@dataclass(frozen=True, slots=True)
class Explained:
    """A hit with the reasons for it.

    `words` are the words of its text that match the question. `way` leads from it to an entity that the question
    names, or to another hit; empty without a graph score. `neighbour` is the hit of the same session that raised its
    score. `followed` are the superseded decisions that led to it, `revised_by` a record that perhaps revises it,
    `notes` the remarks of features, and `replaced` the records that it supersedes or perhaps revises.
    """

    record: Answering | ProjectCommit | Proposal
    hit: FusedHit[Key]
    details: Mapping[str, float]
    excerpt: tuple[Part, ...]
    words: tuple[str, ...]
    relevance: float
    way: tuple[Step, ...] = ()
    neighbour: Memory | Turn | None = None
    followed: tuple[str, ...] = ()
    revised_by: RevisedBy | None = None
    notes: Notes = field(default_factory=dict)
    replaced: tuple[Record, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """How well the hit answers."""
        return verdict_of(self.relevance)


class ExplainedRecall:
    """Recalls records, each hit with the reasons for it."""

    def __init__(self, app: App) -> None:
        self._store, self._combined = app.infrastructure.records, app.combined

    def recall(
        self,
        caller: Caller,
        query: str,
        limit: int,
        sources: Collection[Source],
        selection: Selection | None = None,
    ) -> tuple[list[Explained], tuple[Key, ...]]:
        """Return the best hits of `CombinedRecall.recall`, and the keys of all ranked records, in order."""
        ranking = self._combined.recall(
            caller, query, limit, WEIGHTS, sources, selection=selection, tokens=PAGE_TOKENS
        )
        found = self._explained(caller, query, ranking.results)
        shown = {each.record.id for each in found}
        under = [e for e in found if e.revised_by is not None and e.revised_by.id in shown]
        tops = [each for each in found if each not in under]
        return [
            replace(each, replaced=self._replaced(caller, each.record, under)) for each in tops
        ], ranking.order

    def _replaced(
        self, caller: Caller, record: Record, under: Sequence[Explained]
    ) -> tuple[Record, ...]:
        """Return the records that a hit supersedes, and the hits in `under` that it perhaps revises."""
        view = self._store.seen_in(record.organization, without_folder_scope(caller)).where(
            valid_at=None
        )
        old: list[Record] = [
            each.record for each in under if each.revised_by and each.revised_by.id == record.id
        ]
        if isinstance(record, Memory):
            old += view.narrowed(superseded_by=record.id).find(Memory)
        elif isinstance(record, Decision):
            old += view.where(ids=frozenset(record.supersedes)).find(Decision)
        return tuple({each.id: each for each in old}.values())

    def _explained(self, caller: Caller, query: str, ranked: Sequence[Ranked]) -> list[Explained]:
        """Return hits with their reasons."""
        terms, ways = sought_terms(query), self._ways(caller, query, ranked)
        found = []
        for each in ranked:
            record = each.record
            assert not isinstance(record, CodeChunk)
            excerpt, words = excerpt_and_words(each.text, record.text, terms, EXCERPT)
            way, neighbour = ways.get(each.hit.id, ()), _neighbour(each, ranked)
            found.append(
                Explained(
                    record,
                    each.hit,
                    each.details,
                    excerpt,
                    words,
                    each.relevance,
                    way,
                    neighbour,
                    each.followed,
                    each.revised_by,
                    each.notes,
                )
            )
        return found

    def _ways(
        self, caller: Caller, query: str, recalled: Sequence[Ranked]
    ) -> dict[Key, tuple[Step, ...]]:
        """Find for each hit with a graph score the shortest way along edges that the caller may see."""
        hits: defaultdict[str, set[str]] = defaultdict(set)
        memories = [each for each in recalled if isinstance(each.record, Memory)]
        for each in memories:
            hits[each.record.organization].add(each.record.id)
        ways: dict[Key, tuple[Step, ...]] = {}
        by_graph = [each.record for each in memories if _graph_share(each.hit) > 0]
        for organization in {each.organization for each in by_graph}:
            view = self._store.seen_in(organization, caller)
            here = [each.id for each in by_graph if each.organization == organization]
            named = set(view.entities_named(words(query)))
            nearest = _edges(view, here)
            farther = _edges(view, {id for edges in nearest.values() for id in edges})
            found = {
                id: way
                for id in here
                if (way := _way(id, named or hits[organization] - {id}, nearest, farther))
            }
            seen = _read(view, {end for way in found.values() for _, end in way})
            for id, way in found.items():
                steps = tuple(Step(type, seen[end]) for type, end in way if end in seen)
                # A way over a record that was removed meanwhile is left out.
                if len(steps) == len(way):
                    ways[organization, id] = steps
        return ways


def _edges(view: View, ids: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return for each node the types of its edges that the caller may see, by their other ends."""
    nodes = set(ids)
    ties = view.ties(sorted(nodes), EDGES) if nodes else []
    ends = {end for tie in ties for end in zip(tie.of.joins, (tie.source, tie.target), strict=True)}
    seen = {
        id
        for of in (Memory, Entity)
        for id in _among(view, (e for k, e in ends if k is of)).read_ids(of, ["id"])
    }
    types: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for tie in ties:
        for node, other in ((tie.source, tie.target), (tie.target, tie.source)):
            if node in nodes and other in seen:
                types[node][other] = tie.type
    return types


def _read(view: View, ids: Iterable[str]) -> dict[str, Memory | Entity]:
    """Return memories and entities by id."""
    here = _among(view, ids)
    seen: dict[str, Memory | Entity] = {}
    seen |= {each.id: each for each in here.find(Memory)}
    seen |= {each.id: each for each in here.find(Entity)}
    return seen


def _among(view: View, ids: Iterable[str]) -> View:
    return view.where(valid_at=None, ids=frozenset(ids))


def _way(
    id: str,
    goals: AbstractSet[str],
    nearest: Mapping[str, Mapping[str, str]],
    farther: Mapping[str, Mapping[str, str]],
) -> list[tuple[str, str]]:
    """Return the edges from a hit to one of the goals, two at most, each as its type and its end.

    Empty if there is no such way.
    """
    first = nearest.get(id, {})
    for reached in sorted(first):
        if reached in goals:
            return [(first[reached], reached)]
    for reached in sorted(first):
        for end, type in sorted(farther.get(reached, {}).items()):
            if end in goals and end != id:
                return [(first[reached], reached), (type, end)]
    return []


def _graph_share(hit: FusedHit[Key]) -> float:
    return next((each.share for each in hit.shares if each.signal is Signal.GRAPH), 0.0)


def _neighbour(one: Ranked, ranked: Sequence[Ranked]) -> Memory | Turn | None:
    """Return the nearest other hit of a hit's session, if context raised its score."""
    session = _session_of(one.record)
    if "with context" not in one.details or not session:
        return None
    beside = [
        each.record
        for each in ranked
        if each is not one
        and isinstance(each.record, Memory | Turn)
        and each.record.organization == one.record.organization
        and _session_of(each.record) == session
    ]
    at = _written(one.record)
    return min(beside, key=lambda each: abs(_written(each) - at), default=None)


def _session_of(record: Record) -> str:
    if isinstance(record, Turn):
        return record.session
    origin = record.origin if isinstance(record, Memory) else None
    return "" if origin is None else origin.session


def _written(record: Record) -> datetime:
    assert isinstance(record, Memory | Turn)
    return record.at if isinstance(record, Turn) else record.ingestion_time
