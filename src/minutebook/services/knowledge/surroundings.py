"""What is joined to what: entities and memories around a thing, as far as a caller may see them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from minutebook.domain.caller import Caller
from minutebook.domain.errors import NotFound
from minutebook.domain.filters import Filter, visible_filter
from minutebook.domain.records import Edge, Entity, Memory
from minutebook.services.access.visibility import filters, page_of, read
from minutebook.store.protocol import Store

Node = Entity | Memory

EDGES_READ = 20_000
"""Edges of one thing that are read at most, the heaviest first, to find those that the caller may see."""


@dataclass(frozen=True, slots=True)
class Step:
    """An edge of a thing, and what stands at its other end."""

    edge: Edge
    node: Node


@dataclass(frozen=True, slots=True)
class Surrounded:
    """A thing and its heaviest edges; `has_more` if there are more than were asked for."""

    node: Node
    steps: list[Step]
    has_more: bool


class Surroundings:
    """The use cases of somebody who looks around in the graph."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def node(self, caller: Caller, id: str) -> Node:
        """Return the entity or memory with an id. Raises NotFound if there is none to be seen."""
        try:
            return read(self._store, caller, Entity, id)
        except NotFound:
            pass
        try:
            return read(self._store, caller, Memory, id)
        except NotFound as error:
            raise NotFound("entity or memory", id) from error

    def around(self, caller: Caller, node: Node, limit: int) -> Surrounded:
        """Return a thing with its `limit` heaviest edges whose other end the caller may see, too.

        What the caller may not see leaves no gap: others take its place.
        """
        where = visible_filter(caller, node.organization)
        known: dict[str, Node] = {}
        wanted, looked = 2 * limit + 1, 0
        while True:
            edges = self._store.edges(node.organization, [node.id], min(wanted, EDGES_READ))
            self._read_ends(where, node, edges[looked:], known)
            steps = [
                Step(edge, known[end])
                for edge in edges
                if (end := edge.other_end(node.id)) in known and end != node.id
            ]
            if len(steps) > limit or len(edges) < wanted:
                return Surrounded(node, steps[:limit], len(steps) > limit)
            wanted, looked = wanted * 4, len(edges)

    def entities(
        self, caller: Caller, start: str, limit: int, offset: int
    ) -> tuple[list[Entity], int]:
        """Return a page of the entities whose name begins with `start`, by name, and their number."""
        wheres = filters(self._store, caller)
        if start:
            wheres = [replace(each, starts={"name": start}) for each in wheres]
        return page_of(self._store, Entity, wheres, "name", limit, offset)

    def _read_ends(
        self, where: Filter, node: Node, edges: Sequence[Edge], known: dict[str, Node]
    ) -> None:
        """Enter what stands at the other ends of edges, as far as it passes the filter."""
        ends: dict[type[Node], set[str]] = {Entity: set(), Memory: set()}
        for edge in edges:
            end = edge.other_end(node.id)
            of = edge.class_of(end)
            if of in ends and end not in known:
                ends[of].add(end)
        for of, ids in ends.items():
            if ids:
                found = self._store.find(of, replace(where, ids=frozenset(ids)))
                known.update((each.id, each) for each in found)
