"""Find code: by meaning and by words, definitions first."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from minutebook.code.languages import language_named
from minutebook.domain.filters import Filter
from minutebook.domain.policy import Caller
from minutebook.domain.records import CodeChunk, Kind
from minutebook.search.code import Sight, rerank
from minutebook.search.ranking import Hit, Signal, fuse, minmax
from minutebook.search.text import TextQuery, parse_query
from minutebook.services.candidates import Candidates, Scores
from minutebook.services.reach import filters, narrowed, read_project
from minutebook.services.vectors import Embedded
from minutebook.store.protocol import Store, Vectors

CANDIDATES = 100
"""How many each of the vector and the lexical signal propose."""

WEIGHTS: Mapping[Signal, float] = {Signal.VECTOR: 0.8, Signal.LEXICAL: 0.2}
"""How much each signal says where the caller does not choose."""


@dataclass(frozen=True, slots=True)
class FoundCode:
    """A chunk, its score, and what the signals said of it before names and places counted."""

    chunk: CodeChunk
    score: float
    hit: Hit


class CodeSearch:
    """Ranks the chunks of the projects that the caller may see."""

    def __init__(self, store: Store, embedded: Embedded) -> None:
        self._store = store
        self._embedded = embedded
        self._signals = Candidates(store, embedded)

    def search(
        self,
        caller: Caller,
        query: str,
        limit: int,
        *,
        project: str | None = None,
        language: str | None = None,
        weights: Mapping[Signal, float] = WEIGHTS,
    ) -> list[FoundCode]:
        """Rank chunks, of one project or language where these are named; NotFound, EmbeddingNotReady.

        A language may be called as people do: `C++`, `TypeScript`, `py`.
        Without a model words alone decide, and for a chunk whose vectors are still to come what its
        words say stands in for what its meaning would.
        """
        vector, parsed = self._embedded.question(query, caller.listener), parse_query(query)
        near: Scores = {}
        lexical: Scores = {}
        where_of: dict[str, Filter] = {}
        for where in self._reach(caller, project, language):
            found_near, found_lexical = self._candidates(where, vector, parsed)
            where_of |= dict.fromkeys((*found_near, *found_lexical), where)
            near |= found_near
            lexical |= found_lexical
        hits = fuse({Signal.VECTOR: near, Signal.LEXICAL: lexical}, weights, len(where_of))
        chunks = self._chunks(where_of)
        by_id = {hit.id: hit for hit in hits if hit.id in chunks}
        sights = [
            Sight(id, hit.score, chunks[id].path, chunks[id].name, chunks[id].type)
            for id, hit in by_id.items()
        ]
        return [
            FoundCode(chunks[id], score, by_id[id]) for id, score in rerank(query, sights, limit)
        ]

    def _reach(self, caller: Caller, project: str | None, language: str | None) -> list[Filter]:
        conditions = {}
        if language is not None:
            known = language_named(language)
            conditions["language"] = language if known is None else known.name
        if project is None:
            return [narrowed(where, **conditions) for where in filters(self._store, caller)]
        organization = read_project(self._store, caller, project).organization
        return [
            narrowed(where, **conditions, project=project)
            for where in filters(self._store, caller)
            if where.organization == organization
        ]

    def _candidates(
        self, where: Filter, vector: Vectors | None, query: TextQuery
    ) -> tuple[Scores, Scores]:
        """Give each signal's best, every one of them with its cosine where it has a vector."""
        lexical = self._signals.said(Kind.CHUNK, where, query, CANDIDATES)
        if vector is None:
            return {}, lexical
        near = self._signals.near(Kind.CHUNK, where, vector, CANDIDATES)
        self._signals.complete(Kind.CHUNK, where, vector, near, lexical)
        return _stood_in(near, lexical), lexical

    def _chunks(self, where_of: Mapping[str, Filter]) -> dict[str, CodeChunk]:
        """Read what was found; what went meanwhile is left out."""
        chunks: dict[str, CodeChunk] = {}
        for organization in {where.organization for where in where_of.values()}:
            ids = frozenset(
                id for id, where in where_of.items() if where.organization == organization
            )
            kept = self._store.find(Kind.CHUNK, Filter(organization=organization, ids=ids))
            chunks |= {chunk.id: chunk for chunk in cast("list[CodeChunk]", kept)}
        return chunks


def _stood_in(near: Scores, lexical: Scores) -> Scores:
    """Give what has no cosine the one that stands where its lexical score does."""
    if not near:
        return near
    worst, best = min(near.values()), max(near.values())
    guessed = {id: worst + part * (best - worst) for id, part in minmax(lexical).items()}
    return {**guessed, **near}
