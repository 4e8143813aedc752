"""Find the records that a person means by a part of an id."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from minutebook.domain.caller import Caller
from minutebook.domain.filters import Filter
from minutebook.domain.ids import may_be_in_uuid, start_of_ids, uuid_of
from minutebook.domain.records import SYSTEM_ORGANIZATION, Memory, Record, Token
from minutebook.services.access.visibility import filters
from minutebook.store.protocol import R, Store


class IdLookup:
    """The use case around parts of ids; a whole one is read by the service of its subject.

    Small and capital letters are alike, and soft-deleted records are found. A part of the UUID
    of a memory finds it too.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def begin_with(self, caller: Caller, of: type[R], text: str, limit: int) -> list[R]:
        """Return the records the caller may see whose ids begin with the text, newest first."""
        part, found = text.lower(), list[R]()
        for where in _all(self._store, caller, of):
            named = replace(where, starts={"id": part})
            found += self._store.find(of, named, order=("-id",), limit=limit)
            if of is Memory and may_be_in_uuid(part):
                derived = replace(where, starts={"id": start_of_ids(part)})
                by_uuid = replace(where, starts={"given_uuid": part})
                found += self._with_uuid(
                    of, derived, by_uuid, lambda uuid: uuid.startswith(part), limit
                )
        return _newest(found, limit)

    def end_with(self, caller: Caller, of: type[R], text: str, limit: int) -> list[R]:
        """Return those whose ids end with the text, which is where ids of one time differ."""
        part, found = text.lower(), list[R]()
        for where in _all(self._store, caller, of):
            ids = [id for id in self._store.ids(of, where, ("-id",)) if id.lower().endswith(part)]
            found += self._store.find(of, replace(where, ids=frozenset(ids[:limit])))
            if of is Memory and may_be_in_uuid(part):
                by_uuid = replace(where, starts={"given_uuid": ""})
                found += self._with_uuid(
                    of, where, by_uuid, lambda uuid: uuid.endswith(part), limit
                )
        return _newest(found, limit)

    def _with_uuid(
        self,
        of: type[R],
        derived: Filter,
        by_uuid: Filter,
        is_meant: Callable[[str], bool],
        limit: int,
    ) -> list[R]:
        """Return memories by their UUIDs, which ids give and, where others were given, records."""
        ids = self._store.ids(of, derived, ("-id",))
        matching = [id for id in ids if is_meant(str(uuid_of(id)))]
        found = [
            *self._store.find(of, replace(derived, ids=frozenset(matching[:limit]))),
            *self._store.find(of, by_uuid),
        ]
        return [each for each in found if isinstance(each, Memory) and is_meant(each.uuid)]


def _newest(found: Iterable[R], limit: int) -> list[R]:
    once = {(each.organization, each.id): each for each in found}
    return sorted(once.values(), key=lambda each: each.id, reverse=True)[:limit]


def _all(store: Store, caller: Caller, of: type[Record]) -> list[Filter]:
    """Select all of a class that the caller may see; of tokens all, which belong to the system."""
    if of is Token:
        return [Filter(organization=SYSTEM_ORGANIZATION)]
    return [replace(where, with_deleted=True) for where in filters(store, caller)]
