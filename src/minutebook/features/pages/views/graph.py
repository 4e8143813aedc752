"""The page *Graph*: entities, relations and memories around a node, drawn and as lists."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from minutebook.features.pages.frame.markup import visible
from minutebook.features.pages.frame.page import Data, Page, View, Visit
from minutebook.features.pages.frame.records import name_of
from minutebook.features.pages.views.find import offset, shown
from minutebook.features.pages.views.tree_layout import TreePlace, places
from minutebook.record.errors import InvalidInput
from minutebook.record.listed import GraphStep, Node, Surrounded
from minutebook.record.records import Memory
from minutebook.record.writing.validity import holds_at

SHOWN = 40
"""Edges of each opened node that are shown at first."""

MOST = 2000
"""The most edges of an opened node that are shown."""

MOST_OPENED = 60
"""The most nodes that an address may open."""

MOST_DRAWN = 3000
"""The most nodes that are drawn; no further ones are opened then."""

LISTED = 50
"""Entities on a page of the list."""

STEPS = 50
"""Edges on a page of an opened node's list."""

AS_MARKUP = 150
"""The most nodes of a drawing in the page itself; a larger one is drawn by a script from the data of `drawing`."""

LABEL = 24
"""Characters of a name in the drawing; the whole name is in the list and in the title."""

MARGIN = 185
"""Pixels from a node to the end of its name."""

EDGE = 30
"""Pixels around the whole drawing."""


@dataclass(frozen=True, slots=True)
class GraphQuery:
    """The query in an address: the node `at` the middle, the other opened ones, and the number of edges of each.

    The list of the node `of` begins with its edge `first`, those of the others with edge 0.
    """

    at: str
    opened: tuple[str, ...]
    shown: int
    of: str = ""
    first: int = 0

    def address(self, **changes: Any) -> str:
        """Return the address of the same graph, its lists from the beginning, with some parts changed."""
        return f"/graph?{self.parameters(**changes)}"

    def parameters(self, **changes: Any) -> str:
        """Return the query string of such an address."""
        query = replace(self, **{"of": "", "first": 0, **changes})
        parameters = {"at": query.at}
        if query.opened:
            parameters["open"] = ",".join(query.opened)
        if query.shown != SHOWN:
            parameters["show"] = str(query.shown)
        if query.first:
            parameters |= {"of": query.of, "from": str(query.first)}
        return urlencode(parameters, safe=",")

    def grown(self, id: str) -> str:
        """Return the address of the graph with a node opened, or closed if it is open."""
        if id in self.opened:
            return self.address(opened=tuple(each for each in self.opened if each != id))
        return self.address(opened=(*self.opened, id))


@dataclass(frozen=True, slots=True)
class Section:
    """A page of the list of an opened node: its edges, and the addresses of the pages before and after."""

    node: Node
    steps: list[GraphStep]
    total: int
    first: int
    has_more: bool
    before: str | None
    after: str | None


@dataclass(slots=True)
class _DrawnGraph:
    """The shown graph: its nodes by id, the opened ones from the middle outwards, and the children of each in the drawing."""

    nodes: dict[str, Node] = field(default_factory=dict)
    opened: list[Surrounded] = field(default_factory=list)
    branches: dict[str, list[str]] = field(default_factory=dict)


def show(visit: Visit) -> Page:
    """Show the graph around a node, or without one the list of entities."""
    if not visit.query.get("at", "").strip():
        return _entities(visit)
    query = graph_query(visit.query)
    graph = _gathered(visit, query)
    opened_ids = {each.node.id for each in graph.opened}
    facts: dict[str, Any] = {
        "query": query,
        "middle": graph.nodes[query.at],
        "sections": [_section(each, query) for each in graph.opened],
        "opened_ids": opened_ids,
        "things": len(graph.nodes),
        "connections": len({_key(step) for each in graph.opened for step in each.steps}),
        "ended": _ended(visit, graph),
        "label": _label,
        "more": query.address(shown=min(MOST, query.shown * 5)) if query.shown < MOST else None,
        "is_full": len(graph.nodes) >= MOST_DRAWN,
        "drawing": f"/graph/drawing?{query.parameters()}" if len(graph.nodes) > AS_MARKUP else None,
    }
    if facts["drawing"] is None:
        placed = places(query.at, graph.branches)
        facts |= {
            "nodes": [(node, placed[id]) for id, node in graph.nodes.items()],
            "lines": [
                (placed[source], placed[target], kind, type)
                for source, target, kind, type in _lines(graph)
            ],
            "frame_of": _frame(placed.values()),
        }
    return Page("graph_part.html" if visit.wants_part else "graph.html", facts)


def has_things(visit: Visit) -> bool:
    """Tell whether the caller sees an entity."""
    return bool(visit.app.surroundings.entities(visit.caller, "", 1, 0)[0])


