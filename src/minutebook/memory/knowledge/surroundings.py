"""The part of the graph around a record: the entities and memories joined to it that a caller may see."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from minutebook.memory.access.visibility import Records, View
from minutebook.record.caller import Caller
from minutebook.record.errors import NotFound
from minutebook.record.listed import GraphStep, Node, Surrounded
from minutebook.record.records import Edge, Entity, Memory
from minutebook.store.values import Tie

EDGES_READ = 20_000
"""The most edges of a node that are read, the heaviest first, to find those that the caller may see."""


class Surroundings:
    """The use cases around the graph's nodes and their edges."""

    def __init__(self, store: Records) -> None:
        self._store = store

    def node(self, caller: Caller, id: str) -> Node:
        """Return the entity or memory with an id. Raises NotFound if there is none that the caller may see."""
        try:
            return self._store.read(caller, Entity, id)
        except NotFound:
            pass
        try:
            return self._store.read(caller, Memory, id)
        except NotFound as error:
            raise NotFound("entity or memory", id) from error

    def around(self, caller: Caller, node: Node, limit: int) -> Surrounded:
        """Return a node with its `limit` heaviest edges to other nodes that the caller may see."""
        view = self._store.seen_in(node.organization, caller)
        known: dict[str, Node] = {}
        wanted, looked = 2 * limit + 1, 0
        while True:
            ties = view.ties([node.id], min(wanted, EDGES_READ))
            _read_ends(view, node, ties[looked:], known)
            steps = [tie for tie in ties if (end := _end(tie, node)) in known and end != node.id]
            if len(steps) > limit or len(ties) < wanted:
                return Surrounded(
                    node, _steps(view, node, steps[:limit], known), len(steps) > limit
                )
            wanted, looked = wanted * 4, len(ties)

    def entities(
        self, caller: Caller, start: str, limit: int, offset: int
    ) -> tuple[list[Entity], int]:
        """Return a page of the entities with a name that begins with `start`, by name, and their number."""
        seen = self._store.seen_by(caller)
        if start:
            seen = seen.where(starts={"name": start})
        return seen.listing(Entity, "name", limit, offset)


def _end(tie: Tie, node: Node) -> str:
    return tie.target if tie.source == node.id else tie.source


def _read_ends(view: View, node: Node, ties: Sequence[Tie], known: dict[str, Node]) -> None:
    """Add the nodes at the other ends of edges to `known`, as far as they are in the view."""
    ends: dict[type[Node], set[str]] = {Entity: set(), Memory: set()}
    for tie in ties:
        end = _end(tie, node)
        of = tie.of.joins[0 if end == tie.source else 1]
        if of in ends and end not in known:
            ends[of].add(end)
    for of, ids in ends.items():
        if ids:
            found = view.where(ids=frozenset(ids)).find(of)
            known.update((each.id, each) for each in found)


def _steps(
    view: View, node: Node, ties: Sequence[Tie], known: Mapping[str, Node]
) -> list[GraphStep]:
    """Read the edges and return them with their other ends, without edges removed meanwhile."""
    ids: defaultdict[type[Edge], set[str]] = defaultdict(set)
    for tie in ties:
        ids[tie.of].add(tie.id)
    edges = {
        (of, edge.id): edge
        for of, some in ids.items()
        for edge in view.where(ids=frozenset(some)).find(of)
    }
    return [
        GraphStep(edge, known[_end(tie, node)])
        for tie in ties
        if (edge := edges.get((tie.of, tie.id))) is not None
    ]
