"""Exports entities, their observations and relations in the format of the reference memory server."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from minutebook.app import App
from minutebook.memory.access.visibility import VisibleMoment
from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.json_lines import json_line
from minutebook.record.records import Entity, Kind, Memory, Mention, Relation
from minutebook.store.disk.atomic_file import new_file

EXPORTED = (Kind.ENTITY, Kind.MEMORY, Kind.RELATION)

_Observation = tuple[datetime, str, str]
"""The instant at which a memory was written, its organization and its id."""


@dataclass(slots=True)
class _Node:
    """A node of the file, for all entities of one name, whatever their types."""

    type: str
    descriptions: list[str] = field(default_factory=list)
    observations: list[_Observation] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class GraphExported:
    """An exported file, the number of its entities, memories and relations, and of memories that name no entity."""

    path: Path
    counts: Counter[Kind]
    left_out: int


class GraphExports:
    """Exports the entities and relations that the caller may see, with the memories about them that hold now."""

    def __init__(self, app: App) -> None:
        self._store, self._trail = app.infrastructure.records, app.trail
        self._clock = app.clock

    def run(self, caller: Caller, path: Path) -> GraphExported:
        """Write a new file. A memory is an observation of each entity that it names, or of the one with its title.

        Raises Refused if the caller may not export, InvalidInput if the path does not fit, StoreError
        if the file cannot be written.
        """
        with self._trail.audit_refusals(caller, None, "export", Kind.ENTITY, "server-memory"):
            policy.check_may_export(caller, whole=False)
        seen = self._store.seen_by(caller).where(valid_at=self._clock())
        names = seen.organizations
        with seen.moments() as moments:
            graph = _Graph(moments)
            digest = sha256()
            with new_file(path, str(path)) as file:
                for line in graph.lines():
                    file.write(line)
                    digest.update(line)
                with self._store.transaction(*names):
                    for name in names:
                        for kind in EXPORTED:
                            self._trail.log(caller, name, "export", kind, [digest.hexdigest()])
        return GraphExported(path, graph.counts, graph.left_out)


class _Graph:
    """The visible entities, with the memories about them."""

    def __init__(self, moments: list[VisibleMoment]) -> None:
        self._moments = moments
        self._nodes: dict[str, _Node] = {}
        self._names: dict[tuple[str, str], str] = {}
        self.counts: Counter[Kind] = Counter()
        self.left_out = 0
        for moment in moments:
            # In the order of their creation, in which that server appends them.
            entities = sorted(moment.each(Entity), key=lambda each: (each.created_at, each.id))
            for entity in entities:
                self._add(entity)
        for moment in moments:
            self._assign(moment)

    def lines(self) -> Iterator[bytes]:
        """Yield a line for each entity, then a line for each relation, without duplicates."""
        for name, node in self._nodes.items():
            observations = list(dict.fromkeys((*node.descriptions, *self._texts(name, node))))
            self.counts[Kind.ENTITY] += 1
            self.counts[Kind.MEMORY] += len(node.observations)
            yield json_line(
                {
                    "type": "entity",
                    "name": name,
                    "entityType": node.type,
                    "observations": observations,
                }
            )
        seen = set()
        for moment in self._moments:
            for relation in moment.each(Relation):
                ends = [
                    self._names.get((moment.organization, end))
                    for end in (relation.source, relation.target)
                ]
                triple = (*ends, relation.type)
                if None in ends or triple in seen:
                    continue
                seen.add(triple)
                self.counts[Kind.RELATION] += 1
                yield json_line(
                    {
                        "type": "relation",
                        "from": ends[0],
                        "to": ends[1],
                        "relationType": relation.type,
                    }
                )

    def _add(self, entity: Entity) -> None:
        self._names[entity.organization, entity.id] = entity.name
        node = self._nodes.setdefault(entity.name, _Node(entity.type))
        if entity.description:
            node.descriptions.append(entity.description)

    def _assign(self, moment: VisibleMoment) -> None:
        """Add each memory to the nodes that it is about, without its text, which is read when the file is written."""
        named: dict[str, list[str]] = defaultdict(list)
        for mention in moment.each(Mention):
            name = self._names.get((moment.organization, mention.target))
            if name is not None:
                named[mention.source].append(name)
        for memory in moment.each(Memory):
            names = [memory.title] if memory.title in self._nodes else named.get(memory.id, [])
            for name in dict.fromkeys(names):
                observation = (memory.ingestion_time, memory.organization, memory.id)
                self._nodes[str(name)].observations.append(observation)
            self.left_out += not names

    def _texts(self, name: str, node: _Node) -> Iterator[str]:
        """Yield the texts of a node's memories in the order in which they were written."""
        observations = sorted(node.observations)
        texts: dict[tuple[str, str], str] = {}
        for moment in self._moments:
            ids = frozenset(id for _, its, id in observations if its == moment.organization)
            if ids:
                for memory in moment.where(ids=ids).each(Memory):
                    is_titled = memory.title == name
                    text = memory.content if is_titled else memory.text
                    texts[moment.organization, memory.id] = text
        for _, organization, id in observations:
            yield texts[organization, id]
