"""A graph of Neo4j as APOC exports it to JSON, in each of its forms; Graphiti's, also as graphiti-core dumps it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import Any

from minutebook.domain.records import MemoryType
from minutebook.domain.writing.front_matter import plain
from minutebook.domain.writing.source_drafts import (
    EntityDraft,
    Found,
    MemoryDraft,
    RelationDraft,
    SourcePlace,
    UnreadPart,
)
from minutebook.features.importers.sources.reading.files import (
    LONGEST_LINE,
    ImportSource,
    SourceFile,
    opened,
)
from minutebook.features.importers.sources.reading.values import (
    instant_of,
    object_at,
    shown,
    text_at,
)

NAME = "neo4j"

GRAPHITI = "graphiti"
"""The program that wrote what has Graphiti's fields."""

_NODES = ("nodes", "episodes", "episodic_nodes", "communities", "community_nodes", "sagas")
_EDGES = ("rels", "relationships", "edges", "facts", "episodic_edges", "community_edges")
"""The lists, or objects by id, that a document may hold."""

_EPISODIC, _COMMUNITY = "Episodic", "Community"
_WIDE = frozenset({"Entity", _EPISODIC, _COMMUNITY, "Node"})
"""Labels that say nothing of what a node is."""

_DERIVED = frozenset({"MENTIONS", "NEXT_EPISODE", "HAS_EPISODE"})
"""Edges of Graphiti that follow from texts and times; here names in texts do."""

_OWN = frozenset(
    {
        *("uuid", "id", "name", "title", "labels", "type", "label", "summary", "description"),
        *("content", "fact", "created_at", "valid_at", "invalid_at", "expired_at", "attributes"),
        *("source_node_uuid", "target_node_uuid", "start", "end", "properties", "name_embedding"),
        *("fact_embedding", "entity_edges", "episodes", "reference_time", "episode_metadata"),
    }
)
"""The fields that do not stand in metadata by themselves."""


def is_wanted(path: PurePath) -> bool:
    """Tell whether a file may be an export."""
    return path.suffix.lower() in (".json", ".jsonl")


@dataclass(frozen=True, slots=True)
class _Item:
    """A node or an edge, whichever form it had: `ends` are the ids of an edge's ends, None for a node."""

    place: SourcePlace
    id: str
    labels: tuple[str, ...]
    fields: Mapping[str, Any]
    ends: tuple[str, str] | None = None

    @property
    def program(self) -> str:
        """The program that wrote it."""
        return GRAPHITI if "group_id" in self.fields else NAME

    @property
    def name(self) -> str:
        """The name of a node; empty if it has none."""
        return text_at(self.fields, "name", "title")

    @property
    def is_episode(self) -> bool:
        """Whether a node is a text that Graphiti was given."""
        return _EPISODIC in self.labels or {"content", "source_description"} <= self.fields.keys()

    @property
    def type(self) -> str:
        """The type of a node."""
        telling = [label for label in self.labels if label not in _WIDE]
        if telling:
            return telling[0]
        return "community" if _COMMUNITY in self.labels else "thing"

    @property
    def began(self) -> datetime | None:
        """When it began to hold, as far as it says."""
        return instant_of(self.fields.get("valid_at")) or instant_of(self.fields.get("created_at"))

    @property
    def ended(self) -> datetime | None:
        """When it ceased to hold; None if it holds."""
        return instant_of(self.fields.get("invalid_at")) or instant_of(
            self.fields.get("expired_at")
        )

    @property
    def rest(self) -> dict[str, Any]:
        """The other properties: its attributes, and fields that no part of a record has; no vectors."""
        attributes = self.fields.get("attributes")
        if isinstance(attributes, str):
            attributes = _object_in(attributes)
        said = {name: value for name, value in self.fields.items() if name not in _OWN}
        said.pop("group_id", None)
        said |= attributes if isinstance(attributes, dict) else {}
        return {
            name: plain(value)
            for name, value in said.items()
            if value not in (None, "", [], {}) and not name.endswith("embedding")
        }


def read(source: ImportSource) -> Iterator[Found]:
    """Yield nodes as entities, the facts of nodes and edges as memories, edges that hold as relations."""
    names: dict[str, str] = {}
    for file in source.files:
        for each in _items(source, file):
            if isinstance(each, _Item) and each.ends is None:
                names[each.id] = each.name
    source.read = 0
    for file in source.files:
        for each in _items(source, file):
            if isinstance(each, UnreadPart):
                yield each
            elif each.ends is None:
                yield from _node(each)
            else:
                yield from _edge(each, each.ends, names)


def _items(source: ImportSource, file: SourceFile) -> Iterator[_Item | UnreadPart]:
    if _has_lines(file):
        for each in source.objects(file):
            if isinstance(each, UnreadPart):
                yield each
            else:
                yield _item(SourcePlace(str(file.path), each[0]), each[1], "")
        return
    document = source.document(file)
    if isinstance(document, UnreadPart):
        yield document
        return
    lists = {"nodes": document} if isinstance(document, list) else document
    known = [
        name
        for name in (*_NODES, *_EDGES)
        if isinstance(lists, dict) and isinstance(lists.get(name), list | dict)
    ]
    if not known:
        yield UnreadPart(file.place, "the file holds neither nodes nor relationships")
    for name in known:
        values = lists[name]
        for value in values.values() if isinstance(values, dict) else values:
            if isinstance(value, dict):
                yield _item(file.place, value, name)
            else:
                yield UnreadPart(file.place, "the element is not a JSON object")