def drawing(visit: Visit) -> Data:
    """Return the data that a script draws: the frame, nodes with their places, lines with the indices of their nodes."""
    query = graph_query(visit.query)
    graph = _gathered(visit, query)
    placed, ended = places(query.at, graph.branches), _ended(visit, graph)
    opened = {each.node.id for each in graph.opened}
    numbers = {id: number for number, id in enumerate(graph.nodes)}
    return Data(
        {
            "frame": _frame(placed.values()),
            "things": [
                [
                    id,
                    visible(_label(node)),
                    *(round(placed[id].x), round(placed[id].y)),
                    node.kind[0] + "o" * (id in opened) + "e" * (id in ended),
                ]
                for id, node in graph.nodes.items()
            ],
            "lines": [
                [numbers[source], numbers[target], kind]
                for source, target, kind, _type in _lines(graph)
            ],
        }
    )


VIEWS: dict[tuple[str, str], tuple[str, View]] = {
    ("GET", "/graph"): ("graph", show),
    ("GET", "/graph/drawing"): ("draw graph", drawing),
}


def graph_query(parameters: Mapping[str, str]) -> GraphQuery:
    """Return the query in an address. Raises InvalidInput, which names the invalid field."""
    at = parameters.get("at", "").strip()
    named = [each.strip() for each in parameters.get("open", "").split(",")]
    opened = tuple(dict.fromkeys(each for each in named if each and each != at))
    if len(opened) > MOST_OPENED:
        remedy = "must name {most} things at most (got {count})"
        raise InvalidInput("open", remedy, most=MOST_OPENED, count=len(opened))
    count = shown(parameters, SHOWN, MOST)
    return GraphQuery(at, opened, count, parameters.get("of", "").strip(), offset(parameters))


def _entities(visit: Visit) -> Page:
    start, at = visit.query.get("name", "").strip(), offset(visit.query)
    entities, total = visit.app.surroundings.entities(visit.caller, start, LISTED, at)

    def page(first: int) -> str:
        parts = {"name": start, "from": str(first) if first else ""}
        return "/graph?" + urlencode({name: value for name, value in parts.items() if value})

    facts = {
        "start": start,
        "total": total,
        "offset": at,
        "before": page(max(0, at - LISTED)) if at else None,
        "after": page(at + LISTED) if at + len(entities) < total else None,
        "around": [(each, GraphQuery(each.id, (), SHOWN).address()) for each in entities],
    }
    return Page("entities.html", facts)


def _gathered(visit: Visit, query: GraphQuery) -> _DrawnGraph:
    """Return the graph of a query; opened nodes that are no longer connected with the middle are left out.

    Raises NotFound if the caller does not see the node in the middle.
    """
    surroundings, graph = visit.app.surroundings, _DrawnGraph()
    waiting, wanted = [query.at], set(query.opened)
    graph.nodes[query.at] = surroundings.node(visit.caller, query.at)
    while waiting and len(graph.nodes) < MOST_DRAWN:
        id = waiting.pop(0)
        limit = min(query.shown, MOST_DRAWN - len(graph.nodes))
        found = surroundings.around(visit.caller, graph.nodes[id], limit)
        graph.opened.append(found)
        for step in found.steps:
            if step.node.id in graph.nodes:
                continue
            graph.nodes[step.node.id] = step.node
            graph.branches.setdefault(id, []).append(step.node.id)
            if step.node.id in wanted:
                waiting.append(step.node.id)
    return graph


def _frame(placed: Collection[TreePlace]) -> tuple[int, int, int, int]:
    """Return the frame of the drawing with its names: left, top, width and height, in pixels."""
    xs = [0.0, *(each.x + each.side * MARGIN for each in placed)]
    # The name of the node in the middle is below it.
    ys = [26.0, *(each.y for each in placed)]
    left, top = round(min(xs)) - EDGE, round(min(ys)) - EDGE
    return left, top, round(max(xs)) + EDGE - left, round(max(ys)) + EDGE - top


def _section(each: Surrounded, query: GraphQuery) -> Section:
    """Return the page of a node's list that a query names."""
    id, total = each.node.id, len(each.steps)
    first = query.first if query.of == id and query.first < total else 0
    before = query.address(of=id, first=max(0, first - STEPS)) if first else None
    after = query.address(of=id, first=first + STEPS) if first + STEPS < total else None
    steps = each.steps[first : first + STEPS]
    return Section(each.node, steps, total, first, each.has_more, before, after)


def _key(step: GraphStep) -> tuple[str, str]:
    return step.edge.kind, step.edge.id


def _lines(graph: _DrawnGraph) -> Iterator[tuple[str, str, str, str]]:
    """Yield each drawn edge once: its start, its end, its kind, its label."""
    seen = set()
    for each in graph.opened:
        for step in each.steps:
            edge = step.edge
            if _key(step) not in seen:
                seen.add(_key(step))
                yield edge.source, edge.target, edge.kind, edge.type


def _ended(visit: Visit, graph: _DrawnGraph) -> set[str]:
    now = visit.app.clock()
    return {id for id, node in graph.nodes.items() if _has_ended(node, now)}


def _has_ended(node: Node, now: datetime) -> bool:
    return isinstance(node, Memory) and not holds_at(node, now)


def _label(node: Node) -> str:
    name = name_of(node)
    return name if len(name) <= LABEL else name[: LABEL - 1].rstrip() + "…"
