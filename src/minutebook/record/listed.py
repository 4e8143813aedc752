"""Records as they are listed: a part of a longer list, or an edge with what it leads to."""

from dataclasses import dataclass
from enum import StrEnum

from minutebook.record.records import Edge, Entity, Memory, Summary, Turn

Node = Entity | Memory


@dataclass(frozen=True, slots=True)
class MemoryList:
    """Part of a list of memories, and the length of the whole list."""

    memories: list[Memory]
    total: int


@dataclass(frozen=True, slots=True)
class SessionTurns:
    """Part of a session in order, and the number of all its turns."""

    turns: list[Turn]
    total: int


@dataclass(frozen=True, slots=True)
class SummaryPage:
    """Part of the summaries, the newest first, and the number of all."""

    summaries: list[Summary]
    total: int


@dataclass(frozen=True, slots=True)
class LinkedMemory:
    """A link of a memory, and the memory at its other end."""

    edge: Edge
    memory: Memory


class Direction(StrEnum):
    """Which way relations are followed."""

    OUTGOING = "outgoing"
    INCOMING = "incoming"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class EntityNeighbourhood:
    """The entities within some steps of one, without it, and the relations that were followed."""

    entities: list[Entity]
    relations: list[Edge]


@dataclass(frozen=True, slots=True)
class GraphStep:
    """An edge of a node, and the node at its other end."""

    edge: Edge
    node: Node


@dataclass(frozen=True, slots=True)
class Surrounded:
    """A node and its heaviest edges; `has_more` if it has more than were asked for."""

    node: Node
    steps: list[GraphStep]
    has_more: bool
