"""Browse memories: the last changes, titles, and chains of supersession."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from minutebook.memory.access.visibility import Records
from minutebook.record.caller import Caller, without_folder_scope
from minutebook.record.errors import NotFound
from minutebook.record.ids import is_id, uuid_of
from minutebook.record.listed import LinkedMemory
from minutebook.record.records import CLASSES, Entity, Entry, Kind, Memory, Record

_WITH_WORDS = (Kind.MEMORY, Kind.DECISION, Kind.PROPOSAL, Kind.ENTITY, Kind.SUMMARY)
"""The kinds of an audit entry's subject that a person recognizes by its words rather than its id."""


class Browsing:
    """The use cases around memories without a search."""

    def __init__(self, store: Records) -> None:
        self._store = store

    def latest(self, caller: Caller, limit: int) -> list[Memory]:
        """Return the memories that changed last, newest first."""
        return self._store.seen_by(caller).page(Memory, "-updated_at", limit)

    def titled(self, caller: Caller, start: str, limit: int) -> list[Memory]:
        """Return the memories with a title that begins with `start` (ASCII case ignored), by title."""
        seen = self._store.seen_by(caller).where(starts={"title": start})
        return seen.page(Memory, "title", limit)

    def links(self, caller: Caller, memory: Memory) -> list[LinkedMemory]:
        """Return the links from and to a memory, each with the memory at its other end, as far as the caller may see that."""
        view = self._store.seen_in(memory.organization, without_folder_scope(caller))
        links = [edge for edge in view.edges([memory.id]) if edge.kind is Kind.LINK]
        ends = ((edge, view.get(Memory, edge.other_end(memory.id))) for edge in links)
        return [LinkedMemory(edge, other) for edge, other in ends if other is not None]

    def mentioned(self, caller: Caller, memory: Memory) -> list[Entity]:
        """Return the entities that a memory mentions and the caller may see."""
        view = self._store.seen_in(memory.organization, without_folder_scope(caller))
        named = {edge.target for edge in view.edges([memory.id]) if edge.kind is Kind.MENTION}
        return sorted(
            view.where(ids=frozenset(named)).find(Entity), key=lambda each: (each.name, each.id)
        )

    def successor(self, caller: Caller, memory: Memory) -> str | None:
        """Return the id of a memory's successor; None if there is none or the caller may not see it."""
        if memory.superseded_by is None:
            return None
        try:
            return self._store.read(caller, Memory, memory.superseded_by, with_deleted=True).id
        except NotFound:
            return None

    def subjects(self, caller: Caller, entries: Sequence[Entry]) -> dict[tuple[str, str], Record]:
        """Return the records that audit entries concern and the caller may see, by organization and id."""
        found: dict[tuple[str, str], Record] = {}
        for view in self._store.seen_by(caller):
            for of in map(CLASSES.__getitem__, _WITH_WORDS):
                ids = {
                    each.subject
                    for each in entries
                    if (each.organization, each.subject_kind) == (view.organization, of.kind)
                }
                for each in view.where(ids=frozenset(ids)).find(of) if ids else ():
                    found[view.organization, each.id] = each
        return found

    def subject_uuids(self, caller: Caller, entries: Iterable[Entry]) -> dict[tuple[str, str], str]:
        """Return the UUIDs of the memories that audit entries concern, by organization and id.

        For a purged memory it is the UUID that its id implies.
        """
        ids_of: defaultdict[str, set[str]] = defaultdict(set)
        for entry in entries:
            if entry.subject_kind is Kind.MEMORY and is_id(entry.subject):
                ids_of[entry.organization].add(entry.subject)
        uuids = {(name, id): str(uuid_of(id)) for name, ids in ids_of.items() for id in ids}
        for view in self._store.seen_by(caller):
            ids = frozenset(ids_of.get(view.organization, ()))
            if not ids:
                continue
            for memory in view.where(ids=ids, with_deleted=True).find(Memory):
                uuids[memory.organization, memory.id] = memory.uuid
        return uuids
