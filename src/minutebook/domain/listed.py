"""Records as they are listed: a part of a longer list, or a link with its other end."""

from dataclasses import dataclass

from minutebook.domain.records import Edge, Memory


@dataclass(frozen=True, slots=True)
class MemoryList:
    """Part of a list of memories, and how many the whole has."""

    memories: list[Memory]
    total: int


@dataclass(frozen=True, slots=True)
class LinkedMemory:
    """A link of a memory, and the memory at its other end."""

    edge: Edge
    memory: Memory
