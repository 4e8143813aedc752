"""Find the records that a person means by a part of an id."""

from collections.abc import Callable, Iterable

from minutebook.memory.access.visibility import Records, View
from minutebook.record.caller import Caller
from minutebook.record.ids import may_be_in_uuid, start_of_ids, uuid_of
from minutebook.record.records import Memory, Record, Token
from minutebook.store.values import R


class IdLookup:
    """The use cases that find records by a part of an id.

    The case of letters does not matter, and soft-deleted records are found too. A memory is also
    found by a part of its UUID.
    """

    def __init__(self, store: Records) -> None:
        self._store = store

    def beginning_with(self, caller: Caller, of: type[R], text: str, limit: int) -> list[R]:
        """Return the records visible to the caller whose ids begin with the text, newest first."""
        part, found = text.lower(), list[R]()
        for view in self._views(caller, of):
            named = view.where(starts={"id": part})
            found += named.find(of, order=("-id",), limit=limit)
            if of is Memory and may_be_in_uuid(part):
                derived = view.where(starts={"id": start_of_ids(part)})
                by_uuid = view.where(starts={"given_uuid": part})
                found += self._find_by_uuid(
                    of, derived, by_uuid, lambda uuid: uuid.startswith(part), limit
                )
        return _newest(found, limit)

    def ending_with(self, caller: Caller, of: type[R], text: str, limit: int) -> list[R]:
        """Return the same for ids that end with the text: ids made at about the same time differ at the end."""
        part, found = text.lower(), list[R]()
        for view in self._views(caller, of):
            ids = [id for id in view.read_ids(of, ("-id",)) if id.lower().endswith(part)]
            found += view.where(ids=frozenset(ids[:limit])).find(of)
            if of is Memory and may_be_in_uuid(part):
                by_uuid = view.where(starts={"given_uuid": ""})
                found += self._find_by_uuid(
                    of, view, by_uuid, lambda uuid: uuid.endswith(part), limit
                )
        return _newest(found, limit)

    def _find_by_uuid(
        self,
        of: type[R],
        derived: View,
        by_uuid: View,
        is_meant: Callable[[str], bool],
        limit: int,
    ) -> list[R]:
        """Return the memories whose UUID is meant: those of `derived` by the UUID of their id, those of `by_uuid` by the given one."""
        ids = derived.read_ids(of, ("-id",))
        matching = [id for id in ids if is_meant(str(uuid_of(id)))]
        found = [*derived.where(ids=frozenset(matching[:limit])).find(of), *by_uuid.find(of)]
        return [each for each in found if isinstance(each, Memory) and is_meant(each.uuid)]

    def _views(self, caller: Caller, of: type[Record]) -> Iterable[View]:
        """Return views of the records of a class that the caller may see; for tokens one of them all."""
        if of is Token:
            return [self._store.tokens]
        return self._store.seen_by(caller).where(with_deleted=True)


def _newest(found: Iterable[R], limit: int) -> list[R]:
    once = {(each.organization, each.id): each for each in found}
    return sorted(once.values(), key=lambda each: each.id, reverse=True)[:limit]