def _has_lines(file: SourceFile) -> bool:
    """Tell whether a file has an object a line, whatever its name."""
    try:
        with opened(file.path) as stream:
            first = json.loads(stream.readline(LONGEST_LINE))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(first, dict) and first.get("type") in ("node", "relationship")


def _item(place: SourcePlace, value: dict[str, Any], listed: str) -> _Item | UnreadPart:
    fields = object_at(value, "properties") or value
    id = text_at(value, "id", "uuid")
    if value.get("type") == "relationship" or "source_node_uuid" in value:
        start, end = object_at(value, "start"), object_at(value, "end")
        source = text_at(start, "id") or text_at(value, "source_node_uuid")
        target = text_at(end, "id") or text_at(value, "target_node_uuid")
        type = text_at(value, "label") or _type_in(listed)
        if not (source and target and type):
            return UnreadPart(place, "the relationship lacks its type or an end")
        return _Item(place, id, (type,), fields, (source, target))
    if not id:
        return UnreadPart(place, "the node has no id")
    labels = value.get("labels")
    named = (
        [label for label in labels if isinstance(label, str)] if isinstance(labels, list) else []
    )
    if listed.startswith("communit"):
        named.append(_COMMUNITY)
    return _Item(place, id, tuple(named), fields)


def _type_in(listed: str) -> str:
    """Return the type of the edges in the list that names it."""
    return {"episodic_edges": "MENTIONS", "community_edges": "HAS_MEMBER"}.get(listed, "RELATES_TO")


def _node(node: _Item) -> Iterator[Found]:
    if node.is_episode:
        yield from _episode(node)
        return
    if not node.name:
        yield UnreadPart(node.place, "the node has no name")
        return
    yield EntityDraft(
        key=f"entity\0{node.type}\0{node.name}",
        place=node.place,
        program=node.program,
        name=node.name,
        type=node.type,
        description=text_at(node.fields, "summary", "description") or None,
        at=node.began,
    )
    if node.rest:
        yield _memory(
            node,
            f"node\0{_key(node, node.type, node.name)}",
            _listed(node.name, node.rest),
            node.name,
        )


def _episode(node: _Item) -> Iterator[Found]:
    content = text_at(node.fields, "content")
    if content:
        yield _memory(
            node, f"episode\0{_key(node, content)}", content, node.name, MemoryType.EPISODIC
        )
    else:
        yield UnreadPart(node.place, "the episode has no text")


def _edge(edge: _Item, ends: tuple[str, str], names: Mapping[str, str]) -> Iterator[Found]:
    type = edge.labels[0]
    if type in _DERIVED:
        return
    if type == "RELATES_TO":
        type = text_at(edge.fields, "name") or type
    source, target = (names.get(end, "") for end in ends)
    fact = text_at(edge.fields, "fact")
    if fact or edge.rest:
        content = fact or _listed(f"{source or ends[0]} {type} {target or ends[1]}", edge.rest)
        about = {"source": source or ends[0], "relation": type, "target": target or ends[1]}
        yield _memory(edge, f"edge\0{_key(edge, source, type, target)}", content, None, also=about)
    if not source or not target:
        yield UnreadPart(edge.place, "the relationship leads to a node without a name, or not here")
    elif edge.ended is None:
        yield RelationDraft(
            key=f"relation\0{source}\0{type}\0{target}",
            place=edge.place,
            program=edge.program,
            source=source,
            target=target,
            type=type,
            at=edge.began,
        )


def _memory(
    item: _Item,
    key: str,
    content: str,
    title: str | None,
    type: MemoryType = MemoryType.FACT,
    *,
    also: Mapping[str, object] | None = None,
) -> MemoryDraft:
    began, ended = item.began, item.ended
    if ended is not None and (began is None or began >= ended):
        began = ended - timedelta(seconds=1)
    group = text_at(item.fields, "group_id")
    return MemoryDraft(
        key=key,
        place=item.place,
        program=item.program,
        content=content,
        type=type,
        title=title or None,
        at=began,
        until=ended,
        metadata={
            **item.rest,
            **(also or {}),
            **({"group": group} if group else {}),
            "id": text_at(item.fields, "uuid") or item.id,
        },
    )


def _key(item: _Item, *names: str) -> str:
    """Return the key that stays the same in the next export: a uuid, else names with the graph's own id.

    Another graph numbers from 0, too.
    """
    return text_at(item.fields, "uuid") or "\0".join((*names, item.id))


def _listed(head: str, fields: Mapping[str, Any]) -> str:
    return "\n".join([head, *(f"{name}: {shown(value)}" for name, value in fields.items())])


def _object_in(text: str) -> object:
    """Return the object that a text holds as JSON, as Kuzu keeps attributes; None if it holds none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
