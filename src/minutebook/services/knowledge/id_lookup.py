"""Find the records that a person means by a part of an id."""

from dataclasses import replace

from minutebook.domain.filters import Filter
from minutebook.domain.policy import Caller
from minutebook.domain.records import SYSTEM_ORGANIZATION, Kind, Record
from minutebook.services.access.visibility import filters
from minutebook.store.protocol import Store


class IdLookup:
    """The use case around parts of ids; a whole one is read by the service of its subject."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def begin_with(self, caller: Caller, kind: Kind, text: str, limit: int) -> list[Record]:
        """Give the records the caller may see whose ids begin with the text, newest first.

        A to Z are like a to z; soft-deleted ones are among them. At most `limit`.
        """
        found = [
            record
            for where in _all(self._store, caller, kind)
            for record in self._store.find(
                kind, replace(where, starts={"id": text}), order=("-id",), limit=limit
            )
        ]
        return sorted(found, key=lambda each: each.id, reverse=True)[:limit]

    def end_with(self, caller: Caller, kind: Kind, text: str, limit: int) -> list[Record]:
        """Give those whose ids end with the text, which is where ids of one time differ."""
        found: list[Record] = []
        for where in _all(self._store, caller, kind):
            ids = [
                id
                for id in self._store.ids(kind, where, ("-id",))
                if id.lower().endswith(text.lower())
            ]
            here = replace(where, ids=frozenset(ids[:limit]))
            found += self._store.find(kind, here) if ids else []
        return sorted(found, key=lambda each: each.id, reverse=True)[:limit]


def _all(store: Store, caller: Caller, kind: Kind) -> list[Filter]:
    """Select all of a kind that the caller may see; of tokens all, which belong to the system."""
    if kind is Kind.TOKEN:
        return [Filter(organization=SYSTEM_ORGANIZATION)]
    return [replace(where, with_deleted=True) for where in filters(store, caller)]
