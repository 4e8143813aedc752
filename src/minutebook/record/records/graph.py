"""Entities, and the edges between them and memories."""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from minutebook.record.origin import Origin
from minutebook.record.records.memories import Memory
from minutebook.record.records.record import Kind, Record, TextRecord

RecordClass = type[Record]
"""For use where a field is called `type`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity(Record):
    """A node of the knowledge graph."""

    kind: ClassVar[Kind] = Kind.ENTITY

    name: str
    type: str
    author: str
    created_at: datetime
    description: str | None = None
    aliases: tuple[str, ...] = ()
    repository: str | None = None
    user: str | None = None
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge(Record):
    """A directed, typed, weighted edge from `source` to `target`."""

    joins: ClassVar[tuple[type[Record], type[Record]]]
    """The classes of its source and of its target."""

    source: str
    target: str
    type: str
    created_at: datetime
    weight: float = 1.0
    origin: Origin | None = None

    def other_end(self, id: str) -> str:
        """Return the id of the record at the other end of the edge than the one with this id."""
        return self.target if self.source == id else self.source


class Relation(Edge):
    """An edge that joins two entities."""

    __slots__ = ()
    kind: ClassVar[Kind] = Kind.RELATION
    joins = (Entity, Entity)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationText(TextRecord):
    """A relation as a sentence: `Ana Ruiz —works_on→ Halcyon`; `author` wrote it."""

    kind: ClassVar[Kind] = Kind.RELATION

    sentence: str
    at: datetime
    author: str
    origin: Origin | None = None

    @property
    def text(self) -> str:
        """The sentence."""
        return self.sentence


class Link(Edge):
    """An edge that joins two memories."""

    __slots__ = ()
    kind: ClassVar[Kind] = Kind.LINK
    joins = (Memory, Memory)


class Mention(Edge):
    """An edge from a memory to an entity that it names; derived, can be rebuilt."""

    __slots__ = ()
    kind: ClassVar[Kind] = Kind.MENTION
    joins = (Memory, Entity)
