"""Gather what each signal of the store says of the records of a kind."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace

from minutebook.domain.caller import Caller
from minutebook.domain.filters import Filter
from minutebook.domain.records import TextRecord
from minutebook.search.fusion import Signal
from minutebook.search.text import TextQuery
from minutebook.services.access.visibility import filters
from minutebook.services.embeddings import Embeddings
from minutebook.store.protocol import R, Store, Vectors

Key = tuple[str, str]
"""An organization and the id of a record there: two organizations may have the same id."""

Scores = dict[Key, float]
"""A signal's own score of each record that it found."""


@dataclass(slots=True)
class Signals:
    """What each signal says of records; `vector` is None without a model."""

    vector: Scores | None
    lexical: Scores
    graph: Scores | None = None

    def keys(self) -> set[Key]:
        """Give every record that a signal found."""
        return {*(self.vector or ()), *self.lexical, *(self.graph or ())}

    def add(self, others: "Signals") -> None:
        """Add what the signals say of other records."""
        if others.vector is not None:
            self.vector = (self.vector or {}) | others.vector
        self.lexical |= others.lexical
        if others.graph is not None:
            self.graph = (self.graph or {}) | others.graph

    def among(self, keys: Container[Key]) -> "Signals":
        """Give what the signals say of some records only."""

        def only(scores: Scores) -> Scores:
            return {key: score for key, score in scores.items() if key in keys}

        return Signals(
            None if self.vector is None else only(self.vector),
            only(self.lexical),
            None if self.graph is None else only(self.graph),
        )

    def found(self) -> dict[Signal, Scores]:
        """Give the scores of each signal that found anything."""
        each = {
            Signal.VECTOR: self.vector,
            Signal.LEXICAL: self.lexical,
            Signal.GRAPH: self.graph,
        }
        return {signal: scores for signal, scores in each.items() if scores}


class Candidates:
    """Asks the store for the best records of a class, in the space of the model in use."""

    def __init__(self, store: Store, embedded: Embeddings) -> None:
        self._store = store
        self._embedded = embedded

    def embed(self, query: str, caller: Caller, of: type[TextRecord]) -> Vectors | None:
        """Embed a query for a search by meaning and words; None if no model is ready.

        Notes in the call that records are searched by words alone. Raises InvalidInput for a query
        that is too long.
        """
        vector = self._embedded.embed_query(query, caller.call.progress)
        if vector is None:
            note = self._embedded.note_of_words_alone()
        else:
            note = self._embedded.note_of_pending(of, filters(self._store, caller))
        if note is not None:
            caller.call.notes["meaning"] = note
        return vector

    def gather(
        self,
        of: type[TextRecord],
        wheres: Iterable[Filter],
        vector: Vectors | None,
        query: TextQuery,
        limit: int,
    ) -> Signals:
        """Give the best of each selection by each signal, every one with its cosine if it has one."""
        total = Signals(None if vector is None else {}, {})
        for where in wheres:
            found = self.propose(of, where, vector, query, limit)
            self.complete(of, where, vector, found)
            total.add(found)
        return total

    def propose(
        self,
        of: type[TextRecord],
        where: Filter,
        vector: Vectors | None,
        query: TextQuery,
        limit: int,
    ) -> Signals:
        """Give the best of the selected records by each signal, with the scores of that one alone."""
        vector_scores = None if vector is None else self.nearest(of, where, vector, limit)
        return Signals(vector_scores, self.matches(of, where, query, limit))

    def matches(self, of: type[TextRecord], where: Filter, query: TextQuery, limit: int) -> Scores:
        """Give the best of the selected records by words."""
        found = self._store.match(of, where, query, limit)
        return {(where.organization, each.id): each.score for each in found}

    def nearest(self, of: type[TextRecord], where: Filter, vector: Vectors, limit: int) -> Scores:
        """Give the best of the selected records by cosine."""
        space = self._embedded.space
        found = self._store.nearest(of, where, space, vector, limit)
        return {(where.organization, each.id): each.score for each in found}

    def complete(
        self, of: type[TextRecord], where: Filter, vector: Vectors | None, found: Signals
    ) -> None:
        """Add the cosines of records that other signals found, of those that have a vector.

        Counting them as 0 would cost fusion most of what it gains over words alone.
        """
        if vector is None or found.vector is None:
            return
        missing = frozenset(id for _, id in found.keys() - found.vector.keys())
        if missing:
            here = replace(where, ids=missing)
            found.vector |= self.nearest(of, here, vector, len(missing))

    def read(self, of: type[R], wheres: Sequence[Filter], keys: Iterable[Key]) -> dict[Key, R]:
        """Read records that were found in some selections; what went meanwhile is left out."""
        ids: dict[str, set[str]] = {}
        for organization, id in keys:
            ids.setdefault(organization, set()).add(id)
        return {
            (record.organization, record.id): record
            for where in wheres
            if where.organization in ids
            for record in self._store.find(
                of, replace(where, ids=frozenset(ids[where.organization]))
            )
        }
