"""Mentions: the edges from memories to the entities that they name, updated when either changes."""

from minutebook.memory.access.visibility import Clock
from minutebook.record.filters import Filter
from minutebook.record.records import Entity, Kind, Memory, Mention, Record
from minutebook.store.protocol import Store
from minutebook.text.words import words

MENTIONS = "mentions"


class Mentions:
    """Maintains the mention edges; call inside the transaction that puts the memory or entity."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def note(self, record: Record) -> None:
        """Update the mentions of a memory or an entity; other records have none."""
        if isinstance(record, Memory):
            self._note_memory(record)
        elif isinstance(record, Entity):
            self._note_entity(record)

    def _note_memory(self, memory: Memory) -> None:
        """Join a new or changed memory to the entities that its text names; remove its other mentions."""
        here = Filter(organization=memory.organization)
        named = set(self._store.entities_named(here, words(memory.text)))
        if memory.version > 1:
            for edge in self._store.edges(memory.organization, [memory.id]):
                if edge.kind is Kind.MENTION and edge.target not in named:
                    self._store.delete(Mention, memory.organization, edge.id)
        for entity in sorted(named):
            self._join(memory.organization, memory.id, entity)

    def _note_entity(self, entity: Entity) -> None:
        """Join a new entity to the memories that name it."""
        everything = Filter(organization=entity.organization, with_deleted=True)
        found: set[str] = set()
        for name in (entity.name, *entity.aliases):
            if parts := words(name):
                found.update(self._store.matches_phrase(Memory, everything, parts))
        for memory in sorted(found):
            self._join(entity.organization, memory, entity.id)

    def rebuild(self) -> None:
        """Make all mentions anew from the entities and the text index."""
        for organization in self._store.organizations():
            everything = Filter(organization=organization)
            with self._store.transaction(organization):
                for mention in self._store.find(Mention, everything):
                    self._store.delete(Mention, organization, mention.id)
                for entity in self._store.find(Entity, everything):
                    self._note_entity(entity)

    def _join(self, organization: str, memory: str, entity: str) -> None:
        self._store.put(
            Mention(
                organization=organization,
                id=f"{memory}.{entity}",
                source=memory,
                target=entity,
                type=MENTIONS,
                created_at=self._clock(),
            )
        )
