"""What each signal of the store says of the records of a kind."""

from collections.abc import Iterable
from dataclasses import replace

from minutebook.domain.filters import Filter
from minutebook.domain.records import Kind
from minutebook.search.text import TextQuery
from minutebook.services.vectors import Embedded
from minutebook.store.protocol import Store, Vectors

Scores = dict[str, float]
"""A signal's own score of each record that it found, by id."""


class Candidates:
    """Asks the store for the best of a kind, in the space of the model in use."""

    def __init__(self, store: Store, embedded: Embedded) -> None:
        self._store = store
        self._embedded = embedded

    def said(self, kind: Kind, where: Filter, query: TextQuery, limit: int) -> Scores:
        """Give the best of the selected records by words."""
        found = self._store.match(kind, where, query, limit)
        return {each.id: each.score for each in found}

    def near(self, kind: Kind, where: Filter, vector: Vectors, limit: int) -> Scores:
        """Give the best of the selected records by cosine."""
        space = self._embedded.space
        found = self._store.nearest(kind, where, space, vector, limit)
        return {each.id: each.score for each in found}

    def complete(
        self, kind: Kind, where: Filter, vector: Vectors, near: Scores, others: Iterable[str]
    ) -> None:
        """Add the cosines of records that other signals found, of those that have a vector.

        Counting them as 0 would cost fusion most of what it gains over words alone.
        """
        missing = frozenset(others) - near.keys()
        if missing:
            near |= self.near(kind, replace(where, ids=missing), vector, len(missing))
