"""Look around among memories: what changed last, what is called how, what leads where."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from minutebook.domain.caller import Caller
from minutebook.domain.errors import NotFound
from minutebook.domain.ids import is_id, uuid_of
from minutebook.domain.records import Edge, Entity, Entry, Kind, Memory
from minutebook.services.access.visibility import filters, read
from minutebook.store.protocol import Store


@dataclass(frozen=True, slots=True)
class Linked:
    """A link of a memory, and the memory at its other end."""

    edge: Edge
    memory: Memory


class Browsing:
    """The use cases of a caller who does not know what to ask for yet."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def latest(self, caller: Caller, limit: int) -> list[Memory]:
        """Return the memories that changed last, newest first."""
        wheres = filters(self._store, caller)
        return self._store.page(Memory, wheres, order=["-updated_at"], limit=limit)

    def titled(self, caller: Caller, start: str, limit: int) -> list[Memory]:
        """Return the memories whose title begins with `start` (ASCII case ignored), by title."""
        wheres = [replace(each, starts={"title": start}) for each in filters(self._store, caller)]
        return self._store.page(Memory, wheres, order=["title"], limit=limit)

    def links(self, caller: Caller, memory: Memory) -> list[Linked]:
        """Return the links from and to a memory of which the caller may see both ends."""
        found = []
        for edge in self._store.edges(memory.organization, [memory.id]):
            if edge.kind is not Kind.LINK:
                continue
            other = edge.target if edge.source == memory.id else edge.source
            try:
                found.append(Linked(edge, read(self._store, caller, Memory, other)))
            except NotFound:
                continue
        return found

    def mentioned(self, caller: Caller, memory: Memory) -> list[Entity]:
        """Return the entities that a memory mentions and the caller may see."""
        found = []
        for edge in self._store.edges(memory.organization, [memory.id]):
            if edge.kind is not Kind.MENTION:
                continue
            try:
                found.append(read(self._store, caller, Entity, edge.target))
            except NotFound:
                continue
        return sorted(found, key=lambda each: each.name)

    def successor(self, caller: Caller, memory: Memory) -> str | None:
        """Return the id of what took a memory's place; None if nothing did that the caller may see."""
        if memory.superseded_by is None:
            return None
        try:
            return read(self._store, caller, Memory, memory.superseded_by, with_deleted=True).id
        except NotFound:
            return None

    def subject_uuids(self, caller: Caller, entries: Iterable[Entry]) -> dict[tuple[str, str], str]:
        """Return the UUIDs of the memories that audit entries concern, by organization and id.

        For a purged memory it is the UUID that its id implies, which leads to the same id.
        """
        ids_of: defaultdict[str, set[str]] = defaultdict(set)
        for entry in entries:
            if entry.subject_kind is Kind.MEMORY and is_id(entry.subject):
                ids_of[entry.organization].add(entry.subject)
        uuids = {(name, id): str(uuid_of(id)) for name, ids in ids_of.items() for id in ids}
        for where in filters(self._store, caller):
            ids = frozenset(ids_of.get(where.organization, ()))
            if not ids:
                continue
            here = replace(where, ids=ids, with_deleted=True)
            for memory in self._store.find(Memory, here):
                uuids[memory.organization, memory.id] = memory.uuid
        return uuids
